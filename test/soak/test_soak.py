# SPDX-License-Identifier: Apache-2.0
"""The soak test itself: what it hears, what it says, and a short run that finds nothing."""

import os
import random
import time
from contextlib import nullcontext
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState
from support.node_harness import DOMAIN, URDF

from soak.__main__ import RATES, main
from soak.campaign import Deck, Memory, weights
from soak.client import Client
from soak.draws import message
from soak.expected_limits import read_description
from soak.faulty import AFTER, PLACES
from soak.listener import HOLE, Listener, Numbers, Robot, Sample
from soak.robots import variants
from soak.trials import Trials, distance_from_line

RATE = 500.0
TEXT = (URDF / 'panda.urdf').read_text('utf-8')
NAMES = tuple(read_description(TEXT).rows)
MIDDLE = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0, 0.02, 0.02])


def listener(robot=None, **named):
    """A listener of a robot, by default of a Panda, which is in force."""
    it = Listener(RATE, **named)
    it.adopt_robot(robot or Robot(read_description(TEXT), 2.0, 10.0), 0)
    return it


def heard(positions, sequence=None, it=None):
    """A listener of these positions (ticks, n), at their mean velocities."""
    it = it or listener()
    before = positions[0]
    for k, q in enumerate(positions):
        message = JointState(name=NAMES, position=list(q), velocity=list((q - before) * RATE))
        message.header.stamp.sec = 2**31 - 1  # later than any answer
        number = k + 1 if sequence is None else sequence[k]
        it.receive(message, {'publication_sequence_number': number})
        before = q
    it.finish()
    return it


def swing(speed):
    """Joint 1 speeds up at 5 rad/s^2 to a speed, and on."""
    steps = np.minimum(np.arange(200) * 5.0 / RATE, speed) / RATE
    q = np.tile(MIDDLE, (200, 1))
    q[:, 0] += np.cumsum(steps)
    return q


def test_what_a_node_may_do_is_no_violation():
    assert heard(swing(1.0)).violations == 0


def test_a_jump_is_a_violation():
    q = swing(1.0)
    q[150:, 0] += 1e-3
    assert heard(q).violations > 0


def test_lost_messages_are_counted_and_are_no_violation():
    kept = np.r_[0:100, 105:200]
    it = heard(swing(1.0)[kept], kept + 1)
    assert (it.lost, it.violations) == (5, 0)


def test_a_limit_holds_from_the_answer_on():
    given = {(NAMES[0], 2): 0.5}
    slow, quick = listener(), listener()
    for it, accepted in ((slow, True), (quick, False)):
        heard(swing(1.0)[:2], it=it)
        it.expect(given)
        it.answered(given, accepted)
    rest = np.tile(swing(1.0)[1], (400, 1))
    rest[:, 0] += np.cumsum(np.minimum(np.arange(400) * 2.0 / RATE, 1.0)) / RATE
    sequence = np.arange(400) + 3
    assert heard(rest, sequence, quick).violations == 0
    assert heard(rest, sequence, slow).violations > 0


def arm(mimic='', velocity=1):
    limit = f'<limit lower="-3" upper="3" velocity="{velocity}"/>'
    text = f"""<robot name="two">
        <joint name="a" type="revolute">{limit}</joint>
        <joint name="b" type="revolute">{limit}{mimic}</joint></robot>"""
    return Robot(read_description(text), 2.0, 10.0)


INDEPENDENT, MIMIC, OFFSET = (
    arm(),
    arm('<mimic joint="a" multiplier="-1"/>'),
    arm('<mimic joint="a" multiplier="-1" offset="0.3"/>'),
)


def swapped(before, after, rows, names=('a', 'b')):
    """A listener of positions after a robot became another one, at rest at (0.4, -0.4)."""
    it, last = listener(before), (0.4, -0.4)
    for number in range(1, 5):
        it.take(Sample(('a', 'b'), np.array(last), None, number, number))
    it.expect_robot(after)
    it.adopt_robot(after, 5)
    for number, q in enumerate(rows, 5):
        it.take(Sample(names, np.array(q), None, number * 10**6, number))
    it.finish()
    return it


