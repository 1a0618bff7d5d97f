# SPDX-License-Identifier: Apache-2.0
"""Solutions of `closed_form` for robots: limits, turns, frozen joints, singularities."""

import numpy as np
import pytest
from support import closed_form_chains as chains
from support import robots, ur5e_closed_form

import ik_core as ik
from ik_core import (
    IkProblem,
    InvalidConfiguration,
    InvalidGoal,
    PoseTask,
    UnsupportedProblem,
)


def ur5e():
    robot = robots.shipped('ur5e')
    goal = PoseTask('tool0')
    return robot, goal, IkProblem(robot, [goal])


def wrapped(gap):
    return np.abs((gap + np.pi) % (2.0 * np.pi) - np.pi)


def test_a_ur5e_has_the_solutions_that_its_geometry_has():
    robot, goal, problem = ur5e()
    form, rng = ik.closed_form.form(problem), np.random.default_rng(20)
    for _ in range(200):
        q, q0 = rng.uniform(-np.pi, np.pi, (2, 6))
        goal.set_target(robot.forward_kinematics(q, 'tool0'))
        found, truth = form.solve(q0), ur5e_closed_form.solutions(goal.transform)
        assert form.is_certain
        assert len(found) == len(truth)
        gaps = wrapped(found[:, None] - truth[None]).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-8
        assert gaps.min(axis=0).max() < 1e-8
        assert (np.abs(found - q0) <= np.pi + 1e-9).all()
        assert (np.diff(np.linalg.norm(found - q0, axis=1)) >= 0.0).all()


@pytest.mark.parametrize('name', ['ur5e', 'an arm with offsets'])
def test_right_angles_which_are_full_of_singularities_lose_no_solution(name):
    robot = robots.shipped('ur5e')
    if name != 'ur5e':
        robot = chains.opw(0.1, 0.135, 0.02, 0.615, 0.705, 0.755)
    tip = robot.tips()[0]
    goal = PoseTask(tip)
    problem = IkProblem(robot, [goal])
    form, rng = ik.closed_form.form(problem), np.random.default_rng(21)
    for i in range(60):
        q = rng.integers(-1, 2, 6) * 0.5 * np.pi
        pose = robot.forward_kinematics(q, tip)
        goal.set_target(pose)
        found = form.solve(q)
        # the joints that do not matter keep their values, so q itself is among them
        assert wrapped(found - q).max(axis=1).min() < 1e-4
        for other in found:
            np.testing.assert_allclose(robot.forward_kinematics(other, tip), pose, atol=5e-9)
        if i % 4:
            continue
        for other in ik.solve_all(problem, q, closed_form=False, max_searches=128):
            jacobian = problem.evaluate(other).jacobian
            if np.linalg.cond(jacobian) < 1e4:
                assert wrapped(found - other).max(axis=1).min() < 1e-4


@pytest.mark.parametrize('q', [(0.0, 1.0, 0.0, -1.0, 0.0, 0.0), (1.0, 2.0, 0.0, -1.0, 0.0, 0.0)])
def test_undetermined_joints_leave_their_start_where_only_other_values_reach_the_goal(q):
    """Arms that are stretched behind an aligned wrist: one value of joint 6 reaches the goal."""
    robot, goal, problem = ur5e()
    q = 0.5 * np.pi * np.array(q)
    pose = robot.forward_kinematics(q, 'tool0')
    goal.set_target(pose)
    form = ik.closed_form.form(problem)
    starts = np.random.default_rng(27).uniform(-3.0, 3.0, (40, 6))
    many = form.solve_many(np.repeat(pose[None], len(starts), axis=0), starts)
    for start, others in zip(starts, many, strict=True):
        found = form.solve(start)
        assert wrapped(found - q).max(axis=1).min() < 1e-4
        np.testing.assert_array_equal(others, found)
        for one in found:
            np.testing.assert_allclose(robot.forward_kinematics(one, 'tool0'), pose, atol=5e-9)


