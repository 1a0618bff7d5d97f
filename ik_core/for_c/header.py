# SPDX-License-Identifier: Apache-2.0
"""Write ik_core.h, the header of the compiled library: python -m ik_core.for_c.header FOLDER.

It is generated from the entries and the layouts of records. The arguments and results of an entry
form a C struct, with eight bytes for each: `ik_solve(&call)` reads its arguments from a
`struct ik_solve_call` and writes its results there.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .. import rules
from ..kernels.jit import Entry, name_of, source_of
from ..kernels.signatures import array_of, entries, letters_of, members_of, signature_of
from ..solvers.damped_search.run import NOT_FINITE
from ..tracking.governor import joint_table
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
        rows=_constants(joint_table, LIMITS + STATE),
        acts=_constants(joint_table, ACTS),
        count=joint_table.ROWS,
        structs=structs(),
        functions='\n'.join(map(_function, entries())),
    )


def _constants(module: object, names: tuple[str, ...]) -> str:
    return ', '.join(f'IK_{name} = {getattr(module, name)}' for name in names)


def _function(entry: Entry) -> str:
    """The struct and the declaration of an entry."""
    (arguments, result), about = signature_of(entry.kernel), source_of(entry.kernel).__doc__ or ''
    about = re.sub(r'\n *', '\n   ', about.partition('\n\n')[0])
    only = f' For libraries with {entry.lanes} lanes.' if entry.lanes else ''
    members = [each for name, kind in arguments.items() for each in _argument(name, kind)]
    members += _results(result)
    symbol, path = entry.symbol, name_of(entry.kernel).partition('.')[2]
    return (
        f'/* {path}\n   {about}{only} */\n'
        f'struct {symbol}_call {{\n' + ''.join(f'    {each};\n' for each in members) + '};\n'
        f'int {symbol}(struct {symbol}_call *);\n'
    )


def _argument(name: str, kind: Any) -> Iterator[str]:
    """Yield the struct members of an argument."""
    name = f'{name}_' if name in RESERVED else name
    members, array = members_of(kind), array_of(kind)
    fields = getattr(kind, '_fields', ())
    if fields:
        for field, each in zip(fields, members or (), strict=True):
            yield from _argument(f'{name}_{field}', each)
    elif members is not None:
        yield f'{NUMBER[letters_of(members[0])]} {name}[{len(members)}]'
    elif array is not None:
        letter, dimensions = array
        yield f'{ARRAY[letter]} *{name}'
        yield f'int64_t {name}_shape[{dimensions}]'
    else:
        yield f'{NUMBER[letters_of(kind)]} {name}'


def _results(kind: Any) -> Iterator[str]:
    """Yield the struct members of results."""
    members = members_of(kind)
    for i, letter in enumerate(letters_of(kind).strip('()')):
        yield f'{NUMBER[letter]} result{"" if members is None else i}'


if __name__ == '__main__':
    Path(sys.argv[1], 'ik_core.h').write_text(header(), encoding='utf-8')
