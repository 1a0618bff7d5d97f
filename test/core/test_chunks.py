# SPDX-License-Identifier: Apache-2.0
"""Work shared out to threads: everything once, whoever does it, and an end that comes soon."""

import threading
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ik_core.chunks import checked_threads, chunk_ends, parallel_for
from ik_core.exceptions import InvalidOption


@given(st.integers(0, 500), st.integers(1, 100), st.integers(1, 5), st.integers(1, 100))
def test_everything_is_done_once(count, chunk, threads, least):
    done, lock = [], threading.Lock()

    def worker(k):
        def do(first, last):
            assert 0 < last - first <= chunk
            with lock:
                done.extend(range(first, last))

        return do

    parallel_for(count, chunk, threads, worker, least=min(chunk, least))
    assert sorted(done) == list(range(count))


def test_every_thread_has_a_worker_of_its_own_made_where_it_works():
    made, used, both = {}, {}, threading.Barrier(2, timeout=300)

    def worker(k):
        assert k not in made
        made[k] = threading.current_thread()

        def do(first, last):
            used.setdefault(k, set()).add(threading.current_thread())
            if first < 2:
                both.wait()  # nobody does the first two chunks alone

        return do

    parallel_for(7, 1, 2, worker)
    here = threading.current_thread()
    assert made[0] is here
    assert made[1] is not here
    assert used == {0: {here}, 1: {made[1]}}


def test_no_more_workers_than_chunks():
    made = []
    parallel_for(20, 10, 8, lambda k: made.append(k) or (lambda first, last: None))
    assert sorted(made) == [0, 1]
    parallel_for(0, 10, 8, lambda k: pytest.fail('nothing is to be done'))


@pytest.mark.parametrize('least', [None, 2])
@pytest.mark.parametrize('threads', [1, 3])
def test_progress_rises_and_never_says_more_than_is_done(threads, least):
    done, said, lock = [0], [], threading.Lock()

    def worker(k):
        def do(first, last):
            time.sleep(0.001)
            with lock:
                done[0] += last - first

        return do

    def progress(so_far, count):
        with lock:
            said.append((so_far, done[0], count))

    parallel_for(203, 10, threads, worker, progress, least=least)
    assert [s[0] for s in said] == sorted(s[0] for s in said)
    assert all(so_far <= truth <= count == 203 for so_far, truth, count in said)


@pytest.mark.parametrize('bad', [0, 1])
def test_what_a_worker_raises_ends_all(bad):
    done, both = [], threading.Barrier(2, timeout=300)

    def worker(k):
        def do(first, last):
            if first < 2:
                both.wait()
            if k == bad:
                raise RuntimeError('stop')
            time.sleep(0.001)
            done.append(first)

        return do

    before = threading.active_count()
    with pytest.raises(RuntimeError, match='stop'):
        parallel_for(100_000, 1, 2, worker)
    assert threading.active_count() == before
    assert len(done) < 50_000


def test_an_error_ends_other_threads_within_a_chunk_that_is_done_in_parts():
    """A chunk without an end: only between its parts its thread can see that it is to end."""
    both = threading.Barrier(2, timeout=300)

    def worker(k):
        def do(first, last):
            both.wait()
            while True:
                if k == 0:
                    raise RuntimeError('stop')
                yield

        return do

    before = threading.active_count()
    with pytest.raises(RuntimeError, match='stop'):
        parallel_for(2, 1, 2, worker)
    assert threading.active_count() == before


@pytest.mark.parametrize('error', [KeyboardInterrupt, RuntimeError])
def test_what_comes_while_threads_are_started_ends_those_that_were(monkeypatch, error):
    start, started, done = threading.Thread.start, [], []

    def fails_at_the_second(thread):
        if started:
            raise error
        started.append(thread)
        start(thread)

    def worker(k):
        return lambda first, last: (time.sleep(0.001), done.append(first))

    monkeypatch.setattr(threading.Thread, 'start', fails_at_the_second)
    with pytest.raises(error):
        parallel_for(10_000, 1, 3, worker)
    assert not started[0].is_alive()
    assert len(done) < 5_000


def test_chunks_get_smaller_towards_the_end():
    def sizes(*given):
        return [last - first for first, last in chunk_ends(*given)]

    assert sizes(10, 2, 1024, 64) == [10]
    assert sizes(130, 2, 1024, 64) == [64, 64, 2]
    assert sizes(100, 2, 30, 30) == [30, 30, 30, 10]
    many = sizes(10**5, 4, 1024, 64)
    assert max(many) == many[0] == 1024
    assert many == sorted(many, reverse=True)
    for thread in range(2, 20):  # nobody has more than a share of what the others have left
        first = sizes(10**4, thread, 10**6, 1)[0]
        assert first <= 10**4 / thread


def test_threads():
    assert checked_threads(3) == 3
    assert checked_threads(None) >= 1
    with pytest.raises(InvalidOption, match='threads'):
        checked_threads(0)
