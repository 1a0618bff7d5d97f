# SPDX-License-Identifier: Apache-2.0
"""Solves of random poses, and whether two results are the same."""

import xml.etree.ElementTree as ElementTree

import numpy as np

import ik_core as ik
from ik_core.batch.many_targets import solve_batch
from ik_core.optim.search import Budget
from ik_core.robot.shipped import shipped_robots


def measured(name, seed, size=1e-3):
    """The URDF of a shipped robot whose joints are all off by up to `size` [m] and [rad]."""
    rng, root = np.random.default_rng(seed), ElementTree.parse(shipped_robots()[name]).getroot()
    for origin in root.iterfind('joint/origin'):
        for key in ('xyz', 'rpy'):
            ideal = np.array(origin.get(key, '0 0 0').split(), float)
            real = ideal + size * rng.uniform(-1.0, 1.0, 3)
            origin.set(key, ' '.join(repr(float(number)) for number in real))
    return ElementTree.tostring(root, encoding='unicode')


def random_poses(problem, count, seed=0):
    """Targets (count, 4, 4) that are reached, where (count, n), and starts (count, n)."""
    rng = np.random.default_rng(seed)
    low, high = problem.limits.sample_lower, problem.limits.sample_upper
    q = np.tile(problem.default_configuration, (2 * count, 1))
    q[:, problem.variables] = rng.uniform(low, high, (2 * count, len(low)))
    link = problem.goals[0].link
    targets = np.array([problem.robot.forward_kinematics(one, link) for one in q[:count]])
    return targets, q[:count], q[count:]


def solved(problem, targets, starts, **options):
    """Single solves."""
    solver, results = ik.make_solver(**options), []
    for target, start in zip(targets, starts, strict=True):
        problem.goals[0].set_target(target)
        results.append(solver.solve(problem, start))
    return results


def same(one, other):
    """Return whether two results are the same, to the last bit."""
    counts = [(r.iterations, r.evaluations, r.restarts, r.status, r.cost) for r in (one, other)]
    np.testing.assert_array_equal(one.q, other.q)
    np.testing.assert_array_equal(one.position_errors, other.position_errors)
    np.testing.assert_array_equal(one.orientation_errors, other.orientation_errors)
    assert counts[0] == counts[1]


def check_ways_agree(problem, near, options):
    """Check that batches, single solves and searches step by step end the same.

    From random starts, ten from `near` [rad or m] beside a solution, and five to what is out of
    reach. Returns targets, starts and results of the single solves.
    """
    targets, q, starts = random_poses(problem, 45, seed=2)
    starts[:10] = np.clip(q[:10] + near, problem.robot.lower, problem.robot.upper)
    targets[20:25, :3, 3] += 5.0
    batches = [
        solve_batch(problem, targets, starts, threads=threads, **options) for threads in (1, 3)
    ]
    stepwise, singles = ik.make_solver(**options), solved(problem, targets, starts, **options)
    for i, single in enumerate(singles):
        for batch in batches:
            same(single, batch[i])
        problem.goals[0].set_target(targets[i])
        search = stepwise.begin(problem, starts[i])
        while not search.run(Budget(iterations=1)):
            pass
        same(single, search.result())
    return targets, starts, singles


def check_out_of_reach_is_left_to_the_search(problem):
    """Check that goals out of reach have the answer of a search alone, from the start."""
    targets, _, starts = random_poses(problem, 4, seed=3)
    targets[:, :3, 3] += 3.0
    alone = solved(problem, targets, starts, closed_form=False, restarts=4)
    for one, other in zip(solved(problem, targets, starts, restarts=4), alone, strict=True):
        assert not one.success
        same(one, other)


def far_from_goal(problem, q):
    """Return the distance of the goal's link from its target: [m], or twice the sine of half the
    angle."""
    goal = problem.goals[0]
    here, there = problem.robot.forward_kinematics(q, goal.link), goal.transform
    turn = np.linalg.norm(here[:3, :3] - there[:3, :3]) / np.sqrt(2.0)
    return max(np.linalg.norm(here[:3, 3] - there[:3, 3]), turn)
