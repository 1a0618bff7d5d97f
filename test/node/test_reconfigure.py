# SPDX-License-Identifier: Apache-2.0
"""A stream that ends beside the wrist's singularity: the node says that another configuration
reaches its last goal, and goes there if `reconfigure` says so, within the limits.
"""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.msg import Log
from sensor_msgs.msg import JointState
from std_srvs.srv import SetBool
from support import wrist_arm
from support.controlled_arm import Arm
from support.node_harness import check_states, is_still, load, world
from support.panda_world import call, is_at, text_of, until_at
from support.streams import Held

from ik_core.tracking import Tracker

RATE = 200.0
ACCELERATION = 10.0
STREAM = 3.0  # [s] How long the goals take to pass


@pytest.fixture
def held(monkeypatch):
    it = Held()
    monkeypatch.setitem(Tracker.__init__.__kwdefaults__, 'background', it)
    return it


def wrist_world(**parameters):
    limits = {'joint_limits__default__acceleration': ACCELERATION}
    return world(**{'robot_description': wrist_arm.text(), 'rate': RATE} | limits | parameters)


@pytest.fixture
def node():
    with wrist_world() as it:
        it._listen(Log, '/rosout', 1000)
        it.more_states(1)
        yield it


def stream(node):
    """Pass beside the singularity; the last goal stays."""
    before = wrist_arm.robot().forward_kinematics(wrist_arm.BEFORE, wrist_arm.TIP)
    message = JointState(name=wrist_arm.robot().joint_names, position=wrist_arm.BEFORE.tolist())
    node.publisher(JointState, 'joint_goal', 10).publish(message)
    until_at(node, wrist_arm.robot(), before, wrist_arm.TIP)
    began = time.monotonic()
    while (share := (time.monotonic() - began) / STREAM) < 1.0:
        node.send_goal(wrist_arm.goal(share))
        node.more_states(4)
    node.send_goal(wrist_arm.goal(1.0))


def lines(node, words):
    mine = node.namespace.strip('/')
    return [m.msg for m in node.inbox['/rosout'] if m.name.startswith(mine) and words in m.msg]


def q_of(node):
    return np.array(node.states[-1].position)


def test_the_node_stays_and_says_that_another_configuration_reaches_the_goal(node):
    stream(node)
    node.until_code('other_configuration')
    q = q_of(node)
    assert not is_at(wrist_arm.robot(), node.states[-1], wrist_arm.goal(1.0), wrist_arm.TIP)
    assert 'another configuration reaches it: set reconfigure' in node.status['solver_note']
    node.until(lambda: lines(node, 'goal not reached from here'), 'a line')
    node.more_states(400)
    np.testing.assert_array_equal(q_of(node), q)
    (line,) = lines(node, 'not reached')
    assert 'tool0 is off by' in line
    assert 'another configuration reaches it' in line
    assert node.set_parameters(reconfigure=True).successful
    until_at(node, wrist_arm.robot(), wrist_arm.goal(1.0), wrist_arm.TIP)
    node.until_code('reached')
    check_states(node.states, wrist_arm.robot(), RATE, acceleration=ACCELERATION)


def test_with_reconfigure_it_goes_there_and_may_be_paused_on_the_way(node):
    assert node.set_parameters(reconfigure=True).successful
    stream(node)
    node.until(lambda: q_of(node)[4] > 0.0, 'the wrist on its way')
    call(node, SetBool, 'pause', data=True)
    node.until_code('paused')
    node.more_states(400)
    assert not is_at(wrist_arm.robot(), node.states[-1], wrist_arm.goal(1.0), wrist_arm.TIP)
    call(node, SetBool, 'pause', data=False)
    until_at(node, wrist_arm.robot(), wrist_arm.goal(1.0), wrist_arm.TIP)
    check_states(node.states, wrist_arm.robot(), RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize('phase', ['search', 'motion'])
def test_another_robot_in_the_middle_rests_where_it_begins(held, phase):
    ur5e = load('ur5e')
    with wrist_world(robot_description='', reconfigure=phase == 'motion') as node:
        node.send_description(wrist_arm.text())
        node.more_states(1)
        stream(node)
        node.until(lambda: held.calls, 'a search')
        if phase == 'motion':
            held.done = True
            node.until(lambda: q_of(node)[4] > 0.0, 'the wrist on its way')
        node.send_description(text_of('ur5e'))
        node.until(lambda: node.states[-1].name[0] == ur5e.joint_names[0], 'the other robot')
        held.done = True
        node.until_code('idle')
        assert all(map(is_still, node.more_states(200)))
        of_the_first = [m for m in node.states if m.name[0] != ur5e.joint_names[0]]
        check_states(of_the_first, wrist_arm.robot(), RATE, acceleration=ACCELERATION)
        assert node.diagnostics.get('errors', '0') == '0'


@pytest.mark.parametrize('phase', ['search', 'motion'])
def test_states_that_are_lost_in_the_middle_stop_the_arm(held, phase):
    parameters = {'output': 'position_command', 'state_timeout': 0.3, 'reconfigure': True}
    with wrist_world(**parameters) as node:
        arm = Arm(node, wrist_arm.robot().joint_names, wrist_arm.BEFORE.tolist())
        arm.start()
        began = time.monotonic()
        while (share := (time.monotonic() - began) / STREAM) < 1.0:
            node.send_goal(wrist_arm.goal(share))
            arm.until(lambda: True, 'states')
            time.sleep(0.02)
        node.send_goal(wrist_arm.goal(1.0))
        arm.until(lambda: held.calls, 'a search')
        if phase == 'motion':
            held.done = True
            arm.until(lambda: arm.q[4] > 0.0, 'the wrist on its way')
        node.until_code('state_lost')
        held.done = True
        time.sleep(1.5)  # 0.2 s to brake
        q = arm.commanded[-1]
        time.sleep(1.0)
        np.testing.assert_array_equal(arm.commanded[-1], q)
        arm.until(lambda: node.status.get('code') != 'state_lost', 'states again')
        goal = wrist_arm.robot().forward_kinematics(wrist_arm.BEFORE, wrist_arm.TIP)
        node.send_goal(goal)
        arm.until(lambda: node.status.get('code') == 'reached', 'reached')
        there = wrist_arm.robot().forward_kinematics(np.array(arm.commanded[-1]), wrist_arm.TIP)
        np.testing.assert_allclose(there, goal, atol=1e-4)
