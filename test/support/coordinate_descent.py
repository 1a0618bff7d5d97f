"""Sweeps, one at a time; their cost, computed from poses and scipy's rotations alone."""

import pytest
from scipy.spatial.transform import Rotation

from ik_core.solvers import State
from ik_core.solvers.coordinate_sweep import (
    chordal_cost,
)
from ik_core.solvers.cyclic_coordinate_descent import CyclicCoordinateDescent, sweep_plan
from support import robots

ORDERS = ('tip_to_base', 'base_to_tip')


ORIGIN = robots.transform(Rotation.from_rotvec([0.4, -0.7, 0.2]), [0.3, -0.1, 0.5])


both_orders = pytest.mark.parametrize('order', ORDERS)


def sweep_once(problem, x, **options):
    solver = CyclicCoordinateDescent(**options)
    return solver.step(problem, State(problem.at(x))).at.x


def with_q(problem, x):
    q = problem.start(None)[0]
    q[problem.variables] = x
    return q


def own_cost(problem, x):
    """The cost [m^2] that sweeps lower, at variables x."""
    problem.packed.update(x)
    return chordal_cost(problem.packed.arrays)


def plan_of(problem, **options):
    return sweep_plan(problem, CyclicCoordinateDescent(**options).options)
