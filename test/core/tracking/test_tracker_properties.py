# SPDX-License-Identifier: Apache-2.0
"""Whatever a tracker is told, in whatever order: every command keeps every limit."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.draws import draws
from support.robots import random_q, shipped, tip_of
from support.stepping import Unstopped
from support.streams import ROBOTS, Stream, moved, out_of_reach, turned

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus

# Examples are told whole when they fail: to shrink them would take minutes.
FIXED = settings(phases=[Phase.explicit, Phase.generate])
SOLVERS = ['levenberg_marquardt', 'damped_least_squares', 'selectively_damped_least_squares']


def random_robot(rng):
    """A chain of 2 to 8 joints of all kinds, some without limits, some slow."""
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
    return ik.Robot.from_joints('random', links, joints)


class Session(Stream):
    """A tracker that is told random things; every command is judged."""

    def __init__(self, rng, jerk=math.inf):
        self.rng = rng
        robot = str(rng.choice(ROBOTS)) if rng.uniform() < 0.5 else random_robot(rng)
        acceleration = float(rng.choice([0.5, 5.0, 50.0, math.inf if math.isinf(jerk) else 50.0]))
        rate = float(rng.choice([20.0, 250.0, 1000.0]))
        super().__init__(robot, rate=rate, acceleration=acceleration, jerk=jerk)
        self.tracker.reset(self.configuration(rng))

    def random_goal(self, kind, tip):
        """A goal of a tip."""
        transform = self.tip_pose(tip)
        if kind == 'far':
            return self.pose(self.configuration(self.rng), tip)
        if kind == 'unreachable':
            return out_of_reach(transform, 10.0 ** self.rng.uniform(0.0, 6.0))
        if kind == 'near':
            return moved(transform, *self.rng.normal(size=3) * 0.02)
        if kind == 'jittering':
            return moved(transform, *self.rng.normal(size=3) * 1e-3)
        if kind == 'oscillating':
            return moved(transform, z=0.3 * (-1.0) ** round(self.now / self.tracker.period))
        if kind == 'spinning':
            return turned(transform, 0.9)
        if kind == 'turned':
            transform[:3, :3] = transform[:3, :3] @ np.diag([1.0, -1.0, -1.0])
        elif kind == 'singular':  # stretched out straight, where no joint is bent
            q = np.clip(np.zeros(self.robot.n), self.robot.lower, self.robot.upper)
            return self.pose(q, tip)
        return transform

    def tell(self, what):
        """Tell it one random thing of this kind."""
        rng, tracker, tip = self.rng, self.tracker, int(self.rng.integers(len(self.tips)))
        if what == 'nan':
            with pytest.raises(ik.InvalidGoal):
                tracker.set_goal(tip, np.full((4, 4), rng.choice([np.nan, np.inf])), self.now)
            with pytest.raises(ik.InvalidGoal):
                tracker.set_twist(tip, [np.nan, 0.0, 0.0], np.zeros(3), self.now)
        elif what == 'twist':
            twist = 10.0 ** rng.uniform(-2.0, 3.0) * rng.normal(size=(2, 3))
            tracker.set_twist(tip, *twist, self.now)
        elif what == 'joints':
            tracker.move_to(self.configuration(rng), self.now)
        elif what == 'joints of no tip':
            values = zip(self.robot.joint_names, self.configuration(rng), strict=True)
            free = {joint: q for joint, q in values if joint in tracker.auxiliary_joints}
            if free:
                tracker.move_to(free, self.now)
        elif what == 'options':
            tracker.set_options(self.options())
        elif what == 'solver':
            tracker.set_solver(str(rng.choice(SOLVERS)))
        elif what == 'pause':
            tracker.pause(bool(rng.integers(2)))
        elif what == 'drop':
            tracker.set_goal(tip, None, self.now)
        elif what == 'stop':
            tracker.stop()
        elif what == 'rest':
            tracker.set_rest(self.configuration(rng))
        elif what == 'speed':
            self.set_limits(velocity=self.limits.velocity * rng.uniform(0.3, 2.0))
        else:
            twist = rng.normal(size=6) if rng.uniform() < 0.2 else None
            move = str(rng.choice(['joint', 'linear']))
            goal = self.random_goal(what, tip)
            tracker.set_goal(tip, goal, self.now, twist=twist, move=move)

    def play(self, told):
        """Tell it one thing after the other; yield the command of each tick."""
        for what, ticks in told:
            self.tell(what)
            for _ in range(ticks):
                if what in STREAMED:
                    self.tell(what)
                yield self.tick()

    def set_limits(self, **changes):
        """Change rows of the limits."""
        self.limits = replace(self.limits, **changes)
        self.tracker.set_limits(self.limits)

    def options(self):
        """Random options."""
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


STREAMED = ['jittering', 'oscillating', 'spinning']
GOALS = ['far', 'unreachable', 'near', 'turned', 'singular', *STREAMED]
CHANGES = ['nan', 'twist', 'joints', 'joints of no tip', 'options', 'solver', 'pause', 'drop',
           'stop', 'rest', 'speed']  # fmt: skip
told = st.lists(
    st.tuples(st.sampled_from(GOALS + CHANGES + GOALS), st.integers(1, 25)),
    min_size=3,
    max_size=12,
)


@settings(FIXED, max_examples=draws(80))
@given(
    told=told,
    seed=st.integers(0, 2**32 - 1),
    jerk=st.sampled_from([math.inf, math.inf, 5.0, 100.0, 5000.0]),
)
def test_nothing_that_a_tracker_is_told_breaks_a_limit(told, seed, jerk):
    for command in Session(np.random.default_rng(seed), jerk).play(told):
        assert np.isfinite(command.dq).all()


@settings(FIXED, max_examples=draws(25))
@given(told=told, seed=st.integers(0, 2**32 - 1))
def test_after_all_that_the_last_goal_is_reached_or_held(told, seed):
    session = Session(np.random.default_rng(seed))
    for _ in session.play(told):
        pass
    tracker = session.tracker
    tracker.pause(False)
    tracker.set_solver('levenberg_marquardt')
    tracker.set_options(TrackerOptions(replan_period=0.0))
    session.set_limits(
        velocity=np.full(session.robot.n, 2.0), acceleration=np.full(session.robot.n, 50.0)
    )
    tracker.stop()
    goal = session.random_goal('near', 0)
    tracker.set_goal(0, goal, session.now)
    ends = TrackStatus.REACHED, TrackStatus.CLOSEST, TrackStatus.TOO_FEW_JOINTS
    for _ in range(round(20.0 * tracker.rate)):
        command = session.tick()
        if command.status in ends and not command.dq.any():
            break
    assert command.status in ends
    assert not command.dq.any()
    if command.status is TrackStatus.REACHED:
        np.testing.assert_allclose(session.tip_pose(), goal, atol=2e-4)


@settings(FIXED, max_examples=draws(20))
@given(told=told, seed=st.integers(0, 2**32 - 1))
def test_the_same_story_gives_the_same_commands(told, seed):
    first, second = (Session(np.random.default_rng(seed)).play(told) for _ in range(2))
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.q, other.q)


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
    goal = session.tip_pose()
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
    goal = session.tip_pose()
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
