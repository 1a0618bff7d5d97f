# SPDX-License-Identifier: Apache-2.0
"""Proofs that no solution of an arm of seven joints is free, and their bounds."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.sphere_scene import MARGIN, Scene

import ik_core as ik
from ik_core.closed_form import ClosedForm, form
from ik_core.closed_form.infeasibility_proof import (
    PIECES,
    InfeasibilityProof,
    Loop,
    Piece,
    can_prove,
    whole,
)
from ik_core.closed_form.records import MULTIPLIER, OFFSET
from ik_core.collision import Collisions, Sphere
from ik_core.maths.rotations import Array, frame_of

VALUES = 10_000
TIPS = {'panda': 'panda_hand_tcp', 'iiwa14': 'iiwa_link_ee'}


def solutions(arm: ClosedForm, target: Array, q0: Array, values: Array) -> Array:
    """Return all solutions (k, n) at these values of the redundancy parameter."""
    many = arm.solve_many(np.repeat(target[np.newaxis], len(values), axis=0), q0, values)
    return np.concatenate([np.empty((0, len(q0))), *many])


def proof(problem: ik.IkProblem, arm: ClosedForm, q: Array) -> InfeasibilityProof:
    """The finished proof for the problem's goal."""
    problem.evaluator.load(q)
    cover = InfeasibilityProof(problem, arm, q)
    while not cover.is_over:
        cover.refine()
    return cover


def near_miss(target: Array, tolerances: tuple[float, float], rng: np.random.Generator) -> Array:
    """A pose that misses a target by the tolerances."""
    turn, shift = rng.normal(size=(2, 3))
    missed = target.copy()
    missed[:3, 3] += tolerances[0] * shift / np.linalg.norm(shift)
    turned = Rotation.from_rotvec(tolerances[1] * turn / np.linalg.norm(turn))
    missed[:3, :3] = turned.as_matrix() @ target[:3, :3]
    return missed


@pytest.mark.parametrize('name', list(TIPS))
@pytest.mark.parametrize('width', [1e-3, 0.02])
def test_all_solutions_on_a_piece_are_within_its_bounds(name: str, width: float) -> None:
    robot, rng = ik.load_robot(name), np.random.default_rng(0)
    problem = ik.IkProblem(robot, [ik.PoseTask(TIPS[name])])
    tolerances = 1e-4, 1e-3
    arm = form(problem)
    assert arm.records is not None
    plan, numbers = arm.records
    checked, tight = 0, 0
    for q in robot.lower + rng.random((12, robot.n)) * (robot.upper - robot.lower):
        target = robot.forward_kinematics(q, TIPS[name])
        low = rng.uniform(arm.redundancy_range[0], arm.redundancy_range[1] - width)
        loop = Loop(plan, numbers, frame_of(target), tolerances)
        loop.solve(whole(low, low + PIECES * width))
        piece, joints = loop.piece, arm.variables
        for value in rng.uniform(low, low + PIECES * width, 20):
            around = (piece.low <= value) & (value <= piece.high)
            for solution in solutions(
                arm, near_miss(target, tolerances, rng), q, np.array([value])
            ):
                within = around.copy()
                for k, x in enumerate(solution[joints], 1):
                    angle = numbers[k, MULTIPLIER] * x + numbers[k, OFFSET]
                    for bound, exact in zip(
                        loop.turns[k], (np.cos(angle), np.sin(angle)), strict=True
                    ):
                        within &= abs(exact - bound.centre[0]) <= bound.radius[0] + 1e-9
                        tight += bool((bound.radius[0][around] < 0.3).any())
                assert within.any()
                checked += 1
    assert checked > 100
    assert tight > checked


def test_halves_cover_pieces_and_roots() -> None:
    piece = whole(0.0, 1.0)
    assert piece.low.shape == (8 * PIECES,)
    assert len({tuple(signs) for signs in piece.signs[:, :8].T}) == 8
    roots = piece.roots.copy()
    roots[:, 1] = 2.0
    spread = np.zeros_like(piece.signs)
    spread[1, 0] = 9.0
    halves = Piece(piece.low, piece.high, piece.signs, roots).halves(spread)
    count = len(piece.low)
    np.testing.assert_array_equal(halves.low[[0, count]], 0.0)  # the first by its second root
    np.testing.assert_array_equal(halves.high[[0, count]], piece.high[0])
    np.testing.assert_array_equal(halves.roots[1, :, [0, count]], [[0.0, 1.0], [1.0, 2.0]])
    np.testing.assert_array_equal(halves.low[1:count], piece.low[1:])  # the others by the middle
    np.testing.assert_array_equal(halves.high[1:count], halves.low[count + 1 :])
    np.testing.assert_array_equal(halves.high[count + 1 :], piece.high[1:])
    np.testing.assert_array_equal(halves.roots[:, :, 1:count], roots[:, :, 1:])


