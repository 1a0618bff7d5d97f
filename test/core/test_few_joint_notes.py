# SPDX-License-Identifier: Apache-2.0
"""Notes on answers that few or frozen joints keep from their goals: why, and what to ask for.

The truth is the rank of Jacobians by finite differences of forward kinematics.
"""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_arm
from support.robots import shipped

import ik_core as ik
from ik_core import IkStatus
from ik_core.solvers import SOLVERS
from ik_core.tasks.immobile import named_directions
from ik_core.tracking import MotionLimits, Tracker, TrackStatus

FEW, CLOSEST = IkStatus.TOO_FEW_JOINTS, IkStatus.CLOSEST
AXES = {'x': [1.0, 0.0, 0.0], 'y': [0.0, 1.0, 0.0], 'z': [0.0, 0.0, 1.0]}


def planar_arm(rpy=(0.0, 0.0, 0.0), joints=3, lift=None):
    """An arm of parallel axes in the plane z = 0.2 of its base, which is turned by rpy [rad].

    lift : limits of a prismatic joint along z before it
    """
    text = '<robot name="flat"><link name="root"/><link name="base"/>'
    text += (
        '<joint name="stand" type="fixed"><parent link="root"/><child link="base"/>'
        f'<origin rpy="{" ".join(map(str, rpy))}"/></joint>'
    )
    parent = 'base'
    if lift is not None:
        text += (
            '<link name="lift_link"/><joint name="lift" type="prismatic"><parent link="base"/>'
            '<child link="lift_link"/><axis xyz="0 0 1"/>'
            f'<limit lower="{lift[0]}" upper="{lift[1]}" velocity="1"/></joint>'
        )
        parent = 'lift_link'
    for i in range(joints):
        text += (
            f'<link name="l{i}"/><joint name="j{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{i}"/><origin xyz="{0.2 if i else 0.0} 0 {0.0 if i else 0.2}"/>'
            '<axis xyz="0 0 1"/><limit lower="-2.5" upper="2.5" velocity="1"/></joint>'
        )
        parent = f'l{i}'
    text += (
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="{parent}"/>'
        '<child link="tip"/><origin xyz="0.2 0 0"/></joint></robot>'
    )
    return ik.load_robot(text)


def solved(robot, goal, q0=None, **options):
    return ik.solve(ik.IkProblem(robot, [goal], **options), q0)


def moves_along(robot, link, direction, joints, rng):
    """Return whether joints move a link along a direction, by differences at random
    configurations."""
    h = 1e-6
    for _ in range(5):
        q = rng.uniform(*np.clip([robot.lower, robot.upper], -np.pi, np.pi))
        for j in joints:
            ahead, behind = q.copy(), q.copy()
            ahead[j] += h
            behind[j] -= h
            ends = [robot.forward_kinematics(x, link)[:3, 3] for x in (ahead, behind)]
            if abs(direction @ (ends[0] - ends[1])) / (2.0 * h) > 1e-6:
                return True
    return False


angles = st.tuples(*3 * [st.floats(-3.0, 3.0)])


@settings(max_examples=25, deadline=None)
@given(rpy=angles, joints=st.integers(2, 5), seed=st.integers(0, 999))
def test_a_planar_arm_has_too_few_joints_to_leave_its_plane(rpy, joints, seed):
    robot, rng = planar_arm(rpy, joints), np.random.default_rng(seed)
    normal = Rotation.from_euler('xyz', rpy).as_matrix()[:, 2]
    q = rng.uniform(-1.2, 1.2, joints)
    point = robot.forward_kinematics(q, 'tip')[:3, 3]
    assert not moves_along(robot, 'tip', normal, range(joints), rng)
    assert solved(robot, ik.PositionTask('tip', point)).success
    result = solved(robot, ik.PositionTask('tip', point + 0.05 * normal))
    assert result.status is FEW
    assert result.position_errors[0] == pytest.approx(0.05, rel=1e-6)
    assert result.note.startswith('no joint moves tip along ')
    far = ik.PositionTask('tip', point + 0.05 * normal + 3.0 * (point / np.linalg.norm(point)))
    assert solved(robot, far).status is CLOSEST, 'it is out of reach in its plane, too'


