# SPDX-License-Identifier: Apache-2.0
"""Web pages from elsewhere can't talk to the server, though their browser would let them."""

import pytest

viser = pytest.importorskip('viser')

from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from ik_core.exceptions import InvalidOption
from ik_viewer.page.origins import is_own, refuse_strangers
from ik_viewer.page.server import start_server


@pytest.fixture(scope='module')
def port():
    server = start_server(port=0)
    yield server.get_port()
    server.stop()


def answers(port, origin):
    """Return whether the server says anything to a page from there."""
    address = f'ws://127.0.0.1:{port}'
    with connect(address, subprotocols=[f'viser-v{viser.__version__}'], origin=origin) as socket:
        try:
            return bool(socket.recv(timeout=300))
        except ConnectionClosed as closed:
            assert closed.rcvd.code == 1008
            return False


def test_its_own_page_and_programs_are_answered(port):
    assert answers(port, f'http://127.0.0.1:{port}')
    assert answers(port, None)


@pytest.mark.parametrize('origin', ['https://example.com', 'null', 'http://127.0.0.1:{other}'])
def test_pages_from_elsewhere_are_not(port, origin):
    assert not answers(port, origin.format(other=port + 1))


@pytest.mark.parametrize(
    ('origin', 'host', 'bound_to', 'own'),
    [
        ('http://localhost:8080', 'localhost:8080', '127.0.0.1', True),
        ('http://localhost:9000', 'localhost:9000', '127.0.0.1', True),  # forwarded by ssh
        ('http://[::1]:8080', '[::1]:8080', '::1', True),
        ('http://evil.example:8080', 'evil.example:8080', '127.0.0.1', False),  # it is 127.0.0.1
        ('http://localhost:8080', 'evil.example:8080', '127.0.0.1', False),
        ('http://localhost.evil.example', 'localhost', '127.0.0.1', False),
        ('http://robot.lan:8080', 'robot.lan:8080', '0.0.0.0', True),
        ('http://evil.example', 'robot.lan:8080', '0.0.0.0', False),
        ('', 'localhost:8080', '127.0.0.1', False),
        ('file://', 'localhost:8080', '127.0.0.1', False),
        ('http://[', 'localhost:8080', '127.0.0.1', False),
        ('http://evil.example:8080', 'evil.example:8080', '127.0.0.2', False),
        ('http://127.0.0.2:8080', '127.0.0.2:8080', '127.0.0.2', True),
    ],
)
def test_a_page_is_the_servers_own_where_it_is_from_the_address_it_asks(
    origin, host, bound_to, own
):
    assert is_own(origin, host, bound_to) is own


def test_a_server_that_cannot_be_guarded_is_not_started():
    with pytest.raises(InvalidOption, match='pip install'):
        refuse_strangers(object())
