# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the Jacobian methods: the linear model, its clamps, columns and weights.

Near a configuration q the goals' error e, target minus current, changes by -J dq, with J the
Jacobian ([Buss2009] Eq. 2-5). Each method chooses dq such that J dq is about e; all else is the
same for all of them, in this order (1 and 2 concern goals only; rows of other tasks stay as they
are):

1. J: 'analytic'; by 'central_difference', (f(q + h) - f(q - h)) / 2h for each joint ([Dorta2014]
   Eq. 3.6), the same up to O(h^2); or of the 'target', Buss's alternate Jacobian
   (section 2): the target is thought of as attached to the moving link, so a revolute joint's
   column of a position at s is z x (t - p) instead of z x (s - p), for its axis z through p.
   At the target both are the same.
2. ClampMag (section 2): each goal's part e_i of e is shortened to at most Dmax, so that far
   targets don't stretch the arm into a singularity. About half the length of a typical link works
   well (`max_error_in_links`). Where `max_error_rule` is 'resetting', it is Dmax,i: infinite at
   the start, so that the first step goes all the way, then d_i + Dmax with d_i what the step
   before moved the end effector i closer. The text leaves open what a step away does; its
   author's program takes d_i = 0 then, and so does this.
3. Joint weights: dq = K^1/2 y, with y the method's step for the Jacobian J K^1/2. So the
   transpose method gives K J'e [Welman1993], the others the step that is shortest in
   dq' K^-1 dq: joints with a large K_i do more of the work. K_i = 1 / (w_i alpha_i) ([Dorta2014]
   Eq. 3.14), with alpha_i > 0 of `joint_stiffness`, and w_i of `joint_weights`: 1, or the
   length of the link, which is the distance from the joint to the next one or the tip, at least
   5 % of the chain, divided by their mean.
   Where `slow_distance` is d > 0, K_i(t) is K_i times min(1, distance of joint i from the nearest
   goal / d), as the coursework proposes for a K that varies in time (3.1.1). With
   `normalised_columns` each column of J K^1/2 is divided by its length before the method sees it.
4. The coursework's angle steps (section 3.2): if `step_norm` is finite, every step has that
   length, less at the beginning and the end of the path: over `slow_fraction` of the error's
   length it is proportional to the fraction that is done, or left (slow-in, slow-out), and at
   least a hundredth, so that joints at rest begin to move.
   A step that is longer than `max_step_norm` is scaled to it, as rate control does
   ([EngellErleben2011] section 5.2). Then ClampMaxAbs [BussKim2005]: the step is scaled so that no
   joint moves further than `max_step`.
5. Limits: joints that a step takes out of their limits are put on them at once ([Dorta2014]
   Eq. 3.13), or, if `limits` is 'at_the_end', only in the answer, as Blender does: the method
   then ignores the limits, and the projections of its points count. Limits are no part of the
   methods: at a limit they may stop short of the closest point, and then report STALLED.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import InvalidOption
from ..kernels.jit import kernel, placeholder, with_kernels
from ..kernels.records import FLOAT, INT
from ..maths.boxed_step import cap_step, clamp
from ..maths.rotations import Array, IntArray
from ..maths.svd import identity, product
from ..maths.vectors import copy_to, differ
from ..optim.evaluation import differentiate, evaluate, evaluate_here
from ..optim.layouts import METHOD, Record
from ..optim.loop import Kernel
from ..optim.search import SearchOptions
from ..optim.workspace import MethodWorkspace
from ..options import option
from ..problem import IkProblem
from ..robot.kinematics import MULTIPLIER, VARIABLE
from ..tasks.kernels import COMPONENTS, NONE, POSITION, ROWS
from .base import KernelSolver

# Least fraction of `step_norm`: the first step starts from rest, and the last one has to arrive.
LEAST_FRACTION = 0.01

# The least length of a link, relative to its chain, that counts for joint weights.
SHORTEST_LINK = 0.05

