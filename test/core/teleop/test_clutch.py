# SPDX-License-Identifier: Apache-2.0
"""The goal of a tip moves as the hand moves: scaled, mirrored, in a box, with limited speed."""

import math

import numpy as np
import pytest

import ik_core as ik
from ik_core.maths.rotations import frame_of, pose_error, transform_of
from ik_core.teleop import OPENXR, HandOptions
from ik_core.teleop.clutch import LEASH, LEASH_TURN, Clutch

PERIOD = 0.01
TIP = ik.transform(position=[0.4, 0.1, 0.3], rpy=[0.3, -0.4, 1.0])
HAND = ik.transform(position=[5.0, 6.0, 7.0], rpy=[-1.0, 0.2, 2.0])
FAST = {'linear_velocity': 100.0, 'angular_velocity': 100.0}


def engaged(**options):
    clutch = Clutch(HandOptions(**options), PERIOD, position_first=False)
    clutch.engage(frame_of(HAND), frame_of(TIP))
    return clutch


def moved(clutch, *hands):
    """The goal (4, 4) after a period for each pose of the hand."""
    for hand in hands:
        clutch.move(frame_of(hand))
    return transform_of(clutch.goal)


def shifted(x=0.0, y=0.0, z=0.0, turn=()):
    """The hand after a displacement and a turn (rotation vector), both in its fixed frame."""
    hand = HAND.copy()
    hand[:3, 3] += x, y, z
    if turn:
        hand[:3, :3] = about(turn) @ hand[:3, :3]
    return hand


def about(vector):
    """The rotation matrix of a rotation vector, by Rodrigues' formula."""
    angle = float(np.linalg.norm(vector))
    x, y, z = np.array(vector) / angle
    cross = np.array([[0, -z, y], [z, 0, -x], [-y, x, 0]])
    return np.eye(3) + math.sin(angle) * cross + (1 - math.cos(angle)) * cross @ cross


def expected(displacement, turn=None):
    goal = TIP.copy()
    goal[:3, 3] += displacement
    if turn is not None:
        goal[:3, :3] = about(turn) @ goal[:3, :3]
    return goal


def assert_same(goal, other):
    position, angle = pose_error(goal, other)
    assert position < 1e-9
    assert angle < 1e-7


def test_the_tip_moves_and_turns_as_the_hand():
    goal = moved(engaged(**FAST), shifted(0.01, -0.02, 0.03, (0.1, 0.2, -0.1)))
    assert_same(goal, expected([0.01, -0.02, 0.03], (0.1, 0.2, -0.1)))


def test_displacements_and_turns_have_scales_of_their_own():
    goal = moved(
        engaged(scale=0.5, rotation_scale=2.0, **FAST), shifted(0.02, 0.0, 0.01, (0.0, 0.1, 0.0))
    )
    assert_same(goal, expected([0.01, 0.0, 0.005], (0.0, 0.2, 0.0)))


@pytest.mark.parametrize(
    ('hand', 'tip'),
    [((0, 0, -1), (1, 0, 0)), ((-1, 0, 0), (0, 1, 0)), ((0, 1, 0), (0, 0, 1))],
    ids=['forwards', 'left', 'up'],
)
def test_a_headset_moves_the_tip_in_the_same_direction(hand, tip):
    clutch = engaged(axes=OPENXR, **FAST)
    goal = moved(clutch, shifted(*(0.01 * np.array(hand)), tuple(0.1 * np.array(hand))))
    assert_same(goal, expected(0.01 * np.array(tip), 0.1 * np.array(tip)))


def test_a_mirror_turns_the_other_way():
    """Left is right: about the vertical, turns change their sign, about left and right not."""
    mirror = np.diag([1.0, -1.0, 1.0])
    goal = moved(engaged(axes=mirror, **FAST), shifted(0.01, 0.02, 0.0, (0.0, 0.0, 0.1)))
    assert_same(goal, expected([0.01, -0.02, 0.0], (0.0, 0.0, -0.1)))
    goal = moved(engaged(axes=mirror, **FAST), shifted(turn=(0.0, 0.1, 0.0)))
    assert_same(goal, expected([0.0, 0.0, 0.0], (0.0, 0.1, 0.0)))


def test_a_hand_may_turn_more_than_half_a_turn():
    turns = [shifted(turn=(0.0, 0.0, angle)) for angle in np.arange(0.2, 4.05, 0.2)]
    goal = moved(engaged(rotation_scale=0.5, **FAST), *turns)
    assert_same(goal, expected([0.0, 0.0, 0.0], (0.0, 0.0, 2.0)))


BOX = ([0.3, 0.05, 0.25], [0.42, 0.2, 0.5])
SPHERE = ([0.4, 0.1, 0.3], 0.05)


