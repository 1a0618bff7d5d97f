"""The contract of the command stream, line by line (see ik_core/tracking.py), over real robots."""

import math
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.places import URDF

import ik_core as ik
from ik_core.optim.search import Search, SearchOptions
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus

FIXED = settings(deadline=None, derandomize=True)
RELATIVE = 1e-9  # rounding allowed on top of a limit
FOLLOWERS = ['levenberg_marquardt', 'damped_least_squares']  # they converge fast enough to follow
ROBOTS = ['panda', 'ur5e', 'iiwa14', 'pr2_like', 'scara', 'dual_arm']
SETTLED = (TrackStatus.REACHED, TrackStatus.CLOSEST)


@cache
def robot_named(name):
    return ik.load_urdf(URDF / f'{name}.urdf')


def tips_of(robot):
    tips = robot.tips()
    return tips[:2] if robot.name == robot_named('dual_arm').name else tips[:1]


class Stream:
    """A tracker and its fake clock; every tick is checked against the limits."""

    def __init__(self, name, *, rate=100.0, acceleration=20.0, velocity=np.inf, **kwargs):
        self.robot = robot = robot_named(name)
        self.tips = tips_of(robot)
        self.problem = ik.IkProblem(robot, [ik.PoseTask(tip) for tip in self.tips])
        self.limits = MotionLimits.of(robot, velocity=velocity, acceleration=acceleration)
        kwargs.setdefault('clock', lambda: 0.0)  # results must not depend on the machine's speed
        self.tracker = Tracker(self.problem, rate, limits=self.limits, **kwargs)
        self.now = 0.0
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
        limits, period = self.limits, self.tracker.period
        assert np.isfinite(command.q).all()
        solution = command.solution
        assert ((solution >= limits.lower) & (solution <= limits.upper)).all()
        assert (np.abs(command.dq) <= np.maximum(limits.velocity, np.abs(dq)) + 1e-12).all()
        ddq = (command.dq - dq) / period
        assert (np.abs(ddq) <= limits.acceleration * (1 + RELATIVE)).all()
        np.testing.assert_allclose(command.q, q + command.dq * period, rtol=0, atol=1e-11)
        inside = (q >= limits.lower) & (q <= limits.upper)
        stays = (command.q >= limits.lower) & (command.q <= limits.upper)
        assert self.may_leave or stays[inside].all()

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


# 1. Every command is finite and inside all limits


def hostile_goal(stream, random, kind, start):
    """The next goal of a stream of this kind, from the pose at its start."""
    tick = round(stream.now / stream.tracker.period)
    if kind == 'far':
        return stream.pose(stream.configuration(random))
    if kind == 'unreachable':
        return out_of_reach(start, random.uniform(1.0, 100.0))
    if kind == 'oscillating':
        return moved(start, z=0.3 * (-1.0) ** tick)
    if kind == 'spinning':
        return turned(start, 0.9 * tick)
    if kind == 'jittering':
        return moved(start, *random.normal(size=3) * 1e-3)
    return start


@settings(FIXED, max_examples=60)
@given(
    name=st.sampled_from(ROBOTS),
    acceleration=st.sampled_from([0.5, 20.0, math.inf]),
    rate=st.sampled_from([20.0, 100.0, 1000.0]),
    kinds=st.lists(
        st.sampled_from(['far', 'unreachable', 'oscillating', 'spinning', 'jittering', 'nan']),
        min_size=1,
        max_size=4,
    ),
    hold=st.integers(1, 10),
    seed=st.integers(0, 2**32 - 1),
)
def test_no_stream_of_goals_breaks_a_limit(name, acceleration, rate, kinds, hold, seed):
    random = np.random.default_rng(seed)
    stream = Stream(name, rate=rate, acceleration=acceleration)
    for kind in kinds:
        start = stream.tip_pose()
        for tick in range(40):
            if kind == 'nan':
                with pytest.raises(ik.InvalidGoal):
                    stream.goal(np.full((4, 4), np.nan))
            elif tick % hold == 0:
                stream.goal(hostile_goal(stream, random, kind, start))
            stream.tick()