MAX_ERROR_RULES = 'fixed', 'resetting'
FIXED, RESETTING = range(len(MAX_ERROR_RULES))
JACOBIANS = 'analytic', 'central_difference', 'target'
ANALYTIC, CENTRAL_DIFFERENCE, TARGET = range(len(JACOBIANS))
WHEN_LIMITED = 'every_step', 'at_the_end'
EVERY_STEP, AT_THE_END = range(len(WHEN_LIMITED))


@dataclass(frozen=True)
class JacobianMethodOptions(SearchOptions):
    """Options of all Jacobian methods."""

    max_error: float = option(
        0.3,
        'Dmax of ClampMag: largest error of one goal in a step',
        unit='m',
        bounds=(1e-9, np.inf),
    )
    max_error_in_links: float = option(
        0.0,
        'Dmax as a multiple of the median length of a link; 0: Dmax is max_error',
        bounds=(0.0, 1e6),
    )
    max_error_rule: str = option(
        'fixed',
        'constant Dmax, or one that adapts to the progress',
        choices=MAX_ERROR_RULES,
    )
    max_step: float = option(
        0.7,
        'ClampMaxAbs: largest move of a joint in a step',
        unit='rad or m',
        bounds=(1e-9, np.inf),
    )
    jacobian: str = option(
        'analytic',
        'how the columns of the Jacobian are computed',
        choices=JACOBIANS,
    )
    difference_step: float = option(
        1e-5, 'h of the central differences', unit='rad or m', bounds=(1e-12, 1.0)
    )
    joint_weights: str = option(
        'equal', 'w of the joint weights 1 / (w alpha)', choices=('equal', 'link_length')
    )
    joint_stiffness: str = option('', 'alpha of joints for which it is not 1: joint=alpha, ...')
    limits: str = option(
        'every_step',
        'when joints are projected into their limits',
        choices=WHEN_LIMITED,
    )
    normalised_columns: bool = option(False, 'normalise the columns of the Jacobian')
    step_norm: float = option(
        np.inf,
        'length of every step; inf: the length that the method computes',
        unit='rad or m',
        bounds=(1e-9, np.inf),
    )
    max_step_norm: float = option(
        np.inf,
        'rate control: largest length of a step',
        unit='rad or m',
        bounds=(1e-9, np.inf),
    )
    slow_fraction: float = option(
        0.0,
        'fraction of the path at its beginning and end over which step_norm grows and shrinks',
        bounds=(0.0, 0.5),
    )
    slow_distance: float = option(
        0.0,
        'distance to a goal within which joints move less, K(t)',
        unit='m',
        bounds=(0.0, 1e6),
    )

    def __post_init__(self) -> None:
        if isinstance(self.joint_stiffness, Mapping):
            text = ', '.join(f'{name}={value}' for name, value in self.joint_stiffness.items())
            object.__setattr__(self, 'joint_stiffness', text)
        super().__post_init__()
        parse_stiffness(self.joint_stiffness)


JACOBIAN_METHOD = METHOD.extended(
    'jacobian_method',
    max_error=(FLOAT,),
    max_error_rule=(INT,),
    max_step=(FLOAT,),
    jacobian=(INT,),
    difference_step=(FLOAT,),
    limits=(INT,),
    normalised_columns=(INT,),
    step_norm=(FLOAT,),
    max_step_norm=(FLOAT,),
    slow_fraction=(FLOAT,),
    slow_distance=(FLOAT,),
    here=(FLOAT, 'joints'),  # the current point, perhaps outside the limits
    error=(FLOAT, 'rows'),  # e there, clamped
    columns=(FLOAT, 'joints', 'rows'),  # those of J there, scaled
    gains=(FLOAT, 'joints'),  # the square roots of K
    scale=(FLOAT, 'joints'),  # of the columns: the square roots of K(t)
    first_error=(FLOAT,),  # length of the error at the start of the attempt
    largest_errors=(FLOAT, 'goals'),  # Dmax,i
    distances=(FLOAT, 'goals'),  # length of each goal's error before the step
)
jacobian_method_at = JACOBIAN_METHOD.vector_view()


