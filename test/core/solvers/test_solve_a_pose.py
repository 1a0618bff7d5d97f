# SPDX-License-Identifier: Apache-2.0
"""`solve(robot, pose, q0, tip)`: one pose of one link, without a problem of one's own."""

import numpy as np
import pytest
from support import robots
from support.places import URDF

import ik_core as ik

UR5E, PANDA, TWO_ARMS = (robots.shipped(name) for name in ('ur5e', 'panda', 'dual_arm'))


def pose_of(robot, link, seed=1):
    """A pose in reach, and the configuration that it is of."""
    q = robots.random_q(robot, np.random.default_rng(seed), margin=0.3)
    return robot.forward_kinematics(q, link), q


def test_the_answer_stands_at_the_pose_by_pinocchio():
    pin = pytest.importorskip('pinocchio')
    model = pin.buildModelFromUrdf(str(URDF / 'ur5e.urdf'))
    data = model.createData()
    for seed in range(5):
        pose, _ = pose_of(UR5E, 'tool0', seed)
        result = ik.solve(UR5E, pose)
        assert isinstance(result, ik.IkResult)
        assert result.success
        pin.framesForwardKinematics(model, data, result.q)
        reached = data.oMf[model.getFrameId('tool0')].homogeneous
        np.testing.assert_allclose(reached, pose, rtol=0, atol=1e-4)


@pytest.mark.parametrize('tip', [None, 'panda_link5'])
def test_it_is_the_solve_of_a_problem_with_that_goal(tip):
    link = tip or PANDA.default_tip()
    pose, q = pose_of(PANDA, link)
    q0 = np.clip(q + 0.1, PANDA.lower, PANDA.upper)
    problem = ik.IkProblem(PANDA, [ik.PoseTask(link, transform=pose)])
    for start in (None, q0):
        expected = ik.solve(problem, start)
        np.testing.assert_array_equal(ik.solve(PANDA, pose, start, tip).q, expected.q)
        np.testing.assert_array_equal(ik.solve(PANDA, pose=pose, q0=start, tip=tip).q, expected.q)


def test_a_start_at_the_pose_is_the_answer():
    pose, q = pose_of(UR5E, 'tool0')
    np.testing.assert_array_equal(ik.solve(UR5E, pose, q).q, q)


def test_solver_options_and_budgets_are_those_of_solve():
    pose, _ = pose_of(UR5E, 'tool0')
    problem = ik.IkProblem(UR5E, [ik.PoseTask('tool0', transform=pose)])
    options = {'solver': 'damped_least_squares', 'damping': 0.05}
    np.testing.assert_array_equal(
        ik.solve(UR5E, pose, **options).q, ik.solve(problem, **options).q
    )
    own = ik.make_solver('closed_form')
    np.testing.assert_array_equal(
        ik.solve(UR5E, pose, solver=own).q, ik.solve(problem, solver='closed_form').q
    )
    assert ik.solve(UR5E, pose, budget=ik.Budget(iterations=1), restarts=0).iterations == 1


def test_a_pose_may_be_what_transform_takes():
    class Se3:
        def __init__(self, matrix):
            self.homogeneous = matrix

    pose, _ = pose_of(UR5E, 'tool0')
    expected = ik.solve(UR5E, pose).q
    for same in (Se3(pose), pose.tolist()):
        np.testing.assert_array_equal(ik.solve(UR5E, same).q, expected)


def test_a_problem_takes_its_start_by_position_or_by_name():
    pose, q = pose_of(UR5E, 'tool0')
    problem = ik.IkProblem(UR5E, [ik.PoseTask('tool0', transform=pose)])
    for result in (ik.solve(problem, q), ik.solve(problem, q0=q), ik.solve(problem=problem, q0=q)):
        np.testing.assert_array_equal(result.q, q)


@pytest.mark.parametrize(
    ('call', 'error', 'message'),
    [
        (lambda: ik.solve(UR5E), ik.InvalidGoal, r'pose is None: solve\(robot, pose\) needs'),
        (lambda: ik.solve(UR5E, np.zeros(6)), ik.InvalidGoal, r'shape \(6,\); \(4, 4\) is needed'),
        (lambda: ik.solve(UR5E, np.eye(4) * 2), ik.InvalidGoal, 'not a rotation'),
        (lambda: ik.solve(UR5E, np.eye(4), [0.0] * 5), ik.InvalidConfiguration, 'q0 has shape'),
        (lambda: ik.solve(UR5E, np.eye(4), tip='tool'), ik.FrameNotFound, 'did you mean tool0'),
        (lambda: ik.solve(UR5E, np.eye(4), tip=3), ik.InvalidOption, 'link is 3'),
        (lambda: ik.solve(TWO_ARMS, np.eye(4)), ik.UnsupportedProblem, 'name the tip among'),
        (lambda: ik.solve(UR5E, np.eye(4), damp=1), ik.InvalidOption, 'damp'),
        (lambda: ik.solve('ur5e', np.eye(4)), ik.InvalidOption, 'problem is a str'),
    ],
    ids=['no pose', 'joints', 'scaled', 'start', 'tip', 'no name', 'two arms', 'option', 'a name'],
)
def test_what_is_wrong_is_said(call, error, message):
    with pytest.raises(error, match=message):
        call()


@pytest.mark.parametrize('more', [{'q0': np.zeros(6)}, {'tip': 'tool0'}])
def test_a_problem_with_a_pose_or_a_tip_is_refused(more):
    problem = ik.IkProblem(UR5E, [ik.PoseTask('tool0', transform=np.eye(4))])
    with pytest.raises(ik.InvalidOption, match='takes neither a pose nor a tip'):
        ik.solve(problem, np.eye(4), **more)


@pytest.mark.parametrize(
    ('given', 'hint'),
    [
        ({'position': [0.4, 0.1, 0.5]}, 'has no orientation; .*, or use PositionTask'),
        ({'quaternion': [0, 0, 0, 1]}, 'has no position; .*, or use OrientationTask'),
        ({}, 'has no orientation and no position; give it one with set_target$'),
    ],
)
def test_a_pose_with_one_part_names_the_task_of_that_part(given, hint):
    with pytest.raises(ik.InvalidGoal, match=hint):
        ik.solve(ik.IkProblem(UR5E, [ik.PoseTask('tool0', **given)]))


@pytest.mark.parametrize(('scale', 'hinted'), [(1000.0, True), (10.0, False), (1.0, False)])
def test_a_result_far_from_its_goal_hints_at_metres(scale, hinted):
    goal = ik.PositionTask('tool0', np.array([0.4, 0.2, 0.5]) * scale)
    result = ik.solve(ik.IkProblem(UR5E, [goal]), restarts=0)
    assert ('m away: positions are in metres' in result.message) is hinted
