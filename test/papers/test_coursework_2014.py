# SPDX-License-Identifier: Apache-2.0
"""The equations of the Bath coursework [Dorta2014], computed from its text.

Each test makes the right side of an equation with numpy and the kinematics of
`support.paper_chains`, and compares to 1e-9 of steps of about one radian. Where a comparison is
coarser, it says so.
"""

from itertools import pairwise

import numpy as np
import pytest
from scipy.optimize import lsq_linear
from support.paper_chains import (
    arm,
    planar,
    points_from,
    rotation,
    slides,
    step_from,
    transform,
    unit,
)

import ik_core as ik
from ik_core.robot import linkage

EXACT = 1e-9
PURE = {'max_error': np.inf, 'max_step': np.inf}
SEEDS = range(4)
METHODS = ['pseudoinverse', 'jacobian_transpose']
LENGTHS = [0.5, 0.3, 0.4]


def in_the_plane(lengths, q):
    """E of Eq. 3.1: every angle is relative to the rod before, the first one to the x axis."""
    directions = np.cumsum(q)
    return np.array(
        [np.dot(lengths, np.cos(directions)), np.dot(lengths, np.sin(directions)), 0.0]
    )


def reaching(seed, *lengths, stretch=0.3):
    """Hinges, a configuration, and a goal (3,) in their plane."""
    rng = np.random.default_rng(seed)
    chain = planar(*(lengths or LENGTHS))
    q = rng.uniform(-1, 1, chain.n)
    return chain, q, chain.end_effectors(q)[0] + [*rng.uniform(-stretch, stretch, 2), 0.0]


def difference(chain, q, goal):
    """Delta E = G - E (3.10)."""
    return goal - chain.end_effectors(q)[0]


def fixed(name, factor=1.0, **options):
    """The options of a method whose change of angles is J^-1 or J' times factor Delta E."""
    if name == 'jacobian_transpose':
        return {**PURE, 'step_rule': 'fixed', 'step_length': factor, **options}
    return {**PURE, 'time_step': factor, **options}


def inverse(name, jacobian):
    """J+ or J', whatever the method takes in the place of J^-1."""
    return jacobian.T if name == 'jacobian_transpose' else np.linalg.pinv(jacobian)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_1_end_effector_of_relative_angles(seed):
    """To 1e-12."""
    q = np.random.default_rng(seed).uniform(-3, 3, 3)
    robot = linkage(3, 'hinge', lengths=LENGTHS)
    found = robot.forward_kinematics(q, 'tip')[:3, 3]
    assert found == pytest.approx(in_the_plane(LENGTHS, q), abs=1e-12)
    assert planar(*LENGTHS).end_effectors(q)[0] == pytest.approx(found, abs=1e-12)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_2_product_of_rz_ry_t(seed):
    """For two angles a joint, and for hinges alone: to 1e-12."""
    q = np.random.default_rng(seed).uniform(-3, 3, 6)
    whole, flat = np.eye(4), np.eye(4)
    x, y, z = np.eye(3)
    for k, length in enumerate(LENGTHS):
        turn = rotation(z, q[2 * k]) @ rotation(y, q[2 * k + 1])
        whole = whole @ transform(turn) @ transform(None, length * x)
        flat = flat @ transform(rotation(z, q[k])) @ transform(None, length * x)
    robot = linkage(3, 'two_angle', lengths=LENGTHS)
    assert robot.forward_kinematics(q, 'tip') == pytest.approx(whole, abs=1e-12)
    robot = linkage(3, 'hinge', lengths=LENGTHS)
    assert robot.forward_kinematics(q[:3], 'tip') == pytest.approx(flat, abs=1e-12)


