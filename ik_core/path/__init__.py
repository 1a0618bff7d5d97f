# SPDX-License-Identifier: Apache-2.0
"""Paths of poses: a motion without flips, shown between the poses and timed, or why not.

`waypoints` joins the poses, which `sampling` takes from a function; `candidates` finds the
solutions along them, `graph` the best sequence of these. `smoothing` uses the freedom that a goal
leaves, `deviation` shows how far the tip is from its path, `clearance` that nothing is hit.
`timing` makes the motion, `checked` checks its limits, `moving_start` begins it with a velocity;
`figure` draws it; `reasons` says why there is none. `search` does all
of this for a `task`; `planner` has what users call, `result` what they get.
"""

from .planner import solve_path
from .result import PathReason, PathResult

__all__ = ['PathReason', 'PathResult', 'solve_path']
