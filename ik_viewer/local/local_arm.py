# SPDX-License-Identifier: Apache-2.0
"""`LocalArm`: a tracker in this process, ticked by a thread of its own.

Only that thread uses the tracker. Requests wait in a queue until the next tick; each tick stores
its state as a value, the next moment. So all methods may be called from any thread and return at
once.
"""

from __future__ import annotations

import queue
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.display import joined
from ik_core.exceptions import IkError
from ik_core.maths.argument_types import VectorLike
from ik_core.maths.rotations import Array
from ik_core.tasks import Task
from ik_core.tracking import Command, Tracker, TrackStatus
from ik_core.tracking.status import MISSED

from ..arm import Description, GoalKind, Moment, Setting, TipState, error_text
from .settings import all_settings, changed
from .tracker_setup import limits_of, problem_of, solver_of, tracker_options

RATE = 100.0  # [Hz] of ticks; a page shows 60 of them in a second
MOST_NOTICES = 100
MANY_TIPS = 6
ENDING = 5.0  # [s] longest wait of `close` for the present tick


class LocalArm:
    """An `Arm` over `ik_core.Tracker`.

    tips : the links that follow goals; by default all ends of the robot's chains
    rate : [Hz] of the ticks
    q0 : (n,) the start; by default the middle of the limits
    values : settings that differ from their defaults
    secondary : tasks in the freedom that the goals leave

    Raises IkError if these do not fit the robot.
    """

    def __init__(
        self,
        description: Description,
        tips: Sequence[str] = (),
        *,
        rate: float = RATE,
        q0: VectorLike | None = None,
        values: Mapping[str, Any] | None = None,
        secondary: Sequence[Task] = (),
    ) -> None:
        self.description: Description | None = description
        robot = description.robot
        self._robot, self._rate, self._secondary = robot, rate, tuple(secondary)
        self._tips = tuple(tips) or tuple(robot.tips()) or (robot.default_tip(),)
        self._kinds = [GoalKind.POSE] * len(self._tips)
        self.settings: Mapping[str, Setting] = changed(all_settings(robot), values or {})
        self._home = robot.middle_configuration if q0 is None else robot.checked(q0, 'q0')
        self._tracker = self._new_tracker(self._home)
        self._asked: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._notices = deque([*robot.warnings, *self._many_tips(tips)], MOST_NOTICES)
        self._solve_time, self._iterations = 0.0, 0  # since the last goal
        self._moment = self._first_moment()
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name='arm', daemon=True)
        self._thread.start()

    def _many_tips(self, chosen: Sequence[str]) -> list[str]:
        """Return a notice if there are so many gizmos that they hide each other."""
        if chosen or len(self._tips) <= MANY_TIPS:
            return []
        return [f'{len(self._tips)} links have a gizmo: `ik view ROBOT --tip LINK` shows fewer']

    def read(self) -> Moment | None:
        """Return the state after the last tick; None once it is closed."""
        return None if self._closed.is_set() else self._moment

    def take_notices(self) -> Sequence[str]:
        """Return the errors and refusals since the last call, each a sentence."""
        notices = []
        while self._notices:
            notices.append(self._notices.popleft())
        return notices

    def set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        """Give a tip a goal (4, 4), in the root link's frame."""
        self._asked.put(lambda: self._set_goal(tip, transform, kind))

    def set_twist(self, tip: int, linear: Array, angular: Array) -> None:
        """Move a tip at a velocity (3,) [m/s] and (3,) [rad/s], in the root link's frame."""
        now = time.monotonic()
        self._asked.put(lambda: self._tracker.set_twist(tip, linear, angular, now))

    def set_joint_goal(self, positions: Mapping[str, float]) -> None:
        """Move joints to positions [rad or m] by name."""
        now, positions = time.monotonic(), dict(positions)
        self._asked.put(lambda: self._tracker.move_to(positions, now))

    def home(self) -> None:
        """Move all joints to where they were in the beginning."""
        now = time.monotonic()
        self._asked.put(lambda: self._tracker.move_to(self._home, now))

    def stand_at(self, q: Array) -> None:
        """Stand at q (n,) from the next tick on, without goals."""
        self._asked.put(lambda: self._stand_at(q))

    def set_settings(self, values: Mapping[str, Any]) -> None:
        """Change parameters, all of them or none."""
        values = dict(values)
        self._asked.put(lambda: self._set_settings(values))

    def pause(self, paused: bool) -> None:
        """Stop and keep the goals; or, with False, resume."""
        self._asked.put(lambda: self._tracker.pause(paused))

    def reset(self) -> None:
        """Drop the goals."""
        self._asked.put(self._tracker.stop)

    def close(self) -> None:
        """End the thread of the ticks."""
        self._closed.set()
        self._thread.join(ENDING)

    # On the thread of the ticks

    @property
    def period(self) -> float:
        """Period of the ticks [s]."""
        return self._tracker.period

    def tick(self, now: float) -> None:
        """Handle the requests, and move by a period."""
        try:
            self._do_what_is_asked()
            self._moment = self._moment_of(self._tracker.tick(now), now)
        except Exception as error:  # the next tick continues from the present positions
            self._notices.append(error_text(error))

    def _run(self) -> None:
        wake = time.monotonic()
        while not self._closed.wait(max(wake - time.monotonic(), 0.0)):
            now = time.monotonic()
            wake = max(wake + self.period, now)  # late ticks are not caught up
            self.tick(now)

    def _do_what_is_asked(self) -> None:
        while not self._asked.empty():
            ask = self._asked.get()
            try:
                ask()
            except IkError as error:
                self._notices.append(str(error))

    def _stand_at(self, q: Array) -> None:
        self._tracker = self._new_tracker(q)

    def _set_goal(self, tip: int, transform: Array, kind: GoalKind) -> None:
        now = time.monotonic()
        self._tracker.set_goal(tip, transform, now)
        self._solve_time, self._iterations = 0.0, 0
        if self._kinds[tip] is kind:
            return
        self._kinds[tip] = kind
        self._tracker.set_problem(self._problem(self.settings))
        # A goal of another kind is a new one: dropping the previous one allows a global search.
        self._tracker.set_goal(tip, None, now)
        self._tracker.set_goal(tip, transform, now)

    def _set_settings(self, values: Mapping[str, Any]) -> None:
        settings = changed(self.settings, values)
        limits, options = limits_of(self._robot, settings), tracker_options(settings)
        problem, solver = self._problem(settings), solver_of(settings)
        self._tracker.set_limits(limits)
        self._tracker.set_problem(problem)
        self._tracker.set_options(options)
        if solver != solver_of(self.settings):
            self._tracker.set_solver(*solver)
        self.settings = settings

    def _moment_of(self, command: Command, now: float) -> Moment:
        followed = self._tracker.has_goals and self._tracker.joint_goal is None
        condition = self._tracker.condition_number() if followed else 0.0
        self._solve_time += command.solve_time
        self._iterations += command.iterations
        return Moment(
            time=now,
            q=command.q,
            tips=self._tip_states(command.position_errors, command.orientation_errors),
            code=command.status.value,
            text=self._text_of(command),
            solution=command.solution,
            solve_time=self._solve_time,
            iterations=self._iterations,
            condition_number=condition,
        )

    def _text_of(self, command: Command) -> str:
        """Return the sentence of the status, with the solver's note if goals are not reached."""
        missed = command.status in (*MISSED, TrackStatus.OTHER_CONFIGURATION)
        return joined(command.status.text, self._tracker.solver_note if missed else '')

    def _first_moment(self) -> Moment:
        none = np.zeros(len(self._tips))
        return Moment(
            time.monotonic(), self._tracker.q, self._tip_states(none, none), 'idle', 'starting'
        )

    def _tip_states(self, positions: Array, orientations: Array) -> tuple[TipState, ...]:
        goals = self._tracker.goals
        return tuple(
            TipState(link, np.eye(4), kind, goal, float(position), float(orientation))
            for link, kind, goal, position, orientation in zip(
                self._tips, self._kinds, goals, positions, orientations, strict=True
            )
        )

    def _problem(self, settings: Mapping[str, Setting]) -> Any:
        return problem_of(self._robot, self._tips, self._kinds, settings, self._secondary)

    def _new_tracker(self, q0: Array) -> Tracker:
        limits, problem = limits_of(self._robot, self.settings), self._problem(self.settings)
        solver, options = solver_of(self.settings)
        return Tracker(
            problem,
            self._rate,
            limits=limits,
            solver=solver,
            solver_options=options,
            options=tracker_options(self.settings),
            q0=q0,
        )
