# SPDX-License-Identifier: Apache-2.0
"""Whatever fails in motion, each published step keeps the limits.

Judged as in `test_changes_in_motion`.
"""

import math

import pytest

pytest.importorskip('rclpy')

from support.node_harness import is_still
from support.slide import assert_keeps_limits, at, go, rows, slide

from ik_core.tracking import tick, tracker
from ik_core.tracking.solution.goal_solver import GoalSolver
from ik_node.outputs.commands import SerializedJointStateWriter


class Faults:
    """Lets a function raise in its next calls."""

    def __init__(self, monkeypatch, owner, name):
        self.left, works = 0, getattr(owner, name)

        def wrapped(*arguments, **named):
            if self.left:
                self.left -= 1
                raise ArithmeticError('injected')
            return works(*arguments, **named)

        monkeypatch.setattr(owner, name, wrapped)


# Where something raises: before the step of the joints is taken, and after it
PLACES = {
    'the solver': (GoalSolver, 'follow'),
    'the tips': (tick, 'advance_tips'),
    'the command': (tick, 'command_of'),
    'the whole tick': (tracker, 'advance'),
}


@pytest.mark.parametrize('jerk', [math.inf, 60.0])
@pytest.mark.parametrize('place', PLACES)
def test_an_exception_in_a_tick_brakes_within_limits_and_the_goal_is_kept(
    place, jerk, monkeypatch
):
    faults = Faults(monkeypatch, *PLACES[place])
    with slide(10.0, jerk) as node:
        go(node, 0.98, 0.8)
        faults.left = 15
        node.send_goal(at(0.97))  # something to solve
        node.until(lambda: not faults.left, 'all faults')
        node.until(
            lambda: is_still(node.states[-1]) and abs(node.states[-1].position[0] - 0.97) < 1e-4,
            'rest at the goal',
        )
        # The tick that brakes fails at the command, too: one error is counted for two of them.
        node.until(lambda: int(node.diagnostics.get('errors', 0)) >= 7, 'errors that are counted')
    assert_keeps_limits(node.states, (0, rows(10.0, jerk)))


def test_an_output_that_fails_leaves_out_a_message_and_counts_it(monkeypatch):
    faults = Faults(monkeypatch, SerializedJointStateWriter, 'write')
    with slide(10.0) as node:
        go(node, 0.98, 1.0)
        faults.left = 1
        node.until_code('reached')
        node.until(lambda: int(node.diagnostics.get('errors', 0)) == 1, 'the error')
