# SPDX-License-Identifier: Apache-2.0
"""A gizmo for each tip: dragging it sets the tip's goal; otherwise it shows the goal.

Callbacks only store the pose to which a gizmo was dragged; the next frame sends it to the arm. So
at most one goal is sent per frame, the newest one, however many events a browser sends. A gizmo is
not moved by the page while it is dragged, and for a moment after: the arm's report of its goal is
older than the user's motion.

With `Selection.drag_scale` below 1 a gizmo is a clutch: while it is dragged, the goal makes this
part of its way, and when it is let go, it returns to the goal.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from ik_core.maths.rotations import Array, frame_of, matrix_from_quaternion, transform_of
from ik_core.tracking.goals.cartesian import carried, twist_between

from ..arm import GoalKind, Moment, TipState
from ..drawing.drawn_robot import wxyz_of
from .page_context import PageContext, tip_poses

# Sizes, relative to the robot's size; the second from this many tips on
SIZE, SIZE_OF_MANY, MANY = 0.16, 0.10, 3
HOLD = 0.4  # [s] Time after a drag until the arm knows of the goal
UNSEEN = 1e-6  # [m, and in a rotation matrix] Gizmos are not moved by less


class Gizmos:
    """The gizmos of all tips; a `Part`."""

    def __init__(self, context: PageContext, moment: Moment) -> None:
        self._context = context
        size = (SIZE if len(moment.tips) < MANY else SIZE_OF_MANY) * context.size
        self.each = [Gizmo(context, i, tip, size) for i, tip in enumerate(moment.tips)]

    def show(self, moment: Moment) -> None:
        """Send dragged goals to the arm, and show goals that come from elsewhere."""
        poses = tip_poses(self._context.robot, moment)
        for gizmo, tip, pose in zip(self.each, moment.tips, poses, strict=True):
            gizmo.give()
            gizmo.visible = self._context.selection.gizmos
            gizmo.follow(pose if tip.goal is None else tip.goal, tip.kind)

    def remove(self) -> None:
        """Remove all gizmos from the scene."""
        for gizmo in self.each:
            gizmo.remove()


class Gizmo:
    """The gizmo of a tip."""

    def __init__(self, context: PageContext, index: int, tip: TipState, size: float) -> None:
        self._context, self._index = context, index
        self.kind, self.size = tip.kind, size
        self._dragging: set[int] = set()
        self._grabbed = self._stands = np.full((4, 4), np.nan)
        self._dragged: Array | None = None
        self._let_go = -np.inf
        self._node = context.server.scene.add_transform_controls(
            f'/goals/tip_{index}',
            scale=size,
            line_width=3.0,
            depth_test=False,
            opacity=0.9,
        )
        self._node.on_update(context.guarded(self._on_update))

    def choose(self, kind: GoalKind) -> None:
        """Change the parts of the pose that count."""
        self.kind = kind
        self._context.arm.set_goal(self._index, self.pose, kind)
        self._let_go = time.monotonic()
        self._node.disable_rotations = kind is GoalKind.POSITION

    def give(self) -> None:
        """Send the arm the goal to which the gizmo was dragged, if it was."""
        goal, self._dragged = self._dragged, None
        if goal is not None:
            self._context.arm.set_goal(self._index, goal, self.kind)

    def follow(self, goal: Array, kind: GoalKind) -> None:
        """Move the gizmo to a goal (4, 4), unless a user drags it."""
        self._dragging &= self._context.server.get_clients().keys()  # others were closed meanwhile
        if self._dragging or time.monotonic() - self._let_go < HOLD:
            return
        if self.kind is not kind:
            self.kind = kind
            self._node.disable_rotations = kind is GoalKind.POSITION
        if np.abs(goal - self._stands).max() <= UNSEEN:
            return
        self._stands = goal
        self._node.position, self._node.wxyz = goal[:3, 3], wxyz_of(goal[:3, :3])

    @property
    def visible(self) -> bool:
        """True if the gizmo is shown."""
        return bool(self._node.visible)

    @visible.setter
    def visible(self, visible: bool) -> None:
        if visible != self._node.visible:
            self._node.visible = visible

    @property
    def pose(self) -> Array:
        """Pose (4, 4) of the gizmo in the root link's frame."""
        pose = np.eye(4)
        pose[:3, :3] = matrix_from_quaternion(np.roll(self._node.wxyz, -1))
        pose[:3, 3] = self._node.position
        return pose

    def remove(self) -> None:
        """Remove the gizmo from the scene."""
        self._node.remove()

    def _on_update(self, event: Any) -> None:
        if event.phase == 'end':
            self._dragging.discard(event.client_id)
        else:
            if not self._dragging:
                self._grabbed = self.pose
            self._dragging.add(event.client_id)
            self._context.selection.tip = self._index
        self._let_go = time.monotonic()
        self._stands = np.full((4, 4), np.nan)
        if event.phase != 'start':
            self._dragged = self._goal()

    def _goal(self) -> Array:
        """Return the goal (4, 4) that the gizmo asks for where it is."""
        scale, pose = self._context.selection.drag_scale, self.pose
        if scale == 1.0:
            return pose
        start = frame_of(self._grabbed)
        return transform_of(carried(start, twist_between(start, frame_of(pose)), scale))