def test_singularities_of_virtual_joints_are_no_proof_that_there_is_no_solution():
    lean = 7e-6  # as where a URDF has 1.5708 for a right angle
    y, x, z = [0.0, -1.0, 0.0], [-1.0, lean, lean], [0.0, 0.0, -1.0]
    points = [
        [0, 0, -0.052],
        [0, 0, -0.184],
        [0, 0, -0.259],
        [0, 0.012, -0.259],
        [0, 0.012, -0.293],
    ]
    spec = [('R', axis, np.array(p)) for axis, p in zip([y, y, y, x, z], points, strict=True)]
    rng = np.random.default_rng(26)
    robot = chains.chain(spec, rng)
    goal = PoseTask('tool')
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    certain = 0
    for _ in range(60):
        q = rng.uniform(robot.lower, robot.upper)
        right = rng.random(5) < 0.5
        q[right] = rng.integers(-1, 2, 5)[right] * 0.5 * np.pi
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        found = form.solve()
        if form.is_certain:
            certain += 1
            assert len(found) > 0
            assert np.abs(found - q).max(axis=1).min() < 1e-4
    assert certain > 20


def test_solve_all_is_the_closed_form_and_agrees_with_searches():
    robot, rng = chains.opw(0.1, 0.135, 0.0, 0.615, 0.705, 0.755), np.random.default_rng(22)
    goal = PoseTask('tool')
    problem = IkProblem(robot, [goal])
    for _ in range(10):
        q = rng.uniform(robot.lower, robot.upper)
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        ours, searched = ik.solve_all(problem, q), ik.solve_all(problem, q, closed_form=False)
        assert 'meet in a point' in ours.family
        assert searched.family == ''
        assert (ours.complete, ours.searches) == (True, 0)
        assert ours.position_errors.max() < 1e-9
        assert ours.orientation_errors.max() < 1e-9
        assert not ours.singular.any()
        gaps = wrapped(ours.q[:, None] - searched.q[None]).max(axis=2)
        assert len(ours) == len(searched)
        assert gaps.min(axis=0).max() < 1e-6
        assert gaps.min(axis=1).max() < 1e-6


def test_no_solution_is_told_for_certain_where_there_is_none():
    robot, goal, problem = ur5e()
    for position in ([2.0, 0.0, 0.5], [0.0, 0.0, 0.3]):
        pose = robot.forward_kinematics(np.full(6, 0.7), 'tool0')
        pose[:3, 3] = position
        goal.set_target(pose)
        assert len(ur5e_closed_form.solutions(pose)) == 0
        found = ik.solve_all(problem)
        assert len(found) == 0
        assert found.complete
        assert found.q.shape == (0, 6)


