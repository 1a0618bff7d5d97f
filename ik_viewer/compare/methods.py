# SPDX-License-Identifier: Apache-2.0
"""The methods compared: solvers with their defaults, or with a preset of a paper."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ik_core import SOLVERS, make_solver
from ik_core.exceptions import InvalidOption
from ik_core.solvers import PresetName, Solver, SolverName

from ..drawing.colours import BLUE, GREEN, ORANGE, PURPLE, RED, SKY

# Papers of presets; the name of any other preset is displayed itself.
PAPERS: Mapping[str, str] = {
    'buss_pure': '[Buss2009]',
    'buss_clamped': '[Buss2009], clamped',
    'coursework': '[Dorta2014]',
    'engell_erleben': '[EngellErleben2011]',
    'state_of_the_art': '[Engell2007]',
    'tau_one': '[EngellErleben2011]',
}

# Displayed names of solvers whose identifiers are not plain words.
NAMES: Mapping[str, str] = {
    'levenberg_marquardt': 'Levenberg-Marquardt (ours)',
    'bfgs': 'BFGS',
    'sqp': 'SQP',
}

# Colours of the methods by their positions, which the colour-blind can distinguish.
COLOURS = (RED, PURPLE, BLUE, GREEN, ORANGE, SKY)


@dataclass(frozen=True)
class Method:
    """A solver with the options of a paper's `preset`, or its defaults for None."""

    solver: SolverName
    preset: PresetName | None = None

    @property
    def name(self) -> str:
        """The displayed name: the solver, and the paper of its preset."""
        words = NAMES.get(self.solver, self.solver.replace('_', ' ').capitalize())
        paper = PAPERS.get(self.preset or '', self.preset)
        return words if self.preset is None else f'{words} {paper}'

    def make(self, **options: Any) -> Solver:
        """Make the solver, with `options` that override the preset. Raises InvalidOption."""
        return make_solver(self.solver, preset=self.preset, **options)


def all_methods() -> list[Method]:
    """Return all solvers, each followed by its presets."""
    return [
        Method(name, preset) for name, kind in SOLVERS.items() for preset in (None, *kind.presets)
    ]


def method_named(name: str) -> Method:
    """Return the method with this displayed name. Raises InvalidOption."""
    for method in all_methods():
        if method.name == name:
            return method
    raise InvalidOption(f'no method {name!r} can be compared')


# The methods of [EngellErleben2011]: the transpose with a fixed step, the Jacobian inverse of
# Blender, the projected line search; and the default solver.
LINE_SEARCH: Sequence[Method] = (
    Method('jacobian_transpose', 'engell_erleben'),
    Method('pseudoinverse', 'engell_erleben'),
    Method('projected_gradient', 'tau_one'),
    Method('levenberg_marquardt'),
)
