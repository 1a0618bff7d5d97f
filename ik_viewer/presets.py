# SPDX-License-Identifier: Apache-2.0
"""Presets of solvers, the options of papers, as settings of an arm."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ik_core import SOLVERS, make_solver, solver_name
from ik_core.solvers import preset_name

from .arm import Setting

# Options that depend on the robot, since they name joints: presets do not change them.
OF_THE_ROBOT = ('joint_stiffness',)


def preset_settings(solver: str, preset: str | None = None) -> dict[str, Any]:
    """Return the values of all options of a solver with a preset; None for the defaults.

    Raises InvalidOption for an unknown solver or preset.
    """
    name = solver_name(solver)
    known = None if preset is None else preset_name(preset, name)
    options = make_solver(name, preset=known).options
    return {
        f'{solver}.{entry.name}': getattr(options, entry.name)
        for entry in fields(options)
        if entry.name not in OF_THE_ROBOT
    }


def preset_of(solver: str, settings: Mapping[str, Setting]) -> str | None:
    """Return the preset that equals a solver's options, or None."""
    for preset in SOLVERS[solver_name(solver)].presets if solver in SOLVERS else ():
        values = preset_settings(solver, preset)
        known = [settings[name].value == values[name] for name in values if name in settings]
        if known and all(known):
            return preset
    return None
