# SPDX-License-Identifier: Apache-2.0
"""Mimic joints at a new description: whatever it says of them, no published joint steps.

Each joint is judged by itself, by finite differences of what was published, and its own limits.
"""

import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool, Trigger
from support.controlled_arm import RATE as CONTROLLED_RATE
from support.controlled_arm import Arm
from support.mimic_arm import (
    ACCELERATION,
    JERK,
    RATE,
    VELOCITY,
    arm,
    assert_each_joint_keeps_limits,
    joint,
    last,
    mimic_world,
    mimics,
    samples_of,
    send_joints,
    until_in_line,
    until_joints,
)
from support.node_harness import Client, node_process, unique_namespace

pytestmark = pytest.mark.long
INDEPENDENT = arm('independent', f1=joint(), f2=joint())
MIMIC = arm('mimic', f1=joint(), f2=joint(mimics('f1')))
OFFSET = arm('offset', f1=joint(), f2=joint(mimics('f1', offset=0.7)))
NEGATIVE = arm('negative', f1=joint(), f2=joint(mimics('f1', -1.0)))


def take(node, text, robot_name):
    """Publish a description, and wait until its robot is the one that is moved."""
    node.send_description(text)
    node.until(lambda: node.ik_node._motion.model is not None
               and node.ik_node._motion.model.robot.name == robot_name
               and node.ik_node._motion.is_ticking, robot_name)  # fmt: skip
    node.more_states(3)


def begin(node, text, **values):
    """Publish a first description, and lead its joints to these values."""
    take(node, text, text.split('"')[1])
    send_joints(node, text, **values)
    until_joints(node, text, **values)


def swap(node, text):
    """Another description; returns once its robot is moved, maybe before its joints rest."""
    take(node, text, text.split('"')[1])


TRANSITIONS = {
    'independent to mimic': (INDEPENDENT, {'f1': 1.2, 'f2': -1.19}, MIMIC),
    'another offset': (MIMIC, {'f1': 0.6}, OFFSET),
    'another multiplier': (MIMIC, {'f1': 0.8}, NEGATIVE),
    'mimic to independent': (OFFSET, {'f1': 0.5}, INDEPENDENT),
    'multiplier zero': (
        MIMIC,
        {'f1': -0.9},
        arm('zero', f1=joint(), f2=joint(mimics('f1', 0.0, 0.3))),
    ),
    'the mimic joint becomes the driver': (
        OFFSET,
        {'f1': 0.5},
        arm('driver', f1=joint(mimics('f2', -0.5)), f2=joint()),
    ),
    'a mimic of a mimic': (
        arm('three', f1=joint(), f2=joint(), f3=joint()),
        {'f1': 0.7, 'f2': 0.5, 'f3': -0.6},
        arm('chain', f1=joint(), f2=joint(mimics('f1', 0.5)), f3=joint(mimics('f2', 2.0, 0.1))),
    ),
    'a continuous mimic joint': (
        INDEPENDENT,
        {'f1': 1.2, 'f2': -1.0},
        arm('turns', f1=joint(), f2=joint(mimics('f1', 2.0, 3.0), kind='continuous')),
    ),
    'limits that move the driver': (
        INDEPENDENT,
        {'f1': 1.2, 'f2': -1.0},
        arm('shorter', f1=joint(upper=0.8), f2=joint(mimics('f1'))),
    ),
    'limits of the mimic joint that move the driver': (
        MIMIC,
        {'f1': 1.2},
        arm('folded', f1=joint(), f2=joint(mimics('f1', -1.0), lower=-0.5)),
    ),
    'the driver has another name': (
        MIMIC,
        {'f1': 0.9},
        arm('renamed', g1=joint(), f2=joint(mimics('g1', offset=0.2))),
    ),
}


@pytest.mark.parametrize('case', TRANSITIONS)
def test_no_joint_steps_at_a_new_description(case):
    first, values, text = TRANSITIONS[case]
    with mimic_world() as node:
        begin(node, first, **values)
        before, count = last(node), len(node.states)
        swap(node, text)
        until_in_line(node, text)
        states, end = node.states, last(node)
    assert_each_joint_keeps_limits(samples_of(states))
    names = [set(m.name) for m in states]
    assert names[count - 1] == before.keys(), 'judged from before the swap on'
    if case == 'mimic to independent':
        assert end == before
    elif case not in ('limits of the mimic joint that move the driver',):
        driver = {'the mimic joint becomes the driver': 'f2'}.get(case, 'f1')
        expected = {'limits that move the driver': 0.8}.get(case, before.get(driver))
        assert end.get(driver, expected) == expected, 'the driver stays within its limits'


