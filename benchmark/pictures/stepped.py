# SPDX-License-Identifier: Apache-2.0
"""An arm that moves only when it is told to, for films that are the same however slow the machine.

As `LocalArm`, but time goes by in `advance`: a second of a film may take a minute.
"""

from __future__ import annotations

import time

from ik_viewer.local.local_arm import LocalArm


class SteppedArm(LocalArm):
    """A `LocalArm` without a clock."""

    def _run(self) -> None:
        """Its thread does nothing."""

    def advance(self, seconds: float) -> None:
        """Let this much time go by [s]: the nearest number of ticks."""
        self._thread.join()
        for _ in range(round(seconds / self.period)):
            self.tick(time.monotonic())
