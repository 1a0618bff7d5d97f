# SPDX-License-Identifier: Apache-2.0
"""Goals: residuals against scipy's rotations, Jacobians against central differences.

Every kind of goal, masked and weighted, with tools, in root and goal axes, on every shipped
robot and on one with floating, planar and mimic joints; near the goal and near half a turn.
"""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import AxisTask, InvalidGoal, InvalidOption, OrientationTask, PoseTask, PositionTask
from ik_core.tasks import kernels
from ik_core.tasks.packing import PackedGoals

TOOL = robots.transform(Rotation.from_rotvec([0.3, -0.7, 1.1]), [0.1, -0.2, 0.3])
WEIGHTS = (2.0, 0.0, 0.5)


def free_robot():
    """A floating base with a planar joint, a hinge, and a slide that mimics the hinge."""
    z = np.array([0.0, 0.6, 0.8])
    joints = [
        ik.robot.Joint(
            'base', 'floating', 'world', 'a', robots.transform(translation=[0.1, 0, 0])
        ),
        ik.robot.Joint('plane', 'planar', 'a', 'b', axis=z),
        ik.robot.Joint('hinge', 'revolute', 'b', 'c', TOOL, z),
        ik.robot.Joint(
            'slide', 'prismatic', 'c', 'd', TOOL, mimic=ik.robot.Mimic('hinge', -0.7, 0.2)
        ),
        ik.robot.Joint('twist', 'revolute', 'd', 'tip', mimic=ik.robot.Mimic('hinge', 2.0, -0.4)),
    ]
    links = ['world', 'a', 'b', 'c', 'd', 'tip']
    return ik.Robot.from_joints('free', links, joints, free_joints=['base', 'plane'])


def tips_of(robot):
    """The tips; of the free robot the last link, so that the mimic joints count."""
    return ['tip'] if robot.name == 'free' else robot.tips()


ROBOTS = {'free': free_robot} | {
    name: (lambda name=name: robots.shipped(name)) for name in robots.SHIPPED
}

KINDS = {
    'position': lambda link: PositionTask(link),
    'position, masked and weighted': lambda link: PositionTask(link, weights=WEIGHTS),
    'position, goal axes, tool': lambda link: PositionTask(
        link, weights=(0.0, 3.0, 0.7), position_axes='goal', tool=TOOL
    ),
    'orientation': lambda link: OrientationTask(link),
    'orientation, masked and weighted': lambda link: OrientationTask(link, weights=WEIGHTS),
    'orientation, tool': lambda link: OrientationTask(link, weights=4.0, tool=TOOL),
    'pose': lambda link: PoseTask(link),
    'pose, weighted, goal axes, tool': lambda link: PoseTask(
        link, position_weights=(0.0, 2.0, 3.0), orientation_weights=(0.5, 5.0, 0.0),
        position_axes='goal', tool=TOOL,
    ),
    'axis': lambda link: AxisTask(link, (0.3, -1.0, 2.0)),
    'axis, weighted': lambda link: AxisTask(link, (0.0, 0.0, -1.0), weight=4.0),
}  # fmt: skip


def set_near(task, robot, q, turn):
    """Put the target where the goal's frame is at q, but for a turn (3,) and a shift."""
    here = robot.forward_kinematics(q, task.link) @ task.tool
    away = robots.transform(Rotation.from_rotvec(turn), [0.3, -0.2, 0.1])
    task.set_target(here @ away)


def slow_residual(task, robot, q):
    """The residual, from poses and scipy's rotations alone."""
    tip, goal = robot.forward_kinematics(q, task.link) @ task.tool, task.transform
    shift = tip[:3, 3] - goal[:3, 3]
    if task.position_axes == kernels.GOAL_AXES:
        shift = goal[:3, :3].T @ shift
    if isinstance(task, AxisTask):
        cross = np.cross(goal[:3, 2], tip[:3, 2])
        angle = np.arctan2(np.linalg.norm(cross), goal[:3, 2] @ tip[:3, 2])
        turn = angle * cross / np.linalg.norm(cross)
    else:
        turn = Rotation.from_matrix(goal[:3, :3].T @ tip[:3, :3]).as_rotvec()
    weights = np.concatenate([task.position_weights, task.rotation_weights])
    return (np.sqrt(weights) * np.concatenate([shift, turn]))[weights > 0]


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', ROBOTS)
def test_residual_and_jacobian_of_every_goal_on_every_robot(name, kind):
    robot = ROBOTS[name]()
    rng = np.random.default_rng(len(name) + 7 * len(kind))
    for angle in (1e-6, 0.4, 1.9, 3.0):  # the last is 172 degrees
        task = KINDS[kind](tips_of(robot)[-1])
        q = robots.random_q(robot, rng)
        turn = rng.normal(size=3)
        set_near(task, robot, q, angle * turn / np.linalg.norm(turn))
        np.testing.assert_allclose(
            task.residual(robot, q), slow_residual(task, robot, q), rtol=0, atol=1e-9
        )
        numeric = robots.central_differences(lambda p, t=task: slow_residual(t, robot, p), q)
        robots.assert_same_jacobian(task.jacobian(robot, q), numeric)


