# SPDX-License-Identifier: Apache-2.0
"""A problem: a robot, its goals and tasks, the joints that may move, and their limits."""

from __future__ import annotations

import copy
import threading
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from ..collision.collisions import Collisions
from ..display import angle, counted, joined, length
from ..exceptions import InvalidOption, UnsupportedProblem
from ..maths.argument_types import Names, VectorLike
from ..maths.rotations import Array, IntArray
from ..result import IkResult, IkStatus
from ..robot.limits import JointLimits
from ..robot.linear_constraints import ConstraintRows, LinearConstraint
from ..robot.reach_cones import ReachCone, moved_cones
from ..robot.robot import Robot, check_robot
from ..rules import are_within
from ..tasks import CoupledTask, Task
from ..tasks.base import JointTask
from ..tasks.goals import IN_PYTHON, GoalTask, Words
from ..tasks.packing import PackedGoals
from . import checks
from .avoidance import Avoidance, Valid
from .evaluator import Evaluation, Evaluator
from .missed_goals import MissedGoals


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
    since `packed` and `evaluator` hold the targets and frozen joints of that search; `clone` makes
    another.
    """

    robot: Robot = checks.fixed('that robot')
    goals: tuple[GoalTask, ...] = checks.fixed('those tasks')
    other_tasks: tuple[Task, ...] = checks.fixed('those tasks')
    frozen_joints: tuple[str, ...] = checks.fixed('frozen_joints=')
    variables: IntArray = checks.fixed('frozen_joints=')
    columns: slice | IntArray = checks.fixed('frozen_joints=')
    limits: JointLimits = checks.fixed('lower= and upper=')
    constraints: ConstraintRows = checks.fixed('constraints=')
    cones: tuple[ReachCone, ...] = checks.fixed('constraints=')
    avoid: Collisions | None = checks.fixed('avoid=')
    valid: Valid | None = checks.fixed('valid=')
    orientation_length: float = checks.fixed('orientation_length=')
    position_tolerance: float = checks.tolerance('m')
    orientation_tolerance: float = checks.tolerance('rad')
    tolerances: tuple[float, float]
    """Both tolerances [m, rad]; another object after each change, by which searches see it."""

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
        check_robot(robot)
        checks.check_list(tasks, 'tasks', 'tasks')
        checks.check_list(frozen_joints, 'frozen_joints', 'names')
        checks.check_list(constraints, 'constraints', 'LinearConstraints and ReachCones')
        self.robot = robot
        self.goals = tuple(task for task in tasks if isinstance(task, GoalTask))
        self.other_tasks = tuple(task for task in tasks if not isinstance(task, GoalTask))
        self.levels = checks.levels(secondary)
        self.frozen_joints = tuple(frozen_joints)
        self.check_jacobians = check_jacobians
        self.position_tolerance = position_tolerance
        self.orientation_tolerance = orientation_tolerance
        self.orientation_length = checks.positive(
            orientation_length, 'orientation_length', 'm/rad'
        )
        self.variables = self._find_variables()
        self.columns = _as_slice(self.variables)
        box = checks.box(robot, lower, upper)
        self.avoid, self.valid = checks.collisions(avoid, robot, box), checks.valid(valid)
        low, high = box[:, self.variables]
        turns = robot.full_turns[self.variables]
        if any(isinstance(task, JointTask) for task in self.other_tasks):
            turns = False & turns  # to them a whole turn more or less is another place
        cones = [one for one in constraints if isinstance(one, ReachCone)]
        rows = [one for one in constraints if not isinstance(one, ReachCone)]
        self.cones, self.moved_cones = tuple(cones), moved_cones(cones, robot, self.variables)
        self._set_avoidance()
        self.constraints = checks.constraints(rows, robot, self.variables)
        turns = turns & ~self.constraints.coupled  # as it is to a constraint
        self.limits = JointLimits(low, high, turns)
        self.default_configuration = self._default_configuration()
        self._pack_goals()
        self._set_evaluator(self.default_configuration)
        self._kept = threading.local()

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the solvers of `ik_core.solve`, whose buffers are those of this problem."""
        return {name: value for name, value in vars(self).items() if name != '_kept'}

    def __setstate__(self, state: dict[str, Any]) -> None:
        q = state['evaluator'].q
        vars(self).update(state, _kept=threading.local())
        self._pack_goals()  # whose parts have views of their arrays, which copies would not be
        self._set_evaluator(q)

    def __copy__(self) -> IkProblem:
        """Return a copy with solvers of its own, for other searches; it shares the goals."""
        return self._with()

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
        goals, others, levels = copy.deepcopy((self.goals, self.other_tasks, self.levels))
        return self._with(goals=goals, other_tasks=others, levels=levels)

    def _with(self, **changed: Any) -> IkProblem:
        """Return a copy with changed attributes, and with an evaluator and solvers of its own."""
        other = object.__new__(type(self))
        vars(other).update(vars(self), **changed, _kept=threading.local())
        if 'goals' in changed:
            other._pack_goals()
        other._set_evaluator(self.evaluator.q)
        return other

    def _pack_goals(self) -> None:
        """Pack the goals for kernels, and drop what was computed for others."""
        for name in ('missed', 'equally_weighted'):
            vars(self).pop(name, None)
        self.packed = PackedGoals(self.robot, self.goals, self.variables, self.orientation_length)

    def _set_evaluator(self, q: Array) -> None:
        """Make the evaluator; q (n,) has the joints that are no variables until `load`."""
        secondary = self.secondary
        self.evaluator = Evaluator(
            self.robot,
            self.variables,
            self.packed,
            self.other_tasks,
            secondary,
            self.default_configuration,
            (*self.goals, *self.other_tasks, *secondary) if self.check_jacobians else (),
            q,
        )

    def _set_avoidance(self) -> None:
        goals, cones = self.goals, self.moved_cones
        self.avoidance = Avoidance(
            self.robot, self.variables, goals, self.avoid, self.valid, cones
        )
        self.avoids = bool(self.avoidance)  # searches ask often

    @cached_property
    def missed(self) -> MissedGoals:
        """Reasons why goals are missed."""
        rest = self.default_configuration
        return MissedGoals(self.robot, self.goals, self.variables, self.limits, self.packed, rest)

    def explain(
        self, result: IkResult, words: Words | None = IN_PYTHON, points: Array | None = None
    ) -> IkResult:
        """Add to the note of a result why its goals are missed; return the result.

        words : how to ask for less; None: too few joints are no reason
        points (G, 3) : positions of the targets [m]; by default those of the goals now
        """
        points = self.points if points is None else points
        reason = self.missed.reason(result, self.tolerances, points, words)
        if self.coupled_alone and result.status.misses_goals:
            reason = f'the coupled tasks miss by {self.missed_by(result.q):.3g} tolerances'
        result.note = joined(result.note, reason)
        return result

    def explained(
        self, status: IkStatus, position_errors: Array, orientation_errors: Array
    ) -> IkStatus:
        """Return TOO_FEW_JOINTS in place of CLOSEST if that is why the loaded goals are missed."""
        if status is not IkStatus.CLOSEST or not self.missed.short_goals.any():
            return status
        few = self.missed.are_joints_missing(
            position_errors, orientation_errors, self.points, self.tolerances
        )
        return IkStatus.TOO_FEW_JOINTS if few else status

    @property
    def coupled_alone(self) -> tuple[CoupledTask, ...]:
        """The CoupledTasks of a problem without other goals, which are then to be reached."""
        if self.goals:
            return ()
        return tuple(task for task in self.other_tasks if isinstance(task, CoupledTask))

    def missed_by(self, q: Array) -> float:
        """The largest error of `coupled_alone` at q (n,), in their tolerances."""
        return max(task.missed_by(self.robot, q) / task.tolerance for task in self.coupled_alone)

    @property
    def secondary(self) -> tuple[Task, ...]:
        """The secondary tasks of all levels."""
        return tuple(task for level in self.levels for task in level)

    @property
    def kept_solvers(self) -> dict[str, Any]:
        """Solvers by name, a batch, a closed form and a copy for paths, which this thread keeps
        with the problem until it ends."""
        return self._kept.__dict__

    @cached_property
    def is_redundant(self) -> bool:
        """True if more joints move than the goals fix degrees of freedom."""
        return len(self.variables) > sum(goal.fixed_freedoms for goal in self.goals)

    @cached_property
    def equally_weighted(self) -> IkProblem | None:
        """A copy of the problem, targets included, in which orientations weigh as much as
        positions.

        None where no goal `puts_position_first`, and beside other tasks, whose weights count.
        """
        if self.other_tasks or not any(goal.puts_position_first for goal in self.goals):
            return None
        return self._with(goals=tuple(goal.equally_weighted() for goal in self.goals), levels=())

    @property
    def points(self) -> Array:
        """Positions (G, 3) of the goals' targets [m], as they are now."""
        return np.array([goal.target[9:] for goal in self.goals])

    @property
    def goal_links(self) -> list[str]:
        """The links of the goals, in order."""
        return [goal.link for goal in self.goals]

    @property
    def goal_chains(self) -> list[tuple[str, str | None]]:
        """The links of the goals, each with the link that it is relative to; None for the root."""
        return [(goal.link, goal.relative_to) for goal in self.goals]

    def with_tasks(self, tasks: Sequence[Task]) -> IkProblem:
        """Return a copy with the same variables and limits, these tasks only, and no goals."""
        return self._with(goals=(), other_tasks=tuple(tasks), levels=())

    def holding(self, tasks: Sequence[Task], level: Sequence[Task]) -> IkProblem:
        """Return a copy with tasks added beside the goals, and one level of secondary tasks."""
        return self._with(other_tasks=(*self.other_tasks, *tasks), levels=(tuple(level),))

    @property
    def is_constrained(self) -> bool:
        """True if there are linear constraints, or reach cones of links that variables move."""
        return bool(self.constraints or self.moved_cones)

    def check_without_constraints(self) -> None:
        """Raise UnsupportedProblem if there are constraints: for callers without them."""
        if self.is_constrained:
            kind = 'linear constraints between joints' if self.constraints else 'reach cones'
            raise UnsupportedProblem(
                f'{kind} are kept by the solvers bfgs and sqp alone: '
                'not by others, with secondary tasks, in solve_all, or by a Tracker'
            )

    def without_collisions(self) -> IkProblem:
        """Return a copy that keeps `valid`, but whose answers may collide."""
        return self._replaced(avoid=None)

    def _replaced(self, **avoided: None) -> IkProblem:
        """Return a copy with other `avoid` or `valid`."""
        other = self.clone()
        vars(other).update(avoided)
        other._set_avoidance()
        return other

    def without_avoid(self) -> IkProblem:
        """Return a copy without `avoid` and `valid`, whose answers may be anywhere."""
        return self._replaced(avoid=None, valid=None)

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

    def start(self, q0: VectorLike | None = None) -> tuple[Array, Array]:
        """Read the targets; return the start (n,) and its variables inside the limits.

        `q0=None` is `default_configuration`. Raises InvalidGoal, InvalidConfiguration.
        """
        q = self.evaluator.load(q0)
        return q, self.limits.project(q[self.variables])

    def at(self, x: Array) -> Evaluation:
        """Evaluate at variables x, with the targets and frozen joints of the last `start`."""
        return self.evaluator.at(x)

    def evaluate(self, q: VectorLike) -> Evaluation:
        """Evaluate at q (n,), which may break the limits, with the current targets."""
        return self.evaluator.at(self.evaluator.load(q)[self.variables])

    def errors(self, q: VectorLike) -> tuple[Array, Array]:
        """The goals' position [m] and orientation [rad] errors at q (n,), each (G,)."""
        return self.evaluator.errors_at(q)

    def is_solved(self, position_errors: Array, orientation_errors: Array) -> bool:
        """Return whether errors, (G,) each, are within the tolerances; False without goals."""
        errors = np.column_stack((position_errors, orientation_errors))
        return are_within(errors, self.position_tolerance, self.orientation_tolerance)

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

    def _default_configuration(self) -> Array:
        lower, upper = self.robot.lower.copy(), self.robot.upper.copy()
        lower[self.variables], upper[self.variables] = self.limits.lower, self.limits.upper
        return self.robot.middle_of(lower, upper)


def checked_problem(problem: object) -> IkProblem:
    """Return `problem`; raise InvalidOption if it is not an IkProblem."""
    if not isinstance(problem, IkProblem):
        raise InvalidOption(
            f'problem is a {type(problem).__name__}: an IkProblem is needed, as '
            'IkProblem(robot, [goal]) is one'
        )
    return problem


def _as_slice(indices: np.ndarray) -> slice | np.ndarray:
    """The selection as a slice if possible, which is ten times as fast."""
    first, last = int(indices[0]), int(indices[-1])
    return slice(first, last + 1) if last - first + 1 == len(indices) else indices
