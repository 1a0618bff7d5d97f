# SPDX-License-Identifier: Apache-2.0
"""A hand is played with a constant delay, whatever its connection does to the samples."""

import math

import numpy as np
import pytest
from support.hands import CLOCK, SAMPLES, pose, waving

from ik_core.maths.rotations import frame_of, pose_error, transform_of
from ik_core.teleop.hand_stream import (
    COASTING,
    ENOUGH_GAPS,
    LEAST_LATENCY,
    LOST,
    MOST_LATENCY,
    SLEW,
    UNKNOWN_LATENCY,
    WINDOW,
    HandStream,
    Sample,
)

PERIOD = 0.01


def sample(time, hand=waving, gripper=None):
    return Sample(CLOCK + time, frame_of(hand(time)), gripper)


def played(arrivals, hand, *, latency, until):
    """The stream after each period, and its errors from the hand as it was `delay` ago.

    arrivals : (arrival, time of the sample), in this order
    """
    stream, waiting, errors = HandStream(latency), sorted(arrivals), []
    delay = latency + min(arrival - time for arrival, time in arrivals)
    for tick in range(round(until / PERIOD)):
        now = tick * PERIOD
        while waiting and waiting[0][0] <= now:
            arrival, time = waiting.pop(0)
            stream.push(sample(time, hand), arrival)
        stream.follow_clock(PERIOD, followed=now > 1.0)
        if now > 1.0:
            shown = transform_of(stream.pose(stream.time(now)))
            errors.append(pose_error(shown, hand(now - delay)))
    return np.array(errors)


def test_samples_that_come_at_different_times_show_one_delay():
    rng = np.random.default_rng(0)
    times = np.arange(0.0, 5.0, 1.0 / SAMPLES)
    arrivals = [(t + 0.02 + (0.01 * rng.random() if i else 0.0), t) for i, t in enumerate(times)]
    errors = played(arrivals, waving, latency=0.03, until=5.0)
    assert errors[:, 0].max() < 5e-4
    assert errors[:, 1].max() < 2e-3


def test_gaps_up_to_the_latency_cost_nothing():
    times = np.arange(0.0, 5.0, 1.0 / SAMPLES)
    arrivals = [(0.13 * math.ceil((t + 0.001) / 0.13), t) for t in times]
    errors = played(arrivals, waving, latency=0.16, until=5.0)
    assert errors[:, 0].max() < 5e-4


def test_lost_samples_are_bridged_by_their_neighbours():
    rng = np.random.default_rng(1)
    times = [t for t in np.arange(0.0, 5.0, 1.0 / SAMPLES) if rng.random() > 0.3]
    errors = played([(t + 0.01, t) for t in times], waving, latency=0.15, until=5.0)
    assert errors[:, 0].max() < 2e-3


def test_noise_of_a_tracker_is_reduced():
    rng = np.random.default_rng(2)

    def noisy(time):
        return pose(*rng.normal(size=3))

    stream, played = HandStream(0.05), []
    for number in range(720):
        noise = sample(number / SAMPLES, noisy)
        noise.frame[9:] *= 1e-3
        stream.push(noise, number / SAMPLES)
        if number > 10:
            stream.begin()
            played.append(stream.pose(CLOCK + (number - 4.3) / SAMPLES)[9:])
    assert 0.4e-3 < np.std(played) < 0.7e-3


def moving(time):
    return pose(0.3 * time, -0.1 * time, 0.0, (0.0, 0.0, 0.5 * time))


def faded(late):
    """The seconds of motion at full speed in as many seconds after the newest sample."""
    shares = (1.0 - (np.linspace(0.0, min(late, COASTING), 1001) / COASTING) ** 4) ** 2
    return float(np.mean(0.5 * (shares[1:] + shares[:-1]))) * min(late, COASTING)


def test_beyond_the_newest_sample_the_motion_fades_and_is_held():
    stream = HandStream(0.03)
    for number in range(100):
        stream.push(sample(number / SAMPLES, moving), number / SAMPLES)
    last = 99 / SAMPLES
    for late in (0.0, 0.03, 0.06, COASTING, 0.2, 0.4):
        expected = moving(last + faded(late))
        position, angle = pose_error(transform_of(stream.pose(CLOCK + last + late)), expected)
        assert position < 2e-5
        assert angle < 1e-4


