# SPDX-License-Identifier: Apache-2.0
"""`ik bench coursework`: methods and conjectures of [Dorta2014], sections 3 and 3.1.

The linkage is that of `ik bench linkage`: three rods of 0.4 m, joined by two angles each.

- `integration`: Eq. 3.9 is a step of Euler's method for dq/dt = v(q), and the source suspects that
  "Verlet or Runge-Kutta integration methods would work better". Methods are compared by their
  evaluations of v per second of motion: Euler's method needs one per step, Verlet's two, RK4 four.
  v is the transpose's J'e (times 1/s m^2), the pseudoinverse's J+e (times 1/s), or the normalised
  direction of section 3.2, 1 rad/s with slow-in and slow-out; with 20 evaluations by Euler's
  method the last one is the preset `coursework`. The reference is RK4 with steps of 1.25 ms.
  Verlet's method is for accelerations; those of dq/dt = v(q) are (dv/dq) v, computed here by a
  difference of v along itself. Reversals count until the tip is within 1 cm of the closest point.
- `derivatives`: the errors of Eq. 3.5 and of central differences, Eq. 3.6, for several steps. The
  truth is a complex step through rotations in extended precision, which uses neither.
- `stability`: goals within 1 cm after 1000 steps of the presets `coursework` of the transpose and
  of the pseudoinverse, and steps in which the joints went back, for each derivative. The text
  before Eq. 3.5 uses the vector to "the target end-effector position", its formula that to the end
  effector: both are measured.
- `interpolation`: the source's first attempt: angles of the end position by our default solver,
  and linear interpolation between the angles; compared with J+e by tiny steps. Linkages have 2 to
  6 hinges.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.linkages import linkage
from ik_core.solvers import SolverName, make_solver
from ik_core.solvers.base import KernelSolver
from ik_core.tasks import PositionTask

from ..problems import unit_vector
from ..results import Claim, Row, intervals, swept
from .linkage import CLOSE, LENGTH, PATIENCE, REACH, RODS, distance, problem_at

Field = Callable[[Array], Array]  # the velocity of the joints (n,) [rad/s] at q (n,)

# [s] After 5 s the error of J+e is 0.7 % of the initial one.
DURATIONS = {'transpose': 5.0, 'pseudoinverse': 5.0, 'normalised': 20.0}
RATES = (4, 8, 20, 40, 80, 160)  # evaluations of v for a second of motion; 20 is the source's
OWN_RATE = 20
EACH = {'Euler': 1, 'Verlet': 2, 'RK4': 4}  # evaluations of v in a step
REFERENCE_STEP = 1.0 / 800.0  # [s]
INSIDE, OUT = 'inside the boundary', 'out of reach'
# Distances of goals from the root, in lengths of the linkage.
PLACES = {'in reach': 0.6, INSIDE: 0.999, OUT: 1.2}
CASES = 6
CAUSED = 0.1  # Euler's method causes reversals if others have at most this fraction of them
# Fraction of the path with slow-in and slow-out, and least fraction of the speed in it.
SLOW, LEAST = 0.2, 0.01
RANK = 1e-6  # for J+, singular values below this, relative to the largest, are 0
APART = 1e-4  # [s] step of the difference of v along itself
LOST = 10.0  # [m] larger differences of paths count as this

DIFFERENCES = tuple(10.0**k for k in range(-12, 1))  # h of the central differences [rad]
FORMULA, WORDS, CENTRAL = 'Eq. 3.5', 'Eq. 3.5, to the target', 'Eq. 3.6'
POINTS = 100
# Factor from which on reversals count as fewer: repetitions of one method differ by less.
FEWER = 0.8
MORE = 5.0  # [%] from this difference on, more goals are reached
STABILITY_CASES = 60
METHODS: dict[str, SolverName] = {
    'transpose': 'jacobian_transpose',
    'pseudoinverse': 'pseudoinverse',
}

ARMS = (2, 3, 4, 5, 6)
MOVES, SAMPLES = 50, 50
AWAY = 0.1  # a path is not straight if it leaves the line by this fraction of its length


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all parts."""
    cases = min(arguments.count, CASES)
    for place, field in bar(
        [(p, f) for p in PLACES for f in DURATIONS], 'coursework, integration'
    ):
        yield from integration_rows(place, field, cases)
    yield from derivative_rows(min(arguments.count, POINTS))
    for place, method in bar([(p, m) for p in PLACES for m in METHODS], 'coursework, stability'):
        yield from stability_rows(place, method, min(arguments.count, STABILITY_CASES))
    for rods in ARMS:
        yield from interpolation_rows(rods, min(arguments.count, MOVES))


