# SPDX-License-Identifier: Apache-2.0
"""The equations of [Engell2007], the state of the art, computed from its text.

Each test makes the right side of an equation with numpy and the kinematics of
`support.paper_chains`, and compares to 1e-9 of steps of about one radian. Where a comparison is
coarser, it says so.
"""

from itertools import pairwise, product

import numpy as np
import pytest
from support.paper_chains import arm, fork, planar, points_from, rotation, slides, step_from, unit

import ik_core as ik
from ik_core.robot import LinearConstraint, linkage

EXACT = 1e-9
PURE = {'max_error': np.inf, 'max_step': np.inf}
SEEDS = range(4)


def reaching(seed, kinds='rrrrrr', stretch=0.3):
    """An arm, a configuration, and a goal (3,) some way from its end effector."""
    rng = np.random.default_rng(seed)
    chain = arm(rng, kinds)
    q = rng.uniform(-1, 1, chain.n)
    return chain, q, chain.end_effectors(q)[0] + rng.uniform(-stretch, stretch, 3)


def missing(chain, q, goal):
    """y1 - y0."""
    return goal - chain.end_effectors(q)[0]


def scale(update):
    """The tolerance for a step: rounding grows with it."""
    return EXACT * (1 + np.abs(update).max())


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_1_and_6_to_9_jacobian_inverse_is_iterated(seed):
    """x + J^-1 (y1 - y0): with three joints the inverse, with six the pseudoinverse."""
    for kinds in ('rrr', 'rrrrrr'):
        chain, q, goal = reaching(seed, kinds)
        solver = ik.make_solver('pseudoinverse', preset='buss_pure')
        search = solver.begin(chain.problem([goal]), q)
        for _ in range(3):
            before = search.x
            search.run(ik.Budget(iterations=1))
            jacobian, e = chain.jacobian(before), missing(chain, before, goal)
            inverse = np.linalg.pinv(jacobian)
            if kinds == 'rrr' and np.linalg.cond(jacobian) < 1e3:
                assert inverse == pytest.approx(np.linalg.inv(jacobian), rel=1e-6)
            if np.linalg.cond(jacobian) < 1e3:  # beyond, `rank_tolerance` counts
                assert search.x - before == pytest.approx(inverse @ e, abs=scale(inverse @ e))


@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_3_least_change_of_all_solutions(seed):
    chain, q, goal = reaching(seed)
    update = step_from('pseudoinverse', chain.problem([goal]), q, **PURE)
    jacobian, e = chain.jacobian(q), missing(chain, q, goal)
    null = np.linalg.svd(jacobian)[2][3:]
    others = update + np.random.default_rng(seed).normal(0, 0.1, (100, 3)) @ null
    assert others @ jacobian.T == pytest.approx(np.tile(e, (100, 1)), abs=scale(update))
    assert (np.linalg.norm(others, axis=1) > np.linalg.norm(update)).all()


@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_3_projection_of_every_unconstrained_step(seed):
    """Onto the feasible region, which is a box: each joint for itself."""
    chain, q, goal = reaching(seed)
    chain = chain.limited(q - 0.05, q + 0.1)
    points = points_from('pseudoinverse', chain.problem([goal]), q, 4, limits='every_step', **PURE)
    cut = 0
    for before, after in pairwise(points):
        free = before + np.linalg.pinv(chain.jacobian(before)) @ missing(chain, before, goal)
        inside = np.clip(free, chain.lower, chain.upper)
        cut += (inside != free).sum()
        assert after == pytest.approx(inside, abs=scale(free))
    assert cut > 0


def turned(quaternion, points):
    """Points (k, 3) turned by a unit quaternion (w, x, y, z): p + 2 w v x p + 2 v x (v x p)."""
    w, v = quaternion[0], quaternion[1:]
    return points + 2 * w * np.cross(v, points) + 2 * np.cross(v, np.cross(v, points))


def turn_towards(joint, tip, goal):
    """The quaternion of Eq. 2, 4 and 5."""
    u, v = unit(tip - joint), unit(goal - joint)
    axis = np.cross(u, v)
    angle = np.arctan2(np.linalg.norm(axis), u @ v)
    return np.array([np.cos(angle / 2), *np.sin(angle / 2) * unit(axis)])


