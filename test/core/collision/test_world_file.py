# SPDX-License-Identifier: Apache-2.0
"""Worlds in YAML files."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import (
    Box,
    Capsule,
    Convex,
    Cylinder,
    Plane,
    Sphere,
    load_world,
)

WORLD = """
floor: {plane: true}
table: {box: [1.0, 0.6, 0.05], xyz: [0.6, 0.0, 0.4], rpy: [0.0, 0.0, 0.5]}
can: {cylinder: [0.04, 0.12], xyz: [0.5, 0.1, 0.485]}
ball: {sphere: 0.1, quaternion: [0, 0, 1, 0]}
tool: {capsule: [0.01, 0.1], link: hand, touching: [finger]}
wedge: {convex: [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]]}
"""


def test_a_file_has_all_shapes_poses_and_what_carries_them(tmp_path: Path) -> None:
    (tmp_path / 'world.yaml').write_text(WORLD)
    world = load_world(tmp_path / 'world.yaml')
    assert [obstacle.name for obstacle in world] == [
        'floor',
        'table',
        'can',
        'ball',
        'tool',
        'wedge',
    ]
    assert world['floor'].shape == Plane()
    assert world['table'].shape == Box((1.0, 0.6, 0.05))
    expected = ik.transform(position=(0.6, 0.0, 0.4), rpy=(0.0, 0.0, 0.5))
    np.testing.assert_array_equal(world['table'].pose, expected)
    assert world['can'].shape == Cylinder(0.04, 0.12)
    assert world['ball'].shape == Sphere(0.1)
    np.testing.assert_allclose(world['ball'].pose, np.diag([-1.0, -1.0, 1.0, 1.0]))
    assert world['tool'].shape == Capsule(0.01, 0.1)
    assert (world['tool'].link, world['tool'].touching) == ('hand', ('finger',))
    assert isinstance(world['wedge'].shape, Convex)
    (tmp_path / 'empty.yaml').write_text('')
    assert len(load_world(tmp_path / 'empty.yaml')) == 0


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('- 1', 'obstacles by name are needed'),
        ('a: 3', "'a': 3: a shape and its place are needed"),
        ('a: {}', 'one shape is needed'),
        ('a: {box: [1, 1, 1], sphere: 1}', 'there are 2'),
        ('a: {box: [1, 2]}', 'three lengths are needed'),
        ('a: {cylinder: 3}', 'a radius and a length are needed'),
        ('a: {sphere: -1}', 'Sphere: radius = -1'),
        ('a: {sphere: .nan}', 'radius = nan'),
        ('a: {sphere: big}', "radius = 'big'"),
        ('a: {sphere: 1, xyz: [1, 2]}', 'position'),
        ('a: {sphere: 1, xyz: [1, 2, .inf]}', 'position'),
        ('a: {sphere: 1, rpy: [0, 0, 0], quaternion: [0, 0, 0, 1]}', 'orientation'),
        ('a: {sphere: 1, size: 2}', "unknown 'size'"),
        ('a: {plane: 3}', 'true is needed'),
        ('a: {plane: true, link: hand}', 'a link can not carry a Plane'),
        ('a: {sphere: 1, touching: [b]}', 'touching goes with a link'),
        ('a: {sphere: 1, link: hand, touching: b}', 'a list of links is needed'),
        ('a: {convex: [[1, 2]]}', 'points have shape'),
        ('a: [', 'not YAML'),
        ('\x00', 'not YAML'),
        ('a: !!python/object/apply:os.system ["true"]', 'not YAML'),
    ],
)
def test_a_file_that_is_no_world_is_refused_with_its_name(
    tmp_path: Path, text: str, said: str
) -> None:
    path = tmp_path / 'world.yaml'
    path.write_text(text)
    with pytest.raises(ik.InvalidOption) as caught:
        load_world(path)
    assert said in str(caught.value)
    assert str(path) in str(caught.value)


def test_a_file_that_can_not_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ik.InvalidOption, match="can't read the world"):
        load_world(tmp_path / 'none.yaml')
    with pytest.raises(ik.InvalidOption, match="can't read the world"):
        load_world(tmp_path)


@pytest.mark.parametrize(
    ('text', 'match'),
    [
        ('a: {sphere: 1}\n\nb: {sphere: .nan}', "line 3: 'b': Sphere: radius = nan"),
        ('a: {sphere: 1}\na: {sphere: 2}', "line 2: 'a' is there twice"),
        ('a: &a {sphere: 1}\nb: *a', 'aliases .* are not allowed'),
        ('a: [&a [x, x], &b [*a, *a], *b]', 'aliases .* are not allowed'),
        ('a: &a {sphere: *a}', 'aliases .* are not allowed'),
        ('a: {sphere: 1, link: hand, touching: 3}', "line 1: 'a': touching = 3"),
    ],
)
def test_errors_name_the_line(tmp_path, text, match):
    file = tmp_path / 'world.yaml'
    file.write_text(text)
    with pytest.raises(ik.InvalidOption, match=rf'^{file}, line [123]: '):
        load_world(file)
    with pytest.raises(ik.InvalidOption, match=match):
        load_world(file)


def test_a_file_with_too_many_entries_is_refused_before_they_fill_the_memory(
    tmp_path: Path,
) -> None:
    path = tmp_path / 'world.yaml'
    path.write_text(f'wedge: {{convex: [{"[0,0,0]," * 1_000_000}]}}')
    with pytest.raises(ik.exceptions.InvalidOption, match='more than 500,000 entries'):
        load_world(path)
