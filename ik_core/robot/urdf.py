"""Load a URDF robot description: strict, silent, and safe with text from strangers.

A description may come over a topic from anybody, so it is taken in three steps:

1. `_Filter`, on expat, keeps links, joints and the six elements of a joint that kinematics needs,
   and drops the rest as it streams by (meshes are never opened). It caps bytes, depth and
   counts, and refuses a DOCTYPE before any entity can expand. What it keeps is checked here,
   attribute by attribute, because `urdf_parser_py` names no place for some errors, takes
   `<parent/>` for a link called 'None', and prints what it does not know.
2. `urdf_parser_py` reads the few elements that are left.
3. The joints are checked as a whole: one tree, known names, sensible limits, mimics that end at a
   joint that moves.

Format: http://wiki.ros.org/urdf/XML, and urdfdom where that page is silent.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np
from urdf_parser_py import urdf as parser

from ..exceptions import UrdfError
from ..maths.rotations import matrix_from_rpy
from .joints import FLOATING_BASE, carried_by_floating_base
from .robot import Joint, Mimic, Robot

MAX_BYTES = 10_000_000  # fifty times the largest robot known to us
MAX_DEPTH = 50
MAX_ELEMENTS = 200_000
MAX_LINKS = 5_000
MAX_NAME = 256
MAX_NUMBER = 1e9  # [m] or [rad]: larger limits mean 'none', other larger numbers are mistakes

_KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar')
_WITH_AXIS = ('revolute', 'continuous', 'prismatic', 'planar')
_MOVABLE = ('revolute', 'continuous', 'prismatic')

_CHILDREN: dict[str, tuple[str, ...]] = {
    'robot': ('link', 'joint'),
    'joint': ('origin', 'parent', 'child', 'axis', 'limit', 'mimic'),
}


def load_urdf(
    source: str | bytes | os.PathLike[str],
    *,
    free_joints: Sequence[str] = (),
    floating_base: bool = False,
) -> Robot:
    """The robot of a URDF: a path, or the XML itself as text or bytes (then it starts with '<').

    Units are URDF's: metres, radians, seconds. `free_joints` names the floating and planar joints
    to move; the others are frozen at zero, since a JointState can't carry them. `floating_base`
    puts a floating joint of that name, which moves, between a new root link `world` and the root,
    as for a humanoid that walks. What needs a decision:

    - Not finite, not a number, a wrong count of numbers, commas between them: an error.
    - A revolute or prismatic joint needs a `<limit>`; a bound it leaves out is 0, as in urdfdom.
      A bound beyond 1e9 means none. Limits on a continuous joint are ignored, with a warning.
      `effort` is never read. A velocity that is missing, zero or negative means no limit, with a
      warning.
    - `<axis>` is (1, 0, 0) if left out, and normalised. A zero axis is an error where it counts.
    - A mimic of a mimic is resolved into one multiplier and offset; a cycle is an error. Where it
      can't be obeyed it is ignored, with a warning: then the joint moves by itself if it can. That
      is so if it names a missing joint (as one robot of example-robot-data does), and if either
      joint is fixed, floating or planar and so has no single position.
    - Of an element given twice in a joint the first counts, with a warning, as in urdfdom.
    - Blank lines or a byte order mark before the XML declaration are skipped, and the encoding it
      names holds for bytes and files; text is already decoded.
    - A DOCTYPE, xacro macros, an oversized or too deep description, two roots, cycles, unknown or
      duplicate names, and a robot without links are errors.

    Raises UrdfError, which names the element, what is wrong and what would be right.
    """
    tree, warnings = _filter(_read(source))
    model = parser.URDF.from_xml_string(ElementTree.tostring(tree, encoding='unicode'))
    links = [link.name for link in model.links]
    _check_unique('link', links)
    _check_unique('joint', [joint.name for joint in model.joints])
    _check_tree(links, model.joints)
    mimics = _resolve_mimics(model.joints, warnings)
    joints = [_joint(joint, mimics.get(joint.name), warnings) for joint in model.joints]
    if floating_base:
        links, joints = carried_by_floating_base(links, joints)
        free_joints = (*free_joints, FLOATING_BASE)
    warnings += _remarks(joints, free_joints)
    return Robot.from_joints(model.name, links, joints, warnings=warnings, free_joints=free_joints)


def plain_urdf(source: str | bytes | os.PathLike[str]) -> str:
    """What `load_urdf` uses of a description, as text, whatever its encoding. Raises UrdfError."""
    tree, _ = _filter(_read(source))
    return ElementTree.tostring(tree, encoding='unicode')


# --- step 1: bytes in, a small and well-formed element tree out ---------------------------------


def _read(source: str | bytes | os.PathLike[str]) -> str | bytes:
    """The description's text or bytes, without what may not come before an XML declaration."""
    if isinstance(source, str) and source.lstrip('\ufeff \t\r\n')[:1] in ('<', ''):
        text: str | bytes = source.lstrip('\ufeff \t\r\n')
    elif isinstance(source, (bytes, bytearray)):
        text = _trim(bytes(source))
    elif isinstance(source, (str, os.PathLike)):
        text = _trim(_read_file(source))
    else:
        raise UrdfError(
            f'a robot description is XML text or the path of a file, not {type(source).__name__}'
        )
    if not text:
        raise UrdfError('the robot description is empty: give the XML text or the path of a URDF')
    if len(text) > MAX_BYTES:
        raise UrdfError(f'the robot description is larger than {MAX_BYTES / 1e6:.0f} MB')
    return text


