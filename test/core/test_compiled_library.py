# SPDX-License-Identifier: Apache-2.0
"""The compiled library: every kernel that Python calls is in it, and its refusals have words."""

import importlib
import inspect
import json
import os
import pickle
import pkgutil
import shutil
import subprocess
import types

import numpy as np
import pytest
from support.fresh_python import run
from support.places import ROOT

import ik_core
import ik_node
from ik_core.kernels import jit, library
from ik_core.kernels.entries import ENTRIES

needs_library = pytest.mark.skipif(library.BACKEND != 'library', reason='there is no library here')
KERNELS = ROOT / 'ik_core' / 'kernels'

PASSED_ON = {
    'optim.dogbox:start', 'optim.dogbox:step', 'optim.loop:call_start', 'optim.loop:call_step',
}  # fmt: skip
"""Kernels that Python gives to `method_loop` and does not call."""

REPORT = """
from ik_core.kernels import library
import sys
import ik_core as ik
robot = ik.robot.linkage(3, 'two_angle')
frame = robot.forward_kinematics(robot.middle_configuration, 'tip')
print(library.BACKEND, 'numba' in sys.modules, library.BACKEND_REASON)
"""


# --- the table -----------------------------------------------------------------------------------


def codes(code):
    yield code
    for one in code.co_consts:
        if isinstance(one, types.CodeType):
            yield from codes(one)


def functions_of(module):
    """All functions and methods of a module that are no kernels."""
    for value in vars(module).values():
        if isinstance(value, types.FunctionType) and value.__module__ == module.__name__:
            yield value
        elif isinstance(value, type) and value.__module__ == module.__name__:
            for one in vars(value).values():
                one = one.fget if isinstance(one, property) else getattr(one, '__func__', one)
                if isinstance(one, types.FunctionType):
                    yield one


def kernel_of(value):
    found = library.KERNELS.get(value) if isinstance(value, types.BuiltinFunctionType) else value
    return found if isinstance(found, jit.Kernel) else None


def kernels_named_by(function):
    """The kernels that a function reads: as globals, or in modules that are."""
    for code in codes(inspect.unwrap(function).__code__):
        for name in code.co_names:
            value = function.__globals__.get(name)
            values = [value]
            if isinstance(value, types.ModuleType) and value.__name__.startswith('ik_core.'):
                values = [vars(value).get(member) for member in code.co_names]
            yield from filter(None, map(kernel_of, values))


def modules_of(*packages):
    for package in packages:
        for found in pkgutil.walk_packages(package.__path__, f'{package.__name__}.'):
            if '__main__' not in found.name:
                try:
                    yield importlib.import_module(found.name)
                except ImportError:  # ROS, or a plotting library
                    continue


@pytest.mark.skipif(not jit.COMPILED, reason='without numba kernels are plain functions')
def test_every_kernel_that_python_names_is_in_the_table():
    missing, seen = {}, set()
    templates = {'_run', '_step', 'step', 'descend', 'back_track', '_solve_batch'}
    for module in modules_of(ik_core, ik_node):
        for function in functions_of(module):
            if function.__name__ in templates and function.__module__.startswith('ik_core.'):
                continue  # a template of kernels
            for kernel in kernels_named_by(function):
                path = f'{kernel.__module__[8:]}:{kernel.__qualname__}'
                seen.add(path)
                if path not in ENTRIES and path not in PASSED_ON:
                    missing[path] = f'{function.__module__}.{function.__qualname__}'
    assert not missing
    assert {'solvers.damped_search.run:solve', 'tracking.governor.governor:advance'} <= seen


def test_every_entry_names_a_kernel():
    assert len({entry.name for entry in ENTRIES.values()}) == len(ENTRIES)
    for path, entry in ENTRIES.items():
        source = jit.source_of(entry.kernel())
        assert f'{source.__module__}:{source.__qualname__}' == f'ik_core.{path}'


@needs_library
def test_every_entry_of_this_processor_is_in_the_library():
    for entry in ENTRIES.values():
        kernel = entry.kernel()
        is_builtin = isinstance(kernel, types.BuiltinFunctionType)
        there = is_builtin or library.builtin_of(kernel) is not None
        assert there or entry.lanes not in (0, library.lanes()), entry.path


# --- calls ---------------------------------------------------------------------------------------


