# SPDX-License-Identifier: Apache-2.0
"""`ik bench buss`: the Y and the double Y track moving targets, as in [Buss2009] section 8.

The targets of the end effectors move on sinusoids, within reach or in and out of it. In each step
the targets move a little, and each method makes one update of the joints, better or worse. The
measurements are

- the tracking error: the mean distance of the end effectors from their targets [m];
- shaking: the percentage of steps in which the move of some joint differs by more than 0.05 rad
  from that of the previous step; and the acceleration's energy, the mean square of all such
  differences [rad^2];
- the time of an update, of compiled steps.

The source inspected oscillations visually, and raised the damping constant until they were very
rare. Here it is the lowest damping of a sweep with less than 1 % of steps shaking, for targets
that move in and out of reach. `solved` is not an update but the default solver, which goes to the
closest point in every step; its time is that of a whole solve.

The source does not print the amplitudes of its targets. So its claims on oscillation are checked
at amplitudes from 0.8 to 1.2 m: at all of them the targets of both figures leave their reach and
come back. The damping of the least error is found to half a percent, since shaking begins close to
it.
"""

from __future__ import annotations

import argparse
import math
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, name_values, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.robot.shipped import robot_path
from ik_core.solvers import SolverName, make_solver
from ik_core.solvers.base import KernelSolver
from ik_core.tasks import PositionTask

from ..problems import per_iteration
from ..results import Claim, Row, swept

STEPS = 600
STEP = 0.02  # increment of the sinusoids' argument in each step [rad]
FIGURES = {'Y': 'buss_y', 'double Y': 'buss_double_y'}
REST = math.pi / 6.0  # rest angle of every joint [rad]
SIZES = {'in reach': 0.15, 'in and out': 1.0}  # amplitudes of the sinusoids [m]
SHAKE, RARE = 0.05, 1.0  # step that counts as shaking [rad]; percentage of such steps that is rare
# [m] Amplitudes of targets that move in and out of reach, including that of SIZES.
AMPLITUDES = (0.8, 0.9, 1.0, 1.1, 1.2)
DAMPINGS = tuple(float(d) for d in np.round(np.geomspace(0.05, 2.0, 17), 3))
# Number of refinements of the sweep around the best damping, and dampings in each.
ZOOMS, FINER = 3, 9
TRACE = 5  # a curve has a row for one step in this many
# Presets of damped least squares whose damping is swept.
SWEPT = {'DLS': 'buss_pure', "DLS'": 'buss_clamped'}
LOW = "DLS, damping of DLS'"
LEAST = 'DLS, damping of the least error'
SOLVED, CLAMPED = 'solved', "DLS'"
DAMPED: SolverName = 'damped_least_squares'

PAPER: dict[str, tuple[SolverName, Mapping[str, Any]]] = {
    'transpose': ('jacobian_transpose', {'preset': 'buss_pure'}),
    'pseudoinverse': ('pseudoinverse', {'preset': 'buss_pure'}),
    'pseudoinverse, ClampMaxAbs': ('pseudoinverse', {'preset': 'buss_pure', 'max_step': 0.05}),
    'SDLS': ('selectively_damped_least_squares', {'preset': 'buss_pure'}),
}
OURS: dict[str, tuple[SolverName, Mapping[str, Any]]] = {
    'transpose, ours': ('jacobian_transpose', {}),
    'pseudoinverse, ours': ('pseudoinverse', {}),
    'DLS, ours': (DAMPED, {}),
    'SDLS, ours': ('selectively_damped_least_squares', {}),
}
# Methods that are run with the usual and with the alternate Jacobian.
BOTH_JACOBIANS = ('transpose', 'pseudoinverse', LOW)
OVER_AMPLITUDES = f'amplitude {AMPLITUDES[0]:g} to {AMPLITUDES[-1]:g} m'
OVER_DAMPINGS = f'amplitude {SIZES["in and out"]:g} m, damping {DAMPINGS[0]:g} to {DAMPINGS[-1]:g}'
BOTH_MOTIONS = 'targets in reach, in and out'
MUCH = 2.0  # an error of this many times another one is much larger
# [us] The source's times of an update of the transpose and of DLS', on a 2.8 GHz Pentium.
THEIRS = {'Y': (1.1, 2.2), 'double Y': (6.5, 18.5)}