@kernel
def begin_jacobian(search: Record) -> None:
    """Begin at x. If Dmax adapts, the first step is not clamped."""
    own = jacobian_method_at(search.own)
    copy_to(search.x, own.here)
    identity(search.basis)
    own.first_error = math.sqrt(search.cost)
    if search.resumed == 0:
        largest = np.inf if own.max_error_rule == RESETTING else own.max_error
        for i in range(search.goals):
            own.largest_errors[i] = largest


def method_step(name: str, update: Kernel) -> Kernel:
    """Return the step of a Jacobian method with this `update`."""
    made: Kernel = with_kernels(_step, f'step_{name}', update=update)
    return made


update = placeholder  # Placeholder for the method's kernel in its copy of `_step`


def _step(search: Record) -> bool:
    """Take one step, in the order of the module's docstring; return True."""
    own, dx, table = jacobian_method_at(search.own), search.dx, search.problem.table
    _linear_model(search)
    for i in range(table.shape[0]):
        distance, largest = goal_magnitude(table, own.error, i), own.largest_errors[i]
        own.distances[i] = distance
        if distance > largest:  # ClampMag
            scale_goal(table, own.error, i, largest / distance)
    _scale_columns(search)
    update(search)
    for j in range(dx.shape[0]):
        dx[j] *= own.scale[j]
    if own.step_norm < np.inf:
        _set_length(search)
    if own.max_step_norm < np.inf:
        _cap_length(dx, own.max_step_norm)
    cap_step(dx, own.max_step)
    _move(search)
    return True


@kernel
def _scale_columns(search: Record) -> None:
    """Scale the Jacobian's columns by the square roots of K(t), or to unit length if asked."""
    own = jacobian_method_at(search.own)
    columns, scale = own.columns, own.scale
    copy_to(own.gains, scale)
    if own.slow_distance > 0.0:
        _slow_near_goals(search)
    for j in range(columns.shape[0]):
        length = 0.0
        for i in range(columns.shape[1]):
            columns[j, i] *= scale[j]
            length += columns[j, i] * columns[j, i]
        if own.normalised_columns > 0 and length > 0.0:
            for i in range(columns.shape[1]):
                columns[j, i] /= math.sqrt(length)


@kernel
def _slow_near_goals(search: Record) -> None:
    """Apply K(t): joints whose axis is near a goal's position move less."""
    own = jacobian_method_at(search.own)
    tree, table = search.problem.tree, search.problem.table
    frames, target = search.frames, search.target
    for k in range(tree.shape[0]):
        nearest = np.inf
        for i in range(table.shape[0]):
            if table[i, POSITION] != NONE:
                x = frames[k, 9] - target[i, 9]
                y = frames[k, 10] - target[i, 10]
                z = frames[k, 11] - target[i, 11]
                nearest = min(nearest, math.sqrt(x * x + y * y + z * z))
        own.scale[tree[k, VARIABLE]] *= math.sqrt(min(1.0, nearest / own.slow_distance))


@kernel
def _set_length(search: Record) -> None:
    """Set the step's length for the fraction of the error that is left."""
    own, dx = jacobian_method_at(search.own), search.dx
    length, norm, slow = math.sqrt(product(dx, dx)), own.step_norm, own.slow_fraction
    if slow > 0.0 and own.first_error > 0.0:
        left = math.sqrt(search.cost) / own.first_error
        norm *= min(1.0, max(LEAST_FRACTION, min(1.0 - left, left) / slow))
    for j in range(dx.shape[0]):
        dx[j] *= norm / length if length > 0.0 else 0.0


@kernel
def _cap_length(dx: Array, most: float) -> None:
    """Scale a step (n,) to this length if it is longer."""
    length = math.sqrt(product(dx, dx))
    if length > most:
        for j in range(dx.shape[0]):
            dx[j] *= most / length


