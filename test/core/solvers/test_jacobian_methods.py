# SPDX-License-Identifier: Apache-2.0
"""Tests of what all Jacobian methods share: Jacobians, clamps, joint weights, limits."""

import numpy as np
import pytest
from scipy.optimize import least_squares
from support import robots
from support.jacobian_problems import (
    METHODS,
    WIDE,
    differences,
    each_step,
    figure,
    flat,
    goal_rows,
    model,
    planar,
    started,
    step_by_numpy,
    step_from,
)

import ik_core as ik
from ik_core import AxisTask, Budget, IkProblem, InvalidOption, PoseTask, PositionTask, make_solver
from ik_core.solvers.jacobian_method import link_lengths

every_method = pytest.mark.parametrize('name', METHODS)


def many_goals(robot_name, seed=1):
    """Pose, masked, tool and axis goals, away from where they are reached."""
    robot, rng = robots.shipped(robot_name), np.random.default_rng(seed)
    tips = robot.tips()
    pose = robot.forward_kinematics(robots.random_q(robot, rng, 0.2), tips[0])
    tasks = [
        PoseTask(tips[0], transform=pose, position_weights=(1, 2, 0), orientation_weights=0.5,
                 tool=robots.random_transform(rng, 0.1)),
        PositionTask(tips[-1], [0.3, -0.2, 0.4], [1, 2, 3, 4], position_axes='goal',
                     weights=(3, 1, 0.2)),
        AxisTask(tips[-1], (1, 2, 3), (0, 0, 1)),
    ]  # fmt: skip
    return IkProblem(robot, tasks), robots.random_q(robot, rng, 0.2)


# --- the Jacobians -----------------------------------------------------------------------------


def jacobian_used(problem, q, **options):
    """The Jacobian (m, variables) of the first step from q."""
    search = started('jacobian_transpose', problem, q, **options)
    search.step()
    return search.workspace.own['columns'].T.copy()


@pytest.mark.parametrize('robot', ['panda', 'scara', 'buss_double_y', 'dual_arm', 'pr2_like'])
def test_central_differences_are_the_analytic_jacobian(robot):
    problem, q = many_goals(robot)
    analytic = problem.evaluate(q).jacobian

    def numeric(h):
        return jacobian_used(problem, q, jacobian='central_difference', difference_step=h)

    np.testing.assert_array_equal(jacobian_used(problem, q), analytic)
    for step in (1e-6, 1e-4):
        robots.assert_same_jacobian(numeric(step), analytic, 1e-7)
    halves = [np.abs(numeric(h) - analytic).max() for h in (0.02, 0.01)]
    assert halves[0] == pytest.approx(4 * halves[1], rel=0.1)  # O(h^2): central
    np.testing.assert_allclose(numeric(0.3), differences(problem, q, 0.3), atol=1e-12)


def attached_points(problem, q, x):
    """The goals' targets (G, 3) after a move from q to x, were they fixed to the moving links."""
    robot, points = problem.robot, []
    for task in problem.goals:
        before, after = (robot.forward_kinematics(v, task.link) for v in (q, x))
        point = after @ np.linalg.inv(before) @ np.append(task.target[9:], 1.0)
        turned = task.transform[:3, :3].T if task.position_axes == 2 else np.eye(3)
        points.append(np.sqrt(task.position_weights) * (turned @ point[:3]))
    return np.array(points)


@pytest.mark.parametrize('robot', ['panda', 'scara', 'buss_double_y', 'dual_arm', 'pr2_like'])
def test_the_target_jacobian_moves_the_targets_with_the_links(robot):
    problem, q = many_goals(robot)
    at = problem.evaluate(q)
    found = jacobian_used(problem, q, jacobian='target')
    numeric = robots.central_differences(lambda x: attached_points(problem, q, x).ravel(), q)
    numeric = numeric[:, problem.variables].reshape(len(problem.goals), 3, -1)
    row = 0
    for i, task in enumerate(problem.goals):
        for c in np.flatnonzero(task.position_weights):
            np.testing.assert_allclose(found[row], numeric[i, c], atol=1e-8)
            row += 1
        turning = np.count_nonzero(task.rotation_weights)
        np.testing.assert_array_equal(found[row : row + turning], at.jacobian[row : row + turning])
        row += turning
    assert row == len(found)
    assert np.abs(found - at.jacobian).max() > 0.05


