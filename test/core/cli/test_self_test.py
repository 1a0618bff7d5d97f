# SPDX-License-Identifier: Apache-2.0
"""`ik check`: what it finds in a description, what it leaves alone, and the YAML it suggests."""

import json

import numpy as np
import pytest
from support.example_robot_data import EMPTY, URDFS
from support.robots import SHIPPED, URDF

import ik_core as ik
from ik_core.cli import check as command
from ik_core.cli import self_test as module
from ik_core.cli.collision_check import CollisionReport
from ik_core.cli.first_limits import ACCELERATION, VELOCITY, suggested_yaml
from ik_core.cli.main import main
from ik_core.cli.self_test import check

FINE = {'type': 'revolute', 'lower': '-2', 'upper': '2.5', 'velocity': '1.5', 'effort': '9'}
AXES = ('0 0 1', '0 1 0', '1 0 0')


def arm(*changes, joints=6, extra=''):
    """A 6-joint arm in which joint i has the attributes of changes[i] instead of FINE's."""
    parts = ['<link name="l0"/>']
    for i in range(joints):
        limit = {**FINE, **(changes[i] if i < len(changes) else {})}
        kind = limit.pop('type')
        attributes = ' '.join(f'{k}="{v}"' for k, v in limit.items() if v is not None)
        parts.append(
            f'<link name="l{i + 1}"/><joint name="j{i}" type="{kind}"><parent link="l{i}"/>'
            f'<child link="l{i + 1}"/><origin xyz="0.1 0.02 0.3"/><axis xyz="{AXES[i % 3]}"/>'
            f'<limit {attributes}/></joint>'
        )
    return f'<robot name="arm">{"".join(parts)}{extra}</robot>'


@pytest.fixture
def checked(tmp_path):
    """Checks a URDF text."""

    def run(text, *tips, goals=10):
        path = tmp_path / 'robot.urdf'
        path.write_text(text)
        return check(path, tips, goals)

    return run


def run(capsys, *argv):
    """The exit code and the report as JSON."""
    code = main(['check', *map(str, argv), '--goals', '5', '--json'])
    captured = capsys.readouterr()
    assert captured.err == ''
    return code, json.loads(captured.out)


def found(lines, what):
    """The names that the one line says this of."""
    (line,) = [line for line in lines if what in line]
    return line[: line.index(f': {what}')]


# --- joints ------------------------------------------------------------------------------------


def test_a_sound_arm_has_no_problems(checked):
    report = checked(arm())
    assert report.problems == ()
    (tip,) = report.tips
    assert (tip.link, tip.reached, tip.directions) == ('l6', 10, 6)
    assert tip.joints == tuple(f'j{i}' for i in range(6))


FLAWS = {
    'no velocity': ({'velocity': None}, 'has no velocity limit'),
    'velocity zero': ({'velocity': '0'}, 'has no velocity limit'),
    'stuck': ({'lower': '0.5', 'upper': '0.5'}, 'can not move'),
    'degrees': ({'lower': '-170', 'upper': '170'}, 'ranges over more than 2 turns'),
    'degrees a second': ({'velocity': '180'}, 'is faster than 50 rad/s'),
    'millimetres': ({'type': 'prismatic', 'upper': '500'}, 'travels more than 10 m'),
    'millimetres a second': ({'type': 'prismatic', 'velocity': '250'}, 'is faster than 10 m/s'),
}


@pytest.mark.parametrize(('flaw', 'problem'), FLAWS.values(), ids=FLAWS)
def test_a_flaw_is_found_and_the_joint_named(flaw, problem, checked):
    report = checked(arm({}, {}, flaw))
    (line,) = report.problems
    assert line.startswith(f'j2: {problem}')


@pytest.mark.parametrize(
    'right',
    [
        {'lower': '-6.2831853', 'upper': '6.2831853'},  # two turns are common
        {'velocity': '50'},
        {'type': 'prismatic', 'lower': '0', 'upper': '10', 'velocity': '10'},
        {'type': 'continuous', 'lower': None, 'upper': None},
    ],
)
def test_what_is_right_is_no_problem(right, checked):
    assert checked(arm(right)).problems == ()


