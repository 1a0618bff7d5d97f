# SPDX-License-Identifier: Apache-2.0
"""The `ik` command: what it prints, its exit codes, and its one-line refusals."""

import json
import math
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from support.places import ROOT, URDF
from support.robots import python_path

import ik_core as ik
from ik_core.cli import info, solve
from ik_core.cli.main import main
from ik_core.robot.robot_sources import load_robot
from ik_core.solvers import SOLVERS

POSE = ['--xyz', '0.4', '0.1', '0.5', '--rpy', '3.1', '0', '0.2']


def output(capsys, *argv):
    """The exit code and stdout of a run that leaves stderr empty."""
    code = main(list(argv))
    captured = capsys.readouterr()
    assert captured.err == ''
    return code, captured.out


def rows(text):
    """The lines with one blank between words."""
    return [' '.join(line.split()) for line in text.splitlines()]


def as_json(capsys, *argv):
    code, text = output(capsys, *argv, '--json')

    def refuse(constant):
        raise AssertionError(f'{constant} is not JSON')

    return code, json.loads(text, parse_constant=refuse)


# --- ik info -----------------------------------------------------------------------------------


@pytest.mark.parametrize('path', sorted(URDF.glob('*.urdf')), ids=lambda path: path.stem)
def test_info_as_json_is_the_robot(path, capsys):
    code, data = as_json(capsys, 'info', path.stem)
    robot = load_robot(path)
    assert code == 0
    assert data['name'] == robot.name
    assert data['base_link'] == robot.base_link
    assert [joint['name'] for joint in data['joints']] == list(robot.joint_names)
    for i, joint in enumerate(data['joints']):
        assert joint['type'] == robot.joint_types[i]
        assert joint['unit'] == ('m' if robot.joint_types[i] == 'prismatic' else 'rad')
        for key, bound in (('lower', robot.lower[i]), ('upper', robot.upper[i])):
            assert joint[key] == (bound if math.isfinite(bound) else None)
        assert joint['velocity'] == robot.velocity[i]
    assert [tip['link'] for tip in data['tips']] == robot.tips()
    for tip in data['tips']:
        assert tip['joints'] == [robot.joint_names[i] for i in robot.chain(tip['link'])]


def test_the_version_is_told(capsys):
    with pytest.raises(SystemExit) as ended:
        main(['--version'])
    assert ended.value.code == 0
    assert capsys.readouterr().out == f'ik_node {ik.__version__}\n'


def test_info_as_text(capsys):
    code, text = output(capsys, 'info', 'panda')
    lines = rows(text)
    assert code == 0
    assert text.startswith('panda: 13 links, 8 joints, base panda_link0\n')
    assert '3 panda_joint4 revolute -3.0718 rad -0.0698 rad 2.1750 rad/s' in lines
    assert '7 panda_finger_joint1 prismatic 0.0000 m 0.0400 m 0.0500 m/s' in lines
    assert 'panda_finger_joint2 1 * panda_finger_joint1 + 0' in lines
    axes = 'panda_joint1, panda_joint2, panda_joint3'
    family = f'three axes that meet in a point ({axes}), panda_joint7 as redundancy parameter'
    assert f'panda_hand_tcp 0-6 {family}' in lines
    assert not any(line != line.rstrip() for line in text.splitlines())


def test_info_of_tips_that_are_asked_for(capsys):
    """Any links: what moves them, and their closed forms, in that order."""
    _, data = as_json(capsys, 'info', 'panda', '--tip', 'panda_link4', '--tip', 'panda_hand')
    robot = load_robot(URDF / 'panda.urdf')
    joints = [[robot.joint_names[i] for i in range(count)] for count in (4, 7)]
    assert [tip['link'] for tip in data['tips']] == ['panda_link4', 'panda_hand']
    assert [tip['joints'] for tip in data['tips']] == joints
    _, text = output(capsys, 'info', 'panda', '--tip', 'panda_hand')
    assert any(line.startswith('panda_hand 0-6 three axes') for line in rows(text))
    assert not any(line.startswith('panda_hand_tcp ') for line in rows(text))
    assert main(['info', 'panda', '--tip', 'hand']) == 2
    assert "has no link 'hand'" in capsys.readouterr().err


