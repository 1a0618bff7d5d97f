# SPDX-License-Identifier: Apache-2.0
"""A few random lives of trackers that avoid collisions; `make soak TICKS=..` has many."""

from __future__ import annotations

from ik_core.tracking.governor.clearance import Clearance
from soak.obstacles import avoid
from soak.offline import campaign

SEED, TICKS = 20_000, 1000


def test_no_life_of_a_tracker_brings_a_pair_nearer_than_it_may():
    tally = campaign(avoid, SEED, TICKS)
    assert not tally.failures, tally.failures
    assert not [name for name in tally.told if '(' in name]  # every error was injected
    assert tally.told['near'] > 0.2 * tally.ticks
    assert tally.told['moved'] > 0.2 * tally.ticks


def test_a_tracker_that_checks_no_step_is_found_out(monkeypatch):
    monkeypatch.setattr(Clearance, 'shows', lambda *_: True)
    monkeypatch.setattr(Clearance, 'shorten', lambda *_: None)
    assert campaign(avoid, SEED, TICKS).failures
