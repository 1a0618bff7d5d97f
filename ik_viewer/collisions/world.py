# SPDX-License-Identifier: Apache-2.0
"""The obstacles that an arm avoids, drawn on the page."""

from __future__ import annotations

from typing import Any

from ik_core import World

from ..arm import Moment
from ..drawing.drawn_robot import wxyz_of
from ..page.page_context import PageContext
from .drawn import add_solid

NAME = '/avoided'


class AvoidedWorld:
    """A part of the page that draws the obstacles of a moment, which others move."""

    def __init__(self, context: PageContext, moment: Moment) -> None:
        self._context = context
        self._world: World | None = None
        self._nodes: dict[str, Any] = {}
        self.show(moment)

    def show(self, moment: Moment) -> None:
        """Draw the obstacles; carried ones at their links."""
        world, scene = moment.world, self._context.server.scene
        if world is not self._world:
            self.remove()
            self._world = world
            for number, obstacle in enumerate(world or ()):
                path = f'{NAME}/{number}'
                self._nodes[obstacle.name] = scene.add_frame(path, show_axes=False)
                add_solid(scene, f'{path}/solid', obstacle.shape, self._context.size)
                self._place(obstacle.name, obstacle.pose)
        for obstacle in world or ():
            if obstacle.link is not None:
                link = self._context.robot.forward_kinematics(moment.q, obstacle.link)
                self._place(obstacle.name, link @ obstacle.pose)

    def remove(self) -> None:
        """Remove all obstacles from the page."""
        for node in self._nodes.values():
            node.remove()
        self._nodes, self._world = {}, None

    def _place(self, name: str, pose: Any) -> None:
        node = self._nodes[name]
        node.position, node.wxyz = pose[:3, 3], wxyz_of(pose[:3, :3])
