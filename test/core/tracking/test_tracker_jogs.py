# SPDX-License-Identifier: Apache-2.0
"""The tip of a jog stays within 1 mm of its line, whatever holds up twists, solves and ticks.

All is judged by what is commanded: positions by forward kinematics, limits by differences.
"""

import math

import numpy as np
import pytest
from support.robots import shipped

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus

RATE = 250.0
PERIOD = 1.0 / RATE
TIP = 'panda_hand_tcp'
TWIST_TICKS = 5  # 50 Hz
ACCELERATION = 10.0
OFF_LINE = 1e-3
# Joints with jerk limits brake each by itself, as the messages for a controller say
OFF_BY_JERK = 0.01
# Where `make demo` leaves the arm, its tip in front of it; 0.3 m back joint 3 is at its limit
AFTER_THE_DEMO = (2.1962, 0.518, -2.3833, -2.1121, 0.3511, 1.7102, 0.4784, 0.02)

# 0.43 m along -y joint 1 is at its limit, faster and faster on the way there
BEFORE_A_LIMIT = (-1.841, -1.3911, 0.8941, -2.0086, 1.0668, 1.0675, -0.1181, 0.0319)
# Along -z joint 2 comes to its limit and stays there
ALONG_A_LIMIT = (1.9838, -1.548, -0.8093, -1.9895, -1.1763, 0.9008, 1.7651, 0.0245)


class Clock:
    """Stands still, or lets the budget of every solve be used up before it begins."""

    def __init__(self):
        self.seconds, self.is_busy = 0.0, False

    def __call__(self):
        self.seconds += self.is_busy
        return self.seconds


class Jogged:
    """A Panda that is jogged, and what came of it."""

    def __init__(self, q0=AFTER_THE_DEMO, *, jerk=math.inf, solver='levenberg_marquardt'):
        self.robot, self.clock, self.tick = shipped('panda'), Clock(), 0
        self.limits = MotionLimits.of(self.robot, acceleration=ACCELERATION, jerk=jerk)
        problem = ik.IkProblem(self.robot, [ik.PoseTask(TIP)])
        self.tracker = Tracker(
            problem, RATE, limits=self.limits, q0=np.array(q0), clock=self.clock, solver=solver,
            options=TrackerOptions(),
        )  # fmt: skip
        self.q, self.status = [self.tracker.q], None

    def run(self, ticks, velocity=None):
        """Go on for so many ticks, with twists of a velocity (3,) or none."""
        for _ in range(ticks):
            if velocity is not None and self.tick % TWIST_TICKS == 0:
                self.tracker.set_twist(0, velocity, np.zeros(3), PERIOD * self.tick)
            self.status = self.tracker.tick(PERIOD * self.tick).status
            self.q.append(self.tracker.q)
            self.tick += 1

    def skip(self, ticks):
        """Let ticks be skipped."""
        for _ in range(ticks):
            self.tracker.skip_tick(braking=False)
            self.q.append(self.tracker.q)
            self.tick += 1

    def stall(self, braking, ticks):
        """Undo the last step; for so many ticks the joints brake, then for others they go on."""
        self.tracker.undo_tick()
        self.q.pop()
        for tick in range(braking + ticks):
            self.tracker.skip_tick(braking=tick < braking)
            self.q.append(self.tracker.q)
        self.tick += braking + ticks - 1

    def way(self, direction):
        """Return the tip's distance along a direction, and its largest distance from that line."""
        frames = [self.robot.forward_kinematics(q, TIP) for q in self.q]
        path = np.array([frame[:3, 3] for frame in frames]) - frames[0][:3, 3]
        along = np.array(direction) / np.linalg.norm(direction)
        off = path - np.outer(path @ along, along)
        return path[-1] @ along, np.linalg.norm(off, axis=1).max()

    def check_limits(self):
        """Positions, and their differences, are within the limits."""
        q, easy = np.array(self.q), 1.0 + 1e-6
        velocity = np.diff(q, axis=0) * RATE
        acceleration = np.diff(velocity, axis=0) * RATE
        jerk = np.diff(acceleration, axis=0) * RATE
        assert (q >= self.limits.lower).all()
        assert (q <= self.limits.upper).all()
        assert (np.abs(velocity) <= self.limits.velocity * easy).all()
        assert (np.abs(acceleration) <= self.limits.acceleration * easy).all()
        assert (np.abs(jerk) <= self.limits.jerk * easy + 1e-3).all()

    def check(self, direction, least_way):
        """The arm rests, after at least this way [m] on the line."""
        self.run(400)
        assert self.status is TrackStatus.IDLE
        way, off = self.way(direction)
        assert off < OFF_LINE
        assert way > least_way
        self.check_limits()


THOROUGH = pytest.mark.thorough
JERKS = pytest.mark.parametrize('jerk', [math.inf, 500.0])
FORTH, BACK = (0.1, 0.0, 0.0), (-0.1, 0.0, 0.0)


def starve(arm, random, velocity):
    """Let twists stay away at times."""
    arm.run(int(random.uniform(0.1, 0.5) * RATE), velocity)
    arm.run(int(random.uniform(0.02, 0.3) * RATE))


def keep_busy(arm, random, velocity):
    """Let solves run out of time at times."""
    arm.clock.is_busy = False
    arm.run(random.integers(20, 60), velocity)
    arm.clock.is_busy = True
    arm.run(random.integers(1, 25), velocity)


def skip_ticks(arm, random, velocity):
    """Let ticks be skipped at times."""
    arm.run(random.integers(5, 40), velocity)
    arm.skip(random.integers(1, 4))


