# SPDX-License-Identifier: Apache-2.0
"""`ik bench optimality`: claims of [EngellErleben2011] on other ways to its minimum, measured.

The skeleton is `human`: 71 angles, all with limits, and positions as goals for hands, feet and
head, as in section 6. Goals are those of a random posture near a random start: each angle differs
by a fraction SPREADS of its range (1 sigma). The posture is inside the limits, or, for goals that
need not be in reach, not clamped to them. Starts and postures have angles at their limits, as
people have.

- `method`: section 7 suggests to write the first-order conditions as complementarity

      0 <= x - l  and  f'(x) >= 0  where x = l,    f'(x) <= 0  where x = u,    else f'(x) = 0

  and these as equations: by the minimum map x - mid(l, u, x - f'(x)), or by Fischer and
  Burmeister's function phi(x - l, phi(u - x, -f'(x))) = 0, phi(a, b) = sqrt(a^2 + b^2) - a - b.
  Newton's method with the exact Hessian or with J'J, damped, with a line search on the sum of
  squares of the equations, is compared with the projected line search and the default solver. A
  goal is reached if all end effectors are within 1 cm, or, for goals that need not be in reach, if
  the cost is at most LEAST times the lowest of all methods.
- `direction`: the percentage of directions that descend after clipping to the limits (section 4):
  of the gradient, of Newton's method with J'J + eps I, and of BFGS, at postures with angles at
  their limits, of the skeleton and of two arms.
- `splitting`: a sweep of Gauss and Seidel's method over the normal equations J'J dx = J'e,
  compared with a sweep of cyclic coordinate descent, for goals at several distances (section 3).
- `newton`: [Dorta2014] 4.1 would try Newton's method with second derivatives. Iterations of
  damped Newton steps with the exact Hessian and with J'J, on goals in and out of reach.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.human_model import human
from ik_core.robot.linkages import linkage
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import SolverName, make_solver
from ik_core.tasks import PoseTask, PositionTask

from ..problems import aim, any_q, unit_vector
from ..results import Claim, Row, exponent, swept

GOALS = 100
# Difference of the goal's posture from the start (1 sigma), as a fraction of an angle's range.
SPREADS = (0.02, 0.05, 0.1, 0.2)
KINDS = ('in reach', 'beyond limits')
TOLERANCE = 0.01  # [m] of reached goals: the source's 0.05 units
LEAST = 1.01
# Most iterations of Newton's method on equations, and of the other methods.
ITERATIONS, PROJECTED = 100, 2000
DAMPING = 0.01
SOLVED = 1e-9  # a search ends below this norm of the equations

PROJECTED_METHODS: Mapping[str, tuple[SolverName, Mapping[str, Any]]] = {
    'line search': ('projected_gradient', {'preset': 'tau_one'}),
    'line search, BB': ('projected_gradient', {}),
    'LM': ('levenberg_marquardt', {'restarts': 0}),
}
EQUATIONS = ('minimum map', 'Fischer-Burmeister')
HESSIANS = ('exact', "J'J")
NAMED = dict(zip(EQUATIONS, ('the minimum map', "Fischer and Burmeister's function"), strict=True))

COLUMNS = ('part', 'case', 'method', 'spread', 'count', 'reached', 'iterations', 'error', 'value')


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all parts."""
    count = min(arguments.count, GOALS)
    for kind, spread in bar([(k, s) for k in KINDS for s in SPREADS], 'optimality'):
        yield from method_rows(kind, spread, count)
    yield from direction_rows(20 * count)
    yield from splitting_rows(count)
    yield from newton_rows(count)


def row(part: str, case: str, method: str, **values: Any) -> Row:
    """Return a row with all columns."""
    return {**dict.fromkeys(COLUMNS, ''), 'part': part, 'case': case, 'method': method, **values}


# --- complementarity ---------------------------------------------------------------------------


