# SPDX-License-Identifier: Apache-2.0
"""A far goal whose straight joint path is not free: other branches are tried first."""

from __future__ import annotations

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.collision import Box, Collisions
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.governor import Governor
from ik_core.tracking.governor.clearance import Clearance
from ik_core.tracking.recording import Recorder, read_recording, replay

pytest.importorskip('coal')
from benchmark.coal_judge import NO_ANSWER, CoalJudge

RATE = 250.0
TURN = 2.0 * np.pi
SPARE = 1e-3  # [m] beyond the margin, where the arm stops
PLACES = np.linspace(0.0, 1.0, 200)[:, np.newaxis]  # of a path that is judged


class Scene:
    """A UR5e between boxes, a goal that it reaches, and what coal says about the ways there."""

    def __init__(self, seed):
        random = np.random.default_rng(seed)
        self.robot, world = ik.load_robot('ur5e'), ik.World()
        world.add('table', Box((2.0, 2.0, 0.1)), ik.transform(position=(0.0, 0.0, -0.1)))
        for i in range(3):
            angle, away = random.uniform(0.0, TURN), random.uniform(0.35, 0.7)
            place = away * np.cos(angle), away * np.sin(angle), random.uniform(0.2, 0.8)
            world.add(f'box{i}', Box((0.15, 0.15, 0.4)), ik.transform(position=place))
        self.collisions = Collisions(self.robot, world)
        self.judge = CoalJudge(self.collisions)
        drawn = random.uniform(-3.0, 3.0, (100, 6))
        self.start, there = drawn[self.collisions.free(drawn)][:2]
        self.goal = self.robot.forward_kinematics(there, 'tool0')
        self.problem = ik.IkProblem(self.robot, [ik.PoseTask('tool0')], avoid=self.collisions)

    def tracker(self, **more):
        limits = MotionLimits.of(self.robot, acceleration=10.0)
        tracker = Tracker(
            self.problem, RATE, limits=limits, q0=self.start, background=None, **more
        )
        tracker.set_goal('tool0', self.goal, 0.0)
        return tracker

    def branches(self):
        """All solutions by their nearest turns, nearest first, with the least distances [m]
        beyond the margin on the straight paths there.
        """
        own = ik.IkProblem(self.robot, [ik.PoseTask('tool0')])
        own.goals[0].set_target(self.goal)
        found = ik.solve_all(own, self.start).q
        found -= TURN * np.round((found - self.start) / TURN)
        limits = MotionLimits.of(self.robot)
        found += TURN * ((found < limits.lower) * 1.0 - (found > limits.upper))
        away = np.linalg.norm(found - self.start, axis=1)
        order = np.argsort(away)
        return found[order], np.array([self.clearance(q) for q in found[order]])

    def clearance(self, end):
        """The least distance [m] beyond the margins on the straight path to `end`, by coal."""
        margin = self.collisions.model['margin']
        rows = self.start + PLACES * (end - self.start)
        found = np.array([self.judge.piece_distances(q) for q in rows])
        return float((found - margin)[found > NO_ANSWER].min())


def run(tracker, ticks=1500):
    """Tick until the joints rest; return the commands."""
    commands = []
    for tick in range(ticks):
        commands.append(tracker.tick(tick / RATE))
        if tick > 20 and tracker.at_rest and commands[-1].status is not TrackStatus.SEARCHING:
            break
    return commands


@pytest.mark.parametrize(('seed', 'others'), [(5, 1), (9, 1), (13, 2)])
def test_the_nearest_branch_with_a_free_path_is_taken(seed, others):
    scene = Scene(seed)
    q, clear = scene.branches()
    nearest = int(np.argmax(clear > SPARE))
    assert nearest == others  # so many are nearer, and their paths are not free
    last = run(scene.tracker())[-1]
    assert last.status is TrackStatus.REACHED
    np.testing.assert_allclose(last.q, q[nearest], atol=1e-3)


@pytest.mark.parametrize('seed', [2, 4])
def test_without_a_free_path_the_first_branch_is_approached_up_to_the_obstacle(seed):
    scene = Scene(seed)
    q, clear = scene.branches()
    assert clear.max() < 0.0
    tracker = scene.tracker()
    last = run(tracker)[-1]
    assert last.status is TrackStatus.OBSTACLE
    np.testing.assert_allclose(last.solution, q[0], atol=1e-3)
    by_coal = scene.judge.distances(last.q)
    assert tracker.obstacle_distance == pytest.approx(by_coal[tracker.obstacle], abs=1e-6)
    assert 0.010 <= tracker.obstacle_distance < 0.013


def test_a_free_path_is_taken_without_a_search():
    scene = Scene(0)
    commands = run(scene.tracker())
    assert commands[-1].status is TrackStatus.REACHED
    assert scene.clearance(commands[-1].solution) > 0.0
    assert TrackStatus.SEARCHING not in {command.status for command in commands}


def test_searches_for_branches_are_replan_period_apart(monkeypatch):
    monkeypatch.setattr(Governor, 'path_is_free', property(lambda _: lambda *_: False))
    scene = Scene(5)
    tracker = scene.tracker(options=TrackerOptions(replan_period=0.2))
    away = scene.goal @ ik.transform(quaternion=(0.0, 0.0, 0.6, 0.8))
    statuses = []
    for tick in range(250):
        if tick % 10 == 0:
            tracker.set_goal('tool0', away if tick % 20 else scene.goal, tick / RATE)
        statuses.append(tracker.tick(tick / RATE).status is TrackStatus.SEARCHING)
    begins = np.flatnonzero(np.diff(statuses, prepend=False) & np.array(statuses))
    assert begins.size > 1
    assert np.diff(begins).min() >= 0.2 * RATE


def test_a_search_for_a_branch_replays_the_same_bits_and_continues_from_a_snapshot(tmp_path):
    scene, path = Scene(5), tmp_path / 'ur5e.npz'
    tracker = scene.tracker()
    recorder = Recorder((URDF / 'ur5e.urdf').read_text())
    tracker.observe(recorder)
    while tracker.tick(0.0).status is not TrackStatus.SEARCHING:
        pass
    other = Tracker.from_snapshot(tracker.snapshot(), background=None)
    ends = [run(each)[-1] for each in (tracker, other)]
    assert {end.status for end in ends} == {TrackStatus.REACHED}
    np.testing.assert_allclose(ends[0].q, ends[1].q, atol=1e-6)
    recorder.save(path)
    assert all(each.is_same for each in replay(read_recording(path)))


def test_the_distance_of_a_pair_is_known_however_far_it_is():
    robot = ik.load_robot('panda')
    collisions = ik.Collisions(robot, margin=0.01)
    q = robot.middle_configuration
    clearance = Clearance(collisions)
    clearance.restart(q)
    far = collisions.distances(q, np.inf)[-1]
    names = [(pair.first, pair.second) for pair in collisions.distances(q, np.inf)]
    assert far.distance > 0.3
    assert names.count((far.first, far.second)) == 1
    pieces = collisions.piece_names
    pairs = [(pieces[i], pieces[j]) for i, j in collisions.approaches(False)[0]['pairs'][:, :2]]
    clearance._blocking = pairs.index((far.first, far.second)), False
    assert clearance.obstacle_distance(q) == far.distance
