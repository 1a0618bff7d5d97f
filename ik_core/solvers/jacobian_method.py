# SPDX-License-Identifier: Apache-2.0
"""Parts shared by the Jacobian methods: the linear model, its clamps, columns and weights.

Near a configuration q the goals' error e, target minus current, changes by -J dq, with J the
Jacobian ([Buss2009] Eq. 2-5). Each method is a way to choose dq such that J dq is about e; all
else is the same for all of them, in this order (1 and 2 are about goals; what else a problem
weighs against them is taken as it is):

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
   author's program takes d_i = 0 there, and so does this.
3. Joint weights: dq = K^1/2 y, with y the method's step for the Jacobian J K^1/2. So the
   transpose method gives K J'e [Welman1993], the others the step that is shortest in
   dq' K^-1 dq: joints with a large K_i do more of the work. K_i = 1 / (w_i alpha_i) ([Dorta2014]
   Eq. 3.14), with alpha_i > 0 of `joint_stiffness`, and w_i of `joint_weights`: 1, or the
   length of the link, which is the distance from the joint to the next one or the tip, at least
   5 % of the chain, divided by their mean.
   Where `slow_distance` is d > 0, K_i(t) is K_i times min(1, distance of joint i from the nearest
   goal / d), as the coursework proposes for a K that varies in time (3.1.1). With
   `normalised_columns` each column of J K^1/2 is divided by its length before the method sees it.
4. The coursework's angle steps (section 3.2): where `step_norm` is finite, every step is given
   that length, less at the beginning and at the end of the way: in proportion to the share of it
   that is behind, or left, by the error's length, over `slow_fraction` of it (slow-in, slow-out).
   A step that is longer than `max_step_norm` is scaled to it, as rate control does
   ([EngellErleben2011] section 5.2). Then ClampMaxAbs [BussKim2005]: the step is scaled so that no
   joint moves further than `max_step`.
5. Limits: joints that a step takes out of their limits are put on them at once ([Dorta2014]
   Eq. 3.13), or, where `limits` is 'at_the_end', only in the answer, as Blender does: the method
   then runs as if there were no limits, and each of its points is judged by its projection. It
   is not part of the methods: at a limit they may stop short of the closest point, and then
   report STALLED.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import InvalidOption
from ..kernels.jit import kernel, placeholder, with_kernels
from ..maths.boxed_step import cap_step, clamp
from ..maths.rotations import Array, IntArray
from ..maths.svd import identity, product
from ..maths.vectors import copy_to, differ
from ..optim.evaluation import differentiate, evaluate, evaluate_here
from ..optim.layouts import Record
from ..optim.loop import Kernel
from ..optim.search import SearchOptions
from ..optim.workspace import MethodWorkspace
from ..options import option
from ..problem import IkProblem
from ..robot.kinematics import MULTIPLIER, VARIABLE
from ..tasks.kernels import COMPONENTS, NONE, POSITION, ROWS
from .base import KernelSolver

LEAST_SHARE = 0.01
"""Least share of `step_norm`: the first step starts from rest, and the last one has to arrive."""

SHORTEST_LINK = 0.05
"""The least length of a link, relative to its chain, that counts for joint weights."""


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
        choices=('fixed', 'resetting'),
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
        choices=('analytic', 'central_difference', 'target'),
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
        choices=('every_step', 'at_the_end'),
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


# Indices into `own_vectors`: the current point, perhaps outside the limits; the square roots of K;
# the factors of a step. Into `own_rows`: the error; each goal's distance before the step.
# `of_goals` has each goal's Dmax.
HERE, GAINS, SCALE = 0, 1, 2
ERROR, DISTANCES = 0, 1
FIRST_ERROR = 0
"""Index into `own_values`: the length of the error where the attempt began."""
MAX_ERROR, RESETTING, MAX_STEP, JACOBIAN, DIFFERENCE_STEP, AT_THE_END = range(6)
NORMALISED, STEP_NORM, MAX_STEP_NORM, SLOW_SHARE, SLOW_DISTANCE = range(6, 11)
METHOD_OPTIONS = 11

ANALYTIC, CENTRAL_DIFFERENCE, TARGET = range(3)
JACOBIANS = {'analytic': ANALYTIC, 'central_difference': CENTRAL_DIFFERENCE, 'target': TARGET}


@kernel
def begin_jacobian(search: Record) -> None:
    """Begin at x. Where Dmax is reset, the first step goes all the way."""
    copy_to(search.x, search.own_vectors[HERE])
    identity(search.basis)
    search.own_values[FIRST_ERROR] = math.sqrt(search.cost)
    if search.resumed == 0:
        largest = np.inf if search.own_options[RESETTING] > 0.0 else search.own_options[MAX_ERROR]
        for i in range(search.of_goals.shape[0]):
            search.of_goals[i, 0] = largest


def method_step(name: str, update: Kernel) -> Kernel:
    """The step of a Jacobian method, for its `update`."""
    made: Kernel = with_kernels(_step, f'step_{name}', update=update)
    return made


update = placeholder
"""The method's, in its copy of the kernel below."""


