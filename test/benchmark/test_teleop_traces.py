# SPDX-License-Identifier: Apache-2.0
"""Traces of hands are what they say, and the figures of `ik bench teleop` find what is wrong."""

import argparse
import itertools

import numpy as np
import pytest

from benchmark import teleop
from benchmark.teleop_traces import (
    BURST,
    CLOCK,
    DELAY,
    GLITCH,
    JITTER,
    SAMPLE_RATE,
    SWITCH,
    Trace,
    out_and_back,
    resting,
    switched,
    trace,
    wandering,
)

HAND = wandering(0.1, 0.5, 1)
ARM = teleop.ARMS[0]


def offsets(given):
    """How far each sample is from the true hand [m]."""
    return np.array(
        [np.linalg.norm((s.pose - given.hand(s.stamp - CLOCK))[:3, 3]) for s in given.samples]
    )


def test_a_hand_has_the_speed_that_is_asked_for():
    path = np.array([HAND(t)[:3, 3] for t in np.arange(0.0, 60.0, 0.005)])
    speeds = np.linalg.norm(np.diff(path, axis=0), axis=1) / 0.005
    assert speeds.max() == pytest.approx(0.5, rel=0.05)
    assert np.abs(path).max() < 0.2


def test_a_wire_delays_each_sample_a_little_and_loses_none():
    given = trace('wire', HAND, 10.0)
    delays = np.array([s.arrival - (s.stamp - CLOCK) for s in given.samples])
    assert len(delays) == 10 * SAMPLE_RATE
    assert delays.min() >= DELAY
    assert delays.max() <= DELAY + JITTER
    assert offsets(given).max() < 1e-9


def test_wifi_loses_a_third_and_sends_bursts():
    given = trace('wifi', HAND, 20.0)
    assert 0.65 < len(given.samples) / (20 * SAMPLE_RATE) < 0.75
    arrivals = np.array([s.arrival for s in given.samples]) / BURST
    np.testing.assert_allclose(arrivals, np.round(arrivals), atol=1e-9)


def test_glitches_are_rare_and_of_one_size():
    off = offsets(trace('glitches', HAND, 20.0))
    assert set(np.round(off, 9)) == {0.0, GLITCH}
    assert 0.02 < (off > 1e-9).mean() < 0.1


def test_a_trace_is_the_same_each_time():
    first, second = (trace('wifi', HAND, 3.0) for _ in range(2))
    assert [s.arrival for s in first.samples] == [s.arrival for s in second.samples]


def test_a_hand_rests_where_the_switch_closes():
    hand, closed = resting(HAND, 1.5, 0.5), switched(1.5, 1.0)
    times = np.arange(0.0, 31.0, 0.01)
    edges = [b for a, b in itertools.pairwise(times) if closed(b) and not closed(a)]
    assert len(edges) == 20
    for edge in edges:
        np.testing.assert_array_equal(hand(edge - 0.05), hand(edge + 0.35))
    assert np.abs(hand(SWITCH + 1.2) - hand(SWITCH)).max() > 0.01


def test_a_hand_goes_out_and_comes_back():
    hand = out_and_back(np.array([0.5, 0.0, 0.0]), 1.0, 4.0)
    assert [hand(t)[0, 3] for t in (0.5, 4.0, 9.0)] == pytest.approx([0.0, 0.5, 0.0])


# The figures, of runs whose tips are made up


def run_of(tips, q=None):
    """A run in which the tip moved as a function of time says."""
    times = np.arange(0.0, 12.0, 1.0 / teleop.RATE)
    poses = np.array([tips(max(t, 0.0)) for t in times])
    closed = switched(1.5, 1.0)
    q = np.zeros((len(times), 6)) if q is None else q
    return teleop.Run(Trace('made up', 12.0, HAND, closed, []), q, poses, 0.0)


WHOLE = slice(200, None)


def test_the_delay_and_the_error_of_a_late_tip_are_found():
    run = run_of(lambda t: HAND(max(t - 0.08, 0.0)))
    assert teleop.best_delay(run, WHOLE) == pytest.approx(0.08, abs=1e-3)
    assert teleop.followed_errors(run, WHOLE, 0.08).max() < 1e-6
    assert teleop.followed_errors(run, WHOLE, 0.05)[:, 0].max() > 5e-3


def test_a_tip_that_stands_still_is_found():
    run = run_of(lambda t: HAND(min(t, 5.0) if t < 5.3 else t))
    assert teleop.freezes(run, WHOLE, 0.0) == 1
    assert teleop.freezes(run_of(HAND), WHOLE, 0.0) == 0


def test_a_jump_at_engaging_is_found():
    q = np.zeros((1440, 6))
    q[121:, 2] = 0.05
    assert teleop._steps(run_of(HAND, q))['step'] == pytest.approx(50.0)


def test_an_error_that_turns_is_found():
    def turning(time):
        pose = HAND(time)
        angle = 0.1 * np.sin(time)
        turn = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
        pose[:2, :3] = turn @ pose[:2, :3]
        return pose

    errors = teleop.followed_errors(run_of(turning), WHOLE, 0.0)
    assert errors[:, 1].max() == pytest.approx(0.1, rel=0.3)


def test_every_row_has_the_same_columns(monkeypatch):
    monkeypatch.setattr(teleop, 'ARMS', teleop.ARMS[:1])
    few = {teleop.wire: (ARM,), teleop.beyond_limit: (teleop.BEYOND_LIMIT,)}
    monkeypatch.setattr(teleop, 'EXPERIMENTS', few)
    rows = list(teleop.rows(argparse.Namespace(count=6, peers=None)))
    assert [row['experiment'] for row in rows] == ['wire', 'beyond limit']
    assert len({tuple(row) for row in rows}) == 1
    assert rows[0]['freezes'] == 0
    assert rows[0]['rms'] < 0.5
    assert rows[1]['step'] < 15.0
