# SPDX-License-Identifier: Apache-2.0
"""The services ~/reset and ~/pause, which respond once the joints rest, and ~/home.

rclpy sends the response when the callback returns, and until then the callback holds the lock of
the ticks: a callback that waited, or a coroutine, would block them. So the executor's call that
sends the response is intercepted, and `answer`, which is called periodically, sends it later.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from rclpy.node import Node
from std_srvs.srv import SetBool, Trigger

from ..clocks import NodeClock
from ..conversions import Refused
from ..inputs.joint_states import FeedbackMonitor
from ..robot_model import Model

ANSWER_PERIOD = 0.02  # [s] between checks whether waiting calls can be answered
NO_ROBOT = 'there is no robot yet'
TAKEN_BACK = 'cancelled before the joints were at rest: resuming'


@dataclass
class Waiting:
    """A call that waits for the joints to rest.

    answer : its response
    done : the message of the response once the joints rest
    pauses : whether it is a call of ~/pause
    until : [s] deadline of the response
    since : [ns] time of the call, on the clock of the ticks
    send : sends the response; None until the executor has called it
    """

    answer: Any
    done: str
    pauses: bool
    until: float
    since: int
    send: Callable[[], object] | None = None


class Controls:
    """The services ~/reset, ~/pause and ~/home.

    model : returns the robot model that is moved, None without a robot
    drop_goals : brings the robot to rest and drops its goals
    go_home : sets the home positions as a goal; raises Refused
    """

    def __init__(
        self,
        node: Node,
        clock: NodeClock,
        model: Callable[[], Model | None],
        drop_goals: Callable[[], None],
        go_home: Callable[[], None],
        feedback: FeedbackMonitor,
    ) -> None:
        self._node, self._clock = node, clock
        self._model = model
        self._drop_goals, self._go_home = drop_goals, go_home
        self._feedback = feedback
        self._services: list[Any] = []
        self._waiting: list[Waiting] = []

    def open(self) -> None:
        """Offer the services."""
        self._offer(Trigger, '~/reset', self._on_reset)
        self._offer(SetBool, '~/pause', self._on_pause)
        self._offer(Trigger, '~/home', self._on_home)

    def close(self) -> None:
        """Answer the waiting calls, and withdraw the services."""
        self._answer_all(or_else=(False, 'the node has ended; the joints may not be at rest'))
        while self._services:
            self._node.destroy_service(self._services.pop())

    def answer(self) -> None:
        """Answer the waiting calls whose outcome is known; called every ANSWER_PERIOD."""
        self._answer_all()

    def reset(self) -> bool:
        """Drop all goals, come to rest, and restart at the measured state, if there is one.

        Returns False without a robot.
        """
        model = self._model()
        if model is not None:
            self._drop_goals()
            self._feedback.reset()
        return model is not None

    def pause(self, paused: bool) -> bool:
        """Come to rest and keep the goals, or resume following them.

        Returns False without a robot.
        """
        model = self._model()
        if model is not None:
            model.tracker.pause(paused)
        return model is not None

    def _offer(self, kind: Any, name: str, callback: Callable[[Any, Any], Any]) -> None:
        service = self._node.create_service(kind, name, callback)
        service.send_response = partial(self._send_or_keep, service.send_response)
        self._services.append(service)

    def _send_or_keep(self, send: Callable[..., object], answer: Any, header: Any) -> None:
        """Send a response for the executor, or keep it for a call that waits."""
        for call in self._waiting:
            if call.answer is answer:
                call.send = partial(send, answer, header)
                return
        send(answer, header)

    def _on_reset(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        known = self.reset()
        self._begin_answer(answer, known, 'at rest; the goals are dropped', pauses=False)
        return answer

    def _on_pause(self, request: SetBool.Request, answer: SetBool.Response) -> SetBool.Response:
        known = self.pause(request.data)
        self._answer_all()  # a resume cancels calls that wait for the pause
        if request.data:
            self._begin_answer(answer, known, 'paused', pauses=True)
        else:
            answer.success, answer.message = known, 'resumed' if known else NO_ROBOT
        return answer

    def _on_home(self, request: Trigger.Request, answer: Trigger.Response) -> Trigger.Response:
        try:
            self._go_home()
        except Refused as refused:
            answer.success, answer.message = False, str(refused)
            return answer
        model = self._model()
        waits = model is not None and model.tracker.paused
        answer.success, answer.message = True, 'home after the pause' if waits else 'going home'
        return answer

    def _begin_answer(self, answer: Any, known: bool, done: str, *, pauses: bool) -> None:
        """Fill in the response, or let the call wait until the joints rest."""
        model = self._model()
        if model is None or not known:
            answer.success, answer.message = False, NO_ROBOT
            return
        until = time.monotonic() + model.longest_stop
        call = Waiting(answer, done, pauses, until, self._clock.now())
        outcome = self._outcome(call)
        if outcome is None:
            self._waiting.append(call)
        else:
            answer.success, answer.message = outcome

    def _answer_all(self, or_else: tuple[bool, str] | None = None) -> None:
        """Answer the calls whose outcome is known; all others by `or_else`, if given."""
        for call in list(self._waiting):
            outcome = self._outcome(call) or or_else
            if outcome is not None and call.send is not None:
                call.answer.success, call.answer.message = outcome
                self._waiting.remove(call)
                call.send()

    def _outcome(self, call: Waiting) -> tuple[bool, str] | None:
        """Return the success and message of a call; None while it has to wait."""
        model = self._model()
        if model is None:
            return None
        if call.pauses and not model.tracker.paused:
            return False, TAKEN_BACK
        if model.at_rest:
            return True, call.done
        if not (call.pauses or model.tracker.stopped):
            return True, 'the goals are dropped; moving again'
        if time.monotonic() < call.until:
            return None
        return False, self._why_moving(call)

    def _why_moving(self, call: Waiting) -> str:
        if not self._clock.simulated:
            return 'braking, but not at rest in time: ticks come too late'
        gone = 1e-9 * (self._clock.now() - call.since)
        if gone == 0.0:
            return 'not at rest: the simulated clock is stopped; braking as soon as it runs'
        return f'braking, but not at rest: the simulated clock advanced by {gone:.3g} s only'