@kernel
def _linear_model(search: Record) -> None:
    """error = e, target minus current, and columns = the Jacobian's, both at `here`."""
    own = jacobian_method_at(search.own)
    here, error, columns = own.here, own.error, own.columns
    kind, outside = own.jacobian, differ(here, search.x)
    copy_to(search.residual, error)
    if outside:
        evaluate(search, here, error)
    if kind == TARGET:
        _attach_targets(search)
    if kind == TARGET or outside:
        differentiate(search, here, columns)
    else:
        for j in range(here.shape[0]):
            copy_to(search.columns[j], columns[j])
    for i in range(error.shape[0]):
        error[i] = -error[i]
    if kind == CENTRAL_DIFFERENCE:
        _central_differences(search)


@kernel
def _attach_targets(search: Record) -> None:
    """Move the goals' targets along with the links, as if attached to them."""
    for i in range(search.problem.table.shape[0]):
        for c in range(9, 12):
            search.tips[i, c] = search.target[i, c]


@kernel
def _central_differences(search: Record) -> None:
    """Set the goals' rows of the Jacobian at `here` to (f(q + h) - f(q - h)) / 2h."""
    own, trial, residual = jacobian_method_at(search.own), search.trial, search.trial_residual
    copy_to(own.here, trial)
    for j in range(trial.shape[0]):
        here = trial[j]
        above = here + own.difference_step
        below = here - own.difference_step
        for value in (above, below):
            trial[j] = value
            evaluate(search, trial, residual)
            for i in range(search.problem.goal_rows):
                before = own.columns[j, i] if value == below else 0.0
                change = residual[i] / (above - below)
                own.columns[j, i] = before - change if value == below else change
        trial[j] = here


@kernel
def _move(search: Record) -> None:
    """Move from `here` by dx, to the nearest point inside the limits."""
    own, x, dx = jacobian_method_at(search.own), search.x, search.dx
    here, finite = own.here, True
    for j in range(here.shape[0]):
        finite = finite and abs(here[j] + dx[j]) < np.inf
    for j in range(here.shape[0]):
        if finite:  # else too far for numbers: the search sees that nothing moves
            here[j] += dx[j]
        x[j] = clamp(here[j], search.problem.bounds[0, j], search.problem.bounds[1, j])
    if own.limits == EVERY_STEP:
        copy_to(x, here)
    outside = differ(here, x)
    resets = own.max_error_rule == RESETTING
    if outside and resets:
        evaluate(search, here, own.error)
        _reset_largest_errors(search, own.error)
    evaluate_here(search)
    if resets and not outside:
        _reset_largest_errors(search, search.residual)


@kernel
def _reset_largest_errors(search: Record, residual: Array) -> None:
    """Reset Dmax of each goal by how much closer the step brought it."""
    own = jacobian_method_at(search.own)
    for i in range(search.goals):
        closer = own.distances[i] - goal_magnitude(search.problem.table, residual, i)
        own.largest_errors[i] = own.max_error + max(closer, 0.0)


@kernel
def goal_magnitude(table: IntArray, rows: Array, i: int) -> float:
    """Return the length of goal i's part of `rows` (m,)."""
    square = 0.0
    for c in range(COMPONENTS):
        row = table[i, ROWS + c]
        if row >= 0:
            square += rows[row] * rows[row]
    return math.sqrt(square)


@kernel
def scale_goal(table: IntArray, rows: Array, i: int, scale: float) -> None:
    """Multiply goal i's part of `rows` (m,)."""
    for c in range(COMPONENTS):
        row = table[i, ROWS + c]
        if row >= 0:
            rows[row] *= scale


@kernel
def image(columns: Array, step: Array, rows: Array) -> None:
    """rows (m,) = J step, for the Jacobian's columns (n, m)."""
    for i in range(rows.shape[0]):
        rows[i] = 0.0
    for j in range(columns.shape[0]):
        for i in range(rows.shape[0]):
            rows[i] += columns[j, i] * step[j]


