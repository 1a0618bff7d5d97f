# SPDX-License-Identifier: Apache-2.0
"""The surroundings of a robot and the objects its links carry: named shapes, which may change."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

import numpy as np

from ..display import counted, listed
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import Names, TransformLike
from ..maths.rotations import Array
from ..maths.transforms import checked_transform, transform
from .shapes import Plane, Shape, checked_shape

MAX_OBSTACLES = 100  # of a world


class Obstacle(NamedTuple):
    """A named shape and its pose (4, 4) [m], in the frame of a link or in the root link's.

    link : the link that carries it; None for a fixed obstacle
    touching : further links that it may touch
    """

    name: str
    shape: Shape
    pose: Array
    link: str | None = None
    touching: tuple[str, ...] = ()


class World:
    """Obstacles by name: shapes around a robot, and shapes that its links carry.

        world = ik.World()
        world.add('floor', Plane())
        world.add('table', Box((1.0, 0.6, 0.05)), ik.transform(position=(0.6, 0.0, 0.4)))
        world.attach('tool', Cylinder(0.02, 0.1), 'panda_hand', ik.transform(position=(0, 0, 0.1)))
        world.move('table', ik.transform(position=(0.7, 0.0, 0.4)))
        world.allow('tool', 'table')  # they may touch

    A `Collisions` made with a world uses all its changes from the next call on. Poses are (4, 4)
    transforms, or anything that `ik.transform` takes, in the root link's frame; for shapes that a
    link carries, in that link's frame.
    """

    def __init__(self) -> None:
        self._obstacles: dict[str, Obstacle] = {}
        self._allowed: set[frozenset[str]] = set()
        self._version = 0

    def __repr__(self) -> str:
        names = listed(map(repr, self._obstacles))
        return f'<World: {counted(len(self), "obstacle")}{": " if names else ""}{names}>'

    def copy(self) -> World:
        """Return a world of its own with the same obstacles and allowed pairs."""
        other = World()
        other._obstacles, other._allowed = dict(self._obstacles), set(self._allowed)
        return other

    def is_same(self, other: World) -> bool:
        """Return whether a copy of the same world has not been changed since, nor this one."""
        mine, others = self._obstacles.values(), other._obstacles.values()
        is_same = len(mine) == len(others) and all(map(operator.is_, mine, others))
        return is_same and self._allowed == other._allowed

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
        """Add a fixed shape at a pose in the root link's frame, by default at its origin.

        Raises InvalidOption if the name exists or the shape is invalid, InvalidGoal for an invalid
        pose.
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

        touching : further links that it may touch, such as fingers

        Raises the errors of `add`. An unknown link is an error of `Collisions`.
        """
        if isinstance(shape, Plane):
            raise InvalidOption(f'{name!r}: a link can not carry a Plane: attach a Box')
        if isinstance(touching, str) or not isinstance(touching, Iterable):
            raise InvalidOption(f'{name!r}: touching = {touching!r}; a list of links is needed')
        self._put(name, shape, pose, str(link), tuple(touching))

    def move(self, name: str, pose: TransformLike) -> None:
        """Move an obstacle to another pose; if a link carries it, in that link's frame.

        Raises InvalidOption for an unknown name, InvalidGoal for an invalid pose.
        """
        self._set(self[name]._replace(pose=_pose(pose, name)))

    def remove(self, name: str) -> None:
        """Remove an obstacle. Raises InvalidOption for an unknown name."""
        del self._obstacles[self[name].name]
        self._version += 1

    def allow(self, first: str, second: str, allowed: bool = True) -> None:
        """Allow two obstacles, an obstacle and a link, or two links to touch, or forbid it.

        Obstacles of these names may be added later. Raises InvalidOption for names that are not
        text, or empty.
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
        if len(self) == MAX_OBSTACLES:
            raise InvalidOption(f'{name!r}: the world has {len(self)} obstacles already, the most')
        shape = checked_shape(shape, name)
        self._set(Obstacle(name, shape, _pose(pose, name), link, touching))

    def _set(self, obstacle: Obstacle) -> None:
        self._obstacles[obstacle.name] = obstacle
        self._version += 1


def _pose(value: Any, name: str) -> Array:
    """A pose as a new read-only array (4, 4). Raises InvalidGoal."""
    try:
        pose = np.eye(4) if value is None else checked_transform(transform(value), 'pose')
    except InvalidGoal as error:
        raise InvalidGoal(f'{name!r}: {error}') from None
    pose.flags.writeable = False
    return pose
