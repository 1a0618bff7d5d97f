"""`ik bench person`: [EngellErleben2011] Figs. 9 to 12 on the shipped human figure.

The procedure of `line_search` without captured motions: the figure has 71 angles, all with limits,
as the source's, and its pelvis is held. It follows the fingertips, feet and head of its own
motions, which are made by inverse kinematics from keys (`ik human --motion`) and repeated to ten
seconds where they are cycles. The reference of Fig. 12 is that motion.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from ik_core.figures import new_figure
from ik_core.retargeting.example import link_paths
from ik_core.retargeting.human_motions import MOTIONS, human_motion
from ik_core.robot.human import human

from ..results import Claim, Row
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
    smooth,
)

LINKS = ('left_fingertips', 'right_fingertips', 'left_foot', 'right_foot', 'head')
BETWEEN = {
    f'{side}_{link}': f'{side} {joint}'
    for side in ('left', 'right')
    for link, joint in (('forearm', 'elbow'), ('hand', 'wrist'), ('upper_arm', 'shoulder'),
                        ('shank', 'knee'))
} | {'thoracic_3_link': 'chest', 'cervical_1_link': 'neck'}  # fmt: skip
"""Links without goals, by the names of their joints."""
LONG = 10.0
"""[s] Length of repeated cycles."""


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """A row for each method in each case."""
    clips = [clip_of(name) for name in MOTIONS]
    most = min(arguments.count, GOALS)
    yield from error_rows(clips, [(s, SLOT, most, name) for s in SPACINGS for name in METHODS])
    yield from captured(clips, most)


def clip_of(name: str) -> Clip:
    """A motion of the figure, in the frame of its pelvis."""
    robot, motion = human(), human_motion(name).motion(RATE)
    q = motion.positions_of(robot)
    if MOTIONS[name]:
        q = np.tile(q[:-1], (round(LONG / motion.duration), 1))
    return Clip(name, robot, q, link_paths(robot, q, LINKS), LINKS, BETWEEN)


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The source's claims on Figs. 9 to 12."""
    return [
        *(against_inverse(rows, case) for case in FIGURES),
        interactive(rows),
        smooth(rows),
        like_the_reference(rows),
    ]


def draw(rows: Sequence[Row]) -> Any:
    """The boxes of Figs. 9 to 11, and the jitter of Fig. 12."""
    figure = new_figure(12.5, 7.2)
    above, below = figure.subfigures(2, 1)
    draw_errors(above.subplots(1, len(FIGURES), sharey=True), rows)
    axes = below.subplots()
    jitter(axes, rows)
    below.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=7)
    return figure