@pytest.mark.parametrize('name', AXES)
def test_the_direction_is_named(name):
    turns = {'x': (0.0, np.pi / 2, 0.0), 'y': (np.pi / 2, 0.0, 0.0), 'z': (0.0, 0.0, 0.0)}
    robot = planar_arm(turns[name])
    point = robot.forward_kinematics([0.3, 0.4, 0.5], 'tip')[:3, 3] + 0.05 * np.array(AXES[name])
    result = solved(robot, ik.PositionTask('tip', point))
    assert result.note == f'no joint moves tip along {name}'
    assert result.note in result.message


@pytest.mark.parametrize(
    ('rows', 'words'),
    [
        ([[0, 0, -1]], 'z'),
        ([[0, 1, 0], [0, 0, 1]], 'y or z'),
        ([[0, 0.6, 0.8], [0, -0.8, 0.6]], 'y or z'),
        ([[0.6, 0, 0.8]], '(0.6, 0, 0.8)'),
        (np.eye(3), 'any direction'),
    ],
)
def test_directions_in_words(rows, words):
    assert named_directions(np.array(rows, float)) == words


@pytest.mark.parametrize('solver', SOLVERS)
def test_every_solver_gives_the_note(solver):
    robot = planar_arm()
    point = robot.forward_kinematics([0.3, 0.4, 0.5], 'tip')[:3, 3] + [0.0, 0.0, 0.05]
    problem = ik.IkProblem(robot, [ik.PositionTask('tip', point)])
    result = ik.solve(problem, solver=solver, restarts=0, max_iterations=3000)
    assert 'no joint moves tip along z' in result.note


def test_an_arm_of_rounded_angles_stays_in_its_plane():
    robot = planar_arm((1.5708, 0.0, 0.0))
    point = robot.forward_kinematics([0.3, 0.4, 0.5], 'tip')[:3, 3] + [0.0, 0.05, 0.0]
    result = solved(robot, ik.PositionTask('tip', point))
    assert result.note == 'no joint moves tip along y'


def test_components_that_are_not_asked_for_do_not_count():
    robot = planar_arm()
    point = robot.forward_kinematics([0.3, 0.4, 0.5], 'tip')[:3, 3] + [0.0, 0.0, 0.05]
    assert solved(robot, ik.PositionTask('tip', point, weights=[1, 1, 0])).success
    assert solved(robot, ik.PositionTask('tip', point, box=[0, 0, 0.06])).success
    result = solved(robot, ik.PositionTask('tip', point, weights=[0, 0, 1]))
    assert (result.status, result.note) == (FEW, 'no joint moves tip along z')
    boxed = solved(robot, ik.PositionTask('tip', point, box=[0, 0, 0.01]))
    assert (boxed.status, boxed.note[:22]) == (CLOSEST, 'nothing closer was fou')


def test_a_tool_off_the_plane_is_moved_by_what_moves_the_link():
    robot, tool = planar_arm(), np.eye(4)
    tool[:3, 3] = 0.05, 0.0, 0.1
    q = [0.3, 0.4, 0.5]
    there = (robot.forward_kinematics(q, 'tip') @ tool)[:3, 3]
    assert solved(robot, ik.PositionTask('tip', there, tool=tool)).success
    result = solved(robot, ik.PositionTask('tip', there + 0.01 * np.eye(3)[2], tool=tool))
    assert (result.status, result.note) == (FEW, 'no joint moves tip along z')


