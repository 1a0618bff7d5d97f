# SPDX-License-Identifier: Apache-2.0
"""The equations of [Buss2009], computed from its text, beside what the package does.

Each test makes the right side of an equation with numpy and the kinematics of
`support.paper_chains`, and compares to 1e-9 of steps of about one radian: rounding, and the
package's own decompositions. Where a comparison is coarser, it says so.

Our copy of the text has lost its Greek letters; in it theta, alpha, lambda, phi and sigma are
read from the context.
"""

from itertools import pairwise

import numpy as np
import pytest
from support.paper_chains import (
    arm,
    fork,
    planar,
    points_from,
    slides,
    step_from,
    transform,
    unit,
)

import ik_core as ik

EXACT = 1e-9
PURE = {'max_error': np.inf, 'max_step': np.inf}
FIXED = {'adaptive': 'fixed', 'damping': 0.3}
SEEDS = range(4)


def forked(seed, stretch=0.3):
    """A tree, a configuration, and targets (2, 3) some way from its end effectors."""
    rng = np.random.default_rng(seed)
    chain = fork(rng)
    q = rng.uniform(-1, 1, chain.n)
    targets = chain.end_effectors(q) + rng.uniform(-stretch, stretch, (2, 3))
    return chain, q, targets


def error(chain, q, targets):
    """e = t - s, (3 k,)."""
    return (targets - chain.end_effectors(q)).ravel()


def clamp_mag(w, d):
    """ClampMag(w, d)."""
    length = np.linalg.norm(w)
    return w if length <= d else d * w / length


def pseudoinverse(jacobian, e):
    """Eq. 6."""
    return np.linalg.pinv(jacobian) @ e


def transpose(jacobian, e):
    """Section 3, with its alpha."""
    mended = jacobian @ jacobian.T @ e
    return (e @ mended) / (mended @ mended) * jacobian.T @ e


def damped(jacobian, e, damping=0.3):
    """Eq. 11."""
    square = jacobian @ jacobian.T + damping**2 * np.eye(len(e))
    return jacobian.T @ np.linalg.solve(square, e)


