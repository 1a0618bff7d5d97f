# SPDX-License-Identifier: Apache-2.0
"""The judge of `ik bench never_hits` finds breaches, contacts and goals that are reached."""

import numpy as np
import pytest

from benchmark.never_hits import SCENES, Judge
from ik_core import load_robot

pytest.importorskip('coal')


def ticks(places, **more):
    count = len(places) - 1
    found = {
        'places': np.array(places),
        'seconds': np.full(count, 1e-3),
        'unanswered': np.zeros(count, bool),
        'rate': 1.0,
        'settings': '',
        'error': '',
    }
    return found | more


@pytest.fixture(scope='module')
def table(tmp_path_factory):
    scene = SCENES['panda at a table'](tmp_path_factory.mktemp('scene'), 1)
    return scene, Judge(scene)


def test_a_hand_through_the_table_is_a_breach_as_deep_as_its_fingers(table):
    scene, judge = table
    robot = load_robot(scene.urdf)
    above = np.array(scene.q0)
    below = above.copy()
    below[1] += 1.0
    assert robot.forward_kinematics(below, 'panda_hand_tcp')[2, 3] < 0.2  # its top is at 0.27 m
    row = judge.row(ticks([above, above, below]))
    assert row['ticks'] == 2
    assert row['breaches'] == 1
    assert row['deepest_mm'] > 20.0
    assert judge.row(ticks([above, above, above]))['breaches'] == 0


def test_a_step_through_an_obstacle_and_back_is_a_breach(table):
    scene, judge = table
    left, right = np.array(scene.q0), np.array(scene.q0)
    left[:4], right[:4] = (-1.5, 0.9, 0.0, -1.8), (1.5, 0.9, 0.0, -1.8)
    ends = [judge.row(ticks([q, q, q]))['breaches'] for q in (left, right)]
    assert ends == [0, 0]
    assert judge.row(ticks([left, left, right]))['breaches'] == 1


def test_a_goal_is_reached_at_its_pose_alone(table):
    scene, judge = table
    robot = load_robot(scene.urdf)
    pose = robot.forward_kinematics(scene.q0, scene.tips[0])
    scene.goals[0][0] = pose.tolist()
    assert judge.row(ticks([scene.q0] * 3))['reached'] == 1.0
    turned = np.array(scene.q0)
    turned[6] += 0.1
    assert judge.row(ticks([turned] * 3))['reached'] == 0.0
