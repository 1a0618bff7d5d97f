# SPDX-License-Identifier: Apache-2.0
"""The judge of trajectories: silent about those of a governor, and not about what is wrong."""

import copy
import functools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from support.node_harness import URDF, load
from trajectory_msgs.msg import JointTrajectory

from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.motion_limits import MotionLimits
from ik_node.clocks import Moment
from ik_node.outputs.joint_trajectories import JointTrajectoryWriter
from soak import trajectories
from soak.expected_limits import read_description
from soak.listener import Listener, Robot
from soak.trajectories import BEFORE, Controller, Spline, beyond_limits

RATE = 250.0
PERIOD = round(1e9 / RATE)
DELAY = 0.014
NAMES = tuple(f'panda_joint{i}' for i in range(1, 8))
BEGIN = 10**18
ON_ITS_WAY = 200_000  # ns
TURNS_BACK = 60  # tick
MISSING = range(40, 50)
JERK = 100.0


@functools.cache
def published(jerk=np.inf):
    """Messages of a move to and fro, from rest to rest."""
    robot = load('panda')
    limits = MotionLimits.of(robot, acceleration=5.0, jerk=jerk)
    governor = Governor(limits, 1.0 / RATE, robot.middle_configuration)
    writer, goal = JointTrajectoryWriter(robot, NAMES, RATE, DELAY), robot.middle_configuration
    goal[:7] += 0.3
    messages = []
    for tick in range(400):
        if tick == TURNS_BACK:
            goal[:7] -= 0.4
        governor.follow(goal)
        due = BEGIN + tick * PERIOD
        message = writer.write(governor, Moment(due, due))
        messages.append(deserialize_message(message, JointTrajectory))
    return messages


def heard(messages, said=False, late=(), jerk=np.inf, robot_at=None):
    """The controller and the listener after these messages; `said`: the robot is anywhere."""
    robot = Robot(read_description((URDF / 'panda.urdf').read_text('utf-8')), 2.0, 5.0, NAMES)
    listener = Listener(RATE, lambda names, q, stamp, slack=0.0: q if said else None)
    listener.adopt_robot(robot, 0)
    robot.set[('default', 4)] = jerk
    controller = Controller(listener, RATE, DELAY, lambda: robot_at)
    for tick, message in enumerate(messages):
        delay = 10_000_000 if tick in late else ON_ITS_WAY
        if message is not None:
            controller.hear(message, {'source_timestamp': BEGIN + tick * PERIOD + delay})
    listener.finish()
    return controller, listener


def changed(tick, change):
    """The messages, one of which is changed."""
    messages = list(published())
    messages[tick] = copy.deepcopy(messages[tick])
    change(messages[tick])
    return messages


@pytest.mark.parametrize('jerk', [np.inf, JERK])
def test_what_a_governor_does_is_no_violation(jerk):
    controller, listener = heard(published(jerk), jerk=jerk)
    assert listener.violations == 0, listener.first or listener.verdicts
    assert controller.late < 20  # until it is known how long they are on their way
    assert listener.moved > 100


def test_a_spline_is_exact_for_a_cubic():
    times = np.array([0, 3, 4, 9]) * 10**8
    cubic, rate = np.poly1d([1.0, -2.0, 0.5, 3.0]), np.poly1d([3.0, -4.0, 0.5])
    seconds = 1e-9 * times
    spline = Spline(('a',), times, cubic(seconds)[:, None], rate(seconds)[:, None])
    for moment in (10**8, 35 * 10**7, 7 * 10**8):
        q, dq = spline.at(moment)
        assert q == pytest.approx(cubic(1e-9 * moment))
        assert dq == pytest.approx(rate(1e-9 * moment))
    first, last = spline.accelerations()
    assert first[:, 0] == pytest.approx(rate.deriv()(seconds[:-1]))
    assert last[:, 0] == pytest.approx(rate.deriv()(seconds[1:]))
    grid = np.linspace(0.0, 0.9, 10_001)
    assert spline.fastest() == pytest.approx(np.abs(rate(grid)).max(), rel=1e-6)


@pytest.mark.parametrize('point', [BEFORE + 11, -4])
def test_a_velocity_that_the_positions_do_not_have_is_seen(point):
    def turn(message):
        message.points[point].velocities[2] += 0.05

    assert heard(changed(50, turn))[1].others['a trajectory beyond a limit'] == 1


def test_a_stop_beyond_a_limit_is_seen():
    spline = Spline.of(published()[50]).after(BEGIN + 50 * PERIOD)
    limits = np.array([[-3.0], [3.0], [2.0], [5.0], [np.inf]]) * np.ones(7)
    assert not beyond_limits(spline, limits, 1e-9 * PERIOD)
    for row, kind in ((3, 'acceleration'), (2, 'velocity'), (1, 'position')):
        low = limits.copy()
        low[row] = {3: 4.9, 2: 0.9 * np.abs(spline.velocities).max(), 1: spline.positions[1]}[row]
        assert kind in beyond_limits(spline, low, 1e-9 * PERIOD)


