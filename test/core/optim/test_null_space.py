"""Two levels of tasks: the second moves only where the first does not feel it."""

import numpy as np
import pytest
from scipy.optimize import minimize
from support import robots

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
    goals, descent = search.primary.result(), search.descent
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
