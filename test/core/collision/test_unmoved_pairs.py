# SPDX-License-Identifier: Apache-2.0
"""Pairs of links that a problem does not move against each other, and joints outside limits."""

from __future__ import annotations

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box, Collisions, World
from ik_core.robot.robot import Robot

SOLVERS = 'levenberg_marquardt', 'closed_form', 'bfgs', 'sqp'
FINGERS = 'panda_leftfinger', 'panda_rightfinger'
NAMED = {FINGERS: 0.01}


def link(name: str, at: float, size: float) -> str:
    return (
        f'<link name="{name}"><collision><origin xyz="{at} 0 0"/><geometry>'
        f'<box size="{size} .06 .06"/></geometry></collision></link>'
    )


def joint(name: str, parent: str, child: str, at: float, reach: float, more: str = '') -> str:
    return (
        f'<joint name="{name}" type="revolute"><parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at} 0 0"/><axis xyz="0 0 1"/>{more}'
        f'<limit lower="{-reach}" upper="{reach}" velocity="1" effort="1"/></joint>'
    )


@pytest.fixture(scope='module')
def folded() -> Robot:
    """Two links that meet only where j2 is outside its limits."""
    return ik.load_robot(
        f'<robot name="folded"><link name="base"/>{link("a", 0.2, 0.4)}{link("b", 0.25, 0.3)}'
        f'<link name="tip"/>{joint("j1", "base", "a", 0.0, 3.0)}{joint("j2", "a", "b", 0.4, 1.0)}'
        '<joint name="t" type="fixed"><parent link="b"/><child link="tip"/>'
        '<origin xyz=".4 0 0"/></joint></robot>'
    )


@pytest.fixture(scope='module')
def three() -> Robot:
    """Three links in a row; a and c meet where j2 is outside its limits, and j3 moves c away."""
    return ik.load_robot(
        f'<robot name="three"><link name="base"/>{link("a", 0.2, 0.4)}<link name="b"/>'
        f'{link("c", 0.1, 0.2)}<link name="tip"/>{joint("j1", "base", "a", 0.0, 3.0)}'
        f'{joint("j2", "a", "b", 0.4, 0.5)}{joint("j3", "b", "c", 0.25, 1.0)}'
        '<joint name="t" type="fixed"><parent link="c"/><child link="tip"/>'
        '<origin xyz=".2 0 0"/></joint></robot>'
    )


@pytest.mark.parametrize('solver', SOLVERS)
@pytest.mark.parametrize('opening', [0.0, 0.002])
def test_a_closed_gripper_refuses_no_goal(solver: str, opening: float) -> None:
    robot = ik.load_robot('panda')
    collisions = Collisions(robot, margin=NAMED)
    q = robot.middle_configuration
    q[7:] = opening
    goal = q.copy()
    goal[:7] += 0.1
    tip = robot.forward_kinematics(goal, 'panda_hand_tcp')
    problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand_tcp', transform=tip)], avoid=collisions)
    for result in (ik.solve(problem, q, solver=solver), ik.make_solver(solver).solve(problem, q)):
        assert result.status is ik.IkStatus.REACHED
        assert result.restarts == 0
        assert result.note.count('panda_leftfinger and panda_rightfinger') == 1
        assert not collisions.free(result.q)
    batch = ik.solve_batch(problem, [tip, tip], q, solver=solver)
    assert batch.success.all()
    assert batch.note.count('panda_leftfinger and panda_rightfinger') == 1
    q[7:] = 0.03
    result = ik.solve(problem, q, solver=solver)
    assert result.success
    assert 'finger' not in result.note
    assert not ik.solve_batch(problem, [tip], q, solver=solver).note


def test_a_closed_gripper_leaves_all_solutions_free() -> None:
    robot = ik.load_robot('panda')
    q = robot.middle_configuration
    q[7:] = 0.0
    task = ik.PoseTask('panda_hand_tcp', transform=robot.forward_kinematics(q, 'panda_hand_tcp'))
    found = [
        ik.solve_all(ik.IkProblem(robot, [task], frozen_joints=['panda_joint7'], **given), q)
        for given in ({}, {'avoid': Collisions(robot, margin=NAMED)})
    ]
    assert 1 <= len(found[1]) <= len(found[0])


def test_fingers_of_one_gripper_may_touch_unless_they_have_a_margin() -> None:
    robot = ik.load_robot('panda')
    q = robot.middle_configuration
    q[7:] = 0.0
    for margin, verdict in ((0.01, 'fingers'), (NAMED, 'sometimes')):
        collisions = Collisions(robot, margin=margin)
        (pair,) = (p for p in collisions.pairs if {p.first, p.second} == set(FINGERS))
        assert pair.verdict == verdict
        assert collisions.free(q) == (verdict == 'fingers')


