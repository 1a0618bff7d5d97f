"""What moves the commanded joints within their limits, one period at a time."""

from __future__ import annotations

from typing import Protocol

from ..maths.rotations import Array
from .limits import MotionLimits


class Limiter(Protocol):
    """The commanded state of the joints, and the only one that changes it.

    `q`, `dq` (n,): the position and velocity commanded last, only to be read. Every step keeps
    the limits, whatever the targets are.
    """

    @property
    def q(self) -> Array:
        """The commanded position (n,)."""

    @property
    def dq(self) -> Array:
        """The commanded velocity (n,)."""

    @property
    def limits(self) -> MotionLimits:
        """Those asked for last."""

    @property
    def at_rest(self) -> bool:
        """Whether nothing moves."""

    @property
    def max_lag(self) -> float:
        """[rad or m] Lines and jogs wait where a joint is this far behind."""

    def set_limits(self, limits: MotionLimits) -> None:
        """Move within these limits from the next step on."""

    def restart(self, q: Array, dq: Array) -> None:
        """Begin again at q with the velocity dq (n,)."""

    def follow(
        self, target: Array, velocity: Array | None = None, synchronized: bool = False
    ) -> None:
        """Move one period towards the target (n,), taken into the limits.

        velocity (n,) : that with which the target came and will move on, by default none
        synchronized : all joints arrive at the same time, instead of each as soon as it can
        """

    def stop_point(self) -> Array:
        """Where the joints (n,) come to rest when they brake from now on."""

    def scale_bounds(
        self, target: Array, velocity: Array, before: Array, share: float
    ) -> tuple[float, float]:
        """By what factors the target's velocity (n,) may grow, and fall, in the next tick.

        before (n,) : that velocity a tick ago; share : of a joint's velocity, which it may use
        """

    def warm(self) -> None:
        """Run once all that a tick may run, so that every kernel is compiled; changes nothing."""
