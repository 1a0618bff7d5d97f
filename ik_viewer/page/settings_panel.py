# SPDX-License-Identifier: Apache-2.0
"""All settings that no other tab shows, in folders by topic."""

from __future__ import annotations

from collections.abc import Mapping

from ..arm import Moment, Setting
from .fields import Fields
from .page_context import PageContext
from .panel import Panel
from .solver_panel import UPDATES

ELSEWHERE = ('solver', UPDATES, 'move')  # Shown in other tabs


class Settings(Panel):
    """A tab with a folder for each group of settings."""

    title = 'Settings'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._fields: list[Fields] = []
        with self._tab:
            for prefix, settings in groups(context.arm.settings).items():
                title = prefix.rstrip('.').replace('_', ' ').replace('.', ': ') or 'following'
                with self._gui.add_folder(title.capitalize(), expand_by_default=not prefix):
                    self._fields.append(Fields(context, settings, prefix))

    def show(self, moment: Moment) -> None:
        """Display the present values."""
        for fields in self._fields:
            fields.show()


def groups(settings: Mapping[str, Setting]) -> dict[str, list[Setting]]:
    """Return the settings by the prefix of their names.

    Left out are those that other tabs show and those that can't be changed here.
    """
    solvers = settings['solver'].choices if 'solver' in settings else ()
    found: dict[str, list[Setting]] = {}
    for setting in settings.values():
        prefix = setting.name[: setting.name.rfind('.') + 1]
        of_joint = prefix.startswith('joint_limits.') and prefix != 'joint_limits.default.'
        elsewhere = setting.name in ELSEWHERE or of_joint or prefix.rstrip('.') in solvers
        if elsewhere or setting.static:
            continue
        found.setdefault(prefix, []).append(setting)
    return found