def row_of(part: str, case: str, method: str, **values: float | str) -> Row:
    """Return a row with the columns of all parts."""
    columns = ('rate', 'step', 'error', 'worst', 'reversals', 'success_percent', 'x', 'y')
    return {'part': part, 'case': case, 'method': method, **dict.fromkeys(columns, ''), **values}


# --- integration --------------------------------------------------------------------------------


def integration_rows(place: str, field: str, cases: int) -> list[Row]:
    """Return rows of all integration methods and rates, and the reference's reversals.

    error, worst : median and largest difference [m] of the tip's path from the reference's, at
        equal times
    reversals : median number of steps in which the joints went back; for the reference, the larger
        one of RK4's and of Euler's
    """
    found: dict[tuple[str, int], list[tuple[float, int]]] = {}
    rng = np.random.default_rng(0)
    for _ in range(cases):
        q0 = rng.uniform(-0.8, 0.8, 2 * RODS)
        problem = problem_at(PLACES[place] * REACH * unit_vector(rng))
        v = field_of(field, problem, q0)
        duration = DURATIONS[field]
        exact = integrated(v, q0, 'RK4', REFERENCE_STEP, duration)
        until = CLOSE + max(0.0, PLACES[place] - 1.0) * REACH
        fine = integrated(v, q0, 'Euler', REFERENCE_STEP, duration)
        back = max(reversals(until_close(problem, path, until)) for path in (exact, fine))
        found.setdefault(('reference', 0), []).append((0.0, back))
        for method, each in EACH.items():
            for rate in RATES:
                path = integrated(v, q0, method, each / rate, duration)
                found.setdefault((method, rate), []).append(
                    (apart(problem, path, exact), reversals(until_close(problem, path, until)))
                )
    return [
        row_of(
            'integration',
            f'{field}, {place}',
            method,
            rate=rate or round(EACH['RK4'] / REFERENCE_STEP),
            step=EACH[method] / rate if rate else REFERENCE_STEP,
            error=float(np.median(runs, axis=0)[0]),
            worst=float(np.max(runs, axis=0)[0]),
            reversals=float(np.median(runs, axis=0)[1]),
        )
        for (method, rate), runs in found.items()
    ]


def field_of(name: str, problem: IkProblem, q0: Array) -> Field:
    """Return the velocity field `name` of DURATIONS, for a motion that begins at q0 (n,)."""
    first = distance(problem, q0)

    def transpose(q: Array) -> Array:
        at = problem.evaluate(q)
        return -at.jacobian.T @ at.residual

    def pseudoinverse(q: Array) -> Array:
        at = problem.evaluate(q)
        return -np.linalg.pinv(at.jacobian, rcond=RANK) @ at.residual

    def normalised(q: Array) -> Array:
        at = problem.evaluate(q)
        lengths = np.linalg.norm(at.jacobian, axis=0)
        direction = -(at.jacobian / np.where(lengths > 0.0, lengths, 1.0)).T @ at.residual
        left = float(np.linalg.norm(at.residual)) / first
        speed = min(1.0, max(LEAST, min(1.0 - left, left) / SLOW))
        return speed * direction / max(float(np.linalg.norm(direction)), 1e-12)

    return {'transpose': transpose, 'pseudoinverse': pseudoinverse, 'normalised': normalised}[name]


