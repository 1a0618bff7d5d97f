# SPDX-License-Identifier: Apache-2.0
"""Every family, wherever in the chain it is: where a pose came from is found again."""

import numpy as np
import pytest
from support import closed_form_chains as chains

import ik_core as ik
from ik_core import IkProblem, PoseTask, UnsupportedProblem
from ik_core.closed_form import families

CHAINS, POSES = 2, 6


def made(name, seed=7, count=CHAINS):
    rng = np.random.default_rng(seed)
    for _ in range(count):
        robot = chains.chain(chains.FAMILIES[name](rng), rng)
        yield robot, PoseTask('tool'), rng


@pytest.mark.parametrize('name', chains.FAMILIES)
def test_the_configuration_that_a_pose_came_from_is_found_and_all_others_reach_it(name):
    for robot, goal, rng in made(name):
        form = ik.closed_form.form(IkProblem(robot, [goal]))
        assert form.is_exact
        for _ in range(POSES):
            q = rng.uniform(robot.lower, robot.upper)
            pose = robot.forward_kinematics(q, 'tool')
            goal.set_target(pose)
            found = form.solve()
            assert np.abs(found - q).max(axis=1).min() < 1e-6
            assert ((found >= robot.lower) & (found <= robot.upper)).all()
            for other in found:
                there = robot.forward_kinematics(other, 'tool')
                np.testing.assert_allclose(there, pose, atol=5e-9)
            for i, one in enumerate(found):
                assert all(np.abs(one - other).max() > 1e-4 for other in found[:i])


@pytest.mark.parametrize('kinds', ['RRR', 'RPR', 'PRR', 'PPR', 'PRP', 'RR', 'RP', 'P'])
def test_a_position_alone_has_one_for_up_to_three_joints(kinds):
    rng = np.random.default_rng(8)
    robot = chains.chain(chains.loose(rng, kinds), rng)
    goal = ik.PositionTask('tool')
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    for _ in range(POSES):
        q = rng.uniform(robot.lower, robot.upper)
        point = robot.forward_kinematics(q, 'tool')[:3, 3]
        goal.set_target(position=point)
        found = form.solve()
        assert np.abs(found - q).max(axis=1).min() < 1e-6
        for other in found:
            np.testing.assert_allclose(
                robot.forward_kinematics(other, 'tool')[:3, 3], point, atol=5e-9
            )


@pytest.mark.parametrize('place', range(5))
def test_seven_joints_are_solved_at_a_redundancy_parameter(place):
    rng = np.random.default_rng(9)
    robot = chains.chain(chains.wrist(rng, place, 'RRRR'), rng)
    goal = PoseTask('tool')
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    assert not place <= form.redundant_joint < place + 3
    for _ in range(POSES):
        q = rng.uniform(robot.lower, robot.upper)
        pose = robot.forward_kinematics(q, 'tool')
        goal.set_target(pose)
        found = form.solve(redundancy=q[form.redundant_joint])
        np.testing.assert_allclose(
            found[:, form.redundant_joint], q[form.redundant_joint], atol=1e-12
        )
        assert np.abs(found - q).max(axis=1).min() < 1e-6
        np.testing.assert_array_equal(form.solve(q)[0], form.solve(q, q[form.redundant_joint])[0])
        for other in found:
            np.testing.assert_allclose(robot.forward_kinematics(other, 'tool'), pose, atol=5e-9)


def test_axes_that_just_miss_each_other_are_followed_to_the_real_chain(monkeypatch):
    # elimination needs no following
    monkeypatch.setattr(families._Chain, 'by_elimination', lambda self: iter(()))
    rng, again, poses = np.random.default_rng(10), 0, 0
    for make in (chains.FAMILIES['wrist behind 3 of RRR'], lambda r: chains.parallel(r, 1, 4)):
        spec = [
            (kind, axis / np.linalg.norm(axis) + 3e-4 * rng.normal(size=3),
             point + 3e-4 * rng.normal(size=3))
            for kind, axis, point in make(rng)
        ]  # fmt: skip
        robot = chains.chain(spec, rng)
        goal = PoseTask('tool')
        form = ik.closed_form.form(IkProblem(robot, [goal]))
        assert 1e-5 < form.deviation < 5e-3
        assert not form.is_exact
        for _ in range(20):
            q = rng.uniform(robot.lower, robot.upper)
            pose = robot.forward_kinematics(q, 'tool')
            goal.set_target(pose)
            found = form.solve()
            poses += 1
            again += len(found) > 0 and np.abs(found - q).max(axis=1).min() < 1e-6
            for other in found:
                np.testing.assert_allclose(
                    robot.forward_kinematics(other, 'tool'), pose, atol=5e-9
                )
    assert again >= 0.8 * poses  # the others are near singularities


# --- what has none ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('spec', 'why'),
    [
        (lambda rng: chains.loose(rng, 'RPRPRP'), 'meet in a point'),
        (lambda rng: chains.loose(rng, 'RPPRP'), 'meet in a point'),
        (lambda rng: chains.loose(rng, 'PRPRPRP'), 'meet in a point'),
        (lambda rng: chains.loose(rng, 'RRRRRRRR'), '8 joints: freeze'),
        (lambda rng: chains.planar(rng, 4), 'freedom left'),
    ],
)
def test_a_chain_without_one_is_refused_with_the_reason(spec, why):
    rng = np.random.default_rng(11)
    robot = chains.chain(spec(rng), rng)
    with pytest.raises(UnsupportedProblem, match=why):
        ik.closed_form.form(IkProblem(robot, [PoseTask('tool')]))


def test_goals_that_are_not_one_pose_are_refused_with_the_reason():
    rng = np.random.default_rng(12)
    robot = chains.chain(chains.wrist(rng, 3), rng)
    pose = PoseTask('tool')
    for tasks, why in (
        ([pose, ik.PositionTask('l3')], 'one goal'),
        ([pose, ik.PostureTask()], 'one goal'),
        ([PoseTask('tool', orientation_weights=(0, 0, 1))], 'a whole pose'),
        ([PoseTask('tool', position_box=0.1)], 'a whole pose'),
        ([PoseTask('tool', position_weights=np.eye(3) + 0.1)], 'a whole pose'),
        ([ik.OrientationTask('tool')], 'a whole pose'),
        ([ik.PositionTask('tool')], 'infinitely many'),
    ):
        with pytest.raises(UnsupportedProblem, match=why):
            ik.closed_form.form(IkProblem(robot, tasks))
