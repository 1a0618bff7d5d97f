# SPDX-License-Identifier: Apache-2.0
"""Collisions and worlds as plain values: pieces and verdicts as they are, without new proofs."""

from __future__ import annotations

from typing import Any

import numpy as np

from ...collision.collisions import Collisions
from ...collision.pairs import LinkPair, Margins
from ...collision.piece import Piece
from ...collision.shapes import Box, Capsule, Convex, Cylinder, Plane, Sphere
from ...collision.world import World
from ...robot.robot import Robot

SHAPES: dict[str, Any] = {
    kind.__name__: kind for kind in (Box, Capsule, Convex, Cylinder, Plane, Sphere)
}


def describe_collisions(collisions: Collisions) -> tuple[Any, ...]:
    """Return the arguments of `make_collisions` after the robot."""
    margins = collisions.margins
    named = [[*sorted(names), margin] for names, margin in margins.named.items()]
    return (
        [vars(piece) for piece in collisions.pieces],
        [vars(pair) for pair in collisions.pairs],
        (margins.default, named),
        describe_world(collisions.world),
    )


def make_collisions(
    robot: Robot,
    pieces: list[dict[str, Any]],
    pairs: list[dict[str, Any]],
    margins: tuple[float, list[tuple[str, str, float]]],
    world: Any,
) -> Collisions:
    """Return the collisions that were described, for the robot."""
    margin = Margins(margins[0])
    margin.named.update({frozenset((one, other)): m for one, other, m in margins[1]})
    return Collisions(
        robot,
        make_world(*world),
        margin,
        pieces=[Piece(**piece) for piece in pieces],
        pairs=[LinkPair(**pair) for pair in pairs],
    )


def describe_world(world: World) -> tuple[Any, ...]:
    """Return the arguments of `make_world`."""
    obstacles = [
        [each.name, type(each.shape).__name__, each.shape._asdict(), each.pose, each.link,
         list(each.touching)]
        for each in world
    ]  # fmt: skip
    return obstacles, [sorted(names) for names in world.allowed]


def make_world(obstacles: list[Any], allowed: list[list[str]]) -> World:
    """Return the world that was described."""
    world = World()
    for name, kind, sizes, pose, link, touching in obstacles:
        shape = SHAPES[kind](**sizes)
        if link is None:
            world.add(name, shape, np.asarray(pose))
        else:
            world.attach(name, shape, link, np.asarray(pose), touching)
    for names in allowed:
        world.allow(names[0], names[-1])
    return world
