# SPDX-License-Identifier: Apache-2.0
"""Jobs: work beside the ticks."""

import threading

import pytest

from ik_core.jobs import Job


def test_a_job_runs_beside_and_keeps_its_result():
    go = threading.Event()
    job = Job(lambda: go.wait() and 'done')
    assert not job.done
    assert not job.wait(0.0)
    go.set()
    assert job.wait(300.0)
    assert job.result() == 'done'


def test_a_job_raises_what_the_work_raised():
    job = Job(lambda: [][0])
    assert job.wait(300.0)
    with pytest.raises(IndexError):
        job.result()
