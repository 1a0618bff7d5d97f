# SPDX-License-Identifier: Apache-2.0
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
others go on without it. Where the joints braked for ticks that did not come, as a controller does,
the tips go on from there, at the speed that is left.

Where an arm has too few joints for whole poses, and the position comes first, a step can be
followed if the position can: the orientation comes as near as it then may. That of a jog is not
left far behind (LEASH), so a jog never heads for an orientation of long ago; one that only turns
is blocked where the orientation falls behind by as much. The tip slows down where the joints turn
it faster than the angular velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ..maths.rotations import Array
from .cartesian import change_between
from .goal_solver import GoalSolver
from .joint_motion import JointMotion
from .position_first import DAMPING, DAMPING_AT_REST, AskedStep
from .tips import STILL, Allowance, Jog, Line, Tip

LEASH = 0.05
"""[rad] How far behind the orientation of a jog may fall, where the position comes first."""
BENT = 0.3
"""The share of a step by which joints may deviate from slowing down in proportion."""
EXACTLY = 1e-3
"""[rad or m] How far joints go at most to make a solution exact."""
STANDS = 1e-6
"""[rad or m] A solution that moves less in a tick stands."""
TURNED = 1e-4
"""[rad or m] A tip at the end of its line has turned when no joint has farther to go."""
FULL_TURN = 0.98
"""The share of the angular velocity that the joints may turn a tip by; the rest is for a path that
bends.
"""


