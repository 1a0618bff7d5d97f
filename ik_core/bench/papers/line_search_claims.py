"""What [EngellErleben2011] says of its figures, beside the rows of `line_search`."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..rows import Row
from .claims import Claim
from .fixed_step import THEIRS, TOO_LONG

FIGURES = {'0.05 s': 'Fig. 9', '0.7 s': 'Fig. 10', '1 s': 'Fig. 11'}
LESS = '0.5 ms'
"""A time in which methods don't come to the 1 cm at which they stop."""
MUCH = 2.0
"""Much lower is by this factor."""


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The source's claims, figure by figure."""
    return [
        *(against_inverse(rows, case) for case in FIGURES),
        improved(rows),
        troubled(rows),
        interactive(rows),
        longest_step(rows),
        flipping_step(rows),
        smooth(rows),
        like_the_reference(rows),
        *dragged(rows),
        Claim(
            '28, 7 and 5 frames a cycle are 0.05, 0.7 and 1.0 s apart (Fig. 8, 6.2)',
            '28, 7, 5',
            '28 x 0.05 s = 1.4 s, 7 x 0.7 s = 4.9 s, 5 x 1.0 s = 5 s: two lengths of one cycle',
            False,
        ),
    ]


def value(rows: Sequence[Row], part: str, case: str, method: str, key: str = 'median') -> float:
    """A number of a row."""
    found = (r for r in rows if (r['part'], r['case'], r['method']) == (part, case, method))
    return float(next(found)[key])


def total(rows: Sequence[Row], part: str, method: str) -> list[float]:
    """The medians of a method in all cases of a part."""
    return [float(r['median']) for r in rows if (r['part'], r['method']) == (part, method)]


def medians(rows: Sequence[Row], method: str) -> list[float]:
    """Of the errors at the three spacings."""
    return [value(rows, 'error', case, method) for case in FIGURES]


def against_inverse(rows: Sequence[Row], case: str) -> Claim:
    """One of the three box plots."""
    ours, inverse = (value(rows, 'error', case, m) for m in ('line search', 'JI'))
    box, wide = (
        value(rows, 'error', case, m, 'q75') - value(rows, 'error', case, m, 'q25')
        for m in ('line search', 'JI')
    )
    return Claim(
        f'{case} apart: the line search has a much lower median than the Jacobian inverse, and a '
        f'more compact distribution ({FIGURES[case]})',
        'lower, narrower',
        f'medians {ours:.2g} and {inverse:.2g}, boxes {box:.2g} and {wide:.2g} wide',
        MUCH * ours < inverse and MUCH * box < wide,
    )


def improved(rows: Sequence[Row]) -> Claim:
    """The line search beside the fixed step."""
    ours, fixed = medians(rows, 'line search'), medians(rows, 'transpose')
    spectral, newton = medians(rows, 'line search, BB'), medians(rows, 'LM')
    less = [value(rows, 'slot', LESS, m) for m in ('line search', 'transpose', 'line search, BB')]
    return Claim(
        'the line search improves on the transpose (section 7), in the median at all spacings',
        'lower',
        f'{listed(ours)} against {listed(fixed)}; with steps of Barzilai and Borwein '
        f'{listed(spectral)}, `levenberg_marquardt` {listed(newton)}. In {LESS}, 0.7 s apart: '
        f'{less[0]:.2g} against {less[1]:.2g}; Barzilai and Borwein {less[2]:.2g}',
        all(a < b for a, b in zip(ours, fixed, strict=True)),
    )


def troubled(rows: Sequence[Row]) -> Claim:
    """The transpose where frames are far apart."""
    high = [value(rows, 'error', case, 'transpose', 'high') for case in FIGURES]
    found = [r for r in rows if (r['part'], r['method']) == ('error', 'transpose')]
    largest = [max([float(v) for v in str(r['values']).split()] or [0.0]) for r in found]
    return Claim(
        'the transpose begins to have problems at 1.0 s; outliers of around 80 (Fig. 11)',
        'outliers of 80',
        f'upper whiskers {listed(high)}, largest {listed(largest)}',
        high[2] > MUCH * high[0],
    )


