# SPDX-License-Identifier: Apache-2.0
"""MJCF models: frames equal MuJoCo's, contacts are taken, hostile files are refused."""

import os
from pathlib import Path

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import pieces_of
from ik_core.robot.robot_sources import base_joints

mujoco = pytest.importorskip('mujoco')

ARM = """<mujoco model="arm">
  <compiler angle="degree"/>
  <default>
    <joint limited="true" range="-170 170"/>
    <default class="pad">
      <geom type="box" size="0.02 0.03 0.04" contype="2" conaffinity="2"/>
    </default>
  </default>
  <worldbody>
    <geom name="floor" type="plane" size="1 1 1"/>
    <body name="base" pos="0.1 -0.2 0.3" euler="10 20 30">
      <geom type="cylinder" size="0.1 0.05"/>
      <body name="shoulder" pos="0 0.1 0.2" quat="0.3 0.5 -0.2 0.7">
        <joint name="pan" axis="0.2 0.3 0.9" pos="0.05 0.02 -0.01" ref="25"/>
        <joint name="lift" axis="1 0 0.4" pos="-0.03 0 0.07"/>
        <joint name="rail" type="slide" axis="0 1 1" range="-0.2 0.3" ref="0.1"/>
        <geom type="capsule" fromto="0 0 0 0 0 0.3" size="0.04"/>
        <body name="wrist" pos="0.3 0 0.1" axisangle="1 2 3 40">
          <joint name="roll" axis="0 0 1" limited="false"/>
          <inertial pos="0.01 0.02 0.03" mass="1.5" diaginertia="0.01 0.01 0.01"/>
          <geom type="sphere" size="0.05" contype="0" conaffinity="0" rgba="1 0 0 1"/>
          <site name="tool" pos="0 0.1 0.2" euler="0 90 0"/>
          <body name="left"><joint name="left" type="slide" axis="0 1 0" range="0 0.04"/>
            <geom class="pad"/></body>
          <body name="right"><joint name="right" type="slide" axis="0 -1 0" range="0 0.04"/>
            <geom class="pad"/></body>
        </body>
      </body>
    </body>
  </worldbody>
  <equality>
    <joint joint1="right" joint2="left" polycoef="0.002 0.5 0 0 0"/>
    <connect name="loop" body1="left" body2="base" anchor="0 0 0"/>
  </equality>
  <tendon><fixed name="grip"><joint joint="left" coef="1"/></fixed></tendon>
  <contact><exclude body1="base" body2="wrist"/></contact>
</mujoco>"""

WALKER = """<mujoco model="walker">
  <worldbody>
    <body name="pelvis" pos="0 0 0.8" quat="0.9 0.1 0.2 0.3">
      <freejoint name="root"/>
      <geom size="0.1"/>
      <body name="thigh" pos="0 0.1 -0.1">
        <joint name="hip" type="ball" pos="0.01 0.02 0.03"/>
        <geom type="capsule" size="0.04 0.2"/>
        <body name="shank" pos="0 0 -0.4">
          <joint axis="0 1 0" range="-2 0"/>
          <joint axis="1 0 0" range="-0.1 0.1"/>
          <geom type="ellipsoid" size="0.1 0.2 0.3"/>
        </body>
      </body>
    </body>
  </worldbody>
</mujoco>"""

MESHES = """<mujoco>
  <compiler meshdir="meshes"/>
  <asset><mesh name="part" file="part.stl" scale="2 3 -4"/></asset>
  <worldbody>
    <body name="a"><joint name="j" axis="0 0 1" range="-1 1"/>
      <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
      <geom type="mesh" mesh="part" pos="0.1 0.2 0.3" quat="0.5 -0.5 0.5 0.5"/></body>
    <body name="b" pos="3 0 0">{b}<geom type="mesh" mesh="part"/></body>
  </worldbody>
</mujoco>"""
INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'

