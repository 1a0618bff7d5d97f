# SPDX-License-Identifier: Apache-2.0
"""Solvers by name. A new solver is one new file, an import here and its name in `names`."""

from __future__ import annotations

import difflib
import time
from collections.abc import Collection
from typing import TYPE_CHECKING, Any, TypeVar, get_args, overload

from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import TransformLike, VectorLike
from ..optim.search import Budget, Clock
from ..problem import IkProblem, checked_problem
from ..result import IkResult
from ..robot.robot import Robot
from ..tasks.goals import PoseTask
from .augmented_lagrangian import AugmentedLagrangian
from .base import Solver
from .bfgs import Bfgs
from .closed_form import ClosedFormSolver
from .cyclic_coordinate_descent import CyclicCoordinateDescent
from .damped_least_squares import DampedLeastSquares
from .jacobian_transpose import JacobianTranspose
from .levenberg_marquardt import LevenbergMarquardt
from .names import PresetName, SolverName, SolverOptions
from .penalty import Penalty
from .projected_gradient import ProjectedGradient
from .pseudoinverse import Pseudoinverse
from .selectively_damped_least_squares import SelectivelyDampedLeastSquares
from .sqp import Sqp
from .trust_region import TrustRegion

if TYPE_CHECKING:
    from typing_extensions import Unpack

__all__ = [
    'SOLVERS',
    'PresetName',
    'Solver',
    'SolverName',
    'SolverOptions',
    'make_solver',
    'preset_name',
    'solve',
    'solver_name',
]

Name = TypeVar('Name', bound=str)

# The solvers that this file imports.
_CLASSES = {
    kind.name: kind
    for kind in tuple(globals().values())
    if isinstance(kind, type) and issubclass(kind, Solver) and kind is not Solver
}
SOLVERS: dict[SolverName, type[Solver]] = {name: _CLASSES[name] for name in get_args(SolverName)}

DEFAULT_SOLVER: SolverName = 'levenberg_marquardt'


def solver_name(text: str) -> SolverName:
    """Return the name of a solver that comes from outside: a command line, a file, a message.

    Raises InvalidOption, with the list of all names, if there is no such solver.
    """
    return _known(text, SOLVERS, 'solver')


def preset_name(text: str, solver: SolverName) -> PresetName:
    """Return the name of a solver's preset that comes from outside. Raises InvalidOption."""
    presets = SOLVERS[solver_name(solver)].presets
    return _known(text, presets, 'preset', f' of {solver}')


def make_solver(
    name: SolverName = DEFAULT_SOLVER,
    *,
    preset: PresetName | None = None,
    clock: Clock = time.perf_counter,
    **options: Unpack[SolverOptions],
) -> Solver:
    """Make a reusable solver; raises InvalidOption for an unknown name, preset or option.

    preset : one of the solver's `presets`, which match a paper exactly; `options` override it
    clock : clock of budgets [s]
    """
    kind = SOLVERS[solver_name(name)]
    given: dict[str, Any] = {**options}
    if preset is not None:
        given = {**kind.presets[preset_name(preset, name)], **given}
    solver = kind(clock=clock, **given)
    if kind.fallback:
        solver.set_fallback(SOLVERS[kind.fallback])
    return solver


def _known(name: Any, names: Collection[Name], what: str, whose: str = '') -> Name:
    """Return the name if it is one of `names`; raise InvalidOption otherwise.

    what, whose : words of the error's text
    """
    if not isinstance(name, str) or name not in names:
        close = difflib.get_close_matches(str(name), names, n=1)
        hint = f'; did you mean {close[0]!r}?' if close else ''
        listed = ', '.join(names) or 'none'
        raise InvalidOption(f'unknown {what} {name!r}{whose}; there are: {listed}{hint}')
    return next(known for known in names if known == name)


@overload
def solve(
    problem: IkProblem,
    q0: VectorLike | None = None,
    *,
    solver: SolverName = DEFAULT_SOLVER,
    preset: PresetName | None = None,
    budget: Budget | None = None,
    **options: Unpack[SolverOptions],
) -> IkResult: ...


@overload
def solve(
    problem: IkProblem,
    q0: VectorLike | None = None,
    *,
    solver: Solver,
    budget: Budget | None = None,
) -> IkResult: ...


@overload
def solve(
    problem: Robot,
    pose: TransformLike,
    q0: VectorLike | None = None,
    tip: str | None = None,
    *,
    solver: SolverName = DEFAULT_SOLVER,
    preset: PresetName | None = None,
    budget: Budget | None = None,
    **options: Unpack[SolverOptions],
) -> IkResult: ...


@overload
def solve(
    problem: Robot,
    pose: TransformLike,
    q0: VectorLike | None = None,
    tip: str | None = None,
    *,
    solver: Solver,
    budget: Budget | None = None,
) -> IkResult: ...


def solve(  # type: ignore[misc]  # where a problem is given, `pose` takes the second: its q0
    problem: IkProblem | Robot,
    pose: Any = None,
    q0: VectorLike | None = None,
    tip: str | None = None,
    *,
    solver: SolverName | Solver = DEFAULT_SOLVER,
    preset: PresetName | None = None,
    budget: Budget | None = None,
    **options: Unpack[SolverOptions],
) -> IkResult:
    """Solve once: `solve(problem, q0)`, or `solve(robot, pose, q0, tip)` for one pose of one link.

    pose : pose of the tip, a transform (4, 4) [m] in the root link's frame, or another type that
        `ik_core.transform` accepts
    q0 (n,) : start configuration; by default the problem's default configuration
    tip : a link of the robot; by default `robot.default_tip()`
    solver : a name, with a preset or options, or a solver of `make_solver`, which has its own
    budget : limits of time and iterations; by default only the solver's own

    To solve often, keep the problem and move its goal by `set_target`: a solver given by name
    alone is kept with the problem, one for each thread, as long as both exist. With
    options keep a solver of `make_solver`, which keeps its buffers. Raises InvalidOption,
    InvalidGoal, FrameNotFound for an unknown tip, UnsupportedProblem if there is no default tip,
    and the errors of `Solver.solve`.
    """
    is_kept = preset is None and not options
    if isinstance(problem, Robot):
        problem, is_kept = _pose_problem(problem, pose, tip), False
    else:
        checked_problem(problem)
        if tip is not None or (pose is not None and q0 is not None):
            raise InvalidOption(
                'solve(problem, q0) takes neither a pose nor a tip: the problem has its goals; '
                'solve(robot, pose, q0, tip) is for a robot'
            )
        q0 = pose if q0 is None else q0
    if isinstance(solver, Solver):
        if preset is not None or options:
            raise InvalidOption(
                f'{solver.name} has its options already: options need the name of a solver'
            )
        return solver.solve(problem, q0, budget)
    if not is_kept:
        return make_solver(solver, preset=preset, **options).solve(problem, q0, budget)
    return _kept_solver(problem, solver).solve(problem, q0, budget)


def _kept_solver(problem: IkProblem, name: SolverName) -> Solver:
    """Return the solver without options that this thread keeps with the problem."""
    kept = problem.kept_solvers
    solver: Solver | None = kept.get(solver_name(name))
    if solver is None:
        solver = kept[name] = make_solver(name)
    return solver


def _pose_problem(robot: Robot, pose: TransformLike | None, tip: str | None) -> IkProblem:
    """Make the problem of one link of a robot at a pose."""
    if pose is None:
        raise InvalidGoal(
            'pose is None: solve(robot, pose) needs the pose of the tip, a transform (4, 4)'
        )
    link = robot.default_tip() if tip is None else tip
    return IkProblem(robot, [PoseTask(link, transform=pose)])
