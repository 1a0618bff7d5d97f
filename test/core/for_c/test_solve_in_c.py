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
MACHINES = {
    'x86-64-v4': ('cc', ()),
    'x86-64-v3': ('cc', ()),
    'x86-64-v2': ('cc', ('qemu-x86_64', '-cpu', 'Nehalem')),
    'aarch64': ('aarch64-linux-gnu-gcc', ('qemu-aarch64', '-L', '/usr/aarch64-linux-gnu')),
}
"""For each library the compiler, and what runs programs of that processor."""

needs_library = pytest.mark.skipif(library.WAY != 'library', reason='there is no library here')


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
    run(folder, text.partition('\n')[0], cpu := Path(library.WHY.split(',')[0]).stem[3:])
    other = bytearray((folder / 'panda.ik').read_bytes())
    other[0] ^= 1
    (tmp_path / 'other.ik').write_bytes(other)
    done = subprocess.run(
        [folder / f'solve-{cpu}', tmp_path / 'other.ik'], input='', capture_output=True, text=True
    )
    assert done.returncode == 1
    assert 'not a robot of this library' in done.stderr


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
