# SPDX-License-Identifier: Apache-2.0
"""Two levels of tasks: the second moves only where the first does not feel it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from support import robots
from support.draws import draws

import ik_core as ik
from ik_core import Budget, IkStatus
from ik_core.maths.linalg import negative_curvature


def pose_problem(name, secondary, seed=0):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    tip = robot.tips()[0]
    q = robots.random_q(robot, rng)
    goal = ik.PoseTask(tip, transform=robot.forward_kinematics(q, tip))
    return ik.IkProblem(robot, [goal], secondary=secondary), q


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize(('name', 'away'), [('panda', 0.0), ('pr2_like', 0.0), ('panda', 0.8)])
def test_the_posture_nearest_to_rest_is_found(name, away, seed):
    """Against SLSQP: least |q - rest|^2 subject to the goals, from the same branch.

    With `away` the rest posture is near the limits, so joints end on them.
    """
    robot = robots.shipped(name)
    ranged = np.where(np.isfinite(robot.upper), robot.upper, 1.0)
    rest = (1.0 - away) * robot.middle_configuration + away * ranged
    problem, q = pose_problem(name, [ik.PostureTask(rest)], seed)
    result = ik.solve(problem, q)
    assert result.status is IkStatus.REACHED
    v = problem.variables
    optimum = minimize(
        lambda x: np.sum((x - rest[v]) ** 2),
        result.q[v],
        jac=lambda x: 2.0 * (x - rest[v]),
        constraints={
            'type': 'eq',
            'fun': lambda x: problem.at(x).residual,
            'jac': lambda x: problem.at(x).jacobian,
        },
        bounds=list(zip(problem.limits.lower, problem.limits.upper, strict=True)),
        method='SLSQP',
        options={'ftol': 1e-14, 'maxiter': 500},
    )
    assert np.sum((result.q[v] - rest[v]) ** 2) <= optimum.fun + 1e-3
    assert np.sum((result.q[v] - rest[v]) ** 2) <= np.sum((q[v] - rest[v]) ** 2)


@pytest.mark.parametrize('secondary', [
    ik.PostureTask(), ik.tasks.LimitAvoidanceTask(), ik.tasks.ManipulabilityTask('panda_link7'),
    ik.AxisTask('panda_link4', [0, 0, 1], [0, 1, 0]),
])  # fmt: skip
def test_every_kind_of_task_can_be_secondary(secondary):
    problem, q = pose_problem('panda', [secondary], seed=2)
    robot = problem.robot
    result = ik.solve(problem, q)
    assert result.success
    before, after = (np.linalg.norm(secondary.residual(robot, v)) for v in (q, result.q))
    assert after < 0.99 * before
    np.testing.assert_array_equal(result.position_errors, problem.errors(result.q)[0])


@pytest.mark.parametrize('other', [
    ik.PostureTask(weights=1e-3), ik.tasks.LimitAvoidanceTask(weight=1e-2),
    ik.tasks.ManipulabilityTask('panda_link7', weight=1e-2),
    ik.tasks.SmoothnessTask([0.0, -0.8, 0.0, -2.4, 0.0, 1.6, 0.8, 0.04], stiffness=1e-3),
])  # fmt: skip
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs'])
def test_every_kind_of_task_can_be_weighed_against_a_goal(solver, other):
    robot = robots.shipped('panda')
    problem, q = pose_problem('panda', [], seed=2)
    weighed = ik.IkProblem(robot, [*problem.goals, other])
    result = ik.solve(weighed, q, solver=solver)
    before, after = (np.linalg.norm(other.residual(robot, v)) for v in (q, result.q))
    assert after < 0.99 * before
    assert result.position_errors[0] > 0.0
    at = weighed.evaluate(result.q)
    assert at.cost == pytest.approx(result.cost)
    reference = ik.solve(weighed, q, solver='trust_region')
    assert result.cost == pytest.approx(reference.cost, rel=1e-3)


def levels_problem(rng):
    """A chain of ten angles with a goal that it reaches, and tasks a, b and c in two levels."""
    robot = ik.robot.linkage(5, 'two_angle', lengths=0.3, limits=(-2.5, 2.5))
    q = rng.uniform(-1.5, 1.5, robot.n)
    goal = ik.PositionTask('tip', robot.forward_kinematics(q, 'tip')[:3, 3])
    weights = np.zeros(robot.n)
    weights[rng.integers(robot.n)] = 1.0
    joint = ik.PostureTask(rng.uniform(-1.0, 1.0, robot.n), weights=weights)
    height = ik.PositionTask('rod_3', [0, 0, rng.uniform(-0.3, 0.8)], weights=[0, 0, 1])
    rest = ik.PostureTask(rng.uniform(-1.0, 1.0, robot.n))
    return robot, q, goal, [joint, height], rest


def projected_slope(problem, above, below, q):
    """The slope of |residual of below| at q along which the goals and the tasks above stay.

    Only over joints inside their limits. None next to a singularity of the stacked Jacobian, where
    that space turns quickly.
    """
    robot, v = problem.robot, problem.variables
    rows = [task.jacobian(robot, q)[:, v] for task in above]
    stack = np.vstack([problem.evaluate(q).jacobian, *rows])
    stack = stack[np.any(stack != 0.0, axis=1)]
    free = (q[v] > problem.limits.lower + 1e-6) & (q[v] < problem.limits.upper - 1e-6)
    if np.linalg.svd(stack[:, free], compute_uv=False)[-1] < 1e-2:
        return None
    residual = below.residual(robot, q)
    slope = (below.jacobian(robot, q)[:, v].T @ residual)[free] / np.linalg.norm(residual)
    return slope - stack[:, free].T @ np.linalg.lstsq(stack[:, free].T, slope, rcond=1e-9)[0]


def test_a_level_moves_no_level_before_it():
    """Redundant problems; c ends where the stacked null space has no slope left."""
    slopes = []
    for seed in range(draws(80)):
        robot, q, goal, above, below = levels_problem(np.random.default_rng(seed))
        first = ik.solve(ik.IkProblem(robot, [goal], secondary=above), q)
        both = ik.IkProblem(robot, [goal], secondary=[above, [below]])
        result = ik.solve(both, q)
        assert result.success, seed
        for task in above:
            moved = task.residual(robot, result.q) - task.residual(robot, first.q)
            assert np.abs(moved).max() < 1e-7, seed
        costs = [np.sum(below.residual(robot, at) ** 2) for at in (first.q, result.q)]
        assert costs[1] <= costs[0], seed
        left = projected_slope(both, above, below, result.q)
        if left is not None:
            slopes.append(np.linalg.norm(left))
    assert len(slopes) > 0.5 * draws(80)
    assert np.median(slopes) < 1e-4
    assert np.max(slopes) < 0.03


def test_levels_rank_three_tasks_as_their_order_says():
    """Three joints want two values each: each level has what those before it leave."""
    robot = ik.robot.linkage(3, lengths=[0.5, 0.4, 0.3])
    goal = ik.PositionTask('tip', [0.8, 0.2, 0.0])  # leaves one freedom
    wants = [ik.PostureTask([rest, 0, 0], weights=[1, 0, 0]) for rest in (0.3, -0.2)]
    start = [0.4, -0.5, 0.3]
    one, two = (
        ik.solve(ik.IkProblem(robot, [goal], secondary=[[first], [second]]), start)
        for first, second in (wants, wants[::-1])
    )
    assert one.q[0] == pytest.approx(0.3, abs=1e-6)
    assert two.q[0] == pytest.approx(-0.2, abs=1e-6)
    alike = ik.solve(ik.IkProblem(robot, [goal], secondary=wants), start)
    assert alike.q[0] == pytest.approx(0.05, abs=1e-5)


@pytest.mark.parametrize('solver', ['sqp', 'augmented_lagrangian', 'pseudoinverse'])
def test_other_solvers_keep_levels(solver):
    robot, q, goal, above, below = levels_problem(np.random.default_rng(7))
    problem = ik.IkProblem(robot, [goal], secondary=[above[:1], [above[1]], [below]])
    result = ik.solve(problem, q, solver=solver)
    assert result.success
    alone = ik.solve(ik.IkProblem(robot, [goal], secondary=above[:1]), q, solver=solver)
    if solver != 'pseudoinverse':  # whose way to the goals all levels shape
        moved = above[0].residual(robot, result.q) - above[0].residual(robot, alone.q)
        assert np.abs(moved).max() < 1e-6


def test_a_level_keeps_its_compromise():
    """If a level can't reach its minimum, its residual is not 0, and the next level keeps it."""
    robot, q, goal, _, below = levels_problem(np.random.default_rng(3))
    far = ik.PositionTask('rod_3', [0, 0, 5.0], weights=[0, 0, 1])
    alone = ik.solve(ik.IkProblem(robot, [goal], secondary=[far]), q)
    both = ik.solve(ik.IkProblem(robot, [goal], secondary=[[far], [below]]), q)
    heights = [far.residual(robot, result.q).item() for result in (alone, both)]
    assert abs(heights[0]) > 1.0
    assert heights[1] == pytest.approx(heights[0], abs=1e-7)


