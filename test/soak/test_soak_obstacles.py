# SPDX-License-Identifier: Apache-2.0
"""A few random lives of trackers that avoid collisions; `make soak TICKS=..` has many."""

from __future__ import annotations

from ik_core.tracking.governor.clearance import Clearance
from soak.obstacles import avoid
from soak.offline import campaign

SEED, TICKS = 20_000, 3000


def test_no_life_of_a_tracker_brings_a_pair_nearer_than_it_may():
    near = moved = ticks = 0

    def live(seed):
        nonlocal near, moved, ticks
        life, verdict = avoid(seed)
        near, moved, ticks = near + life.near, moved + life.moved, ticks + life.checker.tick
        assert not [name for name in life.told if '(' in name]  # every error was injected
        return life, verdict

    tally = campaign(live, SEED, TICKS)
    assert not tally.failures, tally.failures
    assert near > 0.2 * ticks
    assert moved > 0.2 * ticks


def test_a_tracker_that_checks_no_step_is_found_out(monkeypatch):
    monkeypatch.setattr(Clearance, 'shows', lambda *_: True)
    assert campaign(avoid, SEED, TICKS).failures
