# SPDX-License-Identifier: Apache-2.0
"""Plays a trace to another package for teleoperation, as its page or its examples say.

    python teleop_worker.py PEER TRACE.npz COMMANDS.npz

Runs in an environment with the peer and without this project. TRACE.npz has the `urdf`, its `base`
and `tip`, the names of the `joints`, q (n,), `ticks` (N,) [s], and for each sample in the order of
arrival `arrivals`, `stamps` [s], `poses` (M, 4, 4) and `engaged`. COMMANDS.npz gets q (N, n) and
the processor time [s].
"""

from __future__ import annotations

import sys
import time
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

MAX_SPEED = 3.0  # [rad/s]
Array = NDArray[np.float64]


class Method(Protocol):
    """Follows the hand of a trace."""

    def push(self, pose: Array, stamp: float, engaged: bool, arrival: float) -> None:
        """Take a sample: a pose (4, 4), and when it was made and came [s]."""

    def step(self, now: float) -> Array:
        """Return what the joints (n,) [rad] are sent to."""


class Ssik:
    """ssik's Tracker with its Clutch."""

    def __init__(self, given: Any) -> None:
        import ssik
        from ssik.teleop import Clutch

        urdf, base, tip = (str(given[name]) for name in ('urdf', 'base', 'tip'))
        self.arm = ssik.Manipulator.from_urdf(urdf, base=base, ee=tip)
        self.tracker = self.arm.tracker(given['q'], max_joint_speed=MAX_SPEED)
        self.clutch, self.newest = Clutch(), -np.inf
        self.arm.solve(self.arm.fk(given['q']))  # whatever is only done once

    def push(self, pose: Array, stamp: float, engaged: bool, arrival: float) -> None:
        if not engaged:
            self.clutch.release()
        elif not self.clutch.engaged:
            self.clutch.engage(pose, self.arm.fk(self.tracker.q))
        target = self.clutch.target(pose)
        if target is not None and stamp >= self.newest:
            self.tracker.update(target, float(stamp))
        self.newest = max(self.newest, stamp)

    def step(self, now: float) -> Array:
        return np.array(self.tracker.q)


class Teleopro:
    """teleopro-core's Teleop, whose targets go through lerobot's step with inverse kinematics.

    Its own limits of speed are those of `ik.teleop.HandOptions`; lerobot has none for joints.
    """

    def __init__(self, given: Any) -> None:
        from lerobot.model.kinematics import RobotKinematics
        from lerobot.processor.converters import create_transition
        from lerobot.robots.so_follower.robot_kinematic_processor import (
            InverseKinematicsEEToJoints,
        )
        from teleopro_core.teleop import Teleop

        self.names = [str(name) for name in given['joints']]
        self.kinematics = RobotKinematics(str(given['urdf']), str(given['tip']), self.names)
        self.inverse = InverseKinematicsEEToJoints(self.kinematics, self.names)
        self.transition = create_transition
        self.teleop = Teleop(max_lin_vel=1.0, max_ang_vel=4.0)
        self.q = np.degrees(given['q'])
        self.pose: Array | None = None
        self.arrival: float | None = None

    def push(self, pose: Array, stamp: float, engaged: bool, arrival: float) -> None:
        if engaged:
            self.teleop.engage()
        else:
            self.teleop.disengage()
        self.pose, self.arrival = pose, float(arrival)

    def step(self, now: float) -> Array:
        at = self.kinematics.forward_kinematics(self.q)
        target = self.teleop.update(now, self.pose, at, self.arrival)
        if target is not None:
            self.q = self._joints(target)
        return np.radians(self.q)

    def _joints(self, target: Array) -> Array:
        from lerobot.utils.rotation import Rotation

        turn = Rotation.from_matrix(target[:3, :3]).as_rotvec()
        names = ('x', 'y', 'z', 'wx', 'wy', 'wz', 'gripper_pos')
        values = [*target[:3, 3].tolist(), *turn.tolist(), float(self.q[-1])]
        action = {f'ee.{name}': value for name, value in zip(names, values, strict=True)}
        motors = zip(self.names, self.q.tolist(), strict=True)
        seen = {f'{name}.pos': angle for name, angle in motors}
        done = self.inverse(self.transition(observation=seen, action=action))
        return np.array([done['action'][f'{name}.pos'] for name in self.names])


PEERS: dict[str, Any] = {'ssik': Ssik, 'teleopro-core': Teleopro}


def main(peer: str, trace: str, commands: str) -> None:
    """Read a trace, and write what the joints are sent to."""
    given = np.load(trace)
    method: Method = PEERS[peer](given)
    arrivals, poses = given['arrivals'], given['poses']
    stamps, engaged = given['stamps'], given['engaged']
    sent, number, begun = [], 0, time.process_time()
    for now in given['ticks']:
        while number < len(arrivals) and arrivals[number] <= now:
            method.push(poses[number], stamps[number], engaged[number], arrivals[number])
            number += 1
        sent.append(method.step(float(now)))
    np.savez(commands, q=np.array(sent), seconds=time.process_time() - begun)


if __name__ == '__main__':
    main(*sys.argv[1:])
