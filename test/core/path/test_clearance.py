# SPDX-License-Identifier: Apache-2.0
"""Motions that are free everywhere, beside many configurations of them."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from support.robots import shipped

import ik_core as ik
from ik_core.collision import Sphere
from ik_core.path import PathReason, solve_path
from ik_core.path.clearance import first_hit

FIRST = np.array([0.0, -1.2, 1.4, -1.8, -1.5, 0.2])
LAST = np.array([0.9, -1.0, 1.1, -1.5, -1.5, 0.2])


def spline_of(knots=3):
    part = np.linspace(0.0, 1.0, knots)
    return CubicSpline(part, FIRST + part[:, np.newaxis] ** 2 * (LAST - FIRST))


def problem_with(world, robot, **options):
    collisions = ik.Collisions(robot, world, 0.01)
    return ik.IkProblem(robot, [ik.PoseTask('tool0')], avoid=collisions, **options)


@pytest.mark.parametrize('seed', range(24))
def test_hit_is_found_where_many_configurations_have_one(seed):
    robot, world, rng = shipped('ur5e'), ik.World(), np.random.default_rng(seed)
    spline, fine = spline_of(), np.linspace(0.0, 1.0, 3001)
    tips = robot.forward_kinematics(spline(fine), 'tool0')[:, :3, 3]
    centre = tips[rng.integers(3001)] + rng.normal(scale=0.1, size=3)
    world.add('ball', Sphere(0.01), ik.transform(position=centre))
    problem = problem_with(world, robot)
    free = problem.avoid.free(spline(fine))
    place = first_hit(problem, spline, FIRST)
    if free.all():
        near = min(problem.avoid.distance(q).distance for q in spline(fine[::20]))
        assert place is None or near < 0.0105
    else:
        assert place is not None
        assert not free[int(3000 * place) : int(3000 * place) + 2].all()


def test_thin_obstacle_between_distant_knots_is_hit():
    robot, world = shipped('ur5e'), ik.World()
    spline = spline_of()
    tip = robot.forward_kinematics(spline(0.3), 'tool0')[:3, 3]
    world.add('pin', Sphere(1e-3), ik.transform(position=tip))
    problem = problem_with(world, robot)
    assert problem.avoid.free(spline(spline.x)).all()
    assert first_hit(problem, spline, FIRST) == pytest.approx(0.3, abs=0.15)


def straight_poses(robot, count=6):
    start = robot.forward_kinematics(FIRST, 'tool0')
    poses = np.tile(start, (count, 1, 1))
    poses[:, 1, 3] += np.linspace(0.0, 0.4, count)
    return poses


def test_motion_avoids_an_obstacle_by_another_branch_or_says_what_is_hit():
    robot, world = shipped('ur5e'), ik.World()
    poses = straight_poses(robot)
    world.add('ball', Sphere(0.02), ik.transform(position=poses[3, :3, 3]))
    result = solve_path(problem_with(world, robot), poses)
    assert result.reason is PathReason.COLLISION
    assert 'ball' in result.message
    assert result.interval[0] < 3.0 < result.interval[1]


@pytest.mark.parametrize('q0', [None, FIRST])
def test_motion_is_free_at_all_its_frames(q0):
    robot, world = shipped('ur5e'), ik.World()
    elbow = robot.forward_kinematics(FIRST, 'forearm_link')[:3, 3]
    world.add('ball', Sphere(0.1), ik.transform(position=elbow + np.array([0.0, 0.35, 0.1])))
    problem = problem_with(world, robot)
    result = solve_path(problem, straight_poses(robot), q0=q0, period=0.002)
    if result.success:
        assert problem.avoid.free(result.motion.positions).all()
    else:
        assert q0 is not None
        assert result.reason in (PathReason.COLLISION, PathReason.RECONFIGURATION)


def test_check_of_the_users_own_is_asked():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0')
    problem = ik.IkProblem(robot, [goal], valid=lambda q: q[2] < 0.0)
    result = solve_path(problem, straight_poses(robot))
    assert result.success
    assert (result.motion.positions[:, 2] < 0.0).all()
    never = ik.IkProblem(robot, [goal], valid=lambda q: False)
    refused = solve_path(never, straight_poses(robot))
    assert refused.reason is PathReason.COLLISION
    assert 'refused' in refused.message
