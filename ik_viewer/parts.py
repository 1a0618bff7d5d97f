# SPDX-License-Identifier: Apache-2.0
"""All that the page of an arm is made of, in this process or behind a node."""

from __future__ import annotations

from .collisions.panel import CollisionsPanel
from .compare.panel import Compare
from .compare.targets_panel import MovingTargets
from .key_frames.panel import KeyFramesPanel
from .page.page import PARTS, MakePart
from .reach.panel import ReachMap

# The parts in the order of their tabs.
ALL_PARTS: tuple[MakePart, ...] = (
    *PARTS,
    CollisionsPanel,
    Compare,
    MovingTargets,
    ReachMap,
    KeyFramesPanel,
)
