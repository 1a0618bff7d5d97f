# SPDX-License-Identifier: Apache-2.0
"""Goals in the frame of another link, which moves: both chains bring the two together."""

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots
from support.random_trees import free_joints_of, trees

import ik_core as ik
from ik_core.batch.many_targets import ManySolves
from ik_core.solvers import SOLVERS
from ik_core.tracking.recording.recorded_problems import describe_task, make_task

DUAL = robots.shipped('dual_arm')
LEFT, RIGHT, MIDDLE = 'left_palm', 'right_palm', DUAL.link_names[3]
KINDS = {
    'pose': lambda link, base: ik.PoseTask(
        link,
        position_weights=(1.0, 2.0, 0.5),
        tool=robots.random_transform(np.random.default_rng(1), 0.2),
        relative_to=base,
    ),
    'pose in its own axes': lambda link, base: ik.PoseTask(
        link,
        position_weights=(1.0, 0.0, 0.5),
        orientation_weights=(1.0, 0.0, 2.0),
        position_axes='goal',
        relative_to=base,
    ),
    'matrix weights': lambda link, base: ik.PoseTask(
        link,
        position_weights=np.diag([1.0, 2.0, 3.0]) + 0.3,
        orientation_weights=np.diag([3.0, 2.0, 1.0]) - 0.2,
        relative_to=base,
    ),
    'position': lambda link, base: ik.PositionTask(link, relative_to=base),
    'orientation': lambda link, base: ik.OrientationTask(link, relative_to=base),
    'two axes': lambda link, base: ik.TwoAxisTask(link, relative_to=base),
    'axis': lambda link, base: ik.AxisTask(link, (0.3, -1.0, 0.2), relative_to=base),
    'position and axis': lambda link, base: ik.PositionAxisTask(link, relative_to=base),
}
every_kind = pytest.mark.parametrize('kind', KINDS)
SEED = np.random.default_rng


def relative(robot, q, link, base):
    """By two poses in the root's frame and numpy's inverse."""
    here, there = (robot.forward_kinematics(q, name) for name in (link, base))
    return np.linalg.inv(there) @ here


def goal_at(kind, robot, q, link, base):
    """A goal that q fulfils."""
    goal = KINDS[kind](link, base)
    goal.set_target(relative(robot, q, link, base) @ goal.tool)
    return goal


@every_kind
def test_a_relative_goal_looks_at_the_other_link(kind):
    rng = SEED(1)
    q, other = (robots.random_q(DUAL, rng, margin=0.2) for _ in range(2))
    goal = goal_at(kind, DUAL, q, LEFT, RIGHT)
    np.testing.assert_allclose(goal.residual(DUAL, q), 0.0, atol=1e-12)
    assert np.abs(goal.residual(DUAL, other)).max() > 1e-2
    common = [i for i in DUAL.chain(LEFT) if i in DUAL.chain(RIGHT)]
    moved = other.copy()
    moved[common] += 0.3
    np.testing.assert_allclose(goal.residual(DUAL, moved), goal.residual(DUAL, other), atol=1e-12)


def test_the_residual_of_a_pose_by_hand():
    rng = SEED(2)
    q, target = robots.random_q(DUAL, rng), robots.random_transform(rng)
    goal = ik.PoseTask(LEFT, transform=target, relative_to=RIGHT)
    pose = relative(DUAL, q, LEFT, RIGHT)
    turn = Rotation.from_matrix(target[:3, :3].T @ pose[:3, :3]).as_rotvec()
    expected = [*(pose[:3, 3] - target[:3, 3]), *turn]
    np.testing.assert_allclose(goal.residual(DUAL, q), expected, atol=1e-12)


@every_kind
def test_the_jacobian_is_the_derivative(kind):
    rng = SEED(3)
    goal = goal_at(kind, DUAL, robots.random_q(DUAL, rng), LEFT, RIGHT)
    q = robots.random_q(DUAL, rng, margin=0.2)
    central = robots.central_differences(lambda p: goal.residual(DUAL, p), q, 1e-6)
    robots.assert_same_jacobian(goal.jacobian(DUAL, q), central)


@given(trees(), st.integers(0, 2**31))
@settings(max_examples=60)
def test_any_two_links_of_any_tree(tree, seed):
    links, joints = tree
    robot = ik.Robot.from_joints('tree', links, joints, free_joints=free_joints_of(joints))
    rng = SEED(seed)
    link, base = rng.choice(robot.link_names, 2, replace=False)
    assume(robot.chain(link, base))
    q, other = rng.uniform(-2.0, 2.0, (2, robot.n))
    goal = goal_at('pose', robot, q, link, base)
    np.testing.assert_allclose(goal.residual(robot, q), 0.0, atol=1e-7)
    central = robots.central_differences(lambda p: goal.residual(robot, p), other, 1e-6)
    assume(np.linalg.norm(goal.residual(robot, other)[3:]) < 3.0)  # where rotations have no kink
    robots.assert_same_jacobian(goal.jacobian(robot, other), central)
    moving = np.flatnonzero(np.abs(central).max(0) > 1e-6)
    assert set(moving) <= set(robot.chain(link, base))


