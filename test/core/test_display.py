# SPDX-License-Identifier: Apache-2.0
"""Tests of `repr` and of notebooks: a few lines with the essentials; HTML is escaped."""

import math
import re
from xml.etree import ElementTree

import numpy as np
import pytest
from support import robots
from support.task_examples import EXAMPLES

import ik_core as ik
from ik_core import display

DOWN = [1.0, 0.0, 0.0, 0.0]
HOSTILE = '<script>alert("hi")</script>'


@pytest.mark.parametrize(
    ('number', 'shown'),
    [(-1e-9, '0.00'), (-0.0, '0.00'), (-0.006, '-0.01'), (0.004, '0.00'), (-12.346, '-12.35')],
)
def test_a_number_whose_decimals_are_0_has_no_sign(number, shown):
    assert display.fixed(number, 2) == shown


def goal():
    return ik.PoseTask('panda_hand', [0.4, 0.0, 0.5], DOWN)


def panda_problem():
    return ik.IkProblem(robots.shipped('panda'), [goal()], secondary=[ik.PostureTask(weights=0.5)])


def tracker_of(problem):
    ones = np.full(problem.robot.n, 2.0)
    limits = ik.MotionLimits(problem.robot.lower, problem.robot.upper, ones, ones)
    return ik.Tracker(problem, 250.0, limits=limits)


def test_a_robot_tells_its_joints_and_tips():
    shown = repr(robots.shipped('panda'))
    assert shown.startswith("<Robot 'panda': 8 joints (panda_joint1, panda_joint2, ")
    assert shown.endswith("links from 'panda_link0' to 'panda_hand_tcp'>")
    many = repr(ik.robot.linkage(30))
    assert '...' in many
    assert len(many) < 200


@pytest.mark.parametrize('name', robots.SHIPPED)
def test_a_robot_is_a_table_of_its_joints(name):
    robot = robots.shipped(name)
    table = ElementTree.fromstring(robot._repr_html_())
    rows = [[cell.text for cell in row] for row in table.iterfind('tbody/tr')]
    assert [row[1] for row in rows] == list(robot.joint_names)
    assert [float(row[3]) for row in rows] == pytest.approx(robot.lower, rel=1e-3)


def test_html_is_escaped():
    robot = ik.Robot.from_joints(HOSTILE, [HOSTILE], [])
    for text in (robot._repr_html_(), display.html_table(HOSTILE, [HOSTILE], [[HOSTILE]])):
        assert 'script' in text
        assert '<script' not in text
        ElementTree.fromstring(text)


@pytest.mark.parametrize('kind', EXAMPLES, ids=lambda kind: kind.__name__)
def test_every_task_is_one_short_line(kind):
    robot = robots.weighed('panda')
    link = robots.tip_of(robot)
    shown = repr(EXAMPLES[kind](robot, link, np.random.default_rng(1)))
    assert re.fullmatch(rf'{kind.__name__}\(.*\)', shown)
    assert len(shown) < 250
    assert 'nan' not in shown
    assert 'object at' not in shown
    if EXAMPLES[kind](robot, link, np.random.default_rng(1)).links:
        assert repr(link) in shown


def test_a_goal_tells_its_target_and_what_is_not_as_by_default():
    plain = "PoseTask('panda_hand', position=[0.4, 0, 0.5], quaternion=[1, 0, 0, 0]"
    assert repr(goal()) == f'{plain})'
    assert repr(ik.PositionTask('hand')) == "PositionTask('hand', no position yet)"
    axis = ik.AxisTask('hand', (1, 0, 0), (0, 0, -2), cone=0.1)
    assert repr(axis) == "AxisTask('hand', axis=[1, 0, 0], direction=[0, 0, -1], cone=0.1)"
    tool = np.eye(4)
    tool[2, 3] = 0.1
    special = ik.PoseTask('panda_hand', [0.4, 0, 0.5], DOWN, tool=tool, position_weights=(1, 1, 0))
    assert repr(special) == f'{plain}, position_weights=[1, 1, 0], tool at [0, 0, 0.1])'


def test_a_problem_lists_its_tasks():
    lines = repr(panda_problem()).splitlines()
    assert lines[0] == (
        "<IkProblem for 'panda': 7 of 8 joints move, reached within 10 um, 0.00573 deg"
    )
    assert lines[1] == f'  {goal()!r}'
    assert lines[2] == '  secondary: PostureTask(rest=the middle of the limits, weights=0.5)>'
    near = ik.robot.LinearConstraint({'panda_joint1': 1.0}, upper=0.5)
    constrained = ik.IkProblem(robots.shipped('panda'), [goal()], constraints=[near])
    assert repr(near) in repr(constrained)


def test_a_result_tells_how_it_ended():
    result = ik.IkResult(
        q=np.array([0.1, 0.2]),
        status=ik.IkStatus.CLOSEST,
        position_errors=np.array([2e-3, 1e-3]),
        orientation_errors=np.array([0.0, np.pi / 180]),
        cost=1.0,
        iterations=12,
        evaluations=20,
        restarts=3,
        solve_time=1.5e-4,
    )
    assert repr(result) == (
        '<IkResult CLOSEST: position error 2 mm, orientation error 1 deg, '
        'iterations 12 (3 restarts), time 150 us, q [0.1, 0.2]>'
    )
    rows = ElementTree.fromstring(result._repr_html_()).findall('tbody/tr')
    assert [cell.text for cell in rows[1]] == ['position error', '2 mm']


