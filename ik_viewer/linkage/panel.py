# SPDX-License-Identifier: Apache-2.0
"""The tab of a linkage: its rods, its joints, and the settings of its motion."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ik_core.robot.linkages import ORDERS

from ..arm import Moment
from ..page.page_context import PageContext
from ..page.panel import HOLD, Panel
from .linkage_arm import Design, LinkageArm

SETTLED = 0.3  # [s] Without a change, and the linkage becomes what the sliders show
MOST_RODS, MOST_BRANCHES, LONGEST = 20, 4, 1000.0  # Ends of the sliders, of lengths in mm
STIFFEST, MOST_PIECES = 20.0, 8
FREE = 180.0  # [deg] Limits of this angle or more are none
ALL = 'all'


class LinkagePanel(Panel):
    """The tab of a `LinkageArm`."""

    title = 'Linkage'

    def __init__(self, context: PageContext, moment: Moment, arm: LinkageArm) -> None:
        super().__init__(context, moment)
        self._arm = arm
        self._wanted, self._due = arm.design, float('inf')
        self._slow: dict[str, tuple[Any, float]] = {}  # sliders by option, and their scales
        self._let_go = -float('inf')
        with self._tab:
            self._add_rods()
            with self._gui.add_folder('Motion'):
                self._add_stiffness()
                self._add_slow()
        self.show(moment)

    def show(self, moment: Moment) -> None:
        """Display the settings of the motion, and apply a changed design once its sliders rest."""
        now = time.monotonic()
        self._show_slow(now)
        if now >= self._due:
            self._due = float('inf')
            self._arm.change(self._wanted)

    def _add_rods(self) -> None:
        gui, design = self._gui, self._wanted
        rods = gui.add_slider('Rods', 1, max(MOST_RODS, design.rods), 1, design.rods)
        joint = gui.add_dropdown(
            'Joints', tuple(ORDERS), initial_value=design.joint, hint='The joint before every rod'
        )
        branches = gui.add_slider(
            'Branches', 1, max(MOST_BRANCHES, design.branches), 1, design.branches,
            hint='After half of the rods, each with a tip', disabled=design.rods == 1,
        )  # fmt: skip
        self._rod = gui.add_dropdown('Rod', (ALL, *map(str, range(1, design.rods + 1))))
        lengths = [1e3 * length for length in design.lengths]
        self._length = gui.add_slider(
            'Length [mm]', min(1.0, *lengths), max(LONGEST, *lengths), 1.0, lengths[0]
        )
        limit = FREE if design.limits is None else np.degrees(np.abs(design.limits).max())
        limits = gui.add_slider(
            'Limits [deg]', 1.0, FREE, 1.0, min(float(limit), FREE),
            hint=f'Of every angle, to both sides; {FREE:g}: none',
        )  # fmt: skip
        self._on(limits, lambda value: replace(self._wanted, limits=_limits(value)))
        self._on_change(self._rod, self._show_length)
        self._on(rods, lambda value: self._wanted.with_rods(int(value)))
        self._on(joint, lambda value: replace(self._wanted, joint=value))
        self._on(branches, lambda value: replace(self._wanted, branches=int(value)))
        self._on(self._length, self._with_length)
        if design.joint == 'screw':
            end = max(LONGEST, 1e3 * abs(design.pitch))
            pitch = gui.add_slider('Pitch [mm per turn]', -end, end, 1.0, 1e3 * design.pitch)
            self._on(pitch, lambda value: replace(self._wanted, pitch=value / 1e3))

    def _add_stiffness(self) -> None:
        gui, design = self._gui, self._wanted
        count = gui.add_slider(
            'Stiff joints', 1, max(design.rods, 2), 1, design.stiff_joints,
            hint='Number of joints from the base on that are stiff', disabled=design.rods == 1,
        )  # fmt: skip
        alpha = gui.add_slider(
            'Stiffness', 1.0, max(STIFFEST, design.stiffness), 0.5, design.stiffness,
            hint='alpha of these joints, for Jacobian methods: they do less of the work',
        )  # fmt: skip
        pieces = gui.add_slider(
            'Pieces of a rod', 1, max(MOST_PIECES, design.pieces), 1, design.pieces,
            hint='Rods of two or more are flexible: springs between the pieces let them bend',
        )  # fmt: skip
        rods = gui.add_slider(
            'Stiffness of the rods', 0.1, max(STIFFEST, design.rod_stiffness), 0.1,
            design.rod_stiffness, hint='Of a flexible rod, relative to a joint',
        )  # fmt: skip
        self._on(pieces, lambda value: replace(self._wanted, pieces=int(value)))
        self._on(rods, lambda value: replace(self._wanted, rod_stiffness=float(value)))
        self._on(count, lambda value: replace(self._wanted, stiff_joints=int(value)))
        self._on(alpha, lambda value: replace(self._wanted, stiffness=float(value)))

    def _add_slow(self) -> None:
        gui = self._gui
        fraction = gui.add_slider(
            'Slow-in, slow-out', 0.0, 0.5, 0.01, 0.0,
            hint='Fraction of the path over which steps grow at its beginning and shrink at its '
            'end, for Jacobian methods with a step norm',
        )  # fmt: skip
        distance = gui.add_slider(
            'Slow near the goal [mm]', 0.0, LONGEST, 5.0, 0.0,
            hint='Joints that are nearer to the goal move less, for Jacobian methods',
        )  # fmt: skip
        self._slow = {'slow_fraction': (fraction, 1.0), 'slow_distance': (distance, 1e3)}
        for option, (slider, _) in self._slow.items():
            self._on_change(slider, partial(self._set, option))

    def _on(self, widget: Any, design_of: Callable[[Any], Design]) -> None:
        """Make a widget change the requested design."""

        def note() -> None:
            self._wanted = design_of(widget.value)
            self._due = time.monotonic() + SETTLED

        self._on_change(widget, note)

    def _chosen_rod(self) -> int | None:
        """Return the index of the selected rod, at most the last one's; None for all."""
        chosen = self._rod.value
        return None if chosen == ALL else min(int(chosen), self._wanted.rods) - 1

    def _with_length(self, millimetres: float) -> Design:
        return self._wanted.with_length(millimetres / 1e3, self._chosen_rod())

    def _show_length(self) -> None:
        self._length.value = 1e3 * self._wanted.lengths[self._chosen_rod() or 0]

    def _set(self, option: str) -> None:
        name = f'{self._context.arm.settings["solver"].value}.{option}'
        if name in self._context.arm.settings:
            slider, scale = self._slow[option]
            self._let_go = time.monotonic()
            self._context.arm.set_settings({name: slider.value / scale})

    def _show_slow(self, now: float) -> None:
        """Display the options of the selected solver, unless a user moves a slider."""
        settings = self._context.arm.settings
        for option, (slider, scale) in self._slow.items():
            setting = settings.get(f'{settings["solver"].value}.{option}')
            if slider.disabled != (setting is None):
                slider.disabled = setting is None
            if setting is None or now - self._let_go <= HOLD:
                continue
            value = min(scale * setting.value, slider.max)
            if value != slider.value:
                slider.value = value


def _limits(degrees: float) -> tuple[float, float] | None:
    """Return the limits [rad] of every angle for a position of the slider."""
    largest = float(np.radians(degrees))
    return None if degrees >= FREE else (-largest, largest)
