"""The soak test itself: that it sees what is wrong, and a short run that finds nothing."""

import os

import numpy as np
import pytest

pytest.importorskip('rclpy')

from sensor_msgs.msg import JointState
from support.node_harness import DOMAIN, URDF

import ik_core as ik
from ik_node.tools.soak import ACCELERATION, WEIGHTS, Checker, Client, Memory, main

RATE = 500.0
ROBOT = ik.load_urdf(URDF / 'panda.urdf')
NAMES = [*ROBOT.joint_names, *ROBOT.mimic_joints]


def state(q, dq, names=NAMES):
    more = [0.0] * (len(names) - len(q))
    return JointState(name=names, position=[*q, *more], velocity=[*dq, *more])


def checked(*states):
    checker = Checker([ROBOT], RATE)
    for message in states:
        checker.receive(message)
    return checker


def steps(dq, count=3):
    """States of a motion at a constant velocity."""
    q = ROBOT.middle_configuration
    return [state(q + k * dq / RATE, dq) for k in range(count)]


def test_a_motion_within_the_limits_is_no_violation():
    checker = checked(*steps(0.5 * ROBOT.velocity))
    assert not checker.violations
    assert checker.gaps == 0


@pytest.mark.parametrize(
    ('what', 'q', 'dq'),
    [
        ('not finite', np.nan, 0.0),
        ('not finite', 0.0, np.inf),
        ('position', ROBOT.upper[2] + 1e-6, 0.0),
        ('velocity', 0.0, 1.001 * ROBOT.velocity[2]),
    ],
)
def test_a_bad_state_is_seen(what, q, dq):
    position, velocity = ROBOT.middle_configuration, np.zeros(ROBOT.n)
    position[2], velocity[2] = q, dq
    assert checked(state(position, velocity)).violations[what] == 1


@pytest.mark.parametrize(('factor', 'count'), [(0.99, 0), (1.01, 1)])
def test_acceleration_is_checked_over_one_step(factor, count):
    q, dq = ROBOT.middle_configuration, np.zeros(ROBOT.n)
    faster = dq.copy()
    faster[4] = factor * ACCELERATION / RATE
    checker = checked(state(q, dq), state(q + faster / RATE, faster))
    assert checker.violations['acceleration'] == count


def test_missing_messages_are_counted_and_do_not_count_as_acceleration():
    first, _, third = steps(0.5 * ROBOT.velocity)
    checker = checked(first, third)
    assert checker.gaps == 1
    assert not checker.violations


def test_memory_that_grows_is_seen_and_a_start_is_not():
    grows, settles = Memory(), Memory()
    for second in range(200):
        grows.samples.append((second, 100.0 + 0.01 * second))
        settles.samples.append((second, 100.0 - 50.0 * 0.5**second))
    assert grows.growth(1000.0) == pytest.approx(0.01 * 600)
    assert abs(settles.growth(1000.0)) < 1e-3
    assert Memory(grows.samples[:30]).growth(1000.0) is None


def test_every_fault_is_one_of_the_clients():
    assert all(callable(getattr(Client, fault)) for fault in WEIGHTS)


def test_a_short_run_breaks_nothing(capfd, monkeypatch):
    for name in ('ROS_DOMAIN_ID', 'ROS_AUTOMATIC_DISCOVERY_RANGE'):
        monkeypatch.setenv(name, os.environ.get(name, ''))  # put back afterwards
    arguments = ['--minutes', '0.03', '--rate', '200', '--seed', '3', '--domain', str(DOMAIN)]
    assert main(arguments) == 0, capfd.readouterr().out
    assert 'nothing was broken' in capfd.readouterr().out
