# SPDX-License-Identifier: Apache-2.0
# Goals for a part of the pose: a pen, a tray, a height: python free_roll.py
import numpy as np

import ik_core as ik

robot, tip = ik.load_robot('panda'), 'panda_hand_tcp'
place = [0.45, 0.1, 0.3]

parts: dict[str, list[ik.tasks.Task]] = {
    # A pen points down; the rotation about its axis is free.
    'pen': [ik.PositionTask(tip, place), ik.AxisTask(tip, axis=[0, 0, 1], direction=[0, 0, -1])],
    # A tray stays level within 5 degrees, anywhere in a box of 20 x 20 x 10 cm.
    'tray': [
        ik.PositionTask(tip, place, box=[0.1, 0.1, 0.05]),
        ik.AxisTask(tip, axis=[0, 0, 1], direction=[0, 0, -1], cone=np.radians(5)),
    ],
    # Only the height counts.
    'height': [ik.PositionTask(tip, place, weights=[0, 0, 1])],
}
for name, goals in parts.items():
    result = ik.solve(ik.IkProblem(robot, goals))
    print(name, result.status.name, robot.forward_kinematics(result.q, tip)[:3, 3].round(3))