def _trim(data: bytes) -> bytes:
    data = data.removeprefix(b'\xef\xbb\xbf')
    return data if data[:2] in (b'\xff\xfe', b'\xfe\xff') else data.lstrip()


def _read_file(path: str | os.PathLike[str]) -> bytes:
    shown = repr(str(path)) if len(str(path)) < MAX_NAME else f'{str(path)[:40]!r}...'
    try:
        with Path(path).open('rb') as file:
            return file.read(MAX_BYTES + 1)
    except IsADirectoryError:
        raise UrdfError(f'{shown} is a directory: give the URDF file in it') from None
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise UrdfError(
            f"can't read {shown}: {reason}; give the path of a URDF file, or XML starting with '<'"
        ) from None


def _filter(text: str | bytes) -> tuple[ElementTree.Element, list[str]]:
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
    _check_robot(handler.robot)
    return handler.robot, list(handler.repeated)


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
        if parent.tag == 'joint' and parent.find(tag) is not None:
            self.repeated[f'{_name(parent)}: a second <{tag}> is ignored'] = None
            return None
        if tag in self._kept:
            self._kept[tag] += 1
            if self._kept[tag] > MAX_LINKS:
                raise UrdfError(f'the robot has more than {MAX_LINKS} {tag}s')
        return ElementTree.SubElement(parent, tag, attributes)


def _check_robot(robot: ElementTree.Element) -> None:
    """Check all text that was kept, and reduce the attributes to those that are read."""
    if not len(robot):
        raise UrdfError('the robot is empty: it needs at least one <link name="...">')
    for element in robot:
        if element.tag == 'joint':
            _check_joint(element)
        _keep_attributes(element, _name(element))
    _keep_attributes(robot, 'robot')


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


def _is_vector(text: str) -> bool:
    numbers = text.split()
    return len(numbers) == 3 and all(map(_is_number, numbers))


_NAME = (_is_name, f'a name of 1 to {MAX_NAME} printable characters')
_NUMBER = (_is_number, 'one finite number')
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


# --- step 3: what the joints say together -------------------------------------------------------


def _check_unique(what: str, names: Iterable[str]) -> None:
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UrdfError(f'{what} {name!r} is defined twice: {what} names must be unique')
        seen.add(name)


def _check_tree(links: Sequence[str], joints: Sequence[parser.Joint]) -> None:
    """One root, and every other link the child of exactly one joint."""
    known = set(links)
    parent_joint: dict[str, parser.Joint] = {}
    for joint in joints:
        for tag, link in (('parent', joint.parent), ('child', joint.child)):
            if link not in known:
                raise UrdfError(f'joint {joint.name!r}: {tag} {_unknown("link", link, known)}')
        if joint.child in parent_joint:
            raise UrdfError(
                f'link {joint.child!r} is the child of two joints, '
                f'{parent_joint[joint.child].name!r} and {joint.name!r}: a link has one parent'
            )
        parent_joint[joint.child] = joint
    roots = [link for link in links if link not in parent_joint]
    if len(roots) > 1:
        shown = ', '.join(map(repr, roots[:5])) + (', ...' if len(roots) > 5 else '')
        raise UrdfError(
            f'{len(roots)} links have no parent ({shown}): connect all but one through joints'
        )
    _check_no_cycle(links, {child: joint.parent for child, joint in parent_joint.items()})


def _check_no_cycle(links: Sequence[str], parent: Mapping[str, str]) -> None:
    reached = set(links) - set(parent)  # the root
    for link in links:
        path: dict[str, None] = {}  # an ordered set
        while link not in reached:
            if link in path:
                cycle = list(path)[list(path).index(link) :]
                shown = ', '.join(map(repr, cycle[:5])) + (', ...' if len(cycle) > 5 else '')
                raise UrdfError(f'the links {shown} form a cycle: a robot is a tree')
            path[link] = None
            link = parent[link]
        reached.update(path)


def _unknown(what: str, name: str, known: Iterable[str]) -> str:
    close = difflib.get_close_matches(name, known, n=3)
    hint = f'; did you mean {" or ".join(map(repr, close))}?' if close else ''
    return f'{what} {name!r} does not exist{hint}'


def _resolve_mimics(joints: Sequence[parser.Joint], warnings: list[str]) -> dict[str, Mimic]:
    """Each mimic joint in terms of the joint at the end of its chain of mimics."""
    by_name = {joint.name: joint for joint in joints}
    obeyed: dict[str, parser.JointMimic] = {}
    for joint in joints:
        if joint.mimic is None:
            continue
        problem = _mimic_problem(joint, by_name)
        if problem:
            warnings.append(f'joint {joint.name!r}: its mimic is ignored: {problem}')
        else:
            obeyed[joint.name] = joint.mimic
    resolved: dict[str, Mimic] = {}
    for name in obeyed:
        _follow_mimics(name, obeyed, resolved)
    return resolved


