# SPDX-License-Identifier: Apache-2.0
"""Goals that are regions: boxes and cones, held against what they say in plain geometry."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import AxisTask, IkProblem, InvalidOption, OrientationTask, PoseTask, PositionTask
from ik_core.tasks import kernels
from ik_core.tasks.packing import PackedGoals

TOOL = robots.transform(Rotation.from_rotvec([0.3, -0.7, 1.1]), [0.1, -0.2, 0.3])
ROBOTS = ('panda', 'scara', 'dual_arm')

KINDS = {
    'position': lambda link: PositionTask(link, box=(0.25, 0.05, 0.0)),
    'position, goal axes, tool': lambda link: PositionTask(
        link, weights=(0.5, 3.0, 0.7), position_axes='goal', tool=TOOL, box=(0.0, 0.02, 0.3)
    ),
    'orientation': lambda link: OrientationTask(link, box=(0.1, 0.7, 0.0), weights=2.0),
    'pose': lambda link: PoseTask(
        link, position_box=0.15, orientation_box=(0.0, 0.0, np.pi), position_axes='goal'
    ),
    'cone': lambda link: AxisTask(link, (0.3, -1.0, 2.0), weight=4.0, cone=0.3),
}


def plain_residual(task, robot, q):
    """The residual from the region's edge, by poses and scipy's rotations alone."""
    tip, goal = robot.forward_kinematics(q, task.link) @ task.tool, task.transform
    shift = tip[:3, 3] - goal[:3, 3]
    if task.position_axes == kernels.GOAL_AXES:
        shift = goal[:3, :3].T @ shift
    if isinstance(task, AxisTask):
        axis = np.cross(goal[:3, 2], tip[:3, 2])
        angle = np.arctan2(np.linalg.norm(axis), goal[:3, 2] @ tip[:3, 2])
        turn = max(angle - task.cone, 0.0) * axis / np.linalg.norm(axis)
    else:
        turn = Rotation.from_matrix(goal[:3, :3].T @ tip[:3, :3]).as_rotvec()
    away = np.concatenate([shift, turn])
    box = np.concatenate([task.position_box, task.orientation_box])
    away = np.sign(away) * np.maximum(np.abs(away) - box, 0.0)
    weights = np.concatenate([task.position_weights, task.rotation_weights])
    return (np.sqrt(weights) * away)[weights > 0]


def set_near(task, robot, q, rng, angle):
    turn = rng.normal(size=3)
    away = Rotation.from_rotvec(angle * turn / np.linalg.norm(turn)), rng.uniform(-0.3, 0.3, 3)
    here = robot.forward_kinematics(q, task.link) @ task.tool
    task.set_target(here @ robots.transform(*away))


@pytest.mark.parametrize('kind', KINDS)
@pytest.mark.parametrize('name', ROBOTS)
def test_residual_and_jacobian_count_from_the_edge(name, kind):
    robot, rng, seen = robots.shipped(name), np.random.default_rng(70), []
    for angle in (0.2, 0.25, 0.4, 1.0, 2.0, 2.9):
        task, q = KINDS[kind](robot.tips()[-1]), robots.random_q(robot, rng)
        set_near(task, robot, q, rng, angle)
        expected = plain_residual(task, robot, q)
        np.testing.assert_allclose(task.residual(robot, q), expected, atol=1e-9)
        numeric = robots.central_differences(lambda p, t=task: plain_residual(t, robot, p), q)
        robots.assert_same_jacobian(task.jacobian(robot, q), numeric)
        seen += (expected == 0.0).tolist()
    assert any(seen)  # inside the region in some component, outside in others
    assert not all(seen)


@pytest.mark.parametrize('name', ROBOTS)
def test_curvature_completes_the_hessian_outside_a_box(name):
    robot, rng = robots.shipped(name), np.random.default_rng(71)
    q, tip = robots.random_q(robot, rng), robot.tips()[0]
    tasks = [
        PoseTask(tip, position_box=(0.02, 0.3, 0.0), position_axes='goal', tool=TOOL),
        PositionTask(tip, weights=(1.0, 2.0, 3.0), box=0.05),
    ]
    for task in tasks:
        set_near(task, robot, q, rng, 0.5)
    goals = PackedGoals(robot, tasks)
    goals.load(q)

    def half_gradient(p):
        goals.update(p)
        return goals.jacobian().T @ goals.residual

    numeric = robots.central_differences(half_gradient, q)
    goals.update(q)
    columns = np.empty((robot.n, goals.rows))
    kernels.goal_jacobian(goals.arrays, 1, columns)
    hessian = columns @ columns.T
    kernels.add_curvature(goals.arrays, hessian)
    lower = np.tril_indices(len(q))
    robots.assert_same_jacobian(hessian[lower], numeric[lower])


@pytest.mark.parametrize('kind', KINDS)
def test_a_region_is_reached_at_its_edge_and_counts_as_reached_inside(kind):
    robot, rng = robots.shipped('panda'), np.random.default_rng(72)
    inside = 0
    for _ in range(20):
        task, q = KINDS[kind](robot.tips()[0]), robots.random_q(robot, rng)
        task.set_target(
            robot.forward_kinematics(robots.random_q(robot, rng), task.link) @ task.tool
        )
        problem = IkProblem(robot, [task], position_tolerance=1e-7, orientation_tolerance=1e-7)
        result = ik.solve(problem, q)
        assert result.success
        assert np.abs(plain_residual(task, robot, result.q)).max() < 3e-7
        again = ik.solve(problem, result.q)
        np.testing.assert_array_equal(again.q, result.q)  # what is in the region stays
        inside += result.iterations == 0
    assert inside < 20


def test_out_of_reach_the_nearest_point_of_the_box_is_what_counts():
    robot = robots.shipped('ur5e')
    task = PositionTask('tool0', [3.0, 0.0, 0.5], box=(1.0, 0.2, 0.2))
    result = ik.solve(IkProblem(robot, [task]))
    assert result.status is ik.IkStatus.CLOSEST
    here = robot.forward_kinematics(result.q, 'tool0')[:3, 3]
    edge = np.clip(here, [2.0, -0.2, 0.3], [4.0, 0.2, 0.7])
    assert result.position_errors[0] == pytest.approx(np.linalg.norm(edge - here), abs=1e-9)
    far = ik.solve(IkProblem(robot, [PositionTask('tool0', edge)]))
    assert far.position_errors[0] == pytest.approx(result.position_errors[0], abs=1e-6)


def test_an_axis_in_a_cone_and_a_free_roll_leave_what_they_should():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(73)
    tip = robot.tips()[0]
    for _ in range(10):
        target = robot.forward_kinematics(robots.random_q(robot, rng), tip)
        goals = [
            PositionTask(tip, target[:3, 3]),
            AxisTask(tip, (0, 0, 1), target[:3, 2], cone=0.2),
        ]
        result = ik.solve(IkProblem(robot, goals), robots.random_q(robot, rng))
        tool = robot.forward_kinematics(result.q, tip)
        assert np.linalg.norm(tool[:3, 3] - target[:3, 3]) < 1e-5
        assert np.arccos(min(tool[:3, 2] @ target[:3, 2], 1.0)) < 0.2 + 1e-4


@pytest.mark.parametrize(
    'make',
    [
        lambda: PositionTask('tip', box=-0.1),
        lambda: PoseTask('tip', position_box=(1.0, 2.0)),
        lambda: OrientationTask('tip', box=np.nan),
        lambda: AxisTask('tip', cone=np.inf),
        lambda: AxisTask('tip', cone='wide'),
    ],
)
def test_bad_regions_are_refused(make):
    with pytest.raises(InvalidOption, match=r'box|cone'):
        make()


def test_coordinate_descent_says_that_it_knows_no_regions():
    robot = robots.shipped('panda')
    task = PositionTask(robot.tips()[0], [0.4, 0.0, 0.5], box=0.1)
    with pytest.raises(ik.UnsupportedProblem, match='region'):
        ik.solve(IkProblem(robot, [task]), solver='cyclic_coordinate_descent')
