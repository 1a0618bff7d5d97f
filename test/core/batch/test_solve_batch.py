# SPDX-License-Identifier: Apache-2.0
"""Many problems at once are many single ones: the same results, whatever the threads do."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from support import robots
from support.places import ROOT

import ik_core as ik
from ik_core import IkProblem, IkStatus, InvalidConfiguration, InvalidGoal, InvalidOption
from ik_core.batch.many_targets import MOST


def pose_problem(name, **options):
    robot = robots.shipped(name)
    goals = [
        ik.PoseTask(link)
        for link in (robot.tips() if name == 'dual_arm' else [robots.tip_of(robot)])
    ]
    return IkProblem(robot, goals, **options)


def random_targets(problem, rng, count, away=0.0):
    robot = problem.robot
    targets = np.empty((count, len(problem.goals), 4, 4))
    for i in range(count):
        q = robots.random_q(robot, rng)
        for g, task in enumerate(problem.goals):
            targets[i, g] = robot.forward_kinematics(q, task.link)
            targets[i, g, :3, 3] += away * rng.normal(size=3)
    return targets


def random_starts(problem, rng, count):
    return np.array([robots.random_q(problem.robot, rng) for _ in range(count)])


def assert_the_same(result, single):
    np.testing.assert_array_equal(result.q, single.q)
    np.testing.assert_array_equal(result.position_errors, single.position_errors)
    np.testing.assert_array_equal(result.orientation_errors, single.orientation_errors)
    for name in ('status', 'success', 'cost', 'iterations', 'evaluations', 'restarts'):
        assert getattr(result, name) == getattr(single, name), name


def solve_singly(problem, targets, starts, **options):
    solver = ik.make_solver(**options)
    for transforms, q0 in zip(targets, starts, strict=True):
        for task, transform in zip(problem.goals, transforms, strict=True):
            task.set_target(transform)
        yield solver.solve(problem, q0)


@pytest.mark.parametrize('name', [*robots.ARMS, 'dual_arm', 'scara'])
@pytest.mark.parametrize('away', [0.0, 1.0])
def test_a_batch_is_many_single_solves_to_the_last_bit(name, away):
    problem, rng = pose_problem(name), np.random.default_rng(60)
    count = 20 if away else 200
    targets, starts = random_targets(problem, rng, count, away), random_starts(problem, rng, count)
    options = {'random_seed': 5, 'restarts': 10 if away else 100}
    batch = ik.solve_batch(problem, targets, starts, threads=2, **options)
    assert len(batch) == count
    assert all(away > 0.0 or result.success for result in batch)
    for result, single in zip(
        batch, solve_singly(problem, targets, starts, **options), strict=True
    ):
        assert_the_same(result, single)
    counts = batch.evaluations, batch.abandoned_evaluations
    np.testing.assert_array_equal(batch.total_evaluations, sum(counts))
    assert [result.total_evaluations for result in batch] == batch.total_evaluations.tolist()
    assert (counts[1] >= 0).all()
    assert not counts[1][~batch.success].any()


def test_the_statuses_are_those_of_single_solves_with_few_iterations_and_no_restarts():
    problem, rng = pose_problem('ur5e'), np.random.default_rng(61)
    targets, starts = random_targets(problem, rng, 150, 0.3), random_starts(problem, rng, 150)
    seen = set()
    for iterations in (5, 200):
        options = {'restarts': 0, 'max_iterations': iterations}
        batch = ik.solve_batch(problem, targets, starts, **options)
        singles = list(solve_singly(problem, targets, starts, **options))
        for result, single in zip(batch, singles, strict=True):
            assert_the_same(result, single)
        seen |= set(batch.status)
        np.testing.assert_array_equal(batch.success, batch.status == IkStatus.REACHED)
    assert {IkStatus.REACHED, IkStatus.CLOSEST, IkStatus.ITERATION_LIMIT} <= seen


def test_neither_threads_nor_order_nor_neighbours_change_a_result():
    problem, rng = pose_problem('panda'), np.random.default_rng(62)
    targets, starts = random_targets(problem, rng, 300), random_starts(problem, rng, 300)
    one = ik.solve_batch(problem, targets, starts, threads=1)
    four = ik.solve_batch(problem, targets, starts, threads=4)
    np.testing.assert_array_equal(one.q, four.q)
    some = rng.permutation(300)[:70]
    part = ik.solve_batch(problem, targets[some], starts[some], threads=3)
    np.testing.assert_array_equal(part.q, one.q[some])
    np.testing.assert_array_equal(part.restarts, one.restarts[some])


def test_the_random_seed_chooses_the_restarts():
    problem, rng = pose_problem('panda'), np.random.default_rng(63)
    targets, starts = random_targets(problem, rng, 100), random_starts(problem, rng, 100)
    random = {'closed_form': False}  # else the first restart may begin at a solution
    a, b = (ik.solve_batch(problem, targets, starts, seed, **random) for seed in (1, 2))
    restarted = (a.restarts > 0) & (b.restarts > 0)
    assert restarted.any()
    assert (a.q != b.q).any(axis=1)[restarted].all()
    direct = a.restarts == 0
    np.testing.assert_array_equal(a.q[direct], b.q[direct])


def test_what_it_reports_is_what_an_independent_pose_says():
    problem, rng = pose_problem('iiwa14'), np.random.default_rng(64)
    targets = random_targets(problem, rng, 100)
    batch = ik.solve_batch(problem, targets, threads=2)
    for i in range(100):
        errors = robots.pose_errors(
            problem.robot, batch.q[i], problem.goals[0].link, targets[i, 0]
        )
        assert batch.position_errors[i, 0] == pytest.approx(errors[0], abs=1e-12)
        assert batch.orientation_errors[i, 0] == pytest.approx(errors[1], abs=3e-8)
        assert robots.inside(problem.robot, batch.q[i])


def test_frozen_joints_stand_where_each_start_has_them():
    robot, rng = robots.shipped('pr2_like'), np.random.default_rng(65)
    tip = robots.tip_of(robot)
    frozen = [robot.joint_names[i] for i in robot.chain(tip)[:2]]
    problem = IkProblem(robot, [ik.PoseTask(tip)], frozen_joints=frozen)
    starts = random_starts(problem, rng, 100)
    targets = np.array([robot.forward_kinematics(q, tip) for q in starts])
    away = starts.copy()
    away[:, problem.variables] = random_starts(problem, rng, 100)[:, problem.variables]
    batch = ik.solve_batch(problem, targets, away, threads=2)
    assert batch.success.all()
    still = np.setdiff1d(np.arange(robot.n), problem.variables)
    np.testing.assert_array_equal(batch.q[:, still], starts[:, still])
    for q, target in zip(batch.q, targets, strict=True):
        assert robots.pose_errors(robot, q, tip, target)[0] <= 1e-5
    for result, single in zip(batch, solve_singly(problem, targets[:, None], away), strict=True):
        assert_the_same(result, single)


@pytest.mark.parametrize('q0', ['none', 'one', 'each'])
def test_a_start_for_all_or_for_each_or_none(q0):
    problem, rng = pose_problem('ur5e'), np.random.default_rng(66)
    targets = random_targets(problem, rng, 30)
    rows = random_starts(problem, rng, 30)
    given = {'none': None, 'one': rows[0], 'each': rows}[q0]
    each = {'none': [None] * 30, 'one': [rows[0]] * 30, 'each': rows}[q0]
    batch = ik.solve_batch(problem, targets[:, 0], given)  # (N, 4, 4) for the one goal
    for result, single in zip(batch, solve_singly(problem, targets, each), strict=True):
        assert_the_same(result, single)


def test_the_problem_and_the_inputs_are_not_changed():
    problem, rng = pose_problem('panda'), np.random.default_rng(67)
    own = random_targets(problem, rng, 1)[0, 0]
    problem.goals[0].set_target(own)
    targets, starts = random_targets(problem, rng, 80), random_starts(problem, rng, 80)
    before = targets.copy(), starts.copy(), problem.packed.geometry.copy()
    batch = ik.solve_batch(problem, targets, starts)
    np.testing.assert_array_equal(problem.goals[0].transform, own)
    for now, then in zip((targets, starts, problem.packed.geometry), before, strict=True):
        np.testing.assert_array_equal(now, then)
    batch.q[:] = 0.0
    np.testing.assert_array_equal(starts, before[1])


def test_a_goal_needs_no_target_of_its_own():
    problem = pose_problem('ur5e')
    targets = random_targets(problem, np.random.default_rng(68), 3)
    assert ik.solve_batch(problem, targets).success.all()
    assert ik.solve_batch(problem, targets, solver='bfgs').success.any()
    with pytest.raises(InvalidGoal, match='no orientation and no position'):
        ik.solve(problem)


def test_a_batch_of_none_is_empty():
    problem = pose_problem('ur5e')
    for solver in ('levenberg_marquardt', 'bfgs'):
        batch = ik.solve_batch(problem, np.empty((0, 1, 4, 4)), solver=solver)
        assert len(batch) == 0
        assert batch.q.shape == (0, 6)
        assert batch.position_errors.shape == (0, 1)
        assert list(batch) == []


@pytest.mark.parametrize('none', [[], (), np.empty(0)])
@pytest.mark.parametrize('goals', [1, 2])
def test_an_empty_list_of_targets_is_a_batch_of_none(none, goals):
    """As what a filter leaves: with a list of starts that is empty, too, or one start for all."""
    robot = robots.shipped('ur5e')
    links = ['tool0', 'forearm_link'][:goals]
    problem = ik.IkProblem(robot, [ik.PoseTask(link) for link in links])
    for q0 in (none, None, np.zeros(6)):
        batch = ik.solve_batch(problem, none, q0)
        assert batch.q.shape == (0, 6)
        assert batch.position_errors.shape == (0, goals)
    with pytest.raises(ik.InvalidConfiguration, match=r'q0 has shape \(0,\)'):
        ik.solve_batch(problem, np.tile(np.eye(4), (1, goals, 1, 1)), none)
    if goals == 1:
        many = ik.closed_form.form(problem).solve_many(none, none)
        assert (len(many), many.q.shape[0], many.q.shape[2]) == (0, 0, 6)


def test_what_is_empty_in_another_shape_is_refused():
    for targets in ([[]], np.empty((0, 3)), np.empty((0, 2, 4, 4))):
        with pytest.raises(ik.InvalidGoal, match=r'targets have shape .*is needed'):
            ik.solve_batch(pose_problem('ur5e'), targets)


def test_indices_count_from_either_end_and_end():
    problem = pose_problem('ur5e')
    batch = ik.solve_batch(problem, random_targets(problem, np.random.default_rng(69), 5))
    np.testing.assert_array_equal(batch[-1].q, batch.q[4])
    with pytest.raises(IndexError):
        batch[5]


@pytest.mark.parametrize('case', ['secondary', 'other task', 'other solver'])
def test_what_the_kernel_does_not_know_is_solved_too(case):
    robot, rng = robots.shipped('panda'), np.random.default_rng(70)
    tip, rest = robots.tip_of(robot), ik.PostureTask(weights=1e-3)
    goal, options = ik.PoseTask(tip), {'solver': 'levenberg_marquardt', 'random_seed': 3}
    if case == 'secondary':
        problem = IkProblem(robot, [goal], secondary=[rest])
    elif case == 'other task':
        problem = IkProblem(robot, [goal, rest])
    else:
        problem = IkProblem(robot, [goal])
        options['solver'] = 'damped_least_squares'
    targets, starts = random_targets(problem, rng, 3), random_starts(problem, rng, 3)
    calls = []
    batch = ik.solve_batch(
        problem, targets, starts, progress=lambda *a: calls.append(a), **options
    )
    assert calls == [(1, 3), (2, 3), (3, 3)]
    solver = ik.make_solver(options['solver'], random_seed=3)
    for i in range(3):
        goal.set_target(targets[i, 0])
        assert_the_same(batch[i], solver.solve(problem, starts[i]))


# --- bad input, progress, interruption -----------------------------------------------------------


def spoilt(targets, how):
    bad = targets.copy()
    if how == 'nan':
        bad[7, 0, 1, 3] = np.nan
    elif how == 'inf':
        bad[7, 0, 0, 0] = np.inf
    elif how == 'far':
        bad[7, 0, 1, 3] = 1e12
    elif how == 'sheared':
        bad[7, 0, 0, 1] += 1e-3
    elif how == 'mirrored':
        bad[7, 0, :3, 0] *= -1.0
    elif how == 'last row':
        bad[7, 0, 3, 0] = 0.5
    return bad


@pytest.mark.parametrize('how', ['nan', 'inf', 'far', 'sheared', 'mirrored', 'last row'])
def test_a_bad_target_is_named_before_anything_runs(how):
    problem = pose_problem('ur5e')
    targets = random_targets(problem, np.random.default_rng(71), 10)
    calls = []
    with pytest.raises(InvalidGoal, match=r'targets\[7, 0\]'):
        ik.solve_batch(problem, spoilt(targets, how), progress=lambda *a: calls.append(a))
    assert calls == []


@pytest.mark.parametrize('shape', [(4, 4), (3, 2, 4, 4), (3, 1, 4), (3, 1, 3, 4)])
def test_targets_of_another_shape_are_refused(shape):
    with pytest.raises(InvalidGoal, match='shape'):
        ik.solve_batch(pose_problem('ur5e'), np.zeros(shape))
    with pytest.raises(InvalidGoal, match='numbers'):
        ik.solve_batch(pose_problem('ur5e'), [[np.eye(4)], [np.eye(3)]])


def test_a_bad_start_is_named():
    problem = pose_problem('ur5e')
    targets = random_targets(problem, np.random.default_rng(72), 4)
    starts = np.zeros((4, 6))
    starts[2, 4] = np.nan
    with pytest.raises(InvalidConfiguration, match=r'q0\[2\].*wrist_2'):
        ik.solve_batch(problem, targets, starts)
    for wrong in (np.zeros(5), np.zeros((3, 6)), np.zeros((1, 4, 6)), 'home'):
        with pytest.raises(InvalidConfiguration, match='q0'):
            ik.solve_batch(problem, targets, wrong)


@pytest.mark.parametrize('options', [{'threads': 0}, {'threads': 1.5}, {'record_history': True},
                                     {'solver': 'none'}, {'no_such': 1}])  # fmt: skip
def test_bad_options_are_refused(options):
    problem = pose_problem('ur5e')
    with pytest.raises(InvalidOption):
        ik.solve_batch(problem, random_targets(problem, np.random.default_rng(73), 1), **options)


@pytest.mark.parametrize('threads', [1, 3])
def test_progress_rises_to_the_whole_in_the_calling_thread(threads):
    problem, rng = pose_problem('ur5e'), np.random.default_rng(74)
    count = 5 * MOST + 3
    targets = np.repeat(random_targets(problem, rng, 1), count, axis=0)
    calls = []
    ik.solve_batch(
        problem, targets, threads=threads,
        progress=lambda *a: calls.append((*a, threading.current_thread())),
    )  # fmt: skip
    done = [call[0] for call in calls]
    assert done == sorted(done)
    assert done[-1] == count
    assert {call[1:] for call in calls} == {(count, threading.current_thread())}


def test_an_error_in_the_callers_progress_ends_the_batch():
    problem, rng = pose_problem('ur5e'), np.random.default_rng(75)
    targets = np.repeat(random_targets(problem, rng, 1), 10 * MOST, axis=0)

    def fail(done, total):
        raise RuntimeError('stop')

    before = threading.active_count()
    with pytest.raises(RuntimeError, match='stop'):
        ik.solve_batch(problem, targets, threads=2, progress=fail)
    assert threading.active_count() == before


ENDLESS = """
import numpy as np, ik_core as ik
from support import robots
robot = robots.shipped('ur5e')
problem = ik.IkProblem(robot, [ik.PoseTask(robots.tip_of(robot))])
far = np.eye(4)
far[0, 3] = 5.0
def progress(done, total):
    print('running', flush=True)
try:
    ik.solve_batch(problem, np.tile(far, (10**6, 1, 1)), threads=2, progress=progress)
except KeyboardInterrupt:
    print('interrupted')
"""


def test_ctrl_c_ends_a_batch_that_would_take_minutes():
    path = robots.python_path(ROOT, ROOT / 'test')
    child = subprocess.Popen(
        [sys.executable, '-c', ENDLESS],
        env={**os.environ, 'PYTHONPATH': path},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert child.stdout.readline() == 'running\n'
        child.send_signal(signal.SIGINT)
        output, _ = child.communicate(timeout=300)
    finally:
        child.kill()
    assert output.splitlines()[-1] == 'interrupted'
    assert child.returncode == 0