METHODS = {
    'pseudoinverse': (pseudoinverse, PURE),
    'jacobian_transpose': (transpose, PURE),
    'damped_least_squares': (damped, {**PURE, **FIXED}),
}


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_1_all_end_effectors_are_at_their_targets(seed):
    """To the problem's tolerance."""
    rng = np.random.default_rng(seed)
    chain = fork(rng)
    q = rng.uniform(-1, 1, chain.n)
    targets = chain.end_effectors(q + rng.uniform(-0.4, 0.4, chain.n))
    problem = chain.problem(targets, position_tolerance=1e-6)
    result = ik.solve(problem, q)
    assert result.success
    assert np.linalg.norm(chain.end_effectors(result.q) - targets, axis=1).max() < 1e-6


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_2_and_4_velocities_and_changes_are_j_times_those_of_joints(seed):
    """Eq. 2 by differences over time, to 1e-8; what Eq. 4 leaves out is of second order."""
    chain, q, _ = forked(seed)
    speed = np.random.default_rng(seed).normal(size=chain.n)
    robot = chain.robot
    jacobian = np.vstack([robot.jacobian(q, name)[:3] for name in chain.tip_names])
    h = 1e-5
    ahead, behind = chain.end_effectors(q + h * speed), chain.end_effectors(q - h * speed)
    assert jacobian @ speed == pytest.approx((ahead - behind).ravel() / (2 * h), abs=1e-8)

    def left(length):
        change = chain.end_effectors(q + length * speed) - chain.end_effectors(q)
        return np.linalg.norm(change.ravel() - length * jacobian @ speed)

    assert left(1e-3) / left(5e-4) == pytest.approx(4, rel=0.02)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_columns_are_v_x_s_minus_p_v_and_zero(seed):
    """Rotational, translational, and joints that do not affect the end effector: to 1e-12."""
    chain, q, _ = forked(seed)
    kinds = {piece.kind for piece in chain.pieces}
    assert kinds == {'revolute', 'prismatic'}
    expected = chain.jacobian(q)
    assert not expected[:3, 5:].any()
    assert expected == pytest.approx(chain.differences(q), abs=1e-8)
    for k, name in enumerate(chain.tip_names):
        rows = chain.robot.jacobian(q, name)[:3]
        assert rows == pytest.approx(expected[3 * k : 3 * k + 3], abs=1e-12)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_and_5_updates_are_added_to_the_joints(seed, name):
    """Three updates, each with J and e of the configuration before."""
    chain, q, targets = forked(seed)
    step, options = METHODS[name]
    points = points_from(name, chain.problem(targets), q, 3, **options)
    for before, after in pairwise(points):
        update = step(chain.jacobian(before), error(chain, before, targets))
        assert after == pytest.approx(before + update, abs=EXACT * (1 + np.abs(update).max()))


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_3_and_5_the_equation_is_solved_where_j_can_be_inverted(seed):
    rng = np.random.default_rng(seed)
    chain = arm(rng, 'rrr')
    q = rng.uniform(-1, 1, 3)
    targets = chain.end_effectors(q) + rng.uniform(-0.02, 0.02, (1, 3))
    update = step_from('pseudoinverse', chain.problem(targets), q, **PURE)
    e = error(chain, q, targets)
    assert chain.jacobian(q) @ update == pytest.approx(e, abs=EXACT)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_alternate_jacobian_has_t_in_the_place_of_s(seed, name):
    """In any of the algorithms."""
    chain, q, targets = forked(seed)
    step, options = METHODS[name]
    problem = chain.problem(targets)
    update = step_from(name, problem, q, jacobian='target', **options)
    e = error(chain, q, targets)
    expected = step(chain.jacobian(q, targets), e)
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))
    assert np.abs(expected - step(chain.jacobian(q), e)).max() > 1e-3


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_clamp_mag_clamps_each_end_effector(seed, name):
    """One of the two errors is longer than Dmax, the other is not."""
    chain, q, targets = forked(seed)
    step, options = METHODS[name]
    errors = targets - chain.end_effectors(q)
    largest = np.linalg.norm(errors, axis=1).mean()
    update = step_from(name, chain.problem(targets), q, **{**options, 'max_error': largest})
    clamped = np.array([clamp_mag(w, largest) for w in errors])
    assert (clamped != errors).any(axis=1).sum() == 1
    expected = step(chain.jacobian(q), clamped.ravel())
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))


@pytest.mark.parametrize('name', METHODS)
def test_section_2_dmax_of_half_a_link(name):
    """Rods of 0.5, 0.4, 0.3 and 0.1: half of a typical one, the median, is 0.175."""
    chain, q = planar(0.5, 0.4, 0.3, 0.1), np.array([0.3, 0.8, -0.5, 0.9])
    step, options = METHODS[name]
    goal = chain.end_effectors(q) + np.array([0.3, -0.2, 0.0])
    options = {**options, 'max_error_in_links': 0.5}
    update = step_from(name, chain.problem(goal), q, **options)
    expected = step(chain.jacobian(q), clamp_mag(error(chain, q, goal), 0.175))
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(expected).max()))


