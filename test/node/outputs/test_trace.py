# SPDX-License-Identifier: Apache-2.0
"""The tip's trace and goals' colours, also of a node."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion
from support.node_harness import URDF, load, snapshot, world
from visualization_msgs.msg import Marker, MarkerArray

from ik_core.tracking.instructions import SetGoal
from ik_node.outputs.markers import GREEN, TRACE_POINTS, Trace, colours
from ik_node.robot_model import Model

TIP = 'panda_hand'


def test_a_trace_has_points_at_a_distance_and_not_too_many():
    trace = Trace()
    assert trace.marker().action == Marker.DELETE
    for i in range(10_000):
        trace.add(0.00051 * i, 0.0, 0.0)  # every fourth is far enough
    x = np.array([point.x for point in trace.marker().points])
    assert len(x) == TRACE_POINTS
    np.testing.assert_allclose(np.diff(x), 0.00204, atol=1e-9)
    assert x[-1] == pytest.approx(0.00051 * 9996)


def test_a_goal_has_the_colour_of_its_own_state():
    robot = load('dual_arm')
    tips = tuple(robot.tips()[:2])
    model = Model(robot, snapshot(tip_links=tips))
    model.apply(SetGoal(0, model.tip_pose(0), 0.0))
    far = model.tip_pose(1).copy()
    far[0, 3] += 0.3
    model.apply(SetGoal(1, far, 0.0))
    command = model.tracker.tick(0.0)
    first, second = colours(model, command)
    assert first == GREEN
    assert second != GREEN


def test_status_and_markers_of_an_arm_that_stretches_for_what_it_can_not_reach():
    robot = load('panda')
    with world(
        urdf_path=str(URDF / 'panda.urdf'),
        tip_links=[TIP],
        rate=200.0,
        joint_limits__default__acceleration=20.0,
    ) as panda:
        panda.more_states(1)
        panda._listen(MarkerArray, 'ik_node/markers', 10)
        panda.until(lambda: panda.status.get('warning') == 'none', 'no warning')
        down = Quaternion(x=1.0, w=0.0)
        panda.send_goal(Pose(position=Point(x=2.0, z=0.4), orientation=down))
        panda.until_code('closest')
        panda.until(lambda: panda.status['warning'] == 'at_singularity', 'the singularity')
        assert panda.status['code_number'] == '20'
        assert panda.status['warning_number'] == '2'
        assert float(panda.status['condition_number']) > 30.0
        assert 'singularity' in panda.status['text']
        panda.until(lambda: int(panda.diagnostics.get('restarts_total', 0)) > 0, 'restarts')

        def trace():
            markers = [m for a in panda.inbox['ik_node/markers'] for m in a.markers]
            lines = [m for m in markers if m.ns == 'trace' and m.action == m.ADD]
            return lines and lines[-1]

        def ends_at_the_tip():
            line = trace()
            end = np.array([line.points[-1].x, line.points[-1].y, line.points[-1].z])
            q = np.array(panda.states[-1].position)[: robot.n]
            tip = robot.forward_kinematics(q, TIP)[:3, 3]
            return np.linalg.norm(end - tip) < 0.005

        panda.until(trace, 'a trace')
        panda.until(ends_at_the_tip, 'a trace that ends at the tip')
        assert len(trace().points) > 10
        assert trace().header.frame_id == 'panda_link0'
