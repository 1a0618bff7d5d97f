"""A goal dragged along the joint limits: [EngellErleben2011] Fig. 4.

The upper body of a captured figure, with 16 degrees of freedom as there: two in the lower back,
and in each arm the clavicle, the shoulder, the elbow and the wrist. One hand has to stay, the
other one's goal goes up by 1 cm at a time, from under the reach of the arm to above it. Where the
posture follows, no link moves much farther than the goal; a flip is a move of FLIP and more.

Rows: part 'drag', for each of LINES, places where the goal goes up: `median` the largest move of
a link in one step, `high` the error at the end, `count` the flips. The first line has the largest
moves of all steps, too: `values` [cm].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...maths.rotations import Array
from ...problem import IkProblem
from ...retargeting.example import link_paths
from ...robot.robot import Robot
from ...solvers import Solver
from ...tasks import PositionTask
from .captured_goals import solve

BACK = ('lowerback/z', 'lowerback/x')
ARM = ('clavicle', 'humerus', 'radius', 'wrist')
LINKS = ('lhumerus', 'rhumerus', 'lradius', 'rradius', 'lwrist', 'rwrist')

STEP = 0.01
HEIGHTS = np.arange(-0.75, 0.75 + 1e-9, STEP)
"""[m] Of the goal over the shoulder."""
LINES = ((0.1, 0.25), (0.0, 0.4), (0.2, 0.3), (-0.1, 0.3), (0.3, 0.2), (-0.2, 0.1), (0.1, 0.0))
"""[m] How far outside of the shoulder and in front of it."""
HELD = (0.1, -0.2, 0.3)
"""[m] The other hand's goal: outside of its shoulder, over it, in front of it."""
SETTLE = 5
"""Steps at the beginning that don't count: the arm goes there from its place at rest."""
PRECISE = 0.001
"""[m] A tenth of what the goal moves, so that every step is one."""
FLIP = 0.1
"""[m] Ten times what the goal moves."""


def run(robot: Robot, name: str, solver: Solver, last: bool) -> list[dict[str, Any]]:
    """A row for each line."""
    rows = []
    for line in LINES:
        moves, error = drag(robot, solver, last, *line)
        rows.append(
            {
                'part': 'drag',
                'case': f'{line[0]:g} {line[1]:g}',
                'method': name,
                'count': int((moves >= FLIP).sum()),
                'median': 100.0 * float(moves.max()),
                'high': 100.0 * error,
                'values': ' '.join(f'{100.0 * m:.3g}' for m in moves) if line == LINES[0] else '',
            }
        )
    return rows


def drag(
    robot: Robot, solver: Solver, last: bool, outside: float, before: float
) -> tuple[Array, float]:
    """The largest move of a link [m] in each step, and the error [m] at the end."""
    problem, q = upper_body(robot), np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    ((left, shoulder),) = link_paths(robot, [q], ['lclavicle', 'rclavicle'])
    problem.goals[0].set_target(position=left + HELD)
    postures = []
    for height in HEIGHTS:
        up = np.array([-outside, height, before])
        problem.goals[1].set_target(position=shoulder + up)
        q, _ = solve(solver, problem, q, last)
        postures.append(q)
    ways = np.diff(link_paths(robot, postures[SETTLE:], LINKS), axis=0)
    moves = np.linalg.norm(ways, axis=2).max(axis=1)
    return moves, float(problem.errors(q)[0].max())


def upper_body(robot: Robot) -> IkProblem:
    """Both wrists as goals, the 16 joints free."""
    bones = {side + bone for side in 'lr' for bone in ARM}
    free = [j for j in robot.joint_names if j in BACK or j.split('/')[0] in bones]
    frozen = [j for j in robot.joint_names if j not in free]
    goals = [PositionTask('lwrist'), PositionTask('rwrist')]
    return IkProblem(robot, goals, frozen_joints=frozen, position_tolerance=PRECISE)
