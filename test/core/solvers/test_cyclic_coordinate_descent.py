"""Cyclic coordinate descent: what one joint's step is worth, and what sweeps come to.

The cost that sweeps lower is computed here from poses and scipy's rotations alone.
"""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support import robots
from support.random_trees import free_joints_of, trees

import ik_core as ik
from ik_core import (
    AxisTask,
    IkProblem,
    IkStatus,
    Joint,
    OrientationTask,
    PoseTask,
    PositionTask,
    Robot,
    TwoAxisTask,
)
from ik_core.solvers import State
from ik_core.solvers.coordinate_sweep import (
    CLOSED_FORM,
    HOW,
    SEARCH,
    SKIP,
    _step_inside,
    chordal_cost,
)
from ik_core.solvers.cyclic_coordinate_descent import CyclicCoordinateDescent, sweep_plan

ORDERS = ('tip_to_base', 'base_to_tip')
Z = np.array([0.0, 0.0, 1.0])
ORIGIN = robots.transform(Rotation.from_rotvec([0.4, -0.7, 0.2]), [0.3, -0.1, 0.5])

both_orders = pytest.mark.parametrize('order', ORDERS)


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


def sweep_once(problem, x, **options):
    solver = CyclicCoordinateDescent(**options)
    return solver.step(problem, State(problem.at(x))).at.x


def with_q(problem, x):
    q = problem.start(None)[0]
    q[problem.variables] = x
    return q


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


def own_cost(problem, x):
    """The cost [m^2] that sweeps lower, at variables x."""
    problem.packed.update(x)
    return chordal_cost(problem.packed.arrays)


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
    """All joints but one frozen, so that a sweep is one step."""
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
        after = sweep_once(problem, x)
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
    problem.start([start])
    assert sweep_once(problem, np.array([start])) == pytest.approx([expected], abs=1e-12)


def test_a_turn_that_does_not_matter_is_not_made():
    """The goal on the axis, the tip on the axis, and no goal that the joint moves."""
    problem = hinge_problem(-3.0, 3.0, 0.0)
    problem.goals[0].set_target(position=[0.0, 0.0, 2.0])
    problem.start([0.7])
    assert sweep_once(problem, np.array([0.7])) == 0.7
    roll = arm(('revolute', Z, {}), ('revolute', (1.0, 0.0, 0.0), {}))
    problem = IkProblem(roll, [PositionTask('tip', [0.3, 0.9, 0.1])])
    problem.start([0.2, 0.4])
    assert sweep_once(problem, np.array([0.2, 0.4]))[1] == 0.4
    oblique = Robot.from_joints(
        'oblique', ['a', 'b', 'tip'],
        [Joint('hinge', 'revolute', 'a', 'b', ORIGIN, Z, lower=-3.0, upper=3.0),
         Joint('fixed', 'fixed', 'b', 'tip', robots.transform(translation=[0, 0, 0.7]))],
    )  # fmt: skip
    for goal in np.random.default_rng(6).normal(size=(20, 3)):  # on the axis but for rounding
        problem = IkProblem(oblique, [PositionTask('tip', goal)])
        problem.start([0.3])
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
    problem.start([0.3])
    (shift,) = sweep_once(problem, np.array([0.3]))
    w = np.diag(np.broadcast_to(weights, 3))
    if axes == 'goal':
        w = turn.as_matrix() @ w @ turn.as_matrix().T
    missing = target - [0.5, 0.0, 0.0]
    assert shift == pytest.approx((axis @ w @ missing) / (axis @ w @ axis))
    narrow = IkProblem(robot, [task], lower=[-0.1], upper=[0.05])
    narrow.start([0.0])
    assert sweep_once(narrow, np.array([0.0])) == pytest.approx(np.clip(shift, -0.1, 0.05))


def test_a_slide_serves_several_end_effectors_at_once():
    """The mean of what is missing, by weight."""
    slide = Joint('slide', 'prismatic', 'a', 'b', axis=Z)
    ends = [Joint(name, 'fixed', 'b', name) for name in ('one', 'two')]
    robot = Robot.from_joints('fork', ['a', 'b', 'one', 'two'], [slide, *ends])
    goals = [PositionTask('one', [0, 0, 1.0], weights=3.0), PositionTask('two', [0, 0, -1.0])]
    problem = IkProblem(robot, goals)
    problem.start([0.0])
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
    problem.start([0.1])
    assert sweep_once(problem, np.array([0.1])) == pytest.approx([math.atan2(3.0, 1.0)])


