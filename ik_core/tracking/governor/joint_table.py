# SPDX-License-Identifier: Apache-2.0
"""The table `joints` (15, n) of the governor's kernels: a column per joint, a row per quantity.

The rows are the limits in force, the state, and the aim of the next step:

- Positions and velocities without a limit have NO_LIMIT, a number with which nothing overflows.
- MEAN is the mean velocity of the last period. Without a jerk limit that is DQ; where one has just
  been switched off it is not, and both have to change by no more than an acceleration allows.
- DRIFT is the velocity at which the target, GOAL, came and will move on; 0 to come to rest there.
- ACT is FREE for a joint that follows its goal, EASE for one that runs its acceleration out, and
  BRAKE for one that brakes.
- CAP is a top speed, PLANNED the goal that it was planned for, LEFT the time [s] until all joints
  arrive there; 0 where nothing is planned (`time_synchronisation`).
"""

from __future__ import annotations

import math

from ...kernels.jit import kernel
from ...maths.rotations import Array

LOWER, UPPER, VELOCITY, ACCELERATION, JERK = range(5)
Q, DQ, DDQ, MEAN, GOAL, DRIFT, ACT, CAP, PLANNED, LEFT = range(5, 15)
ROWS = 15
FREE, EASE, BRAKE = range(3)
NO_LIMIT = 1e100  # [rad or m; rad/s or m/s]
# No joint follows a target that moves faster than this [rad/s or m/s].
FASTEST = 1e6
# A jerk limit above this [rad/s^3 or m/s^3] is none.
SUDDEN = 1e15
# Relative rounding error of a joint position: a few units in the last place.
POSITION_ROUNDING = 1e-14
# Rounding error that adds up over the many ticks of braking.
BRAKING_ROUNDING = 1e-11


@kernel
def inside(value: float, lower: float, upper: float) -> float:
    """Clamp the value to the limits."""
    return min(max(value, lower), upper)


@kernel
def landed(q: float, target: float, lower: float, upper: float) -> float:
    """Return q, or the target or limit if only rounding separates it from q."""
    scale = max(1.0, abs(q))
    if abs(q - target) <= POSITION_ROUNDING * scale:
        return target
    limit = inside(q, lower, upper)
    return limit if abs(q - limit) <= BRAKING_ROUNDING * scale else q


@kernel
def put(i: int, joints: Array, q: float, dq: float, ddq: float, mean: float) -> None:
    """Write the state of joint i; q is set to a limit if only rounding separates them."""
    lower, upper = joints[LOWER, i], joints[UPPER, i]
    joints[Q, i] = landed(q, inside(q, lower, upper), lower, upper)
    joints[DQ, i], joints[DDQ, i], joints[MEAN, i] = dq, ddq, mean


@kernel
def follows(i: int, joints: Array) -> bool:
    """Return whether joint i follows its goal, inside its limits; one outside comes back first."""
    is_inside = joints[LOWER, i] <= joints[Q, i] <= joints[UPPER, i]
    return bool(is_inside and joints[ACT, i] == FREE)


@kernel
def take_aim(i: int, joints: Array) -> None:
    """Clamp the goal of joint i to its limits, and its drift to what the joint can follow.

    A joint outside its limits comes back first. One with a jerk limit comes to rest at a position
    limit beyond which the target drifts on. One whose goal or drift is not finite brakes.
    """
    q, lower, upper = joints[Q, i], joints[LOWER, i], joints[UPPER, i]
    goal = inside(joints[GOAL, i], lower, upper)
    if not (lower <= q <= upper):
        joints[DRIFT, i] = 0.0
    if not (abs(goal) < NO_LIMIT and abs(joints[DRIFT, i]) < FASTEST):
        joints[ACT, i], goal = BRAKE, q
    if joints[ACT, i] != FREE:
        joints[DRIFT, i] = 0.0
    elif joints[JERK, i] < math.inf:
        velocity = joints[VELOCITY, i] if goal == joints[GOAL, i] else 0.0
        joints[DRIFT, i] = inside(joints[DRIFT, i], -velocity, velocity)
    joints[GOAL, i] = goal