def test_info_says_that_there_is_no_limit_and_warns(capsys, tmp_path):
    file = tmp_path / 'r.urdf'
    file.write_text(
        '<robot name="r"><link name="a"/><link name="b"/><joint name="j" type="continuous">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    _, text = output(capsys, 'info', str(file))
    assert '0 j continuous - - -' in rows(text)
    assert text.endswith('\n\nwarning: no velocity limit: j\n')
    _, data = as_json(capsys, 'info', str(file))
    assert data['joints'][0]['velocity'] is None
    assert data['warnings'] == ['no velocity limit: j']


@pytest.mark.parametrize(
    ('numbers', 'text'),
    [([], ''), ([4], '4'), ([0, 1, 2], '0-2'), ([0, 2, 3, 9], '0, 2-3, 9')],
)
def test_ranges(numbers, text):
    assert info._ranges(numbers) == text


# --- ik solve ----------------------------------------------------------------------------------


def pose_errors(robot, q, link, xyz, rpy):
    """Position [m] and orientation [rad] error, computed without ik_core's own."""
    pose = robot.forward_kinematics(q, link)
    (cr, cp, cy), (sr, sp, sy) = np.cos(rpy), np.sin(rpy)
    yaw = np.array([[cy, -sy, 0], [sy, cy, 0], [0, 0, 1]])
    pitch = np.array([[cp, 0, sp], [0, 1, 0], [-sp, 0, cp]])
    roll = np.array([[1, 0, 0], [0, cr, -sr], [0, sr, cr]])
    difference = pose[:3, :3].T @ yaw @ pitch @ roll
    sine = np.linalg.norm(difference - difference.T) / (2 * math.sqrt(2))
    return np.linalg.norm(pose[:3, 3] - xyz), math.atan2(sine, (np.trace(difference) - 1) / 2)


@pytest.mark.parametrize('solver', sorted(SOLVERS))
def test_solve_reaches_a_pose(solver, capsys):
    argv = ['solve', 'panda', '--tip', 'panda_hand_tcp', *POSE, '--solver', solver]
    code, data = as_json(capsys, *argv, '-o', 'restarts=20')
    robot = load_robot(URDF / 'panda.urdf')
    position, orientation = pose_errors(
        robot, data['q'], 'panda_hand_tcp', [0.4, 0.1, 0.5], [3.1, 0, 0.2]
    )
    assert (code, data['success'], data['status']) == (0, True, 'REACHED')
    assert data['solver'] == solver
    assert position < 1e-5
    assert orientation < 1e-4
    (goal,) = data['goals']
    assert goal['link'] == 'panda_hand_tcp'
    assert goal['position_error'] == pytest.approx(position, abs=1e-12)
    assert goal['orientation_error'] == pytest.approx(orientation, abs=1e-7)
    assert data['joints'] == robot.joint_values(data['q'])
    assert data['solve_time'] > 0


def test_quat_is_another_way_to_say_rpy(capsys):
    half = 0.25
    quaternion = ['--quat', '0', '0', str(math.sin(half)), str(math.cos(half))]
    pose = ['--xyz', '0.3', '0.2', '0.4']
    _, a = as_json(capsys, 'solve', 'ur5e', *pose, *quaternion)
    _, b = as_json(capsys, 'solve', 'ur5e', *pose, '--rpy', '0', '0', str(2 * half))
    assert a['success']
    np.testing.assert_allclose(a['q'], b['q'], atol=1e-6)


def test_without_an_orientation_it_is_a_position_goal(capsys):
    _, data = as_json(capsys, 'solve', 'scara', '--xyz', '0.2', '0.2', '0.1')
    tip = load_robot(URDF / 'scara.urdf').forward_kinematics(data['q'], 'tool')
    assert data['success']
    np.testing.assert_allclose(tip[:3, 3], [0.2, 0.2, 0.1], atol=1e-5)
    _, text = output(capsys, 'solve', 'scara', '--xyz', '0.2', '0.2', '0.1')
    assert any(line.startswith('tool ') and line.endswith(' -') for line in text.splitlines())


def test_without_a_position_it_is_an_orientation_goal(capsys):
    _, data = as_json(capsys, 'solve', 'ur5e', '--rpy', '0.1', '0.2', '0.3')
    robot = load_robot(URDF / 'ur5e.urdf')
    assert data['success']
    assert pose_errors(robot, data['q'], 'tool0', np.zeros(3), [0.1, 0.2, 0.3])[1] < 1e-4


def test_two_goals_at_once(capsys):
    left, right = ('--tip', 'left_palm', '--xyz', '0.4', '0.3', '1'), ('0.35', '-0.2', '1.1')
    argv = ['solve', 'dual_arm', *left, '--tip', 'right_palm', '--xyz', *right]
    code, data = as_json(capsys, *argv)
    robot = load_robot(URDF / 'dual_arm.urdf')
    assert code == 0
    for link, position in (('left_palm', [0.4, 0.3, 1]), ('right_palm', [0.35, -0.2, 1.1])):
        pose = robot.forward_kinematics(data['q'], link)
        np.testing.assert_allclose(pose[:3, 3], position, atol=1e-5)
    assert [goal['link'] for goal in data['goals']] == ['left_palm', 'right_palm']


def test_the_tip_may_follow_its_goal(capsys):
    argv = ['solve', 'dual_arm', '--xyz', '0.4', '0.3', '1', '--tip', 'left_palm']
    _, data = as_json(capsys, *argv)
    assert [goal['link'] for goal in data['goals']] == ['left_palm']


def test_out_of_reach_is_exit_code_1(capsys):
    code, data = as_json(capsys, 'solve', 'ur5e', '--xyz', '3', '-1e0', '-2.5e-1')
    assert (code, data['success']) == (1, False)
    robot = load_robot(URDF / 'ur5e.urdf')
    distance = np.linalg.norm(
        robot.forward_kinematics(data['q'], 'tool0')[:3, 3] - [3.0, -1.0, -0.25]
    )
    assert data['goals'][0]['position_error'] == pytest.approx(distance, abs=1e-9)


def test_solve_as_text(capsys):
    code, text = output(capsys, 'solve', 'panda', *POSE)
    lines = text.splitlines()
    assert code == 0
    joint4 = next(line.split() for line in lines if line.startswith('panda_joint4'))
    radians, degrees = float(joint4[1]), float(joint4[3])
    assert degrees == pytest.approx(math.degrees(radians), abs=0.01)
    assert joint4[2::2][:2] == ['rad', 'deg']
    assert joint4[5:] == ['-3.0718', 'rad', '-0.0698', 'rad']
    finger = next(line for line in lines if line.startswith('panda_finger_joint1'))
    assert finger.endswith('not moved')
    tip = next(line.split() for line in lines if line.startswith('panda_hand_tcp'))
    assert tip[2] in ('um', 'nm')
    assert float(tip[1]) < {'um': 10.0, 'nm': 1000.0}[tip[2]]
    assert tip[4] == 'deg'
    assert lines[-2] == 'all goals are reached within their tolerances'
    assert 'levenberg_marquardt' in lines[-1]


def test_errors_are_shown_in_the_unit_that_suits_them(capsys):
    argv = ['solve', 'scara', '--xyz', '0.5', '0.1', '0.1', '--rpy', '0.3', '2', '0']
    _, data = as_json(capsys, *argv)
    _, text = output(capsys, *argv)
    (goal,) = data['goals']
    tip = next(line.split() for line in text.splitlines() if line.startswith('tool '))
    assert float(tip[1]) == pytest.approx(1e3 * goal['position_error'], rel=0.01)
    assert tip[2::2] == ['mm', 'deg']
    assert float(tip[3]) == pytest.approx(math.degrees(goal['orientation_error']), rel=0.01)


def test_a_joint_at_its_limit_is_marked(capsys):
    _, text = output(capsys, 'solve', 'scara', '--xyz', '0.2', '0.2', '-1')
    assert any(
        line.startswith('joint_3 ') and line.endswith('at its limit') for line in text.splitlines()
    )


def test_the_solve_starts_at_q0(capsys):
    q0 = [0.1, -0.7, 0.2, -2.0, 0.3, 1.5, 0.4, 0.01]
    pose = load_robot(URDF / 'panda.urdf').forward_kinematics(q0, 'panda_hand_tcp')
    argv = ['solve', 'panda', '--xyz', *map(str, pose[:3, 3]), '--q0', *map(str, q0)]
    _, data = as_json(capsys, *argv)
    assert data['iterations'] == 0
    np.testing.assert_allclose(data['q'], q0, atol=1e-12)


def test_options_reach_the_solver(capsys):
    argv = ['solve', 'ur5e', '--xyz', '3', '0', '0', '--option', 'restarts=0']
    _, data = as_json(capsys, *argv, '-o', 'max_iterations=3')
    assert data['restarts'] == 0
    assert data['iterations'] <= 3


@pytest.mark.parametrize(
    ('text', 'value'), [('5', 5.0), ('-1e-3', -1e-3), ('true', True), ('usual', 'usual')]
)
def test_option_values(text, value):
    assert solve._option(f'name={text}') == ('name', value)
    assert type(solve._option(f'name={text}')[1]) is type(value)


# --- nonsense ----------------------------------------------------------------------------------

XYZ = ('--xyz', '0.3', '0', '0.4')
NONSENSE = {
    'nothing': ((), 'the following arguments are required: COMMAND'),
    'an unknown command': (('frobnicate',), "invalid choice: 'frobnicate'"),
    'no robot': (('info',), 'required: ROBOT'),
    'a misspelt robot': (('info', 'pandda'), "no robot 'pandda' (did you mean 'panda'?)"),
    'an empty robot name': (('info', ''), 'the robot description is empty'),
    'a missing file': (('info', 'no/such.urdf'), "can't read 'no/such.urdf'"),
    'a directory': (('info', str(URDF)), 'is a directory'),
    'not a URDF': (('info', __file__), 'not well-formed XML'),
    'too much': (('info', 'panda', 'extra'), 'unrecognized arguments: extra'),
    'an abbreviation': (('solve', 'panda', '--xy', '1', '2', '3'), 'unrecognized arguments: --xy'),
    'no goal': (('solve', 'panda'), "no goal for 'panda_hand_tcp': give --xyz"),
    'a tip without goal': (
        ('solve', 'panda', *XYZ, '--tip', 'a', '--tip', 'b'),
        "no goal for 'b'",
    ),
    'two numbers': (('solve', 'panda', '--xyz', '1', '2'), 'argument --xyz: expected 3 arguments'),
    'words': (('solve', 'panda', '--xyz', 'a', 'b', 'c'), 'argument --xyz: invalid float value'),
    'NaN': (('solve', 'panda', '--xyz', 'nan', '0', '0'), 'not finite'),
    'minus infinity': (('solve', 'panda', '--xyz', '0', '-inf', '0'), 'not finite'),
    'NaN rpy': (('solve', 'panda', *XYZ, '--rpy', '0', 'nan', '0'), 'not finite'),
    'a zero quaternion': (('solve', 'panda', *XYZ, '--quat', '0', '0', '0', '0'), 'zero'),
    'xyz twice': (('solve', 'panda', *XYZ, *XYZ), '--xyz is given twice for one goal'),
    'rpy and quat': (
        ('solve', 'panda', *XYZ, '--rpy', '0', '0', '0', '--quat', '0', '0', '0', '1'),
        'give one of --rpy, --quat and --axis',
    ),
    'an unknown link': (
        ('solve', 'panda', *XYZ, '--tip', 'panda_hnd'),
        "no link 'panda_hnd'; did you mean panda_hand",
    ),
    'the base': (('solve', 'panda', *XYZ, '--tip', 'panda_link0'), "'panda_link0'"),
    'an ambiguous tip': (('solve', 'dual_arm', *XYZ), 'left_palm, right_palm'),
    'an unknown solver': (('solve', 'panda', *XYZ, '--solver', 'magic'), "unknown solver 'magic'"),
    'an unknown option': (('solve', 'panda', *XYZ, '-o', 'retries=1'), "no option 'retries'"),
    'half an option': (('solve', 'panda', *XYZ, '-o', 'restarts'), 'should be NAME=VALUE'),
    'a word for a number': (('solve', 'panda', *XYZ, '-o', 'restarts=x'), "restarts = 'x'"),
    'out of bounds': (('solve', 'panda', *XYZ, '-o', 'restarts=-1'), 'must be within'),
    'a short q0': (('solve', 'panda', *XYZ, '--q0', '1', '2'), "'panda' has 8 joints"),
    'NaN in q0': (('solve', 'scara', *XYZ, '--q0', '0', 'nan', '0', '0'), 'not finite at joint_2'),
}


@pytest.mark.parametrize(('argv', 'message'), NONSENSE.values(), ids=NONSENSE)
def test_nonsense_is_exit_code_2_and_one_line(argv, message, capsys):
    assert main(list(argv)) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.startswith('ik: ')
    assert captured.err.count('\n') == 1
    assert message in captured.err


# --- as a process ------------------------------------------------------------------------------


def run(*argv, **more):
    environment = {**os.environ, 'PYTHONPATH': python_path(ROOT), **more}
    command = [sys.executable, '-m', 'ik_core', *argv]
    return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=300)


