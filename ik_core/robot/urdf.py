# SPDX-License-Identifier: Apache-2.0
"""Read a URDF robot description: strict, silent, and safe for untrusted text.

A description may come over a topic from any node, so it is loaded in four steps:

1. `urdf_filter`, on expat, keeps links, joints and the parts of them that kinematics needs, and
   drops the rest while parsing (meshes are never opened). It limits bytes, depth and counts, and
   refuses a DOCTYPE before any entity can expand. It also checks what it keeps, attribute by
   attribute, because some errors of `urdf_parser_py` do not name the element, and because that
   parser reads `<parent/>` as a link called 'None' and prints unknown elements.
2. `urdf_limits` writes soft limits and joint_limits.yaml into the limits, and takes out the
   attributes that `urdf_parser_py` does not know: acceleration, deceleration and jerk.
3. `urdf_parser_py` reads the few elements that are left.
4. The joints are checked as a whole: one tree, known names, sensible limits, and every mimic
   follows a joint that moves.

Format: http://wiki.ros.org/urdf/XML, and urdfdom where that page is silent.
"""

from __future__ import annotations

import difflib
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING
from xml.etree import ElementTree

import numpy as np

from ..display import named
from ..exceptions import UrdfError
from ..maths.argument_types import Names
from ..maths.rotations import matrix_from_rpy
from .joints import FLOATING_BASE, carried_by_floating_base, whole_balls
from .robot import Joint, Mimic, Robot
from .urdf_filter import filtered
from .urdf_inertials import pop_inertials
from .urdf_limits import JointLimitsSource, Rates, narrow, pop_rates

if TYPE_CHECKING:
    from urdf_parser_py import urdf as parser


MAX_MULTIPLIER = 1e4  # of a mimic joint: its driver's rate limits are divided by it
FULL_TURN = 2.0 * math.pi + 1e-3  # files round 2 pi
MAX_NUMBER = 1e9  # [m] or [rad]: larger limits mean 'none', other larger numbers are mistakes

LONGEST_ARM = 20.0  # [m] longer arms are more likely given in another unit
# ends of warnings about numbers that are more likely in these units
IN_DEGREES, IN_MILLIMETRES = 'in degrees?', 'in millimetres?'

_WITH_AXIS = ('revolute', 'continuous', 'prismatic', 'planar')
_MOVABLE = ('revolute', 'continuous', 'prismatic')


def robot_of_urdf(
    text: str | bytes,
    *,
    free_joints: Names = (),
    floating_base: bool = False,
    soft_limits: bool = True,
    joint_limits: JointLimitsSource | None = None,
) -> Robot:
    """Return the robot of a URDF's text or bytes, with the options of `load_robot`."""
    tree, warnings = filtered(text)
    warnings += narrow(tree, soft_limits, joint_limits)
    counted = ElementTree.tostring(tree, encoding='unicode')
    robot = _robot(tree, warnings, tuple(free_joints), floating_base)
    return replace(robot, urdf=text, counted_urdf=counted)


def _robot(
    tree: ElementTree.Element,
    warnings: list[str],
    free_joints: tuple[str, ...],
    floating_base: bool,
) -> Robot:
    """Make the robot of the filtered elements."""
    rates, remarks = pop_rates(tree)
    warnings += remarks
    inertials = pop_inertials(tree)
    from urdf_parser_py.urdf import URDF  # not with ik_core, which builds import without it

    model = URDF.from_xml_string(ElementTree.tostring(tree, encoding='unicode'))
    links = [link.name for link in model.links]
    _check_unique('link', links)
    _check_unique('joint', [joint.name for joint in model.joints])
    _check_tree(links, model.joints)
    mimics = _resolve_mimics(model.joints, warnings)
    turned = [j.name for j in model.joints if j.origin and max(map(abs, j.origin.rpy)) > FULL_TURN]
    if turned:
        warnings.append(f'rpy of more than a turn in the origin of {named(turned)}: {IN_DEGREES}')
    joints = [
        _joint(joint, rates.get(joint.name, Rates()), mimics.get(joint.name), warnings)
        for joint in model.joints
    ]
    warnings += _remarks(joints, free_joints)
    if floating_base:
        links, joints = carried_by_floating_base(links, joints)
        free_joints = (*free_joints, FLOATING_BASE)
    return Robot.from_joints(
        model.name,
        links,
        whole_balls(joints),
        warnings,
        free_joints=free_joints,
        inertials=inertials,
    )


