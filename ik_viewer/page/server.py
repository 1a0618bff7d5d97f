# SPDX-License-Identifier: Apache-2.0
"""The web server, its address, and the surroundings of the robot in its scene."""

from __future__ import annotations

import contextlib
import errno
import io
import socket
from typing import Any

import numpy as np

from ik_core.cli.programs import viewer_remedy
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array
from ik_core.options import exact_number

from ..arm import Description
from .numbers import keep_numbers_within_ends
from .origins import refuse_strangers
from .page_context import body_origins

HOST, PORT, PORTS = '127.0.0.1', 8080, 100
LAST_PORT = 65535
BRAND = (38, 84, 124)
PANEL = 490  # Width of the panel [pixels]: all tabs in one row
VIEW = np.array([0.80, -1.0, 0.50])  # Direction of the camera, seen from the robot; z is up
DISTANCE, FIELD_OF_VIEW = 2.3, np.radians(40.0)
FAR = 30.0  # Distance that is still drawn, relative to the robot's size
# Largest ratio of width to height of a phone's canvas; there the camera is this much farther away,
# and looks down by this fraction of the visible height
UPRIGHT, AWAY, LOWER = 0.62, 1.7, 0.25
# The radius of the floor, of the robot's size; the pieces and the colour of its lines
FLOOR, FLOOR_PIECES, FLOOR_COLOUR = 2.5, 12, (196, 203, 213)
# Beside that of the sky: name, colour, intensity, where from, where y is up
LIGHTS = (
    ('/light/key', (255, 250, 244), 2.0, (1.5, 3.0, 1.8)),
    ('/light/fill', (226, 236, 255), 0.8, (-2.0, 1.5, -1.0)),
)
GROUND = (176, 182, 192)


def start_server(host: str = HOST, port: int | None = None) -> Any:
    """Start a viser server.

    port : by default the first free one from 8080 on

    Raises InvalidOption if viser is not installed, or if the port is taken.
    """
    try:
        import viser
    except ImportError:
        raise InvalidOption(f'the viewer needs viser: {viewer_remedy()}') from None
    number: int | None = exact_number(port, int)
    if port is not None and (number is None or not 0 <= number <= LAST_PORT):
        raise InvalidOption(f'port {port!r}: a port is a number from 0 to {LAST_PORT}')
    chosen = first_free_port(host) if port is None else port
    if port is not None and not is_free(host, port):
        raise InvalidOption(f'port {port} of {host} is taken: choose another with --port')
    with contextlib.redirect_stdout(io.StringIO()):  # it greets, also where it is asked not to
        server = viser.ViserServer(host=host, port=chosen, label='ik', verbose=False)
    refuse_strangers(server)
    keep_numbers_within_ends(server)
    server.gui.configure_theme(
        control_width='large',
        show_logo=False,
        show_share_button=False,
        brand_color=BRAND,
    )
    server.gui.main_panel.dock_right()
    server.gui.main_panel.set_width(PANEL)
    server.on_client_connect(lambda client: greet(client, server))
    server.scene.configure_environment_map(None)  # slow without a GPU: see `light`
    server.scene.configure_default_lights(False)
    return server


