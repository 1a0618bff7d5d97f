# SPDX-License-Identifier: Apache-2.0
"""The goals that the rate measures latency with come at all phases of a tick."""

import itertools

import numpy as np
import pytest

pytest.importorskip('rclpy')

from benchmark.rate import partners as rate_partners


@pytest.mark.parametrize('rate', [100.0, 300.0, 1000.0])
def test_steps_of_the_goal_come_at_all_phases_of_a_period_alike(monkeypatch, rate):
    now = [3.0]
    monkeypatch.setattr(rate_partners.time, 'monotonic', lambda: now[0])
    moments, offsets = [], []
    for offset, pause in itertools.islice(rate_partners.steps(1.0 / rate), 80):
        now[0] += pause
        moments.append(now[0])
        offsets.append(offset[1])
        now[0] += 1e-4  # publishing takes a moment, which must not add up
    phases = np.sort(np.mod(np.array(moments) * rate, 1.0))
    gaps = np.diff([*phases, phases[0] + 1.0])
    assert gaps.max() < 3.0 / 80
    assert np.ptp(np.diff(moments)) <= 2.0 / rate + 1e-9
    assert np.all(np.diff(np.sign(offsets)) != 0)
    assert np.allclose(np.abs(np.diff(offsets)), rate_partners.STEP)
