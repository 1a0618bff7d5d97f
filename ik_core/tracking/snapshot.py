# SPDX-License-Identifier: Apache-2.0
"""All that a tracker goes on from, as plain values: what a recording begins with.

Each part of a tracker names the attributes that are its state; all else follows from how the
tracker was made. A solve that is under way, and what a method remembers of the last, are left out:
they are arrays of its own. It begins again when a snapshot is taken, in the tracker as in the one
that resumes it: a seeded solve takes part of a tick, so only a search with restarts loses the
ticks that it has used.
"""

from __future__ import annotations

from typing import Any, NamedTuple

from ..problem import IkProblem

Values = dict[str, Any]
"""Attributes by name: numbers, strings, arrays, None, enums and records of these."""


class Snapshot(NamedTuple):
    """`problem`, `rate` and `arguments` make the tracker, `state` is what its parts have become.

    The tasks of the problem are still the tracker's: what they remember goes on with it.
    """

    problem: IkProblem
    rate: float
    arguments: Values
    state: Values
