# SPDX-License-Identifier: Apache-2.0
"""Read an SRDF: groups, named states, end effectors and disabled pairs, also of untrusted text.

Format: http://wiki.ros.org/srdf and MoveIt's `disable_default_collisions`, `enable_collisions`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import NamedTuple
from xml.etree import ElementTree
from xml.parsers import expat

from ..display import named
from ..exceptions import FrameNotFound, UrdfError
from .robot import EndEffector, PlanningGroup, Robot
from .urdf_filter import MAX_DEPTH, MAX_ELEMENTS, joint_elements

MAX_BYTES = 10_000_000  # SRDFs of humanoids have 100 kB

SrdfSource = str | PathLike[str]


class Srdf(NamedTuple):
    """The content of an SRDF for a robot; `text` is that of the file."""

    text: str | bytes
    groups: Mapping[str, PlanningGroup]
    end_effectors: Mapping[str, EndEffector]
    warnings: list[str]


@dataclass(eq=False)
class Disabled:
    """The pairs that an SRDF disables.

    pairs : disabled pairs, with their reasons
    links : links whose pairs are all disabled, except those that are `enabled`
    enabled : pairs of these links that are enabled again
    """

    pairs: dict[frozenset[str], str] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    enabled: set[frozenset[str]] = field(default_factory=set)

    def names(self, first: str, second: str) -> bool:
        """Return whether a pair is disabled."""
        pair = frozenset((first, second))
        if pair in self.pairs:
            return True
        return bool(pair & self.links) and pair not in self.enabled

    def reason(self, first: str, second: str) -> str:
        """Return the reason that the SRDF gives for a disabled pair."""
        return self.pairs.get(frozenset((first, second)), 'disabled by default')


def srdf_beside(file: Path) -> SrdfSource:
    """Return the SRDF of a robot's file: of the same name in its folder, or in the folder srdf
    next to that; '' if there is none."""
    name = f'{file.name.partition(".")[0]}.srdf'
    for path in (file.with_name(name), file.absolute().parents[0].parent / 'srdf' / name):
        if path.is_file():
            return path
    return ''


def read_srdf(source: str | bytes | PathLike[str], robot: Robot) -> Srdf:
    """Read an SRDF.

    source : the path of a file, or text that begins with '<'

    Names that the robot does not have are warned of. Raises UrdfError.
    """
    text, name = _read(source)
    try:
        root = _parsed(text)
        _, unknown = _disabled(root, robot)
        groups = _Groups(root, robot)
        read = {group: groups.read(group) for group in groups.elements}
        effectors = _end_effectors(root, robot, read, unknown)
    except UrdfError as error:
        raise UrdfError(f'{name}{error}') from None
    warnings = _unknown_links(unknown, robot)
    if groups.unknown:
        warnings.append(
            f'the SRDF names joints that {robot.name!r} does not have: {named(groups.unknown, 5)}'
        )
    return Srdf(text, read, effectors, warnings)


def disabled_pairs(
    source: str | bytes | PathLike[str], robot: Robot
) -> tuple[Disabled, list[str]]:
    """Read only the pairs that an SRDF disables, and a warning about unknown links in them.

    Raises UrdfError, but not for faulty groups.
    """
    text, name = _read(source)
    try:
        disabled, unknown = _disabled(_parsed(text), robot)
    except UrdfError as error:
        raise UrdfError(f'{name}{error}') from None
    return disabled, _unknown_links(unknown, robot)


def _unknown_links(unknown: Mapping[str, None], robot: Robot) -> list[str]:
    if not unknown:
        return []
    links = ', '.join(map(repr, list(unknown)[:5])) + (', ...' if len(unknown) > 5 else '')
    return [f'the SRDF names links that {robot.name!r} does not have: {links}']


def _parsed(text: str | bytes) -> ElementTree.Element:
    """The elements of an SRDF. Raises UrdfError."""
    builder, depth, count = ElementTree.TreeBuilder(), 0, 0

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal depth, count
        if not count and tag != 'robot':
            raise UrdfError(f'the outermost element is <{tag[:40]}>; an SRDF has <robot>')
        depth, count = depth + 1, count + 1
        if depth > MAX_DEPTH or count > MAX_ELEMENTS:
            raise UrdfError('the SRDF has too many elements, or they are nested too deep')
        builder.start(tag, attributes)

    def end(tag: str) -> None:
        nonlocal depth
        depth -= 1
        builder.end(tag)

    def doctype(*_: object) -> None:
        raise UrdfError('a DOCTYPE is not allowed in an SRDF: remove it')

    xml = expat.ParserCreate()
    xml.StartElementHandler, xml.EndElementHandler = start, end
    xml.StartDoctypeDeclHandler = doctype
    try:
        xml.Parse(text, True)
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise UrdfError(f'not well-formed XML, line {error.lineno}: {reason}') from None
    except (LookupError, ValueError) as error:
        raise UrdfError(f"the SRDF can't be decoded: {error}") from None
    return builder.close()


def _disabled(root: ElementTree.Element, robot: Robot) -> tuple[Disabled, dict[str, None]]:
    """The disabled pairs, and the links in them that the robot does not have."""
    found = Disabled()
    unknown: dict[str, None] = {}
    for element in root:
        tag, attributes = element.tag, element.attrib
        if tag in ('disable_collisions', 'enable_collisions'):
            pair = _links(tag, attributes, 'link1', 'link2')
            if tag == 'disable_collisions':
                found.pairs[frozenset(pair)] = attributes.get('reason', '')
            else:
                found.enabled.add(frozenset(pair))
        elif tag == 'disable_default_collisions':
            pair = _links(tag, attributes, 'link')
            found.links.update(pair)
        else:
            continue
        unknown.update(dict.fromkeys(link for link in pair if link not in robot.places))
    return found, unknown


class _Groups:
    """Reads the groups of an SRDF; `unknown` are joints and links that the robot does not have."""

    def __init__(self, root: ElementTree.Element, robot: Robot) -> None:
        self.robot = robot
        self.unknown: dict[str, None] = {}
        self.elements: dict[str, ElementTree.Element] = {}
        for element in root.iterfind('group'):
            name = _name(element, 'name')
            if name in self.elements:
                raise UrdfError(f'group {name!r} is defined twice: names must be unique')
            self.elements[name] = element
        self._states = [*root.iterfind('group_state')]
        for state in self._states:
            if _name(state, 'group') not in self.elements:
                raise UrdfError(
                    f'group_state {_name(state, "name")!r} is of group {state.get("group")!r}, '
                    'which does not exist'
                )

    def read(self, group: str) -> PlanningGroup:
        """Return a group with its named states. Raises UrdfError."""
        found = self._joints(group, ())
        joints = tuple(name for name in self.robot.joint_names if name in found)
        ends = [chain.get('tip_link', '') for chain in self.elements[group].iterfind('chain')]
        tip = ends[0] if len(ends) == 1 and ends[0] in self.robot.places else ''
        states = {
            _name(state, 'name'): self._state(state)
            for state in self._states
            if state.get('group') == group
        }
        return PlanningGroup(group, joints, tip, states)

    def _joints(self, group: str, above: tuple[str, ...]) -> set[str]:
        """The names of the joints of a group that is part of the groups `above`."""
        if group in above:
            raise UrdfError(f'group {group!r} is part of itself: {" > ".join((*above, group))}')
        robot, joints = self.robot, set[str]()
        for part in self.elements[group]:
            if part.tag == 'group':
                name = _name(part, 'name')
                if name not in self.elements:
                    raise UrdfError(f'group {group!r}: its group {name!r} does not exist')
                joints |= self._joints(name, (*above, group))
            elif part.tag == 'joint':
                joints |= self._known_joint(_name(part, 'name'))
            elif part.tag == 'link':
                link = _name(part, 'name')
                place = robot.places.get(link)
                if place is None:
                    self.unknown[link] = None
                elif place.body >= 0 and place.depth == 0:
                    joints.add(robot.body_names[place.body])
            elif part.tag == 'chain':
                joints |= self._chain(group, part)
        return joints

    def _chain(self, group: str, chain: ElementTree.Element) -> set[str]:
        base, tip = _name(chain, 'base_link'), _name(chain, 'tip_link')
        try:
            up, down = self.robot.paths_between(tip, base)
        except FrameNotFound:
            self.unknown |= {name: None for name in (base, tip) if name not in self.robot.places}
            return set()
        if up:
            raise UrdfError(f'group {group!r}: its chain from {base!r} to {tip!r} leads upwards')
        return {self.robot.body_names[body] for body in down}

    def _known_joint(self, name: str) -> set[str]:
        """The 1-dof joints of a joint of the description; none for a fixed one."""
        parts = {part for part in self.robot.body_names if part.partition('/')[0] == name}
        if name in self.robot.body_names:
            return {name}
        if not parts and name not in self._described:
            self.unknown[name] = None
        return parts

    @cached_property
    def _described(self) -> set[str]:
        """The names of all joints of the description, also of those that never move."""
        return {joint.get('name', '') for joint in joint_elements(self.robot.urdf)}

    def _state(self, state: ElementTree.Element) -> dict[str, float]:
        """The positions of a named state by joint. Raises UrdfError."""
        positions: dict[str, float] = {}
        name = _name(state, 'name')
        for joint in state.iterfind('joint'):
            joint_name, words = _name(joint, 'name'), joint.get('value', '').split()
            try:
                numbers = [float(word) for word in words]
            except ValueError:
                numbers = []
            if not numbers or not all(map(math.isfinite, numbers)):
                raise UrdfError(
                    f'group_state {name!r}: joint {joint_name!r} has value='
                    f'{joint.get("value", "")[:60]!r}: finite numbers are needed'
                )
            if len(numbers) == 1 and joint_name in self.robot.joint_names:
                positions[joint_name] = numbers[0]
            else:
                self._known_joint(joint_name)  # notes an unknown one
        return positions


def _end_effectors(
    root: ElementTree.Element,
    robot: Robot,
    groups: Mapping[str, PlanningGroup],
    unknown: dict[str, None],
) -> dict[str, EndEffector]:
    """The end effectors by name; unknown parent links are added to `unknown`."""
    found: dict[str, EndEffector] = {}
    for element in root.iterfind('end_effector'):
        name, link, group = (_name(element, of) for of in ('name', 'parent_link', 'group'))
        for given in filter(None, (group, element.get('parent_group'))):
            if given not in groups:
                raise UrdfError(f'end_effector {name!r}: group {given!r} does not exist')
        if link not in robot.places:
            unknown[link] = None
            continue
        found[name] = EndEffector(name, link, group, element.get('parent_group', ''))
    return found


def _name(element: ElementTree.Element, attribute: str) -> str:
    name = element.get(attribute, '')
    if not name:
        raise UrdfError(f'<{element.tag}> has no attribute {attribute}')
    return name


def _links(tag: str, attributes: dict[str, str], *names: str) -> list[str]:
    for name in names:
        if not attributes.get(name):
            raise UrdfError(f'<{tag}> has no attribute {name}: it names a link')
    return [attributes[name] for name in names]


def _read(source: str | bytes | PathLike[str]) -> tuple[str | bytes, str]:
    """The text or bytes of an SRDF, and the prefix of errors. Raises UrdfError."""
    if isinstance(source, str) and source.lstrip()[:1] == '<':
        text: str | bytes = source.lstrip()
        name = ''
    elif isinstance(source, bytes):
        text, name = source, ''
    elif isinstance(source, (str, PathLike)):
        name = f'{source}: '
        try:
            with Path(source).open('rb') as file:
                text = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, 'strerror', None) or error
            raise UrdfError(
                f"can't read the SRDF {str(source)!r}: {reason}; give the path of a file, or XML "
                "that begins with '<'"
            ) from None
    else:
        raise UrdfError(f'an SRDF is XML text or the path of a file, not {source!r}')
    if len(text) > MAX_BYTES:
        raise UrdfError(f'{name}the SRDF is larger than {MAX_BYTES / 1e6:.0f} MB')
    return text, name