def test_joints_that_move_no_tip_are_no_problem(checked):
    side = (
        '<link name="s"/><joint name="wheel" type="continuous">'
        '<parent link="l0"/><child link="s"/></joint>'
    )
    report = checked(arm(extra=side))
    assert report.problems == ()
    assert found(report.notes, 'moves no tip, and keeps its position') == 'wheel'
    assert found(checked(arm(extra=side), 's').problems, 'has no velocity limit') == 'wheel'


def test_notes_name_what_is_worth_knowing(checked):
    extra = (
        '<link name="f"/><joint name="finger" type="revolute"><parent link="l6"/><child link="f"/>'
        '<limit lower="-1" upper="1" velocity="1"/><mimic joint="j1"/></joint>'
        '<link name="b"/><joint name="free" type="floating"><parent link="l0"/>'
        '<child link="b"/></joint>'
    )
    away = {'lower': '0.1'}
    report = checked(arm({'type': 'continuous'}, {'effort': None}, away, extra=extra))
    assert report.problems == ()
    assert found(report.notes, 'turns without end') == 'j0'
    assert found(report.notes, 'has no effort limit') == 'j1'
    assert found(report.notes, 'can not move to zero') == 'j2'
    assert found(report.notes, 'mimics j1') == 'finger'
    assert "joint 'free' is floating: frozen at zero" in report.notes


def test_effort_is_read_where_it_is_given(checked):
    report = checked(arm({'effort': '87.5'}, {'effort': '0'}, {'effort': None}))
    assert [joint.effort for joint in report.joints[:3]] == [87.5, np.inf, np.inf]


def test_an_arm_in_millimetres_is_a_problem(checked):
    text = arm().replace('xyz="0.1 0.02 0.3"', 'xyz="100 20 300"')
    report = checked(text)
    line = report.problems[0]
    assert line.startswith('l6: gets ')
    assert line.endswith(' m from its first joint; are the units metres?')
    assert any(w.endswith('along the arm: in millimetres?') for w in report.robot.warnings)


def test_rpy_in_degrees_is_a_problem(checked):
    origin = 'xyz="0.1 0.02 0.3"'
    turned = arm().replace(origin, f'{origin} rpy="0 -90 180"', 2)
    (line,) = checked(turned).problems
    assert line == 'rpy of more than a turn in the origin of j0, j1: in degrees?'
    whole = arm().replace(origin, f'{origin} rpy="0 -3.1416 6.2832"')
    assert checked(whole).problems == ()


@pytest.mark.parametrize('drivers', [3, 12])
def test_mimics_take_few_lines(drivers, checked):
    extra = ''.join(
        f'<link name="d{i}"/><link name="m{i}"/>'
        f'<joint name="d{i}" type="continuous"><parent link="l0"/><child link="d{i}"/></joint>'
        f'<joint name="m{i}" type="continuous"><parent link="l0"/><child link="m{i}"/>'
        f'<mimic joint="d{i}"/></joint>'
        for i in range(drivers)
    )
    said = [note for note in checked(arm(extra=extra), 'l6').notes if 'mimic' in note]
    assert len(said) == (3 if drivers == 3 else 1)


# --- tips --------------------------------------------------------------------------------------


def test_an_ambiguous_tip_is_a_problem_until_it_is_named(capsys):
    code, data = run(capsys, 'dual_arm')
    assert code == 1
    assert [tip['link'] for tip in data['tips']] == ['left_palm', 'right_palm']
    (line,) = data['problems']
    assert line.startswith('2 chains are the longest')
    assert line.endswith('left_palm, right_palm')
    code, data = run(capsys, 'dual_arm', '--tip', 'right_palm')
    assert (code, data['problems']) == (0, [])
    assert [tip['link'] for tip in data['tips']] == ['right_palm']


