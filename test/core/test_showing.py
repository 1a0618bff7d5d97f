# SPDX-License-Identifier: Apache-2.0
"""`ik.plot`: what it draws, by the artists of matplotlib; `ik.show` without its packages."""

import sys

import numpy as np
import pytest
from support import robots
from support.fresh_python import run

import ik_core as ik

PANDA = robots.shipped('panda')


@pytest.fixture
def pyplot():
    pytest.importorskip('matplotlib').use('Agg')
    from matplotlib import pyplot

    yield pyplot
    pyplot.close('all')


def lines_of(axes, colour=None):
    """Return all lines (k, 2, 3), or those of a colour, in the order in which they were drawn."""
    from matplotlib.colors import to_rgb

    found = [
        np.asarray(c._segments3d)
        for c in axes.collections
        if hasattr(c, '_segments3d')
        and (colour is None or np.allclose(c.get_colors()[0][:3], to_rgb(colour)))
    ]
    return np.concatenate(found)


def test_bones_go_through_the_joints_to_the_tips(pyplot):
    q = robots.random_q(PANDA, np.random.default_rng(1))
    bones = lines_of(ik.plot(PANDA, q, limits=False, frames=[]))
    points = bones.reshape(-1, 3)
    for link in (*(f'panda_link{i}' for i in range(1, 8)), 'panda_hand_tcp'):
        place = PANDA.forward_kinematics(q, link)[:3, 3]
        assert np.abs(points - place).max(axis=1).min() < 1e-9, link
    np.testing.assert_allclose(np.linalg.norm(np.diff(bones[0], axis=0)), 0.333, atol=1e-9)


def test_frames_are_red_green_and_blue_along_x_y_and_z(pyplot):
    from ik_core.figures import BLUE, GREEN, RED

    q = robots.random_q(PANDA, np.random.default_rng(2))
    axes = ik.plot(PANDA, q, limits=False, frames=['panda_link5'])
    pose = PANDA.forward_kinematics(q, 'panda_link5')
    for i, colour in enumerate((RED, GREEN, BLUE)):
        ((start, end),) = lines_of(axes, colour)
        np.testing.assert_allclose(start, pose[:3, 3], atol=1e-12)
        direction = (end - start) / np.linalg.norm(end - start)
        np.testing.assert_allclose(direction, pose[:3, i], atol=1e-9)


def test_a_joint_at_its_limit_has_a_red_tick(pyplot):
    from ik_core.figures import BLUE, ORANGE, RED

    q = PANDA.middle_configuration
    q[3] = PANDA.upper[3]
    axes = ik.plot(PANDA, q, frames=[])
    (tick,) = lines_of(axes, RED)
    place = PANDA.forward_kinematics(q, 'panda_link4')[:3, 3]
    np.testing.assert_allclose(tick[0], place, atol=1e-9)
    assert len(lines_of(axes, BLUE)) == 6
    assert len(lines_of(axes, ORANGE)) > 7 * 30


def test_the_scales_of_the_axes_are_equal_and_everything_is_inside(pyplot):
    for robot in (PANDA, robots.shipped('dual_arm')):
        axes = ik.plot(robot)
        axes.figure.canvas.draw()
        ends = np.array([axes.get_xlim(), axes.get_ylim(), axes.get_zlim()])
        box = np.asarray(axes._box_aspect)
        scales = np.ptp(ends, axis=1) / box
        np.testing.assert_allclose(scales, scales[0], rtol=1e-9)
        points = lines_of(axes).reshape(-1, 3)
        assert (points >= ends[:, 0] - 1e-9).all()
        assert (points <= ends[:, 1] + 1e-9).all()


def test_several_arms_are_drawn_the_last_one_darkest_and_alone_with_limits(pyplot):
    from ik_core.figures import ORANGE

    rows = robots.random_q(PANDA, np.random.default_rng(3)) * np.array([[0.2], [0.6], [1.0]])
    axes = ik.plot(PANDA, rows)
    alphas = [c.get_alpha() for c in axes.collections if not hasattr(c, '_segments3d')]
    assert alphas == sorted(alphas)
    assert (len(set(alphas)), alphas[-1]) == (3, 1.0)
    one = ik.plot(PANDA, rows[-1])
    np.testing.assert_allclose(lines_of(axes, ORANGE), lines_of(one, ORANGE))


def test_it_draws_into_axes_that_are_given(pyplot):
    axes = pyplot.figure().add_subplot(projection='3d')
    assert ik.plot(PANDA, axes=axes) is axes
    before = len(axes.collections)
    ik.plot(robots.shipped('ur5e'), axes=axes)
    assert len(axes.collections) > before


def test_what_can_not_be_drawn_is_refused(pyplot):
    with pytest.raises(ik.InvalidConfiguration, match='q has shape'):
        ik.plot(PANDA, [[0.0, 1.0]])
    with pytest.raises(ik.FrameNotFound, match='hand'):
        ik.plot(PANDA, frames=['hand'])
    with pytest.raises(ik.InvalidConfiguration, match='without arms'):
        ik.plot(PANDA, [])
    with pytest.raises(ik.InvalidOption, match="'panda': a Robot is needed"):
        ik.plot('panda')


def test_an_arm_without_length_is_drawn(pyplot):
    joint = '<parent link="a"/><child link="b"/><limit lower="-1" upper="1" velocity="1"/>'
    robot = ik.load_robot(
        '<robot name="turret"><link name="a"/><link name="b"/>'
        f'<joint name="turn" type="revolute">{joint}</joint></robot>'
    )
    assert len(lines_of(ik.plot(robot)))


def test_without_matplotlib_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'matplotlib.figure', None)
    with pytest.raises(ik.InvalidOption, match='pip install matplotlib'):
        ik.plot(PANDA)


def test_without_viser_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    with pytest.raises(ik.InvalidOption, match="pip install 'viser"):
        ik.show(PANDA)


def test_the_names_alone_import_neither_the_viewer_nor_what_draws():
    code = (
        'import sys, ik_core as ik; ik.show; ik.plot; '
        "print([n for n in ('ik_viewer', 'viser', 'matplotlib', 'rerun') if n in sys.modules])"
    )
    assert run(code) == '[]'
