# SPDX-License-Identifier: Apache-2.0
"""Problems: which joints move, how errors are judged, whole turns, copies, what is refused."""

import copy
import math
import pickle

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

import ik_core as ik
from ik_core import (
    FrameNotFound,
    IkProblem,
    InvalidConfiguration,
    InvalidGoal,
    InvalidOption,
    OrientationTask,
    PoseTask,
    PositionTask,
    UnsupportedProblem,
)


def pose_goal(robot, q, link=None, **more):
    link = link or robots.tip_of(robot)
    return PoseTask(link, transform=robot.forward_kinematics(q, link), **more)


def test_only_joints_that_move_a_goal_are_variables():
    robot = robots.shipped('panda')
    hand = IkProblem(robot, [pose_goal(robot, robot.middle_configuration)])
    assert hand.variables.tolist() == [0, 1, 2, 3, 4, 5, 6]
    finger = PositionTask('panda_rightfinger', [0, 0, 0])
    assert IkProblem(robot, [finger]).variables.tolist() == list(range(8))
    elbow = PositionTask('panda_link4', [0, 0, 0])
    assert IkProblem(robot, [elbow]).variables.tolist() == [0, 1, 2, 3]
    both = IkProblem(robot, [elbow, finger], frozen_joints=['panda_joint2', 'panda_joint7'])
    assert both.variables.tolist() == [0, 2, 3, 4, 5, 7]


def test_joints_that_move_the_link_of_any_other_task_are_variables_too():
    robot = robots.shipped('panda')
    hand, finger = 'panda_hand', 'panda_leftfinger'
    others = [
        ik.tasks.ManipulabilityTask(finger),
        ik.tasks.EndEffectorPatternTask(finger),
        ik.AxisTask(finger, direction=[0, 0, 1]),
    ]
    for task in others:
        assert task.links == (finger,)
        assert IkProblem(robot, [ik.PoseTask(hand), task]).variables.tolist() == list(range(8))
    posture = ik.PostureTask()
    assert posture.links == ()
    assert IkProblem(robot, [ik.PoseTask(hand), posture]).variables.tolist() == list(range(7))
    assert IkProblem(robot, [posture]).variables.tolist() == list(range(robot.n))


def test_frozen_joints_take_their_place_from_q():
    robot = robots.shipped('panda')
    rng = np.random.default_rng(1)
    q, target = robots.random_q(robot, rng), robots.random_q(robot, rng)
    goal = pose_goal(robot, target, 'panda_rightfinger')
    frozen = ['panda_joint2', 'panda_joint5', 'panda_finger_joint1']
    problem = IkProblem(robot, [goal], frozen_joints=frozen)
    free = IkProblem(robot, [goal])
    kept = problem.variables
    for _ in range(3):
        q = robots.random_q(robot, rng)
        some, every = problem.evaluate(q), free.evaluate(q)
        np.testing.assert_allclose(some.residual, every.residual, atol=1e-13)
        np.testing.assert_allclose(some.jacobian, every.jacobian[:, kept], atol=1e-13)
        assert some.cost == pytest.approx(every.cost)
        np.testing.assert_array_equal(some.x, q[kept])


def test_a_frozen_driver_freezes_its_mimics_at_their_offset():
    joints = [
        ik.robot.Joint('drive', 'prismatic', 'a', 'b', lower=0, upper=1),
        ik.robot.Joint(
            'copy', 'prismatic', 'b', 'c', lower=-9, upper=9, mimic=ik.robot.Mimic('drive', 2, 5)
        ),
        ik.robot.Joint('turn', 'revolute', 'c', 'd', axis=np.array([0.0, 0.0, 1.0])),
        ik.robot.Joint('end', 'fixed', 'd', 'e', robots.transform(translation=[1.0, 0.0, 0.0])),
    ]
    robot = ik.Robot.from_joints('r', list('abcde'), joints)
    problem = IkProblem(robot, [PositionTask('e', [0, 0, 0])], frozen_joints=['drive'])
    residual = problem.evaluate([0.5, 0.0]).residual
    np.testing.assert_allclose(residual, [0.5 + (2 * 0.5 + 5.0) + 1.0, 0, 0], atol=1e-15)


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_errors_are_those_of_poses_and_scipys_rotations(name):
    robot = robots.shipped(name)
    rng = np.random.default_rng(2)
    goals = [pose_goal(robot, robots.random_q(robot, rng), link) for link in robot.tips()]
    q = robots.random_q(robot, rng)
    position, orientation = IkProblem(robot, goals).errors(q)
    for i, goal in enumerate(goals):
        expected = robots.pose_errors(robot, q, goal.link, goal.transform)
        np.testing.assert_allclose((position[i], orientation[i]), expected, atol=1e-12)


