# SPDX-License-Identifier: Apache-2.0
"""A stop of joints outside their limits ends where it ends; the way back waits until resumed."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.motion_checks import limits_of, stop_of

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.recording import Recorder, read_recording, replay

RATE = 100.0
TIMEOUT = 1e3  # [s] of goals and twists, by a clock that only tests of timeouts set forward
GANTRY = f"""
<robot name="gantry"> <link name="x"/> <link name="y"/> <link name="z"/> <link name="tool"/>
  {
    ''.join(
        f'<joint name="{axis}" type="prismatic"> <parent link="{axis}"/> <child link="{child}"/>'
        f'<axis xyz="{xyz}"/> <limit lower="-100" upper="100" velocity="100" effort="1"/> </joint>'
        for axis, child, xyz in (('x', 'y', '1 0 0'), ('y', 'z', '0 1 0'), ('z', 'tool', '0 0 1'))
    )
}
</robot>
"""


def at(x):
    """The goal that takes the joints to x (3,)."""
    goal = np.eye(4)
    goal[:3, 3] = x
    return goal


class Gantry:
    """A tracker of three sliding joints, its clock, and its moves and stops."""

    def __init__(self, limits, q=(0.0, 0.0, 0.0), rate=RATE, **arguments):
        self.robot = ik.load_robot(GANTRY)
        self.now = 0.0
        options = TrackerOptions(goal_timeout=TIMEOUT, twist_timeout=10.0)
        problem = ik.IkProblem(self.robot, [ik.PositionTask('tool')])
        self.tracker = Tracker(
            problem, rate, limits=limits, options=options, q0=q, clock=lambda: 0.0, **arguments
        )

    def go(self, x):
        self.tracker.set_goal(0, at(x), self.now)

    def jog(self, twist):
        self.tracker.set_twist(0, twist, np.zeros(3), self.now)

    def tick(self):
        command = self.tracker.tick(self.now)
        self.now += self.tracker.period
        return command

    def ticks(self, count):
        return [self.tick() for _ in range(count)]

    def until_rest(self, ticks=200_000):
        """Tick until all joints rest; how many ticks that took."""
        for count in range(ticks):
            if self.tracker.at_rest:
                return count
            self.tick()
        raise AssertionError(f'at {self.tracker.q}, still at {self.tracker.dq}')

    def time_out(self):
        self.now += 2.0 * TIMEOUT


STOPS = {
    'stop': lambda arm: arm.tracker.stop(),
    'pause': lambda arm: arm.tracker.pause(),
    'pause and stop': lambda arm: (arm.tracker.pause(), arm.tracker.stop()),
    'drop the goal': lambda arm: arm.tracker.set_goal(0, None, arm.now),
    'timeout': Gantry.time_out,
}
RESUMES = {
    'a goal': lambda arm: arm.go([-0.5, 0.0, 0.0]),
    'a twist': lambda arm: arm.jog([-0.01, 0.0, 0.0]),
    'the end of a pause': lambda arm: arm.tracker.pause(False),
    'a reset': lambda arm: arm.tracker.reset(arm.tracker.q),
}


def on_the_way_back(acceleration=5.0, jerk=math.inf, speed=0.01):
    """At 0.9, returning to at most 0 at that speed."""
    start = [0.9, 0.0, 0.0]
    arm = Gantry(limits_of(-1.0, 1.0, 2.0, acceleration, jerk, n=3), start)
    arm.go(start)
    arm.ticks(5)
    tight = limits_of(-1.0, 1.0, 2.0, acceleration, jerk, n=3)
    upper, velocity = np.array([0.0, 1.0, 1.0]), np.array([speed, 2.0, 2.0])
    arm.tracker.set_limits(
        MotionLimits(tight.lower, upper, velocity, tight.acceleration, tight.jerk)
    )
    arm.ticks(100)
    assert arm.tracker.dq[0] == pytest.approx(-speed)
    return arm


def assert_stays(arm, ticks=200):
    q = arm.tracker.q
    for command in arm.ticks(ticks):
        np.testing.assert_array_equal(command.q, q)
        assert not command.dq.any()


@pytest.mark.parametrize('jerk', [math.inf, 20.0], ids=['no jerk limit', 'jerk limit'])
@pytest.mark.parametrize('stop', STOPS)
def test_a_stop_on_the_way_back_ends_at_once_and_stays_outside(stop, jerk):
    arm = on_the_way_back(jerk=jerk)
    q, dq, ddq = arm.tracker.q, arm.tracker.dq, arm.tracker.governor.ddq.copy()
    way, seconds = stop_of(dq[0], ddq[0], 5.0, jerk, arm.tracker.period)
    STOPS[stop](arm)
    assert arm.until_rest() <= math.ceil(seconds * RATE)
    assert arm.tracker.q[0] == pytest.approx(q[0] + way, abs=1e-12)
    assert_stays(arm)
    assert arm.tick().status in (TrackStatus.IDLE, TrackStatus.PAUSED, TrackStatus.STALE)


@pytest.mark.parametrize('resume', RESUMES)
@pytest.mark.parametrize('stop', ['stop', 'pause'])
def test_the_way_back_goes_on_once_motion_is_resumed(stop, resume):
    arm = on_the_way_back()
    STOPS[stop](arm)
    arm.until_rest()
    assert_stays(arm)
    RESUMES[resume](arm)
    if stop == 'pause' and resume != 'the end of a pause':
        assert_stays(arm)  # a pause lasts until it is ended
        arm.tracker.pause(False)
    before = arm.tracker.q[0]
    arm.ticks(200)
    assert arm.tracker.q[0] == pytest.approx(before - 0.02, rel=0.05)


def test_a_pause_that_is_taken_back_in_motion_goes_on_with_the_way_back():
    arm = on_the_way_back(jerk=0.1)
    arm.tracker.pause()
    arm.ticks(3)
    assert not arm.tracker.at_rest
    arm.tracker.pause(False)
    arm.ticks(300)
    assert arm.tracker.dq[0] == pytest.approx(-0.01)


@pytest.mark.parametrize('stop', STOPS)
def test_limits_that_change_after_a_stop_move_nothing(stop):
    arm = Gantry(limits_of(-1.0, 1.0, 2.0, 5.0, n=3))
    arm.go([0.9, 0.5, -0.3])
    arm.ticks(30)
    STOPS[stop](arm)
    arm.until_rest()
    for upper in (0.1, -0.2, 0.8):
        arm.tracker.set_limits(limits_of(-1.0, upper, 2.0, 5.0, 50.0, n=3))
        assert_stays(arm, 50)


def test_a_joint_at_rest_outside_that_never_stopped_returns():
    tight = limits_of(-1.0, 0.5, 0.1, 5.0, n=3)
    arm = Gantry(tight, [0.9, 0.0, 0.0])
    assert (arm.ticks(1000)[-1].q <= 0.5).all()
    arm.until_rest()
    arm.tracker.stop()
    arm.tracker.reset([0.9, 0.0, 0.0])
    assert (arm.ticks(1000)[-1].q <= 0.5).all()


def test_braking_for_a_tick_is_no_stop():
    arm = on_the_way_back()
    arm.tracker.brake()
    arm.ticks(100)
    assert arm.tracker.dq[0] == pytest.approx(-0.01)


@pytest.mark.parametrize('braking', [False, True])
def test_a_skipped_tick_of_a_stop_brakes(braking):
    arm, other = on_the_way_back(jerk=1.0), on_the_way_back(jerk=1.0)
    for one in (arm, other):
        one.tracker.stop()
        one.tick()
    arm.tracker.skip_tick(braking=braking)
    other.tick()
    np.testing.assert_array_equal(arm.tracker.q, other.tracker.q)
    arm.until_rest()
    arm.tracker.skip_tick(braking=braking)
    assert arm.tracker.at_rest
    assert arm.tracker.q[0] > 0.8


def test_another_problem_after_a_stop_moves_nothing():
    arm = on_the_way_back()
    arm.tracker.stop()
    arm.until_rest()
    arm.tracker.set_problem(ik.IkProblem(arm.robot, [ik.PositionTask('tool', tool=at([0, 0, 1]))]))
    assert_stays(arm)


def test_a_twist_that_another_tool_ends_is_a_stop():
    arm = on_the_way_back()
    arm.jog([0.0, 0.01, 0.0])
    arm.ticks(5)
    arm.tracker.set_problem(ik.IkProblem(arm.robot, [ik.PositionTask('tool', tool=at([0, 0, 1]))]))
    arm.until_rest(100)
    assert arm.tracker.q[0] > 0.8
    assert_stays(arm)


def test_the_arm_says_whether_it_is_stopped():
    arm = on_the_way_back()
    assert not arm.tracker.stopped
    for stop in (arm.tracker.stop, arm.tracker.pause):
        stop()
        assert arm.tracker.stopped
        arm.tracker.pause(False)
        assert not arm.tracker.stopped


@pytest.mark.parametrize('stop', STOPS)
def test_a_snapshot_of_a_stop_goes_on_with_it_and_recordings_replay_the_same(stop, tmp_path):
    arm = on_the_way_back(jerk=2.0)
    recorder = Recorder(GANTRY)
    arm.tracker.observe(recorder)
    arm.ticks(5)
    STOPS[stop](arm)
    arm.ticks(2)
    assert not arm.tracker.at_rest
    again = Tracker.from_snapshot(arm.tracker.snapshot(), clock=lambda: 0.0)
    for k in range(100):
        if k == 50:
            for tracker in (arm.tracker, again):
                tracker.set_limits(limits_of(-1.0, 0.5, 2.0, 5.0, n=3))
        same = again.tick(arm.now)
        np.testing.assert_array_equal(arm.tick().q, same.q)
    assert arm.tracker.q[0] > 0.8
    recorder.save(tmp_path / 'stop.npz')
    runs = replay(read_recording(tmp_path / 'stop.npz'))
    assert runs
    assert all(run.is_same for run in runs), [run.failure for run in runs]


# Any limits, any moment


def drawn_limits(random, jerky, like=None):
    """Limits of the gantry; `like` has those of acceleration and jerk."""
    lower, upper = np.sort(random.uniform(-1.0, 1.0, (2, 3)), axis=0)
    acceleration = 10.0 ** random.uniform(-0.5, 1.5, 3)
    jerk = 10.0 ** random.uniform(0.0, 3.0, 3) if jerky else np.full(3, math.inf)
    if like is not None:
        acceleration, jerk = like.acceleration, like.jerk
    return MotionLimits(lower, upper, 10.0 ** random.uniform(-2.0, 0.5, 3), acceleration, jerk)


def in_motion(random, limits, tight, rate):
    """Under way to a goal, and then with tighter limits on the way back, or idle on it."""
    arm = Gantry(limits, random.uniform(limits.lower, limits.upper), rate)
    arm.go(random.uniform(-1.0, 1.0, 3))
    arm.ticks(int(random.integers(1, 200)))
    arm.tracker.set_limits(tight)
    arm.ticks(int(random.integers(0, 100)))
    return arm


@settings(max_examples=draws(150))
@given(
    seed=st.integers(0, 2**32 - 1),
    jerky=st.booleans(),
    rate=st.sampled_from([50.0, 250.0]),
    stop=st.sampled_from(sorted(STOPS)),
)
def test_a_stop_is_the_shortest_one_wherever_the_limits_are(seed, jerky, rate, stop):
    random = np.random.default_rng(seed)
    limits = drawn_limits(random, jerky)
    arm = in_motion(random, limits, drawn_limits(random, jerky, limits), rate)
    governor, period = arm.tracker.governor, arm.tracker.period
    rows = governor.dq, governor.ddq, limits.acceleration, limits.jerk
    stops = [stop_of(*joint, period) for joint in zip(*rows, strict=True)]
    ends = arm.tracker.q + [way for way, _ in stops]
    longest = max(seconds for _, seconds in stops)
    STOPS[stop](arm)
    bound = arm.tracker.stopping_time
    assert arm.until_rest() <= math.ceil(longest / period + 1e-6)
    assert longest <= bound + 2.0 * period
    np.testing.assert_allclose(arm.tracker.q, ends, rtol=0, atol=1e-9)
    assert_stays(arm, 20)
    arm.tracker.set_limits(drawn_limits(random, jerky))
    assert_stays(arm, 20)


@settings(max_examples=draws(150))
@given(
    seed=st.integers(0, 2**32 - 1),
    jerky=st.tuples(st.booleans(), st.booleans()),
    rate=st.sampled_from([50.0, 250.0]),
    when=st.integers(0, 30),
)
def test_a_stop_ends_in_time_also_where_the_limits_change_meanwhile(seed, jerky, rate, when):
    random = np.random.default_rng(seed)
    limits, tight = (drawn_limits(random, jerk) for jerk in jerky)
    arm = in_motion(random, limits, tight, rate)
    arm.tracker.stop()
    arm.ticks(when)
    arm.tracker.set_limits(drawn_limits(random, jerky[0]))
    bound = arm.tracker.stopping_time
    assert arm.until_rest() * arm.tracker.period <= bound + 3.0 * arm.tracker.period
    assert_stays(arm, 20)


def test_without_limits_a_stop_takes_a_period():
    arm = Gantry(limits_of(-1.0, 1.0, 2.0, math.inf, n=3))
    arm.go([0.9, 0.5, 0.0])
    arm.ticks(3)
    with np.errstate(all='raise'):
        assert arm.tracker.stopping_time == pytest.approx(arm.tracker.period)
    arm.tracker.stop()
    assert arm.until_rest() == 1


def test_the_stopping_time_is_at_most_speed_by_acceleration_and_twice_acceleration_by_jerk():
    for jerk in (math.inf, 20.0):
        arm = on_the_way_back(jerk=jerk, speed=0.5)
        assert 0.5 / 5.0 <= arm.tracker.stopping_time <= 0.5 / 5.0 + 2.0 * 5.0 / jerk
        arm.tracker.stop()
        arm.until_rest()
        assert arm.tracker.stopping_time == 0.0
