# SPDX-License-Identifier: Apache-2.0
"""Minima and saddles: the Hessian, what is left and what is an end, with goals and without."""

import itertools

import numpy as np
import pytest
from support import robots
from support.jacobian_problems import planar, slides
from support.stepping import Stepping

import ik_core as ik
from ik_core import IkProblem, IkStatus, PoseTask, PositionTask, PostureTask, make_solver
from ik_core.kernels.jit import kernel
from ik_core.optim.layouts import search_at
from ik_core.optim.second_order import half_hessian
from ik_core.tasks.base import Task


class Product(Task):
    """r = sqrt(2 + sum of q_i q_k over pairs): the squared residual is a saddle at 0."""

    def __init__(self, *pairs, squares=()):
        self.pairs, self.squares = pairs, squares

    def residual(self, robot, q):
        bent = sum(q[i] * q[k] for i, k in self.pairs) + sum(
            w * q[i] ** 2 for i, w in self.squares
        )
        return np.array([np.sqrt(2.0 + bent)])

    def jacobian(self, robot, q):
        slope = np.zeros(robot.n)
        for i, k in self.pairs:
            slope[i] += q[k]
            slope[k] += q[i]
        for i, w in self.squares:
            slope[i] += 2.0 * w * q[i]
        return slope[np.newaxis] / (2.0 * self.residual(robot, q)[0])


def takes_tasks(name):
    """Return whether a method takes tasks other than goals."""
    return name != 'cyclic_coordinate_descent'


with_tasks = pytest.mark.parametrize('solver', [name for name in ik.SOLVERS if takes_tasks(name)])
# Those that need not come to rest where a goal is out of reach
SWINGING = ('jacobian_transpose', 'pseudoinverse', 'damped_least_squares',
            'selectively_damped_least_squares', 'penalty', 'augmented_lagrangian')  # fmt: skip

every_solver = pytest.mark.parametrize('solver', list(ik.SOLVERS))


# --- the Hessian -------------------------------------------------------------------------------


@kernel
def enter(address):
    half_hessian(search_at(address))


def hessian_at(problem, q):
    """Half the cost's Hessian at q, by the kernel."""
    search = Stepping(make_solver('jacobian_transpose'), problem, q)
    enter(search.workspace.search.address)
    lower = np.tril(search.workspace.search['hessian'])
    return lower + np.tril(lower, -1).T


def test_the_hessian_is_that_of_a_planar_arm():
    """J'J + sum r d2p/dq_i dq_k; the latter is minus the way to the tip from the farther joint."""
    rng, lengths = np.random.default_rng(4), np.array([1.0, 0.7, 0.4])
    problem = IkProblem(planar(*lengths), [PositionTask('tip', [0.4, 1.9, 0.3], weights=1.7)])
    for _ in range(5):
        q = rng.uniform(-3.0, 3.0, 3)
        turns = np.cumsum(q)
        links = lengths[:, np.newaxis] * np.array([np.cos(turns), np.sin(turns)]).T
        ways = np.cumsum(links[::-1], axis=0)[::-1]  # from each joint to the tip
        missing = ways[0] - [0.4, 1.9]
        jacobian = np.array([-ways[:, 1], ways[:, 0]])
        bent = np.array([[-missing @ ways[max(i, k)] for k in range(3)] for i in range(3)])
        expected = 1.7 * (jacobian.T @ jacobian + bent)
        np.testing.assert_allclose(hessian_at(problem, q), expected, atol=1e-8)


def mixed_problem():
    robot, rng = robots.shipped('panda'), np.random.default_rng(5)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(robots.random_q(robot, rng, margin=0.2), 'panda_link8')
    tasks = [PoseTask('panda_link8', transform=pose), PostureTask(q + 0.2, weights=0.3),
             Product((0, 1), squares=[(2, 0.1)])]  # fmt: skip
    return IkProblem(robot, tasks, frozen_joints=['panda_joint6', 'panda_finger_joint1']), q


def test_the_hessian_is_the_costs_second_differences():
    """The cost has goals, tasks about joints, and tasks that no kernel knows."""
    problem, q = mixed_problem()
    problem.start(q)
    x, h = q[problem.variables], 1e-3
    expected = np.empty((len(x), len(x)))
    for i, k in itertools.product(range(len(x)), repeat=2):
        total = 0.0
        for side, other in itertools.product((1, -1), repeat=2):
            moved = x.copy()
            moved[i] += side * h
            moved[k] += other * h
            total += side * other * problem.at(moved).cost
        expected[i, k] = 0.5 * total / (4.0 * h * h)
    found = hessian_at(problem, q)
    np.testing.assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