def rows(arguments: argparse.Namespace) -> list[Row]:
    """Return the rows of the sweeps of damping, of all methods, and of the figure's curves."""
    steps = min(max(arguments.count, 100), STEPS)
    found: list[Row] = []
    parts = ('sweep', 'methods', *AMPLITUDES)
    for figure, part in bar([(f, p) for f in FIGURES for p in parts], 'buss'):
        if part == 'sweep':
            found += sweep_rows(figure, steps)
        elif part == 'methods':
            found += method_rows(figure, found, steps)
        else:
            found += amplitude_rows(figure, float(part), found, steps)
    return found


def sweep_rows(figure: str, steps: int) -> list[Row]:
    """Return the rows of DLS and DLS' with every damping."""
    return [
        measured(figure, 'in and out', name, DAMPED, {'preset': preset, 'damping': d}, steps)[0]
        | {'part': 'sweep', 'damping': d}
        for name, preset in SWEPT.items()
        for d in DAMPINGS
    ]


def amplitude_rows(figure: str, size: float, sweeps: Sequence[Row], steps: int) -> list[Row]:
    """Return the rows at an amplitude: DLS with the damping of the least error, both Jacobians."""
    low = {'preset': 'buss_pure', 'damping': chosen(sweeps, figure, "DLS'")['damping']}
    methods = {
        **{name: PAPER[name] for name in BOTH_JACOBIANS if name in PAPER},
        LOW: (DAMPED, low),
    }
    runs = [
        (LEAST, DAMPED, {'preset': 'buss_pure', 'damping': least_damping(figure, size, steps)})
    ]
    for name, (solver, options) in methods.items():
        runs.append((name, solver, dict(options)))
        runs.append((f'{name}, target', solver, {**options, 'jacobian': 'target'}))
    return [
        measured(figure, f'{size:g} m', name, solver, options, steps, size)[0]
        | {'part': 'amplitude', 'damping': options.get('damping', '')}
        for name, solver, options in runs
    ]


def least_damping(figure: str, size: float, steps: int) -> float:
    """Return the damping of DLS with the least tracking error, by refined sweeps."""
    problem, q0 = problem_of(figure)
    starts = [goal.target[9:].copy() for goal in problem.goals]

    def error_of(damping: float) -> float:
        for goal, start in zip(problem.goals, starts, strict=True):
            goal.set_target(position=start)
        update = OneUpdate(problem, DAMPED, preset='buss_pure', damping=damping)
        return float(follow(problem, q0, update, size, steps)[1].mean())

    dampings = np.array(DAMPINGS)
    for _ in range(ZOOMS + 1):
        k = int(np.argmin([error_of(float(d)) for d in dampings]))
        best = float(dampings[k])
        ends = dampings[max(k - 1, 0)], dampings[min(k + 1, len(dampings) - 1)]
        dampings = np.geomspace(*ends, FINER)
    return best


def method_rows(figure: str, sweeps: Sequence[Row], steps: int) -> list[Row]:
    """Return the rows of all methods on both motions, and the curves of the source's methods."""
    rows, curves = [], []
    for motion in SIZES:
        for name, (solver, options) in methods_for(figure, sweeps).items():
            row, errors = measured(figure, motion, name, solver, options, steps)
            rows.append({**row, 'damping': options.get('damping', '')})
            if motion == 'in and out' and name in COLOURS:
                curves += [
                    {
                        **dict.fromkeys(row, ''),
                        'part': 'curve',
                        'figure': figure,
                        'method': name,
                        'step': k,
                        'error': float(errors[k]),
                    }
                    for k in range(0, steps, TRACE)
                ]
    return [*rows, *curves]


def methods_for(
    figure: str, sweeps: Sequence[Row]
) -> dict[str, tuple[SolverName, Mapping[str, Any]]]:
    """Return the methods, with the dampings that were found for a figure."""
    found = {name: chosen(sweeps, figure, name)['damping'] for name in SWEPT}
    damped: dict[str, tuple[SolverName, Mapping[str, Any]]] = {
        name: (DAMPED, {'preset': preset, 'damping': found[name]})
        for name, preset in SWEPT.items()
    }
    low = {'preset': 'buss_pure', 'damping': found["DLS'"]}
    return {
        **PAPER,
        **damped,
        LOW: (DAMPED, low),
        **OURS,
        SOLVED: ('levenberg_marquardt', {'restarts': 0}),
    }


