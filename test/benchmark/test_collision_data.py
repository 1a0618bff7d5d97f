# SPDX-License-Identifier: Apache-2.0
"""Tests of `ik bench collisions --data`: pickles may contain only plain values."""

import builtins
import io
import os
import pickle
import tarfile

import numpy as np
import pytest

from benchmark.collision_data import PlainUnpickler, read_problems
from ik_core.collision import Box, Cylinder, Sphere
from ik_core.exceptions import InvalidOption

QUARTER = [0.0, 0.0, 0.5**0.5, 0.5**0.5]
PLAIN = {'a': [1, 2.5, -1e300, True, None], 'b': ({'c': 'text'}, [])}


class Calls:
    """Pickled as the call of a function."""

    def __init__(self, function, *arguments):
        self.call = function, arguments

    def __reduce__(self):
        return self.call


def shape(**sizes):
    return {'position': [1.0, 2.0, 3.0], 'orientation_quat_xyzw': QUARTER, **sizes}


@pytest.mark.parametrize('protocol', range(pickle.HIGHEST_PROTOCOL + 1))
def test_plain_values_are_read(protocol):
    assert PlainUnpickler(io.BytesIO(pickle.dumps(PLAIN, protocol))).load() == PLAIN


@pytest.mark.parametrize('protocol', range(pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize(
    'value',
    [
        Calls(os.system, 'false'),
        Calls(builtins.eval, '1 + 1'),
        Calls(builtins.getattr, 'text', 'upper'),
        builtins.exec,
        np.zeros(3),
        np.float64(1.0),
        {1, 2},
    ],
    ids=['os.system', 'eval', 'getattr', 'exec', 'array', 'numpy number', 'set'],
)
def test_all_else_is_refused(tmp_path, value, protocol):
    data = pickle.dumps({'problems': [value]}, protocol)
    if isinstance(value, set) and protocol >= 4:
        return  # an opcode of its own, which makes a set and calls nothing
    with pytest.raises(pickle.UnpicklingError, match='refused'):
        PlainUnpickler(io.BytesIO(data)).load()
    (tmp_path / 'problems.pkl').write_bytes(data)
    with pytest.raises(InvalidOption, match=r'problems\.pkl.*refused'):
        read_problems(tmp_path)


def test_problems_of_a_pickle(tmp_path):
    entries = [
        {
            'index': index,
            'box': [shape(half_extents=[0.1, 0.2, 0.3])],
            'cylinder': [shape(radius=0.4, length=0.5)],
            'sphere': [shape(radius=0.6)],
            'start': [0.0, 0.0],
            'goals': [[0.1 * index, 0.2]],
            'valid': True,
        }
        for index in (2, 1)
    ]
    content = {'robot': 'arm', 'joints': ['one', 'two'], 'problems': {'box': entries}}
    (tmp_path / 'problems.pkl').write_bytes(pickle.dumps(content))
    first, second = read_problems(tmp_path)['box']
    assert (first.goal, second.goal) == ({'one': 0.1, 'two': 0.2}, {'one': 0.2, 'two': 0.2})
    shapes = [each.shape for each in first.world]
    assert shapes == [Box((0.2, 0.4, 0.6)), Cylinder(0.4, 0.5), Sphere(0.6)]
    pose = [[0, -1, 0, 1], [1, 0, 0, 2], [0, 0, 1, 3], [0, 0, 0, 1]]
    for each in first.world:
        np.testing.assert_allclose(each.pose, pose, atol=1e-15)


SCENE = """
world:
  collision_objects:
    - id: can
      pose: {position: [1, 0, 0], orientation: [0, 0, 0.7071067811865476, 0.7071067811865476]}
      primitives: [{type: cylinder, dimensions: [0.14, 0.03]}]
      primitive_poses: [{position: [0, 1, 0], orientation: [0, 0, 0, 1]}]
"""
REQUEST = """
start_state: {joint_state: {name: [one, two], position: [0.5, 0.25]}}
goal_constraints: [{joint_constraints: [{joint_name: two, position: 2}]}]
"""


def packed(folder, **files):
    folder.mkdir()
    with tarfile.open(folder / 'problems.tar.bz2', 'w:bz2') as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(f'problems/box_arm/{name}.yaml')
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return folder


def test_problems_of_an_archive(tmp_path):
    (problem,) = read_problems(packed(tmp_path / 'arm', scene0001=SCENE, request0001=REQUEST))[
        'box'
    ]
    (can,) = problem.world
    assert can.shape == Cylinder(0.03, 0.14)
    np.testing.assert_allclose(can.pose[:3, 3], 0.0, atol=1e-12)  # (1, 0, 0) + R (0, 1, 0)
    assert (problem.start, problem.goal) == ({'one': 0.5, 'two': 0.25}, {'two': 2})


@pytest.mark.parametrize(
    'scene',
    ['!!python/object/apply:os.system [false]', '[', 'world: 1', SCENE.replace('0.03', '-1')],
)
def test_a_bad_archive_is_named(tmp_path, scene):
    folder = packed(tmp_path / 'arm', scene0001=scene, request0001=REQUEST)
    with pytest.raises(InvalidOption, match=r'problems\.tar\.bz2'):
        read_problems(folder)


def test_a_folder_without_problems(tmp_path):
    with pytest.raises(InvalidOption, match='there is no'):
        read_problems(tmp_path)