@pytest.mark.parametrize(('link', 'base'), [(LEFT, RIGHT), (RIGHT, LEFT), (LEFT, MIDDLE)])
def test_jacobians_between_links_agree_with_pinocchio(link, base):
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(robots.URDF / 'dual_arm.urdf'))
    data, q = model.createData(), robots.random_q(DUAL, SEED(4))
    values, full = DUAL.joint_values(q), pin.neutral(model)
    rates = np.zeros((model.nv, DUAL.n))
    for name, joint in list(zip(model.names, model.joints, strict=True))[1:]:
        full[joint.idx_q] = values[name]
        mimic = DUAL.mimic_joints.get(name, ik.robot.Mimic(name))
        rates[joint.idx_v, DUAL.joint_index(mimic.joint)] = mimic.multiplier
    pin.computeJointJacobians(model, data, full)
    pin.updateFramePlacements(model, data)
    ids = [model.getFrameId(name) for name in (link, base)]
    j_link, j_base = (
        pin.getFrameJacobian(model, data, i, pin.LOCAL_WORLD_ALIGNED) @ rates for i in ids
    )
    p, b = (data.oMf[i] for i in ids)
    way = p.translation - b.translation
    expected = j_link - j_base
    expected[:3] += pin.skew(way) @ j_base[3:]  # the base link turns the way
    expected = np.vstack([b.rotation.T @ expected[:3], b.rotation.T @ expected[3:]])
    np.testing.assert_allclose(DUAL.jacobian(q, link, base), expected, atol=1e-10)


def test_only_joints_between_the_links_are_variables():
    problem = ik.IkProblem(DUAL, [ik.PoseTask(LEFT, relative_to=RIGHT)])
    left, right = set(DUAL.chain(LEFT)), set(DUAL.chain(RIGHT))
    assert left & right
    assert set(problem.variables) == left ^ right


def test_links_that_do_not_move_against_each_other_are_refused():
    fixed = robots.shipped('panda')
    with pytest.raises(ik.UnsupportedProblem, match="'panda_hand' relative to 'panda_link7'"):
        ik.IkProblem(fixed, [ik.PoseTask('panda_hand', relative_to='panda_link7')])
    with pytest.raises(ik.FrameNotFound, match='no link'):
        ik.IkProblem(fixed, [ik.PoseTask('panda_hand', relative_to='elbow')])
    with pytest.raises(ik.InvalidOption, match='relative to the link itself'):
        ik.PoseTask('panda_hand', relative_to='panda_hand')


def problem_between(kind='pose', **options):
    """Both palms as they are at some q; and a start."""
    rng = SEED(5)
    q, start = (robots.random_q(DUAL, rng, margin=0.3) for _ in range(2))
    return ik.IkProblem(DUAL, [goal_at(kind, DUAL, q, LEFT, RIGHT)], **options), start


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_brings_one_hand_to_the_other(solver):
    problem, start = problem_between()
    goal = problem.goals[0]
    if solver == 'cyclic_coordinate_descent':
        goal = goal_at('position', DUAL, start + 0.3, LEFT, RIGHT)
        problem = ik.IkProblem(DUAL, [goal])
    result = ik.solve(problem, start, solver=solver, restarts=20)
    assert result.success, result.message
    reached = relative(DUAL, result.q, LEFT, RIGHT) @ goal.tool
    np.testing.assert_allclose(reached[:3, 3], goal.transform[:3, 3], atol=2e-5)
    common = sorted(set(DUAL.chain(LEFT)) & set(DUAL.chain(RIGHT)))
    np.testing.assert_array_equal(result.q[common], start[common])


@every_kind
def test_a_tool_is_held_to_the_other_hand_while_that_reaches_its_own_goal(kind):
    rng = SEED(6)
    q, start = (robots.random_q(DUAL, rng, margin=0.3) for _ in range(2))
    own = ik.PoseTask(RIGHT, transform=DUAL.forward_kinematics(q, RIGHT))
    held = goal_at(kind, DUAL, q, LEFT, RIGHT)
    result = ik.solve(ik.IkProblem(DUAL, [own, held]), start, restarts=50)
    assert result.success, result.message
    np.testing.assert_allclose(held.residual(DUAL, result.q), 0.0, atol=2e-4)
    np.testing.assert_allclose(own.residual(DUAL, result.q), 0.0, atol=2e-4)


def test_frozen_joints_stay_and_the_others_do_it():
    rng = SEED(7)
    q = robots.random_q(DUAL, rng, margin=0.3)
    right = [i for i in DUAL.chain(RIGHT) if i not in DUAL.chain(LEFT)]
    frozen = [DUAL.joint_names[i] for i in right]
    start = np.where(np.isin(np.arange(DUAL.n), right), q, DUAL.middle_configuration)
    goal = goal_at('pose', DUAL, q, LEFT, RIGHT)
    problem = ik.IkProblem(DUAL, [goal], frozen_joints=frozen)
    result = ik.solve(problem, start, restarts=20)
    assert result.success, result.message
    np.testing.assert_array_equal(result.q[right], q[right])
    np.testing.assert_allclose(goal.residual(DUAL, result.q), 0.0, atol=2e-4)
    [again] = ik.solve_batch(problem, [goal.transform], start, restarts=20)
    np.testing.assert_allclose(goal.residual(DUAL, again.q), 0.0, atol=2e-4)


