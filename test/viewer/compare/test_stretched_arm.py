# SPDX-License-Identifier: Apache-2.0
"""The stretched arm: it is what it says, and the methods differ there as the papers have it."""

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core.exceptions import UnsupportedProblem
from ik_viewer.compare.methods import LINE_SEARCH, all_methods, method_named
from ik_viewer.compare.start import BENT, TOWARDS_BASE, stretched_arm
from ik_viewer.compare.stepped_solve import Phase, SteppedSolve

ARMS = ['panda', 'ur5e', 'iiwa14', 'arm5', 'dual_arm', 'pr2_like']
every_arm = pytest.mark.parametrize('name', ARMS)


def start_for(name):
    robot = robots.shipped(name)
    return stretched_arm(robot, robot.tips()[0])


@every_arm
def test_no_posture_reaches_further_towards_where_it_is_stretched(name):
    start = start_for(name)
    robot, (goal,) = start.robot, start.goals
    tip = robot.forward_kinematics(start.q0, goal.link)[:3, 3]
    along = tip - goal.target[:3, 3]
    along /= np.linalg.norm(along)
    rng = np.random.default_rng(1)
    low = np.maximum(robot.lower, -np.pi)
    others = rng.uniform(low, np.minimum(robot.upper, np.pi), (2000, robot.n))
    others[:, ~np.isin(np.arange(robot.n), robot.chain(goal.link))] = 0.0
    reached = [robot.forward_kinematics(q, goal.link)[:3, 3] @ along for q in others]
    assert max(reached) < tip @ along + BENT


@every_arm
def test_no_joint_moves_its_tip_towards_the_goal_though_that_is_far(name):
    start = start_for(name)
    robot, (goal,) = start.robot, start.goals
    tip = robot.forward_kinematics(start.q0, goal.link)[:3, 3]
    error = goal.target[:3, 3] - tip
    free = (start.q0 > robot.lower + 2 * BENT) & (start.q0 < robot.upper - 2 * BENT)
    pushes = robot.jacobian(start.q0, goal.link)[:3].T[free] @ (error / np.linalg.norm(error))
    length = np.linalg.norm(error) / TOWARDS_BASE
    assert np.abs(pushes).max() < 6 * BENT * length
    inside = (start.q0 >= robot.lower) & (start.q0 <= robot.upper)
    assert inside.all()


def test_it_is_the_same_every_time():
    first, second = start_for('panda'), start_for('panda')
    np.testing.assert_array_equal(first.q0, second.q0)
    np.testing.assert_array_equal(first.goals[0].target, second.goals[0].target)


def test_an_arm_without_an_end_is_refused():
    joints = [
        ik.robot.Joint('rail', 'prismatic', 'world', 'cart', axis=np.eye(3)[0], lower=-np.inf,
                 upper=np.inf),
        ik.robot.Joint('turn', 'revolute', 'cart', 'tip', axis=np.eye(3)[2], lower=-1.0,
                       upper=1.0),
    ]  # fmt: skip
    robot = ik.Robot.from_joints('endless', ['world', 'cart', 'tip'], joints)
    with pytest.raises(UnsupportedProblem, match='can be stretched'):
        stretched_arm(robot, 'tip')


@pytest.fixture(scope='module')
def updates():
    """Return the number of updates of each method on every arm, and its end."""
    found = {}
    for name in ARMS:
        runs = [SteppedSolve(method, start_for(name)) for method in LINE_SEARCH]
        for run in runs:
            while not run.over:
                run.advance(500, 1e9)
        found[name] = [run.state for run in runs]
    return found


@every_arm
def test_the_transpose_crawls_the_line_search_is_fine_and_ours_is_there_at_once(updates, name):
    transpose, _, line_search, ours = updates[name]
    reached = ik.IkStatus.REACHED.value
    assert [line_search.text, ours.text] == [reached, reached]
    assert transpose.text in (reached, ik.IkStatus.ITERATION_LIMIT.value)
    assert ours.iterations <= 12
    assert line_search.iterations >= 8 * ours.iterations
    assert transpose.iterations >= 40 * ours.iterations
    assert transpose.iterations > line_search.iterations


@every_arm
def test_the_jacobian_inverse_that_projects_afterwards_ends_short_of_the_goal(updates, name):
    _, inverse, *_ = updates[name]
    assert inverse.phase is Phase.DONE
    assert inverse.position_error > 0.05


def test_names_on_the_page_are_those_of_one_method_each():
    names = [method.name for method in all_methods()]
    assert len(set(names)) == len(names) >= len(ik.SOLVERS)
    assert all(method_named(c.name) == c for c in all_methods())
    assert set(LINE_SEARCH) <= set(all_methods())
    with pytest.raises(ik.InvalidOption, match='no method'):
        method_named('simplex')