def test_python_m_ik_core():
    done = run('solve', 'scara', '--xyz', '9', '0', '0')
    assert (done.returncode, done.stderr) == (1, '')
    assert 'not reached' in done.stdout
    refused = run('info', 'pandda')
    assert (refused.returncode, refused.stdout) == (2, '')
    assert refused.stderr.count('\n') == 1


@pytest.mark.parametrize('argv', [['--help'], ['info', '--help'], ['solve', '--help']])
def test_help(argv, capsys):
    with pytest.raises(SystemExit) as ended:
        main(argv)
    assert ended.value.code == 0
    assert 'usage: ik' in capsys.readouterr().out


def test_a_closed_pipe_is_no_traceback():
    reader, writer = os.pipe()
    os.close(reader)
    command = [sys.executable, '-m', 'ik_core', 'info', 'chains5', '--json']
    done = subprocess.run(
        command,
        env={**os.environ, 'PYTHONPATH': python_path(ROOT)},
        stdout=writer,
        stderr=subprocess.PIPE,
        timeout=300,
        check=False,
    )
    os.close(writer)
    assert done.stderr == b''


# --- where shipped robots are ------------------------------------------------------------------


def test_shipped_robots_are_found_where_ament_installs_them(tmp_path, monkeypatch):
    folder = tmp_path / 'share' / 'ik_node' / 'urdf'
    folder.mkdir(parents=True)
    (folder / 'mine.urdf').write_text('<robot name="mine"><link name="a"/></robot>')
    monkeypatch.setenv('AMENT_PREFIX_PATH', f'/nowhere{os.pathsep}{tmp_path}')
    assert load_robot('mine').name == 'mine'


