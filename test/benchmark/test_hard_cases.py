# SPDX-License-Identifier: Apache-2.0
"""The default solver on what is hard: boundaries, singularities, limits, goals out of reach."""

import argparse
import itertools
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, seed, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from benchmark import hard, problems, secondary
from benchmark import robots as benchmark_robots
from benchmark.hard import CASES
from benchmark.problems import TOLERANCE
from ik_core import IkProblem, IkStatus, PoseTask, PositionTask, make_solver
from ik_core.solvers import DEFAULT_SOLVER

SEARCHED = [name for name in CASES if name.startswith('unreachable pose')]
KNOWN = [name for name in CASES if name not in SEARCHED]


def cases_of(name, count, random_seed=1):
    """Yield `count` cases; use each one before you ask for the next."""
    return itertools.islice(CASES[name](np.random.default_rng(random_seed)), count)


def assert_honest(problem, q0, result):
    """Finite, inside the limits, other joints left alone, and as good as it says."""
    assert np.isfinite(result.q).all()
    variables = problem.variables
    assert (result.q[variables] >= problem.limits.lower).all()
    assert (result.q[variables] <= problem.limits.upper).all()
    others = np.delete(np.arange(problem.robot.n), variables)
    np.testing.assert_array_equal(result.q[others], q0[others])
    assert math.isfinite(result.cost)
    np.testing.assert_allclose(problem.evaluate(result.q).cost, result.cost, rtol=1e-9)
    reached = problem.is_solved(result.position_errors, result.orientation_errors)
    assert result.success == reached


def assert_reached(problem, result):
    """By the robot's poses and scipy's rotations."""
    for task in problem.goals:
        gap, turn = robots.pose_errors(problem.robot, result.q, task.link, task.transform)
        if isinstance(task, (PoseTask, PositionTask)):
            assert gap <= problem.position_tolerance + 1e-12
        if isinstance(task, PoseTask) and task.rotation_weights.all():
            assert turn <= TOLERANCE + 5e-8  # scipy's rounding near 0


# --- every case ----------------------------------------------------------------------------------


@pytest.mark.parametrize('name', KNOWN)
def test_hard_cases_are_mastered(name):
    solver = make_solver(DEFAULT_SOLVER)
    for case in cases_of(name, 40):
        result = solver.solve(case.problem, case.q0)
        assert_honest(case.problem, case.q0, result)
        assert hard.is_mastered(case, result), result.message
        if case.best == 0.0:
            assert_reached(case.problem, result)
        else:
            assert result.status is IkStatus.CLOSEST


@pytest.mark.parametrize('name', SEARCHED)
def test_a_closest_point_is_that_of_a_global_search(name):
    solver = make_solver(DEFAULT_SOLVER)
    for case in cases_of(name, 2):
        result = solver.solve(case.problem, case.q0)
        assert_honest(case.problem, case.q0, result)
        rng = np.random.default_rng(2)
        best = hard.global_best(case.problem, case.q0, rng, starts=60)
        assert math.sqrt(result.cost) <= best + TOLERANCE


# --- that the cases are what they say ------------------------------------------------------------


@pytest.mark.parametrize('name', [n for n in CASES if ' singularity: ' in n])
def test_goals_at_singularities_are_at_singularities(name):
    kind, arm = name.split(' ')[0], name.rpartition(' ')[2]
    problem = problems.pose_problem(benchmark_robots.arm(arm))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q = hard.singular_q(problem, arm, kind, rng)
        jacobian = problem.robot.jacobian(q, problem.goals[0].link)
        assert np.linalg.svd(jacobian, compute_uv=False)[-1] < 1e-9
        assert robots.inside(problem.robot, q)


def test_what_is_beyond_the_boundary_is_out_of_reach():
    for name, reach in (('planar', 3.0), ('iiwa14', 0.946)):
        case = next(cases_of(f'1e-06 m beyond: {name}', 1))
        robot, link = case.problem.robot, case.problem.goals[0].link
        centre = np.array([0.0, 0.0, 0.36 if name == 'iiwa14' else 0.0])
        far = np.linalg.norm(case.problem.goals[0].target[9:] - centre)
        assert far == pytest.approx(reach + 1e-6, abs=1e-9)
        rng, zeros = np.random.default_rng(4), np.zeros(robot.n)
        assert np.linalg.norm(robot.forward_kinematics(zeros, link)[:3, 3] - centre) == (
            pytest.approx(reach, abs=1e-9)
        )
        for _ in range(200):
            q = zeros + 0.3 * rng.normal(size=robot.n)
            at = robot.forward_kinematics(q, link)[:3, 3]
            assert np.linalg.norm(at - centre) <= reach + 1e-9


@pytest.mark.parametrize('name', [n for n in CASES if n.startswith('half turn')])
def test_half_turns_are_half_turns(name):
    for case in cases_of(name, 10):
        task = case.problem.goals[0]
        _, turn = robots.pose_errors(case.problem.robot, case.q0, task.link, task.transform)
        assert turn == pytest.approx(np.pi, abs=1e-6 if 'any axis' in name else 0.2)