def test_a_velocity_that_was_wrong_is_off_by_no_more_than_stated():
    """a t^2 / 2, and v times what fades, for a hand that suddenly brakes by a."""
    last = 20 / SAMPLES

    def braking(time):
        return pose(0.3 * time - max(time - last, 0.0) ** 2)  # 2 m/s^2

    stream = HandStream(0.03)
    for number in range(21):
        stream.push(sample(number / SAMPLES, braking), number / SAMPLES)
    for late in np.arange(0.01, 0.2, 0.01):
        shown = stream.pose(CLOCK + last + late)[9]
        bound = late**2 + 0.3 * (late - faded(late))
        assert abs(shown - braking(last + late)[0, 3]) <= bound + 1e-4


def test_late_samples_move_nothing_at_once():
    """The hand turned round in a gap; the pose goes on, and comes back to the hand."""

    def turning(time):
        return pose(0.3 * min(time, 2.1 - time))

    stream, number, poses = HandStream(0.03), 0, []
    stream.push(sample(0.0, turning), 0.0)
    for tick in range(200):
        now = tick * PERIOD
        while number / SAMPLES <= now and not 1.0 < now < 1.2:
            number += 1
            stream.push(sample(number / SAMPLES, turning), now)
        poses.append(stream.pose(stream.time(now))[9])
    late = round(1.2 / PERIOD)
    assert poses[late] - turning(1.2 - 0.03)[0, 3] > 0.03
    assert np.abs(np.diff(poses)).max() < 2.5 * 0.3 * PERIOD
    assert poses[-1] == pytest.approx(turning(1.99 - 0.03)[0, 3], abs=1e-3)


def test_a_burst_of_samples_changes_neither_velocity_nor_acceleration_at_once():
    """Nor does the end of the samples before it; third differences show a step of either."""
    stream, number, poses = HandStream(0.125), 0, []
    for tick in range(300):
        now = tick * PERIOD
        if tick % 15 == 0:  # nothing for 0.15 s, of which 0.025 s are beyond the newest sample
            while number / SAMPLES <= now:
                stream.push(sample(number / SAMPLES), now)
                number += 1
        poses.append(stream.pose(CLOCK + now - 0.125)[9:])
    shown = np.array(poses[60:])
    true = np.array([waving(tick * PERIOD - 0.125)[:3, 3] for tick in range(60, 300)])
    assert np.abs(shown - true).max() < 5e-3
    jerks = np.abs(np.diff(shown, 3, axis=0)).max() / np.abs(np.diff(true, 3, axis=0)).max()
    assert jerks < 8.5


# Wrong samples


def test_a_sample_that_is_off_is_left_out():
    stream, off = HandStream(0.03), 40
    for number in range(80):
        right = sample(number / SAMPLES)
        if number == off:
            right.frame[9] += 0.015
        stream.push(right, number / SAMPLES)
    for time in np.arange(0.3, 0.9, 0.005):
        shown = stream.pose(CLOCK + time)[9:]
        assert np.linalg.norm(shown - waving(time)[:3, 3]) < 1e-3


def test_a_turn_that_is_off_is_left_out():
    stream = HandStream(0.03)
    for number in range(80):
        rpy = (0.0, 0.0, 0.2) if number == 40 else (0.0, 0.0, 0.0)
        stream.push(Sample(number / SAMPLES, frame_of(pose(rpy=rpy)), None), number / SAMPLES)
    for time in np.arange(0.3, 0.9, 0.005):
        assert pose_error(transform_of(stream.pose(time)), pose())[1] < 1e-6


def test_two_samples_that_agree_are_believed():
    """The tracker found itself again, 0.2 m away."""

    def leaping(time):
        return pose(0.2 if time > 0.5 else 0.0)

    stream = HandStream(0.03)
    for number in range(72):
        stream.push(sample(number / SAMPLES, leaping), number / SAMPLES)
    assert stream.pose(CLOCK + 0.4)[9] == pytest.approx(0.0, abs=1e-9)
    assert stream.pose(CLOCK + 0.6)[9] == pytest.approx(0.2, abs=1e-9)


def test_a_fast_hand_is_believed_from_its_first_samples_on():
    def fast(time):
        return pose(3.0 * time)

    stream = HandStream(0.03)
    for number in range(10):
        stream.push(sample(number / SAMPLES, fast), number / SAMPLES)
    assert stream.age(CLOCK + 9 / SAMPLES) == pytest.approx(0.0)
    assert stream.pose(CLOCK + 0.1)[9] == pytest.approx(0.3, abs=1e-4)


