# SPDX-License-Identifier: Apache-2.0
"""The compiled library: it has all entries, and its refusals have words."""

import json
import os
import pickle
import shutil
import subprocess
import types

import numpy as np
import pytest
from support.fresh_python import run
from support.places import ROOT

from ik_core.kernels import jit, library
from ik_core.kernels.signatures import entries
from ik_core.kernels.signatures import letters as signature_letters
from ik_core.optim.loop import method_loop
from ik_core.solvers.bfgs import Bfgs

needs_library = pytest.mark.skipif(library.BACKEND != 'library', reason='there is no library here')
KERNELS = ROOT / 'ik_core' / 'kernels'

REPORT = """
from ik_core.kernels import library
import sys
import ik_core as ik
robot = ik.robot.linkage(3, 'two_angle')
frame = robot.forward_kinematics(robot.middle_configuration, 'tip')
print(library.BACKEND, 'numba' in sys.modules, library.BACKEND_REASON)
"""


# --- entries -------------------------------------------------------------------------------------


@needs_library
def test_library_has_all_entries_of_its_lanes_with_their_signatures():
    table = library._LIBRARY.rows
    wanted = {e.symbol: e for e in entries() if e.lanes in (0, library.lanes())}
    assert wanted.keys() <= table.keys()
    assert {'ik_solve', 'ik_run_bfgs_free', 'ik_solve_batch_4'} <= {e.symbol for e in entries()}
    for symbol, entry in wanted.items():
        kernel = library.KERNELS.get(entry.kernel, entry.kernel)
        assert isinstance(library.builtin_of(kernel), types.BuiltinFunctionType), symbol
        assert table[symbol][:2] == signature_letters(kernel)


@needs_library
def test_kernel_of_a_user_never_runs_code_of_the_library():
    @jit.kernel(entry='ik_is_within')
    def is_within(a: float, b: float, c: float, d: float) -> bool:
        return True

    def step(search):
        return False

    assert isinstance(is_within, jit.Kernel)
    assert library.builtin_of(is_within) is None
    own = method_loop('bfgs', Bfgs.start, jit.kernel(step))
    assert library.builtin_of(own) is None
    assert library.builtin_of(method_loop('bfgs', Bfgs.start, Bfgs.step)) is not None


@needs_library
def test_subclass_of_a_solver_runs_in_the_library():
    class Mine(Bfgs):
        pass

    (loop, *_) = (make() for make in Mine.loops().values())
    assert library.builtin_of(loop) is not None


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
    field = '    attempts_while_colliding=(INT,)'
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
