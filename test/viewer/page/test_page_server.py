# SPDX-License-Identifier: Apache-2.0
"""The page's server: its address, what it needs, and the floor that it lays."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('viser')

from ik_core.exceptions import InvalidOption
from ik_viewer.page import server


def test_without_viser_it_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'viser', None)
    with pytest.raises(InvalidOption, match=r"pip install 'viser~=1\.1' pycollada"):
        server.start_server()


def test_it_listens_on_this_machine_only_unless_told_otherwise(viser_server):
    assert viser_server.get_host() == '127.0.0.1'


def test_a_port_that_was_asked_for_and_is_taken_is_refused(viser_server):
    with pytest.raises(InvalidOption, match='is taken'):
        server.start_server(port=viser_server.get_port())


@pytest.mark.parametrize('port', [-1, 65536, 10**9])
def test_a_port_that_is_none_is_refused(port):
    pytest.importorskip('viser')
    with pytest.raises(InvalidOption, match='from 0 to 65535'):
        server.start_server(port=port)


def test_a_host_that_is_not_this_machine_is_refused_as_such():
    with pytest.raises(InvalidOption, match=r'no page can be served at 192\.0\.2\.1:8080'):
        server.start_server('192.0.2.1', 8080)


def test_the_next_free_port_is_taken_where_none_was_asked_for(monkeypatch):
    taken = {8080, 8081}
    monkeypatch.setattr(server, 'is_free', lambda host, port: port not in taken)
    assert server.first_free_port('127.0.0.1') == 8082


def test_the_floor_ends_where_it_has_faded():
    points, colours = server.floor_lines(0.1, 1.05)
    reach = np.linalg.norm(points, axis=-1)
    assert reach.max() == pytest.approx(1.05)
    rim = colours[reach > 1.04]
    assert (rim >= 252).all()
    assert (points[..., 2] == 0.0).all()


@pytest.mark.parametrize(('length', 'step'), [(0.15, 0.1), (0.3, 0.2), (0.99, 0.5), (7.0, 5.0)])
def test_the_floor_has_steps_that_people_count_in(length, step):
    assert server.round_step(length) == pytest.approx(step)


class Camera:
    """A camera of viser: another position takes the point that it looks at along."""

    up_direction = np.array([0.0, 0.0, 1.0])

    def __init__(self, aspect=1.6):
        self.aspect = aspect
        self._position, self.look_at = np.zeros(3), np.array([1.0, 0.0, 0.0])

    @property
    def position(self):
        return self._position

    @position.setter
    def position(self, position):
        self.look_at = self.look_at + position - self._position
        self._position = position


def test_browsers_that_are_open_look_at_the_point_too(viser_server, monkeypatch):
    browser = SimpleNamespace(camera=Camera())
    monkeypatch.setattr(viser_server, 'get_clients', lambda: {1: browser})
    server.look_at(viser_server, np.array([0.2, 0.3, 0.4]), np.array([0.0, -2.0, 1.0]))
    for camera in (browser.camera, viser_server.initial_camera):
        np.testing.assert_allclose(camera.look_at, [0.2, 0.3, 0.4])
        np.testing.assert_allclose(camera.position, [0.2, -1.7, 1.4])


def test_a_phone_sees_the_robot_above_the_panel(viser_server, monkeypatch):
    """In the middle of the upper half: a quarter of the visible height above the middle."""
    phone = SimpleNamespace(camera=Camera(aspect=0.46))
    point, view = np.array([0.2, 0.3, 0.4]), np.array([0.0, -2.0, 0.0])
    monkeypatch.setattr(viser_server, 'get_clients', lambda: {1: phone})
    server.look_at(viser_server, point, view)
    camera = phone.camera
    depth = point[1] - camera.position[1]
    assert depth > 2.0
    above = (point - camera.look_at)[2] / (2.0 * depth * np.tan(0.5 * server.FIELD_OF_VIEW))
    assert above == pytest.approx(0.25)
    np.testing.assert_allclose(camera.position[2], camera.look_at[2])  # it looks straight on

    later = SimpleNamespace(camera=Camera(aspect=0.46))
    server.greet(later, viser_server)
    np.testing.assert_allclose(later.camera.position, camera.position)
    desktop = SimpleNamespace(camera=Camera())
    server.greet(desktop, viser_server)
    np.testing.assert_array_equal(desktop.camera.position, np.zeros(3))  # where its user has it


@pytest.mark.parametrize('up', ['+y', '+z'])
def test_the_view_is_from_above_and_the_front(up):
    seen = server.direction(server.VIEW, up)
    assert np.linalg.norm(seen) == pytest.approx(1.0)
    assert seen['xyz'.index(up[1])] == pytest.approx(0.5 / np.linalg.norm(server.VIEW))
