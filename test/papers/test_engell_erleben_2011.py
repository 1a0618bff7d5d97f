# SPDX-License-Identifier: Apache-2.0
"""The equations of [EngellErleben2011], computed from its text, beside what the package does.

Each test makes the right side of an equation with numpy and the kinematics of
`support.paper_chains`, and compares to 1e-9 of steps of about one radian. Where a comparison is
coarser, it says so.
"""

from itertools import pairwise

import numpy as np
import pytest
from support.paper_chains import (
    Chain,
    arm,
    cross_matrix,
    fork,
    points_from,
    rotation,
    slides,
    step_from,
    transform,
    unit,
)

import ik_core as ik
from ik_core.robot import Joint, Robot

EXACT = 1e-9
PURE = {'max_error': np.inf, 'max_step': np.inf}
SEEDS = range(4)
# Of the line search: the paper gives neither; these are the package's defaults
ALPHA, BETA = 1e-4, 0.5


def reaching(seed, kinds='rrrrrr', stretch=0.3):
    """An arm, a configuration, and a goal (1, 3) some way from its end effector."""
    rng = np.random.default_rng(seed)
    chain = arm(rng, kinds)
    q = rng.uniform(-1, 1, chain.n)
    return chain, q, chain.end_effectors(q) + rng.uniform(-stretch, stretch, (1, 3))


def branched(seed, stretch=0.3):
    """A tree, a configuration, goals (2, 3), and weights (2, 3, 3) of its two end effectors."""
    rng = np.random.default_rng(seed)
    chain = fork(rng)
    q = rng.uniform(-1, 1, chain.n)
    goals = chain.end_effectors(q) + rng.uniform(-stretch, stretch, (2, 3))
    roots = rng.normal(size=(2, 3, 3))
    return chain, q, goals, [r @ r.T + 0.1 * np.eye(3) for r in roots]


def left(chain, q, goals):
    """g - F(theta)."""
    return (np.asarray(goals) - chain.end_effectors(q)).ravel()


def whole(weights):
    """W, with the weights (k, 3, 3) on its diagonal."""
    result = np.zeros((3 * len(weights), 3 * len(weights)))
    for k, w in enumerate(weights):
        result[3 * k : 3 * k + 3, 3 * k : 3 * k + 3] = w
    return result


def objective(chain, q, goals, weights):
    """Eq. 17."""
    return left(chain, q, goals) @ whole(weights) @ left(chain, q, goals)


def gradient(chain, q, goals, weights):
    """Eq. 26."""
    return -2 * chain.jacobian(q).T @ whole(weights) @ left(chain, q, goals)


def line_search(chain, q, goals, weights, alpha=ALPHA, beta=BETA):
    """The first point of Eq. 40 for which Eq. 39 holds, with tau = 1, beta, beta^2...; its tau."""
    slope, tau = gradient(chain, q, goals, weights), 1.0
    start = objective(chain, q, goals, weights)
    while True:
        point = np.maximum(np.minimum(q - tau * slope, chain.upper), chain.lower)
        if objective(chain, point, goals, weights) < start + alpha * slope @ (point - q):
            return point, tau
        tau *= beta


