# SPDX-License-Identifier: Apache-2.0
"""The tab of paths: draw poses with the tip or load them, find a motion, play and save it."""

from __future__ import annotations

import html
import math
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ik_core import IkProblem
from ik_core.cli.pose_files import read_poses
from ik_core.display import angle, counted, length
from ik_core.display import time as time_text
from ik_core.maths.rotations import Array
from ik_core.motion import Motion, save_motion
from ik_core.path import PathResult

from ..arm import GoalKind, Moment
from ..drawing.appearance import shapes_of
from ..drawing.colours import BLUE, ORANGE, RED
from ..drawing.drawn_robot import DrawnRobot
from ..local.tracker_setup import GOALS
from ..page.page_context import PageContext, tip_poses
from ..page.panel import Panel
from ..play.paths import segments
from ..play.playhead import Playhead
from .planning import Planning, strips

NAME = '/path'
OPACITY = 0.6
SPACING = 0.01  # distance of drawn poses, relative to the robot's size
TURNED = 0.1  # [rad] poses are drawn after such a turn, too
FRAME_RATE = 60.0  # [Hz]
PLAY, PAUSE = ('Play', 'player-play'), ('Pause', 'player-pause')
TO_DO = 'Draw while you drag the tip, keep single poses, or load a file.'


class PathPanel(Panel):
    """A path, the motion along it, and a pale robot that plays the motion."""

    title = 'Path'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self.poses: list[Array] = []
        self.result: PathResult | None = None
        self._planning: Planning | None = None
        self._player: tuple[Motion, Playhead, DrawnRobot] | None = None
        self._is_positions = False
        self._folder: Any = None
        self._shown = 0.0
        self._add_controls()
        self._show_poses()

    def show(self, moment: Moment) -> None:
        """Draw the path further, take a result, and show the frame of the motion that is due."""
        super().show(moment)
        now = time.monotonic()
        passed, self._shown = now - self._shown, now
        if self._draws.value and self._has_moved():
            self._add()
        planning = self._planning
        if planning is not None and planning.done:
            self._planning = None
            self._take(planning)
        if self._player is not None:
            motion, playhead, drawn = self._player
            playhead.advance(passed)
            drawn.show(motion[playhead.frame])
            self._time.value = playhead.frame * motion.period

    @property
    def shown_frame(self) -> int:
        """The displayed frame of the motion; 0 while none plays."""
        return self._player[1].frame if self._player is not None else 0

    def keep(self, poses: list[Array]) -> None:
        """Store poses (4, 4) in place of all others."""
        self.poses, self._is_positions = poses, False
        self._forget()
        self._show_poses()

    def remove(self) -> None:
        """Take the panel off the page."""
        self._forget()
        self._context.server.scene.remove_by_name(NAME)
        super().remove()

    def _add_controls(self) -> None:
        gui, context = self._gui, self._context
        with self._tab:
            self._text = gui.add_html('')
            self._draws = gui.add_checkbox('Draw', False, hint='Poses where the tip goes')
            self._button('Add the tip', self._add, icon='plus', hint='Its pose, as a waypoint')
            self._button('Drop the last', self._drop, icon='trash')
            self._button('Drop all', lambda: self.keep([]), icon='trash', color='gray')
            load = gui.add_upload_button('Load a path', icon='upload', mime_type='.csv')
            self._within = gui.add_number(
                'Keep within [mm]', 1.0, min=0.01, max=50.0, step=0.01,
                hint='Largest distance of the tip from the straight lines; corners are rounded',
            )  # fmt: skip
            self._speed = gui.add_number('Tip speed [mm/s]', 250.0, min=1.0, max=1e4, step=1.0)
            self._closed = gui.add_checkbox('Closed', False, hint='Return to the first pose')
            self._from_here = gui.add_checkbox(
                'From these joints', False, hint='Begin as the robot is now, or near it'
            )
            self._plan_button = self._button('Find a motion', self._plan, icon='route')
            self._report = gui.add_html('')
        load.on_upload(context.guarded(lambda event: self._load(event.target.value.content)))

    # --- poses -----------------------------------------------------------------------------------

    def _tip_pose(self) -> Array:
        tip = self._context.selection.tip
        return np.asarray(tip_poses(self._context.robot, self._moment)[tip])

    def _has_moved(self) -> bool:
        """Whether the tip is far enough from the last pose to draw another one."""
        if not self.poses:
            return True
        pose, last = self._tip_pose(), self.poses[-1]
        shift = np.linalg.norm(pose[:3, 3] - last[:3, 3])
        cosine = 0.5 * (np.trace(last[:3, :3].T @ pose[:3, :3]) - 1.0)
        return bool(shift > SPACING * self._context.size or cosine < math.cos(TURNED))

    def _add(self) -> None:
        self.keep([*self.poses, self._tip_pose()])

    def _drop(self) -> None:
        self.keep(self.poses[:-1])

    def _load(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, 'path.csv')
            path.write_bytes(content)
            poses = read_poses(path)
        self._draws.value = False
        self.keep(list(poses.transforms))
        self._is_positions = not poses.turned

    def _show_poses(self) -> None:
        """Draw the path, and describe it."""
        points = np.array([pose[:3, 3] for pose in self.poses]).reshape(-1, 3)
        self._plan_button.disabled = len(points) < 2
        self._draw_line('line', points, BLUE)
        self._draw_line('trouble', points[:0], RED)
        span = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
        what = f'{counted(len(points), "pose")}, {length(span)}' if len(points) else TO_DO
        self._text.content = _line(what)

    def _draw_line(self, name: str, points: Array, colour: tuple[int, int, int]) -> None:
        scene = self._context.server.scene
        scene.remove_by_name(f'{NAME}/{name}')
        if len(points):
            scene.add_line_segments(
                f'{NAME}/{name}', segments(points), colour, thickness=3.0, thickness_units='screen'
            )

    # --- the motion ------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Begin to find a motion."""
        self._forget()
        self._draws.value = False
        robot = self._context.robot
        tip = self._moment.tips[self._context.selection.tip]
        kind = GoalKind.POSITION if self._is_positions else tip.kind
        problem = IkProblem(robot, [GOALS[kind](tip.link, tool=tip.tool)])
        within = 1e-3 * self._within.value
        options = {
            'q0': self._moment.q.clip(robot.lower, robot.upper) if self._from_here.value else None,
            'keep_within': (within, 10.0 * within),
            'tip_speed': 1e-3 * self._speed.value,
            'closed': self._closed.value,
            'period': 1.0 / FRAME_RATE,
        }
        self._planning = Planning(problem, np.array(self.poses), options)
        self._report.content = _line('looking for a motion ...')

    def _take(self, planning: Planning) -> None:
        """Show what was found."""
        self.result = planning.result
        if planning.result is None:
            self._report.content = _line(planning.error)
            return
        self._report.content = f'{_line(_summary(planning.result))}{strips(planning)}'
        if planning.result.motion is not None:
            self._play(planning.result.motion)
        elif planning.result.interval is not None:
            self._show_trouble(*planning.result.interval)

    def _show_trouble(self, first: float, last: float) -> None:
        """Draw the part of the path that can't be done in another colour."""
        points = np.array([pose[:3, 3] for pose in [*self.poses, self.poses[0]]])
        at = np.unique([first, *range(math.ceil(first), math.floor(last) + 1), last])
        rows = np.column_stack([np.interp(at, np.arange(len(points)), p) for p in points.T])
        self._draw_line('trouble', rows, RED)

    def _play(self, motion: Motion) -> None:
        """Play a motion with a pale robot, and add its controls."""
        context = self._context
        shapes, _ = shapes_of(context.description)
        drawn = DrawnRobot(
            context.server.scene, f'{NAME}/robot', context.robot, shapes, colour=ORANGE,
            opacity=OPACITY,
        )  # fmt: skip
        playhead = Playhead(len(motion), motion.period)
        self._player = motion, playhead, drawn
        self._folder = self._folder_in_place_of(self._folder, 'Motion')
        with self._folder:
            self._play_button = self._button(PAUSE[0], self._toggle, icon=PAUSE[1])
            self._time = self._gui.add_slider('Time [s]', 0.0, motion.duration, motion.period, 0.0)
            save = self._gui.add_button('Save the motion', icon='download')
        self._on_change(self._time, self._scrub)
        save.on_click(
            context.guarded(
                lambda event: self._send_file(
                    event.client, 'motion.csv', lambda path: save_motion(motion, path)
                )
            )
        )

    def _toggle(self) -> None:
        assert self._player is not None
        self._set_playing(not self._player[1].playing)

    def _scrub(self) -> None:
        """Stop at the time of the slider."""
        assert self._player is not None
        motion, playhead, _ = self._player
        self._set_playing(False)
        playhead.go_to(round(self._time.value / motion.period))

    def _set_playing(self, playing: bool) -> None:
        assert self._player is not None
        self._player[1].playing = playing
        self._play_button.label, self._play_button.icon = PAUSE if playing else PLAY

    def _forget(self) -> None:
        """Drop the motion, and what is being looked for."""
        self._planning = self.result = None
        self._report.content = ''
        player, self._player = self._player, None
        if player is not None:
            player[2].remove()
            self._folder.remove()
            self._folder = None


def _summary(result: PathResult) -> str:
    """A result as a sentence."""
    if result.motion is None:
        done = f'{100.0 * result.fraction:.3g} % of the path can be done from its beginning'
        return f'{result.message}; {done}'
    position, orientation = result.deviation
    text = (
        f'{counted(len(result.q), "pose")} in {time_text(result.motion.duration)}, within '
        f'{length(position)} and {angle(orientation)} of the path'
    )
    return f'{text}; {result.note}' if result.note else text


def _line(text: str) -> str:
    return f'<div style="font-size:0.8rem;padding:0.1rem 0.6rem">{html.escape(text)}</div>'
