# SPDX-License-Identifier: Apache-2.0
"""Joint limits beyond those of `<limit>`: soft limits, and joint_limits.yaml.

`narrow` writes them into the `<limit>` elements of the tree that `urdf_filter` makes, so that all
readers of the tree see the limits in use. A limit can only become tighter.

joint_limits.yaml is the file of MoveIt and of ros2_control:

    joint_limits:
      joint1:
        has_acceleration_limits: true
        max_acceleration: 3.5       # [rad/s^2 or m/s^2]
        has_jerk_limits: true
        max_jerk: 100.0

Keys above `joint_limits` are skipped, such as `/**: ros__parameters:`. A limit is used if it is
given, unless its `has_...` is false. `!degrees 90` is read, as Universal Robots write it.
"""

from __future__ import annotations

import difflib
import math
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple
from xml.etree import ElementTree

from ..display import named
from ..exceptions import InvalidOption, UrdfError
from ..options import exact_number
from ..yaml_files import construct, read_yaml

MAX_LEVELS = 5  # of keys above `joint_limits` in a file
MOVABLE = ('revolute', 'continuous', 'prismatic')

# the path of a joint_limits.yaml, or its content: limits by joint name
JointLimitsSource = str | os.PathLike[str] | Mapping[str, Mapping[str, Any]]

RATES = ('velocity', 'acceleration', 'deceleration', 'jerk')
_KEYS = {
    'position': ('min_position', 'max_position'),
    **{rate: (f'max_{rate}',) for rate in RATES},
    'soft': ('soft_lower_limit', 'soft_upper_limit'),
}
# keys of these files that limit no motion
_NOT_USED = (
    'has_effort_limits',
    'max_effort',
    'k_position',
    'k_velocity',
    'angle_wraparound',
)


class Rates(NamedTuple):
    """Limits of a joint that `urdf_parser_py` does not know [per s^2, per s^3]; inf for none."""

    acceleration: float = math.inf
    jerk: float = math.inf


def narrow(
    tree: ElementTree.Element,
    soft_limits: bool = True,
    joint_limits: JointLimitsSource | None = None,
) -> list[str]:
    """Write soft limits and `joint_limits` into the limits of a tree; return warnings.

    Raises UrdfError for a file or a mapping that is not a joint_limits.yaml.
    """
    remarks = _narrow_softly(tree, soft_limits)
    if joint_limits is not None:
        remarks += _narrow_by_file(tree, joint_limits, soft_limits)
    return remarks


def pop_rates(tree: ElementTree.Element) -> tuple[dict[str, Rates], list[str]]:
    """Remove limits of acceleration and jerk from the tree; return them by joint, and warnings.

    The smaller one of acceleration and deceleration limits both.
    """
    rates, remarks = {}, []
    for joint in tree.iterfind('joint'):
        limit = joint.find('limit')
        if limit is None:
            continue
        values = {}
        for name in RATES[1:]:
            text = limit.attrib.pop(name, 'inf')
            values[name] = float(text)
            if values[name] <= 0.0:
                remarks.append(f'joint {joint.get("name")!r}: {name} {text} is no limit')
                values[name] = math.inf
        acceleration = min(values['acceleration'], values['deceleration'])
        rates[joint.get('name', '')] = Rates(acceleration, values['jerk'])
    return rates, remarks


# --- soft limits -------------------------------------------------------------------------------


def _narrow_softly(tree: ElementTree.Element, counts: bool) -> list[str]:
    """Narrow position limits to those of `<safety_controller>`; return warnings.

    The elements are removed, and have no other effect if not `counts`.
    """
    narrowed, missing, remarks = [], [], []
    for joint in tree.iterfind('joint'):
        safety, limit = joint.find('safety_controller'), joint.find('limit')
        if safety is None:
            continue
        joint.remove(safety)
        name, kind = joint.get('name', ''), joint.get('type')
        given = [safety.get(key) for key in _KEYS['soft']]
        if not counts or kind not in MOVABLE or (kind == 'continuous' and None in given):
            continue
        low, high = (_number(text) for text in given)
        if None in given or low == high == 0.0:  # parsers write 0 for missing limits
            missing.append(name)
        elif low is None or high is None:
            remarks.append(f'joint {name!r}: soft limits {given[0]} and {given[1]} are no numbers')
        elif kind == 'continuous':
            if low < high:
                remarks.append(f'joint {name!r} is continuous: its soft limits are ignored')
        elif limit is not None:
            said = _soft(joint, limit, low, high)
            narrowed += [name] if said is None else []
            remarks += [said] if said else []
    if narrowed:
        remarks.append(
            f'soft limits count, which are narrower than lower and upper: {named(narrowed)}'
        )
    if missing:
        remarks.append(
            'soft limits are ignored, of which one is missing or both are 0: ' + named(missing)
        )
    return remarks


