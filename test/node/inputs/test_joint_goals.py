# SPDX-License-Identifier: Apache-2.0
"""Joint goals on a running node: positions of some joints, home, and what is refused."""

import math
import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

import rclpy
from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool, Trigger
from support.node_harness import (
    DOMAIN,
    UNDESCRIBED,
    check_states,
    is_still,
    load,
    overrides,
    reachable_goal,
    unique_namespace,
)
from support.panda_world import (
    ACCELERATION,
    RATE,
    TIP,
    call,
    panda_world,
    tip_of,
    topic_world,
    until_at,
)

from ik_core.exceptions import InvalidOption
from ik_core.tracking.governor.joint_motion import JointMotion
from ik_core.tracking.recording import read_recording, replay
from ik_node.parameters.store import Parameters

READY = {
    'panda_joint1': 0.4,
    'panda_joint2': -0.3,
    'panda_joint3': 0.2,
    'panda_joint4': -1.5,
    'panda_joint5': 0.3,
    'panda_joint6': 1.4,
    'panda_joint7': 0.5,
}
FAR = {'panda_joint1': -2.5, 'panda_joint7': 2.5}


def send(node, positions, **fields):
    """Publish a joint goal."""
    message = JointState(name=list(positions), position=list(positions.values()), **fields)
    node.publisher(JointState, 'joint_goal', 10).publish(message)


def at(message):
    """The positions of a joint state by name."""
    return dict(zip(message.name, message.position, strict=True))


def until_there(node, positions):
    """Wait until these joints are where they were sent, to the last bit."""
    node.until(lambda: positions.items() <= at(node.states[-1]).items(), f'{positions}')


def until_still(node):
    node.until(lambda: is_still(node.more_states(1)[-1]), 'rest')


def test_joints_arrive_together_and_those_without_a_name_stay(panda):
    before = at(panda.states[-1])
    positions = dict(reversed(READY.items()))
    del positions['panda_joint3']
    send(panda, positions)
    until_there(panda, positions)
    panda.until_code('reached')
    after = at(panda.more_states(1)[-1])
    for joint in before.keys() - positions.keys():
        assert after[joint] == before[joint], joint
    q = np.array([[at(state)[joint] for joint in positions] for state in panda.states])
    arrivals = (q != q[-1]).sum(axis=0)
    assert np.ptp(arrivals) <= 1, arrivals


def test_second_joint_goal_keeps_what_the_first_one_said_of_other_joints(panda):
    send(panda, {'panda_joint1': 1.5})
    panda.until_moving(0.3)
    send(panda, {'panda_joint4': -1.0})
    until_there(panda, {'panda_joint1': 1.5, 'panda_joint4': -1.0})
    send(panda, {'panda_joint1': 0.5})
    send(panda, {'panda_joint2': 0.25})  # both between two ticks, or not
    until_there(panda, {'panda_joint1': 0.5, 'panda_joint2': 0.25, 'panda_joint4': -1.0})


def test_pose_replaces_a_joint_goal_in_motion_and_the_other_way_round(panda, robot):
    goal = reachable_goal(robot, TIP, 3)
    send(panda, FAR)
    panda.until_moving(0.3)
    panda.send_goal(goal)
    until_at(panda, robot, goal)
    panda.until_code('reached')
    panda.send_goal(reachable_goal(robot, TIP, 4))
    panda.until_moving(0.3)
    send(panda, READY)
    until_there(panda, READY)
    panda.until_code('reached')


def test_pause_keeps_a_joint_goal_and_one_that_comes_in_it(panda):
    send(panda, FAR)
    panda.until_moving(0.3)
    assert call(panda, SetBool, 'pause', data=True).success
    panda.until_code('paused')
    held = panda.more_states(10)[-1]
    assert is_still(held)
    assert call(panda, SetBool, 'pause', data=False).success
    until_there(panda, FAR)
    assert call(panda, SetBool, 'pause', data=True).success
    send(panda, READY)
    assert all(map(is_still, panda.more_states(20)))
    assert call(panda, SetBool, 'pause', data=False).success
    until_there(panda, READY)


