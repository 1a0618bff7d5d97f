# SPDX-License-Identifier: Apache-2.0
"""`ik bench person`: [EngellErleben2011] Figs. 3, 6, 9 to 12 on the shipped human skeleton.

The procedure is that of `line_search` without captured motions: the skeleton has 71 angles, all
with limits, as the source's, and its pelvis floats. It follows the source's six goals, fingertips,
feet, pelvis and head, of its own motions, which are made by inverse kinematics from key frames
(`ik human --motion`); cycles are repeated to ten seconds. The reference of Fig. 12 is that motion.
The pictures of Figs. 3 and 6 are its running cycle and its jump, with the goals of the key frames.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ik_core.figures import new_figure
from ik_core.maths.rotations import Array
from ik_core.retargeting.example import link_paths
from ik_core.retargeting.human_motions import MOTIONS, human_motion
from ik_core.robot.human_model import human

from ..results import Claim, Row
from . import postures
from .line_search import (
    FIGURES,
    GOALS,
    METHODS,
    RATE,
    SLOT,
    SPACINGS,
    Clip,
    against_inverse,
    captured,
    draw_errors,
    error_rows,
    interactive,
    jitter,
    like_the_reference,
    row,
    smooth,
)

LINKS = ('left_fingertips', 'right_fingertips', 'left_foot', 'right_foot', 'pelvis', 'head')
# Links without goals, with the names of their joints.
BETWEEN = {
    f'{side}_{link}': f'{side} {joint}'
    for side in ('left', 'right')
    for link, joint in (('forearm', 'elbow'), ('hand', 'wrist'), ('upper_arm', 'shoulder'),
                        ('shank', 'knee'))
} | {'thoracic_3_link': 'chest', 'cervical_1_link': 'neck'}  # fmt: skip
PHASES, TURNED = 11, -25.0  # pictures of a cycle; [deg] angle of view from the side
FINE = 240.0  # [Hz] frame rate of the drawn motions
LONG = 10.0  # [s] duration of repeated cycles


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each method in each case."""
    clips = [clip_of(name) for name in MOTIONS]
    most = min(arguments.count, GOALS)
    yield from error_rows(clips, [(s, SLOT, most, name) for s in SPACINGS for name in METHODS])
    yield from captured(clips, most)
    yield from pictures('3', 'run', np.arange(PHASES) / PHASES)
    yield from pictures('6', 'jump')


def pictures(number: str, name: str, phases: Array | None = None) -> Iterator[Row]:
    """Yield postures of a motion at fractions of its cycle, or at its key frames.

    The parts are 'pose' and 'goal', as in `postures`.
    """
    frames = human_motion(name)
    at = frames.times if phases is None else phases * frames.times[-1]
    motion, paths = frames.motion(FINE), frames.goal_paths(at)
    side = postures.seen((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), TURNED)
    for k, (time, places) in enumerate(zip(at, paths, strict=True)):
        q = motion[min(round(time * FINE), len(motion) - 1)]
        case = f'{number} {k}'
        for one in (
            postures.pose(case, 'captured', frames.robot, q, side),
            postures.goals(case, places, side),
        ):
            yield row(one['part'], case, one['method'], values=one['values'])


def clip_of(name: str) -> Clip:
    """Return a motion of the skeleton as a clip."""
    robot, motion = human(floating_base=True), human_motion(name).motion(RATE)
    q = motion.positions_of(robot)
    if MOTIONS[name]:
        q = np.tile(q[:-1], (round(LONG / motion.duration), 1))
    return Clip(name, robot, q, link_paths(robot, q, LINKS), LINKS, BETWEEN)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the source's claims on Figs. 9 to 12."""
    motions = f'{len(MOTIONS)} motions of `human`'
    return [
        *(against_inverse(rows, case, motions) for case in FIGURES),
        interactive(rows, motions),
        smooth(rows, motions),
        like_the_reference(rows, motions),
    ]


def draw(rows: Sequence[Row]) -> Any:
    """Draw Figs. 3 (run), 6 (jump), 9 to 11 (boxes) and 12 (jitter)."""
    figure = new_figure(12.5, 10.5)
    running, jumping, above, below = figure.subfigures(4, 1, height_ratios=(0.6, 0.7, 1.0, 1.0))
    for part, number in ((running, '3'), (jumping, '6')):
        cases = [f'{number} {k}' for k in range(PHASES)]
        for axes, case in zip(part.subplots(1, PHASES, sharey=True), cases, strict=True):
            title = '' if case[2:] != '0' else f'As Fig. {number}'
            postures.people(axes, rows, case, title)
    draw_errors(above.subplots(1, len(FIGURES), sharey=True), rows)
    axes = below.subplots()
    jitter(axes, rows)
    below.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=7)
    return figure
