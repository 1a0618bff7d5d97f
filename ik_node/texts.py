# SPDX-License-Identifier: Apache-2.0
"""Texts for the log: long texts of other programs are cut, expected errors take one sentence."""

from __future__ import annotations

import re
import traceback

from rclpy.exceptions import NameValidationException
from rclpy.impl.implementation_singleton import rclpy_implementation

from ik_core import IkError

LONGEST = 600  # longest sentence that is shown whole
LONGEST_TRACEBACK = 6000  # longest traceback that is shown
# The guarantee of the outputs joint_state and position_command, and their use.
EVERY_MESSAGE = (
    'the limits hold from message to message, not from update to update of a controller that '
    'executes each message on arrival; it is for drivers that interpolate, for visualisation and '
    'for simulation'
)
# rclpy raises these if a publisher, a subscription, a service or a node can't be made.
MIDDLEWARE_ERRORS = (
    rclpy_implementation.RCLError,
    rclpy_implementation.RMWError,
    rclpy_implementation.UnknownROSArgsError,
    NameValidationException,
)
SOURCE_LINE = re.compile(r',? at \S+:\d+')


def cut(text: str, longest: int = LONGEST) -> str:
    """Return the text, without its middle if it has more than `longest` characters."""
    if len(text) <= longest:
        return text
    half = longest // 2
    return f'{text[:half]} ... ({len(text) - 2 * half} characters) ... {text[-half:]}'


def sentence(error: BaseException) -> str:
    """Return the text of an error, without the middleware's source lines."""
    text = ' '.join(SOURCE_LINE.sub('', str(error)).split())
    return cut(text.removesuffix(': invalid allocator'))  # rcl adds that to any error


def explanation(error: BaseException) -> str:
    """Return a sentence for expected errors, else the traceback."""
    if isinstance(error, (IkError, *MIDDLEWARE_ERRORS)):
        return sentence(error)
    return cut(''.join(traceback.format_exception(error)), LONGEST_TRACEBACK)
