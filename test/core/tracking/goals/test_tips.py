# SPDX-License-Identifier: Apache-2.0
"""Tips: Hold, Drag, Stream, Line and Jog, and how one becomes another."""

import math

import numpy as np
import pytest

from ik_core.maths.rotations import transform_of
from ik_core.tracking.goals.tips import (
    HESITATIONS,
    HORIZON,
    STREAM_GAP,
    Allowance,
    Drag,
    Hold,
    Jog,
    Line,
    Stream,
    Tip,
)
from ik_core.tracking.governor.speed_scale import SpeedScale

PERIOD = 0.01
SPEEDS = np.array([0.2, 1.0, 1.0, 4.0])
START = np.array([1.0, 0, 0, 0, 1, 0, 0, 0, 1, 0.3, 0.1, 0.5])
TWIST = np.array([0.1, 0.0, 0.0, 0.0, 0.0, 0.0])


def step(now=0.0, **changes):
    return Allowance(now, PERIOD, SPEEDS, 0.1, **changes)


def goal(x=0.0, z=0.0):
    transform = transform_of(START)
    transform[0, 3] += x
    transform[2, 3] += z
    return transform


def held():
    tip = Tip(0)
    tip.hold(START)
    return tip


def dragged():
    tip = held()
    tip.set_goal(goal(0.05), 0.0, linear=False, twist=None)
    tip.accept(False)
    return tip


def streaming():
    tip = held()
    tip.set_goal(goal(0.05), 0.0, linear=False, twist=TWIST)
    tip.accept(False)
    return tip


def on_line():
    tip = held()
    tip.set_goal(goal(0.05), 0.0, linear=True, twist=None)
    tip.accept(tip.request.linear)
    return tip


def jogged():
    tip = held()
    tip.jog(TWIST, 0.0)
    return tip


TIPS = {Hold: held, Drag: dragged, Stream: streaming, Line: on_line, Jog: jogged}


@pytest.mark.parametrize('kind', TIPS)
def test_each_state_says_what_it_does(kind):
    tip = TIPS[kind]()
    assert type(tip.state) is kind
    assert tip.has_goal is (kind is not Hold)
    assert tip.moves is (kind in (Stream, Line, Jog))
    assert tip.leads is (kind in (Line, Jog))
    assert (tip.jog_twist is not None) is (kind is Jog)
    assert not tip.state.blocked


@pytest.mark.parametrize('kind', TIPS)
def test_a_tip_becomes_what_its_next_goal_asks_for(kind):
    for linear, twist, after in ((True, None, Line), (False, TWIST, Stream)):
        tip = TIPS[kind]()
        before = tip.frame.copy()
        tip.set_goal(goal(z=0.2), 1.0, linear=linear, twist=twist)
        assert tip.request.waits
        assert tip.has_goal
        np.testing.assert_array_equal(tip.frame, before)  # it goes nowhere before a tick
        tip.accept(tip.request.linear)
        assert type(tip.state) is after
        assert not tip.request.waits


@pytest.mark.parametrize('kind', TIPS)
def test_a_tip_may_be_held_released_or_jogged_at_any_time(kind):
    tip = TIPS[kind]()
    tip.release()
    assert type(tip.state) is Hold
    tip = TIPS[kind]()
    tip.jog(TWIST, 1.0)
    assert type(tip.state) is Jog
    elsewhere = START + np.eye(12)[9]
    tip.hold(elsewhere)
    assert type(tip.state) is Hold
    np.testing.assert_array_equal(tip.frame, elsewhere)
    np.testing.assert_array_equal(tip.target, elsewhere)


def test_the_same_goal_again_changes_nothing():
    for make in (dragged, streaming, on_line):
        tip = make()
        tip.advance(step(0.01))
        state, frame = tip.state, tip.frame.copy()
        tip.set_goal(goal(0.05), 0.01, linear=tip.request.linear, twist=None)
        assert tip.accept(tip.request.linear) == (0.0, 0.0)
        assert tip.state is state
        np.testing.assert_array_equal(tip.frame, frame)


