# SPDX-License-Identifier: Apache-2.0
"""Cyclic coordinate descent: what one joint's step is worth, and what sweeps come to."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots
from support.coordinate_descent import (
    ORIGIN,
    both_orders,
    own_cost,
    plan_of,
    sweep_once,
    sweeping,
)
from support.random_trees import free_joints_of, trees

import ik_core as ik
from ik_core import (
    AxisTask,
    IkProblem,
    IkStatus,
    OrientationTask,
    PoseTask,
    PositionTask,
    Robot,
    TwoAxisTask,
)
from ik_core.robot import Joint
from ik_core.solvers.coordinate_sweep import (
    CLOSED_FORM,
    SEARCH,
    SKIP,
)

Z = np.array([0.0, 0.0, 1.0])


def chordal(problem, q):
    """Weighted squared distances, and rotations by their chords, from poses alone."""
    cost = 0.0
    for task in problem.goals:
        tip = problem.robot.forward_kinematics(q, task.link) @ task.tool
        target = task.transform
        if task.position_weights.any():
            missing = tip[:3, 3] - target[:3, 3]
            if task.position_axes == ik.tasks.kernels.GOAL_AXES:
                missing = target[:3, :3].T @ missing
            cost += task.position_weights @ missing**2
        weights = problem.orientation_length**2 * task.rotation_weights
        if isinstance(task, AxisTask):
            cost += weights[0] * np.sum((tip[:3, 2] - target[:3, 2]) ** 2)
        elif isinstance(task, TwoAxisTask):
            cost += weights[0] * np.sum((tip[:3, :2] - target[:3, :2]) ** 2)
        elif weights.any():
            quaternion = Rotation.from_matrix(target[:3, :3].T @ tip[:3, :3]).as_quat()
            cost += weights @ (2.0 * quaternion[:3]) ** 2
    return cost


def shaken(rng, transform, size=1.0):
    """A transform away from another."""
    turn = Rotation.from_rotvec(size * rng.normal(size=3))
    return transform @ robots.transform(turn, size * rng.normal(size=3))


GOALS = {
    'position': lambda link, t: [PositionTask(link, t[:3, 3], weights=0.7)],
    'pose': lambda link, t: [PoseTask(link, transform=t, orientation_weights=2.0)],
    'orientation': lambda link, t: [
        OrientationTask(link, Rotation.from_matrix(t[:3, :3]).as_quat())
    ],
    'masked orientation': lambda link, t: [
        PoseTask(link, transform=t, orientation_weights=(0.0, 3.0, 1.0))
    ],
    'weighted position': lambda link, t: [
        PoseTask(link, transform=t, position_weights=(2.0, 0.0, 0.5), position_axes='goal')
    ],
    'weights in the root axes': lambda link, t: [
        PositionTask(link, t[:3, 3], weights=(0.0, 1.0, 3.0))
    ],
    'axis': lambda link, t: [
        AxisTask(link, (1.0, 2.0, 0.5), t[:3, 0], weight=3.0),
        PositionTask(link, t[:3, 3]),
    ],
    'two axes': lambda link, t: [
        TwoAxisTask(link, Rotation.from_matrix(t[:3, :3]).as_quat(), weight=3.0),
        PositionTask(link, t[:3, 3]),
    ],
}


def random_problem(name, goals, rng, **more):
    """A shipped robot, targets anywhere, a start anywhere."""
    robot = robots.shipped(name)
    tasks = []
    for link in robot.tips()[:2]:
        pose = robot.forward_kinematics(robots.random_q(robot, rng), link)
        tasks += GOALS[goals](link, shaken(rng, pose, 0.4))
    return IkProblem(robot, tasks, orientation_length=0.3, **more)


@pytest.mark.parametrize('goals', GOALS)
@pytest.mark.parametrize('name', ['panda', 'scara', 'chains5'])
def test_the_cost_that_sweeps_lower_is_what_the_docs_say(name, goals):
    rng = np.random.default_rng(1)
    for _ in range(5):
        problem = random_problem(name, goals, rng)
        q = robots.random_q(problem.robot, rng)
        problem.start(q)
        expected = chordal(problem, q)
        assert own_cost(problem, q[problem.variables]) == pytest.approx(expected, rel=1e-9)


def test_equal_weights_make_it_half_the_squared_distance_of_the_matrices():
    robot, rng = robots.shipped('ur5e'), np.random.default_rng(2)
    goal = OrientationTask('tool0', Rotation.random(random_state=rng).as_quat(), weights=3.0)
    problem, q = IkProblem(robot, [goal], orientation_length=0.3), robots.random_q(robot, rng)
    problem.start(q)
    turn = robot.forward_kinematics(q, 'tool0')[:3, :3]
    expected = 3.0 * 0.3**2 * np.sum((turn - goal.transform[:3, :3]) ** 2) / 2
    assert own_cost(problem, q) == pytest.approx(expected)


def scan(problem, x, steps=4001):
    """The least cost over the one variable of a problem, inside its limits."""
    low = max(problem.limits.lower[0], x[0] - 2.0 * math.pi)
    high = min(problem.limits.upper[0], x[0] + 2.0 * math.pi)
    return min(own_cost(problem, np.array([value])) for value in np.linspace(low, high, steps))


@pytest.mark.parametrize('goals', GOALS)
@pytest.mark.parametrize('name', ['panda', 'scara', 'chains5'])
def test_the_step_of_one_joint_is_the_best_there_is(name, goals):
    """All joints but one are frozen, so that a sweep is one step."""
    robot, rng = robots.shipped(name), np.random.default_rng(3)
    moved = 0
    for joint in robot.chain(robot.tips()[0]):
        others = [other for other in robot.joint_names if other != robot.joint_names[joint]]
        lower, upper = robot.lower.copy(), robot.upper.copy()
        middle = 0.5 * (lower[joint] + upper[joint])
        lower[joint] = rng.uniform(lower[joint], middle)
        problem = random_problem_of_one(name, goals, rng, others, lower, upper, joint)
        if problem is None:
            continue
        q = np.clip(robots.random_q(robot, rng), lower, upper)
        _, x = problem.start(q)
        after = sweep_once(problem, q)
        assert own_cost(problem, after) <= scan(problem, x) * (1 + 1e-12)
        assert problem.limits.lower <= after <= problem.limits.upper
        moved += abs(after[0] - x[0]) > 1e-6
    assert moved >= 2


def random_problem_of_one(name, goals, rng, frozen, lower, upper, joint):
    """As random_problem, with one joint to move; None where a goal would hang on no joint."""
    robot = robots.shipped(name)
    links = [link for link in robot.tips()[:2] if joint in robot.chain(link)]
    tasks = []
    for link in links:
        pose = robot.forward_kinematics(robots.random_q(robot, rng), link)
        tasks += GOALS[goals](link, shaken(rng, pose, 0.4))
    if not tasks:
        return None
    return IkProblem(robot, tasks, frozen_joints=frozen, lower=lower, upper=upper,
                     orientation_length=0.3)  # fmt: skip


def arm(*joints):
    """A chain of joints; (kind, axis, more) each, 0.5 m apart along x, with a tip."""
    along = robots.transform(translation=[0.5, 0.0, 0.0])
    chain = [
        Joint(f'j{i}', kind, f'l{i}', f'l{i + 1}', along if i else np.eye(4),
              np.array(axis, float), **more)
        for i, (kind, axis, more) in enumerate(joints)
    ]  # fmt: skip
    chain.append(Joint('fixed', 'fixed', chain[-1].child, 'tip', along))
    links = ['l0', *(joint.child for joint in chain)]
    return Robot.from_joints('arm', links, chain)


def hinge_problem(lower, upper, direction):
    robot = arm(('revolute', Z, {'lower': lower, 'upper': upper}))
    goal = [math.cos(direction), math.sin(direction), 0.2]
    return IkProblem(robot, [PositionTask('tip', goal)])


@pytest.mark.parametrize(
    ('lower', 'upper', 'start', 'direction', 'expected'),
    [
        (-3.0, 3.0, 0.4, 1.5, 1.5),
        (-3.0, 3.0, -2.9, 2.9, 2.9),  # the short way is closed
        (-7.0, 7.0, 2.9, -2.9, 2 * np.pi - 2.9),  # the short way, over half a turn
        (-7.0, 7.0, 6.8, 1.0, 1.0),  # a turn further is too far
        (10.0, 20.0, 12.0, 1.0, 4 * np.pi + 1.0),
        (-1.0, 0.5, 0.0, 2.0, 0.5),
        (-1.0, 0.5, 0.0, -2.0, -1.0),
        (-1.0, 0.5, 0.0, -np.pi + 0.1, -1.0),  # the limits by cost: 2.04 away, 2.64 away
        (-1.0, 0.5, 0.5, -np.pi + 0.1, -1.0),
        (-0.5, 1.0, -0.5, np.pi - 0.1, 1.0),
        (-1.0, 1.0, 0.3, np.pi + 0.2, -1.0),
        (0.25, 0.25, 0.25, 2.0, 0.25),
        (-np.inf, np.inf, 9.0, 9.5 + np.pi * 2, 9.5),
        (-np.inf, 8.0, 7.9, 9.0, 9.0 - 2 * np.pi),
    ],
)
def test_inside_limits_the_nearest_best_turn_or_the_better_limit(
    lower, upper, start, direction, expected
):
    problem = hinge_problem(lower, upper, direction)
    assert sweep_once(problem, np.array([start])) == pytest.approx([expected], abs=1e-12)


def test_a_turn_that_does_not_matter_is_not_made():
    """The goal on the axis, the tip on the axis, and no goal that the joint moves."""
    problem = hinge_problem(-3.0, 3.0, 0.0)
    problem.goals[0].set_target(position=[0.0, 0.0, 2.0])
    assert sweep_once(problem, np.array([0.7])) == 0.7
    roll = arm(('revolute', Z, {}), ('revolute', (1.0, 0.0, 0.0), {}))
    problem = IkProblem(roll, [PositionTask('tip', [0.3, 0.9, 0.1])])
    assert sweep_once(problem, np.array([0.2, 0.4]))[1] == 0.4
    oblique = Robot.from_joints(
        'oblique', ['a', 'b', 'tip'],
        [Joint('hinge', 'revolute', 'a', 'b', ORIGIN, Z, lower=-3.0, upper=3.0),
         Joint('fixed', 'fixed', 'b', 'tip', robots.transform(translation=[0, 0, 0.7]))],
    )  # fmt: skip
    for goal in np.random.default_rng(6).normal(size=(20, 3)):  # on the axis but for rounding
        problem = IkProblem(oblique, [PositionTask('tip', goal)])
        assert sweep_once(problem, np.array([0.3])) == 0.3


@pytest.mark.parametrize('weights', [1.0, (1.0, 0.0, 4.0)])
@pytest.mark.parametrize('axes', ['root', 'goal'])
def test_a_slide_goes_where_the_weighted_distance_is_least(weights, axes):
    axis = np.array([0.6, 0.0, 0.8])
    robot = arm(('prismatic', axis, {'lower': -5.0, 'upper': 5.0}))
    turn = Rotation.from_rotvec([0.4, 0.2, -0.9])
    target = np.array([1.3, 0.4, -0.7])
    task = PositionTask('tip', target, turn.as_quat(), weights=weights, position_axes=axes)
    problem = IkProblem(robot, [task])
    (shift,) = sweep_once(problem, np.array([0.3]))
    w = np.diag(np.broadcast_to(weights, 3))
    if axes == 'goal':
        w = turn.as_matrix() @ w @ turn.as_matrix().T
    missing = target - [0.5, 0.0, 0.0]
    assert shift == pytest.approx((axis @ w @ missing) / (axis @ w @ axis))
    narrow = IkProblem(robot, [task], lower=[-0.1], upper=[0.05])
    assert sweep_once(narrow, np.array([0.0])) == pytest.approx(np.clip(shift, -0.1, 0.05))


def test_a_slide_serves_several_end_effectors_at_once():
    """The mean of what is missing, by weight."""
    slide = Joint('slide', 'prismatic', 'a', 'b', axis=Z)
    ends = [Joint(name, 'fixed', 'b', name) for name in ('one', 'two')]
    robot = Robot.from_joints('fork', ['a', 'b', 'one', 'two'], [slide, *ends])
    goals = [PositionTask('one', [0, 0, 1.0], weights=3.0), PositionTask('two', [0, 0, -1.0])]
    problem = IkProblem(robot, goals)
    assert sweep_once(problem, np.array([0.0])) == pytest.approx([0.5])


def test_a_joint_serves_several_end_effectors_at_once():
    """Two tips at right angles, goals that pull to either side, weights 3 and 1."""
    joints = [
        Joint('hinge', 'continuous', 'a', 'b', axis=Z),
        Joint('one', 'fixed', 'b', 'one', robots.transform(translation=[1.0, 0, 0])),
        Joint('two', 'fixed', 'b', 'two', robots.transform(translation=[0, 1.0, 0])),
    ]
    robot = Robot.from_joints('fork', ['a', 'b', 'one', 'two'], joints)
    goals = [PositionTask('one', [0, 2.0, 0], weights=3.0), PositionTask('two', [0, 2.0, 0])]
    problem = IkProblem(robot, goals)
    assert sweep_once(problem, np.array([0.1])) == pytest.approx([math.atan2(3.0, 1.0)])


COUPLED = {
    'two hinges': arm(
        ('revolute', Z, {'lower': -2.0, 'upper': 2.0}),
        ('revolute', Z, {'mimic': ik.robot.Mimic('j0', -1.5, 0.3)}),
    ),
    'hinge and slide': arm(
        ('continuous', Z, {}), ('prismatic', (1.0, 0.0, 0.0), {'mimic': ik.robot.Mimic('j0', 0.3)})
    ),
    'two slides': arm(
        ('prismatic', (1.0, 0.0, 0.0), {'lower': -1.0, 'upper': 0.6}),
        ('prismatic', (0.0, 1.0, 0.0), {'mimic': ik.robot.Mimic('j0', -2.0, 0.1)}),
    ),
}


@pytest.mark.parametrize('goals', GOALS)
@pytest.mark.parametrize('name', COUPLED)
def test_a_variable_that_moves_several_bodies_takes_the_best_step_too(name, goals):
    robot, rng = COUPLED[name], np.random.default_rng(4)
    for _ in range(4):
        target = shaken(rng, robot.forward_kinematics(rng.uniform(-1, 0.5, 1), 'tip'), 0.4)
        problem = IkProblem(robot, GOALS[goals]('tip', target))
        q = rng.uniform(-1, 0.5, robot.n)
        _, x = problem.start(q)
        after = sweep_once(problem, q)
        assert own_cost(problem, after) <= scan(problem, x) * (1 + 1e-12)
        assert problem.limits.lower <= after <= problem.limits.upper
        if name != 'hinge and slide':  # where other turns are other postures, further away
            assert sweep_once(problem, after) == pytest.approx(after, abs=1e-6)


@pytest.mark.parametrize('turns', [2e4, -1e7])
def test_a_variable_far_from_0_is_searched_as_finely_as_its_numbers_go(turns):
    robot = COUPLED['hinge and slide']
    problem = IkProblem(robot, [PositionTask('tip', [0.3, 0.7, 0.2])])
    q = np.array([2.0 * math.pi * turns + 0.4])
    _, x = problem.start(q)
    after = sweep_once(problem, q)
    assert own_cost(problem, after) < own_cost(problem, x)
    assert abs(after - x) <= 4.0 * math.pi


def test_a_mimic_joint_alone_turns_its_driver():
    """The driver carries another branch: the goal's one joint turns by -0.5 per unit of it."""
    along = robots.transform(translation=[0.5, 0.0, 0.0])
    joints = [
        Joint('driver', 'revolute', 'a', 'b', axis=Z, lower=-6.0, upper=6.0),
        Joint('copy', 'revolute', 'a', 'c', axis=Z, mimic=ik.robot.Mimic('driver', -0.5, 0.2)),
        Joint('fixed', 'fixed', 'c', 'tip', along),
    ]
    robot = Robot.from_joints('copy', ['a', 'b', 'c', 'tip'], joints)
    problem = IkProblem(robot, [PositionTask('tip', [math.cos(1.0), math.sin(1.0), 0.0])])
    problem.start([1.0])
    assert plan_of(problem)['how'].tolist() == [CLOSED_FORM]
    assert sweep_once(problem, np.array([1.0])) == pytest.approx([-1.6])


