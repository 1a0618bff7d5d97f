# SPDX-License-Identifier: Apache-2.0
"""The same answers in eight lanes and one, in a search alone, and in plain Python."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from support import fresh_python

import ik_core as ik
from ik_core.kernels.jit import COMPILED, with_kernels
from ik_core.maths.boxed_step import bounded_step
from ik_core.maths.lanes import HAS_LANES, LANES
from ik_core.optim.layouts import FOREVER
from ik_core.optim.search import Budget
from ik_core.solvers.damped_search import layouts, run
from ik_core.solvers.damped_search.workspace import DampedWorkspace

pytestmark = pytest.mark.long
needs_lanes = pytest.mark.skipif(not (COMPILED and HAS_LANES), reason='there are no lanes')


def random_problems(name, count, seed=0, goal=ik.PoseTask):
    """A problem, goals (count, 1, 12) that are reached, and starts (count, variables)."""
    robot, rng = ik.load_robot(name), np.random.default_rng(seed)
    tip = robot.default_tip()
    problem = ik.IkProblem(robot, [goal(tip)])
    lower, upper = problem.limits.sample_lower, problem.limits.sample_upper
    q, starts = rng.uniform(lower, upper, (2, count, len(lower)))
    frames = np.empty((count, 1, 12))
    for x, frame in zip(q, frames, strict=True):
        whole = problem.default_configuration
        whole[problem.variables] = x
        transform = robot.forward_kinematics(whole, tip)
        frame[0] = [*transform[:3, :3].ravel(), *transform[:3, 3]]
    return problem, frames, starts


def in_other_lanes(count):
    """The kernel with so many lanes, which are not those that this machine has."""
    source = getattr(run.solve_batch, 'py_func', run.solve_batch)
    views = {
        'batch_lanes': layouts.LANES.vector_view(count),
        'batch_scalars': layouts.LANES.scalar_view(count),
    }
    return with_kernels(source, f'solve_in_{count}_lanes', **views)


def in_so_many_lanes(*arguments, **options):
    """Answers (N, variables), codes (N, 4) and errors of `searches_in_lanes`."""
    searches = searches_in_lanes(*arguments, **options)
    return searches['points'], searches['codes'], searches['errors']


def searches_in_lanes(count, problem, frames, starts, steps=FOREVER, **options):
    """The searches, done by a kernel with so many lanes, which is called for so many steps at a
    time."""
    solver = ik.make_solver('levenberg_marquardt', **options)
    search = DampedWorkspace(problem, solver.options)
    kernel = run.solve_batch if count == LANES else in_other_lanes(count)
    searches, lanes = search.make_searches(len(starts), count), search.make_lanes(count)
    searches['targets'] = frames
    for name in ('starts', 'guesses', 'references'):
        searches[name] = starts
    searches['guesses_restart'] = 0
    begins = True
    while kernel(searches.address, lanes.address, begins, steps):
        begins = False
    assert not lanes['phase'].any()  # all lanes are idle
    assert not searches['owners'].any()
    return searches


@pytest.mark.thorough  # compiles the largest kernel for one lane
@needs_lanes
@pytest.mark.parametrize('name', ['panda', 'scara', 'ur5e'])
def test_the_number_of_lanes_changes_no_bit(name):
    problem, frames, starts = random_problems(name, 150)
    frames[::10, :, 9:] += 0.6  # some are out of reach
    first = in_so_many_lanes(8, problem, frames, starts, restarts=20)
    assert (first[1][:, 0] == layouts.REACHED).sum() > 130
    assert (first[1][:, 0] == layouts.CLOSEST).any()
    assert (first[1][:, 3] > 0).any()  # some took restarts
    other = in_so_many_lanes(1, problem, frames, starts, restarts=20)
    for mine, its in zip(first, other, strict=True):
        np.testing.assert_array_equal(mine, its)


@needs_lanes
@pytest.mark.parametrize('steps', [1, 7])
def test_a_batch_goes_on_where_it_was(steps):
    problem, frames, starts = random_problems('panda', 40, seed=1)
    frames[::10, :, 9:] += 0.6
    whole = in_so_many_lanes(LANES, problem, frames, starts)
    parts = in_so_many_lanes(LANES, problem, frames, starts, steps)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'scara'])
@pytest.mark.parametrize('shift', [0.0, 0.6])
def test_a_solve_is_that_of_a_search_run_step_by_step(name, shift):
    """Restarts in lanes against the same ones after each other; some goals are out of reach."""
    problem, frames, starts = random_problems(name, 25, seed=3)
    goal, q = problem.goals[0], problem.default_configuration
    options = {'restarts': 6, 'max_iterations': 40, 'closed_form': False}
    together, alone = (ik.make_solver('levenberg_marquardt', **options) for _ in range(2))
    for frame, start in zip(frames[:, 0], starts, strict=True):
        target = np.eye(4)
        target[:3, :3], target[:3, 3] = frame[:9].reshape(3, 3), frame[9:] + shift
        goal.set_target(target)
        q[problem.variables] = start
        one = together.solve(problem, q)
        other = alone.solve(problem, q, Budget(iterations=10**9))
        np.testing.assert_array_equal(one.q, other.q)
        np.testing.assert_array_equal(one.position_errors, other.position_errors)
        assert one.status == other.status
        assert one.cost == other.cost
        assert (one.iterations, one.evaluations) == (other.iterations, other.evaluations)
        assert one.restarts == other.restarts
        assert other.abandoned_evaluations == 0
        assert (one.abandoned_evaluations == 0) or (one.success and one.iterations > 8)


@needs_lanes
def test_restarts_side_by_side_abandon_some_evaluations():
    problem, frames, starts = random_problems('panda', 40, seed=8)
    frames[0, :, 9:] += 0.9  # out of reach: all attempts are made, whichever way
    alone = searches_in_lanes(1, problem, frames, starts, restarts=20)
    beside = searches_in_lanes(LANES, problem, frames, starts, restarts=20)
    np.testing.assert_array_equal(alone['evaluations'], beside['evaluations'])
    assert not alone['abandoned'].any()
    assert beside['abandoned'][0] == 0
    assert (beside['abandoned'] >= 0).all()
    assert beside['abandoned'].any()


COUNTED = """
import json
from ik_core.solvers.damped_search import run, second_order
from ik_core.solvers.damped_search.layouts import CHECK, IDLE
from test_lanes_agree import random_problems, searches_in_lanes
made, evaluate = 0, run.evaluate
evaluate_point, load_lane = second_order.evaluate_point, second_order.load_lane
def counting(problem, lanes, numbers):
    global made
    made += sum(phase not in (IDLE, CHECK) for phase in numbers.phase)
    evaluate(problem, lanes, numbers)