def integrated(v: Field, q0: Array, method: str, step: float, duration: float) -> Array:
    """Return the joints (steps + 1, n) at times 0, step, ... duration [s].

    They stop before they overflow.
    """
    path = [q0]
    for k in range(round(duration / step)):
        q = path[-1]
        if method == 'Euler':
            q = q + step * v(q)
        elif method == 'RK4':
            a = v(q)
            b = v(q + 0.5 * step * a)
            c = v(q + 0.5 * step * b)
            q = q + step / 6.0 * (a + 2.0 * b + 2.0 * c + v(q + step * c))
        else:
            velocity = v(q)
            acceleration = (v(q + APART * velocity) - velocity) / APART
            moved = step**2 * acceleration
            q = 2.0 * q - path[-2] + moved if k else q + step * velocity + 0.5 * moved
        path.append(q if np.abs(q).max() < 1e6 else path[-1])
    return np.array(path)


def apart(problem: IkProblem, path: Array, exact: Array) -> float:
    """Return the largest distance [m] of the tips of two motions (steps + 1, n) at equal times."""
    every = (len(exact) - 1) / (len(path) - 1)
    same = exact[np.round(every * np.arange(len(path))).astype(int)]
    return min(
        LOST, float(np.linalg.norm(tips(problem, path) - tips(problem, same), axis=1).max())
    )


def until_close(problem: IkProblem, path: Array, close: float) -> Array:
    """Return a motion (steps + 1, n) until the tip is within `close` [m] of its goal."""
    goal = problem.goals[0].transform[:3, 3]
    inside = np.linalg.norm(tips(problem, path) - goal, axis=1) < close
    return path[: int(np.argmax(inside))] if inside.any() else path


def tips(problem: IkProblem, path: Array) -> Array:
    """Return positions (steps, 3) [m] of the tip along a motion (steps, n)."""
    return np.array([problem.robot.forward_kinematics(q, 'tip')[:3, 3] for q in path])


def reversals(path: Array) -> int:
    """Return the number of steps of a motion (steps + 1, n) in which the joints go back."""
    if len(path) < 3:
        return 0
    steps = np.diff(path, axis=0)
    return int((np.sum(steps[1:] * steps[:-1], axis=1) < 0.0).sum())


# --- derivatives --------------------------------------------------------------------------------


def derivative_rows(points: int) -> list[Row]:
    """Return the errors of both derivatives [m/rad]: median and largest over random points."""
    rng = np.random.default_rng(0)
    robot = linkage(RODS, 'two_angle', lengths=LENGTH)
    found: dict[float, list[float]] = {h: [] for h in (0.0, *DIFFERENCES)}
    for _ in range(points):
        q = rng.uniform(-np.pi, np.pi, robot.n)
        truth = true_jacobian(q)
        formula = robot.jacobian(q, 'tip')[:3]
        found[0.0].append(float(np.abs(formula - truth).max()))
        for h in DIFFERENCES:
            found[h].append(float(np.abs(central_differences(robot, q, h) - truth).max()))
    return [
        row_of(
            'derivatives',
            '',
            CENTRAL if h else FORMULA,
            step=h,
            error=float(np.median(errors)),
            worst=max(errors),
        )
        for h, errors in found.items()
    ]


def central_differences(robot: Any, q: Array, h: float) -> Array:
    """Return the Jacobian (3, n) [m/rad] of the tip's position by Eq. 3.6."""
    columns = []
    for j in range(robot.n):
        shift = h * np.eye(robot.n)[j]
        above, below = (robot.forward_kinematics(x, 'tip')[:3, 3] for x in (q + shift, q - shift))
        columns.append((above - below) / (2.0 * h))
    return np.transpose(columns)