@pytest.mark.parametrize('region', [{'box': BOX}, {'sphere': SPHERE}], ids=['box', 'sphere'])
def test_the_goal_stays_in_its_region_and_comes_back_with_the_hand(region):
    clutch = engaged(**region, **FAST)
    options = HandOptions(**region)
    outwards = [shifted(x) for x in np.arange(0.005, 0.3, 0.005)]
    far = moved(clutch, *outwards)
    if 'box' in region:
        assert far[0, 3] == BOX[1][0]
    else:
        assert np.linalg.norm(far[:3, 3] - SPHERE[0]) == pytest.approx(SPHERE[1])
    back = moved(clutch, shifted(0.29), shifted(0.28))
    assert back[0, 3] < far[0, 3]
    assert (options.inside(back[:3, 3]) == back[:3, 3]).all()


def test_a_tip_outside_its_region_comes_in_at_limited_speed():
    clutch = engaged(box=([0.0, 0.0, 0.0], [0.2, 1.0, 1.0]), linear_velocity=0.5)
    steps = []
    for _ in range(200):
        before = clutch.goal[9]
        moved(clutch, HAND)
        steps.append(before - clutch.goal[9])
    assert max(steps) <= 0.5 * PERIOD + 1e-12
    assert clutch.goal[9] == pytest.approx(0.2, abs=1e-6)


def test_a_hand_that_is_too_fast_is_caught_up_at_the_limits():
    clutch = engaged(linear_velocity=0.3, angular_velocity=1.0)
    hand, before = shifted(0.1, turn=(0.0, 0.0, 0.4)), TIP
    for _ in range(300):
        goal = moved(clutch, hand)
        position, angle = pose_error(goal, before)
        assert position <= 0.3 * PERIOD + 1e-12
        assert angle <= 1.0 * PERIOD + 1e-7
        before = goal
    assert pose_error(goal, expected([0.1, 0.0, 0.0], (0.0, 0.0, 0.4)))[0] < 1e-6


def test_the_velocity_is_that_of_the_goal():
    clutch = engaged(scale=2.0)
    moved(clutch, *(shifted(0.001 * k, turn=(0.0, 0.0, 0.003 * k)) for k in range(1, 20)))
    np.testing.assert_allclose(clutch.twist, [0.2, 0, 0, 0, 0, 0.3], atol=1e-6)


# What the arm can't follow


def test_what_the_arm_does_not_reach_is_dropped_but_for_a_leash():
    clutch, reached = engaged(**FAST), frame_of(TIP)
    for x in np.arange(0.01, 0.31, 0.01):
        moved(clutch, shifted(x))
        clutch.keep_near(reached)
    assert clutch.goal[9] == pytest.approx(TIP[0, 3] + LEASH)
    goal = moved(clutch, shifted(0.3 - LEASH - 0.002))
    assert goal[0, 3] == pytest.approx(TIP[0, 3] - 0.002)


def test_a_tremor_at_the_end_of_the_reach_moves_nothing():
    clutch, reached = engaged(**FAST), frame_of(TIP)
    moved(clutch, shifted(0.1))
    clutch.keep_near(reached)
    for k in range(200):
        goal = moved(clutch, shifted(0.1 + 0.002 * math.sin(k)))
        clutch.keep_near(reached)
        assert goal[0, 3] > TIP[0, 3]


def test_turns_out_of_reach_are_dropped_but_for_a_leash():
    clutch, reached = engaged(**FAST), frame_of(TIP)
    for angle in np.arange(0.1, 2.05, 0.1):
        moved(clutch, shifted(turn=(0.0, angle, 0.0)))
        clutch.keep_near(reached)
    assert_same(transform_of(clutch.goal), expected([0.0, 0.0, 0.0], (0.0, LEASH_TURN, 0.0)))
    goal = moved(clutch, shifted(turn=(0.0, 2.0 - LEASH_TURN - 0.1, 0.0)))
    assert_same(goal, expected([0.0, 0.0, 0.0], (0.0, -0.1, 0.0)))


# Wrong options


@pytest.mark.parametrize(
    ('options', 'message'),
    [
        ({'scale': 0.0}, 'scale = 0.0: a positive number'),
        ({'rotation_scale': math.nan}, 'rotation_scale = nan'),
        ({'latency': -0.1}, 'latency = -0.1'),
        ({'linear_velocity': 'fast'}, "linear_velocity = 'fast'"),
        ({'axes': np.ones((3, 3))}, 'not orthogonal'),
        ({'axes': 2.0 * np.eye(3)}, 'scale= changes lengths'),
        ({'axes': np.eye(4)}, r'axes has shape \(4, 4\); \(3, 3\)'),
        ({'box': BOX, 'sphere': SPHERE}, 'give one of them'),
        ({'box': ([0.5, 0, 0], [0.4, 1, 1])}, 'is above'),
        ({'box': [0.5, 0, 0]}, r'box has shape \(3,\)'),
        ({'sphere': ([0.0, 0.0, 0.0], -1.0)}, 'radius'),
        ({'sphere': 0.5}, 'sphere = 0.5: a centre'),
    ],
)
def test_wrong_options_are_refused(options, message):
    with pytest.raises(ik.InvalidOption, match=message):
        HandOptions(**options)