COUPLED = {
    'two hinges': arm(
        ('revolute', Z, {'lower': -2.0, 'upper': 2.0}),
        ('revolute', Z, {'mimic': ik.Mimic('j0', -1.5, 0.3)}),
    ),
    'hinge and slide': arm(
        ('continuous', Z, {}), ('prismatic', (1.0, 0.0, 0.0), {'mimic': ik.Mimic('j0', 0.3)})
    ),
    'two slides': arm(
        ('prismatic', (1.0, 0.0, 0.0), {'lower': -1.0, 'upper': 0.6}),
        ('prismatic', (0.0, 1.0, 0.0), {'mimic': ik.Mimic('j0', -2.0, 0.1)}),
    ),
}


@pytest.mark.parametrize('goals', GOALS)
@pytest.mark.parametrize('name', COUPLED)
def test_a_variable_that_moves_several_bodies_takes_the_best_step_too(name, goals):
    robot, rng = COUPLED[name], np.random.default_rng(4)
    for _ in range(4):
        target = shaken(rng, robot.forward_kinematics(rng.uniform(-1, 0.5, 1), 'tip'), 0.4)
        problem = IkProblem(robot, GOALS[goals]('tip', target))
        _, x = problem.start(rng.uniform(-1, 0.5, 1))
        after = sweep_once(problem, x)
        assert own_cost(problem, after) <= scan(problem, x) * (1 + 1e-12)
        assert problem.limits.lower <= after <= problem.limits.upper
        if name != 'hinge and slide':  # where other turns are other postures, further away
            assert sweep_once(problem, after) == pytest.approx(after, abs=1e-6)


def test_a_mimic_joint_alone_turns_its_driver():
    """The driver carries another branch: the goal's one joint turns by -0.5 per unit of it."""
    along = robots.transform(translation=[0.5, 0.0, 0.0])
    joints = [
        Joint('driver', 'revolute', 'a', 'b', axis=Z, lower=-6.0, upper=6.0),
        Joint('copy', 'revolute', 'a', 'c', axis=Z, mimic=ik.Mimic('driver', -0.5, 0.2)),
        Joint('fixed', 'fixed', 'c', 'tip', along),
    ]
    robot = Robot.from_joints('copy', ['a', 'b', 'c', 'tip'], joints)
    problem = IkProblem(robot, [PositionTask('tip', [math.cos(1.0), math.sin(1.0), 0.0])])
    problem.start([1.0])
    assert sweep_plan(problem, CyclicCoordinateDescent().options)[:, HOW].tolist() == [CLOSED_FORM]
    assert sweep_once(problem, np.array([1.0])) == pytest.approx([-1.6])


def test_a_mimic_slide_alone_shifts_its_driver():
    """-0.5 m per metre of it, below a hinge that then sees where the tip has come to."""
    joints = [
        Joint('driver', 'prismatic', 'a', 'b', axis=Z, lower=-9.0, upper=9.0),
        Joint('hinge', 'continuous', 'a', 'c', axis=Z),
        Joint('copy', 'prismatic', 'c', 'd', mimic=ik.Mimic('driver', -0.5, 0.2)),
        Joint('fixed', 'fixed', 'd', 'tip', robots.transform(translation=[0.5, 0.3, 0.0])),
    ]
    robot = Robot.from_joints('copy', ['a', 'b', 'c', 'd', 'tip'], joints)
    problem = IkProblem(robot, [PositionTask('tip', [0.0, 3.0, 0.0])])
    problem.start([0.0, 0.4])
    shift = 3.0 * math.sin(0.4) - 0.5
    turn = 0.5 * math.pi - math.atan2(0.3, 0.5 + shift)
    swept = sweep_once(problem, np.array([0.0, 0.4]))
    assert swept == pytest.approx([(shift - 0.2) / -0.5, turn])


def plan_of(problem, **options):
    return sweep_plan(problem, CyclicCoordinateDescent(**options).options)


def test_a_sweep_visits_every_body_once_in_the_order_asked_for():
    """One row a body: the linear cost per iteration of Engell-Norregard 2007, Fig. 8."""
    robot = robots.shipped('chains5')
    problem = IkProblem(robot, [PositionTask(link, np.ones(3)) for link in robot.tips()])
    up, down = plan_of(problem), plan_of(problem, order='base_to_tip')
    assert up.shape[0] == down.shape[0] == robot.n
    parents = problem.packed.tree[:, 0]
    place = {int(k): i for i, k in enumerate(down[:, 0])}
    assert all(place[int(parents[k])] < place[k] for k in place if parents[k] >= 0)
    np.testing.assert_array_equal(up, down[::-1])
    assert (up[:, HOW] == CLOSED_FORM).all()
    assert up[:, 5:].sum(axis=1).max() == 5  # the shared joint carries all goals
    assert up[:, 5:].sum() == 2 + 3 + 4 + 5 + 6


