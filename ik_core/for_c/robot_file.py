# SPDX-License-Identifier: Apache-2.0
"""Files of exported robots: all the memory that a C program needs to solve and to move.

A file has integers of eight bytes: the fingerprint of the records, the length of the memory, the
number of addresses, the checksum of everything after it, and the offsets of the addresses in the
memory. Then the memory follows. It begins with the record `ROBOT`; addresses in it are relative to
its beginning. A program loads the memory, adds its own address to these addresses, and calls the
library.
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

FOUR = 4  # lanes of a single search in all libraries
LINKS = 'problem', 'single', 'four_lanes'  # fields of a search that are addresses of records


def export(
    path: str | PathLike[str], problem: IkProblem, limits: MotionLimits, period: float
) -> None:
    """Write a problem, for the default solver, and a governor at rest with a period [s].

    Both begin at the problem's default configuration. C programs may overwrite the targets of
    goals; everything else is fixed. Raises InvalidOption for problems with parts that only Python
    evaluates: tasks that are not goals, frozen joints, and anything that answers have to avoid.
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
    four = search.make_lanes(FOUR)
    search.searches['four_lanes'] = four.address
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
    """Return a checksum of 64-bit integers, which C computes as fast as it reads them: the sum of
    integer k times (2 k + 1), k = 0, 1, 2, ..., in 64-bit arithmetic."""
    numbers = np.frombuffer(content, '<i8')
    return int((numbers * (2 * np.arange(len(numbers)) + 1)).sum())


class _Memory:
    """Copies of records and of the arrays they point to, with relative addresses."""

    def __init__(self) -> None:
        self.block = bytearray()
        self.addresses: list[int] = []

    def put(self, record: Record) -> int:
        """Copy a record and everything it points to; return the offset of the copy."""
        copy = self._append(record._block.tobytes())
        for name, offset in record.layout.offsets(record.width)[0].items():
            if record.layout.fields[name][0] == RECORD:
                self._point(copy + offset, self.put(record.part(name)))
            elif record.layout.name == 'searches' and name in LINKS:
                self._point(copy + offset, self.put(_RECORDS[record[name].item()]))
            elif name not in record.layout.inside:
                start = record[name].ctypes.data - record.address
                is_own = 0 <= start < len(record._block)
                there = copy + start if is_own else self._append(record[name].tobytes())
                self._point(copy + offset, there)
        return copy

    def _append(self, content: bytes) -> int:
        """Append bytes, aligned to a cache line; return their offset."""
        self.block += bytes(-len(self.block) % LINE)
        offset = len(self.block)
        self.block += content
        return offset

    def _point(self, at: int, target: int) -> None:
        """Write the address of `target` at an offset."""
        self.block[at : at + 8] = target.to_bytes(8, 'little')
        self.addresses.append(at)
