"""Bytes in, a small and well-formed tree of elements out: what `urdf` takes of a description.

`filtered` is the first step of `load_urdf`, which says what it is for.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from ..exceptions import UrdfError
from .shipped import robot_path, shipped_robots

MAX_BYTES = 10_000_000  # fifty times the largest robot known to us
MAX_DEPTH = 50
MAX_ELEMENTS = 200_000
MAX_LINKS = 5_000
MAX_NAME = 256
LARGEST = 1e9  # [kg] or [m], of inertials

_KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')

_CHILDREN: dict[str, tuple[str, ...]] = {
    'robot': ('link', 'joint'),
    'link': ('inertial',),
    'inertial': ('origin', 'mass'),
    'joint': ('origin', 'parent', 'child', 'axis', 'limit', 'mimic'),
}


def read(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, Path | None]:
    """The description's text or bytes, and the file that it is from, None if it is from none.

    Without what may not come before an XML declaration. Raises UrdfError.
    """
    file = None
    if isinstance(source, str) and source.lstrip('\ufeff \t\r\n')[:1] in ('<', ''):
        text: str | bytes = source.lstrip('\ufeff \t\r\n')
    elif isinstance(source, (bytes, bytearray)):
        text = _trim(bytes(source))
    elif isinstance(source, (str, os.PathLike)):
        file = robot_path(source) if isinstance(source, str) else Path(source)
        text = _trim(read_bytes(file))
    else:
        raise UrdfError(
            f'a robot description is XML text or the path of a file, not {type(source).__name__}'
        )
    where = '' if file is None else f'{file}: '
    if not text:
        raise UrdfError(
            f'{where}the robot description is empty: give the XML text or the path of a URDF'
        )
    if len(text) > MAX_BYTES:
        raise UrdfError(f'{where}the robot description is larger than {MAX_BYTES / 1e6:.0f} MB')
    return text, file


def _trim(data: bytes) -> bytes:
    data = data.removeprefix(b'\xef\xbb\xbf')
    return data if data[:2] in (b'\xff\xfe', b'\xfe\xff') else data.lstrip()


def read_bytes(path: Path) -> bytes:
    """Read a file, at most one byte more than the limit. Raises UrdfError."""
    shown = repr(str(path)) if len(str(path)) < MAX_NAME else f'{str(path)[:40]!r}...'
    try:
        with path.open('rb') as file:
            return file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise UrdfError(f'{shown} is a directory: give the URDF file in it') from None
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        shipped = path.stem if path.stem in shipped_robots() else ''
        hint = f' (the shipped robot is {shipped!r})' if shipped else ''
        raise UrdfError(
            f"can't read {shown}: {reason}{hint}; "
            "give the path of a URDF file, or XML starting with '<'"
        ) from None


def filtered(text: str | bytes) -> tuple[ElementTree.Element, list[str]]:
    """The `<robot>` element with what kinematics needs, checked piece by piece; and warnings."""
    handler = _Filter()
    xml = expat.ParserCreate()
    xml.buffer_text = True
    xml.StartElementHandler = handler.start
    xml.EndElementHandler = handler.end
    xml.StartDoctypeDeclHandler = handler.doctype
    try:
        xml.Parse(text, True)
    except UrdfError:
        raise
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise UrdfError(f'not well-formed XML, line {error.lineno}: {reason}') from None
    except (LookupError, ValueError) as error:  # an unknown encoding, a lone surrogate
        raise UrdfError(f"the robot description can't be decoded: {error}") from None
    assert handler.robot is not None
    remarks = _check_robot(handler.robot)
    return handler.robot, [*handler.repeated, *remarks]


class _Filter:
    """Handlers for expat that copy the elements of `_CHILDREN` and forget everything else."""

    def __init__(self) -> None:
        self.robot: ElementTree.Element | None = None
        self.repeated: dict[str, None] = {}  # an ordered set of remarks
        self._open: list[ElementTree.Element | None] = []
        self._count = 0
        self._kept = {'link': 0, 'joint': 0}

    def doctype(self, *_: object) -> None:
        raise UrdfError('a DOCTYPE is not allowed in a robot description: remove it')

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self._count += 1
        if self._count > MAX_ELEMENTS or len(self._open) >= MAX_DEPTH:
            raise UrdfError(
                'the robot description is too large: at most '
                f'{MAX_ELEMENTS} elements, nested at most {MAX_DEPTH} deep'
            )
        if tag.startswith('xacro:'):
            raise UrdfError(
                f'<{tag[:40]}>: this is xacro, not URDF: run `xacro` on the file first'
            )
        self._open.append(self._keep(tag, attributes))

    def end(self, _: str) -> None:
        self._open.pop()

    def _keep(self, tag: str, attributes: dict[str, str]) -> ElementTree.Element | None:
        if not self._open:
            if tag != 'robot':
                raise UrdfError(
                    f'the outermost element is <{tag[:40]}>: a URDF has <robot name="...">'
                )
            self.robot = ElementTree.Element(tag, attributes)
            return self.robot
        parent = self._open[-1]
        if parent is None or tag not in _CHILDREN.get(parent.tag, ()):
            return None
        if parent.tag == 'inertial' and parent.find(tag) is not None:
            return None
        if parent.tag != 'robot' and parent.find(tag) is not None:
            self.repeated[f'{_name(parent)}: a second <{tag}> is ignored'] = None
            return None
        if tag in self._kept:
            self._kept[tag] += 1
            if self._kept[tag] > MAX_LINKS:
                raise UrdfError(f'the robot has more than {MAX_LINKS} {tag}s')
        return ElementTree.SubElement(parent, tag, attributes)


def _check_robot(robot: ElementTree.Element) -> list[str]:
    """Check all text that was kept, and reduce the attributes to those that are read; remarks."""
    remarks = []
    if not len(robot):
        raise UrdfError('the robot is empty: it needs at least one <link name="...">')
    for element in robot:
        if element.tag == 'joint':
            _check_joint(element)
        _keep_attributes(element, _name(element))
        remarks += _without_broken_inertial(element)
    _keep_attributes(robot, 'robot')
    return remarks


def _without_broken_inertial(link: ElementTree.Element) -> list[str]:
    """Leave an inertial out that can't be one: nothing but a centre of mass needs it."""
    inertial = link.find('inertial')
    if inertial is None:
        return []
    try:
        if inertial.find('mass') is None:
            raise UrdfError('<mass value="..."/> is missing')
        inertial.attrib.clear()
        for element in inertial:
            _keep_attributes(element, f'<{element.tag}>')
            if any(abs(float(x)) > LARGEST for x in element.get('xyz', '').split()):
                raise UrdfError('<origin> is too large; use metres')
    except UrdfError as error:
        link.remove(inertial)
        return [f'{_name(link)}: its inertial is ignored: {error}']
    return []


