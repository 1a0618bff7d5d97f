# SPDX-License-Identifier: Apache-2.0
"""States of the feedback: each transition, and all pairs of events."""

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
    Agreeing,
    Cause,
    Diverged,
    MovedExternally,
    Observation,
    Reaction,
    Returned,
    Returning,
    Rules,
    Sagging,
    Waiting,
    after_reset,
    before_first_command,
    may_publish,
    must_brake,
    next_state,
    reactions,
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
AVOIDING = TRAJECTORIES._replace(avoids=True)


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
    return Observation(**(usual | fields))


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
    np.testing.assert_allclose(states[-1].offset, [0.0, -size], atol=1e-9)
    assert not any(reactions(*pair, rules) for pair in itertools.pairwise(states))


@BOTH
def test_a_difference_that_creeps_is_a_sag_up_to_the_following_error(rules):
    states = follow(Sagging(SAG), rules, 30.0, lambda gone: SAG * (1 + 0.9 * CREEP * gone / 0.05))
    ended = next(k for k, state in enumerate(states) if not isinstance(state, Agreeing))
    assert isinstance(states[ended], Diverged)
    assert ended * PERIOD == pytest.approx((ALLOWED - 0.05) / (0.9 * CREEP), rel=0.05)
    assert reactions(states[ended - 1], states[ended], rules) == (Reaction.STOP,)


@BOTH
@pytest.mark.parametrize('speed', [0.05, 0.2, 2.0, 100.0])
@pytest.mark.parametrize('before', [Agreeing(ZERO), Sagging(SAG)], ids=['agreeing', 'sagging'])
def test_a_change_that_is_faster_than_creep_is_by_others(rules, speed, before):
    begin = before.offset
    states = follow(
        before, rules, 3.0, lambda gone: begin + np.array([min(speed * gone, 0.5), 0.0])
    )
    moved = next(k for k, state in enumerate(states) if isinstance(state, MovedExternally))
    noticed = TOLERANCE / (speed - CREEP) + CONFIRMING_TIME + CONFIRMING * PERIOD
    assert moved * PERIOD <= noticed + PERIOD
    assert reactions(states[moved - 1], states[moved], rules) == (Reaction.STOP,)


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
    assert reactions(moved, back, rules) == ()
    away = next_state(moved, seen(difference=SAG + 0.03), rules)
    assert isinstance(away, Agreeing)
    assert away.is_new
    assert reactions(moved, away, rules) == (Reaction.RESTART,)
    kept = MovedExternally(SAG, keeps_goals=True)
    assert reactions(kept, away, rules) == (Reaction.RESTART_WITH_GOALS,)


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
    assert reactions(before, lost, rules) == (Reaction.STOP,)
    assert next_state(lost, seen(is_lost=True), rules) is lost
    assert next_state(lost, seen(robot_rests=False), rules) is lost
    assert next_state(lost, seen(command_rests=False), rules) is lost
    same = next_state(lost, seen(difference=before.offset + 0.01), rules)
    assert isinstance(same, Agreeing)
    np.testing.assert_array_equal(same.offset, before.offset)
    assert reactions(lost, same, rules) == ()
    elsewhere = next_state(lost, seen(difference=before.offset + 0.3), rules)
    begins = reactions(lost, elsewhere, rules)
    has_published = not isinstance(before, MovedExternally)
    leads = rules.sends_trajectories and has_published
    assert begins == ((Reaction.RESTART, Reaction.SEND_RETURN) if leads else (Reaction.RESTART,))


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
    assert np.abs(next_state(Agreeing(ZERO), late, rules).offset).max() <= 0.05 + 1e-12


@BOTH
def test_goals_that_waited_too_long_are_dropped(rules):
    waits = Waiting(Cause.REST, goals_until=103.0, has_published=False)
    dropped = next_state(waits, seen(now=104.0, robot_rests=False), rules)
    assert not dropped.keeps_goals
    assert reactions(waits, dropped, rules) == (Reaction.STOP,)


