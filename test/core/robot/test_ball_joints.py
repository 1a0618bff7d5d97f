# SPDX-License-Identifier: Apache-2.0
"""Joints of several degrees of freedom, as stacks of simple ones: ball, floating, planar.

Orientations are scipy's, Jacobians those of Engell-Norregard & Erleben 2011, A.19 and A.22.
"""

import itertools
import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import InvalidOption, PoseTask, PositionTask, Robot, TwoAxisTask
from ik_core.robot import Joint
from ik_core.robot.joints import SINGULAR_MARGIN, clear_of_singularity
from ik_core.robot.urdf_text import urdf_text

ORDERS = [
    ''.join(order)
    for order in itertools.product('XYZ', repeat=3)
    if order[1] not in (order[0], order[2])
]
ORIGIN = robots.transform(Rotation.from_rotvec([0.4, -0.7, 0.2]), [0.3, -0.1, 0.5])
TOOL = robots.transform(Rotation.from_rotvec([-0.3, 0.9, 0.5]), [0.2, 0.4, -0.3])
Y = np.array([0.0, 1.0, 0.0])

every_order = pytest.mark.parametrize('order', ORDERS)


def single_ball(order='ZYZ', **limits):
    """A ball joint away from the root, turned, and a tool fixed to it."""
    joints = [
        Joint('ball', 'ball', 'base', 'bone', ORIGIN, rotation_order=order, **limits),
        Joint('fixed', 'fixed', 'bone', 'tip', TOOL),
    ]
    return Robot.from_joints('ball', ['base', 'bone', 'tip'], joints)


def limb(order='ZYZ', **limits):
    """Shoulder (ball), elbow (hinge), wrist (ball), with bones of 0.5 m and a hand of 0.1 m."""
    along = robots.transform(translation=[0.5, 0.0, 0.0])
    joints = [
        Joint('shoulder', 'ball', 'torso', 'arm', ORIGIN, rotation_order=order, **limits),
        Joint('elbow', 'revolute', 'arm', 'forearm', along, Y, lower=0.0, upper=2.5),
        Joint('wrist', 'ball', 'forearm', 'palm', along, rotation_order='XYZ', lower=-1.2,
              upper=1.2),
        Joint('hand', 'fixed', 'palm', 'hand', robots.transform(translation=[0.1, 0.0, 0.0])),
    ]  # fmt: skip
    return Robot.from_joints('limb', ['torso', 'arm', 'forearm', 'palm', 'hand'], joints)


def free(kind):
    """A hinge on a floating or planar base."""
    joints = [
        Joint('base', kind, 'world', 'body', ORIGIN, Y),
        Joint('hinge', 'revolute', 'body', 'arm', TOOL, Y, lower=-2.0, upper=2.0),
    ]
    return Robot.from_joints(kind, ['world', 'body', 'arm'], joints, free_joints=['base'])


def test_there_are_twelve_orders():
    assert len(ORDERS) == 12


@every_order
def test_a_ball_joint_turns_as_scipy_does_in_that_order(order):
    robot, rng = single_ball(order), np.random.default_rng(1)
    for _ in range(5):
        q = rng.uniform(-np.pi, np.pi, 3)
        turn = robots.transform(Rotation.from_euler(order, q))
        np.testing.assert_allclose(
            robot.forward_kinematics(q, 'tip'), ORIGIN @ turn @ TOOL, atol=1e-14
        )


def test_a_floating_joint_shifts_and_then_turns_by_yaw_pitch_and_roll():
    q = np.array([0.3, -0.2, 0.7, 1.1, -0.4, 2.2, 0.0])
    motion = robots.transform(Rotation.from_euler('ZYX', q[3:6]), q[:3])
    pose = free('floating').forward_kinematics(q, 'arm')
    np.testing.assert_allclose(pose, ORIGIN @ motion @ TOOL, atol=1e-14)


def test_a_planar_joint_shifts_in_its_plane_and_turns_about_its_normal():
    robot = free('planar')
    q = np.array([0.3, -0.2, 1.1, 0.0])
    motion = np.linalg.inv(ORIGIN) @ robot.forward_kinematics(q, 'body')
    np.testing.assert_allclose(
        motion[:3, :3], Rotation.from_rotvec([0.0, 1.1, 0.0]).as_matrix(), atol=1e-14
    )
    assert motion[1, 3] == pytest.approx(0.0, abs=1e-15)  # y is the normal
    assert np.linalg.norm(motion[:3, 3]) == pytest.approx(np.hypot(0.3, 0.2))
    alone = [
        (np.linalg.inv(ORIGIN) @ robot.forward_kinematics(p, 'body'))[:3, 3]
        for p in np.diag([1.0, 1.0, 0.0, 0.0])[:2]
    ]
    assert alone[0] @ alone[1] == pytest.approx(0.0, abs=1e-15)


