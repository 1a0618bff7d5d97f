# SPDX-License-Identifier: Apache-2.0
"""Style of all figures of the project: colours that everybody can distinguish, lines, units.

The colours are those of Okabe and Ito, which colour-blind people can distinguish, too; methods
also differ in their lines. A method has one style in all figures. Quantities shown by colour use
the map `viridis`, from dark to bright. matplotlib (extra `figures`) is imported only for drawing.
"""

from __future__ import annotations

import itertools
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .exceptions import InvalidOption

HOW_TO_INSTALL = f'{sys.executable} -m pip install matplotlib'  # for this Python

BLUE, ORANGE, GREEN, PINK = '#0072B2', '#E69F00', '#009E73', '#CC79A7'
SKY, RED, BLACK, GREY = '#56B4E9', '#D55E00', '#000000', '#888888'

COLOURS = (BLUE, ORANGE, GREEN, RED, SKY, PINK, BLACK, GREY)  # for items without their own colour
LINES = ('-', '--', ':', '-.')  # once all colours are used

# colour and line of every solver
# Colour and line of every solver of this package
LOOKS: dict[str, tuple[str, str]] = {
    'levenberg_marquardt': (BLACK, '-'),
    'closed_form': (BLACK, '--'),
    'damped_least_squares': (GREEN, '-'),
    'selectively_damped_least_squares': (PINK, '-'),
    'pseudoinverse': (BLUE, '-'),
    'jacobian_transpose': (ORANGE, '-'),
    'cyclic_coordinate_descent': (RED, '-'),
    'bfgs': (SKY, '-'),
    'projected_gradient': (ORANGE, '--'),
    'penalty': (RED, ':'),
    'augmented_lagrangian': (PINK, ':'),
    'sqp': (SKY, '--'),
    'trust_region': (GREEN, ':'),
}
# Colours and lines for solvers of other packages
OTHER_LOOKS = [
    look for look in itertools.product(COLOURS, LINES) if look not in set(LOOKS.values())
]

SETTINGS = {
    'axes.grid': True,
    'axes.spines.right': False,
    'axes.spines.top': False,
    'axes.titlesize': 10,
    'axes.axisbelow': True,
    'figure.dpi': 100,
    'savefig.dpi': 150,
    'font.size': 9,
    'grid.alpha': 0.3,
    'legend.fontsize': 8,
    'legend.framealpha': 0.9,
    'lines.linewidth': 1.4,
    'path.simplify_threshold': 0.5,
    'svg.hashsalt': 'ik_core',  # the same figure is the same file
}


def line_style(solver: str) -> dict[str, Any]:
    """Return the keyword arguments of `plot` for a solver: always the same, by its name."""
    other = OTHER_LOOKS[zlib.crc32(solver.encode()) % len(OTHER_LOOKS)]
    colour, line = LOOKS.get(solver, other)
    return {'color': colour, 'linestyle': line}


def new_figure(width: float, height: float) -> Any:
    """An empty figure [inch] whose layout fits its labels. Raises ImportError."""
    from matplotlib.figure import Figure  # only figures need matplotlib

    return Figure(figsize=(width, height), layout='constrained')


def count_axis(axis: Any, largest: int) -> None:
    """Scale an axis of counts: from 0, then logarithmic."""
    from matplotlib.ticker import ScalarFormatter

    axis.axes.set(**{f'{axis.axis_name}scale': 'symlog', f'{axis.axis_name}lim': (0, largest)})
    axis.set_major_formatter(ScalarFormatter())


def name_values(axis: Any) -> None:
    """Label powers of ten on an axis, and their multiples by two and five."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_major_formatter('{x:g}')
    axis.set_minor_formatter(NullFormatter())


def equal_axes(axes: Any) -> None:
    """Give the three axes equal scales, names in metres, and as many numbers as there is room for.

    To be called when everything is drawn.
    """
    from matplotlib.ticker import MaxNLocator

    ends = axes.get_xlim(), axes.get_ylim(), axes.get_zlim()
    lengths = [high - low for low, high in ends]
    for name, length in zip('xyz', lengths, strict=True):
        axis = getattr(axes, f'{name}axis')
        axis.set_label_text(f'{name} [m]')
        axis.labelpad = 14.0
        axis.set_major_locator(MaxNLocator(max(2, round(8.0 * length / max(lengths)))))
    axes.set_box_aspect(lengths, zoom=0.84)  # matplotlib reserves no space for labels of 3D axes


def log_scale(axes: Any, name: str) -> None:
    """Make an axis, `x` or `y`, logarithmic, with labels that do not overlap.

    Call it after drawing: a short axis has more labels than the powers of ten.
    """
    from matplotlib.ticker import NullFormatter

    axes.set(**{f'{name}scale': 'log'})
    axis = getattr(axes, f'{name}axis')
    low, high = axis.get_view_interval()
    if high < 300.0 * low:
        name_values(axis)
        return
    axis.set_minor_formatter(NullFormatter())


@contextmanager
def styled() -> Iterator[None]:
    """Context in which figures are drawn and saved in this style. Raises ImportError without
    matplotlib.
    """
    import matplotlib

    with matplotlib.rc_context(SETTINGS):
        yield


def require_matplotlib() -> None:
    """Raise InvalidOption, with the remedy, if matplotlib is missing."""
    try:
        import matplotlib.figure  # noqa: F401
    except ImportError:
        raise InvalidOption(f'figures need matplotlib: {HOW_TO_INSTALL}') from None


def nth_style(number: int) -> dict[str, Any]:
    """Keyword arguments of `plot` for item `number` of many."""
    line = LINES[number // len(COLOURS) % len(LINES)]
    return {'color': COLOURS[number % len(COLOURS)], 'linestyle': line}


def save(figure: Any, path: str | Path) -> None:
    """Save a figure in the format of the suffix. Raises InvalidOption for unknown formats."""
    suffix = Path(path).suffix.lower()
    try:
        figure.savefig(path, metadata={'Date': None} if suffix == '.svg' else None)
    except ValueError as error:
        raise InvalidOption(f'{path}: {error}') from None


def draw_file(path: str | Path, draw: Callable[..., Any], *arguments: Any) -> None:
    """Save the figure returned by draw(*arguments), in this style.

    Raises InvalidOption without matplotlib, or for an unknown suffix.
    """
    require_matplotlib()
    with styled():
        save(draw(*arguments), path)