def test_goals_that_are_missed_are_a_problem(checked, monkeypatch):
    hasty = ik.make_solver(restarts=0, max_iterations=2)
    monkeypatch.setattr(module, 'make_solver', lambda: hasty)
    report = checked(arm(), goals=20)
    assert report.tips[0].reached < 20
    missed = 20 - report.tips[0].reached
    assert f'l6: {missed} of 20 reachable poses are missed' in report.problems


def test_a_jacobian_that_is_not_the_derivative_is_a_problem(checked, monkeypatch):
    right = ik.Robot.jacobian
    monkeypatch.setattr(ik.Robot, 'jacobian', lambda self, q, link: -right(self, q, link))
    assert found(checked(arm()).problems, 'forward kinematics and its derivative differ') == 'l6'


def test_the_accuracy_is_that_of_the_poses(checked, monkeypatch):
    """A solver that answers 1 mm beside the goal is not believed."""
    off = ik.Robot.forward_kinematics

    def beside(self, q, link, base_link=None):
        pose = off(self, q, link, base_link)
        pose[0, 3] += 1e-3 * beside.calls
        beside.calls += 1
        return pose

    beside.calls = 0
    monkeypatch.setattr(ik.Robot, 'forward_kinematics', beside)
    assert checked(arm(), goals=5).tips[0].reached == 0


def planar(bend):
    """Three links of 1 m in a plane, the middle of the limits bent."""
    joints = ''.join(
        f'<link name="l{i + 1}"/><joint name="j{i}" type="revolute"><parent link="l{i}"/>'
        f'<child link="l{i + 1}"/><origin xyz="{min(i, 1)} 0 0"/><axis xyz="0 0 1"/>'
        f'<limit lower="{bend - 1}" upper="{bend + 1}" velocity="1"/></joint>'
        for i in range(3)
    )
    tool = (
        '<link name="tool"/><joint name="end" type="fixed"><parent link="l3"/>'
        '<child link="tool"/><origin xyz="1 0 0"/></joint>'
    )
    return f'<robot name="planar"><link name="l0"/>{joints}{tool}</robot>'


def test_singular_configurations_are_found_and_conditions_are_right(checked):
    straight, bent = checked(planar(0.0)), checked(planar(0.8))
    (tip,) = bent.tips
    assert tip.directions == straight.tips[0].directions == 3
    assert straight.tips[0].start_condition == straight.tips[0].zero_condition == np.inf
    assert any(': is singular' in note for note in straight.notes)
    turns = 0.8 * np.arange(1, 4)
    ends = np.cumsum([np.cos(turns), np.sin(turns)], axis=1)
    before = np.hstack([np.zeros((2, 1)), ends[:, :2]])
    arms = ends[:, 2:] - before
    columns = np.vstack([-arms[1] / tip.reach, arms[0] / tip.reach, np.ones(3)])
    assert tip.reach == pytest.approx(3.0)
    assert tip.start_condition == pytest.approx(np.linalg.cond(columns))
    assert not any('at the default start' in note for note in bent.notes)


# --- as a command ------------------------------------------------------------------------------


@pytest.mark.parametrize('name', SHIPPED)
def test_shipped_robots_have_no_problem_but_several_tips(name, capsys):
    code, data = run(capsys, name)
    assert all('chains are the longest' in problem for problem in data['problems'])
    assert code == (1 if data['problems'] else 0)
    assert all(tip['reached'] == 5 for tip in data['tips'])


REPORTED = [p for p in URDFS if p.name != EMPTY]


@pytest.mark.parametrize('path', REPORTED, ids=[p.stem for p in REPORTED])
def test_every_description_at_hand_gets_a_report(path, capsys, monkeypatch):
    left_out = CollisionReport(why='cutting all meshes at hand takes ten minutes')
    monkeypatch.setattr(command, 'check_collisions', lambda *_: left_out)
    code, data = run(capsys, path)
    assert code == (1 if data['problems'] else 0)
    assert all(tip['reached'] == tip['goals'] == 5 for tip in data['tips'])
    assert all(tip['inconsistency'] < 1e-8 for tip in data['tips'])