AXES = ('0 0 1', '0 0 -1', '1 0 0', '0 1 0', '-1 0 0', '0.6 0 0.8', '0.48 -0.64 -0.6')


@pytest.mark.parametrize('axis', AXES)
def test_a_planar_joint_moves_as_pinocchios_whose_z_is_the_axis(axis):
    """Pinocchio's moves in x and y of its frame and turns about z, whatever the axis: its frame
    is turned first, by the shortest turn of z onto the axis, and back for the link."""
    pin = pytest.importorskip('pinocchio')
    text = (
        '<robot name="plane"><link name="a"/><link name="b"/><joint name="j" type="planar">'
        '<parent link="a"/><child link="b"/><origin xyz="0.1 0.2 0.3" rpy="0.3 -0.4 0.5"/>'
        f'<axis xyz="{axis}"/></joint></robot>'
    )
    robot = ik.load_robot(text, free_joints=['j'])
    origin = pin.SE3(robot.forward_kinematics(np.zeros(3), 'b'))
    normal = np.array(axis.split(), float)
    turn = pin.Quaternion.FromTwoVectors(np.array([0.0, 0.0, 1.0]), normal).matrix()
    if axis == '0 0 -1':  # every axis across z will do: x
        turn = np.diag([1.0, -1.0, -1.0])
    plane = pin.SE3(turn, np.zeros(3))
    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelPlanar(), origin * plane, 'j')
    data = model.createData()
    for x, y, yaw in np.random.default_rng(4).uniform(-1.0, 1.0, (5, 3)):
        pin.forwardKinematics(model, data, np.array([x, y, np.cos(yaw), np.sin(yaw)]))
        expected = data.oMi[joint] * plane.inverse()
        pose = robot.forward_kinematics([x, y, yaw], 'b')
        np.testing.assert_allclose(pose, expected.homogeneous, atol=1e-14)


def test_columns_of_a_ball_joint_are_those_of_the_paper():
    """A.22: u x r0, u x i and u x j for u = z, v = Rz y and w = Rz Ry z of A.19.

    The corner of A.16 is 1, as in A.7. A.8, printed for the cross product of A.18, is another
    matrix: with it, the columns would be others.
    """
    robot = limb()
    q = robots.random_q(robot, np.random.default_rng(2))
    phi, psi, _ = q[:3]
    rz, ry = Rotation.from_euler('z', phi).as_matrix(), Rotation.from_euler('y', psi).as_matrix()
    z, y = np.eye(3)[2], np.eye(3)[1]
    axes = [ORIGIN[:3, :3] @ axis for axis in (z, rz @ y, rz @ ry @ z)]
    hand = robot.forward_kinematics(q, 'hand')
    r0 = hand[:3, 3] - ORIGIN[:3, 3]
    expected = np.array(
        [np.concatenate([np.cross(u, v) for v in (r0, hand[:3, 0], hand[:3, 1])]) for u in axes]
    ).T
    tasks = PositionTask('hand', np.zeros(3)), TwoAxisTask('hand', [0, 0, 0, 1])
    jacobian = np.vstack([task.jacobian(robot, q) for task in tasks])
    np.testing.assert_allclose(jacobian[:, :3], expected, atol=1e-14)
    geometric = robot.jacobian(q, 'hand')[:, :3]
    np.testing.assert_allclose(geometric[:3], expected[:3], atol=1e-14)
    np.testing.assert_allclose(geometric[3:], np.transpose(axes), atol=1e-14)
    x, y, z = axes[1]
    printed = np.array([[0, y, -z], [-y, 0, x], [z, -x, 0]])
    assert not np.allclose(printed @ r0, np.cross(axes[1], r0), atol=1e-3)


def test_the_pose_in_the_papers_words():
    robot, q = single_ball(), np.array([0.4, 0.9, -1.3])
    rz, ry, rz2 = (Rotation.from_euler(a, v).as_matrix() for a, v in zip('zyz', q, strict=True))
    t = np.eye(4)  # A.16, with 1 in the corner
    t[:3, :3] = rz @ ry @ rz2
    np.testing.assert_allclose(robot.forward_kinematics(q, 'bone'), ORIGIN @ t, atol=1e-14)


def test_what_was_one_joint_is_remembered():
    robot = limb()
    assert robot.joint_names == (
        'shoulder/z', 'shoulder/y', 'shoulder/z2', 'elbow', 'wrist/x', 'wrist/y', 'wrist/z',
    )  # fmt: skip
    groups = [(g.name, g.kind, g.indices, g.rotation_order) for g in robot.joint_groups]
    assert groups == [
        ('shoulder', 'ball', (0, 1, 2), 'ZYZ'),
        ('elbow', 'revolute', (3,), ''),
        ('wrist', 'ball', (4, 5, 6), 'XYZ'),
    ]
    assert [g.ball for g in robot.joint_groups] == [(0, 1, 2), (), (4, 5, 6)]
    assert [g.ball for g in free('floating').joint_groups] == [(3, 4, 5), ()]
    assert [g.ball for g in free('planar').joint_groups] == [(), ()]
    assert robot.tips() == ['hand']
    assert set(robot.link_names) == {'torso', 'arm', 'forearm', 'palm', 'hand'}