def _check_joint(joint: ElementTree.Element) -> None:
    where = _name(joint)
    kind = joint.get('type', '')
    if kind not in _KINDS:
        raise UrdfError(f'{where}: unknown type {kind[:40]!r}; known are {", ".join(_KINDS)}')
    for tag in ('parent', 'child'):
        if joint.find(tag) is None:
            raise UrdfError(f'{where}: <{tag} link="..."/> is missing')
    if kind in ('revolute', 'prismatic') and joint.find('limit') is None:
        hint = ", or type='continuous' if it turns without end" if kind == 'revolute' else ''
        raise UrdfError(
            f'{where}: a {kind} joint needs <limit lower="..." upper="..." velocity="..."/>{hint}'
        )
    for element in joint:
        _keep_attributes(element, f'{where}, <{element.tag}>')


def _name(element: ElementTree.Element) -> str:
    return f'{element.tag} {element.get("name", "")[:MAX_NAME]!r}'


def _is_name(text: str) -> bool:
    # Not printable: line breaks, and escape sequences that would act on a terminal.
    return bool(text.strip()) and len(text) <= MAX_NAME and text.isprintable()


def _is_number(text: str) -> bool:
    # float() is more liberal than XML: 1_000, and the digits of all scripts.
    if '_' in text or not text.isascii() or len(text) > MAX_NAME:
        return False
    try:
        return math.isfinite(float(text))
    except ValueError:
        return False


def _is_not_negative(text: str) -> bool:
    return _is_number(text) and 0.0 <= float(text) <= LARGEST


def _is_vector(text: str) -> bool:
    numbers = text.split()
    return len(numbers) == 3 and all(map(_is_number, numbers))


_NAME = (_is_name, f'a name of 1 to {MAX_NAME} printable characters')
_NUMBER = (_is_number, 'one finite number')
_NOT_NEGATIVE = (_is_not_negative, 'one finite number that is not negative')
_VECTOR = (_is_vector, '3 finite numbers with blanks between them')

# What is read of each element: the attribute, its check and what is right, and the text that
# stands for a missing one (None: nothing does). Effort, which is not used here, is put in later
# because urdf_parser_py asks for it.
_Attribute = tuple[str, tuple[Callable[[str], bool], str], str | None]
_ATTRIBUTES: dict[str, tuple[_Attribute, ...]] = {
    'robot': (('name', _NAME, None),),
    'link': (('name', _NAME, None),),
    'joint': (('name', _NAME, None), ('type', _NAME, None)),
    'origin': (('xyz', _VECTOR, '0 0 0'), ('rpy', _VECTOR, '0 0 0')),
    'axis': (('xyz', _VECTOR, None),),
    'parent': (('link', _NAME, None),),
    'child': (('link', _NAME, None),),
    'limit': (('lower', _NUMBER, '0'), ('upper', _NUMBER, '0'), ('velocity', _NUMBER, '0')),
    'mass': (('value', _NOT_NEGATIVE, None),),
    'mimic': (('joint', _NAME, None), ('multiplier', _NUMBER, '1'), ('offset', _NUMBER, '0')),
}


def _keep_attributes(element: ElementTree.Element, where: str) -> None:
    """Check the attributes that are read and drop the others."""
    given = dict(element.attrib)
    if 'quat_xyzw' in given and element.tag == 'origin':
        raise UrdfError(f'{where}: quat_xyzw is not supported; give the rotation as rpy')
    element.attrib.clear()
    for name, (is_right, right), default in _ATTRIBUTES[element.tag]:
        text = given.get(name, default)
        if text is None:
            raise UrdfError(f'{where}: the attribute {name}="..." is missing')
        if '${' in text or '$(' in text:
            raise UrdfError(
                f'{where}: {name}={text[:40]!r} is xacro: run `xacro` on the file first'
            )
        if not is_right(text):
            raise UrdfError(f'{where}: {name}={text[:60]!r} should be {right}')
        element.set(name, text)
    if element.tag == 'limit':
        element.set('effort', '0')
