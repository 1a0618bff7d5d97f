# SPDX-License-Identifier: Apache-2.0
"""`RosArm` keeps what the protocol of an arm says, with a real node behind it."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import is_still, load, reachable_goal
from support.panda_world import TIP, panda_world, tip_of
from support.watched_arm import watched

from ik_core.maths.rotations import matrix_from_rpy
from ik_viewer.arm import GoalKind

TOLERANCE = 'position_tolerance'


@pytest.fixture(scope='module')
def node():
    with panda_world() as it:
        it.more_states(1)
        yield it


@pytest.fixture(scope='module')
def watch(node):
    with watched(node) as it:
        it.until_there()
        yield it


@pytest.fixture
def robot():
    return load('panda')


def until_tip_at(watch, robot, goal):
    """Wait until the tip is at the goal, by the joints that the arm shows."""
    watch.until(
        lambda: np.allclose(robot.forward_kinematics(watch.moment.q, TIP), goal, atol=2e-5),
        'the tip at the goal',
    )


def test_it_knows_the_robot_the_tips_and_where_the_joints_are(watch, node, robot):
    description, moment = watch.arm.description, watch.until_there()
    assert description.robot.joint_names == robot.joint_names
    assert '<robot' in description.urdf
    assert description.folder is None, 'a message opens no files'
    assert [tip.link for tip in moment.tips] == [TIP]
    np.testing.assert_allclose(moment.q, node.states[-1].position[: robot.n])
    assert moment.code == node.status['code']


def test_a_goal_is_followed_and_shown_with_its_solution(watch, robot):
    goal = reachable_goal(robot, TIP, 3)
    watch.arm.set_goal(0, goal, GoalKind.POSE)
    until_tip_at(watch, robot, goal)
    watch.until(lambda: watch.moment.code == 'reached', 'the status')
    np.testing.assert_allclose(watch.tips[0].goal, goal, atol=1e-9)
    np.testing.assert_allclose(watch.moment.solution, watch.moment.q, atol=1e-6)
    assert watch.moment.iterations > 0
    assert watch.moment.solve_time > 0.0
    assert watch.moment.condition_number > 1.0


def test_goals_that_others_sent_are_shown_with_their_errors(watch, node):
    far = np.eye(4)
    far[:3, 3] = (2.0, 0.0, 0.5)
    node.send_goal(far)
    watch.until(lambda: watch.moment.code == 'closest', 'the closest pose')
    np.testing.assert_allclose(watch.tips[0].goal, far, atol=1e-9)
    assert watch.tips[0].position_error > 1.0


def test_a_goal_of_another_kind_sets_what_counts_before_it_is_sent(watch, node, robot):
    goal = reachable_goal(robot, TIP, 5)
    watch.arm.set_goal(0, goal, GoalKind.POSE)
    until_tip_at(watch, robot, goal)
    turned = goal.copy()
    turned[:3, :3] = goal[:3, :3] @ matrix_from_rpy((0.0, 0.0, 2.0))
    before = len(node.states)
    watch.arm.set_goal(0, turned, GoalKind.AXIS)
    watch.until(
        lambda: watch.tips[0].kind is GoalKind.AXIS and np.allclose(watch.tips[0].goal, turned),
        'the kind',
    )
    node.more_states(20)
    moved = np.ptp([list(state.position) for state in node.states[before:]], axis=0)
    assert moved.max() < 1e-3, 'the roll does not count, so there is nothing to do'
    watch.arm.set_goal(0, turned, GoalKind.POSE)
    until_tip_at(watch, robot, turned)


def test_of_a_stream_of_goals_of_another_kind_the_last_one_is_followed(watch, node, robot):
    goal = reachable_goal(robot, TIP, 7)
    watch.arm.set_goal(0, goal, GoalKind.POSE)
    until_tip_at(watch, robot, goal)
    kinds = 3 * [GoalKind.POSITION, GoalKind.AXIS, GoalKind.POSE]
    for goals, kind in enumerate(kinds, start=2):  # the kind is still being set at the last one
        for _ in range(goals):
            goal = goal.copy()
            goal[1, 3] += 1e-3
            watch.arm.set_goal(0, goal, kind)
            node.more_states(3)
        watch.until(
            lambda kind=kind, goal=goal: (
                watch.tips[0].kind is kind
                and watch.tips[0].goal is not None
                and np.allclose(watch.tips[0].goal, goal, atol=1e-9)
            ),
            'the last goal',
        )
    until_tip_at(watch, robot, goal)


def test_settings_are_those_of_the_node_and_change_it(watch, node):
    settings = watch.arm.settings
    tolerance = settings[TOLERANCE]
    assert (tolerance.kind, tolerance.bounds) == (float, (1e-12, 1.0))
    assert 'counts as reached' in tolerance.doc
    assert 'bfgs' in settings['solver'].choices
    assert settings['rate'].static
    assert settings[f'tools.{TIP}.xyz'].kind is list
    assert settings['tip_links'].value == (TIP,)
    watch.arm.set_settings({TOLERANCE: 1e-4, 'solver': 'damped_least_squares'})
    watch.until_value(TOLERANCE, 1e-4)
    watch.until_value('solver', 'damped_least_squares')
    parameters = node.ik_node.get_parameters([TOLERANCE, 'solver'])
    assert [p.value for p in parameters] == [1e-4, 'damped_least_squares']
    assert watch.arm.settings is not settings, 'a new object where one has changed'
    watch.arm.set_settings({TOLERANCE: 1e-5, 'solver': 'levenberg_marquardt'})
    watch.until_value(TOLERANCE, 1e-5)


def test_what_others_set_is_seen(watch, node):
    assert node.set_parameters(rest_rate=0.25).successful
    watch.until_value('rest_rate', 0.25)
    assert node.set_parameters(rest_rate=0).successful  # an integer: it is a number all the same
    watch.until_value('rest_rate', 0.0)
    assert type(watch.arm.settings['rest_rate'].value) is float


def test_a_refused_set_changes_nothing_and_is_told(watch, node):
    watch.arm.set_settings({TOLERANCE: 1e-3, 'orientation_tolerance': -1.0})
    watch.until_notice('orientation_tolerance')
    watch.arm.set_settings({'rate': 50.0})
    watch.until_notice('rate', 'unconfigured')
    assert node.ik_node.get_parameter(TOLERANCE).value == 1e-5


def test_a_tool_is_told(watch):
    name = f'tools.{TIP}.xyz'
    watch.arm.set_settings({name: [0.0, 0.0, 0.1]})
    watch.until(lambda: watch.tips[0].tool[2, 3] == 0.1, 'the tool')
    watch.arm.set_settings({name: [0.0, 0.0, 0.0]})
    watch.until(lambda: watch.tips[0].tool[2, 3] == 0.0, 'no tool')


def test_a_twist_carries_the_tip_on_and_ends(watch, node, robot):
    start = robot.forward_kinematics(watch.moment.q, TIP)

    def moved():
        watch.arm.set_twist(0, np.array([0.0, 0.0, -0.1]), np.zeros(3))
        node.more_states(2)
        return start[2, 3] - robot.forward_kinematics(watch.moment.q, TIP)[2, 3] > 0.02

    watch.until(moved, 'motion')
    watch.until(lambda: is_still(node.more_states(1)[-1]), 'rest')
    watch.until(lambda: watch.tips[0].goal is None, 'no goal')


def test_twists_are_shares_where_the_node_takes_no_others(watch, node, robot):
    watch.arm.set_settings({'command_in_type': 'unitless', 'scale.linear': 0.2})
    watch.until_value('command_in_type', 'unitless')
    watch.until_value('scale.linear', 0.2)
    start, before = robot.forward_kinematics(watch.moment.q, TIP), len(node.states)

    def moved():
        watch.arm.set_twist(0, np.array([0.0, 0.1, 0.0]), np.zeros(3))
        node.more_states(2)
        return robot.forward_kinematics(watch.moment.q, TIP)[1, 3] - start[1, 3] > 0.03

    watch.until(moved, 'motion')
    states = node.states[before:]
    y = np.array([tip_of(robot, state)[1, 3] for state in states])
    assert np.diff(y).max() * 200.0 == pytest.approx(0.1, abs=0.01)
    watch.arm.set_settings({'command_in_type': 'speed_units'})
    watch.until_value('command_in_type', 'speed_units')


def test_pause_and_reset(watch, node, robot):
    goal = reachable_goal(robot, TIP, 6)
    watch.arm.pause(True)
    watch.until(lambda: watch.moment.code == 'paused', 'the pause')
    watch.arm.set_goal(0, goal, GoalKind.POSE)
    watch.until(lambda: watch.tips[0].goal is not None, 'the goal')
    watch.arm.pause(False)
    until_tip_at(watch, robot, goal)
    watch.arm.reset()
    watch.until(lambda: watch.moment.code == 'idle' and watch.tips[0].goal is None, 'no goal')


def test_joints_go_where_they_are_sent_and_home(watch, node, robot):
    home = node.states[0].position[: robot.n]  # where it was activated
    watch.arm.set_joint_goal({'panda_joint1': 0.5, 'panda_joint4': -1.5})
    watch.until(lambda: (watch.moment.q[0], watch.moment.q[3]) == (0.5, -1.5), 'the joints')
    watch.until(lambda: watch.moment.code == 'reached', 'the status')
    watch.arm.home()
    watch.until(lambda: np.array_equal(watch.moment.q, home), 'home')
    watch.arm.set_joint_goal({'panda_joint4': 1.0})
    watch.until_notice('refused', 'outside_limits')


def test_a_message_that_the_node_refuses_is_told(watch):
    far = np.eye(4)
    far[0, 3] = 1e7
    watch.arm.set_goal(0, far, GoalKind.POSE)
    watch.until_notice('refused', 'too_far')
