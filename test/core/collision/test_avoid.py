# SPDX-License-Identifier: Apache-2.0
"""Answers that avoid collisions. The truth are distances of spheres, by forward kinematics."""

from __future__ import annotations

import pickle

import numpy as np
import pytest
from support.robots import URDF
from support.sphere_scene import ARMS, MARGIN, Scene

import ik_core as ik
from ik_core.batch import solve_best
from ik_core.collision import Collisions, Sphere
from ik_core.maths.rotations import Array
from ik_core.reachability import reachability_map

# The solvers that avoid collisions, with options where random starts may have to help
RESTARTS: dict[str, dict[str, int]] = {
    'levenberg_marquardt': {},
    'bfgs': {'restarts': 10},
    'sqp': {'restarts': 10},
}
every_solver = pytest.mark.parametrize('solver', RESTARTS)


@pytest.fixture(scope='module', params=list(ARMS))
def scene(request: pytest.FixtureRequest) -> Scene:
    return Scene(request.param)


@pytest.fixture
def panda() -> Scene:
    return Scene('panda')


def test_free_agrees_with_the_clearance_of_spheres(scene: Scene) -> None:
    rows = scene.random_rows(300, 1)
    truth = np.array([scene.clearance(q) for q in rows])
    clear = abs(truth - MARGIN) > 1e-9
    assert 0.1 < (truth > MARGIN).mean() < 0.9
    assert (scene.collisions.free(rows)[clear] == (truth > MARGIN)[clear]).all()


def test_answers_are_free_and_goals_with_a_free_pose_are_solved(scene: Scene) -> None:
    goals = scene.poses_at(scene.free_rows(200, 2))
    problem = scene.problem()
    plain = ik.IkProblem(scene.robot, [ik.PoseTask(scene.tip)])
    starts = scene.random_rows(200, 3)
    batch = ik.solve_batch(problem, goals, starts)
    without = ik.solve_batch(plain, goals, starts)
    assert np.mean([scene.clearance(q) <= MARGIN for q in without.q]) > 0.05  # there is something
    assert batch.success.mean() >= 0.98
    for q, goal in zip(batch.q[batch.success], goals[batch.success], strict=True):
        assert scene.clearance(q) > MARGIN - 1e-9
        assert np.abs(scene.robot.forward_kinematics(q, scene.tip) - goal).max() < 2e-4
    assert set(batch.status[~batch.success]) <= {ik.IkStatus.COLLISION}


@every_solver
def test_single_solves_batches_and_steps_have_the_same_answers(scene: Scene, solver: str) -> None:
    count = 40 if solver == 'levenberg_marquardt' else 15
    goals, starts = scene.poses_at(scene.free_rows(count, 4)), scene.random_rows(count, 5)
    problem, options = scene.problem(), RESTARTS[solver]
    batch = ik.solve_batch(problem, goals, starts, solver=solver, threads=2, **options)
    other = ik.solve_batch(problem, goals, starts, solver=solver, threads=1, **options)
    assert (batch.q == other.q).all()
    method = ik.make_solver(solver, **options)
    for k, goal in enumerate(goals):
        problem.goals[0].set_target(goal)
        single = method.solve(problem, starts[k])
        search = ik.make_solver(solver, **options).begin(problem, starts[k])
        while not search.run(ik.Budget(iterations=1)):
            pass
        for result in (single, search.result()):
            assert result.status is batch.status[k]
            np.testing.assert_array_equal(result.q, batch.q[k])
            assert result.restarts == batch.restarts[k]


def test_closed_form_solver_answers_freely_and_nearest(scene: Scene) -> None:
    goals, starts = scene.poses_at(scene.free_rows(40, 6)), scene.random_rows(40, 7)
    problem = scene.problem()
    results = ik.solve_batch(problem, goals, starts, solver='closed_form')
    assert results.success.mean() >= 0.95
    for k, result in enumerate(results):
        problem.goals[0].set_target(goals[k])
        single = ik.solve(problem, starts[k], solver='closed_form')
        assert single.success == result.success
        if result.success:
            assert scene.clearance(result.q) > MARGIN - 1e-9
            np.testing.assert_allclose(single.q, result.q, atol=1e-9)