def test_errors_leave_out_what_is_masked_and_weights_do_not_scale_them():
    robot = robots.shipped('ur5e')
    q, link = robot.middle_configuration, robots.tip_of(robot)
    pose = robot.forward_kinematics(q, link)
    away = pose @ robots.transform(Rotation.from_rotvec([0, 0, 0.5]), [0, 0, 0])
    away[:3, 3] += [0.3, 0.4, 1.2]
    goals = [
        PoseTask(link, transform=away, position_weights=(100, 4, 0), orientation_weights=9),
        PoseTask(link, transform=away, position_weights=0, orientation_weights=(1, 1, 0)),
        PositionTask(link, away[:3, 3], weights=1e-6),
        OrientationTask(link, Rotation.from_matrix(away[:3, :3]).as_quat(), weights=7),
    ]
    position, orientation = IkProblem(robot, goals).errors(q)
    np.testing.assert_allclose(position, [0.5, 0.0, 1.3, 0.0], atol=1e-12)
    np.testing.assert_allclose(orientation, [0.5, 0.0, 0.0, 0.5], atol=1e-12)


def test_the_cost_is_the_weighted_sum_of_squares_with_scaled_rotations():
    robot = robots.shipped('iiwa14')
    q, link = robot.middle_configuration, robots.tip_of(robot)
    away = robot.forward_kinematics(q, link) @ robots.transform(Rotation.from_rotvec([0, 0, 0.5]))
    away[:3, 3] += [0.1, 0.2, 0.3]
    goal = PoseTask(link, transform=away, position_weights=(1, 2, 3), orientation_weights=5)
    at = IkProblem(robot, [goal], orientation_length=0.4).evaluate(q)
    expected = 0.1**2 + 2 * 0.2**2 + 3 * 0.3**2 + 5 * (0.4 * 0.5) ** 2
    assert at.cost == pytest.approx(expected)
    assert at.cost == pytest.approx(at.residual @ at.residual)


@pytest.mark.parametrize(
    ('position', 'orientation', 'solved'),
    [
        ([1e-3, 0], [0.0, 1e-2], True),
        ([1.01e-3, 0], [0, 0], False),
        ([0, 1.01e-3], [0, 0], False),
        ([0, 0], [0, 1.01e-2], False),
        ([0, 0], [1.01e-2, 0], False),
        ([np.nan, 0], [0, 0], False),
    ],
)
def test_solved_means_every_goal_within_both_tolerances(position, orientation, solved):
    robot = robots.shipped('scara')
    goal = pose_goal(robot, np.zeros(4))
    problem = IkProblem(robot, [goal], position_tolerance=1e-3, orientation_tolerance=1e-2)
    assert problem.is_solved(np.array(position), np.array(orientation)) is solved


def test_start_takes_the_variables_into_their_limits_and_nothing_else():
    robot = robots.shipped('panda')
    problem = IkProblem(robot, [pose_goal(robot, robot.middle_configuration)])
    q0 = np.full(8, 5.0)
    q, x = problem.start(q0)
    assert q.tolist() == q0.tolist() == [5.0] * 8
    np.testing.assert_array_equal(x, np.minimum(5.0, robot.upper[:7]))
    q[:] = 0.0
    assert q0[0] == 5.0


def test_without_a_start_it_is_the_middle_of_the_limits():
    robot = robots.shipped('panda')
    goal = pose_goal(robot, robot.middle_configuration)
    problem = IkProblem(robot, [goal])
    q, x = problem.start()
    np.testing.assert_array_equal(q, robot.middle_configuration)
    np.testing.assert_array_equal(x, q[:7])
    q[:] = 9.0
    x[:] = 9.0
    np.testing.assert_array_equal(problem.start()[0], robot.middle_configuration)
    narrow = IkProblem(robot, [goal], lower=robot.lower, upper=robot.lower + 0.02)
    expected = robot.lower + 0.01
    expected[7] = robot.middle_configuration[7]  # not a variable: its own middle
    np.testing.assert_allclose(narrow.start()[0], expected)