def chosen(rows: Sequence[Row], figure: str, name: str) -> Row:
    """Return the row of the lowest damping with which shaking is rare, else of the highest."""
    own = _sweep(rows, figure, name)
    return next((row for row in own if row['shaking_percent'] < RARE), own[-1])


class OneUpdate:
    """Single updates of a solver, whose goals may move in between (section 2, (i)).

    A solve returns its best point; here a method keeps the point of each update, better or worse.
    """

    def __init__(self, problem: IkProblem, solver: SolverName, **options: Any) -> None:
        method = make_solver(solver, **options)
        assert isinstance(method, KernelSolver)
        self.problem = problem
        self._workspace = method.workspace(problem)

    def __call__(self, q: Array) -> Array:
        """Return q (n,) after one update of the method."""
        after = self._workspace.load(q)
        self._workspace.run(1)
        after[self.problem.variables] = self._workspace.search['x']
        return after


def measured(
    figure: str,
    motion: str,
    name: str,
    solver: SolverName,
    options: Mapping[str, Any],
    steps: int,
    size: float | None = None,
) -> tuple[Row, Array]:
    """Return the row of a method on a motion, and the error of each step (steps,) [m].

    size : [m] the amplitude of a motion that is not one of SIZES
    """
    problem, q0 = problem_of(figure)
    times: list[float] = []
    if name == SOLVED:
        update = closest(problem, times)
    else:
        update = OneUpdate(problem, solver, **options)
        times.append(time_of(figure, solver, options))
    joints, errors = follow(problem, q0, update, SIZES[motion] if size is None else size, steps)
    jerks = np.abs(np.diff(joints, 2, axis=0))
    row = {
        'part': 'method',
        'figure': figure,
        'motion': motion,
        'method': name,
        'damping': '',
        'step': '',
        'error': float(errors.mean()),
        'worst': float(errors.max()),
        'shaking_percent': 100.0 * float((jerks.max(axis=1) > SHAKE).mean()),
        'acceleration': float((jerks**2).mean()),
        'us': 1e6 * float(np.median(times)),
    }
    return row, errors


def problem_of(figure: str) -> tuple[IkProblem, Array]:
    """Return a position goal for each end effector, and the rest posture (n,) of the source."""
    robot = load_robot(FIGURES[figure])
    q0 = np.full(robot.n, REST)
    goals = [PositionTask(tip, robot.forward_kinematics(q0, tip)[:3, 3]) for tip in robot.tips()]
    return IkProblem(robot, goals, position_tolerance=1e-9), q0


def target_shift(step: int, effector: int, size: float) -> Array:
    """Return the displacement (3,) [m] of an end effector's target since step 0."""
    t, phase = STEP * step, float(effector)
    x = np.sin(t + phase) - np.sin(phase)
    y = np.cos(1.3 * t + phase) - np.cos(phase)
    return size * np.array([x, y, np.sin(0.7 * t)])


def follow(
    problem: IkProblem, q0: Array, update: Callable[[Array], Array], size: float, steps: int
) -> tuple[Array, Array]:
    """Return the joints (steps, n) that follow the targets, and the mean errors (steps,) [m]."""
    starts = [goal.target[9:].copy() for goal in problem.goals]
    joints, errors, q = [], [], q0
    for step in range(steps):
        for i, (goal, start) in enumerate(zip(problem.goals, starts, strict=True)):
            goal.set_target(position=start + target_shift(step, i, size))
        q = update(q)
        joints.append(q)
        errors.append(problem.evaluate(q).position_errors.mean())
    return np.array(joints), np.array(errors)


def closest(problem: IkProblem, times: list[float]) -> Callable[[Array], Array]:
    """Return an update to the closest point; it appends the times [s] of its solves."""
    solver = make_solver(restarts=0)

    def update(q: Array) -> Array:
        result = solver.solve(problem, q)
        times.append(result.solve_time)
        return result.q

    return update


def time_of(figure: str, solver: SolverName, options: Mapping[str, Any]) -> float:
    """Return the time [s] of an update, with targets far out of reach."""
    problem, _ = problem_of(figure)
    for goal in problem.goals:
        goal.set_target(position=3.0 * goal.target[9:])
    method, rng = make_solver(solver, **{'restarts': 0, **options}), np.random.default_rng(1)
    starts = rng.uniform(-1.0, 1.0, (40, problem.robot.n))
    return float(np.nanmedian([per_iteration(method, problem, start) for start in starts]))


