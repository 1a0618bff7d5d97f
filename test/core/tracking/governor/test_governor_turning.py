# SPDX-License-Identifier: Apache-2.0
"""Stops that turn round: where the velocity changes its sign before the acceleration is run out.

`third_order` looks at the end of a stop alone. That is enough where no stop turns round outside
the limits, whatever led to it: judged here by the turning point in closed form.
"""

import math
import random

from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws import draws

from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.motion_limits import MotionLimits

ROUNDING = 1e-11
LOWER, UPPER = -1.0, 1.0


def turning_way(v, a, jerk):
    """Return how far a joint moves until it turns round while its acceleration is run out, or
    None.

    v + a t - j t^2 / 2 = 0, with the jerk j against the acceleration.
    """
    if v * a >= 0.0 or a * a <= 2.0 * jerk * abs(v):
        return None
    time = 2.0 * abs(v) / (abs(a) + math.sqrt(a * a - 2.0 * jerk * abs(v)))
    return v * time + a * time**2 / 2.0 - math.copysign(jerk, a) * time**3 / 6.0


def limits(random_):
    """Return limits of one joint, from soft to sudden."""
    return MotionLimits(
        [LOWER],
        [UPPER],
        [10 ** random_.uniform(-1.0, 0.5)],
        [10 ** random_.uniform(-0.5, 1.5)],
        [10 ** random_.uniform(0.0, 5.0)],
    )


def follow(governor, random_):
    """Some steps towards a target that stands, moves on, or lies outside."""
    goal = random_.choice([LOWER, UPPER, random_.uniform(-1.5, 1.5), governor.q[0]])
    goal += random_.choice([0.0, random_.uniform(-0.1, 0.1)])
    velocity = random_.choice([None, random_.uniform(-1.0, 1.0)])
    for _ in range(random_.choice([1, 2, 3, 10, 50])):
        goal += 0.0 if velocity is None else velocity * governor.period
        governor.follow([goal], None if velocity is None else [velocity])
        yield


@settings(max_examples=draws(60))
@given(st.integers(0, 2**32), st.sampled_from([0.001, 0.005, 0.02]), st.booleans())
def test_no_stop_turns_round_outside_the_limits(seed, period, may_change):
    random_ = random.Random(seed)
    governor = Governor(limits(random_), period, [random_.uniform(LOWER, UPPER)])
    for _ in range(60):
        if may_change and random_.random() < 0.2:
            governor.set_limits(limits(random_))
        for _ in follow(governor, random_):
            q, v, a = governor.q[0], governor.dq[0], governor.ddq[0]
            assert LOWER <= q <= UPPER
            way = turning_way(v, a, governor.limits_in_force.jerk[0])
            if way is not None:
                assert LOWER - ROUNDING <= q + way <= UPPER + ROUNDING


def test_stops_do_turn_round():
    """The stops that the test above checks do occur."""
    random_, turns = random.Random(0), 0
    governor = Governor(limits(random_), 0.005, [0.0])
    for _ in range(200):
        for _ in follow(governor, random_):
            jerk = governor.limits.jerk[0]
            turns += turning_way(governor.dq[0], governor.ddq[0], jerk) is not None
    assert turns > 20


def test_the_turning_point_is_where_the_velocity_is_0():
    v, a, jerk, seconds = -0.2, 1.0, 2.0, 0.0
    way = q = 0.0
    step = 1e-5
    while v + a * seconds - 0.5 * jerk * seconds**2 < 0.0:
        q += step * (v + a * seconds - 0.5 * jerk * seconds**2)
        seconds += step
    way = turning_way(v, a, jerk)
    assert abs(way - q) < 1e-5
    assert turning_way(0.2, -a, jerk) == -way
    assert turning_way(0.2, a, jerk) is None
    assert turning_way(-0.3, a, jerk) is None
