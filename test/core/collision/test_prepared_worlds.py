# SPDX-License-Identifier: Apache-2.0
"""Worlds that another thread prepares for collisions: what is checked does not change by it."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box, Sphere
from ik_core.tracking import TrackStatus


@pytest.fixture(scope='module')
def panda():
    return ik.load_urdf('panda')


def worlds(count=6):
    rng, world = np.random.default_rng(5), ik.World()
    for k in range(count):
        world.add(
            f'box {k}', Box((0.2, 0.1, 0.3)), ik.transform(position=rng.uniform(-0.8, 0.8, 3))
        )
        yield world


def test_a_prepared_world_is_taken_once_and_checks_the_same(panda):
    rows = np.random.default_rng(6).uniform(panda.lower, panda.upper, (300, panda.n))
    collisions = ik.Collisions(panda, margin=0.02)
    later = collisions
    for world in worlds():
        prepared = collisions.prepare(world)
        later = later.with_world(world.copy())
        assert later is prepared
        assert later.with_world(world.copy()) is not prepared
        alone = ik.Collisions(panda, world, margin=0.02)
        assert later.digest() == alone.digest()
        assert (later.free(rows) == alone.free(rows)).all()
        assert not later.free(rows).all()


@pytest.mark.parametrize('change', ['move', 'remove', 'allow', 'add'])
def test_another_world_than_the_prepared_one_is_made_as_always(panda, change):
    collisions = ik.Collisions(panda)
    *_, world = worlds()
    prepared, other = collisions.prepare(world), world.copy()
    if change == 'move':
        other.move('box 1', ik.transform(position=(0.3, 0.0, 0.3)))
    elif change == 'remove':
        other.remove('box 1')
    elif change == 'allow':
        other.allow('box 1', 'panda_hand')
    else:
        other.add('ball', Sphere(0.1))
    found = collisions.with_world(other)
    assert found is not prepared
    assert found.digest() == ik.Collisions(panda, other).digest()
    assert collisions.with_world(world) is prepared  # it still is


def test_a_world_in_which_all_pairs_may_touch_holds_nothing_back(panda):
    world = ik.World()
    for k, first in enumerate(panda.link_names):
        for second in panda.link_names[:k]:
            world.allow(first, second)
    limits = ik.MotionLimits.of(panda, acceleration=10.0)
    problem = ik.IkProblem(panda, [ik.PoseTask('panda_hand')])
    tracker = ik.Tracker(problem, rate=250.0, limits=limits, avoid=ik.Collisions(panda, world))
    goal = panda.forward_kinematics(0.8 * panda.middle_configuration, 'panda_hand')
    tracker.set_goal(0, goal, 0.0)
    for tick in range(1000):
        command = tracker.tick(tick / 250.0)
    assert command.status is TrackStatus.REACHED
