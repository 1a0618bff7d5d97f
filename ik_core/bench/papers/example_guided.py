"""`ik bench example_guided`: a throw for figures of other proportions, as [TakKo] Figs. 4 to 6.

The throw is CMU's 124_01, every fourth frame, 30 a second. As in the source its paths are not
scaled. Abnorman-1 is its figure with limbs 1.2 and a torso 0.8 times as long, Abnorman-2 the
reverse; then two other subjects, also with the paths scaled by the length of their chains. Hands
and feet are the end effectors, all joints the example, kv = ka = 0 and M = 0; the limits, which
the throw itself breaks, are open but where solvers are compared.

Rows have a kind: `error` for a figure, a solver and a beta: the mean end-effector error, also over
the length of all bones between the ends; the mean joint error; the mean jerk over that of the
example. `start` says where frames begin: `warm` where the one before ended, `cold` at rest.
`curve`: the shoulder angle at a time. `bone`: both ends of a bone in a snapshot.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from ...maths.rotations import Array
from ...progress import bar
from ...retargeting import Retargeted, retarget
from ...robot.mocap.load import load_mocap, load_skeleton
from ...robot.motion import Motion
from ...robot.robot import Robot
from ..rows import Row
from .claims import Claim
from .example_guided_page import claims_of, figure_of
from .figures_of_people import bones, figure_length, jerk, proportioned

CLIP, SKELETON, STEP = '124_01.amc', '124.asf', 4
ENDS = ('lhand', 'rhand', 'lfoot', 'rfoot')
SHOULDER = 'rhumerus/z'
BETAS = (1.0, 0.5, 0.1, 1e-2, 1e-3, 1e-4, 1e-5, 1e-6, 0.0)
SOLVERS = ('levenberg_marquardt', 'sqp', 'augmented_lagrangian')
ABNORMANS = {'Abnorman-1': (1.2, 0.8), 'Abnorman-2': (0.8, 1.2)}
"""Limbs and torso, as many times as long as Norman's."""
SUBJECTS = ('141', 'backflip')
SNAPSHOTS = (0, 100, 112, 120)
"""Frames at 30 Hz: standing, and three around the release."""
COLUMNS = """kind figure solver start beta error_m error_over_length joint_error_deg jerk_ratio
difference_rad time_s angle_rad x1 y1 x2 y2"""
EMPTY: Row = dict.fromkeys(COLUMNS.split(), '')


def run(arguments: argparse.Namespace) -> list[Row]:
    """Rows of all kinds, see the module."""
    norman, motion = load_mocap(arguments.mocap / CLIP, arguments.mocap / SKELETON)
    throw = Throw(norman, motion[::STEP])
    work = [partial(throw.snapshots, 'Norman', norman, throw.motion)]
    for name, by in ABNORMANS.items():
        figure = proportioned(norman, *by)
        steps = (throw.sweep, throw.cold, throw.solvers, throw.pictures)
        work += [partial(step, name, figure) for step in steps]
    for subject in SUBJECTS:
        figure = load_skeleton(arguments.mocap / f'{subject}.asf')
        work.append(partial(throw.sweep, subject, figure))
        work.append(partial(throw.sweep, f'{subject}, scaled', figure, scale='length'))
    return [row for step in bar(work, 'example_guided') for row in step()]


def claims(rows: Sequence[Row]) -> list[Claim]:
    """The source's claims, with the numbers of these rows."""
    return claims_of(rows)


def draw(rows: Sequence[Row]) -> Any:
    """Its figures."""
    return figure_of(rows)


