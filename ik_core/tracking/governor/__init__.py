# SPDX-License-Identifier: Apache-2.0
"""The governor: the last command, and one step from it within the limits.

From the top downwards: `joint_motion` aims the governor at the solution; `governor` has the state
and a step of it; `time_synchronisation` lets joints arrive together; `second_order` and
`third_order` move one joint, without and with a jerk limit; `limit_changes` has limits that change
in motion; `stop_spline` has the stop after a step. They share `joint_table`.

`speed_scale` limits the speed of tips for the joints' sake, `slow_in_out` is another profile of
the speed.
"""

from .governor import Governor
from .motion_limits import MotionLimits

__all__ = ['Governor', 'MotionLimits']
