# SPDX-License-Identifier: Apache-2.0
"""Hands in motion, and an arm that they move; every step is checked against the limits."""

import math

import numpy as np

import ik_core as ik
from ik_core.teleop import HandOptions, HandState, Teleop
from support.streams import robot_named

RATE = 100.0
SAMPLES = 72.0  # [Hz]
CLOCK = -4321.0  # [s] of the hand's clock at time 0
WIRE = 0.004  # [s]
# Where arms begin: far from limits and singularities.
STARTS = {
    'panda': [0.3, -0.2, 0.0, -2.0, 0.0, 2.0, 0.5, 0.02],
    'so101_like': [0.0, -0.3, 0.6, 0.5, 0.0, 0.3],
    'two_so101_like': [0.2, -0.3, 0.6, 0.5, 0.0, 0.3, -0.2, -0.3, 0.6, 0.5, 0.0, 0.3],
}


def pose(x=0.0, y=0.0, z=0.0, rpy=(0.0, 0.0, 0.0)):
    return ik.transform(position=[x, y, z], rpy=list(rpy))


def waving(time):
    """A hand that moves smoothly with up to 0.3 m/s and turns with up to 0.5 rad/s."""
    return pose(
        0.05 * math.sin(3.0 * time),
        0.04 * math.sin(4.0 * time + 1.0),
        0.03 * math.cos(3.5 * time),
        (0.1 * math.sin(2.0 * time), 0.1 * math.cos(3.0 * time), 0.1 * math.sin(1.5 * time)),
    )


class Arm:
    """An arm, a fake clock, and hands that send samples over a wire to its tips."""

    def __init__(self, name, tips=None, *, q=None, acceleration=20.0, jerk=np.inf, **options):
        self.robot = robot = robot_named(name)
        self.tips = [robot.tips()[0]] if tips is None else tips
        self.limits = ik.MotionLimits.of(robot, velocity=3.0, acceleration=acceleration, jerk=jerk)
        options.setdefault('latency', 0.03)
        self.teleop = Teleop(
            robot, self.tips, RATE, self.limits, options=HandOptions(**options),
            clock=lambda: 0.0,
        )  # fmt: skip
        self.q = np.array(STARTS[name] if q is None else q, float)  # of the simulated robot
        self.commands = [self.q]
        self.ticks = 0
        self._sent = dict.fromkeys(self.tips, 0)

    @property
    def now(self):
        return self.ticks / RATE

    @property
    def state(self):
        return self.teleop.states[self.tips[0]]

    def tip(self, q=None, tip=0):
        return self.robot.forward_kinematics(self.q if q is None else q, self.tips[tip])

    def tick(self):
        """One step; the robot does what it is commanded."""
        q = self.teleop.step(self.now, self.q)
        self.ticks += 1
        self.q = q
        self.commands.append(q)
        self._check()
        return q

    def run(self, seconds, hand=None, engaged=True, tip=0, **gripper):
        """Step for some seconds, while a hand (a function of time) sends its samples."""
        link, end = self.tips[tip], self.ticks + round(seconds * RATE)
        while self.ticks < end:
            while self._sent[link] / SAMPLES + WIRE <= self.now:
                time = self._sent[link] / SAMPLES
                self._sent[link] += 1
                if hand is not None:
                    received = time + WIRE
                    self.teleop.push(
                        hand(time), CLOCK + time, engaged, tip=link, received=received, **gripper
                    )
            self.tick()

    def until_following(self, hand):
        """Step until the tip follows the hand."""
        for _ in range(200):
            self.run(1 / RATE, hand)
            if self.state is HandState.FOLLOWING:
                return
        raise AssertionError(f'the hand is {self.state}')

    def _check(self):
        before, last, now = (self.commands[i] for i in (max(-3, -len(self.commands)), -2, -1))
        velocity = (now - last) * RATE
        change = velocity - (last - before) * RATE
        tolerance = 1e-6
        assert (np.abs(velocity) <= self.limits.velocity + tolerance).all()
        assert (np.abs(change) <= self.limits.acceleration / RATE + tolerance).all()
        for limit, sign in ((self.limits.lower, 1.0), (self.limits.upper, -1.0)):
            outside = np.maximum(sign * (limit - now), 0.0)
            assert (outside <= np.maximum(sign * (limit - last), 0.0) + tolerance).all()
