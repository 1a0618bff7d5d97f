# SPDX-License-Identifier: Apache-2.0
"""Only pages that came from the server itself may talk to it.

A browser lets any web page open a WebSocket to any address, this machine's included, and says in
the header `Origin` where that page is from. Without a look at it, a page from anywhere that
somebody has open could move their robot. viser does not look; its connections are closed here,
before anything that comes over them is read, unless `Origin` is the address that was asked
for (`Host`). On a server for this machine only, that must be a name of this machine too: the name
of a stranger's page may lead to 127.0.0.1 as well.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ik_core.exceptions import InvalidOption

POLICY_VIOLATION = 1008


def is_own(origin: str | None, host: str, bound_to: str) -> bool:
    """Return whether a page from `origin` may connect to `host`, on a server bound to an address.

    None: what connects is no browser, and so is not led by a page.
    """
    if origin is None:
        return True
    try:
        asked = urlsplit(origin)
    except ValueError:  # no browser says such a thing
        return False
    if asked.netloc.lower() != host.lower():
        return False
    return not is_this_machine(bound_to) or is_this_machine(asked.hostname or '')


def is_this_machine(host: str) -> bool:
    """Return whether a host is a name or an address that never leaves this machine."""
    try:
        return host == 'localhost' or ip_address(host).is_loopback
    except ValueError:
        return False


def refuse_strangers(server: Any) -> None:
    """Have a viser server close connections of pages from elsewhere.

    Raises InvalidOption where this viser has not what it takes: it has no public way for that.
    """
    try:
        sockets = server._websock_server
        connections = sockets._live_connections
        register = sockets.on_client_connect
    except AttributeError:
        message = 'this viser accepts connections from any page: pip install "viser~=1.1.1"'
        raise InvalidOption(message) from None
    bound_to = server.get_host()

    async def check(client: Any) -> None:
        connection = connections[client.client_id]
        headers = connection.request.headers
        if not is_own(headers.get('Origin'), headers.get('Host', ''), bound_to):
            await connection.close(POLICY_VIOLATION, 'this page is from another server')

    register(check)
