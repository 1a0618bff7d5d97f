# SPDX-License-Identifier: Apache-2.0
"""Tests of loading URDFs: numbers, defaults, limits, mimics, sources."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.places import URDF

from ik_core.exceptions import UrdfError
from ik_core.robot import load_robot
from ik_core.robot.urdf_filter import text_of

LIMIT = '<limit lower="-1" upper="2" velocity="3" effort="4"/>'


def joint(name='j', kind='revolute', inside=LIMIT, parent='a', child='b'):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def robot(*joints, links='ab'):
    """A robot of one-letter links."""
    parts = [f'<link name="{link}"/>' for link in links]
    return f'<robot name="r">{"".join(parts)}{"".join(joints)}</robot>'


def mimic(of, more=''):
    return f'{LIMIT}<mimic joint="{of}" {more}/>'


# --- plain meaning ---------------------------------------------------------------------------


def test_a_joint_carries_over():
    loaded = load_robot(robot(joint()))
    assert loaded.name == 'r'
    assert loaded.base_link == 'a'
    assert loaded.link_names == ('a', 'b')
    assert loaded.joint_names == ('j',)
    assert loaded.joint_types == ('revolute',)
    assert (loaded.lower, loaded.upper, loaded.velocity) == (-1, 2, 3)
    assert loaded.warnings == ()


def test_origin_is_translation_then_fixed_axis_roll_pitch_yaw():
    r, p, y = 0.3, -0.5, 1.1
    origin = f'<origin xyz="1 2 3" rpy="{r} {p} {y}"/>'
    pose = load_robot(robot(joint(inside=origin + LIMIT))).forward_kinematics([0.0], 'b')
    roll = [[1, 0, 0], [0, math.cos(r), -math.sin(r)], [0, math.sin(r), math.cos(r)]]
    pitch = [[math.cos(p), 0, math.sin(p)], [0, 1, 0], [-math.sin(p), 0, math.cos(p)]]
    yaw = [[math.cos(y), -math.sin(y), 0], [math.sin(y), math.cos(y), 0], [0, 0, 1]]
    np.testing.assert_allclose(pose[:3, :3], np.array(yaw) @ pitch @ roll, atol=1e-15)
    np.testing.assert_allclose(pose[:, 3], [1, 2, 3, 1], atol=1e-15)


@pytest.mark.parametrize(
    ('axis', 'expected'),
    [
        ('', (1, 0, 0)),
        ('<axis xyz="0 0 1"/>', (0, 0, 1)),
        ('<axis xyz="0 3 -4"/>', (0, 0.6, -0.8)),
    ],
)
def test_axis_defaults_to_x_and_is_normalised(axis, expected):
    sliding = load_robot(robot(joint(kind='prismatic', inside=axis + LIMIT)))
    pose = sliding.forward_kinematics([0.5], 'b')
    np.testing.assert_allclose(pose[:3, 3], 0.5 * np.array(expected), atol=1e-15)


def test_order_in_the_file_does_not_matter_but_is_kept():
    text = (
        '<robot name="r">'
        + joint('second', parent='b', child='c')
        + '<link name="c"/><link name="b"/>'
        + joint('first')
        + '<link name="a"/></robot>'
    )
    loaded = load_robot(text)
    assert loaded.base_link == 'a'
    assert loaded.joint_names == ('second', 'first')


def test_a_single_link_is_a_robot_without_joints():
    assert load_robot('<robot name="r"><link name="a"/></robot>').n == 0


def test_a_link_and_a_joint_may_share_a_name():
    assert load_robot(robot(joint('a'))).joint_names == ('a',)


# --- what else is in real files ---------------------------------------------------------------


def test_everything_that_is_not_kinematics_is_ignored_silently(capfd):
    text = robot(
        joint(
            inside=LIMIT + '<dynamics damping="x"/><safety_controller/><calibration rising="?"/>'
        ),
        '<transmission name="t"><type>?</type><joint name="j"/></transmission>',
        '<gazebo><joint name="j" type="nonsense"/></gazebo>',
        '<material name="m"><texture/></material>',
        '<link name="c"><visual><geometry><mesh filename="/no.stl"/></geometry></visual></link>',
        joint('k', 'fixed', '', 'b', 'c'),
        '<ros2_control><joint name="j"><command_interface name="p"/></joint></ros2_control>',
    )
    assert load_robot(text).joint_names == ('j',)
    assert capfd.readouterr() == ('', '')


@pytest.mark.parametrize('extra', ['version="1.0"', 'version="2.0"', 'xmlns="http://www.ros.org"'])
def test_other_attributes_of_the_robot_are_ignored(extra):
    assert load_robot(robot(joint()).replace('<robot', f'<robot {extra}', 1)).n == 1


def test_a_leftover_xacro_namespace_is_no_xacro():
    text = robot(joint()).replace('<robot', '<robot xmlns:xacro="http://wiki.ros.org/xacro"', 1)
    assert load_robot(text).n == 1


def test_of_a_repeated_element_the_first_counts():
    inside = '<axis xyz="0 0 1"/><axis xyz="0 1 0"/>' + LIMIT
    loaded = load_robot(robot(joint(kind='prismatic', inside=inside)))
    np.testing.assert_allclose(loaded.forward_kinematics([1.0], 'b')[:3, 3], [0, 0, 1], atol=1e-15)
    assert loaded.warnings == ("joint 'j': a second <axis> is ignored",)


# --- limits ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('limit', 'expected'),
    [
        ('<limit lower="-1" upper="2" velocity="3"/>', (-1, 2, 3)),  # no effort
        ('<limit lower="-1" upper="2" velocity="3" effort="junk"/>', (-1, 2, 3)),
        ('<limit upper="2" velocity="3"/>', (0, 2, 3)),
        ('<limit lower="-2" velocity="3"/>', (-2, 0, 3)),
        ('<limit lower="-1" upper="2"/>', (-1, 2, math.inf)),
        ('<limit lower="-1" upper="2" velocity="0"/>', (-1, 2, math.inf)),
        ('<limit lower="-1" upper="2" velocity="-3"/>', (-1, 2, math.inf)),
        ('<limit lower="-1e16" upper="2" velocity="3"/>', (-math.inf, 2, 3)),
        ('<limit lower="-1" upper="1e300" velocity="1e300"/>', (-1, math.inf, math.inf)),
        ('<limit lower=" -1 " upper="+2.e0" velocity=".3E1"/>', (-1, 2, 3)),
        ('<limit lower="1" upper="1" velocity="3"/>', (1, 1, 3)),
    ],
)
@pytest.mark.parametrize('kind', ['revolute', 'prismatic'])
def test_limits(kind, limit, expected):
    loaded = load_robot(robot(joint(kind=kind, inside=limit)))
    assert (loaded.lower, loaded.upper, loaded.velocity) == expected
    assert ('no velocity limit: j' in loaded.warnings) == (expected[2] == math.inf)
    assert any('can not move' in w for w in loaded.warnings) == (expected[0] == expected[1])


def test_position_limits_of_a_continuous_joint_are_ignored_with_a_warning():
    loaded = load_robot(robot(joint(kind='continuous')))
    assert (loaded.lower, loaded.upper, loaded.velocity) == (-math.inf, math.inf, 3)
    assert loaded.warnings == ("joint 'j' is continuous: its position limits are ignored",)


def test_a_continuous_joint_needs_no_limit():
    loaded = load_robot(robot(joint(kind='continuous', inside='')))
    assert (loaded.lower, loaded.upper, loaded.velocity) == (-math.inf, math.inf, math.inf)
    assert loaded.warnings == ('no velocity limit: j',)


def test_limits_and_axis_of_a_fixed_joint_do_not_count():
    inside = '<axis xyz="0 0 0"/><limit lower="2" upper="1"/>'
    loaded = load_robot(robot(joint(kind='fixed', inside=inside)))
    assert loaded.n == 0
    assert loaded.warnings == ()


# --- mimic -----------------------------------------------------------------------------------


def test_mimic_defaults_to_the_same_position():
    loaded = load_robot(robot(joint(), joint('k', 'revolute', mimic('j'), 'b', 'c'), links='abc'))
    assert loaded.joint_names == ('j',)
    assert loaded.joint_values([0.7]) == {'j': 0.7, 'k': 0.7}


def test_a_chain_of_mimics_ends_at_the_joint_that_moves():
    loaded = load_robot(
        robot(
            joint('m', 'revolute', mimic('k', 'multiplier="3" offset="0.1"'), 'c', 'd'),
            joint('k', 'revolute', mimic('j', 'multiplier="-2" offset="0.5"'), 'b', 'c'),
            joint(),
            links='abcd',
        )
    )
    assert loaded.joint_names == ('j',)
    values = loaded.joint_values([0.2])
    assert values['k'] == pytest.approx(-2 * 0.2 + 0.5)
    assert values['m'] == pytest.approx(3 * (-2 * 0.2 + 0.5) + 0.1)


def test_a_mimic_that_leaves_no_common_range_is_warned_of():
    inside = '<limit lower="5" upper="6" velocity="1"/><mimic joint="j"/>'
    loaded = load_robot(robot(joint(), joint('k', 'revolute', inside, 'b', 'c'), links='abc'))
    assert (loaded.lower, loaded.upper) == (-1, 2)
    assert any("'k'" in warning and "'j'" in warning for warning in loaded.warnings)


def test_no_limit_is_minus_zero():
    """Numpy's generators refuse a range that ends there."""
    other_way = '<limit lower="0" upper="1" velocity="1"/><mimic joint="j" multiplier="-1"/>'
    driver = joint('j', 'revolute', '<limit lower="0" upper="1" velocity="1"/>')
    loaded = load_robot(robot(driver, joint('k', 'revolute', other_way, 'b', 'c'), links='abc'))
    assert (loaded.lower, loaded.upper) == (0, 0)
    assert not np.signbit([loaded.lower, loaded.upper]).any()
    np.random.default_rng(0).uniform(loaded.lower, loaded.upper)


