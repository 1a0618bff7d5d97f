# SPDX-License-Identifier: Apache-2.0
"""Results of a solve."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .display import angle, html_table, length, numbers, time
from .maths.rotations import Array

# [m] larger errors are more likely a mistake in the units than a goal out of reach
UNIT_MISTAKE = 20.0


class IkStatus(Enum):
    """Reasons why a solve ended; the value is a sentence for users."""

    REACHED = 'all goals are reached within their tolerances'
    CLOSEST = 'not reached: this is a closest point, no small motion lowers the cost'
    TOO_FEW_JOINTS = (
        'not reached: the arm has fewer joints than the goal asks for; this is a closest point'
    )
    COLLISION = (
        'not reached: every solution found collides, leaves a reach cone or is refused; this is '
        'the best free configuration found, or the start'
    )
    LEAST = 'the cost of the tasks is at its minimum: there is no goal to reach'
    STALLED = 'not reached: the solver makes no more progress, and this is no closest point'
    ITERATION_LIMIT = 'not reached: the iterations ended first'
    TIME_LIMIT = 'not reached: the time budget ended first'

    @property
    def is_closest(self) -> bool:
        """True if the solve ended at a closest point, with enough joints or not."""
        return self in (IkStatus.CLOSEST, IkStatus.TOO_FEW_JOINTS)

    @property
    def misses_goals(self) -> bool:
        """True if goals are missed, but not because of collisions or other restrictions."""
        return self not in (IkStatus.REACHED, IkStatus.COLLISION, IkStatus.LEAST)


@dataclass(eq=False)  # a frozen one takes four times as long to make
class IkResult:
    """The best configuration found, with its errors, its cost and the effort it took.

    `q` (n,): configuration of the whole robot; joints that the problem moves are inside their
    limits. `position_errors`, `orientation_errors`: errors of each goal at exactly this q [m,
    rad]; 0 for parts that a goal leaves free. `cost`: weighted sum of squares, with rotations
    scaled by the problem's orientation length [m^2]. `iterations`, `evaluations` (of forward
    kinematics) and `restarts`: totals of all attempts up to the one with the result, the same for
    any number of attempts side by side. `solve_time` [s]. `history`: cost after every iteration,
    if the solver's option `record_history` is set. `note`: remarks on how the result was found,
    and why goals are missed (`IkProblem.explain`); often empty. `abandoned_evaluations`: those of
    later attempts that ran side by side and were stopped. `cone_violations`: the angle outside
    each reach cone of the problem's constraints [rad], 0 inside.
    """

    q: Array
    status: IkStatus
    position_errors: Array
    orientation_errors: Array
    cost: float
    iterations: int
    evaluations: int
    restarts: int
    solve_time: float
    history: tuple[float, ...] = ()
    note: str = ''
    abandoned_evaluations: int = 0
    cone_violations: tuple[float, ...] = ()

    def __repr__(self) -> str:
        shown = ', '.join(f'{name} {value}' for name, value in self._rows()[1:])
        return f'<IkResult {self.status.name}: {shown}>'

    def _repr_html_(self) -> str:
        """The `repr` as a table."""
        return html_table(self.status.value, (), self._rows())

    def _rows(self) -> list[tuple[str, str]]:
        rows = [
            ('status', self.status.name),
            ('position error', length(max(self.position_errors, default=0.0))),
            ('orientation error', angle(max(self.orientation_errors, default=0.0))),
            ('iterations', f'{self.iterations} ({self.restarts} restarts)'),
            ('time', time(self.solve_time)),
            ('q', numbers(self.q)),
        ]
        return [*rows, ('note', self.note)] if self.note else rows

    @property
    def success(self) -> bool:
        """True if all goals are within their tolerances; without goals, if the cost is minimal."""
        return self.status in (IkStatus.REACHED, IkStatus.LEAST)

    @property
    def total_evaluations(self) -> int:
        """All evaluations, including abandoned ones."""
        return self.evaluations + self.abandoned_evaluations

    @property
    def message(self) -> str:
        """Status and largest errors as a sentence for users."""
        position = length(max(self.position_errors, default=0.0))
        orientation = angle(max(self.orientation_errors, default=0.0))
        return (
            f'{self.status.value} (position {position}, orientation {orientation}, '
            f'{self.iterations} iterations, {self.restarts} restarts, '
            f'{time(self.solve_time)})' + (f'; {self.note}' if self.note else '') + self._hint
        )

    @property
    def _hint(self) -> str:
        """A hint about units if a goal is very far away."""
        farthest = max(self.position_errors, default=0.0)
        if farthest <= UNIT_MISTAKE:
            return ''
        return f'; a goal is {length(farthest)} away: positions are in metres'
