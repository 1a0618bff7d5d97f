"""The solvers by name. One new file and one line here make a solver known everywhere."""

from __future__ import annotations

import difflib
from collections.abc import Collection
from typing import Any

from numpy.typing import ArrayLike

from ..exceptions import InvalidOption
from ..optim.search import Budget
from ..optim.workspace import State
from ..problem import IkProblem, checked_problem
from ..result import IkResult
from .augmented_lagrangian import AugmentedLagrangian
from .base import IterativeSolver, Solver
from .bfgs import Bfgs
from .closed_form import ClosedFormSolver
from .cyclic_coordinate_descent import CyclicCoordinateDescent
from .damped_least_squares import DampedLeastSquares
from .jacobian_transpose import JacobianTranspose
from .levenberg_marquardt import LevenbergMarquardt
from .penalty import Penalty
from .projected_gradient import ProjectedGradient
from .pseudoinverse import Pseudoinverse
from .selectively_damped_least_squares import SelectivelyDampedLeastSquares
from .sqp import Sqp
from .trust_region import TrustRegion

__all__ = ['SOLVERS', 'IterativeSolver', 'Solver', 'State', 'make_solver', 'solve']

SOLVERS: dict[str, type[Solver]] = {
    'levenberg_marquardt': LevenbergMarquardt,
    'closed_form': ClosedFormSolver,
    'damped_least_squares': DampedLeastSquares,
    'selectively_damped_least_squares': SelectivelyDampedLeastSquares,
    'pseudoinverse': Pseudoinverse,
    'jacobian_transpose': JacobianTranspose,
    'cyclic_coordinate_descent': CyclicCoordinateDescent,
    'bfgs': Bfgs,
    'projected_gradient': ProjectedGradient,
    'penalty': Penalty,
    'augmented_lagrangian': AugmentedLagrangian,
    'sqp': Sqp,
    'trust_region': TrustRegion,
}

DEFAULT_SOLVER = 'levenberg_marquardt'


def make_solver(
    name: str = DEFAULT_SOLVER, *, preset: str | None = None, **options: Any
) -> Solver:
    """A reusable solver; InvalidOption for an unknown name, preset or option.

    preset : one of the solver's `presets`, options that are a paper's to the letter; `options`
        count before them
    """
    kind = SOLVERS[_known(name, SOLVERS, 'solver')]
    if preset is not None:
        options = {
            **kind.presets[_known(preset, kind.presets, 'preset', f' of {name}')],
            **options,
        }
    solver = kind(**options)
    if kind.successor:
        solver.hand_over_to(SOLVERS[kind.successor])
    return solver


def _known(name: str, names: Collection[str], what: str, whose: str = '') -> str:
    """A name that is one of them; InvalidOption otherwise."""
    if name not in names:
        close = difflib.get_close_matches(str(name), names, n=1)
        hint = f'; did you mean {close[0]!r}?' if close else ''
        listed = ', '.join(names) or 'none'
        raise InvalidOption(f'unknown {what} {name!r}{whose}; there are: {listed}{hint}')
    return name


def solve(
    problem: IkProblem,
    q0: ArrayLike | None = None,
    *,
    solver: str | Solver = DEFAULT_SOLVER,
    preset: str | None = None,
    budget: Budget | None = None,
    **options: Any,
) -> IkResult:
    """Solve once. To solve often, keep the solver of `make_solver`: it keeps its buffers.

    `solver`: a name, with a preset or options, or such a solver, which has its own. Raises
    InvalidOption, and what `Solver.solve` raises.
    """
    checked_problem(problem)
    if isinstance(solver, Solver):
        if preset is not None or options:
            raise InvalidOption(f'{solver.name} has its options already: they go with a name')
        return solver.solve(problem, q0, budget)
    return make_solver(solver, preset=preset, **options).solve(problem, q0, budget)