class Throw:
    """The example: a figure and its motion."""

    def __init__(self, norman: Robot, motion: Motion) -> None:
        self.norman, self.motion = norman, motion
        places = norman.root_joints
        self.joints = [name for i, name in enumerate(norman.joint_names) if i not in places]
        self.jerk = jerk(motion, self.joints)

    def imitated(self, figure: Robot, motion: Motion | None = None, **asked: Any) -> Retargeted:
        """The throw by another figure."""
        asked = {'keep_limits': False, **asked}
        links = {end: end for end in ENDS}
        return retarget(motion or self.motion, figure, links, source=self.norman, **asked)

    def sweep(self, name: str, figure: Robot, **asked: Any) -> list[Row]:
        """Errors over beta."""
        made = {beta: self.imitated(figure, beta=beta, **asked) for beta in BETAS}
        return [self.row(name, figure, beta, result) for beta, result in made.items()]

    def row(self, name: str, figure: Robot, beta: float, made: Retargeted, **more: Any) -> Row:
        """The errors of one run."""
        error = float(made.link_errors.mean())
        angles = [i for i, joint in enumerate(made.joints) if joint in self.joints]
        return {
            **EMPTY,
            'kind': 'error',
            'figure': name,
            'solver': SOLVERS[0],
            'start': 'warm',
            'beta': beta,
            'error_m': error,
            'error_over_length': error / figure_length(figure, ENDS),
            'joint_error_deg': float(np.degrees(np.abs(made.joint_errors[:, angles]).mean())),
            'jerk_ratio': jerk(made.motion, self.joints) / self.jerk,
            **more,
        }

    def cold(self, name: str, figure: Robot) -> list[Row]:
        """Each frame by itself, from rest: the E-error alone."""
        q0 = self.motion.positions[0].copy()
        frames = range(len(self.motion))
        made = [self.imitated(figure, self.motion[i : i + 1], beta=0.0, q0=q0) for i in frames]
        positions = np.concatenate([one.motion.positions for one in made])
        whole = replace(
            made[0],
            motion=Motion(figure.joint_names, positions, self.motion.period),
            link_errors=np.concatenate([one.link_errors for one in made]),
            joint_errors=np.concatenate([one.joint_errors for one in made]),
        )
        return [
            self.row(name, figure, 0.0, whole, start='cold'),
            *self.curve(name, 0.0, whole, 'cold'),
        ]

    def solvers(self, name: str, figure: Robot) -> list[Row]:
        """Two betas of Table 1 by several solvers, inside the limits."""
        rows = []
        for beta in (0.5, 1e-5):
            first: Array | None = None
            for solver in SOLVERS:
                made = self.imitated(figure, beta=beta, solver=solver, keep_limits=True)
                positions = made.motion.positions
                first = positions if first is None else first
                off = float(np.median(np.abs(positions - first).max(axis=1)))
                more = {'kind': 'solver', 'solver': solver, 'difference_rad': off}
                rows.append(self.row(name, figure, beta, made, **more))
        return rows

    def pictures(self, name: str, figure: Robot) -> list[Row]:
        """Shoulder curves for three betas, and snapshots at beta = 1e-5."""
        made = {beta: self.imitated(figure, beta=beta) for beta in (0.0, 1e-5, 1.0)}
        rows = [row for beta, one in made.items() for row in self.curve(name, beta, one, 'warm')]
        return [*rows, *self.snapshots(name, figure, made[1e-5].motion)]

    def curve(self, name: str, beta: float, made: Retargeted, start: str) -> list[Row]:
        """The shoulder angle of one run over time."""
        motion = made.motion.unwrapped([SHOULDER])
        angles = motion.positions[:, motion.joint_names.index(SHOULDER)].tolist()
        own = {'kind': 'curve', 'figure': name, 'beta': beta, 'start': start}
        return [
            {**EMPTY, **own, 'time_s': i * motion.period, 'angle_rad': angle}
            for i, angle in enumerate(angles)
        ]

    def snapshots(self, name: str, figure: Robot, motion: Motion) -> list[Row]:
        """The bones, seen from the side, with the figure in the middle."""
        rows = []
        for frame in SNAPSHOTS:
            found = np.array(bones(figure, motion.positions[frame]))
            found -= found[0, 0] * [1.0, 0.0, 1.0]
            own = {'kind': 'bone', 'figure': name, 'time_s': frame * motion.period}
            for (_, y1, x1), (_, y2, x2) in found.tolist():
                rows.append({**EMPTY, **own, 'x1': x1, 'y1': y1, 'x2': x2, 'y2': y2})
        return rows
