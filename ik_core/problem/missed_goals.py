# SPDX-License-Identifier: Apache-2.0
"""Why goals of a problem are missed: they are out of reach, or too few joints move for them."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ..display import counted, joined, length, listed
from ..maths.argument_types import VectorLike
from ..maths.rotations import Array, IntArray
from ..result import IkResult
from ..robot.limits import JointLimits
from ..robot.robot import Robot
from ..tasks.goals import IN_PYTHON, GoalTask, Words
from ..tasks.immobile import Immobile, immobile, named_directions, random_configurations
from ..tasks.packing import PackedGoals
from ..tasks.reach import reach_of_goals

REACH_SLACK = 1e-9  # Fraction of a reach that is added to it, against rounding
CERTAIN = 'for certain'  # Words of notes that stand for a proof
ENDLESS_REACH = 1e9  # [m] Stands for an infinite reach
IMMOVABLE = 1e-9  # [rad or m] A joint whose limits are no further apart does not move
# A unit vector that a projection changes by more than this does not lie in the subspace
ALONG = 1e-3


class MissedGoals:
    """Reasons why answers of a problem miss its goals, and what to ask for instead.

    robot, goals, variables, limits, packed : of the problem
    rest : its default configuration (n,)

    `tolerances` of the methods are the problem's, as they are now [m, rad]; `points` (G, 3) are
    the positions of the targets [m].
    """

    def __init__(
        self,
        robot: Robot,
        goals: Sequence[GoalTask],
        variables: IntArray,
        limits: JointLimits,
        packed: PackedGoals,
        rest: Array,
    ) -> None:
        self.robot, self.goals, self.variables = robot, goals, variables
        self.limits, self.packed, self.rest = limits, packed, rest
        self._chains = [robot.chain(goal.link, goal.relative_to) for goal in goals]

    def reason(
        self,
        result: IkResult,
        tolerances: tuple[float, float],
        points: Array,
        words: Words | None = IN_PYTHON,
    ) -> str:
        """Say why a result misses its goals; '' if it does not.

        The reason is the first of these: joints that are too few, or frozen (`advice`); a proof
        that the goals are out of reach; how many starts found nothing closer.

        words : how to ask for less; None: joints are no reason
        """
        if not self.goals or not result.status.misses_goals:
            return ''
        errors, reason = (result.position_errors, result.orientation_errors), ''
        if words is not None:
            reason = self.advice(result.q, *errors, tolerances, points, words)
        if not reason and result.status.is_closest and CERTAIN not in result.note:
            starts = counted(result.restarts + 1, 'start')
            known = self.why_out_of_reach(points, tolerances[0])
            reason = known or f'nothing closer was found from {starts}'
        return reason

    def advice(
        self,
        q: VectorLike,
        position_errors: Array,
        orientation_errors: Array,
        tolerances: tuple[float, float],
        points: Array,
        words: Words = IN_PYTHON,
    ) -> str:
        """Return which goals would be possible if too few joints move for these; '' else.

        q (n,) : an answer that misses goals
        position_errors [m], orientation_errors [rad] (G,) : its errors
        words : how to ask for less
        """
        position, orientation = tolerances
        few = self.short_goals.any() and self.are_joints_missing(
            position_errors, orientation_errors, points, tolerances
        )
        notes = []
        for i, goal in enumerate(self.goals):
            far = position_errors[i] > position
            unmoved = self.why_unmoved(i, q, points[i], position) if far else ''
            if unmoved:
                notes.append(unmoved)
            elif few and (far or orientation_errors[i] > orientation):
                notes.append(self._smaller_goal(i, goal, words))
        return joined(*dict.fromkeys(notes))

    def _smaller_goal(self, i: int, goal: GoalTask, words: Words) -> str:
        """Return how few joints move a goal's link, and which goals need fewer."""
        moving, names = self._moving(i), self.robot.joint_names
        count, frozen = len(moving), [names[j] for j in self._chains[i] if j not in moving]
        held = f', with {listed(frozen)} frozen' if frozen else ''
        fixed = sum(one.fixed_freedoms for one in self.goals)
        if goal.fixed_freedoms <= count and not len(self.immobile[i].directions):
            return (
                f'the goals fix {fixed} degrees of freedom, and {len(self.variables)} joints move'
            )
        what = '1 joint moves' if count == 1 else f'{count} joints move'
        return f'only {what} {goal.link}{held}: {goal.asking_less(count, words)}'

    def are_joints_missing(
        self,
        position_errors: Array,
        orientation_errors: Array,
        points: Array,
        tolerances: tuple[float, float],
    ) -> NDArray[np.bool_]:
        """Return whether all missed goals ask for more than their joints can do (...).

        position_errors [m], orientation_errors [rad] (..., G) : at the closest point
        points (..., G, 3) : the positions of the targets [m]

        A goal whose position is out of reach does not count: farther away than the links are long,
        missed by more than the whole arm moves its tip when it turns by the orientation error, or
        missed although the orientation weighs next to nothing (`POSITION_FIRST`). Distances along
        directions in which no joint moves the link (`immobile`) are for lack of joints.
        """
        position, orientation = tolerances
        turned = orientation_errors > orientation
        position_errors, points, off = self._without_offsets(position_errors, points, position)
        far = position_errors > position
        centres, radii = self.reach
        beyond = np.linalg.norm(points - centres, axis=-1) > radii + position
        first = np.array([goal.puts_position_first for goal in self.goals], bool)
        finite = np.minimum(radii, ENDLESS_REACH)
        mostly_turned = turned & (position_errors <= finite * orientation_errors)
        explained = self.short_goals & mostly_turned & ~beyond & ~(first & far)
        explained |= off & ~far & ~turned
        return (explained | ~(off | far | turned)).all(axis=-1)

    def _without_offsets(
        self, position_errors: Array, points: Array, tolerance: float
    ) -> tuple[Array, Array, NDArray[np.bool_]]:
        """Remove from errors (..., G) and points (..., G, 3) [m] their parts along directions in
        which no joint moves the goals' links; also return whether such a part is above the
        tolerance.
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
        return [self._immobile(i, chain, self.rest) for i, chain in enumerate(self._chains)]

    def _immobile(self, goal: int, joints: Sequence[int], q: Array) -> Immobile:
        """Return directions in which these joints don't move a goal, the others being as in q."""
        return immobile(self.robot, self.goals[goal], joints, q)

    def _moving(self, goal: int) -> list[int]:
        """Return the joints, as indices into q, that are not frozen and move a goal's link."""
        return sorted(set(self._chains[goal]) & set(self.variables.tolist()))

    def why_unmoved(self, goal: int, q: VectorLike, point: Array, tolerance: float) -> str:
        """Return why no joint moves a goal's link towards its point (3,) [m]; '' if one does.

        goal : index of the goal
        q (n,) : values of the joints that the problem does not move
        tolerance : for positions [m]
        """
        moving, chain = self._moving(goal), self._chains[goal]
        stuck = self.variables[self.limits.upper - self.limits.lower <= IMMOVABLE].tolist()
        able = [i for i in moving if i not in stuck]
        held = [i for i in chain if i not in able]
        start = self.robot.checked(q)
        own = self._immobile(goal, able, start) if held else self.immobile[goal]
        gaps = np.abs(own.offsets(point)) > tolerance
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

    @cached_property
    def reach(self) -> tuple[Array, Array]:
        """Centres (G, 3) and radii (G,) [m] of balls that contain all points of the links."""
        return reach_of_goals(self.packed, self.limits.lower, self.limits.upper)

    def why_out_of_reach(self, points: Array, tolerance: float) -> str:
        """Return the reason that a goal's links are too short for its point; '' if none is known.

        tolerance : for positions [m]
        """
        centres, radii = self.reach
        distances = np.linalg.norm(points - centres, axis=1)
        for goal, distance, radius in zip(self.goals, distances, radii.tolist(), strict=True):
            if distance > radius * (1.0 + REACH_SLACK) + tolerance:
                beyond = length(float(distance) - radius)
                return f'out of reach {CERTAIN}: the links of {goal.link} are {beyond} too short'
        return ''
