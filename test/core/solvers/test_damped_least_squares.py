"""Damped least squares: its step, its clamps, its damping."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import Budget, IkProblem, InvalidOption, PoseTask, PositionTask, make_solver
from ik_core.solvers.jacobian_method import clamp_magnitudes, clamp_max_abs

SOLVER = 'damped_least_squares'
RNG = np.random.default_rng(60)
WIDE = {'max_error': 1e6, 'max_step': 1e6}


def planar(*lengths):
    """Hinges about z, with links of these lengths; stretched along x at q = 0."""
    z, joints, parent, origin = np.array([0.0, 0.0, 1.0]), [], 'base', np.eye(4)
    for i, length in enumerate(lengths):
        joints.append(ik.Joint(f'j{i}', 'continuous', parent, f'l{i}', origin, z))
        parent, origin = f'l{i}', robots.transform(translation=[length, 0.0, 0.0])
    joints.append(ik.Joint('end', 'fixed', parent, 'tip', origin))
    return ik.Robot.from_joints('planar', ['base', *(j.child for j in joints)], joints)


def one_step(problem, q0, **options):
    result = make_solver(SOLVER, **options).solve(problem, q0, Budget(iterations=1))
    assert result.iterations == 1
    return result.q


def step_from(problem, q, **options):
    """The step itself, whether it makes things better or not."""
    solver = make_solver(SOLVER, **options)
    _, x = problem.start(q)
    return solver.step(problem, solver.start(problem, problem.at(x))).at.x - x


@pytest.mark.parametrize('damping', [0.01, 0.3])
def test_the_step_is_buss_equation_11(damping):
    robot = robots.shipped('buss_y')
    goals = [PositionTask(link, [0.4, 0.7, 0.1], weights=(1, 2, 3)) for link in robot.tips()]
    problem = IkProblem(robot, goals)
    q = RNG.uniform(-1, 1, robot.n)
    at = problem.evaluate(q)
    J, e = at.jacobian, -at.residual
    expected = J.T @ np.linalg.inv(J @ J.T + damping**2 * np.eye(len(e))) @ e
    step = step_from(problem, q, damping=damping, adaptive='fixed', **WIDE)
    np.testing.assert_allclose(step, expected, atol=1e-10)


def test_the_step_goes_towards_the_goal():
    robot = planar(1.0, 1.0)
    problem = IkProblem(robot, [PositionTask('tip', [0.5, 1.0, 0.0])])
    q0 = np.array([0.3, 0.9])
    q = one_step(problem, q0)
    assert problem.evaluate(q).cost < problem.evaluate(q0).cost


def test_each_goals_error_is_clamped_by_itself():
    error = np.array([3.0, 0.0, 4.0, 0.1, 0.2, 0.0, -30.0, 40.0])
    goals = [slice(0, 3), slice(3, 6), slice(6, 8)]
    kept = error.copy()
    clamped = clamp_magnitudes(error, goals, 0.5)
    np.testing.assert_allclose(clamped, [0.3, 0, 0.4, 0.1, 0.2, 0.0, -0.3, 0.4])
    np.testing.assert_array_equal(error, kept)
    for length in (5.0, 0.01):
        for rows in goals:
            part = clamp_magnitudes(error, goals, length)[rows]
            assert np.linalg.norm(part) <= length * (1 + 1e-15)
            cosine = part @ error[rows] / np.linalg.norm(part) / np.linalg.norm(error[rows])
            assert cosine == pytest.approx(1.0)
    np.testing.assert_array_equal(clamp_magnitudes(error, goals, np.inf), error)
    assert clamp_magnitudes(np.zeros(3), [slice(0, 3)], 0.5).tolist() == [0.0] * 3


def test_a_step_is_clamped_as_a_whole():
    step = np.array([0.5, -2.0, 1.0])
    np.testing.assert_allclose(clamp_max_abs(step, 0.5), [0.125, -0.5, 0.25])
    np.testing.assert_array_equal(clamp_max_abs(step, 2.0), step)
    np.testing.assert_array_equal(clamp_max_abs(np.zeros(2), 0.1), np.zeros(2))
    assert step.tolist() == [0.5, -2.0, 1.0]


def test_the_clamps_are_used_in_the_step():
    robot = planar(1.0, 1.0, 1.0)
    far = IkProblem(robot, [PositionTask('tip', [0.0, 50.0, 0.0])])
    q = np.array([0.2, 0.4, 0.6])
    at = far.evaluate(q)
    pulled = -at.residual * 0.3 / np.linalg.norm(at.residual)
    expected = np.linalg.pinv(at.jacobian, rcond=1e-10) @ pulled
    step = step_from(far, q, damping=0.0, max_error=0.3, max_step=1e6)
    np.testing.assert_allclose(step, expected, atol=1e-9)
    short = step_from(far, q, damping=0.0, max_error=0.3, max_step=0.01)
    np.testing.assert_allclose(short, expected * 0.01 / np.abs(expected).max(), atol=1e-9)


def test_the_step_is_taken_back_into_the_limits():
    robot = robots.shipped('panda')
    goal = PoseTask('panda_hand_tcp', [5.0, 5.0, 5.0], [0, 0, 0, 1])
    problem = IkProblem(robot, [goal])
    q = robot.middle_configuration
    for _ in range(30):
        q = q + np.append(step_from(problem, q), 0.0)
        assert robots.inside(robot, q, problem.variables)


# --- damping ---------------------------------------------------------------------------------


def damping_at(bend, **options):
    """The damping of a stretched (bend 0) or bent arm of two links in the plane."""
    problem = IkProblem(planar(1.0, 1.0), [PositionTask('tip', [1, 1, 0], weights=(1, 1, 0))])
    return make_solver(SOLVER, **options).damping(problem.evaluate([0.3, bend]).jacobian)


@pytest.mark.parametrize('adaptive', ['singular_value', 'manipulability'])
def test_adaptive_damping_is_zero_far_from_singularities_and_largest_at_one(adaptive):
    options = {'adaptive': adaptive, 'damping': 0.2, 'threshold': 0.1}
    assert damping_at(1.5, **options) == 0.0
    assert damping_at(0.5, **options) == 0.0
    assert damping_at(0.0, **options) == pytest.approx(0.2)
    assert damping_at(np.pi, **options) == pytest.approx(0.2)
    bends = np.linspace(0.0, 0.5, 60)
    dampings = [damping_at(bend, **options) for bend in bends]
    assert dampings == sorted(dampings, reverse=True)
    steps = -np.diff(dampings)
    assert steps.max() < 0.1  # it fades out, without a jump
    assert 0.0 < dampings[3] < 0.2


def test_the_singular_value_rule_in_numbers():
    options = {'adaptive': 'singular_value', 'damping': 0.2, 'threshold': 0.1}
    for smallest in (0.0, 0.02, 0.06, 0.0999, 0.1, 0.5):
        jacobian = np.diag([1.0, smallest])
        square = max(0.0, (1 - (smallest / 0.1) ** 2) * 0.2**2)
        damping = make_solver(SOLVER, **options).damping(jacobian)
        assert damping**2 == pytest.approx(square, abs=1e-15)


def test_the_manipulability_rule_in_numbers():
    options = {'adaptive': 'manipulability', 'damping': 0.2, 'threshold': 0.1}
    for other in (0.0, 0.01, 0.03, 0.05, 0.3):
        jacobian = np.array([[2.0, 0.0, 0.0], [0.0, 0.0, other]])
        w = np.sqrt(np.linalg.det(jacobian @ jacobian.T))
        expected = 0.2 * (1 - w / 0.1) ** 2 if w < 0.1 else 0.0
        damping = make_solver(SOLVER, **options).damping(jacobian)
        assert damping == pytest.approx(expected, abs=1e-12)


def test_fixed_damping_is_fixed():
    for bend in (0.0, 0.2, 1.5):
        assert damping_at(bend, adaptive='fixed', damping=0.07, threshold=1e6) == 0.07


@pytest.mark.parametrize('adaptive', ['fixed', 'singular_value', 'manipulability'])
@pytest.mark.parametrize('name', ['panda', 'iiwa14', 'buss_y'])
def test_near_goals_are_reached_with_every_damping(name, adaptive):
    robot, rng = robots.shipped(name), np.random.default_rng(61)
    reached = 0
    for _ in range(12):
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [
            PositionTask(link, robot.forward_kinematics(q, link)[:3, 3]) for link in robot.tips()
        ]
        q0 = q + rng.uniform(-0.15, 0.15, robot.n)
        solver = make_solver(SOLVER, adaptive=adaptive, threshold=0.01)
        reached += solver.solve(IkProblem(robot, goals), q0).success
    assert reached >= 11


def test_without_damping_a_stretched_arm_does_not_blow_up():
    problem = IkProblem(planar(1.0, 1.0), [PositionTask('tip', [1.5, 0.5, 0.0])])
    step = step_from(problem, np.zeros(2), damping=0.0, **WIDE)
    assert np.abs(step).max() < 1.0
    assert step[1] == pytest.approx(0.5 * step[0], abs=1e-9)  # the shortest step that moves y


def test_far_goals_do_not_make_it_swing():
    """Out of reach, with damping and clamps, it settles on the closest point (Buss 7)."""
    robot = planar(1.0, 1.0, 1.0)
    problem = IkProblem(robot, [PositionTask('tip', [4.0, 3.0, 0.0])])
    solver = make_solver(SOLVER, damping=0.5, adaptive='fixed')
    result = solver.solve(problem, [0.5, 0.7, -0.4])
    assert result.position_errors == pytest.approx([2.0], abs=1e-6)
    assert result.status is ik.IkStatus.CLOSEST


@pytest.mark.parametrize(
    'options',
    [{'damping': -0.1}, {'adaptive': 'sometimes'}, {'threshold': 0.0}, {'max_error': 0.0},
     {'max_step': -1.0}],
)  # fmt: skip
def test_bad_options_are_refused(options):
    with pytest.raises(InvalidOption, match=next(iter(options))):
        make_solver(SOLVER, **options)