def test_frozen_joints_and_coupled_ones_are_planned_as_such():
    robot = robots.shipped('panda')
    problem = IkProblem(
        robot, [PositionTask('panda_rightfinger', np.ones(3)),
                PositionTask('panda_leftfinger', np.ones(3))],
        frozen_joints=['panda_joint3'],
    )  # fmt: skip
    how = plan_of(problem)[:, HOW]
    assert np.bincount(how, minlength=3).tolist() == [2, 6, 1]
    assert how[how != SKIP].tolist().count(SEARCH) == 1
    masked = IkProblem(robot, [PositionTask('panda_link7', np.ones(3), weights=(1, 1, 0))])
    assert (plan_of(masked)[:, HOW] == SEARCH).all()


def test_joints_that_only_a_secondary_task_sees_are_left_to_it():
    robot = robots.shipped('panda')
    elbow = robot.forward_kinematics(robot.middle_configuration + 0.2, 'panda_link5')[:3, 3]
    hand = OrientationTask('panda_hand', [1.0, 0.0, 0.0, 0.0])
    problem = IkProblem(robot, [PositionTask('panda_link5', elbow)], secondary=[hand])
    assert len(problem.variables) == 7
    how = plan_of(problem)[:, HOW]
    assert np.bincount(how, minlength=3)[CLOSED_FORM] == len(robot.chain('panda_link5'))
    _, x = problem.start()
    assert (sweep_once(problem, x)[5:] == x[5:]).all()


def test_searches_come_to_rest():
    """Rounding moves nothing: a sweep at the end changes not a bit."""
    robot = COUPLED['two hinges']
    problem = IkProblem(robot, [PositionTask('tip', [0.3, 2.0, 0.0])])
    result = ik.make_solver('cyclic_coordinate_descent').solve(problem, [0.1])
    assert result.status is IkStatus.CLOSEST
    _, x = problem.start([0.1])
    for _ in range(5):
        x = sweep_once(problem, x)
    assert (sweep_once(problem, x) == x).all()


@both_orders
@settings(deadline=None, derandomize=True, max_examples=60)
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
    _, x = problem.start(rng.uniform(-2.5, 2.5, robot.n))
    solver = CyclicCoordinateDescent(order=order)
    cost = own_cost(problem, x)
    for _ in range(6):
        x = solver.step(problem, State(problem.at(x))).at.x
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
        _, x = problem.start(start)
        swept = sweep_once(problem, x, order=order)
        single = start.copy()
        for joint in joints:
            others = [name for i, name in enumerate(robot.joint_names) if i != joint]
            alone = IkProblem(robot, [task], frozen_joints=others)
            _, y = alone.start(single)
            single[joint] = sweep_once(alone, y)[0]
        np.testing.assert_allclose(swept, single[:7], atol=1e-9)


# Ball joints --------------------------------------------------------------------------------


def ball_and_bone(order='ZYZ', **limits):
    joints = [
        Joint('ball', 'ball', 'base', 'bone', ORIGIN, rotation_order=order, **limits),
        Joint('tip', 'fixed', 'bone', 'tip', robots.transform(translation=[0.4, 0.2, -0.1])),
    ]
    return Robot.from_joints('ball', ['base', 'bone', 'tip'], joints)


