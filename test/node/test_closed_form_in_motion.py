# SPDX-License-Identifier: Apache-2.0
"""A node with `solver: closed_form`: jumps, drags, lines, singularities; it says who answers.

Each published step keeps the limits; where the arm is, forward kinematics says.
"""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import URDF, check_states, load
from support.panda_world import (
    ACCELERATION,
    RATE,
    is_at,
    panda_world,
    text_of,
    topic_world,
    until_at,
)

import ik_core as ik

pytestmark = pytest.mark.long
Q = np.array([0.1, -1.2, 1.5, -0.5, 0.6, 0.3])  # A ur5e away from singularities
TIPS = {'ur5e': 'tool0', 'panda': 'panda_hand'}


def closed_form_world(name, world=panda_world, **parameters):
    own = {'urdf_path': str(URDF / f'{name}.urdf')} if world is panda_world else {}
    return world(**{'solver': 'closed_form', 'tip_links': [TIPS[name]]} | own | parameters)


def note(node):
    return node.status.get('solver_note', '')


def go(node, robot, goal, tip='tool0'):
    node.send_goal(goal)
    until_at(node, robot, goal, tip)


def drag(node, robot, poses, tip='tool0', states=3):
    """A stream of goals, some states apart; the largest step of a joint between two states."""
    first = len(node.states)
    for pose in poses:
        node.send_goal(pose)
        node.more_states(states)
    q = np.array([message.position[: robot.n] for message in node.states[first:]])
    return np.abs(np.diff(q, axis=0)).max()


def moved(pose, x=0.0, y=0.0):
    result = pose.copy()
    result[:2, 3] += x, y
    return result


def test_goals_that_jump_are_reached_by_the_nearest_solution_and_the_node_says_so():
    robot, rng = load('ur5e'), np.random.default_rng(1)
    problem = ik.IkProblem(robot, [ik.PoseTask('tool0')])
    with closed_form_world('ur5e') as node:
        node.more_states(1)
        go(node, robot, robot.forward_kinematics(Q, 'tool0'))
        for _ in range(3):
            start = np.array(node.states[-1].position)
            goal = robot.forward_kinematics(rng.uniform(-1.5, 1.5, 6), 'tool0')
            problem.goals[0].set_target(goal)
            go(node, robot, goal)
            nearest = ik.solve_all(problem, start)[0]
            np.testing.assert_allclose(node.states[-1].position, nearest, atol=2e-3)
        node.until(lambda: note(node).startswith('closed form: three parallel axes'), 'the note')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_drag_through_the_singularity_of_a_wrist_goes_straight_through():
    robot = load('ur5e')
    with closed_form_world('ur5e') as node:
        node.more_states(1)
        go(node, robot, robot.forward_kinematics(Q, 'tool0'))
        angles = 0.6 * np.cos(np.linspace(0.0, np.pi, 80))
        poses = [robot.forward_kinematics([*Q[:4], angle, Q[5]], 'tool0') for angle in angles]
        start = np.array(node.states[-1].position)
        drag(node, robot, poses)
        until_at(node, robot, poses[-1], 'tool0')
        end = np.array(node.states[-1].position)
        np.testing.assert_allclose(end - start, [0, 0, 0, 0, -2 * start[4], 0], atol=1e-2)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_drag_out_of_reach_is_certain_to_be_and_comes_back():
    robot = load('ur5e')
    start = robot.forward_kinematics(Q, 'tool0')
    out = [moved(start, x=1.5 * shift) for shift in np.sin(np.linspace(0.0, 0.5 * np.pi, 40))]
    with closed_form_world('ur5e') as node:
        node.more_states(1)
        go(node, robot, start)
        drag(node, robot, out)
        node.until_code('closest')
        node.until(lambda: 'out of reach for certain' in note(node), 'certainty')
        drag(node, robot, out[::-1])
        until_at(node, robot, start, 'tool0')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize('name', TIPS)
