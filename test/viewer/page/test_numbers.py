# SPDX-License-Identifier: Apache-2.0
"""Numbers of clients stay within the ends of their fields."""

import time

import pytest

pytest.importorskip('viser')

from types import SimpleNamespace

from ik_core.exceptions import InvalidOption
from ik_viewer.page.numbers import LARGEST, keep_numbers_within_ends, within_ends
from ik_viewer.page.server import start_server


def field(value, low=None, high=None):
    return SimpleNamespace(value=value, props=SimpleNamespace(min=low, max=high))


@pytest.mark.parametrize(
    ('sent', 'where', 'kept'),
    [
        (1e20, field(3, 1, 9), 9),
        (-1e20, field(3, 1, 9), 1),
        (5, field(3, 1, 9), 5),
        (1e20, field(3), LARGEST),
        (-(10**400), field(3.0, 0.0, 1.0), None),
        (float('nan'), field(0.5, 0.0, 1.0), None),
        (float('inf'), field(0.5), None),
        ('text', field(0.5), None),
        ([2.0, -5.0], field((0.5, 0.5), (0.0, 0.0), (1.0, 1.0)), [1.0, 0.0]),
        ([1.0], field((0.5, 0.5), 0.0, 1.0), None),
        ('text', field('before'), 'text'),
        (True, field(False), True),
    ],
)
def test_numbers_are_put_within_the_ends_of_a_field(sent, where, kept):
    if kept is None:
        with pytest.raises((TypeError, ValueError, OverflowError)):
            within_ends(sent, where)
    else:
        assert within_ends(sent, where) == kept


def test_a_page_goes_on_after_a_number_beyond_64_bits():
    msgspec, websockets = pytest.importorskip('msgspec'), pytest.importorskip('websockets')
    import viser
    from websockets.sync.client import connect

    server = start_server(port=0)
    slider = server.gui.add_slider('Rods', 1, 9, 1, 3)
    try:
        address = f'ws://127.0.0.1:{server.get_port()}'
        given = {'subprotocols': [f'viser-v{viser.__version__}'], 'max_size': None}
        with connect(address, **given) as client:
            client.recv(timeout=300)
            for value in (1e20, 5):
                update = {'type': 'GuiUpdateMessage', 'uuid': slider._impl.uuid}
                client.send(msgspec.msgpack.encode({**update, 'updates': {'value': value}}))
            deadline = time.monotonic() + 300.0
            while slider.value != 5 and time.monotonic() < deadline:
                time.sleep(0.02)
            assert slider.value == 5
        with connect(address, **given) as other:
            assert other.recv(timeout=300)
    except websockets.ConnectionClosed as closed:
        pytest.fail(f'the next browser is turned away: {closed}')
    finally:
        server.stop()


def test_a_viser_without_its_handlers_is_refused():
    with pytest.raises(InvalidOption, match='viser~='):
        keep_numbers_within_ends(object())
