# SPDX-License-Identifier: Apache-2.0
"""Write ik_core.h, the header of the compiled library: python -m ik_core.for_c.header FOLDER.

It is generated from the table of entries and the layouts of records. The arguments and results of
an entry form a C struct, with eight bytes for each: `ik_solve(&call)` reads its arguments from a
`struct ik_solve_call` and writes its results there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from .. import rules
from ..kernels import jit
from ..kernels.entries import ENTRIES, GOALS, Entry
from ..solvers.damped_search.run import NOT_FINITE
from ..tasks.kernels import Packed
from ..tracking import steps
from .records import fingerprint, structs

STATUSES = 'RUNNING', 'REACHED', 'CLOSEST', 'STALLED', 'EXHAUSTED', 'FAILED', 'COLLIDED'
LIMITS = 'LOWER', 'UPPER', 'VELOCITY', 'ACCELERATION', 'JERK'
STATE = 'Q', 'DQ', 'DDQ', 'GOAL', 'DRIFT', 'ACT'
ACTS = 'FREE', 'EASE', 'BRAKE'
NUMBER = {'i': 'int64_t', 'b': 'int64_t', 'd': 'double'}
ARRAY = {'I': 'int64_t', 'B': 'uint8_t', 'D': 'double'}
RESERVED = 'new', 'delete', 'this', 'class', 'default'  # words of C++, which get an underscore

TEXT = """\
/* The compiled library of ik_core for C and C++, made by python -m ik_core.for_c.header.

   A function reads its arguments from a struct and writes its results there; it returns 0 when it
   is done. The lengths of an array follow its address; arrays are in C order. Functions allocate
   nothing and lock nothing: each thread needs a robot of its own. Structs and functions change
   between versions of ik_core: header, library and exported robots must be of the same one. */
#ifndef IK_CORE_H
#define IK_CORE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

/* The first number in files of exported robots that have these records. */
#define IK_RECORDS {fingerprint}

/* Statuses of a search. NOT_FINITE: the start or a target has a NaN or an infinity. */
enum {{ {statuses}, IK_NOT_FINITE = {not_finite} }};

/* Rows of a governor's limits and state, and what ACT may be. */
enum {{ {rows}, IK_ROWS = {count} }};
enum {{ {acts} }};

/* Whether this processor has the instructions that the library is compiled for. */
int ik_suits(void);

/* --- records --- */

{structs}
/* --- functions --- */

{functions}
#ifdef __cplusplus
}}
#endif

#endif
"""


def header() -> str:
    """Return the text of ik_core.h."""
    return TEXT.format(
        fingerprint=fingerprint(),
        statuses=_constants(rules, STATUSES),
        not_finite=NOT_FINITE,
        rows=_constants(steps, LIMITS + STATE),
        acts=_constants(steps, ACTS),
        count=steps.ROWS,
        structs=structs(),
        functions='\n'.join(map(_function, ENTRIES.values())),
    )


def _constants(module: object, names: tuple[str, ...]) -> str:
    return ', '.join(f'IK_{name} = {getattr(module, name)}' for name in names)


def _function(entry: Entry) -> str:
    """The struct and the declaration of an entry."""
    source = jit.source_of(entry.kernel())
    about = re.sub(r'\n *', '\n   ', (source.__doc__ or '').partition('\n\n')[0])
    only = f' For libraries with {entry.lanes} lanes.' if entry.lanes else ''
    names = source.__code__.co_varnames[: source.__code__.co_argcount]
    names = tuple(f'{name}_' if name in RESERVED else name for name in names)
    members = [*_arguments(entry.arguments, names), *_results(entry.results)]
    return (
        f'/* {entry.path}\n   {about}{only} */\n'
        f'struct {entry.name}_call {{\n' + ''.join(f'    {each};\n' for each in members) + '};\n'
        f'int {entry.name}(struct {entry.name}_call *);\n'
    )


def _arguments(letters: str, names: tuple[str, ...]) -> Iterator[str]:
    """Yield the struct members of arguments."""
    parts = re.findall(r'\([^)]*\)|[DIB]\d|[idb]', letters)
    for part, name in zip(parts, names, strict=True):
        if part == GOALS:
            yield from _arguments(part[1:-1], tuple(f'{name}_{each}' for each in Packed._fields))
        elif part[0] == '(':
            yield f'{NUMBER[part[1]]} {name}[{len(part) - 2}]'
        elif len(part) == 2:
            yield f'{ARRAY[part[0]]} *{name}'
            yield f'int64_t {name}_shape[{part[1]}]'
        else:
            yield f'{NUMBER[part]} {name}'


def _results(letters: str) -> Iterator[str]:
    """Yield the struct members of results."""
    for i, letter in enumerate(letters):
        yield f'{NUMBER[letter]} result{i if len(letters) > 1 else ""}'


if __name__ == '__main__':
    Path(sys.argv[1], 'ik_core.h').write_text(header(), encoding='utf-8')
