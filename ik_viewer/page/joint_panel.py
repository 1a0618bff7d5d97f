# SPDX-License-Identifier: Apache-2.0
"""The joint values, sliders that move the joints, and the limits of the chosen joint."""

from __future__ import annotations

import html
import time
from typing import Any, NamedTuple

import numpy as np

from ik_core.display import fixed
from ik_core.maths.rotations import Array
from ik_core.robot.limits import FULL_TURN

from ..arm import Moment, Setting
from ..drawing.colours import BLUE, ORANGE, hex_of
from .fields import Fields
from .page_context import PageContext
from .panel import HOLD, Panel

PERIOD = 0.2  # [s] Between two looks at the numbers
NEAR = 0.02  # Share of its range: nearer to a limit a joint's bar is orange


DEGREE = '\u00b0'


class Range(NamedTuple):
    """A slider of two settings, and the time [s] of the last change by a user.

    scale : of the slider's numbers, in degrees or mm
    """

    slider: Any
    names: tuple[str, str]
    scale: float
    let_go: float = -np.inf


class Slider:
    """A slider that moves a joint, given by its index; it shows the joint's goal."""

    def __init__(self, context: PageContext, joint: int, q: Array) -> None:
        robot, self._context, self._joint = context.robot, context, joint
        self._name, unit = robot.joint_names[joint], robot.joint_units[joint]
        self._scale: float = np.degrees(1.0) if unit == 'rad' else 1e3
        half = 180.0 if unit == 'rad' else 1e3
        low, high = (float(x[joint]) * self._scale for x in (robot.lower, robot.upper))
        self._low = low if np.isfinite(low) else -half
        self._high = high if np.isfinite(high) else half
        self._turns, self._let_go = bool(robot.continuous[joint]), -np.inf
        step = max((self._high - self._low) / 500.0, 1e-6)
        label = f'{self._name} [{"deg" if unit == "rad" else "mm"}]'
        symbol = DEGREE if unit == 'rad' else ' mm'
        self._slider = context.server.gui.add_slider(
            label,
            self._low,
            self._high,
            step,
            self._shown(q),
            marks=tuple((end, end_text(end, symbol)) for end in (self._low, self._high)),
            disabled=not low < high,
        )
        self._slider.on_update(context.by_user(lambda _: self._move()))

    def show(self, moment: Moment, now: float) -> None:
        """Show the arm's goal, unless a user moves the slider."""
        value = self._shown(moment.q if moment.solution is None else moment.solution)
        if now - self._let_go > HOLD and value != self._slider.value:
            self._slider.value = value

    def _shown(self, q: Array) -> float:
        angle = float(q[self._joint])
        if self._turns:
            angle -= FULL_TURN * round(angle / FULL_TURN)
        return min(max(round(self._scale * angle, 3), self._low), self._high)  # exactly inside

    def _move(self) -> None:
        self._let_go = time.monotonic()
        self._context.arm.set_joint_goal({self._name: float(self._slider.value) / self._scale})


def end_text(value: float, symbol: str) -> str:
    """Return the end of a slider as short text: 90 degrees, not 89.999998."""
    return f'{fixed(value, 1)}{symbol}'.replace(f'.0{symbol}', symbol)


