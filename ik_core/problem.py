# SPDX-License-Identifier: Apache-2.0
"""A problem: a robot, its goals and tasks, the joints that may move, and their limits."""

from __future__ import annotations

import copy
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .collision.collisions import Collisions
from .display import angle, counted, joined, length, listed
from .exceptions import InvalidConfiguration, InvalidOption, UnsupportedProblem
from .maths.argument_types import Names, VectorLike
from .maths.rotations import Array, IntArray
from .options import exact_number
from .result import IkResult, IkStatus
from .robot.kinematics import PARENT, VARIABLE
from .robot.limits import JointLimits
from .robot.linear_constraints import ConstraintRows, LinearConstraint
from .robot.reach_cones import ReachCone, moved_cones
from .robot.robot import Robot
from .rules import are_within
from .tasks import Task
from .tasks.base import JointTask
from .tasks.goals import IN_PYTHON, GoalTask, Words
from .tasks.immobile import Immobile, immobile, named_directions, random_configurations
from .tasks.jacobian_check import (
    check_finite,
    check_task,
    jacobian_of_task,
    residual_of_task,
    rows_of_task,
)
from .tasks.packing import PackedGoals
from .tasks.reach import reach_of_goals

SLACK = 1e-9
"""Fraction of a reach that is added to it, against rounding."""
CERTAIN = 'for certain'
"""Words of notes that stand for a proof."""
FAR = 1e9
"""[m] Stands for an infinite reach."""

DEPTH = 0.01
"""Depths of cylinders are too large by at most this share of the radius (`collision.epa`)."""
STILL = 1e-9
"""[rad or m] A joint whose limits are no further apart does not move."""
ALONG = 1e-3
"""A unit vector that a projection changes by more than this does not lie in the subspace."""
TOUCH = 1e-5
"""[m] A pair nearer than its margin and this much more stops a search that does not enter it."""

Valid = Callable[[Array], bool | np.bool_]


@dataclass(eq=False)
class Evaluation:
    """A problem evaluated at one point: `x` (variables,), `residual` (m,), its exact `jacobian`
    (m, variables), `cost` = |residual|^2 and the goals' errors [m], [rad], (G,) each.
    """

    x: Array
    residual: Array
    jacobian: Array
    cost: float
    position_errors: Array
    orientation_errors: Array