@pytest.mark.parametrize(
    ('driver', 'kind', 'reason'),
    [
        ('jj', 'revolute', "joint 'jj' does not exist"),
        ('f', 'revolute', "joint 'f' is fixed"),
        ('w', 'revolute', "joint 'w' is floating"),
    ],
)
def test_a_mimic_without_a_driver_is_ignored_and_the_joint_moves_by_itself(driver, kind, reason):
    loaded = load_robot(
        robot(
            joint(),
            joint('f', 'fixed', '', 'b', 'c'),
            joint('w', 'floating', '', 'c', 'd'),
            joint('k', kind, mimic(driver), 'd', 'e'),
            links='abcde',
        )
    )
    assert loaded.joint_names == ('j', 'k')
    assert f"joint 'k': its mimic is ignored: {reason}" in loaded.warnings


def test_a_fixed_joint_that_mimics_stays_fixed():
    loaded = load_robot(
        robot(joint(), joint('k', 'fixed', '<mimic joint="j"/>', 'b', 'c'), links='abc')
    )
    assert loaded.joint_values([0.3]) == {'j': 0.3}
    assert loaded.warnings == ("joint 'k': its mimic is ignored: a fixed joint follows none",)


# --- floating and planar ---------------------------------------------------------------------


@pytest.mark.parametrize('kind', ['floating', 'planar'])
def test_a_multi_dof_joint_is_frozen_unless_asked_for(kind):
    text = robot(joint('w', kind, '<origin xyz="0 0 1"/>'))
    frozen = load_robot(text)
    assert frozen.n == 0
    assert frozen.warnings == (f"joint 'w' is {kind}: frozen at zero",)
    np.testing.assert_allclose(frozen.forward_kinematics([], 'b')[:3, 3], [0, 0, 1])
    free = load_robot(text, free_joints=['w'])
    assert free.n == {'floating': 6, 'planar': 3}[kind]
    assert free.warnings == ()