def test_a_mimic_slide_alone_shifts_its_driver():
    """-0.5 m per metre of it, below a hinge that then sees where the tip has come to."""
    joints = [
        Joint('driver', 'prismatic', 'a', 'b', axis=Z, lower=-9.0, upper=9.0),
        Joint('hinge', 'continuous', 'a', 'c', axis=Z),
        Joint('copy', 'prismatic', 'c', 'd', mimic=ik.robot.Mimic('driver', -0.5, 0.2)),
        Joint('fixed', 'fixed', 'd', 'tip', robots.transform(translation=[0.5, 0.3, 0.0])),
    ]
    robot = Robot.from_joints('copy', ['a', 'b', 'c', 'd', 'tip'], joints)
    problem = IkProblem(robot, [PositionTask('tip', [0.0, 3.0, 0.0])])
    problem.start([0.0, 0.4])
    shift = 3.0 * math.sin(0.4) - 0.5
    turn = 0.5 * math.pi - math.atan2(0.3, 0.5 + shift)
    swept = sweep_once(problem, np.array([0.0, 0.4]))
    assert swept == pytest.approx([(shift - 0.2) / -0.5, turn])


def test_a_sweep_visits_every_body_once_in_the_order_asked_for():
    """One row a body: the linear cost per iteration of Engell-Norregard 2007, Fig. 8."""
    robot = robots.shipped('chains5')
    problem = IkProblem(robot, [PositionTask(link, np.ones(3)) for link in robot.tips()])
    up, down = plan_of(problem), plan_of(problem, order='base_to_tip')
    assert len(up['body']) == len(down['body']) == robot.n
    parents = problem.packed.tree[:, 0]
    place = {int(k): i for i, k in enumerate(down['body'])}
    assert all(place[int(parents[k])] < place[k] for k in place if parents[k] >= 0)
    for name in ('body', 'how', 'ball', 'carried'):
        np.testing.assert_array_equal(up[name], down[name][::-1])
    assert (up['how'] == CLOSED_FORM).all()
    assert up['carried'].sum(axis=1).max() == 5  # the shared joint carries all goals
    assert up['carried'].sum() == 2 + 3 + 4 + 5 + 6