def _soft(
    joint: ElementTree.Element, limit: ElementTree.Element, low: float, high: float
) -> str | None:
    """Narrow a joint's limits to its soft limits. Return None if they became narrower, else a
    warning, or '' if there is nothing to warn of."""
    where = f'joint {joint.get("name")!r}'
    lower, upper = _range(limit)
    if not low < high:
        return f'{where}: soft limits {low:g} and {high:g} leave no range: they are ignored'
    if low > upper or high < lower:
        return (
            f'{where}: soft limits {low:g} and {high:g} are outside lower {lower:g} and upper '
            f'{upper:g}: they are ignored'
        )
    if low <= lower and high >= upper:
        outside = low < lower or high > upper
        return f'{where}: soft limits are outside lower and upper, which count' if outside else ''
    _set_range(limit, max(low, lower), min(high, upper))
    return None


# --- joint_limits.yaml -------------------------------------------------------------------------


def _narrow_by_file(
    tree: ElementTree.Element, source: JointLimitsSource, soft_limits: bool
) -> list[str]:
    """Tighten the limits of joints by those of a file or a mapping; return warnings."""
    where, content = _content(source)
    joints = {joint.get('name', ''): joint for joint in tree.iterfind('joint')}
    remarks, unknown = [], []
    for name, given in content.items():
        if name not in joints:
            unknown.append(str(name))
            continue
        values, odd = _values(f'{where}: joint {name!r}', given)
        remarks += [f'{where}: joint {name!r}: {text}' for text in odd]
        if not soft_limits:
            values = {k: v for k, v in values.items() if k not in _KEYS['soft']}
        if values:
            remarks += _tighten(joints[name], values, f'{where}: joint {name!r}')
    if unknown:
        close = difflib.get_close_matches(unknown[0], joints, n=1)
        hint = f' (did you mean {close[0]!r}?)' if close else ''
        remarks.append(f'{where}: the robot has no joint {named(map(repr, unknown))}{hint}')
    return remarks


def _content(source: JointLimitsSource) -> tuple[str, Mapping[Any, Any]]:
    """The name of the source for messages, and the limits of joints by name."""
    if isinstance(source, Mapping):
        return 'joint_limits', source
    path = Path(source).expanduser()
    try:
        loader, root = read_yaml(path, 'the joint limits')
        found = [] if root is None else list(_found(root, MAX_LEVELS))
        if len(found) != 1:
            count = 'no' if not found else f'{len(found)} times'
            raise InvalidOption(
                f'{path}: {count} joint_limits by name, as in joint_limits: {{joint1: '
                '{has_acceleration_limits: true, max_acceleration: 3.0}}'
            )
        content = construct(path, loader, found[0])
    except InvalidOption as error:
        raise UrdfError(str(error)) from None
    return str(path), content or {}


def _found(node: Any, levels: int) -> Iterator[Any]:
    """Yield the outermost mappings under a key `joint_limits`."""
    if node.id != 'mapping' or levels == 0:
        return
    for key, value in node.value:
        if key.value == 'joint_limits' and value.id == 'mapping':
            yield value
        else:
            yield from _found(value, levels - 1)