@settings(FIXED, max_examples=40)
@given(
    name=st.sampled_from(ROBOTS),
    seed=st.integers(0, 2**32 - 1),
    below=st.booleans(),
)
def test_limits_tightened_while_moving_are_kept_as_soon_as_braking_allows(name, seed, below):
    random = np.random.default_rng(seed)
    stream = Stream(name, acceleration=5.0)
    goal = stream.pose(stream.configuration(random))
    stream.goal(goal)
    stream.run(random.uniform(0.05, 1.0))
    q, dq = stream.tracker.q, stream.tracker.dq
    old = stream.limits
    # Limits a little to either side of where the joints are, so that some are outside.
    edge = q + random.uniform(-0.05, 0.2, q.size) * (-1.0 if below else 1.0)
    lower = np.maximum(old.lower, edge) if below else old.lower
    upper = old.upper if below else np.minimum(old.upper, edge)
    lower, upper = np.minimum(lower, old.upper), np.maximum(upper, old.lower)
    stream.limits = MotionLimits(lower, upper, old.velocity * 0.5, old.acceleration)
    stream.tracker.set_limits(stream.limits)
    stream.may_leave = True
    furthest_low, furthest_high = q.copy(), q.copy()
    period, step = stream.tracker.period, 5.0 * stream.tracker.period
    for joint in range(q.size):  # where full braking from the next tick on ends
        position, speed = q[joint], dq[joint]
        while abs(speed) > step:
            speed -= math.copysign(step, speed)
            position += speed * period
        furthest_low[joint] = min(q[joint], position, upper[joint])
        furthest_high[joint] = max(q[joint], position, lower[joint])
    for _ in range(100):
        command = stream.tick()
        assert (command.q >= np.minimum(lower, furthest_low) - 1e-9).all()
        assert (command.q <= np.maximum(upper, furthest_high) + 1e-9).all()
    stream.run(30.0 if (old.velocity < 0.1).any() else 3.0)
    assert (stream.tracker.q >= lower).all()
    assert (stream.tracker.q <= upper).all()


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('with_goal', [False, True])
def test_joints_measured_outside_return_and_never_move_further_out(name, with_goal):
    stream = Stream(name)
    robot = stream.robot
    random = np.random.default_rng(3)
    q = stream.configuration(random)
    limited = np.flatnonzero(np.isfinite(robot.upper))
    q[limited[::2]] = robot.upper[limited[::2]] + 0.2
    q[limited[1::2]] = robot.lower[limited[1::2]] - 0.2
    stream.tracker.reset(q)
    if with_goal:
        stream.goal(stream.pose(stream.configuration(random)))
    excess = np.maximum(robot.lower - q, q - robot.upper)
    for _ in range(round(0.5 / min(1.0, robot.velocity[limited].min()) * 100)):
        q = stream.tick().q
        before, excess = excess, np.maximum(robot.lower - q, q - robot.upper)
        assert (excess <= np.maximum(before, 0.0)).all()
    assert (excess <= 0.0).all()


def test_a_speed_above_a_new_limit_falls_at_the_acceleration_limit():
    stream = Stream('panda', acceleration=2.0)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(5))))
    stream.run(0.6)
    dq = stream.tracker.dq
    fast = np.abs(dq) > 0.2
    assert fast.any()
    old = stream.limits
    stream.limits = MotionLimits(old.lower, old.upper, np.full(8, 0.1), old.acceleration)
    stream.tracker.set_limits(stream.limits)
    command = stream.tick()
    np.testing.assert_allclose(np.abs(command.dq[fast]), np.abs(dq[fast]) - 0.02, atol=1e-12)
    assert (np.abs(stream.run(2.0)[-1].dq) <= 0.1).all()


def test_a_step_is_one_nominal_period_however_late_it_comes():
    early, late = Stream('ur5e'), Stream('ur5e')
    goal = early.pose(early.configuration(np.random.default_rng(1)))
    early.goal(goal)
    late.goal(goal)
    for _ in range(50):
        late.now += 0.3
        np.testing.assert_array_equal(late.tick().q, early.tick().q)


# 2. No restarts while following; one search for a new, far goal


def dragged(stream, seconds, radius=0.04, turns=1.0):
    """Drag the goal along a circle that starts where the tip is; return the commands."""
    start = stream.tip_pose()
    count = round(seconds / stream.tracker.period)
    commands = []
    for k in range(count):
        angle = math.tau * turns * (k + 1) / count
        x, y = radius * (math.cos(angle) - 1.0), radius * math.sin(angle)
        stream.goal(moved(start, x, y, 0.5 * y))
        commands.append(stream.tick())
    return commands


@pytest.mark.parametrize('name', ROBOTS)
def test_a_dragged_goal_is_followed_without_restarts_and_without_flips(name):
    for seed in range(4):
        stream = Stream(name, acceleration=np.inf, velocity=np.inf)
        stream.tracker.reset(stream.configuration(np.random.default_rng(seed)))
        solution = stream.tracker.q
        for command in dragged(stream, 3.0):
            assert command.restarts == 0
            assert command.status is not TrackStatus.SEARCHING
            assert np.abs(command.solution - solution).max() < 0.3  # goals move 1 mm a tick
            solution = command.solution


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_goal_dragged_along_and_over_a_limit_never_flips(name):
    for seed in range(4):
        stream = Stream(name, acceleration=np.inf)
        q0 = stream.configuration(np.random.default_rng(seed))
        lower, upper = stream.robot.lower.copy(), stream.robot.upper.copy()
        # The path needs more than these joints may do: it leads along their limits.
        lower[:3], upper[:3] = q0[:3] - 0.01, q0[:3] + 0.01
        old = stream.limits
        stream.limits = MotionLimits(lower, upper, old.velocity, old.acceleration)
        stream.tracker.set_limits(stream.limits)
        stream.tracker.reset(q0)
        solution, at_limit = stream.tracker.q, False
        for command in dragged(stream, 3.0):
            at_limit |= bool(((command.q == lower) | (command.q == upper))[:3].any())
            assert command.restarts == 0
            assert np.abs(command.solution - solution).max() < 0.3
            solution = command.solution
        assert at_limit


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


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'pr2_like'])
def test_a_far_goal_that_the_seeded_solve_fails_is_searched_for_and_reached(name):
    stream = Stream(name, velocity=1.0)
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    commands = [stream.tick() for _ in range(20)]
    searching = [command.status is TrackStatus.SEARCHING for command in commands]
    assert any(searching) or max(command.restarts for command in commands) > 0
    assert stream.settle(200.0).status is TrackStatus.REACHED


