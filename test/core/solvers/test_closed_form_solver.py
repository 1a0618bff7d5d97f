# SPDX-License-Identifier: Apache-2.0
"""The solver `closed_form`: what it answers by geometry, what by the default, and what it says.

Truth is the library's other ends: `Robot.forward_kinematics`, the ur5e's own geometry
(`support.ur5e_closed_form`), and the default solver, whose contract is tested by itself.
"""

import numpy as np
import pytest
from support import closed_form_chains as chains
from support import robots, ur5e_closed_form

import ik_core as ik
from ik_core import Budget, IkProblem, IkStatus, PoseTask, UnsupportedProblem, make_solver
from ik_core.solvers import closed_form
from ik_core.solvers.closed_form import NEARBY, REDUNDANCY_VALUES

DEFAULT = 'levenberg_marquardt'


def pose_problem(name='ur5e', **options):
    robot = robots.shipped(name)
    goal = PoseTask(robots.tip_of(robot))
    return robot, goal, IkProblem(robot, [goal], **options)


def near_turn(q, start):
    return q + 2.0 * np.pi * np.round((start - q) / (2.0 * np.pi))


def followed(problem, start, **options):
    """The result of a solve that stays on its branch, and of the default."""
    search = make_solver('closed_form', **options).begin(problem, start)
    search.stay_on_branch()
    search.run()
    return search.result(), ik.solve(problem, start, **options)


# --- the nearest solution ----------------------------------------------------------------------


def test_of_all_solutions_the_nearest_to_the_start_is_the_answer():
    robot, goal, problem = pose_problem()
    solver, rng = make_solver('closed_form'), np.random.default_rng(1)
    for _ in range(100):
        q, start = rng.uniform(-np.pi, np.pi, (2, 6))
        goal.set_target(robot.forward_kinematics(q, 'tool0'))
        result = solver.solve(problem, start)
        truth = near_turn(ur5e_closed_form.solutions(goal.transform), start)
        distances = np.linalg.norm(truth - start, axis=1)
        np.testing.assert_allclose(result.q, truth[np.argmin(distances)], atol=1e-7)
        assert (result.status, result.iterations, result.restarts) == (IkStatus.REACHED, 1, 0)
        assert result.note.startswith('closed form: three parallel axes')


def test_of_several_turns_it_takes_the_nearest_that_the_limits_allow():
    robot, goal, problem = pose_problem()
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    goal.set_target(robot.forward_kinematics(q, 'tool0'))
    for joint, turns in ((0, -1), (0, -2), (1, 1), (4, -1)):
        start, expected = q + 0.05, q.copy()
        start[joint] += 2.0 * np.pi * turns
        expected[joint] += 2.0 * np.pi * np.sign(turns)  # two are beyond the limit
        result = ik.solve(problem, start, solver='closed_form')
        np.testing.assert_allclose(result.q, expected, atol=1e-9)


def test_a_start_that_reaches_the_goal_is_kept():
    robot, goal, problem = pose_problem()
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    goal.set_target(robot.forward_kinematics(q + 1e-7, 'tool0'))
    result = ik.solve(problem, q, solver='closed_form')
    np.testing.assert_array_equal(result.q, q)
    assert (result.iterations, result.note) == (0, 'the start reaches the goals already')


@pytest.mark.parametrize('family', ['wrist behind 3 of RRR', 'wrist behind 3 of RPR',
                                    'parallel from 1, meeting at 4', 'five, two meet at 1',
                                    'PRP alone', 'three parallel'])  # fmt: skip
def test_every_family_is_solved_at_once(family):
    rng = np.random.default_rng(3)
    robot = chains.chain(chains.FAMILIES[family](rng), rng)
    goal = PoseTask('tool')
    problem, solver = IkProblem(robot, [goal]), make_solver('closed_form')
    for _ in range(30):
        q, start = rng.uniform(0.9 * robot.lower, 0.9 * robot.upper, (2, robot.n))
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        result = solver.solve(problem, start)
        assert result.success
        assert result.iterations == 1
        assert robots.inside(robot, result.q)
        position, orientation = robots.pose_errors(robot, result.q, 'tool', goal.transform)
        assert max(position, orientation) < 1e-7


