# SPDX-License-Identifier: Apache-2.0
"""The panel of goals: the kind of the goals, and buttons for pause, home and reset."""

from __future__ import annotations

from typing import Any

from ..arm import GoalKind, Moment
from .gizmos import Gizmos
from .page_context import PageContext
from .panel import Panel
from .typed_goal import TypedGoal

KINDS = {
    'Pose': GoalKind.POSE,
    'Position': GoalKind.POSITION,
    'Position + axis': GoalKind.AXIS,
}
TO_DO = 'Drag the arrows, arcs and squares at the tip, or type a goal: the arm follows.'
MOVES = {'Joint motion': 'joint', 'Straight line': 'linear'}


class Goals(Panel):
    """The gizmos, with their tab."""

    title = 'Goals'

    def __init__(self, context: PageContext, moment: Moment) -> None:
        super().__init__(context, moment)
        self._links = [tip.link for tip in moment.tips]
        self.gizmos = Gizmos(context, moment)
        self._paused = moment.code == 'paused'
        gui = self._gui
        with self._tab:
            gui.add_html(f'<div style="font-size:0.85rem;padding:0.3rem 0.6rem">{TO_DO}</div>')
            self._tip = self._add_tip(gui)
            self._kind = gui.add_dropdown(
                'Goal kind',
                tuple(KINDS),
                hint="The part of the gizmo's pose that counts; the axis is its z axis, blue",
            )
            self._scale = gui.add_slider(
                'Scale of drags',
                0.05,
                1.0,
                0.05,
                1.0,
                hint='Below 1 the gizmo is a clutch: the goal makes this part of the way of a '
                'drag, and the gizmo returns to it when it is let go',
            )
            self._move = self._add_move(gui)
            self._typed = TypedGoal(context, moment)
            arm = context.arm
            self._pause = self._button(
                'Pause', lambda: arm.pause(not self._paused), icon='player-pause'
            )
            self._home = self._button('Home', arm.home, icon='home', color='gray')
            self._reset = self._button(
                'Drop the goals', arm.reset, icon='player-stop', color='gray'
            )
        self._on_change(self._tip, self._choose_tip)
        self._on_change(self._kind, self._choose_kind)
        self._on_change(self._scale, self._choose_scale)

    def show(self, moment: Moment) -> None:
        """Display the selected tip, the kind of its goal, and whether the arm is paused."""
        self.gizmos.show(moment)
        self._typed.show(moment)
        self._tip.value = self._links[self._context.selection.tip]
        kind = self.gizmos.each[self._context.selection.tip].kind
        self._kind.value = next(name for name, value in KINDS.items() if value is kind)
        self._scale.value = self._context.selection.drag_scale
        if (moment.code == 'paused') != self._paused:
            self._paused = not self._paused
            self._pause.label = 'Resume' if self._paused else 'Pause'
            self._pause.icon = 'player-play' if self._paused else 'player-pause'
        self._show_move()

    def remove(self) -> None:
        """Take the panel off the page."""
        self.gizmos.remove()
        super().remove()

    def _add_tip(self, gui: Any) -> Any:
        hint = 'The tip for jogging and for the goal kind'
        several = len(self._links) > 1
        return gui.add_dropdown('Tip', tuple(self._links), hint=hint, visible=several)

    def _add_move(self, gui: Any) -> Any:
        move = gui.add_dropdown(
            'Motion to the goal',
            tuple(MOVES),
            hint='Motion of the tip to a goal that jumped',
            visible='move' in self._context.arm.settings,
        )
        arm = self._context.arm
        self._on_change(move, lambda: arm.set_settings({'move': MOVES[move.value]}))
        return move

    def _show_move(self) -> None:
        setting = self._context.arm.settings.get('move')
        if setting is not None and setting.value in MOVES.values():
            self._move.value = next(n for n, value in MOVES.items() if value == setting.value)

    def _choose_tip(self) -> None:
        self._context.selection.tip = self._links.index(self._tip.value)

    def _choose_scale(self) -> None:
        self._context.selection.drag_scale = float(self._scale.value)

    def _choose_kind(self) -> None:
        self.gizmos.each[self._context.selection.tip].choose(KINDS[self._kind.value])
