# SPDX-License-Identifier: Apache-2.0
"""Markers of goals, in the colour of their state."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from visualization_msgs.msg import Marker

from ik_node.conversions import pose_to_transform
from ik_node.outputs.markers import GREEN, RED, goal_markers


def test_markers_show_goals_where_they_are_in_the_colour_of_their_state():
    goal = np.eye(4)
    goal[:3, 3] = (0.1, 0.2, 0.3)
    reached = goal_markers([goal, None], [GREEN, RED], 'base', Time()).markers
    shown = [marker for marker in reached if marker.action == Marker.ADD]
    gone = [marker for marker in reached if marker.action == Marker.DELETE]
    assert {(m.ns, m.id) for m in shown} == {('goal_axes', 0), ('goal_state', 0)}
    assert {(m.ns, m.id) for m in gone} == {('goal_axes', 1), ('goal_state', 1)}
    for marker in shown:
        assert marker.header.frame_id == 'base'
        np.testing.assert_allclose(pose_to_transform(marker.pose), goal)
    closest = goal_markers([goal], [RED], 'base', Time()).markers
    assert (shown[1].color.g, shown[1].color.r) == (1.0, 0.0)
    assert (closest[1].color.g, closest[1].color.r) == (0.0, 1.0)