def test_a_sample_that_was_overtaken_changes_nothing():
    stream = HandStream(0.03)
    for number in (*range(20), 12, 19):
        wrong = number / SAMPLES if number in (12, 19) else None
        stream.push(sample(number / SAMPLES), 0.3 if wrong else number / SAMPLES)
    stamps = stream._stamps
    assert stamps == sorted(set(stamps))
    assert len(stamps) == 20


@pytest.mark.parametrize('step', [-100.0, 100.0])
def test_a_clock_that_was_set_restarts_the_stream(step):
    stream = HandStream(0.03)
    for number in range(30):
        assert stream.push(sample(number / SAMPLES), number / SAMPLES)
    now = 30 / SAMPLES
    frame = frame_of(waving(now))
    assert not stream.push(Sample(CLOCK + now + step, frame, None), now)
    assert stream.push(Sample(CLOCK + now + step + 0.01, frame, None), now + 0.01)
    assert stream.time(now + 0.01) == pytest.approx(CLOCK + now + step + 0.01 - 0.03)


# The clock and the latency


def test_a_slower_connection_is_noticed_after_ten_seconds():
    stream = HandStream(0.03)
    for number in range(round(25.0 * SAMPLES)):
        time = number / SAMPLES
        stream.push(sample(time), time + (0.01 if time < 5.0 else 0.04))
        stream.follow_clock(1 / SAMPLES, followed=False)
        if abs(time - 5.0 - WINDOW) < 0.1:
            continue
        delay = 0.01 if time < 5.0 + WINDOW else 0.04
        assert stream.time(time) == pytest.approx(CLOCK + time - delay - 0.03, abs=1e-9)


def test_the_delay_of_a_followed_hand_changes_slowly():
    stream = HandStream(0.03)
    stream.push(sample(0.0), 0.1)
    stream.push(sample(0.01), 0.06)  # the first one came late
    before = stream.time(1.0)
    stream.follow_clock(PERIOD, followed=True)
    assert stream.time(1.0) - before == pytest.approx(SLEW * PERIOD)
    stream.follow_clock(PERIOD, followed=False)
    assert stream.time(1.0) - before == pytest.approx(0.05)


@pytest.mark.parametrize(
    ('gap', 'latency'), [(0.005, LEAST_LATENCY), (0.08, 0.08), (0.45, MOST_LATENCY)]
)
def test_the_latency_is_that_of_nearly_all_gaps(gap, latency):
    stream = HandStream(None)
    for number in range(ENOUGH_GAPS + 20):
        late = LOST if number == 10 else 0.0  # one pause
        stream.push(sample(gap * number), gap * number + late)
    stream.choose_latency()
    assert stream.latency == pytest.approx(latency, rel=0.02)


def test_the_latency_is_that_of_a_wireless_connection_before_it_is_measured():
    stream = HandStream(None)
    assert stream.latency == UNKNOWN_LATENCY
    for number in range(ENOUGH_GAPS):
        stream.push(sample(number / SAMPLES), number / SAMPLES)
    stream.choose_latency()
    assert stream.latency == UNKNOWN_LATENCY


def test_a_given_latency_stays():
    stream = HandStream(0.07)
    for number in range(100):
        stream.push(sample(number / SAMPLES), number / SAMPLES)
    stream.choose_latency()
    assert stream.latency == 0.07


def test_the_gripper_is_that_of_the_moment_that_is_played():
    stream = HandStream(0.03)
    for number in range(10):
        stream.push(sample(0.1 * number, gripper=float(number)), 0.1 * number)
    assert stream.gripper(CLOCK + 0.35) == 3.0
    assert stream.gripper(CLOCK - 1.0) == 0.0
    assert stream.gripper(CLOCK + 2.0) == 9.0


def test_a_long_stream_keeps_only_what_can_still_be_played():
    stream = HandStream(0.1)
    for number in range(20000):
        stream.push(sample(number / 1000, moving), number / 1000)
    assert len(stream._stamps) < 1000
    assert stream.pose(CLOCK + 19.9)[9] == pytest.approx(0.3 * 19.9, abs=1e-6)