def test_a_column_of_the_target_jacobian_is_the_axis_times_the_arm_to_the_target():
    problem = IkProblem(planar(1.0, 1.0), [PositionTask('tip', [0.5, 2.0, 0.3])])
    found = jacobian_used(problem, [0.4, 0.9], jacobian='target')
    joint = np.array([np.cos(0.4), np.sin(0.4), 0.0])
    expected = np.cross([0, 0, 1], [[0.5, 2.0, 0.3], np.array([0.5, 2.0, 0.3]) - joint])
    np.testing.assert_allclose(found, expected.T, atol=1e-12)


def test_at_the_target_both_jacobians_are_the_same():
    problem, q = figure('buss_double_y')
    found = jacobian_used(problem, q, jacobian='target')
    np.testing.assert_allclose(found, problem.evaluate(q).jacobian, atol=1e-12)


@every_method
@pytest.mark.parametrize('jacobian', ['target', 'central_difference'])
def test_the_jacobian_asked_for_is_used(name, jacobian):
    """A method's step is linear algebra on J and e, whatever J is."""
    problem, _ = figure('buss_y', stretch=1.1)
    q = np.linspace(-0.5, 0.6, 7)
    at, rows = problem.evaluate(q), goal_rows(problem)
    options = {'jacobian': jacobian, 'difference_step': 0.2, **WIDE}
    used = differences(problem, q, 0.2)
    if jacobian == 'target':
        used = robots.central_differences(lambda x: attached_points(problem, q, x).ravel(), q)
    expected = step_by_numpy(name, used, -at.residual, rows)
    search = started(name, problem, q, **options)
    before = search.evaluations
    search.step()
    np.testing.assert_allclose(search.x - q, expected, atol=1e-7)
    assert search.evaluations - before == (15 if jacobian == 'central_difference' else 1)
    assert np.abs(search.x - q - step_from(name, problem, q, **WIDE)).max() > 1e-3


@every_method
@pytest.mark.parametrize('jacobian', ['target', 'central_difference'])
def test_goals_are_reached_with_every_jacobian(name, jacobian):
    problem, q = figure('buss_y')
    solver = make_solver(name, jacobian=jacobian, max_iterations=4000)
    problem.position_tolerance = 1e-4
    assert solver.solve(problem, q + 0.1).success


# --- the clamps --------------------------------------------------------------------------------


@every_method
def test_both_clamps_are_in_the_step(name):
    problem, _ = figure('buss_y', stretch=3.0)
    q, rows = np.linspace(-0.5, 0.6, 7), goal_rows(problem)
    jacobian, e = model(problem, q)
    pulled = np.concatenate([part * 0.2 / np.linalg.norm(part) for part in (e[:3], e[3:])])
    for max_step in (50.0, 0.3, 0.01):
        step = step_from(name, problem, q, max_error=0.2, max_step=max_step)
        expected = step_by_numpy(name, jacobian, pulled, rows, max_step)
        np.testing.assert_allclose(step, expected, atol=1e-9)
    for largest in (0.3, 0.01):
        assert np.abs(step_from(name, problem, q, max_step=largest)).max() <= largest * (1 + 1e-12)


def test_each_goals_error_is_clamped_by_itself():
    """A pose, masked, tool and axis goal: by what is left of the transpose's step."""
    problem, q = many_goals('dual_arm')
    jacobian, e = model(problem, q)
    lengths = [np.linalg.norm(e[rows]) for rows in goal_rows(problem)]
    largest = np.sort(lengths)[1]  # one goal is nearer than that
    expected = e.copy()
    for rows, length in zip(goal_rows(problem), lengths, strict=True):
        expected[rows] *= min(1.0, largest / length)
    assert np.abs(expected - e).max() > 0.1
    fixed = {'step_rule': 'fixed', 'step_length': 1e-4}
    step = step_from('jacobian_transpose', problem, q, max_error=largest, max_step=np.inf, **fixed)
    np.testing.assert_allclose(step, 1e-4 * jacobian.T @ expected, atol=1e-14)
    free = step_from('jacobian_transpose', problem, q, **fixed, **WIDE)
    np.testing.assert_allclose(free, 1e-4 * jacobian.T @ e, atol=1e-14)


