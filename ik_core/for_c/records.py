# SPDX-License-Identifier: Apache-2.0
"""The records of the compiled library as C structs, and `ROBOT`, the first record of a file."""

from __future__ import annotations

import zlib

from ..closed_form.records import ARRAYS
from ..kernels.records import FLOAT, INT, LANE, RECORD, WIDTH, Layout, is_inside
from ..solvers.damped_search.layouts import LANES, POINT, PROBLEM, SEARCHES
from ..tracking.governor.joint_table import ROWS

ROBOT = Layout(
    'robot',
    ('joints', 'goals'),
    period=(FLOAT,),  # [s] of the governor
    q=(FLOAT, 'joints'),  # position of the governor at rest; a start for searches
    limits=(FLOAT, 5, 'joints'),  # of the governor
    state=(FLOAT, ROWS, 'joints'),  # of the governor
    searches=(RECORD, SEARCHES),  # a single search, of the default solver
)
# layouts with their number of lanes; a record comes after the records that it points to
RECORDS: tuple[tuple[Layout, int], ...] = (
    (POINT, 1),
    *((LANES, width) for width in (1, 4, 8)),
    (PROBLEM, 1),
    (SEARCHES, 1),
    (ARRAYS, 1),
    (ROBOT, 1),
)


def structs() -> str:
    """Return the structs of all records."""
    return '\n'.join(_struct(layout, width) for layout, width in RECORDS)


def fingerprint() -> int:
    """A number that changes whenever a record changes."""
    return zlib.crc32(structs().encode())


def _struct(layout: Layout, width: int) -> str:
    offsets, _ = layout.offsets(width)
    lines = [_field(layout, name, width) for name in sorted(offsets, key=offsets.__getitem__)]
    return f'struct {_name(layout, width)} {{\n' + ''.join(lines) + '};\n'


def _name(layout: Layout, width: int) -> str:
    lanes = f'_{width}' if layout is LANES else ''
    return f'ik_{layout.name.replace(" ", "_")}{lanes}'


def _field(layout: Layout, name: str, width: int) -> str:
    """The line of a field: a number, an array, or the address of one."""
    kind, *shape = layout.fields[name]
    if kind == RECORD:
        return f'    struct {_name(shape[0], 1)} *{name};\n'
    whole = [*shape, WIDTH] if kind == LANE else shape
    sizes = [str(width if size == WIDTH else size) for size in whole]
    c_type = 'int64_t' if kind == INT else 'double'
    if is_inside(whole):
        return f'    {c_type} {name}{"".join(f"[{size}]" for size in sizes)};\n'
    return f'    {c_type} *{name}; /* ({", ".join(sizes)}) */\n'