@needs_library
def test_wrong_arguments_of_a_builtin_raise():
    from ik_core.maths.rotations import is_rigid

    frame = np.eye(4)
    assert is_rigid(frame, 1.0, 1e-6) is True
    for wrong in (
        (frame, 1.0),
        (frame, 1.0, 1e-6, 1),
        (frame[0], 1.0, 1e-6),
        (frame[:, ::2], 1.0, 1e-6),
        (frame.T.copy(order='F'), 1.0, 1e-6),
        (frame.astype(np.float32), 1.0, 1e-6),
        (frame.astype(int), 1.0, 1e-6),
        ('frame', 1.0, 1e-6),
        (frame, 'one', 1e-6),
    ):
        with pytest.raises(TypeError):
            is_rigid(*wrong)


@needs_library
@pytest.mark.parametrize('point', [[0.0, 0.0, 0.0], 0.0, (0.0, 0.0), (0.0, 0.0, 0.0, 0.0), 'abc'])
def test_what_is_not_a_tuple_of_that_length_is_refused_by_a_builtin(point):
    from ik_core.robot.kinematics import point_jacobian

    tree, frames = np.zeros((1, 8), np.int64), np.zeros((1, 12))
    with pytest.raises(TypeError, match='point_jacobian'):
        point_jacobian(tree, frames, frames, 0, point, np.zeros((6, 1)))


@needs_library
def test_an_array_of_a_subclass_goes_through_its_buffer():
    from ik_core.maths.rotations import is_rigid

    class Own(np.ndarray):
        pass

    assert is_rigid(np.eye(4).view(Own), 1.0, 1e-6) is True
    with pytest.raises(TypeError):
        is_rigid(np.zeros((4, 8)).view(Own)[:, ::2], 1.0, 1e-6)


@needs_library
def test_an_array_that_was_unpickled_is_read_as_any_other():
    from ik_core.maths.rotations import is_rigid

    frame = pickle.loads(pickle.dumps(np.eye(4)))
    assert is_rigid(frame, 1.0, 1e-6) is True


# --- which way -----------------------------------------------------------------------------------


@pytest.fixture
def installed(tmp_path):
    """A copy of the core as pip installs it, with the library in use alone."""
    others = {path.name for path in KERNELS.glob('ik-*.so')} - {
        library.BACKEND_REASON.partition(',')[0]
    }
    shutil.copytree(ROOT / 'ik_core', tmp_path / 'ik_core', ignore=lambda *_: others)
    return tmp_path


