# SPDX-License-Identifier: Apache-2.0
"""Which state of the feedback comes next: each transition, and all pairs of events."""

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ik_node.inputs.feedback import (
    CONFIRMING,
    CONFIRMING_TIME,
    CREEP,
    KEPT,
    SETTLING,
    Act,
    Agreeing,
    Cause,
    Diverged,
    MovedExternally,
    Returned,
    Returning,
    Rules,
    Sagging,
    Seen,
    Waiting,
    acts,
    after_reset,
    before_first_command,
    may_publish,
    must_brake,
    next_state,
    status_of,
)
from ik_node.outputs.codes import StatusCode

PERIOD = 0.01
TOLERANCE, ALLOWED = 0.02, 0.1
ZERO, TWO = np.zeros(2), np.array([1.0, 2.0])
SAG = np.array([0.0, -0.05])
RULES = {
    output: Rules(np.full(2, TOLERANCE), np.full(2, ALLOWED), output == 'joint_trajectory')
    for output in ('joint_trajectory', 'position_command')
}
BOTH = pytest.mark.parametrize('rules', RULES.values(), ids=RULES)
TRAJECTORIES, COMMANDS = RULES['joint_trajectory'], RULES['position_command']


def seen(**fields):
    """A robot and a command that rest, agree, and have done so for long."""
    usual = {
        'now': 100.0,
        'period': PERIOD,
        'difference': ZERO,
        'measured': TWO,
        'samples': 1000,
        'command_rests': True,
        'resting_for': 60.0,
        'must_follow': False,
        'is_lost': False,
        'robot_rests': True,
        'is_behind': False,
        'stands': False,
        'is_off': False,
    }
    return Seen(**(usual | fields))


MOVING = {
    'command_rests': False,
    'resting_for': -np.inf,
    'must_follow': True,
    'robot_rests': False,
}


def follow(state, rules, seconds, difference, *, samples_each=1, resting_for=60.0, **fields):
    """The states while a difference (a function of the seconds gone) is seen at rest."""
    states, samples = [state], 0
    for tick in range(1, round(seconds / PERIOD) + 1):
        gone = tick * PERIOD
        samples += samples_each
        it = seen(
            now=100.0 + gone,
            difference=np.asarray(difference(gone)),
            resting_for=resting_for + gone,
            samples=samples,
            **fields,
        )
        states.append(next_state(states[-1], it, rules))
    return states


# --- at rest: a sag, or others -------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize('size', [0.005, 0.015, 0.03, 0.06, 0.09])
@pytest.mark.parametrize('seconds', [0.0, 0.1, 0.4])
def test_a_difference_soon_after_a_motion_is_a_sag(rules, size, seconds):
    def sag(gone):
        return [0.0, -size * min(gone / seconds, 1.0) if seconds else -size]

    states = follow(Agreeing(ZERO), rules, 20.0, sag, resting_for=0.0)
    assert all(isinstance(state, Agreeing) for state in states)
    assert isinstance(states[-1], Sagging) is (size > TOLERANCE)
    np.testing.assert_allclose(states[-1].by, [0.0, -size], atol=1e-9)
    assert not any(acts(*pair, rules) for pair in itertools.pairwise(states))


@BOTH
def test_a_difference_that_creeps_is_a_sag_up_to_the_following_error(rules):
    states = follow(Sagging(SAG), rules, 30.0, lambda gone: SAG * (1 + 0.9 * CREEP * gone / 0.05))
    ended = next(k for k, state in enumerate(states) if not isinstance(state, Agreeing))
    assert isinstance(states[ended], Diverged)
    assert ended * PERIOD == pytest.approx((ALLOWED - 0.05) / (0.9 * CREEP), rel=0.05)
    assert acts(states[ended - 1], states[ended], rules) == (Act.STOP,)