def test_a_file_wins_over_a_shipped_robot(tmp_path, monkeypatch):
    (tmp_path / 'panda').write_text('<robot name="other"><link name="a"/></robot>')
    monkeypatch.chdir(tmp_path)
    assert load_robot('panda').name == 'other'


def test_a_directory_does_not_hide_a_shipped_robot(tmp_path, monkeypatch):
    (tmp_path / 'panda').mkdir()
    monkeypatch.chdir(tmp_path)
    assert load_robot('panda').name == 'panda'


# --- choice among solutions ----------------------------------------------------------------------

REACHABLE = ['--xyz', '0.4', '0.2', '0.5', '--rpy', '3.1', '0', '0']


def test_all_solutions_are_columns_of_a_table_and_json(capsys):
    code, text = output(capsys, 'solve', 'ur5e', *REACHABLE, '--all')
    assert code == 0
    assert rows(text)[0] == 'joint 1 2 3 4 5 6 7 8'
    assert '8 solutions, complete' in text
    _, data = as_json(capsys, 'solve', 'ur5e', *REACHABLE, '--all')
    assert data['complete'] is True
    robot = load_robot(URDF / 'ur5e.urdf')
    for solution in data['solutions']:
        pose = robot.forward_kinematics(solution['q'], 'tool0')
        np.testing.assert_allclose(pose[:3, 3], [0.4, 0.2, 0.5], atol=1e-9)
    assert len(data['solutions']) == 8


