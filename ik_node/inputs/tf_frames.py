# SPDX-License-Identifier: Apache-2.0
"""Frames of tf2, if it is installed.

The node subscribes to /tf and /tf_static when it is configured, so the first goal in such a frame
finds transforms that were published before it. Until that goal comes, the messages stay in the
middleware's queues: a robot's own links need no tf2, and /tf may have as many messages as all
other topics together. From then on a background thread reads them, without an executor
(`subscriptions`).

Needs the package tf2_ros, which no other module imports.
"""

from __future__ import annotations

import importlib
import os
import re
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from geometry_msgs.msg import Point, Pose, Transform, TransformStamped
from rclpy.node import Node
from rclpy.serialization import deserialize_message
from rclpy.time import Time

from ik_core.maths.rotations import Array

from ..background_node import background_node
from ..callback_groups import take
from ..conversions import Refused, pose_to_transform
from ..counters import WARNING_PERIOD
from ..texts import MIDDLEWARE_ERRORS, cut, explanation, sentence
from .goal_frames import NotYet, Pending

MISSING = 'tf2_ros, which may know it, is missing'
NOT_ALLOWED = (
    'SROS 2 does not allow this node to listen to /tf; '
    'the part for tf2_ros in config/sros2_policy.xml allows it'
)
# Pattern of rcl's messages on stderr when it can't subscribe.
RCL_COMPLAINT = re.compile(rb'\n?>>> \[rcutils\|.*?<<<\n|invalid allocator[^\n]*\n', re.DOTALL)
# [s] Goals wait for an unknown frame until this time after the first request for any frame,
FIRST_PATIENCE = 2.0
PATIENCE = 0.1  # and until this time after the first request for that frame
# [s] An unknown frame counts as new again when no request has named it for this time.
FORGET_AFTER = 2.0
TAKE_PERIOD = 0.01  # [s] period of reading messages
MOST_AT_ONCE = 100  # messages of a topic read in each period: the length of tf2's queues
LARGEST = 64_000  # largest message [bytes]: several hundred transforms


