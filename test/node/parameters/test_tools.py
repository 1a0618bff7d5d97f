# SPDX-License-Identifier: Apache-2.0
"""Tools: goals, errors and twists are for the tool at the tip."""

import math

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import check_states
from support.panda_world import ACCELERATION, RATE, TIP, moved, panda_world, tip_of
from support.twists import jog, twist

from ik_core.maths.rotations import matrix_from_rpy


def test_goals_and_errors_are_for_the_tool(robot):
    tool = np.eye(4)
    tool[:3, :3] = matrix_from_rpy((0.1, -0.2, 0.3))
    tool[:3, 3] = (0.01, 0.02, 0.15)
    parameters = {
        f'tools__{TIP}__xyz': [0.01, 0.02, 0.15],
        f'tools__{TIP}__rpy': [0.1, -0.2, 0.3],
    }
    with panda_world(**parameters) as panda:
        q = np.array(panda.more_states(1)[0].position)[: robot.n]
        q[:7] += 0.1
        goal = robot.forward_kinematics(q, TIP) @ tool
        panda.send_goal(goal)
        panda.until_code('reached')
        there = tip_of(robot, panda.more_states(1)[-1])
        np.testing.assert_allclose(there @ tool, goal, atol=1e-4)
        # A longer tool, while it is there: the tip steps back.
        changed = {f'tools__{TIP}__xyz': [0.01, 0.02, 0.2]}
        assert panda.set_parameters(**changed).successful
        tool[2, 3] = 0.2
        panda.until(
            lambda: np.allclose(tip_of(robot, panda.states[-1]) @ tool, goal, atol=1e-4),
            'the longer tool at the goal',
        )
        # Turning about the tool moves the tip, not the tool.
        centre = (tip_of(robot, panda.more_states(1)[-1]) @ tool)[:3, 3]
        start = tip_of(robot, panda.states[-1])
        jog(
            panda,
            twist(angular=(0.3, 0.0, 0.0)),
            lambda: moved(robot, panda, start) > 0.05,
            'a turn',
        )
        tip = tip_of(robot, panda.states[-1])
        np.testing.assert_allclose((tip @ tool)[:3, 3], centre, atol=2e-3)
        assert np.linalg.norm(tip[:3, 3] - start[:3, 3]) > 0.005
        check_states(panda.states, robot, RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize('wrong', [[1.0, 2.0], [1.0, 2.0, math.nan], 'up', [True, False, True]])
def test_a_tool_that_is_none_is_refused(wrong):
    with panda_world() as panda:
        panda.more_states(1)
        result = panda.set_parameters(**{f'tools__{TIP}__xyz': wrong})
        assert not result.successful
        assert 'three finite numbers' in result.reason
