# SPDX-License-Identifier: Apache-2.0
"""Levenberg-Marquardt inside the joint limits, with restarts: one resumable compiled loop.

Each iteration minimises the damped linear model |r + J dx|^2 + mu |dx|^2 inside the box of the
limits. The damping mu = nu |r|^2 falls with the squared error, so convergence is quadratic
where a goal can be reached ([YamashitaFukushima2001], [Sugihara2011]), and nu follows the
ratio of actual to predicted decrease [Nielsen1999], so the cost never rises and the loop
ends at a stationary point where a goal can't be reached.

The limits are part of the step: joints that would leave their range are put on the limit, the
residual is corrected by what they did move, and the remaining joints are solved for again
(`boxed_step`). Of the two equivalent systems ([Buss2009] Eq. 10 and 11) the smaller is factored:
(J J' + mu I) with as many rows as the goals, or (J'J + mu I) with as many as there are joints.

If the chain has a closed form, or nearly has one, or all but one of its joints have one, the
first attempt begins at the nearest solution (`closed_form.initial_guess`), which is checked as any
other point. For seven joints one of them is fixed then, so a start near its goal is kept; if that
attempt fails, the first restart begins at the solution. Goals out of reach, and all other chains,
begin at the start itself.

An attempt that stops improving is left for a random configuration. If none reaches the goals, the
best of them are followed to their stationary points, with the exact Hessian in place of J'J:
Gauss-Newton converges slowly if the residual stays large.

Tasks about the joints themselves (`JointTask`) and the positions of an example motion
(`EndEffectorPatternTask`) are rows of the model; being a compromise, a problem with such tasks is
solved to its stationary point from the start alone. So is one with tasks that have no kernel,
which are called back at every point; an iteration is one such point, kept or not.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np

from ..maths.argument_types import VectorLike
from ..optim.position_first import Stage, alike_of, begins_with_restarts
from ..optim.search import Budget, SearchOptions
from ..options import option
from ..problem import IkProblem
from ..result import IkResult
from .base import REACHED, LoopSolver
from .damped_search.workspace import DampedWorkspace


@dataclass(frozen=True)
class LevenbergMarquardtOptions(SearchOptions):
    """Options of `levenberg_marquardt`."""

    max_iterations: int = option(
        200,
        'iterations per attempt; if no attempt reaches the goals, the best few get as many again',
        bounds=(1, 10**9),
    )
    restarts: int = option(
        100, 'further attempts from random configurations after a failed one', bounds=(0, 10**6)
    )
    patience: int = option(
        5, 'iterations without a clear decrease of the cost before a restart', bounds=(1, 10**6)
    )
    max_step: float = option(
        1.0, 'largest move of a joint in an iteration', unit='rad or m', bounds=(1e-6, np.inf)
    )
    damping: float = option(
        0.1, 'initial damping, relative to the squared error', bounds=(0.0, 1e6)
    )
    closed_form: bool = option(
        True,
        'if a chain of revolute joints (nearly) has a closed form, begin the first attempt at '
        'its solution nearest to the start; not while following goals, nor without restarts',
    )


class LevenbergMarquardt(LoopSolver):
    """Levenberg-Marquardt with restarts: the default solver everywhere."""

    name: ClassVar[str] = 'levenberg_marquardt'
    Options: ClassVar = LevenbergMarquardtOptions
    avoids: ClassVar = True

    def solve(
        self, problem: IkProblem, q0: VectorLike | None = None, budget: Budget | None = None
    ) -> IkResult:
        """Solve as every solver does; a plain solve is one call of the kernel."""
        if budget is None and not problem.levels and not self.options.record_history:
            if problem.equally_weighted is not None:
                return self._solve_position_first(problem, q0)
            result = self._solve_whole(problem, q0)
            return result if result.status is REACHED else problem.explain(result)
        return super().solve(problem, q0, budget)

    def _solve_whole(self, problem: IkProblem, q0: VectorLike | None) -> IkResult:
        """Solve by one call of the kernel, with the problem's own weights."""
        workspace: Any = self._workspace
        if workspace is None or workspace.problem is not problem:
            workspace = self._workspace_for(problem)
        result: IkResult = workspace.solve(q0, self.clock)
        return result

    def _solve_position_first(self, problem: IkProblem, q0: VectorLike | None) -> IkResult:
        """Solve as `PositionFirstSearch` does, with the first stage by one call of the kernel: it
        reaches most poses that can be reached."""
        started = self.clock()
        alike_once, _, alike = cast('Any', self._helpers)
        known: dict[Stage, IkResult] = {}
        if not problem.avoids:
            solver, stage = alike_once, Stage.ALIKE_ONCE
            if begins_with_restarts(problem, self.options.restarts > 0):
                solver, stage = alike, Stage.ALIKE
            found: IkResult = solver._solve_whole(alike_of(problem), q0)
            if found.status is REACHED:
                problem.packed.load(found.q)
                found.cost = problem.evaluator.cost_at(found.q[problem.variables])
                found.solve_time = self.clock() - started
                return found
            known[stage] = found
        search = self.position_first(problem, q0, known)
        search.run()
        result = search.result()
        result.solve_time = self.clock() - started
        return problem.explain(result)

    def workspace(self, problem: IkProblem) -> DampedWorkspace:
        return DampedWorkspace(problem, self.options)
