# SPDX-License-Identifier: Apache-2.0
"""The interface of outputs: a message for each tick, made of the command."""

from __future__ import annotations

import math
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
    latest: float = math.inf
    """[ns] The last message written must be published before this time, or dropped."""

    def make_up(
        self, steps: CommittedSteps, due: int, now: int, *, has_stepped: bool = True
    ) -> int:
        """Handle ticks that did not come, up to now [ns], in the tick that was `due` [ns].

        has_stepped : the joints have taken the step of this tick; False after `drop`

        Returns when the tick was due that is published.
        """
        return due

    @abstractmethod
    def write(self, governor: Governor, moment: Moment) -> Any:
        """The message for what is commanded in the tick at a moment."""

    def drop(self, steps: CommittedSteps) -> None:  # noqa: B027 (most outputs keep nothing)
        """Undo all messages written since `sent`, and the steps of the joints for them."""

    def sent(self) -> None:  # noqa: B027
        """Keep the last message written: the next one goes on from it."""

    def write_return(self, q: Array, seconds: float, moment: Moment) -> Any:
        """A message that sends the joints to rest at q (n,), in so many seconds from a moment."""
        raise NotImplementedError
