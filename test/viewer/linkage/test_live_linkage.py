# SPDX-License-Identifier: Apache-2.0
"""`ik linkage --live`: the linkage that changes, its tab, and the method that moves it."""

from functools import partial

import numpy as np
import pytest

import ik_core as ik
from ik_core.cli.main import main
from ik_viewer.arm import GoalKind
from ik_viewer.linkage.linkage_arm import BENT, Design, LinkageArm
from ik_viewer.local.local_arm import LocalArm
from ik_viewer.page.goal_panel import Goals


@pytest.fixture
def arm(monkeypatch):
    """A linkage that moves only by `ticks`."""
    monkeypatch.setattr(LocalArm, '_run', lambda _: None)
    it = LinkageArm(Design())
    yield it
    it.close()


def ticks(arm, count):
    """The joints (count, n) in so many ticks."""
    joints = []
    for k in range(count):
        arm._arm.tick(k / 60.0)
        joints.append(arm.read().q.copy())
    return np.array(joints)


def robot_of(arm):
    return arm.description.robot


def test_a_design_is_the_linkage_of_its_lengths():
    design = Design().with_rods(4).with_length(0.7, 1)
    assert design.lengths == (0.4, 0.7, 0.4, 0.4)
    assert design.with_rods(2).lengths == (0.4, 0.7)
    assert design.with_length(0.2).lengths == (0.2,) * 4
    tip = design.robot().forward_kinematics(np.zeros(8), 'tip')[:3, 3]
    np.testing.assert_allclose(tip, [1.9, 0.0, 0.0])


def test_fewer_rods_have_no_more_stiff_joints_than_rods():
    design = Design(stiff_joints=3, stiffness=2.0).with_rods(1)
    text = design.stiffness_settings(design.robot())['pseudoinverse.joint_stiffness']
    assert text == 'joint_1/z=2, joint_1/y=2'


def test_it_moves_by_the_steps_of_the_coursework_and_arrives(arm):
    joints = ticks(arm, 150)
    moment = arm.read()
    assert moment.code == 'reached'
    steps = np.linalg.norm(np.diff(joints, axis=0), axis=1)
    assert 0.045 < steps.max() <= 0.05 + 1e-9
    assert steps[0] < 0.01  # slow-in
    goal = moment.tips[0].goal[:3, 3]
    tip = robot_of(arm).forward_kinematics(moment.q, 'tip')[:3, 3]
    assert np.linalg.norm(tip - goal) < 1e-5


def test_another_linkage_keeps_goal_settings_and_the_angles_of_its_joints(arm):
    ticks(arm, 20)
    arm.set_settings({'solver': 'pseudoinverse', 'joint_limits.default.velocity': 1.5})
    q, goal = ticks(arm, 1)[-1], arm.read().tips[0].goal
    arm.change(Design().with_rods(4))
    np.testing.assert_array_equal(arm.read().q, [*q, BENT, BENT])
    assert arm.settings['solver'].value == 'pseudoinverse'
    assert arm.settings['joint_limits.default.velocity'].value == 1.5
    ticks(arm, 1)
    tip = arm.read().tips[0]
    assert tip.kind is GoalKind.POSITION
    np.testing.assert_array_equal(tip.goal, goal)


def test_a_design_that_is_none_leaves_the_linkage_as_it_was(arm):
    before = arm.description
    with pytest.raises(ik.exceptions.InvalidOption, match='pitch'):
        arm.change(Design('screw', pitch=float('nan')))
    assert arm.description is before
    assert arm.design == Design()


def test_stiff_joints_do_less_of_the_work_without_another_robot(arm):
    def part_of_first_joint():
        """Its part of the turning in a tick, from the start."""
        arm.set_joint_goal(dict.fromkeys(robot_of(arm).joint_names, BENT))
        ticks(arm, 100)
        arm.set_goal(0, goal, GoalKind.POSITION)
        turns = np.abs(np.diff(ticks(arm, 10), axis=0)).sum(axis=0)
        return turns[:2].sum() / turns.sum()

    ticks(arm, 1)
    goal, robot = arm.read().tips[0].goal, robot_of(arm)
    free = part_of_first_joint()
    arm.change(Design(stiffness=20.0))
    assert part_of_first_joint() < 0.8 * free
    assert robot_of(arm) is robot


def test_flexible_rods_bend_less_the_stiffer_they_are(arm):
    """And the tip is at its goal, with springs of joints and rods at rest."""

    def bend():
        names = robot_of(arm).joint_names
        ticks(arm, 400)
        moment = arm.read()
        assert moment.tips[0].position_error < 1e-3
        bent = np.array([name.startswith('bend_') for name in names])
        return np.linalg.norm(moment.q[bent])

    ticks(arm, 1)
    arm.change(Design(pieces=3, rod_stiffness=1.0))
    soft = bend()
    arm.change(Design(pieces=3, rod_stiffness=10.0))
    assert 0.0 < bend() < 0.5 * soft