def test_the_branch_of_a_search_is_kept_while_the_goal_is_dragged():
    stream = Stream('panda', acceleration=np.inf)
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    solution = stream.settle().q
    for command in dragged(stream, 2.0):
        assert command.restarts == 0
        assert np.abs(command.solution - solution).max() < 0.15
        solution = command.solution


def test_a_goal_that_moves_little_starts_no_search_even_where_it_fails():
    stream = Stream('panda')
    start, goal = flipped_goal(stream)
    stream.tracker.set_options(TrackerOptions(goal_jump_position=100.0, goal_jump_orientation=4.0))
    stream.tracker.reset(start)
    stream.goal(goal)
    commands = [stream.tick() for _ in range(300)]
    assert all(command.restarts == 0 for command in commands)
    assert TrackStatus.SEARCHING not in {command.status for command in commands}


@pytest.mark.parametrize('jump', ['position', 'orientation'])
def test_each_kind_of_jump_counts_by_itself(jump):
    stream = Stream('panda')
    stream.tracker.reset(stream.configuration(np.random.default_rng(2)))
    thresholds = {'goal_jump_position': 100.0, 'goal_jump_orientation': 4.0}
    thresholds[f'goal_jump_{jump}'] = 0.1
    stream.tracker.set_options(TrackerOptions(**thresholds))
    start = stream.tip_pose()
    stream.goal(out_of_reach(start) if jump == 'position' else moved(turned(start, 1.0), 0.5, 9))
    statuses = {command.status for command in stream.run(0.3)}
    assert TrackStatus.SEARCHING in statuses


def test_searches_start_at_most_every_replan_period():
    stream = Stream('panda', options=TrackerOptions(replan_period=0.5))
    start = stream.tip_pose()
    starts, searching = [], False
    for k in range(300):
        stream.goal(out_of_reach(start, 2.0 + k % 7))  # teleports every tick
        now = stream.now
        command = stream.tick()
        if command.status is TrackStatus.SEARCHING and not searching:
            starts.append(now)
        searching = command.status is TrackStatus.SEARCHING
    assert len(starts) >= 4
    assert min(np.diff(starts)) >= 0.5 - 1e-9


def test_a_goal_that_waits_for_its_search_is_not_yet_called_out_of_reach():
    stream = Stream('panda', acceleration=np.inf, options=TrackerOptions(replan_period=30.0))
    robot = stream.robot
    stream.limits = MotionLimits(robot.lower, robot.upper, [np.inf] * robot.n, [np.inf] * robot.n)
    stream.tracker.set_limits(stream.limits)
    start = stream.tip_pose()
    stream.goal(out_of_reach(start))
    assert stream.settle().status is TrackStatus.CLOSEST
    stream.goal(out_of_reach(start, 3.0))
    waiting = stream.run(20.0)
    assert {command.status for command in waiting} == {TrackStatus.TRACKING}
    assert not waiting[-1].dq.any()
    assert stream.settle().status is TrackStatus.CLOSEST


def test_a_search_is_spread_over_ticks():
    stream = Stream('panda')
    stream.goal(out_of_reach(stream.tip_pose()))
    searching = [c for c in stream.run(1.0) if c.status is TrackStatus.SEARCHING]
    assert len(searching) > 1
    assert all(command.iterations <= 200 for command in searching)
    assert searching[-1].restarts > searching[0].restarts


@settings(FIXED, max_examples=10)
@given(name=st.sampled_from(['panda', 'ur5e', 'iiwa14']), seed=st.integers(0, 1000))
def test_the_way_to_a_far_goal_is_straight_in_joint_space_and_slow_at_both_ends(name, seed):
    stream = Stream(name, acceleration=3.0)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(seed))))
    while not stream.tick().dq.any():
        pass
    commands = [stream.tick()]
    while commands[-1].dq.any():
        commands.append(stream.tick())
    target = commands[-1].q
    start = stream.robot.middle_configuration
    moves = np.abs(target - start) > 1e-6
    path = (np.array([c.q for c in commands]) - start)[:, moves] / (target - start)[moves]
    assert np.ptp(path, axis=1).max() < 1e-3
    speeds = np.array([np.abs(c.dq).max() for c in commands])
    peak = int(np.argmax(speeds))
    assert (np.diff(speeds[: peak + 1]) >= -1e-9).all()
    assert (np.diff(speeds[peak:]) <= 1e-9).all()