def test_scaled_robots_are_scaled():
    small, whole = benchmark_robots.scaled('panda', 0.01), robots.shipped('panda')
    q = robots.random_q(whole, np.random.default_rng(5))
    link = robots.tip_of(whole)
    expected = whole.forward_kinematics(q, link)
    expected[:3, 3] *= 0.01
    q[7] *= 0.01 if small.joint_types[7] == 'prismatic' else 1.0
    np.testing.assert_allclose(small.forward_kinematics(q, link), expected, atol=1e-12)


def test_the_global_search_finds_the_known_optimum():
    for name in ('0.01 m beyond: planar', 'conflicting goals: iiwa14'):
        case = next(cases_of(name, 1))
        found = hard.global_best(case.problem, case.q0, np.random.default_rng(6), 30)
        assert found == pytest.approx(case.best, abs=1e-9)


def test_a_gap_is_told():
    case = next(cases_of('0.01 m beyond: planar', 1))
    result = make_solver(DEFAULT_SOLVER, restarts=0, max_iterations=1).solve(case.problem, case.q0)
    assert hard.gap(case, result) > 1e-3
    assert not hard.is_mastered(case, result)


# --- starts and limits ---------------------------------------------------------------------------


@pytest.mark.parametrize('name', [*robots.ARMS, 'scara', 'dual_arm'])
def test_a_start_at_the_goal_is_the_answer(name):
    solver = make_solver(DEFAULT_SOLVER)
    for case in itertools.islice(hard.at_the_goal(name, np.random.default_rng(7)), 20):
        result = solver.solve(case.problem, case.q0)
        assert (result.iterations, result.restarts) == (0, 0)
        np.testing.assert_array_equal(result.q, case.q0)


def test_pinned_joints_stay_where_they_are_pinned():
    robot, rng = robots.shipped('panda'), np.random.default_rng(8)
    pin = robots.random_q(robot, rng)
    problem = problems.pose_problem(robot, lower=pin, upper=pin)
    problems.aim(problem, robots.random_q(robot, rng))
    result = ik.solve(problem, robots.random_q(robot, rng))
    np.testing.assert_array_equal(result.q[:7], pin[:7])
    assert result.status is IkStatus.CLOSEST
    assert math.sqrt(result.cost) == pytest.approx(math.sqrt(problem.evaluate(result.q).cost))


def test_a_start_outside_the_limits_ends_inside_and_keeps_idle_joints():
    robot = robots.shipped('dual_arm')
    link = robot.tips()[0]
    problem = IkProblem(robot, [PoseTask(link)])
    rng = np.random.default_rng(9)
    idle = np.delete(np.arange(robot.n), problem.variables)
    for _ in range(20):
        problems.aim(problem, robots.random_q(robot, rng))
        q0 = robots.random_q(robot, rng) + rng.choice([-4.0, 4.0], robot.n)
        result = ik.solve(problem, q0)
        assert result.success
        assert robots.inside(robot, result.q, problem.variables)
        np.testing.assert_array_equal(result.q[idle], q0[idle])


@pytest.mark.parametrize(('name', 'joint'), [('ur5e', 4), ('ur5e', 2), ('iiwa14', 3), ('puma', 4)])
def test_a_seeded_solve_follows_a_motion_through_a_singularity(name, joint):
    robot = benchmark_robots.arm(name)
    problem = IkProblem(robot, [PoseTask(robot.tips()[0])])
    solver = make_solver(DEFAULT_SOLVER, restarts=0)
    rng = np.random.default_rng(10)
    middle, way = 0.4 * robots.random_q(robot, rng), rng.uniform(-1.0, 1.0, robot.n)
    middle[joint], way[joint] = 0.0, 1.0
    q = middle - 0.5 * way
    for s in np.linspace(-0.5, 0.5, 201):  # steps of 5 mrad; singular half way
        problems.aim(problem, middle + s * way)
        result = solver.solve(problem, q)
        assert result.success, result.message
        assert np.abs(result.q - q).max() < 0.25
        q = result.q


# --- nasty robots --------------------------------------------------------------------------------

NOWHERE, HERE = np.zeros(3), np.eye(4)
AXES = [np.array(axis, float) for axis in ([1, 0, 0], [0, 1, 0], [0, 0, 1], [0, 0, -1])]
RANGES = [(-2.0, 2.0), (0.3, 0.3), (0.0, 1e-9), (-20.0, 20.0), (0.0, 0.0), (-math.inf, math.inf)]
KINDS = ['revolute', 'revolute', 'continuous', 'prismatic']


@st.composite
def nasty_joint(draw, index):
    """A joint of a chain: often with no length, on the axis of the one before, or pinned."""
    kind = draw(st.sampled_from(KINDS))
    shift = draw(st.sampled_from([NOWHERE, AXES[0], 1e-9 * AXES[1], 0.3 * AXES[2]]))
    turn = draw(st.sampled_from([0.0, 0.0, 0.5 * np.pi, 1.1]))
    lower, upper = draw(st.sampled_from(RANGES))
    if kind == 'continuous':
        lower, upper = -math.inf, math.inf
    mimic = None
    if index > 0 and draw(st.integers(0, 4)) == 0:
        mimic = ik.robot.Mimic('j0', draw(st.sampled_from([0.0, -3.0, 1.0])), 0.1)
    return ik.robot.Joint(
        f'j{index}', kind, f'l{index}', f'l{index + 1}',
        robots.transform(Rotation.from_euler('x', turn), shift),
        draw(st.sampled_from(AXES)), lower, upper, mimic=mimic,
    )  # fmt: skip


