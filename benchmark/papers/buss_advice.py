# SPDX-License-Identifier: Apache-2.0
"""`ik bench buss_advice`: the advice of [Buss2009] in sections 2 and 8, measured.

Targets move on sinusoids, and the joints are updated once per step, as in `buss`, with its figures
and measures: the mean tracking error, and the percentage of steps that shake.

- `near`: the alternate Jacobian for close targets, which links have to fold back to reach: a
  planar chain, nearly stretched at first, and targets at fractions of its length from the root.
  `acceleration` is the mean square of the joints' second differences [rad^2]: a motion is jerky if
  that is 1.5 times as much as with the usual Jacobian. Dampings are those of `buss`.
- `dmax`: DLS' over Dmax, relative to a typical link. The damping for each is the lowest of a sweep
  with which less than 1 % of the steps shake, as in `buss`. Half a link "works well" if the error
  is within 10 % of the least over all Dmax. The least Dmax is about the motion of a target per
  step.
- `single`: the transpose and DLS' on chains with one end effector, in reach and out of it.
- `clamp`: ClampMaxAbs on the change of angles, for several methods and clamps: the largest change
  of an angle in a step, the tracking error and the percentage of steps that shake.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.linkages import linkage
from ik_core.solvers import SolverName
from ik_core.tasks import PositionTask

from ..results import Claim, Row, swept
from .buss import (
    DAMPED,
    DAMPINGS,
    FIGURES,
    RARE,
    SHAKE,
    SIZES,
    STEPS,
    OneUpdate,
    bones,
    follow,
    problem_of,
)

COLUMNS = ['part', 'case', 'method', 'value', 'damping', 'error', 'shaking_percent']
COLUMNS += ['acceleration', 'largest']
OUT = SIZES['in and out']


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all parts, with all steps of every motion."""
    for name, part in bar(list(PARTS.items()), 'buss_advice'):
        yield from ({**dict.fromkeys(COLUMNS, ''), 'part': name, **row} for row in part())


def measures(joints: Array, errors: Array) -> Row:
    """Return the measures of a motion's joints (steps, n) and errors (steps,) [m]."""
    second = np.abs(np.diff(joints, 2, axis=0))
    return {
        'error': float(errors.mean()),
        'shaking_percent': 100.0 * float((second.max(axis=1) > SHAKE).mean()),
        'acceleration': float((second**2).mean()),
        'largest': float(np.abs(np.diff(joints, axis=0)).max()),
    }


def tracked(figure: str, size: float, solver: SolverName, **options: Any) -> Row:
    """Return the measures of a method on a figure of `buss`, with targets of an amplitude [m]."""
    problem, q0 = problem_of(figure)
    return measures(*follow(problem, q0, OneUpdate(problem, solver, **options), size, STEPS))


# --- folded chains -----------------------------------------------------------------------------


LINKS, LINK = 4, 0.25
STARTS, UPDATES = 100, 50
# Distances of the target from the root, relative to the length of the chain, which has to fold
# back to reach the close ones.
CLOSE, FAR = (0.05, 0.1, 0.2, 0.3), (0.7, 0.9)
FRACTIONS = (*CLOSE, 0.5, *FAR)
JERKY = 1.5  # a motion with this many times the acceleration is jerky
JACOBIANS: Mapping[str, Mapping[str, Any]] = {'usual': {}, 'alternate': {'jacobian': 'target'}}
NEAR_METHODS: Mapping[str, tuple[SolverName, Mapping[str, Any]]] = {
    'transpose': ('jacobian_transpose', {'preset': 'buss_pure'}),
    'pseudoinverse': ('pseudoinverse', {'preset': 'buss_pure'}),
    'DLS': (DAMPED, {'preset': 'buss_pure'}),
    "DLS'": (DAMPED, {'preset': 'buss_clamped', 'max_error': 0.5 * LINK}),
}
# Every fourth damping of `buss`, from the least to the largest; the figure has the second.
NEAR_DAMPINGS = DAMPINGS[::4]


