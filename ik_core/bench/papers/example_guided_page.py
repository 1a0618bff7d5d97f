"""What the rows of `example_guided` say: the claims of [TakKo], and its figures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, new_figure
from ..rows import Row
from .claims import Claim

TABLE_1 = {
    'Abnorman-1': {1.0: 0.048, 0.5: 0.0017, 1e-5: 1e-14, 0.0: 0.0},
    'Abnorman-2': {1.0: 0.17, 0.5: 0.047, 1e-5: 1e-12, 0.0: 0.0},
}
"""Its average end-effector errors over the total link length, by figure and beta."""
MORE = 1.2
"""By so much a share is larger that is said to be."""
FACTOR = 2.0
"""A measured number holds within this factor of the source's."""
COLOURS = (BLACK, BLUE, GREEN, PINK, ORANGE, RED)
CURVES = {0.0: (BLACK, '-'), 1e-5: (BLUE, '--'), 1.0: (RED, ':')}
"""By beta, as in Fig. 6."""
SMALLEST_BETA = 1e-7
"""Where beta = 0 is drawn."""


def claims_of(rows: Sequence[Row]) -> list[Claim]:
    """The source's claims."""
    return [
        *(_table_claim(rows, beta) for beta in (1.0, 0.5, 1e-5, 0.0)),
        _pattern_claim(rows),
        _jerk_claim(rows),
        _smooth_claim(rows),
        _drop_claim(rows),
        _solver_claim(rows),
    ]


def _errors(rows: Sequence[Row], figure: str, start: str = 'warm') -> dict[float, Row]:
    """The errors of a figure by beta."""
    own = (figure, start)
    return {
        row['beta']: row
        for row in rows
        if row['kind'] == 'error' and (row['figure'], row['start']) == own
    }


def _table_claim(rows: Sequence[Row], beta: float) -> Claim:
    theirs = [TABLE_1[figure][beta] for figure in TABLE_1]
    ours = [_errors(rows, figure)[beta]['error_over_length'] for figure in TABLE_1]
    near = [
        a == b or (a < 1e-9 and b == 0.0) or 1 / FACTOR < a / max(b, 1e-300) < FACTOR
        for a, b in zip(ours, theirs, strict=True)
    ]
    return Claim(
        f'Table 1: mean end-effector error over the total length, beta = {beta:g}',
        ' and '.join(f'{value:g}' for value in theirs),
        ' and '.join(f'{value:.2g}' for value in ours),
        all(near),
    )


def _pattern_claim(rows: Sequence[Row]) -> Claim:
    degrees = [_errors(rows, figure) for figure in TABLE_1]
    texts = [
        f'{e[1e-5]["joint_error_deg"]:.2g} deg (beta = 0: {e[0.0]["joint_error_deg"]:.2g})'
        for e in degrees
    ]
    close = degrees[0][1e-5]['joint_error_deg'] < 0.2 * degrees[0][0.0]['joint_error_deg']
    return Claim(
        'the joints follow the example accurately at beta = 1e-5, for Abnorman-1 (Fig. 6a)',
        'quite accurately; at beta = 0 off by 12 and 27 deg',
        ' and '.join(texts),
        close,
    )


def _jerk_claim(rows: Sequence[Row]) -> Claim:
    warm, cold = (
        [_errors(rows, figure, start)[0.0]['jerk_ratio'] for figure in TABLE_1]
        for start in ('warm', 'cold')
    )
    said = [' and '.join(f'{ratio:.2f}' for ratio in ratios) for ratios in (warm, cold)]
    return Claim(
        'inverse kinematics alone (beta = 0) is jerky (Table 1, Fig. 6)',
        'jerky',
        f"the example's jerk times {said[0]}; every frame from rest: {said[1]}",
        min(*warm, *cold) > 1.0,
    )


def _smooth_claim(rows: Sequence[Row]) -> Claim:
    ratios = [_errors(rows, figure)[1e-5]['jerk_ratio'] for figure in TABLE_1]
    return Claim(
        'beta = 1e-5 is as smooth as the example (Table 1, section 3)',
        'smooth',
        "the example's jerk times " + ' and '.join(f'{ratio:.2f}' for ratio in ratios),
        max(ratios) < 1.5,
    )


def _drop_claim(rows: Sequence[Row]) -> Claim:
    """Of Fig. 5: beta from 1 to 0.5."""
    left = []
    for figure in TABLE_1:
        errors = _errors(rows, figure)
        left.append(errors[0.5]['error_m'] / errors[1.0]['error_m'])
    theirs = [TABLE_1[figure][0.5] / TABLE_1[figure][1.0] for figure in TABLE_1]
    return Claim(
        'from beta = 1 to 0.5 the error of Abnorman-2 drops slower (Fig. 5)',
        ' and '.join(f'{100 * share:.0f} %' for share in theirs) + ' are left',
        ' and '.join(f'{100 * share:.0f} %' for share in left),
        left[1] > MORE * left[0],
    )


def _solver_claim(rows: Sequence[Row]) -> Claim:
    own = [row for row in rows if row['kind'] == 'solver']
    largest = max(row['difference_rad'] for row in own)
    return Claim(
        'SQP and an augmented Lagrangian are almost equivalent (4.3)',
        'almost, in most cases',
        f'joints of the median frame differ by at most {largest:.1g} rad, from '
        '`levenberg_marquardt` too',
        largest < 1e-3,
    )


