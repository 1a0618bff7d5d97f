# SPDX-License-Identifier: Apache-2.0
"""Whatever a tracker is told, in whatever order: every command keeps every limit."""

import math

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.robots import random_q, shipped, tip_of
from support.stepping import Unstopped

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus

# Examples are told whole when they fail: to shrink them would take minutes.
FIXED = settings(phases=[Phase.explicit, Phase.generate])
RELATIVE = 1e-9  # rounding allowed on top of a limit
SOLVERS = ['levenberg_marquardt', 'damped_least_squares', 'selectively_damped_least_squares']


def random_robot(rng):
    """A chain of 2 to 8 joints of all kinds, some without limits, some slow, and its tip."""
    joints, links = [], ['base']
    for k in range(rng.integers(2, 9)):
        kind = str(rng.choice(['revolute', 'revolute', 'continuous', 'prismatic']))
        axis = rng.normal(size=3)
        origin = np.eye(4)
        origin[:3, 3] = rng.uniform(-0.4, 0.4, 3)
        limits = {'velocity': float(rng.choice([0.05, 1.0, 3.0, math.inf]))}
        if kind != 'continuous':
            low, high = np.sort(rng.uniform(-3.0, 3.0, 2)) * (0.2 if kind == 'prismatic' else 1.5)
            limits |= {'lower': low, 'upper': high}
        links.append(f'link{k}')
        joints.append(
            ik.robot.Joint(f'joint{k}', kind, links[-2], links[-1], origin,
                     axis / np.linalg.norm(axis), **limits)
        )  # fmt: skip
    return ik.Robot.from_joints('random', links, joints), links[-1]


class Session:
    """A tracker of one tip that is told random things; every command is judged."""

    def __init__(self, rng, jerk=math.inf):
        self.rng = rng
        self.robot, self.tip = random_robot(rng)
        if rng.uniform() < 0.5:
            self.robot = shipped(str(rng.choice(['panda', 'ur5e', 'pr2_like', 'scara'])))
            self.tip = tip_of(self.robot)
        self.acceleration = float(rng.choice([0.5, 5.0, 50.0]))
        self.limits = MotionLimits.of(self.robot, acceleration=self.acceleration, jerk=jerk)
        rate = float(rng.choice([20.0, 250.0, 1000.0]))
        self.tracker = Tracker(
            ik.IkProblem(self.robot, [ik.PoseTask(self.tip)]),
            rate, limits=self.limits, q0=self.configuration(), clock=lambda: 0.0,
        )  # fmt: skip
        self.now = 0.0
        self.bounds = self.limits.lower.copy(), self.limits.upper.copy()  # reached since tightened

    def configuration(self):
        return random_q(self.robot, self.rng, 0.05)

    def pose(self):
        return self.robot.forward_kinematics(self.tracker.q, self.tip)

    def goal(self, kind):
        transform = self.pose()
        if kind == 'far':
            transform = self.robot.forward_kinematics(self.configuration(), self.tip)
        elif kind == 'unreachable':
            transform[:3, 3] += self.rng.normal(size=3) * 10.0 ** self.rng.uniform(0.0, 6.0)
        elif kind == 'near':
            transform[:3, 3] += self.rng.normal(size=3) * 0.02
        elif kind == 'turned':
            transform[:3, :3] = transform[:3, :3] @ np.diag([1.0, -1.0, -1.0])
        elif kind == 'singular':  # stretched out straight, where no joint is bent
            q = np.clip(np.zeros(self.robot.n), self.robot.lower, self.robot.upper)
            transform = self.robot.forward_kinematics(q, self.tip)
        return transform

    def tell(self, what):
        """One random thing of this kind."""
        rng, tracker = self.rng, self.tracker
        if what == 'nan':
            with pytest.raises(ik.InvalidGoal):
                tracker.set_goal(0, np.full((4, 4), rng.choice([np.nan, np.inf])), self.now)
            with pytest.raises(ik.InvalidGoal):
                tracker.set_twist(0, [np.nan, 0.0, 0.0], np.zeros(3), self.now)
        elif what == 'twist':
            scale = 10.0 ** rng.uniform(-2.0, 3.0)
            tracker.set_twist(0, scale * rng.normal(size=3), scale * rng.normal(size=3), self.now)
        elif what == 'options':
            tracker.set_options(self.options())
        elif what == 'solver':
            tracker.set_solver(str(rng.choice(SOLVERS)))
        elif what == 'pause':
            tracker.pause(bool(rng.integers(2)))
        elif what == 'drop':
            tracker.set_goal(0, None, self.now)
        elif what == 'stop':
            tracker.stop()
        elif what == 'rest':
            tracker.set_rest(self.configuration())
        elif what == 'speed':
            self.set_limits(velocity=self.limits.velocity * rng.uniform(0.3, 2.0))
        else:
            twist = rng.normal(size=6) if rng.uniform() < 0.2 else None
            move = str(rng.choice(['joint', 'linear']))
            tracker.set_goal(0, self.goal(what), self.now, twist=twist, move=move)

    def set_limits(self, **changes):
        rows = ('lower', 'upper', 'velocity', 'acceleration', 'jerk')
        self.limits = MotionLimits(**{**{r: getattr(self.limits, r) for r in rows}, **changes})
        self.tracker.set_limits(self.limits)

    def options(self):
        rng = self.rng
        return TrackerOptions(
            updates_per_tick=int(rng.integers(0, 4)),
            move=str(rng.choice(['joint', 'linear'])),
            feed_forward=bool(rng.integers(2)),
            rest_rate=float(rng.choice([0.0, 1.0, 20.0])),
            goal_timeout=float(rng.choice([0.0, 0.05])),
            replan_period=float(rng.choice([0.0, 0.5])),
            linear_velocity=10.0 ** rng.uniform(-2.0, 1.0),
            linear_acceleration=10.0 ** rng.uniform(-1.0, 2.0),
        )

    def tick(self):
        tracker, limits, period = self.tracker, self.limits, self.tracker.period
        q, dq = tracker.q, tracker.dq
        command = tracker.tick(self.now)
        self.now += period
        assert np.isfinite(command.q).all()
        assert np.isfinite(command.dq).all()
        assert np.isfinite(command.solution).all()
        assert (command.q >= limits.lower).all()
        assert (command.q <= limits.upper).all()
        ceiling = np.maximum(limits.velocity, np.abs(dq))
        assert (np.abs(command.dq) <= ceiling * (1 + RELATIVE) + 1e-12).all()
        change = np.abs(command.dq - dq)
        assert (change <= limits.acceleration * period * (1 + 1e-6)).all()
        if not limits.has_jerk:
            np.testing.assert_allclose(command.q, q + command.dq * period, rtol=0, atol=1e-10)
        else:
            fastest = np.maximum(np.abs(dq), np.abs(command.dq)) + limits.acceleration * period
            assert (np.abs(command.q - q) <= fastest * period + 2e-9).all()
        return command


