# SPDX-License-Identifier: Apache-2.0
"""The process of the node: start, spin until a signal, come to rest and end."""

from __future__ import annotations

import signal
import socket
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import rclpy
from rclpy.exceptions import InvalidParameterTypeException
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from ik_core.ending import end_process
from ik_core.exceptions import InvalidOption

from .node import IkNode
from .texts import MIDDLEWARE_ERRORS, explanation, sentence
from .ticker import SWITCH_INTERVAL

# [s] Longest wait of the executor: work that becomes ready just as it begins to wait may not wake
# it.
LONGEST_WAIT = 5.0


def run(args: list[str] | None, stopping: threading.Event) -> int:
    """Run the node until `stopping` is set, and end the process.

    The exit code is 0, or 1 if the node can't start. Returns 2 for bad arguments.
    """
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
        node = IkNode(stopping)
    except (InvalidOption, InvalidParameterTypeException, *MIDDLEWARE_ERRORS) as error:
        print(f'ik_node: {sentence(error)}', file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    started = _spin(node, stopping)
    node.destroy_node()
    rclpy.try_shutdown()
    return end_process(0 if started or stopping.is_set() else 1)


def _spin(node: IkNode, stopping: threading.Event) -> bool:
    """Spin until `stopping` is set; return False if the node could not start."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        with _woken_by_signals(executor):
            if not node.autostart():
                return False
            while not stopping.is_set():
                _spin_once(executor, node)
            node.finish()
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown()
    return True


@contextmanager
def _woken_by_signals(executor: SingleThreadedExecutor) -> Iterator[None]:
    """Wake the executor at each signal.

    Python runs signal handlers between two bytecodes, and a waiting executor runs none. A wait
    with a short timeout would do, but after each timeout the executor asks all entities of the
    node, and keeps the interpreter from a tick meanwhile.
    """
    ours, theirs = socket.socketpair()

    def wake() -> None:
        while ours.recv(1):
            with suppress(Exception):  # the executor may be shut down
                executor.create_task(lambda: None)

    thread = threading.Thread(target=wake, name='ik_node_signals', daemon=True)
    theirs.setblocking(False)
    with ours:
        signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
        thread.start()
        try:
            yield
        finally:
            signal.set_wakeup_fd(-1)
            theirs.close()
            thread.join()


def _spin_once(executor: SingleThreadedExecutor, node: IkNode) -> None:
    """Spin once, and pass the exception of a callback to the node."""
    try:
        executor.spin_once(timeout_sec=LONGEST_WAIT)
    except ExternalShutdownException:
        raise
    except Exception as error:
        node.failed(explanation(error))