class Joints(Panel):
    """A table of all joints, sliders that move them, and one for the limits of one."""

    title = 'Joints'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._shown = -np.inf
        gui, names = self._gui, context.robot.joint_names
        self._range: Range | None = None
        self._folder: Any = None
        self._fields: Fields | None = None
        with self._tab:
            self._table = gui.add_html('')
            with gui.add_folder('Move the joints'):
                self._sliders = [Slider(context, i, moment.q) for i in range(context.robot.n)]
            self._joint = gui.add_dropdown('Limits of', names, visible=self._has_limits(names[0]))
        self._joint.on_update(context.guarded(lambda _: self._show_limits()))
        self._show_limits()

    def show(self, moment: Moment) -> None:
        """Display the positions of the joints."""
        if self._fields is not None:
            self._fields.show()
        self._show_range()
        now = time.monotonic()
        if now - self._shown < PERIOD:
            return
        self._shown = now
        for slider in self._sliders:
            slider.show(moment, now)
        content = self._rows(moment.q)
        if content != self._table.content:
            self._table.content = content

    def _has_limits(self, joint: str) -> bool:
        prefix = f'joint_limits.{joint}.'
        return any(name.startswith(prefix) for name in self._context.arm.settings)

    def _limits(self, joint: str) -> dict[str, Setting]:
        """Return the settings of a joint's limits, by kind."""
        prefix = f'joint_limits.{joint}.'
        return {
            name.removeprefix(prefix): setting
            for name, setting in self._context.arm.settings.items()
            if name.startswith(prefix)
        }

    def _show_limits(self) -> None:
        """Make the widgets for the limits of the selected joint."""
        joint, self._range = self._joint.value, None
        limits = self._limits(joint)
        title = f'Limits of {joint}'
        self._folder = self._folder_in_place_of(self._folder, title, visible=bool(limits))
        with self._folder:
            if 'lower' in limits and 'upper' in limits:
                self._add_range(joint, limits['lower'], limits['upper'])
                del limits['lower'], limits['upper']
            self._fields = Fields(
                self._context,
                limits.values(),
                f'joint_limits.{joint}.',
                default='joint_limits.default.',
            )

    def _add_range(self, joint: str, lower: Setting, upper: Setting) -> None:
        ends = np.array([lower.bounds[0], upper.bounds[1]])
        if not np.isfinite(ends).all() or not ends[0] < ends[1]:
            return
        turns = self._context.robot.joint_units[self._context.robot.joint_index(joint)] == 'rad'
        scale, unit, symbol = (np.degrees(1.0), 'deg', DEGREE) if turns else (1e3, 'mm', ' mm')
        low, high = (scale * ends).tolist()
        step, values = (high - low) / 500.0, (scale * lower.value, scale * upper.value)
        slider = self._gui.add_multi_slider(
            f'range [{unit}]',
            low,
            high,
            step,
            values,
            min_range=step,
            marks=tuple((end, end_text(end, symbol)) for end in (low, high)),
            hint=lower.doc,
        )
        self._range = Range(slider, (lower.name, upper.name), scale)
        self._on_change(slider, self._set_range)

    def _set_range(self) -> None:
        shown = self._range
        assert shown is not None
        self._range = shown._replace(let_go=time.monotonic())
        ends = (float(end) / shown.scale for end in shown.slider.value)
        self._context.arm.set_settings(dict(zip(shown.names, ends, strict=True)))

    def _show_range(self) -> None:
        """Display the present settings: other clients may have changed them, and changes of
        this page may have been refused."""
        shown, settings = self._range, self._context.arm.settings
        if shown is None or not settings.keys() >= set(shown.names):
            return
        if time.monotonic() - shown.let_go < HOLD:
            return
        low, high = (shown.scale * settings[name].value for name in shown.names)
        if tuple(shown.slider.value) != (low, high):
            shown.slider.value = (low, high)

    def _rows(self, q: Array) -> str:
        robot = self._context.robot
        rows = []
        for i, name in enumerate(robot.joint_names):
            low, high = float(robot.lower[i]), float(robot.upper[i])
            rows.append(row(name, float(q[i]), low, high, robot.joint_units[i]))
        return f'<div style="font-size:0.78rem;padding:0.3rem 0.6rem">{"".join(rows)}</div>'


def row(name: str, value: float, low: float, high: float, unit: str) -> str:
    """Return a joint as HTML: its name, its position, and a bar with the position between its
    limits."""
    shown, symbol = (np.degrees(value), '&deg;') if unit == 'rad' else (1e3 * value, ' mm')
    text = fixed(float(shown), 1) + symbol
    return (
        '<div style="display:flex;gap:0.5rem;align-items:center;line-height:1.35">'
        '<span style="flex:1;overflow:hidden;text-overflow:ellipsis;white-space:nowrap">'
        f'{html.escape(name)}</span>{_bar(value, low, high)}'
        '<span style="width:4.6em;text-align:right;font-variant-numeric:tabular-nums">'
        f'{text}</span></div>'
    )


def _bar(value: float, low: float, high: float) -> str:
    """Return a bar that shows a value between its limits, or the words that it has none."""
    if not (np.isfinite([low, high]).all() and low < high):
        return '<span style="width:38%;color:#9ca3af;text-align:center">no limits</span>'
    fraction = min(max((value - low) / (high - low), 0.0), 1.0)
    colour = hex_of(ORANGE if min(fraction, 1.0 - fraction) < NEAR else BLUE)
    return (
        '<span style="width:38%;height:0.4rem;background:#e5e7eb;border-radius:0.2rem;'
        'position:relative">'
        f'<span style="position:absolute;left:calc({100.0 * fraction:.1f}% - 0.25rem);'
        f'top:-0.15rem;width:0.5rem;height:0.7rem;border-radius:0.2rem;background:{colour}"></span></span>'
    )