def test_a_frozen_joint_before_the_link_is_named_and_joints_are_not_too_few():
    robot = planar_arm(lift=(-0.5, 0.5))
    q = robot.q({'lift': 0.1, 'j0': 0.3, 'j1': 0.4, 'j2': 0.5})
    goal = ik.PositionTask('tip', robot.forward_kinematics(q, 'tip')[:3, 3])
    assert solved(robot, goal).success
    result = solved(robot, goal, frozen_joints=['lift'])
    assert result.status is CLOSEST
    assert result.note == 'no joint that may move moves tip along z: lift is frozen'
    assert solved(robot, goal, q, frozen_joints=['lift']).success, 'it is frozen there'
    both = solved(robot, goal, frozen_joints=['j1', 'lift'])
    assert 'lift is frozen' in both.note
    assert 'j1' not in both.note, 'it moves nothing along z'


def test_equal_limits_are_named():
    robot = planar_arm(lift=(0.0, 0.0))
    point = robot.forward_kinematics([0.0, 0.3, 0.4, 0.5], 'tip')[:3, 3] + [0.0, 0.0, 0.05]
    result = solved(robot, ik.PositionTask('tip', point))
    text = 'no joint that may move moves tip along z: the limits of lift are equal'
    assert (result.status, result.note) == (CLOSEST, text)


def folding_arm(limits):
    """An arm of axes z, x and z, whose tip leaves the plane z = 0 only if the last two turn.

    limits : of these two [rad]
    """
    text, parent = '<robot name="folding"><link name="base"/>', 'base'
    for i, axis in enumerate(('0 0 1', '1 0 0', '0 0 1')):
        low, high = limits if i else (-3, 3)
        text += (
            f'<link name="l{i}"/><joint name="j{i}" type="revolute"><parent link="{parent}"/>'
            f'<child link="l{i}"/><origin xyz="{0.3 if i else 0.0} 0 0"/><axis xyz="{axis}"/>'
            f'<limit lower="{low}" upper="{high}" velocity="1"/></joint>'
        )
        parent = f'l{i}'
    text += (
        f'<link name="tip"/><joint name="end" type="fixed"><parent link="{parent}"/>'
        '<child link="tip"/><origin xyz="0.3 0 0"/></joint></robot>'
    )
    return ik.load_robot(text)


def test_two_frozen_joints_that_leave_a_plane_only_together_are_named():
    robot = folding_arm((-3, 3))
    point = robot.forward_kinematics([0.1, 1.2, 0.9], 'tip')[:3, 3]
    for j1, j2 in ((1.2, 0.0), (0.0, 0.9)):
        height = robot.forward_kinematics([0.1, j1, j2], 'tip')[2, 3]
        assert abs(height) < 1e-12, 'one alone stays in the plane'
    assert point[2] > 0.1
    goal = ik.PositionTask('tip', point)
    assert solved(robot, goal).success
    where, zero = 'no joint that may move moves tip along z', np.zeros(3)
    for frozen, names in ((['j1', 'j2'], 'j1, j2 are'), (['j1'], 'j1 is'), (['j2'], 'j2 is')):
        result = solved(robot, goal, zero, frozen_joints=frozen)
        assert (result.status, result.note) == (CLOSEST, f'{where}: {names} frozen')
    equal = solved(folding_arm((0, 0)), goal, zero)
    assert (equal.status, equal.note) == (CLOSEST, f'{where}: the limits of j1, j2 are equal')


def screw_arm(pitch, turns):
    """A planar arm of 2 m with a nut along z, moved by a motor through a screw.

    pitch : [m] per turn of the motor
    turns : range of the motor
    """
    rest, motor = 'effort="1" velocity="1"', 2.0 * np.pi * turns
    rows = [
        ('a', 'revolute', 'base', 'l1', 0, f'<limit lower="-3" upper="3" {rest}/>'),
        ('b', 'revolute', 'l1', 'l2', 1, f'<limit lower="-3" upper="3" {rest}/>'),
        ('motor', 'revolute', 'l2', 'rotor', 0, f'<limit lower="0" upper="{motor}" {rest}/>'),
        (
            *('screw', 'prismatic', 'l2', 'tip', 1),
            f'<limit lower="0" upper="{pitch * turns}" {rest}/>'
            f'<mimic joint="motor" multiplier="{pitch / (2.0 * np.pi)}"/>',
        ),
    ]
    text = ''.join(f'<link name="{name}"/>' for name in ('base', 'l1', 'l2', 'rotor', 'tip'))
    for name, kind, parent, child, x, more in rows:
        text += (
            f'<joint name="{name}" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
            f'<origin xyz="{x} 0 0"/><axis xyz="0 0 1"/>{more}</joint>'
        )
    return ik.load_robot(f'<robot name="screw">{text}</robot>')


