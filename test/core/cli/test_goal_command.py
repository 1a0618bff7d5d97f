# SPDX-License-Identifier: Apache-2.0
"""`ik goal`: arguments that make no sense are refused before ROS is needed."""

import sys

import pytest

from ik_core.cli.main import main


@pytest.fixture(autouse=True)
def without_ros(monkeypatch):
    monkeypatch.setitem(sys.modules, 'rclpy', None)
    monkeypatch.delitem(sys.modules, 'ik_node.tools.goal', raising=False)


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ([], 'nothing to send: give --xyz'),
        (['panda_hand'], 'nothing to send'),
        (['--home', '--xyz', '1', '0', '0'], '--xyz, --rpy or --quat and --home: give only one'),
        (['--pause', '--resume'], '--pause and --resume: give only one'),
        (['--rpy', '0', '0', '0', '--quat', '0', '0', '0', '1'], '--rpy and --quat both turn'),
        (['panda_hand', '--home'], "--home is for all joints: leave out 'panda_hand'"),
        (['--home', '--seconds', '2'], '--seconds is the duration of --twist'),
        (['--twist', *'000000', '--seconds', '-1'], '--seconds -1: a positive number is needed'),
        (['--home', '--wait', 'nan'], '--wait nan: a positive number is needed'),
        (['--joints', 'elbow=high'], "'elbow=high' should be a number, or JOINT=VALUE"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(given, said, capsys):
    assert main(['goal', *given]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1


@pytest.mark.parametrize(
    'given', [['tip', '--xyz', '-1', '0', '-1e-3'], ['--joints', '-1', 'a=-2'], ['--pause']]
)
def test_without_rclpy_the_error_names_what_to_install(given, capsys):
    assert main(['goal', *given]) == 2
    error = capsys.readouterr().err
    assert error.startswith('ik: `ik goal` needs rclpy: source a ROS 2')
    assert "pip install '.[ros]'" in error