@pytest.mark.parametrize('robot', ['panda', 'dual_arm', 'pr2_like'])
def test_a_goals_distance_is_the_length_of_its_rows(robot):
    problem, q = many_goals(robot)
    search, at = started('jacobian_transpose', problem, q, **WIDE), problem.evaluate(q)
    search.step()
    found = search.workspace.own['distances']
    expected = [np.linalg.norm(at.residual[rows]) for rows in goal_rows(problem)]
    np.testing.assert_allclose(found, expected, rtol=1e-14)


def dmax(search):
    """Each goal's."""
    return search.workspace.own['largest_errors'].copy()


def distances(problem, q):
    """Return the distance of each goal from its tip, by poses alone."""
    tips = [problem.robot.forward_kinematics(q, task.link)[:3, 3] for task in problem.goals]
    return np.linalg.norm([t.target[9:] for t in problem.goals] - np.array(tips), axis=1)


def test_dmax_is_infinite_at_first_and_then_follows_the_progress_of_each_goal():
    problem, _ = figure('buss_double_y', stretch=1.3)
    q = np.linspace(-0.9, 0.8, 16)
    options = {'max_error': 0.1, 'max_error_rule': 'resetting', 'max_step': 0.5}
    before, retreats = None, 0
    for search in each_step('pseudoinverse', problem, q, 12, **options):
        far = distances(problem, search.x)
        if before is None:
            assert (dmax(search) == np.inf).all()
        else:
            closer = before - far
            retreats += (closer < 0.0).sum()
            np.testing.assert_allclose(dmax(search), 0.1 + np.maximum(closer, 0.0))
        before = far
    assert retreats > 0


def test_outside_the_limits_dmax_follows_where_the_method_is():
    limited, q = behind_limits()
    options = {'max_error': 0.1, 'max_error_rule': 'resetting', 'limits': 'at_the_end'}
    before, outside = None, 0
    for search in each_step('pseudoinverse', limited, q, 8, **options):
        here = search.workspace.own['here'].copy()
        far = distances(limited, here)
        if before is not None:
            np.testing.assert_allclose(dmax(search), 0.1 + np.maximum(before - far, 0.0))
        outside += (here != search.x).any()
        before = far
    assert outside > 2


def test_the_resetting_dmax_is_what_clamps_the_next_step():
    problem, _ = figure('buss_y', stretch=1.3)
    q = np.linspace(-0.5, 0.6, 7)
    options = {'max_error': 0.1, 'max_error_rule': 'resetting', 'max_step': np.inf}
    steps = each_step('pseudoinverse', problem, q, 2, **options)
    (first, _), (second, largest), (third, _) = [(s.x, dmax(s)) for s in steps]
    unclamped = step_from('pseudoinverse', problem, q, **WIDE)
    np.testing.assert_allclose(second - first, unclamped, atol=1e-12)
    jacobian, e = model(problem, second)
    for rows, most in zip(problem.packed.goal_rows, largest, strict=True):
        e[rows] *= min(1.0, most / np.linalg.norm(e[rows]))
    expected = np.linalg.pinv(jacobian) @ e
    np.testing.assert_allclose(third - second, expected, atol=1e-9)


def test_an_attempt_begins_with_dmax_reset():
    problem, q = figure('buss_y', stretch=1.3)
    options = {'max_error': 0.1, 'max_error_rule': 'resetting', 'max_iterations': 3}
    solver = make_solver('damped_least_squares', restarts=2, **options)
    search = solver.begin(problem, q)
    for iteration in range(9):
        begun = search.workspace.between_attempts or iteration in (3, 6)
        search.run(Budget(iterations=0))
        assert (search.workspace.own['largest_errors'] == np.inf).all() == begun
        search.run(Budget(iterations=1))
    assert search.done
    assert search.result().restarts == 2
    fixed = started('damped_least_squares', problem, q, max_error=0.1)
    assert dmax(fixed).tolist() == [0.1, 0.1]


