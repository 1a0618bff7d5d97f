# SPDX-License-Identifier: Apache-2.0
# Move the tip of a running node along a square, in straight lines, and wait at each corner.
# First: ros2 run ik_node ik_node panda --ros-args -p move:=linear      then: python corners_ros.py
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile

CORNERS = [(0.45, -0.1, 0.4), (0.45, 0.1, 0.4), (0.45, 0.1, 0.5), (0.45, -0.1, 0.5)]
status: dict[str, str] = {}


def on_status(message: DiagnosticStatus) -> None:
    global status
    status = {pair.key: pair.value for pair in message.values}


rclpy.init()
node = rclpy.create_node('corners')
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(DiagnosticStatus, 'ik_node/status', on_status, latched)
goals = node.create_publisher(PoseStamped, 'goal_pose', 1)
while not (goals.get_subscription_count() and 'goals_taken' in status):
    rclpy.spin_once(node, timeout_sec=0.1)
for x, y, z in CORNERS:
    goal = PoseStamped()
    goal.header.frame_id = 'panda_link0'
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = x, y, z
    goal.pose.orientation.x, goal.pose.orientation.w = 1.0, 0.0
    before = status['goals_taken']
    goals.publish(goal)
    while status['goals_taken'] == before or status['goal_has_ended'] == 'false':
        rclpy.spin_once(node)
    print((x, y, z), status['code'], flush=True)  # reached, blocked or closest, for example