@pytest.mark.parametrize('order', ['tip_to_base', 'base_to_tip'])
@pytest.mark.parametrize('seed', SEEDS)
def test_eq_2_to_5_turn_of_joints_with_a_free_axis(seed, order):
    """Three ball joints, three sweeps: the points of the chain are turned by quaternions.

    To 1e-8: the package turns its three angles, and takes their steps afterwards.
    """
    rng = np.random.default_rng(seed)
    lengths = rng.uniform(0.2, 0.5, 3).tolist()
    robot = linkage(3, 'ball', lengths=lengths)
    q = rng.uniform(-1, 1, 9)
    goal = 0.6 * unit(rng.normal(size=3))
    problem = ik.IkProblem(robot, [ik.PositionTask('tip', goal)])

    def points_of(q):
        """The joints and the tip (4, 3), by the turns R_z R_y R_x and the rods along x."""
        turn, at, points = np.eye(3), np.zeros(3), [np.zeros(3)]
        for k, length in enumerate(lengths):
            for axis, angle in zip(np.eye(3)[::-1], q[3 * k : 3 * k + 3], strict=True):
                turn = turn @ rotation(axis, angle)
            at = at + length * turn[:, 0]
            points.append(at)
        return np.array(points)

    assert points_of(q)[-1] == pytest.approx(robot.forward_kinematics(q, 'tip')[:3, 3])
    expected = points_of(q)
    joints = (2, 1, 0) if order == 'tip_to_base' else (0, 1, 2)
    for found in points_from('cyclic_coordinate_descent', problem, q, 3, order=order)[1:]:
        for k in joints:
            q_turn = turn_towards(expected[k], expected[-1], goal)
            expected[k:] = expected[k] + turned(q_turn, expected[k:] - expected[k])
        assert points_of(found) == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize('angle', [0.5, 2.0, 3.0, -2.5])
def test_eq_3_and_4_arctan2_of_two_arguments_not_an_arcsine(angle):
    """A hinge turns by the whole angle; beyond 90 degrees Eq. 3 says the wrong one of two.

    Eq. 4 prints the two arguments of arctan2 as a fraction.
    """
    chain = planar(0.5)
    goal = 0.8 * np.array([np.cos(angle), np.sin(angle), 0.0])
    u, v = np.array([1.0, 0, 0]), unit(goal)
    axis = np.cross(u, v)
    turn = np.arctan2(np.linalg.norm(axis), u @ v) * np.sign(axis[2])
    assert turn == pytest.approx(angle)
    found = step_from('cyclic_coordinate_descent', chain.problem([goal]), np.zeros(1))
    assert found == pytest.approx([turn], abs=EXACT)
    arcsine = np.arcsin(np.linalg.norm(axis)) * np.sign(axis[2])
    assert (abs(arcsine - turn) < 1e-9) == (abs(angle) < np.pi / 2)


def nearest(chain, q, joint, goal):
    """Return the value of one joint that alone brings the end effector nearest, inside the limits.

    The squared distance is c - a cos(t) - b sin(t) of a hinge's turn t, c + b t + a t^2 of a
    slide's: found from three evaluations each.
    """

    def value(shift):
        return np.sum(missing(chain, q + shift * np.eye(chain.n)[joint], goal) ** 2)

    lower, upper = chain.lower[joint], chain.upper[joint]
    if chain.pieces[joint].kind == 'prismatic':
        low, middle, high = (value(t) for t in (-1, 0, 1))
        return np.clip(q[joint] - (high - low) / (2 * (high + low - 2 * middle)), lower, upper)
    there, half, back = (value(t) for t in (0, np.pi / 2, np.pi))
    best = q[joint] + np.arctan2((there + back) / 2 - half, (back - there) / 2)
    inside = [t for t in (best - 2 * np.pi, best, best + 2 * np.pi) if lower <= t <= upper]
    if inside:
        return min(inside, key=lambda t: abs(t - q[joint]))
    return min((lower, upper), key=lambda t: value(t - q[joint]))


