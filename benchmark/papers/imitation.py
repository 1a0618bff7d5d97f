# SPDX-License-Identifier: Apache-2.0
"""`ik bench imitation`: [TakKo] Fig. 1 and section 3, joint angles copied to other proportions.

The performer is `human`. It moves its joined hands round in front of its chest, a closed loop of
links (Fig. 1), and writes the letter A with its right fingertips (section 3). Skeletons of other
proportions copy its joint angles, beta = 1, or imitate it by `ik.retargeting.retarget`, which
weighs links and angles, for several beta. Their limbs and trunk are scaled by PROPORTIONS; the
first and the last one are those of `example_guided`. Paths are not scaled, and the pelvis is
fixed, so goals need not be in reach.

Rows have a `part`, `hands` or `letter`, a skeleton and a beta. `gap_m`: the mean distance between
the hands [m]; `error_m`: the mean distance of the end effectors from their paths; `shape_m`: that
of the letter from the performer's, after the best fit by translation, rotation and scale;
`turn_deg`: the mean angle between the orientations of end effector and performer. `weight`
[m^2/rad^2]: weight of orientations in the E-error, 0 except in rows of TURNING. `path`: the letter
as the skeleton writes it.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, PINK, RED, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.retargeting import retarget
from ik_core.retargeting.example import link_paths
from ik_core.robot.human_model import human, human_joints
from ik_core.robot.joints import Joint
from ik_core.robot.motion import Motion
from ik_core.robot.robot import Robot
from ik_core.solvers import make_solver
from ik_core.tasks import PositionTask

from ..results import Claim, Row, swept

STATURE = 1.75
# Factors of the lengths of limbs and trunk, relative to the performer's.
PROPORTIONS = {
    'limbs 1.2, trunk 0.8': (1.2, 0.8),
    'limbs 1.1, trunk 0.9': (1.1, 0.9),
    'limbs 0.9, trunk 1.1': (0.9, 1.1),
    'limbs 0.8, trunk 1.2': (0.8, 1.2),
    'limbs 0.4, trunk 1.6': (0.4, 1.6),
}
BETAS = (1.0, 0.5, 1e-2, 1e-5, 0.0)
TURNING = (1e-3, 1e-2, 1e-1)  # [m^2/rad^2] weights of orientations, at the source's beta
SMALL = 1e-5  # the source's beta
ARM = ('collarbone', 'upper_arm', 'forearm', 'hand', 'fingers')
LIMBS = (*ARM[1:], 'thigh', 'shank', 'foot')
HANDS = ('left_fingertips', 'right_fingertips')
FRAMES, PERIOD = 60, 1.0 / 30.0
JOINED = 0.01  # [m] hands that are farther apart are not joined
TURNED = 1.0  # [deg] an orientation follows if its mean error is below this
LEGIBLE = 0.01  # [m] a letter is written accurately if its mean error is below this

A_HEIGHT, A_CENTRE = 0.25, (0.5, -0.2, 0.35)  # [m] the letter, ahead of the right shoulder
# Corners of the letter, to its right and up, relative to its height.
STROKES = ((-0.3, -0.5), (0.0, 0.5), (0.3, -0.5), (0.15, 0.0), (-0.15, 0.0))


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each part, skeleton and beta."""
    performer = human(STATURE)
    parts = {'hands': (HANDS, joined_hands()), 'letter': (HANDS[1:], letter())}
    cases = [(part, figure) for part in parts for figure in PROPORTIONS]
    motions = {part: performed(performer, *paths) for part, paths in parts.items()}
    for part, figure in bar(cases, 'imitation'):
        links, paths = parts[part]
        other = proportioned(*PROPORTIONS[figure])
        for beta, weight in [(beta, 0.0) for beta in BETAS] + [(SMALL, w) for w in TURNING]:
            made = retarget(
                motions[part],
                other,
                {link: link for link in links},
                source=performer,
                beta=beta,
                orientation_weights=weight,
                keep_limits=False,
            )
            found = link_paths(other, made.motion.positions, links)
            yield {
                **measured(part, figure, beta, found, paths),
                'weight': weight,
                'turn_deg': float(np.degrees(made.orientation_errors.mean())),
            }


def measured(part: str, figure: str, beta: float, found: Array, paths: Array) -> Row:
    """Return the errors of paths `found`, which should be `paths` (frames, links, 3)."""
    is_letter = part == 'letter'
    written = found[:, 0, 1:] if is_letter else np.empty((0, 2))
    return {
        'part': part,
        'figure': figure,
        'beta': beta,
        'gap_m': ''
        if is_letter
        else float(np.linalg.norm(found[:, 0] - found[:, 1], axis=1).mean()),
        'error_m': float(np.linalg.norm(found - paths, axis=2).mean()),
        'shape_m': shape_error(found[:, 0], paths[:, 0]) if is_letter else '',
        'path': ' '.join(f'{value:.3f}' for value in written.ravel()),
    }


