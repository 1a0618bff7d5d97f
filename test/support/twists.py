# SPDX-License-Identifier: Apache-2.0
"""Twist commands, as a joystick or MoveIt Servo's clients send them."""

from geometry_msgs.msg import TwistStamped

JOG = 'ik_node/delta_twist_cmds'


def twist(linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0), frame=''):
    """A twist [m/s, rad/s] along the axes of a frame."""
    message = TwistStamped()
    message.header.frame_id = frame
    message.twist.linear.x, message.twist.linear.y, message.twist.linear.z = linear
    message.twist.angular.x, message.twist.angular.y, message.twist.angular.z = angular
    return message


def jog(node, message, condition, what):
    """Send a twist with every joint state until the condition holds."""
    publisher = node.publisher(TwistStamped, JOG)

    def sent_and_so():
        publisher.publish(message)
        node.more_states(1)
        return condition()

    node.until(sent_and_so, what)
