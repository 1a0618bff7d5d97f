# SPDX-License-Identifier: Apache-2.0
"""Does on a page what a person does in a browser: through the callbacks that viser would call."""

import asyncio
from types import SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation

from ik_viewer.page.goal_panel import Goals


class Hands:
    """Hands of one browser on a page."""

    def __init__(self, page, client=1):
        self._page, self._client = page, client
        camera = SimpleNamespace(aspect=1.6)
        browser = SimpleNamespace(camera=camera, add_notification=lambda **_: None)
        page.server._connected_clients[client] = browser

    def close(self):
        """Close the browser."""
        self._page.server._connected_clients.pop(self._client, None)

    def widget(self, label):
        """The input of that label that is on the page."""
        (found,) = [w for w in self.widgets() if getattr(w, 'label', None) == label]
        return found

    def widgets(self):
        """Return all inputs on the page."""
        return list(self._page.server.gui._gui_input_handle_from_uuid.values())

    def change(self, label, value):
        """Give an input a value."""
        widget = self.widget(label)
        widget._impl.value = value
        self._call(widget._impl.update_cb, widget)

    def press(self, label):
        """Press a button."""
        widget = self.widget(label)
        self._call(widget._impl.update_cb, widget)

    def hold(self, widget):
        """Do once what a button repeats while it is pressed."""
        for callbacks in widget._button_impl.hold_cbs_from_freq.values():
            self._call(callbacks, widget)

    def grab(self, gizmo):
        """Begin to drag."""
        self._drag(gizmo, 'start')

    def drag(self, gizmo, pose):
        """Drag it to a pose (4, 4)."""
        node = gizmo._node
        node._impl.position = np.array(pose[:3, 3])
        node._impl.wxyz = np.roll(Rotation.from_matrix(pose[:3, :3]).as_quat(), 1)
        self._drag(gizmo, 'update')

    def let_go(self, gizmo):
        """End to drag."""
        self._drag(gizmo, 'end')

    def _drag(self, gizmo, phase):
        event = SimpleNamespace(phase=phase, client_id=self._client, client=object())
        for callback in gizmo._node._impl_aux.update_cb:
            asyncio.run(callback(event))
        self._page.requests.do()

    def _call(self, callbacks, widget):
        event = SimpleNamespace(client=object(), client_id=self._client, target=widget)
        for callback in list(callbacks):
            asyncio.run(callback(event))
        self._page.requests.do()


def part(page, kind):
    """The part of a page of that class."""
    return next(p for p in page.parts if isinstance(p, kind))


def gizmo_of(page, tip=0):
    """The gizmo of a tip."""
    return part(page, Goals).gizmos.each[tip]