def test_lines_are_gone(name):
    robot, tip = load(name), TIPS[name]
    q = robot.middle_configuration if name == 'panda' else Q
    with closed_form_world(name, move='linear') as node:
        node.more_states(1)
        assert node.set_parameters(move='joint').successful
        go(node, robot, robot.forward_kinematics(q, tip), tip)
        assert node.set_parameters(move='linear').successful
        start = robot.forward_kinematics(np.array(node.states[-1].position[: robot.n]), tip)
        first = len(node.states)
        go(node, robot, moved(start, x=-0.05, y=0.1), tip)
        way = np.array([-0.05, 0.1, 0.0]) / np.hypot(0.05, 0.1)
        for message in node.states[first:]:
            at = robot.forward_kinematics(np.array(message.position[: robot.n]), tip)
            gone = at[:3, 3] - start[:3, 3]
            assert np.linalg.norm(gone - way * (way @ gone)) < 1e-3
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_an_arm_of_seven_joints_is_dragged_and_drawn_to_its_rest_posture():
    robot, tip = load('panda'), 'panda_hand'
    q = np.clip(robot.middle_configuration + 0.3, robot.lower, robot.upper)
    start = robot.forward_kinematics(q, tip)
    with closed_form_world('panda', rest_rate=2.0) as node:
        node.more_states(1)
        go(node, robot, start, tip)
        angles = np.linspace(0.0, 2.0 * np.pi, 60)
        circle = [moved(start, 0.03 * (np.cos(a) - 1.0), 0.03 * np.sin(a)) for a in angles]
        assert drag(node, robot, circle, tip) < 2.5 / RATE * 1.1  # no joint is faster
        until_at(node, robot, start, tip)
        node.more_states(50)
        assert is_at(robot, node.states[-1], start, tip)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_it_is_chosen_and_left_in_motion():
    robot, rng = load('ur5e'), np.random.default_rng(4)
    with closed_form_world('ur5e') as node:
        node.more_states(1)
        for solver in (
            'levenberg_marquardt',
            'closed_form',
            'damped_least_squares',
            'closed_form',
        ):
            goal = robot.forward_kinematics(Q + rng.uniform(-0.4, 0.4, 6), 'tool0')
            node.send_goal(goal)
            node.more_states(20)
            assert node.set_parameters(solver=solver).successful
            node.more_states(20)
        until_at(node, robot, goal, 'tool0')
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_limits_and_tolerances_change_while_it_moves():
    robot = load('ur5e')
    goals = [robot.forward_kinematics(Q + shift, 'tool0') for shift in (0.0, 0.5)]
    with closed_form_world('ur5e') as node:
        node.more_states(1)
        for goal in goals:
            node.send_goal(goal)
            node.more_states(10)
            for values in (
                {'position_tolerance': 1e-4},
                {'joint_limits__elbow_joint__upper': 2.5},
                {'closed_form__restarts': 3},
                {'position_tolerance': 1e-5},
            ):
                assert node.set_parameters(**values).successful
                node.more_states(5)
            until_at(node, robot, goal, 'tool0')
        assert int(node.diagnostics.get('errors', 0)) == 0
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


def test_a_robot_without_a_closed_form_takes_over_in_motion_and_the_node_says_so():
    arm, other = load('ur5e'), load('pr2_like')
    with closed_form_world('ur5e', topic_world, tip_links=[]) as node:
        node.send_description(text_of('ur5e'))
        node.more_states(1)
        node.send_goal(arm.forward_kinematics(Q, 'tool0'))
        node.more_states(20)
        node.send_description(text_of('pr2_like'))
        node.until(lambda: note(node).startswith('no closed form'), 'the note')
        assert note(node).endswith('solved by levenberg_marquardt')
        tip = other.default_tip()
        goal = other.forward_kinematics(0.8 * other.middle_configuration + 0.1, tip)
        node.until(lambda: len(node.states[-1].name) == other.n, 'the other robot')
        node.send_goal(goal, topic=f'{tip}/goal_pose')
        until_at(node, other, goal, tip)
        check_states(
            [m for m in node.states if len(m.name) == other.n], other, RATE,
            acceleration=ACCELERATION,
        )  # fmt: skip
