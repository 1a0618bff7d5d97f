# SPDX-License-Identifier: Apache-2.0
"""Read the collision and visual elements of a URDF as shapes, safely for untrusted text.

Like `urdf_filter`, the reader refuses a DOCTYPE and limits bytes, elements and depth. Mesh files
are opened by `ik_core.meshes` alone.

Format: http://wiki.ros.org/urdf/XML/link; a capsule is that of urdfdom 5, MuJoCo and Drake: its
`length` is between the centres of its round ends.
"""

from __future__ import annotations

import math
from collections.abc import Container
from typing import Literal, NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ..exceptions import UrdfError
from ..maths.rotations import Array, matrix_from_rpy
from .urdf_filter import (
    MAX_BYTES,
    MAX_DEPTH,
    MAX_ELEMENTS,
    QUATERNIONS,
    parse,
    rotation_of,
    version_of,
)

MAX_SHAPES = 2000
MAX_SIZE = 1e4  # [m] larger shapes are mistakes, and would hide everything else
MAX_NAME = 1000

Geometry = Literal['collision', 'visual']

Colour = tuple[int, int, int]  # red, green and blue, 0 to 255

_CHILDREN: dict[str, tuple[str, ...]] = {
    'robot': ('link', 'material'),
    'collision': ('origin', 'geometry'),
    'visual': ('origin', 'geometry', 'material'),
    'geometry': ('box', 'cylinder', 'capsule', 'sphere', 'mesh'),
    'material': ('color',),
}


class Box(NamedTuple):
    """A box, centred at the origin; `size` (3,) [m] along x, y and z."""

    size: tuple[float, float, float]


class Cylinder(NamedTuple):
    """A cylinder along z, centred at the origin; radius and length [m]."""

    radius: float
    length: float


class Capsule(NamedTuple):
    """A capsule along z, centred at the origin; `length` [m] is between the centres of its round
    ends, `radius` in m."""

    radius: float
    length: float


class Sphere(NamedTuple):
    """A sphere, centred at the origin; radius [m]."""

    radius: float


class MeshName(NamedTuple):
    """A mesh file as a URDF names it, not opened yet, and its scale (3,)."""

    filename: str
    scale: tuple[float, float, float]


class LinkShape(NamedTuple):
    """A shape of a link, at `origin` (4, 4) in the link's frame; `colour` may be None."""

    link: str
    origin: Array
    solid: Box | Cylinder | Capsule | Sphere | MeshName
    colour: Colour | None = None


def read_shapes(
    urdf: str | bytes, links: Container[str], geometry: Geometry
) -> tuple[list[LinkShape], dict[str, list[str]]]:
    """Read the collision or visual elements of the named links.

    Returns the shapes in the order of the text, and by reason the names of links with invalid
    elements. Raises UrdfError for text that `load_robot` would refuse, too.
    """
    root = _filter(urdf, geometry)
    palette = {
        material.get('name', ''): _colour(material)
        for material in root.iterfind('material')
        if _colour(material) is not None
    }
    has_quaternions = version_of(root.attrib) >= QUATERNIONS
    shapes: list[LinkShape] = []
    invalid: dict[str, list[str]] = {}
    for link in root.iterfind('link'):
        name = link.get('name', '')
        for element in link.iterfind(geometry) if name in links else ():
            try:
                if len(shapes) >= MAX_SHAPES:
                    raise ValueError(f'there are more than {MAX_SHAPES} of them')
                shapes.append(_shape(name, element, palette, has_quaternions))
            except (UrdfError, ValueError) as error:
                invalid.setdefault(str(error), []).append(name)
    return shapes, invalid


def _filter(urdf: str | bytes, geometry: Geometry) -> ElementTree.Element:
    """The `<robot>` element with only the elements of `_CHILDREN`. Raises UrdfError."""
    if len(urdf) > MAX_BYTES:
        raise UrdfError(f'the robot description is larger than {MAX_BYTES / 1e6:.0f} MB')
    handler, xml = _Filter(geometry), expat.ParserCreate()
    xml.StartElementHandler = handler.start
    xml.EndElementHandler = handler.end
    xml.StartDoctypeDeclHandler = handler.doctype
    parse(xml, urdf.lstrip('\ufeff \t\r\n') if isinstance(urdf, str) else urdf)
    return handler.robot


