# SPDX-License-Identifier: Apache-2.0
"""Sweeps, one at a time; the cost that they lower."""

import pytest
from scipy.spatial.transform import Rotation

from ik_core.solvers.coordinate_sweep import chordal_cost
from ik_core.solvers.cyclic_coordinate_descent import CyclicCoordinateDescent
from support import robots
from support.stepping import Unstopped

ORDERS = ('tip_to_base', 'base_to_tip')


ORIGIN = robots.transform(Rotation.from_rotvec([0.4, -0.7, 0.2]), [0.3, -0.1, 0.5])


both_orders = pytest.mark.parametrize('order', ORDERS)


def sweeping(problem, q, **options):
    """Sweeps from q (n,) that nothing ends."""
    return Unstopped(CyclicCoordinateDescent(**options), problem, q)


def sweep_once(problem, q, **options):
    """The variables after one sweep from q (n,)."""
    search = sweeping(problem, q, **options)
    search.step()
    return search.x


def own_cost(problem, x):
    """The cost [m^2] that sweeps lower, at variables x."""
    problem.packed.update(x)
    return chordal_cost(problem.packed.arrays)


def plan_of(problem, **options):
    """The record with the plan of a sweep."""
    return CyclicCoordinateDescent(**options).workspace(problem).own