def test_reset_drops_a_joint_goal(panda):
    send(panda, FAR)
    panda.until_moving(0.3)
    assert call(panda, Trigger, 'reset').success
    panda.until_code('idle')
    assert at(panda.more_states(5)[-1])['panda_joint1'] > FAR['panda_joint1']


def test_deactivating_drops_a_joint_goal(panda):
    send(panda, FAR)
    panda.until_moving(0.3)
    assert panda.transition(Transition.TRANSITION_DEACTIVATE)
    stopped = at(panda.states[-1])
    send(panda, READY)
    panda.until_refused('inactive')
    assert panda.transition(Transition.TRANSITION_ACTIVATE)
    panda.until_code('idle')
    assert at(panda.more_states(20)[-1])['panda_joint1'] == stopped['panda_joint1']


def test_tightened_limit_ends_a_joint_goal_at_the_limit_and_a_loosened_one_lets_it_go_on(panda):
    send(panda, {'panda_joint1': 2.0})
    panda.until_moving(0.3)
    assert panda.set_parameters(joint_limits__panda_joint1__upper=1.5).successful
    panda.until_code('closest')
    assert at(panda.more_states(1)[-1])['panda_joint1'] == 1.5
    assert panda.set_parameters(joint_limits__panda_joint1__upper=2.5).successful
    until_there(panda, {'panda_joint1': 2.0})
    panda.until_code('reached')


def test_home_is_where_the_node_was_activated(panda):
    home = at(panda.states[0])
    send(panda, READY)
    until_there(panda, READY)
    answer = call(panda, Trigger, 'home')
    assert answer.success, answer.message
    until_there(panda, home)
    panda.until_code('reached')


def test_home_in_the_menu_of_the_markers(panda):
    home = at(panda.states[0])
    send(panda, READY)
    until_there(panda, READY)
    markers = panda.ik_node._interactive
    with panda.ik_node._gate.lock:  # as a callback of the markers, whose package is not needed
        markers._select(1 + list(markers._menu).index('Home'))
    until_there(panda, home)


def test_home_by_parameters_for_some_joints(panda):
    home = at(panda.states[0])
    assert panda.set_parameters(home__panda_joint1=1.0, home__panda_joint4=-2).successful
    assert call(panda, Trigger, 'home').success
    until_there(panda, home | {'panda_joint1': 1.0, 'panda_joint4': -2.0})
    answer = panda.set_parameters(home__panda_jiont4=0.0)
    assert "did you mean 'home.panda_joint4'" in answer.reason


def test_a_home_outside_the_limits_is_refused_when_it_is_set(panda):
    assert panda.set_parameters(home__panda_joint4=-2.0).successful
    answer = panda.set_parameters(home__panda_joint4=0.0)
    assert not answer.successful
    assert 'home.panda_joint4 is 0, outside the limits of panda_joint4, [-3.072, -0.0698]' in (
        answer.reason
    )
    both = {'joint_limits__panda_joint4__upper': -1.0, 'home__panda_joint4': -0.5}
    assert not panda.set_parameters(**both).successful
    assert panda.set_parameters(home__panda_joint4=math.inf).successful
    assert panda.set_parameters(home__panda_joint4=-1.5).successful
    assert panda.set_parameters(joint_limits__panda_joint4__upper=-1.6).successful, 'lower limits'
    answer = call(panda, Trigger, 'home')
    assert not answer.success
    assert 'panda_joint4 = -1.5 rad is outside its limits' in answer.message
    assert panda.set_parameters(rate_of_nothing=1.0).successful is False
    assert panda.set_parameters(position_tolerance=1e-4).successful, 'of something else'


def test_a_home_outside_the_limits_is_refused_at_the_start():
    with pytest.raises(InvalidOption, match=r'home\.panda_joint4 is 0\.1, outside the limits'):
        declared('panda', {'home.panda_joint4': 0.1})
    declared('panda', {'home.panda_joint4': -0.1})


