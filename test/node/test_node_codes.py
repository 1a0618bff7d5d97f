"""Status codes, warnings with their figures, and markers."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from geometry_msgs.msg import Point, Pose, Quaternion
from support.node_harness import URDF, load, snapshot, world
from visualization_msgs.msg import Marker, MarkerArray

from ik_core.tracking import TrackStatus
from ik_node.counters import RisingTotal
from ik_node.model import Model
from ik_node.outputs.codes import Hazard, StatusCode, hazards
from ik_node.outputs.markers import GREEN, TRACE_POINTS, Trace, colours

TIP = 'panda_hand'
BENT = np.array([0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6, 0.02])
STRETCHED = np.array([0.0, 0.0, 0.0, -0.0698, 0.0, 0.0, 0.0, 0.02])


def at(q, **options):
    """A Panda that has its goal where it stands, and its command there."""
    model = Model(load('panda'), snapshot(tip_links=(TIP,), **options))
    model.tracker.reset(q)
    model.set_goal(0, model.tip_pose(0), 0.0)
    return model, model.tracker.tick(0.0)


def test_every_status_of_the_tracker_has_a_code_and_no_number_is_there_twice():
    for status in TrackStatus:
        assert StatusCode[status.name].key == status.value
        assert StatusCode[status.name].text == status.text
    numbers = [member.number for kind in (StatusCode, Hazard) for member in kind]
    assert len(set(numbers)) == len(numbers)


def test_numbers_are_servos_where_it_has_the_same():
    assert (Hazard.NONE.number, Hazard.APPROACHING_SINGULARITY.number) == (0, 1)
    assert (Hazard.AT_SINGULARITY.number, Hazard.JOINT_BOUND.number) == (2, 6)


def test_a_bent_arm_is_in_no_danger():
    found = hazards(*at(BENT))
    assert found.worst is Hazard.NONE
    assert found.joints_at_bound == ()


@pytest.mark.parametrize('share', [0.0, 0.5, 0.9, 1.0])
def test_the_warning_follows_the_condition_number_of_the_weighted_jacobian(share):
    q = BENT + share * (STRETCHED - BENT)
    model, command = at(q, orientation_length=0.3)
    jacobian = model.robot.jacobian(command.q, TIP)[:, :7]
    jacobian[3:] *= 0.3
    values = np.linalg.svd(jacobian, compute_uv=False)
    expected = values[0] / values[-1]
    found = hazards(model, command)
    assert found.condition_number == pytest.approx(expected, rel=1e-3)
    if expected >= 30.0:
        assert found.worst is Hazard.AT_SINGULARITY
    elif expected >= 17.0:
        assert found.worst is Hazard.APPROACHING_SINGULARITY
    else:
        assert found.worst is Hazard.NONE


def test_both_warnings_of_singularities_occur():
    shares = np.linspace(0.0, 1.0, 30)
    found = {hazards(*at(BENT + share * (STRETCHED - BENT))).worst for share in shares}
    assert {Hazard.NONE, Hazard.APPROACHING_SINGULARITY, Hazard.AT_SINGULARITY} <= found


@pytest.mark.parametrize('margin', [0.01, 0.1])
def test_a_joint_near_its_limit_is_named(margin):
    model, _ = at(BENT)
    for side in (model.robot.lower + 0.9 * margin, model.robot.upper - 0.9 * margin):
        q = BENT.copy()
        q[0] = side[0]
        found = hazards(*at(q, joint_limit_margin=margin))
        assert found.joints_at_bound == ('panda_joint1',)
        q[0] = side[0] + np.sign(BENT[0] - side[0]) * 0.2 * margin
        assert hazards(*at(q, joint_limit_margin=margin)).joints_at_bound == ()


def test_joints_that_goals_do_not_move_are_not_watched():
    q = BENT.copy()
    q[7] = 0.0  # the gripper is closed: at its limit
    assert hazards(*at(q)).joints_at_bound == ()
    q[0] = load('panda').upper[0]
    assert hazards(*at(q, frozen_joints=('panda_joint1',))).joints_at_bound == ()


def test_without_a_goal_there_is_nothing_to_beware_of():
    model, _ = at(STRETCHED)
    model.tracker.reset(STRETCHED)
    found = hazards(model, model.tracker.tick(0.0))
    assert (found.worst, found.condition_number) == (Hazard.NONE, 0.0)


def test_a_count_that_starts_again_is_totalled():
    restarts = RisingTotal()
    for count in (0, 1, 3, 3, 0, 2, 1):
        restarts.add(count)
    assert restarts.total == 3 + 2 + 1


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
    model.set_goal(0, model.tip_pose(0), 0.0)
    far = model.tip_pose(1).copy()
    far[0, 3] += 0.3
    model.set_goal(1, far, 0.0)
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
