# SPDX-License-Identifier: Apache-2.0
"""Presets of solvers as settings of an arm: the options of a paper's method, under their names."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

from ik_core import SOLVERS, make_solver, solver_name
from ik_core.solvers import preset_name

from .arm import Setting

OF_THE_ROBOT = ('joint_stiffness',)
"""Options that name joints: they belong to the robot, and a preset keeps them."""


def preset_settings(solver: str, preset: str | None = None) -> dict[str, Any]:
    """Values of all options of a solver with a preset; None: the defaults.

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
    """The preset that a solver's options are equal to; None if there is none."""
    for preset in SOLVERS[solver_name(solver)].presets if solver in SOLVERS else ():
        values = preset_settings(solver, preset)
        known = [settings[name].value == values[name] for name in values if name in settings]
        if known and all(known):
            return preset
    return None