@BOTH
@pytest.mark.parametrize('speed', [0.05, 0.2, 2.0, 100.0])
@pytest.mark.parametrize('before', [Agreeing(ZERO), Sagging(SAG)], ids=['agreeing', 'sagging'])
def test_a_change_that_is_faster_than_creep_is_by_others(rules, speed, before):
    begin = before.by
    states = follow(
        before, rules, 3.0, lambda gone: begin + np.array([min(speed * gone, 0.5), 0.0])
    )
    moved = next(k for k, state in enumerate(states) if isinstance(state, MovedExternally))
    noticed = TOLERANCE / (speed - CREEP) + CONFIRMING_TIME + CONFIRMING * PERIOD
    assert moved * PERIOD <= noticed + PERIOD
    assert acts(states[moved - 1], states[moved], rules) == (Act.STOP,)


@BOTH
def test_single_wrong_samples_change_nothing(rules):
    def wrong_now_and_then(gone):
        return [0.15, 0.0] if round(gone / PERIOD) % 7 < CONFIRMING - 1 else [0.0, 0.0]

    states = follow(Agreeing(ZERO), rules, 5.0, wrong_now_and_then)
    assert all(isinstance(state, Agreeing) for state in states)


@BOTH
def test_one_message_that_many_ticks_see_confirms_nothing(rules):
    states = follow(Agreeing(ZERO), rules, 1.0, lambda gone: [0.15, 0.0], samples_each=0)
    assert all(isinstance(state, Agreeing) for state in states)


@BOTH
def test_a_robot_that_springs_back_keeps_its_command(rules):
    moved = MovedExternally(SAG)
    back = next_state(moved, seen(difference=SAG + 0.01), rules)
    assert isinstance(back, Sagging)
    assert not back.is_new
    assert acts(moved, back, rules) == ()
    away = next_state(moved, seen(difference=SAG + 0.03), rules)
    assert isinstance(away, Agreeing)
    assert away.is_new
    assert acts(moved, away, rules) == (Act.BEGIN,)
    kept = MovedExternally(SAG, keeps_goals=True)
    assert acts(kept, away, rules) == (Act.BEGIN_WITH_GOALS,)


def test_while_a_goal_is_held_a_push_within_the_following_error_is_no_new_start():
    states = follow(Agreeing(ZERO), COMMANDS, 2.0, lambda gone: [0.08, 0.0], must_follow=True)
    assert all(isinstance(state, Agreeing) for state in states)


@BOTH
def test_a_sag_beyond_the_following_error_is_returned_to_once(rules):
    sag = np.array([0.15, 0.0])
    states = follow(Agreeing(ZERO), rules, 0.4, lambda gone: sag, resting_for=0.0)
    state = next(state for state in states if not isinstance(state, Agreeing))
    assert isinstance(state, Diverged)
    returning = next_state(state, seen(difference=sag), rules)
    assert isinstance(returning, Returning)
    again = next_state(returning, seen(difference=sag), rules)
    assert isinstance(again, Diverged)
    waits = next_state(again, seen(difference=sag), rules)
    assert waits.cause is Cause.RESET
    for event in ({}, {'difference': sag}, {'paused': True}, MOVING):
        assert next_state(waits, seen(**event), rules) is waits
    assert after_reset(waits).cause is Cause.REST


@BOTH
def test_the_same_difference_after_another_motion_waits_for_a_reset(rules):
    sag = np.array([0.15, 0.0])
    settled = next_state(Returning(0.0, sag), seen(), rules)
    assert settled.returned == Returned(sag)
    moved = next_state(settled, seen(**MOVING), rules)
    assert moved.returned.has_moved
    diverged = next_state(moved, seen(**(MOVING | {'is_behind': True})), rules)
    same = next_state(diverged, seen(difference=sag + 0.01), rules)
    assert same.cause is Cause.RESET
    other = next_state(diverged, seen(difference=sag + 0.05), rules)
    assert isinstance(other, Returning)


# --- lost states ---------------------------------------------------------------------------------


