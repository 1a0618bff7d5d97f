# SPDX-License-Identifier: Apache-2.0
"""Surroundings of a robot, and objects that its links carry: named shapes, which may change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..display import counted, listed
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import Names, TransformLike
from ..maths.rotations import Array
from ..maths.transforms import checked_transform, transform
from .shapes import Plane, Shape, checked_shape

MOST = 100
"""Shapes in a world."""


class Obstacle(NamedTuple):
    """A shape with a name, and its pose (4, 4) in the frame of a link, or in the root link's.

    link : that carries it; None: it stands in the world
    touching : further links that it may touch
    """

    name: str
    shape: Shape
    pose: Array
    link: str | None = None
    touching: tuple[str, ...] = ()


class World:
    """Obstacles by name: shapes that stand around a robot, and shapes that its links carry.

        world = ik.World()
        world.add('floor', Plane())
        world.add('table', Box((1.0, 0.6, 0.05)), ik.transform(position=(0.6, 0.0, 0.4)))
        world.attach('tool', Cylinder(0.02, 0.1), 'panda_hand', ik.transform(position=(0, 0, 0.1)))
        world.move('table', ik.transform(position=(0.7, 0.0, 0.4)))
        world.allow('tool', 'table')  # they may touch

    A `Collisions` that was made with it sees all changes from its next call on. Poses are (4, 4)
    transforms in the root link's frame, or whatever `ik.transform` takes; those of shapes that a
    link carries in that link's frame.
    """

    def __init__(self) -> None:
        self._obstacles: dict[str, Obstacle] = {}
        self._allowed: set[frozenset[str]] = set()
        self._version = 0

    def __repr__(self) -> str:
        names = listed(map(repr, self._obstacles))
        return f'<World: {counted(len(self), "obstacle")}{": " if names else ""}{names}>'

    @property
    def version(self) -> int:
        """The number of changes so far."""
        return self._version

    def __len__(self) -> int:
        return len(self._obstacles)

    def __iter__(self) -> Iterator[Obstacle]:
        return iter(tuple(self._obstacles.values()))

    def __contains__(self, name: str) -> bool:
        return name in self._obstacles

    def __getitem__(self, name: str) -> Obstacle:
        if name not in self._obstacles:
            known = listed(map(repr, self._obstacles)) or 'none'
            raise InvalidOption(f'the world has no obstacle {name!r}; there are: {known}')
        return self._obstacles[name]

    def add(self, name: str, shape: Shape, pose: TransformLike | None = None) -> None:
        """Add a shape that stands at a pose in the root link's frame, by default at its origin.

        Raises InvalidOption for a name that is taken or what is no shape, InvalidGoal for what is
        no pose.
        """
        self._put(name, shape, pose, None, ())

    def attach(
        self,
        name: str,
        shape: Shape,
        link: str,
        pose: TransformLike | None = None,
        touching: Names = (),
    ) -> None:
        """Add a shape that a link carries, at a pose in that link's frame.

        touching : links that it may touch besides the one that carries it, such as fingers

        Raises the same errors; that the robot has no such link is found by `Collisions`.
        """
        if isinstance(shape, Plane):
            raise InvalidOption(f'{name!r}: a link can not carry a Plane: attach a Box')
        if isinstance(touching, str) or not isinstance(touching, Iterable):
            raise InvalidOption(f'{name!r}: touching = {touching!r}; a list of links is needed')
        self._put(name, shape, pose, str(link), tuple(touching))

    def move(self, name: str, pose: TransformLike) -> None:
        """Put an obstacle at another pose; of one that a link carries in that link's frame.

        Raises InvalidOption for a name that is unknown, InvalidGoal for what is no pose.
        """
        self._set(self[name]._replace(pose=_pose(pose, name)))

    def remove(self, name: str) -> None:
        """Remove an obstacle. Raises InvalidOption for a name that is unknown."""
        del self._obstacles[self[name].name]
        self._version += 1

    def allow(self, first: str, second: str, allowed: bool = True) -> None:
        """Allow two obstacles, an obstacle and a link, or two links to touch, or forbid it.

        Names count whether or not there is such a thing: it may be added later. Raises
        InvalidOption for what is no name.
        """
        for name in (first, second):
            if not isinstance(name, str) or not name:
                raise InvalidOption(f'{name!r} is no name of a link or an obstacle')
        (self._allowed.add if allowed else self._allowed.discard)(frozenset((first, second)))
        self._version += 1

    @property
    def allowed(self) -> frozenset[frozenset[str]]:
        """The pairs of names that may touch."""
        return frozenset(self._allowed)

    def _put(
        self,
        name: str,
        shape: Shape,
        pose: TransformLike | None,
        link: str | None,
        touching: tuple[str, ...],
    ) -> None:
        if not isinstance(name, str) or not name:
            raise InvalidOption(f'{name!r} is no name of an obstacle: text is needed')
        if name in self._obstacles:
            raise InvalidOption(f'the world has an obstacle {name!r} already: move or remove it')
        if len(self) == MOST:
            raise InvalidOption(f'{name!r}: the world has {MOST} obstacles already, the most')
        shape = checked_shape(shape, name)
        self._set(Obstacle(name, shape, _pose(pose, name), link, touching))

    def _set(self, obstacle: Obstacle) -> None:
        self._obstacles[obstacle.name] = obstacle
        self._version += 1


def _pose(value: Any, name: str) -> Array:
    """A pose as a new array (4, 4) that is read-only."""
    try:
        pose = np.eye(4) if value is None else checked_transform(transform(value), 'pose')
    except InvalidGoal as error:
        raise InvalidGoal(f'{name!r}: {error}') from None
    pose.flags.writeable = False
    return pose