def _mimic_problem(joint: parser.Joint, by_name: Mapping[str, parser.Joint]) -> str:
    """Why the joint's mimic can't be obeyed; empty if it can."""
    driver = by_name.get(joint.mimic.joint)
    if driver is None:
        return f'joint {joint.mimic.joint!r} does not exist'
    for end in (joint, driver):
        if end.type not in _MOVABLE:
            return f'joint {end.name!r} is {end.type}'
    return ''


def _follow_mimics(
    first: str, mimics: Mapping[str, parser.JointMimic], resolved: dict[str, Mimic]
) -> None:
    """Resolve the mimic of joint `first`, and those on the way to the end of the chain."""
    path: dict[str, None] = {}  # an ordered set
    name = first
    while name in mimics and name not in resolved:
        if name in path:
            raise UrdfError(
                f'joint {first!r}: its mimic leads back to joint {name!r}: end it at another'
            )
        path[name] = None
        name = mimics[name].joint
    for name in reversed(path):
        own = mimics[name]
        end = resolved.get(own.joint, Mimic(own.joint))
        # own.multiplier * (end.multiplier * driver + end.offset) + own.offset
        multiplier = own.multiplier * end.multiplier
        offset = own.multiplier * end.offset + own.offset
        _check_size(f'joint {name!r}', 'multiplier', multiplier)
        _check_size(f'joint {name!r}', 'offset', offset)
        resolved[name] = Mimic(end.joint, multiplier, offset)


def _joint(joint: parser.Joint, mimic: Mimic | None, warnings: list[str]) -> Joint:
    where = f'joint {joint.name!r}'
    lower, upper, velocity = _limits(joint, where, warnings)
    return Joint(
        name=joint.name,
        kind=joint.type,
        parent=joint.parent,
        child=joint.child,
        origin=_origin(joint, where),
        axis=_axis(joint, where),
        lower=lower,
        upper=upper,
        velocity=velocity,
        mimic=mimic,
    )


def _origin(joint: parser.Joint, where: str) -> np.ndarray:
    origin = np.eye(4)
    if joint.origin is not None:
        for number in (*joint.origin.xyz, *joint.origin.rpy):
            _check_size(where, 'origin', number)
        origin[:3, :3] = matrix_from_rpy(joint.origin.rpy)
        origin[:3, 3] = joint.origin.xyz
    return origin


def _axis(joint: parser.Joint, where: str) -> np.ndarray:
    axis = np.array([1.0, 0.0, 0.0] if joint.axis is None else joint.axis)
    if joint.type not in _WITH_AXIS:
        return np.array([1.0, 0.0, 0.0])
    norm = math.hypot(*axis)
    if not 1e-9 < norm < MAX_NUMBER:
        raise UrdfError(f'{where}: <axis> {axis.tolist()} has no direction; give a unit vector')
    return axis / norm


def _limits(joint: parser.Joint, where: str, warnings: list[str]) -> tuple[float, float, float]:
    """Lower, upper and velocity, infinite where there is none."""
    limit = joint.limit
    if joint.type not in _MOVABLE:
        return -math.inf, math.inf, math.inf
    velocity = (
        limit.velocity if limit is not None and 0 < limit.velocity <= MAX_NUMBER else math.inf
    )
    if joint.type == 'continuous':
        if limit is not None and (limit.lower, limit.upper) != (0, 0):
            warnings.append(f'{where} is continuous: its position limits are ignored')
        return -math.inf, math.inf, velocity
    if limit.lower > limit.upper:
        raise UrdfError(f'{where}: <limit> lower {limit.lower:g} is above upper {limit.upper:g}')
    if limit.lower == limit.upper:
        warnings.append(f'{where} can not move: its limits are both {limit.lower:g}')
    _check_size(where, 'lower limit', max(limit.lower, 0))
    _check_size(where, 'upper limit', min(limit.upper, 0))
    lower = limit.lower if limit.lower >= -MAX_NUMBER else -math.inf
    upper = limit.upper if limit.upper <= MAX_NUMBER else math.inf
    return lower, upper, velocity


def _check_size(where: str, what: str, number: float) -> None:
    if not abs(number) <= MAX_NUMBER:
        raise UrdfError(f'{where}: {what} {number:g} is too large; use metres and radians')


def _remarks(joints: Sequence[Joint], free_joints: Sequence[str]) -> list[str]:
    """What the user of the robot should know of it."""
    remarks = [
        f'joint {joint.name!r} is {joint.kind}: frozen at zero'
        for joint in joints
        if joint.kind in ('floating', 'planar') and joint.name not in free_joints
    ]
    unlimited = [j.name for j in joints if j.kind in _MOVABLE and j.velocity == math.inf]
    if unlimited:
        remarks.append(f'no velocity limit: {", ".join(unlimited)}')
    return remarks
