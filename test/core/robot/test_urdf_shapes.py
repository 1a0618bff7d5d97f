# SPDX-License-Identifier: Apache-2.0
"""Collision and visual elements of a URDF: all geometries, and hostile text is refused."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots

from ik_core.exceptions import UrdfError
from ik_core.robot import urdf_shapes
from ik_core.robot.urdf_shapes import Box, Capsule, Cylinder, MeshName, Sphere, read_shapes

HEAD = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
<axis xyz="0 0 1"/></joint><link name="tip">"""


def read(*elements, geometry='visual'):
    return read_shapes(f'{HEAD}{"".join(elements)}</link></robot>', ('base', 'tip'), geometry)


def visual(geometry, rest=''):
    return f'<visual>{rest}<geometry>{geometry}</geometry></visual>'


@pytest.mark.parametrize(
    ('element', 'solid'),
    [
        ('<box size="1 2 3"/>', Box((1.0, 2.0, 3.0))),
        ('<cylinder radius="0.1" length="2"/>', Cylinder(0.1, 2.0)),
        ('<capsule radius="0.1" length="2"/>', Capsule(0.1, 2.0)),
        ('<sphere radius="0.5"/>', Sphere(0.5)),
        ('<mesh filename="package://a/b.stl"/>', MeshName('package://a/b.stl', (1.0, 1.0, 1.0))),
        ('<mesh filename="b.stl" scale="1 2 -3"/>', MeshName('b.stl', (1.0, 2.0, -3.0))),
    ],
)
@pytest.mark.parametrize('geometry', ['visual', 'collision'])
def test_all_geometries_are_read(element, solid, geometry):
    element = visual(element).replace('visual', geometry)
    (found,), invalid = read(element, geometry=geometry)
    assert found.solid == solid
    assert found.link == 'tip'
    assert invalid == {}


def test_collision_elements_are_not_visuals_and_unknown_links_are_left_out():
    text = visual('<sphere radius="1"/>')
    assert read(text, geometry='collision') == ([], {})
    assert read_shapes(f'{HEAD}{text}</link></robot>', ('base',), 'visual') == ([], {})


def test_a_shape_is_where_its_origin_says():
    origin = '<origin xyz="1 2 3" rpy="0.1 -0.2 0.3"/>'
    (found,), _ = read(visual('<sphere radius="1"/>', origin))
    truth = robots.transform(Rotation.from_euler('xyz', [0.1, -0.2, 0.3]), (1, 2, 3))
    np.testing.assert_allclose(found.origin, truth, atol=1e-15)


@pytest.mark.parametrize(
    ('material', 'colour'),
    [
        ('<material name="blue"/>', (0, 0, 255)),
        ('<material name="own"><color rgba="1 0.5 0 1"/></material>', (255, 128, 0)),
        ('<material name="unknown"/>', None),
        ('<material name="x"><color rgba="nan 0 0 1"/></material>', None),
        ('<material name="x"><color rgba="9 -9 0 1"/></material>', (255, 0, 0)),
        ('', None),
    ],
)
def test_colours_are_those_of_the_material(material, colour):
    (found,), _ = read(visual('<sphere radius="1"/>', material))
    assert found.colour == colour


@pytest.mark.parametrize(
    'element',
    [
        '<visual/>',
        visual(''),
        visual('<torus/>'),
        visual('<box size="1 2"/>'),
        visual('<box size="1 2 nan"/>'),
        visual('<box/>'),
        visual('<sphere radius="inf"/>'),
        visual('<sphere radius="1e300"/>'),
        visual('<cylinder radius="a" length="1"/>'),
        visual('<mesh/>'),
        visual('<mesh filename="a&#10;b.stl"/>'),
        visual(f'<mesh filename="{"a" * 2000}.stl"/>'),
        visual('<sphere radius="1"/>', '<origin xyz="1 2 x"/>'),
    ],
)
def test_invalid_elements_are_reported_by_reason(element):
    found, invalid = read(element, visual('<sphere radius="1"/>'))
    assert [type(each.solid) for each in found] == [Sphere]
    assert list(invalid.values()) == [['tip']]


@pytest.mark.parametrize(
    'text',
    [
        '<!DOCTYPE robot [<!ENTITY a "b">]>' + HEAD + '</link></robot>',
        HEAD,
        HEAD + '<a>' * 60 + '</a>' * 60 + '</link></robot>',
        HEAD + '<a/>' * 200_001 + '</link></robot>',
        HEAD + ' ' * 10_000_001 + '</link></robot>',
        '',
    ],
    ids=['doctype', 'cut', 'deep', 'many', 'large', 'empty'],
)
def test_hostile_text_is_refused(text):
    with pytest.raises(UrdfError):
        read_shapes(text, ('tip',), 'collision')


def test_more_elements_than_the_limit_are_reported(monkeypatch):
    monkeypatch.setattr(urdf_shapes, 'MAX_SHAPES', 10)
    found, invalid = read(visual('<sphere radius="1"/>') * 100)
    assert len(found) == 10
    assert list(invalid) == ['there are more than 10 of them']
