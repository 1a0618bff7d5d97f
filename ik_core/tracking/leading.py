"""Lines and jogs: one tip leads, and all go on from step to step.

A tip that is led along a line or by a twist needs joints that follow from step to step; a leap of
the solution, for the goal of another tip, would tear it off. So while any tip leads, the others
keep step: they go to their goals in lines too, and what is held is held where the joints can stop.
When none leads any more, they go on as they were asked to.

A step that can't be followed is taken back and tried again at half the speed by the tip that
misses it by most; one that has tried often enough is blocked, and the others go on without it.
"""

from __future__ import annotations

from collections.abc import Sequence

from .goal_solver import GoalSolver
from .joint_motion import JointMotion
from .tips import Tip


class Leading:
    """Whether tips lead: `closely`, which is only to be read."""

    def __init__(self, tips: Sequence[Tip], solver: GoalSolver, motion: JointMotion) -> None:
        self._tips, self._solver, self._motion = tips, solver, motion
        self.closely = False

    def end(self) -> None:
        """Whoever leads begins again, from where the joints can stop."""
        self.closely = False

    def keep_step(self) -> None:
        """Begin where a tip leads; where none does any more, goals are asked for again."""
        if any(tip.leads for tip in self._tips):
            if not self.closely:
                self._begin()
            return
        self.closely = False
        for tip in self._tips:
            if tip.keeps_step:
                tip.ask_again()

    def _begin(self) -> None:
        """Go on from step to step, from where the joints can stop."""
        self.closely = True
        stop = self._motion.stop_point()
        self._motion.follow_closely()
        self._solver.follow_from(stop)
        for tip, frame in zip(self._tips, self._solver.frames_at(stop), strict=True):
            tip.lead_from(frame)
        self.set_targets()

    def solve(self, moving: Sequence[Tip]) -> bool:
        """Follow the tips, of which these have moved; False where that can't be."""
        solver = self._solver
        if not solver.is_settled and not solver.follow_closely(self._motion.q):
            self._retreat(moving)
            return False
        if solver.is_settled:
            for tip in self._tips:
                tip.go_on()
        return True

    def _retreat(self, moving: Sequence[Tip]) -> None:
        """The next step can't be followed: slow down, or stop where the way is blocked."""
        for tip in moving:
            tip.take_back()
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

    def set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        self._solver.set_targets([tip.frame for tip in self._tips])
