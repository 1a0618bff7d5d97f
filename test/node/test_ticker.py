# SPDX-License-Identifier: Apache-2.0
"""The thread that ticks: deadlines, lateness, stopping and exceptions, without a node."""

import threading
import time
from itertools import pairwise
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from ik_node import ticker as ticker_module
from ik_node.counters import TickMeter
from ik_node.ticker import (
    LEAD_FRACTION,
    LEAST_LEAD,
    MARGIN,
    MOST_LEAD,
    Housekeeping,
    Lead,
    SimulatedTicker,
    Ticker,
)

PATIENCE = 300.0


class Worker:
    """Notes what it is asked to do; `during` is what a tick does, by its number."""

    def __init__(self, during=None):
        self.during = during or {}
        self.calls = []
        self.ticks = 0
        self.due = []
        self.failures = []

    def prepare(self):
        self.calls.append('prepare')

    def step(self):
        self.ticks += 1
        self.calls.append('step')
        self.during.get(self.ticks, lambda: None)()

    def publish(self, due):
        self.due.append(due)
        self.calls.append('publish')
        return due

    def rest(self):
        self.calls.append('rest')

    def failed(self, text):
        self.failures.append(text)


def run(worker, ticks, rate=200.0):
    """Let a worker tick so often at least; the meter, once its thread has ended."""
    meter, lock = TickMeter(), threading.RLock()
    before = set(threading.enumerate())
    ticker = Ticker(rate, worker, meter, lock)
    (thread,) = set(threading.enumerate()) - before
    deadline = time.monotonic() + PATIENCE
    while worker.ticks < ticks and time.monotonic() < deadline:
        time.sleep(0.001)
    with lock:
        ticker.stop()
        stopped_at = list(worker.calls)
    thread.join(PATIENCE)
    assert not thread.is_alive()
    assert worker.calls == stopped_at, 'something began after the ticker was stopped'
    assert worker.ticks >= ticks
    return meter


TICK = ['prepare', 'step', 'publish', 'rest']


