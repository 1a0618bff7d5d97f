# SPDX-License-Identifier: Apache-2.0
"""`ik.show`: real pages without a browser, steered as a person would, and looked at."""

import threading
import time
import urllib.request

import numpy as np
import pytest

pytest.importorskip('viser')

from support import robots
from support.page_hands import Hands, part

import ik_core as ik
from ik_core.collision import Box, Capsule, Convex
from ik_viewer.arm import GoalKind
from ik_viewer.collisions.panel import CollisionsPanel
from ik_viewer.compare.panel import Compare
from ik_viewer.page.page import Page
from ik_viewer.page.scene import Scene
from ik_viewer.page.server import start_server
from ik_viewer.result import result_page
from ik_viewer.result.result_panel import ResultPanel

PATIENCE = 60.0
PANDA = robots.shipped('panda')


@pytest.fixture
def shown(monkeypatch):
    """Show a robot on a free port; the page draws frames when it is told to."""
    pages = set()

    def opened(arm, host, port, parts):
        return Page(arm, start_server(host, port), parts)

    def show(*given, **named):
        page = ik.show(*given, port=0, **named)
        pages.add(page)
        page._page.frame()
        return page

    monkeypatch.setattr(result_page, 'open_page', opened)
    yield show
    monkeypatch.undo()  # the clock, too: a server does not stop while it stands
    for page in pages:
        page.close()


def drawn(page):
    """The joint values that the scene displays."""
    page._page.frame()
    return part(page._page, Scene).figure._drawn


def until(page, condition, what):
    deadline = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < deadline, what
        page._page.frame()
        time.sleep(0.001)


def path_of(frames):
    turns = np.linspace(0.0, 0.5, frames)[:, None] * [1.0, 0.4, 0, 0.3, 0, 0, 0, 0]
    return PANDA.middle_configuration + turns


def test_it_is_shown_at_q_also_outside_of_the_limits(shown):
    q = PANDA.upper + 0.1
    page = shown(PANDA, q)
    np.testing.assert_array_equal(drawn(page), q)
    with urllib.request.urlopen(page.url, timeout=PATIENCE) as answer:
        assert b'<html' in answer.read().lower()
    assert page.url in repr(page)
    assert f'<iframe src="{page.url}"' in page._repr_html_()


def test_a_goal_leaves_the_given_values_and_is_followed_from_there(shown):
    q = path_of(2)[1]
    page = shown(PANDA, q)
    goal = PANDA.forward_kinematics(q, 'panda_hand_tcp')
    goal[1, 3] += 0.05
    page._arm.set_goal(0, goal, GoalKind.POSE)
    first = page._arm.read().q
    np.testing.assert_allclose(first, q, atol=0.05)  # not from the middle of the limits
    until(page, lambda: page._arm.read().code == 'reached', 'the goal')
    tip = PANDA.forward_kinematics(drawn(page), 'panda_hand_tcp')
    np.testing.assert_allclose(tip, goal, atol=1e-3)
    hands = Hands(page._page)
    hands.press('Show the result again')
    np.testing.assert_array_equal(drawn(page), q)
    hands.close()


def test_a_path_is_played_scrubbed_and_drawn(shown, clock):
    path = path_of(11)
    page = shown(PANDA, path, period=0.1)
    hands, panel = Hands(page._page), part(page._page, ResultPanel)
    for frame in (0, 1, 2):
        np.testing.assert_array_equal(drawn(page), path[frame])
        assert page._arm.read().text.startswith(f'frame {frame + 1} of 11')
        clock(0.1)
    hands.change('Frame', 6)
    np.testing.assert_array_equal(drawn(page), path[5])
    assert page._arm.read().code == 'paused'
    (line,) = panel._lines
    ends = [PANDA.forward_kinematics(q, 'panda_hand_tcp')[:3, 3] for q in path]
    np.testing.assert_allclose(line.points[:, 0], ends[:-1], atol=1e-6)
    np.testing.assert_allclose(line.points[:, 1], ends[1:], atol=1e-6)
    hands.press('Play the path')
    clock(0.1)
    np.testing.assert_array_equal(drawn(page), path[6])
    hands.close()


def test_a_motion_has_its_own_period_and_its_own_order_of_joints(shown, clock):
    path = path_of(4)
    names = tuple(reversed(PANDA.joint_names))
    page = shown(PANDA, ik.motion.Motion(names, path[:, ::-1], 0.5))
    clock(0.5)
    np.testing.assert_array_equal(drawn(page), path[1])