class TfFrames:
    """The frames of tf2; `lookup` may be called from any thread."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._listener: TfListener | None = None
        self._obstacle = MISSING

    def open(self) -> None:
        """Subscribe to /tf; if that fails, goals in its frames are refused with the reason."""
        try:
            tf2 = importlib.import_module('tf2_ros')
            with rcl_complaints_dropped():
                self._listener = TfListener(tf2, self._node)
        except ImportError:
            self._obstacle = MISSING
        except MIDDLEWARE_ERRORS as error:
            is_secured = os.environ.get('ROS_SECURITY_ENABLE') == 'true'
            reason = f'tf2 can not listen to /tf: {sentence(error)}'
            self._obstacle = NOT_ALLOWED if is_secured else reason
            self._node.get_logger().warning(f'goals in tf frames are refused: {self._obstacle}')

    def lookup(self, target: str, source: str, stamp: int = 0) -> Array:
        """Return the transform (4, 4) from `source` to `target` at a stamp [ns], 0 for the latest.

        Raises Refused, NotYet, or Pending for a frame that may become known soon.
        """
        listener = self._listener
        if listener is None:
            raise Refused('unknown_frame', self._obstacle)
        return listener.lookup(target, source, stamp)

    def close(self) -> None:
        """Unsubscribe, and drop all transforms."""
        listener, self._listener = self._listener, None
        if listener is not None:
            listener.close()

    def renew(self) -> None:
        """Drop all transforms, and subscribe again."""
        self.close()
        self.open()


class TfListener:
    """Reads /tf with a node of its own and, after the first request, a thread of its own.

    Raises the errors of rclpy if it can't subscribe to /tf.
    """

    def __init__(self, tf2: Any, node: Node) -> None:
        self._tf2, self._log, self._clock = tf2, node.get_logger(), node.get_clock()
        self._node = background_node(node, 'tf')
        self._buffer = tf2.Buffer()  # given a node, it would offer the service tf2_frames
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._deadline = 0.0
        # Unknown frames: when they stop being Pending, and when they were last requested [s].
        self._asked: dict[str, tuple[float, float]] = {}
        try:
            # Without its __del__, which fails if its __init__ failed.
            listener = type('Listener', (tf2.TransformListener,), {'__del__': lambda self: None})
            self._tf2_listener = listener(self._buffer, self._node, spin_thread=False)
        except MIDDLEWARE_ERRORS:
            self._node.destroy_node()
            raise

    def lookup(self, target: str, source: str, stamp: int = 0) -> Array:
        """Return the transform (4, 4) from `source` to `target` at a stamp [ns], 0 for the latest.

        Raises Pending for an unknown frame while its message may still come.
        """
        self._start_thread()
        try:
            return _to_matrix(self._transform(target, source, stamp).transform)
        except self._tf2.TransformException as error:
            kind = Pending if self._may_come(source) else Refused
            raise kind('unknown_frame', f'tf2: {error}') from error

    def _transform(self, target: str, source: str, stamp: int) -> TransformStamped:
        """Return the transform of tf2 at a stamp [ns], 0 for the latest.

        Raises NotYet for a stamp after the newest transform, Refused for one before the oldest.
        Static transforms are known at all times.
        """
        find, when = self._buffer.lookup_transform, Time(nanoseconds=stamp)
        try:
            return find(target, source, when)
        except self._tf2.TransformException:
            if stamp == 0:
                raise
            newest = _nanoseconds(find(target, source, Time()).header.stamp)
        if stamp > newest:
            raise NotYet(stamp - newest, f'the last transform of {source}')
        try:
            return find(target, source, when)  # it may have come just now
        except self._tf2.TransformException as error:
            age = 1e-9 * (self._clock.now().nanoseconds - stamp)
            text = f'the stamp is {age:.3f} s old; tf2 does not know {source} then: {error}'
            raise Refused('stamp_too_old', text) from error

    def close(self) -> None:
        """End the thread, and destroy the node."""
        self._stopping.set()
        with self._lock:
            if self._thread is not None:
                self._thread.join()
        self._tf2_listener.unregister()
        self._node.destroy_node()

    def _start_thread(self) -> None:
        """Start the thread, if it does not run."""
        with self._lock:
            if self._thread is None and not self._stopping.is_set():
                self._deadline = time.monotonic() + FIRST_PATIENCE
                self._thread = threading.Thread(target=self._run, name='ik_node_tf', daemon=True)
                self._thread.start()

    def _may_come(self, frame: str) -> bool:
        """Record the request of an unknown frame; return whether it may become known soon."""
        now = time.monotonic()
        with self._lock:
            recent = {k: at for k, at in self._asked.items() if now - at[1] <= FORGET_AFTER}
            until, _ = recent.get(frame, (max(now + PATIENCE, self._deadline), now))
            self._asked = {**recent, frame: (until, now)}
        return now < until

    def _run(self) -> None:
        while True:
            for subscription in self._node.subscriptions:
                for _ in range(MOST_AT_ONCE):
                    if not self._take_message(subscription):
                        break
            if self._stopping.wait(TAKE_PERIOD):
                return

    def _take_message(self, subscription: Any) -> bool:
        """Pass a message to tf2; return False if there is none. Errors are logged."""
        try:
            serialized = take(subscription)
            if serialized is None:
                return False
            if len(serialized) > LARGEST:
                raise Refused('too_large', f'{len(serialized)} bytes; {LARGEST} are allowed')
            subscription.callback(deserialize_message(serialized, subscription.msg_type))
        except Exception as error:
            text = str(error) if isinstance(error, Refused) else explanation(error)
            text = cut(f'{subscription.topic_name}: {text}')
            self._log.warning(text, throttle_duration_sec=WARNING_PERIOD)
        return True


@contextmanager
def rcl_complaints_dropped() -> Iterator[None]:
    """Capture stderr, also of C code, and then write it without the matches of RCL_COMPLAINT."""
    try:
        stderr, held = os.dup(2), tempfile.TemporaryFile()  # noqa: SIM115
    except OSError:  # no stderr, or no temporary file
        yield
        return
    with held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            with suppress(OSError):  # stderr is closed
                os.write(2, RCL_COMPLAINT.sub(b'', held.read()))


def _nanoseconds(stamp: Any) -> int:
    nanoseconds: int = Time.from_msg(stamp).nanoseconds
    return nanoseconds


def _to_matrix(transform: Transform) -> Array:
    """Return the matrix (4, 4) of a transform; Refused if it is not finite."""
    at = transform.translation
    position = Point(x=at.x, y=at.y, z=at.z)
    return pose_to_transform(Pose(position=position, orientation=transform.rotation))
