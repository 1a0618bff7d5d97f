# SPDX-License-Identifier: Apache-2.0
"""Signals that come while one is seen to."""

import pytest
from support.fresh_python import run

ANOTHER_MEANWHILE = """
import signal, threading
{prepared}
signal.alarm(30)  # ends what hangs

class Taken(threading.Event):
    '''One whose lock is held when the next signal comes.'''
    def set(self):
        with self._cond:
            signal.raise_signal(signal.SIGTERM)
            signal.raise_signal(signal.SIGINT)
        super().set()

{begun}
signal.raise_signal(signal.SIGINT)
print(ended.is_set())
"""
NODE = 'from ik_node.main import stop_on_signals', 'ended = Taken(); stop_on_signals(ended)'
PAGE = (
    'from ik_viewer.page import program',
    'threading.Event = Taken; ended = program.ended_by_signals()',
)


@pytest.mark.parametrize(('prepared', 'begun'), [NODE, PAGE], ids=['node', 'page'])
def test_another_signal_meanwhile_changes_nothing(prepared, begun):
    if prepared is PAGE[0]:
        pytest.importorskip('viser')
    program = ANOTHER_MEANWHILE.format(prepared=prepared, begun=begun)
    assert run(program).strip().endswith('True')
