# SPDX-License-Identifier: Apache-2.0
"""Compiled, as plain Python and without numba, computations give the same results."""

import json
import math

import numpy as np
import pytest
from support import closed_form_chains, motion_checks, robots, solver_cases
from support.fresh_python import needs_numba, run
from support.places import ROOT
from support.robots import python_path

import ik_core as ik
from ik_core.kernels import library
from ik_core.tracking.governor import Governor

EASY = 'panda', 'ur5e', 'scara out of reach'
HARD = ('behind a limit', 'two arms', 'Y', 'axis and position', 'mimic', 'frozen', 'pinned',
        'masked out of reach')  # fmt: skip


def solves(cases):
    """Answers of all solvers."""
    options = {'restarts': 2, 'max_iterations': 60, 'random_seed': 4}
    for solver in ik.SOLVERS:
        for name in cases:
            case = solver_cases.CASES[name]()
            result = ik.solve(case.problem, case.q0, solver=solver, **options)
            yield {
                'solver': solver,
                'case': name,
                'q': result.q,
                'cost': result.cost,
                'status': result.status.name,
                'restarts': result.restarts,
                'note': result.note,
            }


def batch():
    """Answers of a batch in two threads."""
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(76)
    tip = robots.tip_of(robot)
    targets = [robot.forward_kinematics(robots.random_q(robot, rng), tip) for _ in range(6)]
    problem, start = ik.IkProblem(robot, [ik.PoseTask(tip)]), robots.random_q(robot, rng)
    found = ik.solve_batch(problem, np.array(targets), start, threads=2)
    yield {'q': found.q, 'restarts': found.restarts.tolist(), 'success': found.success.tolist()}


def closed_forms():
    """All solutions of an arm of every fifth family."""
    for family, make in [*closed_form_chains.FAMILIES.items()][::5]:
        rng = np.random.default_rng(24)
        robot = closed_form_chains.chain(make(rng), rng)
        goal = ik.PoseTask('tool')
        form = ik.closed_form.form(ik.IkProblem(robot, [goal]))
        goal.set_target(robot.forward_kinematics(rng.uniform(robot.lower, robot.upper), 'tool'))
        yield {'family': family, 'q': form.solve()}


def governor():
    """States on the way to targets that jump, with limits that change: the same bits."""
    random = np.random.default_rng(6)
    np.seterr(all='ignore')
    for period in (0.001, 0.1):
        governor = Governor(motion_checks.random_limits(random, 5, period), period, np.zeros(5))
        for tick in range(150):
            if tick % 30 == 29:
                governor.set_limits(motion_checks.random_limits(random, 5, period))
            if tick % 10 == 0:
                target, speed = motion_checks.random_target(random, governor.q), None
                if tick % 20 == 0:
                    speed = motion_checks.random_velocity(random, 5, period)
            governor.brake() if tick % 37 == 0 else governor.follow(target, speed, tick % 3 == 0)
            yield [state.tolist() for state in (governor.q, governor.dq, governor.ddq)]
        yield governor.stop_point().tolist()


COMPUTATIONS = {
    'solves': lambda: solves(EASY),
    'hard solves': lambda: solves(HARD),
    'batch': batch,
    'closed forms': closed_forms,
    'governor': governor,
}
# Results of these names may differ by so much; all others are the same
CLOSE = {'q': {'abs_tol': 1e-9, 'rel_tol': 0.0}, 'cost': {'abs_tol': 1e-12, 'rel_tol': 1e-6}}


def results(name, prepare='', **environment):
    """The results of a computation in a fresh interpreter, and how kernels run there."""
    code = (
        f'{prepare}\nimport json\nimport numpy as np\nimport test_compiled_or_not as own\n'
        f'found = [own.library.BACKEND, *own.COMPUTATIONS[{name!r}]()]\n'
        'print(json.dumps(found, default=np.ndarray.tolist))\n'
    )
    path = python_path(ROOT, ROOT / 'test', ROOT / 'test' / 'core')
    backend, *found = json.loads(run(code, PYTHONPATH=path, **environment))
    return backend, found


def assert_close(one, other):
    for name, close in CLOSE.items():
        numbers, others = np.ravel(one.pop(name, [])), np.ravel(other.pop(name, []))
        pairs = zip(numbers, others, strict=True)
        assert all(math.isclose(a, b, **close) for a, b in pairs), (one, name)


@needs_numba
@pytest.mark.parametrize(
    'name',
    [
        pytest.param(name, marks=pytest.mark.thorough if name.startswith('hard') else ())
        for name in COMPUTATIONS
    ],
)
def test_results_are_the_same_compiled_as_plain_python_and_without_numba(name):
    (way, compiled), (python, plain) = results(name), results(name, NUMBA_DISABLE_JIT='1')
    assert (way, python) == (library.BACKEND, 'python')
    if name == 'solves':  # the same functions once more: a few cases show that all are there
        missing = results(name, 'import sys; sys.modules["numba"] = None', IK_KERNELS='off')
        assert missing == ('python', plain)
    for one, other in zip(compiled, plain, strict=True):
        if isinstance(one, dict):
            assert_close(one, other)
        assert one == other
    assert compiled


def test_without_numba_a_kernel_is_the_plain_function():
    code = (
        'import sys; sys.modules["numba"] = None\n'
        'from ik_core.kernels import jit\n'
        'f = lambda x: x\n'
        'print(jit.COMPILED, jit.kernel(f) is f)\n'
    )
    assert run(code, IK_KERNELS='off') == 'False True'
    assert run(code.split('\n', 1)[1], NUMBA_DISABLE_JIT='1') == 'False True'


@needs_numba
def test_a_long_compilation_is_reported_at_a_terminal():
    code = """
import io, sys, threading
from ik_core.kernels import numba_backend

class Terminal(io.StringIO):
    written = threading.Event()

    def isatty(self):
        return True

    def write(self, text):
        self.written.set()
        return super().write(text)

numba_backend.REPORTED_AFTER = 0.0
sys.stderr = Terminal()
with numba_backend.reported('run_new'):
    Terminal.written.wait(60.0)
said, sys.stderr = sys.stderr.getvalue(), io.StringIO()
with numba_backend.reported('run_new'):
    assert threading.active_count() == 1  # nothing waits to report
print(said)
"""
    assert run(code).startswith('ik: numba compiles run_new, once')
