# SPDX-License-Identifier: Apache-2.0
"""Trackers of one arm with a clock that stands still, and what their tests ask of them."""

import numpy as np
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from support.robots import random_q, shipped, tip_of

PERIOD = 0.005


def new_tracker(name='panda', seed=0, acceleration=20.0, **options):
    """A tracker of a robot, away from singularities."""
    robot = shipped(name)
    limits = MotionLimits.of(robot, acceleration=acceleration)
    for attempt in range(seed, seed + 100):
        tracker = Tracker(
            ik.IkProblem(robot, [ik.PoseTask(tip_of(robot))]), 1.0 / PERIOD, limits=limits,
            q0=random_q(robot, np.random.default_rng(attempt), 0.2), clock=lambda: 0.0,
            options=TrackerOptions(**options),
        )  # fmt: skip
        if tracker.condition_number() < 10.0:
            return tracker
    raise AssertionError('no such configuration')


def pose(tracker, q=None):
    robot = shipped_of(tracker)
    return robot.forward_kinematics(tracker.q if q is None else q, tip_of(robot))


def shipped_of(tracker):
    return tracker._robot


def moved(transform, shift, turn=(0.0, 0.0, 0.0)):
    result = transform.copy()
    result[:3, 3] += shift
    result[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ result[:3, :3]
    return result


def ticks(tracker, start, count):
    """Commands of so many ticks from the tick with number `start` on."""
    return [tracker.tick(PERIOD * k) for k in range(start, start + count)]