def stall(arm, random, velocity):
    """Let ticks be missed at times, so that a controller begins its stop."""
    arm.run(random.integers(20, 120), velocity)
    arm.stall(random.integers(1, 5), random.integers(0, 3))


DISTURBANCES = pytest.mark.parametrize('disturb', [starve, keep_busy, skip_ticks])


def jog(arm, seed, disturb, velocity, ticks):
    """Jog for so many ticks, disturbed at random."""
    random = np.random.default_rng(seed)
    while arm.tick < ticks:
        disturb(arm, random, velocity)
    arm.clock.is_busy = False


@JERKS
@DISTURBANCES
@pytest.mark.parametrize(
    'velocity', [FORTH, pytest.param(BACK, marks=THOROUGH), (0.0, 0.25, 0.0), (0.0, 0.0, -0.25)]
)
def test_jog_keeps_to_its_line_while_it_is_disturbed(velocity, disturb, jerk):
    arm = Jogged(jerk=jerk)
    jog(arm, 2, disturb, velocity, 500)
    arm.check(velocity, 0.05)


@pytest.mark.parametrize('seed', range(3))
@pytest.mark.parametrize(
    ('jerk', 'off_line'), [(math.inf, 2e-4), (500.0, OFF_BY_JERK), (200.0, OFF_BY_JERK)]
)
@pytest.mark.parametrize('velocity', [FORTH, (0.0, 0.25, 0.0), (0.0, 0.0, -0.25)])
def test_jog_goes_on_along_its_line_after_ticks_in_which_the_joints_braked(
    velocity, jerk, off_line, seed
):
    """Each stop begins another line, from where joints that slow down in proportion come to."""
    arm = Jogged(jerk=jerk)
    jog(arm, seed, stall, velocity, 500)
    arm.run(400)
    assert arm.status is TrackStatus.IDLE
    way, off = arm.way(velocity)
    assert off < off_line
    assert way > 0.1
    arm.check_limits()


@pytest.mark.parametrize('jerk', [math.inf, pytest.param(500.0, marks=THOROUGH), 200.0])
@DISTURBANCES
@pytest.mark.parametrize(
    'speed', [-0.25, *(pytest.param(v, marks=THOROUGH) for v in (-0.16, 0.2)), 0.3]
)
def test_jog_keeps_to_its_line_while_it_is_disturbed_where_the_arm_can_go_no_further(
    speed, disturb, jerk
):
    arm = Jogged(jerk=jerk)
    jog(arm, 19, disturb, (speed, 0.0, 0.0), 900)
    arm.check((speed, 0.0, 0.0), 0.2)


@JERKS
@pytest.mark.parametrize('speed', [0.1, 0.25])
def test_jog_keeps_to_its_line_where_a_joint_comes_to_its_limit(speed, jerk):
    arm = Jogged(jerk=jerk)
    arm.run(int(0.36 / speed * RATE), (-speed, 0.0, 0.0))
    assert np.abs(np.array(arm.q) - arm.limits.lower).min(axis=0)[2] < 1e-3
    arm.check((-speed, 0.0, 0.0), 0.3)


def test_jog_keeps_to_its_line_where_the_path_bends_towards_a_limit():
    arm = Jogged(BEFORE_A_LIMIT, jerk=200.0)
    arm.run(550, (0.0, -0.25, 0.0))
    arm.check((0.0, -0.25, 0.0), 0.42)


@JERKS
@pytest.mark.parametrize('speed', [1e-4, 1e-2])
def test_slow_jog_begins(speed, jerk):
    arm = Jogged(jerk=jerk)
    arm.tracker.set_options(TrackerOptions(linear_velocity=speed))
    arm.run(400, FORTH)
    arm.check(FORTH, 0.9 * speed * 400 * PERIOD)


@pytest.mark.parametrize('seed', [1, *(pytest.param(seed, marks=THOROUGH) for seed in (2, 3))])
def test_jog_keeps_to_its_line_along_a_limit_while_solves_run_out_of_time(seed):
    arm, down = Jogged(ALONG_A_LIMIT, jerk=200.0), (0.0, 0.0, -0.1)
    jog(arm, seed, keep_busy, down, 600)
    arm.check(down, 0.1)


@pytest.mark.parametrize('jerk', [math.inf, 200.0])
def test_jog_that_is_given_again_while_the_joints_brake_stays_on_its_line(jerk):
    arm = Jogged(jerk=jerk)
    for pause in (55, 70, 85, 100):  # the last twist times out after 50 ticks
        arm.run(100, FORTH)
        arm.run(pause)
    arm.check(FORTH, 0.08)


@pytest.mark.parametrize('jerk', [math.inf, 200.0])
def test_joints_brake_by_themselves_only_after_the_tip_of_a_jog_rests(jerk):
    arm = Jogged(jerk=jerk)
    arm.run(100, FORTH)
    while arm.status is not TrackStatus.IDLE:
        arm.run(1)
        assert arm.tick < 400
    ended = arm.robot.forward_kinematics(arm.q[-2], TIP)[:3, 3]
    arm.check(FORTH, 0.02)
    assert np.linalg.norm(arm.robot.forward_kinematics(arm.q[-1], TIP)[:3, 3] - ended) < OFF_LINE


def test_jog_that_ends_while_solves_run_out_of_time_rests_on_its_line():
    arm = Jogged()
    arm.run(100, FORTH)
    arm.clock.is_busy = True
    arm.run(100)
    arm.clock.is_busy = False
    arm.check(FORTH, 0.02)
