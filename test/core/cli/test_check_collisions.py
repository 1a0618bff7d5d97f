# SPDX-License-Identifier: Apache-2.0
"""Tests of the report of `ik check` about collision shapes."""

import json
import struct
import sys

import numpy as np
import pytest
from scipy.spatial import ConvexHull

import ik_core as ik
from ik_core.cli.collision_check import check_collisions
from ik_core.cli.main import main

ARM = """<robot name="arm"><link name="base">{base}</link><link name="upper"/>
<link name="lower">{lower}</link>
<joint name="a" type="revolute"><parent link="base"/><child link="upper"/>
<origin xyz="0 0 0.5"/><axis xyz="1 0 0"/><limit lower="-2" upper="2" velocity="1" effort="1"/>
</joint><joint name="b" type="revolute"><parent link="upper"/><child link="lower"/>
<origin xyz="0 0 0.5"/><axis xyz="1 0 0"/><limit lower="-3" upper="3" velocity="1" effort="1"/>
</joint></robot>"""
MESH = '<collision><geometry><mesh filename="{}" scale="0.3 0.3 0.3"/></geometry></collision>'


def cube(lower, upper):
    """The triangles (12, 3, 3) of a box, turned outwards."""
    hull = ConvexHull(list(np.ndindex(2, 2, 2)))
    triangles = hull.points[hull.simplices]
    normals = np.cross(triangles[:, 1] - triangles[:, 0], triangles[:, 2] - triangles[:, 0])
    inwards = (normals * hull.equations[:, :3]).sum(1) < 0.0
    triangles[inwards] = triangles[inwards, ::-1]
    return np.array(lower) + triangles * np.subtract(upper, lower)


@pytest.fixture
def arm(tmp_path, monkeypatch):
    """The file of an arm whose links are a bracket and a cube, with an empty cache."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path / 'cache'))
    bracket = np.concatenate([cube((0, 0, 0), (3, 1, 1)), cube((0, 0, 1), (1, 1, 3))])
    for name, triangles in (('bracket', bracket), ('cube', cube((0, 0, 0), (1, 1, 1)))):
        body = b''.join(struct.pack('<12fH', 0, 0, 0, *np.ravel(t), 0) for t in triangles)
        header = bytes(80) + struct.pack('<I', len(triangles))
        (tmp_path / f'{name}.stl').write_bytes(header + body)
    file = tmp_path / 'arm.urdf'
    file.write_text(ARM.format(base=MESH.format('bracket.stl'), lower=MESH.format('cube.stl')))
    return file


def output(capsys, *argv):
    main(['check', *map(str, argv), '--goals', '2'])
    return capsys.readouterr().out


def test_meshes_get_a_table_of_what_pieces_and_capsules_add(arm, capsys):
    text = output(capsys, arm)
    bracket = next(line for line in text.splitlines() if ' 2 (hull)' in line)
    assert bracket.startswith('base ')
    assert bracket.endswith(' mm')
    assert '% of the mesh' in bracket
    assert 'collisions: 3 pieces on 2 links, which meet in ' in text


def test_the_volume_of_pieces_is_compared_with_that_of_the_mesh(arm):
    base, lower = check_collisions(ik.load_robot(arm)).links
    assert (base.pieces, base.meshes, base.kinds) == (2, 1, ('hull',))
    assert base.volume == pytest.approx(1.0, abs=0.02)
    assert lower.volume == pytest.approx(1.0)
    assert lower.excess == pytest.approx(0.3 * (3**0.5 - 1) / 2, rel=0.02)


def test_an_open_mesh_has_no_volume_to_compare_with(arm):
    file = arm.parent / 'cube.stl'
    data = bytearray(file.read_bytes())
    data[80:84] = struct.pack('<I', 11)
    file.write_bytes(bytes(data[:-50]))
    assert np.isnan(check_collisions(ik.load_robot(arm)).links[1].volume)


def test_poses_in_which_only_pieces_collide_are_few(arm):
    pytest.importorskip('coal')
    report = check_collisions(ik.load_robot(arm))
    assert 0.0 <= report.added <= 0.02 < report.colliding < 1.0


def test_without_coal_the_report_says_what_to_install(arm, monkeypatch):
    monkeypatch.setitem(sys.modules, 'coal', None)
    report = check_collisions(ik.load_robot(arm))
    assert np.isnan(report.added)
    assert 'pip install coal' in report.why


def test_primitives_get_one_line(capsys):
    lines = [line for line in output(capsys, 'panda').splitlines() if 'pieces on' in line]
    assert len(lines) == 1
    assert lines[0].startswith('collisions: 37 pieces on 11 links, which meet in ')


def test_a_robot_without_collision_elements_gets_a_line_that_names_the_visuals(tmp_path, capsys):
    file = tmp_path / 'bare.urdf'
    file.write_text(ARM.format(base='', lower=''))
    assert "geometry='visual'" in output(capsys, file)


def test_a_missing_mesh_is_a_line_that_names_the_option(arm, capsys):
    (arm.parent / 'cube.stl').unlink()
    text = output(capsys, arm)
    assert 'collisions: ' in text
    assert '--mesh-folder' in text


def test_the_mesh_folder_is_searched(arm, tmp_path):
    other = tmp_path / 'elsewhere'
    other.mkdir()
    (arm.parent / 'cube.stl').rename(other / 'cube.stl')
    assert check_collisions(ik.load_robot(arm), [other]).links


def test_json_has_the_report(arm, capsys):
    data = json.loads(output(capsys, arm, '--json'))['collisions']
    assert [link['link'] for link in data['links']] == ['base', 'lower']
    assert data['poses'] == 2000


def test_fingers_that_may_touch_are_listed(capsys):
    main(['check', 'panda', '--goals', '2'])
    said = capsys.readouterr().out
    assert 'panda_leftfinger and panda_rightfinger may touch' in said
    assert check_collisions(ik.load_robot('panda')).fingers == (
        ('panda_leftfinger', 'panda_rightfinger'),
    )


SLIDER = """<robot name="arm">
  <link name="base"><collision><geometry><box size="0.1 0.1 0.1"/></geometry></collision></link>
  <link name="upper"/>
  <link name="lower"><collision><origin xyz="0 0 0.3"/><geometry><sphere radius="0.05"/>
    </geometry></collision></link>
  <joint name="shoulder" type="revolute"><parent link="base"/><child link="upper"/>
    <origin xyz="0 0 0.2"/><axis xyz="0 1 0"/>
    <limit lower="-1e-9" upper="1e-9" velocity="1" effort="1"/></joint>
  <joint name="elbow" type="revolute"><parent link="upper"/><child link="lower"/>
    <origin xyz="0 0 0.5"/><axis xyz="0 -1 0"/>
    <limit lower="-1e-9" upper="1e-9" velocity="1" effort="1"/></joint>