def test_a_batch_counts_how_its_problems_ended():
    near, far = np.eye(4), np.eye(4)
    near[:3, 3], far[:3, 3] = (0.4, 0.0, 0.5), (9.0, 0.0, 0.5)
    problem = ik.IkProblem(robots.shipped('panda'), [ik.PositionTask('panda_hand')])
    batch = ik.solve_batch(problem, [near, near, far], restarts=0)
    shown = repr(batch)
    assert shown.startswith('<BatchResult of 3 problems in ')
    assert 'REACHED: 2 (' in shown
    assert re.search(r'CLOSEST: 1 \(errors up to 8\.\d+ m', shown)
    rows = ElementTree.fromstring(batch._repr_html_()).findall('tbody/tr')
    assert [[cell.text for cell in row][:2] for row in rows] == [
        ['REACHED', '2'],
        ['CLOSEST', '1'],
    ]
    none = ik.solve_batch(problem, np.empty((0, 4, 4)))
    assert repr(none).startswith('<BatchResult of 0 problems')


def test_all_solutions_say_whether_they_are_all():
    robot = robots.shipped('scara')
    tip = robots.tip_of(robot)
    place = robot.forward_kinematics([0.3, 0.9, 0.05, 0.2], tip)
    found = ik.solve_all(ik.IkProblem(robot, [ik.PoseTask(tip, transform=place)]))
    assert repr(found).startswith(f'<Solutions: {len(found)} (all) by ')
    rows = ElementTree.fromstring(found._repr_html_()).findall('tbody/tr')
    assert [float(row[1].text) for row in rows] == pytest.approx(found.q[:, 0], abs=1e-4)


def test_a_map_a_tracker_and_a_retargeted_motion_say_what_they_are():
    robot = robots.shipped('scara')
    tip = robots.tip_of(robot)
    reached = ik.reachability.reachability_map(robot, tip, step=0.2)
    assert repr(reached).startswith(f"<ReachabilityMap of '{tip}' of 'scara': ")
    assert f'{np.count_nonzero(reached.reached):,} are reached, ' in repr(reached)
    tracker = tracker_of(ik.IkProblem(robot, [ik.PoseTask(tip)]))
    start = f"<Tracker of 'scara' at 250 Hz, at rest: '{tip}'"
    assert repr(tracker) == f'{start} without a goal>'
    place = np.eye(4)
    place[0, 3] = 0.25
    tracker.set_goal(0, place, 0.0)
    assert repr(tracker) == f'{start} to [0.25, 0, 0]>'
    motion = ik.motion.Motion(robot.joint_names, np.zeros((3, robot.n)), 0.1)
    done = ik.retargeting.retarget(motion, robot, {tip: tip})
    assert repr(done).startswith('<RetargetResult: 3 frames in ')
    worst = display.length(done.link_errors.max())
    assert repr(done).endswith(f'by {tip}, links off by {worst} at most>')


@pytest.mark.parametrize(
    ('metres', 'shown'),
    [
        (0.0, '0 mm'),
        (2.0, '2 m'),
        (0.02, '20 mm'),
        (3.4e-5, '34 um'),
        (2e-10, '0.2 nm'),
        (3.15e-16, '< 0.1 nm'),
        (math.inf, 'inf m'),
        (math.nan, 'nan m'),
        (1.2345, '1.234 m'),
        (804.803, '804.8 m'),
        (0.99994, '0.9999 m'),  # not 1e+03 mm
        (0.9994, '999 mm'),
        (9.996e-4, '1 mm'),
        (9.994e-4, '999 um'),
        (9.999e-7, '1 um'),
    ],
)
def test_lengths_have_the_unit_that_suits_them(metres, shown):
    assert display.length(metres) == shown


UNITS = {'nm': 1e-9, 'um': 1e-6, 'mm': 1e-3, 'm': 1.0}


def test_lengths_and_angles_are_within_half_a_digit_of_what_they_are():
    random = np.random.default_rng(5)
    for metres in 10.0 ** random.uniform(-9.9, 3.9, 2000):
        number, unit = display.length(metres).split()
        assert abs(float(number) * UNITS[unit] / metres - 1.0) <= 5.01e-3
        assert 'e' not in number
        number, unit = display.angle(metres).split()
        assert abs(float(number) / np.rad2deg(metres) - 1.0) <= 5.01e-3


@pytest.mark.parametrize(
    ('seconds', 'shown'),
    [(2.0, '2 s'), (0.9996, '0.9996 s'), (1.5e-4, '150 us'), (9.996e-4, '1 ms'), (0.0, '0 us')],
)
def test_times_have_the_unit_that_suits_them(seconds, shown):
    assert display.time(seconds) == shown


@pytest.mark.parametrize(
    ('metres', 'shown'),
    [(0.0, '0.000 mm'), (2e-6, '0.002 mm'), (0.0123, '12.3 mm'), (0.218, '218 mm'),
     (1.5, '1.5 m'), (804.803, '804.8 m')],
)  # fmt: skip
def test_a_length_that_changes_keeps_its_unit(metres, shown):
    assert display.steady_length(metres) == shown


@pytest.mark.parametrize(
    ('degrees', 'shown'),
    [
        (0.0, '0 deg'),
        (30.0, '30 deg'),
        (2e-9, '2e-09 deg'),
        (7.35e-15, '< 1e-10 deg'),
        (math.nan, 'nan deg'),
    ],
)
def test_angles_have_no_digits_of_rounding(degrees, shown):
    assert display.angle(math.radians(degrees)) == shown