def stop_server(server: Any) -> None:
    """Stop a server, without the messages that viser prints."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()


def url_of(server: Any) -> str:
    """Return the address to open in a browser on this machine."""
    host = server.get_host()
    shown = 'localhost' if host in ('127.0.0.1', '0.0.0.0', '::') else host
    return f'http://{shown}:{server.get_port()}'


def is_free(host: str, port: int) -> bool:
    """Return whether a server can use this port; 0 is any free one.

    Raises InvalidOption if no server can listen at this host.
    """
    family = socket.AF_INET6 if ':' in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            if error.errno == errno.EADDRINUSE:
                return False
            reason = error.strerror or error
            raise InvalidOption(f'no page can be served at {host}:{port}: {reason}') from None
    return True


def first_free_port(host: str) -> int:
    """Return the first free port from 8080 on. Raises InvalidOption without one."""
    for port in range(PORT, PORT + PORTS):
        if is_free(host, port):
            return port
    raise InvalidOption(f'no port of {host} from {PORT} to {PORT + PORTS - 1} is free')


def light(scene: Any, up: str, shadows: bool = False) -> None:
    """Add a sky, and lights from both sides.

    Shadows, and environment maps, are slow without a GPU.
    """
    upright = (1.0, 0.0, 0.0, 0.0) if up == '+y' else (0.5**0.5, 0.5**0.5, 0.0, 0.0)
    scene.add_frame('/light', show_axes=False, wxyz=upright)
    scene.add_light_hemisphere(
        '/light/sky', sky_color=(255, 255, 255), ground_color=GROUND, intensity=2.0
    )
    for name, colour, intensity, position in LIGHTS:
        scene.add_light_directional(
            name,
            color=colour,
            intensity=intensity,
            position=position,
            cast_shadow=shadows and name == LIGHTS[0][0],
        )


class Surroundings:
    """The floor, the lights and the initial camera for a robot at a configuration."""

    def __init__(self, server: Any, description: Description, q: Array) -> None:
        points = body_origins(description.robot, q)
        low, high = points.min(axis=0), points.max(axis=0)
        up = 1 if description.up == '+y' else 2
        self.size = max(float(np.linalg.norm(high - low)), 0.1)
        server.scene.set_up_direction(description.up)
        light(server.scene, description.up)
        self._add_floor(server, up, min(float(low[up]), 0.0) - 1e-3 * self.size)
        server.initial_camera.fov = FIELD_OF_VIEW
        server.initial_camera.near = 0.002 * self.size
        server.initial_camera.far = max(FAR * self.size, 1000.0)
        look_at(server, 0.5 * (low + high), DISTANCE * self.size * direction(VIEW, description.up))

    def _add_floor(self, server: Any, up: int, height: float) -> None:
        points, colours = floor_lines(round_step(0.15 * self.size), FLOOR * self.size)
        points[..., 2] = height
        if up == 1:
            points = points[..., [0, 2, 1]]
        server.scene.add_line_segments(
            '/floor', points, colours, thickness=1.0, thickness_units='screen'
        )


def direction(vector: Array, up: str) -> Array:
    """Convert a vector (3,) of a scene with z up to a unit vector of one with `up` up."""
    turned = vector if up != '+y' else vector[[0, 2, 1]] * [1.0, 1.0, -1.0]
    return np.asarray(turned / np.linalg.norm(turned))


def look_at(server: Any, point: Array, view: Array) -> None:
    """Aim the cameras of all browsers, also future ones, at `point` (3,) from `point + view`."""
    server.initial_camera.look_at, server.initial_camera.position = point, point + view
    for client in server.get_clients().values():
        turn_camera(client, point, view)


def turn_camera(client: Any, point: Array, view: Array) -> None:
    """Aim a browser's camera at a point (3,) from `view` (3,) away, a phone's from farther."""
    if is_phone(client):
        view = AWAY * view
        height = 2.0 * float(np.linalg.norm(view)) * np.tan(0.5 * FIELD_OF_VIEW)
        point = point - LOWER * height * client.camera.up_direction
    client.camera.position = point + view
    client.camera.look_at = point  # after the position, which takes this point along


def is_phone(client: Any) -> bool:
    """Return whether a browser's canvas is that of a phone, whose lower half the panel covers."""
    return bool(client.camera.aspect < UPRIGHT)


def greet(client: Any, server: Any) -> None:
    """Aim the camera of a phone that has connected; other browsers keep viser's initial camera."""
    if is_phone(client):
        point, position = server.initial_camera.look_at, server.initial_camera.position
        turn_camera(client, np.asarray(point), np.subtract(position, point))


def round_step(length: float) -> float:
    """Return the largest of ..., 0.1, 0.2, 0.5, 1, 2, 5, ... that is at most `length`."""
    power = 10.0 ** np.floor(np.log10(length))
    return float(power * max(step for step in (1.0, 2.0, 5.0) if step * power <= length))


def floor_lines(step: float, radius: float) -> tuple[Array, Array]:
    """Return grid lines `step` [m] apart, as pieces (N, 2, 3) in the plane z = 0, and their
    colours.

    The lines fade towards `radius` [m], where they end. A shader for an endless plane would take
    most of the time of a frame on machines without a GPU.
    """
    count = int(radius / step)
    at = step * np.arange(-count, count + 1)
    along = np.linspace(-1.0, 1.0, FLOOR_PIECES + 1)
    reach = np.sqrt(np.maximum(radius**2 - at**2, 0.0))
    lines = np.stack([np.outer(reach, along), np.outer(at, np.ones_like(along))], axis=-1)
    both = np.concatenate([lines, lines[..., ::-1]])
    ends = np.concatenate([both, np.zeros((*both.shape[:2], 1))], axis=-1)
    share = np.clip(np.linalg.norm(ends, axis=-1, keepdims=True) / radius, 0.0, 1.0)
    tints = np.array(FLOOR_COLOUR) + (255.0 - np.array(FLOOR_COLOUR)) * share
    pieces = [np.stack([each[:, :-1], each[:, 1:]], axis=2) for each in (ends, tints)]
    return pieces[0].reshape(-1, 2, 3), pieces[1].reshape(-1, 2, 3).astype(np.uint8)
