# SPDX-License-Identifier: Apache-2.0
"""A scale and a translation of a motion at which a robot reaches all of it.

The middle of the paths is put where the robot's links are in a well-conditioned configuration, and
the scale is lowered step by step until the robot follows the paths in a sample of the frames.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..robot.motion import Motion
from ..robot.robot import Robot
from ..tasks.reference_motion import total_link_length
from .example import example_of
from .motion_transfer import retarget

FRAMES = 60  # most frames of a trial
SAMPLES, SEED = 500, 1  # random configurations, of which the best conditioned one is used
PREFERRED = 0.3  # the middle of the limits is preferred if its condition is this fraction of that
LARGEST, STEP, STEPS = 1.0, 0.85, 30  # largest scale, factor to the next, number of scales
NEAR_FIT = 0.002  # largest error of a link, as a fraction of its chain's length


class Fit(NamedTuple):
    """The scale of the paths, and their translation (3,) [m] after scaling and rotating them."""

    scale: float
    translation: Array


def fit(
    motion: Motion,
    robot: Robot,
    links: Mapping[str, str],
    *,
    source: Robot,
    turn: Array,
    base_link: str | None = None,
    **options: Any,
) -> Fit:
    """Find a scale and a translation of a motion that keep it within a robot's reach.

    turn : (4, 4) rotates the paths into the frame of the robot's root link
    options : of `retarget`, for the trials

    Raises InvalidOption if no scale is small enough.
    """
    period = max(motion.period, motion.duration / (FRAMES - 1))
    tried = motion.resampled(period) if period > motion.period else motion
    placed: dict[str, Any] = {'joints': {}, 'base_link': base_link}
    paths = example_of(tried, source, robot, links, transform=turn, **placed).paths
    low, high = paths.min(axis=(0, 1)), paths.max(axis=(0, 1))
    centre, anchor = 0.5 * (low + high), _anchor(robot, tuple(links.values()))
    length = max(total_link_length(robot, link) for link in links.values())
    first = min(LARGEST, length / max(float(np.linalg.norm(high - low)), 1e-9))
    for scale in first * STEP ** np.arange(STEPS):
        transform = turn.copy()
        transform[:3, 3] = anchor - scale * centre
        trial = {'scale': scale, 'transform': transform, **options}
        made = retarget(tried, robot, links, source=source, **placed, **trial)
        if made.link_errors.max() <= NEAR_FIT * length:
            return Fit(float(scale), transform[:3, 3])
    raise InvalidOption(
        f'no scale from {scale:.2g} to {first:.2g} brings the motion into the reach of '
        f'{robot.name}: follow fewer links, or their paths relative to another link of the source'
    )


def _anchor(robot: Robot, links: tuple[str, ...]) -> Array:
    """The mean position (3,) [m] of the links where each can move freely in all directions."""
    random = np.random.default_rng(SEED)
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    samples = [robot.middle_configuration, *random.uniform(low, high, (SAMPLES, robot.n))]
    conditions = np.array([_smallest_singular_value(robot, q, links) for q in samples])
    best = 0 if conditions[0] >= PREFERRED * conditions.max() else int(conditions.argmax())
    points = [robot.forward_kinematics(samples[best], link)[:3, 3] for link in links]
    return np.mean(points, axis=0)


def _smallest_singular_value(robot: Robot, q: Array, links: tuple[str, ...]) -> float:
    """The smallest singular value of the links' position Jacobians at q (n,)."""
    jacobians = [robot.jacobian(q, link)[:3] for link in links]
    return min(float(np.linalg.svd(j, compute_uv=False)[-1]) for j in jacobians)