@kernel
def halve_error(search: Record, tolerance: float, rank_tolerance: float) -> None:
    """Halve the error until |(I - JJ+) e| is within a tolerance ([Dorta2014] 3.1, 4 and 5).

    No step can reduce that part of it. The singular values are those of `decompose`.
    """
    error, squares = jacobian_method_at(search.own).error, search.rhs
    largest, beyond = 0.0, 0.0
    for i in range(error.shape[0]):
        largest = max(largest, squares[i])
    for i in range(error.shape[0]):
        if squares[i] <= rank_tolerance * rank_tolerance * largest:
            part = product(search.basis[i], error)
            beyond += part * part
    beyond = math.sqrt(beyond)
    while beyond > tolerance:
        beyond *= 0.5
        for i in range(error.shape[0]):
            error[i] *= 0.5


class JacobianMethod(KernelSolver):
    """A solver that follows the linear model.

    A method is an `update(search)`: dx = its step for the Jacobian's `columns` and the `error` in
    its own record, whose layout extends `JACOBIAN_METHOD`; `method_step` makes the step of it.
    """

    Options: ClassVar = JacobianMethodOptions
    layout: ClassVar = JACOBIAN_METHOD
    remembered: ClassVar = ('largest_errors',)
    start: ClassVar = staticmethod(begin_jacobian)

    def prepare(self, workspace: MethodWorkspace) -> None:
        """Set joint weights and Dmax for the search's start."""
        problem, own = workspace.problem, workspace.own
        x = problem.limits.project(workspace.search['start'])
        own['gains'] = np.sqrt(self.joint_gains(problem, x))
        if self.options.max_error_in_links > 0.0:
            link = float(np.median(link_lengths(problem, x)))
            own['max_error'] = self.options.max_error_in_links * link

    def joint_gains(self, problem: IkProblem, x: Array) -> Array:
        """Return K (variables,), the joint weights; FrameNotFound for an unknown joint."""
        alpha = np.ones(problem.robot.n)
        for name, value in parse_stiffness(self.options.joint_stiffness).items():
            alpha[problem.robot.joint_index(name)] = value
        gains = 1.0 / alpha[problem.variables]
        if self.options.joint_weights == 'link_length':
            lengths = link_lengths(problem, x)
            gains *= np.mean(lengths) / lengths
        return gains


def link_lengths(problem: IkProblem, x: Array) -> Array:
    """Return the distance (variables,) of each joint from the farthest next joint or tip [m].

    At least SHORTEST_LINK of the longest chain; all 1 if all joints are at one point.
    """
    packed = problem.packed
    packed.update(x)
    moving = packed.geometry[:, MULTIPLIER] != 0.0  # frozen joints are no joints
    origins = packed.frames[:, 9:]
    lengths, reach = np.zeros(len(x)), np.zeros(len(packed.tree))

    def measure(body: int, point: Array) -> float:
        """Store the length of the link that ends at a point; return how far out it ends."""
        while body >= 0 and not moving[body]:
            body = int(packed.tree[body, 0])
        if body < 0:
            return 0.0
        length = float(np.linalg.norm(point - origins[body]))
        variable = packed.tree[body, 2]
        lengths[variable] = max(lengths[variable], length)
        return float(reach[body]) + length

    for body in np.flatnonzero(moving):  # parents first
        reach[body] = measure(int(packed.tree[body, 0]), origins[body])
    ends = zip(packed.table[:, 0], packed.tips, strict=True)
    chain = max((measure(int(body), tip[9:]) for body, tip in ends), default=0.0)
    return np.maximum(lengths, SHORTEST_LINK * chain) if chain > 0.0 else np.ones(len(x))


def parse_stiffness(text: str) -> dict[str, float]:
    """Return the numbers of 'joint=number, ...' by joint; InvalidOption for other text."""
    result = {}
    for part in filter(None, (piece.strip() for piece in text.split(','))):
        name, _, number = part.rpartition('=')
        try:
            value = float(number)
        except ValueError:
            value = 0.0
        if not name.strip() or not 0.0 < value < np.inf:
            raise InvalidOption(
                f'joint_stiffness: {part!r} should be a joint and a positive number, '
                "as in 'elbow=2.5'"
            )
        result[name.strip()] = value
    return result
