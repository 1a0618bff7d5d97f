# SPDX-License-Identifier: Apache-2.0
"""Shipped robots by their names, wherever one is, and what errors of files say."""

import re

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.exceptions import UrdfError
from ik_core.robot.shipped import robot_path, shipped_robots

ONE_LINK = '<robot name="mine"><link name="a"/></robot>'
BROKEN = '<robot name="mine"><link name="a"/><link name="a"/></robot>'


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch):
    """A folder that is not the project's."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_every_shipped_robot_is_loaded_by_its_name_from_anywhere():
    assert sorted(shipped_robots()) == sorted(path.stem for path in URDF.glob('*.urdf'))
    for path in URDF.glob('*.urdf'):
        named, read = ik.load_robot(path.stem), ik.load_robot(path)
        assert named.joint_names == read.joint_names
        np.testing.assert_array_equal(named.geometry, read.geometry)


def test_a_file_of_that_name_wins_over_the_shipped_robot(elsewhere):
    (elsewhere / 'panda').write_text(ONE_LINK)
    assert ik.load_robot('panda').name == 'mine'


def test_a_folder_of_that_name_does_not(elsewhere):
    (elsewhere / 'panda').mkdir()
    assert ik.load_robot('panda').n == 8


def test_a_misspelt_name_is_told_which_was_meant():
    with pytest.raises(ik.UrdfError, match=r"no robot 'pnada' \(did you mean 'panda'\?\).*ur5e"):
        ik.load_robot('pnada')


@pytest.mark.parametrize('name', ['x' * 5000, 'a\0b'])
def test_what_can_be_no_name_is_refused_shortly(name):
    with pytest.raises(ik.UrdfError, match='no robot') as refusal:
        ik.load_robot(name)
    assert len(str(refusal.value)) < 500


def test_a_missing_file_of_a_shipped_robot_is_told_its_name():
    with pytest.raises(ik.UrdfError, match=r"can't read 'panda.urdf'.*shipped robot is 'panda'"):
        ik.load_robot('panda.urdf')


@pytest.mark.parametrize('text', [BROKEN, '<robot', '', '<robot name="r"><link/></robot>'])
def test_an_error_names_the_file_that_is_wrong(elsewhere, text):
    path = elsewhere / 'broken.urdf'
    path.write_text(text)
    for source in (path, str(path), 'broken.urdf'):
        with pytest.raises(ik.UrdfError, match=re.escape('broken.urdf: ')):
            ik.load_robot(source)
    with pytest.raises(ik.UrdfError) as of_text:
        ik.load_robot(text)
    assert 'broken.urdf' not in str(of_text.value)


def test_an_error_names_the_figure_that_is_wrong(elsewhere):
    twice = 'JOINT a\n{\nOFFSET 0 1 0\nCHANNELS 1 Zrotation\nEnd Site\n{\nOFFSET 0 1 0\n}\n}\n'
    channels = 'CHANNELS 6 Xposition Yposition Zposition Zrotation Xrotation Yrotation'
    root = f'HIERARCHY\nROOT r\n{{\nOFFSET 0 0 0\n{channels}\n{twice}{twice}}}\n'
    path = elsewhere / 'twins.bvh'
    path.write_text(f'{root}MOTION\nFrames: 1\nFrame Time: 0.1\n{"0 " * 8}\n')
    with pytest.raises(ik.motion.MocapError, match='twins'):
        ik.motion.load_mocap(path)


@pytest.mark.parametrize('name', ['package://pk/urdf/a.urdf', 'file:///tmp/a.urdf'])
def test_urls_are_named_as_typed(name):
    with pytest.raises(
        UrdfError, match=f"can't read '{name}': .* is not looked up: give the path"
    ):
        robot_path(name)