def test_nothing_of_the_old_place_is_published_after_lost_states():
    lost = Waiting(Cause.LOST_STATES, offset=ZERO)
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
    assert reactions(Agreeing(ZERO), waits, rules) == ()
    assert must_brake(waits, rules)
    late = seen(now=100.0 + KEPT + 0.1, is_off=True)
    dropped = next_state(waits, late, rules)
    assert isinstance(dropped, Diverged)
    assert reactions(waits, dropped, rules) == (Reaction.STOP,)
    goes_on = next_state(waits, seen(difference=SAG), rules)
    expected = (Reaction.RESTART_WITH_GOALS, Reaction.SEND_RETURN)[
        : 2 if rules.sends_trajectories else 1
    ]
    assert reactions(waits, goes_on, rules) == expected


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
    np.testing.assert_array_equal(settled.stopped_at, TWO)
    assert isinstance(next_state(settled, stands, TRAJECTORIES), Diverged)
    left = next_state(settled, seen(**(MOVING | {'measured': TWO + 0.006})), TRAJECTORIES)
    assert left.stopped_at is None
    assert next_state(left, stands, TRAJECTORIES).cause is Cause.CONTROLLER


# --- returns and resets --------------------------------------------------------------------------


def test_a_robot_that_does_not_follow_is_returned_to():
    away = seen(difference=SAG * 5)
    assert reactions(Diverged(), next_state(Diverged(), away, COMMANDS), COMMANDS) == (
        Reaction.MOVE,
    )
    leads = next_state(Diverged(), away, TRAJECTORIES)
    assert reactions(Diverged(), leads, TRAJECTORIES) == (Reaction.RESTART, Reaction.SEND_RETURN)
    for rules in RULES.values():
        waits = rules._replace(waits=True)
        assert next_state(Diverged(), away, waits).cause is Cause.RESET
    paused = seen(difference=SAG * 5, paused=True)
    assert isinstance(next_state(Diverged(), paused, COMMANDS), Diverged)
    outside = seen(difference=SAG * 5, is_outside=True)
    begins = next_state(Diverged(), outside, COMMANDS)
    assert reactions(Diverged(), begins, COMMANDS) == (Reaction.RESTART,)


@pytest.mark.parametrize(
    'before',
    [
        Diverged(),
        Waiting(Cause.REST),
        Waiting(Cause.LOST_STATES, offset=ZERO),
        Waiting(Cause.CONTROLLER, goals_until=103.0),
    ],
    ids=lambda state: getattr(state, 'cause', 'diverged'),
)
def test_a_controller_is_not_led_back_where_collisions_are_avoided(before):
    away, near = seen(difference=SAG * 5), seen(difference=SAG)
    waits = next_state(before, away, AVOIDING)
    assert waits.cause is Cause.WAY_BACK
    assert Reaction.SEND_RETURN not in reactions(before, waits, AVOIDING)
    assert next_state(waits, away, AVOIDING) is waits
    assert next_state(waits, seen(difference=SAG, robot_rests=False), AVOIDING) is waits
    assert next_state(after_reset(waits), away, AVOIDING).cause is Cause.WAY_BACK
    begins = next_state(waits, near, AVOIDING)
    assert begins.is_new
    assert reactions(waits, begins, AVOIDING) == (Reaction.RESTART,)
    at_once = next_state(before, near, AVOIDING)
    assert at_once.is_new, 'it is near already: the command begins where the robot rests'


def test_a_robot_that_stands_again_does_not_follow_where_collisions_are_avoided():
    stands = seen(**(MOVING | {'stands': True}))
    waits = next_state(Agreeing(ZERO), stands, AVOIDING)
    begins = next_state(waits, seen(), AVOIDING)
    assert reactions(waits, begins, AVOIDING) == (Reaction.RESTART_WITH_GOALS,)
    assert isinstance(next_state(begins, stands, AVOIDING), Diverged)


