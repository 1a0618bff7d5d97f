# SPDX-License-Identifier: Apache-2.0
"""The page of a clip and its imitator, with controls to play it and to change the weights."""

from __future__ import annotations

import html
import threading
import time
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array

from ..arm import Description, error_text
from ..drawing.appearance import shapes_of
from ..drawing.colours import SKY, hex_of
from ..drawing.description import description_of
from ..drawing.drawn_robot import DrawnRobot, wxyz_of
from ..page.browser import LAST, STYLE
from ..page.page_context import Notices, Requests
from ..page.server import Surroundings
from ..page.status_panel import with_loss
from .clip import Clip
from .live import LiveRetargeting, Wish
from .numbers import (
    LARGEST,
    SMALLEST,
    beta_of,
    error_curves,
    error_table,
    position_of,
    weights_text,
)
from .paths import Paths, colour_of_link
from .playhead import SPEEDS, Playhead

RATE = 30.0  # [Hz] Frames that are drawn, at most
SLOW = 0.2  # [s] Between two pictures of the numbers, and of the robot's paths
ENDING = 5.0  # [s] How long `close` waits for the frame that is under way
APART, BALL = 0.6, 0.014
PAUSE, PLAY = ('Pause', 'player-pause'), ('Play', 'player-play')


class Scene:
    """The clip's robot or skeleton, the robot beside it, and the paths of its links.

    description : of the robot beside it, or of the clip's own if there is none
    """

    def __init__(
        self, server: Any, clip: Clip, live: LiveRetargeting | None, description: Description
    ) -> None:
        self._clip, self._live = clip, live
        scene = server.scene
        surroundings = Surroundings(server, description, _posture(clip, live))
        self.size = min(surroundings.size, _extent(clip))
        is_robot = live is None and bool(description.urdf)
        if not is_robot:
            _look_at(server, clip, description.up)
        self._aside = _sideways(clip, description.up)
        self._stand = scene.add_frame('/clip', show_axes=False, wxyz=wxyz_of(clip.placed[:3, :3]))
        shapes, self.notices = shapes_of(description)
        own = shapes
        if live is not None:
            own, notices = shapes_of(description_of(clip.source, description.mesh_folders))
            self.notices += notices
        self._figure = DrawnRobot(
            scene, '/clip/figure', clip.source, own, colour=None if is_robot else SKY
        )
        self._robot: DrawnRobot | None = None
        self.paths: Paths | None = None
        if live is not None:
            self._robot = DrawnRobot(scene, '/robot', live.imitator.robot, shapes)
            self.paths = Paths(scene, live.imitator, BALL * self.size)
        self.apart = APART * self.size if live is not None else 0.0

    @property
    def apart(self) -> float:
        """Distance [m] of the clip from the robot."""
        return self._apart

    @apart.setter
    def apart(self, distance: float) -> None:
        self._apart = distance
        self._stand.position = self._clip.placed[:3, 3] + distance * self._aside

    def show(self, frame: int) -> None:
        """Draw a frame, by its index."""
        self._figure.show(self._clip.q[frame])
        if self._live is None or self._robot is None or self.paths is None:
            return
        q = self._live.positions[frame]
        if np.isfinite(q).all():
            self._robot.show(q)
        self.paths.show(frame)