def test_free_joints_must_be_joints_that_can_be_freed():
    with pytest.raises(UrdfError, match="'j'"):
        load_robot(robot(joint()), free_joints=['j'])


# --- sources ---------------------------------------------------------------------------------


DECLARATION = '<?xml version="1.0" encoding="utf-8"?>'


@pytest.mark.parametrize('blank', ['', '\n\n  ', '\ufeff', '\ufeff\n'])
@pytest.mark.parametrize('prolog', ['', DECLARATION, '<!-- a comment -->\n'])
def test_text_and_bytes_with_what_may_stand_before_the_root(blank, prolog):
    text = blank + prolog + robot(joint())
    assert load_robot(text).n == 1
    assert load_robot(text.encode()).n == 1


@pytest.mark.parametrize('encoding', ['utf-8', 'utf-16', 'latin-1', 'cp1252', 'ascii'])
def test_the_declared_encoding_holds_for_bytes_and_not_for_text(encoding, tmp_path):
    name = 'j' if encoding == 'ascii' else 'schultergelenk_ä'
    text = f'<?xml version="1.0" encoding="{encoding}"?>' + robot(joint(name))
    file = tmp_path / 'r.urdf'
    file.write_bytes(text.encode(encoding))
    for source in (text, text.encode(encoding), file, str(file)):
        assert load_robot(source).joint_names == (name,)


