"""The soak test itself: what it hears, what it says, and a short run that finds nothing."""

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from support.node_harness import DOMAIN, URDF

from ik_node.tools.soak.__main__ import OUTPUTS, main
from ik_node.tools.soak.actions import OF_ARM, WEIGHTS, Actions
from ik_node.tools.soak.campaign import Memory
from ik_node.tools.soak.faulty import AFTER, PLACES
from ik_node.tools.soak.limits import read_description
from ik_node.tools.soak.listener import Listener, Robot, Sample

RATE = 500.0
TEXT = (URDF / 'panda.urdf').read_text('utf-8')
NAMES = tuple(read_description(TEXT).rows)
MIDDLE = np.array([0.0, 0.0, 0.0, -1.5, 0.0, 1.5, 0.0, 0.02, 0.02])


def listener():
    return Listener([Robot(read_description(TEXT), 2.0, 10.0)], RATE)


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


def test_another_robot_whose_joint_is_elsewhere_is_a_violation():
    it = heard(swing(1.0))
    text = f'''<robot name="one"><joint name="{NAMES[0]}" type="revolute">
        <limit lower="-2" upper="2" velocity="1"/></joint></robot>'''
    other = Robot(read_description(text), 2.0, 10.0)
    it.robots[frozenset(other.names)] = other
    message = JointState(name=other.names, position=[0.9], velocity=[0.0])
    it.receive(message, {'publication_sequence_number': 1})
    assert it.others['a jump where the robot is another'] == 1


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
    """A listener of these commands, to a robot that says that it is at the positions `said`."""
    places = set(np.ravel(said).tolist())
    robot = Robot(read_description(TEXT), 2.0, 10.0)
    it = Listener([robot], RATE, lambda name, position: position in places)
    for number, q in enumerate(positions):
        it.take(Sample(NAMES, q, None, 0, number))
    it.finish()
    return it


@pytest.mark.parametrize('says', [True, False])
def test_joints_at_rest_may_begin_where_they_are_said_to_be(says):
    q = np.tile(MIDDLE, (60, 1))
    q[28:, 0] += 1e-6  # the last step of a stop
    q[29:, 1] += 0.4
    it = measured(q, q[29:] if says else MIDDLE)
    assert (it.violations == 0) == says
    assert (it.restarts > 0) == says


def test_joints_that_move_may_not():
    q = swing(1.0)
    q[150:, 0] += 0.1
    it = measured(q, q[150:])
    assert it.violations > 0
    assert it.restarts == 0


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
    robot.set |= own
    robot.forget()
    assert robot.set == {('default', 4): 50.0}


def test_default_limits_stay_when_the_robot_is_another():
    one, other = (Robot(read_description(TEXT), 2.0, 10.0) for _ in range(2))
    other.commanded = ('another',)
    it = heard(swing(1.0)[:2], it=Listener([one, other], RATE))
    given = {('default', 3): 3.0, ('panda_joint1', 3): 1.0}
    it.answered(given, accepted=False)
    assert not other.set
    it.answered(given, accepted=True)
    assert one.set == given
    assert other.set == {('default', 3): 3.0}


def test_a_mimic_joint_that_does_not_mimic_is_a_violation():
    q = swing(1.0)
    q[:, -1] += 1e-6
    assert heard(q).others['mimic'] > 0


def test_memory_that_grows_is_seen_and_a_start_is_not():
    grows, settles = Memory(), Memory()
    for second in range(600):
        grows.samples.append((second, 100.0 + 0.01 * second))
        settles.samples.append((second, 100.0 - 50.0 * 0.5**second))
    assert grows.growth(1000.0) == pytest.approx(0.01 * 600)
    assert abs(settles.growth(1000.0)) < 1e-3
    assert Memory(grows.samples[:300]).growth(1000.0) is None


def test_memory_that_recordings_take_and_give_back_is_no_growth():
    rng, memory, recording = np.random.default_rng(0), Memory(), 0.0
    for second in range(900):
        recording = 0.0 if rng.random() < 0.1 else recording + 0.2 * (recording > 0.0)
        recording = recording or 0.2 * (rng.random() < 0.05)
        memory.samples.append((second, 250.0 + recording))
    assert max(mib for _, mib in memory.samples) > 253.0
    assert abs(memory.growth(1000.0)) < 0.1


def test_every_action_and_every_place_of_a_fault_exists():
    assert all(callable(getattr(Actions, name)) for name in WEIGHTS | OF_ARM)
    assert all(callable(getattr(owner, name)) for owner, name in [*PLACES, *AFTER])


@pytest.mark.parametrize('output', OUTPUTS)
def test_a_short_run_breaks_nothing(output, capfd, monkeypatch):
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, os.environ.get(name, ''))  # put back afterwards
    arguments = ['--minutes', '0.05', '--rate', '200', '--seed', '3', '--domain', str(DOMAIN)]
    arguments += ['--output', output]
    assert main(arguments) == 0, capfd.readouterr().out
    assert 'nothing was broken' in capfd.readouterr().out
