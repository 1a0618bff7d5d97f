# SPDX-License-Identifier: Apache-2.0
# Move the tip of a running node along a square, in straight lines, and wait at each corner.
# First: ros2 run ik_node ik_node panda --ros-args -p move:=linear      then: python corners_ros.py
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.qos import DurabilityPolicy, QoSProfile

CORNERS = [(0.45, -0.1, 0.4), (0.45, 0.1, 0.4), (0.45, 0.1, 0.5), (0.45, -0.1, 0.5)]
code = ''


def on_status(message: DiagnosticStatus) -> None:
    global code
    code = {pair.key: pair.value for pair in message.values}['code']


rclpy.init()
node = rclpy.create_node('corners')
latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
node.create_subscription(DiagnosticStatus, 'ik_node/status', on_status, latched)
goals = node.create_publisher(PoseStamped, 'goal_pose', 1)
while not (goals.get_subscription_count() and code):
    rclpy.spin_once(node, timeout_sec=0.1)
for x, y, z in CORNERS:
    goal = PoseStamped()
    goal.header.frame_id = 'panda_link0'
    goal.pose.position.x, goal.pose.position.y, goal.pose.position.z = x, y, z
    goal.pose.orientation.x, goal.pose.orientation.w = 1.0, 0.0
    goals.publish(goal)
    while code not in ('tracking', 'searching'):  # until the motion begins
        rclpy.spin_once(node)
    while code in ('tracking', 'searching'):  # until it ends: reached, blocked or closest
        rclpy.spin_once(node)
    print((x, y, z), code, flush=True)