</robot>"""


def test_a_robot_that_lags_is_off_its_path_by_the_arms_times_the_error(tmp_path, capsys):
    """A stretched arm: its end is 0.8 m from one joint and 0.3 m from the other, which adds up."""
    file = tmp_path / 'arm.urdf'
    file.write_text(SLIDER)
    report = check_collisions(ik.load_robot(file))
    assert report.off_path == pytest.approx(0.1 * (0.8 + 0.3), rel=1e-6)
    assert 'up to 110 mm nearer to an obstacle' in output(capsys, file)


def test_avoid_blocks_the_poses_that_are_not_free_with_its_margin(capsys):
    robot = ik.load_robot('panda')
    report = check_collisions(robot)
    rows = np.random.default_rng(1).uniform(robot.lower, robot.upper, (4000, robot.n))
    expected = 1.0 - ik.Collisions(robot, margin=0.01).free(rows).mean()
    assert report.blocked == pytest.approx(expected, abs=0.04)
    assert report.blocked > report.colliding
    assert report.off_path == pytest.approx(0.2, abs=0.1)
    text = output(capsys, 'panda')
    assert f'blocks {100.0 * report.blocked:.3g} % of these poses' in text


def test_a_robot_that_can_not_move_is_a_problem_and_no_traceback(tmp_path, capsys):
    ball = (
        '<collision><origin xyz="{} 0 0"/><geometry><sphere radius="0.1"/></geometry></collision>'
    )
    file = tmp_path / 'fixed.urdf'
    file.write_text(
        f'<robot name="fixed"><link name="a">{ball.format(0)}</link>'
        f'<link name="b">{ball.format(1)}</link><joint name="j" type="fixed">'
        '<parent link="a"/><child link="b"/></joint></robot>'
    )
    assert main(['check', str(file)]) == 1
    assert 'no joint moves' in capsys.readouterr().out


def test_a_skeleton_of_motion_capture_is_checked(tmp_path, capsys):
    file = tmp_path / 'figure.asf'
    assert main(['human', '--out', str(file)]) == 0
    main(['check', str(file)])
    assert 'has no effort limit' in capsys.readouterr().out
