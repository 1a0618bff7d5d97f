# SPDX-License-Identifier: Apache-2.0
"""The history of positions: exact at its moments, straight between them, and never beyond them."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from ik_node.conversions import Refused
from ik_node.inputs.configuration_history import SIZE, SPAN, ConfigurationHistory
from ik_node.inputs.goal_frames import NotYet

SECOND = 1_000_000_000
BEGIN = 1_700_000_000 * SECOND


def history(n=2, *, commanded=True, now=BEGIN + SECOND):
    it = ConfigurationHistory(lambda: now)
    it.begin(n, commanded=commanded)
    return it


def filled(count, period, n=2):
    it = history(n)
    for k in range(count):
        it.add_command(BEGIN + k * period, np.array([float(k), -2.0 * k])[:n])
    return it


def test_a_moment_that_was_added_is_exact_and_others_are_between():
    it = filled(100, 10_000_000)
    np.testing.assert_array_equal(it.at(BEGIN + 420_000_000, (0, 1)), [42.0, -84.0])
    np.testing.assert_allclose(it.at(BEGIN + 423_000_000, (1, 0)), [-84.6, 42.3])


def test_what_lies_ahead_is_not_yet_known():
    it = filled(100, 10_000_000)
    with pytest.raises(NotYet, match=r'0\.010 s newer than the last command') as late:
        it.at(BEGIN + 1_000_000_000, (0,))
    assert late.value.reason == 'stamp_too_new'


def test_what_was_before_is_refused_with_its_age():
    it = filled(100, 10_000_000)
    with pytest.raises(Refused, match=r'the stamp is 3\.000 s old.* last 1\.000 s') as old:
        it.at(BEGIN - 2 * SECOND, (0,))
    assert old.value.reason == 'stamp_too_old'


@pytest.mark.parametrize('period', [100_000, 1_000_000, 4_000_000, 100_000_000])
def test_ten_seconds_are_kept_and_not_more(period):
    count = int(2.5 * SPAN / period)
    it = filled(min(count, 400_000), period, n=1)
    newest = BEGIN + (min(count, 400_000) - 1) * period
    for age in (0, SPAN // 3, SPAN - SECOND // 10):
        expected = (newest - age - BEGIN) / period
        np.testing.assert_allclose(it.at(newest - age, (0,)), expected, atol=1e-3)
    with pytest.raises(Refused, match='old'):
        it.at(newest - SPAN - SECOND, (0,))
    assert len(it._rows[0][0]) <= 2 * SIZE + 1


def test_each_joint_has_the_moments_of_its_own_messages():
    it = history(3, commanded=False)
    q = np.zeros(4)  # one of a mimic joint
    for k in range(10):
        q[0], q[1] = k, 10.0 + k
        it.add_measured(BEGIN + k * 10_000_000, q, np.array([0]))
        it.add_measured(BEGIN + k * 10_000_000 + 3_000_000, q, np.array([1, 3]))
    found = it.at(BEGIN + 45_000_000, (0, 1, 2))
    np.testing.assert_allclose(found[:2], [4.5, 14.2])
    assert np.isnan(found[2]), 'never measured'
    with pytest.raises(NotYet, match='measured state'):
        it.at(BEGIN + 92_000_000, (0, 1))
    np.testing.assert_allclose(it.at(BEGIN + 92_000_000, (1,)), 18.9)


def test_states_without_a_stamp_count_from_their_receipt():
    it = history(1, commanded=False, now=BEGIN)
    it.add_measured(0, np.array([0.5]), np.array([0]))
    np.testing.assert_array_equal(it.at(BEGIN, (0,)), [0.5])


def test_commands_are_not_kept_where_states_are():
    it = history(1, commanded=False)
    it.add_command(BEGIN, np.array([0.5]))
    assert np.isnan(it.at(BEGIN, (0,))).all()


def test_late_and_repeated_messages_change_nothing_but_the_newest():
    it = filled(100, 10_000_000)
    it.add_command(BEGIN + 500_000_000, np.array([7.0, 7.0]))
    it.add_command(BEGIN + 990_000_000, np.array([8.0, 9.0]))
    np.testing.assert_array_equal(it.at(BEGIN + 500_000_000, (0, 1)), [50.0, -100.0])
    np.testing.assert_array_equal(it.at(BEGIN + 990_000_000, (0, 1)), [8.0, 9.0])


def test_a_clock_that_is_set_back_begins_anew():
    it = filled(100, 10_000_000)
    it.add_command(BEGIN - 100 * SECOND, np.array([1.0, 2.0]))
    np.testing.assert_array_equal(it.at(BEGIN - 100 * SECOND, (0, 1)), [1.0, 2.0])
    with pytest.raises(NotYet):
        it.at(BEGIN, (0,))
