# SPDX-License-Identifier: Apache-2.0
"""Names of branches: one for each solution, the same along paths, true to the arm's shape."""

import numpy as np
import pytest
from scipy.interpolate import CubicSpline
from support.robots import shipped

import ik_core as ik
from benchmark.robots import kr, puma, six
from ik_core.closed_form import branch_names

ARMS = {'ur5e': lambda: shipped('ur5e'), 'kr': kr, 'puma': puma, 'six': six}


def problem_of(robot, **options):
    return ik.IkProblem(robot, [ik.PoseTask(robot.default_tip())], **options)


def random_motion(problem, rng, count=400):
    """Configurations of a smooth motion without singularities."""
    lower, upper = problem.limits.lower, problem.limits.upper
    while True:
        middle = lower + (upper - lower) * rng.uniform(0.2, 0.8, 6)
        knots = middle + rng.normal(scale=0.5, size=(5, 6))
        q = CubicSpline(np.linspace(0, 1, 5), knots)(np.linspace(0, 1, count))
        jacobians = problem.robot.jacobian(q, problem.goals[0].link)
        if np.linalg.svd(jacobians, compute_uv=False)[:, 5].min() > 0.02:
            return q


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('name', ARMS)
def test_name_stays_the_same_along_a_path(name, seed):
    problem = problem_of(ARMS[name]())
    q = random_motion(problem, np.random.default_rng(seed))
    assert len(set(branch_names(problem, q))) == 1


@pytest.mark.parametrize('seed', range(8))
@pytest.mark.parametrize('name', ['ur5e', 'kr', 'puma'])
def test_every_solution_has_a_name_of_its_own(name, seed):
    problem = problem_of(ARMS[name]())
    q = random_motion(problem, np.random.default_rng(seed), 1)
    problem.goals[0].set_target(problem.robot.forward_kinematics(q[0], problem.goals[0].link))
    found = ik.solve_all(problem)
    assert len(found) > 1
    assert len(set(found.branches)) == len(found)
    for branch in found.branches:
        shoulder, elbow, wrist = branch.split(', ')
        assert shoulder in ('left', 'right')
        assert elbow in ('up', 'down')
        assert wrist in ('flip', 'no flip')


def test_elbow_of_a_ur_is_up_above_the_line_to_the_wrist():
    robot = shipped('ur5e')
    problem = problem_of(robot)
    for q in ([0.3, -1.2, 1.4, -1.8, -1.5, 0.0], [0.3, -0.2, -1.4, -1.8, -1.5, 0.0]):
        frames = robot.frames(q)
        shoulder, elbow, wrist = (
            robot.link_transform(frames, link)[:3, 3]
            for link in ('upper_arm_link', 'forearm_link', 'wrist_1_link')
        )
        part = (elbow - shoulder) @ (wrist - shoulder) / np.sum((wrist - shoulder) ** 2)
        is_up = (elbow - shoulder - part * (wrist - shoulder))[2] > 0.0
        named = branch_names(problem, np.array([q]))[0].split(', ')[1]
        assert named == ('up' if is_up else 'down')


def test_half_a_turn_of_a_spherical_wrist_changes_the_wrist_alone():
    problem = problem_of(puma())
    q = random_motion(problem, np.random.default_rng(1), 1)
    other = q + np.array([0.0, 0.0, 0.0, np.pi, 0.0, np.pi])
    other[0, 4] *= -1.0
    one, two = (branch_names(problem, row)[0].split(', ') for row in (q, other))
    assert one[:2] == two[:2]
    assert one[2] != two[2]


def test_arm_without_structure_has_the_sign_of_its_determinant():
    problem = problem_of(six())
    q = np.random.default_rng(0).uniform(-2.0, 2.0, (20, 6))
    signs = np.linalg.det(problem.robot.jacobian(q, 'tip'))
    assert branch_names(problem, q) == ['+' if sign > 0.0 else '-' for sign in signs]


def test_frozen_joint_of_seven_leaves_six_with_names():
    robot = shipped('panda')
    problem = problem_of(robot, frozen_joints=['panda_joint7'])
    q = np.tile(problem.default_configuration, (2, 1))
    assert set(branch_names(problem, q)) <= {'+', '-'}


@pytest.mark.parametrize(
    'problem',
    [
        lambda: problem_of(shipped('panda')),
        lambda: ik.IkProblem(shipped('ur5e'), [ik.PositionTask('tool0')]),
        lambda: problem_of(shipped('scara')),
    ],
)
def test_other_problems_have_no_names(problem):
    made = problem()
    assert branch_names(made, np.tile(made.default_configuration, (3, 1))) == [''] * 3