def test_closed_form_of_six_joints_proves_that_all_solutions_collide() -> None:
    scene = Scene('ur5e')
    problem = scene.problem()
    proofs = 0
    for q in scene.random_rows(60, 8):
        problem.goals[0].set_target(scene.robot.forward_kinematics(q, scene.tip))
        found = ik.solve_all(problem, q)
        assert found.complete
        assert all(scene.clearance(one) > MARGIN - 1e-9 for one in found)
        assert all(scene.clearance(one) <= MARGIN + 1e-9 for one in found.colliding)
        assert len(found) + len(found.colliding) >= 1
        result = ik.solve(problem, solver='closed_form')
        assert result.success == (len(found) > 0)
        if not result.success:
            proofs += 1
            count = len(found.colliding)
            assert result.status is ik.IkStatus.COLLISION
            assert f'of {count} solutions' in result.note
            assert 'for certain' in result.note
            assert ik.solve(problem).status is ik.IkStatus.COLLISION  # searches find none either
    assert proofs > 3


def test_collision_names_the_pair_and_returns_a_free_configuration_or_the_start(
    panda: Scene,
) -> None:
    problem, (q, start) = panda.problem(), panda.free_rows(2, 9)
    problem.goals[0].set_target(panda.robot.forward_kinematics(q, panda.tip))
    at = panda.robot.forward_kinematics(q, 'panda_hand')[:3, 3]
    panda.world.add('block', Sphere(0.2), ik.transform(position=at))
    assert panda.collisions.free(start)
    result = ik.solve(problem, start)
    assert result.status is ik.IkStatus.COLLISION
    assert not result.success
    assert 'for certain, wherever the other links are' in result.message
    assert 'block' in result.message
    assert panda.collisions.free(result.q)  # the best of those that are free
    assert result.position_errors[0] > problem.position_tolerance
    panda.world.add('everything', Sphere(5.0))
    result = ik.solve(problem, q)
    assert result.status is ik.IkStatus.COLLISION
    np.testing.assert_array_equal(result.q, q)  # nothing is free, so it is the start
    assert result.position_errors[0] < problem.position_tolerance  # which is at the goal


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'closed_form'])
def test_for_certain_is_said_only_where_the_hand_alone_collides(panda: Scene, solver: str) -> None:
    """The hand is where the goal has it: no other posture of the arm is free, either."""
    problem, rows = panda.problem(), panda.random_rows(150, 11)
    others = ik.IkProblem(panda.robot, [ik.PoseTask(panda.tip)])
    said = 0
    for q in rows:
        goal = panda.robot.forward_kinematics(q, panda.tip)
        problem.goals[0].set_target(goal)
        others.goals[0].set_target(goal)
        result = ik.solve(problem, rows[0], solver=solver)
        if 'for certain, wherever the other links are' not in result.message:
            continue
        said += 1
        assert result.status is ik.IkStatus.COLLISION
        answers = [ik.solve(others, start) for start in rows[:10]]
        assert any(answer.success for answer in answers)
        for answer in answers:
            assert not answer.success or panda.clearance(answer.q) <= MARGIN
    assert said > 10


def test_goals_out_of_reach_have_a_closest_point_that_is_free(scene: Scene) -> None:
    problem = scene.problem()
    for k, q in enumerate(scene.free_rows(20, 10)):
        pose = scene.robot.forward_kinematics(q, scene.tip)
        pose[:3, 3] *= 3.0 / np.linalg.norm(pose[:3, 3])
        problem.goals[0].set_target(pose)
        result = ik.solve(problem, q)
        assert result.status in (ik.IkStatus.CLOSEST, ik.IkStatus.COLLISION), k
        assert scene.clearance(result.q) > MARGIN - 1e-9


@every_solver
@pytest.mark.parametrize('iterations', [0, 1, 3, 10, 40])
def test_a_budget_ends_at_a_free_configuration_or_the_start(
    scene: Scene, solver: str, iterations: int
) -> None:
    problem, budget = scene.problem(), ik.Budget(iterations=iterations)
    goals, starts = scene.poses_at(scene.random_rows(60, 11)), scene.random_rows(60, 12)
    for goal, start in zip(goals, starts, strict=True):
        problem.goals[0].set_target(goal)
        result = ik.solve(problem, start, solver=solver, budget=budget)
        is_free = scene.clearance(result.q) > MARGIN - 1e-9
        assert is_free or ((result.q == start).all() and not result.success)


@every_solver
def test_a_start_at_the_goal_that_collides_is_left(scene: Scene, solver: str) -> None:
    problem, left = scene.problem(), 0
    for q in scene.random_rows(60, 13):
        if scene.clearance(q) > MARGIN:
            continue
        problem.goals[0].set_target(scene.robot.forward_kinematics(q, scene.tip))
        unmoved = ik.solve(problem, q, solver=solver, budget=ik.Budget(iterations=0))
        assert not unmoved.success or (unmoved.q != q).any()  # it may begin at a closed form
        result = ik.solve(problem, q, solver=solver, **RESTARTS[solver])
        left += result.success
        if result.success:
            assert scene.clearance(result.q) > MARGIN - 1e-9
        else:
            assert result.status is ik.IkStatus.COLLISION  # as a solution was seen
    assert left > 3