def true_jacobian(q: Array) -> Array:
    """Return the Jacobian (3, n) [m/rad] of the tip's position, by complex steps of 1e-30 rad.

    It multiplies R_z R_y and a rod in extended precision: all digits of a float are right.
    """
    tiny, columns = np.longdouble(1e-30), []
    for j in range(len(q)):
        x = np.asarray(q, np.clongdouble)
        x[j] += 1j * tiny
        turn, tip = np.eye(3, dtype=np.clongdouble), np.zeros(3, np.clongdouble)
        for z, y in x.reshape(-1, 2):
            about_z = [[np.cos(z), -np.sin(z), 0.0], [np.sin(z), np.cos(z), 0.0], [0.0, 0.0, 1.0]]
            about_y = [[np.cos(y), 0.0, np.sin(y)], [0.0, 1.0, 0.0], [-np.sin(y), 0.0, np.cos(y)]]
            turn = turn.dot(np.array(about_z)).dot(np.array(about_y))
            tip = tip + np.longdouble(LENGTH) * turn[:, 0]
        columns.append(np.asarray(tip.imag / tiny, float))
    return np.transpose(columns)


def stability_rows(place: str, method: str, cases: int) -> list[Row]:
    """Return the ends of the steps of a preset, for each derivative.

    error : median distance from the goals [m]
    success_percent : goals within 1 cm
    reversals : mean number of steps in which the joints went back
    """
    jacobians = [(FORMULA, 0.0, 'analytic'), (WORDS, 0.0, 'target')]
    jacobians += [(CENTRAL, h, 'central_difference') for h in DIFFERENCES]
    found = []
    for name, h, jacobian in jacobians:
        options: dict[str, Any] = {'jacobian': jacobian}
        if h:
            options['difference_step'] = h
        ends, back = np.transpose(steps_of(place, method, cases, options))
        values = {
            'error': float(np.median(ends)),
            'success_percent': 100.0 * float(np.mean(ends < CLOSE)),
            'reversals': float(back.mean()),
        }
        found.append(row_of('stability', f'{method}, {place}', name, step=h, **values))
    return found


def steps_of(
    place: str, method: str, cases: int, options: dict[str, Any]
) -> list[tuple[float, int]]:
    """Return each case's distance [m] from its goal after PATIENCE steps, and reversals."""
    rng, found = np.random.default_rng(0), []
    solver = make_solver(
        METHODS[method], preset='coursework', max_iterations=10**9, restarts=0, **options
    )
    assert isinstance(solver, KernelSolver)
    for _ in range(cases):
        q0 = rng.uniform(-0.8, 0.8, 2 * RODS)
        problem = problem_at(PLACES[place] * REACH * unit_vector(rng))
        workspace = solver.workspace(problem)
        workspace.load(q0)
        workspace.run(0)
        path = [q0]
        for _ in range(PATIENCE):
            workspace.loop(workspace.search.address, 1)  # no search, which leaves saddles
            path.append(workspace.search['x'].copy())
        found.append((distance(problem, path[-1]), reversals(np.array(path))))
    return found


# --- interpolation ------------------------------------------------------------------------------


