# SPDX-License-Identifier: Apache-2.0
"""Two scenes as URDF and SRDF, with goals at which arms want to be where something else is."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from itertools import combinations
from pathlib import Path

import numpy as np

from ik_core import load_urdf
from ik_core.maths.rotations import Array
from ik_core.shared_files import shared_file

MARGIN = 0.02  # [m] that everyone is asked to keep
SECONDS = 2.0  # from goal to goal
APART = 0.4  # [m] between the bases of two arms
TABLE = (0.5, 1.0, 0.04), (0.55, 0.0, 0.25)  # [m] size and centre


@dataclass(frozen=True)
class Scene:
    """Arms that must keep clear: of each other, or of a table.

    urdf, srdf : files; the SRDF disables all pairs of links but `pairs`, and groups the joints
    pairs : of links, that have to stay `margin` [m] apart
    goals : (G, T, 4, 4) poses of the tips in the root's frame, `seconds` each
    """

    name: str
    urdf: str
    srdf: str
    joints: list[str]
    tips: list[str]
    q0: list[float]
    speeds: list[float]
    pairs: list[tuple[str, str]]
    goals: list[list[list[list[float]]]]
    margin: float = MARGIN
    seconds: float = SECONDS

    def write(self, file: Path) -> None:
        """Write it as JSON, for workers."""
        file.write_text(json.dumps(asdict(self)), encoding='utf-8')


def two_arms(folder: Path, count: int) -> Scene:
    """Return two iiwa14 side by side: their tips are sent to the same place, or across."""
    root = _empty('two_iiwa14')
    sides = {'l': 0.5 * APART, 'r': -0.5 * APART}
    for side, y in sides.items():
        arm = _arm('iiwa14')
        for each in (
            *arm.iter('link'),
            *arm.iter('joint'),
            *arm.iter('parent'),
            *arm.iter('child'),
        ):
            for key in {'name', 'link'} & set(each.attrib):
                each.set(key, f'{side}_{each.get(key)}')
        root.extend(arm)
        _fix(root, f'{side}_iiwa_link_0', (0.0, y, 0.0))
    links = [[link for link in _solid_links(root) if link[0] == side] for side in sides]
    tips = [f'{side}_iiwa_link_ee' for side in sides]
    q0 = [0.0, 0.5, 0.0, -1.4, 0.0, 1.0, 0.0] * 2
    return _scene(folder, root, tips, q0, links, _crossing, count)


def at_table(folder: Path, count: int) -> Scene:
    """Return a panda in front of a table: its hand is sent into it, through it and below it."""
    root = _empty('panda_at_table')
    root.extend(_arm('panda'))
    _fix(root, 'panda_link0', (0.0, 0.0, 0.0))
    for joint in root.iter('joint'):
        if 'finger' in joint.get('name', ''):  # as peers have no mimic joints
            joint.set('type', 'fixed')
    arm = [link for link in _solid_links(root) if link != 'panda_link0']
    size, centre = (' '.join(map(str, each)) for each in TABLE)
    shape = f'<collision><geometry><box size="{size}"/></geometry></collision>'
    shape = f'<link name="table">{shape}</link>'
    root.append(ElementTree.fromstring(shape))
    _fix(root, 'table', centre)
    q0 = [0.0, -0.4, 0.0, -2.2, 0.0, 1.9, 0.78]
    return _scene(folder, root, ['panda_hand_tcp'], q0, [arm, ['table']], _through, count)


SCENES: dict[str, Callable[[Path, int], Scene]] = {
    'two iiwa14': two_arms,
    'panda at a table': at_table,
}


def _scene(
    folder: Path,
    root: ElementTree.Element,
    tips: list[str],
    q0: list[float],
    sides: list[list[str]],
    goals: Callable[[np.random.Generator], Array],
    count: int,
) -> Scene:
    """Write the files of a scene."""
    name, pairs = root.get('name', ''), [(one, other) for one in sides[0] for other in sides[1]]
    urdf, srdf = folder / f'{name}.urdf', folder / f'{name}.srdf'
    ElementTree.ElementTree(root).write(urdf, encoding='unicode')
    robot = load_urdf(urdf)
    joints = list(robot.joint_names)
    srdf.write_text(_srdf(name, joints, _solid_links(root), pairs), encoding='utf-8')
    rng, places = np.random.default_rng(51), []
    for _ in range(count):
        q = rng.uniform(np.maximum(robot.lower, -2.0), np.minimum(robot.upper, 2.0))
        poses = np.array([robot.forward_kinematics(q, tip) for tip in tips])
        poses[:, :3, 3] = goals(rng)
        places.append(poses.tolist())
    speeds = robot.velocity.tolist()
    return Scene(name, str(urdf), str(srdf), joints, tips, q0, speeds, pairs, places)


def _crossing(rng: np.random.Generator) -> Array:
    """Return places (2, 3) of two tips: the left one is sent to the right, up to 0.3 m across."""
    middle = rng.uniform((0.3, -0.1, 0.3), (0.65, 0.1, 0.8))
    across = np.array([0.0, rng.uniform(-0.05, 0.15), 0.0])
    return np.array([middle - across, middle + across])


def _through(rng: np.random.Generator) -> Array:
    """Return a place (1, 3) in a box around the table."""
    return rng.uniform((0.3, -0.5, 0.02), (0.75, 0.5, 0.5))[np.newaxis]


def _empty(name: str) -> ElementTree.Element:
    return ElementTree.fromstring(f'<robot name="{name}"><link name="root"/></robot>')


def _arm(name: str) -> ElementTree.Element:
    """Return a shipped arm as it collides."""
    arm = ElementTree.fromstring(shared_file(f'urdf/{name}.urdf').read_text('utf-8'))
    for element in list(arm):
        if element.tag not in ('link', 'joint'):
            arm.remove(element)
        for part in element.findall('visual') + element.findall('mimic'):
            element.remove(part)
    return arm


def _fix(root: ElementTree.Element, link: str, place: Iterable[float] | str) -> None:
    """Fix a link to the root link."""
    xyz = place if isinstance(place, str) else ' '.join(map(str, place))
    joint = f'<joint name="fix_{link}" type="fixed"><origin xyz="{xyz}"/>'
    joint += f'<parent link="root"/><child link="{link}"/></joint>'
    root.append(ElementTree.fromstring(joint))


def _solid_links(root: ElementTree.Element) -> list[str]:
    return [
        link.get('name', '') for link in root.iter('link') if link.find('collision') is not None
    ]


def _srdf(name: str, joints: list[str], links: list[str], pairs: list[tuple[str, str]]) -> str:
    kept = {frozenset(pair) for pair in pairs}
    lines = [f'<robot name="{name}">', '<group name="arms">']
    lines += [f'<joint name="{joint}"/>' for joint in joints] + ['</group>']
    lines += [
        f'<disable_collisions link1="{first}" link2="{second}" reason="Never"/>'
        for first, second in combinations(links, 2)
        if frozenset((first, second)) not in kept
    ]
    return '\n'.join([*lines, '</robot>'])
