# SPDX-License-Identifier: Apache-2.0
"""Collisions and other conditions that answers of a problem must avoid, and notes on why."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..collision.collisions import Collisions
from ..display import angle, length, listed
from ..maths.rotations import Array, IntArray
from ..robot.kinematics import PARENT, VARIABLE
from ..robot.reach_cones import ReachCone
from ..robot.robot import Robot
from ..tasks.goals import GoalTask

# Depths of cylinders are too large by at most this fraction of the radius (`collision.epa`)
DEPTH = 0.01
# [m] A pair nearer than its margin and this much more stops a search that does not enter it
TOUCH = 1e-5

# A check of the user's: whether a configuration (n,) may be used
Valid = Callable[[Array], bool | np.bool_]


class Avoidance:
    """Collisions, reach cones and a check of the user's: an answer has to be free of all three.

    robot : Robot
    variables : indices into q of the joints that the problem moves
    goals : its goals; those that ask for a whole pose fix where some bodies are
    collisions : Collisions of the robot, or None
    valid : a function of q (n,) that returns whether it may be used, or None
    cones : the ReachCones that the variables move

    Only pairs of links count that the variables move against each other: nothing that the problem
    could answer changes the others.
    """

    def __init__(
        self,
        robot: Robot,
        variables: IntArray,
        goals: Sequence[GoalTask],
        collisions: Collisions | None,
        valid: Valid | None,
        cones: Sequence[ReachCone],
    ) -> None:
        self.robot, self.variables, self.goals = robot, variables, goals
        self.collisions, self.valid, self.cones = collisions, valid, tuple(cones)
        self._last_start: tuple[object, tuple[bool, str]] | None = None

    def __bool__(self) -> bool:
        """Return whether there is anything to avoid."""
        return self.collisions is not None or self.valid is not None or bool(self.cones)

    def which_may_answer(self, q: Array) -> NDArray[np.bool_]:
        """Return which configurations (N, n) are free of collisions, inside cones and valid."""
        free = np.ones(len(q), bool)
        if self.collisions is not None:
            free = self.collisions.free(q, self.groups)
        for cone in self.cones:
            free[free] = [cone.violation(self.robot, one) == 0.0 for one in q[free]]
        if self.valid is not None:
            free[free] = [bool(self.valid(one.copy())) for one in q[free]]
        return free

    def may_answer(self, q: Array) -> bool:
        """Return whether a configuration (n,) is free of collisions, inside cones and valid."""
        return bool(self.which_may_answer(q[np.newaxis])[0])

    # --- why not ---------------------------------------------------------------------------------

    def why_not_free(self, q: Array) -> str:
        """Name the pair that is deepest in collision at q (n,), or a cone that q is outside of."""
        pairs = [] if self.collisions is None else self.collisions.colliding(q, self.groups)
        if pairs:
            return f'{pairs[0].first} and {pairs[0].second}'
        for cone in self.cones:
            if (outside := cone.violation(self.robot, q)) > 0.0:
                return f'{cone.link} is {angle(outside)} outside its reach cone'
        return 'refused by `valid`'

    def why_no_solution(self, colliding: Array, count: int) -> str:
        """Say why none of `count` solutions may be used, given the first ones of them (k, n)."""
        reasons = Counter(self.why_not_free(q) for q in colliding)
        of = f'{count}' if count == len(colliding) else f'the first {len(colliding)} of {count}'
        parts = [f'{often} of {of} solutions: {why}' for why, often in reasons.most_common()]
        return '; '.join(parts)

    def why_no_closest_point(self, q: Array) -> str:
        """Say why no closest point and no start may be used; q (n,) is one of them."""
        return f'no closest point found may be used; one of them: {self.why_not_free(q)}'

    def active_obstacles(self, q: Array) -> str:
        """Name the pairs and cones at their margins, which stop a free configuration q (n,)."""
        pairs = []
        if self.collisions is not None:
            pairs = self.collisions.distances(q, self.collisions.reach + TOUCH, self.groups)
        names = [
            f'{pair.first} and {pair.second}'
            for pair in pairs
            if pair.distance <= pair.margin + TOUCH
        ]
        names += [
            f'the reach cone of {cone.link}'
            for cone in self.cones
            if cone.depth(self.robot, q) <= TOUCH
        ]
        return f'stopped by {"; ".join(names)}' if names else ''

    # --- what the variables do not move ----------------------------------------------------------

    @cached_property
    def groups(self) -> IntArray:
        """A number for each body (1 + bodies,), the root link first.

        Bodies with the same number never move against each other: no variable is between them.
        """
        variables, group = set(self.variables.tolist()), [0]
        for k, row in enumerate(self.robot.tree):
            moves = int(row[VARIABLE]) in variables
            group.append(1 + k if moves else group[1 + int(row[PARENT])])
        return np.array(group, np.int64)

    @cached_property
    def _unmoved(self) -> IntArray:
        return np.setdiff1d(np.arange(self.robot.n), self.variables)

    def is_outside(self, rows: Array) -> bool:
        """Return whether a joint that is no variable is outside its limits in a start (N, n).

        Inside the limits some pairs of links are known never to meet; outside all are checked.
        """
        if self.collisions is None or not len(self._unmoved):
            return False
        return bool(self.collisions.are_outside(rows)[:, self._unmoved].any())

    def note_on_start(self, rows: Array) -> str:
        """Name the pairs that collide in starts (N, n) whatever the variables are; '' if none."""
        if self.collisions is None:
            return ''
        pairs, k = self.collisions.unmoved(rows, self.groups)
        if not pairs:
            return ''
        names = listed(f'{pair.first} and {pair.second}' for pair in pairs)
        where = 'in q0' if len(rows) == 1 else f'in start {k}'
        deep = max(pair.margin - pair.distance for pair in pairs)
        return (
            f'not counted, since no joint of this problem moves them against each other: {names} '
            f'are too near each other {where}, by up to {length(deep)}'
        )

    def start_at(self, q: Array) -> tuple[bool, str]:
        """Return `is_outside` and `note_on_start` of a start q (n,).

        Both are kept for the next start with the same values of the joints that are not variables.
        """
        if self.collisions is None:
            return False, ''
        key = self.collisions.world.version, q.take(self._unmoved).tobytes()
        known = self._last_start  # read once: clones in other threads share this object
        if known is None or known[0] != key:
            row = q[np.newaxis]
            self._last_start = known = key, (self.is_outside(row), self.note_on_start(row))
        return known[1]

    # --- what the goals fix ----------------------------------------------------------------------

    @cached_property
    def goal_fixed_bodies(self) -> NDArray[np.bool_]:
        """Mask (1 + bodies,), the root link first, of bodies at one place in all solutions.

        No variable moves them, or a goal puts them at a pose. All are False without such a goal.
        """
        group = self.groups
        whole = [goal for goal in self.goals if goal.fixed_freedoms == 6]
        links = [goal.link for goal in whole if goal.relative_to is None]
        known = {group[1 + self.robot.placement(link).body] for link in links} - {0}
        return np.isin(group, [0, *known]) if known else np.zeros(len(group), bool)

    def goal_collision(self, q: Array, tolerances: tuple[float, float]) -> str:
        """Name two bodies that collide in all solutions, as they do in that at q (n,); '' else.

        tolerances : of the problem [m, rad]
        """
        if self.collisions is None or not self.goal_fixed_bodies.any():
            return ''
        for pair in self.collisions.colliding(q, self.groups):
            bodies = [1 + self.collisions.body_of(name) for name in (pair.first, pair.second)]
            is_fixed = self.goal_fixed_bodies[bodies].all()
            if is_fixed and pair.margin - pair.distance > self.goal_slack(tolerances):
                return f'for certain, wherever the other links are: {pair.first} and {pair.second}'
        return ''

    def goal_slack(self, tolerances: tuple[float, float]) -> float:
        """Return how much distances of goal-fixed bodies differ between solutions, at most [m].

        Solutions differ by the tolerances [m, rad]; the depths of cylinders have an error besides.
        """
        if self.collisions is None:
            return 0.0
        position, orientation = tolerances
        links = [goal.link for goal in self.goals]
        reach = max(self.collisions.reach_of(link, self.goal_fixed_bodies) for link in links)
        turned = 2.0 * orientation * reach  # twice: frozen joints may be elsewhere
        return 2.0 * (position + turned) + DEPTH * self.collisions.largest_radius