def scale(update):
    """The tolerance for a step: rounding grows with it."""
    return EXACT * (1 + np.abs(update).max())


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_1_and_a_2_forward_kinematics_is_a_product_of_transforms(seed):
    """To 1e-12: the tool's position, and two of its axes, whose fourth coordinate is 0."""
    chain, q, _ = reaching(seed, 'rprrpr')
    chain.tips[0] = (chain.n - 1, np.zeros(3))
    product = np.eye(4)
    for piece, value in zip(chain.pieces, q, strict=True):
        motion = transform(None, value * piece.axis)
        if piece.kind == 'revolute':
            motion = transform(rotation(piece.axis, value))
        product = product @ piece.origin @ motion
    found = chain.robot.forward_kinematics(q, 'tip_0')
    assert found == pytest.approx(product, abs=1e-12)
    assert found @ [0, 0, 0, 1] == pytest.approx(product[:, 3], abs=1e-12)
    assert found @ [1, 0, 0, 0] == pytest.approx(product[:, 0], abs=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_2_joints_are_found_for_a_position_and_an_orientation(seed):
    """To the problem's tolerances, 1e-5 m and 1e-4 rad."""
    chain, q, _ = reaching(seed, 'rrrrrrr')
    robot = chain.robot
    goal = robot.forward_kinematics(q + 0.2, 'tip_0')
    result = ik.solve(ik.IkProblem(robot, [ik.PoseTask('tip_0', transform=goal)]), q)
    assert result.success
    assert chain.end_effectors(result.q)[0] == pytest.approx(goal[:3, 3], abs=2e-5)
    turn = chain.link_frames(result.q)[-1][:3, :3]
    assert turn == pytest.approx(goal[:3, :3], abs=2e-4)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_to_8_j_is_the_derivative_and_what_is_left_of_second_order(seed):
    """J to 1e-8, by central differences."""
    chain, q, _ = reaching(seed, 'rprrr')
    jacobian = chain.robot.jacobian(q, 'tip_0')[:3]
    assert jacobian == pytest.approx(chain.differences(q), abs=1e-8)
    change = np.random.default_rng(seed).normal(size=chain.n)

    def remainder(size):
        linear = chain.end_effectors(q)[0] + jacobian @ (size * change)
        return np.linalg.norm(chain.end_effectors(q + size * change)[0] - linear)

    assert remainder(1e-3) / remainder(5e-4) == pytest.approx(4, rel=0.03)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_9_newtons_step_is_repeated(seed):
    """Three joints and three rows: theta + J^-1 (g - y), three times."""
    chain, q, _ = reaching(seed, 'rrr')
    goal = chain.end_effectors(q + 0.05)
    points = points_from('pseudoinverse', chain.problem(goal), q, 3, **PURE)
    for before, after in pairwise(points):
        update = np.linalg.solve(chain.jacobian(before), left(chain, before, goal))
        # A search ends where the goal is reached.
        if np.linalg.norm(left(chain, before, goal)) > 1e-5:
            assert after - before == pytest.approx(update, abs=scale(update))
    errors = [np.linalg.norm(left(chain, q, goal)) for q in points]
    assert errors[2] < 0.01 * errors[0]


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_10_to_14_gauss_newton_where_j_has_more_rows_than_columns(seed):
    """(J'J)^-1 J'(g - y), the least of Eq. 12: its gradient, Eq. 13, is 0."""
    rng = np.random.default_rng(seed)
    chain = fork(rng, 'r', ('rr', 'r'))
    q = rng.uniform(-1, 1, 4)
    goals = chain.end_effectors(q) + rng.uniform(-0.1, 0.1, (2, 3))
    update = step_from('pseudoinverse', chain.problem(goals), q, rank_tolerance=1e-6, **PURE)
    jacobian, r = chain.jacobian(q), left(chain, q, goals)
    assert jacobian.shape == (6, 4)
    expected = np.linalg.inv(jacobian.T @ jacobian) @ jacobian.T @ r
    assert update == pytest.approx(expected, abs=1e-7 * (1 + np.abs(update).max()))
    assert jacobian.T @ (jacobian @ update - r) == pytest.approx(0, abs=scale(update))


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_minimum_norm_by_singular_values(seed):
    chain, q, goal = reaching(seed)
    update = step_from('pseudoinverse', chain.problem(goal), q, **PURE)
    u, s, v = np.linalg.svd(chain.jacobian(q), full_matrices=False)
    assert update == pytest.approx(v.T @ (u.T @ left(chain, q, goal) / s), abs=scale(update))
    assert np.linalg.svd(chain.jacobian(q))[2][3:] @ update == pytest.approx(0, abs=scale(update))


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_projection_at_the_end_leaves_the_way_alone(seed):
    """The method runs as without limits; where it stands is projected, as its answer is."""
    chain, q, goal = reaching(seed)
    chain = chain.limited(q - 0.02, q + 0.02)
    solver = ik.make_solver('pseudoinverse', preset='engell_erleben')
    search = solver.begin(chain.problem(goal), q)
    free, inside = q, [q]
    for _ in range(3):
        search.run(ik.Budget(iterations=1))
        free = free + np.linalg.pinv(chain.jacobian(free)) @ left(chain, free, goal)
        inside.append(np.clip(free, chain.lower, chain.upper))
        assert search.x == pytest.approx(inside[-1], abs=1e-7 * (1 + np.abs(free).max()))
    assert np.abs(free - q).max() > 0.05
    distances = [np.linalg.norm(left(chain, at, goal)) for at in inside]
    best = inside[int(np.argmin(distances))]
    assert search.result().q == pytest.approx(best, abs=1e-7 * (1 + np.abs(free).max()))


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_15_damped_least_squares(seed):
    """(J'J + lambda^2 I)^-1 J'(g - y).

    That is the least of |J dq - e|^2 + lambda^2 |dq|^2. The text has a half before the first term
    alone, whose least has 2 lambda^2 in the place of lambda^2: a misprint of the text, since the
    equation is that of [Buss2009].
    """
    chain, q, goal = reaching(seed)
    damping = 0.2
    update = step_from(
        'damped_least_squares', chain.problem(goal), q, adaptive='fixed', damping=damping, **PURE
    )
    jacobian, e = chain.jacobian(q), left(chain, q, goal)
    square = jacobian.T @ jacobian + damping**2 * np.eye(chain.n)
    assert update == pytest.approx(np.linalg.solve(square, jacobian.T @ e), abs=EXACT)

    def slope(half):
        return half * 2 * jacobian.T @ (jacobian @ update - e) + 2 * damping**2 * update

    assert slope(1.0) == pytest.approx(0, abs=EXACT)
    assert np.abs(slope(0.5)).max() > 1e-3


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_transpose_in_the_place_of_the_inverse(seed):
    chain, q, goals, _ = branched(seed)
    update = step_from(
        'jacobian_transpose',
        chain.problem(goals),
        q,
        step_rule='fixed',
        step_length=0.7,
        **PURE,
    )
    assert update == pytest.approx(0.7 * chain.jacobian(q).T @ left(chain, q, goals), abs=EXACT)


@pytest.mark.parametrize('order', ['tip_to_base', 'base_to_tip'])
def test_section_3_matrix_splitting_is_coordinate_descent(order):
    """Gauss-Seidel's L + D, of J'J, on slides at an angle, for which the model is exact."""
    rng = np.random.default_rng(1)
    axes = np.array([unit(rng.normal(size=3)) for _ in range(4)])
    goal = rng.normal(size=3)
    problem = slides(*axes).problem([goal])
    points = points_from('cyclic_coordinate_descent', problem, np.zeros(4), 3, order=order)
    square, right = axes @ axes.T, axes @ goal
    turn = slice(None, None, -1 if order == 'tip_to_base' else 1)
    lower = np.tril(square[turn, turn])
    for before, after in pairwise(points):
        change = np.linalg.solve(lower, (right - square @ before)[turn])
        assert (after - before)[turn] == pytest.approx(change, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_16_and_17_one_objective_for_all_end_effectors(seed):
    """(g - F)' W (g - F), with a full matrix for each end effector: to 1e-12."""
    chain, q, goals, weights = branched(seed)
    found = chain.problem(goals, weights).evaluate(q)
    assert found.cost == pytest.approx(objective(chain, q, goals, weights), rel=1e-12)
    lengths = np.linalg.norm(goals - chain.end_effectors(q), axis=1)
    assert found.position_errors == pytest.approx(lengths, abs=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_17_weights_between_end_effectors(seed):
    """(g - F)' W (g - F) with a W that is full, cross terms included, and its minimum."""
    chain, q, goals, _ = branched(seed)
    rng, size = np.random.default_rng(seed), goals.size
    factor = rng.normal(size=(size, size))
    weights = factor @ factor.T
    tasks = chain.problem(goals).goals
    problem = ik.IkProblem(chain.robot, [ik.tasks.CoupledTask(tasks, weights)])
    e = (goals - chain.end_effectors(q)).ravel()
    assert problem.evaluate(q).cost == pytest.approx(e @ weights @ e, rel=1e-12)
    blocks = sum(
        e[i : i + 3] @ weights[i : i + 3, i : i + 3] @ e[i : i + 3] for i in range(0, size, 3)
    )
    assert abs(e @ weights @ e - blocks) > 1e-3
    far = [ik.PositionTask(task.link, 3.0 * task.target[9:]) for task in tasks]  # out of reach
    result = ik.solve(
        ik.IkProblem(chain.robot, [ik.tasks.CoupledTask(far, weights)]), q, solver='bfgs'
    )
    assert result.status is ik.IkStatus.CLOSEST
    assert 'the coupled tasks miss by' in result.note
    within = chain.end_effectors(q + 0.2)
    near = [ik.PositionTask(task.link, at) for task, at in zip(tasks, within, strict=True)]
    found = ik.solve(ik.IkProblem(chain.robot, [ik.tasks.CoupledTask(near, weights)]), q)
    assert found.status is ik.IkStatus.REACHED, found.message
    assert np.linalg.norm(within - chain.end_effectors(found.q)) < 1e-5
    left = (3.0 * goals - chain.end_effectors(result.q)).ravel()
    slope = chain.jacobian(result.q).T @ weights @ left
    assert np.abs(slope).max() < 1e-4 * np.abs(chain.jacobian(q).T @ weights @ left).max()


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_18_and_19_least_inside_the_limits(seed):
    """Some joints end at a limit; the gradient is 0 for the others, to 1e-6 of its start."""
    chain, q, goals, weights = branched(seed, stretch=1.0)
    chain = chain.limited(q - 0.3, q + 0.4)
    result = ik.solve(chain.problem(goals, weights), q)
    x = result.q
    assert (x >= chain.lower).all()
    assert (x <= chain.upper).all()
    at_lower, at_upper = x == chain.lower, x == chain.upper
    assert (at_lower | at_upper).any()
    slope = gradient(chain, x, goals, weights)
    small = 1e-6 * np.abs(gradient(chain, q, goals, weights)).max()
    assert np.abs(slope[~at_lower & ~at_upper]).max(initial=0) < small
    assert (slope[at_lower] > -small).all()
    assert (slope[at_upper] < small).all()
    near = x + np.random.default_rng(0).normal(0, 0.03, (200, chain.n))
    values = [
        objective(chain, np.clip(other, chain.lower, chain.upper), goals, weights)
        for other in near
    ]
    assert min(values) >= result.cost * (1 - 1e-9)


def test_section_4_projected_quasi_newton_direction_need_not_descend():
    """Two slides at a small angle, the first at its lower limit: Newton's clipped step rises.

    The objective is quadratic, so that direction is the exact one, and descends as long as it is
    not clipped. `bfgs` reduces its model to the second slide: the step of -g / (B + eps) descends.
    """
    axes = np.array([[1.0, 0, 0], [np.cos(0.3), np.sin(0.3), 0]])
    goal, weights = np.array([[-1.0, 1.54, 0.0]]), [np.eye(3)]
    chain = slides(*axes).limited([0.0, -5.0], [5.0, 5.0])
    q = np.zeros(2)
    slope = gradient(chain, q, goal, weights)
    newton = -np.linalg.solve(2 * axes @ axes.T, slope)
    before = objective(chain, q, goal, weights)
    for tau in (1e-3, 1e-2, 1e-1, 1.0):
        clipped = np.clip(q + tau * newton, chain.lower, chain.upper)
        assert objective(chain, q + tau * newton, goal, weights) < before
        assert objective(chain, clipped, goal, weights) > before
    after = points_from('bfgs', chain.problem(goal), q, 1, epsilon=1e-3)[1]
    assert objective(chain, after, goal, weights) < before
    assert after == pytest.approx([0, -slope[1] / (2 * (1 + 1e-3))], abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_21_to_26_gradient_is_minus_2_j_w_times_what_is_left(seed):
    """And it is the derivative of Eq. 17, by central differences, to 1e-7."""
    chain, q, goals, weights = branched(seed)
    found = chain.problem(goals, weights).evaluate(q)
    expected = gradient(chain, q, goals, weights)
    assert 2 * found.jacobian.T @ found.residual == pytest.approx(expected, abs=1e-11)
    h = 1e-6
    slopes = [
        (objective(chain, q + h * e, goals, weights) - objective(chain, q - h * e, goals, weights))
        / (2 * h)
        for e in np.eye(chain.n)
    ]
    assert expected == pytest.approx(slopes, abs=1e-7)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_27_fixed_step_against_the_gradient(seed):
    """tau of the paper is half the option's step_length: that is against half the gradient."""
    chain, q, goals, weights = branched(seed)
    tau = 0.15
    options = {**PURE, 'step_rule': 'fixed', 'step_length': 2 * tau}
    points = points_from('jacobian_transpose', chain.problem(goals, weights), q, 2, **options)
    for before, after in pairwise(points):
        update = -tau * gradient(chain, before, goals, weights)
        assert after - before == pytest.approx(update, abs=scale(update))


@pytest.mark.parametrize('seed', SEEDS)
def test_section_6_step_of_0_005_in_the_papers_units(seed):
    """0.05 units are 1 cm (6.2), so the same figure is 5 times as long in the paper's numbers."""
    rng = np.random.default_rng(seed)
    chain = fork(rng, 'rr', ('rrr', 'rrr'))
    q = rng.uniform(-1, 1, chain.n)
    goals = chain.end_effectors(q) + rng.uniform(-0.1, 0.1, (2, 3))
    theirs = chain.scaled(0.05 / 0.01)
    weights = [np.eye(3)] * 2
    update = -0.005 * gradient(theirs, q, 5 * goals, weights)
    solver = ik.make_solver('jacobian_transpose', preset='engell_erleben')
    search = solver.begin(chain.problem(goals), q)
    search.run(ik.Budget(iterations=1))
    assert search.x - q == pytest.approx(update, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_5_2_rate_control(seed):
    """|dtheta| is clamped to a maximum: a longer step is scaled, a shorter one is as it was."""
    chain, q, goals, _ = branched(seed)
    free = step_from('jacobian_transpose', chain.problem(goals), q, step_rule='alpha', **PURE)
    for share in (0.3, 0.999, 1.001):
        most = share * np.linalg.norm(free)
        clamped = step_from(
            'jacobian_transpose', chain.problem(goals), q, step_rule='alpha', **PURE,
            max_step_norm=most,
        )  # fmt: skip
        assert clamped == pytest.approx(min(share, 1.0) * free, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_28_busss_step_length(seed):
    """tau = e'z / z'z, z = JJ'e."""
    chain, q, goals, _ = branched(seed)
    update = step_from('jacobian_transpose', chain.problem(goals), q, step_rule='alpha', **PURE)
    jacobian, e = chain.jacobian(q), left(chain, q, goals)
    z = jacobian @ jacobian.T @ e
    assert update == pytest.approx((e @ z) / (z @ z) * jacobian.T @ e, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
@pytest.mark.parametrize('tolerance', [0.3, 0.01, 0.0005])
def test_eq_29_step_length_by_what_the_linear_model_leaves(seed, tolerance):
    """The largest tau = 1, 1/2, 1/4... for which |(I - J J+) tau e| is within the tolerance.

    Printed with the parentheses inside the norm misplaced, and without a rule for how tau gets
    there; the halving is that of [Dorta2014].
    """
    chain = arm(np.random.default_rng(seed), 'rr')
    q = np.random.default_rng(seed).uniform(-1, 1, 2)
    goal = chain.end_effectors(q) + 0.2 * np.ones(3)
    jacobian, e = chain.jacobian(q), left(chain, q, goal)
    missed = np.linalg.norm((np.eye(3) - jacobian @ np.linalg.pinv(jacobian)) @ e)
    tau = 1.0
    while tau * missed > tolerance:
        tau /= 2
    options = {'step_rule': 'halving', 'step_length': 0.6, 'halving_tolerance': tolerance}
    update = step_from('jacobian_transpose', chain.problem(goal), q, **PURE, **options)
    assert update == pytest.approx(0.6 * tau * jacobian.T @ e, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_5_clamped_displacement_is_a_smaller_step(seed):
    """By linearity: with one end effector the step has the same direction."""
    chain, q, goal = reaching(seed)
    e = left(chain, q, goal)
    largest = np.linalg.norm(e) / 3
    free = step_from('pseudoinverse', chain.problem(goal), q, **PURE)
    clamped = step_from(
        'pseudoinverse', chain.problem(goal), q, max_error=largest, max_step=np.inf
    )
    assert clamped == pytest.approx(free / 3, abs=scale(free))
    expected = np.linalg.pinv(chain.jacobian(q)) @ (e * largest / np.linalg.norm(e))
    assert clamped == pytest.approx(expected, abs=scale(free))


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_30_to_35_armijo_back_tracking_from_tau_1(seed):
    """Three line searches, without limits; weights so large that 1 is too long a step."""
    chain, q, goals, weights = branched(seed)
    weights = [5 * w for w in weights]
    solver = ik.make_solver('projected_gradient', preset='tau_one', alpha=ALPHA, beta=BETA)
    search = solver.begin(chain.problem(goals, weights), q)
    lengths = []
    for _ in range(3):
        before = search.x
        search.run(ik.Budget(iterations=1))
        expected, tau = line_search(chain, before, goals, weights)
        assert search.x == pytest.approx(expected, abs=EXACT)
        lengths.append(tau)
    assert min(lengths) < 1


@pytest.mark.parametrize(('alpha', 'beta'), [(0.4, 0.6), (0.1, 0.9)])
def test_eq_34_and_35_alpha_and_beta_are_those_of_the_condition(alpha, beta):
    """Large ones, for which the condition refuses steps that lower the cost."""
    chain, q, goals, weights = branched(2)
    slope, tau, refused = gradient(chain, q, goals, weights), 1.0, 0
    start = objective(chain, q, goals, weights)
    while True:
        value = objective(chain, q - tau * slope, goals, weights)
        if value < start - alpha * tau * slope @ slope:
            break
        refused += value < start
        tau *= beta
    assert refused
    solver = ik.make_solver('projected_gradient', preset='tau_one', alpha=alpha, beta=beta)
    search = solver.begin(chain.problem(goals, weights), q)
    search.run(ik.Budget(iterations=1))
    assert search.x == pytest.approx(q - tau * slope, abs=EXACT)


@pytest.mark.parametrize(('alpha', 'beta'), [(ALPHA, BETA), (0.45, 0.7)])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_36_to_40_projected_back_tracking(seed, alpha, beta):
    """Six line searches inside narrow limits: some joints are put on them."""
    chain, q, goals, weights = branched(seed)
    chain = chain.limited(q - 0.1, q + 0.2)
    solver = ik.make_solver('projected_gradient', preset='tau_one', alpha=alpha, beta=beta)
    search = solver.begin(chain.problem(goals, weights), q)
    held = 0
    for _ in range(6):
        before = search.x
        search.run(ik.Budget(iterations=1))
        expected, _ = line_search(chain, before, goals, weights, alpha, beta)
        assert search.x == pytest.approx(expected, abs=EXACT)
        held += ((search.x == chain.lower) | (search.x == chain.upper)).sum()
    assert held > 0


def test_eq_38_and_39_decrease_is_asked_for_of_the_projected_move():
    """Slides along x, to a limit close by, and along y: Eq. 35 would refuse the first step.

    It asks for what the step would bring without the limit, alpha 400 m^2; Eq. 39 for alpha 2.4.
    """
    chain = slides((1, 0, 0), (0, 1, 0)).limited([-1.0, -1.0], [0.1, 1.0])
    goal, weights, alpha = np.array([[10.0, 0.3, 0]]), [np.eye(3)], 0.5
    slope = gradient(chain, np.zeros(2), goal, weights)
    step = np.array([0.1, 0.6])
    fall = objective(chain, np.zeros(2), goal, weights) - objective(chain, step, goal, weights)
    assert -alpha * slope @ step < fall < alpha * slope @ slope
    solver = ik.make_solver('projected_gradient', preset='tau_one', alpha=alpha, beta=0.5)
    search = solver.begin(chain.problem(goal), np.zeros(2))
    search.run(ik.Budget(iterations=1))
    assert search.x == pytest.approx(step, abs=1e-12)
    assert line_search(chain, np.zeros(2), goal, weights, alpha, 0.5)[1] == 1.0


@pytest.mark.parametrize('seed', SEEDS)
def test_section_5_infeasible_start_has_a_feasible_successor(seed):
    """The package projects the start, and searches from there: every point is inside."""
    chain, q, goals, weights = branched(seed)
    chain = chain.limited(q + 0.05, q + 0.5)
    solver = ik.make_solver('projected_gradient', preset='tau_one', alpha=ALPHA, beta=BETA)
    search = solver.begin(chain.problem(goals, weights), q)
    search.run(ik.Budget(iterations=1))
    expected, _ = line_search(chain, q + 0.05, goals, weights)
    assert search.x == pytest.approx(expected, abs=EXACT)
    assert (search.x >= chain.lower).all()
    assert (search.x <= chain.upper).all()


def tool_rows(frame, tool):
    """y of A.2 in the base's frame: the tool's position, its x axis and its y axis, (9,)."""
    moved = frame @ tool
    return np.concatenate([moved[:3, 3], moved[:3, 0], moved[:3, 1]])


def tool_tasks(goal, tool):
    """The tasks whose residuals are y - g together."""
    return [
        ik.PositionTask('tip_0', goal[:3, 3], tool=tool),
        ik.TwoAxisTask('tip_0', rotation=goal[:3, :3], tool=tool),
    ]


def random_transform(rng):
    return transform(rotation(unit(rng.normal(size=3)), rng.uniform(0, 3)), rng.normal(size=3))


@pytest.mark.parametrize('at_the_link', [True, False], ids=['A.3', 'A.1'])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_a_1_and_a_3_tool_of_a_position_and_two_axes(seed, at_the_link):
    """y - g, nine rows; A.3 is the tool at the link's own frame."""
    rng = np.random.default_rng(seed)
    chain, q, _ = reaching(seed)
    chain.tips[0] = (chain.n - 1, np.zeros(3))
    tool = np.eye(4) if at_the_link else random_transform(rng)
    goal = random_transform(rng)
    residuals = [task.residual(chain.robot, q) for task in tool_tasks(goal, tool)]
    expected = tool_rows(chain.link_frames(q)[-1], tool) - tool_rows(goal, np.eye(4))
    assert np.concatenate(residuals) == pytest.approx(expected, abs=1e-12)


def tool_jacobian(chain, q, tool):
    """J of A.11 and A.15, (9, n)."""
    frames = chain.joint_frames(q)
    y = tool_rows(chain.link_frames(q)[-1], tool)
    columns = []
    for piece, frame in zip(chain.pieces, frames, strict=True):
        u, t = frame[:3, :3] @ piece.axis, frame[:3, 3]
        if piece.kind == 'prismatic':
            columns.append(np.concatenate([u, np.zeros(6)]))
        else:
            turns = [np.cross(u, y[:3] - t), np.cross(u, y[3:6]), np.cross(u, y[6:])]
            columns.append(np.concatenate(turns))
    return np.array(columns).T


def check_tool_columns(seed, kinds):
    """Compare the columns of A.11 or A.15, differences of A.2, and both tasks' Jacobians."""
    rng = np.random.default_rng(seed)
    chain, q, _ = reaching(seed, kinds)
    chain.tips[0] = (chain.n - 1, np.zeros(3))
    tool, goal = random_transform(rng), random_transform(rng)
    expected = tool_jacobian(chain, q, tool)
    found = [task.jacobian(chain.robot, q) for task in tool_tasks(goal, tool)]
    assert np.vstack(found) == pytest.approx(expected, abs=1e-11)
    h = 1e-6
    for j, e in enumerate(np.eye(chain.n)):
        ahead, behind = chain.link_frames(q + h * e)[-1], chain.link_frames(q - h * e)[-1]
        difference = (tool_rows(ahead, tool) - tool_rows(behind, tool)) / (2 * h)
        assert expected[:, j] == pytest.approx(difference, abs=1e-8)
    return chain, q


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_a_5_to_a_11_columns_of_a_revolute_joint(seed):
    chain, q = check_tool_columns(seed, 'rrrrr')
    at = chain.robot.jacobian(q, 'tip_0')
    assert at[:3] == pytest.approx(chain.jacobian(q), abs=1e-12)
    axes = [f[:3, :3] @ p.axis for f, p in zip(chain.joint_frames(q), chain.pieces, strict=True)]
    assert at[3:] == pytest.approx(np.array(axes).T, abs=1e-12)
    # A.6: the derivative of the joint's own rotation is U R.
    u, angle, h = chain.pieces[0].axis, q[0], 1e-6
    slope = (rotation(u, angle + h) - rotation(u, angle - h)) / (2 * h)
    assert cross_matrix(u) @ rotation(u, angle) == pytest.approx(slope, abs=1e-8)


def test_eq_a_8_as_printed_is_not_the_matrix_of_the_cross_product():
    """Printed with y and z in each other's places, in our copy: neither u x p nor p x u."""
    x, y, z = u = unit([0.3, -0.5, 0.7])
    printed = np.array([[0, y, -z], [-y, 0, x], [z, -x, 0]])
    right = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    p = np.array([1.0, 2.0, 3.0])
    assert right @ p == pytest.approx(np.cross(u, p))
    assert cross_matrix(u) == pytest.approx(right)
    assert np.abs(printed @ p - np.cross(u, p)).max() > 0.1
    assert np.abs(printed @ p + np.cross(u, p)).max() > 0.1
    # The package's column is that of A.11, with the cross product.
    chain = Chain([arm(np.random.default_rng(0), 'r').pieces[0]._replace(axis=u)], [(0, p)])
    turn = chain.pieces[0].origin[:3, :3]
    column = chain.robot.jacobian([0.0], 'tip_0')[:3, 0]
    assert column == pytest.approx(turn @ right @ p, abs=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_a_12_to_a_15_columns_of_a_prismatic_joint(seed):
    chain, q = check_tool_columns(seed, 'prprp')
    jacobian = chain.robot.jacobian(q, 'tip_0')
    for j in (0, 2, 4):
        assert jacobian[:3, j] == pytest.approx(
            chain.joint_frames(q)[j][:3, :3] @ chain.pieces[j].axis, abs=1e-12
        )
        assert jacobian[3:, j] == pytest.approx(0, abs=1e-12)


def turn_z(angle):
    return rotation(np.array([0.0, 0.0, 1.0]), angle)


def turn_y(angle):
    return rotation(np.array([0.0, 1.0, 0.0]), angle)


class Socket:
    """A ball-and-socket joint on a revolute one, with a tool; q = (., phi, psi, theta)."""

    def __init__(self, seed):
        rng = np.random.default_rng(seed)
        self.first, self.second = random_transform(rng), random_transform(rng)
        self.axis, self.tip = unit(rng.normal(size=3)), rng.normal(size=3)
        self.q = rng.uniform(0.3, 1.3, 4)
        joints = [
            Joint('base_joint', 'revolute', 'base', 'arm', self.first, self.axis),
            Joint('ball', 'ball', 'arm', 'hand', self.second, rotation_order='ZYZ'),
            Joint('to_tip', 'fixed', 'hand', 'tip_0', transform(None, self.tip)),
        ]
        self.robot = Robot.from_joints('socket', ['base', 'arm', 'hand', 'tip_0'], joints)

    def before(self, q):
        """The frame of the ball joint: 0T(i-1), with t."""
        return self.first @ transform(rotation(self.axis, q[0])) @ self.second

    def frame(self, q):
        """Return the tool's frame by A.16, with a 1 in its corner."""
        _, phi, psi, theta = q
        ball = transform(turn_z(phi) @ turn_y(psi) @ turn_z(theta))
        return self.before(q) @ ball @ transform(None, self.tip)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_a_16_ball_joint_by_zyz_angles_with_a_1_in_its_corner(seed):
    """Printed with a 0 there, with which the product loses the translation of 0T(i-1)."""
    socket = Socket(seed)
    found = socket.robot.forward_kinematics(socket.q, 'tip_0')
    assert found == pytest.approx(socket.frame(socket.q), abs=1e-12)
    _, phi, psi, theta = socket.q
    parent = socket.first @ transform(rotation(socket.axis, socket.q[0]))
    printed = socket.second @ transform(turn_z(phi) @ turn_y(psi) @ turn_z(theta))
    printed[3, 3] = 0
    lost = found[:3, 3] - (parent @ printed @ [*socket.tip, 1])[:3]
    assert lost == pytest.approx(parent[:3, 3], abs=1e-12)
    default = Joint('ball', 'ball', 'arm', 'hand')
    assert default.rotations == 'ZYZ'


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_a_17_to_a_22_columns_of_a_ball_joint(seed):
    """u, v, w of A.19, each times r, i and j; to 1e-11, and to 1e-8 by differences."""
    socket = Socket(seed)
    _, phi, psi, _ = socket.q
    turn, t = socket.before(socket.q)[:3, :3], socket.before(socket.q)[:3, 3]
    u = turn @ [0, 0, 1]
    v = turn @ turn_z(phi) @ [0, 1, 0]
    w = turn @ turn_z(phi) @ turn_y(psi) @ [0, 0, 1]
    y = tool_rows(socket.frame(socket.q), np.eye(4))
    expected = np.array(
        [
            np.concatenate([np.cross(a, y[:3] - t), np.cross(a, y[3:6]), np.cross(a, y[6:])])
            for a in (u, v, w)
        ]
    ).T
    goal = random_transform(np.random.default_rng(seed + 10))
    tasks = tool_tasks(goal, np.eye(4))
    found = np.vstack([task.jacobian(socket.robot, socket.q) for task in tasks])
    assert found[:, 1:] == pytest.approx(expected, abs=1e-11)
    h = 1e-6
    for k, e in enumerate(np.eye(4)[1:]):
        ahead, behind = socket.frame(socket.q + h * e), socket.frame(socket.q - h * e)
        difference = (tool_rows(ahead, np.eye(4)) - tool_rows(behind, np.eye(4))) / (2 * h)
        assert expected[:, k] == pytest.approx(difference, abs=1e-8)
