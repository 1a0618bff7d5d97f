# SPDX-License-Identifier: Apache-2.0
"""The pseudoinverse method [Whitney1969], as in [Buss2009] sections 4 and 6.

    dq = J+ e + (I - J+J) phi                                         (Eq. 7)

J+ e is the shortest of the steps for which |J dq - e| is least (Eq. 6). With the singular value
decomposition J = sum s_i u_i v_i' it is the sum of v_i (u_i'e) / s_i over the s_i that are not 0
(Eq. 13): here those above `rank_tolerance` times the largest, so that a singularity is noticed
before rounding hides it. (J+ = (J'J)^-1 J', Eq. 3.7 of [Dorta2014], holds only where J has
no more columns than rows.) Near a singularity 1 / s_i makes steps huge, and targets out of reach
make the method swing; Buss recommends it only with the step clamped severely.

(I - J+J) projects onto the null space of J: it lets through as much of a motion phi as moves no
goal, to first order. Where the problem has secondary tasks, with the residual r and its Jacobian
R, phi is the motion of the null space that reduces it most [BaerlocherBoulic1998],

    phi = argmin |r + R phi| over phi = (I - J+J) phi

so for a rest posture it is (I - J+J)(rest - q), Liegeois's use of it [Liegeois1977]. Here they
shape the path to the goals; after that the search completes them, as with all solvers.

With `null_space: extended` phi is that of the extended Jacobian [Baillieul1985], which Buss
section 4 names: where n are columns that span the null space, the secondary cost's H = |r|^2 / 2
has a minimum among the solutions where n'(grad H) = 0, and these are further rows beside the
goals',

    | J                        |        |  e          |
    | n' (grad^2 H - sum l J') | dq  =  | -n' grad H  |

with the multipliers l of J'l = grad H, by which n turns as q moves. So a minimum is tracked while
the targets move, where `projected` finds it again from wherever J+ e has led. Near a maximum these
rows would lead up to it: for each principal axis of n' (grad^2 H - sum l J') n along which H
curves down, the step of the null space is the opposite one, so it always descends.

`halving_tolerance` and `time_step` make it the algorithm of [Dorta2014] (section 3.1): e is
halved until |(I - JJ+) e|, the part that no step can reduce, is within the tolerance (steps 4, 5),
then q += dt J+ e (Eq. 3.12) and limits are kept by capping (Eq. 3.13, where dt is left out, and
x stands for that sum). With `limits: at_the_end` it is the inverse-Jacobian method of Blender
that [EngellErleben2011] compares its own with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..kernels.jit import call_back, kernel
from ..kernels.records import FLOAT
from ..maths import safe
from ..maths.linalg import damped_step
from ..maths.rotations import Array
from ..maths.svd import decompose, nth_largest, shortest_step
from ..optim.layouts import Record
from ..optim.workspace import MethodWorkspace
from ..options import option
from ..problem import IkProblem
from ..rules import FAILED
from .jacobian_method import (
    JACOBIAN_METHOD,
    JacobianMethod,
    JacobianMethodOptions,
    halve_error,
    method_step,
)
from .names import PresetName

SECONDARY_DAMPING = 1e-3  # Damping of phi, for motions that the null space can hardly make
DIFFERENCE = 1e-5  # [rad or m] Step of the central differences for the extended Jacobian's rows
SMALLEST_CURVATURE = 1e-300
# Curvatures of the secondary cost count as at least this fraction of the largest.
LEAST_CURVATURE = 1e-6


@dataclass(frozen=True)
class PseudoinverseOptions(JacobianMethodOptions):
    """Options of `pseudoinverse`."""

    rank_tolerance: float = option(
        1e-3,
        'singular values below this, relative to the largest, count as 0',
        bounds=(1e-15, 1.0),
    )
    time_step: float = option(
        1.0, 'dt, the fraction of the step to the target', bounds=(1e-9, 2.0)
    )
    halving_tolerance: float = option(
        np.inf,
        'largest part of an error outside the range of J',
        unit='m',
        bounds=(1e-12, np.inf),
    )
    null_space: str = option(
        'projected',
        'how secondary tasks use the null space: projected (Eq. 7), or by the extended Jacobian',
        choices=('projected', 'extended'),
    )


PSEUDOINVERSE = JACOBIAN_METHOD.extended(
    'pseudoinverse', rank_tolerance=(FLOAT,), time_step=(FLOAT,), halving_tolerance=(FLOAT,)
)
own_at = PSEUDOINVERSE.vector_view()


@kernel
def update(search: Record) -> None:
    """dx = dt J+ e + (I - J+J) phi; phi comes from the secondary tasks, if there are any."""
    own, dx, squares = own_at(search.own), search.dx, search.rhs
    decompose(own.columns, search.basis, search.work, squares)
    if own.halving_tolerance < np.inf:
        halve_error(search, own.halving_tolerance, own.rank_tolerance)
    least = own.rank_tolerance**2 * nth_largest(squares, search.work.shape[0], 0)
    shortest_step(search.basis, search.work, squares, own.error, least, 0.0, dx)
    for j in range(dx.shape[0]):
        dx[j] *= own.time_step
    if search.method != 0 and call_back(search.method) != 0:
        search.status = FAILED


class Pseudoinverse(JacobianMethod):
    """The pseudoinverse method, with secondary tasks in the null space."""

    name: ClassVar[str] = 'pseudoinverse'
    Options: ClassVar = PseudoinverseOptions
    layout: ClassVar = PSEUDOINVERSE
    presets: ClassVar[Mapping[PresetName, Mapping[str, Any]]] = {
        'buss_pure': {'max_error': np.inf, 'max_step': np.inf},
        'engell_erleben': {'max_error': np.inf, 'max_step': np.inf, 'limits': 'at_the_end'},
        'coursework': {
            'max_error': np.inf,
            'max_step': np.inf,
            'jacobian': 'central_difference',
            'halving_tolerance': 1e-3,
            'time_step': 0.1,
        },
    }
    step: ClassVar = staticmethod(method_step(name, update))

    def prepare(self, workspace: MethodWorkspace) -> None:
        """Prepare the start, and a callback for the secondary tasks' part of each step."""
        super().prepare(workspace)
        if workspace.problem.levels:
            workspace.call_back_by(lambda: self._add_null_space_step(workspace))

    def _add_null_space_step(self, workspace: MethodWorkspace) -> None:
        """Add phi to the step; the kernel calls this back."""
        search = workspace.search
        work = search['work']
        lengths = np.linalg.norm(work, axis=1)
        kept = lengths > self.options.rank_tolerance * lengths.max()
        v = (work[kept] / lengths[kept, np.newaxis]).T
        problem, begins = workspace.problem, bool(search['iterations'] == 1)
        x, scale = workspace.own['here'], workspace.own['scale']
        residual, jacobian = problem.evaluator.secondary_at(x, begins)
        if self.options.null_space == 'extended':
            slope = scale * (jacobian.T @ residual)
            search['dx'] += extended_step(problem, x, scale, v, search['dx'], slope)
            return
        free = jacobian * scale
        free -= (free @ v) @ v.T
        phi = damped_step(free, -residual, SECONDARY_DAMPING)
        search['dx'] += phi - v @ (phi @ v)