def test_a_stream_after_a_far_move_is_followed_as_closely_as_any():
    """The joints of a far move wait for each other; those that follow a stream do not."""
    streams = [Stream('iiwa14', acceleration=1.0), Stream('iiwa14', acceleration=1.0)]
    target = streams[0].configuration(np.random.default_rng(3))
    goal = streams[0].pose(target)
    streams[0].goal(goal)  # a far goal, still far away when it begins to move on
    streams[0].tick()
    streams[1].tracker.reset(streams[0].tracker.tick(0.0).solution)
    for k in range(1500):
        angle = 0.01 * k
        for stream in streams:
            stream.goal(moved(goal, 0.1 * math.sin(angle), 0.1 * (math.cos(angle) - 1.0)))
            command = stream.tick()
    np.testing.assert_allclose(streams[0].tracker.q, command.q, atol=1e-3)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14'])
def test_a_goal_out_of_reach_is_no_reason_to_leave_a_branch_that_is_as_good(name):
    compared = 0
    for seed in range(12):
        stream = Stream(name, acceleration=np.inf)
        start = stream.configuration(np.random.default_rng(seed))
        stream.tracker.reset(start)
        goal = out_of_reach(stream.tip_pose(), 2.0)
        problem = ik.IkProblem(stream.robot, [ik.PoseTask(stream.tips[0], transform=goal)])
        near = ik.solve(problem, start, restarts=0)
        stream.goal(goal)
        end = stream.settle()
        assert problem.evaluate(end.q).cost <= near.cost * (1 + 1e-9)
        if problem.evaluate(end.q).cost > 0.99 * near.cost:
            np.testing.assert_allclose(end.q, near.q, atol=0.05)
            compared += 1
    assert compared > 0


def test_a_slowly_dragged_goal_moves_the_arm_smoothly():
    stream = Stream('panda', acceleration=np.inf)
    start = stream.tip_pose()
    at = []
    for k in range(200):
        stream.goal(moved(start, 1e-6 * k))  # a tenth of the tolerance per tick
        stream.tick()
        at.append(stream.tip_pose()[0, 3])
    np.testing.assert_allclose(np.diff(at), 1e-6, atol=5e-7)


# 3. The nearest turn


@pytest.mark.parametrize('angle', [3.0, -3.0, 6.0, -6.0, 9.0])
def test_a_continuous_joint_takes_the_shortest_way_round(angle):
    stream = Stream('pr2_like')
    robot = stream.robot
    last = robot.chain(stream.tips[0])[-1]
    assert robot.continuous[last]
    q = stream.configuration(np.random.default_rng(0))
    stream.tracker.reset(q)
    target = q.copy()
    target[last] += angle
    stream.goal(stream.pose(target))
    end = stream.settle(200.0)
    assert end.status is TrackStatus.REACHED
    assert abs(end.q[last] - q[last]) <= math.pi + 0.5


def test_a_joint_with_more_than_one_turn_takes_the_nearest_turn_inside_its_limits():
    stream = Stream('ur5e')
    last = stream.robot.n - 1
    q = np.array([0.3, -1.2, 1.3, -1.0, 1.2, 6.0])
    stream.tracker.reset(q)
    for angle in (0.2, 0.4, 0.6, 0.8):  # over the limit at 2 pi
        target = q.copy()
        target[last] += angle
        stream.goal(stream.pose(target))
        end = stream.settle()
        assert end.status is TrackStatus.REACHED
    assert end.q[last] == pytest.approx(6.8 - math.tau, abs=1e-3)


def test_a_goal_that_spins_faster_than_the_joint_leaves_no_winding_behind():
    stream = Stream('pr2_like', velocity=0.5)
    last = stream.robot.chain(stream.tips[0])[-1]
    stream.tracker.reset(stream.configuration(np.random.default_rng(0)))
    start = stream.tip_pose()
    for k in range(500):
        stream.goal(turned(start, 0.05 * k))
        stream.tick()
    before = stream.tracker.q[last]
    assert abs(stream.settle(100.0).q[last] - before) <= math.pi + 0.3


# 4. Goals out of reach


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('solver', FOLLOWERS)
def test_out_of_reach_gives_the_closest_pose_held_still(name, solver):
    stream = Stream(name, velocity=5.0, acceleration=50.0, solver=solver)
    robot = stream.robot
    # A rate of seconds on slow joints would only make this test slow.
    stream.limits = MotionLimits(
        robot.lower, robot.upper, np.full(robot.n, 5.0), np.full(robot.n, 50.0)
    )
    stream.tracker.set_limits(stream.limits)
    goal = out_of_reach(stream.tip_pose(), 3.0)
    stream.goal(goal)
    stream.run(3.0)
    commands = stream.run(1.0)
    speeds = np.array([command.dq for command in commands])
    assert np.sqrt((speeds**2).mean()) < 1e-6
    end = commands[-1]
    assert end.status is TrackStatus.CLOSEST
    problem = stream.problem
    for tip, task in enumerate(problem.goals):
        task.set_target(goal if tip == 0 else stream.pose(robot.middle_configuration, tip))
    best = ik.solve(problem, robot.middle_configuration)
    np.testing.assert_allclose(problem.evaluate(end.q).cost, best.cost, rtol=0.02)