def _values(where: str, given: Any) -> tuple[dict[str, float], list[str]]:
    """The limits in use of a joint's entry, by key, and warnings. Raises UrdfError."""
    if given is None:
        return {}, []
    if not isinstance(given, Mapping):
        raise UrdfError(f'{where} is {given!r}: limits are needed, as in max_velocity: 1.0')
    has_keys = [f'has_{what}_limits' for what in _KEYS]
    known = [*has_keys, *(key for keys in _KEYS.values() for key in keys), *_NOT_USED]
    remarks = []
    for key in given:
        if key not in known:
            close = difflib.get_close_matches(str(key), known, n=1)
            hint = f' (did you mean {close[0]}?)' if close else ''
            remarks.append(f'{key} is unknown{hint}')
    values: dict[str, float] = {}
    for what, keys in _KEYS.items():
        has = given.get(f'has_{what}_limits')
        if not (has is None or isinstance(has, bool)):
            raise UrdfError(f'{where}: has_{what}_limits is {has!r}: true or false is needed')
        if has is False:
            continue
        for key in keys:
            if key in given:
                values[key] = _checked(f'{where}: {key}', given[key], what in RATES)
            elif has:
                raise UrdfError(f'{where}: has_{what}_limits is true, but {key} is missing')
    return values, remarks


def _checked(where: str, given: Any, positive: bool) -> float:
    """A number, positive if required. Raises UrdfError."""
    number = _number(given) if isinstance(given, str) else exact_number(given, float)
    if number is None or math.isnan(number):
        raise UrdfError(f'{where} is {given!r}: a number is needed')
    if positive and number <= 0.0:
        raise UrdfError(f'{where} is {number:g}: it must be positive, or its has_... be false')
    return number


def _tighten(joint: ElementTree.Element, values: Mapping[str, float], where: str) -> list[str]:
    """Tighten the limits of one joint; return warnings."""
    kind, remarks = joint.get('type', ''), []
    if kind not in MOVABLE:
        return [f'{where} is {kind}: its limits are ignored']
    limit = joint.find('limit')
    if limit is None:  # of a continuous joint
        limit = ElementTree.SubElement(
            joint, 'limit', lower='0', upper='0', velocity='0', effort='0'
        )
    for rate in RATES:
        new = values.get(f'max_{rate}', math.inf)
        old = float(limit.get(rate, 'inf'))
        old = old if old > 0.0 else math.inf
        if new < old:
            limit.set(rate, repr(new))
        elif old < new < math.inf:
            remarks.append(f'{where}: max_{rate} {new:g} is above {old:g}, which counts')
    if 'min_position' in values or 'max_position' in values:
        remarks += _narrow_positions(joint, limit, values, where)
    soft = [values.get(key) for key in _KEYS['soft']]
    if soft[0] is not None and soft[1] is not None and kind != 'continuous':
        said = _soft(joint, limit, soft[0], soft[1])
        remarks += [said] if said else []
    elif soft != [None, None]:
        remarks.append(f'{where}: its soft limits are ignored')
    return remarks


def _narrow_positions(
    joint: ElementTree.Element,
    limit: ElementTree.Element,
    values: Mapping[str, float],
    where: str,
) -> list[str]:
    """Intersect the position limits of a joint; return warnings. Raises UrdfError."""
    low, high = values.get('min_position', -math.inf), values.get('max_position', math.inf)
    if low > high:
        raise UrdfError(f'{where}: min_position {low:g} is above max_position {high:g}')
    if joint.get('type') == 'continuous':
        return [f'{where} is continuous: its position limits are ignored']
    lower, upper = _range(limit)
    if low > upper or high < lower:
        raise UrdfError(
            f'{where}: positions from {low:g} to {high:g} are outside lower {lower:g} and upper '
            f'{upper:g} of the description'
        )
    _set_range(limit, max(low, lower), min(high, upper))
    return []


def _range(limit: ElementTree.Element) -> tuple[float, float]:
    return float(limit.get('lower', '0')), float(limit.get('upper', '0'))


def _set_range(limit: ElementTree.Element, lower: float, upper: float) -> None:
    limit.set('lower', repr(lower))
    limit.set('upper', repr(upper))


def _number(text: str | None) -> float | None:
    """The number of a text; None if it is not one."""
    try:
        number = math.nan if text is None else float(text)
    except ValueError:
        return None
    return None if math.isnan(number) else number