def test_limits_of_the_problem_replace_those_of_the_robot():
    robot = robots.shipped('scara')
    goal = pose_goal(robot, np.zeros(4))
    lower, upper = np.full(4, -0.1), np.array([0.2, 0.3, 0.4, np.inf])
    problem = IkProblem(robot, [goal], lower=lower, upper=upper, frozen_joints=['joint_1'])
    assert problem.limits.lower.tolist() == lower[1:].tolist()
    assert problem.limits.upper.tolist() == upper[1:].tolist()
    half = IkProblem(robot, [goal], lower=lower)
    assert half.limits.upper.tolist() == robot.upper.tolist()


# --- whole turns -----------------------------------------------------------------------------


def turner(lower=-math.inf, upper=math.inf, multiplier=None, kind='revolute'):
    joints = [ik.robot.Joint('j', kind, 'a', 'b', lower=lower, upper=upper)]
    if multiplier is not None:
        joints.append(
            ik.robot.Joint('m', 'continuous', 'b', 'c', mimic=ik.robot.Mimic('j', multiplier))
        )
    robot = ik.Robot.from_joints('turner', list('abc')[: len(joints) + 1], joints)
    return IkProblem(robot, [PositionTask(robot.link_names[-1], [0, 0, 0])])


TURN = 2 * math.pi


@pytest.mark.parametrize(
    ('problem', 'x', 'reference', 'turns'),
    [
        (turner(), 0.5, 0.4, 0),
        (turner(), 0.5, 0.5 + TURN, 1),
        (turner(), 0.5, -20.0, -3),
        (turner(), 0.5, 0.5 + 0.6 * TURN, 1),
        (turner(), 0.5, 0.5 + 0.4 * TURN, 0),
        (turner(), 0.5, 1e6, 159155),
        (turner(-TURN, TURN), 3.0, -3.0, -1),
        (turner(-TURN, TURN), -3.0, 3.2, 1),
        (turner(-TURN, TURN), 3.0, -20.0, -1),  # further turns are outside
        (turner(-TURN, TURN), 3.0, 20.0, 0),
        (turner(0.0, math.inf), 3.0, -20.0, 0),
        (turner(0.0, math.inf), 10.0, -20.0, -1),
        (turner(-3.0, 3.2), 3.0, -3.0, 0),  # less than a turn wide
        (turner(kind='prismatic'), 0.5, 7.0, 0),
        (turner(multiplier=2.0), 0.5, 7.0, 1),
        (turner(multiplier=0.5), 0.5, 7.0, 0),  # half a turn of the mimic joint
    ],
)
def test_nearest_turn(problem, x, reference, turns):
    result = problem.limits.nearest_turn(np.array([x]), np.array([reference]))
    assert result == pytest.approx(x + TURN * turns, abs=1e-9)


def test_nearest_turn_takes_each_variable_by_itself_and_copies():
    robot = robots.shipped('ur5e')
    problem = IkProblem(robot, [pose_goal(robot, np.zeros(6))], frozen_joints=['elbow_joint'])
    x = np.array([1.0, 2.0, 3.0, -4.0, 5.0])
    reference = np.array([1.0, -4.0, 3.0, 2.0, -1.0])
    result = problem.limits.nearest_turn(x, reference)
    np.testing.assert_allclose(result, x + TURN * np.array([0, -1, 0, 1, -1]))
    assert x.tolist() == [1.0, 2.0, 3.0, -4.0, 5.0]
    pose = robot.forward_kinematics([*result[:2], 0.3, *result[2:]], 'tool0')
    same = robot.forward_kinematics([*x[:2], 0.3, *x[2:]], 'tool0')
    np.testing.assert_allclose(pose, same, atol=1e-14)


# --- copies ----------------------------------------------------------------------------------


