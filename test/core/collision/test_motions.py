# SPDX-License-Identifier: Apache-2.0
"""Motions that are shown to be free, against distances at many samples of them."""

from __future__ import annotations

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box, Collisions, Plane
from ik_core.tracking import MotionLimits
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.clearance import Clearance

RATE = 250.0
FINGERS = {('panda_leftfinger', 'panda_rightfinger'): 0.0}


class Drive:
    """A governor that moves to random places, and what its stops would be."""

    def __init__(self, jerk: float, seed: int) -> None:
        world = ik.World()
        world.add('table', Box((0.5, 1.0, 0.04)), ik.transform(position=(0.6, 0.0, 0.2)))
        world.add('pole', Box((0.05, 0.05, 1.0)), ik.transform(position=(0.3, 0.4, 0.5)))
        world.add('floor', Plane(), ik.transform(position=(0.0, 0.0, -0.02)))
        world.allow('floor', 'panda_link0')
        self.robot = robot = ik.load_robot('panda')
        self.collisions = Collisions(robot, world)
        limits = MotionLimits.of(robot, acceleration=10.0, jerk=jerk)
        self.rng, self.limits = np.random.default_rng(seed), limits
        self.governor = Governor(limits, 1.0 / RATE, robot.middle_configuration)
        self.clearance = Clearance(self.collisions)

    def stops(self, count):
        """Yield whether each stop is shown, and positions (m, n) along it."""
        governor, goal = self.governor, None
        for tick in range(count):
            if tick % 100 == 0:
                goal = self.rng.uniform(self.limits.lower, self.limits.upper)
            before = governor.state
            governor.follow(goal)
            after = governor._announced_joints()
            shown = self.clearance.shows(before, after, 1.0 / RATE)
            if tick % 4 == 0:
                yield shown, self.positions()

    def positions(self):
        """Samples of the last motion: cubics between its knots."""
        count = self.clearance._count
        clearance = self.clearance
        ticks, q, dq = clearance._ticks[:count], clearance._q[:count], clearance._dq[:count]
        u = np.linspace(0.0, 1.0, 12)[:, np.newaxis]
        rows = []
        for k in range(count - 1):
            h = (ticks[k + 1] - ticks[k]) / RATE
            step = q[k + 1] - q[k]
            rows.append(
                q[k] + u * u * (3 - 2 * u) * step
                + h * u * (1 - u) * ((1 - u) * dq[k] - u * dq[k + 1])
            )  # fmt: skip
        return np.concatenate(rows)


@pytest.mark.parametrize('jerk', [np.inf, 500.0])
def test_motions_that_are_shown_are_free_and_nearly_all_free_ones_are_shown(jerk):
    drive = Drive(jerk, seed=4)
    shown, free = [], []
    for is_shown, positions in drive.stops(2400):
        shown.append(is_shown)
        free.append(bool(drive.collisions.free(positions).all()))
    shown, free = np.array(shown), np.array(free)
    assert 0.02 < (~free).mean() < 0.5  # or nothing would be tried
    assert not (shown & ~free).any()
    assert shown[free].mean() > 0.97


@pytest.mark.parametrize(('speed', 'is_free'), [(1.0, True), (4.0, False)])
def test_a_motion_that_turns_round_in_an_obstacle_is_not_shown(speed, is_free):
    """A joint that swings out and back by speed / 10: both ends of its motion are free."""
    robot = ik.load_robot(
        '<robot name="arm"><link name="base"/><link name="arm"><collision><origin xyz=".5 0 0"/>'
        '<geometry><box size="1 .02 .02"/></geometry></collision></link><joint name="j" '
        'type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>'
        '<limit lower="-3" upper="3" velocity="9" effort="1"/></joint></robot>'
    )
    world = ik.World()
    world.add('post', Box((0.1, 0.1, 0.1)), ik.transform(position=(0.8, 0.3, 0.0)))
    clearance = Clearance(Collisions(robot, world))
    clearance._ticks[:2], clearance._q[:2], clearance._dq[:2, 0] = (0, 100), 0.0, (speed, -speed)
    assert (clearance._check(False).find(2, 1.0 / RATE) < 0) is is_free
