# SPDX-License-Identifier: Apache-2.0
"""The arm in this process: it reaches what it is asked for, and nonsense leaves it as it was."""

import itertools
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots, wrist_arm
from support.places import URDF

import ik_core as ik
from ik_core.exceptions import IkError
from ik_viewer.arm import Description, GoalKind
from ik_viewer.local import local_arm as arm_module
from ik_viewer.local.local_arm import LocalArm

PATIENCE = 300.0


@pytest.fixture(scope='module')
def running():
    """One arm for all tests; each begins without goals and with nothing to tell."""
    arm = LocalArm(Description(robots.shipped('panda'), (URDF / 'panda.urdf').read_text()))
    until(arm, lambda moment: moment.text != 'starting')
    yield arm
    arm.close()


@pytest.fixture
def arm(running):
    running.pause(False)
    running.reset()
    until(running, lambda moment: moment.code == 'idle' and at_rest(running))
    running.take_notices()
    return running


def at_rest(arm):
    before = arm.read()
    until(arm, lambda moment: moment.time > before.time)
    return np.array_equal(before.q, arm.read().q)


def until(arm, condition, seconds=PATIENCE):
    """The first moment that fulfils a condition."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        moment = arm.read()
        if condition(moment):
            return moment
        time.sleep(0.005)
    raise AssertionError(f'{moment.code}: {moment.text}; {arm.take_notices()}')


def notices_of(arm):
    """Return the next notices."""
    found = []
    until(arm, lambda _: found.extend(arm.take_notices()) or found)
    return found


def reached(arm, goal):
    """The tip's pose (4, 4), once the arm says that this goal is reached."""

    def is_there(moment):
        given = moment.tips[0].goal
        return moment.code == 'reached' and given is not None and np.allclose(given, goal)

    moment = until(arm, is_there)
    return pose_at(arm, moment)


def pose_at(arm, moment):
    return arm.description.robot.forward_kinematics(moment.q, moment.tips[0].link)


def random_goal(seed):
    robot, rng = robots.shipped('panda'), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.25)
    return robot.forward_kinematics(q, robots.tip_of(robot))


def turn_between(a, b):
    return Rotation.from_matrix(a[:3, :3].T @ b[:3, :3]).magnitude()


@pytest.mark.parametrize('seed', [1, 2, 3])
def test_a_pose_is_reached_within_a_tenth_of_a_millimetre(arm, seed):
    goal = random_goal(seed)
    arm.set_goal(0, goal, GoalKind.POSE)
    pose = reached(arm, goal)
    assert np.linalg.norm(pose[:3, 3] - goal[:3, 3]) < 1e-4
    assert turn_between(pose, goal) < 1e-3


def test_of_a_position_the_orientation_does_not_count(arm):
    goal = random_goal(4)
    arm.set_goal(0, goal, GoalKind.POSE)
    pose = reached(arm, goal)
    turned = pose @ robots.transform(Rotation.from_euler('xyz', [2.0, 1.0, -2.5]), (0, 0, 0))
    arm.set_goal(0, turned, GoalKind.POSITION)
    after = reached(arm, turned)
    assert np.linalg.norm(after[:3, 3] - turned[:3, 3]) < 1e-4
    assert turn_between(after, turned) > 0.5
    assert arm.read().tips[0].kind is GoalKind.POSITION


def test_of_an_axis_the_turn_about_it_does_not_count(arm):
    goal = random_goal(5)
    arm.set_goal(0, goal, GoalKind.POSE)
    pose = reached(arm, goal)
    turned = pose @ robots.transform(Rotation.from_euler('z', 2.0))
    arm.set_goal(0, turned, GoalKind.AXIS)
    after = reached(arm, turned)
    assert np.linalg.norm(after[:3, 3] - turned[:3, 3]) < 1e-4
    assert np.degrees(np.arccos(min(1.0, after[:3, 2] @ turned[:3, 2]))) < 0.1
    assert turn_between(after, turned) > 1.0


def test_a_kind_that_counts_more_again_moves_the_arm_on(arm):
    goal = random_goal(6)
    arm.set_goal(0, goal, GoalKind.POSITION)
    reached(arm, goal)
    arm.set_goal(0, goal, GoalKind.POSE)
    until(
        arm,
        lambda m: m.tips[0].kind is GoalKind.POSE and turn_between(pose_at(arm, m), goal) < 1e-3,
    )


