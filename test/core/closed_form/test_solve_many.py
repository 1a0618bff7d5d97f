# SPDX-License-Identifier: Apache-2.0
"""`solve_many`, eight poses at once: beside single solves, other formulas and kinematics."""

import numpy as np
import pytest
from support import closed_form_chains as chains
from support import robots, ur5e_closed_form

import ik_core as ik
from ik_core import IkProblem, InvalidConfiguration, InvalidGoal, PoseTask

SOME = [
    'wrist behind 3 of RRR',
    'wrist behind 2 of RRR',
    'wrist behind 1 of RPR',
    'parallel from 0, meeting at 3',
    'parallel from 1, meeting at 4',
    'parallel from 3, meeting at 0',
    'five, two meet at 1',
    'RRRR alone',
]


def arm(name):
    """A robot, the goal of its tip, and its closed form."""
    if name == 'opw':
        robot = chains.opw(0.1, 0.135, 0.02, 0.615, 0.705, 0.755)
    elif name in chains.FAMILIES:
        rng = np.random.default_rng(40)
        robot = chains.chain(chains.FAMILIES[name](rng), rng)
    else:
        robot = robots.shipped(name)
    goal = PoseTask(robots.tip_of(robot))
    return robot, goal, ik.closed_form.form(IkProblem(robot, [goal]))


