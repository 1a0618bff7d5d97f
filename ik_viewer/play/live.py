# SPDX-License-Identifier: Apache-2.0
"""Live retargeting: frame by frame in a thread, and again after a change of a weight.

It begins at the displayed frame, so that the display changes at once, and continues to the end.
Then it solves the whole clip from its first frame: the solution of a frame depends on the one
before. The result then equals that of `ik.retargeting.retarget`, to the last digit.
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
    """A request to retarget.

    beta, alpha : weights, as in `ik.retargeting.retarget`
    keep_limits : whether joint limits are kept
    frame : the displayed frame, which is solved first
    """

    beta: float = 1e-5
    keep_limits: bool = True
    frame: int = 0
    alpha: float | None = None


class LiveRetargeting:
    """The motion of an imitator, as far as it is solved.

    `positions` : (frames, n), nan for frames never solved
    `link_errors` : (frames, links) [m]
    `fresh` : (frames,) whether they are solved for the last wish; else they are of earlier ones
    `final` : whether they equal the result of `ik.retargeting.retarget`
    `text` : the state of the work
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
        """Solve another request, and abandon the present one."""
        self._wish = wish
        self.final = False
        self.fresh[:] = False
        self._asked.set()

    def close(self) -> None:
        """End the thread, after its present frame."""
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
            except Exception as error:  # the page shows the text, and the earlier frames
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
        """Store the answers from frame `first` on; return False if another request came."""
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