@pytest.mark.parametrize(
    ('before', 'after', 'q'),
    [
        (INDEPENDENT, MIMIC, (0.4, -0.39)),
        (MIMIC, OFFSET, (0.4, -0.1)),
        (MIMIC, INDEPENDENT, (0.4, 0.0)),
    ],
)
def test_a_joint_that_steps_at_a_new_description_is_a_violation(before, after, q):
    for names in (('a', 'b'), ('b', 'a')):
        row = q if names == ('a', 'b') else q[::-1]
        it = swapped(before, after, [row] * 5, names)
        assert sum(v.counts['velocity'] for _, v in it.verdicts) > 0


def test_a_joint_may_go_within_its_limits_to_where_it_mimics_and_not_leave_it():
    ticks = np.arange(1500)
    way = 0.3 / 2 * (1 - np.cos(np.pi * np.minimum(ticks / 1200, 1.0)))
    rows = np.stack([np.full(1500, 0.4), -0.4 + way], axis=-1)
    assert swapped(MIMIC, OFFSET, rows).violations == 0
    rows[1300:, 1] += 1e-6
    assert swapped(MIMIC, OFFSET, rows).others['mimic'] == 200


def test_a_joint_that_never_mimics_is_a_violation():
    it = swapped(MIMIC, OFFSET, [(0.4, -0.4)] * 20)
    assert it.violations == 0
    it.take(Sample(('a', 'b'), np.array((0.4, -0.4)), None, 2 * 10**10, 25))
    assert it.others['mimic'] == 1


@pytest.mark.parametrize(('speed', 'violations'), [(0.01, 0), (0.004, 1)])
def test_a_slow_joint_may_take_long_to_where_it_mimics_as_long_as_it_gets_nearer(
    speed, violations
):
    seconds = np.arange(0.0, 20.0, 0.5)
    rows = np.stack([np.full(seconds.size, 0.4), -0.4 + speed * seconds], axis=-1)
    it = swapped(MIMIC, OFFSET, rows[:1])
    for number, (second, q) in enumerate(zip(seconds[1:], rows[1:], strict=True), 6):
        it.take(Sample(('a', 'b'), q, None, round(1e9 * second), number))
        if it.others['mimic']:
            break
    assert it.others['mimic'] == violations


def test_states_that_come_late_do_not_say_that_a_joint_mimics_already():
    panda = Robot(read_description(TEXT), 2.0, 10.0)
    for before, names, q in ((INDEPENDENT, ('a', 'b'), (0.4, -0.4)), (panda, NAMES, MIDDLE)):
        it = listener(before)
        for number in range(1, 4):
            it.take(Sample(names, np.array(q), None, 10 * number, number))
            if number == 1:
                it.expect_robot(MIMIC)
                it.adopt_robot(MIMIC, 35)
        it.take(Sample(('a', 'b'), np.array((0.4, -0.4 + 1e-6)), None, 40, 4))
        assert it.others['mimic'] == 0


@pytest.mark.parametrize(('step', 'holds'), [(1, True), (1.2, False)])
def test_a_joint_that_was_never_commanded_before_begins_with_one_step_from_rest(step, holds):
    it, panda = listener(INDEPENDENT), Robot(read_description(TEXT), 2.0, 10.0)
    for number in range(1, 5):
        it.take(Sample(('a', 'b'), np.array((0.4, -0.4)), np.zeros(2), number, number))
    it.expect_robot(panda)
    ticks = np.arange(1, 6)
    speeds, q = 10.0 / RATE * step * ticks, MIDDLE.copy()
    for number, speed in enumerate(speeds, 5):
        q[3] += speed / RATE
        dq = speed * (np.arange(q.size) == 3)
        it.take(Sample(NAMES, q.copy(), dq, number, number))
    it.finish()
    assert (it.violations == 0) == holds


def test_limits_that_were_set_stay_for_the_joints_that_a_new_robot_has():
    before, after = arm(), Robot(arm().description, 2.0, 10.0, ('b',))
    after.names = ('b',)
    it = listener(before)
    before.set = {('a', 2): 0.5, ('b', 2): 0.5, ('default', 3): 3.0}
    it.adopt_robot(after, 0)
    assert after.set == {('b', 2): 0.5, ('default', 3): 3.0}
    it.renew()
    it.adopt_robot(after, 0)
    assert not after.set, 'another process has its defaults'


