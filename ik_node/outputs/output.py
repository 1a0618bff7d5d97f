"""What an output is: a message for each tick, made of what is commanded in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ik_core.tracking import Tracker
from ik_core.tracking.governor import Governor

from ..clocks import Moment


class Output(ABC):
    """A message to publish, and where."""

    kind: ClassVar[Any]
    topic: ClassVar[str]
    lag = 0.0
    """[s] How long after its tick the joints are where it commanded them."""

    def make_up(self, tracker: Tracker, due: int) -> None:  # noqa: B027 (for most: nothing)
        """Before the tick that is `due` [ns]: deal with those before it that did not come."""

    @abstractmethod
    def write(self, governor: Governor, moment: Moment) -> Any:
        """The message for what is commanded in the tick at a moment."""