def test_a_goal_that_is_sent_again_and_again_is_held_still():
    stream = Stream('iiwa14')
    goal = out_of_reach(stream.tip_pose(), 1.0)
    stream.goal(goal)
    q = stream.settle().q
    for _ in range(100):
        stream.goal(goal.copy())
        command = stream.tick()
        np.testing.assert_array_equal(command.q, q)
        assert command.status is TrackStatus.CLOSEST


def test_a_redundant_arm_stands_still_at_its_goal():
    stream = Stream('panda')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(9))))
    q = stream.settle().q
    for command in stream.run(1.0):
        np.testing.assert_array_equal(command.q, q)


def test_a_goal_beyond_reach_is_left_for_one_within():
    stream = Stream('ur5e')
    goal = stream.pose(stream.configuration(np.random.default_rng(4)))
    stream.goal(out_of_reach(goal))
    assert stream.settle().status is TrackStatus.CLOSEST
    stream.goal(goal)
    assert stream.settle().status is TrackStatus.REACHED


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


class StrangeSolver(ik.Solver):
    name = 'strange'
    Options = SearchOptions
    creep = 1e-4

    def _search(self, problem, q0):
        return StrangeSearch(problem, q0, self.clock, self.creep)


@pytest.mark.parametrize('jump', [0.01, 1.0])
def test_a_solver_that_creeps_for_ever_is_stopped(jump):
    stream = Stream('ur5e', solver=StrangeSolver(), options=TrackerOptions(updates_per_tick=1))
    stream.goal(moved(stream.tip_pose(), jump))
    moving = stream.run(1.0)
    assert moving[-1].dq.any()
    stream.run(4.0)
    assert not any(command.dq.any() for command in stream.run(1.0))


def test_a_solution_that_is_not_a_number_is_not_gone_to():
    solver = StrangeSolver()
    solver.creep = math.nan
    stream = Stream('ur5e', solver=solver)
    stream.goal(moved(stream.tip_pose(), 0.01))
    assert not any(command.dq.any() for command in stream.run(3.0))


# 5. Timeouts, stop, pause, reset


def moving(name='panda', **kwargs):
    """A stream well under way to a far goal."""
    stream = Stream(name, acceleration=2.0, **kwargs)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(6))))
    stream.run(0.5)
    assert np.abs(stream.tracker.dq).max() > 0.1
    return stream


def assert_brakes_to_rest(stream, status):
    """All joints brake at full deceleration; the status says why, and ticks go on."""
    dq = stream.tracker.dq
    command = stream.tick()
    expected = np.maximum(np.abs(dq) - 2.0 * stream.tracker.period, 0.0)
    np.testing.assert_allclose(np.abs(command.dq), expected, atol=1e-9)
    commands = stream.run(2.0)
    assert {c.status for c in commands} == {status}
    assert not commands[-1].dq.any()
    assert all((c.dq * dq >= 0.0).all() for c in commands)  # straight to rest, not back


def test_stop_decelerates_and_drops_the_goals():
    stream = moving()
    stream.tracker.stop()
    assert_brakes_to_rest(stream, TrackStatus.IDLE)


def test_a_stale_goal_decelerates_to_rest_and_a_new_one_goes_on():
    stream = moving(options=TrackerOptions(goal_timeout=0.5))
    goal = stream.pose(stream.configuration(np.random.default_rng(6)))
    stream.now += 1e-6
    assert_brakes_to_rest(stream, TrackStatus.STALE)
    for _ in range(1000):
        stream.goal(goal)  # a stream that goes on never gets stale
        command = stream.tick()
    assert command.status is TrackStatus.REACHED


def test_a_goal_without_timeout_holds_for_ever():
    stream = Stream('ur5e')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(6))))
    stream.settle()
    stream.now += 1e6
    assert stream.tick().status is TrackStatus.REACHED


def test_pause_keeps_the_goals():
    stream = moving()
    stream.tracker.pause()
    assert_brakes_to_rest(stream, TrackStatus.PAUSED)
    stream.tracker.pause(False)
    assert stream.tick().status is TrackStatus.TRACKING
    assert stream.settle().status is TrackStatus.REACHED


def test_a_search_that_a_pause_cut_short_is_made_up_for():
    stream = Stream('panda')
    start, goal = flipped_goal(stream)
    stream.tracker.reset(start)
    stream.goal(goal)
    stream.tick()
    stream.tracker.pause()
    stream.run(0.5)
    stream.tracker.pause(False)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_dropped_goal_stops_the_arm():
    stream = moving()
    stream.tracker.set_goal(0, None, stream.now)
    assert_brakes_to_rest(stream, TrackStatus.IDLE)


def test_reset_starts_from_the_given_state():
    stream = Stream('panda')
    q = stream.configuration(np.random.default_rng(8))
    stream.tracker.reset(q)
    np.testing.assert_array_equal(stream.tracker.q, q)
    assert stream.tracker.at_rest
    assert stream.tick().status is TrackStatus.IDLE