class _Filter:
    """Handlers for expat that keep the elements of `_CHILDREN` and drop all others."""

    def __init__(self, geometry: Geometry) -> None:
        self.robot = ElementTree.Element('robot')
        self._children = {**_CHILDREN, 'link': (geometry,)}
        self._open: list[ElementTree.Element | None] = []
        self._count = 0

    def doctype(self, *_: object) -> None:
        raise UrdfError('a DOCTYPE is not allowed in a robot description: remove it')

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            raise UrdfError('the robot description is too large, or nested too deep')
        self._open.append(self._keep(tag, attributes))

    def end(self, _: str) -> None:
        self._open.pop()

    def _keep(self, tag: str, attributes: dict[str, str]) -> ElementTree.Element | None:
        if not self._open:
            self.robot.attrib = dict(attributes)
            return self.robot
        parent = self._open[-1]
        if parent is None or tag not in self._children.get(parent.tag, ()):
            return None
        return ElementTree.SubElement(parent, tag, attributes)


def _shape(
    link: str,
    element: ElementTree.Element,
    palette: dict[str, Colour | None],
    has_quaternions: bool,
) -> LinkShape:
    """Read one collision or visual element. Raises ValueError or UrdfError, with a reason."""
    geometry = element.find('geometry')
    if geometry is None or not len(geometry):
        raise ValueError('its geometry is not supported')
    material = element.find('material')
    colour = None
    if material is not None:
        colour = _colour(material) or palette.get(material.get('name', ''))
    origin = _origin(element.find('origin'), has_quaternions)
    return LinkShape(link, origin, _solid(geometry[0]), colour)


def _origin(element: ElementTree.Element | None, has_quaternions: bool) -> Array:
    origin = np.eye(4)
    if element is None:
        return origin
    if 'quat_xyzw' in element.attrib:
        if not has_quaternions:
            raise ValueError('quat_xyzw of its <origin> counts from version 1.1 on')
        if 'rpy' in element.attrib:
            raise ValueError('its <origin> has rpy and quat_xyzw')
        origin[:3, :3] = rotation_of(element.get('quat_xyzw', ''), '<origin>')
    else:
        origin[:3, :3] = matrix_from_rpy(_numbers(element, 'rpy', 3, '0 0 0'))
    origin[:3, 3] = _numbers(element, 'xyz', 3, '0 0 0')
    return origin


def _solid(element: ElementTree.Element) -> Box | Cylinder | Capsule | Sphere | MeshName:
    if element.tag == 'box':
        x, y, z = map(abs, _numbers(element, 'size', 3))
        return Box((x, y, z))
    if element.tag in ('cylinder', 'capsule'):
        (radius,), (length,) = _numbers(element, 'radius', 1), _numbers(element, 'length', 1)
        kind = Cylinder if element.tag == 'cylinder' else Capsule
        return kind(abs(radius), abs(length))
    if element.tag == 'sphere':
        return Sphere(abs(_numbers(element, 'radius', 1)[0]))
    filename = element.get('filename', '')
    if not filename.isprintable() or not 0 < len(filename) <= MAX_NAME:
        raise ValueError('the file name of its mesh is invalid')
    x, y, z = _numbers(element, 'scale', 3, '1 1 1')
    return MeshName(filename, (x, y, z))


def _numbers(
    element: ElementTree.Element, name: str, count: int, default: str = ''
) -> tuple[float, ...]:
    """`count` finite numbers of an attribute, of magnitude up to MAX_SIZE. Raises ValueError."""
    words = element.get(name, default).split()
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(abs(number) <= MAX_SIZE for number in numbers):
        raise ValueError(f'<{element.tag}> needs {name}="..." of {count} finite numbers')
    return numbers


def _colour(material: ElementTree.Element) -> Colour | None:
    """The colour of a <material> with a valid <color>, else None."""
    element = material.find('color')
    words = '' if element is None else element.get('rgba', '')
    try:
        parts = [float(word) for word in words.split()]
    except ValueError:
        return None
    if len(parts) < 3 or not all(map(math.isfinite, parts)):
        return None
    red, green, blue = (round(255 * min(max(part, 0.0), 1.0)) for part in parts[:3])
    return red, green, blue
