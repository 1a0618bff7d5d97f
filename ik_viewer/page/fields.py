# SPDX-License-Identifier: Apache-2.0
"""Widgets for settings; the kind of a setting selects the kind of its widget.

A user's change is sent to the arm with the next frame, changes of text and numbers once the user
has stopped typing. A change from elsewhere is displayed, except in a widget in which the user is
typing.
"""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from ..arm import Setting
from .page_context import PageContext

TYPING = 0.7  # [s] Without a key, and what was typed is taken
UNLIMITED = 'none'  # An infinite limit, as people write it


class Fields:
    """Widgets for some of the arm's settings, in the open GUI container.

    cut : prefix of the names that labels leave out
    default : prefix of the settings whose value applies where one of these is infinite
    """

    def __init__(
        self,
        context: PageContext,
        settings: Iterable[Setting],
        cut: str = '',
        *,
        default: str = '',
    ) -> None:
        self._context, self._default = context, default
        self._handles = {s.name: self._add(s, s.name.removeprefix(cut)) for s in settings}
        self._shown: Mapping[str, Setting] | None = None
        self._changed: dict[str, float] = {}

    def show(self) -> None:
        """Send the users' changes to the arm, and display changes from elsewhere."""
        settings = self._context.arm.settings
        if self._changed:
            self._give(settings)
        if settings is not self._shown:
            self._shown = settings
            for name, handle in self._handles.items():
                if name in settings and name not in self._changed:
                    handle.value = self._in_force(settings[name])

    def remove(self) -> None:
        """Remove all widgets from the page."""
        for handle in self._handles.values():
            handle.remove()

    def _give(self, settings: Mapping[str, Setting]) -> None:
        now = time.monotonic()
        due = [name for name, ready in self._changed.items() if ready <= now]
        values = {}
        for name in due:
            del self._changed[name]
            if name in settings and self._handles[name].value != self._in_force(settings[name]):
                values[name] = read(settings[name], self._handles[name].value)
        if values:
            self._shown = None  # what is refused is shown as it was
            self._context.arm.set_settings(values)

    def _in_force(self, setting: Setting) -> Any:
        """Return the value in force, as its widget shows it: the default's for inf."""
        if self._default and setting.value == np.inf:
            name = self._default + setting.name.rpartition('.')[2]
            setting = self._context.arm.settings.get(name, setting)
        return shown(setting)

    def _add(self, setting: Setting, label: str) -> Any:
        gui, value = self._context.server.gui, self._in_force(setting)
        look, title = {'hint': hint_of(setting)}, words(label) + unit_of(setting)
        if setting.kind is bool:
            handle = gui.add_checkbox(title, value, **look)
        elif setting.choices:
            handle = gui.add_dropdown(title, setting.choices, initial_value=value, **look)
        else:
            handle = gui.add_text(title, value, **look)
        typed = setting.kind is not bool and not setting.choices
        handle.on_update(self._context.by_user(lambda _: self._note(setting.name, typed)))
        return handle

    def _note(self, name: str, typed: bool) -> None:
        self._changed[name] = time.monotonic() + (TYPING if typed else 0.0)


def words(name: str) -> str:
    """Return a setting's name with blanks instead of underscores and dots."""
    return name.replace('_', ' ').replace('.', ' ')


def unit_of(setting: Setting) -> str:
    """Return the unit at the end of a setting's description, such as ' [m]'; '' without one."""
    found = re.search(r' \[[^\[\]]+\]$', setting.doc)
    return found[0] if found else ''


def hint_of(setting: Setting) -> str:
    """Return a widget's hint: description, range and name of its setting."""
    low, high = setting.bounds
    bounds = f'; {low:g} to {high:g}' if np.isfinite(low) or np.isfinite(high) else ''
    return f'{setting.doc}{bounds} ({setting.name})'


def shown(setting: Setting) -> Any:
    """Return a setting's value as its widget shows it."""
    if setting.kind is bool or setting.kind is str:
        return setting.value
    if setting.kind in (tuple, list):
        return ', '.join(map(str, setting.value))
    if setting.value == np.inf:
        return UNLIMITED
    return f'{setting.value:g}' if setting.kind is float else str(setting.value)


def read(setting: Setting, value: Any) -> Any:
    """Convert a widget's value to the setting's type; the arm refuses invalid ones."""
    if setting.kind in (tuple, list):
        parts = [part.strip() for part in value.split(',') if part.strip()]
        return tuple(parts) if setting.kind is tuple else [_number(part) for part in parts]
    if setting.kind is int:
        number = _number(value)
        whole = isinstance(number, float) and number.is_integer()
        return int(number) if whole else number
    return _number(value) if setting.kind is float else value


def _number(text: str) -> float | str:
    if text == UNLIMITED:
        return np.inf
    try:
        return float(text)
    except ValueError:
        return text