@BOTH
@pytest.mark.parametrize(
    'before', [Agreeing(ZERO), Sagging(SAG), MovedExternally(SAG)], ids=lambda s: type(s).__name__
)
def test_after_lost_states_the_command_goes_on_only_where_the_robot_rested(rules, before):
    lost = next_state(before, seen(is_lost=True), rules)
    assert lost.cause is Cause.LOST_STATES
    assert acts(before, lost, rules) == (Act.STOP,)
    assert next_state(lost, seen(is_lost=True), rules) is lost
    assert next_state(lost, seen(robot_rests=False), rules) is lost
    assert next_state(lost, seen(command_rests=False), rules) is lost
    same = next_state(lost, seen(difference=before.by + 0.01), rules)
    assert isinstance(same, Agreeing)
    np.testing.assert_array_equal(same.by, before.by)
    assert acts(lost, same, rules) == ()
    elsewhere = next_state(lost, seen(difference=before.by + 0.3), rules)
    begins = acts(lost, elsewhere, rules)
    has_sent = not isinstance(before, MovedExternally)
    leads = rules.sends_trajectories and has_sent
    assert begins == ((Act.BEGIN, Act.LEAD) if leads else (Act.BEGIN,))


@BOTH
def test_lost_states_do_not_take_the_place_of_a_reset(rules):
    waits = Waiting(Cause.RESET)
    lost = next_state(waits, seen(is_lost=True), rules)
    assert next_state(lost, seen(), rules).cause is Cause.RESET
    told_to_wait = rules._replace(waits=True)
    lost = next_state(Diverged(), seen(is_lost=True), told_to_wait)
    assert next_state(lost, seen(), told_to_wait).cause is Cause.RESET
    assert not next_state(Diverged(), seen(is_lost=True), rules).needs_reset


@BOTH
def test_a_lag_after_a_stop_is_no_sag(rules):
    """A controller may lag by 0.25 s: it comes to where the command stopped."""

    def lags(gone):
        return [-0.4 * max(1.0 - gone / 0.25, 0.0), 0.0]

    states = follow(Agreeing(ZERO), rules, 5.0, lags, resting_for=0.0)
    assert all(isinstance(state, Agreeing) for state in states)
    assert isinstance(states[-1], Agreeing)
    assert not isinstance(states[-1], Sagging)


@BOTH
def test_a_tick_after_a_stall_follows_a_sag_no_faster(rules):
    late = seen(difference=np.array([0.5, 0.0]), resting_for=0.2, period=1.0)
    assert np.abs(next_state(Agreeing(ZERO), late, rules).by).max() <= 0.05 + 1e-12


@BOTH
def test_goals_that_waited_too_long_are_dropped(rules):
    waits = Waiting(Cause.REST, goals_until=103.0, has_sent=False)
    dropped = next_state(waits, seen(now=104.0, robot_rests=False), rules)
    assert not dropped.keeps_goals
    assert acts(waits, dropped, rules) == (Act.STOP,)


def test_nothing_of_the_old_place_is_published_after_lost_states():
    lost = Waiting(Cause.LOST_STATES, by=ZERO)
    gate = {'has_ended': False, 'is_off': False, 'may_be_off': False}
    assert may_publish(lost, COMMANDS, at_rest=False, **gate), 'the stop is published'
    assert not may_publish(lost, COMMANDS, at_rest=True, **gate)
    assert not may_publish(lost, TRAJECTORIES, at_rest=False, **gate)


# --- controllers and standstill ------------------------------------------------------------------


@BOTH
def test_goals_wait_for_an_inactive_controller_and_are_dropped_in_the_end(rules):
    off = MOVING | {'is_off': True}
    waits = next_state(Agreeing(ZERO), seen(**off), rules)
    assert waits.cause is Cause.CONTROLLER
    assert acts(Agreeing(ZERO), waits, rules) == ()
    assert must_brake(waits, rules)
    late = seen(now=100.0 + KEPT + 0.1, is_off=True)
    dropped = next_state(waits, late, rules)
    assert isinstance(dropped, Diverged)
    assert acts(waits, dropped, rules) == (Act.STOP,)
    goes_on = next_state(waits, seen(difference=SAG), rules)
    expected = (Act.BEGIN_WITH_GOALS, Act.LEAD)[: 2 if rules.sends_trajectories else 1]
    assert acts(waits, goes_on, rules) == expected


@BOTH
def test_while_a_controller_is_off_nothing_is_published(rules):
    gate = {'at_rest': False, 'has_ended': False, 'is_off': True, 'may_be_off': True}
    for state in STATES:
        assert not may_publish(state, rules, **gate)


