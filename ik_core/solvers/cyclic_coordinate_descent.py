# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent: each joint in turn brings the goals as near as it alone can.

After [WangChen1991] and [Engell2007] section 2.2. An iteration is one sweep over the joints, by
default from the tips to the base.

What a sweep lowers is the problem's cost with each rotation vector r, of an angle t, shortened
to its chord: to the length 2 sin(t / 2). That is the sum of

    w |p - pt|^2                                   for a position p and its target pt,
    w l^2 |R - Rt|^2 / 2                           for a rotation matrix R (Frobenius norm),
    w l^2 |a - b|^2                                for an axis a that should point along b,

with the problem's weights w and its orientation length l; unequal weights of a rotation's
components and masks act on the components of the shortened vector. No step of a joint raises
this cost, and for positions it is the problem's own. With orientations out of reach its least
point is another one than the problem's: the search then ends as STALLED.

All of it is a sum of squared distances |e - h|^2 between vectors e that the joint turns (tips
seen from the joint, columns of R) and vectors h that stand still, so for a turn by a about u

    cost = const - 2 (B cos a + C sin a),  B = sum (h.e - h.u e.u),  C = sum u.(e x h)

and the best turn is a = atan2(C, B): one closed form for positions and orientations of any
number of end effectors together. Inside limits it is the nearest such turn, else the better
limit. A slide's best shift is the weighted mean of what is missing along its axis. Where one
variable moves several bodies (mimic joints), or position weights differ (cos 2a comes in), the
same cost is minimised over the one variable by a scan and a golden section.

The source turns a joint about the axis that suits it best, u x v for the directions u and v to
the tip and to the goal (Eq. 2), by atan2(|u x v|, u.v): Eq. 3's arcsine is ambiguous, and the
fraction printed in Eq. 4 stands for the two arguments of arctan2. A ball joint, and a floating
one, does the same here as long as one position goal is all that hangs on it ('free_axis'). The
turn is converted to the three angles; where limits cut it off, the better of the two ways to
write it counts, if it lowers the cost. Then each of the axes takes its step as any joint.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import UnsupportedProblem
from ..kernels.jit import kernel
from ..maths.rotations import IntArray
from ..optim.evaluation import evaluate_here
from ..optim.layouts import Record, goals_of
from ..optim.search import SearchOptions
from ..optim.workspace import MethodWorkspace
from ..options import option
from ..problem import IkProblem
from ..robot.kinematics import MULTIPLIER, PRISMATIC, VARIABLE
from ..tasks.kernels import NONE, SCALE
from .base import KernelSolver
from .coordinate_sweep import BALL, BODY, CLOSED_FORM, GOALS, HOW, SEARCH, SKIP, sweep


@dataclass(frozen=True)
class CyclicCoordinateDescentOptions(SearchOptions):
    """Options of `cyclic_coordinate_descent`."""

    max_iterations: int = option(5000, 'iterations per attempt', bounds=(1, 10**9))
    order: str = option(
        'tip_to_base',
        'order of the joints in a sweep',
        choices=('tip_to_base', 'base_to_tip'),
    )
    free_axis: bool = option(True, 'rotate a ball joint about its best axis first')


@kernel
def start(search: Record) -> None:
    """A sweep remembers nothing of the one before."""


@kernel
def step(search: Record) -> bool:
    """One sweep, by the plan in `own_integers`."""
    bodies = search.problem.tree.shape[0]
    plan = search.own_integers.reshape(bodies, GOALS + search.of_goals.shape[0])
    goals, bounds = goals_of(search), search.problem.bounds
    sweep(goals, bounds, plan, search.trial_residual, search.of_goals, search.x)
    search.evaluations += 1
    evaluate_here(search)
    return True


class CyclicCoordinateDescent(KernelSolver):
    """See the module."""

    name: ClassVar[str] = 'cyclic_coordinate_descent'
    Options: ClassVar = CyclicCoordinateDescentOptions
    start: ClassVar = staticmethod(start)
    step: ClassVar = staticmethod(step)

    def workspace(self, problem: IkProblem) -> MethodWorkspace:
        """See LoopSolver; UnsupportedProblem for tasks that are no goals, and for regions."""
        if problem.other_tasks:
            names = ', '.join(type(task).__name__ for task in problem.other_tasks)
            raise UnsupportedProblem(
                f'{self.name} has no closed form for {names}; as secondary tasks it takes them'
            )
        for task in problem.goals:
            if task.is_region:
                raise UnsupportedProblem(
                    f'{self.name} has no closed form for a region; {task.link!r} needs one target'
                )
        return super().workspace(problem)

    def integers(self, problem: IkProblem) -> IntArray:
        """See KernelSolver: the plan."""
        return sweep_plan(problem, self.options)


def sweep_plan(problem: IkProblem, options: CyclicCoordinateDescentOptions) -> IntArray:
    """The bodies (K, GOALS + G) int in the order of a sweep, and how each takes its step.

    The columns from BALL on name the three bodies of the ball joint whose turn comes there.
    """
    packed = problem.packed
    below = _goals_below(packed.tree, packed.table)
    moving = (packed.geometry[:, MULTIPLIER] != 0.0) & below.any(axis=1)
    plan = np.full((len(packed.tree), GOALS + len(packed.table)), -1, np.int64)
    plan[:, BODY] = np.arange(len(plan))
    plan[:, HOW] = SKIP
    plan[:, GOALS:] = below
    if options.order == 'tip_to_base':
        plan = plan[::-1].copy()
    uneven = np.ptp(packed.tools[:, SCALE : SCALE + 3], axis=1) > 0.0
    for j in range(len(problem.variables)):
        bodies = np.flatnonzero(moving & (packed.tree[:, 2] == j))
        if not bodies.size:
            continue  # only secondary tasks see it
        row = np.flatnonzero(np.isin(plan[:, BODY], bodies))[0]
        turns = packed.tree[bodies[0], 1] != PRISMATIC
        simple = len(bodies) == 1 and not (turns and (uneven & below[bodies[0]]).any())
        plan[row, HOW] = CLOSED_FORM if simple else SEARCH
    if options.free_axis:
        _plan_balls(problem, plan)
    return plan


def _goals_below(tree: IntArray, goals: IntArray) -> np.ndarray:
    """(K, G) bool: which goals each body carries."""
    below = np.zeros((len(tree), len(goals)), bool)
    for i, k in enumerate(goals[:, 0]):
        while k >= 0:
            below[k, i] = True
            k = tree[k, 0]
    return below


def _plan_balls(problem: IkProblem, plan: IntArray) -> None:
    """Note the ball joints that may turn about a free axis: those with one position to bring."""
    packed = problem.packed
    for group in problem.robot.joint_groups:
        variables = np.searchsorted(problem.variables, group.ball)
        if not variables.size or not np.isin(group.ball, problem.variables).all():
            continue
        # On the way up to a link that a goal is relative to, the three turn in reverse.
        forwards = packed.geometry[plan[:, BODY], MULTIPLIER] > 0.0
        closed = forwards & (plan[:, HOW] == CLOSED_FORM)
        rows = np.flatnonzero(closed & np.isin(packed.tree[plan[:, BODY], VARIABLE], variables))
        if len(rows) < 3:
            continue
        carried = np.flatnonzero(plan[rows[0], GOALS:])
        if len(carried) == 1 and packed.table[carried[0], 2] == NONE:
            plan[rows[0], BALL:GOALS] = np.sort(plan[rows, BODY])