def check_sweeps(chain, q, goal, sweeps=3):
    """Compare sweeps from the tip to the base; the number of joints that end at a limit."""
    expected, held = np.array(q), 0
    found = points_from('cyclic_coordinate_descent', chain.problem([goal]), q, sweeps)
    for point in found[1:]:
        for joint in reversed(range(chain.n)):
            expected[joint] = nearest(chain, expected, joint, goal)
        assert point == pytest.approx(expected, abs=1e-8)
        held += ((expected == chain.lower) | (expected == chain.upper)).sum()
    return held


@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_2_hinges_go_as_near_as_they_can_in_turn(seed):
    """To 1e-8; without limits, and inside limits that some of them meet."""
    chain, q, goal = reaching(seed, 'rrrr')
    check_sweeps(chain, q, goal)
    assert check_sweeps(chain.limited(q - 0.1, q + 0.2), q, goal) > 0


@pytest.mark.parametrize('kinds', ['pppp', 'rprp', 'prpr'])
@pytest.mark.parametrize('seed', SEEDS)
def test_section_2_2_any_axis_and_prismatic_joints_similarly(seed, kinds):
    chain, q, goal = reaching(seed, kinds)
    check_sweeps(chain, q, goal)
    assert check_sweeps(chain.limited(q - 0.02, q + 0.02), q, goal) > 0


def least_inside(square, linear, normals, bounds, equalities):
    """The least of x'Qx / 2 - c'x with a'x = b for the first rows, a'x <= b for the others.

    Every set of active inequalities is tried: the optimum is the one with multipliers >= 0.
    """
    n = len(linear)
    for mask in product([False, True], repeat=len(bounds) - equalities):
        rows = [*range(equalities), *(equalities + np.flatnonzero(mask))]
        a, b = normals[rows], bounds[rows]
        system = np.block([[square, a.T], [a, np.zeros((len(rows), len(rows)))]])
        solution = np.linalg.solve(system, np.append(linear, b))
        x, multipliers = solution[:n], solution[n + equalities :]
        if (normals @ x <= bounds + 1e-12).all() and (multipliers >= 0).all():
            return x
    raise AssertionError('no optimum')


@pytest.mark.parametrize('solver', ['bfgs', 'sqp'])
@pytest.mark.parametrize('seed', range(6))
def test_eq_10_to_12_least_under_linear_constraints(seed, solver):
    """Slides: G is quadratic, so its least is known in closed form.

    To 1e-5, where a search finds the cost stationary.
    """
    rng = np.random.default_rng(seed)
    axes = np.array([unit(rng.normal(size=3)) for _ in range(3)])
    goal, normals = rng.normal(size=3), rng.normal(size=(3, 3))
    bounds = np.array([0.2, 0.1, 0.3])
    constraints = [
        LinearConstraint(
            {f'joint_{j}': a for j, a in enumerate(normal)},
            lower=bound if k == 0 else -np.inf,
            upper=bound,
        )
        for k, (normal, bound) in enumerate(zip(normals, bounds, strict=True))
    ]
    expected = least_inside(axes @ axes.T, axes @ goal, normals, bounds, 1)
    start = np.linalg.lstsq(normals[:1], bounds[:1], rcond=None)[0]
    problem = slides(*axes).problem([goal], constraints=constraints)
    result = ik.solve(problem, start, solver=solver)
    assert result.q == pytest.approx(expected, abs=1e-5)


def objective(chain, q, goals):
    """G: the sum of squared distances."""
    return np.sum((goals - chain.end_effectors(q)) ** 2)


def gradient(chain, q, goals):
    """Return the gradient of G, 2 J'(e - g)."""
    return 2 * chain.jacobian(q).T @ (chain.end_effectors(q) - goals).ravel()


# Seeds, and how far goals are away; in the last two a change of the gradient is damped
CASES = [*((seed, 0.5) for seed in SEEDS), (7, 1.0), (9, 0.5)]


