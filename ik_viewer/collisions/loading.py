# SPDX-License-Identifier: Apache-2.0
"""The collision checker of a robot, made in a thread: that takes seconds for meshes."""

from __future__ import annotations

import threading
from typing import Any, Literal

from ik_core import Collisions, World
from ik_core.exceptions import UnsupportedProblem
from ik_core.progress import quiet

from ..arm import Description, error_text


class Loading:
    """A collision checker that is being made in a thread.

    `collisions` : the checker once it is `done`, or None after an `error`
    `note` : a sentence on the geometry, or ''
    """

    def __init__(self, description: Description, world: World) -> None:
        self.collisions: Collisions | None = None
        self.error = self.note = ''
        self._description, self._world = description, world
        self._thread = threading.Thread(target=self._run, name='collisions', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """True if the thread has ended."""
        return not self._thread.is_alive()

    def _run(self) -> None:
        try:
            with quiet():  # the terminal belongs to the program, not to its page
                self._load()
        except Exception as error:
            self.error = f'collisions: {error_text(error)}'

    def _load(self) -> None:
        try:
            self.collisions = self._made('collision')
        except UnsupportedProblem:
            self.collisions = self._made('visual')
            self.note = 'no <collision> elements: what is drawn counts'

    def _made(self, geometry: Literal['collision', 'visual']) -> Collisions:
        description = self._description
        options: dict[str, Any] = {'geometry': geometry, 'folders': description.mesh_folders}
        return Collisions(description.robot, self._world, **options)
