# SPDX-License-Identifier: Apache-2.0
"""Lines and jogs: a tip leads, and the joints follow step by step.

A tip on a line or a jog needs joints that follow it step by step; a leap of the solution, for the
goal of another tip, would tear it off. So while any tip leads, the others keep step: they move to
their goals in lines too, and tips without a goal hold where the joints can stop. When none leads
any more, the tips continue as they were asked to.

The solution never stops at once, for each joint would then brake by itself and the tip would leave
its line: if there is no new solution it continues in its direction. If a solve runs out of time
the tips move on, but more slowly, and in the end wait for it. A step that can't be followed is
taken back, and the joints slow down in proportion, along the line; at rest it is tried again at
half the speed by the tip that misses it by most. A tip that has tried often enough is blocked, and
the others continue without it. If the joints braked for ticks that did not come, as a controller
does, the tips continue from there, at the speed that is left.

If an arm has too few joints for whole poses, and the position comes first, a step can be followed
if the position can: the orientation comes as near as it then may. That of a jog falls behind by
LEASH at most, so a jog never heads for an orientation of long ago; a jog that only turns is
blocked where its orientation falls behind by as much. The tip slows down where the joints turn it
faster than the angular velocity.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np

from ...maths.rotations import Array
from ..goals.cartesian import change_between
from ..goals.tips import STILL, Allowance, Jog, Line, Tip
from ..governor.joint_motion import JointMotion
from .goal_solver import GoalSolver
from .position_first import DAMPING, DAMPING_AT_REST, RequestedStep

# [rad] The orientation of a jog falls behind by this at most, where the position comes first.
LEASH = 0.05


class StepFollowing:
    """Steps of tips, solution and joints while a tip leads: `active`, which is only to be read."""

    # Attributes that are its state.
    OWN: ClassVar = ('active', '_step', '_fraction', '_growths', '_turning')

    def __init__(
        self, tips: Sequence[Tip], solver: GoalSolver, motion: JointMotion, rate: float
    ) -> None:
        self._tips, self._solver, self._motion, self._rate = tips, solver, motion, rate
        self.active = False
        self._step = np.zeros_like(motion.q)  # of the solution (n,), in the last tick
        self._fraction = 0.0  # sum of the tips' fractions of full speed in it
        # By the index of a tip: how much its fraction may grow, for the angular velocity; and the
        # recovery of a tip that has yet to turn.
        self._growths: dict[int, float] = {}
        self._turning: dict[int, float] = {}

    @property
    def waits(self) -> bool:
        """True if tips stand until a solve that takes longer has ended."""
        return self.active and not (self._solver.is_settled or self._step.any())

    def end(self) -> None:
        """Stop following steps; tips that lead begin again, from where the joints can stop."""
        self.active = False

    def keep_step(self) -> None:
        """Follow steps while a tip leads; after that, make the tips request their goals again."""
        for tip in self._tips:
            if tip.leads:
                if not self.active:
                    self._begin()
                return
        self.active = False
        for tip in self._tips:
            if tip.keeps_step:
                tip.request_again()

    def arrive(self) -> None:
        """End the motion of the tips: those that put the position first keep their orientation.

        The solver only makes the solution exact, within 1e-3 rad or m: another posture for the
        goal is not worth a motion that leaves the position.
        """
        solver, before = self._solver, self._solver.solution
        if self.active and solver.position_first and not solver.is_settled:
            solver.follow_step(self._motion.q, in_time=True)
            if (np.abs(solver.solution - before) > 1e-3).any():
                solver.move_solution(before)
            solver.settle()

    def _begin(self) -> None:
        """Follow step by step, from where the joints can stop."""
        self.active = True
        self._growths, self._turning = {}, {}
        self._step, self._fraction = np.zeros_like(self._step), 0.0
        # The announced stop is near the line of a jog whose twists stopped coming.
        stop = self._motion.governor.stop_point(announced=True)
        self._motion.follow_steps()
        self._solver.follow_from(stop)
        for tip, frame in zip(self._tips, self._solver.frames_at(stop), strict=True):
            tip.lead_from(frame)
        self.set_targets()

    def allowance(self, tip: int, step: Allowance) -> Allowance:
        """Return the limits of the motion of a tip (its index), for its joints and its turning."""
        scale = self._motion.scale_of(tip)
        growth = self._growths.get(tip, scale.growth)
        if growth < scale.growth:
            scale = scale._replace(growth=growth)
        return step._replace(scale=scale, turns=tip in self._turning)

    def solve(self, moving: Sequence[Tip], in_time: bool, speeds: Array) -> None:
        """Follow the tips by a step of the solution.

        moving : tips that have moved
        in_time : False for a tick whose time is over: only a short solve is made
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
        """Set targets and start of the solve, by steps that put the position first.

        Returns False if the orientation of a jog that only turns falls too far behind.
        """
        solver, q = self._solver, self._solver.solution
        for goal, steps in solver.position_first.items():
            tip = self._tips[goal]
            moves = tip in moving and tip.state.fraction > 0.0
            asked = RequestedStep(
                frame=tip.frame,
                turn=tip.turn / self._rate if moves else STILL[3:],
                recovery=tip.state.fraction if moves else self._recovery(tip, speeds),
                fastest=float(speeds[1]),
                damping=DAMPING if moves and not tip.turns_only else DAMPING_AT_REST,
            )
            q, left = steps.step(q, asked, self._solver.limits)
            turns = left > 1e-4  # [rad or m]
            self._note_turning(goal, (0.0 if moves else asked.recovery) if turns else None)
        ahead, frames = solver.frames_at(q), [tip.frame for tip in self._tips]
        keeps_up = True
        for goal in solver.position_first:
            tip, frame = self._tips[goal], ahead[goal]
            left = change_between(frame, tip.frame)[1]
            keeps_up = keeps_up and not (tip.turns_only and left > LEASH)
            frame[9:] = tip.frame[9:]
            frames[goal] = frame
        solver.set_targets(frames, q)
        return keeps_up

    def _recovery(self, tip: Tip, speeds: Array) -> float:
        """Return how fast the orientation of a tip at the end of its line is restored, 0 to 1."""
        if not (isinstance(tip.state, Line) and tip.moves):
            return 0.0
        limits, growth = self._solver.limits, float(speeds[3] / speeds[1])  # [1/s]
        limited = np.isfinite(limits.velocity)
        if limited.any():
            rates = limits.acceleration[limited] / limits.velocity[limited]
            growth = min(growth, float(rates.min()))
        return min(1.0, self._turning.get(tip.index, 0.0) + growth / self._rate)

    def _follow(self, moving: Sequence[Tip], in_time: bool) -> None:
        """Solve for the tips, and slow them down if that fails or takes too long."""
        solver, before = self._solver, self._solver.solution
        fraction = sum(tip.state.fraction for tip in moving)
        if not solver.is_settled and not solver.follow_step(self._motion.q, in_time):
            self._retreat(moving)
            return
        if solver.is_settled:
            for tip in self._tips:
                tip.reset_caution()
        elif not solver.take_unfinished(self._motion.q):
            self._move_on(self._step * (fraction / self._fraction if self._fraction else 0.0))
            for tip in moving:
                tip.be_late()
        self._step, self._fraction = solver.solution - before, fraction

    def _watch_turns(self, moving: Sequence[Tip], before: Array, speeds: Array) -> None:
        """Keep the orientation of jogs near, and limit the angular velocity of tips.

        before (n,) : the solution a tick ago
        """
        solver, self._growths = self._solver, {}
        old, new = solver.frames_at(before), solver.frames_at(solver.solution)
        stands = bool((np.abs(solver.solution - before) < 1e-6).all())  # [rad or m]
        for tip in moving:
            goal = tip.index
            if goal not in solver.position_first:
                continue
            turn = change_between(old[goal], new[goal])[1]
            if turn > 0.0:  # 2 % of the angular velocity are for a path that bends
                self._growths[goal] = 0.98 * float(speeds[1]) / self._rate / turn
            if isinstance(tip.state, Jog) and not tip.turns_only:
                tip.keep_near(new[goal], LEASH)
            if stands and tip.state.fraction == 0.0:
                self._note_turning(goal, None)

    def _note_turning(self, goal: int, recovery: float | None) -> None:
        """Keep the recovery of a tip (its goal) that has yet to turn; None: it has turned."""
        # A new dictionary: those of a saved state are not written to.
        others = {tip: value for tip, value in self._turning.items() if tip != goal}
        self._turning = others if recovery is None else others | {goal: recovery}

    def _move_on(self, step: Array) -> None:
        """Move the solution by a step (n,), as far as the limits allow."""
        if step.any():
            limits, solution = self._solver.limits, self._solver.solution
            self._solver.move_solution(np.clip(solution + step, limits.lower, limits.upper))

    def _retreat(self, moving: Sequence[Tip]) -> None:
        """Slow down, or stop where the path is blocked: the next step can't be followed."""
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
        """Brake all joints in proportion, and the tips with them, instead of the next step."""
        before, fraction = self._solver.solution, sum(tip.state.fraction for tip in moving)
        factor = self._motion.braking_factor(before, self._step * self._rate)
        self._move_on(factor * self._step)
        for tip in moving:
            tip.undo_advance()
            tip.slow_down(factor * self._fraction / fraction if fraction else 0.0)
            tip.coast(1.0 / self._rate)
        self._step, self._fraction = self._solver.solution - before, factor * self._fraction
        self.set_targets()

    def brake(self) -> bool:
        """Brake the joints for a period of the announced stop, and slow down the tips by as much.

        Return False, and do nothing, if joints would not slow down in proportion, as with jerk
        limits.
        """
        step, motion = self._step, self._motion
        if not (self.active and step.any()):
            return False
        saved = motion.governor.save()
        motion.governor.brake(announced=True)
        slowed = motion.dq / self._rate
        factor = float(slowed @ step / (step @ step))
        # A path that bends is no reason: joints may deviate by 0.3 of the step.
        if factor < 0.0 or np.abs(slowed - factor * step).max() > 0.3 * np.abs(step).max():
            motion.governor.load(saved)
            return False
        motion.slow_down(factor)
        self._solver.move_solution(motion.q.copy())
        frames = self._solver.frames_at(motion.q)
        for tip in self._tips:
            if tip.moves:
                tip.slow_down(factor)
                tip.go_on_from(frames[tip.index])
        self._step, self._fraction = slowed, factor * self._fraction
        self.set_targets()
        self._solver.settle()
        return True

    def set_targets(self) -> None:
        """Set the frames of the tips as targets of the goal solver."""
        self._solver.set_targets([tip.frame for tip in self._tips])
