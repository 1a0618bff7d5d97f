# SPDX-License-Identifier: Apache-2.0
"""The errors that `ik_core` raises. A goal that is not reached is a status, not an error."""


class IkError(Exception):
    """Base of all errors of this package."""


class UrdfError(IkError, ValueError):
    """A robot description that can't be used; the message names the element."""


class MeshError(IkError, ValueError):
    """A mesh file that can't be used; the message completes a sentence about the file."""


class MocapError(IkError, ValueError):
    """A motion capture file that can't be used; the message names the file and the line."""


class FrameNotFound(IkError, KeyError):
    """A link or joint name that the robot does not have."""

    def __str__(self) -> str:
        # KeyError would show the message in quotes, as if it were the missing key.
        return str(self.args[0]) if self.args else ''


class InvalidOption(IkError, ValueError):
    """An option that is unknown, of the wrong type or out of its range."""


class InvalidGoal(IkError, ValueError):
    """A goal that is not finite, not a rotation or of the wrong shape."""


class InvalidConfiguration(IkError, ValueError):
    """A joint vector that is not finite or of the wrong length."""


class InvalidMotion(IkError, ValueError):
    """A motion with invalid positions or an invalid period, or without a required joint."""


class UnsupportedProblem(IkError, ValueError):
    """A problem that is contradictory, or that the chosen solver does not support."""
