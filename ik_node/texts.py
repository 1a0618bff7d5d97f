# SPDX-License-Identifier: Apache-2.0
"""Texts for the log: what others wrote is cut, and errors are one sentence where they can be."""

from __future__ import annotations

import re
import traceback

from rclpy.exceptions import NameValidationException
from rclpy.impl.implementation_singleton import rclpy_implementation

from ik_core import IkError

LONGEST = 600  # characters that are shown of a sentence,
LONGEST_TRACEBACK = 6000  # longest traceback that is shown
# The promise of joint_state and position_command, and when to use them.
EVERY_MESSAGE = (
    'the limits hold from message to message, not from update to update of a controller that '
    'executes each message on arrival; it is for drivers that interpolate, for visualisation and '
    'for simulation'
)
# Errors of rclpy when a publisher, a subscription, a service or a node can't be made.
MIDDLEWARE_ERRORS = (
    rclpy_implementation.RCLError,
    rclpy_implementation.RMWError,
    rclpy_implementation.UnknownROSArgsError,
    NameValidationException,
)
SOURCE_LINE = re.compile(r',? at \S+:\d+')


def cut(text: str, longest: int = LONGEST) -> str:
    """The beginning and the end of a text that is longer than so many characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f'{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}'


def sentence(error: BaseException) -> str:
    """The text of an error, without the lines of the middleware's sources."""
    text = ' '.join(SOURCE_LINE.sub('', str(error)).split())
    return cut(text.removesuffix(': invalid allocator'))  # rcl says that of every subscription


def explanation(error: BaseException) -> str:
    """A sentence for what is foreseen, otherwise the traceback."""
    if isinstance(error, (IkError, *MIDDLEWARE_ERRORS)):
        return sentence(error)
    return cut(''.join(traceback.format_exception(error)), LONGEST_TRACEBACK)
