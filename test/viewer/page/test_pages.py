# SPDX-License-Identifier: Apache-2.0
"""The page over an arm that only remembers: what it shows, what it asks for, what it survives."""

import asyncio
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support import robots
from support.fake_arm import FakeArm, panda

pytest.importorskip('viser')

from support.page_hands import part

import ik_core as ik
from ik_viewer.arm import Setting
from ik_viewer.drawing.colours import LOST
from ik_viewer.local.settings import all_settings, changed
from ik_viewer.page import fields
from ik_viewer.page.browser import FIELD
from ik_viewer.page.gizmos import Gizmos
from ik_viewer.page.goal_panel import Goals
from ik_viewer.page.jog import Jog
from ik_viewer.page.page import Page
from ik_viewer.page.scene import Scene


def some_pose(seed=3):
    return robots.random_transform(np.random.default_rng(seed))


# What is asked of the arm by the panel


def test_slider_moves_its_joint_and_shows_where_it_is_to_go(made, clock):
    arm = panda()
    page, hands = made(arm)
    hands.change('panda_joint1 [deg]', 45.0)
    hands.change('panda_finger_joint1 [mm]', 10.0)
    first, second = arm.called('set_joint_goal')
    assert first == ({'panda_joint1': pytest.approx(np.pi / 4.0)},)
    assert second == ({'panda_finger_joint1': pytest.approx(0.01)},)
    slider = hands.widget('panda_joint1 [deg]')
    page.frame()
    assert slider.value == 45.0  # nobody takes it from the hand that moves it
    arm.solution = arm.q + 0.1
    clock()
    page.frame()
    assert slider.value == pytest.approx(np.degrees(arm.solution[0]), abs=1e-3)
    assert arm.called('set_joint_goal') == [first, second]


def test_slider_of_a_continuous_joint_shows_it_within_a_turn(made, clock):
    arm = FakeArm(robots.shipped('pr2_like'))
    joint = int(np.argmax(arm.description.robot.continuous))
    page, hands = made(arm)
    arm.q[joint] = 0.5 + 4.0 * np.pi
    clock()
    page.frame()
    slider = hands.widget(f'{arm.description.robot.joint_names[joint]} [deg]')
    assert slider.value == pytest.approx(np.degrees(0.5), abs=1e-3)


@pytest.mark.parametrize('end', ['lower', 'upper'])
def test_sliders_show_joints_at_their_limits(made, end):
    """A limit of 15 degrees is 14.999999999999998 as a product, and 15.0 rounded."""
    arm = FakeArm(robots.shipped('human'))
    robot = arm.description.robot
    arm.q[:] = getattr(robot, end)
    _, hands = made(arm)
    for joint, limit in zip(robot.joint_names, np.degrees(arm.q), strict=True):
        assert hands.widget(f'{joint} [deg]').value == pytest.approx(limit, abs=1e-3)


def test_home_is_asked_for(made):
    arm = panda()
    _, hands = made(arm)
    hands.press('Home')
    assert arm.calls == [('home',)]


def test_pause_and_reset(made):
    arm = panda()
    page, hands = made(arm)
    hands.press('Pause')
    arm.code = 'paused'
    page.frame()
    hands.press('Resume')
    hands.press('Drop the goals')
    assert arm.calls == [('pause', True), ('pause', False), ('reset',)]


def test_the_way_to_the_goal_is_a_setting(made):
    arm = panda()
    _, hands = made(arm)
    hands.change('Motion to the goal', 'Straight line')
    assert arm.called('set_settings') == [({'move': 'linear'},)]
    assert 'Motion to the goal' in [w.label for w in hands.widgets()]


def test_a_step_of_the_pad_moves_the_goal_by_as_much(made):
    arm = panda()
    _, hands = made(arm)
    hands.change('Step [mm]', 20)
    pad = hands.widget('Step along')
    pad._impl.value = '\u2212z'
    hands.press('Step along')
    ((_, goal, _),) = arm.called('set_goal')
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    truth[2, 3] -= 0.02
    np.testing.assert_allclose(goal, truth, atol=1e-12)