def test_the_jacobian_holds_at_the_goal_itself():
    robot = robots.shipped('iiwa14')
    q = robots.random_q(robot, np.random.default_rng(0), margin=0.2)
    link = robots.tip_of(robot)
    for task in (PoseTask(link), AxisTask(link, (1.0, 2.0, 3.0))):
        task.set_target(robot.forward_kinematics(q, link) @ task.tool)
        np.testing.assert_allclose(task.residual(robot, q), 0.0, atol=1e-15)
        numeric = robots.central_differences(lambda p, t=task: t.residual(robot, p), q)
        robots.assert_same_jacobian(task.jacobian(robot, q), numeric)


def spinner():
    """One continuous joint about x, and one about y after it."""
    joints = [
        ik.robot.Joint('x', 'continuous', 'a', 'b', axis=np.array([1.0, 0.0, 0.0])),
        ik.robot.Joint('y', 'continuous', 'b', 'c', axis=np.array([0.0, 1.0, 0.0])),
    ]
    return ik.Robot.from_joints('spinner', list('abc'), joints)


@pytest.mark.parametrize('q', [[np.pi, 0.0], [0.0, np.pi], [np.pi, np.pi]])
def test_orientation_errors_at_exactly_half_a_turn(q):
    task = OrientationTask('c', [0, 0, 0, 1])
    residual = task.residual(spinner(), q)
    assert np.linalg.norm(residual) == pytest.approx(np.pi)
    assert np.isfinite(task.jacobian(spinner(), q)).all()


@pytest.mark.parametrize('q', [[np.pi, 0.0], [0.0, np.pi], [np.pi - 1e-9, 0.0]])
def test_an_axis_opposite_to_its_direction_is_half_a_turn_off(q):
    task = AxisTask('c', (0, 0, 1), (0, 0, 1))
    residual = task.residual(spinner(), q)
    assert np.linalg.norm(residual) == pytest.approx(np.pi, abs=1e-8)
    assert abs(residual[2]) < 1e-6
    jacobian = task.jacobian(spinner(), q)
    assert np.isfinite(jacobian).all()
    assert np.abs(jacobian.T @ residual).max() > 1.0  # and there is a way back


@pytest.mark.parametrize('angle', [1e-14, 1e-11, 1e-9, 1e-7, 1e-5, 1e-3, 0.1])
def test_a_nearly_aligned_axis_keeps_its_digits(angle):
    task = AxisTask('c', (0, 0, 1), (0, 0, 1))
    residual = task.residual(spinner(), [angle, 0.0])
    np.testing.assert_allclose(residual, [angle, 0, 0], rtol=1e-9, atol=1e-20)
    numeric = robots.central_differences(
        lambda p: task.residual(spinner(), p), np.array([angle, 0.3 * angle]), 1e-5
    )
    exact = task.jacobian(spinner(), [angle, 0.3 * angle])
    np.testing.assert_allclose(exact, numeric, atol=1e-8)


def test_an_axis_goal_leaves_the_roll_free():
    robot = robots.shipped('panda')
    q = robot.middle_configuration
    pose = robot.forward_kinematics(q, 'panda_hand_tcp')
    task = AxisTask('panda_hand_tcp', (0, 0, 1), pose[:3, 2])
    turned = q.copy()
    turned[6] += 1.0
    np.testing.assert_allclose(task.residual(robot, q), 0, atol=1e-12)
    np.testing.assert_allclose(task.residual(robot, turned), 0, atol=1e-12)
    np.testing.assert_allclose(task.jacobian(robot, q)[:, 6], 0, atol=1e-12)


