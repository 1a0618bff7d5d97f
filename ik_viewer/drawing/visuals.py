"""The visuals of a URDF as shapes. The text may come from anybody over a topic.

It is read with the caution of `ik_core.robot.urdf_filter`: no DOCTYPE, and at most as many bytes,
elements and levels as a robot description may have. A visual that makes no sense is left out,
with a remark: what can't be drawn is no reason not to move the robot. Files are opened by
`mesh_files` alone.

Format: http://wiki.ros.org/urdf/XML/link
"""

from __future__ import annotations

import math
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from ik_core import Robot
from ik_core.exceptions import UrdfError
from ik_core.maths.rotations import Array, matrix_from_rpy
from ik_core.robot.urdf_filter import MAX_BYTES, MAX_DEPTH, MAX_ELEMENTS

from .shapes import Box, Colour, Cylinder, Solid, Sphere

MAX_VISUALS = 2000
MAX_SIZE = 1e4
"""[m] Larger numbers are mistakes, and would hide all else."""
MAX_NAME = 1000

_CHILDREN: dict[str, tuple[str, ...]] = {
    'robot': ('link', 'material'),
    'link': ('visual',),
    'visual': ('origin', 'geometry', 'material'),
    'geometry': ('box', 'cylinder', 'sphere', 'mesh'),
    'material': ('color',),
}


class MeshName(NamedTuple):
    """A mesh as a URDF names it: the file, not opened yet, and its scale (3,)."""

    filename: str
    scale: tuple[float, float, float]


class Visual(NamedTuple):
    """What a link shows, at `origin` (4, 4) in its frame; `colour` is None where none is said."""

    link: str
    origin: Array
    solid: Solid | MeshName
    colour: Colour | None


def read_visuals(urdf: str, robot: Robot) -> tuple[list[Visual], list[str]]:
    """The visuals of the links of a robot, and remarks. Raises UrdfError, as `load_urdf` does."""
    root = _filter(urdf)
    palette = {
        material.get('name', ''): _colour(material)
        for material in root.iterfind('material')
        if _colour(material) is not None
    }
    visuals: list[Visual] = []
    left_out: dict[str, list[str]] = {}  # links by reason
    for link in root.iterfind('link'):
        name = link.get('name', '')
        for element in link.iterfind('visual') if name in robot.places else ():
            try:
                visuals.append(_visual(name, element, palette))
            except ValueError as error:
                left_out.setdefault(str(error), []).append(name)
    return visuals, [_remark(links, reason) for reason, links in left_out.items()]


def _remark(links: list[str], reason: str) -> str:
    if len(links) == 1:
        return f'link {links[0]!r}: a visual is left out: {reason}'
    return f'{len(links)} visuals are left out (link {links[0]!r}, ...): {reason}'


def _filter(urdf: str) -> ElementTree.Element:
    """The `<robot>` with nothing but visuals."""
    if len(urdf) > MAX_BYTES:
        raise UrdfError(f'the robot description is larger than {MAX_BYTES / 1e6:.0f} MB')
    handler, xml = _Filter(), expat.ParserCreate()
    xml.StartElementHandler = handler.start
    xml.EndElementHandler = handler.end
    xml.StartDoctypeDeclHandler = handler.doctype
    try:
        xml.Parse(urdf.lstrip('\ufeff \t\r\n'), True)
    except (expat.ExpatError, LookupError, ValueError) as error:
        if isinstance(error, UrdfError):
            raise
        raise UrdfError(f'the robot description is not well-formed XML: {error}') from None
    return handler.robot


class _Filter:
    """Handlers for expat that copy the elements of `_CHILDREN` and forget everything else."""

    def __init__(self) -> None:
        self.robot = ElementTree.Element('robot')
        self._open: list[ElementTree.Element | None] = []
        self._count = self._visuals = 0

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
            return self.robot
        parent = self._open[-1]
        if parent is None or tag not in _CHILDREN.get(parent.tag, ()):
            return None
        self._visuals += tag == 'visual'
        if self._visuals > MAX_VISUALS:
            return None
        return ElementTree.SubElement(parent, tag, attributes)


def _visual(link: str, element: ElementTree.Element, palette: dict[str, Colour | None]) -> Visual:
    """Raises ValueError, with a reason."""
    geometry = element.find('geometry')
    if geometry is None or not len(geometry):
        raise ValueError('its geometry is not supported')
    material = element.find('material')
    colour = None
    if material is not None:
        colour = _colour(material) or palette.get(material.get('name', ''))
    return Visual(link, _origin(element.find('origin')), _solid(geometry[0]), colour)


def _origin(element: ElementTree.Element | None) -> Array:
    origin = np.eye(4)
    if element is not None:
        origin[:3, :3] = matrix_from_rpy(_numbers(element, 'rpy', 3, '0 0 0'))
        origin[:3, 3] = _numbers(element, 'xyz', 3, '0 0 0')
    return origin


def _solid(element: ElementTree.Element) -> Solid | MeshName:
    if element.tag == 'box':
        x, y, z = map(abs, _numbers(element, 'size', 3))
        return Box((x, y, z))
    if element.tag == 'cylinder':
        (radius,), (length,) = _numbers(element, 'radius', 1), _numbers(element, 'length', 1)
        return Cylinder(abs(radius), abs(length))
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
    """Finite numbers of a sensible size. Raises ValueError."""
    words = element.get(name, default).split()
    try:
        numbers = tuple(map(float, words))
    except ValueError:
        numbers = ()
    if len(numbers) != count or not all(abs(number) <= MAX_SIZE for number in numbers):
        raise ValueError(f'<{element.tag}> needs {name}="..." of {count} finite numbers')
    return numbers


def _colour(material: ElementTree.Element) -> Colour | None:
    """Of a <material> with a <color>; None where it says none that is one."""
    element = material.find('color')
    words = '' if element is None else element.get('rgba', '')
    try:
        shares = [float(word) for word in words.split()]
    except ValueError:
        return None
    if len(shares) < 3 or not all(map(math.isfinite, shares)):
        return None
    red, green, blue = (round(255 * min(max(share, 0.0), 1.0)) for share in shares[:3])
    return red, green, blue
