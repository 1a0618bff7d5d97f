# SPDX-License-Identifier: Apache-2.0
"""Filter a robot description: from bytes to a small tree of checked elements, the first step of
`load_robot`.
"""

from __future__ import annotations

import math
import os
import re
from codecs import BOM_UTF16_BE, BOM_UTF16_LE
from collections.abc import Callable, Mapping
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

from ..display import named
from ..exceptions import IkError, UrdfError
from ..maths.rotations import Array, matrix_from_quaternion
from ..maths.transforms import rpy_from_matrix
from .shipped import robot_path, shipped_robots

MAX_BYTES = 10_000_000  # fifty times the largest known robot
MAX_DEPTH = 50
MAX_ELEMENTS = 200_000
MAX_LINKS = 5_000
MAX_NAME = 256
LARGEST = 1e9  # [kg] or [m], of inertials

# versions of URDF from which on `quat_xyzw` is read, and missing limits are infinite
QUATERNIONS, INFINITE_LIMITS = (1, 1), (1, 2)

_KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')

HARDWARE_LIMIT = 'robot', 'ros2_control', 'joint', 'command_interface', 'param'

_CHILDREN: dict[str, tuple[str, ...]] = {
    'robot': ('link', 'joint'),
    'link': ('inertial',),
    'inertial': ('origin', 'mass'),
    'joint': ('origin', 'parent', 'child', 'axis', 'limit', 'mimic', 'safety_controller'),
}


def read(source: str | bytes | os.PathLike[str]) -> tuple[str | bytes, Path | None]:
    """Read a description: its text or bytes, and its file (None if `source` is the text).

    Blanks and a byte order mark before the XML declaration are removed. Raises UrdfError.
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
    """Remove a UTF-8 byte order mark and leading blanks."""
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
    """Parse and check a description: a `<robot>` with what kinematics needs, and warnings."""
    handler = _Filter()
    xml = expat.ParserCreate()
    xml.buffer_text = True
    xml.StartElementHandler = handler.start
    xml.EndElementHandler = handler.end
    xml.StartDoctypeDeclHandler = handler.doctype
    parse(xml, text)
    assert handler.robot is not None
    version = version_of(handler.robot.attrib)
    remarks = _check_robot(handler.robot, version)
    return handler.robot, [*handler.repeated, *remarks, *handler.hardware_remarks()]


def parse(xml: expat.XMLParserType, text: str | bytes) -> None:
    """Parse a description with an expat parser. Raises UrdfError."""
    try:
        xml.Parse(as_expat_reads(text), True)
    except UrdfError:
        raise
    except expat.ExpatError as error:
        _check_bytes(text)
        reason = expat.ErrorString(error.code)
        reason = {'not well-formed (invalid token)': 'invalid token'}.get(reason, reason)
        raise UrdfError(f'not well-formed XML, line {error.lineno}: {reason}') from None
    except (LookupError, ValueError) as error:  # an unknown encoding, a lone surrogate
        raise UrdfError(f"the robot description can't be decoded: {error}") from None


# encodings that expat can't read, and their codecs: of several standards, the largest
MULTI_BYTE = {
    **dict.fromkeys(('gb2312', 'gbk', 'gb18030', 'cp936'), 'gb18030'),
    **dict.fromkeys(('shift_jis', 'shift-jis', 'sjis', 'windows-31j', 'cp932'), 'cp932'),
    **dict.fromkeys(('euc-kr', 'euc_kr', 'ks_c_5601-1987', 'cp949'), 'cp949'),
    **dict.fromkeys(('big5', 'big5-hkscs', 'cp950'), 'big5hkscs'),
    **dict.fromkeys(('euc-jp', 'euc_jp'), 'euc_jp'),
    'iso-2022-jp': 'iso2022_jp',
}


def declared_encoding(text: bytes) -> str:
    """The encoding that the XML declaration names, in lower case; '' if none."""
    named = re.match(rb'(?:\xef\xbb\xbf)?\s*<\?xml[^>]*encoding\s*=\s*["\']([\w.-]+)', text)
    return named[1].decode('ascii').lower() if named else ''


def as_expat_reads(text: str | bytes) -> str | bytes:
    """Decode encodings that expat can't read; return other text unchanged. Raises UrdfError."""
    if isinstance(text, bytes) and declared_encoding(text) in MULTI_BYTE:
        try:
            return text.decode(MULTI_BYTE[declared_encoding(text)])
        except UnicodeDecodeError as error:
            raise _wrong_bytes(text, error) from None
    return text