@every_solver
def test_a_solver_sees_obstacles_that_move_between_solves(panda: Scene, solver: str) -> None:
    problem, method = panda.problem(), ik.make_solver(solver, **RESTARTS[solver])
    far = ik.transform(position=(5.0, 0.0, 0.0))
    panda.world.add('block', Sphere(0.03), far)
    solved = 0
    for q in panda.free_rows(10, 14):
        problem.goals[0].set_target(panda.robot.forward_kinematics(q, panda.tip))
        elbow = panda.robot.forward_kinematics(q, 'panda_link4')
        assert (method.solve(problem, q).q == q).all()
        panda.world.move('block', elbow)
        moved = method.solve(problem, q)
        assert not moved.success or not (moved.q == q).all()
        assert panda.collisions.free(moved.q) or moved.status is ik.IkStatus.COLLISION
        solved += moved.success
        panda.world.move('block', far)
        assert (method.solve(problem, q).q == q).all()
        panda.world.remove('block')
        assert (method.solve(problem, q).q == q).all()
        panda.world.add('block', Sphere(0.03), elbow)
        assert (method.solve(problem, q).q == moved.q).all()
        panda.world.move('block', far)
    assert solved > 5


def test_a_search_under_way_keeps_the_obstacles_that_it_began_with(panda: Scene) -> None:
    problem, q = panda.problem(), panda.free_rows(2, 15)
    problem.goals[0].set_target(panda.robot.forward_kinematics(q[0], panda.tip))
    whole = ik.solve(problem, q[1])
    search = ik.make_solver().begin(problem, q[1])
    search.run(ik.Budget(iterations=1))
    panda.world.move('ball 0', ik.transform(position=(0.0, 0.0, 0.5)))
    panda.world.add('everything', Sphere(5.0))
    search.run()
    np.testing.assert_array_equal(search.result().q, whole.q)


@every_solver
def test_valid_has_the_last_word(panda: Scene, solver: str) -> None:
    asked = list[Array]()

    def left(q: Array) -> bool:
        asked.append(q)
        return bool(q[0] > 0.0)

    goal, options = [ik.PoseTask(panda.tip)], {'solver': solver, **RESTARTS[solver]}
    goals, starts = panda.poses_at(panda.free_rows(40, 16)), panda.random_rows(40, 17)
    for problem in (ik.IkProblem(panda.robot, goal, valid=left), panda.problem(valid=left)):
        asked.clear()
        batch = ik.solve_batch(problem, goals, starts, **options)
        assert batch.success.sum() > 10
        assert (batch.q[batch.success, 0] > 0.0).all()
    assert panda.collisions.free(batch.q[batch.success]).all()
    assert all(panda.collisions.free(q) for q in asked)  # it is asked last
    nothing = panda.problem(valid=lambda q: False)
    nothing.goals[0].set_target(goals[0])
    result = ik.solve(nothing, starts[0], **options)
    assert result.status is ik.IkStatus.COLLISION
    assert 'valid' in result.note


@pytest.mark.parametrize('solver', [*RESTARTS, 'closed_form'])
def test_what_valid_raises_comes_out_and_the_next_solve_works(panda: Scene, solver: str) -> None:
    broken = True

    def check(q: Array) -> bool:
        if broken:
            raise ZeroDivisionError('in the check')
        return True

    problem, q = panda.problem(valid=check), panda.free_rows(1, 18)[0]
    problem.goals[0].set_target(panda.robot.forward_kinematics(q, panda.tip))
    method = ik.make_solver(solver, **RESTARTS.get(solver, {}))
    with pytest.raises(ZeroDivisionError, match='in the check'):
        method.solve(problem, np.zeros(panda.robot.n))
    broken = False
    assert method.solve(problem, np.zeros(panda.robot.n)).success


@every_solver
def test_best_solutions_and_secondary_tasks_stay_free(panda: Scene, solver: str) -> None:
    goals, starts = panda.poses_at(panda.free_rows(10, 19)), panda.random_rows(10, 20)
    rest, options = ik.PostureTask(np.zeros(panda.robot.n)), {'solver': solver, **RESTARTS[solver]}
    plain, later = panda.problem(), panda.problem(secondary=[rest])
    lower = 0
    for goal, start in zip(goals, starts, strict=True):
        for problem in (plain, later):
            problem.goals[0].set_target(goal)
        first, second = (ik.solve(problem, start, **options) for problem in (plain, later))
        for result in (first, second, solve_best(plain, start)):
            assert not result.success or panda.clearance(result.q) > MARGIN - 1e-9
        lower += second.success and np.linalg.norm(second.q) < np.linalg.norm(first.q) - 0.01
    assert lower > 3  # secondary tasks still do something


