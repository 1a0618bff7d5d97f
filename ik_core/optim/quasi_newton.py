# SPDX-License-Identifier: Apache-2.0
"""Parts shared by quasi-Newton methods: initial Hessian, update, line search.

`model` (n, n) is half of B, the approximation of the Hessian of the cost f, its lower triangle:
so it goes with half of the gradient, J'r.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT
from ..kernels.signatures import Array1, Array2
from ..maths.linalg import gauss_newton_hessian
from ..maths.vectors import copy_to
from ..options import option
from .layouts import Record
from .line_search import LINE_SEARCH, LineSearchOptions, armijo
from .loop import Kernel


@dataclass(frozen=True)
class QuasiNewtonOptions(LineSearchOptions):
    """Options of every solver that approximates the Hessian.

    If tasks weigh a thousand times less than goals, the search follows a narrow curved valley: it
    takes hundreds of iterations.
    """

    max_iterations: int = option(2000, 'iterations per attempt', bounds=(1, 10**9))
    epsilon: float = option(
        1e-3,
        "added to the diagonal of J'J if that is the initial Hessian",
        unit='m^2',
        bounds=(1e-12, 1e6),
    )


QUASI_NEWTON = LINE_SEARCH.extended(
    'quasi_newton',
    epsilon=(FLOAT,),
    model=(FLOAT, 'joints', 'joints'),
    moved=(INT,),  # 1 if the last step moved x; 0 before the first step
    last=(FLOAT, 'joints'),  # x before the last step
    last_gradient=(FLOAT, 'joints'),  # half the gradient there
    move=(FLOAT, 'joints'),  # s
    change=(FLOAT, 'joints'),  # half of y
)
quasi_newton_at = QUASI_NEWTON.vector_view()


@kernel(entry='ik_linear_model')
def linear_model(columns: Array2, epsilon: float, model: Array2) -> None:
    """model (n, n) = J'J + eps I, half the Hessian of |r + J dx|^2, for J' = columns (n, m).

    eps keeps it positive definite if J'J is singular, as it is for a redundant arm.
    """
    gauss_newton_hessian(columns, model)
    for j in range(model.shape[0]):
        model[j, j] += epsilon


@kernel(entry='ik_bfgs_update')
def bfgs_update(model: Array2, step: Array1, change: Array1, image: Array1) -> None:
    """Update the BFGS approximation by a step s (n,) that changed the gradient by y (n,).

        B+ = B - B s s' B / s'B s + y y' / s'y

    ([Engell2007] Eq. 15), of which halves of B and y give the half. It stays positive definite
    only where the curvature condition s'y > 0 holds. Where s'y < 0.2 s'B s, y is damped
    [Powell1978]: replaced by theta y + (1 - theta) B s with the largest theta in [0, 1] for which
    s'y = 0.2 s'B s. `image` (n,) is B s afterwards, `change` the damped y.
    """
    n = model.shape[0]
    expected = curvature = 0.0
    for j in range(n):
        image[j] = 0.0
        for k in range(n):
            image[j] += model[max(j, k), min(j, k)] * step[k]
        expected += step[j] * image[j]
        curvature += step[j] * change[j]
    if not expected > 0.0:
        return
    if curvature < 0.2 * expected:
        theta = 0.8 * expected / (expected - curvature)
        curvature = 0.0
        for j in range(n):
            change[j] = theta * change[j] + (1.0 - theta) * image[j]
            curvature += step[j] * change[j]
    for j in range(n):
        for k in range(j + 1):
            model[j, k] += change[j] * change[k] / curvature - image[j] * image[k] / expected


@kernel
def begin_model(search: Record) -> None:
    """Begin with the Hessian of the linear model."""
    own = quasi_newton_at(search.own)
    linear_model(search.columns, own.epsilon, own.model)
    own.moved = 0


@kernel
def learn(search: Record) -> None:
    """Update the model by the last step, and keep the point where this one begins."""
    own, x, gradient = quasi_newton_at(search.own), search.x, search.gradient
    if own.moved > 0:
        for j in range(x.shape[0]):
            own.move[j] = x[j] - own.last[j]
            own.change[j] = gradient[j] - own.last_gradient[j]
        bfgs_update(own.model, own.move, own.change, search.rhs)
    copy_to(x, own.last)
    copy_to(gradient, own.last_gradient)


@kernel
def no_step(search: Record) -> None:
    """dx = 0, for methods without a model."""
    for j in range(search.joints):
        search.dx[j] = 0.0


# Sets dx (n,) to the step of the model; each method's copy of `descend` has its own.
model_step: Kernel = no_step


def descend(search: Record) -> bool:
    """Line-search on the cost along the model's step, and update the model.

    The step ends inside the limits. If no point along it is better, it is tried again with the
    Hessian of the linear model. Returns False if no point along that one is better either.
    """
    own = quasi_newton_at(search.own)
    learn(search)
    model_step(search)
    moved = armijo(search, search.dx, 1.0)
    if not moved:
        linear_model(search.columns, own.epsilon, own.model)
        model_step(search)
        moved = armijo(search, search.dx, 1.0)
    own.moved = 1 if moved else 0
    return moved