def packed(robot, tasks, q, length=0.2):
    goals = PackedGoals(robot, tasks, None, length)
    goals.load(q)
    cost = goals.update(q)
    return goals, cost


def geometric_columns(goals):
    columns = np.full((len(goals.variables), goals.rows), np.nan)
    kernels.goal_jacobian(goals.arrays, 1, columns)
    return columns


@pytest.mark.parametrize('angle', [1e-8, 0.5, 2.0, 3.1])
@pytest.mark.parametrize('name', ROBOTS)
def test_geometric_columns_give_the_gradient_of_the_cost(name, angle):
    robot = ROBOTS[name]()
    rng = np.random.default_rng(11)
    q = robots.random_q(robot, rng)
    tips = tips_of(robot)
    tasks = [
        PoseTask(tips[0], position_weights=WEIGHTS, orientation_weights=3.0, tool=TOOL),
        OrientationTask(tips[0], weights=(1.0, 1.0, 2.0)),
        OrientationTask(tips[0], weights=(1.0, 0.5, 1.0)),
        OrientationTask(tips[-1], weights=(0.0, 1.0, 1.0)),
        AxisTask(tips[-1], (1, 2, 3), weight=2.0),
        PositionTask(tips[-1], weights=0.7),
    ]
    for task in tasks:
        turn = rng.normal(size=3)
        set_near(task, robot, q, angle * turn / np.linalg.norm(turn))
    goals, _ = packed(robot, tasks, q)
    exact = goals.jacobian().T @ goals.residual
    np.testing.assert_allclose(geometric_columns(goals) @ goals.residual, exact, atol=1e-12)
    numeric = robots.central_differences(lambda p: np.array([goals.update(p)]), q)
    robots.assert_same_jacobian(2.0 * exact, numeric[0])


def test_geometric_columns_are_the_angular_velocity_in_the_targets_axes():
    robot = robots.shipped('ur5e')
    rng = np.random.default_rng(12)
    q, link = robots.random_q(robot, rng), robots.tip_of(robot)
    task = PoseTask(link, transform=robots.random_transform(rng))
    goals, _ = packed(robot, [task], q, length=0.5)
    jacobian = robot.jacobian(q, link)
    jacobian[3:] = 0.5 * task.transform[:3, :3].T @ jacobian[3:]
    np.testing.assert_allclose(geometric_columns(goals).T, jacobian, atol=1e-13)


@pytest.mark.parametrize('name', ROBOTS)
@pytest.mark.parametrize('angle', [1e-4, 0.5, 3.0])
def test_curvature_completes_the_hessian_of_the_cost(name, angle):
    robot = ROBOTS[name]()
    rng = np.random.default_rng(13)
    q, tips = robots.random_q(robot, rng), tips_of(robot)
    tasks = [
        PoseTask(tips[0], position_weights=WEIGHTS, orientation_weights=3.0, tool=TOOL,
                 position_axes='goal'),
        PositionTask(tips[-1], weights=(1.0, 2.0, 3.0)),
    ]  # fmt: skip
    for task in tasks:
        turn = rng.normal(size=3)
        set_near(task, robot, q, angle * turn / np.linalg.norm(turn))
    goals, _ = packed(robot, tasks, q)

    def half_gradient(p):
        goals.update(p)
        return goals.jacobian().T @ goals.residual

    numeric = robots.central_differences(half_gradient, q)
    goals.update(q)
    columns = geometric_columns(goals)
    hessian = columns @ columns.T
    kernels.add_curvature(goals.arrays, hessian)
    lower = np.tril_indices(len(q))
    robots.assert_same_jacobian(hessian[lower], numeric[lower])


def test_goals_are_stacked_in_order_with_rotations_scaled_by_the_length():
    robot = robots.shipped('dual_arm')
    rng = np.random.default_rng(14)
    q = robots.random_q(robot, rng)
    tasks = [
        PoseTask('left_palm', transform=robots.random_transform(rng), position_weights=(0, 1, 0)),
        PositionTask('right_palm', [0.1, 0.2, 0.3], weights=9.0),
    ]
    goals, cost = packed(robot, tasks, q, length=0.3)
    left, right = (slow_residual(task, robot, q) for task in tasks)
    left[1:] *= 0.3
    np.testing.assert_allclose(goals.residual, np.concatenate([left, right]), atol=1e-13)
    assert cost == pytest.approx(goals.residual @ goals.residual)
    assert goals.goal_rows == [slice(0, 4), slice(4, 7)]
    np.testing.assert_allclose(
        goals.errors,
        [[abs(left[0]), np.linalg.norm(left[1:]) / 0.3], [np.linalg.norm(right) / 3.0, 0.0]],
        atol=1e-13,
    )


