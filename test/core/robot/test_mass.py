# SPDX-License-Identifier: Apache-2.0
"""Masses and centres of mass: those that pinocchio computes of the same description."""

import math
import re

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from support import robots
from support.example_robot_data import EMPTY, URDFS
from support.random_trees import free_joints_of, trees

import ik_core as ik
from ik_core.robot.mass import Inertial

HEAVY = ('panda', 'ur5_robot', 'talos_full_v2', 'hyq_no_sensors', 'tiago', 'solo12', 'romeo')
PATHS = [path for path in URDFS if path.stem in HEAVY and path.name != EMPTY]

LIMIT = '<limit lower="-3" upper="3" velocity="1"/>'


def inertial(mass, xyz='0 0 0', more=''):
    return f'<inertial><origin xyz="{xyz}" rpy="1 2 3"/><mass value="{mass}"/>{more}</inertial>'


def pendulum(of_base='', of_arm='', of_tip=''):
    """A link that turns about z at (1, 0, 0), with a tip fixed to it 2 m along its x."""
    return (
        f'<robot name="p"><link name="base">{of_base}</link><link name="arm">{of_arm}</link>'
        f'<link name="tip">{of_tip}</link>'
        f'<joint name="j" type="revolute"><origin xyz="1 0 0"/><parent link="base"/>'
        f'<child link="arm"/><axis xyz="0 0 1"/>{LIMIT}</joint>'
        '<joint name="f" type="fixed"><origin xyz="2 0 0"/><parent link="arm"/>'
        '<child link="tip"/></joint></robot>'
    )


def test_a_pendulum_by_hand():
    robot = ik.load_robot(pendulum(inertial(3.0, '0 0 1'), inertial(1.0, '1 0 0'), inertial(2.0)))
    assert robot.mass == 6.0
    moment = 1.0 * 1.0 + 2.0 * 2.0  # about the joint
    for angle in (0.0, 0.7, -2.0):
        c, s = math.cos(angle), math.sin(angle)
        expected = np.array([3.0 + moment * c, moment * s, 3.0]) / 6.0
        np.testing.assert_allclose(robot.centre_of_mass([angle]), expected, atol=1e-15)
        rate = np.array([[-moment * s], [moment * c], [0.0]]) / 6.0
        np.testing.assert_allclose(robot.centre_of_mass_jacobian([angle]), rate, atol=1e-15)


@pytest.mark.parametrize(
    ('broken', 'reason'),
    [
        (inertial('heavy'), '<mass>: value=.*not negative'),
        (inertial(-1.0), '<mass>: value=.*not negative'),
        (inertial('nan'), '<mass>: value='),
        (inertial(1.0, '0 0'), '<origin>: xyz='),
        (inertial(1.0, '0 0 1e30'), '<origin> is too large'),
        ('<inertial/>', '<mass value="..."/> is missing'),
        ('<inertial><mass/></inertial>', '<mass>: the attribute value="..." is missing'),
    ],
)
def test_a_broken_inertial_is_ignored_with_a_warning(broken, reason):
    robot = ik.load_robot(pendulum(broken, inertial(2.0)))
    assert robot.mass == 2.0
    [warning] = [text for text in robot.warnings if 'inertial' in text]
    assert warning.startswith("link 'base': its inertial is ignored: ")
    assert re.search(reason, warning)


def test_other_elements_of_an_inertial_and_second_ones_do_not_count():
    more = '<mass value="9"/><inertia ixx="x"/>'
    twice = inertial(2.0, more=more) + inertial(7.0)
    robot = ik.load_robot(pendulum(twice, inertial(0.0)))
    assert robot.mass == 2.0
    assert "link 'base': a second <inertial> is ignored" in robot.warnings


@pytest.mark.parametrize('name', [name for name in robots.SHIPPED if name != 'human'])
def test_a_robot_without_masses_is_refused_with_a_sentence(name):
    robot = robots.shipped(name)
    assert robot.mass == 0.0
    q = robot.middle_configuration
    goal = ik.PositionTask(robot.tips()[0], [0.1, 0.2, 0.3])
    problem = ik.IkProblem(robot, [goal], secondary=[ik.tasks.CentreOfMassTask([0, 0, 0])])
    for refused in (
        lambda: robot.centre_of_mass(q),
        lambda: robot.centre_of_mass_jacobian(q),
        lambda: ik.solve(problem, q),
    ):
        with pytest.raises(ik.UnsupportedProblem, match=f"'{name}' has no masses: its links need"):
            refused()


