# SPDX-License-Identifier: Apache-2.0
"""Ctrl-C ends every solver, whatever its limits are: kernels make some steps a call."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest
from support.places import ROOT
from support.robots import python_path, random_q, shipped, tip_of

import ik_core as ik
from ik_core import SOLVERS
from ik_core.optim import search
from ik_core.solvers.damped_search import workspace

DEADLINE = 300.0  # [s] For all endless solves of all solvers, on any machine

CHILD = """
import os, signal, sys, threading
import numpy as np
import ik_core as ik
from support import robots

signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
ENDLESS = {'max_iterations': 10**9, 'restarts': 10**6}
robot = robots.shipped('panda')
goal = ik.PoseTask(robots.tip_of(robot))
problem = ik.IkProblem(robot, [goal])
goal.set_target(np.diag([1.0, -1.0, -1.0, 1.0]) + np.outer([3.0, 0.0, 0.3, 0.0], [0, 0, 0, 1]))
targets = np.tile(goal.transform, (3000, 1, 1))

def solve(**options):
    ik.solve(problem, solver=solver, **options)

def solve_batch(**options):
    ik.solve_batch(problem, targets, solver=solver, threads=2, **options)

for solver in ik.SOLVERS:
    known = {**vars(ik.make_solver(solver).options)}
    cases = {
        'restarts': (solve, ENDLESS),
        'an attempt': (solve, {**ENDLESS, 'restarts': 0}),
        'patience': (solve, {**ENDLESS, 'patience': 10**6} if 'patience' in known else ENDLESS),
        'a batch': (solve_batch, ENDLESS),
    }
    for name, (call, options) in cases.items():
        call_of_few = {**options, 'max_iterations': 3, 'restarts': min(1, options['restarts'])}
        solve(**call_of_few)  # compiles
        # from another thread, so that it comes while a kernel runs
        timer = threading.Timer(0.1, os.kill, (os.getpid(), signal.SIGINT))
        ended = 'interrupted'
        try:
            timer.start()
            call(**options)
            ended = 'done'  # closest points are found in the end
            timer.cancel()
            timer.join()
        except KeyboardInterrupt:
            pass
        print(solver, name, ended, sep=': ', flush=True)
"""


@pytest.fixture(scope='module')
def endings():
    """Return how the endless solves of each solver ended, by their names; in one process for
    all."""
    child = subprocess.Popen(
        [sys.executable, '-c', CHILD],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test')},
        stdout=subprocess.PIPE,
        text=True,
    )
    late = threading.Timer(DEADLINE, child.kill)
    late.start()
    output = child.stdout.read()
    late.cancel()
    assert child.wait() in (0, -signal.SIGKILL)
    ended = {solver: {} for solver in SOLVERS}
    for line in output.splitlines():
        solver, name, how = line.split(': ')
        ended[solver][name] = how
    return ended


@pytest.mark.parametrize('solver', SOLVERS)
def test_ctrl_c_ends_a_solve_without_limits(solver, endings):
    ended = endings[solver]
    assert list(ended) == ['restarts', 'an attempt', 'patience', 'a batch']
    assert ended['restarts'] == ended['a batch'] == 'interrupted'


def problems(name='panda', count=12):
    """A problem, and targets (count, 4, 4), every third out of reach."""
    robot, rng = shipped(name), np.random.default_rng(5)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip_of(robot))])
    targets = [robot.forward_kinematics(random_q(robot, rng), tip_of(robot)) for _ in range(count)]
    for target in targets[::3]:
        target[:3, 3] *= 2.0
    return problem, np.array(targets)


def answers(solver, **options):
    """Return all fields of a solver's answers, of single solves and of a batch."""
    problem, targets = problems()
    made = ik.make_solver(solver, **options)
    found = []
    for target in targets:
        problem.goals[0].set_target(target)
        found.append(made.solve(problem))
    batch = ik.solve_batch(problem, targets, solver=solver, threads=1, **options)
    return [
        (*each.q, each.status, each.cost, each.iterations, each.evaluations, each.restarts)
        for each in (*found, *(batch[i] for i in range(len(batch))))
    ]


@pytest.mark.parametrize('solver', SOLVERS)
def test_how_many_steps_a_kernel_makes_in_a_call_changes_no_bit(solver, monkeypatch):
    options = {'restarts': 3, 'max_iterations': 20}
    expected = answers(solver, **options)
    for most in (1, 7):
        monkeypatch.setattr(search, 'MAX_KERNEL_STEPS', most)
        assert answers(solver, **options) == expected


def test_a_batch_without_restarts_is_the_same_in_steps(monkeypatch):
    expected = answers('levenberg_marquardt', restarts=0)
    monkeypatch.setattr(search, 'MAX_KERNEL_STEPS', 1)
    assert answers('levenberg_marquardt', restarts=0) == expected


@pytest.mark.parametrize('calls', [1, 2, 5, 30])
def test_an_interrupted_solve_leaves_nothing_to_the_next_one(calls, monkeypatch):
    problem, targets = problems()
    problem.goals[0].set_target(targets[0])
    fresh = ik.solve(problem, restarts=4)
    monkeypatch.setattr(search, 'MAX_KERNEL_STEPS', 1)
    used, solve, made = ik.make_solver('levenberg_marquardt', restarts=4), workspace.solve, []

    def interrupted(*arguments):
        made.append(arguments)
        if len(made) > calls:
            raise KeyboardInterrupt
        return solve(*arguments)

    monkeypatch.setattr(workspace, 'solve', interrupted)
    with pytest.raises(KeyboardInterrupt):
        used.solve(problem)
    monkeypatch.setattr(workspace, 'solve', solve)
    again = used.solve(problem)
    np.testing.assert_array_equal(again.q, fresh.q)
    assert (again.iterations, again.restarts) == (fresh.iterations, fresh.restarts)


def test_larger_robots_make_fewer_steps_in_a_call():
    assert search.steps_at_once(7, 6) == search.MAX_KERNEL_STEPS
    assert search.steps_at_once(60, 30) < 64
    assert search.steps_at_once(5000, 600) == 1