def derivatives(problem: IkProblem, q: Array, exact: bool) -> tuple[Array, Array]:
    """Return half the cost's gradient J'r (n,), and half its Hessian, or J'J, (n, n), at q (n,).

    It is for position goals without weights, on a robot without mimic joints. A joint i turns the
    column of any joint j below it: d J_j / d q_i = w_i x J_j.
    """
    at, robot = problem.evaluate(q), problem.robot
    hessian = at.jacobian.T @ at.jacobian
    for goal, left in zip(
        problem.goals if exact else (), at.residual.reshape(-1, 3), strict=False
    ):
        jacobian = robot.jacobian(q, goal.link)
        turned = np.cross(left, jacobian[3:].T) @ jacobian[:3]  # r . (w_i x J_j), right for i <= j
        hessian += np.triu(turned) + np.triu(turned, 1).T
    return at.jacobian.T @ at.residual, hessian


def minimum_map(
    x: Array, g: Array, hessian: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return x - mid(l, u, x - g) (n,) and its generalised Jacobian (n, n)."""
    moved = x - g
    held = (moved <= lower) | (moved >= upper)
    values = x - np.clip(moved, lower, upper)
    return values, np.where(held[:, None], np.eye(len(x)), hessian)


def fischer_burmeister(
    x: Array, g: Array, hessian: Array, lower: Array, upper: Array
) -> tuple[Array, Array]:
    """Return phi(x - l, phi(u - x, -g)) (n,) and an element of its generalised Jacobian (n, n)."""
    above, by_above, by_slope = phi(upper - x, -g)
    values, by_below, by_inner = phi(x - lower, above)
    # d phi(u - x, -g) = -by_above dx - by_slope H dx
    diagonal = by_below - by_inner * by_above
    return values, np.diag(diagonal) - (by_inner * by_slope)[:, None] * hessian


def phi(a: Array, b: Array) -> tuple[Array, Array, Array]:
    """Return sqrt(a^2 + b^2) - a - b, and its derivatives by a, by b; at 0 those along a = b."""
    length = np.hypot(a, b)
    safe = np.where(length > 0.0, length, 1.0)
    along = np.sqrt(0.5)
    by_a = np.where(length > 0.0, a / safe, along) - 1.0
    by_b = np.where(length > 0.0, b / safe, along) - 1.0
    return length - a - b, by_a, by_b


SYSTEMS: Mapping[str, Callable[..., tuple[Array, Array]]] = {
    'minimum map': minimum_map,
    'Fischer-Burmeister': fischer_burmeister,
}


def newton_on_equations(
    problem: IkProblem, q0: Array, system: str, exact: bool
) -> tuple[Array, int]:
    """Return the last point (n,), clamped to the limits, and the iterations.

    A step is Levenberg and Marquardt's, damped by the norm of the equations but at most 0.01, and
    halved until the sum of squares falls; if that fails, a step along the gradient.
    """
    robot, x = problem.robot, q0.copy()
    lower, upper = robot.lower, robot.upper

    def equations(at: Array, full: bool = True) -> tuple[Array, Array]:
        if not full:
            found = problem.evaluate(at)
            gradient = found.jacobian.T @ found.residual
            return SYSTEMS[system](at, gradient, np.zeros((robot.n, robot.n)), lower, upper)
        return SYSTEMS[system](at, *derivatives(problem, at, exact), lower, upper)

    for iteration in range(ITERATIONS):
        inside = np.clip(x, lower, upper)
        if problem.errors(inside)[0].max() <= TOLERANCE:
            return inside, iteration
        values, change = equations(x)
        norm = float(np.linalg.norm(values))
        if norm < SOLVED:
            return inside, iteration
        slope = change.T @ values
        damped = change.T @ change + min(norm, DAMPING) * np.eye(robot.n)
        for step in (-np.linalg.solve(damped, slope), -slope):
            tau = next(
                (
                    t
                    for t in 0.5 ** np.arange(20)
                    if np.sum(equations(x + t * step, False)[0] ** 2)
                    < norm**2 + 2e-4 * t * (slope @ step)
                ),
                None,
            )
            if tau is not None:
                break
        if tau is None:
            return inside, iteration
        x = x + tau * step
    return np.clip(x, lower, upper), ITERATIONS


def new_problem(robot: Robot) -> IkProblem:
    """Return position goals for all tips."""
    return IkProblem(robot, [PositionTask(t) for t in robot.tips()], position_tolerance=TOLERANCE)


def posture(robot: Robot, about: Array, share: float, rng: Any) -> Array:
    """Return angles (n,) around `about`, with sigma a fraction of their ranges; not clamped."""
    return np.asarray(about + share * (robot.upper - robot.lower) * rng.normal(size=robot.n))


def cases(robot: Robot, kind: str, spread: float, count: int) -> Iterator[tuple[Array, Array]]:
    """Yield starts (n,) inside the limits, and postures (n,) for goals."""
    rng = np.random.default_rng(0)
    for _ in range(count):
        start = np.clip(posture(robot, np.zeros(robot.n), 0.3, rng), robot.lower, robot.upper)
        goal = posture(robot, start, spread, rng)
        yield start, np.clip(goal, robot.lower, robot.upper) if kind == KINDS[0] else goal


def method_rows(kind: str, spread: float, count: int) -> list[Row]:
    """Return the rows of all methods on the goals of a kind."""
    robot = human()
    problem = new_problem(robot)
    names = [*PROJECTED_METHODS, *(f'{s}, {h}' for s in EQUATIONS for h in HESSIANS)]
    solvers = {
        name: make_solver(solver, **{'max_iterations': PROJECTED, **options})
        for name, (solver, options) in PROJECTED_METHODS.items()
    }
    found: dict[str, list[tuple[float, float, int]]] = {name: [] for name in names}
    for start, goal in cases(robot, kind, spread, count):
        aim(problem, goal)
        for name in names:
            if name in solvers:
                result = solvers[name].solve(problem, start)
                q, iterations = result.q, result.iterations
            else:
                system, _, hessian = name.rpartition(', ')
                q, iterations = newton_on_equations(problem, start, system, hessian == 'exact')
            errors = problem.errors(q)[0]
            found[name].append((float(errors.max()), float(errors @ errors), iterations))
    lowest = np.min([[cost for _, cost, _ in found[name]] for name in names], axis=0)
    made = []
    for name in names:
        errors, costs, counts = np.array(found[name]).T
        good = errors <= TOLERANCE
        if kind != KINDS[0]:
            good |= costs <= LEAST * lowest
        made.append(
            row(
                'method',
                kind,
                name,
                spread=spread,
                count=count,
                reached=100.0 * float(good.mean()),
                iterations=float(np.median(counts)),
                error=float(np.median(errors)),
            )
        )
    return made


# --- directions --------------------------------------------------------------------------------


ARMS = ('ur5e', 'iiwa14')  # their goals are poses
ROBOTS = ('human', *ARMS)
AT_LIMITS = 0.4  # fraction of angles at a limit
EPSILONS = (1e-6, 1e-4, 1e-2)  # [m^2] added to the diagonal of J'J
UPDATES = 10  # iterations of the projected gradient that update BFGS's model


def direction_rows(count: int) -> Iterator[Row]:
    """Yield the percentage `value` of directions that rise after clipping to the limits.

    `reached`: the percentage of clipped directions along which some step lowers the cost. Only
    postures at which a limit clips the direction count.
    """
    for name in bar(ROBOTS, 'directions'):
        robot = load_robot(name)
        problem, rng = new_problem(robot), np.random.default_rng(1)
        if name in ARMS:
            problem = IkProblem(robot, [PoseTask(tip) for tip in robot.tips()])
        found: dict[str, list[tuple[bool, bool]]] = {}
        for _ in range(count):
            aim(problem, rng.uniform(robot.lower, robot.upper))
            q = at_limits(robot, rng)
            for method, model, at in models(problem, q):
                tried = clipped(problem, model, at)
                found.setdefault(method, []).extend([tried] if tried else [])
        for method, tries in found.items():
            rises, lowers = 100.0 * np.mean(tries, axis=0)
            shares = {'value': float(rises), 'reached': float(lowers)}
            yield row('direction', name, method, count=len(tries), **shares)


def at_limits(robot: Robot, rng: Any) -> Array:
    """Return a random posture (n,) with about AT_LIMITS of its angles at a limit."""
    q = rng.uniform(robot.lower, robot.upper)
    end = np.where(rng.random(robot.n) < 0.5, robot.lower, robot.upper)
    return np.asarray(np.where(rng.random(robot.n) < AT_LIMITS, end, q))


def models(problem: IkProblem, q: Array) -> Iterator[tuple[str, Array, Array]]:
    """Yield methods: name, model (n, n) of half the Hessian, and the point (n,) of the model."""
    jacobian = problem.evaluate(q).jacobian
    square = jacobian.T @ jacobian
    yield 'gradient', np.eye(len(q)), q
    for epsilon in EPSILONS:
        yield f"J'J + {epsilon:g} I", square + epsilon * np.eye(len(q)), q
    yield ('BFGS', *learned(problem, q))


def learned(problem: IkProblem, q: Array) -> tuple[Array, Array]:
    """Return BFGS's model (n, n) after UPDATES projected line searches from q, and their end (n,).

    It starts at J'J + 0.01 I. A step along which the slope does not grow gives no update.
    """
    robot = problem.robot
    at = problem.evaluate(q)
    gradient = at.jacobian.T @ at.residual
    model = at.jacobian.T @ at.jacobian + 0.01 * np.eye(robot.n)
    for _ in range(UPDATES):
        cost, after = at.cost, q
        for tau in 0.5 ** np.arange(20):
            after = np.clip(q - tau * gradient, robot.lower, robot.upper)
            if problem.evaluate(after).cost < cost:
                break
        at = problem.evaluate(after)
        slope = at.jacobian.T @ at.residual
        s, y = after - q, slope - gradient
        if s @ y > 1e-12:
            image = model @ s
            model = model - np.outer(image, image) / (s @ image) + np.outer(y, y) / (s @ y)
        q, gradient = after, slope
    return model, q


def clipped(problem: IkProblem, model: Array, q: Array) -> tuple[bool, bool] | None:
    """Return whether -B^-1 g, clipped to the limits at q (n,), rises, and whether a step descends.

    Returns None if no limit clips it, or if it vanishes.
    """
    robot = problem.robot
    at = problem.evaluate(q)
    gradient = at.jacobian.T @ at.residual
    way = -np.linalg.solve(model, gradient)
    out = ((q <= robot.lower) & (way < 0.0)) | ((q >= robot.upper) & (way > 0.0))
    left = np.where(out, 0.0, way)
    if not out.any() or np.linalg.norm(left) < 1e-9:
        return None
    lower = any(
        problem.evaluate(np.clip(q + tau * way, robot.lower, robot.upper)).cost < at.cost
        for tau in 0.5 ** np.arange(40)
    )
    return bool(gradient @ left >= 0.0), lower


# --- matrix splitting --------------------------------------------------------------------------


AWAY = (1e-1, 1e-2, 1e-3, 1e-4)  # [m] distances of goals from the tip


def splitting_rows(count: int) -> Iterator[Row]:
    """Yield the distance of a CCD sweep from a Gauss-Seidel sweep over its length: `value`.

    It is a median; `spread` is the distance of the goal [m]. Postures are farther inside the
    limits than a sweep moves.
    """
    for name in ROBOTS:
        robot = load_robot(name)
        problem = IkProblem(robot, [PositionTask(robot.tips()[0])], position_tolerance=1e-12)
        sweep = make_solver('cyclic_coordinate_descent', max_iterations=1, free_axis=False)
        for away in AWAY:
            rng, found = np.random.default_rng(2), []
            for _ in range(count):
                middle = 0.5 * (robot.lower + robot.upper)
                q = middle + 0.5 * (any_q(problem, rng) - middle)
                goal = problem.goals[0]
                tip = robot.forward_kinematics(q, goal.link)[:3, 3]
                goal.set_target(position=tip + away * unit_vector(rng))
                gauss_seidel = gauss_seidel_sweep(problem, q)
                moved = sweep.solve(problem, q).q - q
                off = np.linalg.norm(moved - gauss_seidel) / np.linalg.norm(gauss_seidel)
                found.append(float(off))
            case = {'spread': away, 'count': count}
            yield row('splitting', name, 'CCD', value=float(np.median(found)), **case)


def gauss_seidel_sweep(problem: IkProblem, q: Array) -> Array:
    """Return dx (n,) after a sweep over J'J dx = J'e at q (n,), from 0, from tip to base."""
    at = problem.evaluate(q)
    left, dx = -at.residual, np.zeros(problem.robot.n)
    for j, column in zip(reversed(problem.variables), at.jacobian.T[::-1], strict=True):
        if (square := column @ column) > 1e-12:
            dx[j] = column @ left / square
            left = left - dx[j] * column
    return dx


# --- Newton's method with second derivatives ---------------------------------------------------


FLAT = 1e-10  # Newton's method ends below this norm of half the gradient
REACHES = (0.7, 1.1, 1.5)  # distances of goals from the root, relative to the length of the arm


def newton_rows(count: int) -> Iterator[Row]:
    """Yield the median iterations of damped Newton steps to a flat gradient, with both Hessians.

    The arm has seven links without limits, and random starts; `spread` is the distance of the goal
    over the length of the arm. `value`: iterations of the default solver, without restarts.
    """
    arm = linkage(7, 'ball', lengths=0.2)
    problem = IkProblem(arm, [PositionTask('tip')], position_tolerance=1e-12)
    ours = make_solver(restarts=0, closed_form=False)
    for reach in bar(REACHES, 'newton'):
        for name in HESSIANS:
            rng, counts, default, ends = np.random.default_rng(3), [], [], []
            for _ in range(count):
                q = rng.uniform(-1.0, 1.0, arm.n)
                problem.goals[0].set_target(position=1.4 * reach * unit_vector(rng))
                default.append(ours.solve(problem, q).iterations)
                iterations, end = newton_steps(problem, q, name == 'exact')
                counts.append(iterations)
                ends.append(end)
            yield row(
                'newton',
                'arm of 7 links',
                name,
                spread=reach,
                count=count,
                reached=100.0 * float(np.mean(np.array(counts) < PROJECTED)),
                iterations=float(np.median(counts)),
                error=float(np.median(ends)),
                value=float(np.median(default)),
            )


def newton_steps(problem: IkProblem, q: Array, exact: bool) -> tuple[int, float]:
    """Return the iterations until the gradient is flat, and the distance [m] from the goal there.

    The damping is divided by 4 after a step that lowers the cost, and multiplied by 4 after any
    other. The exact Hessian is made positive definite by the absolute values of its eigenvalues.
    """
    damping, cost, iteration = 0.1, problem.evaluate(q).cost, 0
    while iteration < PROJECTED:
        gradient, hessian = derivatives(problem, q, exact)
        if np.linalg.norm(gradient) < FLAT:
            break
        values, vectors = np.linalg.eigh(hessian)
        while damping < 1e12:
            step = -vectors @ ((vectors.T @ gradient) / (np.abs(values) + damping))
            after = problem.evaluate(q + step).cost
            if after < cost:
                break
            damping *= 4.0
        else:
            break
        q, cost, damping = q + step, after, max(0.25 * damping, 1e-12)
        iteration += 1
    return iteration, float(problem.errors(q)[0][0])


# --- claims and figure -------------------------------------------------------------------------


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims on other ways to the minimum."""
    return [
        *(_equation_claim(rows, system) for system in EQUATIONS),
        _direction_claim(rows),
        _gradient_claim(rows),
        _splitting_claim(rows),
        _newton_claim(rows),
    ]


def _part(rows: Sequence[Row], part: str) -> list[Row]:
    return [row for row in rows if row['part'] == part]


def _equation_claim(rows: Sequence[Row], system: str) -> Claim:
    """Return the claim that equations need fewer iterations and reach as many goals."""
    own = {(r['case'], r['spread'], r['method']): r for r in _part(rows, 'method')}
    names = [f'{system}, {hessian}' for hessian in HESSIANS]

    def better(kind: str, spread: float, name: str) -> bool:
        ours, theirs = own[kind, spread, name], own[kind, spread, 'line search']
        return bool(
            ours['reached'] >= theirs['reached'] and ours['iterations'] < theirs['iterations']
        )

    def state(kind: str, spread: float, name: str) -> str:
        found = own[kind, spread, name]
        return f'{found["iterations"]:g} iterations, {found["reached"]:.0f} % reached'

    ends = SPREADS[0], SPREADS[-1]
    said = [
        f'{kind}, {spread:g}: {state(kind, spread, names[0])}, the line search '
        f'{state(kind, spread, "line search")}'
        for kind in KINDS
        for spread in ends
    ]
    return swept(
        f'the conditions of the minimum as complementarity, by {NAMED[system]} (section 7): fewer '
        'iterations than the line search, as many goals reached',
        'may be interesting',
        '; '.join(said),
        f'goals {ends[0]:g} to {ends[1]:g} of each range away, in reach and beyond limits; the '
        f"exact Hessian and J'J; at most {ITERATIONS} iterations, of the line search {PROJECTED}",
        'fewer iterations in the median, and at least as many goals',
        {s: all(better(k, s, name) for k in KINDS for name in names) for s in SPREADS},
    )


def _rising(rows: Sequence[Row], method: str) -> str:
    found = [row for row in _part(rows, 'direction') if row['method'] == method]
    return ', '.join(f'{row["case"]} {row["value"]:.2g} %' for row in found)


def _direction_claim(rows: Sequence[Row]) -> Claim:
    newton = f"J'J + {EPSILONS[0]:g} I"
    found = [row for row in _part(rows, 'direction') if row['method'] != 'gradient']
    return Claim(
        'a quasi-Newton direction that is clipped to the limits need not descend (section 4)',
        'not guaranteed',
        f"of those that a limit clips there rise: BFGS {_rising(rows, 'BFGS')}; J'J "
        f'{_rising(rows, newton)}',
        f"{len(ROBOTS)} robots; BFGS, J'J + {EPSILONS[0]:g} to {EPSILONS[-1]:g} I",
        'one of them rises',
        [any(row['value'] > 0.0 for row in found)],
    )


def _gradient_claim(rows: Sequence[Row]) -> Claim:
    found = [row for row in _part(rows, 'direction') if row['method'] == 'gradient']
    return Claim(
        'the projected gradient always descends (section 5)',
        'guaranteed',
        f'{_rising(rows, "gradient")} rise',
        f'{len(ROBOTS)} robots',
        'none of them rises',
        [row['value'] == 0.0 and row['reached'] == 100.0 for row in found],
    )


def _splitting_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim of equality to first order: the relative difference falls with distance."""
    parts = {name: [r for r in _part(rows, 'splitting') if r['case'] == name] for name in ROBOTS}
    slopes = [
        exponent([r['spread'] for r in own[1:]], [r['value'] for r in own[1:]])
        for own in parts.values()
    ]
    said = [
        f'{name} {100 * own[0]["value"]:.2g} % and {100 * own[-1]["value"]:.2g} %'
        for name, own in parts.items()
    ]
    return Claim(
        'matrix splitting of the Newton equation is cyclic coordinate descent (section 3)',
        'equivalent',
        f'a sweep of Gauss-Seidel is off a sweep of CCD by, {100 * AWAY[0]:g} cm and '
        f'{1e3 * AWAY[-1]:g} mm away: {", ".join(said)}: equal to first order',
        f'{len(ROBOTS)} robots, distances {AWAY[-1]:g} to {AWAY[0]:g} m',
        'the difference falls as the distance: exponent 0.9 to 1.1',
        [abs(slope - 1.0) < 0.1 for slope in slopes],
    )


def _newton_claim(rows: Sequence[Row]) -> Claim:
    own = {(row['spread'], row['method']): row for row in _part(rows, 'newton')}
    pairs = [[own[reach, name] for name in HESSIANS] for reach in REACHES]
    said = [
        f'{a["iterations"]:g} and {b["iterations"]:g} at {reach:g} of the length'
        for reach, (a, b) in zip(REACHES, pairs, strict=True)
    ]
    default = ', '.join(f'{a["value"]:g}' for a, _ in pairs)
    return swept(
        "[Dorta2014] 4.1: Newton's method with second derivatives: fewer iterations than with J'J",
        'to be explored',
        f'{", ".join(said)}; `levenberg_marquardt`, which has both, {default}',
        f'goals at {REACHES[0]:g} to {REACHES[-1]:g} of the length',
        'fewer iterations in the median',
        {r: a['iterations'] < b['iterations'] for r, (a, b) in zip(REACHES, pairs, strict=True)},
    )


COLOURS = {
    'line search': RED,
    'line search, BB': PINK,
    'LM': BLACK,
    'minimum map': BLUE,
    'Fischer-Burmeister': ORANGE,
}


def draw(rows: Sequence[Row]) -> Any:
    """Draw iterations and goals reached over their distance; sweeps; Newton's iterations."""
    figure = new_figure(11.0, 6.4)
    above, below = figure.subplots(2, 3)
    for kind, axes in zip(KINDS, (above, below), strict=True):
        for panel, key in zip(axes, ('iterations', 'reached'), strict=False):
            own = [row for row in _part(rows, 'method') if row['case'] == kind]
            for name in dict.fromkeys(row['method'] for row in own):
                found = [row for row in own if row['method'] == name]
                first, comma, hessian = name.rpartition(', ')
                known = name in COLOURS
                panel.plot(
                    [row['spread'] for row in found],
                    [row[key] for row in found],
                    '--' if hessian == HESSIANS[1] and comma else '-',
                    marker='.',
                    color=COLOURS[name if known else first],
                    label=name,
                )
            panel.set(xlabel='distance of the goal [share of each range]', xscale='log')
            panel.set_xticks(SPREADS, [f'{spread:g}' for spread in SPREADS])
            panel.minorticks_off()
            panel.set_title(f'Goals {kind}')
        axes[0].set(ylabel='iterations, median', yscale='log')
        axes[1].set(ylabel='goals reached [%]', ylim=(-5, 105))
    for name, colour in zip(ROBOTS, (BLACK, BLUE, GREEN), strict=True):
        own = [row for row in _part(rows, 'splitting') if row['case'] == name]
        x, y = ([row[key] for row in own] for key in ('spread', 'value'))
        above[2].plot(x, y, marker='.', color=colour, label=name)
    above[2].set(xscale='log', yscale='log', xlabel='distance of the goal [m]')
    above[2].set(ylabel='difference over the length', title='Sweeps: Gauss-Seidel and CCD')
    above[2].legend()
    for name, style in zip(HESSIANS, ('-', '--'), strict=True):
        own = [row for row in _part(rows, 'newton') if row['method'] == name]
        x, y = ([row[key] for row in own] for key in ('spread', 'iterations'))
        below[2].plot(x, y, style, marker='.', color=BLACK, label=name)
    below[2].set(xlabel='distance of the goal [length of the arm]', ylabel='iterations, median')
    below[2].set(title="Newton's method", ylim=(0, None))
    below[2].legend(title='Hessian')
    figure.legend(*above[0].get_legend_handles_labels(), loc='outside lower center', ncols=4)
    return figure
