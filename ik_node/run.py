"""The process of the node: start, spin until a signal, end at rest."""

from __future__ import annotations

import os
import signal
import sys
import threading
from types import FrameType

import rclpy
from rclpy.executors import ExternalShutdownException, SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions

from ik_core.exceptions import InvalidOption

from .node import IkNode
from .ticker import SWITCH_INTERVAL

SIGNAL_PERIOD = 0.25
"""[s] How often signals are looked for: Python can't while the executor waits."""


def run(args: list[str] | None = None) -> int:
    """Run the node until SIGINT or SIGTERM; 0 then, 1 if it can't start, 2 for bad parameters."""
    sys.setswitchinterval(SWITCH_INTERVAL)
    stopping = threading.Event()
    _stop_on_signals(stopping)
    rclpy.init(args=args, signal_handler_options=SignalHandlerOptions.NO)
    try:
        node = IkNode(stopping)
    except InvalidOption as error:
        print(f'ik_node: {error}', file=sys.stderr)
        rclpy.try_shutdown()
        return 2
    started = _spin(node, stopping)
    busy = node.busy
    node.destroy_node()
    rclpy.try_shutdown()
    code = 0 if started or stopping.is_set() else 1
    if busy:  # a compiler in a thread would keep the interpreter from ending
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(code)
    return code


def _stop_on_signals(stopping: threading.Event) -> None:
    """Set `stopping` at SIGINT or SIGTERM; more of them change nothing: stopping ends soon.

    rclpy's own handlers would end the context first, so that the joints could not come to rest.
    """

    def stop(number: int, frame: FrameType | None) -> None:
        stopping.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)


def _spin(node: IkNode, stopping: threading.Event) -> bool:
    """Spin until `stopping`; false when the node could not start."""
    executor = SingleThreadedExecutor()
    executor.add_node(node)
    try:
        if not node.autostart():
            return False
        while not stopping.is_set():
            executor.spin_once(timeout_sec=SIGNAL_PERIOD)
        node.finish()
    except ExternalShutdownException:
        pass
    finally:
        executor.shutdown()
    return True
