# SPDX-License-Identifier: Apache-2.0
"""All solutions of a problem in closed form: `form(problem)`."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from ..chunks import Progress, rising
from ..exceptions import InvalidConfiguration, UnsupportedProblem
from ..maths.argument_types import TransformsLike, VectorLike
from ..maths.lanes import HAS_LANES
from ..maths.rotations import Array, IntArray, frames_of
from ..maths.transforms import checked_transforms
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..robot.kinematics import OFFSET
from ..rules import are_within
from .approximate_nearest import ApproximateNearest, approximate_nearest
from .batch import ManySolutions, redundancy_values, solve_chunks
from .chain import Chain, asks_for_a_point, chain_of, why_not
from .elimination import EliminationWorkspace, NoCut
from .families import Strategy
from .kernel import BY_START, EXACT, SAME
from .nearest_branch import UNKNOWN
from .records import MARGIN, MISSES, SETTINGS, SLOTS
from .refinement import appraise, follow
from .workspace import FAR_REFINED_WITHIN, NEARLY_REFINED_WITHIN, REFINED_WITHIN, Workspace

# Random configurations that a strategy has to find again: all of them if it is exact, else most.
STRATEGY_TRIALS = 6
MOST_STRATEGIES = 3  # Maximum number of strategies that are kept if they need virtual joints
# Distances of undetermined joints from their start [rad] that are tried, over a whole turn.
GUESSES = tuple(0.5236 * k for k in (0, 1, -1, 2, -2, 3, -3, 4, -4, 5, -5, 6))
# A candidate whose least squares end within this many tolerances may be a solution: other weights
# of position and orientation may bring it within one tolerance.
DOUBTFUL_TOLERANCES = 4.0
# Fractions of a path between two configurations at which the path is checked.
BETWEEN = tuple(k / 8 for k in range(1, 8))
GUESSED_MARGIN = 1.0  # Largest error [m, rad] from which solutions for guessed values are refined


class ClosedForm:
    """All solutions of a problem with one pose goal, from the geometry of its chain.

    `family` names the geometry that makes it possible. `redundant_joint` is the joint of a chain
    of seven whose value is the redundancy parameter of `solve`, as an index into q; None for
    other chains. `deviation` [m, rad] is how far the axes miss that geometry; where it exceeds
    rounding, the solutions of the ideal chain are refined to those of the real one. `is_certain`
    is whether the last answer of `solve` certainly has all solutions; refined ones are never
    certain. Virtual joints, which complete chains of fewer than six, bring singularities of their
    own: there an answer is certain if several completions agree and none was refined. Such a chain
    reaches few goals exactly: all that it reaches to the problem's tolerances are its solutions.
    Made by `form`.
    """

    def __init__(self, problem: IkProblem, q0: VectorLike | None = None) -> None:
        self._point_only = asks_for_a_point(problem)
        self.robot, self.variables = problem.robot, problem.variables
        self.tolerances = problem.position_tolerance, problem.orientation_tolerance
        self._columns, self._limits, self._packed = problem.columns, problem.limits, problem.packed
        self._default = problem.default_configuration
        self._frozen: Array | None = None  # until it is looked at
        n, m = len(self.variables), len(problem.packed.residual)
        self._scratch = np.empty((n, m)), np.empty((n, n)), np.empty((2, n))
        self._workspaces: list[Workspace] = []
        self._direct: Workspace | None = None  # that needs no care, but for what is only near
        self._nearly: list[ApproximateNearest | None] = []  # once it is looked for
        self._redundant_joint: int | None = None
        self._redundancy_range = np.nan, np.nan
        self._family = ''
        self.is_certain = False
        self._has_refined = self._has_missed = False
        self.set_frozen_joints(self.start(q0))

    def __repr__(self) -> str:
        return f'<ClosedForm of {self.robot.name!r}: {self.family}>'

    @property
    def strategy(self) -> Strategy:
        """The strategy by which the chain is solved."""
        return self._workspaces[0].strategy

    @property
    def family(self) -> str:
        """The geometry that makes the closed form possible, in words."""
        if not self._family:
            self._family = self.strategy.title([self.robot.joint_names[i] for i in self._joints])
        return self._family

    @property
    def redundant_joint(self) -> int | None:
        """The joint whose value is the redundancy parameter, as an index into q; None without."""
        return self._redundant_joint

    @property
    def _joints(self) -> IntArray:
        """The joints of the chain, as indices into q."""
        return self.variables[self._chain.variables]

    @property
    def deviation(self) -> float:
        """Deviation of the axes from the geometry that the family needs [m, rad]."""
        return self.strategy.deviation

    @property
    def is_exact(self) -> bool:
        """True if the deviation is only rounding, so that solutions need no refinement."""
        return self._workspaces[0].is_exact

    @property
    def redundancy_range(self) -> tuple[float, float]:
        """Limits [rad, m] of the redundant joint; an unlimited side is half a turn away."""
        return self._redundancy_range

    @property
    def records(self) -> tuple[IntArray, Array] | None:
        """Plan and numbers (see `records`) if they alone solve the chain, without an equation of
        degree four; else None."""
        direct = self._direct
        is_simple = direct is not None and direct.strategy.is_simple
        return (direct.plan, direct.numbers) if direct is not None and is_simple else None

    def start(self, q0: VectorLike | None = None) -> Array:
        """The start configuration (n,), by default that of the problem."""
        return self._default.copy() if q0 is None else self.robot.checked(q0, 'q0')

    def is_for(self, problem: IkProblem) -> bool:
        """Return whether this is the form of a problem, whose tolerances may have changed."""
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        return self._packed is problem.packed and self.tolerances == tolerances

    def solve(self, q0: VectorLike | None = None, redundancy: float | None = None) -> Array:
        """All solutions (k, n) inside the limits, the nearest to q0 (n,) first.

        Of those that differ by whole turns the one nearest to q0 is given. Joints that the problem
        does not move, and those that do not matter at a singularity, keep their values of q0.
        `redundancy`: the value [rad, m] of the redundant joint, or a turn more or less; by default
        its value in q0. Empty where the goal is out of reach, to the problem's tolerances. Raises
        InvalidGoal, InvalidConfiguration.
        """
        start = self.start(q0)
        self._packed.load(start)
        return self.solve_loaded(start, redundancy)

    def solve_to_tolerances(self, q0: VectorLike | None = None) -> Array:
        """Solve as `solve` does, but certain only if the tolerances allow no configuration that is
        far from all solutions.

        Such configurations come from solutions that a limit, or the end of the reach, excludes by
        less than the tolerances. With large tolerances none of them can be ruled out.
        """
        margin = FAR_REFINED_WITHIN * max(self.tolerances)
        settings = [workspace.numbers[SETTINGS] for workspace in self._workspaces]
        before = [row.copy() for row in settings]
        try:
            for row in settings:
                row[MARGIN] = row[MISSES] = max(row[MARGIN], min(margin, NEARLY_REFINED_WITHIN))
            q = self.solve(q0)
        finally:
            for row, values in zip(settings, before, strict=True):
                row[:] = values
        self.is_certain &= not self._has_missed and margin <= NEARLY_REFINED_WITHIN
        return q

    def solve_loaded(self, start: Array, redundancy: float | None = None) -> Array:
        """Solve from a checked start (n,), for the target that the problem read last."""
        self.set_frozen_joints(start)
        value = self._redundancy_value(start, redundancy)
        self._has_missed = False
        if self._direct is not None:
            count = self._direct.solve(self._packed.targets, start, value)
            if count >= 0 and not self._direct.is_near:
                self.is_certain = True
                return self._direct.q[:count].copy()
        return self._solve_carefully(start, value)

    def solve_many(
        self,
        targets: TransformsLike,
        q0: VectorLike | None = None,
        redundancy: float | VectorLike | None = None,
        *,
        threads: int | None = None,
        progress: Progress | None = None,
    ) -> ManySolutions:
        """All solutions inside the limits for each of N targets, as `solve` finds them for one.

        targets (N, 4, 4) : in the place of the goal's own, which is not changed; or a list of what
            `ik_core.transform` takes
        q0 : (n,) for all, (N, n) one for each, or None
        redundancy : values of the redundant joint, one for all or (N,); by default those in q0
        threads : by default as many as there are cores that this process may use
        progress : called now and then with (solved, N), in the calling thread

        All input is checked first: InvalidGoal and InvalidConfiguration name the first bad index.
        Near singularities, and for families without a compiled loop, poses are solved one by one.
        """
        progress = rising(progress)
        frames = frames_of(checked_transforms(targets, self.robot.base_link))
        starts = self.robot.checked_rows(self._default if q0 is None else q0, len(frames), 'q0')
        self.set_frozen_joints(starts[0] if len(starts) else self._default)
        values = self._redundancy_values(starts, redundancy, len(frames))
        if self._direct is None or not self._have_equal_constants(starts):
            rows = SLOTS, self.robot.n
            q, counts = np.full((len(frames), *rows), np.nan), np.full(len(frames), -1)
        else:
            q, counts = solve_chunks(self._direct, frames, starts, values, threads, progress)
        return self._completed(frames, starts, values, q, counts, progress)

    def sweep(self, start: Array, values: Array, task: int) -> tuple[float, Array] | None:
        """Return the result and costs (N,) of `redundancy_scan.sweep` from a start (n,).

        None if `solve` has to be called for each value instead.
        """
        self._packed.load(start)
        self.set_frozen_joints(start)
        if self._direct is None:
            return None
        return self._direct.sweep(self._packed.targets, start, values, task)

    def nearest(self, start: Array, values: Array) -> tuple[Array | None, bool] | None:
        """Return the solution (n,) nearest to a start, or None, and whether it may not be the
        nearest.

        In doubt, solutions near the start or with its own value must be checked as well. values
        (N,), evenly spaced: of the redundant joint, tried first. None if `solve` has to be called
        for each value instead.
        """
        self._packed.load(start)
        self.set_frozen_joints(start)
        if self._direct is None or not HAS_LANES:
            return None
        value, in_doubt, q = self._direct.nearest(self._packed.targets, start, values)
        if not math.isfinite(value):
            return None if value == UNKNOWN else (None, in_doubt)
        if math.isnan(q.item(0)):
            found = self._solve_carefully(start, value)
            return (found[0], True) if len(found) else None
        return q, in_doubt

    def followed(self, start: Array) -> Array | None:
        """Return the solution (n,) to which refinement from a start leads, or None."""
        q = start.copy()
        q[self._columns], error = self._follow(start[self._columns], None)
        return q if error <= EXACT else None

    def best_nearby(self, start: Array) -> Array | None:
        """Return what `approximate_nearest` finds for the target that was read last, or None."""
        if not self._nearly:
            own = (
                self._chain,
                self._packed,
                self._limits,
                self._joints,
                self.robot.n,
                self._scratch,
            )
            self._nearly.append(approximate_nearest(*own))
        nearly = self._nearly[0]
        return None if nearly is None else nearly.best(start)

    def hidden_values(self, start: Array, values: Array) -> Array:
        """Return values of the redundant joint between two of (N,), at which solutions begin or
        end in between.

        They have solutions if both neighbours have none, or none if both have some; estimated.
        """
        self._packed.load(start)
        self.set_frozen_joints(start)
        found = None
        if self._direct is not None and HAS_LANES:
            found = self._direct.hidden(self._packed.targets, start, values)
        return np.empty(0) if found is None else found

    def solve_first(
        self, start: Array, values: Array, choose: Callable[[Array], Array | None]
    ) -> Array | None:
        """Return the chosen solution (n,) at the first of these values of the redundant joint that
        has one.

        From a checked start (n,), for the target that the problem read last.
        choose : returns one of the solutions (k, n), which are sorted by their distance to the
            start, or None
        """
        self.set_frozen_joints(start)
        counts, q = np.full(len(values), -1), np.empty(0)
        if self._direct is not None:
            frames = np.repeat(self._packed.targets, len(values), axis=0)
            q, counts = solve_chunks(self._direct, frames, start[np.newaxis], values, 1, None)
        for i, count in enumerate(counts.tolist()):
            found = q[i, :count] if count >= 0 else self._solve_carefully(start, values.item(i))
            chosen = choose(found)
            if chosen is not None:
                return chosen
        return None

    def _completed(
        self,
        frames: Array,
        starts: Array,
        values: Array,
        q: Array,
        counts: IntArray,
        progress: Progress | None,
    ) -> ManySolutions:
        """Return the answer, with poses solved one by one if they have no count yet."""
        certain, last, count = np.ones(len(frames), bool), len(starts) - 1, len(frames)
        open_ = np.flatnonzero(counts < 0)
        for done, i in enumerate(open_.tolist()):
            start = starts[min(i, last)]
            self.set_frozen_joints(start)
            self._packed.targets[0] = frames[i]
            found = self._solve_carefully(start, values[min(i, len(values) - 1)])
            if len(found) > q.shape[1]:
                more = np.full((count, len(found) - q.shape[1], q.shape[2]), np.nan)
                q = np.concatenate([q, more], axis=1)
            q[i] = np.nan
            q[i, : len(found)] = found
            counts[i], certain[i] = len(found), self.is_certain
            if progress is not None:
                progress(count - len(open_) + done, count)
        if progress is not None:
            progress(count, count)
        return ManySolutions(q[:, : counts.max(initial=0)], counts, certain)

    def _solve_carefully(self, start: Array, value: float) -> Array:
        """Return the solutions (k, n) of all strategies for the loaded target; near misses only if
        there is no solution."""
        self._has_refined = self._has_missed = False
        answers = [
            one
            for workspace in self._workspaces
            if (one := self._by(workspace, start, value)) is not None
        ]
        self.is_certain = all(
            workspace.is_exact and workspace.is_sure for workspace in self._workspaces
        )
        if not answers:
            self.is_certain = False
            return self._guessed(self._workspaces[0], start, value)
        if not self.strategy.is_completed:
            return answers[0]
        together = self._united(answers, start)
        agree = all(len(found) == len(together) for found in answers)
        self.is_certain &= agree and len(answers) > 1 and not self._has_refined
        return together

    def _by(self, workspace: Workspace, start: Array, value: float) -> Array | None:
        """Return the solutions of one strategy; None if it is singular at the start's values."""
        free = math.nan if workspace.strategy.is_completed else BY_START
        count = workspace.solve(self._packed.targets, start, value, free)
        if count < 0:
            return None
        q = workspace.q[:count].copy()
        return (
            self._followed(workspace, q, workspace.errors[:count], start)
            if workspace.is_near
            else q
        )

    def _united(self, answers: list[Array], start: Array) -> Array:
        """Merge the solutions of several strategies."""
        kept: list[Array] = []
        missed: list[Array] = []
        for q in np.concatenate(answers):
            self._packed.update(q[self._columns])
            self._add(kept if self._packed.part_errors.max() <= EXACT else missed, q, start)
        return _by_distance(kept + self._misses_apart(missed, kept), start)

    def _guessed(self, workspace: Workspace, start: Array, value: float) -> Array:
        """Return solutions at a singularity, refined from guesses of undetermined joints.

        All of them, if virtual joints cause the singularity; else there are infinitely many, and
        those of the guess nearest to the start are returned.
        """
        settings, found = workspace.numbers[SETTINGS], list[Array]()
        margin, settings[MARGIN] = settings.item(MARGIN), GUESSED_MARGIN
        for guess in GUESSES:
            count = max(workspace.solve(self._packed.targets, start, value, guess), 0)
            near = workspace.q[:count].copy(), workspace.errors[:count].copy()
            found.extend(self._followed(workspace, *near, start))
            if found and not self.strategy.is_completed:
                break
        settings[MARGIN] = margin
        kept: list[Array] = []
        for q in found:
            self._add(kept, q, start)
        return _by_distance(kept, start)

    def _followed(self, workspace: Workspace, q: Array, errors: Array, start: Array) -> Array:
        """Return solutions, and those to which near-solutions (k, n) can be refined."""
        kept: list[Array] = []
        missed: list[Array] = []
        joint = workspace.strategy.redundant
        still = None if joint < 0 else int(self._chain.variables[joint])
        for one, error in zip(q, errors.tolist(), strict=True):
            left = error
            if error > EXACT:
                one[self._columns], left = self._follow(one[self._columns], still)
                self._has_refined |= self._within_tolerances(DOUBTFUL_TOLERANCES)
            if left <= EXACT:
                self._add(kept, one, start)
            elif self._within_tolerances():
                self._add(missed, one, start)
            else:
                self._has_missed |= self._within_tolerances(DOUBTFUL_TOLERANCES)
        missed = self._misses_apart(missed, kept)
        self._has_missed |= bool(kept) and bool(missed)
        both = kept + missed if workspace.strategy.is_completed else kept or missed
        return _by_distance(both, start)

    def _misses_apart(self, missed: list[Array], kept: list[Array]) -> list[Array]:
        """Return the near misses (n,) that are not connected by a straight path within the
        tolerances to a solution, or to a better near miss."""
        apart: list[Array] = []
        for q in sorted(missed, key=self._miss):
            if not any(self._are_connected(q, other) for other in kept + apart):
                apart.append(q)
        return apart

    def _miss(self, q: Array) -> float:
        """The largest error [m, rad] at q (n,)."""
        self._packed.update(q[self._columns])
        return float(self._packed.part_errors.max())

    def _are_connected(self, q: Array, other: Array) -> bool:
        """Return whether a straight path within the tolerances connects two q (n,)."""
        x, to = q[self._columns], other[self._columns]
        to = self._limits.nearest_turn(to, x)
        for fraction in BETWEEN:
            self._packed.update(x + fraction * (to - x))
            if not self._within_tolerances():
                return False
        return True

    def _add(self, kept: list[Array], q: Array, start: Array) -> None:
        """Append a solution (n,) that is not among those kept."""
        columns, turned = self._columns, self._limits.nearest_turn
        x = turned(q[columns], start[columns])
        gaps = [turned(x, one[columns]) - one[columns] for one in kept]
        if all(np.abs(gap).max() > SAME for gap in gaps):
            q[columns] = x
            kept.append(q)

    def _follow(self, x: Array, fixed: int | None) -> tuple[Array, float]:
        """Refine x to the solution near it inside the limits, by damped least squares; return it
        and its error."""
        x = x.copy()
        scratch = self._packed.residual, *self._scratch
        return x, follow(
            self._packed.arrays, self._limits.packed, -1 if fixed is None else fixed, x, *scratch
        )

    def appraised(self, q: Array) -> tuple[Array, Array]:
        """Return errors (k, 2) [m, rad] and condition numbers' inverses (k,) of solutions (k, n),
        by `refinement.appraise`."""
        errors, fractions = np.empty((len(q), 2)), np.empty(len(q))
        scratch = self._packed.residual, *self._scratch
        appraise(self._packed.arrays, q[:, self.variables].copy(), errors, fractions, *scratch)
        return errors, fractions

    def _within_tolerances(self, times: float = 1.0) -> bool:
        position, orientation = self.tolerances
        return are_within(self._packed.errors, times * position, times * orientation)

    def set_frozen_joints(self, start: Array) -> None:
        """Analyse the chain again if joints that are not variables have other values in `start`
        (n,).

        Raises UnsupportedProblem if these leave no closed form; another start may have one again.
        """
        packed = self._packed
        if self._frozen is not None and not len(self._frozen):
            return
        packed.load_frozen(start)
        frozen = packed.geometry[packed.frozen, OFFSET]
        if self._frozen is None or (frozen != self._frozen).any():
            self._frozen = None
            self._find_strategies()
            self._frozen = frozen

    def _have_equal_constants(self, starts: Array) -> bool:
        """Return whether all starts (N, n) agree in the joints that are not variables."""
        values = self._packed.frozen_values(starts)
        return bool((values == values[:1]).all())

    # --- the chain ------------------------------------------------------------------------------

    def _find_strategies(self) -> None:
        """Find strategies for the present values of frozen joints. Raises UnsupportedProblem."""
        self._chain = chain_of(self._packed, self._point_only)
        if len(self._chain.rows) < len(self.variables):
            raise UnsupportedProblem('no closed form: secondary tasks move other joints, too')
        self._workspaces = self._find_workspaces()
        if not self._workspaces:
            raise UnsupportedProblem(why_not(self._chain))
        joint, self._family, self._redundant_joint = self.strategy.redundant, '', None
        if joint >= 0:
            self._redundant_joint, k = int(self._joints[joint]), self._chain.variables[joint]
            lower, upper = self._limits.sample_lower, self._limits.sample_upper
            self._redundancy_range = lower.item(k), upper.item(k)
        best = self._workspaces[0]
        is_direct = best.is_exact and not best.strategy.is_completed
        self._direct = best if is_direct and not best.strategy.by_elimination else None
        self._nearly = []

    def _find_workspaces(self) -> list[Workspace]:
        """Return the workspaces of the best strategies that find random configurations again.

        One strategy without virtual joints is enough. Virtual joints add singularities, so after a
        strategy with them others are tried, up to MOST_STRATEGIES in total."""
        good: list[Workspace] = []
        for strategy in self._chain.strategies():
            if strategy.by_elimination and good and not good[0].strategy.by_elimination:
                break  # it is slower than all others
            workspace = self._made(self._chain, strategy)
            if workspace is None:
                continue
            direct, followed = self._finds_again(workspace)
            workspace.is_exact = direct == STRATEGY_TRIALS
            if workspace.is_exact or (2 * followed > STRATEGY_TRIALS and not good):
                good.append(workspace)
            if good and (not strategy.is_completed or len(good) == MOST_STRATEGIES):
                break
        return good

    def _made(self, chain: Chain, strategy: Strategy) -> Workspace | None:
        """Return the workspace of a strategy, or None if it fails."""
        is_exact = strategy.deviation <= EXACT
        margin = max(REFINED_WITHIN * max(self.tolerances), EXACT)
        if strategy.is_completed:
            far = FAR_REFINED_WITHIN * max(self.tolerances)
            margin = max(margin, min(far, NEARLY_REFINED_WITHIN))
        margin = margin if is_exact else NEARLY_REFINED_WITHIN
        make = EliminationWorkspace if strategy.by_elimination else Workspace
        try:
            return make(chain, strategy, self._limits, self._joints, self.robot.n, margin)
        except NoCut:
            return None

    def _finds_again(self, workspace: Workspace) -> tuple[int, int]:
        """Count the random configurations that are among the solutions for their own poses:
        directly, and also after refinement."""
        limits, packed = self._limits, self._packed
        rng, targets = np.random.default_rng(0), packed.targets.copy()
        span, joint = limits.sample_upper - limits.sample_lower, workspace.strategy.redundant
        free = math.nan if workspace.strategy.is_completed else BY_START
        direct = again = 0
        for _ in range(STRATEGY_TRIALS):
            q, start = self._default.copy(), self._default.copy()
            x, s = limits.sample_lower + span * rng.uniform(0.05, 0.95, (2, len(span)))
            q[self._columns], start[self._columns] = x, s
            packed.update(x)
            packed.targets[0] = packed.tips[0]
            value = 0.0 if joint < 0 else q.item(self._joints[joint])
            count = max(workspace.solve(packed.targets, start, value, free), 0)
            found, errors = workspace.q[:count].copy(), workspace.errors[:count].copy()
            direct += self._is_among(q, found[errors <= EXACT])
            again += self._is_among(q, self._followed(workspace, found, errors, start))
        packed.targets[:] = targets
        return direct, again

    def _is_among(self, q: Array, found: Array) -> bool:
        """Return whether q is one of these solutions, modulo whole turns."""
        x, turned = q[self._columns], self._limits.nearest_turn
        return any(np.abs(turned(one[self._columns], x) - x).max() <= SAME for one in found)

    def _redundancy_value(self, start: Array, redundancy: float | None) -> float:
        """The value of the redundant joint, by default that of the start; 0 without one."""
        if self.redundant_joint is None:
            self._refuse(redundancy)
            return 0.0
        if redundancy is None:
            return start.item(self.redundant_joint)
        value = exact_number(redundancy, float)
        if value is None or not np.isfinite(value):
            raise InvalidConfiguration(f'redundancy = {redundancy!r} is no position of a joint')
        return float(value)

    def _refuse(self, redundancy: Any) -> None:
        """Raise InvalidConfiguration for a redundancy parameter if no joint is redundant."""
        if redundancy is not None:
            raise InvalidConfiguration(
                f'redundancy = {redundancy!r}: this chain has no redundant joint '
                f'({self.family}); leave it out, or freeze a joint of the problem '
                '(frozen_joints=), which then keeps its value of q0'
            )

    def _redundancy_values(
        self, starts: Array, redundancy: float | VectorLike | None, count: int
    ) -> Array:
        """The redundancy parameters of many problems: one for all, or (N,)."""
        if self.redundant_joint is None:
            self._refuse(redundancy)
            return np.zeros(1)
        if redundancy is None:
            return starts[:, self.redundant_joint].copy()
        return redundancy_values(redundancy, count)


def _by_distance(found: list[Array], start: Array) -> Array:
    """Solutions (k, n), the nearest to a start (n,) first."""
    q = np.reshape(found, (-1, len(start)))
    return q[np.argsort(np.linalg.norm(q - start, axis=1), kind='stable')]


def form(problem: IkProblem, q0: VectorLike | None = None) -> ClosedForm:
    """Find the closed form of a problem.

    Problems with one are a pose for a chain of up to seven joints, and a position for one of up to
    three. The form follows from the axes of the chain, whichever joints are frozen; these keep
    their value of q0 (n,), by default that of the problem's default configuration. Raises
    UnsupportedProblem, with the reason, if there is none; InvalidConfiguration; InvalidOption for
    anything but a problem.
    """
    return ClosedForm(checked_problem(problem), q0)
