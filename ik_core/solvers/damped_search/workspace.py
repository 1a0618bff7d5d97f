"""The arrays that searches live in, made for a problem and kept for the next: of one search
(`DampedWorkspace`), and of many in lanes (`crew_arguments`)."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ..._addresses import Addresses
from ...closed_form.beginning import Beginning, beginning_of
from ...closed_form.records import WIDTH
from ...maths.lanes import LANES
from ...maths.rotations import Array, IntArray
from ...optim.arrays import (
    load_patterns,
    packed_with,
    position_tolerance,
    problem_joint_rows,
    sorted_tasks,
)
from ...optim.search import Clock, steps_at_once
from ...optim.workspace import STATUSES, KernelWorkspace
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from . import memory
from .board import BOARD, PROBLEM, aside_size
from .crew import VALUES, VECTORS, crew_size
from .memory import part_ends, search_arrays
from .search import conclude
from .single import FEW, run

CACHE_LINE = 64
TO_GO_ON = np.empty(0)
"""In the place of q; then of a plan's numbers, and of lanes: see `single.run`."""
NO_NUMBERS = np.empty((0, 12))
NO_LANES = np.empty((0, 0)), np.empty((BOARD, 0), np.int64)
NO_PLAN = np.empty(0, np.int64), NO_NUMBERS, np.empty((0, WIDTH))


def beginning_for(problem: IkProblem, options: Any) -> Beginning | None:
    """Where the first attempts at a problem begin, if not at the starts.

    Not without restarts: who wants a start's own attempt alone gets that.
    """
    asked = options.closed_form and options.restarts > 0
    return beginning_of(problem) if asked else None


class DampedWorkspace(KernelWorkspace):
    """The arrays of `damped_search` for one problem.

    `arguments` are the first of its kernels, `restart` plan, everywhere and room of `single.run`.
    Once the counters are 0 a search begins at the row
    FIRST: `start` (variables,), or a solution in closed form beside it. Afterwards there are
    `answer` (variables,), by its turns next to `start`, and `errors` (G, 2).
    """

    def __init__(self, problem: IkProblem, options: Any) -> None:
        problem.check_without_constraints()
        self.problem = problem
        self._joint_tasks, patterns, _ = sorted_tasks(problem.other_tasks)
        self.packed = packed = packed_with(problem, patterns)
        n = len(problem.variables)
        ends = part_ends(len(packed.tree), len(packed.parts), packed.rows, n)
        self.counters = np.zeros(memory.COUNTERS, np.int64)
        self.steps_at_once = steps_at_once(n, packed.rows)
        self.arguments = (
            packed.tree,
            packed.geometry,
            packed.table,
            packed.tools,
            packed.targets,
            problem.limits.packed,
            self.counters,
            np.zeros(ends[-1]),
        )
        arrays = search_arrays(*self.arguments)
        self.options, self.values, self.vectors = arrays.options, arrays.values, arrays.vectors
        self.errors = arrays.p.errors
        self.start, self.answer = self.vectors[memory.START], self.vectors[memory.ANSWER]
        self._first = self.vectors[memory.FIRST]
        self._beginning, self._begins = beginning_for(problem, options), False
        self._looked = False  # at the start, where the first attempt may begin elsewhere
        self._note_options(options)
        self.restart, self._numbers = NO_PLAN, NO_NUMBERS
        if self._beginning is not None:
            self.restart, self._numbers = self._beginning.restart, self._beginning.numbers
        self._steps: dict[tuple[bool, bool], Addresses] = {}
        self._stays = False  # on its branch
        # what a solve without tasks, of goals as they are packed, reports needs no second look
        self._is_plain = not problem.other_tasks and packed.is_plain

    def _note_options(self, options: Any) -> None:
        weighed = bool(self.problem.other_tasks)
        own = self.options
        self._tolerances = 0.0, 0.0
        self._note_tolerances()
        own[memory.RESTARTS] = 0 if weighed else options.restarts
        own[memory.SEED] = options.random_seed
        own[memory.MAX_ITERATIONS] = options.max_iterations
        own[memory.PATIENCE] = options.patience
        own[memory.MAX_STEP] = options.max_step
        own[memory.DAMPING] = options.damping
        own[memory.WEIGHED] = weighed

    def _note_tolerances(self) -> None:
        problem = self.problem
        tolerances = problem.position_tolerance, problem.orientation_tolerance
        if tolerances == self._tolerances:
            return
        self._tolerances = tolerances
        self.options[memory.POSITION_TOLERANCE] = position_tolerance(problem, self.packed)
        self.options[memory.ORIENTATION_TOLERANCE] = problem.orientation_tolerance
        if self._beginning is not None:
            self._beginning.set_tolerances(self.problem)

    def load(self, q0: ArrayLike | None) -> Array:
        """See Workspace."""
        q = self._read(q0)
        self.start[:] = self._first[:] = q[self.problem.columns]
        self.counters.fill(0)
        self._looked, self._begins = False, self._beginning is not None
        self._stays = False
        return q

    def _read(self, q0: ArrayLike | None) -> Array:
        """What may have changed since the last search: the start (n,), targets, tolerances."""
        q = self.problem.load(q0)
        self._note_tolerances()
        if self.problem.other_tasks:
            self._load_tasks(q)
        return q

    def stay_on_branch(self) -> None:
        """See Workspace."""
        self._begins, self._stays = False, True

    @property
    def beginning(self) -> Beginning | None:
        """Where first attempts begin, if not at the starts."""
        return self._beginning

    def copies(self) -> tuple[Any, ...]:
        """What `search.solve_each` takes first, with copies of what it writes to: for a thread."""
        tree, geometry, table, tools, targets, bounds, counters, own = self.arguments
        plan, everywhere, room = self.restart
        writable = geometry.copy(), targets.copy(), counters.copy(), own.copy()
        arrays = tree, writable[0], table, tools, writable[1], bounds, *writable[2:]
        return *arrays, plan, everywhere, room.copy()

    def solve(self, q0: ArrayLike | None, clock: Clock) -> IkResult:
        """A whole solve, without a budget."""
        started = clock()
        q = self._read(q0)
        outcome = run(self._whole.table, self.steps_at_once, q)
        if outcome[0] == memory.RUNNING:
            while outcome[0] == memory.RUNNING:  # Ctrl-C is heard in between
                outcome = run(self._whole.table, self.steps_at_once, TO_GO_ON)
            q[self.problem.columns] = self.answer
        if not self._is_plain:
            return self.result(q, clock() - started)
        status, cost, iterations, evaluations, restarts = outcome
        errors = self.errors.copy()
        return IkResult(
            q,
            STATUSES[status],
            errors[:, 0],
            errors[:, 1],
            cost,
            iterations,
            evaluations,
            restarts,
            clock() - started,
        )

    @property
    def concluded(self) -> tuple[Array, Array, float]:
        """See KernelWorkspace."""
        return self.answer, self.errors, self.values.item(memory.ANSWER_COST)

    def _load_tasks(self, q: Array) -> None:
        load_patterns(self.problem, self.packed, q)
        self.values[memory.JOINT_COST] = self.packed.constant
        if self._joint_tasks:
            weights, rests, constant = problem_joint_rows(self.problem, self._joint_tasks, q)
            self.vectors[memory.WEIGHTS], self.vectors[memory.REST] = weights, rests
            self.values[memory.JOINT_COST] += constant

    def run(self, iterations: int) -> IkStatus | None:
        """See Workspace."""
        if self._begins and iterations == 0:
            return self._look_at_start()
        begins = self._begins
        if begins:
            self.counters.fill(0)  # whatever was concluded of the start
            self._begins, self._looked = False, False
        return self._run(begins, iterations)

    def _run(self, begins: bool, iterations: int) -> IkStatus | None:
        key = begins, self._stays
        if key not in self._steps:
            numbers = self._numbers if begins else NO_NUMBERS
            restart = NO_PLAN if self._stays else self.restart
            self._steps[key] = self._addresses(numbers, restart, NO_LANES)
        return STATUSES.get(run(self._steps[key].table, iterations, TO_GO_ON)[0])

    @cached_property
    def _whole(self) -> Addresses:
        """What `single.run` is given for a whole solve: with lanes, which take room that a search
        step by step does not need."""
        lanes = _lanes_for(self, FEW) if LANES > 1 else NO_LANES
        return self._addresses(self._numbers, self.restart, lanes)

    def _addresses(self, numbers: Array, restart: tuple[Any, ...], lanes: Any) -> Addresses:
        plan, everywhere, room = restart
        moving = self.problem.variables, self.packed.frozen
        return Addresses((*self.arguments, plan, numbers, everywhere, room, *moving, *lanes))

    def _look_at_start(self) -> IkStatus | None:
        """How the search ends where the start reaches the goals; else nothing is begun yet."""
        status = self._run(False, 0)
        if status is None:
            self.counters.fill(0)
            self._looked = True
        return status

    def conclude(self) -> None:
        """See Workspace."""
        conclude(*self.arguments)

    @property
    def cost(self) -> float:
        """See Workspace."""
        return self.values.item(memory.COST)

    @property
    def between_attempts(self) -> bool:
        """See Workspace."""
        return not self._looked and self.counters.item(memory.PHASE) != memory.STEP