REPO = os.environ.get('MUJOCO_MENAGERIE', '')
MENAGERIE = [
    'franka_emika_panda/panda.xml',
    'universal_robots_ur5e/ur5e.xml',
    'kuka_iiwa_14/iiwa14.xml',
    'ufactory_xarm7/xarm7.xml',
    'aloha/aloha.xml',
    'trs_so_arm100/so_arm100.xml',
    'unitree_g1/g1.xml',
    'unitree_h1/h1.xml',
    'pal_talos/talos.xml',
    'shadow_hand/left_hand.xml',
]


def written(folder, text, name='model.xml'):
    path = folder / name
    path.write_text(text, encoding='utf-8')
    return path


def tetrahedron(folder):
    """Write an STL; return its corners."""
    corners = np.array([[0.0, 0.0, 0.0], [0.3, 0.0, 0.0], [0.0, 0.1, 0.0], [0.0, 0.0, 0.2]])
    faces = corners[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]]
    folder.mkdir(exist_ok=True)
    rows = np.zeros(len(faces), [('normal', '<f4', 3), ('corners', '<f4', (3, 3)), ('c', '<u2')])
    rows['corners'] = faces
    head = bytes(80) + len(faces).to_bytes(4, 'little')
    (folder / 'part.stl').write_bytes(head + rows.tobytes())
    return corners


def largest_difference(path, robot, model, count=30):
    """The largest difference of any body's frame to MuJoCo's at random configurations."""
    data, rng, worst = mujoco.MjData(model), np.random.default_rng(4), 0.0
    low = np.where(np.isfinite(robot.lower), robot.lower, -3.0)
    high = np.where(np.isfinite(robot.upper), robot.upper, 3.0)
    for q in rng.uniform(low, high, (count, robot.n)):
        values, frames = robot.joint_values(q), robot.frames(q)
        for j in range(model.njnt):
            body = model.body(int(model.jnt_bodyid[j])).name
            at, kind = model.jnt_qposadr[j], model.joint(j).type[0]
            if kind >= int(mujoco.mjtJoint.mjJNT_SLIDE):
                name = model.joint(j).name
                if not name:
                    name = f'{body}_joint' + (
                        '' if j == model.body_jntadr[model.jnt_bodyid[j]] else '2'
                    )
                data.qpos[at] = values[name]
                continue
            pose = robot.link_transform(frames, body)
            turn = pose[:3, :3]
            if kind == int(mujoco.mjtJoint.mjJNT_FREE):
                data.qpos[at : at + 3] = pose[:3, 3]
                at += 3
            else:  # a ball: what it turns from the body's frame in its parent
                parent = model.body(int(model.body_parentid[model.jnt_bodyid[j]])).name
                above = robot.link_transform(frames, parent)[:3, :3]
                own = np.empty(9)
                mujoco.mju_quat2Mat(own, model.body_quat[model.jnt_bodyid[j]])
                turn = (above @ own.reshape(3, 3)).T @ turn
            mujoco.mju_mat2Quat(data.qpos[at : at + 4], turn.ravel().copy())
        mujoco.mj_forward(model, data)
        for body in range(model.nbody):
            pose = robot.link_transform(frames, model.body(body).name)
            worst = max(worst, abs(pose[:3, 3] - data.xpos[body]).max())
            worst = max(worst, abs(pose[:3, :3].ravel() - data.xmat[body]).max())
        for site in range(model.nsite):
            name = model.site(site).name
            if name and mujoco.mj_name2id(model, mujoco.mjtObj.mjOBJ_BODY, name) < 0:
                pose = robot.link_transform(frames, name)
                worst = max(worst, abs(pose[:3, 3] - data.site_xpos[site]).max())
    return worst


def loaded(path):
    """A robot all of whose joints move, and MuJoCo's own model of the file."""
    free = base_joints(ik.load_robot(path))
    return ik.load_robot(path, free_joints=free), mujoco.MjModel.from_xml_path(str(path))


@pytest.mark.parametrize('text', [ARM, WALKER], ids=['arm', 'walker'])
def test_frames_equal_those_of_mujoco(tmp_path, text):
    path = written(tmp_path, text)
    robot, model = loaded(path)
    assert largest_difference(path, robot, model) < 1e-12


