# SPDX-License-Identifier: Apache-2.0
"""A process that forks while its threads work leaves a child that works."""

import os
import signal
import threading
from functools import cached_property

import numpy as np
import pytest

import ik_core as ik
from ik_core import locks
from ik_core.locks import Lock

pytestmark = pytest.mark.skipif(not hasattr(os, 'fork'), reason='there is no fork here')
SECONDS = 60


def exit_code_of_child(work):
    """Fork, do the work in the child, and return how it ended: 0, or that it hung."""
    child = os.fork()
    if child == 0:
        signal.alarm(SECONDS)
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    return os.waitpid(child, 0)[1]


def test_a_lock_that_another_thread_holds_is_free_in_the_child():
    lock, held, over = Lock(), threading.Event(), threading.Event()

    def hold():
        with lock:
            held.set()
            over.wait()

    thread = threading.Thread(target=hold)
    thread.start()
    held.wait()

    def work():
        with lock, lock:
            pass

    try:
        assert exit_code_of_child(work) == 0
    finally:
        over.set()
        thread.join()


class Slow:
    """An object with a property that is being computed."""

    def __init__(self, begun, over):
        self.begun, self.over = begun, over

    @cached_property
    def value(self):
        self.begun.set()
        self.over.wait()
        return 1


def test_a_property_that_another_thread_computes_is_computed_in_the_child(monkeypatch):
    monkeypatch.setattr(locks, 'PACKAGES', (__name__.partition('.')[0],))
    begun, over, done = threading.Event(), threading.Event(), threading.Event()
    done.set()
    thread = threading.Thread(target=lambda: Slow(begun, over).value)
    thread.start()
    begun.wait()

    def work():
        assert Slow(done, done).value == 1

    try:
        assert exit_code_of_child(work) == 0
    finally:
        over.set()
        thread.join()


def test_collisions_are_judged_and_solved_in_a_child_while_threads_judge():
    robot = ik.load_robot('panda')
    collisions, tip, q = ik.Collisions(robot), 'panda_hand_tcp', robot.middle_configuration
    pose = robot.forward_kinematics(q + 0.1, tip)
    rows, going = np.tile(q, (3000, 1)), threading.Event()
    going.set()

    def judge():
        while going.is_set():
            collisions.free(rows)

    def work():
        assert collisions.free(q)
        assert ik.solve(robot, pose, q, tip).success

    threads = [threading.Thread(target=judge) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        assert [exit_code_of_child(work) for _ in range(4)] == [0] * 4
    finally:
        going.clear()
        for thread in threads:
            thread.join()
