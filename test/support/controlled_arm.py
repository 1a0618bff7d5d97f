# SPDX-License-Identifier: Apache-2.0
"""The Panda behind a controller of ros2_control, which the node gives its commands to."""

import numpy as np
from rclpy.qos import qos_profile_sensor_data
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from support.jtc_simulation import Controller, Trajectory, nanoseconds
from support.panda_world import TIP, panda_world

RATE = 100.0
PERIOD = round(1e9 / RATE)  # ns
ARM = [f'panda_joint{i}' for i in range(1, 8)]
RESTING, CERTAIN = 2, 6  # points of a trajectory: as many rest, as many are of ticks
START = [0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6]


def controlled(output, **parameters):
    """A node whose commands go to a controller."""
    return panda_world(**{'rate': RATE, 'output': output, 'state_timeout': 30.0} | parameters)


class Arm:
    """A robot behind a controller: it goes where it is commanded, and says so when asked to.

    Of a trajectory it takes the points of the ticks, which come before those of the stop, and
    refuses what ros2_control's JointTrajectoryController would. `times` [ns] of what is commanded:
    those of the points, or one tick after the other. A message arrives when it is published,
    however late this process takes it.
    """

    def __init__(self, client, joints, q):
        self.client, self.joints, self.q = client, list(joints), list(q)
        self.refused, self.obeys = [], True
        self.times = []
        node = client.node
        node.create_subscription(JointTrajectory, 'joint_trajectory', self._on_trajectory, 100)
        node.create_subscription(Float64MultiArray, 'commands', self._on_command, 100)
        self._publisher = client.publisher(JointState, 'joint_states', qos_profile_sensor_data)

    def _on_trajectory(self, message, info):
        controller = Controller(PERIOD)
        controller.take(Trajectory.of(message), info['source_timestamp'])
        if controller.refused or sorted(message.joint_names) != sorted(self.joints):
            self.refused.append((controller.refused, message))
            return
        places = [list(message.joint_names).index(joint) for joint in self.joints]
        for point in message.points[RESTING : RESTING + CERTAIN]:
            time = nanoseconds(point.time_from_start)
            if not self.times or time > self.times[-1] + PERIOD // 2:
                self._take(message, [point.positions[place] for place in places], time)

    def _on_command(self, message):
        self._take(message, list(message.data), len(self.times) * PERIOD)

    def _take(self, message, positions, time):
        self.times.append(time)
        if self.obeys:
            self.q = positions
        self.client.inbox.put('commanded', positions)
        self.client.inbox.put('command', message)

    def say(self, **joints):
        """Publish where it is, or what the joints are said to be."""
        positions = joints or dict(zip(self.joints, self.q, strict=True))
        message = JointState(name=list(positions), position=list(map(float, positions.values())))
        self._publisher.publish(message)

    def until(self, condition, what):
        """Keep saying where it is until the condition holds; its value."""

        def said_and_so():
            self.say()
            return condition()

        return self.client.until(said_and_so, what)

    @property
    def commanded(self):
        """Return all commanded positions."""
        return self.client.inbox['commanded']

    def start(self):
        """Say where it is until commands come."""
        self.until(lambda: self.commanded, 'commands')

    def rest(self, count=3):
        """Keep saying where it is for so many further commands; the last of them."""
        before = len(self.commanded)
        self.until(lambda: len(self.commanded) >= before + count, 'further commands')
        return self.commanded[-1]

    def call(self, kind, service, **request):
        """Call a service of the node, keep saying where it is meanwhile, and insist."""
        future = self.client.ask(kind, f'ik_node/{service}', kind.Request(**request))
        self.until(future.done, f'no answer from {service}')
        answer = future.result()
        assert answer.success, answer.message
        return answer


def whole(robot, positions):
    """The whole robot's q with the arm's joints at these positions."""
    q = robot.middle_configuration
    q[:7] = positions
    return q


def arm_is_at(robot, positions, goal):
    """Return whether the tip is at the goal (4, 4) with the arm at these positions."""
    tip = robot.forward_kinematics(whole(robot, positions), TIP)
    return np.allclose(tip, goal, atol=1e-4)