def test_reset_is_refused_in_motion_and_changes_nothing():
    stream, other = moving(), moving()
    with pytest.raises(ik.InvalidConfiguration, match='moving'):
        stream.tracker.reset(stream.tracker.q)
    np.testing.assert_array_equal(stream.tick().q, other.tick().q)


@pytest.mark.parametrize('bad', [np.full(8, np.nan), np.zeros(3), 'middle'])
def test_reset_refuses_what_is_no_state_and_changes_nothing(bad):
    stream = Stream('panda')
    q = stream.tracker.q
    with pytest.raises(ik.InvalidConfiguration):
        stream.tracker.reset(bad)
    np.testing.assert_array_equal(stream.tracker.q, q)


def test_braking_for_a_tick_slows_down_and_the_goals_are_followed_again():
    stream = moving()
    before = stream.tracker.dq
    stream.tracker.brake()
    after = stream.tick().dq
    steps = stream.tracker.governor.limits.acceleration * stream.tracker.period
    expected = np.sign(before) * np.maximum(np.abs(before) - steps, 0.0)
    np.testing.assert_allclose(after, expected, rtol=0, atol=1e-12)
    assert stream.settle().status is TrackStatus.REACHED


def test_braking_in_every_tick_ends_at_rest_and_drops_no_goal():
    stream = moving()
    for _ in range(500):
        stream.tracker.brake()
        stream.tick()
    assert stream.tracker.at_rest
    assert stream.tracker.has_goals
    assert stream.settle().status is TrackStatus.REACHED


def test_another_tracker_goes_on_with_the_same_governor():
    stream = moving()
    before = stream.tracker
    after = Tracker(
        stream.problem,
        before.rate,
        limits=before.governor.limits,
        governor=before.governor,
    )
    q, dq = before.q, before.dq
    command = after.tick(stream.now)
    steps = before.governor.limits.acceleration * before.period
    assert (np.abs(command.dq - dq) <= steps * (1 + 1e-9)).all()
    np.testing.assert_allclose(command.q, q + command.dq * before.period, rtol=0, atol=1e-12)


# 6. One budget per tick


class SlowClock:
    """A clock on which every look takes some seconds."""

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def __call__(self):
        self.now += self.seconds
        return self.now


def test_a_solve_that_takes_longer_than_a_tick_goes_on_in_the_next():
    clock = SlowClock(0.002)  # a tick's 5 ms are two iterations
    stream = Stream('panda', solver='damped_least_squares', rate=100.0, clock=clock)
    stream.goal(moved(stream.tip_pose(), 0.05, 0.05, -0.05))
    commands = stream.run(1.0)
    assert max(command.iterations for command in commands) <= 2
    assert sum(command.iterations > 0 for command in commands) > 1
    assert stream.settle().status is TrackStatus.REACHED


def test_an_unfinished_solve_for_a_far_goal_moves_nothing_yet():
    stream = Stream('iiwa14', clock=SlowClock(0.003))  # one look at the clock a tick
    stream.tracker.set_solver('damped_least_squares')
    goal = stream.pose(stream.configuration(np.random.default_rng(3)))
    stream.goal(goal)
    command = stream.tick()
    assert command.iterations == 1
    assert not command.dq.any()
    assert stream.settle().status is TrackStatus.REACHED


@pytest.mark.parametrize('solver', FOLLOWERS)
def test_a_solve_that_ran_out_of_iterations_goes_on_in_the_next_tick(solver):
    stream = Stream('panda', solver=solver, solver_options={'max_iterations': 1})
    stream.goal(moved(stream.tip_pose(), 0.06, 0.04, -0.05))
    assert stream.settle(20.0).status is TrackStatus.REACHED


@pytest.mark.parametrize('solver', FOLLOWERS)
@pytest.mark.parametrize('updates', [1, 3])
def test_so_many_updates_a_tick_and_no_more(solver, updates):
    stream = Stream('panda', solver=solver, options=TrackerOptions(updates_per_tick=updates))
    stream.goal(moved(stream.tip_pose(), 0.08, 0.04, -0.05))
    commands = stream.run(1.0)
    assert max(command.iterations for command in commands) == updates
    assert stream.settle().status is TrackStatus.REACHED


# What is reported


@pytest.mark.parametrize('name', ROBOTS)
def test_reached_is_said_of_the_commanded_joints(name):
    stream = Stream(name, velocity=5.0)
    goal = stream.pose(stream.configuration(np.random.default_rng(11)))
    stream.goal(goal)
    for _ in range(20000):
        command = stream.tick()
        error = np.linalg.norm(stream.pose(command.q)[:3, 3] - goal[:3, 3])
        assert command.position_errors[0] == pytest.approx(error, abs=1e-9)
        if command.status is TrackStatus.REACHED:
            break
        assert error > 1e-5 or command.orientation_errors[0] > 1e-4
    assert error <= 1e-5
    assert command.orientation_errors[0] <= 1e-4


def test_idle_holds_still_and_solves_nothing():
    stream = Stream('panda')
    for command in stream.run(0.1):
        assert command.status is TrackStatus.IDLE
        assert command.iterations == 0
        assert not command.dq.any()
        np.testing.assert_array_equal(command.q, stream.robot.middle_configuration)


