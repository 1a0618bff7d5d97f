# SPDX-License-Identifier: Apache-2.0
"""RViz's 2D goals: what of the tip's pose they keep."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion
from support.panda_world import TIP, is_at, panda_world, tip_of

from ik_core.maths.rotations import matrix_from_rpy


def planar(x, y, yaw):
    """Return a message as RViz's 2D Goal Pose sends it."""
    turn = Quaternion(z=math.sin(yaw / 2), w=math.cos(yaw / 2))
    return Pose(position=Point(x=x, y=y), orientation=turn)


def yaw_about_z(angle):
    return matrix_from_rpy((0.0, 0.0, angle))


KEPT = {
    'keep_z_roll_pitch': (True, True),
    'keep_z': (True, False),
    'keep_roll_pitch': (False, True),
    'as_sent': (False, False),
}


@pytest.mark.parametrize('choice', KEPT)
def test_what_a_planar_goal_keeps(robot, choice):
    """Seen where the node puts the goal: its marker, also where the goal is out of reach."""
    from visualization_msgs.msg import MarkerArray

    from ik_node.conversions import pose_to_transform

    with panda_world(planar_goals=choice) as panda:
        start = tip_of(robot, panda.more_states(1)[0])
        panda._listen(MarkerArray, 'ik_node/markers', 1)
        heading = math.atan2(start[1, 0], start[0, 0])
        panda.send_goal(planar(0.4, 0.2, heading + 0.3), topic='goal_pose_2d')

        def shown():
            markers = [m for a in panda.inbox['ik_node/markers'] for m in a.markers]
            return [m for m in markers if m.ns == 'goal_state' and m.action == m.ADD]

        panda.until(shown, 'a marker of the goal')
        goal = pose_to_transform(shown()[-1].pose)
        keeps_z, keeps_tilt = KEPT[choice]
        expected = [0.4, 0.2, start[2, 3] if keeps_z else 0.0]
        np.testing.assert_allclose(goal[:3, 3], expected, atol=1e-9)
        turn = yaw_about_z(0.3) @ start[:3, :3] if keeps_tilt else yaw_about_z(heading + 0.3)
        np.testing.assert_allclose(goal[:3, :3], turn, atol=1e-9)


@pytest.mark.parametrize('frame', ['', 'panda_link0'])
def test_goal_pose_is_the_whole_pose_also_where_it_looks_planar(panda, robot, frame):
    """Such as an identity pose in the frame of a thing: go there, and turn as it does."""
    panda.more_states(1)
    wanted = np.eye(4)
    wanted[:3, :3], wanted[:3, 3] = yaw_about_z(0.3), (0.5, 0.1, 0.0)
    panda.send_goal(planar(0.5, 0.1, 0.3), frame=frame)
    panda.until(lambda: is_at(robot, panda.states[-1], wanted), 'the pose')


def test_a_planar_goal_in_a_moving_frame_keeps_what_the_tip_has_in_it(panda, robot):
    start = tip_of(robot, panda.more_states(1)[0])
    panda.send_goal(planar(0.0, 0.04, 0.1), frame=TIP, topic='goal_pose_2d')
    offset = np.eye(4)
    offset[:3, :3], offset[1, 3] = yaw_about_z(0.1), 0.04
    panda.until(lambda: is_at(robot, panda.states[-1], start @ offset), 'the goal')