def near_rows() -> Iterator[Row]:
    """Yield the rows of a planar chain, nearly stretched at first: medians over starts."""
    for fraction in FRACTIONS:
        for name, (solver, options) in NEAR_METHODS.items():
            for damping in dampings_of(name):
                damped = {'damping': damping} if damping else {}
                for jacobian, more in JACOBIANS.items():
                    rng, every = np.random.default_rng(0), {**options, **damped, **more}
                    found = [on_the_way(fraction, rng, solver, every) for _ in range(STARTS)]
                    medians = {
                        key: float(np.median([one[key] for one in found])) for key in found[0]
                    }
                    own = {'case': jacobian, 'method': name, 'value': fraction}
                    yield {**own, 'damping': damping or '', **medians}


def dampings_of(name: str) -> Sequence[float]:
    """Return the dampings of a method near the root; (0,) for a method without one."""
    return NEAR_DAMPINGS if NEAR_METHODS[name][0] == DAMPED else (0.0,)


def on_the_way(fraction: float, rng: Any, solver: SolverName, options: Mapping[str, Any]) -> Row:
    """Return the measures of UPDATES from a random start to a target in a random direction."""
    robot = linkage(LINKS, 'hinge', lengths=LINK)
    q, angle = rng.uniform(-0.5, 0.5, robot.n), rng.uniform(-np.pi, np.pi)
    target = fraction * LINKS * LINK * np.array([np.cos(angle), np.sin(angle), 0.0])
    problem = IkProblem(robot, [PositionTask('tip', target)], position_tolerance=1e-9)
    update = OneUpdate(problem, solver, **options)
    joints: list[Array] = [q]
    for _ in range(UPDATES):
        joints.append(update(joints[-1]))
    errors = [problem.evaluate(q).position_errors[0] for q in joints]
    return measures(np.array(joints), np.array(errors))


# --- Dmax --------------------------------------------------------------------------------------


SOME_AMPLITUDES = (0.8, 1.0, 1.2)  # [m] of targets that move in and out of reach
DMAX = (0.05, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0)  # over the length of a typical link
HALF = 0.5


def dmax_rows() -> Iterator[Row]:
    """Yield DLS' with every Dmax and amplitude, at the lowest damping that rarely shakes."""
    for figure in FIGURES:
        link = typical_link(figure)
        for size in SOME_AMPLITUDES:
            for fraction in DMAX:
                damping, found = rarely_shaking(figure, size, fraction * link)
                case = f'{figure}, {size:g} m'
                yield {'case': case, 'value': fraction, 'damping': damping, **found}


def typical_link(figure: str) -> float:
    """Return the median length [m] of the links of a figure."""
    problem, q0 = problem_of(figure)
    robot = problem.robot
    at = {link: robot.forward_kinematics(q0, link)[:3, 3] for link in robot.link_names}
    lengths = [np.linalg.norm(at[a] - at[b]) for a, b in bones(robot)]
    return float(np.median([length for length in lengths if length > 0.0]))


def rarely_shaking(figure: str, size: float, dmax: float) -> tuple[float, Row]:
    """Return the lowest damping with which shaking is rare, else the highest, and its measures."""
    clamped = {'preset': 'buss_clamped', 'max_error': dmax}
    for damping in DAMPINGS:
        found = tracked(figure, size, DAMPED, damping=damping, **clamped)
        if found['shaking_percent'] < RARE:
            break
    return damping, found


# --- a single end effector ---------------------------------------------------------------------


SIZES_OF_CHAINS = (2, 3, 5, 8)  # numbers of links
# Amplitudes relative to the length of the chain; the last one is out of reach.
WAYS = (0.05, 0.1, 0.2, 1.0)
# A method works well if its error is below GOOD times that of DLS', as in `buss`, or below the
# fraction SMALL of the length.
GOOD, SMALL = 2.0, 0.01


