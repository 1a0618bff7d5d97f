# SPDX-License-Identifier: Apache-2.0
"""Kinds of goals: the pose, the position, or the position and the direction of the z axis."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool
from support.node_harness import check_states, load, reachable_goal
from support.panda_world import ACCELERATION, RATE, TIP, call, panda_world, tip_of, until_at

from ik_core.maths.rotations import matrix_from_rpy
from ik_core.tracking.recording import read_recording, replay

KIND = f'goal_kind__{TIP}'
ANGLE = f'{TIP}.orientation_error [rad]'
# So far out that the hand can't look back from there
BACKWARDS = np.array(
    [[0.0, 0.0, -1.0, 0.8], [0.0, 1.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.35], [0.0, 0.0, 0.0, 1.0]]
)


def rolled(goal, angle):
    """A goal (4, 4) turned about its own z axis."""
    turn = np.eye(4)
    turn[:3, :3] = matrix_from_rpy((0.0, 0.0, angle))
    return goal @ turn


def set_kind(panda, kind, **others):
    """Let this count from the next tick on."""
    answer = panda.set_parameters(**{KIND: kind, **others})
    assert answer.successful, answer.reason


def until_position(panda, robot, goal):
    """Wait until the tip is where the goal is, whatever its orientation."""
    panda.until(
        lambda: np.linalg.norm(tip_of(robot, panda.states[-1])[:3, 3] - goal[:3, 3]) < 2e-5,
        'the position',
    )


def axis_error(there, goal):
    """The angle [rad] between the z axes."""
    return np.arctan2(
        np.linalg.norm(np.cross(there[:3, 2], goal[:3, 2])), there[:3, 2] @ goal[:3, 2]
    )


def roll_error(there, goal):
    """The angle [rad] between the orientations."""
    return np.arccos(np.clip(0.5 * (np.trace(there[:3, :3].T @ goal[:3, :3]) - 1.0), -1.0, 1.0))


@pytest.fixture(scope='module')
def panda():
    with panda_world() as node:
        node.more_states(1)
        yield node
        check_states(node.states, load('panda'), RATE, acceleration=ACCELERATION)


@pytest.fixture
def robot():
    return load('panda')


def test_what_does_not_count_keeps_no_goal_from_being_reached(panda, robot):
    set_kind(panda, 'pose')
    panda.send_goal(BACKWARDS)
    panda.until_code('closest')
    assert float(panda.status[ANGLE]) > 0.1
    set_kind(panda, 'position')
    panda.until(lambda: panda.status.get(f'{TIP}.goal_kind') == 'position', 'the kind')
    panda.until_code('reached')
    until_position(panda, robot, BACKWARDS)
    assert ANGLE not in panda.status, 'an error that does not count is none'
    assert roll_error(tip_of(robot, panda.states[-1]), BACKWARDS) > 0.1
    set_kind(panda, 'pose')
    panda.until_code('closest')
    assert float(panda.status[ANGLE]) > 0.1


def test_of_an_axis_goal_the_roll_is_free(panda, robot):
    set_kind(panda, 'axis')
    goal = reachable_goal(robot, TIP, 5)
    panda.send_goal(goal)
    panda.until_code('reached')
    before = np.array(panda.more_states(1)[-1].position)
    panda.send_goal(rolled(goal, 2.0))  # the same position and axis: nothing to do
    panda.more_states(30)
    np.testing.assert_allclose(panda.states[-1].position, before, atol=1e-4)
    tilted = goal.copy()
    tilted[:3, :3] = goal[:3, :3] @ matrix_from_rpy((0.2, 0.1, 1.5))
    panda.send_goal(tilted)
    panda.until(
        lambda: axis_error(tip_of(robot, panda.states[-1]), tilted) < 2e-4, 'the axis of the goal'
    )
    until_position(panda, robot, tilted)
    assert float(panda.status[ANGLE]) < 0.3, 'the angle between the axes'
    assert float(panda.status['condition_number']) < 100.0, 'a roll that is free is no singularity'
    assert roll_error(tip_of(robot, panda.states[-1]), tilted) > 0.5
    set_kind(panda, 'pose')
    until_at(panda, robot, tilted)  # now its roll counts too


def test_a_clicked_point_of_an_axis_goal_keeps_the_axis(panda, robot):
    set_kind(panda, 'axis')
    goal = reachable_goal(robot, TIP, 6)
    panda.send_goal(goal)
    panda.until(lambda: axis_error(tip_of(robot, panda.states[-1]), goal) < 2e-4, 'the axis')
    until_position(panda, robot, goal)
    goal[:3, 3] += (0.03, -0.02, 0.01)
    panda.send_point(goal[:3, 3])
    until_position(panda, robot, goal)
    assert axis_error(tip_of(robot, panda.states[-1]), goal) < 2e-4


def test_goals_for_all_tips_and_planar_ones_count_as_they_should(panda, robot):
    from geometry_msgs.msg import PoseStamped

    set_kind(panda, 'position')
    panda.send_poses([BACKWARDS])
    panda.until_code('reached')
    until_position(panda, robot, BACKWARDS)
    message = PoseStamped()
    message.pose.position.x, message.pose.position.y = 0.5, 0.2
    message.pose.orientation.z = 1.0  # half a turn, which does not count
    panda.publisher(PoseStamped, 'goal_pose_2d').publish(message)
    expected = BACKWARDS.copy()
    expected[:2, 3] = (0.5, 0.2)
    until_position(panda, robot, expected)


def test_kinds_change_in_motion_alone_and_with_tools_and_solvers(panda, robot):
    set_kind(panda, 'pose')
    goal = reachable_goal(robot, TIP, 8)
    panda.send_goal(goal)
    tool = {f'tools__{TIP}__xyz': [0.0, 0.0, 0.1]}
    for kind, others in (
        ('position', {}),
        ('axis', {}),
        ('pose', tool),
        ('position', {'solver': 'damped_least_squares', f'tools__{TIP}__xyz': [0.0, 0.05, 0.0]}),
        ('axis', {'solver': 'levenberg_marquardt', 'position_tolerance': 2e-5}),
        ('pose', {f'tools__{TIP}__xyz': [0.0, 0.0, 0.0], 'position_tolerance': 1e-5}),
    ):
        moving = goal.copy()
        moving[:3, 3] += (0.0, 0.1 if kind == 'pose' else -0.1, 0.02)
        panda.send_goal(moving)
        set_kind(panda, kind, **others)
        panda.more_states(12)
    panda.send_goal(goal)
    until_at(panda, robot, goal)


def test_a_kind_that_is_none_is_refused(panda):
    answer = panda.set_parameters(**{KIND: 'pointing'})
    assert not answer.successful
    assert 'pose, position, axis' in answer.reason


def test_a_recording_with_a_change_of_the_kind_is_run_again_the_same(tmp_path):
    with panda_world(record_folder=str(tmp_path)) as node:
        node.more_states(1)
        assert call(node, SetBool, 'record', data=True).success
        for number, kind in enumerate(('axis', 'position', 'pose')):
            node.send_goal(reachable_goal(load('panda'), TIP, number))
            set_kind(node, kind)
            node.more_states(30)
        assert call(node, SetBool, 'record', data=False).success
        node.until(lambda: list(tmp_path.glob('*.npz')), 'the recording')
        (path,) = tmp_path.glob('*.npz')
    (run,) = replay(read_recording(path))
    assert run.is_same, run.failure
