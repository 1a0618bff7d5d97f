# SPDX-License-Identifier: Apache-2.0
"""Samples that are believed, and those that are not: without a node, over made-up times."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip('rclpy')

import ik_core as ik
from ik_node.inputs.measured_state import (
    JUMP_TIME,
    JUMPED,
    REST_SAMPLES,
    REST_SPEED,
    REST_TIME,
    MeasuredState,
)

JOINT = """
  <joint name="{name}" type="{kind}"><parent link="l{i}"/><child link="l{j}"/>
    <axis xyz="0 0 1"/><limit lower="{lower}" upper="{upper}" velocity="{speed}" effort="1"/>
  </joint>"""
JOINTS = [
    ('turn', 'revolute', -2.0, 1.0, 2.0),
    ('slide', 'prismatic', 0.0, 0.4, 0.5),
    ('wheel', 'continuous', 0.0, 0.0, 3.0),
]
NAMES = [name for name, *_ in JOINTS]
TOLERANCE = 0.02
PERIOD = 0.01
HOME = {'turn': 0.5, 'slide': 0.1, 'wheel': 3.1}


def make_robot():
    """A joint of each kind, one after the other."""
    links = ''.join(f'<link name="l{i}"/>' for i in range(len(JOINTS) + 1))
    joints = ''.join(
        JOINT.format(name=name, kind=kind, lower=lower, upper=upper, speed=speed, i=i, j=i + 1)
        for i, (name, kind, lower, upper, speed) in enumerate(JOINTS)
    )
    return ik.load_robot(f'<robot name="three">{links}{joints}</robot>')


ROBOT = make_robot()


class Stream:
    """A measured state, and messages one PERIOD after the other."""

    def __init__(self, needed=NAMES, period=PERIOD, commanded=None):
        self.state = MeasuredState(ROBOT, needed, commanded or {})
        self.now, self.period = 10.0, period

    def say(self, count=1, **positions):
        """Send the same message so often; which joints the last one was believed of."""
        for _ in range(count):
            self.now += self.period
            joints, self.doubts = self.state.take(HOME | positions, self.now, TOLERANCE)
        return {ROBOT.joint_names[i] for i in joints}

    def rest(self, **positions):
        """Send the same message for a little longer than REST_TIME."""
        return self.say(max(round(REST_TIME / self.period), REST_SAMPLES) + 2, **positions)

    def rests(self):
        """Return whether it is believed to rest."""
        return self.state.rests(TOLERANCE)

    def at(self, name):
        """Return the estimated position of a joint."""
        return self.state.q[ROBOT.joint_names.index(name)]


@pytest.mark.parametrize('period', [0.001, 0.01, 0.1])
def test_samples_that_agree_for_a_while_make_a_start(period):
    stream = Stream(period=period)
    while stream.now + period <= 10.0 + period + REST_TIME - 1e-9:
        assert set(stream.state.unknown(stream.now, 0.5, TOLERANCE)) == set(NAMES)
        assert stream.say() == set(NAMES)
    stream.say(2)
    assert stream.state.unknown(stream.now, 0.5, TOLERANCE) == ()
    assert stream.rests()


@pytest.mark.parametrize('period', [0.001, 0.002, 0.01, 0.05])
@pytest.mark.parametrize('speed', [0.015, 0.05, 0.3, 1.0])
def test_a_joint_that_moves_never_rests(period, speed):
    stream, position = Stream(period=period), -1.0
    for _ in range(round(1.0 / period)):
        position += speed * period
        stream.say(turn=position)
        assert not stream.rests()
        assert 'turn' in stream.state.unknown(stream.now, 0.5, TOLERANCE)
    stream.rest(turn=position)
    stream.rest(turn=position)
    assert stream.rests()


def test_noise_within_the_tolerance_is_rest_and_more_is_not():
    rng = np.random.default_rng(2)
    for share, expected in ((0.2, True), (0.8, False)):
        stream = Stream()
        for _ in range(40):
            stream.say(turn=0.5 + share * TOLERANCE * rng.uniform(-1.0, 1.0))
        assert stream.rests() == expected


def test_a_slow_drift_is_no_rest_only_above_the_speed_of_rest():
    for speed in (0.5 * REST_SPEED, 1.5 * REST_SPEED):
        stream = Stream()
        for i in range(60):
            stream.say(slide=0.1 + speed * PERIOD * i)
        assert stream.rests() == (speed < REST_SPEED)


def test_a_bunch_of_samples_is_no_rest():
    stream = Stream(period=1e-5)
    stream.say(100)
    assert not stream.rests()


def test_a_joint_that_has_not_been_named_or_moves_is_not_known():
    stream = Stream()
    for i in range(40):
        stream.now += PERIOD
        stream.state.take({'turn': 0.0, 'slide': 0.01 * i}, stream.now, 0.01)
    assert stream.state.unknown(stream.now, 0.5, 0.01) == ('slide', 'wheel')
    assert stream.state.age(stream.now) == math.inf


@pytest.mark.parametrize(
    ('joint', 'position'),
    [
        ('turn', 200.0),
        ('wheel', 1e300),  # a multiple of whole turns, in floating point
        ('wheel', -2e8),
        ('turn', 1.0 + math.pi + 0.01),
        ('turn', -2.0 - math.pi - 0.01),
        ('slide', 0.81),
        ('slide', -0.41),
    ],
)
def test_far_outside_its_limits_a_joint_never_is(joint, position):
    stream = Stream()
    for _ in range(3 * JUMPED):
        assert stream.say(**{joint: position}) == set(NAMES) - {joint}
        (doubt,) = stream.doubts
        assert joint in doubt
        assert f'{position:.4g}' in doubt
        assert joint in stream.state.unknown(stream.now, 0.5, TOLERANCE)
    stream.now += 1.0
    assert stream.state.age(stream.now) == math.inf


@pytest.mark.parametrize(('joint', 'position'), [('turn', 1.3), ('slide', -0.35), ('wheel', 40.0)])
def test_slightly_outside_its_limits_or_after_many_turns_it_may_be(joint, position):
    stream = Stream()
    assert stream.rest(**{joint: position}) == set(NAMES)
    assert stream.rests()
    assert stream.at(joint) == position


@pytest.mark.parametrize(('joint', 'position'), [('turn', -1.5), ('slide', 0.3), ('wheel', 1.0)])
def test_where_it_could_not_have_come_to_a_joint_is_only_after_several_samples(joint, position):
    stream = Stream()
    stream.say(5)
    for _ in range(JUMPED):
        assert stream.say(**{joint: position}) == set(NAMES) - {joint}
        assert stream.at(joint) == HOME[joint]
        assert joint in stream.doubts[0]
    began = stream.now - (JUMPED - 1) * PERIOD
    while stream.now + PERIOD - began < JUMP_TIME - 1e-9:
        assert joint not in stream.say(**{joint: position})
    assert joint in stream.say(2, **{joint: position})
    assert stream.at(joint) == position
    assert not stream.rests()


def test_samples_that_do_not_agree_never_move_a_joint_where_it_could_not_be():
    stream = Stream()
    stream.say(5)
    for i in range(30):
        stream.say(turn=(-1.5, 0.5)[i % 2])  # two publishers that contradict each other
        assert stream.at('turn') == 0.5
    for i in range(30):
        stream.say(slide=0.4 if i % (JUMPED - 1) else 0.1)
        assert stream.at('slide') == 0.1


def test_as_fast_as_a_joint_may_turn_it_is_followed_also_in_bunches():
    stream, position = Stream(), 0.5
    stream.say(5)
    for i in range(30):
        position -= 2.0 * PERIOD
        now = stream.now + PERIOD * (i - i % 5 + 5)  # five at once
        joints, _ = stream.state.take({'turn': position}, now, TOLERANCE)
        assert list(joints) == [ROBOT.joint_names.index('turn')]
    assert stream.at('turn') == position


def test_an_endless_angle_that_is_reported_within_a_turn_keeps_its_turns():
    stream = Stream(commanded={'wheel': 3.0 + 4.0 * math.pi})
    for i in range(400):
        angle = 3.0 + 0.01 * i
        assert stream.say(wheel=math.remainder(angle, 2.0 * math.pi)) == set(NAMES)
        assert stream.at('wheel') == pytest.approx(angle + 4.0 * math.pi)
    for i in range(40):
        stream.say(wheel=math.remainder(angle + 1e-3 * (-1) ** i, 2.0 * math.pi))
    assert stream.rests()
    q = ROBOT.middle_configuration
    q[NAMES.index('wheel')] = angle - 6.0 * math.pi
    q[NAMES.index('turn')], q[NAMES.index('slide')] = HOME['turn'], HOME['slide']
    assert np.abs(stream.state.away_from(q)).max() <= 1.1e-3


@pytest.mark.parametrize(
    ('commanded', 'first'), [({}, 40.0), ({'wheel': 4.0}, 40.0 - 12 * math.pi)]
)
def test_the_first_angle_is_the_one_nearest_to_the_last_command_if_there_was_one(commanded, first):
    stream = Stream(commanded=commanded)
    stream.say(wheel=40.0)
    assert stream.at('wheel') == pytest.approx(first)


@settings(max_examples=200)
@given(
    st.lists(
        st.tuples(
            st.booleans(),
            st.floats(-1e9, 1e9) | st.floats(-4.0, 4.0),
            st.floats(0.0, 0.2),
            st.floats(-1.0, 1.0),
        ),
        max_size=80,
    )
)
def test_single_wrong_samples_never_make_a_resting_robot_rest_elsewhere(samples):
    state, now, wrong = MeasuredState(ROBOT, ['turn'], {}), 0.0, True
    index = ROBOT.joint_names.index('turn')
    for is_wrong, value, seconds, noise in samples:
        now, wrong = now + seconds, is_wrong and not wrong
        position = value if wrong else 0.5 + 0.25 * TOLERANCE * noise
        state.take({'turn': position}, now, TOLERANCE)
        assert -2.0 - math.pi <= state.q[index] <= 1.0 + math.pi
        if state.rests(TOLERANCE):
            assert abs(state.q[index] - 0.5) <= 2.5 * TOLERANCE


@settings(max_examples=100)
@given(st.lists(st.tuples(st.floats(-1.0, 1.0), st.floats(1e-4, 0.3)), max_size=60))
def test_what_a_robot_may_do_is_always_believed(steps):
    state, now, position = MeasuredState(ROBOT, ['turn'], {}), 0.0, 0.0
    for share, seconds in steps:
        now += seconds
        position = float(np.clip(position + 2.0 * share * seconds, -2.0, 1.0))
        joints, doubts = state.take({'turn': position}, now, 0.0)
        assert (len(joints), doubts) == (1, [])


def test_a_sample_that_is_refused_ends_the_rest_for_a_while():
    stream = Stream()
    stream.rest()
    assert stream.rests()
    stream.say(turn=-1.5)
    assert not stream.rests()
    stream.say(5)
    assert not stream.rests()
    stream.rest()
    assert stream.rests()
    stream.say(turn=0.53)
    assert not stream.rests()


def test_how_old_the_news_is_after_the_clock_jumped_back():
    stream = Stream()
    stream.say(5)
    assert stream.state.age(stream.now + 0.2) == pytest.approx(0.2)
    assert stream.state.age(1.0) == 0.0
    assert stream.state.age(1.3) == pytest.approx(0.3)
    assert stream.state.unknown(1.3, 0.2, TOLERANCE) == tuple(ROBOT.joint_names)
    stream.now = 1.3
    assert stream.say() == set(NAMES)