def single_rows() -> Iterator[Row]:
    """Yield the transpose and DLS' on chains; DLS' at the lowest damping that rarely shakes."""
    for links in SIZES_OF_CHAINS:
        clamped = {'preset': 'buss_clamped', 'max_error': HALF / links}
        for damping in DAMPINGS:
            out = chain_tracked(links, WAYS[-1], DAMPED, damping=damping, **clamped)
            if out['shaking_percent'] < RARE:
                break
        for way in WAYS:
            transpose = chain_tracked(links, way, 'jacobian_transpose', preset='buss_pure')
            damped = chain_tracked(links, way, DAMPED, damping=damping, **clamped)
            yield {'case': links, 'method': 'transpose', 'value': way, **transpose}
            yield {'case': links, 'method': "DLS'", 'value': way, 'damping': damping, **damped}


def chain_tracked(links: int, size: float, solver: SolverName, **options: Any) -> Row:
    """Return the measures of a chain of 1 m with two angles per joint, bent at first."""
    robot = linkage(links, 'two_angle', lengths=1.0 / links)
    q0 = np.tile([1.0, 0.4], links)
    at = robot.forward_kinematics(q0, 'tip')[:3, 3]
    problem = IkProblem(robot, [PositionTask('tip', at)], position_tolerance=1e-9)
    return measures(*follow(problem, q0, OneUpdate(problem, solver, **options), size, STEPS))


# --- clamped changes of angles -----------------------------------------------------------------


CLAMPS = (0.05, 0.1, 0.2, 0.4, np.inf)  # [rad] largest change of an angle in an update
NO_WORSE = 1.1  # errors within this factor count as equal
ALMOST = 0.9  # 'almost always' means this fraction of all cases
CLAMPED: Mapping[str, tuple[SolverName, Mapping[str, Any]]] = {
    'transpose': ('jacobian_transpose', {'preset': 'buss_pure'}),
    'pseudoinverse': ('pseudoinverse', {'preset': 'buss_pure'}),
    'DLS': (DAMPED, {'preset': 'buss_pure', 'damping': 0.3}),
    "DLS'": (DAMPED, {'preset': 'buss_clamped', 'damping': 0.3}),
}


def clamp_rows() -> Iterator[Row]:
    """Yield every method with every clamp, with targets in and out of reach."""
    for figure in FIGURES:
        for name, (solver, options) in CLAMPED.items():
            for clamp in CLAMPS:
                found = tracked(figure, OUT, solver, **{**options, 'max_step': clamp})
                yield {'case': figure, 'method': name, 'value': clamp, **found}


PARTS = {'near': near_rows, 'dmax': dmax_rows, 'single': single_rows, 'clamp': clamp_rows}


# --- claims and figure -------------------------------------------------------------------------


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source's advice."""
    return [
        *(_near_claim(rows, name) for name in NEAR_METHODS),
        _half_claim(rows),
        _step_claim(rows),
        _single_claim(rows),
        _clamp_claim(rows),
    ]


def _part(rows: Sequence[Row], part: str) -> list[Row]:
    return [row for row in rows if row['part'] == part]


def _near_claim(rows: Sequence[Row], name: str) -> Claim:
    times = near_ratios(rows, name)
    dampings = dampings_of(name)
    said, held = [], []
    for damping in dampings:
        found = [times[damping, fraction] for fraction in CLOSE]
        jerky = [ratio >= JERKY for ratio in found]
        held += jerky
        at = f'with damping {damping:g} ' if damping else ''
        said.append(f'{at}{", ".join(f"{ratio:.2g}" for ratio in found)}')
    span = f', damping {dampings[0]:g} to {dampings[-1]:g}' if dampings[0] else ''
    return Claim(
        f'{name}: the alternate Jacobian is jerky where links fold back to a close target (2)',
        'in some configurations',
        f'acceleration over that of the usual Jacobian: {"; ".join(said)}',
        f'targets at {", ".join(f"{fraction:g}" for fraction in CLOSE)} of the length{span}',
        f'{JERKY:g} times the acceleration',
        held,
    )


def near_ratios(rows: Sequence[Row], name: str) -> dict[tuple[float, float], float]:
    """Return the acceleration over that of the usual Jacobian, by damping and fraction."""
    own = {
        (r['damping'] or 0.0, r['value'], r['case']): r['acceleration']
        for r in _part(rows, 'near')
        if r['method'] == name
    }
    return {
        (damping, fraction): own[damping, fraction, 'alternate'] / own[damping, fraction, 'usual']
        for damping in dampings_of(name)
        for fraction in FRACTIONS
    }


