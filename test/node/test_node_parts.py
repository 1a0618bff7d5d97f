"""The node's parts on their own: frames, counters, markers, jobs."""

import threading
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from support.node_harness import load, snapshot
from visualization_msgs.msg import Marker

from ik_core.robot.shipped import shared_file
from ik_node.conversions import Refused, pose_to_transform
from ik_node.counters import Throttle, TickMeter
from ik_node.inputs.frames import Frames
from ik_node.jobs import Job
from ik_node.model import Model, goal_topic
from ik_node.outputs.markers import GREEN, RED, goal_markers
from ik_node.parameters.options import Limits

PERIOD = 4_000_000


class Tf:
    """Knows one frame, 1 m above the root."""

    def lookup(self, target, source):
        if (target, source) != ('panda_link0', 'map'):
            return None
        transform = np.eye(4)
        transform[2, 3] = 1.0
        return transform


def test_frames_of_the_robot_follow_q():
    robot = load('panda')
    frames, q = Frames(robot, 'panda_link0'), robot.middle_configuration + 0.1
    for name in ('panda_hand', '/panda_hand'):
        expected = robot.forward_kinematics(q, 'panda_hand')
        np.testing.assert_array_equal(frames.in_root(name, q), expected)


def test_an_empty_frame_is_base_link():
    robot = load('panda')
    q = robot.middle_configuration + 0.1
    expected = robot.forward_kinematics(q, 'panda_link2')
    np.testing.assert_array_equal(Frames(robot, 'panda_link2').in_root('', q), expected)


def test_frames_that_the_robot_does_not_have_are_asked_for():
    robot = load('panda')
    q = robot.middle_configuration
    assert Frames(robot, 'panda_link0', Tf()).in_root('map', q)[2, 3] == 1.0
    for frames in (Frames(robot, 'panda_link0', Tf()), Frames(robot, 'panda_link0')):
        with pytest.raises(Refused, match=r"unknown frame 'odom'.*panda_link0") as refused:
            frames.in_root('odom', q)
        assert refused.value.reason == 'unknown_frame'


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


def test_a_throttle_lets_one_of_each_kind_through_and_counts_the_others():
    throttle = Throttle(2.0)
    assert throttle.admit('a', 10.0) == 0
    assert throttle.admit('b', 10.5) == 0
    assert [throttle.admit('a', now) for now in (10.1, 11.0, 11.9)] == [None] * 3
    assert throttle.admit('a', 12.0) == 3
    assert throttle.admit('a', 14.0) == 0


def test_the_meter_counts_nominal_times_that_were_skipped():
    meter = TickMeter()
    for number in (0, 1, 2, 5, 6, 9):
        meter.tick(number * PERIOD + 123, PERIOD)
    assert meter.ticks == 6
    assert meter.late_ticks == 4


def test_the_meter_does_not_count_a_pause():
    meter = TickMeter()
    meter.tick(0, PERIOD)
    meter.restart()
    meter.tick(100 * PERIOD, PERIOD)
    meter.tick(101 * PERIOD, PERIOD)
    assert meter.late_ticks == 0


def test_the_meter_stands_a_clock_that_jumps_back():
    meter = TickMeter()
    for number in (5, 6, 0, 1):
        meter.tick(number * PERIOD, PERIOD)
    assert meter.late_ticks == 0


def test_a_job_runs_beside_and_keeps_its_result():
    go = threading.Event()
    job = Job(lambda: go.wait() and 'done')
    assert not job.done
    assert not job.wait(0.0)
    go.set()
    assert job.wait(60.0)
    assert job.result() == 'done'


def test_a_job_raises_what_the_work_raised():
    job = Job(lambda: [][0])
    assert job.wait(60.0)
    with pytest.raises(IndexError):
        job.result()


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


def test_shipped_files_are_found():
    assert shared_file('urdf/panda.urdf').is_file()
    with pytest.raises(FileNotFoundError, match=r'no_robot\.urdf'):
        shared_file('urdf/no_robot.urdf')


def other_tolerance(parameters):
    """For this a model makes another tracker."""
    return replace(parameters, node=replace(parameters.node, position_tolerance=1e-4))


def test_limits_that_change_together_with_a_tolerance_hold():
    slow = {f'panda_joint{i}': Limits(velocity=0.05) for i in range(1, 8)}
    parameters = snapshot(tip_links=('panda_hand',))
    model = Model(load('panda'), parameters)
    model.apply(replace(other_tolerance(parameters), joint_limits=slow))
    goal = model.tip_pose(0)
    goal[:3, 3] += (0.05, 0.1, -0.1)
    model.set_goal(0, goal, 0.0)
    speeds = [np.abs(model.tracker.tick(0.004 * i).dq).max() for i in range(20)]
    assert max(speeds) == pytest.approx(0.05)


def test_the_rest_posture_outlives_a_change_of_tolerance():
    parameters = snapshot(tip_links=('panda_hand',))
    parameters = replace(parameters, tracker=replace(parameters.tracker, rest_rate=2.0))
    model = Model(load('panda'), parameters)
    rest = model.tracker.q
    free = np.linalg.svd(model.robot.jacobian(rest, 'panda_hand')[:, :7])[2][-1]
    model.seed(rest + 0.3 * np.append(free, 0.0))
    model.apply(other_tolerance(parameters))
    model.set_goal(0, model.tip_pose(0), 0.0)
    for i in range(300):
        command = model.tracker.tick(0.004 * i)
    assert np.linalg.norm(command.q - rest) < 0.15