def test_a_mimic_joint_moves_as_slowly_as_its_own_limits_say():
    """Its driver is as fast as before; the parameters tighten what the description allows."""
    slow = arm('slow', f1=joint(), f2=joint(mimics('f1', 0.1), velocity=0.8))
    limits = {'joint_limits__f2__acceleration': 3.0, 'joint_limits__f2__jerk': 50.0}
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=0.5, f2=1.0)
        start = len(node.states) - 1
        swap(node, slow)
        until_in_line(node, slow)
        states = node.states[start:]
    fastest = assert_each_joint_keeps_limits(samples_of(states), f2=(0.8, ACCELERATION, JERK))
    assert fastest['f2'] == pytest.approx(0.8, rel=1e-3)
    with mimic_world(**limits) as node:
        begin(node, INDEPENDENT, f1=0.5, f2=1.0)
        start = len(node.states) - 1
        swap(node, slow)
        until_in_line(node, slow)
        states = node.states[start:]
    assert_each_joint_keeps_limits(samples_of(states), f2=(0.8, 3.0, 50.0))


def test_a_goal_sent_meanwhile_is_followed_when_the_joints_are_in_line():
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_code('aligning')
        send_joints(node, MIMIC, f1=-0.4)
        node.more_states(2)
        assert node.status['code'] == 'aligning'
        states = len(node.states)
        assert last(node)['f1'] == pytest.approx(1.2, abs=1e-3)
        until_joints(node, MIMIC, f1=-0.4)
        node.until_code('reached')
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


def test_a_pause_stops_the_joints_on_the_way_and_they_go_on_after_it():
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        assert node.call(SetBool, 'ik_node/pause', SetBool.Request(data=True)).success
        node.until(lambda: not any(node.states[-1].velocity), 'rest')
        node.until_code('paused')
        held = last(node)
        assert all(dict(zip(m.name, m.position, strict=True)) == held for m in node.more_states())
        assert -1.1 < held['f2'] < 1.1, 'held on the way'
        assert node.call(SetBool, 'ik_node/pause', SetBool.Request(data=False)).success
        until_in_line(node, MIMIC)
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


def test_a_reset_stops_the_joints_on_the_way_until_the_next_goal():
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        assert node.call(Trigger, 'ik_node/reset', Trigger.Request()).success
        node.until(lambda: not any(node.states[-1].velocity), 'rest')
        held = last(node)
        assert all(dict(zip(m.name, m.position, strict=True)) == held for m in node.more_states())
        node.until_code('idle')
        send_joints(node, MIMIC, f1=0.2)
        until_joints(node, MIMIC, f1=0.2)
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