def joined_hands() -> Array:
    """Return the same path (FRAMES, 2, 3) [m] for both hands, a loop in front of the chest."""
    t = np.linspace(0.0, 2.0 * np.pi, FRAMES)
    point = np.stack([0.38 + 0.06 * np.cos(t), 0.12 * np.sin(t), 0.3 + 0.08 * np.sin(2 * t)], 1)
    return np.repeat(point[:, None], 2, axis=1)


def letter() -> Array:
    """Return the path (FRAMES, 1, 3) [m] of an A in a vertical plane, at constant speed."""
    corners = np.array(STROKES) * A_HEIGHT
    ways = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(corners, axis=0), axis=1))])
    at = np.linspace(0.0, ways[-1], FRAMES)
    right, up = (np.interp(at, ways, corners[:, k]) for k in range(2))
    return (np.stack([0.0 * right, -right, up], 1) + A_CENTRE)[:, None]


def performed(performer: Robot, links: Sequence[str], paths: Array) -> Motion:
    """Return the performer's motion with links on paths (frames, links, 3), by least motion."""
    problem = IkProblem(performer, [PositionTask(link) for link in links])
    solver, q, positions = make_solver(restarts=0), bent_arms(performer), []
    for points in paths:
        for goal, point in zip(problem.goals, points, strict=True):
            goal.set_target(position=point)
        q = solver.solve(problem, q).q
        positions.append(q)
    return Motion(performer.joint_names, np.array(positions), PERIOD)


def bent_arms(performer: Robot) -> Array:
    """Return q (n,) of a person who stands with bent elbows."""
    q = np.zeros(performer.n)
    for name, index in zip(performer.joint_names, range(performer.n), strict=True):
        if name.endswith('elbow'):
            middle = 0.5 * (performer.lower[index] + performer.upper[index])
            q[index] = middle
    return q


def proportioned(limbs: float, trunk: float) -> Robot:
    """Return the person with limbs and trunk scaled by these factors."""
    joints = proportioned_joints(limbs, trunk)
    names = [joints[0].parent, *(joint.child for joint in joints)]
    return Robot.from_joints('proportioned', names, joints)


def proportioned_joints(limbs: float, trunk: float) -> list[Joint]:
    """Return the joints of such a person, parents first."""

    def longer(joint: Joint) -> Joint:
        origin = joint.origin.copy()
        is_limb = joint.parent.partition('_')[2] in LIMBS
        origin[:3, 3] *= limbs if is_limb else trunk
        return replace(joint, origin=origin)

    return [longer(joint) for joint in human_joints(STATURE)]


def shape_error(found: Array, path: Array) -> float:
    """Return the mean distance [m] of a path (frames, 3) from another one, after the best fit.

    Translation, rotation and scale are fitted by least squares.
    """
    a, b = found - found.mean(axis=0), path - path.mean(axis=0)
    u, s, vt = np.linalg.svd(b.T @ a)
    s[-1] *= np.sign(np.linalg.det(u @ vt))
    u[:, -1] *= np.sign(np.linalg.det(u @ vt))
    return float(np.linalg.norm(b - (s.sum() / (a * a).sum()) * a @ (u @ vt).T, axis=1).mean())


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the source's claims on copied angles, and on the remaining errors."""
    positions = [row for row in rows if not float(row['weight'])]
    hands, written = (
        {(r['figure'], float(r['beta'])): r for r in positions if r['part'] == part}
        for part in ('hands', 'letter')
    )
    of = f'{len(PROPORTIONS)} proportions'
    cm = f'{100 * LEGIBLE:g} cm'
    gaps, left = (_over(hands, beta, 'gap_m') for beta in (1.0, SMALL))
    off, near = (_over(written, beta, 'error_m') for beta in (1.0, SMALL))
    shapes = _over(written, 1.0, 'shape_m')
    held = [value > LEGIBLE for value in (*off, *shapes)]
    return [
        Claim(
            'copied joint angles fail when there is a closed loop: joined hands (Fig. 1)',
            'can fail',
            f'the hands are {_cm(gaps)} apart',
            of,
            f'more than {100 * JOINED:g} cm apart',
            [gap > JOINED for gap in gaps],
        ),
        Claim(
            'with beta = 1e-5 the loop stays closed (section 4.2)',
            'negligible error',
            f'the hands are {_cm(left)} apart',
            of,
            f'less than {100 * JOINED:g} cm apart',
            [gap < JOINED for gap in left],
        ),
        Claim(
            'copied joint angles may not write the letter A accurately (section 3)',
            'may not',
            f'fingertips {_cm(off)} from the path; once moved, turned and scaled to fit best, '
            f'{_cm(shapes)} from the letter of {100 * A_HEIGHT:g} cm',
            f'{of}; by the path and by the shape',
            f'more than {cm} off',
            held,
        ),
        Claim(
            'with beta = 1e-5 the letter is written accurately (section 4.2)',
            'negligible error',
            f'fingertips {_cm(near)} from the path',
            of,
            f'less than {cm} off',
            [value < LEGIBLE for value in near],
        ),
        oriented(rows),
    ]


