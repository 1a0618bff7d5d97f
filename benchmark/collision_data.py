# SPDX-License-Identifier: Apache-2.0
"""Readers of published problems and robots, for `ik bench collisions --data FOLDER`.

    FOLDER/panda, FOLDER/ur5           `resources/panda` and `resources/ur5` of VAMP [Vamp]
    FOLDER/ur_description, FOLDER/g1   those of `content/assets/robot` of cuRobo [Curobo]

These files are not trusted: pickles are read by an unpickler that makes numbers, text, lists,
tuples and dictionaries only.

[Vamp] https://github.com/KavrakiLab/vamp: MotionBenchMaker's problems, as YAML in
`problems.tar.bz2`, or converted by its scripts, in `problems.pkl`.
[Curobo] https://github.com/NVlabs/curobo
"""

from __future__ import annotations

import pickle
import re
import tarfile
from collections import defaultdict
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

import ik_core as ik
from ik_core.collision import Box, Cylinder, Sphere, World
from ik_core.collision.shapes import Shape
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array
from ik_core.solvers import SolverName


class Arms(NamedTuple):
    """A published robot.

    file : its URDF
    links : links whose poses are goals
    folders : folders with meshes
    srdf : SRDF file of VAMP, or SRDF text with pairs of neighbours that always touch
    solver : the solver for its problems
    """

    file: str
    links: tuple[str, ...]
    folders: tuple[str, ...] = ()
    srdf: str | None = None
    solver: SolverName = 'levenberg_marquardt'


VAMP = {
    'panda': Arms('panda/panda.urdf', ('panda_hand',), ('panda',), 'panda/panda.srdf'),
    'ur5': Arms('ur5/ur5.urdf', ('ee_link',), ('ur5',), 'ur5/ur5.srdf', 'closed_form'),
}
# Of the G1: the meshes of both links are 2e-8 m deep in one another at every angle.
TOUCHING_WRIST = (
    '<robot name="g1"><disable_collisions link1="left_elbow_link" link2="left_wrist_roll_link" '
    'reason="Adjacent"/></robot>'
)
PEERS = {
    'two_ur10e': Arms('ur_description/dual_ur10e.urdf', ('tool0', 'tool1')),
    'g1': Arms(
        'g1/g1_29dof_rev_1_0.urdf',
        ('left_rubber_hand', 'right_rubber_hand'),
        srdf=TOUCHING_WRIST,
    ),
}


class Problem(NamedTuple):
    """Obstacles, and the start and goal positions of joints [rad or m], by name."""

    world: World
    start: dict[str, float]
    goal: dict[str, float]


def read_problems(folder: Path) -> dict[str, list[Problem]]:
    """Return the problems in a robot's folder, by scene.

    Raises InvalidOption, which names the file.
    """
    packed, pickled = folder / 'problems.tar.bz2', folder / 'problems.pkl'
    if not packed.is_file() and not pickled.is_file():
        raise InvalidOption(f'{folder}: there is no problems.tar.bz2 and no problems.pkl')
    file = packed if packed.is_file() else pickled
    try:
        return _of_archive(packed) if file is packed else _of_pickle(pickled)
    except Exception as error:  # a pickle or an archive from anybody: whatever is wrong in it
        raise InvalidOption(f'{file}: {type(error).__name__}: {error}') from error


class PlainUnpickler(pickle.Unpickler):
    """An unpickler of numbers, text, lists, tuples and dictionaries; it refuses other names."""

    def find_class(self, module: str, name: str) -> NoReturn:
        """Raise UnpicklingError, since nothing may be imported."""
        raise pickle.UnpicklingError(f'{module}.{name} is refused: numbers, lists, dicts only')


def _of_pickle(path: Path) -> dict[str, list[Problem]]:
    """Read VAMP's format: a list of shapes of each kind, positions in the order of `joints`."""
    with path.open('rb') as file:
        content = PlainUnpickler(file).load()
    joints = content['joints']
    found = {}
    for scene, entries in content['problems'].items():
        ordered = sorted(entries, key=lambda entry: entry['index'])
        found[scene] = [
            Problem(
                _world(list(_shapes_of_pickle(entry))),
                dict(zip(joints, entry['start'], strict=True)),
                dict(zip(joints, entry['goals'][0], strict=True)),
            )
            for entry in ordered
        ]
    return found


def _shapes_of_pickle(entry: dict[str, Any]) -> Any:
    for kind in ('box', 'cylinder', 'sphere'):
        for each in entry.get(kind, ()):
            pose = ik.transform(
                position=each['position'], quaternion=each['orientation_quat_xyzw']
            )
            if kind == 'box':
                yield Box(tuple(2.0 * half for half in each['half_extents'])), pose
            elif kind == 'cylinder':
                yield Cylinder(each['radius'], each['length']), pose
            else:
                yield Sphere(each['radius']), pose


def _of_archive(path: Path) -> dict[str, list[Problem]]:
    """Read MoveIt's messages as YAML: scene0001.yaml, request0001.yaml, ... of each scene."""
    import yaml  # type: ignore[import-untyped]

    loader = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    robot = path.parent.name
    halves: dict[str, dict[int, dict[str, Any]]] = defaultdict(lambda: defaultdict(dict))
    with tarfile.open(path, 'r:bz2') as archive:
        for member in archive:
            match = re.fullmatch(r'.*?([^/]+)/(scene|request)(\d+)\.yaml', member.name)
            file = archive.extractfile(member) if match and member.isfile() else None
            if match and file:
                scene = match[1].removesuffix(f'_{robot}')
                halves[scene][int(match[3])][match[2]] = yaml.load(file.read(), loader)
    return {
        scene: [_problem_of(both['scene'], both['request']) for _, both in sorted(each.items())]
        for scene, each in sorted(halves.items())
    }


def _problem_of(scene: dict[str, Any], request: dict[str, Any]) -> Problem:
    shapes = []
    for entry in scene['world']['collision_objects']:
        base = _pose(entry['pose']) if 'pose' in entry else ik.transform()
        for solid, place in zip(entry['primitives'], entry['primitive_poses'], strict=True):
            shapes.append((_shape(solid), base @ _pose(place)))
    state = request['start_state']['joint_state']
    goal = request['goal_constraints'][0]['joint_constraints']
    return Problem(
        _world(shapes),
        dict(zip(state['name'], state['position'], strict=True)),
        {each['joint_name']: each['position'] for each in goal},
    )


def _pose(entry: dict[str, Any]) -> Array:
    return ik.transform(position=entry['position'], quaternion=entry['orientation'])


def _shape(solid: dict[str, Any]) -> Shape:
    sizes = solid['dimensions']
    match solid['type']:
        case 'box':
            return Box((sizes[0], sizes[1], sizes[2]))
        case 'cylinder':
            return Cylinder(sizes[1], sizes[0])
        case 'sphere':
            return Sphere(sizes[0])
    raise InvalidOption(f'unknown shape {solid["type"]!r}')


def _world(shapes: list[tuple[Shape, Array]]) -> World:
    world = World()
    for number, (shape, pose) in enumerate(shapes):
        world.add(f'object_{number}', shape, pose)
    return world
