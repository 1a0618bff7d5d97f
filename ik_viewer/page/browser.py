# SPDX-License-Identifier: Apache-2.0
"""Additions to viser's page in the browser: its style, and a report of the open tabs."""

from __future__ import annotations

import html
from typing import Any

# Label of the field, hidden by the script, in which a browser reports its open tabs
FIELD = 'Open tabs'
# viser's style of the panel while there is no connection to the server
GONE = '[style*="opacity: 0.5"][style*="pointer-events: none"]'
LAST = 1e6  # The order of what comes last in the panel

# Narrow tabs, all in one row; without a connection a grey scene, and `ik-gone` not `ik-state`
STYLE = f"""<style>
[data-dock-tab] {{ padding: 0 0.3em !important; font-size: 0.76rem; letter-spacing: -0.3px; }}
.ik-gone {{ display: none; }}
{GONE} .ik-gone {{ display: block; }}
{GONE} .ik-state {{ display: none; }}
body:has({GONE} .ik-gone) canvas {{ filter: grayscale(1) opacity(0.5); }}
</style>"""

# viser tells its server nothing of tabs: the script looks for the marks in those that are shown,
# and types their titles into the field
SCRIPT = """
clearInterval(window.ikTabs);
let last = null;
window.ikTabs = setInterval(() => {
  const label = [...document.querySelectorAll('label')].find(e => e.textContent === '%s');
  const row = label?.closest('p').parentElement.parentElement.parentElement;
  const field = row?.querySelector('input');
  if (!field) return;
  row.style.display = 'none';
  const shown = [...document.querySelectorAll('[data-ik-tab]')]
    .filter(e => e.getClientRects().length).map(e => e.dataset.ikTab).join(', ');
  if (shown === last) return;
  last = shown;
  const text = Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value');
  text.set.call(field, shown);
  field.dispatchEvent(new Event('input', {bubbles: true}));
}, 200);
"""


def mark_of(tab: str) -> str:
    """Return a mark, as HTML, by which the script knows whether a tab is shown."""
    return f'<i data-ik-tab="{html.escape(tab)}" style="display:block;height:0"></i>'


class OpenTabs:
    """The tabs that are shown in the browsers of a server."""

    def __init__(self, server: Any) -> None:
        self._server = server
        self._of_client: dict[int, frozenset[str]] = {}
        script = html.escape(SCRIPT % FIELD)
        server.gui.add_html(f'{STYLE}<img src="data:," onerror="{script}" hidden>', order=LAST)
        field = server.gui.add_text(FIELD, '', order=LAST)

        @field.on_update
        async def note(event: Any) -> None:
            if event.client is not None:
                self._of_client[event.client_id] = frozenset(event.target.value.split(', '))

    def shows(self, tab: str) -> bool:
        """Return whether a browser shows a tab, or none has reported yet."""
        clients = self._server.get_clients()
        shown = [titles for client, titles in self._of_client.items() if client in clients]
        return not shown or any(tab in titles for titles in shown)