@every_order
def test_ball_joint_of_a_urdf_is_one_again(order):
    robot = single_ball(order, lower=[-1, -2, -3], upper=[3, 2, 1], velocity=4.0)
    again = ik.load_robot(urdf_text(robot))
    assert again.joint_groups == robot.joint_groups
    assert again.joint_names == robot.joint_names
    np.testing.assert_array_equal(again.lower, robot.lower)
    np.testing.assert_array_equal(again.velocity, robot.velocity)
    q = np.array([0.4, 0.9, -1.3])
    at, expected = (r.forward_kinematics(q, 'tip') for r in (again, robot))
    np.testing.assert_allclose(at, expected, atol=1e-12)


@pytest.mark.parametrize(
    ('old', 'new'),
    [
        ('"ball/y"', '"ball/w"'),
        ('"ball/y"', '"bowl/y"'),
        ('"ball/y_link"', '"elbow"'),
        ('xyz="0.0 1.0 0.0"', 'xyz="0.0 0.6 0.8"'),
        ('xyz="0.0 0.0 0.0"', 'xyz="0.0 0.0 0.1"'),
        ('type="revolute"', 'type="prismatic"'),
        ('<child link="bone"', '<mimic joint="ball/z" /><child link="bone"'),
        ('<parent link="bone"', '<parent link="ball/y_link"'),
    ],
)
def test_other_joints_in_series_stay_apart(old, new):
    """Other names, axes, places or kinds, a joint that mimics, and a link that carries two."""
    text = urdf_text(single_ball('ZYX', lower=-1.0, upper=1.0))
    assert old in text
    groups = ik.load_robot(text.replace(old, new)).joint_groups
    assert {group.kind for group in groups} <= {'revolute', 'prismatic'}


def test_limits_are_one_for_all_angles_or_one_for_each():
    one = single_ball(lower=-1.0, upper=2.0, velocity=3.0)
    assert one.lower.tolist() == [-1.0] * 3
    assert one.upper.tolist() == [2.0] * 3
    assert one.velocity.tolist() == [3.0] * 3
    assert one.joint_types == ('revolute',) * 3
    each = single_ball(lower=[-1.0, -math.inf, -3.0], upper=np.array([1.0, math.inf, 3.0]),
                       velocity=(1, 2, 3))  # fmt: skip
    assert each.lower.tolist() == [-1.0, -math.inf, -3.0]
    assert each.upper.tolist() == [1.0, math.inf, 3.0]
    assert each.velocity.tolist() == [1.0, 2.0, 3.0]
    assert each.joint_types == ('revolute', 'continuous', 'revolute')
    assert each.continuous.tolist() == [False, True, False]
    assert single_ball().joint_types == ('continuous',) * 3


@pytest.mark.parametrize(
    ('more', 'message'),
    [
        ({'rotation_order': 'ZZY'}, 'ZZY'),
        ({'rotation_order': 'XYYZ'}, 'XYYZ'),
        ({'rotation_order': 'XY'}, 'XY'),
        ({'rotation_order': 'xyz'}, 'xyz'),
        ({'lower': [0.0, 1.0]}, 'lower'),
        ({'upper': np.full((3, 1), 1.0)}, 'upper'),
        ({'velocity': [1.0, math.nan, 1.0]}, 'velocity'),
        ({'mimic': ik.robot.Mimic('other')}, 'other'),
    ],
)
def test_balls_that_make_no_sense_are_refused_by_name(more, message):
    joint = Joint('hip', 'ball', 'a', 'b', **more)
    with pytest.raises(InvalidOption, match=f"'hip'.*{message}"):
        Robot.from_joints('r', ['a', 'b'], [joint])


def singular_middle(order):
    return 0.0 if order[0] == order[2] else 0.5 * np.pi


@every_order
def test_one_middle_angle_is_singular_and_the_default_start_keeps_clear_of_it(order):
    for limits in ({}, {'lower': -1.8, 'upper': 1.8}, {'lower': -0.2, 'upper': 3.0}):
        robot = single_ball(order, **limits)
        q = robot.middle_configuration
        assert robots.inside(robot, q)
        away = abs(np.sin(q[1] - singular_middle(order)))
        assert away >= np.sin(SINGULAR_MARGIN) - 1e-12
        assert np.linalg.svd(robot.jacobian(q, 'bone')[3:])[1][-1] > 0.3
        q[1] = singular_middle(order)
        assert np.linalg.svd(robot.jacobian(q, 'bone')[3:])[1][-1] < 1e-12


