# SPDX-License-Identifier: Apache-2.0
"""Stops of the node: the joints rest where the shortest stop ends, and the answer says so."""

import math
import signal
from contextlib import contextmanager

import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from lifecycle_msgs.srv import ChangeState
from std_srvs.srv import SetBool, Trigger
from support.motion_checks import stop_of
from support.node_harness import PATIENCE, Client, node_process, unique_namespace, world
from support.panda_world import call
from support.slide import RATE, URDF, assert_keeps_limits, at, go, rows, slide

from ik_node import control_loop

pytestmark = pytest.mark.long
DEACTIVATE = Transition.TRANSITION_DEACTIVATE
SHUTDOWN = Transition.TRANSITION_ACTIVE_SHUTDOWN
ACCELERATION, CRAWL = 5.0, 1e-4  # the way back would take hours
TIGHT = {'joint_limits__x__upper': 0.0, 'joint_limits__x__velocity': CRAWL}
LONG_RAIL = URDF.replace('lower="-1" upper="1"', 'lower="-50" upper="50"')
SPEED = 1.0  # [m/s]
ROUNDING = 1e-9  # [m/s] the full speed is kept to that
QUICK, SLOW = 10.0, 0.5  # [m/s^2] on the way there, and to stop, which takes 2 s
SLOW_RAIL = LONG_RAIL.replace('velocity="2"', f'velocity="{SPEED}"')


def x_of(node):
    return node.states[-1].position[0]


def speed_of(node):
    return node.states[-1].velocity[0]


def turn_back(node):
    """Lead the carriage to 0.9, and then back towards 0, where its range ends by now."""
    node.send_goal(at(0.9))
    node.until(lambda: x_of(node) == pytest.approx(0.9, abs=1e-6), 'the goal')
    node.until(lambda: not speed_of(node), 'rest')
    assert node.set_parameters(**TIGHT).successful
    node.until(lambda: speed_of(node) == pytest.approx(-CRAWL), 'the way back')


@contextmanager
def on_the_way_back(**parameters):
    with slide(ACCELERATION, **parameters) as node:
        turn_back(node)
        yield node


@contextmanager
def fast(**parameters):
    """At its full speed, with a stop that takes long."""
    with slide(QUICK, robot_description=SLOW_RAIL, **parameters) as node:
        speed_up(node)
        yield node


def speed_up(node):
    """Come to the full speed, and then take the acceleration of a long stop."""
    go(node, 40.0, 0.999 * SPEED)
    assert node.set_parameters(joint_limits__x__acceleration=SLOW).successful


def ask_to_pause(node, paused=True):
    return node.ask(SetBool, 'ik_node/pause', SetBool.Request(data=paused))


def ask_for(node, transition):
    request = ChangeState.Request()
    request.transition.id = transition
    return node.ask(ChangeState, 'ik_node/change_state', request)


def pause_begins(node):
    """Ask for a pause, and wait until the carriage brakes; the future of the answer."""
    future = ask_to_pause(node)
    before = len(node.states)
    node.until(lambda: len(node.states) > before and brakes(node), 'braking')
    assert not future.done()
    return future


def brakes(node):
    before, now = (state.velocity[0] for state in node.states[-2:])
    return abs(now) < abs(before) - ROUNDING


def answer_of(node, future):
    node.until(future.done, 'an answer')
    return future.result()


def assert_stays(node, count=100):
    states = node.more_states(count)[1:]  # one may still have been on its way
    assert {state.position[0] for state in states} == {states[0].position[0]}
    assert not any(state.velocity[0] for state in states)


@pytest.fixture
def patience(monkeypatch):
    """Answers that wait for rest as long as a busy machine takes to come there."""
    monkeypatch.setattr('ik_node.robot_model.STOP_MARGIN', 60.0)


# On the way back from outside


