# SPDX-License-Identifier: Apache-2.0
"""A process that is ended at once has said all that it printed, and takes nothing apart."""

import subprocess
import sys

import pytest
from support.places import ROOT

PROGRAM = """
import atexit, sys, threading
from ik_core.ending import end_process

atexit.register(print, 'taken apart')
threading.Thread(target=threading.Event().wait).start()  # Python would wait for it
print('said', end='')
print('complained', end='', file=sys.stderr)
{more}
end_process(3)
"""


@pytest.mark.parametrize('more', ['', 'sys.stderr = None', 'sys.stderr.close()'])
def test_it_ends_with_its_code_and_all_that_was_printed(more):
    program = PROGRAM.format(more=more)
    done = subprocess.run(
        [sys.executable, '-c', program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert (done.returncode, done.stdout) == (3, 'said')
    if not more:
        assert done.stderr == 'complained'
