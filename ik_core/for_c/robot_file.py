# SPDX-License-Identifier: Apache-2.0
"""Files of exported robots: all the memory that a program in C needs to solve and to move.

A file has integers of eight bytes: the fingerprint of the records, the length of the memory, the
number of addresses, the checksum of all that follows, and the offsets of the addresses in the
memory. Then the memory follows. It begins with the
record `ROBOT`; an address in it counts from its beginning. A program loads it, adds the address at
which it is now to these addresses, and calls the library.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path

import numpy as np

from ..exceptions import InvalidOption
from ..kernels.records import _RECORDS, LINE, RECORD, Record
from ..problem import IkProblem
from ..solvers.levenberg_marquardt import LevenbergMarquardt
from ..tracking.governor import Governor
from ..tracking.governor.motion_limits import MotionLimits
from .records import ROBOT, fingerprint

FEW = 4
"""Lanes of a single search in all libraries."""
LINKS = 'problem', 'one', 'few'
"""Fields of a search that are addresses of records."""


def export(
    path: str | PathLike[str], problem: IkProblem, limits: MotionLimits, period: float
) -> None:
    """Write a problem, for the default solver, and a governor at rest with this period [s].

    Both begin at the problem's default configuration. The targets of goals may be overwritten in
    C; all else is fixed. Raises InvalidOption for what only Python evaluates: tasks that are not
    goals, frozen joints, and what answers have to avoid.
    """
    if problem.other_tasks or problem.levels or len(problem.packed.frozen):
        raise InvalidOption('only goals are exported, not other tasks or frozen joints')
    if problem.avoids or problem.is_constrained:
        names = {
            'avoid=': problem.avoid is not None,
            'valid=': problem.valid is not None,
            'constraints=': problem.is_constrained,
        }
        given = ' and '.join(name for name, is_given in names.items() if is_given)
        raise InvalidOption(f'only goals are exported, not {given}: leave it out, check in C')
    search = LevenbergMarquardt().workspace(problem)
    q = search.load(None)
    few = search.make_lanes(FEW)
    search.searches['few'] = few.address
    governor = Governor(limits, period, q)
    robot = ROBOT.make({'joints': len(q), 'goals': len(problem.packed.parts)})
    robot['period'], robot['q'] = period, q
    robot['state'] = governor.state
    robot['limits'] = governor.state[:5]
    robot['searches'] = search.searches
    memory = _Memory()
    memory.put(robot)
    memory.block += bytes(-len(memory.block) % 8)
    content = np.array(memory.addresses, '<i8').tobytes() + memory.block
    head = fingerprint(), len(memory.block), len(memory.addresses), checksum(content)
    Path(path).write_bytes(np.array(head, '<i8').tobytes() + content)


def checksum(content: bytes) -> int:
    """Return a checksum of integers of eight bytes, which C computes as fast as it reads them:
    the sum of all, each times its odd number 1, 3, 5, ..., in 64 bits."""
    numbers = np.frombuffer(content, '<i8')
    return int((numbers * (2 * np.arange(len(numbers)) + 1)).sum())


class _Memory:
    """Copies of records and of the arrays that they have elsewhere, with relative addresses."""

    def __init__(self) -> None:
        self.block = bytearray()
        self.addresses: list[int] = []

    def put(self, record: Record) -> int:
        """Copy a record, and what it points at; return where it is."""
        place = self._append(record._block.tobytes())
        for name, offset in record.layout.places(record.width)[0].items():
            if record.layout.fields[name][0] == RECORD:
                self._point(place + offset, self.put(record.part(name)))
            elif record.layout.name == 'searches' and name in LINKS:
                self._point(place + offset, self.put(_RECORDS[record[name].item()]))
            elif name not in record.layout.inside:
                start = record[name].ctypes.data - record.address
                is_own = 0 <= start < len(record._block)
                there = place + start if is_own else self._append(record[name].tobytes())
                self._point(place + offset, there)
        return place

    def _append(self, content: bytes) -> int:
        self.block += bytes(-len(self.block) % LINE)
        place = len(self.block)
        self.block += content
        return place

    def _point(self, place: int, there: int) -> None:
        self.block[place : place + 8] = there.to_bytes(8, 'little')
        self.addresses.append(place)