def test_accepting_says_how_far_the_goal_moved():
    tip = dragged()
    turned = goal(0.05, z=0.3)
    c, s = math.cos(0.4), math.sin(0.4)
    turned[:2, :2] = [[c, -s], [s, c]]
    tip.set_goal(turned, 0.0, linear=False, twist=None)
    assert tip.accept(False) == pytest.approx((0.3, 0.4))


def test_a_stream_goes_on_for_its_horizon_and_then_stands_at_its_goal():
    tip = streaming()
    tip.advance(step(0.06))
    assert tip.frame[9] - START[9] == pytest.approx(0.05 + 0.06 * 0.1)
    tip.advance(step(HORIZON + 0.01))
    assert type(tip.state) is Drag
    assert tip.frame[9] - START[9] == pytest.approx(0.05)
    assert not tip.moves


def test_a_stream_that_jumps_stands_at_its_goal():
    tip = streaming()
    tip.forget_stream()
    assert type(tip.state) is Drag
    tip.set_goal(goal(0.06), 0.01, linear=False, twist=None)
    tip.accept(False)
    assert type(tip.state) is Drag  # its velocity is forgotten too


def test_the_velocity_of_a_stream_is_that_of_its_goals():
    tip = held()
    for k in range(40):
        tip.set_stream_goal(goal(0.002 * k), 0.01 * k)
        tip.accept(False)
    assert type(tip.state) is Stream
    np.testing.assert_allclose(tip.request.twist, [0.2, 0, 0, 0, 0, 0], atol=1e-9)
    tip.set_stream_goal(goal(0.1), 0.39 + STREAM_GAP + 0.01)  # after a gap there is none
    assert not tip.request.twist.any()


def test_a_line_arrives_at_its_goal_within_its_speeds():
    tip, path = on_line(), [START[9]]
    np.testing.assert_array_equal(transform_of(tip.target), goal(0.05))
    for k in range(200):
        tip.advance(step(PERIOD * k))
        path.append(tip.frame[9])
    assert type(tip.state) is Drag
    assert path[-1] == pytest.approx(START[9] + 0.05, abs=1e-15)
    speeds = np.diff(path) / PERIOD
    assert speeds.max() <= 0.2 * (1 + 1e-9)
    assert np.abs(np.diff(speeds)).max() <= 1.0 * PERIOD * (1 + 1e-6)


def test_a_line_goes_no_faster_than_the_joints_let_it():
    free, slow = on_line(), on_line()
    for k in range(10):
        free.advance(step(PERIOD * k))
        slow.advance(step(PERIOD * k, scale=SpeedScale(0.2, math.inf, 0.0)))
    assert slow.state.fraction == pytest.approx(0.2)
    assert free.state.fraction > 0.4


def test_a_jog_follows_its_twist_and_ends_some_time_after_the_last():
    tip = jogged()
    for k in range(11):
        tip.advance(step(PERIOD * k))
        assert not tip.has_ended(PERIOD * k, 0.1)
    np.testing.assert_allclose(tip.state.twist, TWIST)
    for k in range(11, 40):
        tip.advance(step(PERIOD * k))
    assert tip.has_ended(0.39, 0.1)
    assert tip.given is None


def test_a_jog_is_slower_near_a_singularity():
    tip = jogged()
    for k in range(10):
        tip.advance(step(PERIOD * k, jog_fraction=0.25))
    np.testing.assert_allclose(tip.state.twist, 0.5 * TWIST)
    assert tip.state.fraction == pytest.approx(0.25)  # the twist is half as fast as it may be


@pytest.mark.parametrize(
    ('scale', 'fraction'),
    [
        (SpeedScale(growth=0.5, least=0.6), 0.6),  # harder than its own acceleration
        (SpeedScale(growth=0.8, least=0.6), 0.8),
        (SpeedScale(growth=0.98, least=0.6), 0.98),
    ],
)
def test_a_jog_slows_down_as_fast_as_the_joints_ask_and_can(scale, fraction):
    tip = jogged()
    for k in range(10):
        tip.advance(step(PERIOD * k))
    tip.advance(step(0.1, scale=scale))
    np.testing.assert_allclose(tip.state.twist, fraction * TWIST)


