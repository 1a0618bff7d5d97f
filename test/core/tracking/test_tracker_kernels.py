# SPDX-License-Identifier: Apache-2.0
"""States of methods over ticks, and condition numbers."""

import numpy as np
import pytest
from support.robots import random_q, shipped, tip_of
from support.tracked_arms import new_tracker, shipped_of

import ik_core as ik
from ik_core.solvers.damped_least_squares import DampedLeastSquares
from ik_core.tracking import MotionLimits, Tracker

# What methods remember


class Watched(DampedLeastSquares):
    """Notes the Dmax that the first two steps of each solve begin with, and the last one's end."""

    def workspace(self, problem):
        workspace = super().workspace(problem)
        run = workspace.run

        def largest_errors():
            return workspace.own['largest_errors'].copy()

        def watched(iterations):
            ended = None
            if workspace.search['iterations'] == 0:
                for first in (0, 1):
                    ended = ended or run(first)
                    self.begun.append(largest_errors())
            ended = ended or run(iterations - 1)
            self.ended = largest_errors()
            return ended

        workspace.run = watched
        return workspace


def test_a_method_remembers_over_ticks_until_the_goal_jumps():
    """Buss's Dmax is infinite only where a target jumped (2009, section 2)."""
    robot = shipped('panda')
    solver = Watched(max_error_rule='resetting', max_error=0.02, clock=lambda: 0.0)
    solver.begun = []
    tracker = Tracker(
        ik.IkProblem(robot, [ik.PoseTask(tip_of(robot))]), 100.0, solver=solver,
        limits=MotionLimits.of(robot), q0=random_q(robot, np.random.default_rng(1), 0.3),
        clock=lambda: 0.0,
    )  # fmt: skip
    goal = robot.forward_kinematics(tracker.q, tip_of(robot))
    before = np.array([np.inf])
    for _ in range(10):  # dragged
        goal[2, 3] += 0.003
        tracker.set_goal(0, goal, 0.0)
        solver.begun.clear()
        tracker.tick(0.0)
        np.testing.assert_array_equal(solver.begun[0], before)
        before = solver.ended
        assert np.isfinite(before).all()
    goal[0, 3] -= 0.15  # beyond goal_jump_position
    tracker.set_goal(0, goal, 0.0)
    solver.begun.clear()
    tracker.tick(0.0)
    assert np.isinf(solver.begun[0]).all()
    assert np.isfinite(solver.begun[1]).all()


# Condition numbers


def test_the_condition_number_is_that_of_the_scaled_jacobian():
    tracker = new_tracker()
    robot = shipped_of(tracker)
    jacobian = robot.jacobian(tracker.q, tip_of(robot))[:, :7]
    jacobian[3:] *= 0.2
    assert tracker.condition_number() == pytest.approx(np.linalg.cond(jacobian), rel=1e-6)


def test_a_stretched_arm_is_singular():
    tracker = new_tracker('ur5e')
    tracker.reset(np.zeros(6))
    assert tracker.condition_number() > 1e10