@pytest.mark.parametrize('threshold', [1e-2, 1e-5])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_2_joints_are_found_and_it_ends_within_a_threshold(seed, threshold):
    """The first of the points within the threshold is the answer."""
    rng = np.random.default_rng(seed)
    chain = planar(*LENGTHS)
    q = rng.uniform(0.3, 1, 3)
    goal = chain.end_effectors(q + 0.3)[0]
    problem = chain.problem([goal], position_tolerance=threshold)
    result = ik.solve(problem, q, solver='jacobian_transpose')
    assert result.success
    assert np.linalg.norm(in_the_plane(LENGTHS, result.q) - goal) <= threshold
    points = points_from('jacobian_transpose', problem, q, result.iterations)
    lengths = [np.linalg.norm(difference(chain, at, goal)) for at in points]
    assert min(lengths[:-1]) > threshold


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_3_to_3_5_columns_are_the_axis_times_the_way_to_the_end_effector(seed):
    """z x (E - P_i), to 1e-12; the partial derivatives of Eq. 3.3 by differences, to 1e-8."""
    q = np.random.default_rng(seed).uniform(-3, 3, 3)
    found = linkage(3, 'hinge', lengths=LENGTHS).jacobian(q, 'tip')[:3]
    end = in_the_plane(LENGTHS, q)
    for i in range(3):
        joint = in_the_plane(LENGTHS[:i], q[:i])
        assert found[:, i] == pytest.approx(np.cross([0, 0, 1], end - joint), abs=1e-12)
        h = 1e-6 * np.eye(3)[i]
        slope = (in_the_plane(LENGTHS, q + h) - in_the_plane(LENGTHS, q - h)) / 2e-6
        assert found[:, i] == pytest.approx(slope, abs=1e-8)
    # Eq. 3.4: a small change of angles.
    small = 1e-5 * np.random.default_rng(seed).normal(size=3)
    moved = in_the_plane(LENGTHS, q + small) - end
    assert found @ small == pytest.approx(moved, abs=1e-9)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_6_central_differences(seed, name):
    """A delta of 0.3 rad, for which they differ from the derivative by a hundredth."""
    chain, q, goal = reaching(seed)
    delta, e = 0.3, difference(chain, q, goal)
    jacobian = np.array(
        [
            (in_the_plane(LENGTHS, q + delta * d) - in_the_plane(LENGTHS, q - delta * d))
            / (2 * delta)
            for d in np.eye(3)
        ]
    ).T
    options = fixed(name, jacobian='central_difference', difference_step=delta)
    update = step_from(name, chain.problem([goal]), q, **options)
    expected = inverse(name, jacobian) @ e
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))
    assert np.abs(expected - inverse(name, chain.jacobian(q)) @ e).max() > 1e-3


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_7_pseudoinverse_where_j_has_no_more_columns_than_rows(seed):
    """(J'J)^-1 J' of two hinges, 3 x 2. With more columns than rows J'J has no inverse."""
    chain, q, goal = reaching(seed, 0.5, 0.4)
    goal += [0, 0, 0.2]
    update = step_from('pseudoinverse', chain.problem([goal]), q, **PURE)
    jacobian, e = chain.jacobian(q), difference(chain, q, goal)
    expected = np.linalg.inv(jacobian.T @ jacobian) @ jacobian.T @ e
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))
    longer, q, _ = reaching(seed)
    square = longer.jacobian(q).T @ longer.jacobian(q)
    assert np.linalg.matrix_rank(square) == 2


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_8_to_3_12_steps_of_euler(seed, name):
    """theta := theta + dt J^-1 Delta E, four times."""
    chain, q, goal = reaching(seed)
    points = points_from(name, chain.problem([goal]), q, 4, **fixed(name, 0.1))
    for before, after in pairwise(points):
        change = inverse(name, chain.jacobian(before)) @ difference(chain, before, goal)
        size = EXACT * (1 + np.abs(change).max())
        assert after == pytest.approx(before + 0.1 * change, abs=size)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('tolerance', [1.0, 0.1, 0.01])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_11_difference_is_halved_until_the_error_is_small(seed, tolerance, name):
    """|(I - J J+) Delta E|, of a goal out of the plane."""
    chain, q, goal = reaching(seed)
    goal += [0, 0, 0.35]
    jacobian, e = chain.jacobian(q), difference(chain, q, goal)
    outside = np.eye(3) - jacobian @ np.linalg.pinv(jacobian)
    halved = 0
    while np.linalg.norm(outside @ e) > tolerance:
        e, halved = e / 2, halved + 1
    assert (halved > 0) == (tolerance < 0.35)
    options = fixed(name, 0.3, halving_tolerance=tolerance)
    if name == 'jacobian_transpose':
        options['step_rule'] = 'halving'
    update = step_from(name, chain.problem([goal]), q, **options)
    expected = 0.3 * inverse(name, jacobian) @ e
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_13_angles_are_capped(seed, name):
    """Every angle at its bound: x is the new angle. dt, left out there, is that of 3.12."""
    chain, q, goal = reaching(seed)
    chain = chain.limited(q - 0.02, q + 0.05)
    points = points_from(name, chain.problem([goal]), q, 4, **fixed(name, 0.5))
    capped = 0
    for before, after in pairwise(points):
        change = inverse(name, chain.jacobian(before)) @ difference(chain, before, goal)
        expected = np.minimum(np.maximum(before + 0.5 * change, chain.lower), chain.upper)
        capped += (expected != before + 0.5 * change).sum()
        assert after == pytest.approx(expected, abs=EXACT * (1 + np.abs(change).max()))
    assert capped > 0