def test_tasks_beside_lists_of_tasks_are_refused():
    robot = robots.shipped('panda')
    goal, rest = ik.PositionTask('panda_hand', [0.5, 0, 0.5]), ik.PostureTask()
    with pytest.raises(ik.InvalidOption, match='tasks beside lists of tasks'):
        ik.IkProblem(robot, [goal], secondary=[rest, [rest]])


def test_a_goal_of_the_second_level_gives_way():
    """Two arms, one torso: the second hand asks for what only the first's torso could give."""
    robot, rng = robots.shipped('dual_arm'), np.random.default_rng(5)
    left, right = robot.tips()[:2]
    q = rng.uniform(robot.lower, robot.upper)
    first = ik.PoseTask(left, transform=robot.forward_kinematics(q, left))
    far = ik.PositionTask(right, [9.0, 0.0, 0.5])
    result = ik.solve(ik.IkProblem(robot, [first], secondary=[far]), q)
    assert result.success  # the first level is not compromised
    level = ik.solve(ik.IkProblem(robot, [first, far]), q)
    assert not level.success  # on one level it is
    reach = [np.linalg.norm(far.residual(robot, v)) for v in (q, result.q)]
    assert reach[1] < reach[0] - 0.1


def test_an_unreachable_goal_stays_as_near_as_it_can():
    robot = robots.shipped('panda')
    goal = ik.PositionTask('panda_hand', [2.0, 0.5, 0.5])
    plain = ik.solve(ik.IkProblem(robot, [goal]))
    both = ik.solve(ik.IkProblem(robot, [goal], secondary=[ik.PostureTask()]))
    assert plain.status is both.status is IkStatus.CLOSEST
    assert both.cost <= plain.cost * (1 + 1e-6)