class Leading:
    """Whether tips lead: `closely`, which is only to be read."""

    OWN: ClassVar = ('closely', '_step', '_share', '_growths', '_turning')
    """Attributes that are its state."""

    def __init__(
        self, tips: Sequence[Tip], solver: GoalSolver, motion: JointMotion, rate: float
    ) -> None:
        self._tips, self._solver, self._motion, self._rate = tips, solver, motion, rate
        self.closely = False
        self._step = np.zeros_like(motion.q)  # of the solution (n,), in the last tick
        self._share = 0.0  # of the tips in it, added up
        self._growths: dict[int, float] = {}  # of the tips' shares, so that they turn in time
        self._turning: dict[int, float] = {}  # of tips that have yet to turn

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

    def arrive(self) -> None:
        """No tip moves any more: those that put the position first stay as they have turned.

        The solver only makes that exact: another posture for the goal is not worth a motion that
        leaves the position.
        """
        solver, before = self._solver, self._solver.solution
        if self.closely and solver.position_first and not solver.is_settled:
            solver.follow_closely(self._motion.q, in_time=True)
            if (np.abs(solver.solution - before) > EXACTLY).any():
                solver.move_solution(before)
            solver.settle()

    def _begin(self) -> None:
        """Go on from step to step, from where the joints can stop."""
        self.closely = True
        self._growths, self._turning = {}, {}
        self._go_by(np.zeros_like(self._step), 0.0)
        stop = self._motion.stop_point(as_told=True)  # near the line of a jog that starved
        self._motion.follow_closely()
        self._solver.follow_from(stop)
        for tip, frame in zip(self._tips, self._solver.frames_at(stop), strict=True):
            tip.lead_from(frame)
        self.set_targets()

    def allowance(self, tip: int, step: Allowance) -> Allowance:
        """The limits of a tip's motion (its index): for the joints' sake, and of its turning."""
        scale = self._motion.scale_of(tip)
        growth = self._growths.get(tip, scale.growth)
        if growth < scale.growth:
            scale = scale._replace(growth=growth)
        return step._replace(scale=scale, turns=tip in self._turning)

    def solve(self, moving: Sequence[Tip], in_time: bool, speeds: Array) -> None:
        """Follow the tips, of which these have moved; where not in time, by a short solve.

        speeds (4,) : as in `Allowance`
        """
        solver, before = self._solver, self._solver.solution
        if not solver.position_first:
            self._follow(moving, in_time)
        elif solver.begins and not self._step_ahead(moving, speeds):
            self._retreat(moving)
        else:
            self._follow(moving, in_time)
            self._watch_turns(moving, before, speeds)

    def _step_ahead(self, moving: Sequence[Tip], speeds: Array) -> bool:
        """Let the solver go on with steps that put the position first.

        Returns False if the orientation of a jog that only turns falls too far behind.
        """
        solver, q, turns = self._solver, self._solver.solution, True
        for goal, steps in solver.position_first.items():
            tip = self._tips[goal]
            moves = tip in moving and tip.state.share > 0.0
            asked = AskedStep(
                frame=tip.frame,
                turn=tip.turn / self._rate if moves else STILL[3:],
                recovery=tip.state.share if moves else self._recovery(tip, speeds),
                fastest=float(speeds[1]),
                damping=DAMPING if moves and not tip.turns_only else DAMPING_AT_REST,
            )
            q, left = steps.step(q, asked, self._motion.limits)
            self._note_turning(goal, (0.0 if moves else asked.recovery) if left > TURNED else None)
        ahead, frames = solver.frames_at(q), [tip.frame for tip in self._tips]
        for goal in solver.position_first:
            tip, frame = self._tips[goal], ahead[goal]
            left = change_between(frame, tip.frame)[1]
            turns = turns and not (tip.turns_only and left > LEASH)
            frame[9:] = tip.frame[9:]
            frames[goal] = frame
        solver.set_targets(frames, q)
        return turns

    def _recovery(self, tip: Tip, speeds: Array) -> float:
        """How fast the orientation of a tip at the end of its line is brought back, up to 1."""
        if not (isinstance(tip.state, Line) and tip.moves):
            return 0.0
        limits, growth = self._motion.limits, float(speeds[3] / speeds[1])  # [1/s]
        limited = np.isfinite(limits.velocity)
        if limited.any():
            rates = limits.acceleration[limited] / limits.velocity[limited]
            growth = min(growth, float(rates.min()))
        return min(1.0, self._turning.get(tip.index, 0.0) + growth / self._rate)

    def _follow(self, moving: Sequence[Tip], in_time: bool) -> None:
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

    def _watch_turns(self, moving: Sequence[Tip], before: Array, speeds: Array) -> None:
        """Keep the orientation of jogs near, and tips from turning too fast.

        before (n,) : the solution a tick ago
        """
        solver, self._growths = self._solver, {}
        old, new = solver.frames_at(before), solver.frames_at(solver.solution)
        stands = bool((np.abs(solver.solution - before) < STANDS).all())
        for tip in moving:
            goal = tip.index
            if goal not in solver.position_first:
                continue
            turn = change_between(old[goal], new[goal])[1]
            if turn > 0.0:
                self._growths[goal] = FULL_TURN * float(speeds[1]) / self._rate / turn
            if isinstance(tip.state, Jog) and not tip.turns_only:
                tip.keep_near(new[goal], LEASH)
            if stands and tip.state.share == 0.0:
                self._note_turning(goal, None)

    def _note_turning(self, goal: int, recovery: float | None) -> None:
        """Keep how fast a tip turns that has yet to; None: it need not. No state is written to."""
        others = {tip: value for tip, value in self._turning.items() if tip != goal}
        self._turning = others if recovery is None else others | {goal: recovery}

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

    def brake(self) -> bool:
        """Brake the joints for a period as told, and slow down the tips by as much.

        Where joints would not slow down in proportion, as with jerk limits, nothing happens, and
        False is returned.
        """
        step, motion = self._step, self._motion
        if not (self.closely and step.any()):
            return False
        saved = motion.governor.save()
        motion.governor.brake(as_told=True)
        slowed = motion.dq / self._rate
        factor = float(slowed @ step / (step @ step))
        if factor < 0.0 or np.abs(slowed - factor * step).max() > BENT * np.abs(step).max():
            motion.governor.load(saved)
            return False
        motion.slow_down(factor)
        self._solver.move_solution(motion.q.copy())
        frames = self._solver.frames_at(motion.q)
        for tip in self._tips:
            if tip.moves:
                tip.slow_down(factor)
                tip.go_on_from(frames[tip.index])
        self._go_by(slowed, factor * self._share)
        self.set_targets()
        self._solver.settle()
        return True

    def set_targets(self) -> None:
        """Let the goal solver follow the tips as they are now."""
        self._solver.set_targets([tip.frame for tip in self._tips])
