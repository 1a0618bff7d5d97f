"""The interface of outputs: a message for each tick, made of the command."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ik_core.maths.rotations import Array
from ik_core.tracking.governor import Governor

from ..clocks import Moment
from ..committed_steps import CommittedSteps


class Output(ABC):
    """A message to publish, and where."""

    kind: ClassVar[Any]
    topic: ClassVar[str]
    lag = 0.0
    """[s] How long after its tick the joints are where it commanded them."""

    def make_up(self, steps: CommittedSteps, due: int, now: int) -> int:
        """Handle ticks that did not come, after the step of the tick that was `due` [ns].

        Those until now [ns] are meant, too. Returns when the tick was due that is published.
        """
        return due

    @abstractmethod
    def write(self, governor: Governor, moment: Moment) -> Any:
        """The message for what is commanded in the tick at a moment."""

    def take_back(self, now: int) -> bool:
        """Forget the last message written, if it is too late [ns] to publish it; whether it is."""
        return False

    def write_return(self, q: Array, seconds: float, moment: Moment) -> Any:
        """A message that sends the joints to rest at q (n,), in so many seconds from a moment."""
        raise NotImplementedError