def test_frozen_joints_and_coupled_ones_are_planned_as_such():
    robot = robots.shipped('panda')
    problem = IkProblem(
        robot, [PositionTask('panda_rightfinger', np.ones(3)),
                PositionTask('panda_leftfinger', np.ones(3))],
        frozen_joints=['panda_joint3'],
    )  # fmt: skip
    how = plan_of(problem)['how']
    assert np.bincount(how, minlength=3).tolist() == [2, 6, 1]
    assert how[how != SKIP].tolist().count(SEARCH) == 1
    masked = IkProblem(robot, [PositionTask('panda_link7', np.ones(3), weights=(1, 1, 0))])
    assert (plan_of(masked)['how'] == SEARCH).all()


def test_joints_that_only_a_secondary_task_sees_are_left_to_it():
    robot = robots.shipped('panda')
    elbow = robot.forward_kinematics(robot.middle_configuration + 0.2, 'panda_link5')[:3, 3]
    hand = OrientationTask('panda_hand', [1.0, 0.0, 0.0, 0.0])
    problem = IkProblem(robot, [PositionTask('panda_link5', elbow)], secondary=[hand])
    assert len(problem.variables) == 7
    how = plan_of(problem)['how']
    assert np.bincount(how, minlength=3)[CLOSED_FORM] == len(robot.chain('panda_link5'))
    q, x = problem.start()
    assert (sweep_once(problem, q)[5:] == x[5:]).all()