def test_a_jog_without_twists_stops_no_faster_than_the_joints_can():
    tip = jogged()
    for k in range(10):
        tip.advance(step(PERIOD * k))
    tip.advance(step(1.0, scale=SpeedScale(least=0.97)))  # its own acceleration takes a tenth
    np.testing.assert_allclose(tip.state.twist, 0.97 * TWIST)
    tip.advance(step(1.01, scale=SpeedScale(least=0.5)))
    np.testing.assert_allclose(tip.state.twist, 0.87 * TWIST)


def test_a_jog_that_is_solved_for_too_late_slows_down_and_goes_on_once_it_is_not():
    tip = jogged()
    for k in range(10):
        tip.advance(step(PERIOD * k))
    for k in range(10, 40):
        tip.jog(TWIST, PERIOD * k)
        tip.advance(step(PERIOD * k))
        tip.be_late()
    assert tip.state.fraction == 0.0
    tip.reset_caution()
    tip.advance(step(0.4))
    assert tip.state.fraction > 0.0


@pytest.mark.parametrize('make', [on_line, jogged])
def test_a_step_that_is_taken_back_is_tried_again_at_half_the_speed(make):
    tip = make()
    for k in range(5):
        tip.advance(step(PERIOD * k))
        tip.reset_caution()
    before, fraction = tip.frame.copy(), tip.state.fraction
    tip.advance(step(0.05))
    moved = tip.state.fraction
    tip.undo_advance()
    assert tip.hesitate() is False
    np.testing.assert_array_equal(tip.frame, before)
    assert tip.state.fraction == pytest.approx(0.5 * moved)
    assert tip.caution == 0.5
    tip.reset_caution()
    assert tip.caution == 1.0
    assert fraction > 0.0


def test_after_so_many_steps_taken_back_it_is_enough():
    tip = on_line()
    tip.advance(step())
    assert [tip.hesitate() for _ in range(HESITATIONS + 1)] == [False] * HESITATIONS + [True]
    block(tip)
    assert tip.caution == 1.0


def block(tip):
    """Block the tip's path, and return the result."""
    tip.block()
    tip.lead_from(START)


def test_a_blocked_line_stays_until_something_else_changes():
    tip = on_line()
    tip.advance(step())
    block(tip)
    assert tip.state.blocked
    assert not tip.moves
    tip.set_goal(goal(0.05), 0.0, linear=True, twist=None)
    tip.accept(tip.request.linear)  # the same goal
    assert tip.state.blocked
    tip.unblock()
    assert tip.moves
    block(tip)
    tip.set_goal(goal(0.02), 0.0, linear=True, twist=None)
    tip.accept(tip.request.linear)
    assert tip.moves


def test_a_blocked_jog_stays_until_it_comes_from_another_direction():
    tip = jogged()
    tip.advance(step())
    block(tip)
    tip.jog(TWIST, 0.01)
    tip.advance(step(0.01))
    assert tip.state.blocked
    assert not tip.leads
    assert not tip.has_ended(0.11, 0.1)  # as long as twists come
    assert tip.has_ended(0.12, 0.1)
    np.testing.assert_array_equal(tip.frame, START)
    tip.jog(-TWIST, 0.02)
    tip.advance(step(0.02))
    assert not tip.state.blocked
    assert tip.frame[9] < START[9]


def test_after_a_pause_a_line_goes_on_from_where_the_tip_is():
    tip = on_line()
    tip.advance(step())
    here = START + 0.01 * np.eye(12)[11]
    tip.resume()
    tip.lead_from(here)
    assert type(tip.state) is Line
    assert tip.state.fraction == 0.0
    np.testing.assert_array_equal(tip.frame, here)


def test_after_a_pause_a_stream_stands_at_its_goal():
    tip = streaming()
    tip.advance(step(0.05))
    tip.resume()
    assert type(tip.state) is Drag
    assert tip.frame[9] == pytest.approx(START[9] + 0.05)