class IkProblem:
    """Goals for a robot to reach together, or to approach in the least-squares sense.

    robot : Robot
    tasks : the goals, for different links or several for one link, and other tasks that are
        weighed against them: a rest posture, an example motion, ... The problem lists them as
        `goals` and `other_tasks`
    secondary : tasks for the freedom that the goals leave; they never move a goal. A list of lists
        is one level of priority each: no level changes those before it
    frozen_joints : names of joints that keep their value of q0
    lower, upper : limits (n,) in place of the robot's [rad or m]
    constraints : LinearConstraints between joints ([Engell2007] Eq. 11-12) and ReachCones, as
        binding as the limits; only the solvers bfgs and sqp support them, and not with `secondary`
        tasks. Cones of links that the problem does not move are reported only
    avoid : Collisions of this robot: an answer is free of them, or its status is COLLISION. Only
        the solvers levenberg_marquardt, closed_form, bfgs and sqp support it
    valid : a function of q (n,) that returns whether an answer may be used; likewise
    position_tolerance [m], orientation_tolerance [rad] : largest errors of a goal that is reached
    orientation_length [m/rad] : length that one radian counts as where a goal is not reached: the
        closest point minimises the weighted sum of position^2 + (length angle)^2
    check_jacobians : run `check_task` at the start of every solve; for authors of tasks

    A problem moves the joints that move one of its goals' links, or all joints if a task asks for
    that (`Task.moves_all_joints`). `variables` are their indices into q; indexing with `columns`
    selects the same joints faster. The structure, goals and limits included, is fixed: assigning
    to it raises InvalidOption. Tolerances may change; targets change by `task.set_target` and are
    read once, at the start of each solve. Use a problem in one thread and one search at a time,
    since its arrays hold the targets and frozen joints of that search; `clone` makes another.
    """

    avoids: bool
    """Whether answers have to be free of collisions, inside reach cones, or valid to the user's
    own check.
    """
    tolerances: tuple[float, float]
    """Both tolerances [m, rad]: another pair after each change, by which searches see it."""

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Task],
        *,
        secondary: Sequence[Task | Sequence[Task]] = (),
        frozen_joints: Names = (),
        lower: VectorLike | None = None,
        upper: VectorLike | None = None,
        constraints: Sequence[LinearConstraint | ReachCone] = (),
        avoid: Collisions | None = None,
        valid: Valid | None = None,
        position_tolerance: float = 1e-5,
        orientation_tolerance: float = 1e-4,
        orientation_length: float = 0.2,
        check_jacobians: bool = False,
    ) -> None:
        if not isinstance(robot, Robot):
            raise InvalidOption(f'robot is {robot!r}: a Robot is needed, as load_urdf returns')
        _check_list(tasks, 'tasks', 'tasks')
        _check_list(frozen_joints, 'frozen_joints', 'names')
        _check_list(constraints, 'constraints', 'LinearConstraints and ReachCones')
        self.robot = robot
        self.goals = tuple(task for task in tasks if isinstance(task, GoalTask))
        self.other_tasks = tuple(task for task in tasks if not isinstance(task, GoalTask))
        self.levels = _checked_levels(secondary)
        self.frozen_joints = tuple(frozen_joints)
        self.check_jacobians = check_jacobians
        self.position_tolerance = position_tolerance
        self.orientation_tolerance = orientation_tolerance
        self.orientation_length = _positive(orientation_length, 'orientation_length', 'm/rad')
        self.variables = self._find_variables()
        self.columns = _as_slice(self.variables)
        box = self._checked_box(lower, upper)
        self.avoid, self.valid = _checked_avoid(avoid, robot, box), _checked_valid(valid)
        low, high = box[:, self.variables]
        turns = robot.full_turns[self.variables]
        if any(isinstance(task, JointTask) for task in self.other_tasks):
            turns = False & turns  # to them a whole turn more or less is another place
        cones = [one for one in constraints if isinstance(one, ReachCone)]
        rows = [one for one in constraints if not isinstance(one, ReachCone)]
        self.cones, self.moved_cones = tuple(cones), moved_cones(cones, robot, self.variables)
        self.avoids = avoid is not None or valid is not None or bool(self.moved_cones)
        self.constraints = _checked_constraints(rows, robot, self.variables)
        turns = turns & ~self.constraints.coupled  # as it is to a constraint
        self.limits = JointLimits(low, high, turns)
        self.packed = PackedGoals(robot, self.goals, self.variables, self.orientation_length)
        self.default_configuration = self._default_configuration()
        self._kept = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Without the solvers of `ik_core.solve`, whose buffers are those of this problem."""
        return {name: value for name, value in vars(self).items() if name != '_kept'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _kept=threading.local())
        self._forget_goals()  # packed goals have views of their arrays, which copies would not be

    def __copy__(self) -> IkProblem:
        """A shallow copy, for what shares the goals as they are packed."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), _kept=threading.local())
        return other

    def __repr__(self) -> str:
        moved = f'{len(self.variables)} of {counted(self.robot.n, "joint")} move'
        tasks = [f'  {task!r}' for task in (*self.goals, *self.other_tasks)]
        for k, level in enumerate(self.levels):
            name = 'secondary' if len(self.levels) == 1 else f'secondary, level {k + 1}'
            tasks += [f'  {name}: {task!r}' for task in level]
        constraints = *self.constraints.constraints, *self.cones
        tasks += [f'  constraint: {constraint!r}' for constraint in constraints]
        tasks += [f'  avoids: {self.avoid!r}'] if self.avoid is not None else []
        reached = f'{length(self.position_tolerance)}, {angle(self.orientation_tolerance)}'
        head = f'<IkProblem for {self.robot.name!r}: {moved}, reached within {reached}'
        return '\n'.join([head, *tasks]) + '>'

    def clone(self) -> IkProblem:
        """An independent copy with its own goals, for another thread or a concurrent search."""
        other = copy.copy(self)
        goals, others, levels = copy.deepcopy((self.goals, self.other_tasks, self.levels))
        vars(other).update(goals=goals, other_tasks=others, levels=levels)
        other._forget_goals()
        return other

    def _forget_goals(self) -> None:
        """Pack the goals anew, and forget what was found out about others."""
        for name in ('reach', 'short_goals', 'immobile', 'weighed_alike'):
            vars(self).pop(name, None)
        self.packed = PackedGoals(self.robot, self.goals, self.variables, self.orientation_length)

    @property
    def secondary(self) -> tuple[Task, ...]:
        """The secondary tasks of all levels."""
        return tuple(task for level in self.levels for task in level)

    @property
    def kept_solvers(self) -> dict[str, Any]:
        """Solvers by name, and a batch, that this thread keeps with the problem until it ends."""
        return self._kept.__dict__

    @cached_property
    def reach(self) -> tuple[Array, Array]:
        """Centres (G, 3) and radii (G,) [m] of balls that hold all points the links can be at."""
        return reach_of_goals(self.packed, self.limits.lower, self.limits.upper)

    def explain(
        self, result: IkResult, words: Words | None = IN_PYTHON, points: Array | None = None
    ) -> IkResult:
        """Add to the note of a result why its goals are missed; return the result.

        The reason is the first of these: joints that are too few, or frozen (`advice`); a proof
        that the goals are out of reach; how many starts found nothing closer.

        words : how to ask for less; None: joints are no reason
        points (G, 3) : positions of the targets [m]; by default those of the goals now
        """
        if not self.goals or not result.status.misses_goals:
            return result
        points = self.points if points is None else points
        errors, reason = (result.position_errors, result.orientation_errors), ''
        if words is not None:
            reason = self.advice(result.q, *errors, points, words)
        if not reason and result.status.is_closest and CERTAIN not in result.note:
            starts = counted(result.restarts + 1, 'start')
            reason = self.why_out_of_reach(points) or f'nothing closer was found from {starts}'
        result.note = joined(result.note, reason)
        return result

    @property
    def points(self) -> Array:
        """Positions (G, 3) of the goals' targets [m], as they are now."""
        return np.array([goal.target[9:] for goal in self.goals])

    def why_out_of_reach(self, points: Array) -> str:
        """Text: the links of a goal are too short to reach its point; '' if they may do.

        points (G, 3) : positions of the targets [m]
        """
        centres, radii = self.reach
        distances = np.linalg.norm(points - centres, axis=1)
        for goal, distance, radius in zip(self.goals, distances, radii.tolist(), strict=True):
            if distance > radius * (1.0 + SLACK) + self.position_tolerance:
                beyond = length(float(distance) - radius)
                return f'out of reach {CERTAIN}: the links of {goal.link} are {beyond} too short'
        return ''

    @cached_property
    def short_goals(self) -> NDArray[np.bool_]:
        """Mask (G,) of goals that fix more degrees of freedom than the joints of their link have.

        Goals with `immobile` directions are marked, too. All goals are marked if they fix more
        together than all variables have.
        """
        fixed = [goal.fixed_freedoms for goal in self.goals]
        joints = [len(self._moving(i)) for i in range(len(self.goals))]
        is_flat = np.array([len(own.directions) > 0 for own in self.immobile], bool)
        return (np.array(fixed) > joints) | (sum(fixed) > len(self.variables)) | is_flat

    @cached_property
    def immobile(self) -> list[Immobile]:
        """Directions in which no joint of the robot, frozen or not, moves the goals' points."""
        chains = [self.robot.chain(*chain) for chain in self.goal_chains]
        return [
            self._immobile(i, chain, self.default_configuration) for i, chain in enumerate(chains)
        ]

    def _immobile(self, goal: int, joints: Sequence[int], q: Array) -> Immobile:
        """The directions in which these joints don't move a goal, with the others as in q (n,)."""
        return immobile(self.robot, self.goals[goal], joints, q)

    def _moving(self, goal: int) -> list[int]:
        """The joints, as indices into q, that are not frozen and move a goal's link."""
        chain = self.robot.chain(*self.goal_chains[goal])
        return sorted(set(chain) & set(self.variables.tolist()))

    @cached_property
    def is_redundant(self) -> bool:
        """Whether more joints move than the goals fix degrees of freedom."""
        return len(self.variables) > sum(goal.fixed_freedoms for goal in self.goals)

    @cached_property
    def weighed_alike(self) -> IkProblem | None:
        """A copy of the problem, targets included, in which orientations weigh as much as
        positions.

        None where no goal `puts_position_first`, and beside other tasks, whose weights count.
        """
        if self.other_tasks or not any(goal.puts_position_first for goal in self.goals):
            return None
        other = copy.copy(self)
        vars(other).update(goals=tuple(goal.weighed_alike() for goal in self.goals), levels=())
        other._forget_goals()
        return other

    @property
    def goal_links(self) -> list[str]:
        """The links of the goals, in order."""
        return [goal.link for goal in self.goals]

    @property
    def goal_chains(self) -> list[tuple[str, str | None]]:
        """The links of the goals, each with the link that it is relative to; None for the root."""
        return [(goal.link, goal.relative_to) for goal in self.goals]

    def with_tasks(self, tasks: Sequence[Task]) -> IkProblem:
        """Copy with the same variables and limits, but only these tasks, which are no goals."""
        other = copy.copy(self)
        vars(other).update(goals=(), other_tasks=tuple(tasks), levels=())
        other._forget_goals()
        return other

    def holding(self, tasks: Sequence[Task], level: Sequence[Task]) -> IkProblem:
        """Copy with these tasks weighed beside the goals, and one level of secondary tasks."""
        other = copy.copy(self)
        vars(other).update(other_tasks=(*self.other_tasks, *tasks), levels=(tuple(level),))
        return other

    @property
    def is_constrained(self) -> bool:
        """Whether there are linear constraints, or reach cones that the variables move."""
        return bool(self.constraints or self.moved_cones)

    def check_without_constraints(self) -> None:
        """Raise UnsupportedProblem if there are constraints: for callers without them."""
        if self.is_constrained:
            kind = 'linear constraints between joints' if self.constraints else 'reach cones'
            raise UnsupportedProblem(
                f'{kind} are kept by the solvers bfgs and sqp alone: '
                'not by others, with secondary tasks, in solve_all, or by a Tracker'
            )

    def without_avoid(self) -> IkProblem:
        """Copy with the same goals, that may collide."""
        other = self.clone()
        vars(other).update(avoid=None, valid=None, avoids=bool(self.moved_cones))
        return other

    def are_free(self, q: Array) -> NDArray[np.bool_]:
        """Whether configurations (N, n) are free of collisions, inside cones and valid (N,).

        Only pairs that the problem moves against each other count: nothing that it could answer
        changes the others.
        """
        free = np.ones(len(q), bool) if self.avoid is None else self.avoid.free(q, self.groups)
        for cone in self.moved_cones:
            free[free] = [cone.violation(self.robot, one) == 0.0 for one in q[free]]
        if self.valid is not None:
            free[free] = [bool(self.valid(one.copy())) for one in q[free]]
        return free

    def is_free(self, q: Array) -> bool:
        """Whether a configuration (n,) is free of collisions, inside cones and valid."""
        return bool(self.are_free(q[np.newaxis])[0])

    def why_not_free(self, colliding: Array, count: int) -> str:
        """Why none of `count` solutions may be used, of which the first ones are given (k, n)."""
        reasons = Counter(self.why_not_free_at(q) for q in colliding)
        of = f'{count}' if count == len(colliding) else f'the first {len(colliding)} of {count}'
        parts = [f'{often} of {of} solutions: {why}' for why, often in reasons.most_common()]
        return '; '.join(parts)

    def why_settled(self, q: Array) -> str:
        """Why no solution is free, if one at q (n,) collides for the goals alone; else empty."""
        if self.avoid is None or not self.settled_bodies.any():
            return ''
        for pair in self.avoid.colliding(q, self.groups):
            bodies = [1 + self.avoid.body_of(name) for name in (pair.first, pair.second)]
            is_settled = self.settled_bodies[bodies].all()
            if is_settled and pair.margin - pair.distance > self.settled_slack:
                return f'for certain, wherever the other links are: {pair.first} and {pair.second}'
        return ''

    @cached_property
    def groups(self) -> IntArray:
        """Bodies (1 + bodies,), the root link first, with the same number where no variable is
        between them: so they never move against each other."""
        variables, group = set(self.variables.tolist()), [0]
        for k, row in enumerate(self.robot.tree):
            moves = int(row[VARIABLE]) in variables
            group.append(1 + k if moves else group[1 + int(row[PARENT])])
        return np.array(group, np.int64)

    @cached_property
    def _unmoved(self) -> IntArray:
        return np.setdiff1d(np.arange(self.robot.n), self.variables)

    def is_outside(self, rows: Array) -> bool:
        """Whether in some start of rows (N, n) a joint that the problem does not move is outside
        the limits inside which pairs of links are known never to meet."""
        if self.avoid is None or not len(self._unmoved):
            return False
        return bool(self.avoid.are_outside(rows)[:, self._unmoved].any())

    def start_at(self, q: Array) -> tuple[bool, str]:
        """Return `is_outside` and `note_on_start` of a start q (n,), kept for the next one with
        the same values of the joints that the problem does not move."""
        if self.avoid is None:
            return False, ''
        key = self.avoid.world.version, q.take(self._unmoved).tobytes()
        known = vars(self).get('_start')
        if known is None or known[0] != key:
            row = q[np.newaxis]
            known = key, (self.is_outside(row), self.note_on_start(row))
            vars(self)['_start'] = known
        answer: tuple[bool, str] = known[1]
        return answer

    def note_on_start(self, rows: Array) -> str:
        """The pairs that collide in starts (N, n) and that no joint of the problem moves against
        each other, as a note for answers; empty without any."""
        if self.avoid is None:
            return ''
        pairs, k = self.avoid.unmoved(rows, self.groups)
        if not pairs:
            return ''
        names = listed(f'{pair.first} and {pair.second}' for pair in pairs)
        where = 'in q0' if len(rows) == 1 else f'in start {k}'
        deep = max(pair.margin - pair.distance for pair in pairs)
        return (
            f'not counted, since no joint of this problem moves them against each other: {names} '
            f'are too near each other {where}, by up to {length(deep)}'
        )

    @cached_property
    def settled_bodies(self) -> NDArray[np.bool_]:
        """Which bodies are at one place in all solutions (1 + bodies,), the root link first: those
        that no variable moves, and those that goals put at a pose. All False without the latter.
        """
        group = self.groups
        whole = [goal for goal in self.goals if goal.fixed_freedoms == 6]
        links = [goal.link for goal in whole if goal.relative_to is None]
        known = {group[1 + self.robot.placement(link).body] for link in links} - {0}
        return np.isin(group, [0, *known]) if known else np.zeros(len(group), bool)

    @property
    def settled_slack(self) -> float:
        """[m] Largest change of a distance of settled bodies by tolerances, and error of
        cylinders' depths.
        """
        if self.avoid is None:
            return 0.0
        reach = max(self.avoid.reach_of(link, self.settled_bodies) for link in self.goal_links)
        turned = 2.0 * self.orientation_tolerance * reach  # twice: frozen joints may be elsewhere
        return 2.0 * (self.position_tolerance + turned) + DEPTH * self.avoid.largest_radius

    def why_none_is_free(self, q: Array) -> str:
        """Why no closest point and no start may be used; q (n,) is one of them."""
        return f'no closest point found may be used; one of them: {self.why_not_free_at(q)}'

    def what_holds(self, q: Array) -> str:
        """The pairs and cones that stop a free configuration q (n,), those at their margins."""
        pairs = []
        if self.avoid is not None:
            pairs = self.avoid.distances(q, self.avoid.reach + TOUCH, self.groups)
        names = [
            f'{pair.first} and {pair.second}'
            for pair in pairs
            if pair.distance <= pair.margin + TOUCH
        ]
        names += [
            f'the reach cone of {cone.link}'
            for cone in self.moved_cones
            if cone.depth(self.robot, q) <= TOUCH
        ]
        return f'stopped by {"; ".join(names)}' if names else ''

    def why_not_free_at(self, q: Array) -> str:
        """The pair that collides most at q (n,), or a cone that it is outside of."""
        pairs = [] if self.avoid is None else self.avoid.colliding(q, self.groups)
        if pairs:
            return f'{pairs[0].first} and {pairs[0].second}'
        for cone in self.moved_cones:
            if (outside := cone.violation(self.robot, q)) > 0.0:
                return f'{cone.link} is {angle(outside)} outside its reach cone'
        return 'refused by `valid`'

    def cone_violations(self, q: Array) -> tuple[float, ...]:
        """The angles outside each reach cone at q (n,) [rad]; 0 inside."""
        return tuple(cone.violation(self.robot, q) for cone in self.cones)

    def check_without_avoid(self, who: str) -> None:
        """Raise UnsupportedProblem if there is anything to avoid: for callers that can't."""
        if self.moved_cones:
            self.check_without_constraints()
        if self.avoids:
            name = 'avoid' if self.avoid is not None else 'valid'
            raise UnsupportedProblem(
                f'{who} does not support {name}=: solves by levenberg_marquardt, closed_form, '
                'bfgs and sqp do'
            )

    def configuration(self, x: Array) -> Array:
        """Configuration (n,) with x (variables,) and the other joints of the last `start`.

        Only for problems with tasks other than goals.
        """
        q = self._q.copy()
        q[self.variables] = x
        return q

    def start(self, q0: VectorLike | None = None) -> tuple[Array, Array]:
        """Read the targets; return the start (n,) and its variables inside the limits.

        `q0=None` is `default_configuration`. Raises InvalidGoal, InvalidConfiguration.
        """
        q = self.load(q0)
        return q, self.limits.project(q[self.variables])

    def load(self, q0: VectorLike | None = None) -> Array:
        """Read the targets and the joints that are no variables; return the start (n,)."""
        q = self.default_configuration.copy() if q0 is None else self.robot.checked(q0, 'q0')
        self.packed.load(q)
        if self.check_jacobians:
            for task in (*self.goals, *self.other_tasks, *self.secondary):
                check_task(task, self.robot, q)
        if self.other_tasks or self.levels:  # which look at the whole robot
            self._q = q.copy()
        return q

    def load_numbers(self, q0: VectorLike | None = None) -> Array:
        """Load the start as `load` does, without a check that it is finite.

        The kernels of the default solver check that themselves.
        Only for problems with goals alone, and without frozen joints.
        """
        if q0 is None or self.check_jacobians:
            return self.load(q0)
        q = self.robot.numbers(q0, 'q0')
        self.packed.load(q)
        return q

    def at(self, x: Array) -> Evaluation:
        """Evaluate at variables x, with the targets and frozen joints of the last `start`."""
        cost = self.packed.update(x)
        residual, jacobian = self.packed.residual.copy(), self.packed.jacobian()
        if self.other_tasks:
            others, other_jacobian = self.rows_of(self.other_tasks, x)
            residual = np.concatenate([residual, others])
            jacobian = np.vstack([jacobian, other_jacobian])
            cost += float(others @ others)
        return Evaluation(
            x=x,
            residual=residual,
            jacobian=jacobian,
            cost=cost,
            position_errors=self.packed.errors[:, 0].copy(),
            orientation_errors=self.packed.errors[:, 1].copy(),
        )

    def cost_at(self, x: Array) -> float:
        """The cost alone at variables x; also fills `packed.errors`."""
        cost = self.packed.update(x)
        if self.other_tasks:
            residual = self.residual_of(self.other_tasks, x)
            cost += float(residual @ residual)
        return cost

    def secondary_at(self, x: Array, begins: bool = False) -> tuple[Array, Array]:
        """The secondary tasks' residual (s,) and Jacobian (s, variables) at variables x.

        begins : see `rows_of`
        """
        return self.rows_of(self.secondary, x, begins)

    def evaluate(self, q: VectorLike) -> Evaluation:
        """Evaluate at q (n,), which may break the limits, with the current targets."""
        return self.at(self.load(q)[self.variables])

    def errors(self, q: VectorLike) -> tuple[Array, Array]:
        """The goals' position [m] and orientation [rad] errors at q (n,), each (G,)."""
        vector = self.robot.checked(q)
        self.packed.load(vector)
        self.packed.update(vector[self.variables])
        return self.packed.errors[:, 0].copy(), self.packed.errors[:, 1].copy()

    def is_solved(self, position_errors: Array, orientation_errors: Array) -> bool:
        """Whether these errors, (G,) each, are within the tolerances; False without goals."""
        errors = np.column_stack((position_errors, orientation_errors))
        return are_within(errors, self.position_tolerance, self.orientation_tolerance)

    def explained(
        self, status: IkStatus, position_errors: Array, orientation_errors: Array
    ) -> IkStatus:
        """TOO_FEW_JOINTS in place of CLOSEST if that is why the last loaded goals are missed."""
        if status is not IkStatus.CLOSEST or not self.short_goals.any():
            return status
        points = self.points
        few = self.lacks_joints(position_errors, orientation_errors, points)
        return IkStatus.TOO_FEW_JOINTS if few else status

    def lacks_joints(
        self,
        position_errors: Array,
        orientation_errors: Array,
        points: Array,
        tolerances: tuple[float, float] | None = None,
    ) -> NDArray[np.bool_]:
        """Whether goals that ask for more than their joints can do are all that is missed (...).

        position_errors [m], orientation_errors [rad] (..., G) : at the closest point
        points (..., G, 3) : the positions of the targets [m]

        A goal whose position is out of reach does not count: farther away than the links are long,
        missed by more than the whole arm moves its tip when it turns by the orientation error, or
        missed although the orientation weighs next to nothing (`POSITION_FIRST`). Distances along
        directions in which no joint moves the link (`immobile`) are for lack of joints.
        """
        position, orientation = tolerances or self.tolerances
        turned = orientation_errors > orientation
        position_errors, points, off = self._without_offsets(position_errors, points, position)
        far = position_errors > position
        centres, radii = self.reach
        beyond = np.linalg.norm(points - centres, axis=-1) > radii + position
        first = np.array([goal.puts_position_first for goal in self.goals], bool)
        mostly_turned = turned & (position_errors <= np.minimum(radii, FAR) * orientation_errors)
        explained = self.short_goals & mostly_turned & ~beyond & ~(first & far)
        explained |= off & ~far & ~turned
        return (explained | ~(off | far | turned)).all(axis=-1)

    def _without_offsets(
        self, position_errors: Array, points: Array, tolerance: float
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Errors (..., G) and points (..., G, 3) [m] without their parts along the directions in
        which no joint moves the goals' links, and whether such a part exceeds the tolerance.
        """
        off = np.zeros(np.shape(position_errors), bool)
        for i, own in enumerate(self.immobile):
            if not len(own.directions):
                continue
            if not off.any():
                position_errors, points = np.array(position_errors), np.array(points)
            offsets = own.offsets(points[..., i, :])
            points[..., i, :] -= offsets @ own.directions
            squares = np.square(offsets).sum(axis=-1)
            off[..., i] = np.sqrt(squares) > tolerance
            rest = np.square(position_errors[..., i]) - squares
            position_errors[..., i] = np.sqrt(np.maximum(rest, 0.0))
        return position_errors, points, off

    def why_unmoved(self, goal: int, q: VectorLike, point: Array) -> str:
        """Text: no joint moves a goal's link in a direction to its point (3,) [m]; '' if one may.

        goal : index of the goal
        q (n,) : values of the joints that the problem does not move
        """
        moving, chain = self._moving(goal), self.robot.chain(*self.goal_chains[goal])
        stuck = self.variables[self.limits.upper - self.limits.lower <= STILL].tolist()
        able = [i for i in moving if i not in stuck]
        held = [i for i in chain if i not in able]
        start = self.robot.checked(q)
        own = self._immobile(goal, able, start) if held else self.immobile[goal]
        gaps = np.abs(own.offsets(point)) > self.position_tolerance
        if not gaps.any():
            return ''
        directions, link = own.directions[gaps], self.goals[goal].link
        where, names = f'along {named_directions(directions)}', self.robot.joint_names
        anywhere = random_configurations(self.robot, chain, start, 1)[0]
        free = [i for i in held if self._moves_along(goal, i, directions, anywhere)]
        if not free:
            return f'no joint moves {link} {where}'
        frozen = [names[i] for i in free if i not in moving]
        equal = [names[i] for i in free if i in moving]
        said = [f'{listed(frozen)} {"is" if len(frozen) == 1 else "are"} frozen'] if frozen else []
        if equal:
            said.append(f'the limits of {listed(equal)} are equal')
        return f'no joint that may move moves {link} {where}: {" and ".join(said)}'

    def _moves_along(self, goal: int, joint: int, directions: Array, q: Array) -> bool:
        """Return whether a joint moves a goal along one of the directions (k, 3), from q (n,)."""
        without = self._immobile(goal, [joint], q).directions
        return bool(np.abs(directions @ without.T @ without - directions).max() > ALONG)

    def advice(
        self,
        q: VectorLike,
        position_errors: Array,
        orientation_errors: Array,
        points: Array,
        words: Words = IN_PYTHON,
    ) -> str:
        """Text: what to ask for instead, if too few joints move for the goals; '' else.

        q (n,) : an answer that misses goals
        position_errors [m], orientation_errors [rad] (G,) : its errors
        points (G, 3) : positions of the targets [m]
        words : how to ask for less
        """
        few = self.short_goals.any() and self.lacks_joints(
            position_errors, orientation_errors, points
        )
        notes = []
        for i, goal in enumerate(self.goals):
            far = position_errors[i] > self.position_tolerance
            unmoved = self.why_unmoved(i, q, points[i]) if far else ''
            if unmoved:
                notes.append(unmoved)
            elif few and (far or orientation_errors[i] > self.orientation_tolerance):
                notes.append(self._smaller_goal(i, goal, words))
        return joined(*dict.fromkeys(notes))

    def _smaller_goal(self, i: int, goal: GoalTask, words: Words) -> str:
        """Text: how few joints move a goal's link, and which goals ask for less."""
        moving, chain = self._moving(i), self.robot.chain(*self.goal_chains[i])
        count, frozen = len(moving), [self.robot.joint_names[j] for j in chain if j not in moving]
        held = f', with {listed(frozen)} frozen' if frozen else ''
        fixed = sum(one.fixed_freedoms for one in self.goals)
        if goal.fixed_freedoms <= count and not len(self.immobile[i].directions):
            return (
                f'the goals fix {fixed} degrees of freedom, and {len(self.variables)} joints move'
            )
        what = '1 joint moves' if count == 1 else f'{count} joints move'
        return f'only {what} {goal.link}{held}: {goal.asking_less(count, words)}'

    def residual_of(self, tasks: Sequence[Task], x: Array) -> Array:
        """The residuals (rows,) of tasks that are no goals, at variables x."""
        self._q[self.variables] = x
        return np.concatenate([residual_of_task(task, self.robot, self._q) for task in tasks])

    def jacobian_of(self, tasks: Sequence[Task], x: Array) -> Array:
        """The Jacobians (rows, variables) of tasks that are no goals, at variables x."""
        self._q[self.variables] = x
        rows = [jacobian_of_task(task, self.robot, self._q) for task in tasks]
        return np.vstack(rows)[:, self.variables]

    def rows_of(
        self, tasks: Sequence[Task], x: Array, begins: bool = False
    ) -> tuple[Array, Array]:
        """The residuals and Jacobians, over the variables, of tasks that are no goals.

        begins : check that all are finite, since a search starts at x (variables,)
        """
        self._q[self.variables] = x
        rows = [rows_of_task(task, self.robot, self._q) for task in tasks]
        if begins:
            for task, own in zip(tasks, rows, strict=True):
                check_finite(task, self.robot, self._q, *own)
        residual = np.concatenate([residual for residual, _ in rows])
        return residual, np.vstack([jacobian for _, jacobian in rows])[:, self.variables]

    def _find_variables(self) -> np.ndarray:
        """The joints that move a link that a task is about; without any link, all joints."""
        tasks = (*self.goals, *self.other_tasks, *self.secondary)
        for task in tasks:
            if not isinstance(task, Task):
                raise UnsupportedProblem(f'{type(task).__name__} is not a task; see ik_core.tasks')
        if not (self.goals or self.other_tasks):
            raise UnsupportedProblem('a problem needs at least one goal or task')
        frozen = {self.robot.joint_index(joint) for joint in self.frozen_joints}
        moved: set[int] = set()
        chains = [chain for task in tasks for chain in task.chains]
        for link, base in chains:
            free = set(self.robot.chain(link, base)) - frozen
            if not free:
                seen = '' if base is None else f' relative to {base!r}'
                raise UnsupportedProblem(f'no joint that may move moves link {link!r}{seen}')
            moved |= free
        if not chains or any(task.moves_all_joints for task in tasks):
            moved = set(range(self.robot.n)) - frozen
        if not moved:
            raise UnsupportedProblem('no joint may move')
        return np.array(sorted(moved), int)

    def _checked_box(self, lower: VectorLike | None, upper: VectorLike | None) -> Array:
        box = np.array([self.robot.lower, self.robot.upper])
        for row, (given, name) in enumerate([(lower, 'lower'), (upper, 'upper')]):
            if given is not None:
                box[row] = self._checked_row(given, name)
        for joint, low, high in zip(self.robot.joint_names, *box, strict=True):
            if low > high:
                raise InvalidConfiguration(f'joint {joint!r}: lower {low:g} > upper {high:g}')
            if low == np.inf or high == -np.inf:
                raise InvalidConfiguration(f'joint {joint!r}: its limits allow no position')
        return box

    def _checked_row(self, given: VectorLike, name: str) -> Array:
        try:
            row = np.asarray(given, float)
        except (TypeError, ValueError):
            row = np.empty(0)
        if row.shape != (self.robot.n,) or np.isnan(row).any():
            raise InvalidConfiguration(
                f'{name} must be {self.robot.n} numbers, one for each joint'
            )
        return row

    def _default_configuration(self) -> Array:
        lower, upper = self.robot.lower.copy(), self.robot.upper.copy()
        lower[self.variables], upper[self.variables] = self.limits.lower, self.limits.upper
        return self.robot.middle_of(lower, upper)


class _Fixed:
    """An attribute of a problem that can be set only once, since searches cache its consequences.

    It defines no `__get__`, so that reading is as fast as for any other attribute.
    """

    def __init__(self, name: str, instead: str) -> None:
        self.name, self.instead = name, instead

    def __set__(self, problem: IkProblem, value: object) -> None:
        own = vars(problem)
        if self.name in own:
            raise InvalidOption(
                f'{self.name} of a problem is fixed: make another IkProblem, with {self.instead}'
            )
        own[self.name] = value


class _Tolerance:
    """A tolerance of a problem; it may change to another positive number."""

    def __init__(self, name: str, unit: str) -> None:
        self.name, self.unit = name, unit

    def __set__(self, problem: IkProblem, value: float) -> None:
        own = vars(problem)
        own[self.name] = _positive(value, self.name, self.unit)
        own['tolerances'] = own.get('position_tolerance'), own.get('orientation_tolerance')


def _guard() -> None:
    """Look at what is assigned to attributes of problems, in the constructor and later."""
    for name, instead in {
        'robot': 'that robot',
        'goals': 'those tasks',
        'other_tasks': 'those tasks',
        'frozen_joints': 'frozen_joints=',
        'variables': 'frozen_joints=',
        'columns': 'frozen_joints=',
        'limits': 'lower= and upper=',
        'constraints': 'constraints=',
        'cones': 'constraints=',
        'avoid': 'avoid=',
        'valid': 'valid=',
        'orientation_length': 'orientation_length=',
    }.items():
        setattr(IkProblem, name, _Fixed(name, instead))
    for name, unit in {'position_tolerance': 'm', 'orientation_tolerance': 'rad'}.items():
        setattr(IkProblem, name, _Tolerance(name, unit))


_guard()


def checked_problem(problem: object) -> IkProblem:
    """Return `problem`; raise InvalidOption if it is not an IkProblem."""
    if not isinstance(problem, IkProblem):
        raise InvalidOption(
            f'problem is a {type(problem).__name__}: an IkProblem is needed, as '
            'IkProblem(robot, [goal]) is one'
        )
    return problem


def _checked_levels(secondary: object) -> tuple[tuple[Task, ...], ...]:
    """Secondary tasks by levels: a list of tasks is one level, a list of lists one each."""
    _check_list(secondary, 'secondary', 'tasks')
    given: list[Any] = list(secondary)  # type: ignore[call-overload]
    nested = [not isinstance(one, (Task, str)) and isinstance(one, Iterable) for one in given]
    if any(nested) and not all(nested):
        raise InvalidOption(
            'secondary: tasks beside lists of tasks; put all of them in lists, as [[a], [b]]'
        )
    levels = [tuple(level) for level in given] if any(nested) else [tuple(given)]
    return tuple(level for level in levels if level)


def _checked_constraints(
    constraints: Sequence[LinearConstraint], robot: Robot, variables: IntArray
) -> ConstraintRows:
    given = tuple(constraints)
    for one in given:
        if not isinstance(one, LinearConstraint):
            raise InvalidOption(f'constraints: {one!r} is not a LinearConstraint or a ReachCone')
    return ConstraintRows(given, robot, variables)


def _checked_avoid(avoid: Collisions | None, robot: Robot, box: Array) -> Collisions | None:
    if avoid is None:
        return None
    if not isinstance(avoid, Collisions):
        raise InvalidOption(f'avoid = {avoid!r}: a Collisions is needed, as Collisions(robot) is')
    if avoid.robot is not robot:
        raise InvalidOption(
            f'avoid: these are collisions of another robot, {avoid.robot.name!r}: '
            "Collisions(robot) of the problem's own robot is needed"
        )
    if (box[0] < robot.lower).any() or (box[1] > robot.upper).any():
        raise InvalidOption(
            "avoid: lower and upper are beyond the robot's own limits, inside which some pairs of "
            'links are known never to meet: leave them out, or make them narrower'
        )
    return avoid


def _checked_valid(valid: Valid | None) -> Valid | None:
    if valid is not None and not callable(valid):
        raise InvalidOption(f'valid = {valid!r}: a function of q (n,) is needed')
    return valid


def _as_slice(indices: np.ndarray) -> slice | np.ndarray:
    """The selection as a slice if possible, which is ten times as fast."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first + 1 == len(indices) else indices


def _check_list(given: object, name: str, of: str) -> None:
    """InvalidOption for a single one, or what is none, in the place of a list."""
    if isinstance(given, str):
        raise InvalidOption(f'{name} = {given!r}: a list of {of} is needed')
    if not isinstance(given, Iterable):
        raise InvalidOption(f'{name} is a {type(given).__name__}: a list of {of} is needed')


def _positive(value: float, name: str, unit: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 < number < np.inf:
        raise InvalidOption(f'{name} {value!r} must be a positive number [{unit}]')
    return float(number)