def test_searches_come_to_rest():
    """Rounding moves nothing: a sweep at the end changes not a bit."""
    robot = COUPLED['two hinges']
    problem = IkProblem(robot, [PositionTask('tip', [0.3, 2.0, 0.0])])
    result = ik.make_solver('cyclic_coordinate_descent').solve(problem, [0.1])
    assert result.status is IkStatus.CLOSEST
    search = sweeping(problem, [0.1])
    for _ in range(5):
        search.step()
    x = search.x
    search.step()
    assert (search.x == x).all()


@both_orders
@settings(max_examples=60)
@given(trees(), st.integers(0, 2**32 - 1), st.sampled_from(sorted(GOALS)))
def test_sweeps_never_raise_the_cost_nor_leave_the_limits(order, tree, seed, goals):
    links, joints = tree
    robot = Robot.from_joints('random', links, joints, free_joints=free_joints_of(joints))
    rng = np.random.default_rng(seed)
    movable = [link for link in links if robot.chain(link)][:3]
    if not movable:
        return
    tasks = []
    for link in movable:
        pose = robot.forward_kinematics(rng.uniform(-2, 2, robot.n), link)
        tasks += GOALS[goals](link, shaken(rng, pose, 0.3))
    low, high = np.sort(rng.uniform(-2.5, 2.5, (2, robot.n)), axis=0)
    open_ended = rng.random(robot.n) < 0.3
    low[open_ended], high[open_ended] = -np.inf, np.inf
    problem = IkProblem(robot, tasks, lower=low, upper=high)
    search = sweeping(problem, rng.uniform(-2.5, 2.5, robot.n), order=order)
    cost = own_cost(problem, search.x)
    for _ in range(6):
        search.step()
        x = search.x
        assert (problem.limits.lower <= x).all()
        assert (x <= problem.limits.upper).all()
        after = own_cost(problem, x)
        assert after <= cost * (1 + 1e-12) + 1e-24
        cost = after


def test_tip_to_base_is_each_joint_alone_from_the_tip():
    """A sweep is the steps of problems in which one joint moves, one after the other."""
    robot, rng = robots.shipped('panda'), np.random.default_rng(7)
    q = robots.random_q(robot, rng, 0.1)
    task = PoseTask(
        'panda_link8', transform=shaken(rng, robot.forward_kinematics(q, 'panda_link8'))
    )
    problem = IkProblem(robot, [task])
    start = robots.random_q(robot, rng, 0.1)
    for order, joints in (('tip_to_base', range(6, -1, -1)), ('base_to_tip', range(7))):
        swept = sweep_once(problem, start, order=order)
        single = start.copy()
        for joint in joints:
            others = [name for i, name in enumerate(robot.joint_names) if i != joint]
            alone = IkProblem(robot, [task], frozen_joints=others)
            single[joint] = sweep_once(alone, single)[0]
        np.testing.assert_allclose(swept, single[:7], atol=1e-9)
