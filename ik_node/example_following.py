# SPDX-License-Identifier: Apache-2.0
"""Instructions for the tracker that follow goals in the style of an example motion.

For each goal (`SetGoal`) an `ExampleGuide` finds a rest posture (`SetRest`). The tracker moves the
joints towards it in the null space of the goals, so the tips still reach their goals. Only if
`example.exact` is false, the goal is replaced by the tip's pose at that posture ([TakKo] Eq. 1).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ik_core import IkProblem, Tracker
from ik_core.maths.rotations import Array
from ik_core.retargeting import Demonstration, ExampleGuide
from ik_core.tracking import TrackerOptions
from ik_core.tracking.instructions import SetGoal, SetRest

from .parameters.node_options import ExampleOptions

REST_RATE = 2.0  # [1/s] replaces a `rest_rate` of 0, with which joints would ignore the example


class ExampleFollowing:
    """An example motion for the goals of a tracker.

    problem : one goal per tip, with its tool
    """

    def __init__(
        self, problem: IkProblem, demonstration: Demonstration, options: ExampleOptions
    ) -> None:
        weights = {'alpha': options.alpha, 'beta': options.beta}
        self._guide = ExampleGuide(problem, demonstration, **weights)
        self._exact = options.exact
        self._requested: dict[int, Array] = {}

    def instructions(
        self, tracker: Tracker, goal: SetGoal, poses: Sequence[Array]
    ) -> tuple[SetGoal, SetRest]:
        """Return the goal of a tip and the rest posture of the joints in the style of the example.

        poses : present poses (4, 4) of all tips; used for tips without a goal
        """
        tip, requested = int(goal.tip), self.requested(tracker)
        targets = [requested.get(i, pose) for i, pose in enumerate(poses)]
        targets[tip] = goal.target
        rest = self._guide.posture(targets, tracker.q)
        self._requested[tip] = goal.target
        if not self._exact:
            goal = SetGoal(tip, self._guide.poses(rest)[tip], goal.now)
        return goal, SetRest(rest)

    def requested(self, tracker: Tracker) -> dict[int, Array]:
        """Return the requested goals (4, 4) that are still followed, by tip."""
        followed = tracker.goals
        return {tip: goal for tip, goal in self._requested.items() if followed[tip] is not None}


def with_rest_rate(options: TrackerOptions) -> TrackerOptions:
    """Return these options with a positive `rest_rate`, so that joints move to the example."""
    return replace(options, rest_rate=options.rest_rate or REST_RATE)