def crew_arguments(search: DampedWorkspace, desks: int, count: int = LANES) -> tuple[Any, ...]:
    """The first arguments of `schedule.solve_many`, for so many lanes and copies of a search."""
    tree, geometry, table, tools, targets, bounds, counters, own = search.arguments
    plan, everywhere, room = search.restart
    return (
        tree,
        _copies(geometry, desks),
        table,
        tools,
        _copies(targets, desks),
        bounds,
        _copies(counters, desks),
        _copies(own, desks),
        *_lanes_for(search, count),
        plan,
        everywhere,
        room.copy(),  # each thread writes there
    )


def room_aside(count: int, variables: int) -> tuple[IntArray, Array]:
    """Room for what `schedule.solve_many` puts aside of so many problems: its next arguments."""
    return np.empty(count, np.int64), np.empty(aside_size(count, variables))


def _lanes_for(search: DampedWorkspace, count: int) -> tuple[Array, IntArray]:
    """A crew's memory, and the board with nothing on it."""
    packed, n = search.packed, len(search.start)
    lanes = _aligned(crew_size(len(packed.tree), len(packed.parts), packed.rows, n), count)
    first = VALUES + VECTORS * n
    lanes[first : first + packed.geometry.size] = packed.geometry.reshape(-1, 1)
    board = np.zeros((BOARD, count), np.int64)
    board[PROBLEM] = -1
    return lanes, board


def _copies(array: Array | IntArray, count: int) -> Any:
    return np.repeat(array[np.newaxis], count, axis=0)


def _aligned(rows: int, lanes: int) -> Array:
    """Zeros (rows, lanes), each row in as few lines of the cache as there can be."""
    spare = CACHE_LINE // 8
    room = np.zeros(rows * lanes + spare)
    begin = -(room.ctypes.data // 8) % spare
    return room[begin : begin + rows * lanes].reshape(rows, lanes)