def test_batches_of_relative_goals_run_compiled():
    problem, start = problem_between()
    assert ManySolves(problem, ik.make_solver('levenberg_marquardt')).compiled
    poses = [problem.goals[0].transform, problem.goals[0].transform]
    batch = ik.solve_batch(problem, poses, start)
    np.testing.assert_allclose(batch.q[0], ik.solve(problem, start).q, atol=1e-9)


def test_out_of_reach_the_closest_point_is_one():
    goal = ik.PositionTask(LEFT, [9.0, 0.0, 0.0], relative_to=RIGHT)
    result = ik.solve(ik.IkProblem(DUAL, [goal]))
    assert result.status is ik.IkStatus.CLOSEST
    rng, cost = SEED(8), np.sum(goal.residual(DUAL, result.q) ** 2)
    for _ in range(200):
        near = np.clip(result.q + rng.normal(scale=1e-2, size=DUAL.n), DUAL.lower, DUAL.upper)
        assert np.sum(goal.residual(DUAL, near) ** 2) >= cost - 1e-9


def test_ball_joints_on_the_way_up():
    robot = ik.robot.linkage(3, joint='ball')
    tip, base = robot.tips()[0], robot.base_link
    q = robots.random_q(robot, SEED(9), margin=0.3)
    goal = goal_at('position', robot, q, base, tip)
    result = ik.solve(ik.IkProblem(robot, [goal]), solver='cyclic_coordinate_descent')
    assert result.success, result.message
    reached = relative(robot, result.q, base, tip)
    np.testing.assert_allclose(reached[:3, 3], goal.transform[:3, 3], atol=2e-5)


def test_a_tracker_holds_one_hand_to_the_other():
    q = robots.random_q(DUAL, SEED(10), margin=0.4)
    own, held = ik.PoseTask(RIGHT), ik.PoseTask(LEFT, relative_to=RIGHT)
    limits = ik.MotionLimits(DUAL.lower, DUAL.upper, np.full(DUAL.n, 2.0), np.full(DUAL.n, 20.0))
    problem = ik.IkProblem(DUAL, [own, held])
    tracker = ik.Tracker(problem, 100.0, limits=limits, q0=q)
    grip = relative(DUAL, q, LEFT, RIGHT)
    aim = DUAL.forward_kinematics(q, RIGHT)
    aim[:3, 3] += (0.03, 0.02, -0.04)
    tracker.set_goal(0, aim, 0.0, move='linear')
    worst = 0.0
    for k in range(400):
        command = tracker.tick(k / 100.0)
        gap = relative(DUAL, command.q, LEFT, RIGHT)[:3, 3] - grip[:3, 3]
        worst = max(worst, np.linalg.norm(gap))
    assert command.status.name == 'REACHED'
    np.testing.assert_allclose(DUAL.forward_kinematics(command.q, RIGHT), aim, atol=2e-4)
    assert worst < 2e-3
    tracker.set_goal(1, np.asarray(grip), 4.0)
    with pytest.raises(ik.InvalidGoal, match=f"'{DUAL.base_link}'; '{RIGHT}' is needed"):
        tracker.set_goal(1, stamped(DUAL.base_link, grip), 4.0)
    tracker.set_goal(1, stamped(RIGHT, grip), 4.0)


class Stamped:
    """A stamped transform."""


def stamped(frame, matrix):
    message = Stamped()
    message.header = Stamped()
    message.header.frame_id = frame
    message.homogeneous = matrix
    return message


def test_messages_have_to_be_in_the_frame_of_that_link():
    goal = ik.PoseTask(LEFT, transform=stamped(RIGHT, np.eye(4)), relative_to=RIGHT)
    ik.solve(ik.IkProblem(DUAL, [goal]))
    goal.set_target(stamped(DUAL.base_link, np.eye(4)))
    with pytest.raises(ik.InvalidGoal, match=f"it is relative to '{RIGHT}'"):
        ik.solve(ik.IkProblem(DUAL, [goal]))


@every_kind
def test_a_relative_goal_is_recorded_and_shown(kind):
    q, other = (robots.random_q(DUAL, SEED(i)) for i in (1, 2))
    goal = goal_at(kind, DUAL, q, LEFT, RIGHT)
    again = make_task(describe_task(goal))
    np.testing.assert_array_equal(again.residual(DUAL, other), goal.residual(DUAL, other))
    assert f"'{LEFT}', relative_to='{RIGHT}'" in repr(goal)


def test_what_knows_the_root_alone_refuses():
    problem, start = problem_between('position')
    with pytest.raises(ik.UnsupportedProblem, match='relative to the root'):
        ik.batch.solve_best(problem, start, choose='manipulable')
    with pytest.raises(ik.UnsupportedProblem, match='relative to the root'):
        ik.reachability.reachability_map(problem, step=0.5)
