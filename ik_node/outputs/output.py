# SPDX-License-Identifier: Apache-2.0
"""The interface of outputs, which make a message of the command in each tick."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any, ClassVar

from ik_core.maths.rotations import Array
from ik_core.tracking.governor import Governor

from ..clocks import Moment
from ..committed_steps import CommittedSteps


class Output(ABC):
    """A writer of messages of the type `kind` on `topic`.

    `lag` : [s] time from a tick until the joints are where it commanded them
    `latest` : [ns] the last message written must be published before this time, or dropped
    """

    kind: ClassVar[Any]
    topic: ClassVar[str]
    lag = 0.0
    latest: float = math.inf

    def simulate_missed(
        self, steps: CommittedSteps, due: int, now: int, *, has_stepped: bool = True
    ) -> int:
        """Simulate the ticks missed until `now` [ns], in the tick whose deadline is `due` [ns].

        has_stepped : whether the joints have taken the step of this tick; False after `drop`

        Returns the deadline [ns] of the next message; `due` if no tick is simulated.
        """
        return due

    @abstractmethod
    def write(self, governor: Governor, moment: Moment) -> Any:
        """Return the message for the governor's state in the tick at a moment."""

    def drop(self, steps: CommittedSteps) -> None:  # noqa: B027 (most outputs keep nothing)
        """Undo all messages written since `sent`, and the steps of the joints for them."""

    def sent(self) -> None:  # noqa: B027
        """Keep the last message written as the one that was sent: the next one continues it."""

    def write_return(self, q: Array, seconds: float, moment: Moment) -> Any:
        """Return a message that sends the joints to rest at q (n,) in `seconds` from a moment."""
        raise NotImplementedError
