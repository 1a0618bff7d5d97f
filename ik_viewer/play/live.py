# SPDX-License-Identifier: Apache-2.0
"""Retargeting while one looks: frame by frame in a thread, and anew where a weight changes.

It begins at the frame that is shown, so that what one sees changes at once, and goes on to the
end. Then it goes through the whole clip from its first frame: where a frame ends depends on where
the one before did, and that is what `ik.retargeting.retarget` answers, to the last digit.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ik_core import IkResult
from ik_core.maths.rotations import Array
from ik_core.retargeting.frame_solver import FrameSolver, Weights
from ik_core.solvers import DEFAULT_SOLVER

from ..arm import error_text
from .clip import Imitator


@dataclass(frozen=True)
class Wish:
    """The requested retargeting: `beta` and `alpha` as in `ik.retargeting.retarget`, the limits
    kept or not; first of all for the `frame` that is shown.
    """

    beta: float = 1e-5
    keep_limits: bool = True
    frame: int = 0
    alpha: float | None = None


class LiveRetargeting:
    """The motion of an imitator, as far as it is known.

    `positions` (frames, n) and `link_errors` (frames, links) [m] are those of the last wish where
    `fresh` (frames,) says so, else of the one before; nan where nothing is known yet. `final`:
    whether they are those of `ik.retargeting.retarget`. `text` says what it is at.
    """

    def __init__(self, imitator: Imitator, wish: Wish | None = None) -> None:
        frames, robot = len(imitator.example), imitator.robot
        self.imitator = imitator
        self.positions = np.full((frames, robot.n), np.nan)
        self.link_errors = np.full((frames, len(imitator.example.links)), np.nan)
        self.fresh = np.zeros(frames, bool)
        self.final = False
        self.text = ''
        self._wish = wish or Wish()
        self._asked = threading.Event()
        self._asked.set()
        self._closed = False
        self._thread = threading.Thread(target=self._run, name='retarget', daemon=True)
        self._thread.start()

    @property
    def wish(self) -> Wish:
        """The last request."""
        return self._wish

    def ask(self, wish: Wish) -> None:
        """Solve it anew; what is under way is given up."""
        self._wish = wish
        self.final = False
        self.fresh[:] = False
        self._asked.set()

    def close(self) -> None:
        """End the thread, after the frame that is under way."""
        self._closed = True
        self._asked.set()
        self._thread.join()

    def _run(self) -> None:
        while True:
            self._asked.wait()
            self._asked.clear()
            if self._closed:
                return
            try:
                self._solve(self._wish)
            except Exception as error:  # the page says it, and shows what was known before
                self.text = error_text(error)

    def _solve(self, wish: Wish) -> None:
        self.text, self.final = 'solving', False
        self.fresh[:] = False
        weights = Weights(beta=wish.beta, alpha=wish.alpha)
        passes = [wish.frame, 0] if wish.frame > 0 else [0]
        for first in passes:
            imitation = FrameSolver(
                self.imitator.robot,
                self.imitator.example,
                weights,
                self.imitator.length,
                keep_limits=wish.keep_limits,
            )
            before = self.positions[first - 1] if first > 0 else None
            known = before is not None and bool(np.isfinite(before).all())
            answers = imitation.frames(DEFAULT_SOLVER, {}, before if known else None, first)
            if not self._note(answers, first):
                return
        self.final = True
        self.text = ''

    def _note(self, answers: Iterator[IkResult], first: int) -> bool:
        """Note the answers from frame `first` on; False where something else is wanted."""
        for frame, result in enumerate(answers, first):
            if self._asked.is_set():
                return False
            self._note_frame(frame, result.q)
        return True

    def _note_frame(self, frame: int, q: Array) -> None:
        robot, example = self.imitator.robot, self.imitator.example
        frames = robot.frames(q)
        here = np.array([robot.link_transform(frames, link)[:3, 3] for link in example.links])
        self.positions[frame] = q
        self.link_errors[frame] = np.linalg.norm(here - example.paths[frame], axis=1)
        self.fresh[frame] = True
