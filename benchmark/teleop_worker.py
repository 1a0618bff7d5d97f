# SPDX-License-Identifier: Apache-2.0
"""Plays a trace to ssik's Clutch and Tracker, as its page on teleoperation says.

    python teleop_worker.py TRACE.npz COMMANDS.npz

Runs in an environment with ssik and without this project. TRACE.npz has the `urdf`, its `base` and
`tip`, q (n,), `ticks` (N,) [s], and for each sample in the order of arrival `arrivals`, `stamps`
[s], `poses` (M, 4, 4) and `engaged`. COMMANDS.npz gets q (N, n) and the processor time [s].
"""

import sys
import time

import numpy as np
import ssik
from ssik.teleop import Clutch

MAX_SPEED = 3.0  # [rad/s]


def main(trace: str, commands: str) -> None:
    """Read a trace, and write what the joints are sent to."""
    given = np.load(trace)
    arm = ssik.Manipulator.from_urdf(
        str(given['urdf']), base=str(given['base']), ee=str(given['tip'])
    )
    tracker, clutch = arm.tracker(given['q'], max_joint_speed=MAX_SPEED), Clutch()
    arm.solve(arm.fk(given['q']))  # whatever is only done once
    arrivals, stamps, poses = given['arrivals'], given['stamps'], given['poses']
    engaged = given['engaged']
    sent, number, begun = [], 0, time.process_time()
    for now in given['ticks']:
        while number < len(arrivals) and arrivals[number] <= now:
            if not engaged[number]:
                clutch.release()
            elif not clutch.engaged:
                clutch.engage(poses[number], arm.fk(tracker.q))
            target = clutch.target(poses[number])
            if target is not None and (number == 0 or stamps[number] >= stamps[:number].max()):
                tracker.update(target, float(stamps[number]))
            number += 1
        sent.append(np.array(tracker.q))
    np.savez(commands, q=np.array(sent), seconds=time.process_time() - begun)


if __name__ == '__main__':
    main(*sys.argv[1:])