def _step(search: Record) -> bool:
    """One step, in the order above."""
    dx, scale, error = search.dx, search.own_vectors[SCALE], search.own_rows[ERROR]
    table, largest = search.problem.table, search.of_goals
    _linear_model(search)
    for i in range(table.shape[0]):
        distance = goal_magnitude(table, error, i)
        search.own_rows[DISTANCES, i] = distance
        if distance > largest[i, 0]:  # ClampMag
            scale_goal(table, error, i, largest[i, 0] / distance)
    _scale_columns(search)
    update(search)
    for j in range(dx.shape[0]):
        dx[j] *= scale[j]
    if search.own_options[STEP_NORM] < np.inf:
        _set_length(search)
    if search.own_options[MAX_STEP_NORM] < np.inf:
        _cap_length(dx, search.own_options[MAX_STEP_NORM])
    cap_step(dx, search.own_options[MAX_STEP])
    _move(search)
    return True


@kernel
def _scale_columns(search: Record) -> None:
    """The Jacobian's columns times SCALE: the square roots of K(t), over the lengths if asked."""
    columns, scale = search.own_columns, search.own_vectors[SCALE]
    copy_to(search.own_vectors[GAINS], scale)
    if search.own_options[SLOW_DISTANCE] > 0.0:
        _slow_near_goals(search)
    for j in range(columns.shape[0]):
        length = 0.0
        for i in range(columns.shape[1]):
            columns[j, i] *= scale[j]
            length += columns[j, i] * columns[j, i]
        if search.own_options[NORMALISED] > 0.0 and length > 0.0:
            for i in range(columns.shape[1]):
                columns[j, i] /= math.sqrt(length)


@kernel
def _slow_near_goals(search: Record) -> None:
    """K(t): joints whose axis is near a goal's position move less."""
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
        share = min(1.0, nearest / search.own_options[SLOW_DISTANCE])
        search.own_vectors[SCALE, tree[k, VARIABLE]] *= math.sqrt(share)


@kernel
def _set_length(search: Record) -> None:
    """Give the step the length that belongs to the share of the way that is behind."""
    dx, slow = search.dx, search.own_options[SLOW_SHARE]
    length = math.sqrt(product(dx, dx))
    norm = search.own_options[STEP_NORM]
    if slow > 0.0 and search.own_values[FIRST_ERROR] > 0.0:
        left = math.sqrt(search.cost) / search.own_values[FIRST_ERROR]
        norm *= min(1.0, max(LEAST_SHARE, min(1.0 - left, left) / slow))
    for j in range(dx.shape[0]):
        dx[j] *= norm / length if length > 0.0 else 0.0


@kernel
def _cap_length(dx: Array, most: float) -> None:
    """Scale a step (n,) that is longer than this."""
    length = math.sqrt(product(dx, dx))
    if length > most:
        for j in range(dx.shape[0]):
            dx[j] *= most / length


@kernel
def _linear_model(search: Record) -> None:
    """ERROR = e, target minus current, and `own_columns` = the Jacobian's, both at HERE."""
    here, error, columns = search.own_vectors[HERE], search.own_rows[ERROR], search.own_columns
    kind, outside = search.own_options[JACOBIAN], differ(here, search.x)
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
    """The goals' rows of the Jacobian at HERE, by (f(q + h) - f(q - h)) / 2h."""
    trial, residual = search.trial, search.trial_residual
    copy_to(search.own_vectors[HERE], trial)
    for j in range(trial.shape[0]):
        here = trial[j]
        above = here + search.own_options[DIFFERENCE_STEP]
        below = here - search.own_options[DIFFERENCE_STEP]
        for value in (above, below):
            trial[j] = value
            evaluate(search, trial, residual)
            for i in range(search.problem.goal_rows):
                before = search.own_columns[j, i] if value == below else 0.0
                change = residual[i] / (above - below)
                search.own_columns[j, i] = before - change if value == below else change
        trial[j] = here