# --- saddles -----------------------------------------------------------------------------------


@every_solver
def test_an_arm_that_is_straight_leaves_for_its_goal(solver):
    """Stretched out or folded onto a line with the goal, out of reach: all 16 are stationary,
    and all but one are saddles or the farthest point."""
    problem = IkProblem(planar(*5 * [0.5]), [PositionTask('tip', [-2.8, 0.0, 0.0])])
    method = make_solver(solver, restarts=0)
    for folds in itertools.product((0.0, np.pi), repeat=4):
        result = method.solve(problem, [0.0, *folds])
        if result.status is IkStatus.CLOSEST:
            assert result.position_errors[0] == pytest.approx(0.3, abs=1e-4), folds
        else:
            assert result.position_errors[0] < 5.3 - 1e-3, folds  # it did get away
            assert solver in SWINGING


@every_solver
def test_an_arm_that_stretches_to_its_goal_is_at_a_minimum(solver):
    problem = IkProblem(robots.shipped('arm5'), [PositionTask('tip', [2.8, 0.0, 0.0])])
    result = make_solver(solver, restarts=0).solve(problem, np.zeros(5))
    assert result.status is IkStatus.CLOSEST
    np.testing.assert_allclose(result.q, 0.0, atol=1e-12)
    assert result.position_errors == pytest.approx([0.3])


UPSIDE_DOWN = [1.0, 0.0, 0.0, 0.0]
FARTHEST = {
    'two axes': lambda: ik.TwoAxisTask('tip', [0.0, 0.0, 1.0, 0.0]),
    'two axes, upside down': lambda: ik.TwoAxisTask('tip', [0.0, 1.0, 0.0, 0.0]),
    'axis': lambda: ik.AxisTask('tip', [1.0, 0.0, 0.0], [-1.0, 0.0, 0.4]),
    'unequal weights': lambda: ik.OrientationTask('tip', UPSIDE_DOWN, weights=[1.0, 3.0, 1.0]),
    'box': lambda: ik.OrientationTask('tip', UPSIDE_DOWN, box=[0.0, 0.2, 0.0]),
}


@every_solver
@pytest.mark.parametrize('goal', FARTHEST.values(), ids=FARTHEST)
def test_the_farthest_orientation_is_no_closest_one(solver, goal):
    """Two joints with one axis can't reach the goals, of every kind, or only by turning the other
    way round; with and without a posture task beside them."""
    problem = IkProblem(planar(1.0, 1.0), [goal()])
    if problem.goals[0].is_region and not takes_tasks(solver):
        pytest.skip('no regions')
    posture = IkProblem(problem.robot, [goal(), PostureTask(np.zeros(2), weights=1e-9)])
    for asked in (problem, posture):
        if asked is posture and not takes_tasks(solver):
            continue
        result = make_solver(solver, restarts=0).solve(asked, np.zeros(2))
        if result.status is IkStatus.CLOSEST:
            x = asked.start(result.q)[1]
            near = [x + h * np.array(d) for h in (-1e-3, 1e-3) for d in ((1, 0), (0, 1), (1, -1))]
            assert min(map(asked.evaluator.cost_at, near)) >= result.cost * (1.0 - 1e-8)


@pytest.mark.parametrize('solver', list(ik.SOLVERS))
@pytest.mark.parametrize('height', [0.0, -2e-5])
def test_on_a_limit_that_hardly_anything_presses_against_the_way_inside_is_found(solver, height):
    """Stretched out away from the goal, both joints on their lower limits, without a slope, or
    with one against which they gain after a few microradians."""
    robot, goal = planar(1.0, 1.0), PositionTask('tip', [-3.0, height, 0.0])
    problem = IkProblem(robot, [goal], lower=np.zeros(2), upper=np.array([3.5, 1.0]))
    result = make_solver(solver, restarts=0).solve(problem, [0.0, 0.0])
    if solver not in SWINGING:
        assert result.status is IkStatus.CLOSEST
    if result.status is IkStatus.CLOSEST:
        np.testing.assert_allclose(result.q, [np.pi, 0.0], atol=1e-3)
    assert result.position_errors[0] < 4.9  # the Jacobian methods may stop short at a limit
    pinned = IkProblem(robot, problem.goals, lower=np.zeros(2), upper=np.zeros(2))
    result = make_solver(solver, restarts=0).solve(pinned, [0.0, 0.0])
    assert result.status is IkStatus.CLOSEST
    assert result.q.tolist() == [0.0, 0.0]


