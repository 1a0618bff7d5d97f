"""The demo: its page, without which it goes on, and what it does on a terminal."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

from support.places import ROOT
from support.robots import python_path

from benchmark.rate.page_client import connected

SHORT = 'from ik_node.tools import demo; demo.DURATION = 3.0; raise SystemExit(demo.main())'
"""One goal and home, in as long as it may take where no duration is given."""


def environment(*paths, **variables):
    """That of a process which finds the package, and before it what is in `paths`."""
    inherited = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    path = os.pathsep.join([*map(str, paths), python_path(ROOT)])
    return {**inherited, 'PYTHONPATH': path, 'DURATION': '', 'CI': '1', **variables}


def without_a_terminal(**options):
    """What a demo that ends by itself has done."""
    return subprocess.run(
        [sys.executable, '-c', SHORT],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=300.0,
        **options,
    )


def lines_until(part, lines):
    """The lines up to the one with this part."""
    found = []
    while not found or part not in found[-1]:
        found.append(next(lines))
    return found


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
    pytest.importorskip('viser')
    process = subprocess.Popen(
        [sys.executable, '-u', '-c', SHORT],
        env=environment(CI=''),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    try:
        lines = iter(process.stdout.readline, '')
        url = lines_until('the arm waits', lines)[-1].split()[1]
        time.sleep(3.0)
        with connected(url):
            began = time.monotonic()
            said = lines_until('all reachable goals reached', lines)
            assert time.monotonic() - began > 0.5, 'it had not begun'
        assert any(line.startswith('home') and 'reached' in line for line in said)
        assert process.wait(60.0) == 0
    finally:
        process.kill()
        process.communicate()


def test_on_a_terminal_the_arm_waits_for_drags_until_ctrl_c_and_repeats_goals_for_a_browser():
    pytest.importorskip('viser')
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, '-c', SHORT], env=environment(), stdin=theirs, stdout=theirs
    )
    os.close(theirs)
    try:
        with os.fdopen(ours, 'rb', buffering=0) as terminal:
            text = until(b'Ctrl-C ends', terminal)
            assert b'all reachable goals reached' in text
            (url,) = set(re.findall(rb'http://localhost:\d+', text))
            with urllib.request.urlopen(url.decode(), timeout=10.0) as page:
                assert page.status == 200
            with connected(url.decode()):
                assert b'all reachable goals reached' in until(b'Ctrl-C ends', terminal)
            process.send_signal(signal.SIGINT)
            assert process.wait(60.0) == 0
    finally:
        process.kill()
        process.wait()


def until(end, terminal):
    """What a terminal shows up to this text."""
    text = b''
    while end not in text:
        text += terminal.read(1000)
    return text


def test_a_signal_to_end_leaves_neither_the_node_nor_the_page_behind():
    process = subprocess.Popen(
        [sys.executable, '-c', SHORT],
        env=environment(VIEWER='0', PYTHONUNBUFFERED='1'),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        while 'publishes after' not in (line := process.stdout.readline()):
            assert line, 'it ended'
        children = Path(f'/proc/{process.pid}/task/{process.pid}/children').read_text().split()
        assert children
        process.send_signal(signal.SIGTERM)
        assert process.wait(60.0) == 130
        assert not [child for child in children if Path('/proc', child).exists()]
    finally:
        process.kill()
        process.communicate()
