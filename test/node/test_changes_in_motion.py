"""Whatever changes or fails in motion, each published step keeps the limits of its time.

Judged by finite differences of the published positions. The joint is a slide whose end is near:
what were to begin anew, jump or go on would leave its rail, at once.
"""

import math
import signal

import numpy as np
import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool
from support.node_harness import Client, is_still, node_process, unique_namespace, world
from support.slide import RATE, URDF, assert_keeps_limits, at, go, rows, slide

from ik_core.tracking.coordinator import Coordinator
from ik_core.tracking.goal_solver import GoalSolver
from ik_node.outputs.commands import SerializedJointStateWriter

FAST = 1.5
ACCELERATION, JERK = 'joint_limits.x.acceleration', 'joint_limits.x.jerk'
SOFT = {ACCELERATION: 0.5}
TOLERANCE = {'position_tolerance': 2e-5}


def record(node, on):
    """Begin or end a recording."""
    answer = node.call(SetBool, 'ik_node/record', SetBool.Request(data=on))
    assert answer.success, answer.message


def change(*sets):
    """Sets of parameters, one call after the other."""

    def act(node):
        for values in sets:
            answer = node.set_parameters(**values)
            assert answer.successful, answer.reason

    return act


def while_recording_begins(node):
    """The limit is set, and a recording begins before it can be kept."""
    change(SOFT)(node)
    record(node, True)


def recorded(node):
    """A recording begins and ends."""
    record(node, True)
    node.more_states(3)
    record(node, False)


NONE = math.inf
CASES = {
    'softer, with a tolerance': (10.0, NONE, change(SOFT | TOLERANCE), 0.5, NONE),
    'softer, then a tolerance': (10.0, NONE, change(SOFT, TOLERANCE), 0.5, NONE),
    'softer, then a recording': (10.0, NONE, while_recording_begins, 0.5, NONE),
    'softer, without jerk limit': (10.0, 200.0, change(SOFT | {JERK: NONE}), 0.5, NONE),
    'softer, with jerk limit': (10.0, 200.0, change(SOFT), 0.5, 200.0),
    'a lower jerk': (10.0, 200.0, change({JERK: 5.0}), 10.0, 5.0),
    'a jerk limit': (10.0, NONE, change({JERK: 30.0}), 10.0, 30.0),
    'both lower': (10.0, 200.0, change({ACCELERATION: 1.0, JERK: 3.0}), 1.0, 3.0),
    'a tolerance': (10.0, 30.0, change(TOLERANCE), 10.0, 30.0),
    'a tool': (10.0, 30.0, change({'tools.carriage.xyz': [0.01, 0.0, 0.0]}), 10.0, 30.0),
    'a solver': (10.0, 30.0, change({'solver': 'damped_least_squares'}), 10.0, 30.0),
    'a recording': (10.0, 30.0, recorded, 10.0, 30.0),
}


@pytest.mark.parametrize('speed', [0.3, FAST])
@pytest.mark.parametrize('case', CASES)
def test_changes_in_motion_keep_the_limits(case, speed, tmp_path):
    acceleration, jerk, act, *after = CASES[case]
    with slide(acceleration, jerk, record_folder=str(tmp_path)) as node:
        go(node, -1.0, 0.1)
        node.until_code('reached')
        go(node, 0.98, speed)
        when = len(node.states)
        act(node)
        node.until_code('reached')
        node.more_states(2)
        before = rows(acceleration, jerk)
        loosest = before.copy()  # the answer comes later than the change
        loosest[3:] = np.maximum(before[3:], rows(*after)[3:])
        answered = len(node.states)
    assert_keeps_limits(
        node.states[:answered], (0, before), (when - 1, loosest), (answered, rows(*after))
    )


class Faults:
    """Lets a function raise in its next calls."""

    def __init__(self, monkeypatch, owner, name):
        self.left, works = 0, getattr(owner, name)

        def wrapped(*arguments, **named):
            if self.left:
                self.left -= 1
                raise ArithmeticError('injected')
            return works(*arguments, **named)

        monkeypatch.setattr(owner, name, wrapped)


