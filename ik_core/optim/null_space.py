"""Strict priority between two levels of tasks, by null-space projection.

Once the goals are reached (or as near as they can be), secondary tasks are improved only by
motion that leaves the goals alone: for J of the goals and a residual s with Jacobian Js of the
secondary tasks,

    dq = N z,  N = I - J+ J,  z = argmin |s + Js N z|^2 + mu |z|^2

([Liegeois1977]; [Buss2009] Eq. 7 with the Gauss-Newton step in the place of a gradient). What the
curvature of the goals' manifold adds is taken back by Gauss-Newton steps on the goals, and a step
counts only where the goals stay within their tolerances and the secondary cost falls; otherwise it
is halved. Joints at a limit that the motion would cross are held.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..maths.linalg import damped_step, null_space
from ..maths.rotations import Array
from ..problem import Evaluation, IkProblem
from ..result import IkResult, IkStatus
from .active_set import step_of_free
from .search import Search

MAX_ITERATIONS = 100
MAX_STEP = 0.3
"""Largest move of a joint in one iteration [rad or m]."""
LEAST_GAIN = 1e-9
"""Iterations that lower the secondary cost by less than this share of it end the descent."""
HALVINGS = 8
DAMPING = 1e-3
CORRECTIONS = 3


class Descent(Protocol):
    """Lowers the secondary tasks' cost from a point where the goals are met."""

    at: Evaluation
    iterations: int
    done: bool

    def iterate(self) -> None:
        """Move `at` once, or be done."""


class NullSpaceDescent:
    """The descent of a problem's secondary tasks from variables x that solve its goals."""

    def __init__(self, problem: IkProblem, x: Array, must_reach: bool) -> None:
        self.problem = problem
        self.at: Evaluation = problem.at(x)
        self.allowed = self.at.cost * (1.0 + 1e-9) + 1e-18
        self.must_reach = must_reach
        self.cost = self._secondary_cost(x)
        self.iterations = 0
        self.done = False

    def iterate(self) -> None:
        """Move once, or find that there is nothing left to gain."""
        self.iterations += 1
        step, cut_short = self._step()
        before = self.cost
        for _ in range(HALVINGS):
            if np.max(np.abs(step)) < 1e-12 or self._accept(self._corrected(self.at.x + step)):
                break
            step = 0.5 * step
        gained = before - self.cost
        ended = gained <= (0.0 if cut_short else LEAST_GAIN * before)
        self.done = ended or self.iterations >= MAX_ITERATIONS

    def _step(self) -> tuple[Array, bool]:
        """dq up to the first limit on its way, where that joint is held next; whether one is."""
        at, limits = self.at, self.problem.limits
        residual, jacobian = self.problem.secondary_at(at.x)

        def descend(free: NDArray[np.bool_]) -> Array:
            basis = null_space(at.jacobian[:, free])
            if basis.shape[1] == 0:
                return np.zeros(free.sum())
            return basis @ damped_step(jacobian[:, free] @ basis, -residual, DAMPING)

        step = step_of_free(limits, at.x, descend)
        step *= min(1.0, MAX_STEP / max(np.max(np.abs(step)), MAX_STEP))
        share = limits.reach(at.x, step)
        return share * step, share < 1.0

    def _corrected(self, x: Array) -> Evaluation:
        """x brought back to the goals, inside the limits."""
        problem = self.problem
        at = problem.at(problem.limits.snap(x))
        for _ in range(CORRECTIONS):
            if at.cost <= 1e-4 * self.allowed:
                break
            back = step_of_free(problem.limits, at.x, partial(_gauss_newton, at))
            nearer = problem.at(problem.limits.project(at.x + back))
            if nearer.cost >= at.cost:
                break
            at = nearer
        return at

    def _accept(self, at: Evaluation) -> bool:
        reached = self.problem.is_solved(at.position_errors, at.orientation_errors)
        if not (reached if self.must_reach else at.cost <= self.allowed):
            return False
        cost = self._secondary_cost(at.x)
        if not cost < self.cost:
            return False
        self.at, self.cost = at, cost
        return True

    def _secondary_cost(self, x: Array) -> float:
        residual, _ = self.problem.secondary_at(x)
        return float(residual @ residual)


def _gauss_newton(at: Evaluation, free: NDArray[np.bool_]) -> Array:
    """The shortest step of the free joints towards the goals."""
    return damped_step(at.jacobian[:, free], -at.residual, 0.0)


class SecondarySearch(Search):
    """A search, and then the descent of the problem's secondary tasks, in its null space.

    `descend` makes the descent of the problem, the variables where the search ended, and whether
    they reach the goals.
    """

    def __init__(
        self,
        primary: Search,
        descend: Callable[[IkProblem, Array, bool], Descent],
    ) -> None:
        self.primary = primary
        self.descend = descend
        self.problem, self.clock = primary.problem, primary.clock
        self.q0 = primary.q0
        self.status = None
        self.solve_time = 0.0
        self.descent: Descent | None = None

    def iterate_until(self, deadline: float | None, iterations: int | None) -> None:
        started = self.primary.result().iterations
        if not self.primary.done:
            self.primary.limited_by = IkStatus.ITERATION_LIMIT
            self.primary.iterate_until(deadline, iterations)
            self.limited_by = self.primary.limited_by
        if not self.primary.done:
            return
        reached = self.primary.result()
        if self.descent is None:
            self.descent = self.descend(
                self.problem, reached.q[self.problem.variables], reached.success
            )
        left = None if iterations is None else iterations - (reached.iterations - started)
        for _ in self.allowed_iterations(deadline, left):
            if self.descent.done:
                break
            self.descent.iterate()
        if self.descent.done:
            self.status = reached.status

    def memory(self) -> Any:
        """See Search."""
        return self.primary.memory()

    def resume(self, memory: Any) -> None:
        """See Search."""
        self.primary.resume(memory)

    def result(self) -> IkResult:
        """The best so far; what is reached for the goals does not wait for the descent."""
        result = self.primary.result()
        if self.descent is None:
            return replace(result, solve_time=self.solve_time)
        return self.finish(
            self.descent.at.x,
            result.iterations + self.descent.iterations,
            result.evaluations + self.descent.iterations,
            result.restarts,
            result.history,
        )
