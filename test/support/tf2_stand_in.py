# SPDX-License-Identifier: Apache-2.0
"""The part of tf2_ros that the node uses, over topics of geometry_msgs/TransformStamped.

Kept to what tf2 does (tf2/src/cache.cpp, buffer_core.cpp): a frame with moving transforms keeps
those of the last 10 s and interpolates between them, a fixed frame is the same at all times, and
nothing is extrapolated. At time 0 it gives the latest transform that all frames of the way have,
and says in its header of when that is. It raises at once, since it is asked without a timeout.
"""

import bisect
import itertools
import threading

import numpy as np
from geometry_msgs.msg import TransformStamped
from rclpy.node import Node
from rclpy.time import Time

CACHE_TIME = 10_000_000_000  # [ns] As tf2's by default
MOVING, FIXED = 'tf_of_this_test', 'tf_static_of_this_test'  # In place of /tf and /tf_static


class TransformException(Exception):
    pass


class LookupException(TransformException):
    pass


class ConnectivityException(TransformException):
    pass


class ExtrapolationException(TransformException):
    pass


def unpacked(transform):
    t, r = transform.translation, transform.rotation
    return np.array([t.x, t.y, t.z]), np.array([r.x, r.y, r.z, r.w])


def between(first, second, share):
    """A translation and a quaternion between two others."""
    a, b = first[1], second[1]
    cosine = float(a @ b)
    b, cosine = (b, cosine) if cosine >= 0.0 else (-b, -cosine)
    angle = np.arccos(min(cosine, 1.0))
    if angle < 1e-9:
        rotation = (1 - share) * a + share * b
    else:
        rotation = np.sin((1 - share) * angle) * a + np.sin(share * angle) * b
    rotation = rotation / np.linalg.norm(rotation)
    return (1 - share) * first[0] + share * second[0], rotation


def matrix(translation, rotation):
    x, y, z, w = rotation
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w), translation[0]],
        [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w), translation[1]],
        [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y), translation[2]],
        [0, 0, 0, 1],
    ])  # fmt: skip


class Cache:
    """The transforms of a frame that moves, by time."""

    def __init__(self):
        self.times, self.transforms, self.parents = [], [], []

    def insert(self, time, parent, transform):
        if self.times and time < self.times[-1] - CACHE_TIME:
            return
        k = bisect.bisect_right(self.times, time)
        self.times.insert(k, time)
        self.transforms.insert(k, transform)
        self.parents.insert(k, parent)
        while self.times[0] + CACHE_TIME < self.times[-1]:
            del self.times[0], self.transforms[0], self.parents[0]

    @property
    def latest(self):
        return self.times[-1]

    def at(self, time):
        """The parent and the (4, 4) transform at a time; ExtrapolationException outside."""
        times = self.times
        if len(times) == 1 and time != times[0]:
            raise ExtrapolationException(f'only time {times[0]} is in the buffer')
        if time > times[-1]:
            raise ExtrapolationException(f'into the future: the latest data is at {times[-1]}')
        if time < times[0]:
            raise ExtrapolationException(f'into the past: the earliest data is at {times[0]}')
        k = bisect.bisect_left(times, time)
        if times[k] == time:
            return self.parents[k], matrix(*self.transforms[k])
        share = (time - times[k - 1]) / (times[k] - times[k - 1])
        found = between(self.transforms[k - 1], self.transforms[k], share)
        return self.parents[k - 1], matrix(*found)


class Fixed:
    """The transform of a frame that does not move."""

    latest = None

    def __init__(self, parent, transform):
        self.found = parent, matrix(*transform)

    def at(self, time):
        return self.found


class Buffer:
    def __init__(self, cache_time=None, node=None):
        assert node is None, 'tf2_ros would leave a service on it'
        self.frames = {}
        self.names = set()
        self.lock = threading.RLock()  # tf2's buffer has one too: any thread may use it

    def set_transform(self, message, authority='', is_static=False):
        with self.lock:
            self._set_transform(message, is_static)

    def _set_transform(self, message, is_static):
        name, parent = message.child_frame_id, message.header.frame_id
        self.names |= {name, parent}
        transform = unpacked(message.transform)
        if is_static:
            self.frames[name] = Fixed(parent, transform)
            return
        if not isinstance(self.frames.get(name), Cache):
            self.frames[name] = Cache()
        time = Time.from_msg(message.header.stamp).nanoseconds
        self.frames[name].insert(time, parent, transform)

    def way_up(self, frame, time):
        """Names from a frame to its root, and the transforms (4, 4) to it."""
        yield frame, np.eye(4)
        result = np.eye(4)
        while frame in list(self.frames):
            cache = self.frames[frame]
            frame, step = cache.at(cache.latest if time == 0 else time)
            result = step @ result
            yield frame, result

    def latest_common_time(self, *frames):
        """The latest time that all moving frames on the ways have; 0 where none moves."""
        ways = [[name for name, _ in self.way_up(frame, 0)] for frame in frames]
        common = next((name for name in ways[0] if name in ways[1]), None)
        moving = [
            self.frames[name].latest
            for way in ways
            for name in itertools.takewhile(lambda name: name != common, way)
            if isinstance(self.frames.get(name), Cache)
        ]
        return min(moving, default=0)

    def lookup_transform(self, target_frame, source_frame, time, timeout=None):
        assert isinstance(time, Time)
        assert timeout is None, 'the node must never wait'
        with self.lock:
            return self._lookup(target_frame, source_frame, time)

    def _lookup(self, target_frame, source_frame, time):
        for name in (target_frame, source_frame):
            if name not in self.names:
                raise LookupException(f'{source_frame} is not connected to {target_frame}')
        when = time.nanoseconds or self.latest_common_time(target_frame, source_frame)
        ways = [list(self.way_up(frame, when)) for frame in (target_frame, source_frame)]
        target, source = map(dict, ways)
        common = next((name for name, _ in ways[0] if name in source), None)
        if common is None:
            raise ConnectivityException(f'{source_frame} is not connected to {target_frame}')
        found = np.linalg.inv(target[common]) @ source[common]
        answer = TransformStamped()
        answer.header.frame_id, answer.child_frame_id = target_frame, source_frame
        answer.header.stamp = Time(nanoseconds=when).to_msg()
        translation, rotation = answer.transform.translation, answer.transform.rotation
        translation.x, translation.y, translation.z = found[:3, 3].tolist()
        w = 0.5 * np.sqrt(1 + np.trace(found[:3, :3]))  # turns by less than 180 degrees here
        rotation.w = float(w)
        rotation.x = float((found[2, 1] - found[1, 2]) / (4 * w))
        rotation.y = float((found[0, 2] - found[2, 0]) / (4 * w))
        rotation.z = float((found[1, 0] - found[0, 1]) / (4 * w))
        return answer


class TransformListener:
    def __init__(self, buffer, node, *, spin_thread=False, qos=None, static_qos=None):
        assert isinstance(node, Node)
        assert not spin_thread, 'the node spins itself'
        self.node = node
        self.subscriptions = [
            node.create_subscription(
                TransformStamped,
                topic,
                lambda message, is_static=is_static: buffer.set_transform(
                    message, 'default_authority', is_static
                ),
                100,
            )
            for topic, is_static in ((MOVING, False), (FIXED, True))
        ]

    def __del__(self):
        self.unregister()

    def unregister(self):
        for subscription in self.subscriptions:
            self.node.destroy_subscription(subscription)