def test_frozen_joints_keep_what_the_start_says_and_the_others_solve():
    robot, goal, problem = pose_problem('iiwa14', frozen_joints=['iiwa_joint_3'])
    solver, rng = make_solver('closed_form'), np.random.default_rng(4)
    for _ in range(20):
        q, start = (robots.random_q(robot, rng, margin=0.2) for _ in range(2))
        start[2] = q[2]
        goal.set_target(robot.forward_kinematics(q, goal.link))
        result = solver.solve(problem, start)
        assert result.success
        assert result.q[2] == start[2]
        assert result.note.startswith('closed form')


@pytest.mark.parametrize('name', ['ur5e', 'iiwa14', 'scara', 'panda'])
def test_a_solve_gives_exactly_what_a_search_does(name):
    robot, goal, problem = pose_problem(name)
    solver, rng = make_solver('closed_form', restarts=2), np.random.default_rng(15)
    for i in range(40):
        q, start = (robots.random_q(robot, rng, margin=0.02) for _ in range(2))
        goal.set_target(robot.forward_kinematics(q, goal.link))
        if i % 4 == 0:
            start = q.copy() if i % 8 else start + 7.0
        once = solver.solve(problem, start)
        search = solver.begin(problem, start)
        search.run()
        whole = search.result()
        np.testing.assert_array_equal(once.q, whole.q)
        for field in ('status', 'cost', 'iterations', 'evaluations', 'restarts', 'note'):
            assert getattr(once, field) == getattr(whole, field), field
        np.testing.assert_array_equal(once.position_errors, whole.position_errors)
        np.testing.assert_array_equal(once.orientation_errors, whole.orientation_errors)


# --- seven joints ------------------------------------------------------------------------------


@pytest.mark.parametrize(('name', 'redundant', 'moves'), [('panda', 6, 6), ('iiwa14', 2, 1)])
def test_redundant_joint_moves_as_little_as_it_has_to(name, redundant, moves):
    robot, goal, problem = pose_problem(name)
    form, solver = ik.closed_form.form(problem), make_solver('closed_form')
    rng, stayed, moved = np.random.default_rng(5), 0, 0
    assert form.redundant_joint == redundant
    for _ in range(40):
        q, start = (robots.random_q(robot, rng, margin=0.02) for _ in range(2))
        goal.set_target(robot.forward_kinematics(q, goal.link))
        result = solver.solve(problem, start)
        assert result.success
        assert robots.inside(robot, result.q, problem.variables)
        if len(form.solve(start)):
            stayed += 1
            np.testing.assert_array_equal(result.q, form.solve(start)[0])
        elif result.note.startswith('closed form'):
            moved += 1
            low, high = form.redundancy_range
            way, step = result.q[redundant] - start[redundant], (high - low) / REDUNDANCY_VALUES
            steps = np.arange(1.0, np.round(abs(way) / step)) * step
            nearer = start[redundant] + np.array([*steps, *-steps])
            inside = nearer[(low <= nearer) & (nearer <= high)]
            assert not any(len(form.solve(start, value)) for value in inside)
    assert stayed > 5
    assert moved >= moves


def test_secondary_tasks_use_the_joint_that_is_free():
    robot, goal, plain = pose_problem('iiwa14')
    rng = np.random.default_rng(6)
    q, start = (robots.random_q(robot, rng, margin=0.25) for _ in range(2))
    goal.set_target(robot.forward_kinematics(q, goal.link))
    rest = ik.PostureTask(q)
    problem = IkProblem(robot, [goal], secondary=[rest])
    before = ik.solve(plain, start, solver='closed_form')
    after = ik.solve(problem, start, solver='closed_form')
    assert before.success
    assert after.success
    assert after.note == before.note
    assert np.linalg.norm(after.q - q) < np.linalg.norm(before.q - q) - 0.01


