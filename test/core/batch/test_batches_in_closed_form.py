# SPDX-License-Identifier: Apache-2.0
"""`solve_batch(solver='closed_form')` beside single solves, to the last bit."""

import gc
import weakref

import numpy as np
import pytest
from support import closed_form_chains as chains
from support import robots

import ik_core as ik
from ik_core import IkProblem, InvalidConfiguration, PoseTask
from ik_core.closed_form.cached_form import CachedForm
from ik_core.closed_form.closed_form import ClosedForm
from ik_core.solvers.closed_form import ClosedFormSolver

FIELDS = 'success', 'cost', 'iterations', 'evaluations', 'restarts', 'status'
ERRORS = 'position_errors', 'orientation_errors'


def pose_problem(name, **options):
    if name == 'opw':
        robot = chains.opw(0.1, 0.135, 0.02, 0.615, 0.705, 0.755)
    else:
        robot = robots.shipped(name)
    goal = PoseTask(robots.tip_of(robot))
    return robot, goal, IkProblem(robot, [goal], **options)


def cases(robot, goal, count):
    """Poses (count, 4, 4) and starts (count, n): some out of reach, some right angles, some
    reached by their start, some beyond limits."""
    rng = np.random.default_rng(80)
    q = np.array([robots.random_q(robot, rng) for _ in range(count)])
    q[::5] = np.clip(0.5 * np.pi * np.round(q[::5] / (0.5 * np.pi)), robot.lower, robot.upper)
    poses = np.array([robot.forward_kinematics(one, goal.link) for one in q])
    poses[3::10, :3, 3] *= 3.0
    starts = q + rng.uniform(-1.0, 1.0, q.shape)
    starts[7::10] = q[7::10]
    return poses, starts


def singly(problem, goal, poses, starts):
    for pose, start in zip(poses, starts, strict=True):
        goal.set_target(pose)
        yield ik.solve(problem, start, solver='closed_form')


def assert_same(batch, single):
    for i, one in enumerate(single):
        np.testing.assert_array_equal(batch.q[i], one.q)
        for field in FIELDS:
            assert getattr(batch, field)[i] == getattr(one, field), field
        for field in ERRORS:
            np.testing.assert_array_equal(getattr(batch, field)[i], getattr(one, field))


@pytest.mark.parametrize('name', ['ur5e', 'opw', 'panda', 'iiwa14', 'scara'])
def test_batches_are_single_solves(name, monkeypatch):
    robot, goal, problem = pose_problem(name)
    poses, starts = cases(robot, goal, 60)
    expected = list(singly(problem, goal, poses, starts))
    single, by_themselves = ClosedFormSolver.solve, []
    monkeypatch.setattr(
        ClosedFormSolver,
        'solve',
        lambda self, *given: by_themselves.append(1) or single(self, *given),
    )
    told = []
    batch = ik.solve_batch(
        problem, poses, starts, solver='closed_form', progress=lambda *now: told.append(now)
    )
    assert_same(batch, expected)
    assert told[-1] == (60, 60)
    assert batch.success.sum() > 45
    assert not batch.success.all()
    assert len(by_themselves) < 40  # out of reach, and reached by the start; of seven some more


def test_what_is_frozen_or_has_other_tasks_is_solved_one_by_one():
    robot, goal, problem = pose_problem('iiwa14', frozen_joints=['iiwa_joint_3'])
    poses, starts = cases(robot, goal, 8)
    for own in (problem, IkProblem(robot, [goal], secondary=[ik.PostureTask(np.zeros(7))])):
        batch = ik.solve_batch(own, poses, starts, solver='closed_form')
        assert_same(batch, singly(own, goal, poses, starts))


def test_redundancy_parameter_is_refused_without_a_redundant_joint():
    robot, goal, problem = pose_problem('ur5e')
    form = ik.closed_form.form(problem)
    poses, starts = cases(robot, goal, 3)
    goal.set_target(poses[0])
    for call in (
        lambda: form.solve(starts[0], redundancy=0.3),
        lambda: form.solve_many(poses, starts, redundancy=0.3),
        lambda: form.solve_many(poses, starts, redundancy=np.zeros(3)),
    ):
        with pytest.raises(InvalidConfiguration, match='no redundant joint'):
            call()


def test_progress_never_falls_where_poses_are_solved_with_care():
    robot, goal, problem = pose_problem('ur5e')
    poses, starts = cases(robot, goal, 1200)
    told = []
    ik.closed_form.form(problem).solve_many(
        poses, starts, threads=1, progress=lambda *now: told.append(now[0])
    )
    assert (np.diff(told) > 0).all()
    assert told[-1] == 1200


def test_what_is_known_of_a_problem_is_asked_once_and_keeps_it_not_alive(monkeypatch):
    _, _, problem = pose_problem('iiwa14', frozen_joints=['iiwa_joint_3'])
    made = []
    monkeypatch.setattr(
        ClosedForm,
        '_find_strategies',
        lambda self, look=ClosedForm._find_strategies: made.append(1) or look(self),
    )
    known, start = CachedForm(problem), problem.default_configuration
    assert known.find(start) is known.find(start + 1.0) is known.form
    assert known.is_for(problem)
    assert not known.is_for(problem.clone())
    assert len(made) == 1
    there = weakref.ref(problem)
    del problem
    gc.collect()
    assert there() is None