def test_all_solutions_of_what_has_none_or_too_many(capsys):
    assert main(['solve', 'ur5e', '--xyz', '3', '0', '0', '--rpy', '0', '0', '0', '--all']) == 1
    assert '0 solutions' in capsys.readouterr().out
    assert main(['solve', 'panda', *REACHABLE, '--all']) == 2
    assert 'infinitely many' in capsys.readouterr().err
    for other in (['--choose', 'nearest'], ['--solver', 'bfgs']):
        assert main(['solve', 'ur5e', *REACHABLE, '--all', *other]) == 2


def test_the_nearest_solution_is_nearer_than_the_first_found(capsys):
    q0 = [1.0, -2.0, 1.0, 2.0, -1.0, 3.0]
    away = []
    for choose in ('first', 'nearest'):
        arguments = ['solve', 'ur5e', *REACHABLE, '--q0', *map(str, q0), '--choose', choose]
        _, data = as_json(capsys, *arguments)
        away.append(np.linalg.norm(np.array(data['q']) - q0))
    assert away[1] <= away[0]
    assert main(['solve', 'ur5e', *REACHABLE, '--choose', 'best']) == 2


# --- figures -----------------------------------------------------------------------------------

# Commands whose work would fail: a figure that can't be drawn is refused before it begins
DRAWING = {
    'replay': ['replay', 'no_such_recording.npz', '--figure', '{}'],
    'path': ['path', 'no_such_robot', 'no_such.csv', '--plot', '{}'],
    'reach': ['reach', 'no_such_robot', '--out', 'unwritten.npz', '--figure', '{}'],
}