@pytest.mark.parametrize('path', sorted(URDF.glob('*.urdf')), ids=lambda path: path.stem)
def test_path_string_text_and_bytes_are_the_same(path):
    loaded = [load_robot(s) for s in (path, str(path), path.read_text(), path.read_bytes())]
    assert {r.joint_names for r in loaded} == {loaded[0].joint_names}


def test_a_missing_file_is_named():
    with pytest.raises(UrdfError, match=re.escape("can't read 'no/such.urdf': No such file")):
        load_robot('no/such.urdf')


def test_a_directory_is_no_urdf(tmp_path):
    with pytest.raises(UrdfError, match='is a directory'):
        load_robot(tmp_path)


def test_an_unreadable_file_is_an_error(monkeypatch):
    def refuse(*_args, **_kwargs):
        raise PermissionError(13, 'Permission denied')

    monkeypatch.setattr(Path, 'open', refuse)
    with pytest.raises(UrdfError, match='Permission denied'):
        load_robot(URDF / 'panda.urdf')


def test_a_floating_base_carries_the_robot():
    text = (URDF / 'scara.urdf').read_text()
    robot, carried = load_robot(text), load_robot(text, floating_base=True)
    assert carried.base_link == 'world'
    assert carried.joint_names[6:] == robot.joint_names
    assert carried.root_joints == tuple(range(6))
    q = np.array([1.0, 2.0, 3.0, 0.3, 0.2, 0.1, *robot.middle_configuration])
    base = carried.forward_kinematics(q, robot.base_link)
    np.testing.assert_allclose(base[:3, 3], [1.0, 2.0, 3.0])
    np.testing.assert_allclose(base[:3, :3], Rotation.from_euler('ZYX', q[3:6]).as_matrix())
    np.testing.assert_allclose(
        carried.forward_kinematics(q, 'tool', robot.base_link),
        robot.forward_kinematics(q[6:], 'tool'),
        atol=1e-12,
    )


def test_a_floating_base_needs_its_names():
    text = (URDF / 'scara.urdf').read_text()
    root = load_robot(text).base_link
    with pytest.raises(UrdfError, match="a link 'world'"):
        load_robot(text.replace(f'"{root}"', '"world"'), floating_base=True)


# --- encodings --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('declared', 'codec', 'name'),
    [
        ('GB2312', 'gb2312', '六轴'),
        ('gbk', 'gbk', '機器人'),
        ('Shift_JIS', 'shift_jis', 'ロボット'),
        ('EUC-JP', 'euc_jp', 'ロボット'),
        ('EUC-KR', 'euc_kr', '로봇'),
        ('Big5', 'big5', '機器人'),
        ('ISO-8859-1', 'latin-1', 'Gelenk ä'),
        ('windows-1251', 'cp1251', 'рука'),
    ],
)
def test_a_declared_encoding_is_read(tmp_path, declared, codec, name):
    text = f'<?xml version="1.0" encoding="{declared}"?>\n' + robot(joint(name))
    path = tmp_path / 'r.urdf'
    path.write_bytes(text.encode(codec))
    assert load_robot(path).joint_names == (name,)
    assert text_of(path.read_bytes()) == text


def test_bytes_of_another_encoding_are_named_with_their_line():
    text = '<?xml version="1.0"?>\n<!-- 六轴 -->\n' + robot(joint())
    with pytest.raises(UrdfError, match=r'^line 2 has bytes that are not UTF-8, and'):
        load_robot(text.encode('gbk'))
    declared = text.replace('?>', ' encoding="Shift_JIS"?>', 1).encode('gbk') + b'\xff'
    with pytest.raises(UrdfError, match='has bytes that are not SHIFT_JIS: save it as UTF-8'):
        load_robot(declared)
