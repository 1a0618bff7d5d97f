# SPDX-License-Identifier: Apache-2.0
"""Menus of the methods compared, one for each colour."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ik_core.exceptions import InvalidOption

from .methods import COLOURS, Method, all_methods, method_named

NO_METHOD = '(none)'


class MethodMenus:
    """Menus in the open GUI container, with the methods `chosen` at first."""

    def __init__(self, gui: Any, chosen: Sequence[Method]) -> None:
        names = (NO_METHOD, *(method.name for method in all_methods()))
        shown = [method.name for method in chosen]
        shown += [NO_METHOD] * (len(COLOURS) - len(shown))
        self.menus = [
            gui.add_dropdown(f'{i + 1}', names, initial_value=name) for i, name in enumerate(shown)
        ]

    def methods(self) -> list[Method]:
        """Return the chosen methods. Raises InvalidOption if there are none."""
        names = [menu.value for menu in self.menus if menu.value != NO_METHOD]
        if not names:
            raise InvalidOption('no method is chosen: choose at least one')
        return [method_named(name) for name in names]