def test_a_turn_in_the_tips_axes_goes_on_from_the_goal(made):
    arm = panda()
    arm.goals[0] = some_pose()
    _, hands = made(arm)
    hands.change('Axes', 'of the tip')
    hands.change('Turn [deg]', 30)
    hands.widget('Turn about')._impl.value = '+y'
    hands.press('Turn about')
    ((_, goal, _),) = arm.called('set_goal')
    turn = robots.transform(Rotation.from_euler('y', 30, degrees=True))
    np.testing.assert_allclose(goal, some_pose() @ turn, atol=1e-12)


def test_a_button_that_is_held_sends_twists(made):
    arm = panda()
    _, hands = made(arm)
    hands.change('Direction', 'yaw (z)')
    hands.change('Rotation [deg/s]', 90)
    plus, minus = (w for w in hands.widgets() if w.label == 'Hold')
    hands.hold(plus)
    hands.hold(minus)
    (_, linear, angular), (_, _, back) = arm.called('set_twist')
    np.testing.assert_allclose([linear, angular], [[0, 0, 0], [0, 0, np.pi / 2]], atol=1e-12)
    np.testing.assert_allclose(back, -angular)


# Settings


def test_a_choice_is_given_with_the_next_frame(made, clock):
    arm = panda()
    page, hands = made(arm)
    hands.change('solver', 'second')
    page.frame()
    assert arm.called('set_settings') == [({'solver': 'second'},)]


def test_typed_numbers_are_given_once_when_typing_ends(made, clock):
    arm = panda()
    page, hands = made(arm)
    for text in ('0', '0.', '0.2', '0.25'):
        hands.change('damping [m]', text)
        clock(0.5 * fields.TYPING)
        page.frame()
    assert arm.called('set_settings') == []
    clock(fields.TYPING)
    page.frame()
    assert arm.called('set_settings') == [({'first.damping': 0.25},)]


def test_what_is_refused_is_shown_as_it_is(made, clock):
    arm = panda()
    page, hands = made(arm)
    hands.change('damping [m]', 'much')
    clock()
    page.frame()
    assert arm.called('set_settings') == [({'first.damping': 'much'},)]  # the arm says no
    page.frame()
    assert hands.widget('damping [m]').value == '1e-05'


def test_the_menu_of_solvers_has_presets_which_set_all_options(made):
    settings = all_settings(robots.shipped('panda'))
    arm = panda(settings=settings)
    page, hands = made(arm)
    hands.change('solver', 'damped_least_squares: buss_clamped')
    ((values,),) = arm.called('set_settings')
    truth = ik.make_solver('damped_least_squares', preset='buss_clamped').options
    assert values.pop('solver') == 'damped_least_squares'
    assert 'damped_least_squares.joint_stiffness' not in values
    for name, value in values.items():
        assert getattr(truth, name.partition('.')[2]) == value, name
    page.frame()
    assert hands.widget('solver').value == 'levenberg_marquardt'  # not set yet
    arm.settings = changed(settings, {'solver': 'damped_least_squares', **values})
    page.frame()
    assert hands.widget('solver').value == 'damped_least_squares: buss_clamped'
    hands.change('solver', 'damped_least_squares')
    assert arm.called('set_settings')[1][0]['damped_least_squares.max_step'] == 0.7
    arm.settings = changed(arm.settings, {'damped_least_squares.damping': 0.77})
    page.frame()
    assert hands.widget('solver').value == 'damped_least_squares'  # neither the one nor the other


def test_a_key_steps_the_goal_until_the_page_is_gone(made):
    arm = panda()
    page, _ = made(arm)
    commands = page.server.gui._command_handle_from_uuid
    (key,) = [c for c in commands.values() if c.hotkey == 'U']
    for callback in key._impl.trigger_cb:
        asyncio.run(callback(None))
    page.requests.do()
    ((_, goal, _),) = arm.called('set_goal')
    truth = arm.description.robot.forward_kinematics(arm.q, arm.links[0])
    truth[2, 3] -= 0.01
    np.testing.assert_allclose(goal, truth, atol=1e-12)
    part(page, Jog).remove()
    assert key not in commands.values()


