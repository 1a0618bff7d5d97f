"""The same answers in eight lanes, four and one, in a search alone, and in plain Python."""

from __future__ import annotations

import json
import os

import numpy as np
import pytest
from support import fresh_python

import ik_core as ik
from ik_core._jit import COMPILED, inner, with_kernels
from ik_core.batch.solve_batch import ManySolves
from ik_core.maths.boxed_step import bounded_step
from ik_core.maths.lanes import HAS_LANES, LANES, in_lanes
from ik_core.optim.memory import FOREVER
from ik_core.optim.search import Budget
from ik_core.solvers.damped_search import schedule
from ik_core.solvers.damped_search.workspace import (
    DampedWorkspace,
    crew_arguments,
    room_aside,
)

pytestmark = pytest.mark.long
needs_lanes = pytest.mark.skipif(not (COMPILED and HAS_LANES), reason='there are no lanes')


def random_problems(name, count, seed=0, goal=ik.PoseTask):
    """A problem, goals (count, 1, 12) that are reached, and starts (count, variables)."""
    robot, rng = ik.load_urdf(name), np.random.default_rng(seed)
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


@inner
def not_reached(
    tree, geometry, table, tools, targets, bounds, counters, memory, iterations, attempts
):
    """In the place of `run`, by far the largest: what no attempt solves is left as it is."""
    return 0


def in_other_lanes(count):
    """The kernel with so many lanes, which are not those that this machine has.

    For problems that are all solved by attempts in lanes.
    """
    source = getattr(schedule.solve_many, 'py_func', schedule.solve_many)
    name = f'solve_in_{count}_lanes'
    return with_kernels(source, name, entry=True, lanes_of=in_lanes[count], run=not_reached)


def in_so_many_lanes(count, problem, frames, starts, desks=None, **options):
    """Answers (N, variables) and codes (N, 4) of a kernel with so many lanes."""
    solver = ik.make_solver('levenberg_marquardt', **options)
    search = DampedWorkspace(problem, solver.options)
    crew = crew_arguments(search, desks or count, count)
    kernel = schedule.solve_many if count == LANES else in_other_lanes(count)
    total, n = starts.shape
    answers, costs = np.empty((total, n)), np.empty(total)
    errors, codes = np.empty((total, 1, 2)), np.zeros((total, 4), np.int64)
    nothing = np.empty(0, np.int64)
    kernel(
        *crew, *room_aside(total, n), nothing, np.empty((total, 0)), frames, starts, starts,
        np.zeros(total, np.int64), 0, total, answers, costs, errors, codes, True, FOREVER,
    )  # fmt: skip
    return answers, codes, errors


@pytest.mark.thorough  # compiles the largest kernel for two more numbers of lanes
@needs_lanes
@pytest.mark.parametrize('name', ['panda', 'scara'])
def test_the_number_of_lanes_changes_no_bit(name):
    given = random_problems(name, 150)
    first = in_so_many_lanes(8, *given, restarts=20)
    assert (first[1][:, 0] == schedule.REACHED).all()
    assert (first[1][:, 3] > 0).any()  # some took restarts
    for count in (4, 1):
        for one, other in zip(first, in_so_many_lanes(count, *given, restarts=20), strict=True):
            np.testing.assert_array_equal(one, other)


@needs_lanes
def test_desks_that_are_fewer_than_lanes_share_them():
    """Restarts side by side, as of a single solve, for a whole batch."""
    given = random_problems('panda', 60, seed=1)
    for one, other in zip(
        in_so_many_lanes(LANES, *given), in_so_many_lanes(LANES, *given, desks=2), strict=True
    ):
        np.testing.assert_array_equal(one, other)


@needs_lanes
def test_the_schedule_leaves_nothing_on_the_board():
    problem, frames, starts = random_problems('panda', 20, seed=2)
    solver = ik.make_solver('levenberg_marquardt', closed_form=False)
    many = ManySolves(problem, solver, threads=1)
    transforms = np.tile(np.eye(4), (20, 1, 1, 1))
    transforms[:, 0, :3, :3] = frames[:, 0, :9].reshape(-1, 3, 3)
    transforms[:, 0, :3, 3] = frames[:, 0, 9:]
    first = many.run(transforms, starts)
    board = many._workspaces[0][9]
    assert (board[schedule.PROBLEM] == -1).all()
    assert (board[schedule.STATE] == schedule.IDLE).all()
    again = many.run(transforms, starts)
    np.testing.assert_array_equal(first.q, again.q)


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
sys.modules['ik_core._lanes'] = None  # as with a numba that lacks what it needs
from ik_core.maths.boxed_step import bounded_step
from ik_core.maths.lanes import HAS_LANES, LANES
from test_lanes_agree import steps
assert not HAS_LANES and LANES == 1
print(steps())
"""


def steps():
    """What a dozen steps inside limits, and their problems' kernels, give: every bit of it."""
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
    assert fresh_python.run(ALONE, PYTHONPATH=python_path(os.path.dirname(__file__))) == steps()


def python_path(here):
    """Where the child finds this file, its helpers and the package."""
    root = os.path.dirname(os.path.dirname(os.path.dirname(here)))
    return os.pathsep.join([here, os.path.join(root, 'test'), root])


def test_there_are_as_many_lanes_as_the_kernels_say():
    assert LANES in (1, 4, 8)
    assert LANES > 1 or not (COMPILED and HAS_LANES)


def test_joints_that_stand_still_stand_where_each_solve_has_them():
    robot, rng = ik.load_urdf('panda'), np.random.default_rng(5)
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
