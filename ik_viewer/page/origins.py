# SPDX-License-Identifier: Apache-2.0
"""Protection against other web pages: only pages of the server itself may connect to it.

A browser lets any web page open a WebSocket to any address, including this machine's, and sends
the page's own address in the header `Origin`. Without a check, any page that is open in the user's
browser could move the robot. viser does not check it, so connections are closed here, before
anything that they send is read, unless `Origin` is the address of the request (`Host`). If the
server is bound to this machine only, that address must also be a name of this machine: the domain
name of another page may resolve to 127.0.0.1 as well.
"""

from __future__ import annotations

from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from ik_core.exceptions import InvalidOption

POLICY_VIOLATION = 1008


def is_own(origin: str | None, host: str, bound_to: str) -> bool:
    """Return whether a page from `origin` may connect to `host`, on a server bound to an address.

    No Origin header means that the client is not a browser, so no web page can have sent it:
    allowed.
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
    """Make a viser server close connections of pages from elsewhere.

    Raises InvalidOption for a version of viser without the private attributes that this needs:
    viser has no public way.
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