PLACES = {
    'the solver': (GoalSolver, 'follow'),
    'the coordinator': (Coordinator, '_advance_tips'),
    'the command': (Coordinator, '_command'),
}
"""Where something raises: before the step of the joints is taken, and after it."""


@pytest.mark.parametrize('jerk', [NONE, 60.0])
@pytest.mark.parametrize('place', PLACES)
def test_an_exception_in_a_tick_brakes_within_limits_and_the_goal_is_kept(
    place, jerk, monkeypatch
):
    faults = Faults(monkeypatch, *PLACES[place])
    with slide(10.0, jerk) as node:
        go(node, 0.98, 0.8)
        faults.left = 15
        node.send_goal(at(0.97))  # something to solve
        node.until(lambda: not faults.left, 'all faults')
        node.until(
            lambda: is_still(node.states[-1]) and abs(node.states[-1].position[0] - 0.97) < 1e-4,
            'rest at the goal',
        )
        node.until(lambda: int(node.diagnostics.get('errors', 0)) >= 15, 'errors that are counted')
    assert_keeps_limits(node.states, (0, rows(10.0, jerk)))


def test_deactivating_takes_as_long_as_the_limits_say():
    with slide(0.5) as node:
        go(node, 0.98, 0.6)
        assert node.transition(4)
        node.until(lambda: is_still(node.states[-1]), 'rest')
    assert_keeps_limits(node.states, (0, rows(0.5)))


def test_a_signal_lets_it_brake_as_long_as_the_limits_say(tmp_path):
    (tmp_path / 'slide.urdf').write_text(URDF, encoding='utf-8')
    client = Client(unique_namespace())
    parameters = {'urdf_path': tmp_path / 'slide.urdf', 'rate': RATE, ACCELERATION: 0.5}
    arguments = [part for k, v in parameters.items() for part in ('-p', f'{k}:={v}')]
    try:
        with node_process(client.namespace, *arguments) as process:
            client.more_states(2)
            go(client, 0.98, 0.6)
            process.send_signal(signal.SIGINT)
            printed = process.stdout.read()
            assert process.wait() == 0, printed
            client.until(lambda: is_still(client.states[-1]), 'rest')
        assert_keeps_limits(client.states, (0, rows(0.5)))
    finally:
        client.close()


def test_configured_again_it_starts_where_the_last_command_was():
    with slide(10.0) as node:
        go(node, 0.98, 1.0)
        assert [node.transition(number) for number in (4, 2, 1, 3)] == [True] * 4
        node.more_states(5)
        assert node.states[-1].position[0] > 0.05
        go(node, -0.5, 1.0)
        node.until_code('reached')
    assert_keeps_limits(node.states, (0, rows(10.0)))


SHORTER = URDF.replace('upper="1"', 'upper="0.5"').replace('velocity="2"', 'velocity="1"')


def test_another_robot_in_motion_is_taken_at_rest_and_goes_on_from_there():
    """Its joint has the same name, and its rail ends before the place where the old one stops."""
    with world(rate=RATE, joint_limits__x__acceleration=4.0) as node:
        node.send_description(URDF)
        node.more_states(2)
        go(node, 0.98, 1.2)
        node.until(lambda: node.states[-1].position[0] > 0.55, 'a place beyond the shorter rail')
        when = len(node.states)
        node.send_description(SHORTER)
        node.until(lambda: len(node.states) > when and is_still(node.states[-1]), 'rest')
        old = len(node.states)
        node.until(lambda: node.states[-1].position[0] <= 0.5, 'the way back')
        go(node, -0.5, 0.9)
        node.until_code('reached')
    assert max(m.position[0] for m in node.states) > 0.5
    assert_keeps_limits(node.states, (0, rows(4.0)), (old, rows(4.0, text=SHORTER)))


def test_an_output_that_fails_leaves_out_a_message_and_counts_it(monkeypatch):
    faults = Faults(monkeypatch, SerializedJointStateWriter, 'write')
    with slide(10.0) as node:
        go(node, 0.98, 1.0)
        faults.left = 1
        node.until_code('reached')
        node.until(lambda: int(node.diagnostics.get('errors', 0)) == 1, 'the error')