def _check_unique(what: str, names: Iterable[str]) -> None:
    """Raise UrdfError if a name occurs twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            raise UrdfError(f'{what} {name!r} is defined twice: {what} names must be unique')
        seen.add(name)


def _check_tree(links: Sequence[str], joints: Sequence[parser.Joint]) -> None:
    """Raise UrdfError unless there is one root and every other link is the child of one joint."""
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
    """Express each mimic joint by the joint at the end of its chain of mimics.

    Mimics that can't be followed are left out, with a warning.
    """
    by_name = {joint.name: joint for joint in joints}
    obeyed: dict[str, parser.JointMimic] = {}
    ignored: dict[str, list[str]] = {}
    for joint in joints:
        if joint.mimic is None:
            continue
        problem = _mimic_problem(joint, by_name)
        if problem:
            ignored.setdefault(problem, []).append(joint.name)
        else:
            obeyed[joint.name] = joint.mimic
    for problem, names in ignored.items():
        who = f'joint {names[0]!r}: its mimic is'
        if len(names) > 1:
            who = f'{len(names)} joints ({named(map(repr, names))}): their mimics are'
        warnings.append(f'{who} ignored: {problem}')
    resolved: dict[str, Mimic] = {}
    for name in obeyed:
        _follow_mimics(name, obeyed, resolved)
    return resolved


def _mimic_problem(joint: parser.Joint, by_name: Mapping[str, parser.Joint]) -> str:
    """Return why a joint can't follow its mimic, or '' if it can."""
    driver = by_name.get(joint.mimic.joint)
    if driver is None:
        return f'joint {joint.mimic.joint!r} does not exist'
    if joint.type not in _MOVABLE:
        return f'a {joint.type} joint follows none'
    if driver.type not in _MOVABLE:
        return f'joint {driver.name!r} is {driver.type}'
    return ''


def _follow_mimics(
    first: str, mimics: Mapping[str, parser.JointMimic], resolved: dict[str, Mimic]
) -> None:
    """Resolve the mimic of joint `first`, and those between it and the end of the chain."""
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
        if not abs(multiplier) <= MAX_MULTIPLIER:
            raise UrdfError(
                f'joint {name!r}: multiplier {multiplier:g} is too large; '
                f'at most {MAX_MULTIPLIER:g} is allowed'
            )
        _check_size(f'joint {name!r}', 'offset', offset)
        resolved[name] = Mimic(end.joint, multiplier, offset)


def _joint(joint: parser.Joint, rates: Rates, mimic: Mimic | None, warnings: list[str]) -> Joint:
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
        acceleration=_rate(rates.acceleration),
        jerk=_rate(rates.jerk),
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
    """Lower and upper limit and velocity of a joint, infinite if not limited."""
    limit = joint.limit
    given = limit is not None and not {limit.lower, -limit.upper} <= {0.0, -math.inf}
    if joint.type not in _MOVABLE:
        if given:
            warnings.append(f'{where} is {joint.type}: its position limits are ignored')
        return -math.inf, math.inf, math.inf
    velocity = _rate(limit.velocity) if limit is not None and limit.velocity > 0 else math.inf
    if joint.type == 'continuous':
        if given:
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


def _rate(limit: float) -> float:
    """A limit of velocity, acceleration or jerk; inf if it is larger than MAX_NUMBER."""
    return limit if limit <= MAX_NUMBER else math.inf


def _check_size(where: str, what: str, number: float) -> None:
    if not abs(number) <= MAX_NUMBER:
        raise UrdfError(f'{where}: {what} {number:g} is too large; use metres and radians')


def _remarks(joints: Sequence[Joint], free_joints: Sequence[str]) -> list[str]:
    """Warnings about frozen joints, lengths in millimetres and missing velocity limits."""
    remarks = [
        f'joint {joint.name!r} is {joint.kind}: frozen at zero'
        for joint in joints
        if joint.kind in ('floating', 'planar') and joint.name not in free_joints
    ]
    remarks += _length_remark(joints)
    unlimited = [j.name for j in joints if j.kind in _MOVABLE and j.velocity == math.inf]
    if unlimited:
        remarks.append(f'no velocity limit: {", ".join(unlimited)}')
    return remarks


def _length_remark(joints: Sequence[Joint]) -> list[str]:
    """A warning if an arm, measured from its first joint, is longer than LONGEST_ARM."""
    below: dict[str, list[Joint]] = {}
    for joint in joints:
        below.setdefault(joint.parent, []).append(joint)
    children = {joint.child for joint in joints}
    waiting = [(link, 0.0, False) for link in below if link not in children]
    longest, end = 0.0, ''
    while waiting:
        link, length, is_moved = waiting.pop()
        if length > longest:
            longest, end = length, link
        for joint in below.get(link, ()):
            own = float(np.linalg.norm(joint.origin[:3, 3])) if is_moved else 0.0
            waiting.append((joint.child, length + own, is_moved or joint.kind in _MOVABLE))
    if longest <= LONGEST_ARM:
        return []
    return [
        f'link {end!r} is {longest:.4g} m from its first joint, along the arm: {IN_MILLIMETRES}'
    ]
