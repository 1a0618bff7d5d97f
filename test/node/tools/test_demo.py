# SPDX-License-Identifier: Apache-2.0
"""The demo: its page, without which it goes on, and what it does on a terminal."""

import fcntl
import os
import pty
import re
import signal
import subprocess
import sys
import termios
import time
import urllib.request

import pytest

pytest.importorskip('rclpy')

from support.children import PATIENCE, children_of, is_running, lines_until, supervised
from support.places import ROOT
from support.robots import python_path

from benchmark.rate.page_client import connected
from ik_node.tools.node_process import end_with_starter

# One goal and home, each in as long as a busy machine takes
SHORT = f"""
from ik_node.tools import demo
goals, is_opened = demo.goals, demo.is_opened
demo.DURATION = demo.BROWSER_PATIENCE = {PATIENCE}


def note(*arguments):
    opened = is_opened(*arguments)
    print('a browser:', opened, flush=True)
    return opened


demo.goals, demo.is_opened = lambda _, home: goals(3.0, home), note
raise SystemExit(demo.main())
"""


def environment(*paths, **variables):
    """Return the environment of a process that finds the package, with `paths` in front of it."""
    inherited = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    path = os.pathsep.join([*map(str, paths), python_path(ROOT)])
    return {**inherited, 'PYTHONPATH': path, 'DURATION': '', 'CI': '1', **variables}


def without_a_terminal(**options):
    """Run a demo that ends by itself, and return its result."""
    return subprocess.run(
        [sys.executable, '-c', SHORT],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        **options,
    )


def started(**variables):
    """A demo without a terminal, whose output is read as it comes."""
    return supervised(
        subprocess.Popen(
            [sys.executable, '-u', '-c', SHORT],
            env=environment(**variables),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            preexec_fn=end_with_starter,
        )
    )


@pytest.mark.thorough
def test_without_viser_it_says_so_in_a_line_and_goes_on(tmp_path):
    (tmp_path / 'viser.py').write_text('raise ImportError("none")')
    done = without_a_terminal(env=environment(tmp_path))
    assert done.returncode == 0, done.stdout + done.stderr
    lines = [line for line in done.stderr.splitlines() if line.startswith('ik_viewer')]
    assert len(lines) == 1
    assert 'needs viser' in lines[0]
    assert 'all reachable goals reached' in done.stdout
    assert 'http' not in done.stdout


@pytest.mark.thorough
def test_with_viewer_0_nothing_is_served():
    done = without_a_terminal(env=environment(VIEWER='0'))
    assert done.returncode == 0, done.stdout + done.stderr
    assert 'http' not in done.stdout
    assert 'ik_viewer' not in done.stderr
    assert 'WARN' not in done.stdout + done.stderr


def test_the_first_goal_waits_for_a_browser():
    """Nothing but the browser ends the wait before this test has failed."""
    pytest.importorskip('viser')
    with started(CI='') as process:
        lines = iter(process.stdout.readline, '')
        url = lines_until('the arm waits', lines)[-1].split()[1]
        with connected(url):
            assert lines_until('a browser', lines) == ['a browser: True\n'], 'it had begun'
            said = lines_until('all reachable goals reached', lines)
        assert any(line.startswith('home') and 'reached' in line for line in said)
        assert process.wait(PATIENCE) == 0


def take_terminal():
    """In a child that begins a session: stdin is the terminal that it is about."""
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    end_with_starter()


def on_a_terminal():
    """A demo, and the file that reads its terminal."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, '-c', SHORT],
        env=environment(),
        stdin=theirs,
        stdout=theirs,
        start_new_session=True,
        preexec_fn=take_terminal,
    )
    os.close(theirs)
    return supervised(process), os.fdopen(ours, 'rb', buffering=0)


def test_on_a_terminal_the_arm_waits_for_drags_until_ctrl_c_and_repeats_goals_for_a_browser():
    pytest.importorskip('viser')
    demo, terminal = on_a_terminal()
    with demo as process, terminal:
        text = until(b'Ctrl-C ends', terminal)
        assert b'all reachable goals reached' in text
        (url,) = set(re.findall(rb'http://localhost:\d+', text))
        with urllib.request.urlopen(url.decode(), timeout=PATIENCE) as page:
            assert page.status == 200
        with connected(url.decode()):
            assert b'all reachable goals reached' in until(b'Ctrl-C ends', terminal)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE) == 0


def until(end, terminal):
    """Return a terminal's output up to this text."""
    text = b''
    while end not in text:
        text += terminal.read(1000)
    return text


def test_a_terminal_that_is_closed_ends_the_node_and_the_page():
    pytest.importorskip('viser')
    demo, terminal = on_a_terminal()
    with demo as process:
        with terminal:
            until(b'Ctrl-C ends', terminal)
            children = children_of(process)
            assert len(children) == 2
        process.wait(PATIENCE)
        until_ended(children)


@pytest.mark.parametrize(
    ('number', 'code'), [(signal.SIGTERM, 130), (signal.SIGHUP, 130), (signal.SIGKILL, -9)]
)
def test_a_signal_to_end_leaves_neither_the_node_nor_the_page_behind(number, code):
    with started(VIEWER='0') as process:
        lines_until('publishes after', iter(process.stdout.readline, ''))
        children = children_of(process)
        assert children
        process.send_signal(number)
        assert process.wait(PATIENCE) == code
        if number != signal.SIGKILL:  # else they get a signal when it has ended
            assert not any(map(is_running, children))
        until_ended(children)


def until_ended(processes):
    """Wait until these have ended."""
    deadline = time.monotonic() + PATIENCE
    while any(map(is_running, processes)):
        assert time.monotonic() < deadline, 'something was left behind'
        time.sleep(0.01)
