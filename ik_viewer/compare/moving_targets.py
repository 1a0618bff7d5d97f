# SPDX-License-Identifier: Apache-2.0
"""Methods that follow moving targets, one update per step ([Buss2009] section 8)."""

from __future__ import annotations

import math
import time
from collections import deque
from dataclasses import dataclass

import numpy as np

from ik_core import Budget
from ik_core.maths.rotations import Array
from ik_core.solvers import Solver

from .methods import Method
from .start import Start
from .stepped_solve import MethodState, Phase, SteppedSolve

STEP = 0.02  # [rad] increment of the sinusoids' argument in each update
KEPT = 300  # updates whose errors are kept


DAMPED = 'damped_least_squares'  # the method whose damping has a slider on the page


@dataclass
class Experiment:
    """The settings of the experiment, which may change at any time.

    size : [m] amplitude of the targets' sinusoids
    damping : [m/rad] of `damped_least_squares`
    """

    size: float
    damping: float

    def shift(self, update: int, tip: int) -> Array:
        """Return the displacement (3,) [m] of a tip's target since update 0 (`ik bench buss`)."""
        t, phase = STEP * update, float(tip)
        x = np.sin(t + phase) - np.sin(phase)
        y = np.cos(1.3 * t + phase) - np.cos(phase)
        return self.size * np.array([x, y, np.sin(0.7 * t)])


class Follower(SteppedSolve):
    """A method that follows moving targets; it takes every update, better or worse.

    `targets` : (tips, 3) [m] of the last update
    `errors` : distances (tips,) [m] from the targets, for each of the last KEPT updates
    `mean` : [m] mean distance over all updates and tips
    """

    def __init__(self, method: Method, start: Start, experiment: Experiment) -> None:
        super().__init__(method, start)
        self._experiment = experiment
        self._first = np.array([goal.target[:3, 3] for goal in start.goals])
        self._solver: Solver | None = None
        self._damping = math.nan  # [m/rad] damping of `_solver`
        self._sum = 0.0
        self.targets = self._first
        self.errors: deque[Array] = deque(maxlen=KEPT)

    @property
    def mean(self) -> float:
        """Mean error since the start [m]; 0 before the first update."""
        return self._sum / max(self.state.iterations, 1)

    def _begin(self) -> None:
        self._judge = self._start.problem()
        self._search = self._chosen_solver().begin(self._judge, self._start.q0)

    def _chosen_solver(self) -> Solver:
        """Return the solver; make a new one if the damping was changed."""
        damping = self._experiment.damping if self.method.solver == DAMPED else 0.0
        if self._solver is None or damping != self._damping:
            options = {'damping': damping} if self.method.solver == DAMPED else {}
            self._solver, self._damping = self.method.make(**options), damping
        return self._solver

    def _advance(self, updates: int, deadline: float) -> None:
        for _ in range(updates):
            self._update()
            if time.perf_counter() >= deadline:
                return

    def _update(self) -> None:
        """Move the targets by a step, then the joints by an update."""
        problem, before = self._judge, self._search
        assert problem is not None
        assert before is not None
        update = self.state.iterations + 1
        shifts = [self._experiment.shift(update, tip) for tip in range(len(self._first))]
        targets = self._first + shifts
        for goal, target in zip(problem.goals, targets, strict=True):
            goal.set_target(position=target)
        search = self._chosen_solver().begin(problem, self.state.q)
        search.stay_on_branch()
        memory = before.memory()
        if memory is not None:
            search.resume(memory)
        search.run(Budget(iterations=1))
        errors, _ = problem.errors(search.q)
        if not np.isfinite(errors).all():
            raise ArithmeticError('it diverged: its numbers are not finite')
        self._search, self.targets = search, targets
        self._sum += float(errors.mean())
        self.errors.append(errors)
        self.state = MethodState(Phase.RUNNING, search.q, update, float(errors.max()))
