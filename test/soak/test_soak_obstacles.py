# SPDX-License-Identifier: Apache-2.0
"""A few random lives of trackers that avoid collisions; `make soak TICKS=..` has many."""

from __future__ import annotations

import pytest

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


@pytest.mark.parametrize('part', ['shows', 'begin'])
def test_a_tracker_without_a_part_of_it_is_found_out(monkeypatch, part):
    """Steps that nobody checks; an obstacle that appears in motion as if the joints rested."""
    if part == 'shows':
        monkeypatch.setattr(Clearance, 'shows', lambda *_: True)
    else:
        monkeypatch.setattr(
            Clearance, 'begin', lambda self, joints, *_: self.restart(joints[5] * 0)
        )
    assert campaign(avoid, SEED, TICKS).failures
