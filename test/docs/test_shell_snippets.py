# SPDX-License-Identifier: Apache-2.0
"""Every shell line of README and docs: its names are those of the code. Quick ones run, too."""

import importlib.util

import pytest
import yaml
from support import shell_lines
from support.page_runner import runs
from support.pages import PAGES, Block, blocks, name

from ik_core.cli.parser import UsageError

SHELL = [(page, block) for page in PAGES for block in blocks(page) if block.kind == 'sh']
PARAMETERS = [
    (page, block)
    for page in PAGES
    for block in blocks(page)
    if block.kind == 'yaml' and '/**:' in block.text  # others' files have others
]
HAVE_ROS = importlib.util.find_spec('rclpy') is not None


def where(pair):
    page, block = pair
    return f'{name(page)}:{block.line}'


def test_there_are_lines_to_run_and_lines_to_check():
    every = [words for _, block in SHELL for words in shell_lines.commands(block)]
    assert sum(map(runs, every)) > 8
    assert sum(words[0] == 'ros2' for words in every) > 15


@pytest.mark.parametrize('pair', SHELL, ids=where)
def test_every_line_is_one_that_works(pair):
    for words in shell_lines.commands(pair[1]):
        if HAVE_ROS or not shell_lines.needs_ros(words):
            shell_lines.check(words)


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