def half_zeros(path):
    """Zero the second half of a library's code, as a disk that was full or lost power may."""
    code = bytearray(path.read_bytes())
    code[len(code) // 3 : len(code) // 2] = bytes(len(code) // 2 - len(code) // 3)
    path.write_bytes(code)


@needs_library
def test_a_stripped_library_is_used(installed):
    if shutil.which('strip') is None:
        pytest.skip('strip is not installed')
    subprocess.run(['strip', the_library(installed)], check=True)
    assert run(REPORT, installed).startswith('library ')


def the_library(place):
    (found,) = (place / 'ik_core' / 'kernels').glob('ik-*.so')
    return found


@needs_library
def test_a_process_with_the_library_imports_no_numba(installed):
    way, has_numba, *_ = run(REPORT, installed).split()
    assert (way, has_numba) == ('library', 'False')


@needs_library
@pytest.mark.parametrize(
    ('spoil', 'words'),
    [
        (lambda path: path.write_bytes(path.read_bytes()[:100_000]), 'is truncated'),
        (lambda path: path.write_bytes(b''), 'is not a library'),
        (lambda path: path.write_bytes(b'\x7fELF' + bytes(1000)), 'is not a library'),
        (lambda path: path.write_text('#!/bin/sh\n'), 'is not a library'),
        (lambda path: path.unlink(), 'no library was compiled'),
        (lambda path: half_zeros(path), 'is damaged'),
        (lambda path: (path.unlink(), os.mkfifo(path)), 'no library was compiled'),
    ],
    ids=['truncated', 'empty', 'zeros', 'script', 'missing', 'half', 'fifo'],
)
def test_without_a_sound_library_the_next_way_is_taken_and_says_why(installed, spoil, words):
    spoil(the_library(installed))
    said = run(f'import sys; sys.modules["numba"] = None\n{REPORT}', installed)
    assert said.startswith('python ')
    assert words in said


@needs_library
def test_the_library_of_another_program_is_refused(installed, tmp_path):
    import _ctypes

    shutil.copy(_ctypes.__file__, the_library(installed))
    said = run(f'import sys; sys.modules["numba"] = None\n{REPORT}', installed)
    assert said.startswith('python ')
    assert 'is not a library of ik_core' in said


@needs_library
@pytest.mark.parametrize('is_checkout', [False, True])
@pytest.mark.parametrize('age', [-30 * 86400, 0])
def test_a_library_of_other_sources_is_never_used(installed, is_checkout, age):
    edited = installed / 'ik_core' / 'optim' / 'layouts.py'
    source = edited.read_text()
    field = '    further=(INT,)'
    assert field in source
    edited.write_text(source.replace(field, f'    another=(INT,),\n{field}'))
    when = the_library(installed).stat().st_mtime + age  # an archive keeps the times of files
    os.utime(edited, (when, when))
    if is_checkout:
        (installed / 'setup.py').touch()
    code = f'import sys; sys.modules["numba"] = None\n{REPORT}'
    said = run(code, installed)
    assert said.startswith('python ')
    assert 'compiled of other sources' in said
    edited.write_text(source)
    assert run(code, installed).startswith('library ')


@needs_library
def test_an_installation_may_be_read_only(installed):
    for path in (installed / 'ik_core').rglob('*'):
        path.chmod(0o555 if path.is_dir() else 0o444)
    try:
        assert run(REPORT, installed, HOME='/nonexistent').startswith('library ')
    finally:
        for path in (installed / 'ik_core').rglob('*'):
            path.chmod(0o755 if path.is_dir() else 0o644)


# --- the same bits -------------------------------------------------------------------------------

DIGESTS = """
import hashlib, json, sys
import numpy as np
import ik_core as ik
from ik_core.kernels import library
from ik_core.tracking.governor.motion_limits import MotionLimits
from support import robots

def digest(*values):
    return hashlib.sha256(b''.join(np.asarray(v, float).tobytes() for v in values)).hexdigest()

found = {'way': library.BACKEND}
count = int(sys.argv[1]) if len(sys.argv) > 1 else COUNT
for name in ('panda', 'ur5e', 'scara'):
    robot, rng = robots.shipped(name), np.random.default_rng(8)
    tip = robots.tip_of(robot)
    goal = ik.PoseTask(tip)
    problem = ik.IkProblem(robot, [goal])
    targets = np.array(
        [robot.forward_kinematics(robots.random_q(robot, rng), tip) for _ in range(count)]
    )
    targets[::7, :3, 3] *= 2.0  # some are out of reach
    starts = np.array([robots.random_q(robot, rng) for _ in range(count)])

    def solve(solver, targets):
        for target, q0 in zip(targets, starts):
            goal.set_target(target)
            result = solver.solve(problem, q0)
            yield [*result.q, result.cost, result.iterations, result.evaluations, result.restarts]

    for solver in ik.SOLVERS:
        some = targets if solver == 'levenberg_marquardt' else targets[: count // 20]
        found[name, solver] = digest(*solve(ik.make_solver(solver), some))
    batch = ik.solve_batch(problem, targets, starts[0])
    found[name, 'batch'] = digest(batch.q, batch.restarts)
    goal.set_target(targets[1])
    if name != 'panda':
        found[name, 'all'] = digest(ik.solve_all(problem).q)
    limits = MotionLimits.of(robot, velocity=1.5, acceleration=4.0)
    q0 = robot.middle_configuration
    tracker = ik.Tracker(problem, 100.0, limits=limits, q0=q0, clock=lambda: 0.0)
    tracker.set_goal(0, targets[1], 0.0)
    ticks = [tracker.tick(0.01 * tick) for tick in range(200)]
    found[name, 'ticks'] = digest(*(tick.q for tick in ticks), ticks[-1].q)
print(json.dumps({str(key): value for key, value in found.items()}))
"""


@pytest.mark.thorough
@needs_library
def test_answers_have_the_same_bits_from_the_library_and_by_numba():
    pytest.importorskip('numba')
    code = DIGESTS.replace('COUNT', '400')
    compiled, by_numba = (json.loads(run(code, **way)) for way in ({}, {'IK_KERNELS': 'off'}))
    assert (compiled.pop('way'), by_numba.pop('way')) == ('library', 'numba')
    assert compiled == by_numba
