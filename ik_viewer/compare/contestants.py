# SPDX-License-Identifier: Apache-2.0
"""Who is compared: a solver with its defaults, or true to a paper by one of its presets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ik_core import SOLVERS, make_solver
from ik_core.exceptions import InvalidOption
from ik_core.solvers import PresetName, Solver, SolverName

from ..drawing.colours import BLUE, GREEN, ORANGE, PURPLE, RED, SKY

PAPERS: Mapping[str, str] = {
    'buss_pure': '[Buss2009]',
    'buss_clamped': '[Buss2009], clamped',
    'coursework': '[Dorta2014]',
    'engell_erleben': '[EngellErleben2011]',
    'state_of_the_art': '[Engell2007]',
    'tau_one': '[EngellErleben2011]',
}
"""Papers of presets; a preset that is not here goes by its own name."""

NAMES: Mapping[str, str] = {
    'levenberg_marquardt': 'Levenberg-Marquardt (ours)',
    'bfgs': 'BFGS',
    'sqp': 'SQP',
}
"""Names of solvers that are not called by plain words."""

COLOURS = (RED, PURPLE, BLUE, GREEN, ORANGE, SKY)
"""Colours of the places, which the colour-blind can tell apart."""


@dataclass(frozen=True)
class Contestant:
    """A solver that takes part. `preset` is a paper's options, None its own defaults."""

    solver: SolverName
    preset: PresetName | None = None

    @property
    def name(self) -> str:
        """The name on the page: the solver, and the paper that it is true to."""
        words = NAMES.get(self.solver, self.solver.replace('_', ' ').capitalize())
        paper = PAPERS.get(self.preset or '', self.preset)
        return words if self.preset is None else f'{words} {paper}'

    def make(self, **options: Any) -> Solver:
        """A solver of its own, with other `options` if there are any. Raises InvalidOption."""
        return make_solver(self.solver, preset=self.preset, **options)


def all_contestants() -> list[Contestant]:
    """Every solver, followed by its presets."""
    return [
        Contestant(name, preset)
        for name, kind in SOLVERS.items()
        for preset in (None, *kind.presets)
    ]


def contestant_named(name: str) -> Contestant:
    """The one of this name on the page. Raises InvalidOption."""
    for contestant in all_contestants():
        if contestant.name == name:
            return contestant
    raise InvalidOption(f'no method {name!r} can be compared')


LINE_SEARCH: Sequence[Contestant] = (
    Contestant('jacobian_transpose', 'engell_erleben'),
    Contestant('pseudoinverse', 'engell_erleben'),
    Contestant('projected_gradient', 'tau_one'),
    Contestant('levenberg_marquardt'),
)
"""The comparison of [EngellErleben2011]: the transpose at its fixed step, the Jacobian inverse of
Blender, the projected line search; and ours."""
