"""Every shell line of README and docs: `ik` runs, names of ROS are those of the code."""

import importlib.util
import shutil

import pytest
import yaml
from support import shell_lines
from support.pages import PAGES, Block, blocks, name
from support.places import URDF

import ik_core as ik
from ik_core.cli.command import UsageError
from ik_core.cli.main import main

SHELL = [(page, block) for page in PAGES for block in blocks(page) if block.kind == 'sh']
PARAMETERS = [(page, block) for page in PAGES for block in blocks(page) if block.kind == 'yaml']
QUICK = {'info', 'solve', 'check', 'linkage', 'retarget'}
"""Subcommands of `ik` that are run; the arguments of the others are parsed."""
HAVE_ROS = importlib.util.find_spec('rclpy') is not None


def where(pair):
    page, block = pair
    return f'{name(page)}:{block.line}'


@pytest.fixture
def elsewhere(tmp_path, monkeypatch):
    """A folder with what the pages call the reader's own robot and motion."""
    shutil.copy(URDF / 'ur5e.urdf', tmp_path / 'my_robot.urdf')
    panda = ik.load_urdf('panda')
    still = ik.Motion(panda.joint_names, [panda.middle_configuration] * 3, period=0.1)
    ik.save_motion(still, tmp_path / 'wave.csv')
    (tmp_path / 'poses.csv').write_text('0.4,0,0.5\n0.4,0.1,0.5\n')
    monkeypatch.chdir(tmp_path)


def runs(words):
    """Whether a command is one of `ik` that is quick, and about nobody else's files."""
    return words[0] == 'ik' and words[1] in QUICK and not any('.amc' in word for word in words)


def test_there_are_lines_to_run_and_lines_to_check():
    every = [words for _, block in SHELL for words in shell_lines.commands(block)]
    assert sum(map(runs, every)) > 8
    assert sum(words[0] == 'ros2' for words in every) > 15


@pytest.mark.parametrize('pair', SHELL, ids=where)
def test_every_line_is_one_that_works(pair, elsewhere, capsys):
    for words in shell_lines.commands(pair[1]):
        if HAVE_ROS or not shell_lines.needs_ros(words):
            shell_lines.check(words)
        if runs(words):
            code = main(words[1:])
            assert code == 0, f'{words}: {code} {capsys.readouterr()}'


@pytest.mark.parametrize('pair', PARAMETERS, ids=where)
def test_parameter_files_set_parameters_that_there_are(pair):
    pytest.importorskip('rclpy')
    parameters = yaml.safe_load(pair[1].text)['/**']['ros__parameters']
    for key, value in parameters.items():
        shell_lines.parameter(key, yaml.safe_dump(value))


@pytest.mark.parametrize(
    'line',
    [
        'make demmo',
        'make demo DURATON=3',
        "pip install '.[fastt]'",
        'ik solve panda --xzy 1 2 3',
        'ik view panda --prot 8080',
        'ros2 launch ik_node ik.launch.py urfd:=x',
        'ros2 launch ik_node absent.launch.py',
        'ros2 run ik_node ik_nod',
        'ros2 run ik_node ik_node panda --ros-args -p rat:=1.0',
        'ros2 param set /ik_node move diagonal',
        'ros2 topic echo /ik_node/stats',
        "ros2 topic pub /goal_pose geometry_msgs/msg/Pose '{}'",
        "ros2 topic pub /goal_pose geometry_msgs/msg/PoseStamped '{poses: {}}'",
        "ros2 service call /ik_node/pause std_srvs/srv/SetBool '{dat: true}'",
        'an_unknown_program',
    ],
)
def test_a_line_that_does_not_work_is_noticed(line):
    (words,) = shell_lines.commands(Block('sh', line, 1))
    if shell_lines.needs_ros(words):
        pytest.importorskip('rclpy')
    complaints = (AssertionError, UsageError, AttributeError, FileNotFoundError, SystemExit)
    with pytest.raises(complaints):
        shell_lines.check(words)
