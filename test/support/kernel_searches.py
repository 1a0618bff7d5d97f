# SPDX-License-Identifier: Apache-2.0
"""A search of the shared loop that stands where a test puts it, to call kernels on it.

A test wraps the kernel in an entry of its own, under `kernel`, which takes the `address` of the
search's record and views it with `search_at`.
"""

import numpy as np

import ik_core as ik
from ik_core import IkProblem
from ik_core.kernels.jit import kernel
from ik_core.optim.evaluation import differentiate_here, evaluate_here
from ik_core.optim.layouts import METHOD, search_at
from ik_core.optim.search import SearchOptions
from ik_core.optim.workspace import MethodWorkspace
from ik_core.tasks.base import Task


@kernel
def evaluate_all(address):
    """Cost, residual and derivatives at x."""
    search = search_at(address)
    evaluate_here(search)
    differentiate_here(search)


class StandingSearch:
    """A search for a problem, standing at x (n,), of a method with a record of this layout."""

    def __init__(self, problem, x, layout=METHOD, options=None):
        self.problem, options = problem, options or SearchOptions()
        self.workspace = MethodWorkspace(problem, options, None, layout)
        q = problem.default_configuration
        q[problem.variables] = x
        self.workspace.load(q)
        self.workspace.search['x'] = x
        evaluate_all(self.address)
        self.workspace.search['evaluations'] = 0

    @property
    def record(self):
        """Its fields by their names."""
        return self.workspace.search

    @property
    def own(self):
        """Fields of the method's record by their names."""
        return self.workspace.own

    @property
    def address(self):
        """Return the argument of a kernel's entry."""
        return self.record.address

    @property
    def x(self):
        """Return the current point."""
        return self.workspace.search['x'].copy()

    @property
    def evaluations(self):
        """Since it stands."""
        return int(self.workspace.search['evaluations'])


class Bowl(Task):
    """f(x) = (x - centre)' H (x - centre).

    `slope_error` is added to what it says its gradient is, in every direction.
    """

    links = ()

    def __init__(self, hessian, centre, slope_error=0.0):
        self.root = np.linalg.cholesky(np.array(hessian, float)).T
        self.centre = np.array(centre, float)
        self.slope_error = slope_error

    def residual(self, robot, q):
        return self.root @ (q - self.centre)

    def jacobian(self, robot, q):
        return self.root + self.slope_error

    def cost(self, x):
        return float(np.sum((self.root @ (x - self.centre)) ** 2))

    def gradient(self, x):
        return 2.0 * self.root.T @ self.root @ (x - self.centre)


def slides(lower, upper):
    """A robot of prismatic joints with these limits (n,)."""
    n, axes = len(lower), np.eye(3)
    joints = [
        ik.robot.Joint(f'j{j}', 'prismatic', f'l{j}', f'l{j + 1}', axis=axes[j % 3],
                 lower=lower[j], upper=upper[j])
        for j in range(n)
    ]  # fmt: skip
    return ik.Robot.from_joints('slides', [f'l{j}' for j in range(n + 1)], joints)


def in_a_box(task, lower, upper):
    """The problem of a task about x (n,) inside limits (n,)."""
    return IkProblem(slides(lower, upper), [task])


def random_definite(rng, n):
    """A symmetric positive definite matrix (n, n)."""
    root = rng.normal(size=(n, n))
    return root @ root.T + 0.1 * np.eye(n)