def test_a_clone_shares_nothing_that_moves():
    robot = robots.shipped('ur5e')
    rng = np.random.default_rng(3)
    q = robots.random_q(robot, rng)
    goal = pose_goal(robot, q)
    problem = IkProblem(robot, [goal], frozen_joints=['elbow_joint'], orientation_length=0.7)
    clone = problem.clone()
    assert clone.goals[0] is not goal
    other = robots.random_q(robot, rng)
    before = problem.evaluate(other)
    clone.goals[0].set_target(robots.random_transform(rng))
    changed = clone.evaluate(q)
    np.testing.assert_array_equal(problem.at(before.x).residual, before.residual)
    assert problem.errors(q)[0] == pytest.approx([0.0])
    goal.set_target(np.eye(4))
    assert clone.evaluate(q).cost == changed.cost
    np.testing.assert_array_equal(clone.variables, problem.variables)


def test_a_clone_is_the_same_problem():
    robot = robots.shipped('dual_arm')
    rng = np.random.default_rng(4)
    goals = [
        pose_goal(robot, robots.random_q(robot, rng), 'left_palm', position_weights=(1, 0, 2)),
        ik.AxisTask('right_palm', (1, 2, 3), (0, 1, 0), weight=3.0),
    ]
    problem = IkProblem(robot, goals, position_tolerance=1e-3, orientation_length=0.5)
    q = robots.random_q(robot, rng)
    clone = problem.clone()
    np.testing.assert_array_equal(clone.evaluate(q).residual, problem.evaluate(q).residual)
    np.testing.assert_array_equal(clone.evaluate(q).jacobian, problem.evaluate(q).jacobian)
    assert clone.position_tolerance == 1e-3


def test_an_evaluation_is_the_callers_own():
    robot = robots.shipped('ur5e')
    problem = IkProblem(robot, [pose_goal(robot, np.zeros(6))])
    first = problem.evaluate(np.full(6, 0.5))
    kept = {name: np.copy(value) for name, value in vars(first).items()}
    problem.evaluate(np.full(6, -1.0))
    for name, value in vars(first).items():
        np.testing.assert_array_equal(value, kept[name], err_msg=name)


def test_targets_are_read_at_the_start():
    robot = robots.shipped('ur5e')
    q = np.full(6, 0.5)
    goal = pose_goal(robot, q)
    problem = IkProblem(robot, [goal])
    _, x = problem.start(q)
    goal.set_target(np.eye(4))
    assert problem.at(x).cost == pytest.approx(0.0, abs=1e-20)
    problem.start(q)
    assert problem.at(x).cost > 0.1


# --- what is refused -------------------------------------------------------------------------


def test_problems_that_make_no_sense():
    robot = robots.shipped('scara')
    goal = pose_goal(robot, np.zeros(4))
    with pytest.raises(UnsupportedProblem, match='at least one goal'):
        IkProblem(robot, [])
    with pytest.raises(UnsupportedProblem, match='str is not a task'):
        IkProblem(robot, ['tool'])
    with pytest.raises(FrameNotFound, match='tool'):
        IkProblem(robot, [PositionTask('tol')])
    with pytest.raises(FrameNotFound, match='joint_1'):
        IkProblem(robot, [goal], frozen_joints=['joint_9'])
    with pytest.raises(UnsupportedProblem, match="moves link 'base_link'"):
        IkProblem(robot, [PositionTask('base_link', [0, 0, 0])])
    with pytest.raises(UnsupportedProblem, match="moves link 'arm_1'"):
        IkProblem(robot, [goal, PositionTask('arm_1', [0, 0, 0])], frozen_joints=['joint_1'])
    panda = robots.shipped('panda')
    with pytest.raises(FrameNotFound, match='mimics'):
        IkProblem(panda, [pose_goal(panda, np.zeros(8))], frozen_joints=['panda_finger_joint2'])


@pytest.mark.parametrize('name', ['position_tolerance', 'orientation_tolerance',
                                  'orientation_length'])  # fmt: skip
@pytest.mark.parametrize('value', [0.0, -1.0, math.nan, math.inf, 'small', None])
def test_tolerances_and_lengths_must_be_positive(name, value):
    robot = robots.shipped('scara')
    with pytest.raises(InvalidOption, match=name):
        IkProblem(robot, [pose_goal(robot, np.zeros(4))], **{name: value})
    problem = IkProblem(robot, [pose_goal(robot, np.zeros(4))])
    before = getattr(problem, name)
    with pytest.raises(InvalidOption, match=name):
        setattr(problem, name, value)
    assert getattr(problem, name) == before