def oriented(rows: Sequence[Row]) -> Claim:
    """Return the claim on the end effectors' orientation, which paths do not determine."""
    own = [row for row in rows if float(row['beta']) == SMALL]
    of = {w: [row for row in own if float(row['weight']) == w] for w in (0, *TURNING)}
    turns = {w: [float(row['turn_deg']) for row in found] for w, found in of.items()}
    off = {w: max(float(row['error_m']) for row in found) for w, found in of.items()}
    told = [f'{max(turns[w]):.2g} deg and {100 * off[w]:.2g} cm at {w:g}' for w in TURNING]
    held = {w: max(turns[w]) < TURNED and off[w] < LEGIBLE for w in TURNING}
    return swept(
        'an end effector has six degrees of freedom (1): with its orientation in the E-error both '
        'follow',
        'position and orientation',
        f'by positions alone turned by {min(turns[0]):.2g} to {max(turns[0]):.2g} deg; with '
        f'orientations at most {", ".join(told)}',
        f'weight {TURNING[0]:g} to {TURNING[-1]:g} m^2/rad^2, hands and letter, '
        f'{len(PROPORTIONS)} proportions',
        f'less than {TURNED:g} deg and {100 * LEGIBLE:g} cm off',
        held,
    )


def _over(found: Mapping[tuple[str, float], Row], beta: float, key: str) -> list[float]:
    """Return a number of all skeletons."""
    return [float(found[figure, beta][key]) for figure in PROPORTIONS]


def _cm(lengths: Sequence[float]) -> str:
    return f'{100 * min(lengths):.2g} to {100 * max(lengths):.2g} cm'


COLOURS = dict(zip(PROPORTIONS, (BLUE, GREEN, ORANGE, PINK, RED), strict=True))
SMALLEST_BETA = 1e-7  # position of beta = 0 on the axis
FLOOR = 1e-9  # [m] smaller errors are drawn as this


def draw(rows: Sequence[Row]) -> Any:
    """Draw the gap between hands, the error of the letter, and the letters of copied angles."""
    figure = new_figure(11.0, 4.2)
    gap, error, written = figure.subplots(1, 3)
    for name, colour in COLOURS.items():
        own = [row for row in rows if row['figure'] == name and not float(row['weight'])]
        for axes, part, key in ((gap, 'hands', 'gap_m'), (error, 'letter', 'error_m')):
            mine = [row for row in own if row['part'] == part]
            places = [max(float(row['beta']), SMALLEST_BETA) for row in mine]
            axes.plot(
                places, [max(row[key], FLOOR) for row in mine], '.-', color=colour, label=name
            )
        copied = next(r for r in own if r['part'] == 'letter' and float(r['beta']) == 1.0)
        points = np.array(str(copied['path']).split(), float).reshape(-1, 2)
        written.plot(-points[:, 0], points[:, 1], color=colour)
    path = letter()[:, 0]
    written.plot(-path[:, 1], path[:, 2], color=BLACK, linewidth=2.0, label='the performer')
    for axes in (gap, error):
        axes.set(xlabel='beta', xscale='log', yscale='log')
        axes.set_xticks([SMALLEST_BETA, 1e-5, 1e-2, 1.0], ['0', '1e-5', '0.01', '1'])
        axes.minorticks_off()
    gap.set(ylabel='mean gap between the hands [m]', title='Joined hands, as Fig. 1')
    error.set(ylabel='mean distance from the path [m]', title='A letter')
    written.set(xlabel='to the right [m]', ylabel='up [m]', aspect='equal')
    written.set_title('The letter by copied angles')
    lines = [line for axes in (gap, written) for line in axes.get_legend_handles_labels()[0]]
    figure.legend(handles=lines, loc='outside lower center', ncols=6)
    return figure
