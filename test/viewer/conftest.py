# SPDX-License-Identifier: Apache-2.0
"""Pages on a server that all tests of a file share, and a clock for them."""

import time

import pytest

LATER = 100.0  # [s] All that waits for a while is due


@pytest.fixture(scope='module')
def viser_server():
    """A server without a page."""
    pytest.importorskip('viser')
    from ik_viewer.page.server import start_server

    it = start_server(port=0)
    yield it
    it.stop()


@pytest.fixture
def made(viser_server):
    """Makes pages on one server, which is cleared after."""
    from support.page_hands import Hands

    from ik_viewer.page.page import PARTS, Page

    used = []

    def make(arm, parts=PARTS):
        page = Page(arm, viser_server, parts)
        page.frame()
        used.append(Hands(page))
        return page, used[-1]

    yield make
    for hands in used:
        hands.close()
    viser_server.gui.reset()
    viser_server.scene.reset()


@pytest.fixture
def clock(monkeypatch):
    """A clock of the page that goes on when it is told to."""
    now = [time.monotonic()]
    monkeypatch.setattr(time, 'monotonic', lambda: now[0])

    def advance(seconds=LATER):
        now[0] += seconds

    return advance
