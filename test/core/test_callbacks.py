# SPDX-License-Identifier: Apache-2.0
"""Python that kernels call back: what it raises comes out, compiled or not."""

import pytest
from support.fresh_python import needs_numba, run

CALLS = """
import gc
from ik_core.kernels import jit

@jit.kernel
def ask(address, times):
    failed = 0
    for _ in range(times):
        failed += jit.call_back(address)
    return failed

class Own(BaseException):
    pass

calls, raised = [], [None]
def function():
    calls.append(len(calls))
    if raised[0] is not None:
        raise raised[0]

callback = jit.Callback(function)
callback.check()
assert ask(callback.address, 3) == 0 and calls == [0, 1, 2]
callback.check()
for error in (ValueError('no'), KeyboardInterrupt(), SystemExit(3), Own()):
    raised[0] = error
    assert ask(callback.address, 2) == 2
    assert callback.error is error
    try:
        callback.check()
    except BaseException as found:
        assert found is error
    else:
        raise AssertionError('nothing came out')
    callback.check()  # once
    raised[0] = None
    assert ask(callback.address, 1) == 0
other = jit.Callback(lambda: calls.append('other'))
assert other.address != callback.address
assert ask(other.address, 1) == 0 and calls[-1] == 'other'
del callback, function, error  # whose traceback knows the callback
gc.collect()
assert ask(other.address, 1) == 0
assert len(jit._UNCOMPILED) == (0 if jit.COMPILED else 1)
print('compiled' if jit.COMPILED else 'plain')
"""


INTERRUPTED = """
import ctypes
from ik_core.kernels import jit

@jit.kernel
def ask(first, address, times):
    failed = jit.call_back(first)
    for _ in range(times):
        failed += jit.call_back(address)
    return failed

interrupt = ctypes.cast(ctypes.pythonapi.PyErr_SetInterrupt, ctypes.c_void_p).value
nothing, calls = jit.Callback(lambda: None), []
callback = jit.Callback(lambda: calls.append(1))
ask(nothing.address, callback.address, 0)  # compile
for again in range(3):
    try:
        ask(interrupt, callback.address, 3)
        callback.check()
    except KeyboardInterrupt:
        print('interrupted after', len(calls), end='; ')
"""


@needs_numba
def test_a_ctrl_c_while_a_kernel_runs_is_not_lost(tmp_path):
    """It is set by C, as by a signal, and raised where Python goes on: on the way into a call."""
    script = tmp_path / 'interrupted.py'
    script.write_text(INTERRUPTED)
    said = run(f'import runpy; runpy.run_path({str(script)!r})')
    assert said == 'interrupted after 2; interrupted after 4; interrupted after 6;'


@pytest.mark.parametrize('compiled', [pytest.param(True, marks=needs_numba), False])
def test_what_a_callback_raises_is_kept_until_it_is_asked_for(tmp_path, compiled):
    """Errors of all kinds, once each; and callbacks don't get in each other's way."""
    script = tmp_path / 'calls.py'
    script.write_text(CALLS)
    environment = {} if compiled else {'NUMBA_DISABLE_JIT': '1'}
    code = f'import runpy; runpy.run_path({str(script)!r})'
    assert run(code, **environment) == ('compiled' if compiled else 'plain')


FAILING = """
import numpy as np
import ik_core as ik
from support import robots

class Failing(ik.tasks.base.Task):
    left = 4

    def residual(self, robot, q):
        self.left -= 1
        if self.left < 0:
            raise self.error
        return 0.1 * (q - 1.0)

    def jacobian(self, robot, q):
        return 0.1 * np.eye(robot.n)

robot = robots.shipped('scara')
for solver in ik.SOLVERS:
    if solver == 'cyclic_coordinate_descent':
        continue
    for error in (ValueError('no more'), KeyboardInterrupt()):
        task = Failing()
        task.error = error
        problem = ik.IkProblem(robot, [ik.PositionTask('tool', [0.3, 0.2, 0.1]), task])
        try:
            ik.make_solver(solver).solve(problem)
        except BaseException as found:
            assert found is error, solver
        else:
            raise AssertionError(solver)
print('all')
"""


def test_without_numba_what_a_task_raises_comes_out_of_every_solver(tmp_path):
    script = tmp_path / 'failing.py'
    script.write_text(FAILING)
    code = f'import runpy; runpy.run_path({str(script)!r})'
    assert run(code, NUMBA_DISABLE_JIT='1') == 'all'