def test_after_a_controller_was_off_commands_wait_for_states():
    gate = {'at_rest': True, 'has_ended': False, 'is_off': False}
    assert not may_publish(Agreeing(ZERO), COMMANDS, may_be_off=True, **gate)
    assert may_publish(Agreeing(ZERO), COMMANDS, may_be_off=False, **gate)


def test_a_robot_that_stands_where_it_stood_does_not_follow():
    stands = seen(**(MOVING | {'stands': True}))
    waits = next_state(Agreeing(ZERO), stands, TRAJECTORIES)
    assert waits.cause is Cause.CONTROLLER
    assert isinstance(next_state(Agreeing(ZERO), stands, COMMANDS), Agreeing)
    returning = next_state(waits, seen(return_time=2.0), TRAJECTORIES)
    assert next_state(returning, seen(now=101.9), TRAJECTORIES) is returning
    settled = next_state(returning, seen(now=102.1), TRAJECTORIES)
    np.testing.assert_array_equal(settled.stood, TWO)
    assert isinstance(next_state(settled, stands, TRAJECTORIES), Diverged)
    left = next_state(settled, seen(**(MOVING | {'measured': TWO + 0.006})), TRAJECTORIES)
    assert left.stood is None
    assert next_state(left, stands, TRAJECTORIES).cause is Cause.CONTROLLER


# --- returns and resets --------------------------------------------------------------------------


def test_a_robot_that_does_not_follow_is_returned_to():
    away = seen(difference=SAG * 5)
    assert acts(Diverged(), next_state(Diverged(), away, COMMANDS), COMMANDS) == (Act.MOVE,)
    leads = next_state(Diverged(), away, TRAJECTORIES)
    assert acts(Diverged(), leads, TRAJECTORIES) == (Act.BEGIN, Act.LEAD)
    for rules in RULES.values():
        waits = rules._replace(waits=True)
        assert next_state(Diverged(), away, waits).cause is Cause.RESET
    paused = seen(difference=SAG * 5, paused=True)
    assert isinstance(next_state(Diverged(), paused, COMMANDS), Diverged)
    outside = seen(difference=SAG * 5, is_outside=True)
    begins = next_state(Diverged(), outside, COMMANDS)
    assert acts(Diverged(), begins, COMMANDS) == (Act.BEGIN,)


def test_the_end_of_a_way_back_is_no_goal():
    returning = Returning(100.0, SAG)
    settled = next_state(returning, seen(), COMMANDS)
    assert acts(returning, settled, COMMANDS) == (Act.END_MOVE,)
    assert acts(returning, settled, TRAJECTORIES) == ()


def test_a_reset_starts_where_the_robot_is():
    agreeing = after_reset(Agreeing(ZERO))
    assert acts(agreeing, next_state(agreeing, seen(), COMMANDS), COMMANDS) == (Act.MOVE,)
    assert acts(agreeing, next_state(agreeing, seen(), TRAJECTORIES), TRAJECTORIES) == (Act.BEGIN,)
    paused = seen(paused=True)
    assert next_state(agreeing, paused, COMMANDS) is agreeing, 'nothing moves in a pause'
    diverged = after_reset(Diverged())
    leads = next_state(diverged, seen(), TRAJECTORIES)
    assert acts(diverged, leads, TRAJECTORIES) == (Act.BEGIN, Act.LEAD)
    lost = Waiting(Cause.LOST_STATES)
    assert after_reset(lost) is lost


@BOTH
def test_the_first_command_is_published_where_the_robot_still_is(rules):
    new = Agreeing(ZERO, is_new=True)
    assert not before_first_command(new, np.full(2, 0.01), rules, 100.0).is_new
    left = before_first_command(new, np.full(2, 0.03), rules, 100.0)
    assert left.cause is Cause.REST
    assert left.goals_until == 100.0 + KEPT
    gate = {'at_rest': True, 'has_ended': False, 'is_off': False, 'may_be_off': False}
    assert not may_publish(left, rules, **gate)
    assert acts(left, next_state(left, seen(), rules), rules) == (Act.BEGIN_WITH_GOALS,)


# --- all pairs of events -------------------------------------------------------------------------