def test_a_goal_for_the_root_link_can_be_judged_but_not_moved():
    robot = robots.shipped('scara')
    task = PoseTask('base_link', [0.0, 0.0, 1.0], [0, 0, 0, 1])
    np.testing.assert_allclose(task.residual(robot, np.zeros(4)), [0, 0, -1, 0, 0, 0], atol=1e-15)
    assert not task.jacobian(robot, np.zeros(4)).any()


# --- targets ---------------------------------------------------------------------------------


def test_targets_by_parts_and_as_a_whole():
    turn = Rotation.from_rotvec([0.1, 0.2, 0.3])
    task = PoseTask('tip', [1.0, 2.0, 3.0], 5.0 * turn.as_quat())
    expected = robots.transform(turn, [1, 2, 3])
    np.testing.assert_allclose(task.transform, expected, atol=1e-15)
    task.set_target(position=[4, 5, 6])
    np.testing.assert_allclose(task.transform, robots.transform(turn, [4, 5, 6]), atol=1e-15)
    task.set_target(quaternion=[0, 0, 0, 2])
    np.testing.assert_allclose(task.transform, robots.transform(None, [4, 5, 6]), atol=1e-15)
    task.set_target(expected)
    np.testing.assert_allclose(task.transform, expected, atol=1e-15)
    task.set_target(position=[0, 0, 0])
    np.testing.assert_allclose(task.transform, robots.transform(turn), atol=1e-15)


@pytest.mark.parametrize(
    'part',
    [
        {'position': [7, 7, 7]},
        {'quaternion': [0, 0, 0, 1]},
        {'rpy': [0, 0, 0]},
        {'rotation': np.eye(3)},
    ],
)
def test_a_part_beside_a_whole_transform_is_given_twice(part):
    (name,) = part
    task = PoseTask('tip', [1, 2, 3], [0, 1, 0, 1])
    before = task.target.copy()
    for give in (task.set_target, lambda **given: PoseTask('tip', **given)):
        with pytest.raises(InvalidGoal, match=f'given twice, by transform and as {name}:'):
            give(transform=np.eye(4), **part)
    np.testing.assert_array_equal(task.target, before)


def test_a_position_goal_has_one_orientation_for_its_axes():
    turn = Rotation.from_rotvec([0.1, 0.2, 0.3])
    expected = robots.transform(turn, [1, 2, 3])
    quarter = Rotation.from_rotvec([0.0, 0.0, np.pi / 2])
    for given in ({'quaternion': turn.as_quat()}, {'rotation': turn}):
        task = PositionTask('tip', [1, 2, 3], position_axes='goal', **given)
        np.testing.assert_allclose(task.transform, expected, atol=1e-15)
    by_rpy = PositionTask('tip', [1, 2, 3], rpy=[0.0, 0.0, np.pi / 2])
    np.testing.assert_allclose(by_rpy.transform, robots.transform(quarter, [1, 2, 3]), atol=1e-15)
    with pytest.raises(InvalidOption, match='given twice, as quaternion and as rpy'):
        PositionTask('tip', [1, 2, 3], [0, 0, 0, 1], rpy=[0, 0, 1])


@pytest.mark.parametrize('wrong', [None, 3, ['tip']])
def test_a_link_that_is_no_name_is_told(wrong):
    for make in (PoseTask, PositionTask, lambda link: AxisTask(link, (0, 0, 1))):
        with pytest.raises(InvalidOption, match=r'link is .*the name of a link is needed'):
            make(wrong)
    if wrong is not None:
        with pytest.raises(InvalidOption, match='relative_to is'):
            PoseTask('tip', relative_to=wrong)


def test_a_target_is_a_copy():
    transform = np.eye(4)
    task = PoseTask('tip', transform=transform)
    transform[0, 3] = 9.0
    task.transform[1, 3] = 9.0
    np.testing.assert_array_equal(task.transform, np.eye(4))