@pytest.mark.parametrize(
    'ask',
    [
        lambda arm: arm.set_goal(0, np.full((4, 4), np.nan), GoalKind.POSE),
        lambda arm: arm.set_goal(0, 2.0 * np.eye(4), GoalKind.POSE),
        lambda arm: arm.set_goal(7, np.eye(4), GoalKind.POSE),
        lambda arm: arm.set_goal(-1, np.eye(4), GoalKind.POSITION),
        lambda arm: arm.set_goal(0, np.zeros(3), GoalKind.POSE),
        lambda arm: arm.set_goal(0, 'here', GoalKind.POSE),
        lambda arm: arm.set_twist(0, np.array([np.inf, 0, 0]), np.zeros(3)),
        lambda arm: arm.set_twist(9, np.zeros(3), np.zeros(3)),
        lambda arm: arm.set_settings({'solver': 'magic'}),
        lambda arm: arm.set_settings({'position_tolerance': -1.0}),
        lambda arm: arm.set_settings({'position_tolerance': 'small'}),
        lambda arm: arm.set_settings({'no_such': 1.0}),
        lambda arm: arm.set_settings({'joint_limits.panda_joint1.lower': -9.0}),
        lambda arm: arm.set_settings({'feed_forward': 1}),
        lambda arm: arm.set_settings({'updates_per_tick': 1.5}),
    ],
)
def test_nonsense_is_refused_in_a_sentence_and_changes_nothing(arm, ask):
    goal = random_goal(7)
    arm.set_goal(0, goal, GoalKind.POSE)
    reached(arm, goal)
    settings = arm.settings
    ask(arm)
    (notice,) = notices_of(arm)
    assert 'Traceback' not in notice
    moment = arm.read()
    np.testing.assert_allclose(moment.tips[0].goal, goal)
    assert moment.tips[0].kind is GoalKind.POSE
    assert arm.settings is settings


def test_settings_change_all_or_none(arm):
    before = arm.settings['position_tolerance'].value
    arm.set_settings({'position_tolerance': 2e-5, 'orientation_tolerance': -1.0})
    notices_of(arm)
    assert arm.settings['position_tolerance'].value == before


def test_another_solver_solves_with_its_own_options(arm):
    goal = random_goal(8)
    arm.set_goal(0, goal, GoalKind.POSE)
    reached(arm, goal)
    few = arm.read().iterations
    arm.set_settings({'solver': 'jacobian_transpose', 'jacobian_transpose.step_length': 0.2})
    until(arm, lambda _: arm.settings['solver'].value == 'jacobian_transpose')
    assert arm.settings['jacobian_transpose.step_length'].value == 0.2
    goals = itertools.cycle([random_goal(13), goal])

    def takes_many(moment):
        """Return whether a goal took many iterations."""
        if moment.code in ('reached', 'closest') and moment.iterations <= 10 * few:
            arm.set_goal(0, next(goals), GoalKind.POSE)
            until(arm, lambda m: m.time > moment.time + 0.1)
        return moment.iterations > 10 * few

    assert until(arm, takes_many).solve_time > 0.0
    arm.set_settings({'solver': 'levenberg_marquardt'})
    until(arm, lambda _: arm.settings['solver'].value == 'levenberg_marquardt')
    arm.set_goal(0, goal, GoalKind.POSE)
    reached(arm, goal)


def test_a_tightened_limit_holds(arm):
    joint, robot = 'panda_joint1', arm.description.robot
    name = f'joint_limits.{joint}.upper'
    arm.set_settings({name: -0.2})
    until(arm, lambda m: m.q[0] <= -0.2 + 1e-9)
    q = np.array(arm.read().q)
    q[0] = 1.0
    goal = robot.forward_kinematics(q, robots.tip_of(robot))
    arm.set_goal(0, goal, GoalKind.POSE)
    moment = until(arm, lambda m: m.code in ('closest', 'reached') and m.tips[0].goal is not None)
    assert moment.q[0] <= -0.2 + 1e-9
    arm.set_settings({name: float(robot.upper[0])})
    arm.reset()


def test_a_goal_that_is_not_reached_says_why_and_where_else(arm):
    robot = arm.description.robot
    goal = robot.forward_kinematics(robot.middle_configuration, robots.tip_of(robot))
    goal[2, 3] += 3.0
    arm.set_goal(0, goal, GoalKind.POSE)
    moment = until(arm, lambda m: 'for certain' in m.text)
    assert moment.code == 'closest'
    arm.reset()


def test_reconfigure_takes_it_to_where_a_goal_beside_the_wrist_s_singularity_is_reached():
    values = {'joint_limits.default.acceleration': 10.0, 'reconfigure': True}
    arm = LocalArm(
        Description(wrist_arm.robot(), wrist_arm.text()), q0=wrist_arm.BEFORE, values=values
    )
    try:
        began = time.monotonic()
        while (share := (time.monotonic() - began) / 4.0) < 1.0:
            arm.set_goal(0, wrist_arm.goal(share), GoalKind.POSE)
            time.sleep(0.02)
        arm.set_goal(0, wrist_arm.goal(1.0), GoalKind.POSE)
        moment = until(arm, lambda m: m.code == 'reached' and m.q[4] > 0.5)
        there = wrist_arm.robot().forward_kinematics(moment.q, wrist_arm.TIP)
        np.testing.assert_allclose(there, wrist_arm.goal(1.0), atol=1e-3)
    finally:
        arm.close()