COLOURS = {
    'pseudoinverse': BLUE,
    'transpose': ORANGE,
    'DLS': RED,
    "DLS'": GREEN,
    'SDLS': PINK,
    SOLVED: BLACK,
}


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source about its experiments."""
    near, out = (by_method(rows, motion) for motion in SIZES)
    return [
        *_transpose_claims(near, out),
        Claim(
            'the pseudoinverse works very poorly whenever targets are out of reach',
            'very poorly',
            _both(out, lambda own: _state(own['pseudoinverse'])),
            f'both figures; {OVER_AMPLITUDES}',
            f'{MUCH:g} times the error of the transpose',
            [
                own['pseudoinverse']['error'] > MUCH * own['transpose']['error']
                for size in AMPLITUDES
                for own in at_amplitude(rows, size).values()
            ],
        ),
        *_damping_claims(rows, out),
        *(_alternate_claim(rows, name) for name in BOTH_JACOBIANS),
        *(_time_claim(figure, own) for figure, own in out.items()),
    ]


Methods = Mapping[str, Mapping[str, Row]]  # the rows of a motion, by figure and method


def by_method(rows: Sequence[Row], motion: str) -> Methods:
    """Return the rows of a motion, by figure and method."""
    own = [row for row in rows if (row['part'], row['motion']) == ('method', motion)]
    return {f: {row['method']: row for row in own if row['figure'] == f} for f in FIGURES}


def _transpose_claims(near: Methods, out: Methods) -> list[Claim]:
    """Return the claims on the transpose, compared with DLS' and DLS, for targets in reach."""
    return [
        Claim(
            'the transpose is of poor quality for the Y',
            'poor',
            f"{ratio(near['Y'], CLAMPED):.3g} times the error of DLS', "
            f'out of reach {ratio(out["Y"], CLAMPED):.3g}',
            BOTH_MOTIONS,
            f"{MUCH:g} times the error of DLS'",
            [ratio(own['Y'], CLAMPED) > MUCH for own in (near, out)],
        ),
        _worse_claim(near, out),
        Claim(
            'DLS is substantially better than the transpose',
            'substantially',
            _both(near, lambda own: f'{ratio(own, "DLS"):.3g}')
            + ' times the error, out of reach '
            + _both(out, lambda own: f'{ratio(own, "DLS"):.3g}'),
            f'both figures; {BOTH_MOTIONS}',
            f'the transpose has {MUCH:g} times the error of DLS',
            [ratio(own, 'DLS') > MUCH for of in (near, out) for own in of.values()],
        ),
    ]


def _worse_claim(near: Methods, out: Methods) -> Claim:
    """Return the claim that the transpose is worse on the double Y, by several measures."""
    measures: dict[str, Callable[[str], float]] = {
        "error over that of DLS', in reach": lambda f: ratio(near[f], CLAMPED),
        "error over that of DLS', out of reach": lambda f: ratio(out[f], CLAMPED),
        'error [m], in reach': lambda f: near[f]['transpose']['error'],
        'error beyond the closest point [m], out of reach': lambda f: (
            out[f]['transpose']['error'] - out[f][SOLVED]['error']
        ),
        'error [m], out of reach': lambda f: out[f]['transpose']['error'],
    }
    pairs = {text: tuple(of(f) for f in FIGURES) for text, of in measures.items()}
    held = {text: pair[1] > pair[0] for text, pair in pairs.items()}
    said = [
        f'{text}: {a:.3g} and {b:.3g}, {"worse" if held[text] else "better"}'
        for text, (a, b) in pairs.items()
    ]
    return Claim(
        'and of extremely poor quality for the double Y: worse than for the Y',
        'extremely poor',
        '; '.join(said),
        'five measures of quality, of the Y and of the double Y',
        'worse on the double Y',
        list(held.values()),
    )


def ratio(own: Mapping[str, Row], other: str) -> float:
    """Return the transpose's error over that of another method."""
    return float(own['transpose']['error'] / own[other]['error'])