def test_dmax_goes_on_where_a_search_is_resumed_and_is_reset_by_its_restarts():
    """A goal that moved on a little is no new start: the arm may not stretch in one step."""
    problem, q = figure('buss_y', stretch=1.3)
    options = {'max_error': 0.1, 'max_error_rule': 'resetting', 'max_step': np.inf}
    solver = make_solver('pseudoinverse', restarts=1, max_iterations=2, **options)
    first = solver.begin(problem, q)
    first.run(Budget(iterations=1))
    kept, x = first.memory(), first.result().q
    largest = kept['largest_errors'].copy()
    assert (largest < np.inf).all()
    second = solver.begin(problem, x)
    second.resume(kept)
    second.run(Budget(iterations=1))
    jacobian, e = model(problem, x)
    assert any(np.linalg.norm(e[r]) > m for r, m in zip(goal_rows(problem), largest, strict=True))
    for rows, most in zip(goal_rows(problem), largest, strict=True):
        e[rows] *= min(1.0, most / np.linalg.norm(e[rows]))
    moved = second.workspace.search['x'] - x
    np.testing.assert_allclose(moved, np.linalg.pinv(jacobian, rcond=1e-3) @ e, atol=1e-9)
    second.run(Budget(iterations=1))
    second.run(Budget(iterations=0))
    assert (second.workspace.own['largest_errors'] == np.inf).all()


# --- joint weights -----------------------------------------------------------------------------


def test_link_lengths_reach_to_the_next_joint_or_tip_and_are_floored():
    problem = IkProblem(planar(1.0, 0.5, 0.01), [flat(1.0, 1.0)])
    np.testing.assert_allclose(link_lengths(problem, np.array([0.3, 1.0, -2.0])),
                               [1.0, 0.5, 0.05 * 1.51])  # fmt: skip
    longer = IkProblem(planar(1.0, 0.5, 0.01), [
        PositionTask('tip', [0, 1, 0], tool=robots.transform(translation=[0.29, 0, 0])),
    ])  # fmt: skip
    np.testing.assert_allclose(link_lengths(longer, np.zeros(3)), [1.0, 0.5, 0.3])
    frozen = IkProblem(planar(1.0, 0.5, 0.4), [flat(1.0, 1.0)], frozen_joints=['j1'])
    frozen.start([0.0, np.pi / 2, 0.0])
    np.testing.assert_allclose(link_lengths(frozen, np.zeros(2)), [np.hypot(1.0, 0.5), 0.4])


def test_the_farthest_of_what_follows_a_joint_is_its_link():
    z, steps = np.array([0.0, 0.0, 1.0]), {'near': 0.3, 'far': 1.0, 'between': 0.6}
    joints = [ik.robot.Joint('root', 'continuous', 'base', 'fork', axis=z)] + [
        ik.robot.Joint(name, 'continuous', 'fork', f'{name}_link',
                 robots.transform(translation=[x, 0.0, 0.0]), z)
        for name, x in steps.items()
    ]  # fmt: skip
    links = ['base', 'fork', *(f'{name}_link' for name in steps)]
    robot = ik.Robot.from_joints('fork', links, joints)
    tool = robots.transform(translation=[0.4, 0.0, 0.0])
    goals = [PositionTask(link, [0, 0, 0], tool=tool) for link in links[2:]]
    lengths = link_lengths(IkProblem(robot, goals), np.array([0.3, 1.0, 2.0, 3.0]))
    np.testing.assert_allclose(lengths, [1.0, 0.4, 0.4, 0.4])


def test_link_lengths_of_trees_sliders_and_wrists():
    problem, _ = figure('buss_double_y')
    lengths = dict(
        zip(problem.robot.joint_names, link_lengths(problem, np.zeros(16)), strict=True)
    )
    assert lengths['joint_stem_2'] == pytest.approx(0.5)
    assert lengths['joint_left_high_3'] == pytest.approx(0.6124, abs=1e-4)  # the program's 0.61
    scara = robots.shipped('scara')
    sliding = IkProblem(scara, [PositionTask('tool', [0.1, 0.1, 0.1])])
    for extension in (0.0, 0.12):
        lengths = link_lengths(sliding, np.array([0.0, 0.0, extension, 0.0]))
        assert lengths.min() >= 0.05 * lengths.max()
    wrist = IkProblem(scara, [ik.OrientationTask('tool', [0, 0, 0, 1])])
    assert link_lengths(wrist, np.zeros(4)).min() > 0.0
    still = IkProblem(planar(0.0, 0.0), [ik.OrientationTask('tip', [0, 0, 1, 1])])
    assert link_lengths(still, np.zeros(2)).tolist() == [1.0, 1.0]