def interpolation_rows(rods: int, moves: int) -> list[Row]:
    """Return the distances of tips from the straight line to their goals, relative to its length.

    For the source's arm of three rods, the first path is added point by point.
    """
    robot, rng = linkage(rods, 'hinge', lengths=REACH / rods), np.random.default_rng(rods)
    found: dict[str, list[float]] = {'interpolated': [], 'pseudoinverse': []}
    lost, rows = 0, []
    for move in range(moves):
        q0, q1 = (rng.uniform(-1.5, 1.5, rods) for _ in range(2))
        goal = robot.forward_kinematics(q1, 'tip')[:3, 3]
        problem = IkProblem(robot, [PositionTask('tip', goal)], position_tolerance=1e-9)
        end = make_solver().solve(problem, q0)
        lost += not end.success
        v = field_of('pseudoinverse', problem, q0)
        paths = {
            'interpolated': np.linspace(q0, end.q, SAMPLES + 1),
            'pseudoinverse': integrated(v, q0, 'Euler', 0.01, DURATIONS['pseudoinverse']),
        }
        for name, path in paths.items():
            way = tips(problem, path)
            found[name].append(bulge(way, way[0], goal))
            if rods == RODS and move == 0:
                places = way[:: len(way) // SAMPLES]
                rows += [row_of('path', 'move 1', name, x=float(x), y=float(y))
                         for x, y, _ in places]  # fmt: skip
    return [
        *rows,
        *(
            row_of(
                'interpolation',
                f'{rods} rods',
                name,
                error=float(np.median(shares)),
                worst=max(shares),
                success_percent=100.0 * (1.0 - lost / moves) if name == 'interpolated' else '',
            )
            for name, shares in found.items()
        ),
    ]


def bulge(way: Array, start: Array, goal: Array) -> float:
    """Return the largest distance of points (P, 3) from a segment, relative to its length."""
    along = goal - start
    share = np.clip((way - start) @ along / (along @ along), 0.0, 1.0)
    off = way - start - share[:, None] * along
    return float(np.linalg.norm(off, axis=1).max() / np.linalg.norm(along))


# --- claims -------------------------------------------------------------------------------------


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims on what the source tried, suspected and preferred."""
    return [
        _integration_claim(rows, 'RK4', 'Runge-Kutta'),
        _integration_claim(rows, 'Verlet', 'Verlet'),
        *(_cause_claim(rows, 'normalised', place) for place in PLACES),
        _cause_claim(rows, 'pseudoinverse', OUT),
        _accuracy_claim(rows),
        *(_stability_claim(rows, m, reading) for reading in (FORMULA, WORDS) for m in METHODS),
        _interpolation_claim(rows),
    ]


def of_motion(rows: Sequence[Row], case: str, method: str) -> dict[float, Row]:
    """Return the rows of an integration method in a motion, by rate."""
    wanted = ('integration', case, method)
    return {r['rate']: r for r in rows if (r['part'], r['case'], r['method']) == wanted}


def _integration_claim(rows: Sequence[Row], method: str, name: str) -> Claim:
    """Return the claim that a method's paths are nearer to the reference than Euler's."""
    cases = dict.fromkeys(row['case'] for row in rows if row['part'] == 'integration')
    held: dict[str, list[bool]] = {}
    for case in cases:
        other, euler = of_motion(rows, case, method), of_motion(rows, case, 'Euler')
        held[case] = [other[rate]['error'] < euler[rate]['error'] for rate in RATES]
    shown = [f'transpose, {next(iter(PLACES))}', f'normalised, {INSIDE}']
    numbers = '; '.join(
        f"{case}: {1e3 * of_motion(rows, case, method)[OWN_RATE]['error']:.2g} mm, Euler's "
        f'{1e3 * of_motion(rows, case, "Euler")[OWN_RATE]["error"]:.2g} mm'
        for case in shown
    )
    nearer = sum(sum(of) for of in held.values())
    return Claim(
        f"{name} integration works better than Euler's: nearer to the path of tiny steps (3.1)",
        'perhaps',
        f'at {OWN_RATE} evaluations a second {numbers}; nearer in {nearer} of '
        f'{len(RATES) * len(held)} cases{_exceptions(held)}',
        f'{len(held)} motions, {RATES[0]} to {RATES[-1]} evaluations a second',
        "a smaller median distance than Euler's",
        [one for of in held.values() for one in of],
    )


def _exceptions(held: dict[str, list[bool]]) -> str:
    """Return the rates at which a claim fails, or holds if these are fewer, by motion."""
    most = 2 * sum(map(sum, held.values())) > len(RATES) * len(held)
    named = {
        case: intervals(RATES, [one is not most for one in of])
        for case, of in held.items()
        if any(one is not most for one in of)
    }
    if not named:
        return ''
    return f'; {"not " if most else ""}at ' + '; '.join(f'{at} ({c})' for c, at in named.items())


def _cause_claim(rows: Sequence[Row], field: str, place: str) -> Claim:
    """Return the claim that a motion oscillates by Euler's method only."""
    case = f'{field}, {place}'
    euler, runge = (of_motion(rows, case, method) for method in ('Euler', 'RK4'))
    [tiny] = of_motion(rows, case, 'reference').values()
    shaken = [rate for rate in RATES if euler[rate]['reversals']]
    ours = (
        f'steps back at {OWN_RATE} evaluations a second: '
        f'Euler {euler[OWN_RATE]["reversals"]:g} of '
        f'{DURATIONS[field] * OWN_RATE:g}, RK4 {runge[OWN_RATE]["reversals"]:g} of '
        f'{DURATIONS[field] * OWN_RATE / EACH["RK4"]:g}, tiny steps {tiny["reversals"]:g} of '
        f'{DURATIONS[field] / REFERENCE_STEP:g}'
    )
    fault: dict[float, bool] = {
        rate: max(runge[rate]['reversals'], tiny['reversals']) <= CAUSED * euler[rate]['reversals']
        for rate in shaken
    }
    text = f"Euler's method is why the motion oscillates: {case} (3.1)"
    of = f'those of {RATES[0]} to {RATES[-1]} evaluations a second that oscillate'
    criterion = f'RK4 and tiny steps go back at most {100 * CAUSED:g} % as often'
    if not shaken:
        return Claim(text, 'suspected', f'{ours}; no rate oscillates', of, criterion, [False])
    if len(shaken) < len(RATES):
        ours += f'; oscillates at {_list(shaken)}'
    return swept(text, 'suspected', ours, of, criterion, fault)


def _list(rates: Sequence[float]) -> str:
    return intervals(RATES, [rate in rates for rate in RATES]) or 'none'


def differences(rows: Sequence[Row], part: str, case: str = '') -> dict[float, Row]:
    """Return the rows of the central differences, by h."""
    wanted = (part, case, CENTRAL)
    return {r['step']: r for r in rows if (r['part'], r['case'], r['method']) == wanted}


def _accuracy_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim on the derivative with the smaller error."""
    own = differences(rows, 'derivatives')
    [formula] = [r for r in rows if (r['part'], r['method']) == ('derivatives', FORMULA)]
    best = min(own.values(), key=lambda row: row['error'])
    return swept(
        'central differences work better than Eq. 3.5: they are more accurate (3.1)',
        'much better',
        f'median error {best["error"]:.1e} m/rad at best, h = {best["step"]:g}; Eq. 3.5 '
        f'{formula["error"]:.1e}',
        f'h {DIFFERENCES[0]:g} to {DIFFERENCES[-1]:g} rad',
        'a smaller median error',
        {h: row['error'] < formula['error'] for h, row in own.items()},
    )


def _stability_claim(rows: Sequence[Row], method: str, reading: str) -> Claim:
    """Return the claim that central differences have fewer reversals, or reach more goals."""
    held, pairs = {}, {}
    for h in DIFFERENCES:
        of = {place: differences(rows, 'stability', f'{method}, {place}')[h] for place in PLACES}
        other = {
            r['case'].partition(', ')[2]: r
            for r in rows
            if (r['part'], r['method']) == ('stability', reading) and r['case'].startswith(method)
        }
        back, success = (
            [sum(r[key] for r in part.values()) for part in (of, other)]
            for key in ('reversals', 'success_percent')
        )
        more = (success[0] - success[1]) / (len(PLACES) - 1)
        held[h] = bool(more >= MORE or back[0] < FEWER * back[1])
        pairs[h] = back
    said = [f'{pairs[h][0]:.0f} with h = {h:g}' for h in (1e-8, 1e-5, 1e-2)]
    words = '' if reading == FORMULA else ' with the vector to the target, as its words say'
    return swept(
        f'{method}: central differences are more stable than Eq. 3.5{words} (3.1)',
        'more stable',
        f'of {len(PLACES) * PATIENCE} steps {", ".join(said)} go back, '
        f'{pairs[h][1]:.0f} by Eq. 3.5; '
        f'{success[0] / 2:.0f} and {success[1] / 2:.0f} % of the goals in reach are reached',
        f'h {DIFFERENCES[0]:g} to {DIFFERENCES[-1]:g} rad',
        f'{100 * (1 - FEWER):.0f} % fewer steps back, or {MORE:g} % more goals',
        held,
    )


def _interpolation_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim that the tip leaves the straight line if angles are interpolated."""
    of = {
        name: [r for r in rows if (r['part'], r['method']) == ('interpolation', name)]
        for name in ('interpolated', 'pseudoinverse')
    }
    bent, straight = ([r['error'] for r in part] for part in of.values())
    reached = [r['success_percent'] for r in of['interpolated']]
    return swept(
        'interpolated angles, the first attempt, reach the goal, but not on a straight line (3)',
        'tried, then replaced',
        f'{min(reached):g} % reached; off the line by '
        f'{100 * min(bent):.0f} to {100 * max(bent):.0f} % of its length, medians; '
        f'J+e by tiny steps {100 * max(straight):.1g} %',
        f'arms of {ARMS[0]} to {ARMS[-1]} rods',
        f'all goals are reached, and the median path leaves the line by {100 * AWAY:.0f} %',
        {
            rods: share > AWAY and percent == 100.0
            for rods, share, percent in zip(ARMS, bent, reached, strict=True)
        },
    )


# --- the figure ---------------------------------------------------------------------------------

COLOURS = {'Euler': RED, 'Verlet': GREEN, 'RK4': BLUE}


def draw(rows: Sequence[Row]) -> Any:
    """Draw errors and reversals by integration, errors of derivatives, an interpolated path."""
    figure = new_figure(9.5, 7.2)
    [[path, back], [error, trace]] = figure.subplots(2, 2)
    _draw_integration(path, rows, 'error', ('transpose, in reach', f'normalised, {INSIDE}'))
    path.set(yscale='log', ylabel='distance from the path of tiny steps [m]')
    path.set_title('Paths by three methods of integration')
    _draw_integration(back, rows, 'reversals', (f'normalised, {INSIDE}', f'normalised, {OUT}'))
    back.set(yscale='symlog', ylim=(-0.3, 2e4), ylabel='steps back in 20 s')
    back.set_title('Oscillation by three methods of integration')
    own = differences(rows, 'derivatives')
    [formula] = [r for r in rows if (r['part'], r['method']) == ('derivatives', FORMULA)]
    error.plot(list(own), [r['error'] for r in own.values()], 'o-', color=ORANGE, label=CENTRAL)
    error.axhline(formula['error'], color=BLACK, label=FORMULA)
    error.set(xscale='log', yscale='log', xlabel='h of the central differences [rad]')
    error.set(ylabel='error of the derivative [m/rad]', title='Both derivatives')
    error.legend()
    for name, colour in (('interpolated', PINK), ('pseudoinverse', BLUE)):
        way = [r for r in rows if (r['part'], r['method']) == ('path', name)]
        x, y = [r['x'] for r in way], [r['y'] for r in way]
        trace.plot(x, y, color=colour, label=LABELS[name])
    trace.plot(x[0], y[0], 'o', color=BLACK, label='start')
    trace.plot(x[-1], y[-1], '*', color=BLACK, markersize=9, label='goal')
    trace.set(xlabel='x [m]', ylabel='y [m]', title='The tip of three rods')
    trace.axis('equal')
    trace.legend()
    return figure


LABELS = {'interpolated': 'interpolated angles', 'pseudoinverse': 'J+e, tiny steps'}


def _draw_integration(axes: Any, rows: Sequence[Row], key: str, cases: Sequence[str]) -> None:
    """Draw a column of two motions against the rate of evaluations."""
    for case, line in zip(cases, ('-', ':'), strict=True):
        for (method, colour), size in zip(COLOURS.items(), (11, 7.5, 4), strict=True):
            own = of_motion(rows, case, method)
            values = [row[key] for row in own.values()]
            axes.plot(  # a larger empty circle shows where curves are one
                list(own), values, line, marker='o', markersize=size, fillstyle='none',
                color=colour, label=f'{method}: {case}',
            )  # fmt: skip
    axes.set(xscale='log', xlabel='evaluations for a second of motion [1/s]')
    axes.set_xticks(RATES, [f'{rate:g}' for rate in RATES])
    axes.minorticks_off()
    axes.legend(fontsize=6, loc='lower left' if key == 'error' else 'upper right')