def test_every_status_has_a_text():
    assert len({status.text for status in TrackStatus}) == len(TrackStatus)


def test_commands_belong_to_the_caller():
    stream = moving()
    first = stream.tick()
    kept = first.q.copy()
    first.q[:], first.dq[:], first.solution[:] = np.nan, np.nan, np.nan
    second = stream.tick()
    assert np.isfinite(second.q).all()
    assert np.abs(second.q - kept).max() < 0.1


# Several tips, and joints that no goal moves


def test_a_tip_without_a_goal_holds_its_pose():
    stream = Stream('dual_arm')
    random = np.random.default_rng(1)
    stream.tracker.reset(stream.configuration(random))
    held = stream.tip_pose(1)
    goal = moved(stream.tip_pose(0), 0.03, -0.02, 0.05)
    stream.goal(goal)
    end = stream.settle()
    assert end.status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(0), goal, atol=1e-4)
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_a_dropped_goal_leaves_its_tip_where_it_can_stop_while_others_go_on():
    stream = Stream('dual_arm', acceleration=2.0)
    stream.tracker.reset(stream.configuration(np.random.default_rng(1)))
    goal = moved(stream.tip_pose(0), z=0.05)
    stream.goal(goal)
    stream.goal(moved(stream.tip_pose(1), 0.09), tip=1)
    stream.run(0.1)
    dropped = stream.tip_pose(1)
    stream.tracker.set_goal(1, None, stream.now)
    stream.settle()
    held = stream.tip_pose(1)
    assert np.linalg.norm(held[:3, 3] - dropped[:3, 3]) < 0.03
    stream.goal(moved(goal, 0.01))
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_dropping_no_goal_changes_nothing():
    stream = Stream('dual_arm')
    stream.tracker.reset(stream.configuration(np.random.default_rng(1)))
    held = stream.tip_pose(1)
    stream.goal(moved(stream.tip_pose(0), z=0.1))
    stream.run(0.1)
    stream.tracker.set_goal(1, None, stream.now)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(1), held, atol=1e-4)


def test_a_goal_of_its_own_is_given_to_each_tip():
    stream = Stream('dual_arm')
    random = np.random.default_rng(2)
    q = stream.configuration(random)
    stream.tracker.reset(q)
    goals = [moved(stream.tip_pose(0), 0.02), moved(stream.tip_pose(1), z=0.03)]
    for tip, goal in enumerate(goals):
        stream.goal(goal, tip)
    assert stream.settle().status is TrackStatus.REACHED
    for tip, goal in enumerate(goals):
        np.testing.assert_allclose(stream.tip_pose(tip), goal, atol=1e-4)


def test_joints_that_no_goal_moves_keep_their_value_but_come_inside():
    stream = Stream('panda')
    finger = stream.robot.joint_index('panda_finger_joint1')
    q = stream.configuration(np.random.default_rng(0))
    q[finger] = 0.011
    stream.tracker.reset(q)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(1))))
    assert stream.settle().q[finger] == 0.011
    q[finger] = stream.robot.upper[finger] + 0.02
    stream.tracker.reset(q)
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(2))))
    command = stream.tick()
    assert q[finger] > command.q[finger] > stream.robot.upper[finger]
    assert stream.settle().q[finger] == stream.robot.upper[finger]


# What users set while it runs


@pytest.mark.parametrize(
    'bad',
    [
        np.full((4, 4), np.nan),
        np.diag([1.0, 1.0, -1.0, 1.0]),
        np.diag([2.0, 1.0, 1.0, 1.0]),
        np.eye(3),
        np.diag([1.0, 1.0, 1.0, np.inf]),
    ],
)
def test_a_bad_goal_is_refused_and_the_last_good_one_kept(bad):
    stream = Stream('ur5e')
    with pytest.raises(ik.InvalidGoal):
        stream.goal(bad)
    assert stream.tick().status is TrackStatus.IDLE
    goal = stream.pose(stream.configuration(np.random.default_rng(3)))
    stream.goal(goal)
    stream.run(0.1)
    with pytest.raises(ik.InvalidGoal):
        stream.goal(bad)
    assert stream.settle().status is TrackStatus.REACHED
    np.testing.assert_allclose(stream.tip_pose(), goal, atol=1e-4)


@pytest.mark.parametrize('index', [-1, 1])
def test_there_must_be_such_a_tip(index):
    with pytest.raises(ik.InvalidGoal, match='no tip'):
        Stream('ur5e').goal(np.eye(4), index)


def test_tightened_limits_move_the_solution_inside_too():
    stream = Stream('panda')
    stream.goal(stream.pose(stream.configuration(np.random.default_rng(3))))
    q = stream.settle().q
    old = stream.limits
    upper = np.maximum(q - 0.05, old.lower)
    stream.limits = MotionLimits(old.lower, upper, old.velocity, old.acceleration)
    stream.tracker.set_limits(stream.limits)
    end = stream.settle()
    assert (end.solution <= upper).all()
    assert (end.q <= upper).all()
    stream.limits = old
    stream.tracker.set_limits(old)
    assert stream.settle().status is TrackStatus.REACHED