def declared(name, overrides_of):
    """The parameters of a node that was started with these, once the robot is there."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    node = rclpy.create_node(
        'parameters_of_home',
        context=context,
        namespace=unique_namespace(),
        parameter_overrides=overrides(UNDESCRIBED | overrides_of),
    )
    try:
        parameters = Parameters(node)
        parameters.declare_robot(load(name))
        return parameters.take()
    finally:
        node.destroy_node()
        context.try_shutdown()


def test_home_is_as_parameters_set_before_it_say_though_no_tick_came_between():
    with panda_world(rate=2.0) as panda:
        panda.more_states(1)  # the next tick is half a second away
        assert panda.set_parameters(home__panda_joint4=-1.6).successful
        assert call(panda, Trigger, 'home').success
        until_there(panda, {'panda_joint4': -1.6})


@pytest.mark.parametrize(
    ('positions', 'reason', 'text'),
    [
        ({}, 'no_joints', 'names no joint'),
        ({'panda_joint9': 0.0}, 'unknown_joint', "no movable joint 'panda_joint9'"),
        ({'panda_joint1': math.nan}, 'not_finite', 'panda_joint1 is not finite'),
        ({'panda_joint4': 0.5}, 'outside_limits', 'panda_joint4 = 0.5 rad is outside its limits'),
        ({'panda_finger_joint2': 0.01}, 'mimic_joint', 'give the position of panda_finger_joint1'),
    ],
)
def test_joint_goal_is_refused_with_a_reason_and_the_one_before_stays(
    panda, positions, reason, text
):
    logged = []
    panda.node.create_subscription(Log, '/rosout', lambda log: logged.append(log.msg), 100)
    panda.until(lambda: panda.node.count_publishers('/rosout'), 'the log')
    send(panda, FAR)
    panda.until_moving(0.3)
    send(panda, READY | positions if positions else {})
    panda.until_refused(reason)
    until_there(panda, FAR)
    panda.until(lambda: any(text in line for line in logged), text)


def test_own_joint_states_are_joint_goals(panda):
    """Mimic joints included, which fit."""
    before = panda.more_states(1)[-1]
    assert 'panda_finger_joint2' in before.name
    send(panda, READY | {'panda_finger_joint1': 0.011})
    until_there(panda, READY | {'panda_finger_joint1': 0.011})
    panda.publisher(JointState, 'joint_goal', 10).publish(before)
    until_there(panda, at(before))
    assert panda.status['refused'] == '0'
    send(panda, {'panda_finger_joint2': at(before)['panda_finger_joint2']})
    panda.until_refused('mimic_joint')


def test_frozen_joints_may_be_named_where_they_are():
    with panda_world(frozen_joints=['panda_joint7', 'panda_joint1']) as node:
        before = node.more_states(1)[-1]
        send(node, at(before) | {'panda_joint2': 0.4})
        until_there(node, at(before) | {'panda_joint2': 0.4})
        send(node, at(before) | {'panda_joint7': at(before)['panda_joint7'] + 0.01})
        node.until_refused('fixed_joint')


def stream_of_poses(panda, robot, seconds, meanwhile=lambda k: None):
    """Lead the tip in a circle; what it is asked for last."""
    start = tip_of(robot, panda.more_states(1)[-1])
    begin, k = time.monotonic(), 0

    def led():
        nonlocal k
        goal = start.copy()
        goal[:3, 3] += 0.03 * math.sin(0.02 * k), 0.03 * math.sin(0.03 * k), 0.0
        panda.send_goal(goal)
        meanwhile(k)
        k += 1
        return time.monotonic() - begin > seconds and goal

    return panda.until(lambda: (goal := led()) is not False and goal.tolist(), 'a stream')


@pytest.mark.parametrize('often', [False, True])
def test_the_gripper_keeps_its_joint_goal_while_poses_stream(panda, robot, often):
    send(panda, READY | {'panda_finger_joint1': 0.039})
    until_there(panda, READY | {'panda_finger_joint1': 0.039})
    gripper = panda.publisher(JointState, 'joint_goal', 10)

    def close(k):
        if k == 20 or often:
            gripper.publish(JointState(name=['panda_finger_joint1'], position=[0.002]))

    goal = stream_of_poses(panda, robot, 2.0, close)
    until_there(panda, {'panda_finger_joint1': 0.002, 'panda_finger_joint2': 0.002})
    until_at(panda, robot, np.array(goal))
    assert panda.status['refused'] == '0'


def test_the_gripper_goes_on_when_a_pose_replaces_the_goal_of_all_joints(panda, robot):
    send(panda, READY | {'panda_finger_joint1': 0.039})
    until_there(panda, READY | {'panda_finger_joint1': 0.039})
    start = tip_of(robot, panda.states[-1])
    with panda.ik_node._gate.lock:  # all of it between two ticks
        goals = panda.ik_node._goals
        goals.put_joints({'panda_joint1': -1.0, 'panda_finger_joint1': 0.002})
        goals.put(0, start)
    until_there(panda, {'panda_finger_joint1': 0.002})
    until_at(panda, robot, start)


def test_ragged_joint_goal_and_one_that_names_a_joint_twice_are_refused(panda):
    topic = panda.publisher(JointState, 'joint_goal', 10)
    topic.publish(JointState(name=['panda_joint1'], position=[0.0, 1.0]))
    panda.until_refused('ragged')
    topic.publish(JointState(name=['panda_joint1'] * 2, position=[0.0, 1.0]))
    panda.until_refused('duplicate_joint')
    assert all(map(is_still, panda.more_states(5)))


def test_joints_that_are_frozen_or_not_published_are_refused():
    options = {'frozen_joints': ['panda_joint7'], 'command_joints': list(READY)}
    with panda_world(**options) as node:
        node.more_states(1)
        send(node, {'panda_joint7': 0.1})
        node.until_refused('fixed_joint')
        send(node, {'panda_finger_joint1': 0.01})
        node.until_refused('fixed_joint', 2)
        send(node, {'panda_joint1': 0.1})
        until_there(node, {'panda_joint1': 0.1})
        assert call(node, Trigger, 'home').success
        node.until_code('reached')


def test_joint_goals_and_home_are_refused_without_a_robot():
    with topic_world() as node:
        node.until_code('no_model')
        send(node, READY)
        node.until_refused('no_model')
        answer = call(node, Trigger, 'home')
        assert not answer.success
        assert 'robot_description' in answer.message


def test_joint_goal_of_a_stream_that_ended_is_stale():
    with panda_world(goal_timeout=0.2) as node:
        node.more_states(1)
        send(node, FAR)
        node.until_code('stale')
        until_still(node)
        check_states(node.states, load('panda'), RATE, acceleration=ACCELERATION)


def test_joint_goal_is_recorded_and_replayed_to_the_bit(tmp_path):
    with panda_world(record_folder=str(tmp_path)) as node:
        node.more_states(1)
        assert call(node, SetBool, 'record', data=True).success
        send(node, READY)
        until_there(node, READY)
        assert call(node, Trigger, 'home').success
        node.until_code('tracking')
        node.until_code('reached')
        assert call(node, SetBool, 'record', data=False).success
        [path] = node.until(lambda: list(tmp_path.glob('*.npz')), 'the recording')
    runs = replay(read_recording(path))
    assert all(run.is_same for run in runs)
    assert ('reached', 'reached') in runs[-1].statuses


def test_error_in_the_middle_of_a_joint_goal_brakes_and_it_is_followed_again(panda, monkeypatch):
    send(panda, FAR)
    panda.until_moving(0.3)
    follow = JointMotion.follow

    def fail(*_):
        monkeypatch.setattr(JointMotion, 'follow', follow)
        raise ArithmeticError('once')

    monkeypatch.setattr(JointMotion, 'follow', fail)
    until_there(panda, FAR)
    panda.until(lambda: panda.diagnostics.get('errors') == '1', 'the error is counted')