def counting_points(problem, point):
    global made
    made += 1
    evaluate_point(problem, point)
def counting_loads(*arguments):
    global made
    made += 1
    load_lane(*arguments)
run.evaluate = counting
second_order.evaluate_point, second_order.load_lane = counting_points, counting_loads
problem, frames, starts = random_problems('scara', 8)
frames[3, :, 9:] += 0.6
found = searches_in_lanes(%d, problem, frames, starts, restarts=20)
print(json.dumps([made, found['evaluations'].tolist(), found['abandoned'].tolist()]))
"""


@pytest.mark.parametrize('count', [1, 4])
def test_all_evaluations_are_counted(count):
    """In plain Python, where they can be counted from outside."""
    here = os.path.dirname(__file__)
    output = fresh_python.run(COUNTED % count, NUMBA_DISABLE_JIT='1', PYTHONPATH=python_path(here))
    made, evaluations, abandoned = json.loads(output)
    assert sum(evaluations) + sum(abandoned) == made
    assert any(abandoned) == (count > 1)


PLAIN = """
import json
from test_lanes_agree import in_so_many_lanes, random_problems
answers, codes, _ = in_so_many_lanes(4, *random_problems('scara', 6), restarts=20)
print(json.dumps([answers.tolist(), codes.tolist()]))
"""


@needs_lanes
def test_plain_python_gives_the_same_to_a_billionth():
    here = os.path.dirname(__file__)
    output = fresh_python.run(PLAIN, NUMBA_DISABLE_JIT='1', PYTHONPATH=python_path(here))
    answers, codes = json.loads(output)
    expected, counts, _ = in_so_many_lanes(LANES, *random_problems('scara', 6), restarts=20)
    np.testing.assert_allclose(answers, expected, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(np.array(codes)[:, [0, 3]], counts[:, [0, 3]])


ALONE = """
import sys
sys.modules['ik_core.kernels.numba_lanes'] = None  # as with a numba that lacks what it needs
from ik_core.maths.boxed_step import bounded_step
from ik_core.maths.lanes import HAS_LANES, LANES
from test_lanes_agree import steps
assert not HAS_LANES and LANES == 1
print(steps())
"""


def steps():
    """Return, with every bit, the results of a dozen steps inside limits and of their problems'
    kernels."""
    problem, frames, starts = random_problems('panda', 12, seed=4)
    lower, upper = problem.limits.sample_lower, problem.limits.sample_upper
    packed, found = problem.packed, []
    for frame, x in zip(frames, starts, strict=True):
        packed.set_targets(frame)
        cost = packed.update(x)
        columns = np.ascontiguousarray(packed.jacobian().T)
        (n, m), dx, held = columns.shape, np.empty(len(x)), np.empty(len(x))
        bounded_step(
            columns, packed.residual, columns @ packed.residual, 0.1 * cost, x,
            np.array([lower, upper]), dx, held, np.empty((n, m)), np.empty((n, n)), np.empty(n),
        )  # fmt: skip
        found += [cost, *packed.residual, *columns.ravel(), *dx]
        assert ((x + dx >= lower - 1e-12) & (x + dx <= upper + 1e-12)).all()
    return ' '.join(float(number).hex() for number in found)


@pytest.mark.thorough  # compiles kernels that else only a numba without lanes needs
@needs_lanes
def test_kernels_without_lanes_give_the_same_bits():
    """Compiled, with `one_lane`; steps alone, since a whole search compiles for half a minute."""
    place = python_path(os.path.dirname(__file__))
    assert fresh_python.run(ALONE, PYTHONPATH=place, IK_KERNELS='off') == steps()


def python_path(here):
    """Return the PYTHONPATH of a child process that imports this file, its helpers and the
    package."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    return os.pathsep.join([here, os.path.join(root, 'test'), root])


def test_there_are_as_many_lanes_as_the_kernels_say():
    assert LANES in (1, 4, 8)
    assert LANES > 1 or not (COMPILED and HAS_LANES)


def test_joints_that_stand_still_stand_where_each_solve_has_them():
    robot, rng = ik.load_robot('panda'), np.random.default_rng(5)
    tip, still = robot.default_tip(), 3
    goal = ik.PoseTask(tip)
    problem = ik.IkProblem(robot, [goal], frozen_joints=[robot.joint_names[still]])
    whole, alone = (ik.make_solver('levenberg_marquardt', closed_form=False) for _ in range(2))
    long = 0
    for _ in range(40):
        target, q0 = rng.uniform(robot.lower, robot.upper, (2, robot.n))
        q0[still] = target[still]
        goal.set_target(robot.forward_kinematics(target, tip))
        result, search = whole.solve(problem, q0), alone.begin(problem, q0)
        while not search.run(Budget(iterations=3)):
            pass
        np.testing.assert_array_equal(result.q, search.result().q)
        assert result.success
        np.testing.assert_allclose(
            robot.forward_kinematics(result.q, tip), goal.transform, rtol=0, atol=1e-4
        )
        long += result.iterations > 8
    assert long > 10  # those that went on in lanes