def _damping_claims(rows: Sequence[Row], out: Methods) -> list[Claim]:
    """Return the claims on the damping constant, and on clamped errors, which allow less."""
    pairs = {f: (own['DLS'], own["DLS'"]) for f, own in out.items()}
    return [
        *(_least_error_claim(rows, figure) for figure in FIGURES),
        Claim(
            "DLS': clamped errors allow a lower damping",
            'lower',
            '; '.join(
                f'{f}: {a["damping"]:g}, clamped {b["damping"]:g}' for f, (a, b) in pairs.items()
            ),
            f'both figures; {OVER_DAMPINGS}',
            f'the lowest damping with which less than {RARE:g} % of the steps shake is lower',
            [b['damping'] < a['damping'] for a, b in pairs.values()],
        ),
        Claim(
            "DLS' therefore tracks more accurately",
            'more accurate',
            _both(out, lambda own: _against(own, "DLS'", 'DLS')),
            f'both figures; {OVER_DAMPINGS}',
            'weak: a lower error, by however little',
            [b['error'] < a['error'] for a, b in pairs.values()],
        ),
    ]


def _least_error_claim(rows: Sequence[Row], figure: str) -> Claim:
    """Return the claim that DLS shakes at the damping of its least error, at every amplitude."""
    own = [at_amplitude(rows, size)[figure][LEAST] for size in AMPLITUDES]
    said = [
        f'{row["shaking_percent"]:.3g} % at {row["damping"]:.3g} ({size:g} m)'
        for size, row in zip(AMPLITUDES, own, strict=True)
    ]
    return swept(
        f'{figure}: DLS with the damping of the least error oscillates a lot',
        'a lot',
        f'steps that shake: {", ".join(said)}',
        f'{OVER_AMPLITUDES}, damping {DAMPINGS[0]:g} to {DAMPINGS[-1]:g}',
        f'weak: {RARE:g} % of the steps shake',
        {s: r['shaking_percent'] >= RARE for s, r in zip(AMPLITUDES, own, strict=True)},
    )


def _alternate_claim(rows: Sequence[Row], name: str) -> Claim:
    """Return the claim that a method shakes less with the alternate Jacobian, on both figures."""
    sizes = [at_amplitude(rows, size) for size in AMPLITUDES]
    pairs = [
        {f: (own[name]['shaking_percent'], own[f'{name}, target']['shaking_percent'])
         for f, own in figures.items()}
        for figures in sizes
    ]  # fmt: skip
    middle = pairs[AMPLITUDES.index(SIZES['in and out'])]
    said = [f'{f}: {a:.3g} % of steps shake, with it {b:.3g}' for f, (a, b) in middle.items()]
    return swept(
        f'{name}: the alternate Jacobian reduces oscillation out of reach (section 2)',
        'less, in any of the algorithms',
        '; '.join(said),
        f'both figures; {OVER_AMPLITUDES}',
        'a smaller part of the steps shakes, on both figures',
        {s: all(b < a for a, b in of.values()) for s, of in zip(AMPLITUDES, pairs, strict=True)},
    )


def at_amplitude(rows: Sequence[Row], size: float) -> Methods:
    """Return the rows of an amplitude, by figure and method."""
    own = [row for row in rows if (row['part'], row['motion']) == ('amplitude', f'{size:g} m')]
    return {f: {row['method']: row for row in own if row['figure'] == f} for f in FIGURES}


def _time_claim(figure: str, own: Mapping[str, Row]) -> Claim:
    """Return the claim of the table of times: the faster method, and the ratio."""
    slow, quick = own["DLS'"]['us'], own['transpose']['us']
    theirs = THEIRS[figure]
    return Claim(
        f"{figure}: an update of the transpose is faster than one of DLS' (table in section 8)",
        f'{theirs[0]} and {theirs[1]} us, 1 to {theirs[1] / theirs[0]:.1f}',
        f'{quick:.1f} and {slow:.1f} us, 1 to {slow / quick:.1f}',
        'targets out of reach, 40 starts',
        'less time for an update',
        [quick < slow],
        timed=True,
    )


def _both(out: Methods, say: Callable[[Mapping[str, Row]], str]) -> str:
    return '; '.join(f'{figure}: {say(own)}' for figure, own in out.items())


def _state(row: Row) -> str:
    return f'error {row["error"]:.2g} m, {_shaking(row)}'


def _shaking(row: Row) -> str:
    return f'{row["shaking_percent"]:.3g} % of steps shake'


def _against(own: Mapping[str, Row], method: str, other: str) -> str:
    return f'error {own[method]["error"]:.3g} m against {own[other]["error"]:.3g}'