@pytest.mark.parametrize('kind', ['mimic', 'two slides', 'carries a joint', 'hinges'])
def test_what_counts_as_fingers(kind: str) -> None:
    """One joint mimics the other, or both slide and carry nothing that moves."""
    turn = 'revolute' if kind in ('mimic', 'hinges') else 'prismatic'
    axis = '0 0 1' if turn == 'revolute' else '1 0 0'

    def finger(name: str, at: float, more: str = '') -> str:
        return (
            f'<link name="{name}"><collision><geometry><box size=".05 .1 .1"/></geometry>'
            f'</collision></link><joint name="{name}_joint" type="{turn}"><parent link="palm"/>'
            f'<child link="{name}"/><origin xyz="{at} 0 0"/><axis xyz="{axis}"/>{more}'
            '<limit lower="-1" upper="1" velocity="1" effort="1"/></joint>'
        )

    mimic = '<mimic joint="left_joint" multiplier="-1"/>' if kind == 'mimic' else ''
    more = '<link name="more"/>' + joint('wrist', 'left', 'more', 0.0, 1.0)
    robot = ik.load_robot(
        f'<robot name="gripper"><link name="palm"/>{finger("left", -0.04)}'
        f'{finger("right", 0.04, mimic)}{more if kind == "carries a joint" else ""}</robot>'
    )
    (pair,) = Collisions(robot).pairs
    assert pair.verdict == ('fingers' if kind in ('mimic', 'two slides') else 'sometimes')


@pytest.mark.parametrize('solver', SOLVERS)
def test_links_that_overlap_outside_the_limits_and_stay_are_named(
    folded: Robot, solver: str
) -> None:
    collisions = Collisions(folded)
    assert [pair.verdict for pair in collisions.pairs] == ['never']
    q = np.array([0.5, 3.1])
    assert not collisions.free(q)
    assert collisions.free([[0.5, 3.1], [0.5, 0.2], [0.5, -3.1]]).tolist() == [False, True, False]
    assert collisions.distance(q).distance < -0.03
    goal = ik.PositionTask('tip', position=folded.forward_kinematics(q, 'tip')[:3, 3])
    problem = ik.IkProblem(folded, [goal], frozen_joints=['j2'], avoid=collisions)
    result = ik.solve(problem, [0.2, 3.1], solver=solver)
    assert result.status is ik.IkStatus.REACHED
    assert 'a and b' in result.note
    assert not collisions.free(result.q)
    inside = [0.2, 0.3]
    goal.set_target(position=folded.forward_kinematics([0.4, 0.3], 'tip')[:3, 3])
    result = ik.solve(problem, inside, solver=solver)
    assert 'not counted' not in result.note  # the next start is judged anew


@pytest.mark.parametrize('solver', SOLVERS)
def test_links_that_move_into_each_other_outside_the_limits_collide(
    three: Robot, solver: str
) -> None:
    collisions = Collisions(three)
    (pair,) = (p for p in collisions.pairs if {p.first, p.second} == {'a', 'c'})
    assert pair.verdict == 'never'
    into, beside = np.array([0.5, 3.0, 0.0]), np.array([0.5, 3.0, 1.0])
    assert not collisions.free(into)
    goal = ik.PositionTask('tip', position=three.forward_kinematics(into, 'tip')[:3, 3])
    problem = ik.IkProblem(three, [goal], frozen_joints=['j1', 'j2'], avoid=collisions)
    for start in (into, beside):
        result = ik.solve(problem, start, solver=solver)
        assert result.status is ik.IkStatus.COLLISION
        assert 'a and c' in result.note
    targets = np.broadcast_to(three.forward_kinematics(into, 'tip'), (3, 4, 4))
    assert not ik.solve_batch(problem, targets, into, solver=solver).success.any()
    straight = np.array([0.5, 0.1, 0.0])
    targets = np.broadcast_to(three.forward_kinematics(straight, 'tip'), (3, 4, 4))
    assert ik.solve_batch(problem, targets, straight, solver=solver).success.all()


def test_obstacles_that_only_unmoved_links_touch_are_no_reason(three: Robot) -> None:
    world = World()
    q = np.array([0.5, 0.0, 0.0])
    start = np.array([0.5, 0.0, 0.3])
    world.add('block', Box((0.1, 0.1, 0.1)), three.forward_kinematics(q, 'a'))
    collisions = Collisions(three, world)
    goal = ik.PositionTask('tip', position=three.forward_kinematics(q, 'tip')[:3, 3])
    problem = ik.IkProblem(three, [goal], frozen_joints=['j1', 'j2'], avoid=collisions)
    result = ik.solve(problem, start)
    assert result.status is ik.IkStatus.REACHED
    assert 'block' in result.note
    world.move('block', three.forward_kinematics(q, 'tip'))
    result = ik.solve(problem, start)
    assert result.status is ik.IkStatus.COLLISION
    world.remove('block')
    result = ik.solve(problem, start)
    assert result.status is ik.IkStatus.REACHED
    assert not result.note