@every_method
def test_joint_weights_are_a_change_of_variables(name):
    problem, _ = figure('buss_y', stretch=1.2)
    q = np.linspace(-0.5, 0.6, 7)
    alpha = np.array([1, 2, 1, 4, 1, 0.5, 1])
    names = problem.robot.joint_names
    text = f'{names[1]}=2, {names[3]} = 4.0,{names[5]}=0.5'
    root = np.sqrt(1 / alpha)
    jacobian, e = model(problem, q)
    expected = root * step_by_numpy(name, jacobian * root, e, goal_rows(problem))
    for stiffness in (text, dict(zip(names, alpha, strict=True))):
        search = started(name, problem, q, joint_stiffness=stiffness, **WIDE)
        search.step()
        np.testing.assert_allclose(search.workspace.own['scale'], root)
        np.testing.assert_allclose(search.x - q, expected, atol=1e-9)


def test_weighted_pseudoinverse_and_transpose_in_closed_form():
    problem, _ = figure('buss_y', stretch=1.2)
    q = np.linspace(-0.5, 0.6, 7)
    options = {'joint_weights': 'link_length', 'joint_stiffness': 'joint_stem=3', **WIDE}
    jacobian, e = model(problem, q)
    lengths = link_lengths(problem, q)
    alpha = np.where(np.array(problem.robot.joint_names) == 'joint_stem', 3.0, 1.0)
    gains = np.diag(np.mean(lengths) / lengths / alpha)  # Welman's K
    inverse = gains @ jacobian.T @ np.linalg.inv(jacobian @ gains @ jacobian.T)
    step = step_from('pseudoinverse', problem, q, rank_tolerance=1e-12, **options)
    np.testing.assert_allclose(step, inverse @ e, atol=1e-9)
    step = step_from('jacobian_transpose', problem, q, step_rule='fixed', step_length=0.01,
                     **options)  # fmt: skip
    np.testing.assert_allclose(step, 0.01 * gains @ jacobian.T @ e, atol=1e-12)


@pytest.mark.parametrize('bad', ['elbow', 'elbow=', '=2', 'elbow=soft', 'elbow=0', 'elbow=-1',
                                 'a=1, b=inf', 'a=nan', 3, {'elbow': -1.0}])  # fmt: skip
def test_bad_stiffness_is_refused(bad):
    with pytest.raises(InvalidOption, match='joint_stiffness'):
        make_solver('jacobian_transpose', joint_stiffness=bad)


def test_a_stiffness_for_an_unknown_joint_is_refused():
    problem, q = figure()
    solver = make_solver('pseudoinverse', joint_stiffness='joint_stemm=2')
    with pytest.raises(ik.FrameNotFound, match='joint_stemm'):
        solver.solve(problem, q)


# --- limits ------------------------------------------------------------------------------------


def behind_limits(**limits):
    """Three links; the goal needs the second joint beyond its limit, from this start."""
    robot = planar(1.0, 1.0, 1.0, lower=-1.0, upper=1.0)
    goal = robot.forward_kinematics([0.5, 1.5, 0.2], 'tip')[:2, 3]
    return IkProblem(robot, [flat(*goal)], **limits), np.array([0.2, 0.5, 0.1])


@every_method
def test_limits_at_the_end_let_the_method_run_without_them(name):
    limited, q = behind_limits()
    free, _ = behind_limits(lower=np.full(3, -np.inf), upper=np.full(3, np.inf))
    expected = [search.x for search in each_step(name, free, q, 8)]
    evaluations, outside, left = 0, False, False
    searches = each_step(name, limited, q, 8, limits='at_the_end')
    for search, x in zip(searches, expected, strict=True):
        here = search.workspace.own['here']
        np.testing.assert_array_equal(here, x)
        projected = np.clip(here, -1.0, 1.0)
        np.testing.assert_array_equal(search.x, projected)
        assert search.workspace.cost == limited.evaluate(projected).cost
        # Where it is outside, the next step has to evaluate there, too.
        assert search.evaluations - evaluations == (2 if outside else 1)
        evaluations, outside = search.evaluations, bool((projected != here).any())
        left |= outside
    assert left


