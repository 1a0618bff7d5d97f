# SPDX-License-Identifier: Apache-2.0
"""The records of the collision kernels, and the constants in them.

`MODEL` has the bodies of a robot, convex pieces on them and in the world around it, and the pairs
of pieces that may meet. It is constant while distances are computed. `STATE` is the workspace of
one caller: positions of the pieces in `WIDTH` configurations, one per lane, and a simplex.

Rows of `frames` are bodies: row 0 is the root link's frame, row k + 1 that of body k. A piece is
given in the frame of its body. Pieces that joints move come first; the positions of the others are
written once.
"""

from __future__ import annotations

from typing import Any

from ..kernels.records import FLOAT, INT, LANE, Layout
from ..maths.lanes import HAS_LANES

Record = Any  # a record as kernels see it

WIDTH = 8 if HAS_LANES else 1  # configurations, or corners of a piece, in a register

# kinds of pieces: the convex hull of points, with a thickness; a cylinder with flat ends; the half
# space below a plane
POINTS, CYLINDER, PLANE = range(3)
# what bounds the distance of a pair from below: both capsules; the first one's capsule and the
# second one's box; the first one's capsule and the second one's plane
CAPSULES, BOX, HALF_SPACE = range(3)
# columns of `pairs`: two pieces, the kind of their bound, the index of the pair of links
FIRST, SECOND, BOUND, GROUP = range(4)
MOST_CORNERS = 256  # of the polytope that finds a penetration depth
MOST_FACES = 2 * MOST_CORNERS

MODEL = Layout(
    'collision_model',
    ('bodies', 'pieces', 'pair_rows', 'blocks'),
    moving=(INT,),  # pieces that joints move
    tree=(INT, 'bodies', 3),  # as in `robot.kinematics`
    geometry=(FLOAT, 'bodies', 14),
    body=(INT, 'pieces'),  # row of frames
    kind=(INT, 'pieces'),
    span=(INT, 'pieces', 2),  # blocks of corners: the first, and the one after the last
    radius=(FLOAT, 'pieces'),  # thickness around points, or radius of a cylinder [m]
    sphere=(FLOAT, 'pieces', 4),  # contains the piece: centre, radius
    capsule=(FLOAT, 'pieces', 7),  # contains the piece: two ends, radius
    box=(FLOAT, 'pieces', 15),  # of boxes and planes in the world: frame, half sizes
    pairs=(INT, 'pair_rows', 4),
    margin=(FLOAT, 'pair_rows'),  # [m] distance at which a pair is no longer free
    corners=(LANE, 'blocks', 3),  # WIDTH in a block, the last one repeated to fill it; for a
    # cylinder the centres of its ends, then its axis
)

STATE = Layout(
    'collision_state',
    ('bodies', 'frame_rows', 'pieces', 'pairs', 'joints', 'groups'),
    q=(LANE, 'joints'),
    angle=(LANE, 'bodies'),
    cosine=(LANE, 'bodies'),
    sine=(LANE, 'bodies'),
    frames=(LANE, 'frame_rows', 12),
    centre=(LANE, 'pieces', 3),  # of spheres
    ends=(LANE, 'pieces', 6),  # of capsules
    bound=(LANE, 'pairs'),  # lower bound of the distance [m]
    top=(LANE,),  # in a scan of corners: height of the highest corner of each lane
    where=(LANE,),  # and its block
    near=(INT, 'pairs'),  # pairs that their bounds do not decide
    lanes=(INT, 'pairs'),  # lanes in which they do not, as bits
    simplex=(FLOAT, 4, 9),  # corners of B - A, and the points of A and of B that they come from
    count=(INT,),  # corners of the simplex
    weights=(FLOAT, 4),  # barycentric: of the corners in the nearest point
    trial=(FLOAT, 4),
    toward=(FLOAT, 3),  # vector to the nearest point; before it is known a direction from A to B
    witness=(FLOAT, 6),  # the nearest points of A and of B
    polytope=(FLOAT, MOST_CORNERS, 9),  # as `simplex`
    faces=(INT, MOST_FACES, 3),  # corners, counterclockwise seen from outside
    planes=(FLOAT, MOST_FACES, 4),  # outward normal and distance from the origin
    edges=(INT, MOST_FACES, 2),  # of the hole that a new corner makes
    result_index=(INT, 'groups'),  # row of `distances` of a pair of links; -1: none
    found=(INT, 'groups'),  # pair of pieces of a row of `distances`
    distances=(FLOAT, 'groups', 10),  # distance, points of both pieces, normal
)

model_lanes, model_numbers = MODEL.vector_view(WIDTH), MODEL.scalar_view(WIDTH)
state_lanes, state_numbers = STATE.vector_view(WIDTH), STATE.scalar_view(WIDTH)