@pytest.mark.parametrize(('pitch', 'turns'), [(5e-3, 20), (5e-4, 160), (1e-4, 1000)])
def test_a_fine_screw_moves_the_tip_along_its_axis(pitch, turns):
    robot = screw_arm(pitch, turns)
    ends = [[0.3, 0.4, limits[2]] for limits in (robot.lower, robot.upper)]
    low, high = (robot.forward_kinematics(q, 'tip')[2, 3] for q in ends)
    assert high - low == pytest.approx(pitch * turns)
    point = robot.forward_kinematics([0.3, 0.4, np.pi * turns], 'tip')[:3, 3]
    far = solved(robot, ik.PositionTask('tip', point + 3.0 * np.eye(3)[0]))
    assert far.status is CLOSEST
    assert 'no joint' not in far.note
    goal, start = ik.PositionTask('tip', point), np.array([0.0, 0.1, 0.0])
    frozen = solved(robot, goal, start, frozen_joints=['motor'])
    text = 'no joint that may move moves tip along z: motor is frozen'
    assert (frozen.status, frozen.note) == (CLOSEST, text)


def test_a_lift_of_a_million_metres_does_not_hide_what_the_arm_moves():
    robot = planar_arm(lift=(-1e6, 1e6))
    result = solved(robot, ik.PositionTask('tip', [20.0, 0.0, 0.2]))
    assert result.status is CLOSEST
    assert 'no joint' not in result.note


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_arms_that_move_in_all_directions_never_get_that_note(seed):
    rng = np.random.default_rng(seed)
    robot = shipped(rng.choice(['ur5e', 'panda', 'scara']))
    tip = robot.default_tip()
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    assert moves_along(robot, tip, direction, robot.chain(tip), rng)
    result = solved(robot, ik.PositionTask(tip, 5.0 * direction))
    assert (result.status, result.note[:25]) == (CLOSEST, 'out of reach for certain:')


def turned_pose(robot, angle=0.5):
    """A pose that five joints can't give, with a position that they reach."""
    pose = robot.forward_kinematics(robot.middle_configuration + 0.2, 'tool').copy()
    turn = Rotation.from_rotvec(angle * np.array([0.48, -0.6, 0.64]))
    pose[:3, :3] = pose[:3, :3] @ turn.as_matrix()
    return pose


AXIS = 'ask for position and axis (PositionAxisTask)'
POINT = 'ask for the position alone (PositionTask)'


def test_notes_say_what_to_ask_for_and_that_is_reached():
    robot = hobby_arm()
    pose = turned_pose(robot)
    note = solved(robot, ik.PoseTask('tool', transform=pose)).note
    first = "put the position first: PoseTask.for_joints(5, 'tool', ...)"
    assert note == f'only 5 joints move tool: {AXIS}, or {first}'
    result = solved(robot, ik.PoseTask.for_joints(5, 'tool', transform=pose))
    assert result.note == f'only 5 joints move tool: {AXIS}, or {POINT}'
    assert result.position_errors[0] < 1e-5
    assert solved(robot, ik.PositionTask('tool', pose[:3, 3])).success


def test_notes_name_frozen_joints_and_count_the_others():
    robot = shipped('ur5e')
    goal = ik.PoseTask('tool0', [0.4, 0.2, 0.4], rpy=[2.0, 0.0, 0.0])
    note = solved(robot, goal, frozen_joints=['wrist_3_joint']).note
    assert note.startswith('only 5 joints move tool0, with wrist_3_joint frozen: ask for position')