@pytest.mark.parametrize('first', ['gauss_newton', 'identity'])
@pytest.mark.parametrize(('seed', 'stretch'), CASES)
def test_eq_13_and_15_bfgs(seed, stretch, first):
    """Eight iterations: p = -B^-1 grad f, Armijo from the whole step, and Eq. 15 for B.

    B begins as the Hessian 2 (J'J + eps I) of the linear model: the text prints grad f' grad f, a
    number, for its square of J; or as 2 I, the identity for half of f. Where s'y < 0.2 s'Bs, y
    is damped [Powell1978]; the text leaves that case out. To 1e-7: B's rounding accumulates.
    """
    rng = np.random.default_rng(seed)
    chain = fork(rng)
    q = rng.uniform(-1, 1, chain.n)
    goals = chain.end_effectors(q) + rng.uniform(-stretch, stretch, (2, 3))
    jacobian, eye = chain.jacobian(q), np.eye(chain.n)
    model = 2 * eye if first == 'identity' else 2 * (jacobian.T @ jacobian + 1e-3 * eye)
    points = points_from('bfgs', chain.problem(goals), q, 8, initial_hessian=first, epsilon=1e-3)
    undamped = 0
    for before, after in pairwise(points):
        slope = gradient(chain, before, goals)
        direction, tau = -np.linalg.solve(model, slope), 1.0
        start = objective(chain, before, goals)
        while not (
            objective(chain, before + tau * direction, goals)
            < start + 1e-4 * tau * slope @ direction
        ):
            tau /= 2
        assert after == pytest.approx(before + tau * direction, abs=1e-7)
        s, y = after - before, gradient(chain, after, goals) - slope
        image = model @ s
        if s @ y < 0.2 * s @ image:
            theta = 0.8 * s @ image / (s @ image - s @ y)
            y = theta * y + (1 - theta) * image
        else:
            undamped += 1
        model = model - np.outer(image, image) / (s @ image) + np.outer(y, y) / (y @ s)
    assert undamped >= 3


@pytest.mark.parametrize('seed', SEEDS)
def test_eq_14_gradient_needs_the_transpose_of_j(seed):
    """Printed as J (e - g), whose dimensions do not fit: J'(e - g), for half of the square."""
    chain, q, goal = reaching(seed)
    at = chain.problem([goal]).evaluate(q)
    jacobian, difference = chain.jacobian(q), chain.end_effectors(q)[0] - goal
    assert jacobian.shape == (3, 6)
    assert at.jacobian.T @ at.residual == pytest.approx(jacobian.T @ difference, abs=1e-12)
    h = 1e-6
    slopes = [
        (objective(chain, q + h * e, goal) - objective(chain, q - h * e, goal)) / (4 * h)
        for e in np.eye(chain.n)
    ]
    assert jacobian.T @ difference == pytest.approx(slopes, abs=1e-8)


@pytest.mark.parametrize('solver', ik.SOLVERS)
def test_eq_16_limits_of_single_joints_hold_with_every_solver(solver):
    """Slides along x, y and z: the nearest point of the box is known. To 1e-4 m."""
    lower, upper = np.array([-0.3, -0.2, -0.5]), np.array([0.4, 0.1, 0.3])
    goal = np.array([0.9, -0.6, 0.1])
    chain = slides(*np.eye(3)).limited(lower, upper)
    result = ik.solve(chain.problem([goal]), np.zeros(3), solver=solver)
    assert (result.q >= lower).all()
    assert (result.q <= upper).all()
    assert result.q == pytest.approx(np.clip(goal, lower, upper), abs=1e-4)


@pytest.mark.parametrize('fraction', [1e-2, 1e-4])
@pytest.mark.parametrize('seed', SEEDS)
def test_section_3_3_relative_change_ends_a_solve(seed, fraction):
    """The first iteration that changes no joint by more than a fraction of the largest one."""
    chain, q, goal = reaching(seed, 'rrrrr')
    chain = chain.limited(q - 3, q + 3)  # so that no angle can be written in two ways
    problem = chain.problem([2.0 * unit(goal)])
    points = points_from('bfgs', problem, q, 60)
    changes = [np.abs(b - a).max() / np.abs(b).max() for a, b in pairwise(points)]
    first = 1 + next(k for k, change in enumerate(changes) if change <= fraction)
    result = ik.solve(
        problem, q, solver='bfgs', preset='state_of_the_art', relative_change=fraction
    )
    assert result.iterations == first
    assert result.q == pytest.approx(points[first], abs=1e-12)
