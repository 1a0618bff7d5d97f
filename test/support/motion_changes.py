# SPDX-License-Identifier: Apache-2.0
"""What is changed while the slide moves, and the judgement of the way it then takes."""

import math

import numpy as np
from std_srvs.srv import SetBool

from support.slide import assert_keeps_limits, go, rows, slide

FAST = 1.5
SPEEDS = [0.3, FAST]
NONE = math.inf


def record(node, on):
    """Begin or end a recording."""
    answer = node.call(SetBool, 'ik_node/record', SetBool.Request(data=on))
    assert answer.success, answer.message


def change(*sets):
    """Sets of parameters, one call after the other."""

    def act(node):
        for values in sets:
            answer = node.set_parameters(**values)
            assert answer.successful, answer.reason

    return act


def assert_change_keeps_limits(case, speed, folder):
    """The slide goes to its end, and at a speed something happens.

    case : acceleration and jerk before, what happens, acceleration and jerk after
    folder : of recordings
    """
    acceleration, jerk, act, *after = case
    with slide(acceleration, jerk, record_folder=str(folder)) as node:
        go(node, -1.0, 0.1)
        node.until_code('reached')
        go(node, 0.98, speed)
        when = len(node.states)
        act(node)
        node.until_code('reached')
        node.more_states(2)
        before = rows(acceleration, jerk)
        loosest = before.copy()  # the answer comes later than the change
        loosest[3:] = np.maximum(before[3:], rows(*after)[3:])
        answered = len(node.states)
    assert_keeps_limits(
        node.states[:answered], (0, before), (when - 1, loosest), (answered, rows(*after))
    )