@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_dmax_of_each_end_effector_follows_its_progress(seed):
    """Infinite at first; then Dmax,i = d_i + Dmax, d_i what the step before moved i closer.

    The text does not say what a step farther away counts: taken as d_i = 0, as the list says.
    """
    chain, q, targets = forked(seed, stretch=1.5)
    largest = 0.1
    options = {'max_step': np.inf, 'max_error': largest, 'max_error_rule': 'resetting', **FIXED}
    points = points_from('damped_least_squares', chain.problem(targets), q, 6, **options)
    limits, distances, clamps = np.full(2, np.inf), None, 0
    for before, after in pairwise(points):
        errors = targets - chain.end_effectors(before)
        lengths = np.linalg.norm(errors, axis=1)
        if distances is not None:
            limits = np.maximum(distances - lengths, 0) + largest
        distances = lengths
        clamps += (lengths > limits).sum()
        clamped = np.array([clamp_mag(w, d) for w, d in zip(errors, limits, strict=True)])
        update = damped(chain.jacobian(before), clamped.ravel())
        assert after - before == pytest.approx(update, abs=EXACT)
    assert clamps > 0


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_theorem_1_j_transpose_leads_to_the_target(seed):
    """<J J'e, e> = |J'e|^2 >= 0, and a small enough step makes the error smaller."""
    chain, q, targets = forked(seed)
    options = {**PURE, 'step_rule': 'fixed', 'step_length': 1e-4}
    update = step_from('jacobian_transpose', chain.problem(targets), q, **options)
    e = error(chain, q, targets)
    jacobian = chain.jacobian(q)
    assert e @ (jacobian @ update) == pytest.approx(1e-4 * np.sum((jacobian.T @ e) ** 2), rel=1e-9)
    assert np.linalg.norm(error(chain, q + update, targets)) < np.linalg.norm(e)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_alpha_leaves_the_least_error_of_the_linear_model(seed):
    """alpha = <e, JJ'e> / <JJ'e, JJ'e>, and no other alpha leaves less."""
    chain, q, targets = forked(seed)
    preset = ik.make_solver('jacobian_transpose', preset='buss_pure')
    search = preset.begin(chain.problem(targets), q)
    search.run(ik.Budget(iterations=1))
    e, jacobian = error(chain, q, targets), chain.jacobian(q)
    assert search.x - q == pytest.approx(transpose(jacobian, e), abs=EXACT)
    lengths = np.linspace(0, 2, 41)
    left = [np.linalg.norm(e - a * jacobian @ (search.x - q)) for a in lengths]
    assert np.argmin(left) == 20


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_6_pseudoinverse_gives_the_shortest_solution_in_the_range(seed):
    """J has full row rank: e is in its range; any other solution is longer."""
    chain, q, targets = forked(seed)
    update = step_from('pseudoinverse', chain.problem(targets), q, **PURE)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    size = 1 + np.abs(update).max()
    assert update == pytest.approx(pseudoinverse(jacobian, e), abs=EXACT * size)
    assert jacobian @ update == pytest.approx(e, abs=EXACT * size)
    null = np.linalg.svd(jacobian)[2][len(e) :]
    assert len(null) == 2
    assert null @ update == pytest.approx(0, abs=EXACT * size)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_6_pseudoinverse_leaves_the_least_error_out_of_the_range(seed):
    """A planar arm and a target outside its plane: |J dq - e| is least, dq the shortest."""
    rng = np.random.default_rng(seed)
    chain = planar(0.5, 0.4, 0.3, 0.2)
    q = rng.uniform(-1, 1, 4)
    targets = chain.end_effectors(q) + rng.uniform(-0.1, 0.1, (1, 3))
    update = step_from('pseudoinverse', chain.problem(targets), q, **PURE)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    left = jacobian @ update - e
    assert abs(left[2]) > 1e-3
    assert jacobian.T @ left == pytest.approx(0, abs=EXACT)
    null = np.linalg.svd(jacobian)[2][2:]
    assert null @ update == pytest.approx(0, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_7_phi_acts_in_the_null_space(seed):
    """J+ e + (I - J+ J) phi, with phi towards a rest posture: section 4's example.

    To 2e-6 of phi's part: the package damps that by 1e-6, so it is shorter by this fraction.
    """
    chain, q, targets = forked(seed)
    rest = q + np.random.default_rng(seed).uniform(-0.5, 0.5, chain.n)
    problem = chain.problem(targets, secondary=[ik.PostureTask(rest)])
    update = step_from('pseudoinverse', problem, q, **PURE)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    inverse = np.linalg.pinv(jacobian)
    through = (np.eye(chain.n) - inverse @ jacobian) @ (rest - q)
    assert np.linalg.norm(through) > 0.01
    assert jacobian @ through == pytest.approx(0, abs=EXACT)
    size = EXACT * (1 + np.abs(update).max()) + 2e-6 * np.linalg.norm(through)
    assert update == pytest.approx(inverse @ e + through, abs=size)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_4_extended_jacobian_tracks_a_minimum(seed):
    """The local minimum of |q - rest| stays one, to second order in the way of the targets.

    Costs tell points apart to the root of their rounding, so the minimum is found to 1e-7: how
    much closer depends on the processor's BLAS.
    """
    chain, q, targets = forked(seed)
    rest = q + np.random.default_rng(seed).uniform(-0.5, 0.5, chain.n)

    def slope(at):
        jacobian = chain.jacobian(at)
        return (np.eye(chain.n) - np.linalg.pinv(jacobian) @ jacobian) @ (rest - at)

    def step(at, goals):
        problem = chain.problem(goals, secondary=[ik.PostureTask(rest)])
        return at + step_from('pseudoinverse', problem, at, null_space='extended', **PURE)

    for _ in range(100):
        q = step(q, chain.end_effectors(q))
    assert np.linalg.norm(rest - q) > 0.05
    assert slope(q) == pytest.approx(0, abs=1e-7)
    way = targets - chain.end_effectors(q)
    way *= 1e-3 / np.abs(way).max()
    far, near = (np.linalg.norm(slope(step(q, chain.end_effectors(q) + s * way))) for s in (4, 1))
    assert far / near == pytest.approx(16, rel=0.1)


@pytest.mark.parametrize('seed', SEEDS)
def test_section_4_extended_jacobian_descends_near_a_maximum(seed):
    """Its part in the null space is that of Baillieul's rows, which climb, turned round.

    Three planar rods with a target, and a rest posture so far away that its distance curves down
    on the way that keeps the tip where it is. To 1e-5 of the step.
    """
    rng = np.random.default_rng(seed)
    chain, q = planar(0.5, 0.4, 0.3), rng.uniform(0.4, 1.2, 3)
    target = chain.end_effectors(q) + np.array([2e-3, -1e-3, 0.0])
    jacobian = chain.jacobian(q)
    null = unit(np.cross(*jacobian[:2]))
    h = 1e-6
    turns = (chain.jacobian(q + h * null) - chain.jacobian(q - h * null)) / (2 * h)

    def row(away):
        """n' (grad^2 H - sum l J') for H = |q - rest|^2 / 2, q - rest = away."""
        return null - np.linalg.lstsq(jacobian.T, away, rcond=None)[0] @ turns

    ways = rng.uniform(-20.0, 20.0, (2000, 3))
    away = next(way for way in ways if row(way) @ null < -0.3 and abs(way @ null) < 0.1)
    problem = chain.problem(target, secondary=[ik.PostureTask(q - away)])
    update = step_from('pseudoinverse', problem, q, null_space='extended', **PURE)
    step = np.linalg.pinv(jacobian) @ (target - chain.end_effectors(q))[0]
    climbing = -null * (null @ away + row(away) @ step) / (row(away) @ null)
    assert np.abs(climbing).max() > 1e-3
    assert update == pytest.approx(step - climbing, abs=1e-5 * np.abs(climbing).max())


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_8_and_9_pseudoinverse_by_the_normal_equation(seed):
    """J'J dq = J'e, and dq = J'(JJ')^-1 e where J has full row rank."""
    chain, q, targets = forked(seed)
    update = step_from('pseudoinverse', chain.problem(targets), q, **PURE)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    assert jacobian.T @ jacobian @ update == pytest.approx(jacobian.T @ e, abs=1e-8)
    by_rows = jacobian.T @ np.linalg.solve(jacobian @ jacobian.T, e)
    assert update == pytest.approx(by_rows, abs=1e-8 * (1 + np.abs(update).max()))


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_10_and_11_damped_least_squares_in_both_forms(seed):
    """And it minimises |J dq - e|^2 + lambda^2 |dq|^2, by least squares of both together."""
    chain, q, targets = forked(seed)
    search = ik.make_solver('damped_least_squares', preset='buss_pure', damping=0.3).begin(
        chain.problem(targets), q
    )
    search.run(ik.Budget(iterations=1))
    update = search.x - q
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    eye = np.eye(chain.n)
    by_columns = np.linalg.solve(jacobian.T @ jacobian + 0.3**2 * eye, jacobian.T @ e)
    assert update == pytest.approx(by_columns, abs=EXACT)
    assert update == pytest.approx(damped(jacobian, e), abs=EXACT)
    together = np.vstack([jacobian, 0.3 * eye])
    least = np.linalg.lstsq(together, np.append(e, np.zeros(chain.n)), rcond=None)[0]
    assert update == pytest.approx(least, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_12_and_13_singular_values_of_zero_are_dropped(seed):
    """A planar arm: of three singular values one is 0, so the sum has two terms."""
    rng = np.random.default_rng(seed)
    chain = planar(0.5, 0.4, 0.3, 0.2)
    q = rng.uniform(-1, 1, 4)
    targets = chain.end_effectors(q) + rng.uniform(-0.1, 0.1, (1, 3))
    update = step_from('pseudoinverse', chain.problem(targets), q, **PURE)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    left, values, right = np.linalg.svd(jacobian)
    terms = [s * np.outer(u, v) for s, u, v in zip(values, left.T, right, strict=False)]
    assert sum(terms) == pytest.approx(jacobian, abs=EXACT)
    assert values[2] < 1e-12
    expected = sum(v * (u @ e) / s for s, u, v in zip(values[:2], left.T, right, strict=False))
    assert update == pytest.approx(expected, abs=EXACT * (1 + np.abs(update).max()))


@pytest.mark.parametrize(('tolerance', 'terms'), [(1e-3, 3), (0.2, 2)])
def test_eq_12_and_13_rank_tolerance_says_what_counts_as_zero(tolerance, terms):
    """Slides whose singular values are known: the least is 0.1 of the largest."""
    narrow = np.arccos((1 - 0.1**2) / (1 + 0.1**2))  # the angle of two unit vectors
    axes = [(1, 0, 0), (np.cos(narrow), np.sin(narrow), 0), (0, 0, 1)]
    chain = slides(*axes)
    e = np.array([0.1, 0.2, 0.3])
    left, values, right = np.linalg.svd(np.array(axes).T)
    assert values[2] / values[0] == pytest.approx(0.1)
    update = step_from(
        'pseudoinverse', chain.problem([e]), np.zeros(3), rank_tolerance=tolerance, **PURE
    )
    expected = sum(v * (u @ e) / s for s, u, v in zip(values[:terms], left.T, right, strict=False))
    assert update == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_14_damped_least_squares_by_singular_values(seed):
    """sum of sigma / (sigma^2 + lambda^2) v u'e."""
    chain, q, targets = forked(seed)
    update = step_from('damped_least_squares', chain.problem(targets), q, **PURE, **FIXED)
    jacobian, e = chain.jacobian(q), error(chain, q, targets)
    left, values, right = np.linalg.svd(jacobian)
    terms = zip(values, left.T, right, strict=False)
    expected = sum(s / (s**2 + 0.3**2) * v * (u @ e) for s, u, v in terms)
    assert update == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize('options', [{}, {'max_error': 0.2}], ids=['preset', 'own Dmax'])
@pytest.mark.parametrize('seed', SEEDS)
def test_section_8_dls_prime_is_dls_with_clamped_errors(seed, options):
    chain, q, targets = forked(seed, stretch=1.0)
    solver = ik.make_solver('damped_least_squares', preset='buss_clamped', damping=0.3, **options)
    search = solver.begin(chain.problem(targets), q)
    search.run(ik.Budget(iterations=1))
    errors = targets - chain.end_effectors(q)
    clamped = np.array([clamp_mag(w, solver.options.max_error) for w in errors])
    assert (clamped != errors).any()
    expected = damped(chain.jacobian(q), clamped.ravel())
    assert search.x - q == pytest.approx(expected, abs=EXACT)


@pytest.mark.parametrize('name', METHODS)
@pytest.mark.parametrize('seed', SEEDS)
def test_section_8_clamp_max_abs_limits_the_largest_change_of_an_angle(seed, name):
    """The text names it, [BussKim2005] has it: the whole step is scaled, its direction stays."""
    chain, q, targets = forked(seed, stretch=1.0)
    step, options = METHODS[name]
    free = step(chain.jacobian(q), error(chain, q, targets))
    largest = np.abs(free).max() / 2
    update = step_from(name, chain.problem(targets), q, **{**options, 'max_step': largest})
    assert update == pytest.approx(free / 2, abs=EXACT * (1 + largest))
    assert np.abs(update).max() == pytest.approx(largest)


def test_chains_of_these_tests_move_as_their_matrices_say():
    """Two hinges, by hand: the rods of 0.5 and 0.4 m at 90 and then -90 degrees."""
    chain = planar(0.5, 0.4)
    q = np.array([np.pi / 2, -np.pi / 2])
    assert chain.end_effectors(q)[0] == pytest.approx([0.4, 0.5, 0.0])
    assert transform(None, (1, 2, 3)) @ [0, 0, 0, 1] == pytest.approx([1, 2, 3, 1])
    assert unit([3, 0, 4]) == pytest.approx([0.6, 0, 0.8])
