# SPDX-License-Identifier: Apache-2.0
"""`Panel`: a part of the page with a tab of its own."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

from ..arm import Moment
from .browser import mark_of
from .page_context import PageContext

HOLD = 1.0  # [s] Time after a slider was moved until the arm knows of it


class Panel:
    """A `Part` with a tab, to which panels add their widgets.

    title : of the tab, by which `PageContext.open_tabs` knows it
    """

    title: ClassVar[str]

    def __init__(self, context: PageContext, moment: Moment) -> None:
        self._context, self._moment, self._gui = context, moment, context.server.gui
        self._tab = context.tabs.add_tab(self.title)
        with self._tab:
            self._gui.add_html(mark_of(self.title))

    def show(self, moment: Moment) -> None:
        """Show a moment; called for every frame."""
        self._moment = moment

    def remove(self) -> None:
        """Take the panel off the page."""
        self._tab.remove()

    def _button(self, label: str, do: Callable[[], object], **look: Any) -> Any:
        """Add a button that calls a function."""
        button = self._gui.add_button(label, **look)
        button.on_click(self._context.guarded(lambda _: do()))
        return button

    def _on_change(self, widget: Any, do: Callable[[], object]) -> None:
        """Call a function when a person changes a widget."""
        widget.on_update(self._context.by_user(lambda _: do()))

    def _folder_in_place_of(self, folder: Any, title: str, **look: Any) -> Any:
        """Remove a folder (None: there is none yet), and add another one to the tab."""
        if folder is not None:
            folder.remove()
        with self._tab:
            return self._gui.add_folder(title, **look)

    def _send_file(self, client: Any, name: str, save: Callable[[Path], object]) -> None:
        """Send a browser the file that a function writes to the path it gets."""
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder, name)
            save(path)
            client.send_file_download(name, path.read_bytes(), save_immediately=True)
