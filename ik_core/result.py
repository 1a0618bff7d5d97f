"""What a solver answers."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from .display import angle, html_table, length, numbers, time
from .maths.rotations import Array


class IkStatus(Enum):
    """How a solve ended; the value is a sentence for users."""

    REACHED = 'all goals are reached within their tolerances'
    CLOSEST = 'not reached: this is the closest point, the cost has no descent left'
    LEAST = 'the cost of the tasks is at its minimum: there is no goal to reach'
    STALLED = 'not reached: the solver makes no more progress, but this is not the closest point'
    ITERATION_LIMIT = 'not reached: the iterations ended first'
    TIME_LIMIT = 'not reached: the time budget ended first'


@dataclass(eq=False)  # a frozen one takes four times as long to make
class IkResult:
    """The best configuration that was found, and what it achieves.

    `q` (n,): the whole robot's, with the joints that the problem moves inside their limits.
    `position_errors`, `orientation_errors`: per goal, of exactly this q [m, rad]; 0 where a
    goal does not ask for one. `cost`: the weighted sum of squares with rotations scaled by the
    problem's orientation length [m^2]. `iterations`, `evaluations` (of forward kinematics)
    and `restarts` count all attempts; `solve_time` [s]; `history`: the cost after every
    iteration, where the solver was asked to record it. `note`: how it was found, where the solver
    has something to say about that.
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

    def __repr__(self) -> str:
        shown = ', '.join(f'{name} {value}' for name, value in self._rows()[1:])
        return f'<IkResult {self.status.name}: {shown}>'

    def _repr_html_(self) -> str:
        """What `repr` tells as a table."""
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
        """Whether every goal is reached within its tolerances; without a goal, whether the
        tasks' cost is at a minimum."""
        return self.status in (IkStatus.REACHED, IkStatus.LEAST)

    @property
    def message(self) -> str:
        """The status and the largest errors, as a sentence for users."""
        position = length(max(self.position_errors, default=0.0))
        orientation = angle(max(self.orientation_errors, default=0.0))
        return (
            f'{self.status.value} (position {position}, orientation {orientation}, '
            f'{self.iterations} iterations, {self.restarts} restarts, '
            f'{time(self.solve_time)})' + (f'; {self.note}' if self.note else '')
        )