@every_solver
@pytest.mark.parametrize(
    ('corner', 'goal'), [((-1, 1), -5.604), ((1, -1, -1, -1, 1), -2.332), ((1, -1), -2.5)]
)
def test_a_way_inside_off_several_limits_is_found(solver, corner, goal):
    """Folded, all joints on limits that nothing presses against: each way down leads off one or
    two of them, while the other ones would have to stay."""
    robot, target = planar(*len(corner) * [1.0]), PositionTask('tip', [goal, 0.0, 0.0])
    limit = np.full(robot.n, np.pi)
    problem = IkProblem(robot, [target], lower=-limit, upper=limit)
    result = make_solver(solver, restarts=0).solve(problem, limit * corner)
    if result.status is IkStatus.CLOSEST:
        assert result.position_errors[0] == pytest.approx(max(-goal - len(corner), 0.0), abs=1e-3)
    assert result.status is IkStatus.CLOSEST or solver in SWINGING or -goal < len(corner)


def in_a_box(task, low, high):
    axes = np.eye(3)[: len(low)]
    return IkProblem(slides(*axes), [task], lower=np.array(low), upper=np.array(high))


@with_tasks
def test_a_saddle_whose_ways_down_the_limits_close_is_a_minimum(solver):
    """x y in the quadrant x, y >= 0: the Hessian has a way down, the box has none."""
    closed = in_a_box(Product((0, 1)), [0.0, 0.0], [1.0, 1.0])
    result = make_solver(solver).solve(closed, [0.0, 0.0])
    assert result.q.tolist() == [0.0, 0.0]
    assert result.status is IkStatus.LEAST
    assert result.success


@with_tasks
def test_a_saddle_inside_the_limits_is_left(solver):
    """x y in a square around it ends in a corner where it is -1."""
    around = in_a_box(Product((0, 1)), [-1.0, -1.0], [1.0, 1.0])
    result = make_solver(solver, max_iterations=2000).solve(around, [0.0, 0.0])
    assert result.cost == pytest.approx(1.0, abs=1e-6)
    assert result.status is IkStatus.LEAST
    half = in_a_box(Product((0, 1)), [0.0, -1.0], [1.0, 1.0])  # one limit holds, one way is open
    result = make_solver(solver, max_iterations=2000).solve(half, [0.0, 0.0])
    np.testing.assert_allclose(result.q, [1.0, -1.0], atol=1e-5)
    assert result.status is IkStatus.LEAST


@with_tasks
def test_a_way_that_closed_limits_hide_is_found(solver):
    """x y - 0.3 z^2: down along x and y the limits close, down along z they don't."""
    pair = Product((0, 1), squares=[(2, -0.3)])
    problem = in_a_box(pair, [0.0, 0.0, -1.0], [1.0, 1.0, 1.0])
    result = make_solver(solver, max_iterations=2000).solve(problem, [0.0, 0.0, 0.0])
    assert result.status is IkStatus.LEAST
    assert result.cost == pytest.approx(1.7, abs=1e-6)


@every_solver
@pytest.mark.parametrize('name', ['ur5e', 'scara', 'arm5'])
def test_nothing_near_a_closest_point_is_closer(solver, name):
    robot, rng = robots.shipped(name), np.random.default_rng(8)
    link = robots.tip_of(robot)
    closest = 0
    for _ in range(4):
        q = robots.random_q(robot, rng, margin=0.1)
        target = 3.0 * robot.forward_kinematics(q, link)[:3, 3] + 0.1
        problem = IkProblem(robot, [PositionTask(link, target)])
        start = robots.random_q(robot, rng, margin=0.1)
        result = make_solver(solver, restarts=0).solve(problem, start)
        if result.status is not IkStatus.CLOSEST:
            continue
        closest += 1
        _, x = problem.start(result.q)
        for size in (1e-3, 1e-2):
            for _ in range(50):
                away = problem.limits.project(x + size * rng.normal(size=len(x)))
                assert problem.at(away).cost >= result.cost * (1.0 - 1e-6)
    assert closest >= 2 or solver in SWINGING


# --- without goals, and with tasks of one's own ------------------------------------------------