@pytest.mark.parametrize('side', [-1.0, 1.0])
@pytest.mark.parametrize('joint', range(6))
def test_a_solution_a_hair_beyond_either_limit_has_one_beside_it_to_the_tolerances(joint, side):
    robot, goal, _ = ur5e()
    q = np.array([0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    goal.set_target(robot.forward_kinematics(q, 'tool0'))
    lower, upper = q - 0.1, q + 0.1
    (upper if side > 0.0 else lower)[joint] = q[joint] - side * 5e-5
    tolerances = {'position_tolerance': 1e-4, 'orientation_tolerance': 1e-4}
    problem = IkProblem(robot, [goal], lower=lower, upper=upper, **tolerances)
    found = ik.closed_form.form(problem).solve(q)
    assert len(found) == 1
    assert ((lower <= found) & (found <= upper)).all()
    there = robot.forward_kinematics(found[0], 'tool0')
    np.testing.assert_allclose(there, goal.transform, rtol=0, atol=1e-4)
    np.testing.assert_allclose(found[0], q, rtol=0, atol=1e-3)


def test_what_is_outside_the_limits_is_no_solution():
    robot, goal, _ = ur5e()
    q = np.array([0.4, -1.2, 1.4, -0.9, 1.1, 0.3])
    goal.set_target(robot.forward_kinematics(q, 'tool0'))
    whole = IkProblem(robot, [goal], lower=np.full(6, -np.pi), upper=np.full(6, np.pi))
    every = ik.closed_form.form(whole).solve(q)
    lower, upper = np.full(6, -np.pi), np.full(6, np.pi)
    lower[2] = 0.0  # the elbow on one side
    half = ik.closed_form.form(IkProblem(robot, [goal], lower=lower, upper=upper)).solve(q)
    np.testing.assert_allclose(half, every[every[:, 2] >= 0.0], atol=1e-9)
    assert 0 < len(half) < len(every)
    lower, upper = q.copy(), q + 0.1  # exactly on a limit is inside
    np.testing.assert_allclose(
        ik.closed_form.form(IkProblem(robot, [goal], lower=lower, upper=upper)).solve(),
        [q],
        atol=1e-9,
    )


def test_frozen_joints_may_stand_elsewhere_from_solve_to_solve():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(23)
    tip = robots.tip_of(robot)
    goal = PoseTask(tip)
    form = ik.closed_form.form(IkProblem(robot, [goal], frozen_joints=[robot.joint_names[2]]))
    assert form.redundant_joint is None
    for _ in range(10):
        q = robots.random_q(robot, rng, margin=0.1)
        goal.set_target(robot.forward_kinematics(q, tip))
        found = form.solve(q)
        np.testing.assert_allclose(found[0], q, atol=1e-8)
        assert (found[:, 2] == q[2]).all()


def test_a_goal_relative_to_another_link_is_a_chain_like_any_other():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(25)
    base, tip = robot.link_names[2], robots.tip_of(robot)
    goal = PoseTask(tip, relative_to=base)
    problem = IkProblem(robot, [goal])
    form = ik.closed_form.form(problem)
    for _ in range(5):
        q = robots.random_q(robot, rng, margin=0.1)
        pose = robot.forward_kinematics(q, tip, base)
        goal.set_target(pose)
        found = form.solve(q)
        np.testing.assert_allclose(found[0], q, atol=1e-8)
        for other in found:
            np.testing.assert_allclose(robot.forward_kinematics(other, tip, base), pose, atol=5e-9)


def test_a_goal_without_target_and_changed_tolerances_are_noticed():
    robot, goal, problem = ur5e()
    with pytest.raises(InvalidGoal):
        ik.closed_form.form(problem).solve()
    goal.set_target(robot.forward_kinematics(np.full(6, 0.7), 'tool0'))
    assert len(ik.solve_all(problem)) > 0
    form = ik.closed_form.form(problem)
    assert form.is_for(problem)
    problem.position_tolerance = 1e-3
    assert not form.is_for(problem)


def test_redundancy_parameter_that_is_no_number_is_refused_and_others_may_have_no_solution():
    robot = robots.shipped('iiwa14')
    goal = PoseTask(robots.tip_of(robot))
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    goal.set_target(robot.forward_kinematics(np.full(7, 0.4), goal.link))
    assert len(form.solve(redundancy=0.4)) > 0
    assert len(form.solve(redundancy=3.1)) == 0  # outside its limits, as a turn less is
    for value in (np.nan, np.inf, 'left'):
        with pytest.raises(InvalidConfiguration, match='redundancy'):
            form.solve(redundancy=value)


def test_secondary_tasks_that_move_other_joints_are_refused():
    robot = robots.shipped('panda')
    tasks, secondary = [PoseTask(robots.tip_of(robot))], [ik.PositionTask('panda_leftfinger')]
    with pytest.raises(UnsupportedProblem, match='secondary'):
        ik.closed_form.form(IkProblem(robot, tasks, secondary=secondary))


def test_a_mimic_joint_in_the_chain_is_refused():
    z, shift = np.array([0.0, 0.0, 1.0]), robots.transform(translation=[0.5, 0.0, 0.0])
    joints = [
        ik.robot.Joint('j1', 'revolute', 'a', 'b', axis=z, lower=-2, upper=2),
        ik.robot.Joint(
            'j2', 'revolute', 'b', 'c', shift, z, -2, 2, mimic=ik.robot.Mimic('j1', -1.5, 0.3)
        ),
    ]
    robot = ik.Robot.from_joints('mimic', list('abc'), joints)
    with pytest.raises(UnsupportedProblem, match='mimic'):
        ik.closed_form.form(IkProblem(robot, [PoseTask('c')]))