GOALS = ['far', 'unreachable', 'near', 'turned', 'singular']
CHANGES = ['nan', 'twist', 'options', 'solver', 'pause', 'drop', 'stop', 'rest', 'speed']
told = st.lists(
    st.tuples(st.sampled_from(GOALS + CHANGES + GOALS), st.integers(1, 25)),
    min_size=3,
    max_size=12,
)


@settings(FIXED, max_examples=draws(40))
@given(told=told, seed=st.integers(0, 2**32 - 1))
def test_nothing_that_a_tracker_is_told_breaks_a_limit(told, seed):
    session = Session(np.random.default_rng(seed))
    for what, ticks in told:
        session.tell(what)
        for _ in range(ticks):
            session.tick()


@settings(FIXED, max_examples=draws(25))
@given(told=told, seed=st.integers(0, 2**32 - 1), jerk=st.sampled_from([5.0, 100.0, 5000.0]))
def test_nothing_that_a_tracker_is_told_breaks_a_jerk_limit(told, seed, jerk):
    session = Session(np.random.default_rng(seed), jerk)
    before = np.zeros(session.robot.n)
    for what, ticks in told:
        session.tell(what)
        for _ in range(ticks):
            session.tick()
            acceleration = session.tracker.governor.ddq.copy()
            change = np.abs(acceleration - before)
            if what != 'speed':
                assert (np.abs(acceleration) <= session.limits.acceleration * (1 + 1e-6)).all()
            assert (change <= jerk * session.tracker.period * (1 + 1e-6) + 1e-6).all()
            before = acceleration


@settings(FIXED, max_examples=draws(25))
@given(told=told, seed=st.integers(0, 2**32 - 1))
def test_after_all_that_the_last_goal_is_reached_or_held(told, seed):
    session = Session(np.random.default_rng(seed))
    for what, ticks in told:
        session.tell(what)
        for _ in range(ticks):
            session.tick()
    tracker = session.tracker
    tracker.pause(False)
    tracker.set_solver('levenberg_marquardt')
    tracker.set_options(TrackerOptions(replan_period=0.0))
    session.set_limits(
        velocity=np.full(session.robot.n, 2.0), acceleration=np.full(session.robot.n, 50.0)
    )
    tracker.stop()
    goal = session.goal('near')
    tracker.set_goal(0, goal, session.now)
    ends = TrackStatus.REACHED, TrackStatus.CLOSEST, TrackStatus.TOO_FEW_JOINTS
    for _ in range(round(20.0 * tracker.rate)):
        command = session.tick()
        if command.status in ends and not command.dq.any():
            break
    assert command.status in ends
    assert not command.dq.any()
    if command.status is TrackStatus.REACHED:
        np.testing.assert_allclose(session.pose(), goal, atol=2e-4)


