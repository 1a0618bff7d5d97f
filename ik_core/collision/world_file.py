# SPDX-License-Identifier: Apache-2.0
"""Worlds in YAML files: obstacles by name, each a shape and its pose.

    floor: {plane: true}
    table: {box: [1.0, 0.6, 0.05], xyz: [0.6, 0.0, 0.4]}
    can: {cylinder: [0.04, 0.12], xyz: [0.5, 0.1, 0.485], rpy: [0, 0, 0.3]}
    ball: {sphere: 0.1, xyz: [0.2, 0.4, 0.7]}
    tool: {capsule: [0.01, 0.1], link: panda_hand, touching: [panda_leftfinger]}

`box`: size along x, y and z. `cylinder`, `capsule`: radius, and length along z. `sphere`: radius.
`convex`: points. `plane`: the half space below the xy-plane of its frame. All in metres. `xyz` [m]
and `rpy` [rad] or `quaternion` (x, y, z, w) are in the root link's frame; for an obstacle that a
`link` carries, in that link's frame.
"""

from __future__ import annotations

from os import PathLike
from pathlib import Path
from typing import Any

from ..display import listed
from ..exceptions import IkError, InvalidOption
from ..maths.transforms import transform
from ..yaml_files import construct, read_yaml
from .shapes import Box, Capsule, Convex, Cylinder, Plane, Shape, Sphere
from .world import World

SHAPES = 'box', 'sphere', 'cylinder', 'capsule', 'plane', 'convex'
PLACES = 'xyz', 'rpy', 'quaternion'
CARRIED = 'link', 'touching'


def load_world(path: str | PathLike[str]) -> World:
    """Load a world from a YAML file, in the format of this module.

    Raises InvalidOption, which names the file, the line and the obstacle.
    """
    world = World()
    for name, (line, entry) in _read(Path(path)).items():
        try:
            _add(world, name, entry)
        except IkError as error:
            text = str(error).removeprefix(f'{name!r}: ')
            raise InvalidOption(f'{path}, line {line}: {name!r}: {text}') from None
    return world


def _read(path: Path) -> dict[str, tuple[int, Any]]:
    """The obstacles of a file by name: line number and content of each."""
    loader, root = read_yaml(path, 'the world')
    if root is None:
        return {}
    if root.id != 'mapping':
        raise InvalidOption(f'{path}: obstacles by name are needed, as in ball: {{sphere: 0.1}}')
    return {
        str(key.value): (key.start_mark.line + 1, construct(path, loader, value))
        for key, value in root.value
    }


def _add(world: World, name: str, entry: Any) -> None:
    """Add an obstacle to the world. Raises InvalidOption, InvalidGoal."""
    known = *SHAPES, *PLACES, *CARRIED
    if not isinstance(entry, dict) or not all(isinstance(key, str) for key in entry):
        raise InvalidOption(f'{entry!r}: a shape and its place are needed, as in {{sphere: 0.1}}')
    unknown = [key for key in entry if key not in known]
    if unknown:
        raise InvalidOption(f'unknown {listed(map(repr, unknown))}; there are {listed(known)}')
    kinds = [kind for kind in SHAPES if kind in entry]
    if len(kinds) != 1:
        raise InvalidOption(f'one shape is needed, a {listed(SHAPES)}; there are {len(kinds)}')
    shape = _shape(kinds[0], entry[kinds[0]])
    pose = transform(
        position=entry.get('xyz'), rpy=entry.get('rpy'), quaternion=entry.get('quaternion')
    )
    link = entry.get('link')
    if link is None:
        if 'touching' in entry:
            raise InvalidOption('touching goes with a link that carries it')
        world.add(name, shape, pose)
    else:
        world.attach(name, shape, str(link), pose, entry.get('touching', ()))


def _shape(kind: str, value: Any) -> Shape:
    """Make a shape from its value in YAML; the world checks its numbers. Raises InvalidOption."""
    if kind == 'plane':
        if value is not True:
            raise InvalidOption(f'plane: {value!r}; true is needed')
        return Plane()
    if kind == 'sphere':
        return Sphere(value)
    if kind == 'convex':
        return Convex(value)
    count = 3 if kind == 'box' else 2
    if not isinstance(value, list) or len(value) != count:
        what = 'three lengths' if kind == 'box' else 'a radius and a length'
        raise InvalidOption(f'{kind}: {value!r}; {what} are needed')
    if kind == 'box':
        return Box((value[0], value[1], value[2]))
    return Cylinder(value[0], value[1]) if kind == 'cylinder' else Capsule(value[0], value[1])