def test_the_options_are_those_of_the_chosen_solver(made, clock):
    arm = panda()
    page, hands = made(arm)
    assert 'damping [m]' in [w.label for w in hands.widgets()]
    second = replace(arm.settings['solver'], value='second')
    arm.settings = {**arm.settings, 'solver': second}
    page.frame()
    page.frame()
    labels = [w.label for w in hands.widgets()]
    assert 'damping [m]' not in labels
    assert {'steps', 'fast'} <= set(labels)
    assert hands.widget('solver').value == 'second'


def test_all_kinds_of_values_are_read_as_they_are_shown():
    for setting in panda().settings.values():
        value = fields.read(setting, fields.shown(setting))
        assert value == setting.value or list(value) == list(setting.value)


def test_settings_that_can_not_be_changed_are_hidden(made):
    _, hands = made(panda())
    labels = [w.label for w in hands.widgets()]
    assert 'rate' not in labels
    assert 'jerk' in labels


def test_the_limits_of_a_joint_are_those_in_force(made, clock):
    arm = panda()
    joint = arm.description.robot.joint_names[0]
    own, default = f'joint_limits.{joint}.acceleration', 'joint_limits.default.acceleration'
    for name, value in ((own, np.inf), (default, 8.0), (f'joint_limits.{joint}.jerk', np.inf)):
        arm.settings[name] = Setting(name, float, value, bounds=(1e-6, np.inf))
    page, hands = made(arm)
    of_joint, of_all = (w for w in hands.widgets() if w.label == 'acceleration')
    assert (of_joint.value, of_all.value) == ('8', '8')
    jerks = [w.value for w in hands.widgets() if w.label == 'jerk']
    assert jerks == ['none', 'none']
    arm.settings = {**arm.settings, default: replace(arm.settings[default], value=5.0)}
    page.frame()
    arm.settings = {**arm.settings, own: replace(arm.settings[own], value=2.0)}
    page.frame()
    assert (of_joint.value, of_all.value) == ('2', '5')


# The scene


def test_the_ghost_shows_where_the_solver_wants_the_joints(made):
    arm = panda()
    page, hands = made(arm)
    scene = part(page, Scene)
    page.frame()
    assert not scene.ghost.visible
    arm.solution = arm.q + 0.3
    page.frame()
    assert scene.ghost.visible
    hands.change('Ghost', False)
    page.frame()
    assert not scene.ghost.visible


def test_the_ghost_does_not_flicker_at_the_end_of_a_move(made, clock):
    arm = panda()
    page, _ = made(arm)
    ghost, seen = part(page, Scene).ghost, []
    for far in (0.02, 0.04, 0.02, 0.005, 0.02, 0.005):  # [rad] as of an arm that catches up
        arm.solution = arm.q + far
        clock(0.01)
        page.frame()
        seen.append(ghost.visible)
    assert seen == [False, True, True, True, True, True]
    clock(1.0)
    page.frame()
    assert not ghost.visible
    arm.solution = arm.q + 0.02
    page.frame()
    assert not ghost.visible


def test_the_trace_begins_anew_after_a_jump(made):
    arm = panda()
    page, _ = made(arm)
    trace = part(page, Scene).traces[0]
    trace.add(np.zeros(3))
    trace.add(np.full(3, 0.02))
    assert len(trace.points) == 2
    trace.add(np.ones(3))
    np.testing.assert_array_equal(trace.points, [np.ones(3)])


def test_the_ends_of_sliders_are_short_and_have_units(made):
    arm = panda()
    _, hands = made(arm)
    ends = lambda label: [mark.label for mark in hands.widget(label)._marks]  # noqa: E731
    assert ends('panda_joint1 [deg]') == ['-166\u00b0', '166\u00b0']
    assert ends('panda_finger_joint1 [mm]') == ['0 mm', '40 mm']


def test_the_heading_holds_the_sentence_of_a_lost_server(made):
    page, _ = made(panda())
    content = page.status._head.content
    assert 'class="ik-state"' in content
    assert 'the program behind this page has ended' in content.partition('class="ik-gone"')[2]


def test_the_mark_of_a_goal_is_grey_once_the_page_is_closed(made):
    arm = panda()
    arm.goals[0], arm.code = some_pose(), 'reached'
    page, _ = made(arm)
    mark = part(page, Scene).marks[0]
    assert mark._label.text == 'reached'
    page.close()
    assert mark._label.text == LOST