@both_orders
@pytest.mark.parametrize('rotation', ['ZYZ', 'XYX', 'XYZ', 'ZXY', 'YXZ', 'ZYX', 'YZY'])
def test_a_ball_joint_turns_about_the_axis_across_both_directions(rotation, order):
    """Eq. 2-5: one step, by the angle between the directions, no twist about the bone."""
    robot, rng = ball_and_bone(rotation), np.random.default_rng(8)
    starts = [np.zeros(3), np.array([0.2, 0.5 * np.pi, 0.1]), *rng.uniform(-3, 3, (6, 3))]
    for q in starts:
        p = ORIGIN[:3, 3]
        goal = p + 2.0 * rng.normal(size=3)
        problem = IkProblem(robot, [PositionTask('tip', goal)])
        problem.start(q)
        after = sweep_once(problem, q, order=order)
        u = robot.forward_kinematics(q, 'tip')[:3, 3] - p
        v = goal - p
        reached = robot.forward_kinematics(after, 'tip')[:3, 3] - p
        np.testing.assert_allclose(reached / np.linalg.norm(u), v / np.linalg.norm(v), atol=1e-9)
        axis = np.cross(u, v) / np.linalg.norm(np.cross(u, v))
        angle = math.atan2(np.linalg.norm(np.cross(u, v)), u @ v)
        turn = (
            robot.forward_kinematics(after, 'bone')[:3, :3]
            @ robot.forward_kinematics(q, 'bone')[:3, :3].T
        )
        np.testing.assert_allclose(turn, Rotation.from_rotvec(angle * axis).as_matrix(), atol=1e-9)


def test_about_its_own_axes_a_ball_joint_takes_other_steps():
    robot, q = ball_and_bone('XYZ'), np.array([0.3, -0.4, 0.8])
    goal = robot.forward_kinematics(q + np.array([0.5, 0.7, -0.6]), 'tip')[:3, 3]
    problem = IkProblem(robot, [PositionTask('tip', goal)])
    free = ik.make_solver('cyclic_coordinate_descent').solve(problem, q)
    assert free.success
    assert free.iterations == 1
    own = ik.make_solver('cyclic_coordinate_descent', free_axis=False).solve(problem, q)
    assert own.success
    assert own.iterations > 1


@both_orders
def test_the_turn_of_a_ball_stays_inside_its_limits_and_never_harms(order):
    rng = np.random.default_rng(9)
    exact = 0
    for rotation in ('ZYZ', 'XYZ', 'ZXY'):
        for _ in range(40):
            low, high = np.sort(rng.uniform(-3.5, 3.5, (2, 3)), axis=0)
            robot = ball_and_bone(rotation, lower=low, upper=high)
            goal = ORIGIN[:3, 3] + rng.normal(size=3)
            problem = IkProblem(robot, [PositionTask('tip', goal)])
            _, x = problem.start(rng.uniform(low, high))
            after = sweep_once(problem, x, order=order)
            alone = sweep_once(problem, x, order=order, free_axis=False)
            assert robots.inside(robot, after)
            assert own_cost(problem, after) <= own_cost(problem, x) * (1 + 1e-12)
            exact += own_cost(problem, after) < own_cost(problem, alone) * (1 - 1e-9)
    assert exact > 20  # of 120, with limits that cut most of the turns off


@pytest.mark.parametrize('factor', [1.0, 3.0, 0.0])
def test_a_ball_that_points_at_its_goal_stays(factor):
    """Eq. 2 then names no axis, nor does it for a goal in the centre."""
    robot, q = ball_and_bone(), np.array([0.3, 0.9, -0.4])
    centre = ORIGIN[:3, 3]
    goal = centre + factor * (robot.forward_kinematics(q, 'tip')[:3, 3] - centre)
    problem = IkProblem(robot, [PositionTask('tip', goal)])
    problem.start(q)
    np.testing.assert_allclose(sweep_once(problem, q), q, atol=1e-12)


def test_of_two_ways_to_write_a_turn_the_shorter_one_is_taken():
    """Both reach the goal: (da, db, dc) and the way over the other middle angle."""
    robot, rng = ball_and_bone(), np.random.default_rng(10)
    for _ in range(20):
        q = rng.uniform(0.4, 1.2, 3)
        goal = robot.forward_kinematics(q + rng.uniform(-0.1, 0.1, 3), 'tip')[:3, 3]
        problem = IkProblem(robot, [PositionTask('tip', goal)])
        problem.start(q)
        assert np.abs(sweep_once(problem, q) - q).max() < 1.0


@pytest.mark.parametrize(
    ('goals', 'turns'),
    [
        (lambda: [PositionTask('tip', np.ones(3))], True),
        (lambda: [PositionTask('tip', np.ones(3), weights=(1, 1, 2))], False),
        (lambda: [PoseTask('tip', transform=np.eye(4))], False),
        (lambda: [PositionTask('tip', np.ones(3)), PositionTask('bone', np.ones(3))], False),
    ],
)
def test_balls_turn_freely_where_one_position_is_all_they_carry(goals, turns):
    problem = IkProblem(ball_and_bone(), goals())
    for order in ORDERS:
        plan = plan_of(problem, order=order)
        assert (plan[0, 2:5].tolist() == [0, 1, 2]) == turns
        assert (plan[1:, 2:5] == -1).all()
    assert (plan_of(problem, free_axis=False)[:, 2:5] == -1).all()