def test_ghosts_stand_where_they_should_and_the_arm_goes_there(shown):
    ghosts = path_of(3) + 0.2
    page = shown(PANDA, path_of(2)[0], ghosts=ghosts)
    panel, hands = part(page._page, ResultPanel), Hands(page._page)
    assert [ghost.visible for ghost in panel._ghosts] == [True] * 3
    for ghost, q in zip(panel._ghosts, ghosts, strict=True):
        np.testing.assert_array_equal(ghost._drawn, q)
    hands.change('Ghosts', False)
    assert [ghost.visible for ghost in panel._ghosts] == [False] * 3
    hands.change('Stand at ghost', '2')
    inside = np.clip(ghosts[1], PANDA.lower, PANDA.upper)
    until(page, lambda: np.allclose(drawn(page), inside, atol=1e-6), 'the ghost')
    hands.close()


def test_the_world_is_drawn_as_a_copy_and_checked(shown):
    world = ik.World()
    tip = PANDA.forward_kinematics(PANDA.middle_configuration, 'panda_hand_tcp')
    world.add('box', Box((0.2, 0.2, 0.2)), ik.transform(position=tip[:3, 3]))
    world.add('pill', Capsule(0.05, 0.2), ik.transform(position=(0.0, 1.0, 0.3)))
    world.add('stone', Convex(np.vstack([np.eye(3), np.zeros(3)])), np.eye(4))
    world.attach('tool', Box((0.01, 0.01, 0.1)), 'panda_hand', ik.transform(position=(0, 0, 0.2)))
    page = shown(PANDA, path_of(2)[1], world=world)
    panel = part(page._page, CollisionsPanel)
    carried = panel._obstacles['tool']._node
    hand = PANDA.forward_kinematics(path_of(2)[1], 'panda_hand')
    np.testing.assert_allclose(carried.position, (hand @ [0, 0, 0.2, 1])[:3], atol=1e-9)
    assert panel.world is not world
    panel.world.move('box', np.eye(4))
    np.testing.assert_array_equal(world['box'].pose[:3, 3], tip[:3, 3])
    panel.world.move('box', ik.transform(position=hand[:3, 3]))
    until(page, lambda: 'collide' in panel._report.content, 'the collision')


def test_a_second_call_shows_on_the_same_page_and_keeps_its_view(shown):
    page = shown(PANDA, path_of(2)[0])
    scene = part(page._page, Scene)
    assert shown(PANDA, path_of(2)[1], ghosts=path_of(2)) is page
    assert part(page._page, Scene) is scene
    np.testing.assert_array_equal(drawn(page), path_of(2)[1])
    ur5e = robots.shipped('ur5e')
    assert shown(ur5e) is page
    np.testing.assert_array_equal(drawn(page), ur5e.middle_configuration)
    page.close()
    assert result_page._pages == {}


def test_the_page_closes_with_wait_at_ctrl_c(shown, monkeypatch):
    page = shown(PANDA)

    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(page._closed, 'wait', interrupt)
    page.wait()
    with pytest.raises(OSError, match='refused'):
        urllib.request.urlopen(page.url, timeout=PATIENCE)


def test_a_closed_page_leaves_no_thread(shown):
    before = set(threading.enumerate())
    page = shown(PANDA, path_of(2))
    part(page._page, Compare)._stretch()
    assert set(threading.enumerate()) - before
    page.close()
    deadline = time.monotonic() + PATIENCE
    while left := set(threading.enumerate()) - before:
        assert time.monotonic() < deadline, left
        time.sleep(0.01)


@pytest.mark.parametrize(
    ('given', 'named', 'error', 'complaint'),
    [
        ([[0.1, 0.2]], {}, ik.InvalidConfiguration, 'q has shape'),
        ([np.zeros((0, 8))], {}, ik.InvalidConfiguration, 'without frames'),
        ([np.zeros(8)], {'ghosts': [[1.0]]}, ik.InvalidConfiguration, 'ghosts has shape'),
        ([np.zeros(8)], {'tips': ['hand']}, ik.FrameNotFound, "'hand'"),
        ([np.zeros((2, 8))], {'period': 0.0}, ik.InvalidOption, 'period = 0.0'),
        ([np.zeros((2, 8))], {'period': np.inf}, ik.InvalidOption, 'period = inf'),
        ([np.zeros((2, 8))], {'period': '1'}, ik.InvalidOption, "period = '1'"),
        ([np.zeros(8)], {'world': 'floor'}, ik.InvalidOption, "world = 'floor'"),
        ([np.zeros(8)], {'mesh_folders': ['none']}, ik.InvalidOption, 'none'),
    ],
)
def test_what_can_not_be_shown_is_refused_and_nothing_stays_open(given, named, error, complaint):
    with pytest.raises(error, match=complaint):
        ik.show(PANDA, *given, port=0, **named)
    assert result_page._pages == {}


@pytest.mark.parametrize('port', [-1, '8080', 8080.5])
def test_a_port_that_is_none_is_refused(port):
    with pytest.raises(ik.InvalidOption, match=f'port {port!r}: a port is a number'):
        ik.show(PANDA, port=port)