@settings(FIXED, max_examples=draws(20))
@given(told=told, seed=st.integers(0, 2**32 - 1))
def test_the_same_story_gives_the_same_commands(told, seed):
    first, second = (Session(np.random.default_rng(seed)) for _ in range(2))
    for what, ticks in told:
        first.tell(what)
        second.tell(what)
        for _ in range(ticks):
            np.testing.assert_array_equal(first.tick().q, second.tick().q)


# Goals out of reach


@settings(FIXED, max_examples=draws(25))
@given(seed=st.integers(0, 2**32 - 1))
def test_a_goal_out_of_reach_leaves_the_joints_still_after_three_seconds(seed):
    """RMS joint velocity below 1e-6 rad/s over one second, with the default solver."""
    rng = np.random.default_rng(seed)
    session = Session(rng)
    tracker, n = session.tracker, session.robot.n
    # Joints fast enough to be there in three seconds.
    session.set_limits(velocity=np.full(n, 10.0), acceleration=np.full(n, 100.0))
    goal = session.pose()
    goal[:3, 3] += 5.0 * rng.normal(size=3) / np.sqrt(3.0) + 3.0
    for _ in range(20):  # the goal moves, then stops
        goal[:3, 3] += 0.01
        tracker.set_goal(0, goal, session.now)
        session.tick()
    for _ in range(round(3.0 * tracker.rate)):
        session.tick()
    speeds = np.array([session.tick().dq for _ in range(round(tracker.rate))])
    assert np.sqrt(np.mean(speeds**2)) < 1e-6


@settings(FIXED, max_examples=draws(5))
@given(seed=st.integers(0, 2**32 - 1))
def test_a_line_out_of_reach_ends_where_it_is_blocked(seed):
    session = Session(np.random.default_rng(seed))
    tracker, n = session.tracker, session.robot.n
    session.set_limits(velocity=np.full(n, 10.0), acceleration=np.full(n, 100.0))
    goal = session.pose()
    goal[:3, 3] += 5.0
    tracker.set_options(TrackerOptions(linear_velocity=1.0, linear_acceleration=5.0))
    tracker.set_goal(0, goal, session.now, move='linear')
    for _ in range(round(60.0 * tracker.rate)):
        command = session.tick()
        if command.status is TrackStatus.BLOCKED and not command.dq.any():
            break
    assert command.status is TrackStatus.BLOCKED
    assert not any(session.tick().dq.any() for _ in range(100))


def position_beyond_reach(seed):
    """A problem whose goal is out of reach for the panda, and a start."""
    robot = shipped('panda')
    q0 = random_q(robot, np.random.default_rng(seed), 0.3)
    position = robot.forward_kinematics(q0, tip_of(robot))[:3, 3]
    goal = 3.0 * position / np.linalg.norm(position)
    return ik.IkProblem(robot, [ik.PositionTask(tip_of(robot), goal)]), q0


def test_the_pseudoinverse_by_itself_shakes_at_a_goal_out_of_reach():
    """Buss 2009, sections 1 and 8: one step of the method each tick, for ever."""
    for seed in range(4):
        problem, q0 = position_beyond_reach(seed)
        arm, points = Unstopped(ik.make_solver('pseudoinverse'), problem, q0), []
        for _ in range(400):
            arm.step()
            points.append(arm.x)
        assert np.sqrt(np.mean(np.diff(points[300:], axis=0) ** 2)) > 1e-2


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'pseudoinverse'])
def test_no_solver_makes_a_tracked_arm_shake_at_a_goal_out_of_reach(solver):
    """One update a tick: solutions are the best so far, so they end."""
    for seed in range(4):
        problem, q0 = position_beyond_reach(seed)
        robot, goal = problem.robot, np.eye(4)
        goal[:3, 3] = problem.goals[0].target[9:]
        tracker = Tracker(
            problem, 100.0, limits=MotionLimits.of(robot, acceleration=50.0), q0=q0,
            solver=solver, options=TrackerOptions(updates_per_tick=1), clock=lambda: 0.0,
        )  # fmt: skip
        tracker.set_goal(0, goal, 0.0)
        commands = [tracker.tick(0.0) for _ in range(400)]
        assert np.sqrt(np.mean([c.dq**2 for c in commands[300:]])) < 1e-6
