# SPDX-License-Identifier: Apache-2.0
"""Arms with fewer joints than a goal fixes degrees of freedom have a status of their own.

The arm of five joints has the lengths of an SO-101: hobby arms are where users meet this.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_arm
from support.robots import shipped

import ik_core as ik
from ik_core import IkStatus
from ik_core.robot.linkages import linkage
from ik_core.solvers import SOLVERS
from ik_core.tasks.goals import POSITION_FIRST
from ik_core.tracking import MotionLimits, Tracker, TrackStatus

FEW = IkStatus.TOO_FEW_JOINTS
SCARA = 'scara'


def turned(robot, tip, seed, angle=0.5):
    """A pose (4, 4) whose position is inside the reach, turned off a pose that is reachable."""
    rng = np.random.default_rng(seed)
    middle = robot.middle_configuration
    q = middle + 0.3 * (np.minimum(robot.upper, np.pi) - middle)
    pose = robot.forward_kinematics(q, tip).copy()
    axis = rng.normal(size=3)
    pose[:3, :3] = (
        pose[:3, :3] @ Rotation.from_rotvec(angle * axis / np.linalg.norm(axis)).as_matrix()
    )
    return pose


def solved(robot, tip, pose):
    """The result for a whole pose, position and orientation weighed alike."""
    return ik.solve(ik.IkProblem(robot, [ik.PoseTask(tip, transform=pose)]))


ARMS = {
    'hobby': (hobby_arm, 'tool'),
    SCARA: (lambda: shipped(SCARA), 'tool'),
    'linkage': (lambda: linkage(5), 'tip'),
}


@pytest.fixture(params=ARMS)
def arm(request):
    make, tip = ARMS[request.param]
    return make(), tip


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_reports_that_the_joints_are_too_few(solver):
    robot = hobby_arm()
    problem = ik.IkProblem(robot, [ik.PoseTask('tool', transform=turned(robot, 'tool', 1))])
    result = ik.solve(problem, solver=solver, max_iterations=3000, restarts=0)
    closest = ik.solve(problem)
    assert closest.status is FEW
    assert not closest.success
    if result.status not in (IkStatus.ITERATION_LIMIT, IkStatus.STALLED):
        assert result.status is FEW
    assert 'fewer joints than the goal asks for' in closest.message


def test_status_of_arms_with_few_joints(arm):
    robot, tip = arm
    pose = turned(robot, tip, 2)
    result = solved(robot, tip, pose)
    assert result.status is FEW
    reachable = robot.forward_kinematics(robot.middle_configuration + 0.05, tip)
    assert solved(robot, tip, reachable).status is IkStatus.REACHED
    far = pose.copy()
    far[:3, 3] += (5.0, 0.0, 0.0)
    assert solved(robot, tip, far).status is IkStatus.CLOSEST
    position = ik.PositionTask(tip, far[:3, 3])
    result = ik.solve(ik.IkProblem(robot, [position]))
    assert result.status is IkStatus.CLOSEST, 'three joints are enough for a position'


def test_arms_with_enough_joints_are_closest_to_goals_out_of_reach():
    robot = shipped('panda')
    pose = turned(robot, robot.default_tip(), 3)
    pose[2, 3] += 1.0
    result = solved(robot, robot.default_tip(), pose)
    assert result.status is IkStatus.CLOSEST


def test_frozen_joints_do_not_count():
    robot = shipped('ur5e')
    tip = robot.default_tip()
    pose = ik.PoseTask(tip, transform=turned(robot, tip, 4))
    problem = ik.IkProblem(robot, [pose], frozen_joints=robot.joint_names[-1:])
    assert ik.solve(problem).status is FEW


def test_a_batch_has_the_statuses_of_single_solves():
    robot = hobby_arm()
    problem = ik.IkProblem(robot, [ik.PoseTask('tool')])
    near = robot.forward_kinematics(robot.middle_configuration + 0.1, 'tool')
    far = near.copy()
    far[0, 3] += 3.0
    targets = np.array([near, turned(robot, 'tool', 5), far])
    batch = ik.solve_batch(problem, targets)
    assert [*batch.status] == [IkStatus.REACHED, FEW, IkStatus.CLOSEST]
    others = ik.solve_batch(problem, targets, solver='bfgs', restarts=16)
    assert [*others.status] == [*batch.status]


def test_position_first_reaches_positions_and_turns_as_near_as_it_can(arm):
    robot, tip = arm
    pose = turned(robot, tip, 6)
    joints = len(robot.chain(tip))
    goal = ik.PoseTask.for_joints(joints, tip)
    goal.set_target(pose)
    result = ik.solve(ik.IkProblem(robot, [goal]))
    assert result.status is FEW
    assert result.position_errors[0] < 1e-5
    both = solved(robot, tip, pose)
    assert both.orientation_errors[0] <= result.orientation_errors[0] + 1e-6
    rng = np.random.default_rng(7)
    for _ in range(40):  # no other posture with the tip there is turned less
        q0 = rng.uniform(*np.clip([robot.lower, robot.upper], -np.pi, np.pi))
        other = ik.solve(ik.IkProblem(robot, [ik.PositionTask(tip, pose[:3, 3])]), q0)
        if other.success:
            turn = pose[:3, :3].T @ robot.forward_kinematics(other.q, tip)[:3, :3]
            assert Rotation.from_matrix(turn).magnitude() > result.orientation_errors[0] - 1e-3


def test_a_position_that_is_missed_although_it_comes_first_is_out_of_reach():
    robot, inside = hobby_arm(), np.eye(4)
    inside[:3, 3] = (0.03, 0.0, 0.1166)  # at the shoulder, with the elbow stretched
    goal = ik.PoseTask('tool', transform=inside, orientation_weights=POSITION_FIRST)
    result = ik.solve(ik.IkProblem(robot, [goal], frozen_joints=['elbow']))
    assert result.position_errors[0] > 1e-3
    assert result.status is IkStatus.CLOSEST


def test_tracker_tells_few_joints_from_goals_out_of_reach():
    robot = hobby_arm()
    goal = ik.PoseTask.for_joints(5, 'tool')
    goal.set_target(robot.forward_kinematics(robot.middle_configuration, 'tool'))
    tracker = Tracker(
        ik.IkProblem(robot, [goal]), 100.0, limits=MotionLimits.of(robot, acceleration=5.0)
    )
    pose, far = turned(robot, 'tool', 8), turned(robot, 'tool', 8)
    far[2, 3] += 2.0
    for target, status in ((pose, TrackStatus.TOO_FEW_JOINTS), (far, TrackStatus.CLOSEST)):
        tracker.set_goal(0, target, 0.0)
        for i in range(3000):
            command = tracker.tick(0.01 * i)
            if command.status is status:
                break
        assert command.status is status, command.status
    assert 'fewer joints than the goal asks for' in TrackStatus.TOO_FEW_JOINTS.text