@kernel
def _move(search: Record) -> None:
    """Move from HERE by DX, to the nearest point inside the limits."""
    here, x, dx = search.own_vectors[HERE], search.x, search.dx
    finite = True
    for j in range(here.shape[0]):
        finite = finite and abs(here[j] + dx[j]) < np.inf
    for j in range(here.shape[0]):
        if finite:  # else too far for numbers: the search sees that nothing moves
            here[j] += dx[j]
        x[j] = clamp(here[j], search.problem.bounds[0, j], search.problem.bounds[1, j])
    if search.own_options[AT_THE_END] == 0.0:
        copy_to(x, here)
    outside = differ(here, x)
    if outside and search.own_options[RESETTING] > 0.0:
        evaluate(search, here, search.own_rows[ERROR])
        _reset_largest_errors(search, search.own_rows[ERROR])
    evaluate_here(search)
    if search.own_options[RESETTING] > 0.0 and not outside:
        _reset_largest_errors(search, search.residual)


@kernel
def _reset_largest_errors(search: Record, residual: Array) -> None:
    """Dmax of each goal, for how much closer the step brought it."""
    for i in range(search.of_goals.shape[0]):
        closer = search.own_rows[DISTANCES, i] - goal_magnitude(search.problem.table, residual, i)
        search.of_goals[i, 0] = search.own_options[MAX_ERROR] + max(closer, 0.0)


@kernel
def goal_magnitude(table: IntArray, rows: Array, i: int) -> float:
    """The length of goal i's part of `rows` (m,)."""
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

    That is what no step can mend of it. The singular values are those of `decompose`.
    """
    error, squares = search.own_rows[ERROR], search.rhs
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

    A method is an `update(search)`: `dx` = its step for the Jacobian whose columns are
    `own_columns`, and the error `own_rows[ERROR]`; `method_step` makes the step of it. Its options
    follow those of all Jacobian methods, from METHOD_OPTIONS on.
    """

    Options: ClassVar = JacobianMethodOptions
    start: ClassVar = staticmethod(begin_jacobian)

    def numbers(self) -> tuple[float, ...]:
        """See KernelSolver."""
        o = self.options
        return (
            o.max_error,
            o.max_error_rule == 'resetting',
            o.max_step,
            JACOBIANS[o.jacobian],
            o.difference_step,
            o.limits == 'at_the_end',
            o.normalised_columns,
            o.step_norm,
            o.max_step_norm,
            o.slow_fraction,
            o.slow_distance,
            *self.method_numbers(),
        )

    def method_numbers(self) -> tuple[float, ...]:
        """The numbers from METHOD_OPTIONS on."""
        return ()

    def prepare(self, workspace: MethodWorkspace) -> None:
        """See KernelSolver."""
        problem, search = workspace.problem, workspace.search
        x = problem.limits.project(search['start'])
        search['own_vectors'][GAINS] = np.sqrt(self.joint_gains(problem, x))
        if self.options.max_error_in_links > 0.0:
            link = float(np.median(link_lengths(problem, x)))
            search['own_options'][MAX_ERROR] = self.options.max_error_in_links * link

    def joint_gains(self, problem: IkProblem, x: Array) -> Array:
        """K (variables,), the joint weights; FrameNotFound where they name an unknown joint."""
        alpha = np.ones(problem.robot.n)
        for name, value in parse_stiffness(self.options.joint_stiffness).items():
            alpha[problem.robot.joint_index(name)] = value
        gains = 1.0 / alpha[problem.variables]
        if self.options.joint_weights == 'link_length':
            lengths = link_lengths(problem, x)
            gains *= np.mean(lengths) / lengths
        return gains


def link_lengths(problem: IkProblem, x: Array) -> Array:
    """How far (variables,) each joint is from the next joint or tip [m], the farthest of them.

    At least SHORTEST_LINK of the longest chain; all 1 where all joints are at one point.
    """
    packed = problem.packed
    packed.update(x)
    moving = packed.geometry[:, MULTIPLIER] != 0.0  # frozen joints are no joints
    origins = packed.frames[:, 9:]
    lengths, reach = np.zeros(len(x)), np.zeros(len(packed.tree))

    def measure(body: int, point: Array) -> float:
        """Note the link that ends at a point beyond a body; return how far out it ends."""
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
    """The numbers of 'joint=number, ...' by joint; InvalidOption for anything else."""
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
