# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent: each joint in turn minimises the cost alone.

After [WangChen1991] and [Engell2007] section 2.2. An iteration is one sweep over the joints, by
default from the tips to the base.

A sweep lowers the problem's cost with each rotation vector r, of an angle t, shortened to its
chord: to the length 2 sin(t / 2). That is the sum of

    w |p - pt|^2                                   for a position p and its target pt,
    w l^2 |R - Rt|^2 / 2                           for a rotation matrix R (Frobenius norm),
    w l^2 |a - b|^2                                for an axis a that should point along b,

with the problem's weights w and its orientation length l; unequal weights of a rotation's
components and masks act on the components of the shortened vector. No step of a joint raises
this cost, and for positions it is the problem's own. With orientations out of reach its least
point is another one than the problem's: the search then ends as STALLED.

It is a sum of squared distances |e - h|^2 between vectors e that the joint turns (tips seen from
the joint, columns of R) and fixed vectors h, so for a turn by a about u

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
from ..optim.layouts import Record
from ..optim.search import SearchOptions
from ..optim.workspace import MethodWorkspace
from ..options import option
from ..problem import IkProblem
from ..robot.kinematics import MULTIPLIER, PRISMATIC, VARIABLE
from ..tasks.kernels import NONE, SCALE
from .base import KernelSolver
from .coordinate_sweep import CLOSED_FORM, COORDINATE_DESCENT, SEARCH, SKIP, sweep


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
def step(search: Record) -> bool:
    """Sweep once over the joints, and evaluate; return True."""
    sweep(search)
    search.evaluations += 1
    evaluate_here(search)
    return True


class CyclicCoordinateDescent(KernelSolver):
    """Cyclic coordinate descent, for positions and orientations inside limits."""

    name: ClassVar[str] = 'cyclic_coordinate_descent'
    Options: ClassVar = CyclicCoordinateDescentOptions
    layout: ClassVar = COORDINATE_DESCENT
    step: ClassVar = staticmethod(step)

    def workspace(self, problem: IkProblem) -> MethodWorkspace:
        """Make the records and plan the sweep.

        Raises UnsupportedProblem for tasks other than goals, and for regions.
        """
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
        workspace = super().workspace(problem)
        plan_sweep(workspace, self.options)
        return workspace


def plan_sweep(workspace: MethodWorkspace, options: CyclicCoordinateDescentOptions) -> None:
    """Fill the plan of a sweep: the bodies in its order, and how each takes its step."""
    problem, own, packed = workspace.problem, workspace.own, workspace.problem.packed
    below = _goals_below(packed.tree, packed.table)
    moving = (packed.geometry[:, MULTIPLIER] != 0.0) & below.any(axis=1)
    order = np.arange(len(packed.tree))
    own['body'] = body = order[::-1] if options.order == 'tip_to_base' else order
    own['how'], own['ball'], own['carried'] = SKIP, -1, below[body]
    uneven = np.ptp(packed.tools[:, SCALE : SCALE + 3], axis=1) > 0.0
    for j in range(len(problem.variables)):
        bodies = np.flatnonzero(moving & (packed.tree[:, 2] == j))
        if not bodies.size:
            continue  # only secondary tasks see it
        step = np.flatnonzero(np.isin(body, bodies))[0]
        turns = packed.tree[bodies[0], 1] != PRISMATIC
        simple = len(bodies) == 1 and not (turns and (uneven & below[bodies[0]]).any())
        own['how'][step] = CLOSED_FORM if simple else SEARCH
    if options.free_axis:
        _plan_balls(workspace)


def _goals_below(tree: IntArray, goals: IntArray) -> np.ndarray:
    """Mask (K, G) bool of the goals that each body carries."""
    below = np.zeros((len(tree), len(goals)), bool)
    for i, k in enumerate(goals[:, 0]):
        while k >= 0:
            below[k, i] = True
            k = tree[k, 0]
    return below


def _plan_balls(workspace: MethodWorkspace) -> None:
    """Plan turns of ball joints about a free axis: of those that carry one goal, a position."""
    problem, own, packed = workspace.problem, workspace.own, workspace.problem.packed
    body = own['body']
    for group in problem.robot.joint_groups:
        variables = np.searchsorted(problem.variables, group.ball)
        if not variables.size or not np.isin(group.ball, problem.variables).all():
            continue
        # On the way up to a link that a goal is relative to, the three turn in reverse.
        forwards = packed.geometry[body, MULTIPLIER] > 0.0
        closed = forwards & (own['how'] == CLOSED_FORM)
        steps = np.flatnonzero(closed & np.isin(packed.tree[body, VARIABLE], variables))
        if len(steps) < 3:
            continue
        carried = np.flatnonzero(own['carried'][steps[0]])
        if len(carried) == 1 and packed.table[carried[0], 2] == NONE:
            own['ball'][steps[0]] = np.sort(body[steps])