@pytest.mark.parametrize(
    'solver', sorted(set(ik.SOLVERS) - {'levenberg_marquardt', 'closed_form', 'bfgs', 'sqp'})
)
def test_other_solvers_refuse_what_they_can_not_avoid(panda: Scene, solver: str) -> None:
    problem = panda.problem()
    problem.goals[0].set_target(ik.transform(position=(0.4, 0.0, 0.4)))
    with pytest.raises(ik.UnsupportedProblem, match=f'{solver} does not support avoid='):
        ik.solve(problem, solver=solver)
    other = ik.IkProblem(panda.robot, problem.goals, valid=lambda q: True)
    with pytest.raises(ik.UnsupportedProblem, match='valid='):
        ik.solve(other, solver=solver)


def test_a_problem_refuses_what_is_no_collisions(panda: Scene) -> None:
    robot, goals = panda.robot, [ik.PoseTask(panda.tip)]
    with pytest.raises(ik.InvalidOption, match='a Collisions is needed'):
        ik.IkProblem(robot, goals, avoid=panda.world)  # type: ignore[arg-type]
    with pytest.raises(ik.InvalidOption, match='another robot'):
        ik.IkProblem(ik.load_urdf(URDF / 'panda.urdf'), goals, avoid=panda.collisions)
    with pytest.raises(ik.InvalidOption, match="beyond the robot's own limits"):
        panda.problem(upper=robot.upper + 0.1)
    with pytest.raises(ik.InvalidOption, match='valid'):
        panda.problem(valid=True)
    with pytest.raises(ik.InvalidOption, match='avoid of a problem is fixed'):
        panda.problem().avoid = None  # type: ignore[misc]


@pytest.mark.filterwarnings('ignore:no acceleration limit')
def test_a_tracker_refuses_a_check_that_it_would_not_keep(panda: Scene) -> None:
    problem = panda.problem()
    checked = ik.IkProblem(problem.robot, problem.goals, valid=lambda q: bool(q[0] > 0.0))
    with pytest.raises(ik.UnsupportedProblem, match='a Tracker does not support valid='):
        ik.Tracker(checked, 100.0)


@pytest.mark.parametrize(
    ('options', 'said'),
    [
        ({'margin': {('a', 'b'): 0.1}}, "none of 'a', 'b' is a link"),
        ({'margin': float('nan')}, 'margin = nan'),
        ({'margin': {'panda_link1': 0.1}}, 'is no pair of names'),
        ({'geometry': 'meshes'}, "'collision' or 'visual' is needed"),
        ({'world': []}, 'an ik.World is needed'),
        ({'robot': 'panda'}, 'a Robot is needed'),
        ({'boxes': 0}, 'boxes = 0'),
    ],
)
def test_collisions_refuse_what_makes_no_sense(options: dict[str, object], said: str) -> None:
    robot = ik.load_urdf(URDF / 'panda.urdf')
    with pytest.raises(ik.InvalidOption) as caught:
        Collisions(**{'robot': robot, **options})  # type: ignore[arg-type]
    assert said in str(caught.value)


def test_collisions_can_be_pickled(panda: Scene) -> None:
    rows = panda.random_rows(50, 21)
    problem = pickle.loads(pickle.dumps(panda.problem()))
    assert (problem.avoid.free(rows) == panda.collisions.free(rows)).all()
    assert problem.avoid.digest() == panda.collisions.digest()
    panda.world.add('more', Sphere(0.1), ik.transform(position=(0.3, 0.3, 0.3)))
    assert problem.avoid.digest() != panda.collisions.digest()


def test_reachability_counts_free_poses_only(panda: Scene) -> None:
    box = (0.2, -0.4, 0.2), (0.6, 0.4, 0.6)
    plain = ik.IkProblem(panda.robot, [ik.PoseTask(panda.tip)])
    options = {'box': box, 'step': 0.2, 'orientations': 6}
    free, every = (reachability_map(p, **options) for p in (panda.problem(), plain))
    assert (free.reached <= every.reached).all()
    assert free.reached.sum() < 0.9 * every.reached.sum()
    assert free.settings['kinematics'] != every.settings['kinematics']