@pytest.mark.parametrize(
    ('order', 'middle', 'lower', 'upper', 'expected'),
    [
        ('ZYZ', 0.0, -1.0, 1.0, 0.5),
        ('ZYZ', -0.1, -1.0, 0.8, -0.5),
        ('ZYZ', 0.0, -0.3, 0.3, 0.3),
        ('ZYZ', 0.05, -0.2, 0.3, 0.3),
        ('ZYZ', -0.05, -0.3, 0.2, -0.3),
        ('ZYZ', 0.1, -0.6, 0.3, -0.5),
        ('ZYZ', 3.1, 2.0, 4.2, np.pi - 0.5),
        ('ZYZ', 0.7, -1.0, 2.4, 0.7),
        ('XYZ', 0.0, -1.0, 1.0, 0.0),
        ('XYZ', 1.5, 0.5, 2.5, 0.5 * np.pi - 0.5),
        ('XYZ', -1.6, -2.5, -0.7, -0.5 * np.pi - 0.5),
        ('ZYZ', 0.0, 0.0, 0.0, 0.0),
    ],
)
def test_clear_of_the_singularity_as_far_as_the_limits_allow(
    order, middle, lower, upper, expected
):
    assert clear_of_singularity(order, middle, lower, upper) == pytest.approx(expected)


def test_other_limits_have_another_middle():
    robot = limb(lower=-1.0, upper=1.0)
    lower, upper = robot.lower.copy(), robot.upper.copy()
    lower[1], upper[3] = 0.6, 1.0
    middle = robot.middle_of(lower, upper)
    assert middle[[0, 1, 3]] == pytest.approx([0.0, 0.8, 0.5])
    assert robot.middle_configuration[[0, 1, 3]] == pytest.approx([0.0, 0.5, 1.25])


def near(robot, q, rng):
    return np.clip(q + rng.uniform(-0.15, 0.15, robot.n), robot.lower, robot.upper)


def on_its_singularity():
    """Return q with all angles of both balls at zero: z, y, z of the shoulder then have only two
    axes."""
    robot = limb(lower=-1.5, upper=1.5)
    q = np.array([0.5, 0.4, -0.2, 0.5, 0.2, -0.1, 0.15])
    return robot, 'hand', q, np.array([0.0, 0.0, 0.0, 0.3, 0.0, 0.0, 0.0])


def of_kind(name):
    """(robot, link, a configuration, a start near to it) with joints of a kind."""
    if name == 'ball at its singularity':
        return on_its_singularity()
    robot, link = {
        'ball': lambda: (limb(), 'hand'),
        'floating': lambda: (free('floating'), 'arm'),
        'planar': lambda: (free('planar'), 'arm'),
        'prismatic': lambda: (robots.shipped('scara'), 'tool'),
        'continuous': lambda: (
            robots.shipped('pr2_like'),
            robots.tip_of(robots.shipped('pr2_like')),
        ),
        'mimic': lambda: (robots.shipped('panda'), 'panda_rightfinger'),
    }[name]()
    rng = np.random.default_rng(5)
    q = robots.random_q(robot, rng, margin=0.3)
    return robot, link, q, near(robot, q, rng)


KINDS = ('ball', 'ball at its singularity', 'floating', 'planar', 'prismatic', 'continuous',
         'mimic')  # fmt: skip


@pytest.mark.parametrize('solver', ik.SOLVERS)
@pytest.mark.parametrize('kind', KINDS)
def test_every_solver_handles_every_kind_of_joint_or_says_why_not(solver, kind):
    robot, link, q, start = of_kind(kind)
    goal = PositionTask(link, robot.forward_kinematics(q, link)[:3, 3])
    problem = ik.IkProblem(robot, [goal], position_tolerance=1e-3)
    try:
        result = ik.make_solver(solver).solve(problem, start)
    except ik.UnsupportedProblem as reason:
        assert solver in str(reason)
        return
    assert result.success, result.message
    assert robots.inside(robot, result.q, problem.variables)
    reached = robot.forward_kinematics(result.q, link)[:3, 3]
    assert np.linalg.norm(reached - goal.target[9:]) <= 1e-3


def test_poses_are_reached_from_the_default_start_and_from_the_singular_one():
    robot = limb()
    q = robots.random_q(robot, np.random.default_rng(6), margin=0.2)
    problem = ik.IkProblem(
        robot, [PoseTask('hand', transform=robot.forward_kinematics(q, 'hand'))]
    )
    assert ik.solve(problem).success
    assert ik.solve(problem, np.zeros(7)).success
