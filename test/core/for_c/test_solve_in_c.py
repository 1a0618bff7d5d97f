# SPDX-License-Identifier: Apache-2.0
"""examples/solve.c, compiled and run without Python: the bits of Python's answers."""

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from support.places import ROOT

import ik_core as ik
from ik_core.exceptions import InvalidOption
from ik_core.for_c.header import header
from ik_core.for_c.robot_file import export
from ik_core.kernels import library
from ik_core.tracking.governor import Governor

KERNELS = Path(library.__file__).parent
PERIOD = 0.001
COUNT = 1000
# For each library the compiler, and what runs programs of that processor
MACHINES = {
    'x86-64-v4': ('cc', ()),
    'x86-64-v3': ('cc', ()),
    'x86-64-v2': ('cc', ('qemu-x86_64', '-cpu', 'Nehalem')),
    'aarch64': ('aarch64-linux-gnu-gcc', ('qemu-aarch64', '-L', '/usr/aarch64-linux-gnu')),
}

needs_library = pytest.mark.skipif(library.BACKEND != 'library', reason='there is no library here')


@pytest.fixture(scope='module')
def built(tmp_path_factory):
    """A folder with the header, an exported Panda, poses, and Python's answers to them."""
    folder = tmp_path_factory.mktemp('c')
    (folder / 'ik_core.h').write_text(header())
    robot = ik.load_urdf('panda')
    goal = ik.PoseTask('panda_hand_tcp')
    goal.set_target(robot.forward_kinematics(robot.middle_configuration, goal.link))
    problem, limits = ik.IkProblem(robot, [goal]), ik.MotionLimits.of(robot, acceleration=5.0)
    export(folder / 'panda.ik', problem, limits, PERIOD)
    rng = np.random.default_rng(28)
    poses, lines = [], []
    for q in rng.uniform(robot.lower, robot.upper, (COUNT, robot.n)):
        goal.set_target(robot.forward_kinematics(q, goal.link))
        result = ik.solve(problem)
        poses.append(problem.packed.targets[0].tolist())
        lines.append([result.status.name == 'REACHED', *result.q.tolist()])
    text = '\n'.join(' '.join(map(repr, pose)) for pose in poses)
    governor = Governor(limits, PERIOD, problem.default_configuration)
    ticks, way = 0, []
    while (governor.q != lines[-1][1:]).any():
        governor.follow(lines[-1][1:], synchronized=True)
        if ticks % 100 == 0:
            way.append(governor.q.tolist())
        ticks += 1
    return folder, text, lines, [*way, [ticks, *governor.q.tolist()]]


def run(folder, text, cpu):
    """Return the lines that the program writes, as numbers, with the library of one processor."""
    compiler, machine = MACHINES[cpu]
    shared = KERNELS / f'ik-{cpu}.so'
    for needed in (compiler, *machine[:1]):
        if shutil.which(needed) is None:
            pytest.skip(f'{needed} is not installed')
    if not shared.exists():
        pytest.skip(f'{shared.name} is not built (IK_KERNELS=all)')
    program = folder / f'solve-{cpu}'
    flags = ['-std=c11', '-O2', '-Wall', '-Wextra', '-Wno-missing-field-initializers', '-Werror']
    link = [shared, f'-Wl,-rpath,{KERNELS}']
    source = ROOT / 'examples' / 'solve.c'
    subprocess.run([compiler, *flags, f'-I{folder}', source, '-o', program, *link], check=True)
    done = subprocess.run(
        [*machine, program, folder / 'panda.ik'], input=text, capture_output=True, text=True
    )
    if 'not its processor' in done.stderr and not machine:
        pytest.skip(f'this processor has no {cpu}')
    assert done.returncode == 0, done.stderr
    *answers, end = (line.split() for line in done.stdout.splitlines())
    assert end[1] == 'ticks:'
    solved = [[word == 'reached', *map(float, q)] for word, *q in answers if word != 'at']
    way = [[*map(float, q)] for word, *q in answers if word == 'at']
    return solved, [*way, [int(end[0]), *map(float, end[2:])]]