def test_joints_that_no_robot_has_are_a_violation():
    it = listener()
    it.take(Sample(('x',), np.zeros(1), None, 1, 1))
    assert it.others['unknown joints'] == 1


def test_messages_are_counted_by_the_middleware_or_by_when_they_were_published():
    counted, timed = Numbers(1.0 / RATE), Numbers(1.0 / RATE)
    assert [counted.of({'publication_sequence_number': n}) for n in (3, 4, 7)] == [3, 4, 7]
    period = round(1e9 / RATE)
    at = period * np.cumsum([10**6, 1, 1, HOLE - 1, 1, HOLE + 1])
    infos = [{'publication_sequence_number': None, 'source_timestamp': int(t)} for t in at]
    assert np.diff([timed.of(info) for info in infos]).tolist() == [1, 1, 1, 1, HOLE + 1]


def test_one_limit_that_comes_late_here_does_not_end_what_the_next_allows():
    it, tight, wide = listener(), {(NAMES[0], 2): 0.5}, {(NAMES[0], 2): 2.0}
    heard(swing(1.0)[:2], it=it)
    it.expect(tight)
    it.answered(tight, accepted=True)
    it.expect(wide)
    rest = np.tile(swing(1.0)[1], (400, 1))
    rest[:, 0] += np.cumsum(np.minimum(np.arange(400) * 5.0 / RATE, 1.0)) / RATE
    assert heard(rest, np.arange(400) + 3, it).violations == 0


def test_what_was_published_before_a_limit_is_judged_without_it_however_late():
    it, q = listener(), swing(1.0)
    heard(q[:2], it=it)
    for given in ({(NAMES[0], 2): 0.5}, {(NAMES[1], 2): 0.5}):
        it.expect(given)
        it.answered(given, accepted=True)
    rest = np.tile(q[1], (400, 1))
    rest[:, 0] += np.cumsum(np.minimum(np.arange(400) * 5.0 / RATE, 1.0)) / RATE
    for number, row in enumerate(rest, 3):
        it.take(Sample(NAMES, row, None, 0, number))
    it.finish()
    assert it.violations == 0


def measured(positions, said):
    """A listener of these commands, to a robot that rests at the positions `said`."""

    def rests_at(names, q, stamp, slack):
        near = [row for row in np.atleast_2d(said) if np.abs(row - q).max() <= slack]
        return near[0] if near else None

    it = listener(rests_at=rests_at)
    for number, q in enumerate(positions):
        it.take(Sample(NAMES, q, None, 0, number))
    it.finish()
    return it


@pytest.mark.parametrize('says', [True, False])
def test_joints_at_rest_may_begin_where_the_robot_rests(says):
    q = np.tile(MIDDLE, (60, 1))
    q[28:, 0] += 1e-6  # the last step of a stop
    q[29:, 1] += 0.4
    it = measured(q, q[29:] if says else MIDDLE)
    assert (it.violations == 0) == says
    assert (it.restarts > 0) == says


@pytest.mark.parametrize('acceleration', [10.0, 20.0])  # 10 is allowed
def test_a_motion_that_begins_there_at_once_is_judged_from_there(acceleration):
    q, start = np.tile(MIDDLE, (60, 1)), MIDDLE.copy()
    start[1] += 0.4
    ticks = np.arange(1, 31)
    q[30:, 1] = start[1] + acceleration / RATE**2 * ticks * (ticks + 1) / 2
    it = measured(q, start)
    assert it.restarts == (acceleration == 10.0)
    assert (it.violations == 0) == (acceleration == 10.0)


def test_joints_that_move_may_not():
    q = swing(1.0)
    q[150:, 0] += 0.1
    it = measured(q, q[150:])
    assert it.violations > 0
    assert it.restarts == 0


