# SPDX-License-Identifier: Apache-2.0
"""`make papers CHECK=1`: with a tenth of the goals the experiments reach the verdicts on record.

All of it takes minutes on one core, so the slow experiments are left to that
command. The others take a quarter of a minute, and half a minute more with motion capture.
"""

import argparse
import os
from pathlib import Path

import pytest
from support.paper_results import RESULTS

from benchmark import NEED_MOCAP, PAPERS, runner

pytestmark = pytest.mark.long


# Experiments of half a minute and more: whole motions, and paths of tiny steps
SLOW = {'buss', 'buss_advice', 'coursework'}


@pytest.mark.parametrize('name', sorted({*PAPERS} - SLOW))
def test_experiment_reaches_the_verdicts_on_record(name, capsys):
    mocap = os.environ.get(runner.MOCAP_VARIABLE)
    if name in NEED_MOCAP and not mocap:
        pytest.skip(f'{runner.MOCAP_VARIABLE} names no folder of CMU clips')
    arguments = argparse.Namespace(out=RESULTS, count=2000, mocap=mocap and Path(mocap))
    assert runner.turned(name, arguments) == [], capsys.readouterr().out
