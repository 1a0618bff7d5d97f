# SPDX-License-Identifier: Apache-2.0
"""A minute of `make soak`: joint states, and what is judged by limits alone.

With a controller, what reaches the joints also depends on messages that come in time, and a
machine that runs other tests delays them; so it does goals, answers and twists that are judged by
the clock. Those have short runs in `test_soak.py`, and all of theirs in `make soak`.
"""

import os
import subprocess
import sys

import pytest
from support.places import ROOT
from support.robots import python_path

pytest.importorskip('rclpy')

from soak.campaign import weights

pytestmark = [pytest.mark.long, pytest.mark.thorough]


JUDGED_BY_THE_CLOCK = {'stalled', 'starved_jog', 'way_back', 'reach'}


def test_a_minute_breaks_nothing():
    actions = sorted(weights('joint_state').keys() - JUDGED_BY_THE_CLOCK)
    options = ['--output', 'joint_state', '--seed', '42', '--actions', ','.join(actions)]
    done = subprocess.run(
        [sys.executable, '-m', 'soak', '--minutes', '1', *options],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test')},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'nothing was broken' in done.stdout
