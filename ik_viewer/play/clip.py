# SPDX-License-Identifier: Apache-2.0
"""A clip, the motion of a skeleton, and the robot that imitates it, if any."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ik_core import Robot
from ik_core.exceptions import InvalidOption
from ik_core.maths.argument_types import TransformLike
from ik_core.maths.rotations import Array
from ik_core.motion import Motion
from ik_core.retargeting.example import Example, Scale, example_of, link_paths
from ik_core.tasks.reference_motion import total_link_length

# Links of the CMU database's skeletons that are imitated by default.
USUAL_LINKS = ('lhand', 'rhand', 'lfoot', 'rfoot', 'head')


@dataclass(frozen=True, eq=False)
class Clip:
    """A motion q (frames, n) of `source`, whose root is at `placed` (4, 4) in the scene."""

    source: Robot
    q: Array
    period: float
    placed: Array

    @classmethod
    def of(cls, source: Robot, motion: Motion, transform: TransformLike | None = None) -> Clip:
        """Return the clip of a motion. Raises InvalidMotion for a motion of another robot."""
        placed = np.eye(4) if transform is None else np.array(transform, float)
        return cls(source, motion.positions_of(source), motion.period, placed)

    def __len__(self) -> int:
        return len(self.q)

    def paths(self, links: tuple[str, ...]) -> Array:
        """Return the positions (frames, links, 3) [m] of links in the scene."""
        paths = link_paths(self.source, self.q, links)
        return paths @ self.placed[:3, :3].T + self.placed[:3, 3]


@dataclass(frozen=True, eq=False)
class Imitator:
    """A robot, the example that it imitates, and its length L [m] of [TakKo] section 4.3."""

    robot: Robot
    example: Example
    length: float


def imitator_of(
    clip: Clip,
    motion: Motion,
    robot: Robot,
    links: Mapping[str, str],
    *,
    joints: Mapping[str, str] | None = None,
    scale: Scale = 1.0,
    base_link: str | None = None,
) -> Imitator:
    """Return a robot whose links imitate those of the clip, as in `ik.retargeting.retarget`.

    Raises IkError.
    """
    example = example_of(
        motion,
        clip.source,
        robot,
        links,
        joints=joints,
        scale=scale,
        transform=clip.placed,
        base_link=base_link,
    )
    length = max(total_link_length(robot, link) for link in example.links)
    return Imitator(robot, example, length)


def usual_links(source: Robot, robot: Robot) -> dict[str, str]:
    """Return the default pairs of links: those with the same name.

    They are hands, feet and head of a skeleton, or else the ends of all chains. Raises
    InvalidOption if the robots share none.
    """
    shared = [link for link in USUAL_LINKS if link in source.places and link in robot.places]
    ends = set(source.tips()) & set(robot.tips())
    names = shared or sorted(ends)
    if not names:
        raise InvalidOption(
            f'{source.name} and {robot.name} have no ends of the same name: pair them with '
            f'--links SOURCE=ROBOT, one of {", ".join(source.tips())} with one of '
            f'{", ".join(robot.tips())}'
        )
    return {name: name for name in names}