@pytest.mark.parametrize('weights', ['equal', 'link_length'])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_14_k_is_1_over_w_alpha(seed, weights):
    """w proportional to the length of the link: the package divides by the mean length."""
    chain, q, goal = reaching(seed)
    alpha = np.array([1.0, 4.0, 0.5])
    w = np.array(LENGTHS) / np.mean(LENGTHS) if weights == 'link_length' else np.ones(3)
    options = {
        'joint_weights': weights,
        'joint_stiffness': 'joint_1=4, joint_2=0.5',
        **fixed('jacobian_transpose', 0.2),
    }
    update = step_from('jacobian_transpose', chain.problem([goal]), q, **options)
    plain = 0.2 * chain.jacobian(q).T @ difference(chain, q, goal)
    assert update == pytest.approx(plain / (w * alpha), abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_1_k_of_time_varies_within_a_distance_of_the_goal(seed):
    """In proportion to the distance from the joint to the goal, as the package chose to.

    The text says only that the parameters vary there.
    """
    chain, q, goal = reaching(seed)
    joints = chain.joint_frames(q)[:, :3, 3]
    distances = np.linalg.norm(joints - goal, axis=1)
    threshold = np.sort(distances)[1] * 1.01
    gains = np.minimum(1, distances / threshold)
    assert (gains < 1).sum() == 2
    options = fixed('jacobian_transpose', 0.2, slow_distance=threshold)
    update = step_from('jacobian_transpose', chain.problem([goal]), q, **options)
    plain = 0.2 * chain.jacobian(q).T @ difference(chain, q, goal)
    assert update == pytest.approx(gains * plain, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_normalised_columns_of_every_angle(seed):
    """The change in position with respect to each angle has length 1."""
    chain, q, goal = reaching(seed)
    options = fixed('jacobian_transpose', 0.2, normalised_columns=True)
    update = step_from('jacobian_transpose', chain.problem([goal]), q, **options)
    jacobian = chain.jacobian(q)
    columns = jacobian / np.linalg.norm(jacobian, axis=0)
    assert update == pytest.approx(0.2 * columns.T @ difference(chain, q, goal), abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_2_normalised_step(seed):
    """Without slow-in and slow-out every change of angles has the same length."""
    chain, q, goal = reaching(seed)
    options = fixed('jacobian_transpose', 0.2, step_norm=0.03)
    points = points_from('jacobian_transpose', chain.problem([goal]), q, 3, **options)
    for before, after in pairwise(points):
        change = chain.jacobian(before).T @ difference(chain, before, goal)
        assert after - before == pytest.approx(0.03 * unit(change), abs=EXACT)


def test_section_3_2_slow_in_and_out_are_linear_in_the_way():
    """The length of a step over the share of the way, measured by the distance to the goal.

    It rises linearly, is constant, and falls linearly. What a step from rest is, where the share
    is 0, the text leaves open: the package's are a hundredth of the largest.
    """
    chain = planar(0.5, 0.5, 0.5)
    q = np.array([0.4, 0.6, 0.8])
    goal = chain.end_effectors(q + np.array([0.8, 0.3, 0.2]))[0]
    largest, fraction = 0.004, 0.2
    options = fixed('jacobian_transpose', 1.0, step_norm=largest, slow_fraction=fraction)
    problem = chain.problem([goal], position_tolerance=1e-9)
    points = points_from('jacobian_transpose', problem, q, 1000, **options)
    distances = np.array([np.linalg.norm(difference(chain, at, goal)) for at in points])
    shares = 1 - distances[:-1] / distances[0]
    lengths = np.linalg.norm(np.diff(points, axis=0), axis=1)
    at_rest = shares < 0.01 * fraction
    assert at_rest.any()
    assert lengths[at_rest] == pytest.approx(0.01 * largest, rel=1e-6)
    phases = {
        'in': (shares > 0.02) & (shares < fraction),
        'between': (shares > fraction) & (shares < 1 - fraction),
        'out': (shares > 1 - fraction) & (shares < 0.98),
    }
    assert all(phase.sum() >= 10 for phase in phases.values())
    expected = largest * np.minimum(1, np.minimum(shares, 1 - shares) / fraction)
    for phase in phases.values():
        assert lengths[phase] == pytest.approx(expected[phase], rel=1e-6)


@pytest.mark.parametrize('weight', [0.5, 4.0])
@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_1_penalty_terms_are_added_to_the_cost(seed, weight):
    """f + mu |x - P(x)|^2 of slides at an angle is quadratic piece by piece; P of its least.

    That is where the search ends; its answer is the best point on the way, which may be another
    one. The text adds a term to the distance; the package to its square, as it says. To 1e-6 m.
    """
    rng = np.random.default_rng(seed)
    axes = np.array([unit(rng.normal(size=3)) for _ in range(3)])
    goal = axes.T @ rng.uniform(0.5, 1.0, 3)  # what the slides would be without limits
    lower, upper = np.full(3, -2.0), np.array([0.2, 0.3, 1.5])
    outside = np.zeros(3, bool)
    for _ in range(20):
        square = axes @ axes.T + weight * np.diag(outside)
        x = np.linalg.solve(square, axes @ goal + weight * outside * upper)
        outside = x > upper
    assert outside.any()
    chain = slides(*axes).limited(lower, upper)
    search = ik.make_solver('penalty', weight=weight, growth=1.0).begin(
        chain.problem([goal]), np.zeros(3)
    )
    search.run()
    assert search.x == pytest.approx(np.minimum(x, upper), abs=1e-6)


@pytest.mark.parametrize('solver', ['augmented_lagrangian', 'sqp'])
@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_1_multipliers_hold_the_joints_inside(seed, solver):
    """The closest point inside the limits: scipy's on slides, and the conditions of Lagrange.

    At a limit the gradient is a multiplier of the right sign, elsewhere 0. To 1e-5.
    """
    rng = np.random.default_rng(seed)
    axes = np.array([unit(rng.normal(size=3)) for _ in range(3)])
    goal = axes.T @ rng.uniform(0.5, 1.0, 3)
    lower, upper = np.full(3, -2.0), np.array([0.2, 0.3, 1.5])
    result = ik.solve(
        slides(*axes).limited(lower, upper).problem([goal]), np.zeros(3), solver=solver
    )
    expected = lsq_linear(axes.T, goal, (lower, upper), method='bvls', tol=1e-14).x
    assert result.q == pytest.approx(expected, abs=1e-5)
    chain = arm(rng, 'rrrr')
    q = rng.uniform(-1, 1, 4)
    chain = chain.limited(q - 0.1, q + 0.1)
    goal = chain.end_effectors(q)[0] + 0.4
    x = ik.solve(chain.problem([goal]), q, solver=solver).q
    gradient = -2 * chain.jacobian(x).T @ difference(chain, x, goal)
    at_lower, at_upper = x == chain.lower, x == chain.upper
    assert (at_lower | at_upper).any()
    assert np.abs(gradient[~at_lower & ~at_upper]).max(initial=0) < 1e-5
    assert (gradient[at_lower] > 0).all()
    assert (gradient[at_upper] < 0).all()


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_1_multipliers_make_up_for_a_small_weight(seed):
    """To 1e-5 in 25 iterations, while the weight of the quadratic terms hardly grows."""
    rng = np.random.default_rng(seed)
    axes = np.array([unit(rng.normal(size=3)) for _ in range(3)])
    goal = axes.T @ rng.uniform(0.5, 1.0, 3)
    lower, upper = np.full(3, -2.0), np.array([0.2, 0.3, 1.5])
    problem = slides(*axes).limited(lower, upper).problem([goal])
    solver = ik.make_solver('augmented_lagrangian', weight=1.0, growth=1.1)
    result = solver.solve(problem, np.zeros(3), ik.Budget(iterations=25))
    expected = lsq_linear(axes.T, goal, (lower, upper), method='bvls', tol=1e-14).x
    assert result.q == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize('stiffer', [1.0, 5.0])
def test_objective_3_flexible_rods(stiffer):
    """A rod of short pieces with springs bends as Euler and Bernoulli's clamped beam: to 1 %.

    The springs are a secondary `PostureTask`; the second half of the rod is `stiffer`.
    """
    pieces, sag = 40, 0.02
    at = np.arange(pieces) / pieces
    stiffness = pieces * np.where(at < 0.5, 1.0, stiffer)
    stiffness[0] *= 2.0  # half a piece bends in the joint at the clamp
    stiffness[pieces // 2] = pieces * 2.0 * stiffer / (1.0 + stiffer)  # half of each kind
    robot = linkage(pieces, 'hinge', lengths=1.0 / pieces, limits=(-1.0, 1.0))
    tip = ik.PositionTask('tip', [1.0, sag, 0.0], weights=(0.0, 1.0, 0.0))
    springs = ik.tasks.PostureTask(np.zeros(pieces), weights=stiffness)
    found = ik.solve(ik.IkProblem(robot, [tip], secondary=[springs]), np.zeros(pieces))
    assert found.success
    x = np.linspace(0.0, 1.0, 4001)
    curvature = (1.0 - x) / np.where(x < 0.5, 1.0, stiffer)
    slope = np.concatenate([[0.0], np.cumsum(0.5 * (curvature[1:] + curvature[:-1]))])
    shape = np.concatenate([[0.0], np.cumsum(0.5 * (slope[1:] + slope[:-1]))])
    names = [f'rod_{k}' for k in range(1, pieces + 1)]
    places = np.array([robot.forward_kinematics(found.q, name)[:2, 3] for name in names])
    expected = sag * np.interp(places[:, 0], x, shape / shape[-1])
    np.testing.assert_allclose(places[:, 1], expected, atol=0.01 * sag)