@pytest.mark.parametrize('text', [OFFSET, INDEPENDENT, NEGATIVE])
def test_another_description_on_the_way_begins_where_each_joint_is(text):
    with mimic_world() as node:
        begin(node, arm('start', f1=joint(), f2=joint()), f1=0.6, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        swap(node, text)
        if text is INDEPENDENT:
            assert abs(last(node)['f2'] - last(node)['f1']) > 0.1, 'on the way'
        until_in_line(node, text)
        send_joints(node, text, **({'f1': 0.1, 'f2': 0.3} if text is INDEPENDENT else {'f1': 0.1}))
        node.until_code('reached')
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


def test_deactivated_on_the_way_the_joints_rest_there_until_the_next_goal():
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        assert node.transition(4)
        node.until(lambda: not any(node.states[-1].velocity), 'rest')  # the answer may be quicker
        held = last(node)
        assert abs(held['f1'] - held['f2']) > 0.1
        assert node.transition(3)
        assert all(dict(zip(m.name, m.position, strict=True)) == held for m in node.more_states())
        send_joints(node, MIMIC, f1=-0.3)
        until_joints(node, MIMIC, f1=-0.3)
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


@pytest.mark.parametrize(
    'number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_a_signal_on_the_way_brings_each_joint_to_rest(number):
    client = Client(unique_namespace())
    limits = {
        'joint_limits.default.acceleration': ACCELERATION,
        'joint_limits.default.jerk': JERK,
    }
    values = {'rate': RATE, 'tip_links': '[tip]', **limits}
    arguments = [part for k, v in values.items() for part in ('-p', f'{k}:={v}')]
    try:
        with node_process(client.namespace, *arguments) as process:
            for text in (INDEPENDENT, MIMIC):
                client.send_description(text)
                client.more_states(20)
                if text is INDEPENDENT:
                    send_joints(client, text, f1=1.2, f2=-1.19)
                    until_joints(client, text, f1=1.2, f2=-1.19)
            client.until_moving(1.0, joint=1)
            process.send_signal(number)
            printed = process.stdout.read()
            assert process.wait() == 0, printed
            client.until(lambda: not any(client.states[-1].velocity), 'rest')
        states, end = client.states, last(client)
    finally:
        client.close()
    assert abs(end['f1'] - end['f2']) > 0.1, 'on the way'
    assert_each_joint_keeps_limits(samples_of(states))


def test_configured_again_on_the_way_it_begins_where_each_joint_is(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(INDEPENDENT)
    with mimic_world(urdf_path=str(path)) as node:
        node.more_states(3)
        send_joints(node, INDEPENDENT, f1=1.2, f2=-1.19)
        until_joints(node, INDEPENDENT, f1=1.2, f2=-1.19)
        for text in (MIMIC, NEGATIVE):
            path.write_text(text)
            assert [node.transition(number) for number in (4, 2)] == [True] * 2
            before = len(node.states)
            assert [node.transition(number) for number in (1, 3)] == [True] * 2
            node.until_moving(1.0, since=before)
        until_in_line(node, NEGATIVE)
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))


@pytest.mark.parametrize(
    'change',
    [
        {'joint_limits.f2.velocity': 0.8},
        {'joint_limits.f2.acceleration': 5.0, 'joint_limits.f2.jerk': 100.0},
        {'joint_limits.f1.upper': 0.4},
        {'joint_limits.f1.upper': 0.4, 'joint_limits.f1.velocity': 0.5},
    ],
)
def test_limits_that_change_on_the_way_hold(change):
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        assert node.set_parameters(**change).successful
        answered = len(node.states)
        until_in_line(node, MIMIC)
        node.until(lambda: last(node)['f1'] <= change.get('joint_limits.f1.upper', 2.0), 'inside')
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))
    slower = change.get('joint_limits.f2.velocity')
    if slower:  # after the time that braking takes with the acceleration and the jerk
        late = samples_of(states[answered + 60 :])
        assert_each_joint_keeps_limits(late, f2=(slower, ACCELERATION, JERK))


@pytest.mark.parametrize('where', ['step', 'brake', 'finish', 'write'])
def test_an_exception_on_the_way_steps_no_joint(where, monkeypatch):
    from ik_core.tracking.governor import Governor
    from ik_node.control_loop import ControlLoop
    from ik_node.robot_model import Model

    owner, name = {
        'step': (Governor, 'follow'),
        'brake': (ControlLoop, '_advance'),
        'finish': (Model, 'end_alignment'),
        'write': (ControlLoop, '_send'),
    }[where]
    left, works = [0], getattr(owner, name)

    def wrapped(*arguments, **named):
        if left[0] > 0:
            left[0] -= 1
            raise ArithmeticError('injected')
        return works(*arguments, **named)

    monkeypatch.setattr(owner, name, wrapped)
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        swap(node, MIMIC)
        node.until_moving(1.0, joint=1)
        left[0] = 1 if where == 'write' else 10
        node.until(lambda: not left[0], 'all faults')
        until_in_line(node, MIMIC)
        send_joints(node, MIMIC, f1=0.3)
        until_joints(node, MIMIC, f1=0.3)
        states = node.states
    if where == 'write':  # a message was left out: there is a gap of one step
        assert_each_joint_keeps_limits(samples_of(states), f2=(2.0 * VELOCITY, math.inf, math.inf))
    else:
        assert_each_joint_keeps_limits(samples_of(states))


IMPOSSIBLE = arm('impossible', f1=joint(), f2=joint(mimics('f1', offset=4.0)))