def joint_elements(urdf: str | bytes) -> list[ElementTree.Element]:
    """The <joint> elements of a description that was loaded; none of a skeleton, which has ''."""
    return ElementTree.fromstring(as_expat_reads(urdf)).findall('joint') if urdf else []


def text_of(source: str | bytes) -> str:
    """Decode a description by its declared encoding or byte order mark; never raises."""
    if isinstance(source, str):
        return source
    encoding = declared_encoding(source) or 'utf-8-sig'
    if source[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        encoding = 'utf-16'
    try:
        return source.decode(MULTI_BYTE.get(encoding, encoding), errors='replace')
    except LookupError:  # an unknown encoding: `load_robot` refuses it
        return source.decode('utf-8', errors='replace')


def _check_bytes(text: str | bytes) -> None:
    """Raise UrdfError for bytes that are not UTF-8 though no other encoding is declared."""
    if isinstance(text, str) or text[:2] in (BOM_UTF16_LE, BOM_UTF16_BE):
        return
    if declared_encoding(text) in ('', 'utf-8', 'utf8'):
        try:
            text.decode('utf-8')
        except UnicodeDecodeError as error:
            raise _wrong_bytes(text, error) from None


def _wrong_bytes(text: bytes, error: UnicodeDecodeError) -> UrdfError:
    line = text.count(b'\n', 0, error.start) + 1
    named = declared_encoding(text)
    what = named.upper() or 'UTF-8, and the file names no encoding'
    remedy = 'save it as UTF-8' + ('' if named else ', or begin it with <?xml version="1.0" ')
    remedy += '' if named else 'encoding="..."?>'
    return UrdfError(f'line {line} has bytes that are not {what}: {remedy}')


def version_of(robot: Mapping[str, str]) -> tuple[int, int]:
    """The URDF version in the attributes of `<robot>`, by default (1, 0)."""
    match = re.fullmatch(r'(\d{1,4})\.(\d{1,4})', robot.get('version', ''), re.ASCII)
    return (int(match[1]), int(match[2])) if match else (1, 0)


class _Filter:
    """Handlers for expat that keep the elements of `_CHILDREN` and drop all others."""

    def __init__(self) -> None:
        self.robot: ElementTree.Element | None = None
        self.repeated: dict[str, None] = {}  # an ordered set of remarks
        self._open: list[ElementTree.Element | None] = []
        self._path: list[tuple[str, str]] = []  # tags and names of the open elements
        self._hardware: dict[str, None] = {}  # an ordered set of joints
        self._count = 0
        self._kept = {'link': 0, 'joint': 0}

    def hardware_remarks(self) -> list[str]:
        """A warning about limits in `<ros2_control>`, if there are any."""
        names = named(self._hardware)
        text = 'min and max of <ros2_control> are not read (joint_limits gives limits): '
        return [text + names] if names else []

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
            raise UrdfError(f'<{tag[:40]}>: this is xacro, not URDF: let its file end with .xacro')
        self._open.append(self._keep(tag, attributes))
        name = attributes.get('name', '')
        self._path.append((tag, name))
        if tag == 'param' and name in ('min', 'max'):
            tags = tuple(tag for tag, _ in self._path)
            if tags == HARDWARE_LIMIT and self._path[2][1].isprintable():
                self._hardware[self._path[2][1][:MAX_NAME]] = None

    def end(self, _: str) -> None:
        self._open.pop()
        self._path.pop()

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


def _check_robot(robot: ElementTree.Element, version: tuple[int, int]) -> list[str]:
    """Check all elements, drop attributes that are not read, and return warnings."""
    remarks: list[str] = []
    without_limit: dict[str, str] = {}  # kinds by joint
    unknown: dict[str, None] = {}  # an ordered set
    if not len(robot):
        raise UrdfError('the robot is empty: it needs at least one <link name="...">')
    for element in robot:
        if element.tag == 'joint':
            _check_joint(element, version)
            limit = element.find('limit')
            if limit is not None:
                remarks += _complete_limit(element, limit, version, unknown)
            elif element.get('type') in ('revolute', 'prismatic'):
                without_limit[_name(element)] = element.get('type', '')
            for part in element:
                _keep_attributes(part, f'{_name(element)}, <{part.tag}>', version)
        _keep_attributes(element, _name(element), version)
        remarks += _without_broken_inertial(element, version)
    if without_limit:
        raise UrdfError(_without_limit(without_limit))
    if unknown:
        remarks.append(f'attributes of <limit> that are not known: {named(unknown)}')
    _keep_attributes(robot, 'robot', version)
    return remarks


def _without_limit(kinds: Mapping[str, str]) -> str:
    """The text of one error for all joints without a `<limit>`."""
    kind, *others = dict.fromkeys(kinds.values())
    need = '<limit lower="..." upper="..." velocity="..."/>'
    hint = ", or type='continuous' if it turns without end" if 'revolute' in kinds.values() else ''
    if len(kinds) == 1:
        return f'{next(iter(kinds))}: a {kind} joint needs {need}{hint}'
    names = named(name.removeprefix('joint ') for name in kinds)
    which = ' and '.join([kind, *others])
    return f'{len(kinds)} joints have no limit ({names}): a {which} joint needs {need}{hint}'


def _complete_limit(
    joint: ElementTree.Element,
    limit: ElementTree.Element,
    version: tuple[int, int],
    unknown: dict[str, None],
) -> list[str]:
    """Fill in missing bounds by the rules of the URDF version; return warnings.

    Names of attributes that are not known are added to `unknown`.
    """
    known = {name for name, *_ in _ATTRIBUTES['limit']} | {'effort'}
    strange = sorted(set(limit.attrib) - known)
    missing = [name for name in ('lower', 'upper') if name not in limit.attrib]
    if version >= INFINITE_LIMITS:
        limit.attrib = {'lower': '-inf', 'upper': 'inf', 'velocity': 'inf', **limit.attrib}
    if joint.get('type') in ('revolute', 'prismatic') and missing:
        found = f' (found: {named(name[:40] for name in strange)})' if strange else ''
        verb = 'are' if len(missing) > 1 else 'is'
        said = f'{_name(joint)}: {" and ".join(missing)} {verb} missing in <limit>{found}'
        if version >= INFINITE_LIMITS:
            return [f'{said}, which is no limit in version {version[0]}.{version[1]}']
        if strange or len(missing) > 1:
            return [f'{said}: 0 counts']
    unknown |= {f'{name[:40]} ({joint.get("name", "")[:MAX_NAME]})': None for name in strange}
    return []


def _without_broken_inertial(link: ElementTree.Element, version: tuple[int, int]) -> list[str]:
    """Remove an invalid inertial, with a warning: only a centre of mass needs it."""
    inertial = link.find('inertial')
    if inertial is None:
        return []
    try:
        if inertial.find('mass') is None:
            raise UrdfError('<mass value="..."/> is missing')
        inertial.attrib.clear()
        for element in inertial:
            element.attrib.pop('rpy', None)  # orientation of the moments, which are not read
            element.attrib.pop('quat_xyzw', None)
            _keep_attributes(element, f'<{element.tag}>', version)
            if any(abs(float(x)) > LARGEST for x in element.get('xyz', '').split()):
                raise UrdfError('<origin> is too large; use metres')
    except UrdfError as error:
        link.remove(inertial)
        return [f'{_name(link)}: its inertial is ignored: {error}']
    return []


def _check_joint(joint: ElementTree.Element, version: tuple[int, int]) -> None:
    """Check the type and the links of a joint; remove elements that its type does not use."""
    where = _name(joint)
    kind = joint.get('type', '')
    if kind not in _KINDS:
        raise UrdfError(f'{where}: unknown type {kind[:40]!r}; known are {", ".join(_KINDS)}')
    for tag in ('parent', 'child'):
        if joint.find(tag) is None:
            raise UrdfError(f'{where}: <{tag} link="..."/> is missing')
    for tag in _USELESS.get(kind, ()):
        element = joint.find(tag)
        if element is not None:
            joint.remove(element)


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


def _is_limit(text: str) -> bool:
    return _is_number(text) or text.strip().lower() in _INFINITE


def _is_anything(text: str) -> bool:
    return True


_INFINITE = {sign + word for sign in ('', '+', '-') for word in ('inf', 'infinity')}
_NAME = (_is_name, f'a name of 1 to {MAX_NAME} printable characters')
_NUMBER = (_is_number, 'one finite number')
_LIMIT = (_is_limit, 'one finite number, or inf')
_NOT_NEGATIVE = (_is_not_negative, 'one finite number that is not negative')
_VECTOR = (_is_vector, '3 finite numbers with blanks between them')
_ANYTHING = (_is_anything, '')
_MAY_BE_MISSING = ''

# The attributes that are read of each element: name, check and description of valid values, and
# the default text (None: required). Effort is not used here; it is added later because
# urdf_parser_py requires it.
_Attribute = tuple[str, tuple[Callable[[str], bool], str], str | None]
_ATTRIBUTES: dict[str, tuple[_Attribute, ...]] = {
    'robot': (('name', _NAME, None),),
    'link': (('name', _NAME, None),),
    'joint': (('name', _NAME, None), ('type', _NAME, None)),
    'origin': (('xyz', _VECTOR, '0 0 0'), ('rpy', _VECTOR, '0 0 0')),
    'axis': (('xyz', _VECTOR, None),),
    'parent': (('link', _NAME, None),),
    'child': (('link', _NAME, None),),
    'limit': (
        ('lower', _LIMIT, '0'),
        ('upper', _LIMIT, '0'),
        ('velocity', _LIMIT, '0'),
        ('acceleration', _LIMIT, _MAY_BE_MISSING),
        ('deceleration', _LIMIT, _MAY_BE_MISSING),
        ('jerk', _LIMIT, _MAY_BE_MISSING),
    ),
    'safety_controller': (
        ('soft_lower_limit', _ANYTHING, _MAY_BE_MISSING),
        ('soft_upper_limit', _ANYTHING, _MAY_BE_MISSING),
    ),
    'mass': (('value', _NOT_NEGATIVE, None),),
    'mimic': (('joint', _NAME, None), ('multiplier', _NUMBER, '1'), ('offset', _NUMBER, '0')),
}
# elements that these kinds of joints do not use, so that they may be invalid
_USELESS = {
    'fixed': ('axis', 'limit', 'safety_controller'),
    'floating': ('axis',),
}


def _keep_attributes(element: ElementTree.Element, where: str, version: tuple[int, int]) -> None:
    """Check the attributes that are read, fill in defaults, and drop the other attributes."""
    given = dict(element.attrib)
    if 'quat_xyzw' in given and element.tag == 'origin':
        given['rpy'] = _rpy_of_quaternion(given, where, version)
    element.attrib.clear()
    for name, (is_right, right), default in _ATTRIBUTES[element.tag]:
        text = given.get(name, default)
        if text is None:
            raise UrdfError(f'{where}: the attribute {name}="..." is missing')
        if name not in given and default == _MAY_BE_MISSING:
            continue
        if '${' in text or '$(' in text:
            raise UrdfError(
                f'{where}: {name}={text[:40]!r} is xacro: let its file end with .xacro'
            )
        if not is_right(text):
            raise UrdfError(f'{where}: {name}={text[:60]!r} should be {right}')
        element.set(name, text)
    if element.tag == 'limit':
        element.set('effort', '0')


def _rpy_of_quaternion(given: Mapping[str, str], where: str, version: tuple[int, int]) -> str:
    """Convert the attribute `quat_xyzw` to `rpy`. Raises UrdfError."""
    text = given['quat_xyzw']
    if version < QUATERNIONS:
        raise UrdfError(
            f'{where}: quat_xyzw counts from version 1.1 on: write <robot version="1.1">, or give '
            'the rotation as rpy'
        )
    if 'rpy' in given:
        raise UrdfError(f'{where}: it has rpy and quat_xyzw: give one of them')
    return ' '.join(map(repr, rpy_from_matrix(rotation_of(text, where))))


def rotation_of(quat_xyzw: str, where: str) -> Array:
    """The rotation (3, 3) of an attribute quat_xyzw of any length but 0. Raises UrdfError."""
    words = quat_xyzw.split()
    if len(words) != 4 or not all(map(_is_number, words)):
        raise UrdfError(f'{where}: quat_xyzw={quat_xyzw[:60]!r} should be 4 finite numbers')
    try:
        return matrix_from_quaternion([float(word) for word in words])
    except IkError as error:
        raise UrdfError(f'{where}: quat_xyzw={quat_xyzw[:60]!r}: {error}') from None