# --- handing over ------------------------------------------------------------------------------


def test_out_of_reach_is_certain_and_the_closest_point_is_the_defaults():
    _, goal, problem = pose_problem()
    goal.set_target(position=[2.0, 0.3, 0.5], rpy=[0.1, 0.2, 0.3])
    start = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    result, default = (ik.solve(problem, start, solver=s) for s in ('closed_form', DEFAULT))
    np.testing.assert_array_equal(result.q, default.q)
    assert result.status is default.status is IkStatus.CLOSEST
    assert result.iterations == default.iterations
    assert 'out of reach for certain' in result.note
    assert DEFAULT in result.note


REFUSED = {
    'several goals': lambda r: [PoseTask('tool0'), ik.PositionTask('wrist_3_link')],
    'a mask': lambda r: [PoseTask('tool0', orientation_weights=(0, 0, 1))],
    'a position': lambda r: [ik.PositionTask('tool0')],
    'a posture beside it': lambda r: [
        PoseTask('tool0'),
        ik.PostureTask(np.zeros(6), weights=1e-3),
    ],
}


@pytest.mark.parametrize('case', REFUSED)
def test_what_has_no_closed_form_is_answered_by_the_default_which_is_said(case):
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(7)
    q, start = (robots.random_q(robot, rng, margin=0.3) for _ in range(2))
    tasks = REFUSED[case](robot)
    for goal in tasks:
        if hasattr(goal, 'set_target'):
            goal.set_target(robot.forward_kinematics(q, goal.link))
    problem = IkProblem(robot, tasks)
    result, default = (ik.solve(problem, start, solver=s) for s in ('closed_form', DEFAULT))
    np.testing.assert_array_equal(result.q, default.q)
    assert (result.status, result.iterations) == (default.status, default.iterations)
    assert result.note.startswith('no closed form')
    assert 'solved by levenberg_marquardt' in result.note
    assert result.note in result.message
    assert result.note in repr(result)


def test_its_options_are_those_of_the_default_where_that_answers():
    _, goal, problem = pose_problem()
    goal.set_target(position=[2.0, 0.3, 0.5], rpy=[0.1, 0.2, 0.3])
    for options in ({'restarts': 0}, {'restarts': 3, 'random_seed': 5}, {'max_iterations': 4},
                    {'relative_change': 0.1, 'restarts': 1}):  # fmt: skip
        result, default = (
            ik.solve(problem, solver=s, **options) for s in ('closed_form', DEFAULT)
        )
        np.testing.assert_array_equal(result.q, default.q)
        assert (result.restarts, result.iterations) == (default.restarts, default.iterations)


def test_tolerances_finer_than_the_closed_form_go_on_from_its_solution():
    robot, goal, problem = pose_problem(position_tolerance=1e-18, orientation_tolerance=1e-18)
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    goal.set_target(robot.forward_kinematics(q, 'tool0'))
    result = ik.solve(problem, q + 0.2, solver='closed_form', restarts=0, record_history=True)
    assert not result.success
    assert result.position_errors[0] < 1e-12
    assert result.note.endswith('followed by levenberg_marquardt')
    assert len(result.history) == result.iterations >= 1


def test_arms_that_only_nearly_have_a_closed_form_are_solved_all_the_same():
    rng = np.random.default_rng(8)
    spec = chains.wrist(rng, 3)
    spec[4] = ('R', spec[4][1], spec[4][2] + 4e-4 * rng.normal(size=3))
    robot = chains.chain(spec, rng)
    goal = PoseTask('tool')
    problem, solver = IkProblem(robot, [goal]), make_solver('closed_form')
    for _ in range(30):
        q, start = rng.uniform(0.8 * robot.lower, 0.8 * robot.upper, (2, 6))
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        result = solver.solve(problem, start)
        assert result.success, result.message
        assert result.restarts == 0


