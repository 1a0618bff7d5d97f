# SPDX-License-Identifier: Apache-2.0
"""Motion of ros2_control's JointTrajectoryController for the trajectories that are published.

The controller is simulated (`support.jtc_simulation`); a governor commands, as in the node.
"""

import functools
import math
from dataclasses import asdict, dataclass, replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rclpy.serialization import deserialize_message
from support.jtc_simulation import SECOND, Controller, State, Trajectory, simulate
from support.node_harness import load
from trajectory_msgs.msg import JointTrajectory

from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.motion_limits import MotionLimits
from ik_node.clocks import Moment
from ik_node.outputs.joint_trajectories import JointTrajectoryWriter

ACCELERATION = 5.0
DELAY = 0.014
BEGIN = 100 * SECOND
AHEAD = 1000 * SECOND  # of the clock of messages
ARM = [f'panda_joint{i}' for i in range(1, 8)]
SECONDS = 2.4
MOVE = 0.8  # seconds between new goals
CERTAIN = 11  # points at 250 Hz: a lag of 20 ms, clocks 20 ms apart
THOROUGH = pytest.mark.thorough
PAUSES = [pytest.param(0.008, marks=THOROUGH), 0.02, pytest.param(0.1, marks=THOROUGH), 0.5]


class Driver:
    """Stands for a tracker: a governor that follows goals."""

    def __init__(self, robot, rate, jerk):
        limits = MotionLimits.of(robot, acceleration=ACCELERATION, jerk=jerk)
        self.governor = Governor(limits, 1.0 / rate, robot.middle_configuration)
        self.goal = None

    @property
    def at_rest(self):
        return self.governor.at_rest

    def move(self):
        self.governor.follow(self.goal, None, True)

    def skip_tick(self, *, braking):
        if braking:
            self.governor.brake(announced=True)
        else:
            self.move()

    def undo_tick(self):
        self.governor.undo_tick()


@dataclass(frozen=True)
class Stream:
    """Published messages with their ticks [ns]; q (ticks + 1, 7) from the start on."""

    rate: float
    ticks: list
    messages: list
    q: np.ndarray
    lag: float

    @property
    def accelerations(self):
        return np.diff(self.q, 2, axis=0) * self.rate**2


@pytest.fixture(scope='module')
def robot():
    return load('panda')


