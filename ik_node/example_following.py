# SPDX-License-Identifier: Apache-2.0
"""Goals followed in the style of an example, by instructions for the tracker.

A goal (`SetGoal`) comes with a rest posture (`SetRest`) that an `ExampleGuide` finds for it. The
joints are drawn to it in the null space of the goals, so the tips still reach them. Only if
`example.exact` is false, the goal is replaced by the tip's place under [TakKo] Eq. 1.
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

REST_RATE = 2.0
"""[1/s] How fast joints are drawn to the example where `rest_rate` is 0."""


class ExampleFollowing:
    """An example for the goals of a tracker.

    problem : its goals are the tips', with their tools
    """

    def __init__(
        self, problem: IkProblem, demonstration: Demonstration, options: ExampleOptions
    ) -> None:
        weights = {'alpha': options.alpha, 'beta': options.beta}
        self._guide = ExampleGuide(problem, demonstration, **weights)
        self._exact = options.exact
        self._asked: dict[int, Array] = {}

    def instructions(
        self, tracker: Tracker, asked: SetGoal, poses: Sequence[Array]
    ) -> tuple[SetGoal, SetRest]:
        """A goal of a tip in the style of the example, and the posture of the joints for it.

        poses : where the tips are, for those without a goal
        """
        tip, goal = int(asked.tip), asked.target
        targets = self._targets(tracker, poses)
        targets[tip] = goal
        rest = self._guide.posture(targets, tracker.q)
        self._asked[tip] = goal
        if not self._exact:
            asked = SetGoal(tip, self._guide.poses(rest)[tip], asked.now)
        return asked, SetRest(rest)

    def asked(self, tracker: Tracker) -> dict[int, Array]:
        """The goals that were asked for and that are still followed, by tip."""
        followed = tracker.goals
        return {tip: goal for tip, goal in self._asked.items() if followed[tip] is not None}

    def _targets(self, tracker: Tracker, poses: Sequence[Array]) -> list[Array]:
        asked = self.asked(tracker)
        return [asked.get(tip, pose) for tip, pose in enumerate(poses)]


def drawing(options: TrackerOptions) -> TrackerOptions:
    """These options, with a `rest_rate` that draws joints to the example."""
    return replace(options, rest_rate=options.rest_rate or REST_RATE)