@pytest.fixture
def in_tmp(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize('command', DRAWING)
@pytest.mark.usefixtures('in_tmp')
def test_a_figure_without_matplotlib_is_refused_before_the_work(command, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    assert main([part.format('f.png') for part in DRAWING[command]]) == 2
    install = f'{sys.executable} -m pip install matplotlib'
    expected = f'ik: f.png: drawing needs matplotlib: {install}\n'
    assert capsys.readouterr().err == expected


@pytest.mark.parametrize('command', DRAWING)
@pytest.mark.parametrize(
    ('path', 'said'), [('f.xyz', 'the suffix should be one of'), ('a/f.png', 'no folder a')]
)
@pytest.mark.usefixtures('in_tmp')
def test_a_figure_that_can_not_be_written_is_refused_before_the_work(command, path, said, capsys):
    pytest.importorskip('matplotlib')
    assert main([part.format(path) for part in DRAWING[command]]) == 2
    assert said in capsys.readouterr().err


def test_closed_standard_output_keeps_the_exit_code():
    done = subprocess.run(
        ['sh', '-c', f'{sys.executable} -m ik_core info panda >&-'], capture_output=True, text=True
    )
    assert (done.returncode, done.stderr) == (0, '')


@pytest.mark.parametrize('delay', [0.1, 0.2, 0.4])
def test_ctrl_c_while_importing_ends_the_command_without_a_traceback(delay):
    """The module is already imported when a signal may come: Python's own start is not ours."""
    source = 'import sys, ik_core.__main__ as command; print(flush=True); sys.exit(command.main())'
    process = subprocess.Popen(
        [sys.executable, '-c', source, 'info', 'panda'],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    process.stdout.readline()
    time.sleep(delay)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=300)
    assert process.returncode in (0, -signal.SIGINT, 130)
    assert err == ''


def test_sigint_that_is_ignored_stays_ignored():
    """A shell script ignores it in the commands that it runs in the background."""
    source = (
        'import signal, ik_core.__main__ as command; signal.signal(signal.SIGINT, signal.SIG_IGN);'
        'command.main(); assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN'
    )
    done = subprocess.run([sys.executable, '-c', source, 'info', 'panda'], capture_output=True)
    assert (done.returncode, done.stderr) == (0, b'')