class PlayPage:
    """The page of a clip and its imitator; the caller stops the server."""

    def __init__(
        self,
        server: Any,
        name: str,
        clip: Clip,
        description: Description,
        live: LiveRetargeting | None = None,
    ) -> None:
        self.server, self.clip, self.live = server, clip, live
        self.notices = Notices(server)
        self.requests = Requests(self.notices)
        self.playhead = Playhead(len(clip), clip.period)
        self._drawn, self._paths_are_final = -np.inf, False
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None
        self.scene = Scene(server, clip, live, description)
        self._add_controls(name)
        for notice in self.scene.notices:
            self.notices.say(notice)

    def start(self) -> None:
        """Start to play, in a thread."""
        self._thread = threading.Thread(target=self._run, name='play', daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End the threads."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(ENDING)
        if self.live is not None:
            self.live.close()

    def frame(self) -> None:
        """Handle the requests of users, and draw the frame of the playhead."""
        try:
            self.requests.do()
            with self.server.atomic():
                self._show()
            self.server.flush()
        except Exception as error:
            self.notices.say(error_text(error))

    def _run(self) -> None:
        last = time.monotonic()
        while not self._ended.wait(1.0 / RATE):
            now = time.monotonic()
            self.playhead.advance(now - last)
            last = now
            self.frame()

    def _show(self) -> None:
        frame, now = self.playhead.frame, time.monotonic()
        self.scene.show(frame)
        if now - self._drawn >= SLOW:
            self._drawn = now
            self._slider.value = frame
            self._show_numbers(frame)

    def _show_numbers(self, frame: int) -> None:
        time_now = f'{frame * self.clip.period:.2f} s of {len(self.clip) * self.clip.period:.2f} s'
        state = time_now
        live = self.live
        if live is not None:
            state = f'{time_now} &middot; {html.escape(_state(live))}'
            self._table.content = error_table(live.imitator.example.links, live.link_errors, frame)
            self._plot.data = error_curves(live.link_errors, self.clip.period, frame)
            self._draw_paths(live)
        self._state.content = with_loss(
            f'<div style="padding:0 0.6rem;font-size:0.8rem;color:#4b5563">{state}</div>'
        )

    def _draw_paths(self, live: LiveRetargeting) -> None:
        """Draw the paths while they change, and a last time when they are final."""
        final = live.final
        if self.scene.paths is not None and not (final and self._paths_are_final):
            self.scene.paths.draw(live.positions.copy())
        self._paths_are_final = final

    def _add_controls(self, name: str) -> None:
        gui, by_user = self.server.gui, self.requests.by_user
        gui.set_panel_label(name)
        gui.add_html(STYLE, order=LAST)
        self._state = gui.add_html('')
        self._button = gui.add_button(PAUSE[0], icon=PAUSE[1])
        self._slider = gui.add_slider('Frame', 0, max(len(self.clip) - 1, 1), 1, 0)
        self._speed = gui.add_dropdown('Speed', tuple(SPEEDS), initial_value='real time')
        self._button.on_click(self.requests.guarded(lambda _: self._toggle()))
        self._slider.on_update(by_user(lambda _: self._scrub()))
        self._speed.on_update(by_user(lambda _: self._set_speed()))
        if self.live is not None:
            self._add_weights(self.live)

    def _add_weights(self, live: LiveRetargeting) -> None:
        gui, by_user = self.server.gui, self.requests.by_user
        with gui.add_folder('Imitation'):
            self._beta = gui.add_slider(
                'beta',
                0.0,
                1.0,
                0.005,
                position_of(live.wish.beta),
                marks=((0.0, 'links'), (position_of(1e-5), '1e-5'), (1.0, 'joints')),
                hint='0: follow the links only; 1: copy the joints; logarithmic in between',
            )
            self._weights = gui.add_html('')
            self._limits = gui.add_checkbox('Joint limits', live.wish.keep_limits)
            self._with_paths = gui.add_checkbox('Paths', True)
            apart = round(self.scene.apart, 2)
            self._apart = gui.add_slider('Distance [m]', 0.0, 2.0 * apart, 0.01, apart)
        self._show_weights()
        self._table = gui.add_html('')
        self._plot = _add_plot(gui, live, self.clip.period)
        self._beta.on_update(by_user(lambda _: self._wish()))
        self._limits.on_update(by_user(lambda _: self._wish()))
        self._with_paths.on_update(by_user(lambda _: self._show_paths()))
        self._apart.on_update(by_user(lambda _: self._set_apart()))

    def _toggle(self) -> None:
        self.playhead.playing = not self.playhead.playing
        self._button.label, self._button.icon = PAUSE if self.playhead.playing else PLAY

    def _scrub(self) -> None:
        self.playhead.go_to(int(self._slider.value))

    def _set_speed(self) -> None:
        self.playhead.speed = SPEEDS[self._speed.value]

    def _wish(self) -> None:
        """Request a new retargeting, beginning at the displayed frame."""
        if self.live is not None:
            beta, alpha = beta_of(self._beta.value), self.live.wish.alpha
            self.live.ask(Wish(beta, self._limits.value, self.playhead.frame, alpha))
            self._show_weights()

    def _show_weights(self) -> None:
        alpha = self.live.wish.alpha if self.live is not None else None
        text = html.escape(weights_text(beta_of(self._beta.value), alpha))
        self._weights.content = (
            f'<div style="padding:0 0.6rem;font-size:0.8rem;color:#4b5563">{text}</div>'
        )

    def _show_paths(self) -> None:
        if self.scene.paths is not None:
            self.scene.paths.visible = self._with_paths.value

    def _set_apart(self) -> None:
        self.scene.apart = self._apart.value


def _state(live: LiveRetargeting) -> str:
    """Return the state of the retargeting as text."""
    if live.final:
        return 'solved'
    fraction = f' {100.0 * live.fresh.mean():.0f} %' if live.text == 'solving' else ''
    return f'{live.text}{fraction}'


def _posture(clip: Clip, live: LiveRetargeting | None) -> Array:
    """Return the configuration (n,) for which the surroundings are made."""
    return clip.q[0] if live is None else live.imitator.robot.middle_configuration


def _origins(clip: Clip) -> Array:
    """Return the positions (frames, ends, 3) [m] of the skeleton's ends, in about 20 frames."""
    few = clip.q[:: max(1, len(clip) // 20)]
    return Clip(clip.source, few, clip.period, clip.placed).paths(tuple(clip.source.tips()))


def _extent(clip: Clip) -> float:
    """Return the size [m] of the skeleton."""
    points = _origins(clip)[0]
    return max(float(np.linalg.norm(np.ptp(points, axis=0))), 0.1)


def _sideways(clip: Clip, up: str) -> Array:
    """Return the horizontal direction (3,) perpendicular to the displacement of the clip.

    A clip that stays in its place is taken to look along x if z is up, else along z.
    """
    middles = _origins(clip).mean(axis=1)
    vertical = np.array([0.0, 1.0, 0.0] if up == '+y' else [0.0, 0.0, 1.0])
    forward = middles[-1] - middles[0]
    forward -= (forward @ vertical) * vertical
    if np.linalg.norm(forward) < 0.3:
        forward = np.array([0.0, 0.0, 1.0] if up == '+y' else [1.0, 0.0, 0.0])
    across = np.cross(vertical, forward)
    return np.asarray(across / np.linalg.norm(across))


def _look_at(server: Any, clip: Clip, up: str) -> None:
    """Place the camera so that it sees the whole clip."""
    points = _origins(clip).reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    middle, size = 0.5 * (low + high), float(np.linalg.norm(high - low))
    away = server.initial_camera.position - server.initial_camera.look_at
    server.initial_camera.look_at = middle
    server.initial_camera.position = middle + 1.7 * size * away / np.linalg.norm(away)


def _add_plot(gui: Any, live: LiveRetargeting, period: float) -> Any:
    from viser import uplot

    grid, ticks = uplot.Axis_Grid(show=False), uplot.Axis_Ticks(show=False)
    none = uplot.Series_Points(show=False)
    lines = [
        uplot.Series(label=link, stroke=hex_of(colour_of_link(i)), width=2, points=none)
        for i, link in enumerate(live.imitator.example.links)
    ]
    now = uplot.Series(label='now', stroke='#9ca3af', width=1, points=none)
    data = error_curves(live.link_errors, period, 0)
    return gui.add_uplot(
        data,
        (uplot.Series(label='s'), *lines, now),
        title='links from their paths [mm], by time [s]',
        scales={
            'x': uplot.Scale(time=False, auto=True),
            'y': uplot.Scale(distr=3, log=10, auto=False, range=(SMALLEST, LARGEST)),
        },
        axes=(uplot.Axis(grid=grid, ticks=ticks), uplot.Axis(grid=grid, ticks=ticks, size=58)),
        legend=uplot.Legend(show=False),
        height=190,
        padding=(8, 24, 0, 0),
    )
