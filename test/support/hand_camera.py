# SPDX-License-Identifier: Apache-2.0
"""A camera on the hand that sees an object at rest: its pictures come late, but say of when."""

import numpy as np
from geometry_msgs.msg import PoseStamped

from ik_node.conversions import stamp_of, transform_to_pose
from support.panda_world import TIP, tip_of

CLOSE = 0.001  # [m] So near the tip has to be, after SETTLED, and
SETTLED = 3.0  # [s]
RISE = 0.005  # [m] so much at most may its distance grow after it fell


def stamped(pose, frame, stamp):
    """A goal (4, 4) with a stamp [ns], or a message's."""
    message = PoseStamped(pose=transform_to_pose(pose))
    message.header.frame_id = frame
    message.header.stamp.sec, message.header.stamp.nanosec = divmod(stamp, 10**9)
    return message


def watch(node, robot, target, latency, *, frame=TIP, offset=None, each=lambda state: None):
    """Send what the camera sees for some seconds; distances [m] of the tip, with their times [s].

    latency [s] : age of a picture when it is sent. offset (4, 4) : of the camera in TIP's frame.
    each : called with the newest state, before anything is sent
    """
    publisher = node.publisher(PoseStamped, 'goal_pose')
    offset = np.eye(4) if offset is None else offset
    begin, sent, first = stamp_of(node.states[-1]), 0, len(node.states) - 1

    def look():
        nonlocal sent
        states = node.states
        each(states[-1])
        newest = stamp_of(states[-1])
        then = next((s for s in states[::-1] if stamp_of(s) <= newest - 1e9 * latency), None)
        if then is not None and stamp_of(then) >= sent + 30_000_000:  # 30 pictures a second
            sent = stamp_of(then)
            seen = np.linalg.inv(tip_of(robot, then) @ offset) @ target
            publisher.publish(stamped(seen, frame, sent))
        return newest > begin + 1e9 * (SETTLED + 1.0)

    node.until(look, 'some seconds of pictures')

    def distance(state):
        return np.linalg.norm(tip_of(robot, state)[:3, 3] - target[:3, 3])

    return [(1e-9 * (stamp_of(s) - begin), distance(s)) for s in node.states[first:]]


def check(distances):
    """The tip is there after some seconds, and has never gone away again."""
    late = [distance for time, distance in distances if time > SETTLED]
    assert late
    assert max(late) < CLOSE, f'{max(late):.4f} m off'
    least = np.minimum.accumulate([distance for _, distance in distances])
    rises = [distance for _, distance in distances] - least
    assert rises.max() < RISE, f'it went away by {rises.max():.4f} m'