@with_tasks
def test_tasks_alone_end_at_their_least_with_success(solver):
    robot = robots.shipped('panda')
    q = robot.middle_configuration
    inside, beyond = q + 0.1, robot.upper + 0.2
    for rest in (inside, beyond):
        problem = IkProblem(robot, [PostureTask(rest)])
        result = make_solver(solver).solve(problem, q)
        assert result.status is IkStatus.LEAST
        assert result.success
        np.testing.assert_allclose(result.q, np.minimum(rest, robot.upper), atol=1e-5)
    goal = PoseTask('panda_link8', transform=robot.forward_kinematics(inside, 'panda_link8'))
    both = make_solver(solver).solve(IkProblem(robot, [goal, PostureTask(q)]), q)
    assert both.status is not IkStatus.LEAST


class TipCircle(Task):
    """A task of one's own, in Python: the tip at a distance from the root."""

    def __init__(self, link, radius, weight=1.0):
        self.link, self.radius, self.root_weight = link, radius, np.sqrt(weight)

    @property
    def links(self):
        return (self.link,)

    def residual(self, robot, q):
        p = robot.forward_kinematics(q, self.link)[:3, 3]
        return self.root_weight * np.array([np.linalg.norm(p) - self.radius])

    def jacobian(self, robot, q):
        p = robot.forward_kinematics(q, self.link)[:3, 3]
        linear = robot.jacobian(q, self.link)[:3]
        return self.root_weight * (p / np.linalg.norm(p) @ linear)[np.newaxis]


@with_tasks
def test_a_task_of_ones_own_is_done_alone_and_beside_a_goal(solver):
    robot = robots.shipped('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.6, 0.8, 0.2])
    circle = TipCircle('tool0', 0.6)
    numeric = robots.central_differences(lambda x: circle.residual(robot, x), q)
    np.testing.assert_allclose(circle.jacobian(robot, q), numeric, atol=1e-8)
    alone = make_solver(solver).solve(IkProblem(robot, [circle]), q)
    reached = np.linalg.norm(robot.forward_kinematics(alone.q, 'tool0')[:3, 3])
    assert reached == pytest.approx(0.6, abs=1e-4)
    # Beside a goal on the ray through the tip, at 0.9 m, with weight 3: the weighted mean.
    ray = robot.forward_kinematics(q, 'tool0')[:3, 3]
    ray /= np.linalg.norm(ray)
    heavy = TipCircle('tool0', 0.6, weight=3.0)
    problem = IkProblem(robot, [PositionTask('tool0', 0.9 * ray), heavy])
    result = make_solver(solver).solve(problem, q)
    tip = robot.forward_kinematics(result.q, 'tool0')[:3, 3]
    np.testing.assert_allclose(tip, (0.25 * 0.9 + 0.75 * 0.6) * ray, atol=2e-3)
    assert result.cost == pytest.approx(0.225**2 + 3.0 * 0.075**2, rel=1e-4)


class Failing(PostureTask):
    """A posture as a task of one's own, which raises something when asked once too often."""

    def __init__(self, *arguments, error):
        super().__init__(*arguments)
        self.left, self.error = np.inf, error

    def residual(self, robot, q):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return super().residual(robot, q)


class Wrapped(Task):
    """Hides from solvers what kind of task it is."""

    def __init__(self, task):
        self.task = task

    def residual(self, robot, q):
        return self.task.residual(robot, q)

    def jacobian(self, robot, q):
        return self.task.jacobian(robot, q)


@with_tasks
@pytest.mark.parametrize('error', [ValueError('no more'), KeyboardInterrupt()])
def test_what_a_task_raises_comes_out_and_the_solver_goes_on(solver, error):
    robot = robots.shipped('ur5e')
    q = np.array([0.3, -1.2, 1.4, -0.6, 0.8, 0.2])
    failing = Failing(q + 0.1, error=error)
    goal = PositionTask('tool0', robot.forward_kinematics(q + 0.2, 'tool0')[:3, 3])
    problem = IkProblem(robot, [goal, Wrapped(failing)])
    method = make_solver(solver)
    expected = method.solve(problem, q)
    for evaluations in (0, 2, 3, 7):
        failing.left = evaluations
        with pytest.raises(type(error)) as caught:
            method.solve(problem, q)
        assert caught.value is error
        failing.left = np.inf
        np.testing.assert_array_equal(method.solve(problem, q).q, expected.q)
