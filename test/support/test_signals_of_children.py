# SPDX-License-Identifier: Apache-2.0
"""Programs that tests start end at SIGINT, also where the tests run in the background."""

import subprocess
import sys

from support.places import ROOT

HOW = 'import signal; print(signal.getsignal(signal.SIGINT) is signal.default_int_handler)'
IGNORED = ['sh', '-c', 'trap "" INT; exec "$@"', 'sh']  # as a shell starts what ends with &


def test_a_child_hears_ctrl_c():
    done = subprocess.run([sys.executable, '-c', HOW], capture_output=True, text=True, check=True)
    assert done.stdout == 'True\n'


def test_a_child_hears_ctrl_c_where_the_tests_do_not():
    test = f'{__file__}::{test_a_child_hears_ctrl_c.__name__}'
    done = subprocess.run(
        [*IGNORED, sys.executable, '-m', 'pytest', '-q', '-p', 'no:cacheprovider', test],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