def test_a_lowered_velocity_slows_it_down(arm):
    name = 'joint_limits.panda_joint1.velocity'
    arm.set_settings({name: 0.2})
    until(arm, lambda _: arm.settings[name].value == 0.2)
    goal = robots.transform(Rotation.from_euler('z', 1.0)) @ pose_at(arm, arm.read())
    arm.set_goal(0, goal, GoalKind.POSE)
    first = until(arm, lambda m: m.code != 'idle')
    last = until(arm, lambda m: m.time > first.time + 0.6)
    speed = abs(last.q[0] - first.q[0]) / (last.time - first.time)
    assert speed <= 0.2 * 1.1
    arm.set_settings({name: float(arm.description.robot.velocity[0])})


def test_paused_it_stands_still_and_keeps_the_goal(arm):
    arm.pause(True)
    until(arm, lambda m: m.code == 'paused')
    goal, q = random_goal(9), arm.read().q
    arm.set_goal(0, goal, GoalKind.POSE)
    until(arm, lambda m: m.tips[0].goal is not None)
    np.testing.assert_array_equal(arm.read().q, q)
    arm.pause(False)
    reached(arm, goal)


def test_reset_drops_the_goal(arm):
    goal = random_goal(10)
    arm.set_goal(0, goal, GoalKind.POSE)
    reached(arm, goal)
    arm.reset()
    moment = until(arm, lambda m: m.code == 'idle')
    assert moment.tips[0].goal is None


def test_joints_go_where_they_are_sent_and_home(arm):
    before = arm.read().q
    arm.set_joint_goal({'panda_joint1': 0.5})
    arm.set_joint_goal({'panda_joint4': -1.5})
    until(arm, lambda m: m.code == 'reached' and (m.q[0], m.q[3]) == (0.5, -1.5))
    np.testing.assert_array_equal(np.delete(arm.read().q, [0, 3]), np.delete(before, [0, 3]))
    arm.home()
    home = robots.shipped('panda').middle_configuration
    until(arm, lambda m: m.code == 'reached' and (m.q == home).all())
    arm.set_joint_goal({'panda_joint9': 0.5})
    assert 'panda_joint9' in notices_of(arm)[0]


def test_a_twist_carries_the_tip_on_and_ends_by_itself(arm):
    goal = random_goal(11)
    arm.set_goal(0, goal, GoalKind.POSE)
    start = reached(arm, goal)

    def is_carried(moment):
        arm.set_twist(0, np.array([0.0, 0.0, 0.05]), np.zeros(3))
        return pose_at(arm, moment)[2, 3] - start[2, 3] > 0.02

    until(arm, is_carried)
    until(arm, lambda m: m.code == 'idle' and at_rest(arm))
    moved = pose_at(arm, arm.read())[:3, 3] - start[:3, 3]
    assert moved[2] > 0.02
    assert np.linalg.norm(moved[:2]) < 0.2 * moved[2]


def test_its_moments_are_values(arm):
    moment = arm.read()
    q = moment.q.copy()
    arm.set_goal(0, random_goal(12), GoalKind.POSE)
    until(arm, lambda m: np.abs(m.q - q).max() > 0.05)
    np.testing.assert_array_equal(moment.q, q)


def test_default_limits_are_settings_and_no_notice():
    arm = LocalArm(Description(robots.shipped('panda')))
    try:
        assert arm.settings['joint_limits.default.acceleration'].value == 8.0
        assert list(arm.take_notices()) == []
    finally:
        arm.close()
    assert arm.read() is None


def test_it_refuses_tips_that_are_none():
    with pytest.raises(IkError, match='no_such'):
        LocalArm(Description(robots.shipped('panda')), ['no_such'])
    with pytest.raises(IkError):
        LocalArm(Description(ik.robot.linkage(2)), rate=-1.0)


def test_every_end_of_a_robot_is_a_tip_unless_some_are_named():
    robot = robots.shipped('dual_arm')
    for tips, expected in (((), robot.tips()), (robot.tips()[1:], robot.tips()[1:])):
        arm = LocalArm(Description(robot), tips)
        try:
            assert [tip.link for tip in arm.read().tips] == expected
        finally:
            arm.close()


def test_of_so_many_gizmos_that_they_hide_each_other_it_says_how_to_choose(monkeypatch):
    monkeypatch.setattr(arm_module, 'MANY_TIPS', 1)
    description = Description(robots.shipped('dual_arm'))
    told = []
    for tips in ((), ('left_palm',)):
        arm = LocalArm(description, tips)
        told.append(any('--tip LINK' in notice for notice in arm.take_notices()))
        arm.close()
    assert told == [True, False]