def test_the_end_of_a_way_back_is_no_goal():
    returning = Returning(100.0, SAG)
    settled = next_state(returning, seen(), COMMANDS)
    assert reactions(returning, settled, COMMANDS) == (Reaction.END_MOVE,)
    assert reactions(returning, settled, TRAJECTORIES) == ()


def test_a_reset_starts_where_the_robot_is():
    agreeing = after_reset(Agreeing(ZERO))
    assert reactions(agreeing, next_state(agreeing, seen(), COMMANDS), COMMANDS) == (
        Reaction.MOVE,
    )
    assert reactions(agreeing, next_state(agreeing, seen(), TRAJECTORIES), TRAJECTORIES) == (
        Reaction.RESTART,
    )
    paused = seen(paused=True)
    assert next_state(agreeing, paused, COMMANDS) is agreeing, 'nothing moves in a pause'
    diverged = after_reset(Diverged())
    leads = next_state(diverged, seen(), TRAJECTORIES)
    assert reactions(diverged, leads, TRAJECTORIES) == (Reaction.RESTART, Reaction.SEND_RETURN)
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
    assert reactions(left, next_state(left, seen(), rules), rules) == (
        Reaction.RESTART_WITH_GOALS,
    )


# --- all pairs of events -------------------------------------------------------------------------

STATES = [
    *(Waiting(cause) for cause in Cause),
    Waiting(Cause.REST, may_differ=False),
    Waiting(Cause.REST, goals_until=103.0, has_published=False),
    Waiting(Cause.CONTROLLER, goals_until=103.0),
    Waiting(Cause.LOST_STATES, offset=SAG),
    Agreeing(ZERO),
    Agreeing(ZERO, is_new=True),
    Agreeing(ZERO, returned=Returned(SAG), stopped_at=TWO),
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


@pytest.mark.parametrize('rules', [*RULES.values(), AVOIDING], ids=[*RULES, 'avoiding'])
@pytest.mark.parametrize('one', EVENTS)
def test_no_pair_of_events_begins_or_publishes_where_it_must_not(rules, one):
    for state, other, rested in itertools.product(STATES, EVENTS, (True, False)):
        before, begun = state, []
        for event in (one, other):
            it = seen(**EVENTS[event])
            after = next_state(before, it, rules)
            did = reactions(before, after, rules)
            if {
                Reaction.RESTART,
                Reaction.RESTART_WITH_GOALS,
                Reaction.MOVE,
                Reaction.SEND_RETURN,
            } & set(did):
                assert it.robot_rests, 'it begins where the robot rests'
                assert not it.is_lost
                begun.append(did)
                if Reaction.MOVE in did:
                    assert not it.paused
                    assert not rules.sends_trajectories
                if Reaction.SEND_RETURN in did:
                    assert rules.sends_trajectories
                    assert not rules.avoids
            if isinstance(after, Diverged) and not isinstance(before, Diverged):
                assert did == (Reaction.STOP,)
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
    return not isinstance(state, Waiting) or state.may_differ


def test_each_state_has_its_status():
    codes = [status_of(state) for state in STATES]
    assert codes[: len(Cause)] == [
        StatusCode.WAITING_FOR_STATE,
        StatusCode.STATE_LOST,
        StatusCode.NOT_FOLLOWING,
        StatusCode.RESETTING,
        StatusCode.NOT_FOLLOWING,
        StatusCode.NOT_FOLLOWING,
    ]
    assert status_of(Returning(0.0, ZERO, Cause.LOST_STATES)) is StatusCode.STATE_LOST
    assert status_of(Returning(0.0, ZERO)) is StatusCode.NOT_FOLLOWING


def test_a_difference_after_settling_is_no_sag():
    settled = follow(Agreeing(ZERO), COMMANDS, 1.0, lambda gone: ZERO, resting_for=0.0)[-1]
    late = SETTLING + 0.1
    states = follow(settled, COMMANDS, 0.5, lambda gone: [0.05, 0.0], resting_for=late)
    assert any(isinstance(state, MovedExternally) for state in states)