def test_tabs_are_open_where_a_browser_says_so(made):
    page, hands = made(panda())
    tabs = page._open_tabs
    assert tabs.shows('Reach')  # nobody has said anything yet
    hands.change(FIELD, 'Goals, Curves')
    assert not tabs.shows('Reach')
    hands.change(FIELD, 'Reach')
    assert tabs.shows('Reach')
    hands.close()
    assert tabs.shows('Goals')  # that browser is gone


def test_the_trace_is_where_the_tip_was_and_does_not_grow_without_end(made):
    arm, robot = panda(), robots.shipped('panda')
    page, _ = made(arm)
    places = []
    for i in range(600):
        arm.q = arm.q.copy()
        arm.q[0] = 0.004 * i - 1.2
        places.append(robot.forward_kinematics(arm.q, arm.links[0])[:3, 3])
        part(page, Scene).show(arm.read())
    points = part(page, Scene).traces[0].points
    assert 100 < len(points) <= 400
    assert all(np.linalg.norm(np.array(places) - p, axis=1).min() < 1e-9 for p in points)
    np.testing.assert_allclose(points[-1], places[-1], atol=0.01)


def test_a_goal_has_a_ball_with_the_word_of_its_state(made):
    arm = panda()
    page, _ = made(arm)
    mark = part(page, Scene).marks[0]
    assert not mark._ball.visible
    arm.goals[0], arm.code = some_pose(), 'closest'
    page.frame()
    assert mark._ball.visible
    assert mark._label.text == 'closest'
    np.testing.assert_allclose(mark._ball.position, some_pose()[:3, 3], atol=1e-9)


def test_the_label_at_a_goal_has_the_state_of_the_badge_in_every_frame(made):
    arm = panda()
    page, _ = made(arm)
    mark = part(page, Scene).marks[0]
    arm.goals[0] = some_pose()
    for arm.code in ('tracking', 'closest', 'reached', 'blocked'):
        page.frame()
        assert mark._label.text == arm.code
        assert f'>{arm.code}</span>' in page.status._head.content
    arm.gone = True
    page.frame()
    assert mark._label.text == 'no arm'
    assert '>no arm</span>' in page.status._head.content


def test_errors_of_a_goal_that_is_reached_are_within_tolerance(made):
    arm = panda()
    page, _ = made(arm)
    arm.goals[0] = some_pose()
    for arm.code, said in (('tracking', '1.000 mm'), ('reached', 'within tolerance')):
        page.frame()
        assert said in page.status._head.content


def test_a_tip_that_is_there_is_not_marked_for_another_that_cannot_be(made):
    tolerances = {
        name: Setting(name, float, 1e-4)
        for name in ('position_tolerance', 'orientation_tolerance')
    }
    arm = FakeArm(robots.shipped('dual_arm'), settings=tolerances)
    page, _ = made(arm)
    arm.goals, arm.code = [some_pose(1), some_pose(2)], 'closest'
    read = arm.read
    arm.read = lambda: there(read(), 1)
    page.frame()
    assert [mark._label.text for mark in part(page, Scene).marks] == ['closest', 'reached']


def there(moment, tip):
    """The same moment, with a tip at its goal."""
    tips = list(moment.tips)
    tips[tip] = tips[tip]._replace(position_error=1e-5, orientation_error=1e-5)
    return moment._replace(tips=tuple(tips))


def test_states_look_different_to_everybody():
    from ik_viewer.drawing.colours import colour_of

    main = [colour_of(code) for code in ('reached', 'tracking', 'closest', 'blocked', 'searching')]
    assert len(set(main)) == 5
    assert colour_of('something_new') == colour_of('blocked')


# What happens to arms


def test_another_robot_takes_the_place_of_the_first(made):
    arm = panda()
    page, hands = made(arm)
    other = FakeArm(robots.shipped('dual_arm'))
    arm.description, arm.q, arm.links = other.description, other.q, other.links
    arm.goals, arm.kinds = other.goals, other.kinds
    page.frame()
    assert len(part(page, Goals).gizmos.each) == 2
    assert hands.widget('Tip').options == other.links
    assert not page.notices.last


