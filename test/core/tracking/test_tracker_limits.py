# SPDX-License-Identifier: Apache-2.0
"""Limits that change in motion, joints outside of them, and ticks that come late."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.streams import ROBOTS, Stream

from ik_core.tracking import MotionLimits


@settings(max_examples=draws(40))
@given(
    name=st.sampled_from(ROBOTS),
    seed=st.integers(0, 2**32 - 1),
    below=st.booleans(),
)
def test_limits_tightened_while_moving_are_kept_as_soon_as_braking_allows(name, seed, below):
    random = np.random.default_rng(seed)
    stream = Stream(name, acceleration=5.0)
    goal = stream.pose(stream.configuration(random))
    stream.goal(goal)
    stream.run(random.uniform(0.05, 1.0))
    q, dq = stream.tracker.q, stream.tracker.dq
    old = stream.limits
    # Limits a little to either side of where the joints are, so that some are outside.
    edge = q + random.uniform(-0.05, 0.2, q.size) * (-1.0 if below else 1.0)
    lower = np.maximum(old.lower, edge) if below else old.lower
    upper = old.upper if below else np.minimum(old.upper, edge)
    lower, upper = np.minimum(lower, old.upper), np.maximum(upper, old.lower)
    stream.limits = MotionLimits(lower, upper, old.velocity * 0.5, old.acceleration)
    stream.tracker.set_limits(stream.limits)
    stream.may_leave = True
    furthest_low, furthest_high = q.copy(), q.copy()
    period, step = stream.tracker.period, 5.0 * stream.tracker.period
    for joint in range(q.size):  # where full braking from the next tick on ends
        position, speed = q[joint], dq[joint]
        while abs(speed) > step:
            speed -= math.copysign(step, speed)
            position += speed * period
        furthest_low[joint] = min(q[joint], position, upper[joint])
        furthest_high[joint] = max(q[joint], position, lower[joint])
    for _ in range(100):
        command = stream.tick()
        assert (command.q >= np.minimum(lower, furthest_low) - 1e-9).all()
        assert (command.q <= np.maximum(upper, furthest_high) + 1e-9).all()
    stream.run(30.0 if (old.velocity < 0.1).any() else 3.0)
    assert (stream.tracker.q >= lower).all()
    assert (stream.tracker.q <= upper).all()


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('with_goal', [False, True])
def test_joints_measured_outside_return_and_never_move_further_out(name, with_goal):
    stream = Stream(name)
    robot = stream.robot
    random = np.random.default_rng(3)
    q = stream.configuration(random)
    limited = np.flatnonzero(np.isfinite(robot.upper))
    q[limited[::2]] = robot.upper[limited[::2]] + 0.2
    q[limited[1::2]] = robot.lower[limited[1::2]] - 0.2
    stream.tracker.reset(q)
    if with_goal:
        stream.goal(stream.pose(stream.configuration(random)))
    excess = np.maximum(robot.lower - q, q - robot.upper)
    for _ in range(round(0.5 / min(1.0, robot.velocity[limited].min()) * 100)):
        q = stream.tick().q
        before, excess = excess, np.maximum(robot.lower - q, q - robot.upper)
        assert (excess <= np.maximum(before, 0.0)).all()
    assert (excess <= 0.0).all()


def test_a_step_is_one_nominal_period_however_late_it_comes():
    early, late = Stream('ur5e'), Stream('ur5e')
    goal = early.pose(early.configuration(np.random.default_rng(1)))
    early.goal(goal)
    late.goal(goal)
    for _ in range(50):
        late.now += 0.3
        np.testing.assert_array_equal(late.tick().q, early.tick().q)
