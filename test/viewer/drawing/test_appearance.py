# SPDX-License-Identifier: Apache-2.0
"""A described robot is drawn as its visuals say, and notices name those that are left out."""

import numpy as np
import pytest
from support import robots
from support.places import URDF

import ik_core as ik
from ik_viewer.arm import Description
from ik_viewer.drawing.appearance import shapes_of
from ik_viewer.drawing.shapes import Cylinder, Sphere

HEAD = """<robot name="r"><link name="base"/><joint name="j" type="continuous">
<parent link="base"/><child link="tip"/><axis xyz="0 0 1"/></joint><link name="tip">"""
TAIL = '</link></robot>'
ROBOT = ik.load_robot(HEAD + TAIL)


def shapes_with(*geometries):
    visuals = (f'<visual><geometry>{text}</geometry></visual>' for text in geometries)
    return shapes_of(Description(ROBOT, HEAD + ''.join(visuals) + TAIL))


def test_a_visual_that_is_left_out_makes_a_notice():
    shapes, (notice,) = shapes_with('<sphere radius="x"/>', '<sphere radius="1"/>')
    assert [type(shape.solid) for shape in shapes] == [Sphere]
    assert "link 'tip': a visual is left out: <sphere> needs radius" in notice


def test_visuals_left_out_for_the_same_reason_make_one_notice():
    _, (notice,) = shapes_with(*['<box/>'] * 50)
    assert notice.startswith("50 visuals are left out (link 'tip', ...): <box> needs size")


def test_a_capsule_is_drawn_as_a_cylinder_between_two_spheres():
    shapes, _ = shapes_with('<capsule radius="0.1" length="2"/>')
    assert [shape.solid for shape in shapes] == [Cylinder(0.1, 2.0), Sphere(0.1), Sphere(0.1)]
    np.testing.assert_array_equal([s.transform[2, 3] for s in shapes], [0.0, -1.0, 1.0])


def test_hostile_text_is_drawn_as_a_skeleton_with_a_notice():
    shapes, notices = shapes_of(Description(ROBOT, '<!DOCTYPE robot>' + HEAD + TAIL))
    assert shapes
    assert len(notices) == 1


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_the_shipped_robots_have_all_of_their_shapes(name):
    text = (URDF / f'{name}.urdf').read_text()
    shapes, notices = shapes_of(Description(robots.shipped(name), text, URDF))
    assert len(shapes) == text.count('<visual')
    assert notices == []
