# SPDX-License-Identifier: Apache-2.0
"""The tab of key frames: keep the displayed pose, play the motion between poses, save both."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ik_core import KeyFrames
from ik_core.display import counted
from ik_core.maths.rotations import Array
from ik_core.motion import Motion, save_motion

from ..arm import Moment
from ..drawing.appearance import shapes_of
from ..drawing.colours import ORANGE
from ..drawing.drawn_robot import DrawnRobot
from ..page.page_context import PageContext
from ..page.panel import Panel
from ..play.playhead import Playhead

NAME = '/key_frames'
RATE = 60.0  # Frame rate [Hz] of played and saved motions
OPACITY = 0.6


class KeyFramesPanel(Panel):
    """The poses that were kept, and a pale robot that plays the motion between them."""

    title = 'Key frames'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self.times: list[float] = []
        self.poses: list[Array] = []
        self._player: tuple[Motion, Playhead, DrawnRobot] | None = None
        self._shown = 0.0
        self._add_controls()
        self._describe()

    def show(self, moment: Moment) -> None:
        """Store the pose, and show the frame of the motion that is due."""
        super().show(moment)
        now = time.monotonic()
        passed, self._shown = now - self._shown, now
        if self._player is not None:
            motion, playhead, drawn = self._player
            playhead.advance(passed)
            drawn.show(motion[playhead.frame])

    @property
    def shown_frame(self) -> int:
        """The displayed frame of the motion; 0 while none plays."""
        return self._player[1].frame if self._player is not None else 0

    def remove(self) -> None:
        """Take the panel off the page."""
        self._stop()
        super().remove()

    def keep(self, times: Sequence[float] | Array, poses: Sequence[Array] | Array) -> None:
        """Store these poses (k, n) at times (k,) [s], in place of all others."""
        self.times, self.poses = list(times), list(poses)
        self._describe()

    def key_frames(self) -> KeyFrames:
        """The stored poses. Raises InvalidMotion for fewer than two."""
        tips = [tip.link for tip in self._moment.tips] if self._tips.value else []
        times, poses = list(self.times), list(self.poses)
        if self._closed.value and poses:
            times.append(times[-1] + self._seconds.value)
            poses.append(poses[0])
        frames = KeyFrames(self._context.robot, times, poses, tips=tips, closed=self._closed.value)
        return frames.within() if self._slower.value else frames

    def _add_controls(self) -> None:
        gui, context = self._gui, self._context
        with self._tab:
            self._text = gui.add_html('')
            self._seconds = gui.add_number(
                'Seconds',
                0.5,
                min=0.01,
                max=60.0,
                step=0.01,
                hint='From the last pose',
            )
            self._button('Keep this pose', self._keep, icon='camera')
            self._button('Drop the last', self._drop, icon='trash')
            self._closed = gui.add_checkbox('Cycle', False, hint='Return to the first pose')
            self._tips = gui.add_checkbox(
                'Move the tips on their own curves', True, hint='Feet that stand do not slide'
            )
            self._slower = gui.add_checkbox(
                'Keep the limits of velocity', False, hint='Longer where a joint would be too fast'
            )
            self._play_button = self._button('Play', self._play, icon='player-play')
            self._button('Stop', self._stop, icon='player-stop')
            self._save_button = gui.add_button('Save the motion', icon='download')
            poses = gui.add_button('Save the poses', icon='download')
            load = gui.add_upload_button('Load poses', icon='upload', mime_type='.csv')
        self._closed.on_update(context.guarded(lambda _: self._describe()))
        self._save_button.on_click(context.guarded(lambda event: self._send_motion(event.client)))
        poses.on_click(context.guarded(lambda event: self._send_poses(event.client)))
        load.on_upload(context.guarded(lambda event: self._load(event.target.value.content)))

    def _keep(self) -> None:
        robot = self._context.robot
        self.times.append(self.times[-1] + self._seconds.value if self.times else 0.0)
        self.poses.append(self._moment.q.clip(robot.lower, robot.upper))
        self._describe()

    def _drop(self) -> None:
        del self.times[-1:], self.poses[-1:]
        self._describe()

    def _play(self) -> None:
        self._stop()
        motion = self.key_frames().motion(RATE)
        shapes, _ = shapes_of(self._context.description)
        drawn = DrawnRobot(
            self._context.server.scene,
            NAME,
            self._context.robot,
            shapes,
            colour=ORANGE,
            opacity=OPACITY,
        )
        self._player = motion, Playhead(len(motion), motion.period), drawn

    def _stop(self) -> None:
        player, self._player = self._player, None
        if player is not None:
            player[2].remove()

    def _send_motion(self, client: Any) -> None:
        motion = self.key_frames().motion(RATE)
        self._send_file(client, 'motion.csv', lambda path: save_motion(motion, path))

    def _send_poses(self, client: Any) -> None:
        poses = KeyFrames(self._context.robot, self.times, self.poses)
        self._send_file(client, 'poses.csv', poses.save)

    def _load(self, content: bytes) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, 'poses.csv')
            path.write_bytes(content)
            frames = KeyFrames.load(path, self._context.robot)
        self.keep(frames.times.tolist(), frames.poses)

    def _describe(self) -> None:
        count = len(self.times)
        for button in (self._play_button, self._save_button):
            button.disabled = count + (self._closed.value and count > 0) < 2
        span = f', {self.times[-1] - self.times[0]:.2f} s' if count else ''
        advice = '' if count > 1 else '. Drag the tips, and keep poses: two at least are needed'
        self._text.content = (
            f'<div style="padding:0 0.6rem">{counted(count, "pose")}{span}{advice}</div>'
        )
