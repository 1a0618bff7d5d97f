"""The visuals of a URDF: what it says is drawn, and no text from a stranger does harm."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.places import URDF

import ik_core as ik
from ik_core.exceptions import UrdfError
from ik_viewer.arm import Description
from ik_viewer.drawing import visuals as visuals_module
from ik_viewer.drawing.appearance import shapes_of
from ik_viewer.drawing.shapes import Box, Cylinder, Sphere
from ik_viewer.drawing.visuals import MeshName, read_visuals

HEAD = """<robot name="r"><material name="blue"><color rgba="0 0 1 1"/></material>
<link name="base"/><joint name="j" type="continuous"><parent link="base"/><child link="tip"/>
<axis xyz="0 0 1"/></joint><link name="tip">"""
ROBOT = ik.load_urdf(f'{HEAD}</link></robot>')


def read(*elements):
    return read_visuals(f'{HEAD}{"".join(elements)}</link></robot>', ROBOT)


def visual(geometry, rest=''):
    return f'<visual>{rest}<geometry>{geometry}</geometry></visual>'


@pytest.mark.parametrize(
    ('element', 'solid'),
    [
        ('<box size="1 2 3"/>', Box((1.0, 2.0, 3.0))),
        ('<cylinder radius="0.1" length="2"/>', Cylinder(0.1, 2.0)),
        ('<sphere radius="0.5"/>', Sphere(0.5)),
        ('<mesh filename="package://a/b.stl"/>', MeshName('package://a/b.stl', (1.0, 1.0, 1.0))),
        ('<mesh filename="b.stl" scale="1 2 -3"/>', MeshName('b.stl', (1.0, 2.0, -3.0))),
    ],
)
def test_all_geometries_are_read(element, solid):
    (found,), remarks = read(visual(element))
    assert found.solid == solid
    assert remarks == []


def test_a_visual_stands_where_its_origin_says():
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
def test_what_makes_no_sense_is_left_out_with_a_remark(element):
    found, remarks = read(element, visual('<sphere radius="1"/>'))
    assert [type(each.solid) for each in found] == [Sphere]
    (remark,) = remarks
    assert "'tip'" in remark


def test_visuals_left_out_for_the_same_reason_make_one_remark():
    found, (remark,) = read(*[visual('<box/>')] * 50)
    assert found == []
    assert remark.startswith("50 visuals are left out (link 'tip', ...): <box> needs size")


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
def test_hostile_text_is_refused_and_the_robot_still_drawn(text):
    with pytest.raises(UrdfError):
        read_visuals(text, ROBOT)
    if text:
        shapes, notices = shapes_of(Description(ROBOT, text))
        assert shapes
        assert len(notices) == 1


def test_there_are_not_too_many_shapes(monkeypatch):
    monkeypatch.setattr(visuals_module, 'MAX_VISUALS', 10)
    found, _ = read(visual('<sphere radius="1"/>') * 100)
    assert len(found) == 10


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_the_shipped_robots_have_all_of_their_shapes(name):
    text = (URDF / f'{name}.urdf').read_text()
    shapes, notices = shapes_of(Description(robots.shipped(name), text, URDF))
    assert len(shapes) == text.count('<visual')
    assert notices == []
