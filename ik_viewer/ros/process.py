# SPDX-License-Identifier: Apache-2.0
"""ROS in the process of a program: its arguments, initialization and shutdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import rclpy
from rclpy.exceptions import NameValidationException
from rclpy.impl.implementation_singleton import rclpy_implementation
from rclpy.signals import SignalHandlerOptions
from rclpy.utilities import remove_ros_args

from ik_core.exceptions import InvalidOption

REFUSED = (
    NameValidationException,
    rclpy_implementation.RCLError,
    rclpy_implementation.UnknownROSArgsError,
)


def own_arguments(arguments: Sequence[str]) -> list[str]:
    """Return the arguments that are not ROS's."""
    return list(remove_ros_args(list(arguments)))


@contextmanager
def running_ros(arguments: Sequence[str]) -> Iterator[None]:
    """Initialize ROS with the arguments of a process, without signal handlers; shut it down after.

    Raises InvalidOption for arguments and names that ROS refuses.
    """
    try:
        rclpy.init(args=list(arguments), signal_handler_options=SignalHandlerOptions.NO)
        yield
    except REFUSED as error:
        raise InvalidOption(' '.join(str(error).split())) from error
    finally:
        rclpy.try_shutdown()