@given(trees(), st.integers(0, 2**31))
@settings(max_examples=60)
def test_the_jacobian_is_the_derivative_for_any_tree(tree, seed):
    links, joints = tree
    rng = np.random.default_rng(seed)
    inertials = {link: Inertial(rng.uniform(0.1, 2.0), rng.normal(size=3)) for link in links[::2]}
    robot = ik.Robot.from_joints(
        'tree', links, joints, free_joints=free_joints_of(joints), inertials=inertials
    )
    assume(robot.n)
    q = rng.uniform(-2.0, 2.0, robot.n)
    expected = sum(
        i.mass * (robot.forward_kinematics(q, link) @ [*i.centre, 1.0])[:3]
        for link, i in inertials.items()
    )
    np.testing.assert_allclose(robot.centre_of_mass(q) * robot.mass, expected, atol=1e-10)
    central = robots.central_differences(robot.centre_of_mass, q, 1e-6)
    robots.assert_same_jacobian(robot.centre_of_mass_jacobian(q), central)


@pytest.mark.skipif(not PATHS, reason='example-robot-data is not installed')
@pytest.mark.parametrize('path', PATHS, ids=[path.stem for path in PATHS])
def test_centres_of_mass_agree_with_pinocchio(path):
    pin = pytest.importorskip('pinocchio')
    robot = ik.load_robot(path)
    model = pin.buildModelFromUrdf(str(path), pin.JointModelFreeFlyer())
    data = model.createData()  # with a free base, whose mass counts too
    assert robot.mass == pytest.approx(pin.computeTotalMass(model), rel=1e-12)
    rng = np.random.default_rng(len(path.name))
    for _ in range(5):
        q = rng.uniform(-2.0, 2.0, robot.n)
        values, full = robot.joint_values(q), pin.neutral(model)
        rates = np.zeros((model.nv, robot.n))
        for name, joint in list(zip(model.names, model.joints, strict=True))[2:]:
            angle = values[name]
            wide = joint.nq == 2
            full[joint.idx_q : joint.idx_q + joint.nq] = (
                (math.cos(angle), math.sin(angle)) if wide else (angle,)
            )
            mimic = robot.mimic_joints.get(name, ik.robot.Mimic(name))
            rates[joint.idx_v, robot.joint_index(mimic.joint)] = mimic.multiplier
        expected = pin.centerOfMass(model, data, full)
        np.testing.assert_allclose(robot.centre_of_mass(q), expected, atol=1e-10)
        jacobian = pin.jacobianCenterOfMass(model, data, full) @ rates
        np.testing.assert_allclose(robot.centre_of_mass_jacobian(q), jacobian, atol=1e-10)


def test_a_centre_of_mass_that_can_be_had_is_had():
    robot = robots.weighed('dual_arm')
    q = robots.random_q(robot, np.random.default_rng(3), margin=0.2)
    task = ik.tasks.CentreOfMassTask(robot.centre_of_mass(q))
    result = ik.solve(ik.IkProblem(robot, [task]))
    assert result.success, result.message
    np.testing.assert_allclose(robot.centre_of_mass(result.q), task.position, atol=1e-5)


def test_a_robot_balances_with_the_freedom_that_its_hand_leaves():
    robot = robots.weighed('pr2_like')
    q = robot.middle_configuration
    hand = ik.PositionTask(robot.tips()[0])
    hand.set_target(robot.forward_kinematics(q + 0.2, hand.link))
    balance = ik.tasks.CentreOfMassTask(robot.centre_of_mass(q), weights=(1.0, 1.0, 0.0))
    free = ik.solve(ik.IkProblem(robot, [hand]), q)
    result = ik.solve(ik.IkProblem(robot, [hand], secondary=[balance]), q)
    assert result.success
    away = [np.linalg.norm(balance.residual(robot, end.q)) for end in (free, result)]
    assert away[1] < 0.7 * away[0]
    assert freedom_left(balance, hand, robot, result.q) < 0.05
    assert freedom_left(balance, hand, robot, free.q) > 0.1


def freedom_left(task, goal, robot, q):
    """The share of the slope of a task's cost that joints could follow without moving a goal."""
    inside = (q > robot.lower + 1e-6) & (q < robot.upper - 1e-6)
    slope = (task.jacobian(robot, q).T @ task.residual(robot, q))[inside]
    held = robot.jacobian(q, goal.link)[:3, inside].T
    left = slope - held @ np.linalg.lstsq(held, slope)[0]
    return np.linalg.norm(left) / np.linalg.norm(slope)