@pytest.mark.usefixtures('patience')
def test_a_pause_on_the_way_back_stops_there_until_it_ends():
    with on_the_way_back() as node:
        answer = call(node, SetBool, 'pause', data=True)
        assert answer.success, answer.message
        assert_stays(node)
        assert x_of(node) > 0.8
        node.until_code('paused')
        assert node.set_parameters(joint_limits__x__upper=-0.2).successful
        assert_stays(node)
        assert call(node, SetBool, 'pause', data=False).success
        node.until(lambda: speed_of(node) == pytest.approx(-CRAWL), 'the way back')


@pytest.mark.usefixtures('patience')
def test_a_reset_on_the_way_back_stops_there_until_the_next_goal():
    with on_the_way_back() as node:
        assert call(node, Trigger, 'reset').success
        assert_stays(node)
        assert x_of(node) > 0.8
        node.send_goal(at(-0.5))
        node.until(lambda: speed_of(node) == pytest.approx(-CRAWL), 'the way back')


def test_deactivating_on_the_way_back_stops_there():
    with on_the_way_back() as node:
        assert node.transition(DEACTIVATE)
        assert node.state() == 'inactive'
        node.until(lambda: not speed_of(node), 'rest')
        assert x_of(node) > 0.8
        assert node.transition(Transition.TRANSITION_ACTIVATE)
        assert_stays(node)


def test_another_robot_is_taken_on_the_way_back():
    limits = {'joint_limits__default__acceleration': ACCELERATION}
    with world(rate=RATE, **limits) as node:
        node.send_description(URDF)
        node.more_states(2)
        turn_back(node)
        node.send_description(URDF.replace('name="x"', 'name="other"'))
        node.until(lambda: list(node.states[-1].name) == ['other'], 'the other robot')


@pytest.mark.parametrize(
    'number', [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.thorough)]
)
def test_a_signal_on_the_way_back_ends_the_process(number, tmp_path):
    urdf = tmp_path / 'slide.urdf'
    urdf.write_text(URDF)
    options = {
        'urdf_path': urdf,
        'rate': RATE,
        'joint_limits.x.acceleration': ACCELERATION,
    }
    arguments = [word for name in options for word in ('-p', f'{name}:={options[name]}')]
    node = Client(unique_namespace())
    try:
        with node_process(node.namespace, *arguments) as process:
            node.more_states(1)
            turn_back(node)
            process.send_signal(number)
            rest = process.stdout.read()
            assert process.wait(PATIENCE) == 0, rest
            assert 'Traceback' not in rest
            node.until(lambda: not speed_of(node), 'rest')
            assert x_of(node) > 0.8
    finally:
        node.close()


# The answer comes at rest, and keeps nobody waiting


@pytest.mark.usefixtures('patience')
def test_a_pause_answers_at_rest_and_others_are_answered_meanwhile():
    with fast() as node:
        slow = len(node.states)
        future = pause_begins(node)
        assert node.state() == 'active'
        assert node.set_parameters(replan_period=0.7).successful
        node.more_states(20)
        assert speed_of(node) > 0.0
        assert not future.done()
        answer = answer_of(node, future)
        assert (answer.success, answer.message) == (True, 'paused')
        assert_stays(node)
        limits = [rows(acceleration, text=SLOW_RAIL) for acceleration in (QUICK, SLOW)]
        assert_keeps_limits(node.states, (0, limits[0]), (slow, limits[1]))


@pytest.mark.parametrize('jerk', [None, 2.0], ids=['no jerk limit', 'jerk limit'])
@pytest.mark.usefixtures('patience')
def test_a_pause_takes_the_shortest_way(jerk):
    with slide(2.0, jerk, robot_description=LONG_RAIL) as node:
        go(node, 40.0, 0.8)
        assert call(node, SetBool, 'pause', data=True).success
        assert_stays(node, 3)
        q, v = ([getattr(s, row)[0] for s in node.states] for row in ('position', 'velocity'))
        begin = max(k for k in range(1, len(v) - 1) if v[k] >= v[k - 1] and v[k] > 0.0)
        acceleration = 0.0  # at begin, in the middle of a tick of braking
        if jerk is not None:
            acceleration = (v[begin] - v[begin - 1]) * RATE - 0.5 * jerk / RATE
        way, _ = stop_of(v[begin], acceleration, 2.0, jerk or math.inf, 1.0 / RATE)
        assert q[-1] == pytest.approx(q[begin] + way, abs=1e-6)


