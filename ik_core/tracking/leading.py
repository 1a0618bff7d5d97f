"""Lines and jogs: one tip leads, and all go on from step to step.

A tip that is led along a line or by a twist needs joints that follow from step to step; a leap of
the solution, for the goal of another tip, would tear it off. So while any tip leads, the others
keep step: they go to their goals in lines too, and what is held is held where the joints can stop.
When none leads any more, they go on as they were asked to.

The solution never stops at once, for each joint would then brake by itself and the tip would leave
its line: where there is no new solution it goes on in its direction. If a solve runs out of time
the tips move on, but more slowly, and in the end wait for it. If a step can't be followed it is
taken back, and the joints slow down together, along the line; at rest it is tried again at half
the speed by the tip that misses it by most. One that has tried often enough is blocked, and the
others go on without it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..maths.rotations import Array
from .goal_solver import GoalSolver
from .joint_motion import JointMotion
from .tips import Tip


class Leading:
    """Whether tips lead: `closely`, which is only to be read."""

    OWN: ClassVar = ('closely', '_step', '_share')
    """Attributes that are its state."""

    def __init__(
        self, tips: Sequence[Tip], solver: GoalSolver, motion: JointMotion, rate: float
    ) -> None:
        self._tips, self._solver, self._motion, self._rate = tips, solver, motion, rate
        self.closely = False
        self._step = np.zeros_like(motion.q)  # of the solution (n,), in the last tick
        self._share = 0.0  # of the tips in it, added up

    @property
    def waits(self) -> bool:
        """Whether tips stand until a solve that takes longer has ended."""
        return self.closely and not (self._solver.is_settled or self._step.any())

    def end(self) -> None:
        """Whoever leads begins again, from where the joints can stop."""
        self.closely = False

    def keep_step(self) -> None:
        """Begin where a tip leads; where none does any more, goals are asked for again."""
        for tip in self._tips:
            if tip.leads:
                if not self.closely:
                    self._begin()
                return
        self.closely = False
        for tip in self._tips:
            if tip.keeps_step:
                tip.request_again()

    def _begin(self) -> None:
        """Go on from step to step, from where the joints can stop."""
        self.closely = True
        self._go_by(np.zeros_like(self._step), 0.0)
        stop = self._motion.stop_point(as_told=True)  # near the line of a jog that starved
        self._motion.follow_closely()
        self._solver.follow_from(stop)
        for tip, frame in zip(self._tips, self._solver.frames_at(stop), strict=True):
            tip.lead_from(frame)
        self.set_targets()

    def solve(self, moving: Sequence[Tip], in_time: bool) -> None:
        """Follow the tips, of which these have moved; where not in time, by a short solve."""
        solver, before = self._solver, self._solver.solution
        share = sum(tip.state.share for tip in moving)
        if not solver.is_settled and not solver.follow_closely(self._motion.q, in_time):
            self._retreat(moving)
            return
        if solver.is_settled:
            for tip in self._tips:
                tip.reset_caution()
        elif not solver.take_unfinished(self._motion.q):
            self._move_on(self._step * (share / self._share if self._share else 0.0))
            for tip in moving:
                tip.be_late()
        self._go_by(solver.solution - before, share)

    def _go_by(self, step: Array, share: float) -> None:
        self._step, self._share = step, share

    def _move_on(self, step: Array) -> None:
        """Move the solution by a step (n,), as far as the limits allow."""
        if step.any():
            limits, solution = self._solver.limits, self._solver.solution
            self._solver.move_solution(np.clip(solution + step, limits.lower, limits.upper))

    def _retreat(self, moving: Sequence[Tip]) -> None:
        """The next step can't be followed: slow down, or stop where the way is blocked."""
        if self._step.any():
            self._slow_down(moving)
            return
        for tip in moving:
            tip.undo_advance()
        worst = max(moving, key=lambda tip: self._solver.miss(tip.index))
        slower = [worst] if self._solver.miss(worst.index) > 1.0 else moving
        blocked = [tip for tip in slower if tip.hesitate()]
        if not blocked:
            self.set_targets()
            self._solver.settle()
            return
        for tip in blocked:
            tip.block()
        self._begin()

    def _slow_down(self, moving: Sequence[Tip]) -> None:
        """Brake all joints together, and the tips with them, instead of the step that is due."""
        before, share = self._solver.solution, sum(tip.state.share for tip in moving)
        factor = self._motion.braking_factor(before, self._step * self._rate)
        self._move_on(factor * self._step)
        for tip in moving:
            tip.undo_advance()
            tip.slow_down(factor * self._share / share if share else 0.0)
            tip.coast(1.0 / self._rate)
        self._go_by(self._solver.solution - before, factor * self._share)
        self.set_targets()

    def set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        self._solver.set_targets([tip.frame for tip in self._tips])