def test_a_ball_with_a_frozen_axis_is_no_ball():
    problem = IkProblem(
        ball_and_bone(), [PositionTask('tip', np.ones(3))], frozen_joints=['ball/y']
    )
    assert (plan_of(problem)[:, 2:5] == -1).all()
    body = [f'root/{name}' for name in ('x', 'y', 'z', 'yaw', 'pitch', 'roll')]
    problem = IkProblem(
        human_arm(), [PositionTask('forearm', np.ones(3))], frozen_joints=[*body, 'shoulder/y']
    )  # the shoulder's last axis: the elbow must not stand in for it
    assert (plan_of(problem)[:, 2:5] == -1).all()


@pytest.mark.parametrize(
    ('x', 'step', 'lower', 'upper', 'expected'),
    [
        (0.2, 0.5, -1.0, 1.0, 0.7),
        (0.2, 0.5 + 2 * np.pi, -1.0, 1.0, 0.7),
        (0.2, 0.5 - 4 * np.pi, -9.0, 9.0, 0.7),
        (3.0, 1.0, -3.1, 3.1, 4.0 - 2 * np.pi),
        (-3.0, -1.0, -3.1, 3.1, 2 * np.pi - 4.0),
        (0.0, 1.5, -1.0, 1.0, 1.0),
        (0.0, -1.5, -1.0, 1.0, -1.0),
        (0.4, 3.0, -2.8, 0.5, -2.8),  # 2.9 above the one limit, 0.08 below the other
        (-0.4, -3.0, -0.5, 2.8, 2.8),
        (0.0, 9.0, -math.inf, math.inf, 9.0 - 2 * np.pi),
    ],
)
def test_steps_of_a_ball_end_inside_the_limits_or_at_the_next_one(x, step, lower, upper, expected):
    assert _step_inside(x, step, lower, upper) == pytest.approx(expected)


def human_arm():
    """Shoulder, elbow and wrist, the shoulder on a floating body."""
    down = robots.transform(translation=[0.0, 0.0, -0.3])
    joints = [
        Joint('root', 'floating', 'world', 'chest'),
        Joint('shoulder', 'ball', 'chest', 'arm', ORIGIN, rotation_order='ZXY', lower=-2, upper=2),
        Joint('elbow', 'revolute', 'arm', 'forearm', down, np.eye(3)[1], lower=-2.5, upper=0.0),
        Joint('wrist', 'ball', 'forearm', 'hand', down, lower=-0.8, upper=0.8),
        Joint('palm', 'fixed', 'hand', 'palm', robots.transform(translation=[0.0, 0.0, -0.1])),
    ]
    links = ['world', 'chest', 'arm', 'forearm', 'hand', 'palm']
    return Robot.from_joints('arm', links, joints, free_joints=['root'])


@both_orders
@pytest.mark.parametrize('free_axis', [True, False])
@pytest.mark.parametrize('fixed_body', [True, False])
def test_arms_of_ball_joints_reach_their_goals(order, free_axis, fixed_body):
    robot, rng = human_arm(), np.random.default_rng(11)
    body = [name for name in robot.joint_names if name.startswith('root')]
    options = {'order': order, 'free_axis': free_axis}
    for _ in range(10):
        q = robots.random_q(robot, rng, margin=0.25)
        if fixed_body:
            q[:6] = 0.0
        goal = PositionTask('palm', robot.forward_kinematics(q, 'palm')[:3, 3])
        problem = IkProblem(robot, [goal], frozen_joints=body if fixed_body else ())
        start = np.zeros(robot.n)
        result = ik.make_solver('cyclic_coordinate_descent', restarts=5, **options).solve(
            problem, start
        )
        assert result.success, result.message
        assert robots.inside(robot, result.q)
        if fixed_body:
            np.testing.assert_array_equal(result.q[:6], 0.0)


# What the source says -----------------------------------------------------------------------

UNIT = 0.1502
"""[m] in which arm5 stands 25 from a goal that it can come as near as 2 to: Fig. 5, Table 1."""


def out_of_reach():
    """The arm of 5 joints bent a little, its goal abreast of it and out of reach."""
    goal = np.array([0.0, 2.5 + 2.0 * UNIT, 0.0])
    problem = IkProblem(robots.shipped('arm5'), [PositionTask('tip', goal)])
    return problem, np.full(5, 0.05)