def test_a_search_under_way_starts_again_inside_new_limits():
    stream = Stream('panda', options=TrackerOptions(replan_period=0.0))
    stream.goal(out_of_reach(stream.tip_pose()))
    while stream.tick().status is not TrackStatus.SEARCHING:
        pass
    old = stream.limits
    middle = stream.robot.middle_configuration
    stream.limits = MotionLimits(
        np.maximum(old.lower, middle - 0.3),
        np.minimum(old.upper, middle + 0.3),
        old.velocity,
        old.acceleration,
    )
    stream.tracker.set_limits(stream.limits)
    end = stream.settle()
    assert (np.abs(end.solution - middle) <= 0.3 + 1e-12).all()


def test_the_solver_and_the_options_change_while_it_runs():
    stream = moving()
    q = stream.tracker.q
    stream.tracker.set_solver('damped_least_squares', {'damping': 0.01})
    stream.tracker.set_options(TrackerOptions(updates_per_tick=2))
    assert np.abs(stream.tick().q - q).max() < 0.1
    assert stream.settle().status is TrackStatus.REACHED


def test_a_wrong_solver_is_refused_and_the_last_one_kept():
    stream = moving()
    with pytest.raises(ik.InvalidOption, match='there are: levenberg_marquardt'):
        stream.tracker.set_solver('newton')
    with pytest.raises(ik.InvalidOption, match='no option'):
        stream.tracker.set_solver('levenberg_marquardt', {'dampening': 1.0})
    assert stream.settle().status is TrackStatus.REACHED


def test_limits_for_another_robot_are_refused():
    stream = Stream('panda')
    with pytest.raises(ik.InvalidOption, match='6 joints; the robot has 8'):
        stream.tracker.set_limits(MotionLimits.of(robot_named('ur5e')))
    assert stream.tick().status is TrackStatus.IDLE


@pytest.mark.parametrize('rate', [0.0, -1.0, math.nan, math.inf])
def test_the_rate_must_be_positive(rate):
    with pytest.raises(ik.InvalidOption, match='rate'):
        Stream('ur5e', rate=rate)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('updates_per_tick', -1),
        ('updates_per_tick', 1.5),
        ('goal_jump_position', -0.1),
        ('goal_jump_orientation', math.nan),
        ('replan_period', -1.0),
        ('goal_timeout', '1'),
    ],
)
def test_options_are_checked(name, value):
    with pytest.raises(ik.InvalidOption, match=name):
        TrackerOptions(**{name: value})


@pytest.mark.parametrize(
    ('changes', 'message'),
    [
        ({'lower': [0.0, 2.0]}, 'joint 1 .* lower is above upper'),
        ({'upper': [math.nan, 1.0]}, 'upper is NaN'),
        ({'velocity': [1.0, 0.0]}, 'velocity must be positive'),
        ({'acceleration': [0.0, 1.0]}, 'acceleration must be positive'),
        ({'acceleration': [1.0]}, 'shape'),
        ({'lower': [math.inf] * 2, 'upper': [math.inf] * 2}, 'no position'),
    ],
)
def test_limits_are_checked(changes, message):
    rows = {'lower': [-1.0] * 2, 'upper': [1.0] * 2, 'velocity': [1.0] * 2}
    with pytest.raises(ik.InvalidOption, match=message):
        MotionLimits(**{**rows, 'acceleration': [1.0] * 2, **changes})


class RecordingSolver(StrangeSolver):
    def begin(self, problem, q0=None):
        self.problem = problem
        return self._search(problem, q0)


def test_what_is_solved_is_the_callers_problem_inside_the_trackers_limits():
    robot = robot_named('ur5e')
    problem = ik.IkProblem(
        robot,
        [ik.PoseTask('tool0')],
        secondary=[ik.PositionTask('forearm_link', np.zeros(3))],
        frozen_joints=robot.joint_names[:1],
        orientation_length=0.7,
    )
    solver = RecordingSolver()
    limits = MotionLimits(np.full(6, -0.5), np.full(6, 0.5), robot.velocity, np.full(6, 1.0))
    Tracker(problem, 100.0, limits=limits, solver=solver)
    solved = solver.problem
    assert solved.secondary == problem.secondary
    assert solved.frozen_joints == problem.frozen_joints
    assert solved.orientation_length == problem.orientation_length
    assert solved.position_tolerance <= problem.position_tolerance
    assert solved.limits.upper.tolist() == [0.5] * 5


def test_the_callers_problem_is_left_alone():
    robot = robot_named('ur5e')
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    tracker = Tracker(problem, 100.0, limits=MotionLimits.of(robot))
    tracker.set_goal(0, robot.forward_kinematics(np.full(6, 0.4), 'tool0'), 0.0)
    tracker.tick(0.0)
    assert np.isnan(problem.goals[0].target).all()


def test_warming_up_changes_nothing():
    warm, cold = moving(), moving()
    warm.tracker.warm()
    for _ in range(300):
        np.testing.assert_array_equal(warm.tick().q, cold.tick().q)