def test_the_text_says_what_was_chosen_and_why(capsys):
    assert main(['check', 'panda', '--goals', '5']) == 0
    lines = [' '.join(line.split()) for line in capsys.readouterr().out.splitlines()]
    assert 'base panda_link0 the link without a parent' in lines
    assert 'tip panda_hand_tcp ends the longest chain: 7 joints' in lines
    assert any(line.startswith('panda_hand_tcp 5 of 5') for line in lines)
    assert any(
        line.startswith('panda_joint4 revolute -3.0718 rad -0.0698 rad 2.1750 rad/s 87 N m')
        for line in lines
    )
    assert lines[-1] == 'no problems found'


@pytest.mark.parametrize(
    ('argv', 'message'),
    [
        (['panda', '--tip', 'panda_hnd'], 'did you mean panda_hand'),
        (['panda', '--tip', 'panda_link0'], 'no joint that may move'),
        (['pandda'], "did you mean 'panda'"),
        (['panda', '--goals', '0'], 'one or more'),
    ],
)
def test_bad_input_is_exit_code_2_and_one_line(argv, message, capsys):
    assert main(['check', *argv]) == 2
    captured = capsys.readouterr()
    assert captured.out == ''
    assert captured.err.count('\n') == 1
    assert message in captured.err


# --- the YAML ----------------------------------------------------------------------------------


def read_by_the_node(path, text, file):
    """The node's parameters and motion limits for a robot, and what it did not read."""
    rclpy = pytest.importorskip('rclpy')
    from rclpy.lifecycle import LifecycleNode
    from support.node_harness import DOMAIN, unique_namespace

    from ik_node.joint_limits import motion_limits
    from ik_node.parameters.store import Parameters

    file.write_text(text)
    context = rclpy.Context()
    rclpy.init(args=['--ros-args', '--params-file', str(file)], context=context, domain_id=DOMAIN)
    node = LifecycleNode('ik_node', namespace=unique_namespace(), context=context)
    try:
        robot = ik.load_urdf(path)
        parameters = Parameters(node)
        parameters.declare_robot(robot)
        taken = parameters.take()
        limits = motion_limits(robot, taken) if robot.n else None
        return robot, taken, limits, parameters.unread()
    finally:
        node.destroy_node()
        context.try_shutdown()


# A finger, and another that mimics it four times as fast
FAST_GRIPPER = """
<link name="f0"/><link name="f1"/>
<joint name="f0" type="prismatic"><parent link="l6"/><child link="f0"/>
  <limit lower="0" upper="0.5" velocity="3"/></joint>
<joint name="f1" type="prismatic"><parent link="l6"/><child link="f1"/>
  <mimic joint="f0" multiplier="-4"/><limit lower="-9" upper="9" velocity="20"/></joint>
"""


@pytest.mark.parametrize('name', ['panda', 'dual_arm', 'chains5'])
def test_the_node_takes_the_suggested_yaml_as_it_is(name, tmp_path):
    path = URDF / f'{name}.urdf'
    report = check(path, goals=1)
    robot, taken, limits, unread = read_by_the_node(
        path, suggested_yaml(report), tmp_path / 'suggested.yaml'
    )
    assert unread == []
    assert taken.node.base_link == robot.base_link
    assert taken.node.tip_links == tuple(tip.link for tip in report.tips)
    assert set(limits.velocity) == {VELOCITY, *robot.velocity[robot.velocity < VELOCITY]}
    assert set(limits.acceleration) == {ACCELERATION}


