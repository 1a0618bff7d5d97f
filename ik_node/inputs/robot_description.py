# SPDX-License-Identifier: Apache-2.0
"""The source of the robot: a parameter, a file, or the topic robot_description.

A background thread loads it, with the collisions that it avoids, since both take longer than a
tick. The description in use is published on ~/robot_description, whatever its source, for programs
that display it.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String

from ik_core import IkError, UrdfError
from ik_core.jobs import Job
from ik_core.robot.urdf_filter import MAX_BYTES, text_of

from ..known_collisions import KnownCollisions
from ..outputs.diagnostics import Diagnostics
from ..parameters.node_options import NodeParameters
from ..parameters.store import Parameters
from ..robot_model import LoadedRobot, load_robot, read_description, read_file
from .subscriptions import Inputs

TOPIC = 'robot_description'
IN_FORCE = '~/robot_description'
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
POLL_PERIOD = 0.02  # [s] between checks for the end of the process, while the robot is loaded


class Description:
    """Loads the robot of a node, and another one whenever the topic has another description.

    stopping : ends the process
    on_news : called when loading begins
    collisions : makes the collisions that a robot avoids

    `source` is the URDF of the robot in use, as it was when it was loaded: a file may have changed
    since.
    """

    def __init__(
        self,
        node: Node,
        health: Diagnostics,
        settings: Parameters,
        stopping: threading.Event,
        on_news: Callable[[], None],
        collisions: KnownCollisions,
    ) -> None:
        self._node, self._settings = node, settings
        self._stopping, self._on_news = stopping, on_news
        self._collisions = collisions
        self._input = Inputs(node, health)
        self._in_force = node.create_publisher(String, IN_FORCE, LATCHED)
        self._loading: Job[tuple[LoadedRobot, str | bytes]] | None = None
        self._latest: str | Path = ''
        self.source: str | bytes = ''

    def open(self, parameters: NodeParameters) -> LoadedRobot | None:
        """Load and return the robot of the parameters; without one, subscribe and return None.

        Raises IkError if it can't be loaded, or if the process ends meanwhile.
        """
        source, log = read_description(parameters), self._node.get_logger()
        if source is None:
            self._input.listen(String, TOPIC, self._on_description, LATCHED, MAX_BYTES)
            log.info(f'waiting for a robot on the topic {TOPIC}')
            return None
        log.info('loading the robot')
        self._load(source, parameters)
        return self._wait()

    def close(self) -> None:
        """Unsubscribe, and drop a robot that is being loaded."""
        self._input.close()
        self._loading, self._latest = None, ''
        self._set_source('')

    def poll(self) -> None:
        """Handle the received messages."""
        self._input.poll()

    @property
    def is_loading(self) -> bool:
        """True if a robot is being loaded, or is loaded and not in use yet."""
        return self._loading is not None

    def loaded(self) -> LoadedRobot | None:
        """Return the loaded robot; None while there is none. Raises the errors of loading."""
        done = self._loading is not None and self._loading.done
        return self._loading.result()[0] if self._loading and done else None

    def taken(self, accepted: bool) -> None:
        """Handle the outcome of loading a robot: publish its description if it was accepted."""
        loading, self._loading = self._loading, None
        if accepted and loading is not None:
            self._set_source(loading.result()[1])

    def _set_source(self, source: str | bytes) -> None:
        if source != self.source:
            self.source = source
            self._in_force.publish(String(data=text_of(source)))

    def _load(self, source: str | Path, parameters: NodeParameters) -> None:
        def load() -> tuple[LoadedRobot, str | bytes]:
            text = read_file(source) if isinstance(source, Path) else source
            try:
                return load_robot(text, parameters, self._collisions), text
            except UrdfError as error:
                file = f'{source}: ' if isinstance(source, Path) else ''
                raise UrdfError(f'{file}{error}') from None

        self._latest = source
        self._loading = Job(load)

    def _wait(self) -> LoadedRobot | None:
        while self._loading and not self._loading.wait(POLL_PERIOD):
            if self._stopping.is_set():
                raise IkError('stopped while loading the robot')
        return self.loaded()

    def _on_description(self, message: String) -> None:
        if message.data != self._latest:
            self._load(message.data, self._settings.take())
            self._on_news()
