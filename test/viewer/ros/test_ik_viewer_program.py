# SPDX-License-Identifier: Apache-2.0
"""The program `ik_viewer`: what it lacks it says in a sentence."""

import os
import re
import signal
import socket
import subprocess
import sys
import urllib.request

import pytest

pytest.importorskip('rclpy')
pytest.importorskip('viser')

from support.children import PATIENCE, supervised
from support.node_harness import DOMAIN
from support.places import ROOT
from support.robots import python_path

from benchmark.rate.page_client import connected
from ik_node.tools.node_process import end_with_starter

pytestmark = pytest.mark.long
MISSING = 'import sys; sys.modules[{!r}] = None; from ik_viewer.main import main; sys.exit(main())'


def start(*arguments, code=''):
    """The program as a process, on a domain of the tests."""
    environment = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    environment |= {'PYTHONPATH': python_path(ROOT), 'ROS_DOMAIN_ID': str(DOMAIN)}
    program = ['-c', code] if code else ['-m', 'ik_viewer.main']
    return subprocess.Popen(
        [sys.executable, *program, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=end_with_starter,
    )


def said(*arguments, code=''):
    """Exit code, stdout and stderr of one that ends by itself."""
    with supervised(start(*arguments, code=code)) as process:
        out, err = process.communicate()
    return process.returncode, out, err


def test_it_serves_a_page_on_this_machine_until_it_is_stopped():
    arguments = '/nowhere/ik_node', '--port', '0', '--ros-args', '-r', '__node:=page'
    with supervised(start(*arguments)) as process:
        line = process.stdout.readline()
        assert line.startswith('/nowhere/ik_node is on http://localhost:'), line
        with urllib.request.urlopen(re.search(r'http\S+', line)[0], timeout=PATIENCE) as page:
            assert page.status == 200
        with connected(re.search(r'http\S+', line)[0]) as client:
            assert len(client.recv(timeout=PATIENCE)) > 0, 'what a browser gets'
        process.send_signal(signal.SIGINT)
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert 'Traceback' not in said, 'viser and its packages may warn'


def test_a_port_that_is_taken_is_a_sentence():
    with socket.create_server(('127.0.0.1', 0)) as taken:
        port = taken.getsockname()[1]
        code, _, err = said('--port', str(port))
    assert code == 2
    assert err.startswith(f'ik_viewer: port {port} of 127.0.0.1 is taken')
    assert err.count('\n') == 1


@pytest.mark.parametrize(
    ('module', 'code', 'sentence'),
    [('rclpy', 1, "rclpy can't be imported; source a ROS 2"), ('viser', 2, 'needs viser: pip')],
)
def test_what_is_missing_is_a_sentence(module, code, sentence):
    found, _, err = said(code=MISSING.format(module))
    assert found == code
    assert sentence in err
    assert err.count('\n') == 1


@pytest.mark.parametrize(
    ('arguments', 'words'),
    [
        (('--mesh-folder', '/no/folder'), 'no such folder'),
        (('--ros-args', '-r', 'a:=b:=c'), 'a:=b:=c'),
        (('a node',), 'Invalid topic name'),
        (('--nod',), 'unrecognized'),
    ],
)
def test_arguments_that_are_wrong_are_told(arguments, words):
    code, _, err = said(*arguments)
    assert code == 2
    assert words in err
    assert 'Traceback' not in err


def test_its_help_shows_its_arguments():
    code, out, _ = said('--help')
    assert code == 0
    assert all(word in out for word in ('NODE', '--host', '--port', '--mesh-folder', '--ros-args'))
