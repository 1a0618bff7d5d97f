# SPDX-License-Identifier: Apache-2.0
"""`python -m soak.faulty`: the node, in which things raise at random.

What is called in a tick raises now and then, before it did its work or after: of a kind of
exception that nobody expects. Nothing of this is in the node itself. The signal CALM ends that,
and EXCITED begins it again. From LATE until then many solves are cut off before they begin, as
where others use the processor. STALL holds the next messages up, after they were computed.
"""

from __future__ import annotations

import functools
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from ik_core.optim.search import Budget
from ik_core.tracking import tick
from ik_core.tracking.governor.joint_motion import JointMotion
from ik_core.tracking.solution.goal_solver import GoalSolver
from ik_core.tracking.solution.rest_posture import RestPosture
from ik_node.control_loop import ControlLoop
from ik_node.inputs.goal_topics import Goals
from ik_node.inputs.joint_states import FeedbackMonitor
from ik_node.main import main
from ik_node.outputs.diagnostics import Diagnostics

SHARE = 1e-4  # Of calls in which something raises,
AGAIN = 0.7  # and of the calls after one that raised
PLACES: list[tuple[Any, str]] = [
    (GoalSolver, 'follow'),
    (GoalSolver, 'follow_step'),
    (GoalSolver, 'begin_tick'),
    (RestPosture, 'step'),
    (JointMotion, 'follow'),
    (tick, 'command_of'),
    (tick, 'advance_tips'),
    (Goals, 'take'),
    (Diagnostics, 'record'),
    (FeedbackMonitor, 'compare'),
]
# Where a step that is not published would be lost: these raise after they did their work
AFTER: list[tuple[type, str]] = [(ControlLoop, '_send')]


CALM, EXCITED, LATE = signal.SIGUSR1, signal.SIGUSR2, signal.SIGRTMIN
STALL = signal.SIGRTMIN + 1
# [s] By so much messages are held up, one after the other, between tick and publication
STALLS = (0.02, 0.12, 0.0, 0.05)
LATE_SHARE = 0.3  # Of the solves of ticks that are cut off


class Injected(Exception):
    """An exception that the campaign raises on purpose."""


def let_fail(
    owner: Any, name: str, late: bool, numbers: random.Random, calm: Sequence[int] = ()
) -> None:
    """Let a method raise at random, but while `calm` has something in it; where it is `late`, only
    after it did its work.
    """
    works: Callable[..., Any] = getattr(owner, name)
    share = [SHARE]

    @functools.wraps(works)
    def wrapped(*arguments: Any, **named: Any) -> Any:
        fails = not calm and numbers.random() < share[0]
        share[0] = AGAIN if fails else SHARE
        done = works(*arguments, **named) if late or not fails or numbers.random() < 0.5 else None
        if fails:
            raise Injected(name)
        return done

    setattr(owner, name, wrapped)


def let_be_late(numbers: random.Random, cut_off: Sequence[int]) -> None:
    """Let the time of a tick's solve be over at random, while `cut_off` has something in it."""
    works = GoalSolver._refine

    def refined(solver: GoalSolver, budget: Budget) -> bool:
        whole = budget is solver._whole_budget
        cut = cut_off and whole and numbers.random() < LATE_SHARE
        return works(solver, Budget(0.0) if cut else budget)

    setattr(GoalSolver, '_refine', refined)  # noqa: B010


def let_stall(stalls: list[float]) -> None:
    """Let the decision whether a message is published take as long as the next of `stalls`."""
    works = FeedbackMonitor.may_publish

    def slow(monitor: FeedbackMonitor, model: Any, rested: bool) -> bool:
        if stalls:
            time.sleep(stalls.pop())
        return works(monitor, model, rested)

    setattr(FeedbackMonitor, 'may_publish', slow)  # noqa: B010


def run() -> int:
    """Run the node with faults."""
    numbers, calm, cut_off = random.Random(5), list[int](), list[int]()

    def excite(number: int, frame: object) -> None:
        calm.clear()
        cut_off.clear()

    signal.signal(CALM, lambda number, frame: calm.append(number))
    signal.signal(EXCITED, excite)
    signal.signal(LATE, lambda number, frame: cut_off.append(number))
    stalls: list[float] = []
    signal.signal(STALL, lambda number, frame: stalls.extend(STALLS))
    let_be_late(numbers, cut_off)
    let_stall(stalls)
    for places, late in ((PLACES, False), (AFTER, True)):
        for owner, name in places:
            let_fail(owner, name, late, numbers, calm)
    return int(main() or 0)


if __name__ == '__main__':
    sys.exit(run())