def distances(order):
    problem, start = out_of_reach()
    solver = ik.make_solver('cyclic_coordinate_descent', order=order, record_history=True)
    result = solver.solve(problem, start)
    return result, np.sqrt(result.history) / UNIT


@both_orders
def test_out_of_reach_the_optimum_is_approached_but_slowly(order):
    """Engell-Norregard 2007, 3.3.3: near after few sweeps, the optimum after very many."""
    problem, start = out_of_reach()
    assert math.sqrt(problem.evaluate(start).cost) / UNIT == pytest.approx(25.0, abs=1.5)
    result, history = distances(order)
    assert result.status is IkStatus.CLOSEST
    assert history[-1] == pytest.approx(2.0, abs=1e-6)
    assert history[9] < 3.4  # the source's 3.369
    assert (np.diff(history) <= 1e-12).all()  # with best steps there is nothing erratic
    assert np.argmax(history < 2.0 + 1e-3) > 10
    assert np.argmax(history < 2.0 + 1e-9) > 100
    bfgs = ik.make_solver('levenberg_marquardt', restarts=0).solve(problem, start)
    assert result.iterations > 3 * bfgs.iterations


def test_the_last_sweeps_shrink_the_distance_to_the_optimum_at_one_rate():
    """Linear convergence: Engell-Norregard & Erleben 2011, 2.2."""
    _, history = distances('base_to_tip')
    left = history - 2.0
    rates = left[40:80] / left[39:79]
    assert rates.max() - rates.min() < 0.02
    assert 0.5 < rates.mean() < 1.0


def test_longer_chains_take_more_sweeps_and_more_than_other_methods():
    """Engell-Norregard 2007, Fig. 9, on the skeleton of Fig. 7: sums over ten goals each."""
    robot, rng = robots.shipped('chains5'), np.random.default_rng(12)
    sweeps, others = [], []
    for length in (2, 4, 6):
        link, counts = f'chain_{length}_tip', np.zeros(2)
        for _ in range(10):
            q = robots.random_q(robot, rng, margin=0.25)
            goal = PositionTask(link, robot.forward_kinematics(q, link)[:3, 3])
            problem = IkProblem(robot, [goal])
            start = np.clip(q + rng.uniform(-0.5, 0.5, robot.n), robot.lower, robot.upper)
            for i, name in enumerate(['cyclic_coordinate_descent', 'levenberg_marquardt']):
                result = ik.make_solver(name).solve(problem, start)
                assert result.success, (name, length, result.message)
                counts[i] += result.iterations
        sweeps.append(counts[0])
        others.append(counts[1])
    assert (np.array(sweeps) > np.array(others)).all()
    assert sweeps[0] < sweeps[-1]


@both_orders
def test_all_five_chains_reach_their_goals_together(order):
    robot, rng = robots.shipped('chains5'), np.random.default_rng(13)
    for _ in range(5):
        q = robots.random_q(robot, rng, margin=0.25)
        goals = [
            PositionTask(link, robot.forward_kinematics(q, link)[:3, 3]) for link in robot.tips()
        ]
        problem = IkProblem(robot, goals)
        start = np.clip(q + rng.uniform(-0.3, 0.3, robot.n), robot.lower, robot.upper)
        result = ik.make_solver('cyclic_coordinate_descent', order=order).solve(problem, start)
        assert result.success, result.message


def test_orientations_out_of_reach_end_at_their_own_optimum_and_say_so():
    """The least sum with chords is at another posture than the one with angles."""
    robot = robots.shipped('ur5e')
    pose = robot.forward_kinematics([0.3, -1.2, 1.4, -0.6, 0.8, 0.2], 'tool0')
    pose = robots.transform(translation=[0.3, 0.6, 0.4]) @ pose
    low, high = np.full(6, -1.5), np.full(6, 1.2)
    problem = IkProblem(robot, [PoseTask('tool0', transform=pose)], lower=low, upper=high)
    start = np.array([0.3, -1.0, 1.0, -0.5, 0.6, 0.1])
    result = ik.make_solver('cyclic_coordinate_descent').solve(problem, start)
    assert result.status is IkStatus.STALLED
    closest = ik.make_solver('levenberg_marquardt', restarts=0).solve(problem, result.q)
    assert closest.status is IkStatus.CLOSEST
    assert closest.cost < result.cost * (1 - 1e-5)
    assert own_cost(problem, result.q) < own_cost(problem, closest.q) * (1 - 1e-5)
