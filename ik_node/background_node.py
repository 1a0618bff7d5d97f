# SPDX-License-Identifier: Apache-2.0
"""Helper nodes for background threads, so that their work delays no tick."""

from __future__ import annotations

import threading
from collections.abc import Callable

from rclpy.executors import ExternalShutdownException, ShutdownException, SingleThreadedExecutor
from rclpy.node import Node
from rclpy.parameter import Parameter

from .texts import MIDDLEWARE_ERRORS, sentence

# Creates the entities of a node, and returns what is called after each wait for a message.
SetUp = Callable[[Node], Callable[[], None] | None]


def background_node(node: Node, suffix: str) -> Node:
    """Make a bare node named `<name>_<suffix>`, in the same namespace and context.

    It has no parameter services and no log topic, and uses the system's clock. Raises the errors
    of rclpy if the node can't be made.
    """
    name = f'{node.get_name()}_{suffix}'
    return Node(
        name,
        namespace=node.get_namespace(),
        context=node.context,
        cli_args=['--ros-args', '-r', f'__node:={name}'],  # not the main node's
        start_parameter_services=False,
        enable_rosout=False,
        parameter_overrides=[
            Parameter('use_sim_time', value=False),
            Parameter('start_type_description_service', value=False),
        ],
    )


class BackgroundThread:
    """A thread that handles the messages of a node `<name>_<suffix>`, from `open` to `close`.

    `stopping` is set once the thread is to end.
    """

    def __init__(self, node: Node, suffix: str) -> None:
        self._node, self._suffix = node, suffix
        self._thread: threading.Thread | None = None
        self.stopping = threading.Event()

    @property
    def is_open(self) -> bool:
        """Whether the thread was started, and not closed since."""
        return self._thread is not None

    def open(self, set_up: SetUp, failed: Callable[[str], None], period: float) -> None:
        """Start the thread. It calls `failed` with the reason where rclpy raises an error.

        period [s] : longest wait for a message
        """
        self.stopping = threading.Event()
        self._thread = threading.Thread(
            target=self._serve,
            args=(set_up, failed, period, self.stopping),
            name=f'ik_node_{self._suffix}',
            daemon=True,
        )
        self._thread.start()

    def close(self) -> None:
        """End the thread, and destroy its node."""
        if self._thread is not None:
            self.stopping.set()
            self._thread.join()
            self._thread = None

    def _serve(
        self,
        set_up: SetUp,
        failed: Callable[[str], None],
        period: float,
        stopping: threading.Event,
    ) -> None:
        try:
            node = background_node(self._node, self._suffix)
            try:
                _spin(node, set_up(node), period, stopping)
            finally:
                node.destroy_node()
        except MIDDLEWARE_ERRORS as error:
            failed(sentence(error))


def _spin(
    node: Node, poll: Callable[[], None] | None, period: float, stopping: threading.Event
) -> None:
    executor = SingleThreadedExecutor(context=node.context)
    executor.add_node(node)
    try:
        while not stopping.is_set():
            executor.spin_once(timeout_sec=period)
            if poll is not None:
                poll()
    except (ExternalShutdownException, ShutdownException):
        pass
    finally:
        executor.shutdown()
