# SPDX-License-Identifier: Apache-2.0
"""Pictures of the page as it stands.

The time of the arm is told to it, so that no machine is too slow.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from ik_core import transform
from ik_core.maths.rotations import matrix_from_rpy
from ik_core.motion import Motion
from ik_core.retargeting import human_motion
from ik_viewer.arm import Arm, Description, GoalKind
from ik_viewer.collisions.panel import CollisionsPanel
from ik_viewer.compare.moving_targets import KEPT
from ik_viewer.compare.panel import Compare
from ik_viewer.compare.targets_panel import MovingTargets
from ik_viewer.drawing.description import describe
from ik_viewer.key_frames.panel import KeyFramesPanel
from ik_viewer.linkage.linkage_arm import RATE, Design, LinkageArm
from ik_viewer.linkage.panel import LinkagePanel
from ik_viewer.page.page import MakePart, Page
from ik_viewer.page.scene import Scene
from ik_viewer.page.server import start_server
from ik_viewer.parts import ALL_PARTS
from ik_viewer.path.panel import PathPanel

from .browser import drawn, look_from, open_tab, wait_for
from .film import picture
from .stepped import SteppedArm

WIDTH, HEIGHT = 1280, 800
QUALITY, EFFORT = 86, 6
# A point to look at, and from where, seen from there [m]
Camera = tuple[Sequence[float], Sequence[float]]
ENOUGH = 200  # Updates of the slowest method in a comparison
AT_THE_TOP = 66  # A frame of the jump
AT_THE_BACK = 2  # A key of the throw
AT_A_TURN = 250  # A frame of the helix
FRAME_RATE = 30.0
THERE = 6.0  # [s] In which all goals of the pictures are reached


class Steps(Arm, Protocol):
    """An arm that moves when it is told to."""

    @property
    def period(self) -> float:
        """Period of its ticks [s]."""

    def advance(self, seconds: float) -> None:
        """Move on by a time."""


class TimedLinkage(LinkageArm):
    """A linkage, which moves by itself."""

    period = 1.0 / RATE

    def advance(self, seconds: float) -> None:
        """Let the time go by."""
        time.sleep(seconds)


class Still:
    """An open page in a tab; nothing moves but what is told to."""

    def __init__(self, page: Page, arm: Steps, tab: Any) -> None:
        self.page, self.arm, self.tab = page, arm, tab

    def go(self, seconds: float, *offsets: Sequence[float]) -> None:
        """Give each tip a goal, x, y, z [m] and roll, pitch, yaw [rad] from where it is.

        seconds : how much of the way there is shown
        """
        moment, description = self.arm.read(), self.arm.description
        assert moment is not None
        assert description is not None
        for i, (tip, offset) in enumerate(zip(moment.tips, offsets, strict=True)):
            goal = description.robot.forward_kinematics(moment.q, tip.link)
            goal[:3, 3] += offset[:3]
            goal[:3, :3] = matrix_from_rpy(offset[3:]) @ goal[:3, :3]
            self.arm.set_goal(i, goal, GoalKind.POSE)
        for _ in range(round(FRAME_RATE * seconds)):
            self.next_frame()

    def next_frame(self) -> None:
        """Let the arm go on, and show it.

        The panel and its curves keep to the clock: sooner frames would leave them behind.
        """
        self.arm.advance(1.0 / FRAME_RATE)
        self.page.frame()
        self.tab.wait_for_timeout(1e3 / FRAME_RATE)

    def click(self, name: str, role: str = 'button') -> None:
        """Click on what has this name."""
        drawn(self.tab, self.page.server)
        self.tab.get_by_role(role, name=name).first.click()

    def until(self, condition: Callable[[], Any], what: str) -> None:
        """Show frames until it is so."""

        def shown() -> Any:
            self.next_frame()
            return condition()

        wait_for(shown, what, self.tab)

    def save(self, path: Path) -> None:
        """Write what the tab shows."""
        self.next_frame()
        drawn(self.tab, self.page.server)
        title = self.arm.description.robot.name if self.arm.description else ''
        self.page.server.gui.set_panel_label(title)
        self.page.server.flush()
        self.tab.get_by_text(title, exact=True).first.wait_for()
        picture(self.tab, WIDTH, HEIGHT).save(path, quality=QUALITY, method=EFFORT)


@contextmanager
def still(
    chromium: Any, description: Description, camera: Camera | None = None
) -> Iterator[Still]:
    """A page about a robot."""
    with still_of(chromium, SteppedArm(description), ALL_PARTS, camera) as it:
        yield it


@contextmanager
def still_of(
    chromium: Any, arm: Steps, parts: Sequence[MakePart], camera: Camera | None = None
) -> Iterator[Still]:
    """A page about an arm, which it closes."""
    page = Page(arm, start_server(port=0), parts)
    try:
        arm.advance(arm.period)
        page.frame()
        if camera is not None:
            look_from(page.server, *camera)
        tab = open_tab(chromium, page.url, WIDTH, HEIGHT)
        wait_for(page.server.get_clients, 'a browser', tab)
        yield Still(page, arm, tab)
        tab.close()
    finally:
        page.close()
        page.server.stop()
        arm.close()


def on_the_way(chromium: Any, description: Description, path: Path) -> None:
    """On the way to a goal, where the ghost is already."""
    camera = (0.30, 0.0, 0.42), (1.0, -1.5, 0.5)
    with still(chromium, description, camera) as it:
        it.go(THERE, (0.0, 0.22, 0.05, 0.0, 0.0, 0.0))
        it.go(0.55, (0.08, -0.55, 0.14, 0.5, 0.0, -0.4))
        it.save(path)


def two_tips(chromium: Any, description: Description, path: Path) -> None:
    """Two tips at once, with the ellipsoids of their manipulability."""
    with still(chromium, description) as it:
        it.click('View', 'tab')
        it.tab.get_by_text('Manipulability').first.click()
        it.go(THERE, (0.0, -0.2, 0.0, 0.0, 0.0, 0.0), (0.0, 0.2, 0.15, 0.0, 0.0, 0.0))
        it.save(path)


def stretched(chromium: Any, description: Description, path: Path) -> None:
    """Draw solvers compared on the stretched arm, after some seconds."""
    with still(chromium, description) as it:
        it.click('Compare', 'tab')
        it.tab.get_by_text('Curves', exact=True).first.click()  # to make room
        it.click('Stretched arm')
        compare = it.page.part(Compare)
        it.until(lambda: is_ahead(compare), 'the comparison')
        it.save(path)


def is_ahead(compare: Compare) -> bool:
    """Return whether a comparison shows which method is ahead."""
    comparison = compare.comparison
    return comparison is not None and max(each.iterations for each in comparison.states) > ENOUGH


def reach(chromium: Any, description: Description, path: Path) -> None:
    """Reachability of the tip, cut open."""
    with still(chromium, description) as it:
        it.click('Reach', 'tab')
        it.click('Map the reach of the tip')
        it.until(lambda: it.tab.get_by_text('Cut open').first.is_visible(), 'the map')
        it.save(path)


def colliding(chromium: Any, description: Description, path: Path) -> None:
    """An elbow in a ball, over a box."""
    with still(chromium, description, ((0.30, 0.0, 0.42), (1.0, -1.5, 0.5))) as it:
        it.click('Collisions', 'tab')
        panel = it.page.part(CollisionsPanel)
        for kind, place in (('box', (0.45, 0.0, 0.1)), ('ball', (0.25, 0.05, 0.62))):
            panel.add(kind, transform(position=place))
        it.until(lambda: panel.collisions, 'the pairs of links')
        it.go(THERE, (0.05, 0.0, 0.0, 0.0, 0.0, 0.0))
        it.save(path)


def following(chromium: Any, description: Description, path: Path) -> None:
    """Methods side by side that follow moving targets."""
    with still(chromium, description) as it:
        it.click('Targets', 'tab')
        it.click('Move the targets')
        it.next_frame()
        panel = it.page.part(MovingTargets)
        it.until(lambda: panel.followers[0].state.iterations > KEPT, 'the targets')
        it.save(path)


def limits(chromium: Any, path: Path) -> None:
    """A person who throws, with the arcs of its angles and the cones of shoulders and hips."""
    throw, description = human_motion('throw'), describe('human', floating_base=True)
    arm = SteppedArm(description)
    motion = Motion(throw.robot.joint_names, throw.poses, 1.0).positions_of(description.robot)
    arm.stand_at(motion[AT_THE_BACK])
    with still_of(chromium, arm, ALL_PARTS, ((0.0, 0.0, 1.0), (2.3, -2.6, 0.5))) as it:
        it.click('View', 'tab')
        it.tab.get_by_text('Limits', exact=True).first.click()
        it.until(lambda: it.page.part(Scene).with_limits.value, 'the limits')
        it.save(path)


def jumping(chromium: Any, path: Path) -> None:
    """The key frames of a jump, played."""
    description = describe('human', floating_base=True)
    with still(chromium, description, ((0.3, 0.0, 0.7), (2.4, -4.2, 0.9))) as it:
        it.click('Key frames', 'tab')
        panel, jump, robot = it.page.part(KeyFramesPanel), human_motion('jump'), description.robot
        panel.keep(jump.times, Motion(jump.robot.joint_names, jump.poses, 1.0).positions_of(robot))
        it.click('Play')
        it.until(lambda: panel.shown_frame >= AT_THE_TOP, 'the jump')
        it.save(path)


def helix(chromium: Any, description: Description, path: Path) -> None:
    """A helix around the first axis of an arm, and the motion along it."""
    with still(chromium, description, ((0.2, 0.0, 0.35), (1.3, -1.5, 0.7))) as it:
        it.click('Path', 'tab')
        panel, robot = it.page.part(PathPanel), description.robot
        q = np.array([-0.5, -1.6, 2.0, -2.0, -1.6, 0.0])
        tip = robot.forward_kinematics(q, robot.default_tip())
        angles = np.linspace(0.0, 4.0 * np.pi, 120)
        poses = np.tile(tip, (len(angles), 1, 1))
        poses[:, :3, 3] += 0.1 * np.column_stack([np.cos(angles), np.sin(angles), angles / 8.0])
        panel.keep(list(poses))
        it.click('Find a motion')
        it.until(lambda: panel.result, 'the motion')
        it.until(lambda: panel.shown_frame > AT_A_TURN, 'a turn')
        it.save(path)


def linkage(chromium: Any, path: Path) -> None:
    """A linkage of six rods, which forks, and its tab."""
    design = Design('ball', (0.3,) * 6, branches=2, stiff_joints=2, stiffness=4.0)
    _linkage(chromium, path, design, ((0.5, 0.3, 0.2), (-0.4, -2.6, 1.4)))


def flexible(chromium: Any, path: Path) -> None:
    """Three flexible rods of six pieces, softer than their joints."""
    design = Design('two_angle', (0.5,) * 3, pieces=6, rod_stiffness=0.5)
    _linkage(chromium, path, design, ((0.4, 0.3, 0.2), (0.3, -2.2, 1.0)))


def _linkage(chromium: Any, path: Path, design: Design, camera: Camera) -> None:
    arm = TimedLinkage(design)
    parts: Sequence[MakePart] = (partial(LinkagePanel, arm=arm), *ALL_PARTS)
    with still_of(chromium, arm, parts, camera) as it:
        it.until(lambda: (moment := arm.read()) and moment.code != 'tracking', 'its goals')
        it.save(path)
