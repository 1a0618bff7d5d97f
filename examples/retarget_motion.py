# SPDX-License-Identifier: Apache-2.0
# Transfer the motion of an arm to another with other proportions: python retarget_motion.py
import numpy as np

import ik_core as ik

panda, iiwa = ik.load_robot('panda'), ik.load_robot('iiwa14')
phase = np.linspace(0, 6, 60)[:, np.newaxis] + np.arange(panda.n)
wave = panda.middle_configuration + 0.3 * np.sin(phase) * (np.arange(panda.n) < 7)
motion = ik.motion.Motion(panda.joint_names, wave, period=1 / 30)
made = ik.retargeting.retarget(
    motion,
    iiwa,
    {'panda_hand_tcp': 'iiwa_link_ee'},  # the iiwa's link follows the path of the Panda's
    source=panda,
    joints={f'panda_joint{i}': f'iiwa_joint_{i}' for i in range(1, 8)},
    scale='length',
)
print(f'{1e3 * made.link_errors.max():.2f} mm from the path at most, {len(made.motion)} frames')
ik.motion.save_motion(made.motion, 'iiwa.csv')