def test_limits_that_were_set_stay_for_the_next_robot_where_it_can_have_them():
    joint = (
        '<joint name="{}" type="revolute"><limit lower="-1" upper="{}" velocity="3"/>{}</joint>'
    )
    mimic = '<mimic joint="a" multiplier="1"/>'

    def robot(upper='1', inside=''):
        joints = joint.format('a', upper, '') + joint.format('b', '1', inside)
        return Robot(read_description(f'<robot name="two">{joints}</robot>'), 2.0, 10.0)

    before, default = robot(), {('default', 4): 50.0}
    before.set = {('a', 0): 0.5, ('b', 1): 0.6, ('b', 2): 2.0, ('gone', 2): 1.0, **default}
    assert robot().taken_over(before) == {('a', 0): 0.5, ('b', 1): 0.6, ('b', 2): 2.0, **default}
    assert robot(inside=mimic).taken_over(before) == {('a', 0): 0.5, ('b', 2): 2.0, **default}
    assert robot(upper='0.4').taken_over(before) == default  # below what is set as lower


def test_the_default_limits_are_for_joints_without_their_own():
    text = """<robot name="two">
        <joint name="a" type="continuous"/>
        <joint name="b" type="revolute"><limit lower="-1" upper="1" velocity="3"/></joint>
        <joint name="c" type="continuous"><mimic joint="a" multiplier="2"/></joint></robot>"""
    robot = Robot(read_description(text), 2.0, 10.0)
    own = {('b', 3): 4.0, ('default', 4): 50.0}
    rows = robot.rows(('a', 'b', 'c'), own)
    assert rows[2].tolist() == [2.0, 3.0, np.inf]
    assert rows[3].tolist() == [10.0, 4.0, 10.0]
    assert rows[4].tolist() == [50.0] * 3


def test_a_mimic_joint_that_does_not_mimic_is_a_violation():
    q = swing(1.0)
    q[:, -1] += 1e-6
    assert heard(q).others['mimic'] > 0


def test_memory_that_grows_is_seen_and_a_start_is_not():
    grows, settles = Memory(), Memory()
    for second in range(600):
        grows.samples.append((second, 100.0 + 0.01 * second))
        settles.samples.append((second, 100.0 - 50.0 * 0.5**second))
    assert grows.growth(1000.0) == pytest.approx(0.01 * 600, rel=0.05)
    assert abs(settles.growth(1000.0)) < 1e-3
    assert Memory(grows.samples[:300]).growth(1000.0) is None


def test_memory_that_is_taken_once_is_no_growth():
    memory = Memory([(second, 120.0 + (second > 400)) for second in range(600)])
    assert memory.growth(1000.0) == 0.0


def test_memory_that_recordings_take_and_give_back_is_no_growth():
    rng, memory, recording = np.random.default_rng(0), Memory(), 0.0
    for second in range(900):
        recording = 0.0 if rng.random() < 0.1 else recording + 0.2 * (recording > 0.0)
        recording = recording or 0.2 * (rng.random() < 0.05)
        memory.samples.append((second, 250.0 + recording))
    assert max(mib for _, mib in memory.samples) > 253.0
    assert abs(memory.growth(1000.0)) < 0.1


def test_every_action_and_every_place_of_a_fault_exists():
    assert all(callable(getattr(Trials, name)) for output in RATES for name in weights(output))
    assert all(callable(getattr(owner, name)) for owner, name in [*PLACES, *AFTER])


def test_an_output_has_the_actions_that_it_can_have():
    assert 'mimics' in weights('joint_state')
    assert 'states_frozen' not in weights('joint_state')
    assert 'states_frozen' in weights('position_command')
    assert 'switched_off' not in weights('position_command')
    assert 'switched_off' in weights('joint_trajectory')
    assert set(weights('joint_state', ['goal', 'switched_off'])) == {'goal'}


def test_each_action_is_dealt_as_often_as_its_weight_says():
    deck = Deck({'a': 3, 'b': 1}, random.Random(0))
    assert all(sorted(deck.deal() for _ in range(4)) == ['a', 'a', 'a', 'b'] for _ in range(5))