def test_messages_are_taken_before_each_step_and_chores_done_when_it_is_published():
    worker = Worker()
    run(worker, 20)
    whole = worker.calls[: 4 * (len(worker.calls) // 4)]
    assert whole == TICK * (len(whole) // 4)


def test_what_there_is_to_publish_is_worked_out_before_it_is_due(monkeypatch):
    worker, sleep = Worker(), ticker_module._sleep_until
    publish = worker.publish

    def note_sleep(until):
        worker.calls.append(until)
        sleep(until)

    def note_due(due):
        assert time.monotonic_ns() >= due
        worker.calls.append(due)
        return publish(due)

    monkeypatch.setattr(ticker_module, '_sleep_until', note_sleep)
    worker.publish = note_due
    run(worker, 20)
    period = 5_000_000
    for k in range(0, 7 * 19, 7):
        begin, prepare, step, until, due, published, rest = worker.calls[k : k + 7]
        assert (prepare, step, published, rest) == ('prepare', 'step', 'publish', 'rest')
        assert until - LEAD_FRACTION * period <= begin <= until - LEAST_LEAD
        assert due >= until, 'a later one where it took that long'
        assert (due - until) % period == 0


def test_nothing_changes_between_a_step_and_its_message():
    """A caller gets the lock before the step or after the message, never between them."""
    worker, lock, meddling = Worker(), threading.RLock(), threading.Event()
    begun = threading.Event()
    worker.during[3] = begun.set

    def meddle():
        begun.wait(PATIENCE)
        with lock:
            worker.calls.append('meddled')
        meddling.set()

    threading.Thread(target=meddle, daemon=True).start()
    ticker = Ticker(5.0, worker, TickMeter(), lock)
    assert meddling.wait(PATIENCE)
    with lock:
        ticker.stop()
    assert worker.calls[worker.calls.index('meddled') - 1] in ('publish', 'rest')


def test_the_lead_is_what_the_slowest_takes_within_bounds_and_forgets_it():
    lead = Lead(10_000_000)
    assert lead.ns == LEAST_LEAD
    lead.learn(900_000)
    assert 900_000 < lead.ns <= 900_000 + MARGIN
    lead.learn(50_000)
    assert lead.ns > 890_000, 'goals may come seldom'
    for _ in range(2000):  # twenty seconds
        lead.learn(50_000)
    assert lead.ns == LEAST_LEAD
    lead.learn(10**9)
    assert lead.ns == MOST_LEAD
    short = Lead(1_000_000)
    short.learn(10**9)
    assert short.ns == LEAD_FRACTION * 1_000_000


def test_ticks_that_are_late_are_skipped_and_counted():
    began, ended = [], []

    def hang():
        began.append(time.monotonic())
        time.sleep(0.1)  # 20 periods
        ended.append((time.monotonic(), worker.ticks))

    worker = Worker({5: hang})
    meter = run(worker, 40)
    periods = int((ended[0][0] - began[0]) / 0.005)
    assert meter.late_ticks >= periods - 1
    assert meter.ticks in (worker.ticks, worker.ticks - 1)  # it may have been stopped in one


def test_ticks_are_told_when_they_were_due():
    worker = Worker({5: lambda: time.sleep(0.1)})
    run(worker, 20)
    periods = [(later - due) / 5_000_000 for due, later in pairwise(worker.due)]
    assert all(number == round(number) for number in periods)
    assert periods[3] >= 19, 'a step that takes long is published for the last one that came'


def test_a_tick_that_begins_late_is_told_the_last_deadline(monkeypatch):
    worker, ahead, looks = Worker(), [], []
    prepare, publish = worker.prepare, worker.publish

    def look():
        looks.append(time.monotonic_ns())
        return looks[-1]

    def hang():
        prepare()
        if worker.ticks == 5:
            time.sleep(0.1)  # 20 periods

    def note(due):
        ahead.append(due + 5_000_000 - looks[-1])
        return publish(due)

    clock = SimpleNamespace(monotonic_ns=look, monotonic=time.monotonic, sleep=time.sleep)
    monkeypatch.setattr(ticker_module, 'time', clock)
    worker.prepare, worker.publish = hang, note
    meter = run(worker, 20)
    assert 0 < ahead[5] <= 5_000_000, 'the deadline was long past when it was chosen'
    assert meter.late_ticks >= 19


def test_late_ticks_are_not_caught_up():
    early = []
    worker = Worker({5: lambda: time.sleep(0.1)})
    note = worker.publish
    worker.publish = lambda due: (early.append(due - time.monotonic_ns()), note(due))[1]
    meter = run(worker, 40)
    assert max(early) <= 0, 'published before it was due'
    assert len(set(worker.due)) == len(worker.due)
    nominal = (meter.ticks + meter.late_ticks - 1) * 5_000_000
    assert worker.due[meter.ticks - 1] - worker.due[0] >= nominal - 5_000_000


@pytest.mark.parametrize('part', TICK)
def test_an_exception_is_reported_and_the_ticks_go_on(part):
    worker = Worker()
    before = getattr(worker, part)

    def fail(*args):
        before(*args)
        raise RuntimeError(f'no {part} today')

    setattr(worker, part, fail)
    run(worker, 5)
    assert len(worker.failures) == worker.calls.count(part)
    assert f'RuntimeError: no {part} today' in worker.failures[0]


def test_a_holder_of_the_lock_keeps_ticks_away():
    worker, lock = Worker(), threading.RLock()
    with lock:
        ticker = Ticker(1000.0, worker, TickMeter(), lock)
        assert not worker.calls
        ticker.stop()
    assert not worker.calls


def test_no_chore_is_left_out_where_each_run_has_time_for_one():
    done = []

    def slow(name):
        done.append(name)
        time.sleep(0.002)

    chores = Housekeeping(*((1e-6, lambda name=name: slow(name)) for name in 'abc'))
    for _ in range(9):
        chores.run(0.001)
    assert sorted(done) == sorted('abc' * 3)


def test_a_chore_waits_for_its_period():
    done = []
    chores = Housekeeping((0.0, lambda: None), (1e6, lambda: done.append(1)))
    for _ in range(10):
        chores.run(0.001)
    assert done == [1]


# By a simulated clock


class SimulatedNode:
    """Makes the one timer of a ticker; a destroyed one can't be asked anything any more."""

    def create_timer(self, period, action, clock):
        self.run, self.timer = (
            action,
            SimpleNamespace(timer_period_ns=round(1e9 * period), time_until_next_call=lambda: 0),
        )
        return self.timer

    def destroy_timer(self, timer):
        vars(timer).clear()


def simulated(worker):
    node, meter = SimulatedNode(), TickMeter()
    clock = SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=10**9))
    return node, SimulatedTicker(node, clock, 100.0, worker, meter)


def test_a_simulated_tick_follows_the_messages():
    worker = Worker()
    node, _ = simulated(worker)
    node.run()
    assert worker.calls == ['prepare', 'step', 'publish']
    assert worker.due == [10**9 - 10**7]


def test_nothing_begins_after_a_simulated_ticker_is_stopped():
    worker = Worker()
    node, ticker = simulated(worker)
    ticker.stop()
    node.run()  # the executor had taken the timer before
    assert worker.calls == []
    node, ticker = simulated(worker)
    worker.prepare = ticker.stop  # as a message may ask for
    node.run()
    assert worker.calls == []
    assert worker.failures == []