def test_the_same_robot_is_not_built_again(made):
    arm = panda()
    page, _ = made(arm)
    before = list(page.parts)
    for _ in range(3):
        page.frame()
    assert page.parts == before


def test_other_tips_of_the_robot_make_other_gizmos(made):
    arm = FakeArm(robots.shipped('dual_arm'))
    page, _ = made(arm)
    arm.links, arm.goals, arm.kinds = arm.links[:1], arm.goals[:1], arm.kinds[:1]
    page.frame()
    assert len(part(page, Goals).gizmos.each) == 1


def test_an_arm_that_is_gone_is_said_to_be_and_comes_back(made, clock):
    arm = panda()
    page, _ = made(arm)
    arm.gone = True
    clock()
    page.frame()
    assert 'does not answer' in page.status._head.content
    arm.gone = False
    clock()
    page.frame()
    assert 'is idle' in page.status._head.content


def test_a_page_without_a_robot_waits_for_one(made):
    arm = panda()
    description, arm.description, arm.gone = arm.description, None, True
    page, _ = made(arm)
    assert page.parts == []
    arm.description, arm.gone = description, False
    page.frame()
    assert page.parts


def test_notices_of_the_arm_are_on_the_page(made, clock):
    arm = panda()
    page, _ = made(arm)
    arm.notices.append('a <b>bad</b> goal')
    clock()
    page.frame()
    assert 'a &lt;b&gt;bad&lt;/b&gt; goal' in page.status._list.content


def test_an_error_in_a_callback_becomes_a_notice(made):
    arm = panda()
    page, hands = made(arm)

    def fail(*_):
        raise RuntimeError('the wire is cut')

    arm.pause = fail
    hands.press('Pause')
    assert 'the wire is cut' in page.notices.last[0][1]
    page.frame()
    assert page.parts


def test_an_error_in_a_frame_becomes_a_notice_and_the_next_one_is_shown(made):
    arm = panda()
    page, _ = made(arm)
    read, arm.read = arm.read, lambda: 1 / 0
    page.frame()
    assert 'ZeroDivisionError' in page.notices.last[0][1]
    arm.read, arm.q = read, arm.q + 0.1
    page.frame()
    drawn = part(page, Scene).figure._drawn
    np.testing.assert_allclose(drawn[:7], arm.q[:7])


def test_the_same_error_in_every_frame_is_said_once(made):
    arm = panda()
    page, _ = made(arm)
    arm.read = lambda: 1 / 0
    for _ in range(20):
        page.frame()
    assert len(page.notices.last) == 1


def test_a_flood_of_notices_makes_few_bubbles_and_short_ones(made):
    arm = panda()
    page, hands = made(arm)
    bubbles = []
    browser = page.server._connected_clients[hands._client]
    browser.add_notification = lambda **bubble: bubbles.append(bubble['body'])
    arm.notices += [f'{i}{"x" * 100_000}' for i in range(500)]
    page.frame()
    assert 1 <= len(bubbles) <= 10
    assert max(map(len, bubbles)) < 1000
    assert page.notices.last[0][1].startswith('499')


def test_a_part_that_cannot_show_leaves_the_others(made):
    arm = panda()
    page, _ = made(arm)
    page.parts[0].show = lambda moment: 1 / 0
    arm.q = arm.q + 0.1
    page.frame()
    np.testing.assert_allclose(part(page, Scene).figure._drawn[:7], arm.q[:7])
    assert 'ZeroDivisionError' in page.notices.last[0][1]


def test_a_part_that_cannot_be_made_leaves_the_others(viser_server):
    def broken(context, moment):
        raise RuntimeError('no such part')

    page = Page(panda(), viser_server, (broken, Scene))
    page.frame()
    assert [type(p) for p in page.parts] == [Scene]
    assert 'no such part' in page.notices.last[0][1]


