# SPDX-License-Identifier: Apache-2.0
"""Random lives of governors and trackers, a few of them; `make soak` and `--offline` live on."""

import numpy as np
import pytest

from ik_core.tracking.governor import Governor
from soak.offline import campaign, govern, track

# Trackers that took two steps in a tick where something raised after the first.
RAISED_AFTER_THE_STEP = [4, 6, 7, 14, 16, 17]


def test_no_life_of_a_governor_breaks_a_limit():
    tally = campaign(govern, 10_000, 60_000)
    assert not tally.failures
    assert min(tally.told.values()) > 20


@pytest.mark.parametrize('seed', RAISED_AFTER_THE_STEP)
def test_no_life_of_a_tracker_breaks_a_limit(seed):
    life, verdict = track(seed)
    assert not verdict.violations, str(verdict)
    assert life.told['raised'] + life.told['goal'] > 0


def test_every_error_of_a_tracker_is_one_that_was_injected():
    tally = campaign(track, 500, 1200)
    assert not tally.failures
    assert not [name for name in tally.told if '(' in name]


def test_a_governor_that_takes_two_steps_is_found_out(monkeypatch):
    steps = Governor.follow
    random = np.random.default_rng(0)

    def twice(self, *arguments):
        steps(self, *arguments)
        if random.random() < 0.001:
            steps(self, *arguments)

    monkeypatch.setattr(Governor, 'follow', twice)
    assert campaign(govern, 0, 20_000).failures