def test_a_pause_that_is_taken_back_says_so():
    with fast() as node:
        first = pause_begins(node)
        assert call(node, SetBool, 'pause', data=False).message == 'resumed'
        answer = answer_of(node, first)
        assert not answer.success
        assert 'cancelled' in answer.message
        node.until(lambda: speed_of(node) == pytest.approx(SPEED), 'motion again')


@pytest.mark.usefixtures('patience')
def test_a_pause_of_a_pause_answers_at_rest_too():
    with fast() as node:
        both = pause_begins(node), ask_to_pause(node)
        assert [answer_of(node, future).message for future in both] == ['paused'] * 2
        assert_stays(node)
        assert call(node, SetBool, 'pause', data=True).message == 'paused'


@pytest.mark.usefixtures('patience')
def test_a_reset_in_a_pause_answers_at_rest_too():
    with fast() as node:
        pause = pause_begins(node)
        assert call(node, Trigger, 'reset').message == 'at rest; the goals are dropped'
        assert answer_of(node, pause).success
        assert_stays(node)


def test_a_reset_that_a_goal_follows_at_once_says_so():
    with fast() as node:
        future = node.ask(Trigger, 'ik_node/reset', Trigger.Request())
        node.until(lambda: brakes(node), 'braking')
        node.send_goal(at(-5.0))
        answer = answer_of(node, future)
        assert (answer.success, answer.message) == (True, 'the goals are dropped; moving again')


@pytest.mark.parametrize('transition', [DEACTIVATE, SHUTDOWN], ids=['deactivate', 'shutdown'])
def test_a_transition_in_a_pause_that_waits_answers_both(transition):
    with fast() as node:
        pause = pause_begins(node)
        assert answer_of(node, ask_for(node, transition)).success
        assert answer_of(node, pause).message == 'paused'
        node.until(lambda: not speed_of(node), 'rest')
        if transition == DEACTIVATE:
            assert call(node, SetBool, 'pause', data=True).message == 'paused'


def test_a_pause_that_waits_when_the_process_is_to_end_is_answered(tmp_path):
    urdf = tmp_path / 'slide.urdf'
    urdf.write_text(SLOW_RAIL)
    limits = ['-p', f'joint_limits.x.acceleration:={QUICK}']
    node = Client(unique_namespace())
    try:
        with node_process(node.namespace, '-p', f'urdf_path:={urdf}', *limits) as process:
            node.more_states(1)
            speed_up(node)
            pause = pause_begins(node)
            process.send_signal(signal.SIGINT)
            assert answer_of(node, pause).message == 'paused'
            assert process.wait(PATIENCE) == 0
    finally:
        node.close()


def test_where_ticks_come_too_late_deactivating_takes_as_many_and_ends_at_rest(monkeypatch):
    class Slow:
        """Time in which each tick of the stop takes as long as the whole stop may."""

        now = 0.0

        @classmethod
        def monotonic(cls):
            cls.now += 2.0
            return cls.now

        @staticmethod
        def sleep(seconds):
            pass

    with fast() as node:
        monkeypatch.setattr(control_loop, 'time', Slow)
        assert node.transition(DEACTIVATE)
        monkeypatch.undo()
        node.until(lambda: not speed_of(node), 'rest')
        assert node.ik_node._health.errors == 0
        limits = [rows(acceleration, text=SLOW_RAIL) for acceleration in (QUICK, SLOW)]
        lowered = next(
            k for k, state in enumerate(node.states) if state.velocity[0] > 0.99 * SPEED
        )
        assert_keeps_limits(node.states, (0, limits[0]), (lowered, limits[1]))
        assert node.transition(Transition.TRANSITION_ACTIVATE)
        assert node.more_states(10)[0].velocity[0] == 0.0
        go(node, 40.0, 0.1)
