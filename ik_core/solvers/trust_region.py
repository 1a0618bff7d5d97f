# SPDX-License-Identifier: Apache-2.0
"""Gauss-Newton steps inside a trust region and the limits; and scipy's, as a reference.

A trust region is the set of steps for which the linear model r + J dx of the residual is trusted.
It grows and shrinks with the accuracy of the predicted decrease of the cost. [EngellErleben2011]
section 7 names trust regions as worth trying on their formulation. There are three:
- 'dogbox' [VoglisLagaris2004], the default (`optim.dogbox`), takes a rectangular region, so that a
  step inside region and limits is a step inside a box, and clamps variables that are on a limit.
  Its Gauss-Newton step is the shortest one, as suits a redundant arm;
- 'scipy_dogbox' is the same method as `scipy.optimize.least_squares` has it;
- 'scipy_trf' [Branch1999], also scipy's, scales the region by the distance to the limit that the
  gradient leads to. It needs fewer steps where a goal is out of reach, but where an arm is
  redundant its steps wander about the null space: ten times as many to follow a goal.

One iteration of the first is one step. One of scipy's is a run of some evaluations, from the end
of the last one; the region's size is reset each time. Additions to scipy:
- it requires lower < upper: variables with one value are left out;
- iterates of 'trf' are strictly inside, and only converge to a limit: a variable that the gradient
  presses against a limit, and that is nearer than 1e-6, is put on it and left out until the
  gradient points inwards.
scipy is imported by the first step that needs it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from ..optim import dogbox
from ..optim.search import SearchOptions
from ..optim.workspace import MethodWorkspace, State
from ..options import option
from ..problem import Evaluation, IkProblem
from ..robot.limits import JointLimits
from .base import IterativeSolver

# A variable is moved onto a limit that it is pressed against if it is nearer than this, relative
# to |x| + 1.
PRESSED_WITHIN = 1e-6

# Tolerance of scipy's own stop rules: almost zero, since the search has rules of its own.
SCIPY_TOLERANCE = 1e-15


@dataclass(frozen=True)
class TrustRegionOptions(SearchOptions):
    """Options of `trust_region`."""

    max_iterations: int = option(5000, 'iterations per attempt', bounds=(1, 10**9))
    method: str = option(
        'dogbox',
        'implementation of the trust region',
        choices=('dogbox', 'scipy_dogbox', 'scipy_trf'),
    )
    evaluations_per_step: int = option(
        50, "evaluations of scipy's method in one iteration of the search", bounds=(3, 10**6)
    )


class Reached(Exception):
    """Raised to stop scipy once all goals are within tolerance."""

    def __init__(self, at: Evaluation) -> None:
        super().__init__('all goals are reached')
        self.at = at


class Objective:
    """Residual, cost and derivatives over x[free], with the other variables fixed.

    Every function takes the free part (k,) of x, moves it inside the limits, and raises Reached if
    the goals are reached there. The last point is kept, so cost and gradient at one point take one
    evaluation. `evaluations` counts.
    """

    def __init__(self, problem: IkProblem, at: Evaluation, free: NDArray[np.bool_]) -> None:
        self.problem = problem
        self.free = free
        self.evaluations = 0
        self._last = at

    @property
    def bounds(self) -> tuple[Array, Array]:
        """Lower and upper limits (k,) of the free variables."""
        limits = self.problem.limits
        return limits.lower[self.free], limits.upper[self.free]

    def at(self, part: Array) -> Evaluation:
        """Evaluate the problem at these values of the free variables."""
        x = self._last.x.copy()
        x[self.free] = part
        x = self.problem.limits.project(x)
        if (x != self._last.x).any():
            self.evaluations += 1
            self._last = at = self.problem.at(x)
            solved = self.problem.is_solved(at.position_errors, at.orientation_errors)
            if solved and not self.problem.other_tasks:
                raise Reached(at)
        return self._last

    def residual(self, part: Array) -> Array:
        """Return r (m,)."""
        return self.at(part).residual

    def jacobian(self, part: Array) -> Array:
        """Return the columns (m, k) of J."""
        return self.at(part).jacobian[:, self.free]


class TrustRegion(IterativeSolver[State]):
    """Gauss-Newton steps inside a trust region."""

    name: ClassVar[str] = 'trust_region'
    Options: ClassVar = TrustRegionOptions

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        if self.options.method != 'dogbox':
            import scipy.optimize  # noqa: F401 (in `step` a tick would wait for it)

    def workspace(self, problem: IkProblem) -> MethodWorkspace:
        """Make the records of a method of kernels, or of Python that calls scipy."""
        if self.options.method == 'dogbox':
            loop, layout = dogbox.run_trust_region, dogbox.DOGBOX
            return MethodWorkspace(problem, self.options, loop, layout)
        return super().workspace(problem)

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        return State(at)

    def step(self, problem: IkProblem, state: State) -> State:
        """Run scipy once over the free variables; longer if it finds nothing."""
        at = state.at
        free = ~pressed(problem, at) & (problem.limits.lower < problem.limits.upper)
        if not free.any():
            return State(at, 0)
        objective = Objective(problem, at, free)
        try:
            x = self.run(objective, at.x)
            new = problem.at(x)
            settled = problem.at(onto_pressed_limits(problem, new))
        except Reached as reached:
            return State(reached.at, objective.evaluations)
        new = settled if settled.cost <= new.cost else new
        return State(new if new.cost < at.cost else at, objective.evaluations + 2)

    def run(self, objective: Objective, x: Array) -> Array:
        """Return scipy's answer from x; x itself if it finds nothing better."""
        from scipy.optimize import least_squares

        limit = self.options.evaluations_per_step
        while True:
            found = least_squares(
                objective.residual,
                x[objective.free],
                objective.jacobian,
                objective.bounds,
                method=self.options.method.removeprefix('scipy_'),
                max_nfev=limit,
                ftol=SCIPY_TOLERANCE,
                xtol=SCIPY_TOLERANCE,
                gtol=SCIPY_TOLERANCE,
            )
            result = x.copy()
            result[objective.free] = found.x
            if found.status != 0 or (result != x).any():
                return objective.problem.limits.project(result)
            limit *= 2


def pressed(problem: IkProblem, at: Evaluation) -> NDArray[np.bool_]:
    """Return a mask of variables that the gradient presses against the limit they are at."""
    return problem.limits.active(at.x, -(at.jacobian.T @ at.residual))


def onto_pressed_limits(problem: IkProblem, at: Evaluation) -> Array:
    """Return x with variables that are pressed against a near limit put on it."""
    near = onto_near_limits(problem.limits, at.x, PRESSED_WITHIN)
    clamped = problem.limits.active(near, -(at.jacobian.T @ at.residual))
    return np.where(clamped, near, at.x)


def onto_near_limits(limits: JointLimits, x: Array, distance: float) -> Array:
    """Return x (n,) inside, with variables nearer to a limit than distance (|x| + 1) put on it."""
    nearest = np.where(x - limits.lower < limits.upper - x, limits.lower, limits.upper)
    near = np.abs(x - nearest) <= distance * (1.0 + np.abs(x))
    return limits.project(np.where(near, nearest, x))
