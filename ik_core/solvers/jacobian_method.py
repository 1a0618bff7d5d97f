"""What the Jacobian methods share: the linear model, its clamps, its columns and its weights.

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
   targets don't stretch the arm into a singularity. Where `max_error_rule` is 'resetting', it
   is Dmax,i: infinite at the start, so that the first step goes all the way, then d_i + Dmax
   with d_i what the step before moved the end effector i closer. The text leaves open what a
   step away does; its author's program takes d_i = 0 there, and so does this.
3. Joint weights: dq = K^1/2 y, with y the method's step for the Jacobian J K^1/2. So the
   transpose method gives K J'e [Welman1993], the others the step that is shortest in
   dq' K^-1 dq: joints with a large K_i do more of the work. K_i = 1 / (w_i alpha_i) ([Dorta2014]
   Eq. 3.14), with alpha_i > 0 of `joint_stiffness`, and w_i of `joint_weights`: 1, or the
   length of the link, which is the distance from the joint to the next one or the tip, at least
   5 % of the chain, divided by their mean.
4. ClampMaxAbs [BussKim2005]: the step is scaled so that no joint moves further than
   `max_step`.
5. Limits: joints that a step takes out of their limits are put on them at once ([Dorta2014]
   Eq. 3.13), or, where `limits` is 'at_the_end', only in the answer, as Blender does: the method
   then runs as if there were no limits, and each of its points is judged by its projection. It
   is not part of the methods: at a limit they may stop short of the closest point, and then
   report STALLED.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from ..exceptions import InvalidOption
from ..maths import safe
from ..maths.rotations import Array
from ..optim.search import SearchOptions
from ..optim.workspace import State
from ..options import option
from ..problem import Evaluation, IkProblem
from ..robot.kinematics import MULTIPLIER
from ..tasks.kernels import goal_jacobian
from .base import IterativeSolver

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
    max_error_rule: str = option(
        'fixed',
        'whether Dmax is one number or follows the progress',
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
    joint_stiffness: str = option('', 'alpha of joints where it is not 1: joint=alpha, ...')
    limits: str = option(
        'every_step',
        'when joints are put back inside their limits',
        choices=('every_step', 'at_the_end'),
    )

    def __post_init__(self) -> None:
        if isinstance(self.joint_stiffness, Mapping):
            text = ', '.join(f'{name}={value}' for name, value in self.joint_stiffness.items())
            object.__setattr__(self, 'joint_stiffness', text)
        super().__post_init__()
        parse_stiffness(self.joint_stiffness)


@dataclass(eq=False, kw_only=True)
class JacobianState(State):
    """`here`: where the method stands, outside the limits perhaps, while `at` is inside.

    `max_errors` (G,): Dmax of each goal. `scale` (variables,): the square roots of K.
    """

    here: Evaluation
    max_errors: Array
    scale: Array

    def resume(self, last: JacobianState) -> None:
        """Keep Dmax, which is reset only where a target jumped."""
        self.max_errors = last.max_errors


class JacobianMethod(IterativeSolver[JacobianState]):
    """A solver that follows the linear model; a method is `update`."""

    Options: ClassVar = JacobianMethodOptions

    def start(self, problem: IkProblem, at: Evaluation) -> JacobianState:
        """See IterativeSolver."""
        resetting = self.options.max_error_rule == 'resetting'
        largest = np.inf if resetting else self.options.max_error
        max_errors = np.full(len(problem.goals), largest)
        scale = np.sqrt(self.joint_gains(problem, at))
        return JacobianState(at, here=at, max_errors=max_errors, scale=scale)

    def step(self, problem: IkProblem, state: JacobianState) -> JacobianState:
        """See IterativeSolver."""
        here = state.here
        error = clamp_magnitudes(-here.residual, problem.packed.goal_rows, state.max_errors)
        jacobian = self.jacobian(problem, here) * state.scale
        dx = state.scale * self.update(problem, state, jacobian, error)
        return self._move(problem, state, clamp_max_abs(dx, self.options.max_step))

    @abstractmethod
    def update(
        self, problem: IkProblem, state: JacobianState, jacobian: Array, error: Array
    ) -> Array:
        """The method's step (variables,) for a Jacobian (m, variables) and an error (m,)."""

    def jacobian(self, problem: IkProblem, here: Evaluation) -> Array:
        """The Jacobian (m, variables) at a point, computed as the options say."""
        if self.options.jacobian == 'target':
            return target_jacobian(problem, here)
        if self.options.jacobian == 'central_difference':
            return central_difference_jacobian(problem, here, self.options.difference_step)
        return here.jacobian

    def joint_gains(self, problem: IkProblem, at: Evaluation) -> Array:
        """K (variables,), the joint weights; FrameNotFound where they name an unknown joint."""
        alpha = np.ones(problem.robot.n)
        for name, value in parse_stiffness(self.options.joint_stiffness).items():
            alpha[problem.robot.joint_index(name)] = value
        gains = 1.0 / alpha[problem.variables]
        if self.options.joint_weights == 'link_length':
            lengths = link_lengths(problem, at.x)
            gains *= np.mean(lengths) / lengths
        return gains

    def _move(self, problem: IkProblem, state: JacobianState, dx: Array) -> JacobianState:
        x = state.here.x + dx
        if not np.isfinite(x).all():  # too far for numbers: the search sees that nothing moves
            x = state.here.x
        inside = problem.limits.project(x)
        here = at = problem.at(inside)
        evaluations = 1
        if self.options.jacobian == 'central_difference':
            evaluations += 2 * len(x)
        if self.options.limits == 'at_the_end' and (inside != x).any():
            here = problem.at(x)
            evaluations += 1
        max_errors = state.max_errors
        if self.options.max_error_rule == 'resetting':
            closer = goal_magnitudes(problem, state.here) - goal_magnitudes(problem, here)
            max_errors = self.options.max_error + np.maximum(closer, 0.0)
        return JacobianState(at, evaluations, here=here, max_errors=max_errors, scale=state.scale)


