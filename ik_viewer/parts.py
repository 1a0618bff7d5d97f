# SPDX-License-Identifier: Apache-2.0
"""All tabs of the page of an arm."""

from __future__ import annotations

from .collisions.panel import CollisionsPanel
from .compare.panel import Compare
from .compare.targets_panel import MovingTargets
from .key_frames.panel import KeyFramesPanel
from .page.page import PARTS, MakePart
from .path.panel import PathPanel
from .reach.panel import ReachMap

# In the order of the tabs.
ALL_PARTS: tuple[MakePart, ...] = (
    *PARTS,
    CollisionsPanel,
    Compare,
    MovingTargets,
    ReachMap,
    KeyFramesPanel,
    PathPanel,
)
