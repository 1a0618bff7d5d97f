"""What an output is: a message for each tick, made of what is commanded in it."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ik_core.tracking.governor import Governor

from ..clocks import Moment
from ..sure_steps import SureSteps


class Output(ABC):
    """A message to publish, and where."""

    kind: ClassVar[Any]
    topic: ClassVar[str]
    ends_at_rest = False
    """Whether the joints come to rest by the last message, where no other comes."""
    lag = 0.0
    """[s] How long after its tick the joints are where it commanded them."""

    def make_up(self, steps: SureSteps, due: int, now: int) -> int:
        """After the step of the tick that was `due` [ns]: deal with those that did not come.

        Those until now [ns] are meant, too. Returns when the tick was due that is published.
        """
        return due

    @abstractmethod
    def write(self, governor: Governor, moment: Moment) -> Any:
        """The message for what is commanded in the tick at a moment."""