def test_a_description_whose_mimic_joint_can_not_get_into_line_is_refused_by_its_name(capfd):
    """Two limits without a position in common are warned of in a first description."""
    with mimic_world() as node:
        begin(node, INDEPENDENT, f1=1.2, f2=-1.19)
        before = last(node)
        node.send_description(IMPOSSIBLE)
        node.until(lambda: node.diagnostics.get('errors') == '1', 'the error')
        assert last(node) == before
        send_joints(node, INDEPENDENT, f1=0.2, f2=0.3)
        until_joints(node, INDEPENDENT, f1=0.2, f2=0.3)
        states = node.states
        swap(node, MIMIC)
        until_in_line(node, MIMIC)
    said = capfd.readouterr().err
    assert "joint 'f2' is at -1.19 rad and can not move to 5.2 rad" in said
    assert 'independent is kept' in said
    assert_each_joint_keeps_limits(samples_of(states))
    with mimic_world() as node:
        take(node, IMPOSSIBLE, 'impossible')
        node.until_code('idle')


def test_a_joint_of_two_descriptions_ago_is_known():
    other = arm('other', h1=joint(), h2=joint())
    with mimic_world() as node:
        begin(node, MIMIC, f1=0.9)
        swap(node, other)
        swap(node, OFFSET)
        until_in_line(node, OFFSET)
        states = node.states
    assert_each_joint_keeps_limits(samples_of(states))
    first = next(m for m in reversed(states) if 'h1' in m.name)
    again = states[states.index(first) + 1]
    began_at = dict(zip(again.name, again.position, strict=True))
    assert began_at == pytest.approx({'f1': 0.9, 'f2': 0.9}, abs=1e-3)


@pytest.mark.parametrize('output', ['position_command', 'joint_trajectory'])
def test_a_mimic_joint_that_a_controller_is_sent_does_not_step(output):
    """Another description arrives in the middle of the path, and the node pauses there."""
    joints = ['f1', 'f2']
    parameters = {'output': output, 'rate': CONTROLLED_RATE, 'command_joints': joints}
    with mimic_world(state_timeout=30.0, **parameters) as node:
        node.send_description(INDEPENDENT)
        arm = Arm(node, joints, [0.6, -0.9])
        arm.start()
        for text in (MIMIC, OFFSET, NEGATIVE):
            count = len(arm.commanded)
            node.send_description(text)
            arm.until(lambda n=count: len(arm.commanded) > n + 30, 'some of the way')
            if text is OFFSET:
                assert node.call(SetBool, 'ik_node/pause', SetBool.Request(data=True)).success
                arm.until(lambda: node.status.get('code') == 'paused', 'a pause')
                assert node.call(SetBool, 'ik_node/pause', SetBool.Request(data=False)).success
        arm.until(lambda: arm.commanded[-1] == pytest.approx([0.6, -0.6], abs=1e-9), 'in line')
        send_joints(node, NEGATIVE, f1=-0.2)
        arm.until(lambda: arm.commanded[-1] == pytest.approx([-0.2, 0.2], abs=1e-3), 'the goal')
        commanded, times = arm.commanded, np.array(arm.times)
        assert not arm.refused
    q, seconds = np.array(commanded), 1e-9 * np.diff(times[: len(commanded)])
    too_far = np.abs(np.diff(q, axis=0)).max(axis=1) - VELOCITY * seconds
    assert too_far.max() <= 1e-6, (too_far.max(), seconds[too_far.argmax()])
    # Where ticks did not come, points are at other times: differences would be of another order.
    irregular = np.flatnonzero(np.abs(seconds * CONTROLLED_RATE - 1.0) > 1e-3) + 1
    for part in np.split(q, irregular):
        assert_each_joint_keeps_limits([(joints, row) for row in part], CONTROLLED_RATE)


@pytest.mark.parametrize('output', ['position_command', 'joint_trajectory'])
def test_a_start_begins_where_a_mimic_joint_is_measured(output):
    joints = ['f1', 'f2']
    parameters = {'output': output, 'rate': CONTROLLED_RATE, 'command_joints': joints}
    with mimic_world(state_timeout=30.0, **parameters) as node:
        node.send_description(MIMIC)
        arm = Arm(node, joints, [0.6, -0.9])
        arm.until(lambda: arm.commanded and arm.commanded[-1] == [0.6, 0.6], 'in line')
        commanded = np.array(arm.commanded)
    assert commanded[0] == pytest.approx([0.6, -0.9], abs=1e-3)
    samples = [(joints, row) for row in commanded]
    fastest = assert_each_joint_keeps_limits(samples, CONTROLLED_RATE)
    assert fastest['f2'] > 0.5 * VELOCITY
    assert fastest['f1'] == 0.0
