# SPDX-License-Identifier: Apache-2.0
"""`ik bench warm_solve`: what it reports, of this checkout and of one beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from support.places import ROOT

from benchmark import warm_solve

pytestmark = pytest.mark.long


def test_every_goal_is_reached_and_a_checkout_beside_itself_is_as_fast(monkeypatch):
    monkeypatch.setattr(warm_solve, 'TOUCHED', {0: 1, 1: 4})
    rows = list(warm_solve.rows(argparse.Namespace(count=2 * warm_solve.BLOCK, beside=Path(ROOT))))
    assert [(row['robot'], row['start'], row['touched_mb']) for row in rows] == [
        (robot, start, megabytes)
        for robot in warm_solve.ROBOTS
        for start in warm_solve.STARTS
        for megabytes in (0, 1)
    ]
    for row in rows:
        goals = warm_solve.BLOCK * (2 if row['touched_mb'] == 0 else 1)
        assert row['reached'] == row['goals'] == goals
        assert 0.0 < row['median_us'] < 1e6
        assert 0.1 < row['ratio'] < 10.0