def test_a_message_that_does_not_go_on_is_seen():
    def shift(message):
        for point in message.points:
            point.positions[0] += 1e-6

    kind = 'a trajectory that does not go on from the one before'
    assert heard(changed(50, shift))[1].others[kind] == 2  # there and back


def test_trajectories_of_another_robot_take_over():
    messages = [*published()[:50], *copy.deepcopy(published()[50:])]
    for message in messages[50:]:
        message.joint_names = message.joint_names[:6]
        for point in message.points:
            point.positions, point.velocities = point.positions[:6], point.velocities[:6]
    _, listener = heard(messages)
    kinds = {*listener.others} - {'unknown joints'}
    assert not kinds


def test_one_that_comes_late_is_counted_instead():
    usual = heard(published())[0].late
    controller, listener = heard(published(), late=[50])
    assert controller.late == usual + 1
    assert listener.violations == 0


def test_one_that_ends_in_the_past_is_refused_unless_it_was_held_up():
    def early(message):
        for point in message.points:
            point.time_from_start.sec -= 3

    assert heard(changed(50, early))[1].violations == 1
    messages = list(published())
    robot = heard(messages)[0]
    held_up = messages[60]
    before, violations = robot.late, robot._listener.violations
    robot.hear(held_up, {'source_timestamp': BEGIN + 402 * PERIOD + 3 * 10**9})
    assert (robot.late, robot._listener.violations) == (before + 1, violations)


def test_ticks_that_did_not_come_and_are_not_made_up_for_are_seen():
    messages = [None if tick in MISSING else m for tick, m in enumerate(published())]
    kind = 'a trajectory that does not go on from the one before'
    assert heard(messages)[1].others[kind] == 1


@pytest.mark.parametrize(('said', 'violations'), [(True, 0), (False, 1)])
def test_joints_at_rest_may_begin_anew_where_the_robot_says_it_is(said, violations):
    elsewhere = copy.deepcopy(published()[-5:])
    for point in (point for message in elsewhere for point in message.points):
        point.positions[3] += 0.5
    resting = published()[-25:-5]
    assert len({tuple(point.positions) for m in resting for point in m.points}) == 1
    messages = [None] * 375 + resting + elsewhere
    _, listener = heard(messages, said)
    jumps = listener.others['a trajectory that does not go on from the one before']
    assert jumps == violations
    assert listener.restarts == said


def test_what_a_controller_refuses_is_a_violation():
    def speed(message):
        message.points[-1].velocities[0] = 0.1

    def order(message):
        message.points[8].time_from_start = message.points[7].time_from_start

    def nan(message):
        message.points[8].positions[0] = np.nan

    for change in (speed, order, nan):
        assert heard(changed(50, change))[1].others['a trajectory that controllers refuse'] == 1


@pytest.mark.parametrize(('seconds', 'jumps'), [(0.02, 0), (0.1, 1)])
def test_a_controller_that_is_switched_on_far_from_the_next_message_is_a_violation(
    seconds, jumps, monkeypatch
):
    """The robot stayed where it was when the controller was switched off, at up to 0.6 rad/s."""
    messages, off = published(), 30
    on = off + round(seconds * RATE)
    now = [BEGIN + off * PERIOD]
    monkeypatch.setattr(trajectories.time, 'time_ns', lambda: now[0])
    controller, listener = heard(messages[:off])
    assert listener.violations == 0
    held = controller.aim()
    controller.switch(False, held)
    assert controller.aim() == {}
    controller.hear(messages[off], {'source_timestamp': now[0] + ON_ITS_WAY})
    now[0] = BEGIN + on * PERIOD
    controller.switch(True, held)
    controller.hear(messages[on - 1], {'source_timestamp': now[0] - PERIOD})
    assert controller.aim() == {}, 'it was published before'
    controller.hear(messages[on], {'source_timestamp': now[0] + ON_ITS_WAY})
    found = listener.others['a jump where the controller is switched on']
    assert (found, controller.switched_on) == (jumps, 1)
    assert set(controller.aim()) == set(NAMES)


def led(way, seconds):
    """A trajectory of one point, at rest, that comes where the joints rest; and its judge."""
    messages = published()
    end = Spline.of(messages[-1])
    now = int(end.times[-1]) - 10**8
    here = dict(zip(NAMES, end.positions[-1].tolist(), strict=True))
    controller, listener = heard(messages, robot_at=here)
    message = copy.deepcopy(messages[-1])
    arrives = now + round(1e9 * seconds)
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(arrives, 10**9)
    message.points = message.points[-2:]
    for k, point in enumerate(message.points):
        point.positions = [q + way for q in here.values()]
        point.velocities = [0.0] * len(here)
        point.time_from_start.sec, point.time_from_start.nanosec = k, 0
    controller.hear(message, {'source_timestamp': now})
    return controller, listener


def test_a_message_that_begins_later_is_led_to_from_where_the_robot_is():
    controller, listener = led(0.1, 0.5)
    assert listener.violations == 0, listener.first
    assert len(controller.aim()) == len(NAMES)


def test_a_message_that_begins_too_soon_is_a_violation():
    _, listener = led(0.1, 0.2)
    assert listener.others['a trajectory beyond a limit'] == 1