@pytest.mark.parametrize('make', [dragged, streaming])
def test_a_goal_of_the_joints_becomes_a_line_while_another_tip_leads(make):
    tip = make()
    tip.lead_from(START)
    assert tip.keeps_step
    assert tip.moves
    assert not tip.leads
    np.testing.assert_array_equal(tip.frame, START)
    tip.advance(step(PERIOD))
    np.testing.assert_array_less(START[9], tip.frame[9])
    tip.set_goal(goal(0.06), 0.01, linear=False, twist=None)
    fraction = tip.state.fraction
    tip.accept(True)
    assert tip.state.fraction == fraction > 0.0  # it goes on, to the new goal
    here = tip.frame.copy()
    tip.request_again()
    assert tip.accept(False)[0] == pytest.approx(START[9] + 0.06 - here[9])
    assert type(tip.state) is Drag
    assert tip.frame[9] == pytest.approx(START[9] + 0.06)


def test_jogs_and_what_is_held_begin_at_rest_where_the_joints_can_stop():
    here = START + 0.01 * np.eye(12)[11]
    for make in (held, jogging):
        tip = make()
        tip.lead_from(here)
        np.testing.assert_array_equal(tip.frame, here)
        assert tip.state.fraction == 0.0
    assert type(tip.state) is Jog
    assert not tip.state.twist.any()
    np.testing.assert_array_equal(tip.jog_twist, TWIST)


def test_a_blocked_line_is_left_by_the_same_goal_for_the_joints():
    tip = on_line()
    tip.advance(step())
    block(tip)
    tip.set_goal(goal(0.05), 0.1, linear=False, twist=None)
    assert tip.accept(False)[0] == pytest.approx(0.05)  # the way from where it stands
    assert type(tip.state) is Drag
    assert tip.frame[9] == pytest.approx(START[9] + 0.05)
    tip.set_goal(goal(0.05), 0.2, linear=True, twist=None)
    tip.accept(True)
    assert type(tip.state) is Line


def test_goals_are_remembered_until_they_are_replaced_or_forgotten():
    tip = on_line()
    np.testing.assert_array_equal(tip.given, goal(0.05))
    tip.release()  # stale
    np.testing.assert_array_equal(tip.given, goal(0.05))
    tip.jog(TWIST, 0.0)
    assert tip.given is None
    tip = dragged()
    tip.forget()
    assert tip.given is None


def test_only_goals_get_stale():
    assert not held().is_stale(9.0, 1.0)
    assert not jogged().is_stale(9.0, 1.0)
    assert on_line().is_stale(1.01, 1.0)
    assert not dragged().is_stale(1.0, 1.0)


# --- one state leaves nothing behind in the next ------------------------------------------------


def jogging():
    tip = held()
    tip.jog(TWIST, 0.0)
    tip.advance(step(0.0))
    return tip


@pytest.mark.parametrize('linear', [False, True])
def test_a_goal_after_a_jog_has_no_velocity_of_it(linear):
    tip = jogging()
    tip.set_goal(goal(0.05), PERIOD, linear=linear, twist=None)
    tip.accept(tip.request.linear)
    assert isinstance(tip.state, Line if linear else Drag)
    assert not tip.request.twist.any()


def test_a_goal_that_waits_keeps_a_jog_at_rest_from_ending():
    tip = held()
    tip.jog(np.zeros(6), 0.0)
    assert tip.has_ended(0.0, 0.1)
    tip.set_goal(goal(0.05), PERIOD, linear=False, twist=None)
    assert not tip.has_ended(0.0, 0.1)


def test_a_line_that_hesitates_at_once_stays_where_it_begins():
    tip = dragged()
    for _ in range(3):
        tip.hesitate()
    start = START.copy()
    start[9] += 0.2
    tip.set_goal(goal(0.5), 0.0, linear=True, twist=None)
    tip.accept(True)
    tip.lead_from(start)
    assert tip.caution == 1.0
    tip.undo_advance()
    np.testing.assert_array_equal(tip.frame, start)


def test_only_lines_and_jogs_have_a_speed_of_their_own():
    tip = on_line()
    for _ in range(20):
        tip.advance(step())
    assert tip.state.fraction > 0.0
    tip.set_goal(goal(0.3), 0.2, linear=False, twist=TWIST)
    tip.accept(False)
    assert isinstance(tip.state, Stream)
    assert tip.state.fraction == 0.0
