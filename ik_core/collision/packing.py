# SPDX-License-Identifier: Apache-2.0
"""Make the records that collision kernels read: pieces on the bodies of a robot, and pairs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..kernels import records
from ..maths.rotations import Array, IntArray, frame_of
from ..robot.robot import Robot
from .piece import Piece
from .records import CYLINDER, MODEL, POINTS, STATE, WIDTH

Record = records.Record


class BodyPiece(NamedTuple):
    """A convex piece in the frame of its body; body -1 is the root link's.

    kind : POINTS, CYLINDER or PLANE
    corners (m, 3), radius, sphere (4,), capsule (7,) : as in `Piece` [m]
    box (15,) : frame and half sizes of a box around it, for pieces that never move
    """

    body: int
    kind: int
    corners: Array
    radius: float
    sphere: Array
    capsule: Array
    box: Array


NO_BOX = np.zeros(15)


def on_body(robot: Robot, piece: Piece) -> BodyPiece:
    """Transform the piece of a link into the frame of the body that carries the link."""
    place = robot.placement(piece.link)
    kind = CYLINDER if piece.kind == 'cylinder' else POINTS
    return moved(
        BodyPiece(
            place.body, kind, piece.corners, piece.radius, piece.sphere, piece.capsule, NO_BOX
        ),
        place.transform,
    )


def moved(piece: BodyPiece, transform: Array) -> BodyPiece:
    """Return the piece moved by a transform (4, 4)."""
    turn, shift = transform[:3, :3], transform[:3, 3]

    def points(array: Array) -> Array:
        return array.reshape(-1, 3) @ turn.T + shift

    own = np.eye(4)
    own[:3, :3], own[:3, 3] = piece.box[:9].reshape(3, 3), piece.box[9:12]
    return piece._replace(
        corners=points(piece.corners),
        sphere=np.append(points(piece.sphere[:3]), piece.sphere[3]),
        capsule=np.append(points(piece.capsule[:6]), piece.capsule[6]),
        box=np.append(frame_of(transform @ own), piece.box[12:]),
    )


def pack(robot: Robot, pieces: Sequence[BodyPiece], pairs: IntArray, margins: Array) -> Record:
    """Make the record `MODEL` from pieces, pairs (P, 4) and margins (P,) [m].

    pieces : those that joints move have to come first"""
    blocks = [_blocks(piece) for piece in pieces]
    ends = np.cumsum([0, *map(len, blocks)])
    sizes = {
        'bodies': len(robot.tree),
        'pieces': len(pieces),
        'pair_rows': len(pairs),
        'blocks': int(ends[-1]),
    }
    model = MODEL.make(sizes, WIDTH)
    model['tree'], model['geometry'] = robot.tree, robot.geometry
    model['moving'] = sum(piece.body >= 0 for piece in pieces)
    model['pairs'], model['margin'] = np.reshape(pairs, (-1, 4)), margins
    for i, piece in enumerate(pieces):
        model['span'][i] = ends[i], ends[i + 1]
        put_piece(model, i, piece)
    return model


def with_pairs(model: Record, pairs: IntArray, margins: Array) -> Record:
    """Copy a `MODEL` with other pairs (P, 4) and margins (P,) [m]."""
    sizes = {size: model[size].item() for size in MODEL.sizes}
    other = MODEL.make({**sizes, 'pair_rows': len(pairs)}, WIDTH)
    for name in MODEL.fields:
        if name not in ('pairs', 'margin', 'pair_rows'):
            other[name] = model[name]
    other['pairs'], other['margin'] = pairs, margins
    return other


def put_piece(model: Record, i: int, piece: BodyPiece) -> None:
    """Write piece i; it must have as many blocks of corners as the old one."""
    model['body'][i], model['kind'][i] = piece.body + 1, piece.kind
    model['radius'][i] = piece.radius
    model['sphere'][i], model['capsule'][i] = piece.sphere, piece.capsule
    model['box'][i] = piece.box
    first, last = model['span'][i]
    model['corners'][first:last] = _blocks(piece)


def _blocks(piece: BodyPiece) -> Array:
    """Blocks (blocks, 3, WIDTH) of a piece's corners; the last corner is repeated to fill them."""
    corners = piece.corners
    if piece.kind == CYLINDER:
        axis = corners[1] - corners[0]
        corners = np.vstack([corners, axis / np.linalg.norm(axis)])
    short = -len(corners) % WIDTH
    filled = np.vstack([corners, np.repeat(corners[-1:], short, axis=0)])
    return np.ascontiguousarray(filled.reshape(-1, WIDTH, 3).transpose(0, 2, 1))


def workspace(robot: Robot, model: Record) -> Record:
    """Make the record `STATE` for a model, with the positions of the pieces that never move."""
    count = len(model['pairs'])
    state = STATE.make(
        {
            'bodies': len(robot.tree),
            'frame_rows': len(robot.tree) + 1,
            'pieces': len(model['kind']),
            'pairs': count,
            'joints': robot.n,
            'groups': max(1, int(model['pairs'][:, 3].max(initial=0)) + 1),
        },
        WIDTH,
    )
    state['frames'][0] = frame_of(np.eye(4))[:, np.newaxis]
    place_fixed(model, state)
    return state


def place_fixed(model: Record, state: Record) -> None:
    """Write the positions of the pieces that never move."""
    first = int(model['moving'])
    state['centre'][first:] = model['sphere'][first:, :3, np.newaxis]
    state['ends'][first:] = model['capsule'][first:, :6, np.newaxis]