def clamp_magnitudes(error: Array, goal_rows: list[slice], largest: float | Array) -> Array:
    """ClampMag ([Buss2009] section 2): each goal's part of the error (m,) shortened to `largest`.

    That is one number, or one for each goal (G,).
    """
    clamped = error.copy()
    bounds = np.full(len(goal_rows), largest)
    for rows, bound in zip(goal_rows, bounds, strict=True):
        length = np.linalg.norm(clamped[rows])
        if length > bound:
            clamped[rows] *= bound / length
    return clamped


def clamp_max_abs(step: Array, largest: float) -> Array:
    """ClampMaxAbs [BussKim2005]: the step scaled so that no component exceeds `largest`."""
    size = np.max(np.abs(step))
    return step * (largest / size) if size > largest else step


def goal_magnitudes(problem: IkProblem, at: Evaluation) -> Array:
    """The lengths (G,) of the goals' parts of the residual."""
    return np.array([np.linalg.norm(at.residual[rows]) for rows in problem.packed.goal_rows])


def truncated_svd(jacobian: Array, tolerance: float) -> tuple[Array, Array, Array]:
    """u (m, rank), s (rank,), v (n, rank) of J = u s v', without s <= tolerance * the largest."""
    u, s, vt = safe.svd(jacobian)
    rank = int(np.count_nonzero(s > tolerance * s[0]))
    return u[:, :rank], s[:rank], vt[:rank].T


def halved(error: Array, basis: Array, tolerance: float) -> Array:
    """The error (m,) halved until what no step can mend of it is within a tolerance.

    `basis` (m, rank) spans the range of J, so that is |(I - JJ+) e| ([Dorta2014] section 3.1,
    steps 4 and 5).
    """
    beyond = np.linalg.norm(error - basis @ (basis.T @ error))
    while beyond > tolerance:
        error, beyond = 0.5 * error, 0.5 * beyond
    return error


def target_jacobian(problem: IkProblem, here: Evaluation) -> Array:
    """Buss's alternate Jacobian (m, variables): of positions whose targets move with the links."""
    packed = problem.packed
    packed.update(here.x)
    attached = packed.tips.copy()
    attached[:, 9:] = packed.targets[:, 9:]
    columns = np.empty((len(here.x), packed.rows))
    goal_jacobian(packed.arrays._replace(tips=attached), 0, columns)
    jacobian = here.jacobian.copy()
    jacobian[: packed.rows] = columns.T
    return jacobian


def central_difference_jacobian(problem: IkProblem, here: Evaluation, step: float) -> Array:
    """The Jacobian (m, variables) with the goals' rows by central differences."""
    packed = problem.packed
    jacobian = here.jacobian.copy()
    for j, value in enumerate(here.x):
        above, below = here.x.copy(), here.x.copy()
        above[j], below[j] = value + step, value - step
        packed.update(above)
        change = packed.residual.copy()
        packed.update(below)
        change -= packed.residual
        jacobian[: packed.rows, j] = change / (above[j] - below[j])
    return jacobian


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
