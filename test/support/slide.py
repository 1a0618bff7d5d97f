# SPDX-License-Identifier: Apache-2.0
"""The slide: one prismatic joint x in [-1, 1] m at 2 m/s, in a running node, and its judge."""

from contextlib import contextmanager

import numpy as np
from soak.checker import Checker
from soak.expected_limits import read_description

from support.node_harness import world

RATE = 200.0
URDF = """
<robot name="slide">
  <link name="rail"/>
  <link name="carriage"/>
  <joint name="x" type="prismatic">
    <parent link="rail"/> <child link="carriage"/> <axis xyz="1 0 0"/>
    <limit lower="-1" upper="1" velocity="2" effort="1"/>
  </joint>
</robot>
"""


def rows(acceleration, jerk=np.inf, velocity=np.inf, text=URDF):
    """The limits (5, n) of all its joints by the description, with these."""
    limits = np.array(list(read_description(text).rows.values())).T
    limits[2] = np.minimum(limits[2], velocity)
    limits[3], limits[4] = acceleration, jerk
    return limits


def at(x):
    """A goal of the carriage."""
    goal = np.eye(4)
    goal[0, 3] = x
    return goal


def positions_of(messages):
    """The positions and velocities (ticks, n) that were published."""
    return (
        np.array([list(getattr(m, row)) for m in messages]) for row in ('position', 'velocity')
    )


def lost_before(messages, q, dq, limits, period):
    """Return the number of messages lost before each one: time went by, and several steps of the
    path."""
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages])
    late = np.round(np.diff(stamps) / period).astype(int) - 1
    mean = np.diff(q, axis=0) / period
    bend = limits[3] * period / 4.0
    one_step = np.minimum(
        np.abs(mean - dq[1:]), np.abs(mean - 0.5 * (dq[1:] + dq[:-1])) - bend
    ).max(axis=1)
    return np.r_[0, np.where((late > 0) & (one_step > 1e-9), late, 0)]


def assert_keeps_limits(messages, *limits, rate=RATE):
    """Check all published motion against rows that applied one after the other: (number of
    messages, rows)."""
    (_, first), *changes = limits
    checker = Checker(first, 1.0 / rate)
    q, dq = positions_of(messages)
    checker.begin(q[0])
    lost = lost_before(messages, q, dq, first, 1.0 / rate)
    for k in range(1, len(q)):
        if lost[k]:
            checker.forget(lost[k])
        while changes and k >= changes[0][0]:
            checker.change(changes.pop(0)[1])
        checker.see(q[k], dq[k])
    verdict = checker.finish()
    assert not verdict.violations, str(verdict)


@contextmanager
def slide(acceleration=10.0, jerk=None, **parameters):
    """A node that moves it, known to publish."""
    options = {'robot_description': URDF, 'rate': RATE}
    options['joint_limits__x__acceleration'] = acceleration
    if jerk is not None:
        options['joint_limits__x__jerk'] = jerk
    with world(**(options | parameters)) as node:
        node.more_states(2)
        yield node


def go(node, x, speed):
    """Send the carriage to x, and wait until it was as fast as that on the way.

    On a busy machine it may be slower again when this returns.
    """
    before = len(node.states)
    node.send_goal(at(x))
    node.until(
        lambda: any(abs(m.velocity[0]) >= speed for m in node.states[before:]),
        f'a speed of {speed}',
    )