@pytest.mark.parametrize(
    ('box', 'match'),
    [
        ({'lower': np.zeros(3)}, 'lower must be 4 numbers'),
        ({'upper': [np.nan, 1, 1, 1]}, 'upper must be 4 numbers'),
        ({'upper': 'wide'}, 'upper must be 4 numbers'),
        ({'lower': [0, 0, 0, 2.0], 'upper': [1, 1, 1, 1]}, "'joint_4': lower 2 > upper 1"),
        ({'lower': [0, np.inf, 0, 0], 'upper': [1, np.inf, 1, 1]}, "'joint_2'"),
        ({'lower': [0, -np.inf, 0, 0], 'upper': [1, -np.inf, 1, 1]}, "'joint_2'"),
    ],
)
def test_limits_that_allow_nothing_are_refused(box, match):
    robot = robots.shipped('scara')
    with pytest.raises(InvalidConfiguration, match=match):
        IkProblem(robot, [pose_goal(robot, np.zeros(4))], **box)


def test_bad_starts_and_missing_targets_are_refused():
    robot = robots.shipped('scara')
    problem = IkProblem(robot, [pose_goal(robot, np.zeros(4))])
    with pytest.raises(InvalidConfiguration, match='q0'):
        problem.start([0, 0, np.nan, 0])
    with pytest.raises(InvalidConfiguration, match='shape'):
        problem.evaluate(np.zeros(5))
    empty = IkProblem(robot, [PoseTask('tool')])
    for call in (empty.start, lambda: empty.errors(np.zeros(4)), lambda: ik.solve(empty)):
        with pytest.raises(InvalidGoal, match='no orientation and no position'):
            call()


@pytest.mark.parametrize('of', [
    lambda robot, goal: ik.IkProblem(robot, goal),
    lambda robot, goal: ik.IkProblem([goal], robot),
    lambda robot, goal: ik.IkProblem('ur5e', [goal]),
    lambda robot, goal: ik.solve(ik.IkProblem(robot, [goal]), budget=0.01),
])  # fmt: skip
def test_what_is_not_what_it_should_be_is_named(of):
    robot = robots.shipped('ur5e')
    goal = ik.PoseTask(robots.tip_of(robot), transform=np.eye(4))
    with pytest.raises(ik.InvalidOption, match=r'robot is|tasks is|budget = 0\.01'):
        of(robot, goal)


@pytest.mark.parametrize('name', ['levenberg_marquardt', 'closed_form', 'bfgs'])
@pytest.mark.parametrize('value', [1.1e8, -1e12, 1e308, 1j])
def test_starts_without_digits_left_and_complex_ones_are_refused(name, value):
    robot = ik.load_robot('ur5e')
    pose = robot.forward_kinematics(np.ones(6), 'tool0')
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0', transform=pose)])
    q0 = np.array([0.1, value, 0.1, 0.1, 0.1, 0.1])
    with pytest.raises(ik.InvalidConfiguration, match=r'at most 1e\+08|not made of numbers'):
        ik.solve(problem, q0, solver=name)
    with pytest.raises(ik.InvalidConfiguration, match=r'at most 1e\+08|one array of numbers'):
        ik.solve_batch(problem, np.array([pose] * 3), np.array([q0] * 3))


@pytest.mark.parametrize('copied', [copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
@pytest.mark.parametrize('name', ['panda', 'arm5'])
@pytest.mark.parametrize('solves_first', [True, False])
def test_a_copy_goes_to_its_own_targets(copied, name, solves_first):
    robot = robots.shipped(name)
    tip = robot.default_tip()
    there, elsewhere = (
        robot.forward_kinematics(robot.middle_configuration + turn, tip) for turn in (0.2, -0.3)
    )
    for make in (ik.PoseTask, lambda tip: ik.PoseTask.for_joints(5, tip)):
        problem = ik.IkProblem(robot, [make(tip)])
        problem.goals[0].set_target(there)
        if solves_first:
            assert ik.solve(problem).success
        other = copied(problem)
        for asked, goal in ((other, there), (other, elsewhere), (problem, there)):
            asked.goals[0].set_target(goal)
            result = ik.solve(asked)
            assert result.success
            reached = robot.forward_kinematics(result.q, tip)
            np.testing.assert_allclose(reached, goal, atol=2e-4)