@pytest.mark.thorough
@pytest.mark.parametrize('name', MENAGERIE)
def test_frames_of_menagerie_robots_equal_those_of_mujoco(name):
    path = Path(REPO) / name
    if not REPO or not path.is_file():
        pytest.skip('MUJOCO_MENAGERIE=DIR, a clone of mujoco_menagerie, is needed')
    robot, model = loaded(path)
    assert largest_difference(path, robot, model) < 1e-12


def test_joints_limits_and_couplings_are_those_of_the_model(tmp_path):
    robot = ik.load_robot(written(tmp_path, ARM))
    assert robot.name == 'arm'
    assert robot.joint_names == ('pan', 'lift', 'rail', 'roll', 'left')
    assert robot.joint_types == ('revolute', 'revolute', 'prismatic', 'continuous', 'prismatic')
    assert np.degrees(robot.upper[:2]) == pytest.approx([170.0, 170.0])
    assert (robot.lower[2], robot.upper[2]) == (-0.2, 0.3)
    mimic = robot.mimic_joints['right']
    assert (mimic.joint, mimic.multiplier, mimic.offset) == ('left', 0.5, 0.002)
    assert robot.mass == pytest.approx(
        mujoco.MjModel.from_xml_path(str(tmp_path / 'model.xml')).body_mass.sum()
    )


def test_constraints_that_a_tree_can_not_have_are_named(tmp_path):
    text = '\n'.join(ik.load_robot(written(tmp_path, ARM)).warnings)
    assert "equality constraints are not kept (connect 'loop')" in text
    assert 'tendons are not kept (grip)' in text
    assert 'collision geometry of world is not read: a URDF has no plane' in text
    walker = '\n'.join(ik.load_robot(written(tmp_path, WALKER)).warnings)
    assert 'collision geometry of shank is not read: a URDF has no ellipsoid' in walker


def test_geoms_that_may_touch_are_collision_pieces(tmp_path):
    robot = ik.load_robot(written(tmp_path, ARM))
    kinds = {piece.link: piece.kind for piece in pieces_of(robot)}
    assert kinds == {
        'base': 'cylinder',
        'shoulder': 'capsule',
        'left': 'box',
        'right': 'box',
    }


def test_pairs_that_mujoco_never_lets_touch_are_disabled(tmp_path):
    text = ARM.replace('contype="0" conaffinity="0" ', '')
    pairs = ik.Collisions(ik.load_robot(written(tmp_path, text))).pairs
    reasons = {frozenset((p.first, p.second)): p.reason for p in pairs if p.verdict == 'disabled'}
    assert reasons == {
        frozenset(('base', 'wrist')): 'contact exclude',
        frozenset(('shoulder', 'wrist')): 'Adjacent',
        frozenset(('wrist', 'left')): 'contype and conaffinity',
        frozenset(('wrist', 'right')): 'contype and conaffinity',
        frozenset(('base', 'left')): 'contype and conaffinity',
        frozenset(('base', 'right')): 'contype and conaffinity',
        frozenset(('shoulder', 'left')): 'contype and conaffinity',
        frozenset(('shoulder', 'right')): 'contype and conaffinity',
    }


@pytest.mark.parametrize('inertial', [INERTIAL, ''], ids=['given', 'of the mesh'])
def test_meshes_are_where_mujoco_has_them(tmp_path, inertial):
    corners = tetrahedron(tmp_path / 'meshes')
    path = written(tmp_path, MESHES.format(b=inertial))
    robot, model = ik.load_robot(path), mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(model)
    mujoco.mj_forward(model, data)
    vertices = {}
    for geom in range(2):
        turn = data.geom_xmat[geom].reshape(3, 3)
        vertices[model.body(geom + 1).name] = model.mesh_vert @ turn.T + data.geom_xpos[geom]
    for piece in pieces_of(robot):
        pose = robot.forward_kinematics(np.zeros(1), piece.link)
        placed = piece.corners @ pose[:3, :3].T + pose[:3, 3]
        gaps = np.linalg.norm(placed[:, None] - vertices[piece.link], axis=2).min(axis=1)
        assert len(placed) == len(corners)
        assert gaps.max() < 1e-6  # MuJoCo keeps single precision
    assert robot.mass == pytest.approx(model.body_mass.sum())


