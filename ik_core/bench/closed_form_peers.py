"""Closed forms of others, where they are installed, for `ik bench closed_form_proof`."""

from __future__ import annotations

import importlib
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from ..closed_forms.chain import Chain
from ..closed_forms.judging import EXACT
from ..closed_forms.layouts import meeting_point
from ..maths.rotations import Array
from ..robot.robot import Robot
from ..robot.urdf_text import urdf_text

Solutions = Callable[[Array], Array]
"""The solutions (k, 6) of a pose (4, 4) of the tip."""

RUST = ('three_parallel_two_intersecting', 'spherical_two_parallel', 'spherical_two_intersecting')
"""Families of ik-geo that are no searches."""


def peers(robot: Robot, tip: str, chain: Chain) -> Iterator[tuple[str, Solutions]]:
    """Those that have a closed form for an arm of six turning joints, the others as they stand."""
    if len(chain.rows) != 6 or chain.slides.any():
        return
    made: dict[str, Callable[..., Solutions | None]] = {'EAIK': _eaik, 'ik-geo': _ik_geo}
    if len(robot.chain(tip)) == 6:
        made['ssik'] = _ssik  # it reads the URDF, so it moves all joints
    for name, make in made.items():
        try:
            solutions = make(robot, tip, chain)
        except ImportError:
            continue
        if solutions is not None:
            yield name, solutions


def _axes(chain: Chain) -> tuple[Array, Array, Array]:
    """Axes (6, 3), offsets (7, 3) from each to the next, and the tip's rotation, all at zero."""
    home = chain.last @ chain.tool
    points = np.vstack([np.zeros(3), chain.rows[:, 3:], home[:3, 3]])
    return chain.rows[:, :3].copy(), np.diff(points, axis=0), home[:3, :3]


def _eaik(_robot: Robot, _tip: str, chain: Chain) -> Solutions | None:
    module = importlib.import_module('eaik.IK_HP')
    axes, offsets, rotation = _axes(chain)
    arm = module.HPRobot(axes, offsets)
    if not arm.hasKnownDecomposition():
        return None

    def solutions(pose: Array) -> Array:
        found = arm.IK(_unturned(pose, rotation))
        return np.reshape(found.Q, (-1, 6))[~np.array(found.is_LS, bool)]

    return solutions


def _ik_geo(_robot: Robot, _tip: str, chain: Chain) -> Solutions | None:
    module = importlib.import_module('ik_geo')
    family = _rust_family(chain)
    if family is None:
        return None
    rows = chain.rows.copy()  # it wants axes that meet to have one point
    for these in (slice(4, 6),) if family == RUST[0] else (slice(3, 6), slice(0, 2)):
        point, miss = meeting_point(rows[these])
        if miss <= EXACT:
            rows[these, 3:] = point
    axes, offsets, rotation = _axes(replace(chain, rows=rows))
    arm = getattr(module.Robot, family)(axes, offsets)

    def solutions(pose: Array) -> Array:
        turned = _unturned(pose, rotation)
        found = arm.get_ik(turned[:3, :3].T.tolist(), turned[:3, 3].tolist())  # the columns
        return np.array([q for q, inexact in found if not inexact]).reshape(-1, 6)

    return solutions


def _rust_family(chain: Chain) -> str | None:
    """Its name for an arm whose first axes are as it wants them."""
    layouts = [one for one in chain.layouts() if one.deviation <= EXACT]
    if not layouts:
        return None
    if layouts[0].of == (1, 2, 3):
        return RUST[0]
    if layouts[0].of != (3, 4, 5):
        return None
    axes, gap = chain.rows[:, :3], chain.rows[1, 3:] - chain.rows[0, 3:]
    if np.linalg.norm(np.cross(axes[1], axes[2])) < 1e-9:
        return RUST[1]
    return RUST[2] if abs(gap @ np.cross(axes[0], axes[1])) < 1e-9 else None


def _ssik(robot: Robot, tip: str, _chain: Chain) -> Solutions | None:
    module = importlib.import_module('ssik')
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / 'arm.urdf'
        path.write_text(urdf_text(robot), encoding='utf-8')
        try:
            arm: Any = module.Manipulator.from_urdf(str(path), base=robot.link_names[0], ee=tip)
        except (RuntimeError, ValueError, NotImplementedError):
            return None

    def solutions(pose: Array) -> Array:
        found = arm.solve(pose, respect_limits=False, enumerate_windings=False)
        return np.array([one.q for one in found]).reshape(-1, 6)

    return solutions


def _unturned(pose: Array, rotation: Array) -> Array:
    """The pose as if the tip stood as the root when all joints are at zero."""
    result = pose.copy()
    result[:3, :3] = pose[:3, :3] @ rotation.T
    return result
