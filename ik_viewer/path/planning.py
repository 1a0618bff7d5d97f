# SPDX-License-Identifier: Apache-2.0
"""A motion along a path, found in a thread, and the branches that each pose has."""

from __future__ import annotations

import html
import threading
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ik_core import IkProblem, solve_all, solve_path
from ik_core.exceptions import UnsupportedProblem
from ik_core.maths.rotations import Array
from ik_core.path import PathResult

from ..arm import error_text
from ..drawing.colours import BLUE, RED, SKY, hex_of

COLUMNS = 80  # poses whose branches are looked at, at most
ABSENT = '#e5e7eb'

# For each branch, whether poses have a solution of it inside the limits
Branches = Mapping[str, NDArray[np.bool_]]


class Planning:
    """A motion that is being found in a thread.

    problem : a problem with one goal
    poses : (N, 4, 4)
    options : of `ik_core.solve_path`

    Once it is `done` there is `result`, with `branches` of the poses `columns` (C,); or the text
    of `error`.
    """

    def __init__(self, problem: IkProblem, poses: Array, options: Mapping[str, Any]) -> None:
        self.result: PathResult | None = None
        self.branches: Branches = {}
        self.error = ''
        self.columns = np.unique(np.linspace(0, len(poses) - 1, COLUMNS).round().astype(int))
        self._problem, self._poses, self._options = problem, poses, options
        self._thread = threading.Thread(target=self._run, name='path', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """True if the thread has ended."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            result = solve_path(self._problem, self._poses, **self._options)
            self.branches = branches_at(self._problem, self._poses[self.columns])
            self.result = result
        except Exception as error:
            self.error = error_text(error)


def branches_at(problem: IkProblem, poses: Array) -> Branches:
    """Return the branches that have a solution at some of the poses (C, 4, 4), and where.

    There are none without names, as of arms with seven joints.
    """
    found: dict[str, NDArray[np.bool_]] = {}
    for i, pose in enumerate(poses):
        problem.goals[0].set_target(pose)
        try:
            names = solve_all(problem).branches
        except UnsupportedProblem:  # infinitely many solutions
            return {}
        for name in filter(None, names):
            found.setdefault(name, np.zeros(len(poses), bool))[i] = True
    return dict(sorted(found.items()))


def strips(planning: Planning) -> str:
    """Return a strip for each branch along the path, as HTML: dark where the motion uses it."""
    result = planning.result
    if result is None or not planning.branches:
        return ''
    last = int(planning.columns[-1])
    own = np.array(result.branches)[planning.columns] if len(result.q) else np.array([''])
    used = hex_of(BLUE if result.success else RED)
    rows = []
    for name, present in planning.branches.items():
        colours = np.where(own == name, used, np.where(present, hex_of(SKY), ABSENT))
        rows.append(
            f'<div style="display:flex;gap:0.4rem"><span style="width:9rem">{html.escape(name)}'
            f'</span><div style="flex:1;margin:0.25rem 0;background:{_gradient(colours)}">'
            '</div></div>'
        )
    return (
        f'<div style="padding:0 0.6rem;font-size:0.75rem">{"".join(rows)}'
        f'<div style="text-align:right;color:#4b5563">poses 0 to {last}; dark: used</div></div>'
    )


def _gradient(colours: Array) -> str:
    """Return a background for CSS that has these colours (C,) beside each other."""
    ends = np.flatnonzero(colours[1:] != colours[:-1]) + 1
    edges = [0, *ends.tolist(), len(colours)]
    stops = [
        f'{colours[begin]} {100.0 * begin / len(colours):.4g}% {100.0 * end / len(colours):.4g}%'
        for begin, end in pairwise(edges)
    ]
    return f'linear-gradient(to right, {", ".join(stops)})'