def test_proved_poses_have_no_free_solution_at_any_of_many_values() -> None:
    """The truth are distances of spheres by forward kinematics, also for near misses."""
    scene, rng = Scene('panda'), np.random.default_rng(1)
    scene.world.add('beside', Sphere(0.25), ik.transform(position=(0.0, 0.35, 0.45)))
    scene.balls.append(((0.0, 0.35, 0.45), 0.25))
    problem = scene.problem()
    arm = form(problem)
    proved = 0
    for q in scene.random_rows(150, 12):
        target = scene.robot.forward_kinematics(q, scene.tip)
        problem.goals[0].set_target(target)
        result = ik.solve(problem, q, solver='closed_form')
        if result.success or 'wherever' in result.note:
            continue
        if not proof(problem, arm, q).is_proved:
            continue
        proved += 1
        values = np.linspace(*arm.redundancy_range, VALUES)
        for pose in (target, near_miss(target, problem.tolerances, rng)):
            found = solutions(arm, pose, q, values)
            assert len(found)
            assert not scene.collisions.free(found).any()
            assert max(scene.clearance(one) for one in found[:: len(found) // 50 + 1]) <= MARGIN
    assert proved >= 5


def test_a_tiny_window_is_never_called_a_collision() -> None:
    """A ball grows until the last free value is gone: just before, there is no proof."""
    scene = Scene('panda')
    problem = scene.problem()
    arm, proofs = form(problem), 0
    for q in scene.free_rows(6, 13):
        target = scene.robot.forward_kinematics(q, scene.tip)
        problem.goals[0].set_target(target)
        found = solutions(arm, target, q, np.linspace(*arm.redundancy_range, VALUES))
        centre = scene.robot.forward_kinematics(q, 'panda_link4')[:3, 3] + [0.0, 0.0, 0.3]
        found = found[scene.collisions.free(found)]
        gaps = np.min(
            [
                [np.linalg.norm((scene.robot.forward_kinematics(one, link) @ at)[:3, 3] - centre)
                 - radius for link, at, radius in scene.spheres]
                for one in found
            ],
            axis=1,
        )  # fmt: skip
        largest = float(gaps.max()) - MARGIN  # a ball of this radius leaves one value, about
        for radius, is_free in ((largest - 1e-5, True), (largest + 0.02, False)):
            scene.world.add('ball', Sphere(radius), ik.transform(position=centre))
            cover = proof(problem, arm, q)
            assert not (is_free and cover.is_proved)
            if cover.found is not None:
                assert is_free
                assert scene.clearance(cover.found) > MARGIN - 1e-9
                assert problem.is_solved(*problem.errors(cover.found))
            proofs += cover.is_proved
            scene.world.remove('ball')
    assert proofs >= 3


def test_solver_proves_only_where_it_is_asked_to() -> None:
    scene = Scene('panda')
    problem = scene.problem()
    proved = 0
    for q in scene.random_rows(150, 12):
        problem.goals[0].set_target(scene.robot.forward_kinematics(q, scene.tip))
        plain = ik.solve(problem, q, solver='closed_form')
        if plain.success or 'wherever' in plain.note:
            continue
        assert plain.status is ik.IkStatus.COLLISION
        assert 'for certain' not in plain.note
        result = ik.solve(problem, q, solver='closed_form', prove_collisions=True)
        if 'for certain' in result.note:
            proved += 1
            assert result.status is ik.IkStatus.COLLISION
            assert 'solutions: ' in result.note
        short = ik.solve(
            problem, q, solver='closed_form', prove_collisions=True,
            budget=ik.Budget(seconds=0.0),
        )  # fmt: skip
        assert 'for certain' not in short.note
    assert proved > 0


def test_arms_without_a_proof_are_told_apart() -> None:
    panda, six = Scene('panda'), Scene('ur5e')
    problem = panda.problem()
    arm = form(problem)
    assert can_prove(problem, arm)
    assert not can_prove(six.problem(), form(six.problem()))  # has no redundancy parameter
    assert not can_prove(problem.without_avoid(), arm)
    only_valid = ik.IkProblem(panda.robot, [ik.PoseTask(panda.tip)], valid=lambda q: False)
    assert not can_prove(only_valid, form(only_valid))


def test_a_change_of_the_world_meanwhile_is_no_proof() -> None:
    scene = Scene('panda')
    problem = scene.problem()
    arm = form(problem)
    for q in scene.random_rows(150, 12):
        problem.goals[0].set_target(scene.robot.forward_kinematics(q, scene.tip))
        cover = proof(problem, arm, q)
        if cover.is_proved:
            break
    assert cover.is_proved
    scene.world.remove('ball 0')
    assert isinstance(problem.avoid, Collisions)
    assert not cover.is_proved