def figure_of(rows: Sequence[Row]) -> Any:
    """Snapshots (Fig. 4), errors over beta (Fig. 5, Table 1), shoulder curves (Fig. 6)."""
    figure = new_figure(11.0, 8.6)
    snapshots, errors, curves = figure.subplots(3, 3, height_ratios=(0.5, 1.0, 1.0))
    for axes, name in zip(snapshots, ('Norman', *TABLE_1), strict=True):
        _draw_snapshots(axes, name, rows)
    for axes, name in zip(errors, TABLE_1, strict=False):
        _draw_errors(axes, name, rows)
    _draw_table(errors[2], rows)
    for axes, name in zip(curves, TABLE_1, strict=False):
        _draw_curves(axes, name, rows)
    _draw_jerk(curves[2], rows)
    return figure


def _draw_snapshots(axes: Any, name: str, rows: Sequence[Row]) -> None:
    own = [row for row in rows if (row['kind'], row['figure']) == ('bone', name)]
    times = sorted({row['time_s'] for row in own})
    for row in own:
        shift = 1.5 * times.index(row['time_s'])
        ends = [row['x1'] + shift, row['x2'] + shift], [row['y1'], row['y2']]
        axes.plot(*ends, color=BLUE, linewidth=1.2, solid_capstyle='round')
    said = '' if name == 'Norman' else ', beta = 1e-5'
    axes.set(title=f'As Fig. 4: {name}{said}', ylabel='height [m]', ylim=(-0.1, 2.1))
    axes.set_xticks([1.5 * i for i in range(len(times))], [f'{time:.2f} s' for time in times])
    axes.set_aspect('equal')


def _draw_errors(axes: Any, name: str, rows: Sequence[Row]) -> None:
    """Both errors over beta, each between 0 and 1."""
    errors = _errors(rows, name)
    betas = sorted(errors)
    for key, label, colour, line in (
        ('error_m', 'end effectors', BLUE, '-o'),
        ('joint_error_deg', 'joints', RED, '--s'),
    ):
        values = np.array([errors[beta][key] for beta in betas])
        axes.plot(_places(betas), values / values.max(), line, color=colour, label=label, ms=3)
        axes.plot([], [], ' ', label=f'1 is {_largest(key, values)}')
    axes.set(title=f'As Fig. 5: {name}', ylabel='mean error over the largest', ylim=(-0.05, 1.1))
    _beta_axis(axes)
    axes.legend(loc='best')  # beside the lines


def _largest(key: str, values: np.ndarray) -> str:
    largest = float(values.max())
    return f'{100 * largest:.1f} cm' if key == 'error_m' else f'{largest:.1f} deg'


def _draw_table(axes: Any, rows: Sequence[Row]) -> None:
    _draw_over_beta(axes, rows, 'error_over_length')
    for name, colour in zip(TABLE_1, COLOURS, strict=False):
        betas = [beta for beta, value in TABLE_1[name].items() if value > 0.0]
        values = [TABLE_1[name][beta] for beta in betas]
        axes.plot(_places(betas), values, 'x', color=colour, ms=7, label=f'Table 1: {name}')
    axes.set(title='Table 1, and finer', ylabel='mean error over the length', yscale='log')
    _beta_axis(axes)
    axes.legend(fontsize=6)


def _draw_curves(axes: Any, name: str, rows: Sequence[Row]) -> None:
    own = [row for row in rows if (row['kind'], row['figure']) == ('curve', name)]
    for beta, (colour, line) in CURVES.items():
        part = [row for row in own if (row['beta'], row['start']) == (beta, 'warm')]
        angles = np.degrees([row['angle_rad'] for row in part])
        times = [row['time_s'] for row in part]
        axes.plot(times, angles, line, color=colour, label=f'beta = {beta:g}')
    part = [row for row in own if row['start'] == 'cold']
    angles = np.degrees([row['angle_rad'] for row in part])
    axes.plot([row['time_s'] for row in part], angles, color='0.7', zorder=0, label='0, from rest')
    axes.set(title=f'As Fig. 6: {name}', xlabel='time [s]', ylabel='shoulder angle z [deg]')
    axes.legend(fontsize=6)


def _draw_jerk(axes: Any, rows: Sequence[Row]) -> None:
    _draw_over_beta(axes, rows, 'jerk_ratio')
    axes.set(title='Jerk', ylabel="mean jerk over the example's", ylim=(0, None))
    _beta_axis(axes)


def _draw_over_beta(axes: Any, rows: Sequence[Row], key: str) -> None:
    """A column of the errors over beta, for every figure."""
    names = dict.fromkeys(row['figure'] for row in rows if row['kind'] == 'error')
    for name, colour in zip(names, COLOURS, strict=True):
        errors = _errors(rows, name)
        betas = sorted(errors)
        values = [errors[beta][key] for beta in betas]
        axes.plot(_places(betas), values, '-o', color=colour, label=name, ms=2.5)


def _places(betas: Sequence[float]) -> list[float]:
    return [max(beta, SMALLEST_BETA) for beta in betas]


def _beta_axis(axes: Any) -> None:
    axes.set(xlabel='beta', xscale='log')
    axes.set_xticks([SMALLEST_BETA, 1e-5, 1e-3, 1e-1, 1.0], ['0', '1e-5', '1e-3', '0.1', '1'])
    axes.minorticks_off()