def extended_step(
    problem: IkProblem, x: Array, scale: Array, v: Array, step: Array, slope: Array
) -> Array:
    """Return the null-space part (n,) of a step of the extended Jacobian from variables x (n,).

    scale (n,) : x = scale y; steps are of y
    v (n, k) : columns that span the range of the goals' J'
    step (n,) : J+ e
    slope (n,) : gradient of the secondary cost |r|^2 / 2 with respect to y
    """
    null = np.linalg.svd(v)[0][:, v.shape[1] :]
    multipliers = safe.least_squares((problem.at(x).jacobian * scale).T, slope, 1e-9)

    def lagrangian_gradient(at: Array) -> Array:
        residual, jacobian = problem.evaluator.secondary_at(at)
        pull = jacobian.T @ residual - problem.at(at).jacobian.T @ multipliers
        result: Array = scale * pull
        return result

    rows = np.empty((null.shape[1], len(x)))
    for row, direction in zip(rows, null.T, strict=True):
        move = DIFFERENCE * scale * direction
        row[:] = (lagrangian_gradient(x + move) - lagrangian_gradient(x - move)) / (2 * DIFFERENCE)
    wanted = -(slope @ null + rows @ step)
    curvature, axes = np.linalg.eigh(0.5 * (rows @ null + (rows @ null).T))
    size = np.abs(curvature)  # down also where the cost is no valley
    size = np.maximum(size, LEAST_CURVATURE * max(size.max(initial=0.0), SMALLEST_CURVATURE))
    result: Array = null @ (axes @ ((wanted @ axes) / size))
    return result