def poses_of(robot, goal, rng, count):
    """Random configurations (count, n) and the poses (count, 4, 4) that they lead to."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    q = rng.uniform(lower, upper, (count, robot.n))
    return q, np.array([robot.forward_kinematics(one, goal.link) for one in q])


def wrapped(gap):
    return np.abs((gap + np.pi) % (2.0 * np.pi) - np.pi)


def assert_same(found, others):
    """The same solutions, perhaps in another order where two are equally near."""
    assert len(found) == len(others)
    gaps = np.abs(found[:, None] - others[None]).max(axis=2, initial=0.0)
    assert gaps.min(axis=0, initial=np.inf if len(others) else 0.0).max(initial=0.0) < 1e-7
    assert gaps.min(axis=1, initial=np.inf if len(found) else 0.0).max(initial=0.0) < 1e-7


@pytest.mark.parametrize('name', ['ur5e', 'opw', 'panda', 'iiwa14', *SOME])
def test_each_pose_has_the_solutions_of_a_single_solve_in_order(name):
    robot, goal, form = arm(name)
    rng = np.random.default_rng(41)
    q, poses = poses_of(robot, goal, rng, 37)
    many = form.solve_many(poses, q)
    assert len(many) == 37
    for i, pose in enumerate(poses):
        goal.set_target(pose)
        assert_same(many[i], form.solve(q[i]))
        assert np.abs(many[i] - q[i]).max(axis=1).min() < 1e-6
        assert (np.diff(np.linalg.norm(many[i] - q[i], axis=1)) >= -1e-9).all()
        assert np.isnan(many.q[i, len(many[i]) :]).all()
        for one in many[i]:
            there = robot.forward_kinematics(one, goal.link)
            np.testing.assert_allclose(there, pose, atol=5e-9)


@pytest.mark.parametrize('name', ['ur5e', 'opw', 'panda', 'iiwa14'])
def test_a_single_solve_is_the_same_as_one_of_many(name):
    robot, goal, form = arm(name)
    q, poses = poses_of(robot, goal, np.random.default_rng(42), 300)
    many = form.solve_many(poses, q, threads=2)
    for i, pose in enumerate(poses):
        goal.set_target(pose)
        assert_same(form.solve(q[i]), many[i])
        assert form.is_certain == many.certain[i]


def test_a_ur5e_has_the_solutions_that_its_geometry_has_and_none_out_of_reach():
    robot, goal, form = arm('ur5e')
    _, poses = poses_of(robot, goal, np.random.default_rng(43), 500)
    poses[::7, :3, 3] *= np.linspace(0.1, 2.0, len(poses[::7]))[:, None]
    many = form.solve_many(poses)
    assert (many.counts == 0).any()
    for found, pose in zip(many, poses, strict=True):
        truth = ur5e_closed_form.solutions(pose)
        assert len(found) == len(truth)
        if len(found):
            gaps = wrapped(found[:, None] - truth[None]).max(axis=2)
            assert max(gaps.min(axis=1).max(), gaps.min(axis=0).max()) < 1e-7


@pytest.mark.parametrize('name', ['ur5e', 'iiwa14'])
def test_pinocchio_finds_each_solution_at_its_target(name):
    pinocchio = pytest.importorskip('pinocchio')
    robot, goal, form = arm(name)
    model = pinocchio.buildModelFromUrdf(str(robots.URDF / f'{name}.urdf'))
    data, frame = model.createData(), model.getFrameId(goal.link)
    q, poses = poses_of(robot, goal, np.random.default_rng(44), 50)
    many = form.solve_many(poses, q)
    assert many.counts.min() > 0
    for found, pose in zip(many, poses, strict=True):
        for one in found:
            pinocchio.framesForwardKinematics(model, data, one)
            np.testing.assert_allclose(data.oMf[frame].homogeneous, pose, atol=5e-9)


@pytest.mark.parametrize('name', ['ur5e', 'opw'])
def test_right_angles_are_solved_as_carefully_as_one_by_one(name):
    robot, goal, form = arm(name)
    rng = np.random.default_rng(45)
    q = rng.integers(-1, 2, (80, robot.n)) * 0.5 * np.pi
    q = np.clip(q, robot.lower, robot.upper)
    many = form.solve_many([robot.forward_kinematics(one, goal.link) for one in q], q)
    for found, one in zip(many, q, strict=True):
        assert wrapped(found - one).max(axis=1).min() < 1e-4


@pytest.mark.parametrize('aside', [1e-10, 1e-9, 1e-8, 1e-7, 1e-6])
def test_just_aside_of_a_singular_wrist_the_configuration_is_found_again(aside):
    robot, goal, form = arm('ur5e')
    q, _ = poses_of(robot, goal, np.random.default_rng(51), 40)
    q[:, 4] = aside
    many = form.solve_many([robot.forward_kinematics(one, goal.link) for one in q], q)
    for found, one in zip(many, q, strict=True):  # as well as rounded poses define it
        assert np.abs(found - one).max(axis=1).min() < 1e-6 + 1e-15 / aside


def test_limits_hold_and_what_is_on_one_is_inside():
    robot, goal, _ = arm('ur5e')
    rng = np.random.default_rng(46)
    q, poses = poses_of(robot, goal, rng, 100)
    lower, upper = np.full(6, -np.pi), np.full(6, np.pi)
    whole = ik.closed_form.form(IkProblem(robot, [goal], lower=lower, upper=upper))
    lower = lower.copy()
    lower[2] = 0.0
    half = ik.closed_form.form(IkProblem(robot, [goal], lower=lower, upper=upper))
    for every, some in zip(whole.solve_many(poses), half.solve_many(poses), strict=True):
        assert_same(some, every[every[:, 2] >= 0.0])
    tight = ik.closed_form.form(IkProblem(robot, [goal], lower=q[0], upper=q[0] + 0.1))
    np.testing.assert_allclose(tight.solve_many(poses[:1])[0], q[:1], atol=1e-9)


def test_redundancy_parameter_is_one_for_all_poses_or_one_each():
    robot, goal, form = arm('iiwa14')
    q, poses = poses_of(robot, goal, np.random.default_rng(47), 20)
    each = form.solve_many(poses, redundancy=q[:, form.redundant_joint])
    for found, one in zip(each, q, strict=True):
        np.testing.assert_allclose(
            found[:, form.redundant_joint], one[form.redundant_joint], atol=1e-12
        )
        assert np.abs(found - one).max(axis=1).min() < 1e-6
    alike = form.solve_many(poses, redundancy=0.3)
    for i, pose in enumerate(poses):
        goal.set_target(pose)
        assert_same(alike[i], form.solve(redundancy=0.3))
    for value in (np.nan, [0.1, 0.2], 'left'):
        with pytest.raises(InvalidConfiguration, match='redundancy'):
            form.solve_many(poses, redundancy=value)


def test_frozen_joints_may_stand_elsewhere_in_each_start():
    robot = robots.shipped('iiwa14')
    goal = PoseTask(robots.tip_of(robot))
    form = ik.closed_form.form(IkProblem(robot, [goal], frozen_joints=[robot.joint_names[2]]))
    q, poses = poses_of(robot, goal, np.random.default_rng(48), 12)
    for starts in (q, np.where(np.arange(7) == 2, q[0], q)):
        poses = np.array([robot.forward_kinematics(one, goal.link) for one in starts])
        for found, one in zip(form.solve_many(poses, starts), starts, strict=True):
            np.testing.assert_allclose(found[0], one, atol=1e-7)
            assert (found[:, 2] == one[2]).all()


def test_the_first_bad_input_is_named_and_none_is_an_empty_answer():
    robot, goal, form = arm('ur5e')
    q, poses = poses_of(robot, goal, np.random.default_rng(49), 5)
    bad = poses.copy()
    bad[3, :3, :3] *= 1.1
    with pytest.raises(InvalidGoal, match=r'targets\[3\]'):
        form.solve_many(bad)
    with pytest.raises(InvalidGoal, match=r'shape'):
        form.solve_many(poses[0])
    with pytest.raises(InvalidConfiguration, match=r'q0\[2\]'):
        form.solve_many(poses, np.where(np.arange(5)[:, None] == 2, np.nan, q))
    with pytest.raises(InvalidConfiguration, match=r'q0 has shape'):
        form.solve_many(poses, q[:4])
    assert form.solve_many(np.empty((0, 4, 4))).q.shape == (0, 0, 6)


def test_threads_change_nothing_and_progress_ends_with_all():
    robot, goal, form = arm('ur5e')
    q, poses = poses_of(robot, goal, np.random.default_rng(50), 2000)
    told = []
    one = form.solve_many(poses, q, threads=1)
    two = form.solve_many(poses, q, threads=3, progress=lambda *now: told.append(now))
    np.testing.assert_array_equal(one.q, two.q)
    np.testing.assert_array_equal(one.counts, two.counts)
    assert told[-1] == (2000, 2000)
    assert f'{one.counts.sum():,} solutions' in repr(one)

    def stop(done, count):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        form.solve_many(poses, q, threads=2, progress=stop)
