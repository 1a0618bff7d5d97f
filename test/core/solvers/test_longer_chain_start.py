# SPDX-License-Identifier: Apache-2.0
"""Arms on a rail, a lift or a turntable: the first attempt solves for the arm in closed form."""

from xml.etree import ElementTree

import numpy as np
import pytest
from support import pinocchio_oracle
from support.first_attempts import (
    check_out_of_reach_is_left_to_the_search,
    check_ways_agree,
    far_from_goal,
    random_poses,
    solved,
)

import ik_core as ik
from ik_core.closed_form.initial_guess import NEAR_FOR_SEVEN, initial_guess_of
from ik_core.maths.lanes import HAS_LANES
from ik_core.maths.rotations import frames_of
from ik_core.robot.shipped import shipped_robots

pytestmark = pytest.mark.skipif(not HAS_LANES, reason='there are no lanes')

TIPS = {'ur5e': 'tool0', 'panda': 'panda_hand_tcp'}
JOINT = (
    '<joint name="other" type="{kind}"><parent link="{parent}"/><child link="{child}"/>'
    '<origin xyz="0.1 -0.2 0.3" rpy="0.2 -0.1 0.4"/><axis xyz="{axis}"/>'
    '<limit lower="-0.8" upper="0.6" effort="1" velocity="1"/></joint>'
)
CHAINS = {
    'on a rail': ('ur5e', 'prismatic', '0 1 0', True),
    'on a lift': ('panda', 'prismatic', '0 0 1', True),
    'on a turntable': ('panda', 'revolute', '0.6 0 0.8', True),
    'a tool that slides': ('ur5e', 'prismatic', '0.6 0.8 0', False),
    'a tool that turns': ('panda', 'revolute', '0.6 0.8 0', False),
}


def urdf_of(case):
    """The URDF of an arm with a joint more, before its first link or behind its tip."""
    name, kind, axis, before = CHAINS[case]
    root = ElementTree.parse(shipped_robots()[name]).getroot()
    children = {joint.find('child').get('link') for joint in root.iterfind('joint')}
    base = next(e.get('name') for e in root.iterfind('link') if e.get('name') not in children)
    parent, child = ('more', base) if before else (TIPS[name], 'more')
    root.append(ElementTree.fromstring('<link name="more"/>'))
    filled = JOINT.format(kind=kind, parent=parent, child=child, axis=axis)
    root.append(ElementTree.fromstring(filled))
    return ElementTree.tostring(root, encoding='unicode')


def problem_of(case, **given):
    name, _, _, before = CHAINS[case]
    robot = ik.load_urdf(urdf_of(case))
    return ik.IkProblem(robot, [ik.PoseTask(TIPS[name] if before else 'more')], **given)


@pytest.mark.parametrize('case', CHAINS)
def test_the_arm_reaches_the_goal_from_where_the_other_joint_stands(case):
    problem = problem_of(case)
    robot, link, variables = problem.robot, problem.goals[0].link, problem.variables
    targets, _, starts = random_poses(problem, 80, seed=1)
    rows = np.ascontiguousarray(starts[:, variables])
    points = np.full_like(rows, np.nan)
    initial_guess_of(problem).fill(frames_of(targets[:, None]), rows, 0, len(rows), points)
    model = pinocchio_oracle.pin.buildModelFromXML(urdf_of(case))
    other = list(variables).index(robot.joint_names.index('other'))
    begun = 0
    for target, start, row, point in zip(targets, starts, rows, points, strict=True):
        problem.goals[0].set_target(target)
        assert point[other] == row[other]
        assert (problem.limits.lower <= point).all()
        assert (point <= problem.limits.upper).all()
        if (point == row).all():
            continue
        q = start.copy()
        q[variables] = point
        there = pinocchio_oracle.link_poses(model, robot.joint_values(q))[link]
        np.testing.assert_allclose(there, target, rtol=0, atol=3e-9)
        begun += 1
        if CHAINS[case][-1]:  # else it is measured where the joint behind begins
            assert far_from_goal(problem, start) > NEAR_FOR_SEVEN
    assert begun > 15


@pytest.mark.parametrize('case', CHAINS)
def test_batches_single_solves_and_searches_step_by_step_agree(case):
    """Random, near and unreachable poses."""
    options = {'restarts': 3, 'max_iterations': 30}
    _, _, singles = check_ways_agree(problem_of(case), 0.02, options)
    assert sum(single.iterations == 0 for single in singles) > 8


def test_starts_outside_the_limits_are_put_inside_first():
    problem = problem_of('on a rail')
    targets, _, starts = random_poses(problem, 40, seed=3)
    rail = problem.robot.joint_names.index('other')
    starts[:, rail] = 5.0
    at_once = [one for one in solved(problem, targets, starts) if one.iterations == 0]
    assert len(at_once) > 5
    assert all(one.q[rail] == problem.robot.upper[rail] for one in at_once)
    inside = np.clip(starts, problem.robot.lower, problem.robot.upper)
    for one, other in zip(
        solved(problem, targets, starts), solved(problem, targets, inside), strict=True
    ):
        np.testing.assert_allclose(one.q, other.q, rtol=0, atol=1e-12)


def test_what_the_arm_reaches_from_nowhere_is_searched_for_from_the_start():
    check_out_of_reach_is_left_to_the_search(problem_of('on a lift'))