@needs_library
@pytest.mark.parametrize('cpu', MACHINES)
def test_program_in_c_has_the_bits_of_python(built, cpu):
    folder, text, expected, motion = built
    answers, moved = run(folder, text, cpu)
    assert len(answers) == COUNT
    different = [i for i in range(COUNT) if answers[i] != expected[i]]
    assert not different
    assert moved == motion
    assert moved[-1][0] > 100
    assert sum(reached for reached, *_ in answers) > 0.9 * COUNT


@needs_library
def test_program_in_c_refuses_a_robot_of_other_records(built, tmp_path):
    folder, text, *_ = built
    run(
        folder, text.partition('\n')[0], cpu := Path(library.BACKEND_REASON.split(',')[0]).stem[3:]
    )
    other = bytearray((folder / 'panda.ik').read_bytes())
    other[0] ^= 1
    (tmp_path / 'other.ik').write_bytes(other)
    done = subprocess.run(
        [folder / f'solve-{cpu}', tmp_path / 'other.ik'], input='', capture_output=True, text=True
    )
    assert done.returncode == 1
    assert 'not a robot of this library' in done.stderr


@needs_library
def test_program_in_c_refuses_damaged_robots_and_targets_that_are_not_finite(built, tmp_path):
    folder, text, *_ = built
    run(
        folder, text.partition('\n')[0], cpu := Path(library.BACKEND_REASON.split(',')[0]).stem[3:]
    )
    whole, rng = (folder / 'panda.ik').read_bytes(), np.random.default_rng(3)

    def program(content, poses=''):
        (tmp_path / 'other.ik').write_bytes(content)
        command = folder / f'solve-{cpu}', tmp_path / 'other.ik'
        done = subprocess.run(command, input=poses, capture_output=True, text=True)
        return done.returncode, done.stderr

    damaged = [whole[:size] for size in (0, 7, 31, 32, 40, 1000, len(whole) - 1)]
    damaged += [whole + b'0' * 8, whole[:8] + bytes([255] * 24) + whole[32:]]
    for place in rng.integers(8, len(whole), 60):
        other = bytearray(whole)
        other[place] ^= 1 << int(rng.integers(8))
        damaged.append(bytes(other))
    for content in damaged:
        code, said = program(content)
        assert code == 1
        assert 'damaged' in said
    for word in ('nan', 'inf', '-inf'):
        for column in (0, 5, 11):
            pose = ['1', '0', '0', '0', '-1', '0', '0', '0', '-1', '0.4', '0.2', '0.5']
            pose[column] = word
            code, said = program(whole, ' '.join(pose))
            assert (code, said) == (1, 'a pose is not finite\n')


@pytest.mark.parametrize('compiler', [('cc', '-xc', '-std=c11'), ('g++', '-xc++', '-std=c++17')])
def test_header_compiles(tmp_path, compiler):
    if shutil.which(compiler[0]) is None:
        pytest.skip(f'{compiler[0]} is not installed')
    path = tmp_path / 'ik_core.h'
    path.write_text(header())
    subprocess.run([*compiler, '-Wall', '-Wextra', '-Werror', '-fsyntax-only', path], check=True)


def test_export_refuses_what_only_python_evaluates(tmp_path):
    robot = ik.load_urdf('panda')
    tasks = [ik.PoseTask('panda_hand_tcp'), ik.PostureTask(robot.middle_configuration)]
    problem, limits = ik.IkProblem(robot, tasks), ik.MotionLimits.of(robot, acceleration=5.0)
    with pytest.raises(InvalidOption, match='only goals are exported'):
        export(tmp_path / 'robot.ik', problem, limits, PERIOD)


@pytest.mark.parametrize('name', ['avoid', 'valid'])
def test_export_refuses_what_answers_have_to_avoid(tmp_path, name):
    robot = ik.load_urdf('panda')
    given = {'avoid': ik.Collisions(robot)} if name == 'avoid' else {'valid': lambda q: True}
    problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand_tcp')], **given)
    with pytest.raises(InvalidOption, match=f'not {name}='):
        export(tmp_path / 'robot.ik', problem, ik.MotionLimits.of(robot, acceleration=5.0), PERIOD)
    assert not (tmp_path / 'robot.ik').exists()
