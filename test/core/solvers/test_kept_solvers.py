# SPDX-License-Identifier: Apache-2.0
"""`ik.solve(problem)` keeps a solver with the problem."""

import copy
import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import ik_core as ik
from ik_core import solvers
from ik_core.solvers import levenberg_marquardt

PANDA = ik.load_robot('panda')


def new_problem():
    goal = ik.PoseTask('panda_hand_tcp', position=[0.4, 0.2, 0.5], quaternion=[1, 0, 0, 0])
    return ik.IkProblem(PANDA, [goal])


@pytest.fixture
def made(monkeypatch):
    """The threads in which workspaces were made, one for each."""
    threads = []
    original = levenberg_marquardt.LevenbergMarquardt.workspace

    def workspace(self, problem):
        threads.append(threading.current_thread())
        return original(self, problem)

    monkeypatch.setattr(levenberg_marquardt.LevenbergMarquardt, 'workspace', workspace)
    return threads


@pytest.fixture
def collector_off():
    """Disable the collector: objects that are not freed by their last reference stay."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def test_solves_of_one_problem_share_a_workspace(made):
    problem = new_problem()
    for _ in range(5):
        ik.solve(problem)
    assert len(made) == 1


def test_every_thread_keeps_its_own_solver(made):
    problem = new_problem()
    ik.solve(problem)
    for _ in range(2):  # one after the other: a problem is for one thread at a time
        thread = threading.Thread(target=lambda: [ik.solve(problem) for _ in range(3)])
        thread.start()
        thread.join()
    assert len(made) == len(set(made)) >= 2


def test_options_make_a_new_solver_for_each_solve(made):
    problem = new_problem()
    for _ in range(3):
        ik.solve(problem, restarts=3)
    assert len(made) == 3
    assert not problem.kept_solvers


def test_kept_solvers_do_not_keep_the_problem_alive():
    problem = new_problem()
    ik.solve(problem)
    gone = weakref.ref(problem)
    del problem
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize(
    'copied',
    [copy.copy, copy.deepcopy, ik.IkProblem.clone, lambda p: pickle.loads(pickle.dumps(p))],
)
def test_copies_of_a_problem_keep_solvers_of_their_own(copied):
    problem = new_problem()
    expected = ik.solve(problem)
    other = copied(problem)
    assert not other.kept_solvers
    np.testing.assert_array_equal(ik.solve(other).q, expected.q)


@pytest.mark.parametrize('name', ['levenberg_marquardt', 'closed_form', 'bfgs'])
def test_answers_are_those_of_new_solvers_after_goals_and_tolerances_change(name):
    problem, rng = new_problem(), np.random.default_rng(2)
    for tolerance in (1e-5, 1e-3, 1e-7):
        problem.position_tolerance = tolerance
        q = rng.uniform(PANDA.lower, PANDA.upper)
        problem.goals[0].set_target(PANDA.forward_kinematics(q, 'panda_hand_tcp'))
        expected = ik.make_solver(name).solve(problem)
        np.testing.assert_array_equal(ik.solve(problem, solver=name).q, expected.q)


def test_batches_with_kept_buffers_are_those_of_new_problems():
    problem, rng = new_problem(), np.random.default_rng(3)
    for count, tolerance, seed in ((5, 1e-5, 0), (40, 1e-3, 0), (3, 1e-7, 0), (5, 1e-7, 1)):
        q = rng.uniform(PANDA.lower, PANDA.upper, (count, PANDA.n))
        targets = PANDA.forward_kinematics(q, 'panda_hand_tcp')
        fresh = new_problem()
        problem.position_tolerance = fresh.position_tolerance = tolerance
        expected = ik.solve_batch(fresh, targets, random_seed=seed)
        found = ik.solve_batch(problem, targets, random_seed=seed)
        np.testing.assert_array_equal(found.q, expected.q)
        np.testing.assert_array_equal(found.evaluations, expected.evaluations)


def test_a_batch_in_the_progress_of_another_one_has_buffers_of_its_own():
    problem, rng = new_problem(), np.random.default_rng(4)
    q = rng.uniform(PANDA.lower, PANDA.upper, (600, PANDA.n))
    targets = PANDA.forward_kinematics(q, 'panda_hand_tcp')
    expected = ik.solve_batch(new_problem(), targets)
    ik.solve_batch(problem, targets[:3])  # from here on there are buffers

    def progress(solved, count):
        ik.solve_batch(problem, targets[::-1][:50])

    found = ik.solve_batch(problem, targets, progress=progress)
    np.testing.assert_array_equal(found.q, expected.q)


def test_a_problem_of_a_pose_is_gone_with_its_solve(collector_off, monkeypatch):
    problems, made = [], solvers._pose_problem

    def noted(*given):
        problem = made(*given)
        problems.append(weakref.ref(problem))
        return problem

    monkeypatch.setattr(solvers, '_pose_problem', noted)
    pose = PANDA.forward_kinematics(PANDA.middle_configuration, 'panda_hand_tcp')
    result = ik.solve(PANDA, pose)
    assert result.success
    assert [problem() for problem in problems] == [None]


def test_what_a_thread_kept_with_a_problem_is_gone_with_the_thread(collector_off):
    problem, kept = new_problem(), []
    targets = [problem.goals[0].transform] * 3

    def work():
        ik.solve(problem)
        ik.solve_batch(problem, targets)
        kept.extend(
            weakref.ref(one[1] if isinstance(one, tuple) else one)
            for one in problem.kept_solvers.values()
        )

    ik.solve(problem)
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert [one() for one in kept] == [None, None]
    assert list(problem.kept_solvers) == ['levenberg_marquardt']