@functools.cache
def stream(
    rate=250.0, *, jerk=math.inf, missing=(), slow=(), seconds=SECONDS, delay=DELAY, shares=()
):
    """Moves to one random goal after the other, mostly before the last one is reached.

    missing: by number, ticks that do not come; slow: pairs of a number, and of that until which
    this tick takes; shares: pairs of a number, and of a share of the acceleration limit, which
    holds from that tick on.
    """
    robot, random, period = load('panda'), np.random.default_rng(1), round(SECOND / rate)
    driver = Driver(robot, rate, jerk)
    writer = JointTrajectoryWriter(robot, ARM, rate, delay)
    ticks, messages, q, slow = [], [], [driver.governor.q[:7].copy()], dict(slow)
    shares, limits = dict(shares), driver.governor.limits
    for number in range(round(seconds * rate)):
        if number % round(MOVE * rate) == 0:
            share = random.uniform(0.1, 0.9, robot.n)
            driver.goal = robot.lower + share * (robot.upper - robot.lower)
        due = BEGIN + number * period
        if number in missing or (ticks and due <= ticks[-1]):
            continue
        if number in shares:
            acceleration = shares[number] * limits.acceleration
            driver.governor.set_limits(replace(limits, acceleration=acceleration))
        driver.governor.begin_tick()
        driver.move()
        due = writer.simulate_missed(driver, due, due + slow.get(number, 0) * period + period // 2)
        message = writer.write(driver.governor, Moment(due, due + AHEAD))
        writer.sent()
        ticks.append(due)
        messages.append(Trajectory.read(message))
        q.append(driver.governor.q[:7].copy())
    return Stream(rate, ticks, messages, np.array(q), writer.lag)


def test_bytes_are_read_as_ros_reads_them(robot):
    writer, governor = JointTrajectoryWriter(robot, ARM, 250.0, DELAY), Driver(robot, 250.0, 60.0)
    governor.goal = robot.lower + 0.4 * (robot.upper - robot.lower)
    for number in range(3):
        governor.move()
        due = BEGIN + number * SECOND // 250
        message = writer.write(governor.governor, Moment(due, due + AHEAD))
        expected = Trajectory.of(deserialize_message(message, JointTrajectory))
        found = Trajectory.read(message)
        assert found.stamp == expected.stamp
        for (time, state), (same_time, same) in zip(found.points, expected.points, strict=True):
            assert time == same_time
            np.testing.assert_equal(asdict(state), asdict(same))


def delivered(published, delays, messages=None):
    """Messages in their order, each so many seconds after its tick at least."""
    arrivals = np.array(published.ticks) + AHEAD + (SECOND * delays).astype(np.int64)
    arrivals = np.maximum.accumulate(arrivals)
    return list(zip(arrivals.tolist(), messages or published.messages, strict=True))


def delays_of(kind, published):
    """Return the delays of messages [s]: on a quiet or a busy machine, three at a time, or in
    bursts."""
    random, count, period = np.random.default_rng(2), len(published.ticks), 1.0 / published.rate
    quiet = 3e-4 + random.exponential(1e-4, count)
    if kind == 'busy':
        return np.minimum(4e-4 + random.exponential(1.5e-3, count), 0.009)
    if kind == 'bunched':
        return 4e-4 + (2 - np.arange(count) % 3) * min(period, 0.004)
    if kind == 'bursts':
        for first in random.integers(0, count - 5, count // 50):
            left = random.uniform(0.004, 0.0095) - period * np.arange(5)
            quiet[first : first + 5] = np.maximum(quiet[first : first + 5], left)
    return quiet


def cycles_of(period, seconds, kind):
    """When the controller's cycles begin [ns]: slowly they get out of step with the ticks."""
    random, count = np.random.default_rng(3), round(seconds / period)
    jitter = random.exponential(1e-4 if kind == 'busy' else 1e-5, count)
    times = (0.37 + np.arange(count)) * period * (1.0 + period / seconds)
    times += np.minimum(jitter, 0.5 * period)
    return (BEGIN + AHEAD + (SECOND * times).astype(np.int64)).tolist()


def moved(published, kind, controller, *, late=0, messages=None):
    """Return the controller's motion for the messages."""
    arrivals = delivered(published, delays_of(kind, published), messages)
    seconds = (published.ticks[-1] - BEGIN) / SECOND + published.lag + 0.1
    cycles = cycles_of(controller.period / SECOND, seconds, kind)
    return simulate(controller, cycles, arrivals, published.q[0], late)


def single_points(published, seconds):
    """The same as one point at rest each, to be reached after so long."""
    rest, after = np.zeros(7), round(SECOND * seconds)
    return [Trajectory(0, ((after, State(q, rest)),)) for q in published.q[1:]]


def check(motion, robot, *, acceleration=1.0001 * ACCELERATION):
    """No joint leaves its limits."""
    assert (motion.positions >= robot.lower[:7] - 1e-9).all()
    assert (motion.positions <= robot.upper[:7] + 1e-9).all()
    assert (np.abs(motion.velocities) <= robot.velocity[:7] * (1.0 + 1e-6)).all()
    assert np.abs(motion.accelerations).max() <= acceleration


def rms(values):
    return math.sqrt(np.mean(np.square(values)))


def controller_of(cycle=0.004, **rules):
    return Controller(round(SECOND * cycle), **rules)


# --- single points: the simulation shows what was seen of them ---------------------------------


def test_points_one_at_a_time_make_joints_jerk(robot):
    published = stream()
    motion = moved(published, 'busy', controller_of(), messages=single_points(published, 0.004))
    assert (np.abs(motion.velocities) / robot.velocity[:7]).max() > 1.9
    assert np.abs(motion.accelerations).max() > 500.0
    assert rms(motion.accelerations) > 10.0 * rms(published.accelerations)


@pytest.mark.parametrize('seconds', [0.02, 0.05])
def test_points_that_lie_ahead_diverge_where_states_come_late(robot, seconds):
    published = stream()
    messages = single_points(published, seconds)
    on_time = moved(published, 'quiet', controller_of(), messages=messages)
    assert rms(on_time.accelerations) < 3.0 * rms(published.accelerations)
    late = moved(published, 'quiet', controller_of(), messages=messages, late=1)
    assert np.abs(late.positions).max() > 1e6


# --- windows -----------------------------------------------------------------------------------


@pytest.mark.parametrize('kind', ['quiet', 'busy', 'bunched', 'bursts'])
@pytest.mark.parametrize(
    ('rate', 'cycle', 'delay'),
    [
        (250.0, 0.004, DELAY),
        (250.0, 0.001, DELAY),
        (500.0, 0.002, DELAY),
        (100.0, 0.001, DELAY),
        (1000.0, 0.01, 0.02),
    ],
)
def test_joints_move_as_smoothly_as_commanded(robot, rate, cycle, delay, kind):
    published, controller = stream(rate, delay=delay), controller_of(cycle)
    motion = moved(published, kind, controller, late=2)
    check(motion, robot)
    assert rms(motion.accelerations) <= 1.05 * rms(published.accelerations)
    assert not controller.refused


@pytest.mark.parametrize('late', [0, 1, 3])
def test_what_the_controller_measures_does_not_matter(late):
    published = stream()
    moves = [moved(published, 'busy', controller_of(), late=cycles) for cycles in (late, 2)]
    np.testing.assert_array_equal(moves[0].positions, moves[1].positions)


@pytest.mark.parametrize('rules', [{'looks_ahead': False}, {'defers': True}], ids=str)
def test_other_versions_of_the_controller_do_the_same(robot, rules):
    published, controller = stream(), controller_of(**rules)
    check(moved(published, 'busy', controller, late=2), robot)
    assert not controller.refused


def test_a_controller_that_blends_messages_does_not(robot):
    motion = moved(stream(), 'busy', controller_of(blends=True))
    assert (np.abs(motion.velocities) / robot.velocity[:7]).max() > 1.5, 'not worth a remark'


def test_joints_lag_as_long_as_is_said():
    published = stream()
    motion = moved(published, 'quiet', controller_of(0.001))
    commanded = published.q[1:]
    seconds = (np.array(published.ticks) + AHEAD - motion.start) / SECOND + published.lag
    seen = np.array([np.interp(seconds, motion.times, row) for row in motion.positions.T]).T
    rounded_off = ACCELERATION * 0.004**2 / 8.0  # by the curve through the ticks
    assert np.abs(seen - commanded).max() <= 1.1 * rounded_off
    assert published.lag == pytest.approx(1.5 * 0.004 + DELAY)


def test_messages_say_the_same_about_the_same_moment():
    known = {}
    for message in stream().messages:
        for time, state in message.points[2 : 2 + CERTAIN]:
            before = known.setdefault(message.stamp + time, state)
            np.testing.assert_array_equal(state.position, before.position)
            np.testing.assert_array_equal(state.velocity, before.velocity)
    assert len(known) == len(stream().messages) + CERTAIN - 1


@pytest.mark.parametrize('kind', ['quiet', 'busy'])
@pytest.mark.parametrize('rate', [250.0, 1000.0])
@pytest.mark.parametrize('pause', PAUSES)
def test_ticks_that_do_not_come_make_no_joint_jump(robot, rate, pause, kind):
    missed = [
        round(rate * begin) + number
        for begin in (0.15, 0.7, 1.0, 1.7)
        for number in range(round(rate * pause))
    ]
    published, controller = stream(rate, missing=frozenset(missed)), controller_of(0.001)
    check(moved(published, kind, controller), robot)
    assert not controller.refused


@pytest.mark.parametrize('rate', [250.0, 1000.0])
@pytest.mark.parametrize(
    'pause', [*(pytest.param(it, marks=THOROUGH) for it in (0.016, 0.024)), 0.02, 0.1]
)
def test_limits_that_change_where_ticks_did_not_come_make_no_joint_jump(robot, rate, pause):
    begins = [round(rate * begin) for begin in (0.15, 0.7, 1.0, 1.7)]
    missed = [begin + number for begin in begins for number in range(round(rate * pause))]
    shares = ((begin + round(rate * pause), 0.3 + 0.7 * (k % 2)) for k, begin in enumerate(begins))
    published = stream(rate, missing=frozenset(missed), shares=tuple(shares))
    check(moved(published, 'quiet', controller_of(0.001)), robot)


@pytest.mark.parametrize(('kind', 'missed'), [('quiet', 0.0), ('busy', 0.0), ('quiet', 0.1)])
@pytest.mark.parametrize('rate', [250.0, 1000.0])
@pytest.mark.parametrize('pause', PAUSES)
def test_ticks_that_take_too_long_make_no_joint_jump(robot, rate, pause, kind, missed):
    begins = [round(rate * begin) for begin in (0.15, 0.7, 1.0, 1.7)]
    missing = {begin - 1 - k for begin in begins for k in range(round(rate * missed))}
    slow = tuple((begin, round(rate * pause)) for begin in begins)
    published = stream(rate, missing=frozenset(missing), slow=slow)
    controller = controller_of(0.001)
    check(moved(published, kind, controller), robot)
    assert not controller.refused


def knots_of(published):
    """Return the joint positions that the messages fix, by time."""
    return {
        message.stamp + time: state.position
        for message in published.messages
        for time, state in message.points[2 : 2 + CERTAIN]
    }


def test_a_tick_that_takes_a_little_longer_changes_nothing():
    slow = tuple((number, 1) for number in range(20, 500, 40))
    every, known = knots_of(stream()), knots_of(stream(slow=slow))
    assert known.keys() == every.keys()
    for time, position in known.items():
        np.testing.assert_array_equal(position, every[time])


def test_a_node_that_is_too_slow_for_its_rate_moves_the_joints_as_far():
    every, other = stream(), stream(missing=frozenset(range(1, 10**4, 2)))
    way, same_way = (
        np.abs(np.diff(moved(published, 'quiet', controller_of()).positions, axis=0)).sum()
        for published in (every, other)
    )
    assert same_way == pytest.approx(way, rel=0.02)


@pytest.mark.parametrize('jerk', [math.inf, 60.0])
@pytest.mark.parametrize('last', [30, 120, 215, 333])
def test_without_another_message_the_joints_stop_within_their_limits(robot, last, jerk):
    published = stream(jerk=jerk)
    end = Stream(
        published.rate,
        published.ticks[:last],
        published.messages[:last],
        published.q[: last + 1],
        published.lag + 1.0,
    )
    motion = moved(end, 'quiet', controller_of(0.001), late=1)
    check(motion, robot, acceleration=ACCELERATION * (1.0001 if math.isinf(jerk) else 1.02))
    assert np.abs(motion.velocities[:-900]).max() > 0.3
    assert not motion.velocities[-3:].any()


def test_messages_that_take_too_long_make_no_great_difference(robot):
    published = stream()
    arrivals = delivered(published, delays_of('quiet', published) + 0.02)
    cycles = cycles_of(0.004, SECONDS, 'quiet')
    motion = simulate(controller_of(), cycles, arrivals, published.q[0], 2)
    assert (np.abs(motion.velocities) <= 1.05 * robot.velocity[:7]).all()
    assert rms(motion.accelerations) <= 2.5 * rms(published.accelerations)


def moved_by_another_clock(published, controller, seconds):
    """Return the motion of a controller whose clock is ahead."""
    ahead = round(SECOND * seconds)
    arrivals = delivered(published, delays_of('quiet', published))
    arrivals = [(time + ahead, message) for time, message in arrivals]
    cycles = [time + ahead for time in cycles_of(0.004, SECONDS, 'quiet')]
    return simulate(controller, cycles, arrivals, published.q[0], 2)


@pytest.mark.parametrize('seconds', [-0.02, 0.005])
@pytest.mark.parametrize('rules', [{}, {'defers': True}], ids=str)
def test_the_clock_of_the_controller_may_differ_a_little(robot, seconds, rules):
    controller = controller_of(**rules)
    check(moved_by_another_clock(stream(), controller, seconds), robot)
    assert not controller.refused


@pytest.mark.parametrize('seconds', [-900.0, -1.0, -0.05, 0.05, 900.0])
@pytest.mark.parametrize('rules', [{}, {'defers': True}, {'blends': True}], ids=str)
def test_no_joint_swings_out_by_any_clock(seconds, rules):
    published = stream()
    motion = moved_by_another_clock(published, controller_of(**rules), seconds)
    assert (motion.positions >= published.q.min(axis=0) - 0.1).all()
    assert (motion.positions <= published.q.max(axis=0) + 0.1).all()


def test_jerk_limits_are_kept_from_cycle_to_cycle(robot):
    jerk, published = 60.0, stream(jerk=60.0)
    motion = moved(published, 'quiet', controller_of())
    check(motion, robot, acceleration=1.001 * ACCELERATION)
    assert np.abs(np.diff(motion.accelerations, axis=0)).max() <= 1.2 * jerk * 0.004
    assert rms(motion.accelerations) <= 1.05 * rms(published.accelerations)
