# SPDX-License-Identifier: Apache-2.0
"""A tracker and its fake clock, whose every tick is checked against the limits."""

import math
from functools import cache

import numpy as np

import ik_core as ik
from ik_core.optim.search import Search, SearchOptions
from ik_core.tracking import MotionLimits, Tracker, TrackStatus
from support.places import URDF

ROBOTS = ['panda', 'ur5e', 'iiwa14', 'pr2_like', 'scara', 'dual_arm']
FOLLOWERS = ['levenberg_marquardt', 'damped_least_squares']  # they converge fast enough to follow
RELATIVE = 1e-9  # rounding allowed on top of a limit
SETTLED = (TrackStatus.REACHED, TrackStatus.CLOSEST, TrackStatus.STOPPED_SHORT)


@cache
def robot_named(name):
    return ik.load_robot(URDF / f'{name}.urdf')


def tips_of(robot):
    tips = robot.tips()
    return tips[:2] if robot.name == robot_named('dual_arm').name else tips[:1]


class AtOnce:
    """A call beside the ticks that has ended as soon as it is asked for."""

    done = True

    def __init__(self, call):
        self.result = call


class Held:
    """Calls beside the ticks, which end when the test sets `done`."""

    def __init__(self):
        self.calls, self.done = [], False

    def __call__(self, call):
        self.calls.append(call)
        self.result = call
        return self


class Stream:
    """A tracker and its fake clock; every tick is checked against the limits."""

    def __init__(
        self, name, *, rate=100.0, velocity=np.inf, acceleration=20.0, jerk=np.inf, **kwargs
    ):
        self.robot = robot = robot_named(name) if isinstance(name, str) else name
        self.tips = tips_of(robot)
        self.problem = ik.IkProblem(robot, [ik.PoseTask(tip) for tip in self.tips])
        self.limits = MotionLimits.of(
            robot, velocity=velocity, acceleration=acceleration, jerk=jerk
        )
        kwargs.setdefault('clock', lambda: 0.0)  # results must not depend on the machine's speed
        kwargs.setdefault('background', AtOnce)
        self.tracker = Tracker(self.problem, rate, limits=self.limits, **kwargs)
        self.now, self.ddq = 0.0, np.zeros(robot.n)
        self.may_leave = False  # limits were tightened where the joints can't stop inside

    def pose(self, q, tip=0):
        return self.robot.forward_kinematics(q, self.tips[tip])

    def tip_pose(self, tip=0):
        return self.pose(self.tracker.q, tip)

    def configuration(self, random):
        """A random one inside the limits, away from them."""
        low = np.maximum(self.robot.lower, -math.pi)
        high = np.minimum(self.robot.upper, math.pi)
        return low + (high - low) * random.uniform(0.1, 0.9, self.robot.n)

    def goal(self, transform, tip=0):
        self.tracker.set_goal(tip, transform, self.now)

    def tick(self):
        q, dq = self.tracker.q, self.tracker.dq
        command = self.tracker.tick(self.now)
        self.now += self.tracker.period
        self.check(q, dq, command)
        return command

    def check(self, q, dq, command):
        """Judge a command by the state before it, at q and dq, and the limits."""
        limits, period, solution = self.limits, self.tracker.period, command.solution
        assert np.isfinite(command.q).all()
        assert ((solution >= limits.lower) & (solution <= limits.upper)).all()
        assert (np.abs(command.dq) <= np.maximum(limits.velocity, np.abs(dq)) + 1e-12).all()
        change, way = np.abs(command.dq - dq), command.q - q
        assert (change <= limits.acceleration * period * (1 + RELATIVE)).all()
        if limits.has_jerk:
            self.check_jerks()
            fastest = np.maximum(np.abs(dq), np.abs(command.dq)) + limits.acceleration * period
            assert (np.abs(way) <= fastest * period + 2e-9).all()
        else:
            np.testing.assert_allclose(way, command.dq * period, rtol=0, atol=1e-11)
        inside = (q >= limits.lower) & (q <= limits.upper)
        stays = (command.q >= limits.lower) & (command.q <= limits.upper)
        assert self.may_leave or stays[inside].all()

    def check_jerks(self):
        """Judge the change of the accelerations in the last tick."""
        before, self.ddq = self.ddq, self.tracker.governor.ddq.copy()
        assert (np.abs(self.ddq) <= self.limits.acceleration * (1 + 1e-6)).all()
        most = self.limits.jerk * self.tracker.period * (1 + 1e-6)
        assert (np.abs(self.ddq - before) <= most + 1e-6).all()

    def run(self, seconds):
        return [self.tick() for _ in range(round(seconds / self.tracker.period))]

    def settle(self, seconds=60.0):
        """Tick until the goal is reached, or the closest pose held, and all is at rest."""
        for _ in range(round(seconds / self.tracker.period)):
            command = self.tick()
            if command.status in SETTLED and not command.dq.any():
                return command
        raise AssertionError(f'not settled: {command}')


def moved(transform, x=0.0, y=0.0, z=0.0):
    result = transform.copy()
    result[:3, 3] += x, y, z
    return result


def turned(transform, angle):
    """Turned about its own z axis."""
    c, s = math.cos(angle), math.sin(angle)
    turn = np.eye(4)
    turn[:2, :2] = [[c, -s], [s, c]]
    return transform @ turn


def out_of_reach(transform, distance=5.0):
    result = transform.copy()
    result[:3, 3] += distance * np.array([0.8, 0.0, 0.6])
    return result


def flipped_goal(stream, seeds=range(200)):
    """A goal, and a start, that a seeded solve from there does not reach, though a search does."""
    for seed in seeds:
        random = np.random.default_rng(seed)
        start = stream.configuration(random)
        goal = stream.pose(stream.configuration(random))
        problem = ik.IkProblem(stream.robot, [ik.PoseTask(stream.tips[0], transform=goal)])
        if not ik.solve(problem, start, restarts=0).success:
            return start, goal
    raise AssertionError('no such goal')


class StrangeSearch(Search):
    """Ever better and never done, or not a number."""

    ticks = 0

    def __init__(self, problem, q0, clock, creep):
        super().__init__(problem, q0, clock)
        self.creep = creep

    def iterate_until(self, deadline, iterations):
        self.ticks += 1

    def result(self):
        q = self.q0 + self.creep * self.ticks
        errors = np.full(len(self.problem.goals), 1.0)
        status = ik.IkStatus.ITERATION_LIMIT
        return ik.IkResult(q, status, errors, errors, 0.99**self.ticks, 1, 1, 0, 0.0)


class StrangeSolver(ik.solvers.Solver):
    name = 'strange'
    Options = SearchOptions
    creep = 1e-4

    def _search(self, problem, q0):
        return StrangeSearch(problem, q0, self.clock, self.creep)


def moving(name='panda', **kwargs):
    """A stream well under way to a far goal."""
    stream = Stream(name, acceleration=2.0, **kwargs)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(6))))
    stream.run(0.5)
    assert np.abs(stream.tracker.dq).max() > 0.1
    return stream