def test_a_secondary_task_is_descended_in_pieces_too():
    problem, q = pose_problem('panda', [ik.PostureTask()])
    whole = ik.make_solver().solve(problem, q)
    search = ik.make_solver().begin(problem, q)
    pieces = 0
    while not search.run(Budget(iterations=1)):
        pieces += 1
    np.testing.assert_array_equal(search.result().q, whole.q)
    assert pieces > 2


def test_every_evaluation_of_a_descent_counts():
    problem, q = pose_problem('panda', [ik.PostureTask()])
    search = ik.make_solver().begin(problem, q)
    assert search.run()
    goals, [descent] = search.primary.result(), search.descents
    assert search.result().evaluations == goals.evaluations + descent.evaluations
    # one where it begins; in each iteration one of a trial at least, and one where that ended
    assert descent.evaluations >= 1 + 2 * descent.iterations


def test_moved_joints_stay_inside_their_limits():
    rest = robots.shipped('panda').upper + 1.0  # pulls every joint over its limit
    problem, q = pose_problem('panda', [ik.PostureTask(rest)])
    result = ik.solve(problem, q)
    assert result.success
    assert not problem.limits.violation(result.q[problem.variables]).any()


@pytest.mark.parametrize('n', [1, 2, 5, 9])
def test_negative_curvature_is_found_where_there_is_some(n):
    rng = np.random.default_rng(n)
    for lowest in (-2.0, -1e-3, 1e-3, 1.0):
        values = np.concatenate([[lowest], rng.uniform(0.5, 2.0, n - 1)])
        turn = np.linalg.qr(rng.normal(size=(n, n)))[0]
        a, v = turn @ np.diag(values) @ turn.T, np.zeros(n)
        found = negative_curvature(a.copy(), v, n)
        assert found == (lowest < 0.0)
        if found:
            assert v @ a @ v < 0.0