NOT_RIGID = np.eye(4)[[1, 0, 2, 3]]  # a reflection


@pytest.mark.parametrize(
    'target',
    [
        {'transform': np.full((4, 4), np.nan)},
        {'transform': NOT_RIGID},
        {'transform': 'home'},
        {'position': [0, np.nan, 0], 'quaternion': [1, 0, 0, 0]},
        {'position': [0, np.inf, 0]},
        {'position': [0, 0]},
        {'position': 'home'},
        {'quaternion': [0, 0, 0, 0], 'position': [7, 7, 7]},
        {'quaternion': [0, 0, np.nan, 1], 'position': [7, 7, 7]},
        {'transform': np.diag([-1.0, -1.0, 1.0, 1.0]), 'position': [np.nan] * 3},
        {'transform': np.diag([-1.0, -1.0, 1.0, 1.0]), 'quaternion': [0.0] * 4},
    ],
)
def test_a_refused_target_leaves_the_old_one(target):
    task = PoseTask('tip', [1, 2, 3], [0, 1, 0, 1])
    before = task.target.copy()
    with pytest.raises(InvalidGoal):
        task.set_target(**target)
    np.testing.assert_array_equal(task.target, before)


@pytest.mark.parametrize('bad', [[0, 0, 0], [np.nan, 0, 1], [np.inf, 0, 0], [1, 0], 'up'])
def test_a_refused_direction_leaves_the_old_one(bad):
    task = AxisTask('tip', (0, 0, 1), (1e-200, 0, 0))
    before = task.target.copy()
    assert before[[2, 5, 8]].tolist() == [1, 0, 0]
    with pytest.raises(InvalidGoal, match='direction'):
        task.set_direction(bad)
    np.testing.assert_array_equal(task.target, before)
    with pytest.raises(InvalidGoal, match='axis'):
        AxisTask('tip', bad)


@pytest.mark.parametrize(
    ('task', 'missing'),
    [
        (lambda: PoseTask('tip'), 'no orientation and no position'),
        (lambda: PoseTask('tip', position=[0, 0, 0]), 'no orientation'),
        (lambda: PoseTask('tip', quaternion=[0, 0, 0, 1]), 'no position'),
        (lambda: PositionTask('tip'), 'no position'),
        (lambda: OrientationTask('tip'), 'no orientation'),
        (lambda: AxisTask('tip'), 'no orientation'),
        (lambda: PositionTask('tip', [0, 0, 0], None, position_axes='goal'), 'no orientation'),
    ],
)
def test_a_goal_without_its_target_says_what_is_missing(task, missing):
    task = task()
    with pytest.raises(InvalidGoal, match=f"'tip' has {missing};"):
        task.check_target()
    task.set_target(np.eye(4))
    task.check_target()


@pytest.mark.parametrize(
    'task',
    [
        lambda: PositionTask('tip', [0, 0, 0]),
        lambda: PositionTask('tip', [0, 0, 0], None),
        lambda: OrientationTask('tip', [0, 0, 0, 1]),
        lambda: AxisTask('tip', direction=[0, 0, 1]),
        lambda: PoseTask('tip', position=[0, 0, 0], orientation_weights=0),
        lambda: PoseTask('tip', quaternion=[0, 0, 0, 1], position_weights=0),
    ],
)
def test_what_a_goal_does_not_ask_for_needs_no_target(task):
    task().check_target()


@pytest.mark.parametrize('weights', [-1.0, np.nan, np.inf, (1.0, 2.0), 'all', (1.0, -1.0, 1.0)])
def test_bad_weights_are_refused(weights):
    with pytest.raises(InvalidOption, match='weights'):
        PositionTask('tip', weights=weights)
    with pytest.raises(InvalidOption, match='orientation weights'):
        PoseTask('tip', orientation_weights=weights)


def test_a_goal_must_ask_for_something():
    with pytest.raises(InvalidOption, match="'tip' asks for nothing"):
        PoseTask('tip', position_weights=0, orientation_weights=(0, 0, 0))


def test_axes_and_tools_are_checked():
    with pytest.raises(InvalidOption, match="'root' or 'goal'"):
        PositionTask('tip', position_axes='world')
    with pytest.raises(InvalidGoal, match='reflection'):
        PoseTask('tip', tool=NOT_RIGID)
