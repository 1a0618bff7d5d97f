"""`Piece`, a convex piece of a link, and `pieces_of`, all pieces of a robot."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Literal

from ..maths.rotations import Array
from ..robot.robot import Robot

Kind = Literal['sphere', 'capsule', 'cylinder', 'box', 'hull']


@dataclass(frozen=True, eq=False)
class Piece:
    """A convex piece of a link's collision geometry, in the frame of that link.

    link : the link's own name, also behind a fixed joint
    kind : 'sphere', 'capsule', 'cylinder', 'box' or 'hull' (of a part of a mesh)
    corners : (n, 3) [m]; of a sphere its centre (n = 1), of a capsule its ends, of a cylinder the
        centres of its flat ends (n = 2), of a box its 8 corners, of a hull its n corners
    radius : [m] of a sphere, capsule or cylinder; 0 for a box or a hull
    sphere : (4,) centre and radius [m] of a sphere that contains the piece
    capsule : (7,) two ends and radius [m] of a capsule that contains the piece
    """

    link: str
    kind: Kind
    corners: Array
    radius: float
    sphere: Array
    capsule: Array

    @property
    def round(self) -> bool:
        """True if the piece is its corners' hull with `radius` around it: a sphere or capsule."""
        return self.kind in ('sphere', 'capsule')


def pieces_of(
    robot: Robot,
    geometry: Literal['collision', 'visual'] = 'collision',
    folders: Sequence[str | PathLike[str]] = (),
) -> tuple[Piece, ...]:
    """Return the convex pieces of a robot's links, in the order of its description.

    geometry : the elements of the URDF that count
    folders : where meshes may be, besides the folder of the robot's own file and the package that
        it is in; packages, or folders with packages in them
    """
    raise NotImplementedError
