# SPDX-License-Identifier: Apache-2.0
# Goals for fewer than six joints: python few_joints.py
import ik_core as ik

# Five joints: the last one of a UR5e stays where it is.
robot, tip, frozen = ik.load_robot('ur5e'), 'tool0', ['wrist_3_joint']
joints = len(robot.chain(tip)) - len(frozen)
place, rpy = [0.4, 0.2, 0.4], [3.1, 0.05, 0.5]

goals = {
    # A pose that these joints can't give: both position and orientation are missed.
    'pose': ik.PoseTask(tip, place, rpy=rpy),
    # The position first, and as near to the orientation as it can then.
    'position first': ik.PoseTask.for_joints(joints, tip, position=place, rpy=rpy),
    # The tool's z axis points down; the roll about it is free.
    'axis': ik.PositionAxisTask(tip, place, axis=[0, 0, 1], direction=[0, 0, -1]),
}
for name, goal in goals.items():
    result = ik.solve(ik.IkProblem(robot, [goal], frozen_joints=frozen))
    print(f'{name}: {result.message}')
