# SPDX-License-Identifier: Apache-2.0
"""`bfgs` and `sqp` among obstacles: distances as constraints. What they share is in test_avoid.py.

The truth are distances of spheres by forward kinematics, and coal where it is installed.
"""

from __future__ import annotations

import numpy as np
import pytest
from support.sphere_scene import MARGIN, Scene

import ik_core as ik
from ik_core.collision import Box, Collisions, Plane
from ik_core.robot import LinearConstraint

FREE = MARGIN - 1e-9
both = pytest.mark.parametrize('solver', ['bfgs', 'sqp'])


@pytest.fixture(scope='module', params=['panda', 'ur5e'])
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


def plain(scene: Scene) -> ik.IkProblem:
    return ik.IkProblem(scene.robot, [ik.PoseTask(scene.tip)])


@both
def test_goals_with_a_free_pose_are_solved_where_plain_answers_collide(
    scene: Scene, solver: str
) -> None:
    goals, starts = scene.poses_at(scene.free_rows(60, 2)), scene.random_rows(60, 3)
    batch = ik.solve_batch(scene.problem(), goals, starts, solver=solver, restarts=30)
    without = ik.solve_batch(plain(scene), goals, starts, solver=solver, restarts=30)
    collided = np.array([scene.clearance(q) <= MARGIN for q in without.q])
    assert (collided & without.success & batch.success).sum() >= 2  # there is something to avoid
    assert batch.success.all()
    for q, goal in zip(batch.q, goals, strict=True):
        assert scene.clearance(q) > FREE
        assert np.abs(scene.robot.forward_kinematics(q, scene.tip) - goal).max() < 2e-4


@both
def test_no_iterate_collides_from_a_free_start(scene: Scene, solver: str) -> None:
    problem, blocked = scene.problem(), 0
    goals, starts = scene.poses_at(scene.random_rows(40, 4)), scene.free_rows(40, 5)
    for goal, start in zip(goals, starts, strict=True):
        problem.goals[0].set_target(goal)
        search = ik.make_solver(solver).begin(problem, start)
        while not search.run(ik.Budget(iterations=1)):
            assert scene.clearance(search.q) > FREE
        result = search.result()
        assert scene.clearance(result.q) > FREE
        assert result.status is not ik.IkStatus.COLLISION
        if 'stopped by' in result.note:
            blocked += 1
            assert scene.clearance(result.q) < MARGIN + 1e-4
    assert blocked >= 3


@both
def test_no_iterate_is_deeper_than_a_start_that_collides(scene: Scene, solver: str) -> None:
    problem, left = scene.problem(), 0
    starts = [q for q in scene.random_rows(120, 6) if scene.clearance(q) <= MARGIN][:30]
    goals = scene.poses_at(scene.free_rows(len(starts), 7))
    for goal, start in zip(goals, starts, strict=True):
        problem.goals[0].set_target(goal)
        search = ik.make_solver(solver).begin(problem, start)
        depths = [max(0.0, MARGIN - scene.clearance(start))]
        while not search.run(ik.Budget(iterations=1)):
            depths.append(max(0.0, MARGIN - scene.clearance(search.q)))
        assert np.diff(depths).max(initial=0.0) <= 1e-9
        result = search.result()
        if scene.clearance(result.q) > FREE:
            left += 1
        else:
            assert result.status is ik.IkStatus.COLLISION
            assert 'nothing free was found' in result.note
            np.testing.assert_array_equal(result.q, start)
    assert len(starts) == 30
    assert left >= 28


@both
def test_closest_points_are_free_and_lowest_among_free_points_nearby(
    scene: Scene, solver: str
) -> None:
    problem, rng, held = scene.problem(), np.random.default_rng(9), 0
    checked = 0
    goals, starts = scene.poses_at(scene.free_rows(25, 10)), scene.free_rows(25, 11)
    for goal, start in zip(goals, starts, strict=True):
        goal[:3, 3] *= 3.0 / np.linalg.norm(goal[:3, 3])
        problem.goals[0].set_target(goal)
        result = ik.solve(problem, start, solver=solver)
        assert scene.clearance(result.q) > FREE
        assert result.status in (ik.IkStatus.CLOSEST, ik.IkStatus.STALLED)
        if result.status is ik.IkStatus.STALLED:
            continue
        checked += 1
        held += 'stopped by' in result.note
        for size in np.repeat([1e-2, 1e-1], 30):
            near = problem.limits.project(
                result.q[problem.variables] + size * rng.normal(size=len(problem.variables))
            )
            q = result.q.copy()
            q[problem.variables] = near
            if scene.clearance(q) > MARGIN:
                assert problem.evaluate(q).cost >= result.cost * (1.0 - 1e-6)
    assert checked >= 12
    assert held >= 1


@both
def test_linear_constraints_hold_among_obstacles(solver: str) -> None:
    scene = Scene('panda')
    row = LinearConstraint({'panda_joint1': 1.0, 'panda_joint3': 1.0}, -0.5, 0.5)
    problem = scene.problem(constraints=[row])
    goals, starts, solved = scene.poses_at(scene.free_rows(20, 17)), scene.free_rows(20, 18), 0
    for goal, start in zip(goals, starts, strict=True):
        problem.goals[0].set_target(goal)
        result = ik.solve(problem, start, solver=solver, restarts=5)
        solved += result.success
        if result.status is not ik.IkStatus.COLLISION:
            assert scene.clearance(result.q) > FREE
            assert abs(result.q[0] + result.q[2]) <= 0.5 + 1e-9
    assert solved >= 5


@both
@pytest.mark.parametrize('name', ['panda', 'ur5e'])
def test_shipped_robots_at_a_table_are_free_by_coal(solver: str, name: str) -> None:
    pytest.importorskip('coal')
    from benchmark.coal_judge import CoalJudge

    robot, tip = ik.load_robot(name), {'panda': 'panda_hand_tcp', 'ur5e': 'tool0'}[name]
    world = ik.World()
    world.add('floor', Plane(), ik.transform(position=(0.0, 0.0, -0.02)))
    world.add('table', Box((0.5, 1.0, 0.04)), ik.transform(position=(0.55, 0.0, 0.25)))
    collisions = Collisions(robot, world, margin=0.01)
    judge, rng = CoalJudge(collisions), np.random.default_rng(24)
    low, high = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    rows = low + rng.random((200, robot.n)) * (high - low)
    rows = rows[collisions.free(rows)][:30]
    goals = np.array([robot.forward_kinematics(q, tip) for q in rows])
    starts = low + rng.random((len(rows), robot.n)) * (high - low)
    problem = ik.IkProblem(robot, [ik.PoseTask(tip)], avoid=collisions)
    others = np.setdiff1d(np.arange(robot.n), problem.variables)  # fingers stay as they are
    starts[:, others] = rows[:, others]
    found = ik.solve_batch(problem, goals, starts, solver=solver, restarts=30)
    assert found.success.mean() >= 0.95
    for q in found.q[found.status != ik.IkStatus.COLLISION]:
        assert min(judge.distances(q).values()) > 0.0
        margins = {(p.first, p.second): p.margin for p in collisions.distances(q, 0.02)}
        for pair, distance in judge.distances(q).items():
            margin = margins.get(pair, margins.get(pair[::-1], 0.0))
            assert distance > margin - 1e-9