def test_odd_names_survive_and_only_a_slower_joint_keeps_its_own_velocity(tmp_path):
    text = arm(
        {'velocity': None}, {'velocity': '200'}, {'type': 'prismatic', 'velocity': '0.0412'}
    )
    for old, new in (('j0', 'yes'), ('j1', 'a.b'), ('j2', '12'), ('l6', 'null'), ('l0', 'no: 1')):
        text = text.replace(f'"{old}"', f'"{new}"')
    path = tmp_path / 'odd.urdf'
    path.write_text(text)
    yaml = suggested_yaml(check(path, goals=1))
    _, taken, limits, unread = read_by_the_node(path, yaml, tmp_path / 'suggested.yaml')
    assert unread == []
    assert (taken.node.base_link, taken.node.tip_links) == ('no: 1', ('null',))
    np.testing.assert_array_equal(limits.velocity, [0.1, 0.1, 0.0412, 0.1, 0.1, 0.1])
    np.testing.assert_array_equal(limits.acceleration, 0.5)
    for said in ('has no limit', 'allows 200, if it means that', 'allows 1.5\n'):
        assert f'# [rad/s] the description {said}' in yaml


def test_driven_by_the_suggested_yaml_no_joint_is_faster_than_it_says(tmp_path):
    """Goals jump all over the reach of an arm whose description allows 3.14 rad/s."""
    path = tmp_path / 'fast.urdf'
    path.write_text(arm(*[{'velocity': '3.14'}] * 6, extra=FAST_GRIPPER))
    yaml = suggested_yaml(check(path, ['l6', 'f1'], goals=1))
    robot, _, limits, _ = read_by_the_node(path, yaml, tmp_path / 'suggested.yaml')
    problem = ik.IkProblem(robot, [ik.PoseTask('l6'), ik.PositionTask('f1')])
    tracker = ik.Tracker(problem, 100.0, limits=limits, q0=robot.middle_configuration)
    rng, now, path_of_q = np.random.default_rng(0), 0.0, [tracker.q]
    for tick in range(240):
        if tick % 80 == 0:
            goal = rng.uniform(robot.lower, robot.upper)
            for index, link in enumerate(('l6', 'f1')):
                tracker.set_goal(index, robot.forward_kinematics(goal, link), now)
        now += 0.01
        path_of_q.append(tracker.tick(now).q)
    rates = np.abs(np.diff(path_of_q, axis=0)).max(axis=0) / 0.01
    assert (rates[:6] > 0.5 * VELOCITY).all()  # all of them do move
    assert rates.max() <= VELOCITY + 1e-9
    assert 4.0 * rates[6] <= VELOCITY + 1e-9  # of the finger that mimics


def test_a_robot_without_joints_has_a_problem_and_a_yaml_that_loads(tmp_path):
    path = tmp_path / 'stone.urdf'
    path.write_text('<robot name="stone"><link name="a"/></robot>')
    report = check(path)
    assert report.problems == ('no joint moves: there is nothing to solve for',)
    _, taken, _, unread = read_by_the_node(path, suggested_yaml(report), tmp_path / 'p.yaml')
    assert (unread, taken.node.tip_links) == ([], ())


def test_the_yaml_is_written_on_request(tmp_path, capsys):
    file = tmp_path / 'panda.yaml'
    assert main(['check', 'panda', '--goals', '1', '--yaml', str(file)]) == 0
    capsys.readouterr()
    assert file.read_text() == suggested_yaml(check(URDF / 'panda.urdf', goals=1))


@pytest.mark.parametrize(
    ('joint', 'link', 'noted'),
    [
        ('gripper', 'l6', True),
        ('j5', 'moving_jaw', True),
        ('j5', 'l6', False),
        ('j5', 'gripper_base', False),
        ('gripper_yaw', 'l6', False),
    ],
)
def test_a_tip_beyond_a_gripper_joint_is_noted_with_the_link_before_it(
    joint, link, noted, checked
):
    frame = (
        '<link name="gripper_frame"/><joint name="f" type="fixed"><parent link="l5"/>'
        '<child link="gripper_frame"/><origin xyz="0 0 0.1"/></joint>'
    )
    text = arm(extra=frame).replace('"j5"', f'"{joint}"').replace('"l6"', f'"{link}"')
    said = f'{link}: the last joint, {joint}, looks like a gripper; --tip gripper_frame?'
    assert (said in checked(text, link).notes) is noted
    assert said not in checked(text, 'gripper_frame').notes
    assert [tip.link for tip in checked(text).tips] == ['gripper_frame' if noted else link]