@pytest.mark.parametrize(
    'robot',
    [ik.robot.linkage(60), ik.robot.linkage(5, 'ball'), robots.shipped('buss_double_y')],
    ids=lambda r: r.name,
)
def test_robots_of_all_sorts_have_a_page(made, robot):
    arm = FakeArm(robot, settings={})
    page, _ = made(arm)
    arm.q = arm.q + 0.05
    page.frame()
    assert len(page.parts) == 6
    assert not page.notices.last
    assert isinstance(part(page, Goals).gizmos, Gizmos)


def test_curves_show_the_last_seconds_and_are_not_sent_again_while_nothing_changes(made, clock):
    arm = panda()
    arm.goals[0] = some_pose()
    page, _ = made(arm)
    sent = []

    def play(seconds):
        for _ in range(int(10 * seconds)):
            clock(0.1)
            before = page.status.curves._distance.data[0]
            page.frame()
            sent.append(page.status.curves._distance.data[0] is not before)

    play(11.0)
    times, distances = page.status.curves._distance.data
    assert (times >= -10.1).all()
    assert times[0] < -9.0
    np.testing.assert_allclose(distances, 1.0)  # [mm], of the arm's error
    sent.clear()
    play(3.0)
    assert not any(sent)
    arm.error = 0.005
    play(2.0)
    assert any(sent)
    np.testing.assert_allclose(page.status.curves._distance.data[1][-1], 5.0)


def test_the_distance_curve_begins_with_the_goal_and_ends_with_it(made, clock):
    arm = panda()
    page, _ = made(arm)

    def points(seconds):
        for _ in range(int(10 * seconds)):
            clock(0.1)
            page.frame()
        return len(page.status.curves._distance.data[0])

    assert points(3.0) == 0
    arm.goals[0] = some_pose()
    assert 6 < points(1.0) <= 10  # it is drawn a few times a second
    arm.goals[0] = None
    assert points(1.0) == 0


def test_what_is_asked_for_holds_up_no_browser_but_waits_for_the_next_frame(made):
    """viser calls back on the thread that serves all browsers."""
    page, _ = made(panda())
    done = []
    asked = page.requests.guarded(done.append)
    for request in (1, 2):
        asyncio.run(asked(request))
    assert done == []
    page.frame()
    assert done == [1, 2]


def test_a_part_that_can_not_be_removed_does_not_keep_the_next_robot_out(made, monkeypatch):
    arm = panda()
    page, _ = made(arm)
    monkeypatch.setattr(page.parts[0], 'remove', lambda: 1 / 0)
    count = len(page.parts)
    arm.description = replace(arm.description)
    page.frame()
    assert len(page.parts) == count
    assert any('ZeroDivisionError' in text for _, text in page.notices.last)


def test_the_range_of_a_joint_follows_its_settings_also_where_a_change_is_refused(made, clock):
    arm = panda()
    joint = arm.description.robot.joint_names[0]
    names = [f'joint_limits.{joint}.{side}' for side in ('lower', 'upper')]
    rows = [
        Setting(name, float, x, bounds=(-2.0, 2.0))
        for name, x in zip(names, (-1.5, 1.5), strict=True)
    ]
    arm.settings = arm.settings | {row.name: row for row in rows}
    page, hands = made(arm)
    hands.change('range [deg]', (-90.0, 45.0))
    ((values,),) = arm.called('set_settings')
    assert values == pytest.approx({names[0]: -np.pi / 2, names[1]: np.pi / 4})
    page.frame()
    assert hands.widget('range [deg]').value == (-90.0, 45.0)
    clock()
    page.frame()
    assert hands.widget('range [deg]').value == tuple(
        np.degrees((-1.5, 1.5))
    )  # the arm did not take it
    arm.settings = arm.settings | {names[1]: replace(rows[1], value=1.0)}
    page.frame()
    assert hands.widget('range [deg]').value == tuple(np.degrees((-1.5, 1.0)))


def test_limits_are_shown_where_they_are_wanted(made, clock):
    arm = panda()
    page, hands = made(arm)

    def frames():
        for _ in range(3):  # limits are drawn in each third frame
            clock()
            page.frame()

    frames()
    limits = part(page, Scene).limits
    assert not limits.visible
    hands.change('Limits', True)
    frames()
    assert limits.visible
    hands.change('Limits', False)
    frames()
    assert not limits.visible
