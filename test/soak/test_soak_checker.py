# SPDX-License-Identifier: Apache-2.0
"""The checker of the soak test: that it sees what is wrong, however small, and nothing else."""

import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from soak.checker import Checker
from soak.expected_limits import STENCIL, Allowance, read_description

PERIOD = 0.01
LIMITS = np.array([[-1.0], [1.0], [2.0], [10.0], [100.0]])


def ramp(jerk=100.0, acceleration=10.0, velocity=1.5, start=-0.9):
    """Positions of a motion from rest to a velocity, sampled: up to a jerk, an acceleration."""
    q, v, a, rows = start, 0.0, 0.0, [start]
    fine = 100
    step = PERIOD / fine
    while v < velocity:
        for _ in range(fine):
            easing = velocity - v <= a * a / (2.0 * jerk)
            rate = -jerk if easing and a > jerk * step else jerk if a < acceleration else 0.0
            q += step * (v + step * (0.5 * a + rate * step / 6.0))
            v += step * (a + 0.5 * rate * step)
            a = min(a + rate * step, acceleration)
            if easing and a <= jerk * step:
                v, a = velocity, 0.0
        rows.append(q)
    return np.array(rows)[:, None]


def verdict_of(q, limits=LIMITS, dq=None, changes=()):
    checker = Checker(limits, PERIOD)
    checker.begin(q[0])
    for k in range(1, len(q)):
        for tick, rows in changes:
            if tick == k:
                checker.change(rows)
        checker.see(q[k], None if dq is None else dq[k])
    return checker.finish()


def test_a_motion_within_its_limits_is_no_violation():
    q = ramp()
    assert len(q) > 20
    assert verdict_of(q, LIMITS * [[1], [1], [1], [1.02], [1.1]]).violations == 0


@pytest.mark.parametrize(
    ('row', 'kind'), [(1, 'position'), (2, 'velocity'), (3, 'acceleration'), (4, 'jerk')]
)
def test_each_limit_is_seen_where_it_is_alone_and_a_little_too_low(row, kind):
    q = ramp()
    reached = [
        np.inf,
        q.max(),
        *(np.abs(np.diff(np.r_[[q[0]] * 3, q], k, axis=0)).max() / PERIOD**k for k in (1, 2, 3)),
    ]
    for factor, violated in ((1.0001, False), (0.9999, True)):
        limits = np.array([[-1.0], [np.inf], [np.inf], [np.inf], [np.inf]])
        limits[row] = reached[row] * (factor if reached[row] > 0.0 else 1.0 / factor)
        counts = verdict_of(q, limits).counts
        assert (counts[kind] > 0) == violated
        assert sum(counts.values()) == counts[kind]


def test_what_is_not_finite_is_seen():
    q = ramp()
    q[7] = math.nan
    assert verdict_of(q).counts['not finite'] > 0


def test_a_step_that_is_two_steps_is_seen():
    q = np.delete(ramp(), 12, axis=0)
    counts = verdict_of(q, LIMITS * [[1], [1], [1], [1.02], [1.1]]).counts
    assert counts['acceleration'] > 0
    assert counts['jerk'] > 0


def test_a_velocity_that_is_not_what_the_position_did_is_seen():
    q = np.linspace(0.0, 0.1, 30)[:, None] ** 2
    dq = np.diff(np.r_[[q[0]], q], axis=0) / PERIOD
    open_limits = np.array([[-1.0], [1.0], [2.0], [1e3], [1e-3]])
    open_limits[4] = math.inf
    exact = open_limits.copy()
    exact[3] = 0.0  # so that nothing is left to interpret
    assert verdict_of(q, open_limits, dq).counts['dq'] == 0
    assert verdict_of(q, exact, dq * 1.001).counts['dq'] > 0


def test_a_joint_outside_may_come_back_and_not_go_farther_out():
    limits = np.array([[-1.0], [1.0], [2.0], [1e3], [np.inf]])
    back = np.linspace(1.5, 0.9, 60)[:, None]
    assert verdict_of(back, limits).violations == 0
    assert verdict_of(back[::-1], limits).counts['position'] > 0


def test_a_lowered_limit_is_waited_for_as_long_as_a_stop_takes_and_no_longer():
    allowance = Allowance(LIMITS, PERIOD)
    lower = LIMITS.copy()
    lower[2:4] = [[0.5], [5.0]]
    allowance.change(lower, 100)
    wait = 2.0 / 5.0 + 2.0 * 10.0 / 100.0  # to brake at 5 from 2, and to run out 10
    last = 100 + round(wait / PERIOD) + STENCIL
    assert allowance.at(last - 1)[2:4].T.tolist() == [[2.0, 10.0]]
    assert allowance.at(last + 1)[2:4].T.tolist() == [[0.5, 5.0]]
    allowance.change(LIMITS, last + 2)
    assert (allowance.at(last + 2) == LIMITS).all(), 'one that is raised holds at once'


def test_speed_after_the_wait_is_a_violation():
    q = np.linspace(-0.9, 0.9, 181)[:, None]
    limits = np.array([[-1.0], [1.0], [2.0], [1e3], [np.inf]])
    slow = limits.copy()
    slow[2] = 0.5
    counts = verdict_of(q, limits, changes=[(100, slow)]).counts
    assert counts['velocity'] == pytest.approx(181 - 100 - STENCIL, abs=2)


@pytest.mark.parametrize('name', ['panda', 'ur5e', 'iiwa14', 'pr2_like', 'dual_arm', 'scara'])
def test_descriptions_are_read_as_the_library_reads_them(name):
    text = (URDF / f'{name}.urdf').read_text('utf-8')
    description, robot = read_description(text), ik.load_robot(text)
    assert set(description.rows) == {*robot.joint_names, *robot.mimic_joints}
    assert set(description.mimics) == set(robot.mimic_joints)
    for i, joint in enumerate(robot.joint_names):
        assert description.rows[joint][:2] == (robot.lower[i], robot.upper[i])
    moving = [j for j in ET.fromstring(text).iter('joint') if j.get('type') != 'fixed']
    assert len(moving) == len(description.rows)