STATES = [
    *(Waiting(cause) for cause in Cause),
    Waiting(Cause.REST, is_apart=False),
    Waiting(Cause.REST, goals_until=103.0, has_sent=False),
    Waiting(Cause.CONTROLLER, goals_until=103.0),
    Waiting(Cause.LOST_STATES, by=SAG),
    Agreeing(ZERO),
    Agreeing(ZERO, is_new=True),
    Agreeing(ZERO, returned=Returned(SAG), stood=TWO),
    Sagging(SAG),
    Diverged(),
    Diverged(Returned(SAG)),
    Returning(100.0, SAG),
    Returning(100.5, SAG, Cause.CONTROLLER, keeps_goals=True),
    MovedExternally(ZERO),
    MovedExternally(SAG, keeps_goals=True),
]
EVENTS = {
    'rest': {},
    'motion': MOVING,
    'a held goal': {'must_follow': True},
    'a sag': {'difference': SAG, 'resting_for': 0.1},
    'a push': {'difference': np.array([0.4, 0.0])},
    'far outside': {'difference': np.array([0.4, 0.0]), 'is_outside': True},
    'lost': {'is_lost': True, 'robot_rests': False},
    'behind': MOVING | {'is_behind': True},
    'stands': MOVING | {'stands': True},
    'off in motion': MOVING | {'is_off': True},
    'off at rest': {'is_off': True},
    'a pause': {'paused': True},
    'late': {'now': 104.0},
    'the robot moves': {'robot_rests': False},
}


@BOTH
@pytest.mark.parametrize('one', EVENTS)
def test_no_pair_of_events_begins_or_publishes_where_it_must_not(rules, one):
    for state, other, rested in itertools.product(STATES, EVENTS, (True, False)):
        before, begun = state, []
        for event in (one, other):
            it = seen(**EVENTS[event])
            after = next_state(before, it, rules)
            did = acts(before, after, rules)
            if {Act.BEGIN, Act.BEGIN_WITH_GOALS, Act.MOVE, Act.LEAD} & set(did):
                assert it.robot_rests, 'it begins where the robot rests'
                assert not it.is_lost
                begun.append(did)
                if Act.MOVE in did:
                    assert not it.paused
                    assert not rules.sends_trajectories
                if Act.LEAD in did:
                    assert rules.sends_trajectories
            if isinstance(after, Diverged) and not isinstance(before, Diverged):
                assert did == (Act.STOP,)
            before = after
            gate = {'at_rest': rested, 'has_ended': rested and it.command_rests}
            gate |= {'is_off': it.is_off, 'may_be_off': it.is_off}
            may = may_publish(after, rules, **gate)
            if it.is_off or isinstance(after, MovedExternally):
                assert not may
            if rules.sends_trajectories and (must_brake(after, rules) and _is_apart(after)):
                assert not may
            if status_of(after) is None:
                assert isinstance(after, Agreeing | MovedExternally)
        assert len(begun) < 2 or 'push' in one + other or 'outside' in one + other, (
            f'{state}: {one}, {other}: {begun}'
        )


def _is_apart(state):
    return not isinstance(state, Waiting) or state.is_apart


def test_each_state_has_its_status():
    codes = [status_of(state) for state in STATES]
    assert codes[: len(Cause)] == [
        StatusCode.WAITING_FOR_STATE,
        StatusCode.STATE_LOST,
        StatusCode.NOT_FOLLOWING,
        StatusCode.RESETTING,
        StatusCode.NOT_FOLLOWING,
    ]
    assert status_of(Returning(0.0, ZERO, Cause.LOST_STATES)) is StatusCode.STATE_LOST
    assert status_of(Returning(0.0, ZERO)) is StatusCode.NOT_FOLLOWING


def test_a_difference_after_settling_is_no_sag():
    settled = follow(Agreeing(ZERO), COMMANDS, 1.0, lambda gone: ZERO, resting_for=0.0)[-1]
    late = SETTLING + 0.1
    states = follow(settled, COMMANDS, 0.5, lambda gone: [0.05, 0.0], resting_for=late)
    assert any(isinstance(state, MovedExternally) for state in states)
