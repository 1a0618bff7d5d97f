# SPDX-License-Identifier: Apache-2.0
"""Results of paths, and the reasons why a path can't be done."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from ..closed_form.naming import branch_names
from ..display import angle, counted, length
from ..display import time as time_text
from ..maths.rotations import Array
from ..problem import IkProblem
from ..robot.motion import Motion


class PathReason(Enum):
    """Reasons why a path can be done or not; the value is a sentence for users."""

    DONE = 'the whole path can be done without reconfigurations, within all limits'
    OUT_OF_REACH = 'not possible: a part of the path is out of reach'
    JOINT_LIMIT = 'not possible: all solutions for a part of the path are beyond joint limits'
    COLLISION = 'not possible: all solutions for a part of the path collide or are refused'
    RECONFIGURATION = 'not possible in one go: no solution can be continued along the whole path'
    TOO_FAST = 'not possible at the given times or velocity: they ask for more than limits allow'


@dataclass(frozen=True, eq=False)
class PathResult:
    """A motion along a path of N poses, or why there is none.

    motion : joint positions at a fixed rate, from rest to rest; None if the path can't be done
    reason, message : why, as a PathReason and as a sentence with poses, joints and numbers
    interval : first and last pose that the reason is about, with fractions between poses; None for
        DONE
    fraction : the part of the path's length (or time) that can be done from its beginning
    reconfigurations : poses, with fractions, that the fewest possible reconfigurations lead to;
        empty also where a part of the path has no solution at all
    q (N, n) : configurations at the poses, of the motion or of the sequence with the fewest
        reconfigurations; empty (0, n) where some pose has none
    pose_times (N,) : when the motion passes the poses [s]; empty without a motion
    deviation : upper bounds of the tip's distance [m] and angle [rad] from the straight lines and
        slerp between the poses, shown for the whole path; NaN without a motion
    note : what was assumed
    solve_time [s]
    problem : the problem that the path was solved for
    """

    motion: Motion | None
    reason: PathReason
    message: str
    interval: tuple[float, float] | None
    fraction: float
    reconfigurations: tuple[float, ...]
    q: Array
    pose_times: Array
    deviation: tuple[float, float]
    note: str = ''
    solve_time: float = 0.0
    problem: IkProblem | None = None

    @property
    def branches(self) -> tuple[str, ...]:
        """Names (N,) of the branches of `q`, such as 'left, up, no flip': see
        `closed_form.branch_names`."""
        if self.problem is None:
            return ('',) * len(self.q)
        return tuple(branch_names(self.problem, self.q))

    @property
    def success(self) -> bool:
        """True if a motion was found."""
        return self.motion is not None

    def __repr__(self) -> str:
        if self.motion is None:
            return f'<PathResult: {self.message}>'
        position, orientation = self.deviation
        return (
            f'<PathResult: {counted(len(self.q), "pose")} in {time_text(self.motion.duration)}, '
            f'within {length(position)} and {angle(orientation)} of the path; found in '
            f'{time_text(self.solve_time)}>'
        )