def _dmax_errors(rows: Sequence[Row], size: float) -> dict[str, dict[float, float]]:
    """Return the errors [m] at an amplitude, by figure and Dmax."""
    own = _part(rows, 'dmax')
    return {
        f: {r['value']: r['error'] for r in own if r['case'] == f'{f}, {size:g} m'}
        for f in FIGURES
    }


def _half_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim on a Dmax of half a link, compared with all others on both figures."""
    sizes = {size: _dmax_errors(rows, size) for size in SOME_AMPLITUDES}
    middle = sizes[SIZES['in and out']]
    said = [
        f'{f}: error {of[HALF]:.3g} m, the least {min(of.values()):.3g} m at '
        f'{min(of, key=of.__getitem__):g} of a link, without a clamp nearly {of[DMAX[-1]]:.3g} m'
        for f, of in middle.items()
    ]
    return swept(
        'Dmax of about half a typical link works well (section 2)',
        'works well',
        '; '.join(said),
        f'both figures; amplitude {SOME_AMPLITUDES[0]:g} to {SOME_AMPLITUDES[-1]:g} m, '
        f'Dmax {DMAX[0]:g} to {DMAX[-1]:g} of a link',
        'an error of at most 10 % above the least, on both figures',
        {
            size: all(of[HALF] <= NO_WORSE * min(of.values()) for of in figures.values())
            for size, figures in sizes.items()
        },
    )


def _step_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim on a Dmax that is no larger than the motion of a target per step."""
    times = {
        f'{f}, {size:g} m': of[DMAX[0]] / of[HALF]
        for size in SOME_AMPLITUDES
        for f, of in _dmax_errors(rows, size).items()
    }
    return Claim(
        'Dmax should be several times what an end effector moves in a step (section 2)',
        'at least',
        f'error with {DMAX[0]:g} of a link, about one such move, over that with {HALF:g}: '
        + ', '.join(f'{factor:.2g} ({case})' for case, factor in times.items()),
        f'both figures; amplitude {", ".join(f"{size:g}" for size in SOME_AMPLITUDES)} m',
        'an error of at least 10 % more',
        [factor > NO_WORSE for factor in times.values()],
    )


def _single_claim(rows: Sequence[Row]) -> Claim:
    own = {(r['case'], r['value'], r['method']): r for r in _part(rows, 'single')}
    near = [(links, way) for links in SIZES_OF_CHAINS for way in WAYS[:-1]]
    mine, damped = ([own[(*case, name)] for case in near] for name in ('transpose', "DLS'"))
    times = [a['error'] / b['error'] for a, b in zip(mine, damped, strict=True)]
    out = [own[links, WAYS[-1], 'transpose']['shaking_percent'] for links in SIZES_OF_CHAINS]
    worst = max(row['error'] for row in mine)
    shaking = max(row['shaking_percent'] for row in mine)
    held = [worst < SMALL, shaking < RARE, max(times) < GOOD]
    return Claim(
        'the transpose works well with a single end effector (section 8)',
        'has been seen to',
        f'in reach: error at most {100 * worst:.2g} % of the length, {shaking:.2g} % of steps '
        f"shake, {min(times):.2g} to {max(times):.2g} times the error of DLS'; out of reach "
        f'{min(out):.2g} to {max(out):.2g} % of steps shake',
        f'chains of {SIZES_OF_CHAINS[0]} to {SIZES_OF_CHAINS[-1]} links, amplitude {WAYS[0]:g} to '
        f'{WAYS[-2]:g} of the length',
        f'an error below {100 * SMALL:g} %; less than {RARE:g} % of the steps shake; less than '
        f"{GOOD:g} times the error of DLS'",
        held,
    )


