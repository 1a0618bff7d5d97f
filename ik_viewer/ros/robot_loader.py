# SPDX-License-Identifier: Apache-2.0
"""The robot of the node, loaded from its URDF's text in a background thread."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

from ik_core import load_robot
from ik_core.exceptions import IkError

from ..arm import Description

BLANK = '\ufeff \t\r\n'


class Robots:
    """Loads robots, one after another; `description` is that of the last text that was loaded.

    mesh_folders : folders named by the user: meshes are searched only there
    report : called with the reason if a robot can't be loaded
    """

    def __init__(self, mesh_folders: tuple[Path, ...], report: Callable[[str], None]) -> None:
        self._mesh_folders, self._report = mesh_folders, report
        self._worker = ThreadPoolExecutor(1, thread_name_prefix='robot')
        self._text = ''
        self._loading: Future[Description] | None = None
        self.description: Description | None = None

    def take(self, text: str) -> None:
        """Load a description, unless it is the present one; '' for no robot."""
        if text == self._text:
            return
        self._text = text
        if text.lstrip(BLANK).startswith('<'):
            self._loading = self._worker.submit(self._load, text, self.description)
            return
        self._loading = None
        if text:  # load_robot would take it as the name of a file
            self._report('robot_description: this is not XML')

    def poll(self) -> bool:
        """Set `description` if a robot was loaded; return whether it has changed."""
        if self._loading is None or not self._loading.done():
            return False
        loading, self._loading = self._loading, None
        before = self.description
        try:
            self.description = loading.result()
        except IkError as error:
            self._report(f'robot_description: {error}')
        return self.description is not before

    @property
    def is_known(self) -> bool:
        """True if `description` is that of the last text."""
        return self.description is not None and self.description.urdf == self._text

    def close(self) -> None:
        """End the thread."""
        self._worker.shutdown(wait=False, cancel_futures=True)

    def _load(self, text: str, before: Description | None) -> Description:
        """Return the description of a text; that of `before` if the text is the same."""
        if before is not None and before.urdf == text:
            return before
        return Description(load_robot(text), text, None, self._mesh_folders)