@pytest.fixture
def shown(arm, made, clock):
    """The page of the linkage, its hands, and what lets time go by."""
    from ik_viewer.linkage.panel import LinkagePanel
    from ik_viewer.page.page import PARTS

    page, hands = made(arm, (partial(LinkagePanel, arm=arm), *PARTS))

    def settle():
        for _ in range(2):
            clock()
            ticks(arm, 1)
            page.frame()
        assert not page.notices.last

    return page, hands, settle


def test_sliders_and_menus_change_the_linkage(arm, shown):
    _, hands, settle = shown
    hands.change('Rods', 4)
    settle()
    hands.change('Rod', '2')
    hands.change('Length [mm]', 700.0)
    settle()
    assert arm.design.lengths == (0.4, 0.7, 0.4, 0.4)
    hands.change('Joints', 'screw')
    settle()
    hands.change('Pitch [mm per turn]', 250.0)
    settle()
    robot = robot_of(arm)
    assert robot.name == 'linkage_4_screw'
    turned = robot.forward_kinematics(np.full(4, np.pi), 'tip')
    assert turned[2, 3] == pytest.approx(4 * 0.25 / 2.0)
    assert hands.widget('Rods').value == 4


def test_sliders_make_rods_flexible_and_limit_all_angles(arm, shown):
    _, hands, settle = shown
    hands.change('Pieces of a rod', 3)
    hands.change('Stiffness of the rods', 5.0)
    hands.change('Limits [deg]', 40.0)
    settle()
    assert (arm.design.pieces, arm.design.rod_stiffness) == (3, 5.0)
    robot = robot_of(arm)
    stiff = [name.startswith('joint_') for name in robot.joint_names]
    np.testing.assert_allclose(robot.upper[stiff], np.radians(40.0))
    assert np.isinf(robot.upper[np.logical_not(stiff)]).all()
    hands.change('Limits [deg]', 180.0)
    settle()
    assert arm.design.limits is None


def test_branches_are_tips_with_goals_that_they_reach(arm, shown):
    page, hands, settle = shown
    hands.change('Rods', 4)
    hands.change('Branches', 3)
    settle()
    first = arm.read().tips[0].goal
    assert len(page.part(Goals).gizmos.each) == 3
    ticks(arm, 400)
    moment = arm.read()
    np.testing.assert_array_equal(moment.tips[0].goal, first)
    for tip in moment.tips:
        at = robot_of(arm).forward_kinematics(moment.q, tip.link)[:3, 3]
        assert np.linalg.norm(at - tip.goal[:3, 3]) < 0.05
    hands.change('Rods', 1)
    settle()
    assert arm.design.branches == 1


def test_a_slider_in_motion_does_not_change_it_yet(arm, shown):
    page, hands, settle = shown
    for rods in (4, 5, 6):
        hands.change('Rods', rods)
        ticks(arm, 1)
        page.frame()
        assert arm.design.rods == 3
    settle()
    assert arm.design.rods == 6


def test_sliders_of_the_motion_are_options_of_the_solver(arm, shown):
    _, hands, settle = shown
    hands.change('Stiff joints', 2)
    hands.change('Stiffness', 5.0)
    hands.change('Slow-in, slow-out', 0.4)
    hands.change('Slow near the goal [mm]', 250.0)
    settle()
    value = {name: setting.value for name, setting in arm.settings.items()}
    stiff = 'joint_1/z=5, joint_1/y=5, joint_2/z=5, joint_2/y=5'
    assert value['jacobian_transpose.joint_stiffness'] == stiff
    assert value['jacobian_transpose.slow_fraction'] == 0.4
    assert value['jacobian_transpose.slow_distance'] == 0.25
    arm.set_settings({'jacobian_transpose.slow_fraction': 0.1})
    settle()
    assert hands.widget('Slow-in, slow-out').value == 0.1
    arm.set_settings({'solver': 'levenberg_marquardt'})
    settle()
    assert hands.widget('Slow-in, slow-out').disabled


@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        (['0'], 'rods'),
        (['2', '--length', '1', '2', '3'], '3 lengths for 2 rods'),
        (['--port', '70000'], '70000'),
    ],
)
def test_live_refuses_in_one_line(arguments, complaint, capsys):
    pytest.importorskip('viser')
    assert main(['linkage', '--live', *arguments]) == 2
    error = capsys.readouterr().err
    assert complaint in error
    assert error.count('\n') == 1
