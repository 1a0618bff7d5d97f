# SPDX-License-Identifier: Apache-2.0
"""The panel of the solver and its options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ik_core import SOLVERS, solver_name

from ..arm import Moment, Setting
from ..presets import preset_of, preset_settings
from .fields import Fields, hint_of
from .page_context import PageContext
from .panel import Panel

PRESET = 'preset'  # The parameter of a node that a choice here takes the place of
# The setting that decides whether a method's steps are the arm's, or only its answers
UPDATES = 'updates_per_tick'


class Solver(Panel):
    """The choice of the solver or a preset, and the options of the chosen one."""

    title = 'Solver'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        settings = context.arm.settings
        self._shown: Mapping[str, Setting] | None = None
        self._chosen = ''
        with self._tab:
            self._choice = self._add_choice()
            self._updates = Fields(context, [settings[UPDATES]] if UPDATES in settings else [])
            self._folder: Any = None
            self._fields: Fields | None = None
        self.show(moment)

    def show(self, moment: Moment) -> None:
        """Display the selected solver and its options."""
        settings = self._context.arm.settings
        if settings is not self._shown:
            self._shown = settings
            self._show_choice(settings)
        self._updates.show()
        if self._fields is not None:
            self._fields.show()

    def _add_choice(self) -> Any:
        setting = self._context.arm.settings.get('solver')
        if setting is None:
            return None
        names = [name for solver in setting.choices for name in _names(solver)]
        choice = self._gui.add_dropdown('solver', names, hint=hint_of(setting))
        self._on_change(choice, lambda: self._choose(*_parts(choice.value)))
        return choice

    def _choose(self, solver: str, preset: str | None) -> None:
        """Select a solver, with the options of a preset, or with defaults in place of a previous
        preset's."""
        settings, values = self._context.arm.settings, {PRESET: ''}
        if preset or preset_of(solver, settings):
            values |= preset_settings(solver, preset)
        self._shown = None  # what is refused is shown as it was
        self._context.arm.set_settings(
            {'solver': solver, **{name: v for name, v in values.items() if name in settings}}
        )

    def _show_choice(self, settings: Mapping[str, Setting]) -> None:
        solver = str(settings['solver'].value) if 'solver' in settings else ''
        if self._choice is not None:
            self._choice.value = _name(solver, preset_of(solver, settings))
        if solver != self._chosen or self._fields is None:
            self._chosen = solver
            self._show_options()

    def _show_options(self) -> None:
        """Make the widgets of the selected solver's options, in place of the previous ones."""
        prefix = f'{self._chosen}.'
        settings = self._context.arm.settings.values()
        options = [setting for setting in settings if setting.name.startswith(prefix)]
        visible = bool(options)
        self._folder = self._folder_in_place_of(self._folder, 'Options', visible=visible)
        with self._folder:
            self._fields = Fields(self._context, options, prefix)


def _name(solver: str, preset: str | None) -> str:
    """Return a solver's entry in the menu, with its preset."""
    return solver if preset is None else f'{solver}: {preset}'


def _parts(name: str) -> tuple[str, str | None]:
    """Return the solver and the preset of an entry in the menu."""
    solver, _, preset = name.partition(': ')
    return solver, preset or None


def _names(solver: str) -> list[str]:
    """Return a solver's entries in the menu: alone, and with each preset."""
    presets = SOLVERS[solver_name(solver)].presets if solver in SOLVERS else ()
    return [_name(solver, preset) for preset in (None, *presets)]
