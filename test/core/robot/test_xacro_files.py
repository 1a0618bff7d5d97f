# SPDX-License-Identifier: Apache-2.0
"""Xacro files are expanded in Python, without ROS."""

import pytest

import ik_core as ik

pytest.importorskip('xacro')

ARM = """<?xml version="1.0"?>
<robot name="arm" xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:arg name="prefix" default=""/>
  <xacro:include filename="$(find my_arm)/urdf/joint.xacro"/>
  <link name="base"/>
  <xacro:turning name="$(arg prefix)joint" upper="${pi / 2}"/>
</robot>"""
JOINT = """<robot xmlns:xacro="http://www.ros.org/wiki/xacro">
  <xacro:macro name="turning" params="name upper">
    <link name="tip"/>
    <joint name="${name}" type="revolute"><parent link="base"/><child link="tip"/>
      <limit lower="0" upper="${upper}" velocity="1" effort="1"/></joint>
  </xacro:macro>
</robot>"""


@pytest.fixture
def package(tmp_path):
    """The folder urdf of a package."""
    folder = tmp_path / 'my_arm_sources/urdf'
    folder.mkdir(parents=True)
    manifest = '<package format="3"><name>my_arm</name></package>'
    (folder.parent / 'package.xml').write_text(manifest)
    (folder / 'arm.urdf.xacro').write_text(ARM)
    (folder / 'joint.xacro').write_text(JOINT)
    return folder


def test_a_xacro_file_is_expanded_with_its_arguments(package):
    path = package / 'arm.urdf.xacro'
    assert ik.load_robot(path).joint_names == ('joint',)
    robot = ik.load_robot(path, xacro_args={'prefix': 'left_'})
    assert robot.joint_names == ('left_joint',)
    assert robot.upper == pytest.approx([0.5 * 3.141592653589793])
    assert robot.file == path


def test_a_missing_package_is_named(package):
    path = package / 'other.xacro'
    path.write_text(ARM.replace('my_arm', 'their_arm'))
    with pytest.raises(ik.UrdfError, match=r'\$\(find their_arm\): there is no such package'):
        ik.load_robot(path)


@pytest.mark.parametrize(
    ('inside', 'reason'),
    [
        ('<xacro:unknown/>', 'unknown'),
        ('<link name="${1 / 0}"/>', 'division'),
        ('<xacro:include filename="cycle.xacro"/>', 'xacro fails'),
    ],
)
def test_what_xacro_refuses_is_an_error(package, inside, reason):
    path = package / 'cycle.xacro'
    head = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro">'
    path.write_text(f'{head}{inside}</robot>')
    with pytest.raises(ik.UrdfError, match=f'(?i)cycle.xacro: .*{reason}'):
        ik.load_robot(path)


def test_arguments_of_a_urdf_are_refused():
    with pytest.raises(ik.UrdfError, match=r'xacro_args are for \.xacro files only'):
        ik.load_robot('panda', xacro_args={'prefix': 'left_'})
