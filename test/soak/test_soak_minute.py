"""A minute of `make soak`: joint states only, whose judge needs no processor in time.

With a controller, what reaches the joints also depends on messages that come in time, and a
machine that runs other tests delays them: those outputs have short runs in `test_soak.py`, and
all their actions in `make soak`.
"""

import os
import subprocess
import sys

import pytest
from support.places import ROOT
from support.robots import python_path

pytest.importorskip('rclpy')

pytestmark = [pytest.mark.long, pytest.mark.thorough]


def test_a_minute_breaks_nothing():
    done = subprocess.run(
        [sys.executable, '-m', 'soak', '--minutes', '1', '--output', 'joint_state', '--seed', '1'],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test')},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'nothing was broken' in done.stdout