def test_joints_that_are_frozen_elsewhere_may_cost_it_the_closed_form():
    """Two axes of a wrist meet whatever the frozen joint between them does, the third does not."""
    rng = np.random.default_rng(9)
    spec = chains.wrist(rng, 3)
    spec.insert(4, chains.joint(rng))
    robot = chains.chain(spec, rng)
    goal = PoseTask('tool')
    problem, solver = IkProblem(robot, [goal], frozen_joints=['j4']), make_solver('closed_form')
    notes = []
    for value in (0.0, 0.7, 0.0):
        q, start = rng.uniform(0.5 * robot.lower, 0.5 * robot.upper, (2, 7))
        q[4] = start[4] = value
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        result = solver.solve(problem, start)
        assert result.success
        assert result.q[4] == value
        notes.append(result.note.split(':')[0])
    assert notes[0] == notes[2] == 'closed form'


# --- budgets and staying on a branch -----------------------------------------------------------


class Clock:
    """Stands still, and jumps where it is told to."""

    def __init__(self, looks):
        self.looks, self.left = 0, looks

    def __call__(self):
        self.looks += 1
        return 0.0 if self.looks <= self.left else 10.0


def test_a_sweep_that_runs_out_of_time_goes_on_where_it_stopped(monkeypatch):
    monkeypatch.setattr(closed_form, 'LOOK', 1)
    robot, goal, problem = pose_problem('panda')
    form, rng = ik.closed_form.form(problem), np.random.default_rng(10)
    interrupted = 0
    for _ in range(60):
        q, start = (robots.random_q(robot, rng, margin=0.05) for _ in range(2))
        goal.set_target(robot.forward_kinematics(q, goal.link))
        if len(form.solve(start)):
            continue
        whole = ik.solve(problem, start, solver='closed_form')
        search = make_solver('closed_form', clock=Clock(3)).begin(problem, start)
        if not search.run(Budget(seconds=1.0)):
            interrupted += 1
            assert search.result().status is IkStatus.TIME_LIMIT
            assert search.result().iterations == 0
            search.run()
        np.testing.assert_array_equal(search.result().q, whole.q)
    assert interrupted > 0


def test_a_followed_goal_never_takes_another_branch():
    """Beyond a limit of the elbow's branch: the other branch reaches the goal, far away."""
    robot, goal, _ = pose_problem()
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    upper = robot.upper.copy()
    upper[2] = q[2] + 0.01
    problem = IkProblem(robot, [goal], upper=upper)
    beyond = q + np.array([0.0, 0.0, 0.05, 0.0, 0.0, 0.0])
    goal.set_target(robot.forward_kinematics(beyond, 'tool0'))
    free = ik.solve(problem, q, solver='closed_form')
    assert free.success
    assert np.abs(free.q - q).max() > 1.0
    result, default = followed(problem, q, restarts=0)
    np.testing.assert_array_equal(result.q, default.q)
    assert np.abs(result.q - q).max() < 0.2
    assert not result.success
    assert 'nearby' in result.note


def test_a_followed_goal_that_moved_on_a_little_is_reached_at_once():
    robot, goal, problem = pose_problem()
    q, rng = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3]), np.random.default_rng(11)
    for _ in range(20):
        there = q + rng.uniform(-0.5, 0.5, 6) * NEARBY
        goal.set_target(robot.forward_kinematics(there, 'tool0'))
        result, _ = followed(problem, q)
        np.testing.assert_allclose(result.q, there, atol=1e-8)
        assert result.iterations == 1


def test_a_followed_arm_of_seven_joints_is_the_defaults():
    robot, goal, problem = pose_problem('panda')
    q = robots.random_q(robot, np.random.default_rng(12), margin=0.25)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    result, default = followed(problem, q + 0.02)
    np.testing.assert_array_equal(result.q, default.q)
    assert 'followed by' in result.note