def test_a_missing_mesh_is_named_if_a_mass_depends_on_it(tmp_path):
    assert ik.load_robot(written(tmp_path, MESHES.format(b=INERTIAL))).n == 1
    with pytest.raises(ik.UrdfError, match=r"mesh 'meshes/part.stl', on which a mass depends"):
        ik.load_robot(written(tmp_path, MESHES.format(b='')))


def body(inner):
    return f'<mujoco><worldbody>{inner}</worldbody></mujoco>'


HOSTILE = {
    'an entity bomb': ('<!DOCTYPE m [<!ENTITY a "b">]><mujoco>&a;</mujoco>', 'DOCTYPE'),
    'an include outside': ('<mujoco><include file="../outside.xml"/></mujoco>', 'no such file'),
    'an absolute include': ('<mujoco><include file="/etc/passwd"/></mujoco>', 'no such file'),
    'a cycle': ('<mujoco><include file="model.xml"/></mujoco>', 'include each other in a cycle'),
    'a longer cycle': ('<mujoco><include file="other.xml"/></mujoco>', 'in a cycle'),
    'a number that is none': (
        body('<body name="a" pos="0 nan 0"><geom size="1"/></body>'),
        'line 1: <body> has pos=.0 nan 0.: finite',
    ),
    'a number that is infinite': (body('<geom size="inf"/>'), '<geom> has size=.inf'),
    'a number too much': (body('<body pos="0 0 0 0"/>'), 'MuJoCo does not compile'),
    'a name twice': (body('<body name="a"/><body name="a"/>'), "compile the model: .*'a'"),
    'a mesh outside': (
        '<mujoco><asset><mesh name="m" file="../part.stl"/></asset>'
        '<worldbody><geom type="mesh" mesh="m"/></worldbody></mujoco>',
        "mesh '../part.stl'.*outside",
    ),
    'many copies': (
        body('<replicate count="200"><replicate count="200"><body/></replicate></replicate>'),
        'more than 10000 copies',
    ),
    'deep': (body('<body>' * 400 + '</body>' * 400), 'nested at most 300 deep'),
    'an attached model': (body('<attach model="other" prefix="x"/>'), 'mj_saveLastXML'),
    'not well-formed': ('<mujoco><worldbody></mujoco>', 'not well-formed'),
}


@pytest.mark.parametrize('case', HOSTILE)
def test_hostile_models_are_refused_with_the_reason(tmp_path, case):
    text, reason = HOSTILE[case]
    written(tmp_path, '<mujocoinclude/>', 'outside.xml')
    tetrahedron(tmp_path)
    folder = tmp_path / 'model'
    folder.mkdir()
    written(folder, '<mujocoinclude><include file="model.xml"/></mujocoinclude>', 'other.xml')
    path = written(folder, text)
    with pytest.raises(ik.UrdfError, match=reason) as refused:
        ik.load_robot(path)
    assert str(refused.value).startswith(f'{path}: ')


def test_a_huge_mesh_is_refused(tmp_path):
    tetrahedron(tmp_path / 'meshes')
    with (tmp_path / 'meshes/part.stl').open('r+b') as file:
        file.truncate(70_000_000)  # sparse
    with pytest.raises(ik.UrdfError, match=r'part\.stl.*larger than 64 MB'):
        ik.load_robot(written(tmp_path, MESHES.format(b='')))


def test_includes_in_the_folder_are_read(tmp_path):
    inner = (
        '<mujocoinclude><body name="b"><joint name="j"/><geom size="1"/></body></mujocoinclude>'
    )
    (tmp_path / 'parts').mkdir()
    written(tmp_path / 'parts', inner, 'arm.xml')
    path = written(tmp_path, body('<include file="parts/arm.xml"/>'))
    assert ik.load_robot(path).joint_names == ('j',)


def test_the_text_of_a_model_is_refused():
    with pytest.raises(ik.UrdfError, match='give the path of its file'):
        ik.load_robot(WALKER)
