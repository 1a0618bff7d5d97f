"""The panel of the solver and its options."""

from __future__ import annotations

from typing import Any

from ..arm import Moment
from .fields import Fields
from .stage import Stage


class Solver:
    """A `Part`: the choice of the solver, and the options of the one that is chosen."""

    def __init__(self, stage: Stage, _: Moment) -> None:
        self._stage = stage
        setting = stage.arm.settings.get('solver')
        self._chosen = '' if setting is None else str(setting.value)
        self._tab = stage.tabs.add_tab('Solver')
        with self._tab:
            self._choice = self._add_choice()
            self._folder: Any = None
            self._fields: Fields | None = None
        self._show_options()

    def show(self, moment: Moment) -> None:
        """Show which solver is chosen, and its options."""
        setting = self._stage.arm.settings.get('solver')
        if setting is not None and setting.value != self._chosen:
            self._chosen = setting.value
            self._show_options()
        if self._choice is not None:
            self._choice.show()
        if self._fields is not None:
            self._fields.show()

    def remove(self) -> None:
        """Take it off the page."""
        self._tab.remove()

    def _add_choice(self) -> Fields | None:
        setting = self._stage.arm.settings.get('solver')
        return None if setting is None else Fields(self._stage, [setting])

    def _show_options(self) -> None:
        """Make the widgets of the chosen solver's options, in place of those before."""
        if self._folder is not None:
            self._folder.remove()
        prefix = f'{self._chosen}.'
        settings = self._stage.arm.settings.values()
        options = [setting for setting in settings if setting.name.startswith(prefix)]
        with self._tab:
            self._folder = self._stage.server.gui.add_folder('Options', visible=bool(options))
            with self._folder:
                self._fields = Fields(self._stage, options, prefix)