def test_projecting_only_the_answer_stops_short_where_every_step_finds_the_goal():
    limited, q = behind_limits()
    inside = make_solver('pseudoinverse').solve(limited, q)
    outside = make_solver('pseudoinverse', limits='at_the_end').solve(limited, q)
    free, _ = behind_limits(lower=np.full(3, -np.inf), upper=np.full(3, np.inf))
    assert inside.success
    assert not outside.success
    assert (np.abs(outside.q) <= 1.0).all()
    end = np.clip(make_solver('pseudoinverse').solve(free, q).q, -1.0, 1.0)
    assert outside.cost <= limited.evaluate(end).cost  # the best of the projected points


@pytest.mark.parametrize('limits', ['every_step', 'at_the_end'])
@pytest.mark.parametrize('rule', ['alpha', 'fixed', 'halving'])
def test_a_solve_that_runs_away_ends(rule, limits):
    """A slider without an end, pushed by steps that grow: numbers end before it does."""
    joints = [
        ik.robot.Joint('hinge', 'continuous', 'base', 'arm', axis=np.array([0.0, 0.0, 1.0])),
        ik.robot.Joint('slider', 'prismatic', 'arm', 'tip', axis=np.array([1.0, 0.0, 0.0])),
    ]
    robot = ik.Robot.from_joints('crane', ['base', 'arm', 'tip'], joints)
    problem = IkProblem(robot, [PositionTask('tip', [1.0, 0.0, 0.0])])
    if limits == 'at_the_end':
        problem = IkProblem(robot, problem.goals, lower=[-9.0, -1.0], upper=[9.0, 0.8])
    options = {'step_rule': rule, 'step_length': 1e3, 'halving_tolerance': np.inf, **WIDE}
    solver = make_solver('jacobian_transpose', limits=limits, **options)
    with np.errstate(over='ignore', invalid='ignore'):
        result = solver.solve(problem, [0.1, 0.5])
    assert np.isfinite(result.q).all()
    assert result.success == (rule == 'alpha' and limits == 'every_step')


# --- all kinds of joints, goals and tasks ------------------------------------------------------


@every_method
@pytest.mark.parametrize('robot', ['panda', 'scara', 'dual_arm', 'buss_double_y'])
def test_near_goals_are_approached(name, robot):
    """Masked, of several end effectors, through sliders and mimics: the cost falls by far."""
    robot, rng = robots.shipped(robot), np.random.default_rng(5)
    q = robots.random_q(robot, rng, margin=0.3)
    links = robot.tips() + [link for link in robot.link_names if 'finger' in link]
    tasks = [
        PoseTask(link, transform=robot.forward_kinematics(q, link), orientation_weights=(0, 1, 1))
        for link in links
    ]
    problem = IkProblem(robot, tasks)
    spread = np.minimum(0.1, 0.2 * (robot.upper - robot.lower))
    q0 = np.clip(q + spread * rng.uniform(-1, 1, robot.n), robot.lower, robot.upper)
    result = make_solver(name).solve(problem, q0)
    assert result.cost < 1e-3 * problem.evaluate(q0).cost
    assert result.success or name == 'jacobian_transpose'


@every_method
def test_tasks_that_are_no_goals_take_part(name):
    robot = robots.shipped('panda')
    q = robot.middle_configuration
    rest = q + 0.2
    posture = IkProblem(robot, [ik.PostureTask(rest)])
    at_rest = make_solver(name, max_iterations=50).solve(posture, q)
    np.testing.assert_allclose(
        at_rest.q, np.clip(rest, robot.lower, robot.upper), atol=1e-3
    )  # DLS is damped
    goal = PoseTask('panda_hand_tcp', transform=robot.forward_kinematics(q, 'panda_hand_tcp'))
    both = IkProblem(robot, [goal, ik.PostureTask(rest, weights=0.01)])
    _, x = both.start(q)
    best = least_squares(lambda x: both.at(x).residual, x, lambda x: both.at(x).jacobian)
    for jacobian in ('analytic', 'central_difference', 'target'):
        solver = make_solver(name, joint_weights='link_length', jacobian=jacobian)
        result = solver.solve(both, q)
        if jacobian == 'target':  # not the cost's own derivative
            assert result.cost < both.evaluate(q).cost
        else:
            assert result.cost == pytest.approx(2 * best.cost, rel=1e-4)