def _sweep(rows: Sequence[Row], figure: str, name: str) -> list[Row]:
    return [r for r in rows if (r['part'], r['figure'], r['method']) == ('sweep', figure, name)]


def draw(rows: Sequence[Row]) -> Any:
    """Draw the figures with their targets (Fig. 1), errors, errors against shaking, and times."""
    figure, out = new_figure(14.0, 6.8), by_method(rows, 'in and out')
    for name, axes in zip(FIGURES, figure.subplots(2, 4), strict=True):
        _draw_shape(axes[0], name)
        _draw_errors(axes[1], [row for row in rows if row['figure'] == name])
        _draw_dampings(axes[2], rows, name)
        _draw_times(axes[3], out[name], name)
    figure.legend(*axes[1].get_legend_handles_labels(), loc='outside lower center', ncols=6)
    return figure


def _draw_shape(axes: Any, name: str) -> None:
    """Draw the figure at rest from the front, and the paths of its targets."""
    problem, q0 = problem_of(name)
    robot = problem.robot
    at = {link: robot.forward_kinematics(q0, link)[:3, 3] for link in robot.link_names}
    for parent, child in bones(robot):
        axes.plot(*np.transpose([at[parent], at[child]])[:2], color='0.4', linewidth=3.0)
    for i, goal in enumerate(problem.goals):
        for size, line in zip(SIZES.values(), ('-', ':'), strict=True):
            way = [at[goal.link] + target_shift(k, i, size) for k in range(0, STEPS, 5)]
            axes.plot(*np.transpose(way)[:2], line, color=RED, linewidth=0.9)
        axes.plot(*at[goal.link][:2], 'o', color=RED)
    axes.set(xlabel='x [m]', ylabel='y [m]', aspect='equal')
    axes.set_title(f'{name}: targets in reach, and out (dotted)')


def bones(robot: Robot) -> Iterator[tuple[str, str]]:
    """Yield (parent, child) of the links of every joint in a shipped robot's file."""
    for joint in ElementTree.parse(robot_path(robot.name)).getroot().iterfind('joint'):
        yield tuple(joint.find(end).get('link') for end in ('parent', 'child'))  # type: ignore


def _draw_errors(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the tracking error of each step, for targets in and out of reach."""
    for method, colour in COLOURS.items():
        own = [row for row in rows if (row['part'], row['method']) == ('curve', method)]
        axes.plot([r['step'] for r in own], [r['error'] for r in own], color=colour, label=method)
    axes.set(xlabel='step', ylabel='mean error of the end effectors [m]', yscale='log')
    axes.set(ylim=(1e-3, 10.0))
    axes.set_title('Targets in and out of reach')


def _draw_dampings(axes: Any, rows: Sequence[Row], figure: str) -> None:
    """Draw error and shaking against damping; crosses mark the chosen damping."""
    for name, colour in (('DLS', RED), ("DLS'", GREEN)):
        own, found = _sweep(rows, figure, name), chosen(rows, figure, name)
        x, y = ([row[key] for row in own] for key in ('damping', 'error'))
        axes.plot(x, y, color=colour)
        shaking = [row for row in own if row['shaking_percent'] >= RARE]
        axes.plot(
            [r['damping'] for r in shaking], [r['error'] for r in shaking], '.', color=colour
        )
        axes.plot(found['damping'], found['error'], 'x', color=colour, markersize=10)
    axes.set(xscale='log', yscale='log', xlabel='damping [m/rad]', ylabel='mean error [m]')
    for axis in (axes.xaxis, axes.yaxis):
        name_values(axis)
    axes.set_title('Damping: dots shake, the cross is chosen')


def _draw_times(axes: Any, own: Mapping[str, Row], figure: str) -> None:
    """Draw the time of an update of each method; crosses mark the source's (section 8)."""
    methods = sorted(COLOURS, key=lambda method: own[method]['us'])
    for method in methods:
        axes.plot(own[method]['us'], method, 'o', color=COLOURS[method])
    for method, theirs in zip(('transpose', "DLS'"), THEIRS[figure], strict=True):
        axes.plot(theirs, methods.index(method), 'x', color=BLACK, markersize=8)
    axes.set(xlabel='time of an update [µs]', xscale='log')
    name_values(axes.xaxis)
    axes.set_title('Times; crosses: a 2.8 GHz Pentium')