def test_the_distance_from_a_line_is_that_across_it():
    direction = np.array([0.6, 0.0, 0.8])
    way = np.array([1.0, 2.0, 3.0]) + np.outer(np.linspace(0.0, 0.5, 20), direction)
    assert distance_from_line(way, direction) == pytest.approx(0.0, abs=1e-12)
    way[7] += 0.002 * np.array([0.8, 0.0, -0.6]) + 0.1 * direction
    assert distance_from_line(way, direction) == pytest.approx(0.002)


class JogBeganError(Exception):
    """The first twist has been published."""


class Rested(Trials):
    """The users of a robot that has rested for a long time, which a goal reaches late."""

    def __init__(self):
        self._variants = variants('joint_state')
        self._variant = self._variants[0]
        self.random, self._numbers = random.Random(0), np.random.default_rng(0)
        self._listener = SimpleNamespace(rests_since=-1e9, delay=0.0, moves=False, trace=None)
        self._poses = SimpleNamespace(publish=self.take_goal)
        self._twists = SimpleNamespace(publish=self.take_twist)
        self._arm, self.process, self.answers = None, None, ['idle']

    def take_goal(self, _):
        """The node notices it only after a while, and then moves."""
        self.answers = ['idle'] * 3 + ['tracking'] * 3 + ['reached']

    def take_twist(self, _):
        raise JogBeganError

    @property
    def status(self):
        code = self.answers[0]
        if len(self.answers) > 1:
            del self.answers[0]
        if code == 'tracking':
            self._listener.rests_since = time.monotonic()
        return {'code': code}

    def _calm(self):
        return nullcontext()

    def _load_machine(self, seconds):
        return []


def test_a_jog_that_is_judged_begins_where_the_goal_before_it_is_reached():
    rested = Rested()
    with pytest.raises(JogBeganError):
        rested.starved_jog()
    assert rested.answers == ['reached']
    assert time.monotonic() - rested._listener.rests_since > 0.5


class Services:
    """A node that has parameters, and takes what it is asked to set."""

    def __init__(self, **parameters):
        self.parameters = parameters

    def create_client(self, kind, name):
        return SimpleNamespace(call_async=getattr(self, name.split('/')[1], None))

    def _answer(self, **fields):
        return SimpleNamespace(done=lambda: True, result=lambda: SimpleNamespace(**fields))

    def list_parameters(self, request):
        return self._answer(result=SimpleNamespace(names=list(self.parameters)))

    def describe_parameters(self, request):
        return self._answer(descriptors=request.names)

    def get_parameters(self, request):
        return self._answer(
            values=[message('any', self.parameters[name]).value for name in request.names]
        )

    def set_parameters_atomically(self, request):
        self.parameters |= {p.name: parameter_value_to_python(p.value) for p in request.parameters}
        return self._answer(result=SimpleNamespace(successful=True))


def test_a_default_is_what_was_there_before_or_what_the_description_in_force_says():
    services, it = Services(**{'joint_limits.b.velocity': 1.0, 'solver': 'bfgs'}), listener(arm())
    client = Client(services, it)
    client.set({'joint_limits.b.velocity': 0.5, 'solver': 'ccd'})
    assert client.changed() == {'joint_limits.b.velocity': 1.0, 'solver': 'bfgs'}
    it.adopt_robot(arm(velocity=2), 1)
    assert client.changed() == {'joint_limits.b.velocity': 2.0, 'solver': 'bfgs'}
    client.set(client.changed())
    assert not client.changed()
    del services.parameters['joint_limits.b.velocity']
    client.values['joint_limits.b.velocity'] = 0.1
    client.parameters()
    assert not client.changed(), 'the node does not have it now'


def test_an_unknown_action_is_an_error(capsys):
    assert main(['--actions', 'goal,gaol', '--domain', str(DOMAIN)]) == 2
    assert "['gaol']" in capsys.readouterr().out


@pytest.mark.parametrize('output', RATES)
def test_a_short_run_breaks_nothing(output, capfd, monkeypatch):
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, os.environ.get(name, ''))  # put back afterwards
    arguments = ['--minutes', '0.05', '--rate', '200', '--seed', '3', '--domain', str(DOMAIN)]
    arguments += ['--output', output, '--actions', 'goal,pause,limits']
    assert main(arguments) == 0, capfd.readouterr().out
    assert 'nothing was broken' in capfd.readouterr().out
