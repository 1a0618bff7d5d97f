# SPDX-License-Identifier: Apache-2.0
"""The model: topics of tips, changed parameters, and recordings that it does not notice."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import load, snapshot

import ik_core as ik
from ik_core.shared_files import shared_file
from ik_core.tracking import TrackStatus
from ik_core.tracking.instructions import SetGoal, SetTwist
from ik_core.tracking.recording import Recorder
from ik_node.known_collisions import KnownCollisions
from ik_node.parameters.node_options import Limits
from ik_node.robot_model import Model, goal_topic, prepare_robot


@pytest.mark.parametrize(
    ('link', 'topic'),
    [
        ('panda_hand', 'panda_hand/goal_pose'),
        ('left arm-tip', 'left_arm_tip/goal_pose'),
        ('r/tool', 'r_tool/goal_pose'),
        ('7dof', '_7dof/goal_pose'),
    ],
)
def test_the_topic_of_a_tip_is_a_valid_name(link, topic):
    from rclpy.validate_topic_name import validate_topic_name

    assert goal_topic(link) == topic
    assert validate_topic_name(topic)


def test_shipped_files_are_found():
    assert shared_file('urdf/panda.urdf').is_file()
    with pytest.raises(FileNotFoundError, match=r'no_robot\.urdf'):
        shared_file('urdf/no_robot.urdf')


def other_tolerance(parameters):
    """For this a model makes another problem."""
    return replace(parameters, node=replace(parameters.node, position_tolerance=1e-4))


def test_limits_that_change_together_with_a_tolerance_hold():
    slow = {f'panda_joint{i}': Limits(velocity=0.05) for i in range(1, 8)}
    parameters = snapshot(tip_links=('panda_hand',))
    model = Model(load('panda'), parameters)
    model.set_parameters(replace(other_tolerance(parameters), joint_limits=slow))
    goal = model.tip_pose(0)
    goal[:3, 3] += (0.05, 0.1, -0.1)
    model.apply(SetGoal(0, goal, 0.0))
    speeds = [np.abs(model.tracker.tick(0.004 * i).dq).max() for i in range(20)]
    assert max(speeds) == pytest.approx(0.05)


def test_joints_without_a_limit_are_named_unless_a_default_limits_them():
    parameters = snapshot(tip_links=('panda_hand',))
    own = {f'panda_joint{i}': Limits(acceleration=1.0) for i in range(1, 7)}
    parameters = replace(parameters, default_limits=Limits(), joint_limits=own)
    (said,) = (s for s in Model(load('panda'), parameters).missing_limits() if 'accel' in s)
    assert said == (
        'no acceleration limit for panda_joint7, panda_finger_joint1; '
        'joint_limits.default.acceleration is not set: they are not limited'
    )
    parameters = replace(parameters, default_limits=Limits(acceleration=2.5))
    assert not [s for s in Model(load('panda'), parameters).missing_limits() if 'accel' in s]


def test_following_errors_are_a_joints_own_or_the_default():
    robot, parameters = load('panda'), snapshot(tip_links=('panda_hand',))
    parameters = replace(parameters, default_limits=Limits(following_error=0.2))
    model = Model(robot, parameters)
    np.testing.assert_array_equal(model.following_errors, np.full(9, 0.2))  # a mimic joint last
    own = {'panda_joint3': Limits(following_error=0.5), 'panda_joint4': Limits(velocity=1.0)}
    model.set_parameters(replace(parameters, joint_limits=own))
    np.testing.assert_array_equal(model.following_errors, [0.2, 0.2, 0.5, *[0.2] * 6])


def test_what_a_controller_is_sent_is_what_has_to_be_measured():
    """A mimic joint moves with its driver; a frozen one in the chain is only measured."""
    options = {'tip_links': ('panda_hand',), 'output': 'position_command'}
    frozen = Model(load('panda'), snapshot(**options, frozen_joints=('panda_joint2',)))
    assert frozen.commanded_joints() == [0, 2, 3, 4, 5, 6]
    assert frozen.needed_joints() == tuple(f'panda_joint{i}' for i in range(1, 8))
    names = ('panda_finger_joint2', 'panda_joint1')
    fingers = Model(load('panda'), snapshot(**options, command_joints=names))
    assert fingers.commanded_joints() == [0, 7]
    assert fingers.needed_joints()[-1] == 'panda_finger_joint1'


@pytest.mark.parametrize('name', ['tip_links', 'command_joints'])
def test_what_is_named_twice_is_told(name):
    link = {'tip_links': 'panda_hand', 'command_joints': 'panda_joint1'}[name]
    with pytest.raises(ik.InvalidOption, match=f'^{name} names {link} more than once$'):
        Model(load('panda'), snapshot(**{name: (link, link)}))


@pytest.mark.parametrize(
    ('there', 'said'), [(True, r' is a directory: give the URDF file in it'), (False, 'no file')]
)
def test_a_path_that_is_no_file_is_told_for_what_it_is(tmp_path, there, said):
    path = tmp_path if there else tmp_path / 'gone.urdf'
    with pytest.raises(ik.UrdfError, match=f'^urdf_path: .*{said}'):
        prepare_robot(path, snapshot(), KnownCollisions())


def test_the_rest_posture_outlives_a_change_of_tolerance():
    parameters = snapshot(tip_links=('panda_hand',))
    parameters = replace(parameters, tracker=replace(parameters.tracker, rest_rate=2.0))
    model = Model(load('panda'), parameters)
    rest = model.tracker.q
    free = np.linalg.svd(model.robot.jacobian(rest, 'panda_hand')[:, :7])[2][-1]
    model.tracker.reset(rest + 0.3 * np.append(free, 0.0))
    model.set_parameters(other_tolerance(parameters))
    model.apply(SetGoal(0, model.tip_pose(0), 0.0))
    for i in range(300):
        command = model.tracker.tick(0.004 * i)
    assert np.linalg.norm(command.q - rest) < 0.15


def jog(model, now):
    model.apply(SetTwist(0, np.array([0.0, 0.05, -0.05]), np.zeros(3), now))


def move(model, now):
    if now == 0.0:
        goal = model.tip_pose(0)
        goal[:3, 3] += (0.05, 0.3, -0.2)
        model.apply(SetGoal(0, goal, now))


@pytest.mark.parametrize('act', [jog, move])
@pytest.mark.parametrize('way', ['joint', 'linear'])
def test_a_motion_does_not_notice_that_it_is_recorded(act, way):
    parameters = snapshot(tip_links=('panda_hand',))
    parameters = replace(parameters, tracker=replace(parameters.tracker, move=way))
    recorded, plain = (Model(load('panda'), parameters) for _ in range(2))
    tracker = recorded.tracker
    for model in (recorded, plain):
        model.tracker._clock._clock = lambda: 0.0  # a busy machine ends their solves elsewhere
    for k in range(150):
        if k in (10, 20):
            assert not tracker.at_rest
            recorded.record(Recorder('') if k == 10 else None)
        for model in (recorded, plain):
            act(model, 0.004 * k)
        one, other = (model.tracker.tick(0.004 * k) for model in (recorded, plain))
        np.testing.assert_array_equal(one.q, other.q)
        assert one.status is other.status
    assert recorded.tracker is tracker


def test_a_stale_goal_does_not_come_back_with_a_recording():
    parameters = snapshot(tip_links=('panda_hand',))
    tracker = replace(parameters.tracker, goal_timeout=0.1)
    model = Model(load('panda'), replace(parameters, tracker=tracker))
    move(model, 0.0)
    for k in range(500):
        model.tracker.tick(0.004 * k)
    model.set_parameters(parameters)  # no timeout any more
    model.record(Recorder(''))
    command = model.tracker.tick(2.0)
    assert command.status is TrackStatus.STALE
    assert not command.dq.any()
