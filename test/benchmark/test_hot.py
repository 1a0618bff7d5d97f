# SPDX-License-Identifier: Apache-2.0
"""`ik bench hot`: what it reports, of this checkout and of one beside it."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest
from support.places import ROOT

from benchmark import hot

pytestmark = pytest.mark.long


def test_every_goal_is_reached_and_a_checkout_beside_itself_is_as_fast(monkeypatch):
    monkeypatch.setattr(hot, 'TOUCHED', {0: 1, 1: 4})
    rows = list(hot.rows(argparse.Namespace(count=2 * hot.BLOCK, beside=Path(ROOT))))
    assert [(row['robot'], row['start'], row['touched_mb']) for row in rows] == [
        (robot, start, megabytes)
        for robot in hot.ROBOTS
        for start in hot.STARTS
        for megabytes in (0, 1)
    ]
    for row in rows:
        assert row['reached'] == row['goals'] == (hot.BLOCK * (2 if row['touched_mb'] == 0 else 1))
        assert 0.0 < row['median_us'] < 1e6
        assert 0.1 < row['ratio'] < 10.0