def _clamp_claim(rows: Sequence[Row]) -> Claim:
    """Return the claim on clamps: the error is no worse and the acceleration no higher."""
    own = {(r['case'], r['method'], r['value']): r for r in _part(rows, 'clamp')}
    good, bad = 0, []
    for (figure, name, clamp), row in own.items():
        free = own[figure, name, np.inf]
        if clamp < np.inf:
            fine = row['error'] <= NO_WORSE * free['error']
            fine &= row['acceleration'] <= free['acceleration']
            good += fine
            bad += [] if fine else [f'{figure}, {name}, {clamp:g} rad']
    wild = own['Y', 'pseudoinverse', np.inf], own['Y', 'pseudoinverse', 0.4]
    return Claim(
        'clamping the largest change of an angle is almost always a good idea (section 8)',
        'almost always',
        f'in {good} of {good + len(bad)} cases'
        + (f', not: {"; ".join(bad)}' if bad else '')
        + f'; the pseudoinverse on the Y: largest change {wild[0]["largest"]:.2g} rad, error '
        f'{wild[0]["error"]:.2g} m, clamped to 0.4 rad {wild[1]["error"]:.2g} m',
        f'both figures, {len(CLAMPED)} methods, clamps {CLAMPS[0]:g} to {CLAMPS[-2]:g} rad',
        f'in {100 * ALMOST:g} % of the cases an error of at most 10 % more, and no higher '
        'acceleration',
        [good >= ALMOST * (good + len(bad))],
    )


COLOURS = {'transpose': ORANGE, 'pseudoinverse': BLUE, 'DLS': RED, "DLS'": GREEN, 'Y': BLACK}
COLOURS['double Y'] = PINK


def draw(rows: Sequence[Row]) -> Any:
    """Draw the alternate Jacobian near and far, Dmax, chains with one end effector, and clamps."""
    figure = new_figure(9.5, 7.2)
    [[near, dmax], [single, clamp]] = figure.subplots(2, 2)
    for name in NEAR_METHODS:
        times, damping = near_ratios(rows, name), dampings_of(name)[:2][-1]
        shown = [times[damping, fraction] for fraction in FRACTIONS]
        label = f'{name}, damping {damping:g}' if damping else name
        near.plot(FRACTIONS, shown, marker='.', color=COLOURS[name], label=label)
    near.axhline(1.0, color='0.6', linewidth=0.8)
    near.set(xlabel='target from the root [share of the length]', yscale='log')
    near.set(ylabel='acceleration, alternate over usual', title='The alternate Jacobian')
    for name in FIGURES:
        errors = _dmax_errors(rows, SIZES['in and out'])[name]
        dmax.plot(list(errors), list(errors.values()), marker='.', color=COLOURS[name], label=name)
    dmax.set(xscale='log', xlabel='Dmax [length of a link]', ylabel='mean error [m]')
    dmax.set_title("DLS', amplitude 1 m")
    for name, style in (('transpose', '-'), ("DLS'", '--')):
        for links, colour in zip(SIZES_OF_CHAINS, (BLACK, BLUE, GREEN, RED), strict=True):
            own = [r for r in _part(rows, 'single') if (r['case'], r['method']) == (links, name)]
            x, y = ([row[key] for row in own] for key in ('value', 'error'))
            solid = f'{links} links' if name == 'transpose' else None
            single.plot(x, y, style, marker='.', color=colour, label=solid)
    single.set(xscale='log', yscale='log', xlabel='amplitude [share of the length]')
    single.set(ylabel='mean error [lengths]', title="One end effector; dashed: DLS'")
    for name in CLAMPED:
        own = [
            r for r in _part(rows, 'clamp')
            if (r['case'], r['method']) == ('Y', name) and r['value'] < np.inf
        ]  # fmt: skip
        x, y = ([row[key] for row in own] for key in ('value', 'error'))
        clamp.plot(x, y, marker='.', color=COLOURS[name], label=name)
    clamp.set(xscale='log', xlabel='clamp of an angle [rad]', ylabel='mean error [m]')
    clamp.set_title('Clamped changes of angles, the Y')
    for axes, ticks in ((dmax, DMAX), (single, WAYS), (clamp, CLAMPS[:-1])):
        axes.set_xticks(ticks, [f'{tick:g}' for tick in ticks])
        axes.minorticks_off()
    for axes in (near, dmax, single, clamp):
        axes.legend()
    return figure
