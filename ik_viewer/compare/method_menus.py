# SPDX-License-Identifier: Apache-2.0
"""Menus to choose the methods that are compared, one for each colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ik_core.exceptions import InvalidOption

from .contestants import COLOURS, Contestant, all_contestants, contestant_named

NO_METHOD = '(none)'


class MethodMenus:
    """Menus in the GUI container that is open; at first they show the `chosen` methods."""

    def __init__(self, gui: Any, chosen: Sequence[Contestant]) -> None:
        names = (NO_METHOD, *(contestant.name for contestant in all_contestants()))
        shown = [contestant.name for contestant in chosen]
        shown += [NO_METHOD] * (len(COLOURS) - len(shown))
        self.menus = [
            gui.add_dropdown(f'{i + 1}', names, initial_value=name) for i, name in enumerate(shown)
        ]

    def contestants(self) -> list[Contestant]:
        """The chosen methods. Raises InvalidOption where there is none."""
        names = [menu.value for menu in self.menus if menu.value != NO_METHOD]
        if not names:
            raise InvalidOption('no method is chosen: choose at least one')
        return [contestant_named(name) for name in names]
