# SPDX-License-Identifier: Apache-2.0
"""A redundant arm follows its goals as in an example: without a node, tick by tick."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.node_harness import load, snapshot
from support.places import URDF

import ik_core as ik
from ik_core.exceptions import InvalidGoal, InvalidOption
from ik_core.maths.rotations import matrix_from_quaternion
from ik_core.tracking.instructions import SetGoal
from ik_core.tracking.recording import Recorder, read_recording, replay
from ik_node.parameters.node_options import ExampleOptions, Limits
from ik_node.robot_model import Model
from ik_node.tools.elbow_out import DOWN, RAISED, TIP, demonstration, position

RATE = 100.0
ELBOW = 'panda_link4'
TURNS, SECONDS = 1.0, 20.0


@pytest.fixture(scope='module')
def panda():
    return load('panda')


@pytest.fixture(scope='module')
def shown(panda):
    return ik.retargeting.Demonstration(panda, (TIP,), demonstration(frames=48))


def model_of(panda, **options):
    limits = Limits(acceleration=10.0)
    parameters = snapshot(rate=RATE, tip_links=(TIP,))
    example = ExampleOptions(**options)
    model = Model(panda, replace(parameters, default_limits=limits, example=example))
    # Its clock stands still, so that a busy machine ends no solve early.
    model.tracker = ik.Tracker.from_snapshot(model.tracker.snapshot(), lambda: 0.0)
    return model


def goal_at(phase):
    goal = np.eye(4)
    goal[:3, :3] = matrix_from_quaternion(np.array(DOWN))
    goal[:3, 3] = position(phase) + RAISED
    return goal


def follow_circle(model):
    """(phase, q, error of the hand [m]) of every tick, once the arm is on the circle."""
    model.apply(SetGoal(0, goal_at(0.0), 0.0))
    now = 0.0
    for _ in range(round(8.0 * RATE)):
        now += 1.0 / RATE
        model.tracker.tick(now)
    found = []
    for phase in np.linspace(0.0, TURNS, round(SECONDS * RATE)):
        now += 1.0 / RATE
        model.apply(SetGoal(0, goal_at(phase), now))
        command = model.tracker.tick(now)
        hand = model.robot.forward_kinematics(command.q, TIP)
        found.append((phase, command.q, np.linalg.norm(hand[:3, 3] - goal_at(phase)[:3, 3])))
    return found


def elbow_errors(panda, shown, found):
    """Return the distances [m] of the elbow from the example's in the last two thirds of the
    path."""
    elbows = [
        panda.forward_kinematics(q, ELBOW)[:3, 3]
        - panda.forward_kinematics(shown.nearest([position(phase)]), ELBOW)[:3, 3]
        for phase, q, _ in found[len(found) // 3 :]
    ]
    return np.linalg.norm(elbows, axis=1)


def test_the_elbow_is_the_examples_and_the_hand_is_at_its_goal(panda, shown):
    plain, styled = model_of(panda), model_of(panda)
    styled.set_example(shown)
    way, own_way = follow_circle(styled), follow_circle(plain)
    hand = [error for phase, _, error in way if phase > 0.2]
    assert max(hand) < 1e-4
    elbow, own_elbow = (elbow_errors(panda, shown, found) for found in (way, own_way))
    assert elbow.max() < 0.5 * own_elbow.mean()
    assert elbow.mean() < 0.05  # the path is 5 cm higher than the example's


def test_where_the_goals_are_the_examples_so_are_the_joints(panda, shown):
    model = model_of(panda)
    model.set_example(shown)
    for phase in (0.6, 0.5):
        goal = goal_at(phase)
        goal[:3, 3] -= RAISED
        model.apply(SetGoal(0, goal, 0.0))
        for tick in range(round(20 * RATE)):
            command = model.tracker.tick(tick / RATE)
        assert command.status is ik.tracking.TrackStatus.REACHED
        np.testing.assert_allclose(command.q[:7], shown.nearest([goal[:3, 3]])[:7], atol=0.01)


@pytest.mark.parametrize(('beta', 'away'), [(1e-5, (0.0, 1e-4)), (1e-2, (1e-3, 0.05))])
def test_goals_give_way_as_the_weights_say_where_they_need_not_be_exact(panda, shown, beta, away):
    model = model_of(panda, exact=False, beta=beta, alpha=1.0 - beta)
    model.set_example(shown)
    goal = goal_at(0.3)
    model.apply(SetGoal(0, goal, 0.0))
    for tick in range(round(20 * RATE)):
        command = model.tracker.tick(tick / RATE)
    hand = panda.forward_kinematics(command.q, TIP)
    off = np.linalg.norm(hand[:3, 3] - goal[:3, 3])
    assert away[0] < off < away[1]


def test_without_alpha_postures_are_copied(panda, shown):
    guide = ik.retargeting.ExampleGuide(
        ik.IkProblem(panda, [ik.PoseTask(TIP)]), shown, alpha=0.0, beta=1.0
    )
    q = guide.posture([goal_at(0.3)], panda.middle_configuration)
    np.testing.assert_allclose(q[:7], shown.nearest([goal_at(0.3)[:3, 3]])[:7])


def test_the_guide_finds_the_least_of_equation_1(panda, shown):
    beta = 1e-2
    problem = ik.IkProblem(panda, [ik.PoseTask(TIP)])
    guide = ik.retargeting.ExampleGuide(problem, shown, alpha=1.0, beta=beta)
    goal = goal_at(0.3)
    q = guide.posture([goal], panda.middle_configuration)
    rest = shown.nearest([goal[:3, 3]])
    problem.goals[0].set_target(goal)
    weight = beta * ik.tasks.total_link_length(panda, TIP) ** 2

    def cost(x):
        return problem.evaluator.cost_at(x) + weight * np.sum((x - rest[:7]) ** 2)

    problem.evaluator.load(q)
    rng = np.random.default_rng(0)
    for _ in range(50):
        assert cost(q[:7]) <= cost(q[:7] + rng.normal(scale=1e-3, size=7))


def test_the_example_goes_and_the_goals_stay(panda, shown):
    model = model_of(panda, exact=False, beta=0.05)
    model.set_example(shown)
    model.apply(SetGoal(0, goal_at(0.3), 0.0))
    assert not np.allclose(model.tracker.goals[0], goal_at(0.3), atol=1e-4)
    model.set_parameters(replace(model.parameters, example=ExampleOptions(beta=0.0)))
    np.testing.assert_allclose(model.tracker.goals[0], goal_at(0.3), atol=1e-9)
    model.set_parameters(replace(model.parameters, example=ExampleOptions()))
    np.testing.assert_allclose(model.tracker.goals[0], goal_at(0.3), atol=1e-9)


def test_what_an_example_does_is_recorded_and_replays(panda, shown, tmp_path):
    model = model_of(panda)
    model.record(Recorder((URDF / 'panda.urdf').read_text()))
    model.set_example(shown)
    for tick in range(200):
        model.apply(SetGoal(0, goal_at(0.001 * tick), tick / RATE))
        model.tracker.tick(tick / RATE)
    model.recorder.save(tmp_path / 'recording.npz')
    (run,) = replay(read_recording(tmp_path / 'recording.npz'))
    assert run.is_same
    assert run.replayed.shape == (200, panda.n)


def test_an_example_in_a_file(panda, tmp_path):
    path = tmp_path / 'example.csv'
    ik.motion.save_motion(demonstration(frames=6), path)
    model = model_of(panda, file=str(path))
    model.apply(SetGoal(0, goal_at(0.3), 0.0))
    assert model.tracker.snapshot().arguments['options'].rest_rate > 0.0
    path.write_text('time,panda_joint1\n0,0\n1,9\n')
    with pytest.raises(ik.motion.InvalidMotion, match=r"'panda_joint1' at frame 1 is 9, outside"):
        model_of(panda, file=str(path))


def test_examples_that_are_none_are_refused(panda, shown):
    other = ik.retargeting.Demonstration(load('panda'), (TIP,), demonstration(frames=2))
    with pytest.raises(InvalidGoal, match='another robot'):
        model_of(panda).set_example(other)
    with pytest.raises(ik.motion.InvalidMotion, match="no joint 'elbow'"):
        ik.retargeting.Demonstration(panda, (TIP,), ik.motion.Motion(('elbow',), [[0.0]], 1.0))
    with pytest.raises(InvalidOption, match='both 0'):
        ExampleOptions(alpha=0.0, beta=0.0)