def test_notes_for_four_joints_do_not_ask_for_an_axis():
    robot = shipped('scara')
    goal = ik.PoseTask('tool', [0.3, 0.2, 0.1], rpy=[3.0, 0.0, 0.0])
    assert solved(robot, goal).note == (
        "only 4 joints move tool: put the position first: PoseTask.for_joints(4, 'tool', ...)"
    )
    axis = ik.PositionAxisTask('tool', [0.3, 0.2, 0.1], direction=[0.0, 0.3, -1.0])
    assert solved(robot, axis).note == f'only 4 joints move tool: {POINT}'


def test_a_position_out_of_reach_is_not_for_lack_of_joints_and_what_is_reached_has_no_note():
    robot = hobby_arm()
    pose = turned_pose(robot)
    pose[0, 3] += 5.0
    result = solved(robot, ik.PoseTask('tool', transform=pose))
    assert (result.status, result.note[:25]) == (CLOSEST, 'out of reach for certain:')
    there = robot.forward_kinematics(robot.middle_configuration + 0.1, 'tool')
    assert solved(robot, ik.PoseTask('tool', transform=there)).note == ''


@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'closed_form'])
def test_batches_have_the_notes_of_single_solves(solver):
    robot = hobby_arm()
    problem = ik.IkProblem(robot, [ik.PoseTask('tool')])
    near = robot.forward_kinematics(robot.middle_configuration + 0.1, 'tool')
    far = near.copy()
    far[0, 3] += 3.0
    batch = ik.solve_batch(problem, np.array([near, turned_pose(robot), far]), solver=solver)
    notes = [batch[i].note for i in range(3)]
    assert [note[:15] for note in notes] == ['', 'only 5 joints m', 'out of reach fo']
    assert notes[1] in batch.note
    assert notes[1] in repr(batch)
    again = pickle.loads(pickle.dumps(batch))
    assert again[1].note == notes[1]
    reached = ik.solve_batch(problem, np.array([near]), solver=solver)
    assert reached.note == ''


def test_a_batch_names_the_joint_that_is_frozen_in_its_own_start():
    robot = planar_arm(lift=(-0.5, 0.5))
    q = robot.q({'lift': 0.1, 'j0': 0.3, 'j1': 0.4, 'j2': 0.5})
    problem = ik.IkProblem(robot, [ik.PositionTask('tip')], frozen_joints=['lift'])
    starts = np.array([q, 0.0 * q])
    batch = ik.solve_batch(problem, np.tile(robot.forward_kinematics(q, 'tip'), (2, 1, 1)), starts)
    assert [*batch.status] == [IkStatus.REACHED, CLOSEST]
    assert batch[0].note == ''
    assert 'lift is frozen' in batch[1].note


def test_a_tracker_tells_that_a_planar_arm_can_not_leave_its_plane():
    robot = planar_arm()
    pose = robot.forward_kinematics([0.3, 0.4, 0.5], 'tip')
    goal = ik.PositionTask('tip', pose[:3, 3])
    limits = MotionLimits.of(robot, acceleration=5.0)
    tracker = Tracker(ik.IkProblem(robot, [goal]), 100.0, limits=limits)
    pose[2, 3] += 0.05
    tracker.set_goal(0, pose, 0.0)
    for i in range(1500):
        command = tracker.tick(0.01 * i)
        if command.status in (TrackStatus.TOO_FEW_JOINTS, TrackStatus.CLOSEST):
            break
    assert command.status is TrackStatus.TOO_FEW_JOINTS


def test_several_goals_that_ask_for_too_much_together():
    robot = shipped('ur5e')
    q = robot.middle_configuration
    whole = ik.PoseTask('tool0', transform=robot.forward_kinematics(q, 'tool0'))
    axis = ik.AxisTask('forearm_link', direction=[0.0, 0.3, 1.0])
    result = ik.solve(ik.IkProblem(robot, [whole, axis]), q)
    assert result.status is FEW
    assert result.note == 'the goals fix 8 degrees of freedom, and 6 joints move'
