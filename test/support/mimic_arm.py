# SPDX-License-Identifier: Apache-2.0
"""Arms of two or three joints of which some mimic others, and the judge of each joint by itself.

The judge knows no code of the project: it takes finite differences of the published positions,
joint by joint, and compares them with the joint's own limits.
"""

from collections import defaultdict
from contextlib import contextmanager

import numpy as np

from ik_core import load_robot
from support.node_harness import world

RATE = 250.0
VELOCITY, ACCELERATION, JERK = 3.0, 40.0, 1600.0
ROUNDING = 1e-12  # [rad or m] of one position


def mimics(joint, multiplier=1.0, offset=0.0):
    """The element of a joint that mimics another."""
    return f'<mimic joint="{joint}" multiplier="{multiplier}" offset="{offset}"/>'


def joint(mimic='', lower=-1.5, upper=1.5, velocity=VELOCITY, kind='revolute'):
    """The inside of a joint, and its kind."""
    limit = f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="1"/>'
    return kind, limit + mimic


def arm(name, **joints):
    """The URDF of a planar arm whose joints turn about y, with links of 0.3 m, and a tip."""
    parts, parent = ['<link name="base"/>'], 'base'
    for number, (moving, (kind, inside)) in enumerate(joints.items()):
        link = f'link{number}'
        parts.append(
            f'<link name="{link}"/><joint name="{moving}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{link}"/>'
            f'<origin xyz="0 0 {0.3 if number else 0.1}"/><axis xyz="0 1 0"/>{inside}</joint>'
        )
        parent = link
    parts.append(
        f'<link name="tip"/><joint name="t" type="fixed"><parent link="{parent}"/>'
        '<child link="tip"/><origin xyz="0 0 0.3"/></joint>'
    )
    return f'<robot name="{name}">{"".join(parts)}</robot>'


@contextmanager
def mimic_world(**parameters):
    """A node that waits for such an arm on the topic."""
    usual = {
        'tip_links': ['tip'],
        'rate': RATE,
        'joint_limits__default__acceleration': ACCELERATION,
        'joint_limits__default__jerk': JERK,
    }
    with world(**(usual | parameters)) as node:
        yield node


def last(node):
    """The last published positions by name."""
    message = node.states[-1]
    return dict(zip(message.name, message.position, strict=True))


def send_joints(node, text, **values):
    """Send the tip to where it is with the independent joints at these values."""
    robot = load_robot(text)
    node.send_goal(robot.forward_kinematics(robot.q(values), 'tip'))


def until_joints(node, text, **values):
    """Wait until the robot of a description rests with its joints there, mimic ones included."""
    robot = load_robot(text)
    there = robot.joint_values(robot.q(values))

    def is_there():
        now = last(node)
        still = not any(node.states[-1].velocity)
        return (
            still
            and now.keys() == there.keys()
            and all(abs(now[name] - value) < 2e-4 for name, value in there.items())
        )

    node.until(is_there, f'rest at {there}')


def until_in_line(node, text):
    """Wait until all joints of a description rest where its mimics say."""
    robot = load_robot(text)

    def in_line():
        now = last(node)
        if now.keys() != {*robot.joint_names, *robot.mimic_joints}:
            return False
        q = [now[name] for name in robot.joint_names]
        return robot.joint_values(np.array(q)) == now and not any(node.states[-1].velocity)

    node.until(in_line, 'joints in line')


def runs(samples):
    """Return each joint's positions (ticks,) of successive messages, cut where a message lacks it.

    samples : (names, positions) of each message
    """
    open_runs, finished = defaultdict(list), defaultdict(list)
    for names, positions in samples:
        for name in open_runs.keys() - set(names):
            finished[name].append(open_runs.pop(name))
        for name, position in zip(names, positions, strict=True):
            open_runs[name].append(position)
    for name, run in open_runs.items():
        finished[name].append(run)
    return finished


def samples_of(messages):
    """The names and positions of joint states."""
    return [(message.name, message.position) for message in messages]


def assert_each_joint_keeps_limits(samples, rate=RATE, **own):
    """Each joint's velocity, acceleration and jerk by differences; returns the largest speeds.

    own : (velocity, acceleration, jerk) of joints that have others than the usual ones
    """
    fastest = {}
    for name, parts in runs(samples).items():
        allowed = own.get(name, (VELOCITY, ACCELERATION, JERK))
        for part in parts:
            q, what = np.array(part), ('velocity', 'acceleration', 'jerk')
            for order, (limit, kind) in enumerate(zip(allowed, what, strict=True), 1):
                rates = np.diff(q, order) * rate**order
                slack = 1e-9 * limit + 2**order * ROUNDING * rate**order
                worst = np.abs(rates).max(initial=0.0)
                assert worst <= limit + slack, f'{name}: {kind} {worst:.6g}, {limit:g} is allowed'
                if order == 1:
                    fastest[name] = max(worst, fastest.get(name, 0.0))
    return fastest