@st.composite
def nasty_problem(draw):
    """(joints, problem, start): goals near, far, half a turn away, for tips and for the middle."""
    n = draw(st.integers(1, 6))
    joints = [draw(nasty_joint(i)) for i in range(n)]
    robot = ik.Robot.from_joints('nasty', [f'l{i}' for i in range(n + 1)], joints)
    rng = np.random.default_rng(draw(st.integers(0, 10**6)))
    low, high = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    goals = []
    for link in draw(st.sampled_from([[n], [n], [n, max(1, n // 2)], [n, n]])):
        kind = draw(st.sampled_from(['pose', 'pose', 'position', 'orientation', 'axis']))
        target = robot.forward_kinematics(rng.uniform(low, high), f'l{link}')
        if draw(st.booleans()):
            target[:3, 3] += draw(st.sampled_from([0.0, 1e-7, 0.1, 1e3])) * rng.normal(size=3)
            target = target @ problems.half_turn(AXES[draw(st.integers(0, 2))])
        goals.append(nasty_goal(kind, f'l{link}', target))
    start = draw(
        st.sampled_from([np.zeros(robot.n), np.full(robot.n, 1e3), rng.uniform(low, high)])
    )
    return joints, robot, goals, start


def nasty_goal(kind, link, target):
    if kind == 'axis':
        return ik.AxisTask(link, direction=target[:3, 2])
    if kind == 'position':
        return PositionTask(link, target[:3, 3])
    quaternion = Rotation.from_matrix(target[:3, :3]).as_quat()
    if kind == 'orientation':
        return ik.OrientationTask(link, quaternion)
    return PoseTask(link, target[:3, 3], quaternion)


def independent_errors(joints, robot, q, task):
    """Position and angle error of a goal from matrices multiplied joint by joint."""
    values = dict(zip(robot.joint_names, q, strict=True))
    pose, target = robots.slow_poses(joints, values, 'l0')[task.link], task.transform
    if isinstance(task, ik.AxisTask):
        return 0.0, math.acos(np.clip(pose[:3, 2] @ target[:3, 2], -1.0, 1.0))
    turn = Rotation.from_matrix(target[:3, :3].T @ pose[:3, :3]).magnitude()
    gap = np.linalg.norm(pose[:3, 3] - target[:3, 3])
    asked = task.position_weights.any(), task.rotation_weights.any()
    return gap if asked[0] else 0.0, turn if asked[1] else 0.0


@seed(11)
@settings(
    max_examples=150,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much],
)
@given(nasty=nasty_problem(), restarts=st.sampled_from([0, 3, 100]))
def test_nasty_robots_get_finite_honest_answers(nasty, restarts):
    joints, robot, goals, start = nasty
    try:
        problem = IkProblem(robot, goals)
    except ik.UnsupportedProblem:
        return  # none of its joints moves a goal
    result = ik.solve(problem, start, restarts=restarts)
    assert_honest(problem, start, result)
    inside = start.copy()
    inside[problem.variables] = problem.limits.project(start[problem.variables])
    assert result.cost <= problem.evaluate(inside).cost * (1 + 1e-9) + 1e-12 or result.success
    for i, task in enumerate(goals):
        gap, turn = independent_errors(joints, robot, result.q, task)
        scale = 1.0 + np.abs(task.target[9:]).max() if np.isfinite(task.target[9:]).all() else 1.0
        assert result.position_errors[i] == pytest.approx(gap, abs=1e-8 * scale)
        assert result.orientation_errors[i] == pytest.approx(turn, abs=1e-6)


def test_the_benchmark_judges_by_the_truth(monkeypatch):
    names = ['0.01 m beyond: planar', 'unreachable pose, 2 x: ur5e', '100 x: puma']
    monkeypatch.setattr(hard, 'CASES', {name: CASES[name] for name in names})
    rows = list(hard.rows(argparse.Namespace(count=2)))
    assert [(row['robot'], row['problems']) for row in rows] == [
        ('planar', 2), ('ur5e', 1), ('puma', 2),
    ]  # fmt: skip
    assert all(row['mastered_percent'] == 100.0 for row in rows)
    assert all(0.0 <= row['worst_gap_m'] < 1e-6 for row in rows)


def test_secondary_tasks_end_as_low_as_slsqp_takes_them(monkeypatch):
    monkeypatch.setattr(secondary, 'ROBOTS', ('panda',))
    monkeypatch.setattr(secondary, 'EVERY', 1)
    for row in secondary.rows(argparse.Namespace(count=3)):
        assert row['reached_percent'] == 100.0
        assert row['slsqp_goals'] > 0
        assert row['cost_left'] < 1.0
        assert row['same_goals_cost_left'] <= 1.01 * row['slsqp_cost_left']