def test_a_closed_form_that_takes_milliseconds_is_for_those_who_have_them():
    rng = np.random.default_rng(14)
    robot = chains.chain(chains.loose(rng, 'RRRRRR'), rng)
    q, start = rng.uniform(0.5 * robot.lower, 0.5 * robot.upper, (2, 6))
    problem = IkProblem(robot, [PoseTask('tool', transform=robot.forward_kinematics(q, 'tool'))])
    solver = make_solver('closed_form')
    patient = solver.solve(problem, start)
    assert patient.success
    assert 'by eigenvalues' in patient.note
    hurried = solver.solve(problem, start, Budget(seconds=0.005))
    assert 'no time for the closed form' in hurried.note
    result, default = followed(problem, q + 0.01)
    np.testing.assert_array_equal(result.q, default.q)
    assert 'followed by' in result.note


# --- what is around it -------------------------------------------------------------------------


def test_batches_give_what_single_solves_give():
    robot, goal, problem = pose_problem()
    solver, rng = make_solver('closed_form'), np.random.default_rng(13)
    q, starts = rng.uniform(-2.0, 2.0, (2, 10, 6))
    targets = np.array([robot.forward_kinematics(one, 'tool0') for one in q])
    batch = ik.solve_batch(problem, targets, starts, solver='closed_form')
    assert batch.success.all()
    for target, start, found in zip(targets, starts, batch.q, strict=True):
        goal.set_target(target)
        np.testing.assert_array_equal(solver.solve(problem, start).q, found)


def test_changed_tolerances_count_from_the_next_solve_on():
    robot, goal, problem = pose_problem()
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])
    goal.set_target(robot.forward_kinematics(q, 'tool0'))
    solver = make_solver('closed_form')
    problem.position_tolerance = 0.5
    problem.orientation_tolerance = 0.5
    np.testing.assert_array_equal(solver.solve(problem, q + 0.01).q, q + 0.01)
    problem.position_tolerance = problem.orientation_tolerance = 1e-6
    np.testing.assert_allclose(solver.solve(problem, q + 0.01).q, q, atol=1e-8)


def test_it_is_made_with_its_successor_only():
    _, _, problem = pose_problem()
    with pytest.raises(RuntimeError, match='make_solver'):
        ik.SOLVERS['closed_form']().solve(problem)


@pytest.mark.parametrize('lower', [-2.7, -1.3])
def test_a_start_that_leaves_no_closed_form_does_not_spoil_the_next(lower):
    """With the frozen joint at 0 the slides beside it are parallel, and the arm is redundant.

    With the lower limit of -1.3 so it stands by default.
    """
    kinds = ['prismatic', 'revolute', 'prismatic', 'revolute', 'revolute', 'revolute']
    axes = ['0 0 1', '1 0 0', '0 0 1', '0 0 1', '0 1 0', '0 0 1']
    robot = ik.load_urdf(
        '<robot name="r"><link name="0"/>'
        + ''.join(
            f'<link name="{i + 1}"/><joint name="j{i}" type="{kind}"><parent link="{i}"/>'
            f'<child link="{i + 1}"/><origin xyz="0.3 {0.1 * i} 0.05"/><axis xyz="{axis}"/>'
            f'<limit lower="{lower if i == 1 else -2.0}" upper="{1.3 if i == 1 else 2.0}"/>'
            '</joint>'
            for i, (kind, axis) in enumerate(zip(kinds, axes, strict=True))
        )
        + '</robot>'
    )
    q = np.full(6, 0.3)
    q[1] = 0.7
    goal = PoseTask('6', transform=robot.forward_kinematics(q, '6'))
    problem = IkProblem(robot, [goal], frozen_joints=['j1'])
    start = np.full(6, 0.25)
    solver = make_solver('closed_form', restarts=2)
    loose = start.copy()
    loose[1] = 0.0
    start[1] = 0.7
    for one, expected in ((start, True), (loose, False), (loose, False), (start, True)):
        result = solver.solve(problem, one)
        assert result.success == expected
        assert result.note.startswith('closed form' if expected else 'no closed form')
        if expected:
            assert len(ik.closed_form.form(problem, one).solve(one)) > 0
        else:
            with pytest.raises(UnsupportedProblem):
                ik.closed_form.form(problem, one)
