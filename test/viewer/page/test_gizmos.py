# SPDX-License-Identifier: Apache-2.0
"""A gizmo gives its tip the goal, follows the goals of others, and never fights a hand."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.fake_arm import FakeArm, panda

pytest.importorskip('viser')

from support.page_hands import Hands, gizmo_of, part

from ik_viewer.arm import GoalKind
from ik_viewer.page import gizmos
from ik_viewer.page.goal_panel import Goals


def some_pose(seed=3):
    return robots.random_transform(np.random.default_rng(seed))


def test_a_gizmo_begins_at_its_tip(made):
    arm = panda()
    page, _ = made(arm)
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    np.testing.assert_allclose(gizmo_of(page).pose, truth, atol=1e-9)


def test_a_gizmo_is_hidden_while_a_part_hides_all_of_them(made):
    page, _ = made(panda())
    selection = part(page, Goals)._context.selection
    for shown in (True, False, True):
        selection.gizmos = shown
        page.frame()
        assert gizmo_of(page)._node.visible is shown


def test_dragging_gives_the_arm_the_pose_of_the_gizmo(made):
    arm, pose = panda(), some_pose()
    page, hands = made(arm)
    hands.grab(gizmo_of(page))
    hands.drag(gizmo_of(page), pose)
    page.frame()
    ((tip, goal, kind),) = arm.called('set_goal')
    assert (tip, kind) == (0, GoalKind.POSE)
    np.testing.assert_allclose(goal, pose, atol=1e-12)


def test_a_clutch_moves_the_goal_by_a_part_of_the_drag_and_takes_the_gizmo_back(made, clock):
    arm = panda()
    page, hands = made(arm)
    start = gizmo_of(page).pose
    part(page, Goals)._context.selection.drag_scale = 0.25
    way, turn = np.array([0.2, -0.1, 0.04]), np.array([0.4, 0.0, -0.8])
    pose = start.copy()
    pose[:3, 3] += way
    pose[:3, :3] = Rotation.from_rotvec(turn).as_matrix() @ start[:3, :3]
    hands.grab(gizmo_of(page))
    page.frame()
    assert arm.called('set_goal') == []
    hands.drag(gizmo_of(page), pose)
    page.frame()
    ((_, goal, _),) = arm.called('set_goal')
    np.testing.assert_allclose(goal[:3, 3], start[:3, 3] + 0.25 * way, atol=1e-9)
    expected = Rotation.from_rotvec(0.25 * turn).as_matrix() @ start[:3, :3]
    np.testing.assert_allclose(goal[:3, :3], expected, atol=1e-9)
    hands.let_go(gizmo_of(page))
    arm.goals[0] = goal
    clock()
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, goal, atol=1e-6)


def test_of_many_events_the_newest_is_given_once_a_frame(made):
    arm = panda()
    page, hands = made(arm)
    hands.grab(gizmo_of(page))
    for seed in range(50):
        hands.drag(gizmo_of(page), some_pose(seed))
    page.frame()
    page.frame()
    ((_, goal, _),) = arm.called('set_goal')
    np.testing.assert_allclose(goal, some_pose(49), atol=1e-12)


def test_grabbing_alone_gives_no_goal(made):
    arm = panda()
    page, hands = made(arm)
    hands.grab(gizmo_of(page))
    page.frame()
    assert arm.called('set_goal') == []


def test_a_gizmo_in_a_hand_is_not_moved_by_the_arm(made, clock):
    arm = panda()
    page, hands = made(arm)
    hands.grab(gizmo_of(page))
    hands.drag(gizmo_of(page), some_pose(1))
    arm.goals[0] = some_pose(2)
    clock()
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, some_pose(1), atol=1e-12)


def test_a_gizmo_in_the_hand_of_a_browser_that_was_closed_follows_the_arm_again(made, clock):
    arm = panda()
    page, hands = made(arm)
    hands.grab(gizmo_of(page))
    hands.drag(gizmo_of(page), some_pose(1))
    hands.close()
    arm.goals[0] = some_pose(2)
    clock()
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, some_pose(2), atol=1e-9)


def test_nor_just_after_and_then_it_follows_the_goal_of_the_arm(made, clock):
    arm = panda()
    page, hands = made(arm)
    clock()
    hands.grab(gizmo_of(page))
    hands.drag(gizmo_of(page), some_pose(1))
    hands.let_go(gizmo_of(page))
    arm.goals[0] = some_pose(2)  # an older one
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, some_pose(1), atol=1e-12)
    clock(2.0 * gizmos.HOLD)
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, some_pose(2), atol=1e-9)


def test_while_one_hand_holds_it_another_that_lets_go_does_not_matter(made, clock):
    arm = panda()
    page, hands = made(arm)
    other = Hands(page, client=2)
    hands.grab(gizmo_of(page))
    other.grab(gizmo_of(page))
    other.let_go(gizmo_of(page))
    stands = gizmo_of(page).pose
    arm.goals[0] = some_pose(2)
    clock()
    page.frame()
    np.testing.assert_allclose(gizmo_of(page).pose, stands, atol=1e-12)


def test_without_a_goal_it_goes_with_the_tip(made, clock):
    arm = panda()
    page, _ = made(arm)
    arm.q = arm.q + 0.2
    clock()
    page.frame()
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    np.testing.assert_allclose(gizmo_of(page).pose, truth, atol=1e-9)


@pytest.mark.parametrize(
    ('word', 'kind'), [('Position', GoalKind.POSITION), ('Position + axis', GoalKind.AXIS)]
)
def test_what_counts_is_chosen_for_the_tip_in_hand(made, word, kind):
    arm = FakeArm(robots.shipped('dual_arm'))
    page, hands = made(arm)
    hands.change('Tip', arm.links[1])
    hands.change('Goal kind', word)
    ((tip, goal, given),) = arm.called('set_goal')
    assert (tip, given) == (1, kind)
    np.testing.assert_allclose(goal, gizmo_of(page, 1).pose, atol=1e-12)
    hands.grab(gizmo_of(page, 0))
    page.frame()
    assert hands.widget('Tip').value == arm.links[0]
    assert hands.widget('Goal kind').value == 'Pose'


def test_a_kind_that_is_chosen_elsewhere_is_shown(made, clock):
    arm = panda()
    page, hands = made(arm)
    arm.kinds[0] = GoalKind.AXIS
    clock()
    page.frame()
    assert hands.widget('Goal kind').value == 'Position + axis'