def interactive(rows: Sequence[Row]) -> Claim:
    """What 15 ms are enough for."""
    caps = {r['method']: r for r in rows if r['part'] == 'cap'}
    texts, most = [], 0.0
    for name, cap in caps.items():
        used = value(rows, 'iterations', '1 s', name) * float(cap['median']) / 1e3
        most = max(most, used)
        texts.append(f'{name}: {cap["count"]} iterations, {used:.2g} ms')
    return Claim(
        'an answer in about 15 ms (6.2); here: the iterations in 15 ms, the median time at 1.0 s',
        '66 frames/s at 1.66 GHz',
        '; '.join(texts),
        most <= 15.0,
    )


def longest_step(rows: Sequence[Row]) -> Claim:
    """The transpose's step length."""
    low, median, high = (
        value(rows, 'bound', '2 / s^2', 'transpose', key) for key in ('low', 'median', 'high')
    )
    at, beyond = (share(rows, 'free', step) for step in (THEIRS, 1.5 * THEIRS))
    return Claim(
        'a fixed step of more than 0.005 makes the transpose diverge (6.1)',
        '0.005',
        f'2 / s^2 is {median:.4f}, from {low:.4f} to {high:.4f}; {at:.0f} % of the frames diverge '
        f'at 0.005, {beyond:.0f} % at 0.0075',
        at < 50.0 < beyond,
    )


def flipping_step(rows: Sequence[Row]) -> Claim:
    """What a step of 0.05 does."""
    flips, away = (share(rows, 'held', TOO_LONG, key) for key in ('high', 'low'))
    return Claim(
        'with a step of 0.05 the figure flips between two poses (Fig. 7)',
        'flips',
        f'with the pelvis held {flips:.0f} % of the frames flip, {away:.0f} % end farther away; '
        f'with a free root {share(rows, "free", TOO_LONG):.0f} % run away',
        flips > 10.0,
    )


def share(rows: Sequence[Row], root: str, step: float, key: str = 'low') -> float:
    """How many frames [%] a step leaves farther away, or flipping."""
    return 100.0 * value(rows, f'step {root}', f'{step:g}', 'transpose', key)


def smooth(rows: Sequence[Row]) -> Claim:
    """Jitter, as the root mean square over all joints."""
    names = ('JI', 'line search', 'LM', 'LM, restarts', 'captured')
    rms = {name: float(np.sqrt(np.mean(np.square(total(rows, 'jitter', name))))) for name in names}
    return Claim(
        'the Jacobian inverse jitters, the line search does not (Fig. 12, section 7)',
        'seen in frames 7 and 9',
        'second differences: ' + ', '.join(f'{name} {rms[name]:.1f} cm' for name in names),
        rms['JI'] > MUCH * rms['captured'] > rms['line search'],
    )


def like_the_reference(rows: Sequence[Row]) -> Claim:
    """How far joints without a goal are from the captured ones."""
    names = ('JI', 'transpose', 'line search', 'LM', 'LM, restarts')
    away = {name: float(np.mean(total(rows, 'pose', name))) for name in names}
    return Claim(
        'the Jacobian inverse is farther from the captured motion than the line search (Fig. 12)',
        'significantly',
        'median distance of joints: ' + ', '.join(f'{name} {away[name]:.1f} cm' for name in names),
        away['JI'] > 1.1 * away['line search'],
    )


def dragged(rows: Sequence[Row]) -> list[Claim]:
    """Fig. 4, for theirs and for ours."""
    drags = [r for r in rows if r['part'] == 'drag']
    lines = len({r['case'] for r in drags})
    flips = {r['method']: 0 for r in drags}
    for drag in drags:
        flips[drag['method']] += int(drag['count'])
    told = ', '.join(f'{name} {count}' for name, count in flips.items())
    return [
        Claim(
            'methods that project afterwards flip where a goal is dragged along limits (Fig. 4)',
            'Maya flips',
            f'flips on {lines} lines: {told}',
            flips['JI'] > 0,
        ),
        Claim(
            'the line search does not flip (section 2.2)',
            'none',
            f'{flips["line search"]}; ours without restarts {flips["LM"]}',
            flips['line search'] == 0,
        ),
    ]


def listed(numbers: Sequence[float]) -> str:
    """Three numbers, as '0.1, 0.2, 0.3'."""
    return ', '.join(f'{number:.2g}' for number in numbers)
