# SPDX-License-Identifier: Apache-2.0
# Map the reach of a hand in voxels: python reach_map.py
import ik_core as ik

robot = ik.load_robot('ur5e')
made = ik.reachability.reachability_map(
    robot,
    'tool0',
    step=0.15,  # [m] coarse; `ik reach` makes finer maps and draws them
    box=((-1.05, -1.05, 0.15), (1.05, 1.05, 0.15)),  # a slice; by default the whole reach
    restarts=20,
)
print(made)
for row in made.reached[::-1, :, 0]:  # x upwards, y to the right
    print(' '.join('#' if reached else '.' for reached in row))
