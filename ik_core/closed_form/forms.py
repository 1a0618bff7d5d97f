"""All solutions of a problem in closed form, as users hold it: `form(problem)`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..chunks import Progress, rising
from ..exceptions import InvalidConfiguration, UnsupportedProblem
from ..maths.rotations import Array, IntArray, frame_of, frames_of
from ..maths.transforms import checked_transforms
from ..options import exact_number
from ..problem import IkProblem, checked_problem
from ..robot.kinematics import OFFSET
from . import judging
from .best_held import UNKNOWN
from .chain import asks_for_a_point, chain_of, why_not
from .cores import GENERAL
from .following import appraise, follow
from .general import make_way
from .judging import EXACT, NEAR, SAME, SOLUTION
from .layouts import Layout
from .many import ManySolutions, redundancy_values, solve_chunks
from .nearly import NearlyClosed, nearly_closed
from .plans import Plan, plan_of
from .slots import SLOTS
from .way import Way

TRIALS = 6
"""Random configurations that a layout has to find again, or most where it is not exact."""
MOST_WAYS = 3
"""So many layouts are kept where they need virtual joints."""
GUESSES, GUESSED_MARGIN = 12, 1.0
"""How many guesses, and errors [m, rad] from which their solutions are followed."""


class ClosedForm:
    """All solutions of a problem with one pose goal, from the geometry of its chain.

    `family` names the geometry that makes it possible. `redundant_joint` is the joint of a chain
    of seven whose value is the redundancy parameter of `solve`, as an index into q; None for
    other chains. `deviation` [m, rad] is how far the axes miss that geometry; where it exceeds
    rounding, the solutions of the ideal chain are refined to those of the real one. `is_certain`
    is whether the last answer of `solve` certainly has all solutions; refined ones are never
    certain. Virtual joints, which complete chains of fewer than six, bring singularities of their
    own: there an answer is certain if several completions agree and none was refined.
    Made by `form`.
    """

    def __init__(self, problem: IkProblem, q0: ArrayLike | None = None) -> None:
        self._point_only = asks_for_a_point(problem)
        self.robot, self.variables = problem.robot, problem.variables
        self.tolerances = problem.position_tolerance, problem.orientation_tolerance
        self._columns, self._limits, self._packed = problem.columns, problem.limits, problem.packed
        self._default = problem.default_configuration
        self._frozen: Array | None = None  # until it is looked at
        self._poses = np.empty((4, 12))
        n, m = len(self.variables), len(problem.packed.residual)
        self._room = np.empty((n, m)), np.empty((n, n)), np.empty((2, n))
        self._ways: list[Way] = []
        self._plan: Plan | None = None
        self._nearly: list[NearlyClosed | None] = []  # once it is looked for
        self._redundant_joint: int | None = None
        self._redundancy_range = np.nan, np.nan
        self._family = ''
        self.is_certain = False
        self.stand(self.start(q0))

    def __repr__(self) -> str:
        return f'<ClosedForm of {self.robot.name!r}: {self.family}>'

    @property
    def layout(self) -> Layout:
        """How the chain is solved."""
        return self._ways[0].layout

    @property
    def family(self) -> str:
        """The geometry that makes the closed form possible, in words."""
        if not self._family:
            self._family = self.layout.title([self.robot.joint_names[i] for i in self._joints])
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
        """How far the axes miss what the family needs [m, rad]."""
        return self.layout.deviation

    @property
    def is_exact(self) -> bool:
        """Whether the axes miss it by rounding only, so that solutions are not followed."""
        return self._ways[0].is_exact

    @property
    def redundancy_range(self) -> tuple[float, float]:
        """The limits [rad, m] of the redundant joint, half a turn to an unlimited side."""
        return self._redundancy_range

    def start(self, q0: ArrayLike | None = None) -> Array:
        """The whole start (n,)."""
        return self._default.copy() if q0 is None else self.robot.checked(q0, 'q0')

    def is_for(self, problem: IkProblem) -> bool:
        """Whether it still is that of a problem, whose tolerances may be changed."""
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        return self._packed is problem.packed and self.tolerances == tolerances

    def solve(self, q0: ArrayLike | None = None, redundancy: float | None = None) -> Array:
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

    def solve_loaded(self, start: Array, redundancy: float | None = None) -> Array:
        """As `solve`, from a checked start (n,), for the target that the problem read last."""
        self.stand(start)
        value = self._redundancy_value(start, redundancy)
        if self._plan is not None:
            q = self._plan.solve(self._packed.targets, start, value)
            if q is not None:
                self.is_certain = True
                return q
        return self._solve_carefully(start, value)

    def solve_many(
        self,
        targets: Any,
        q0: ArrayLike | None = None,
        redundancy: ArrayLike | None = None,
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
        self.stand(starts[0] if len(starts) else self._default)
        values = self._redundancy_values(starts, redundancy, len(frames))
        if self._plan is None or not self._stand_alike(starts):
            rows = SLOTS, self.robot.n
            q, counts = np.full((len(frames), *rows), np.nan), np.full(len(frames), -1)
        else:
            q, counts = solve_chunks(self._plan, frames, starts, values, threads, progress)
        return self._completed(frames, starts, values, q, counts, progress)

    def sweep(self, start: Array, values: Array, task: int) -> tuple[float, Array] | None:
        """The answer and costs (N,) of `sweeping.sweep` for the goal's target and a start (n,).

        None where that has to be done value by value, by `solve`.
        """
        self._packed.load(start)
        self.stand(start)
        if self._plan is None:
            return None
        answer, costs = self._plan.sweep(self._packed.targets, start, values, task)
        return None if np.isnan(costs).any() else (answer, costs)

    def best_held(self, start: Array, values: Array) -> tuple[Array | None, bool] | None:
        """The solution (n,) nearest to a start, None without any; and whether those next to the
        start, or with its own value, still have to be looked at.

        values (N,) : of the redundant joint, looked at first, at the same distance from end to end
        None where that has to be done value by value, by `solve`.
        """
        self._packed.load(start)
        self.stand(start)
        if self._plan is None:
            return None
        value, in_doubt, q = self._plan.best_held(self._packed.targets, start, values)
        if not math.isfinite(value):
            return None if value == UNKNOWN else (None, in_doubt)
        if math.isnan(q.item(0)):
            found = self._solve_carefully(start, value)
            return (found[0], True) if len(found) else None
        return q, in_doubt

    def followed(self, start: Array) -> Array | None:
        """The solution (n,) that steps from a start lead to, for the target read last; or None."""
        x, error = self._follow(start[self._columns], None)
        return self._whole(x[np.newaxis], start)[0] if error <= EXACT else None

    def best_nearby(self, start: Array) -> Array | None:
        """What `nearly` finds for the target that was read last; None without any."""
        if not self._nearly:
            own = self._chain, self._packed, self._limits, self._joints, self.robot.n, self._room
            self._nearly.append(nearly_closed(*own))
        nearly = self._nearly[0]
        return None if nearly is None else nearly.best(start)

    def hidden_values(self, start: Array, values: Array) -> Array:
        """Values of the redundant joint between two of (N,): with solutions where these have none,
        or without where both have some, as far as estimated."""
        self._packed.load(start)
        self.stand(start)
        found = None
        if self._plan is not None:
            found = self._plan.hidden(self._packed.targets, start, values)
        return np.empty(0) if found is None else found

    def solve_first(self, start: Array, values: Array) -> Array | None:
        """The nearest solution (n,) at the first of these values of the redundant joint with any.

        From a checked start (n,), for the target that the problem read last.
        """
        self.stand(start)
        counts, q = np.full(len(values), -1), np.empty(0)
        if self._plan is not None:
            frames = np.repeat(self._packed.targets, len(values), axis=0)
            q, counts = solve_chunks(self._plan, frames, start[np.newaxis], values, 1, None)
        for i, count in enumerate(counts.tolist()):
            found = q[i, :count] if count >= 0 else self._solve_carefully(start, values.item(i))
            if len(found):
                return found[0]
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
        """The answer, with the poses that have no count yet solved one by one."""
        certain, last, count = np.ones(len(frames), bool), len(starts) - 1, len(frames)
        open_ = np.flatnonzero(counts < 0)
        for done, i in enumerate(open_.tolist()):
            start = starts[min(i, last)]
            self.stand(start)
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
        """The solutions (k, n) for the target that is loaded, also where it is not regular."""
        return self._whole(self._solve_from(start[self._columns], value), start)

    def _whole(self, x: Array, start: Array) -> Array:
        """Configurations (k, n) with the chain's variables (k, variables), else as in a start."""
        q = np.tile(start, (len(x), 1))
        q[:, self._columns] = x
        return q

    def _solve_from(self, x: Array, held: float) -> Array:
        """The solutions (k, variables); near misses only where there is nothing better."""
        answers = [found for way in self._ways if (found := self._by(way, x, held)) is not None]
        self.is_certain = all(way.is_exact and way.is_sure for way in self._ways)
        if not self.layout.is_completed:
            return answers[0]
        if not answers:
            self.is_certain = False
            return self._guessed(self._ways[0], held)
        together = self._united(answers, x)
        agree = all(len(found) == len(together) for found in answers)
        followed = any(NEAR in way.kinds[: way.count] for way in self._ways)
        self.is_certain &= agree and len(answers) > 1 and not followed
        return together

    def _by(self, way: Way, x: Array, held: float) -> Array | None:
        """The solutions in one way; None where its virtual joints are singular."""
        way.x[:] = x
        count = way.propose(self._packed, self._limits, self._poses, held)
        way.count = max(count, 0)
        if count < 0:
            return None
        kinds = way.kinds[:count].tolist()
        return self._followed(way, way.q.copy(), kinds) if NEAR in kinds else way.q[:count]

    def _united(self, answers: list[Array], start: Array) -> Array:
        """The solutions of several ways, each once."""
        kept: list[Array] = []
        missed: list[Array] = []
        for x in np.concatenate(answers):
            self._packed.update(x)
            self._add(kept if self._packed.part_errors.max() <= EXACT else missed, x, start)
        found = np.reshape(kept or missed, (-1, len(start)))
        return found[np.argsort(np.linalg.norm(found - start, axis=1), kind='stable')]

    def _guessed(self, way: Way, held: float) -> Array:
        """Solutions at a singularity that only the completed chain has: followed from guesses."""
        q, kinds = [], []
        for guess in np.linspace(-np.pi, np.pi, GUESSES, endpoint=False):
            count = way.propose(
                self._packed, self._limits, self._poses, held, float(guess), GUESSED_MARGIN
            )
            q += [*way.q[: max(count, 0)].copy()]
            kinds += way.kinds[: max(count, 0)].tolist()
        return self._followed(way, np.reshape(q, (-1, len(way.x))), kinds)

    def _followed(self, way: Way, q: Array, kinds: list[int]) -> Array:
        """The solutions with those that are followed from near ones."""
        kept: list[Array] = []
        missed: list[Array] = []
        for x, kind in zip(q, kinds, strict=False):
            error = 0.0
            if kind == NEAR:
                x, error = self._follow(x, way.held)
            if error <= EXACT:
                self._add(kept, x, way.x)
            elif self._within_tolerances():
                self._add(missed, x, way.x)
        found = np.reshape(kept or missed, (-1, len(way.x)))
        return found[np.argsort(np.linalg.norm(found - way.x, axis=1), kind='stable')]

    def _add(self, kept: list[Array], x: Array, start: Array) -> None:
        """Append a solution that is not among those kept."""
        x = self._limits.nearest_turn(x, start)
        gaps = [self._limits.nearest_turn(x, one) - one for one in kept]
        if all(np.abs(gap).max() > SAME for gap in gaps):
            kept.append(x)

    def _follow(self, x: Array, held: int | None) -> tuple[Array, float]:
        """The solution near x inside the limits, by damped least squares; and its error."""
        x = x.copy()
        room = self._packed.residual, *self._room
        return x, follow(
            self._packed.arrays, self._limits.packed, -1 if held is None else held, x, *room
        )

    def appraised(self, q: Array) -> tuple[Array, Array]:
        """Errors (k, 2) [m, rad] and shares (k,) of solutions (k, n): see `following.appraise`."""
        errors, shares = np.empty((len(q), 2)), np.empty(len(q))
        room = self._packed.residual, *self._room
        appraise(self._packed.arrays, q[:, self.variables].copy(), errors, shares, *room)
        return errors, shares

    def _within_tolerances(self) -> bool:
        return bool((self._packed.errors <= self.tolerances).all())

    def stand(self, start: Array) -> None:
        """Look at the chain anew where joints that do not move stand elsewhere in `start` (n,).

        UnsupportedProblem where they leave no closed form; another start may have one again.
        """
        packed = self._packed
        if self._frozen is not None and not len(self._frozen):
            return
        packed.load_frozen(start)
        frozen = packed.geometry[packed.frozen, OFFSET]
        if self._frozen is None or (frozen != self._frozen).any():
            self._frozen = None
            self._look_at_chain()
            self._frozen = frozen

    def _stand_alike(self, starts: Array) -> bool:
        """Whether the joints that are no variables stand alike in all starts (N, n)."""
        values = self._packed.frozen_values(starts)
        return bool((values == values[:1]).all())

    # --- the chain ------------------------------------------------------------------------------

    def _look_at_chain(self) -> None:
        """Find the layout for the joints as they stand; UnsupportedProblem without one."""
        self._chain = chain_of(self._packed, self._point_only)
        if len(self._chain.rows) < len(self.variables):
            raise UnsupportedProblem('no closed form: secondary tasks move other joints, too')
        home = self._chain.last @ self._chain.tool
        self._poses[judging.TOOL] = frame_of(self._chain.tool)
        self._poses[judging.HOME] = frame_of(np.asarray(np.linalg.inv(home), float))
        self._ways = self._find_ways()
        if not self._ways:
            raise UnsupportedProblem(why_not(self._chain))
        held, self._family = self.layout.held, ''
        self._redundant_joint = int(self._joints[held]) if held >= 0 else None
        j = self._ways[0].held
        if j is not None:
            lower, upper = self._limits.sample_lower, self._limits.sample_upper
            self._redundancy_range = lower.item(j), upper.item(j)
        self._plan, self._nearly = self._find_plan(), []

    def _find_ways(self) -> list[Way]:
        """The best one; where virtual joints bring singularities of their own, others as well."""
        good: list[Way] = []
        for layout in self._chain.layouts():
            if layout.kind == GENERAL and good and good[0].layout.kind != GENERAL:
                break  # it is slower than all others
            way = make_way(self._chain, layout, max(self.tolerances))
            if way is None:
                continue
            self._ways = [way]
            direct, followed = self._finds_again(way)
            way.is_exact = direct == TRIALS
            if way.is_exact or (2 * followed > TRIALS and not good):
                good.append(way)
            if good and (not layout.is_completed or len(good) == MOST_WAYS):
                break
        return good

    def _find_plan(self) -> Plan | None:
        """That of the one way, where it is exact and regular poses have formulas."""
        way, chain = self._ways[0], self._chain
        if len(self._ways) > 1 or not way.is_exact or self._point_only:
            return None
        return plan_of(
            chain, way.layout, self._packed, self._limits, self._joints, way.margin, self.robot.n
        )

    def _finds_again(self, way: Way) -> tuple[int, int]:
        """How many random configurations are among the solutions for the poses they lead to:
        directly, and also where they are followed."""
        limits, packed = self._limits, self._packed
        rng, targets = np.random.default_rng(0), packed.targets.copy()
        span = limits.sample_upper - limits.sample_lower
        direct = again = 0
        for _ in range(TRIALS):
            x, way.x[:] = limits.sample_lower + span * rng.uniform(0.05, 0.95, (2, len(span)))
            packed.update(x)
            packed.targets[0] = packed.tips[0]
            held = 0.0 if way.held is None else x.item(way.held)
            count = way.propose(packed, limits, self._poses, held)
            kinds = way.kinds[: max(count, 0)]
            found = way.q[: len(kinds)]
            direct += self._is_among(x, found[kinds == SOLUTION])
            again += self._is_among(x, self._followed(way, found.copy(), kinds.tolist()))
        packed.targets[:] = targets
        return direct, again

    def _is_among(self, x: Array, found: Array) -> bool:
        """Whether x is one of those found, modulo whole turns."""
        return any(np.abs(self._limits.nearest_turn(q, x) - x).max() <= SAME for q in found)

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
        """InvalidConfiguration for a redundancy parameter where no joint is redundant."""
        if redundancy is not None:
            raise InvalidConfiguration(
                f'redundancy = {redundancy!r}: this chain has no redundant joint '
                f'({self.family}); leave it out, or freeze a joint of the problem '
                '(frozen_joints=), which then keeps its value of q0'
            )

    def _redundancy_values(self, starts: Array, redundancy: ArrayLike | None, count: int) -> Array:
        """The same for many: one for all, or (N,)."""
        if self.redundant_joint is None:
            self._refuse(redundancy)
            return np.zeros(1)
        if redundancy is None:
            return starts[:, self.redundant_joint].copy()
        return redundancy_values(redundancy, count)


def form(problem: IkProblem, q0: ArrayLike | None = None) -> ClosedForm:
    """The closed form of a problem: one pose for a chain of up to seven joints, or a position for
    one of up to three.

    Found from the axes of the chain, whichever joints are frozen; these stand as in q0 (n,), by
    default as in the problem's default configuration. Raises UnsupportedProblem, which says why,
    where there is none, InvalidConfiguration, and InvalidOption for what is no problem.
    """
    return ClosedForm(checked_problem(problem), q0)
