# SPDX-License-Identifier: Apache-2.0
"""`ik reach`: the map, its picture, and the progress line."""

import json
import os
import pty
import subprocess
import sys

import pytest
from support.places import ROOT
from support.robots import python_path

from ik_core.cli.main import main
from ik_core.reachability import ReachabilityMap


def test_the_command_makes_the_map_and_the_picture(tmp_path, capsys):
    pytest.importorskip('matplotlib')
    out, figure = tmp_path / 'scara.npz', tmp_path / 'scara.png'
    argv = ['reach', 'scara', '--step', '0.1', '--out', str(out), '--box', '-1', '-1', '0', '1']
    argv += ['1', '0.3', '--manipulability']
    assert main([*argv, '--figure', str(figure), '--json']) == 0
    captured = capsys.readouterr()
    data = json.loads(captured.out)
    made = ReachabilityMap.load(out)
    assert captured.err == ''  # no terminal, no progress line
    assert data['reached'] == made.reached.sum() > 20
    assert data['shape'] == list(made.grid.shape)
    assert figure.read_bytes().startswith(b'\x89PNG')
    assert main([*argv, '--resume']) == 0
    assert f'{made.volume:.4g} m^3 in reach' in capsys.readouterr().out
    assert main(argv) == 2
    assert 'exists' in capsys.readouterr().err


@pytest.mark.parametrize('quiet', [True, False])
def test_the_progress_line_is_for_terminals(quiet, tmp_path):
    leader, follower = pty.openpty()
    command = [sys.executable, '-m', 'ik_core', 'reach', 'scara', '--step', '0.3', '--box']
    command += ['-1', '-1', '0', '1', '1', '0', '--out', str(tmp_path / 'map.npz')]
    environment = {**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test')}
    done = subprocess.run(
        [*command, *(['--quiet'] if quiet else [])],
        env=environment,
        stdout=subprocess.DEVNULL,
        stderr=follower,
        timeout=300,
    )
    os.close(follower)
    shown = read_all(leader)
    assert done.returncode == 0
    assert (shown == '') == quiet
    assert quiet or '49/49' in shown


def read_all(descriptor):
    text = b''
    with open(descriptor, 'rb', buffering=0) as terminal:
        try:
            while part := terminal.read(1000):
                text += part
        except OSError:  # how Linux says that the other end is closed
            pass
    return text.decode()
