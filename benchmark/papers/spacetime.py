# SPDX-License-Identifier: Apache-2.0
"""`ik bench spacetime`: [TakKo] 4.4, imitation by frames and by spacetime constraints, Eq. 6.

The right arm of `human` reaches out along a line and comes back. An arm LIMBS times as long has to
follow the path of its fingertips, whose far end is at `stretch` times its whole length: near 1 its
Jacobian is singular. Three methods copy the performer's joint angles m_src as closely as possible:

- frames : `ik.retargeting.retarget` with beta = 1e-5, each frame separately
- hard : at each frame the angles closest to m_src with the end effector on its path; Newton's
  method on both conditions, by the pseudoinverse
- spacetime : Eq. 6 for the whole motion at once, with the end effector on its path at each frame;
  m - m_src is a cubic B-spline with a knot at every third frame, as in [Gleicher1997]

Rows: a method, a stretch, the number of frames; `error_m`: largest distance from the path [m];
`angle_rad`: root mean square of m - m_src; `jerk`: mean third difference of the joint angles over
that of m_src; `time_ms` of the processor per frame, the least of REPEATS.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from scipy.interpolate import BSpline
from scipy.linalg import solveh_banded

from ik_core.figures import BLUE, GREEN, ORANGE, new_figure
from ik_core.maths.rotations import Array
from ik_core.progress import bar
from ik_core.retargeting import retarget
from ik_core.retargeting.example import link_paths
from ik_core.robot.joints import Joint
from ik_core.robot.motion import Motion
from ik_core.robot.robot import Robot

from ..results import Claim, Row, swept
from .imitation import ARM, SMALL, performed, proportioned_joints

LIMBS = 0.9
STRETCHES = (0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
BENT = 0.5  # arm extension (fraction of its length) at the start and the end of the path
DIRECTION = (0.8, -0.4, -0.45)  # of the line from the shoulder: ahead, to the right and down
FRAMES, MORE_FRAMES = 60, 240
KNOTS = 3  # frames from knot to knot
TIP = 'right_fingertips'
# Most Gauss-Newton steps; weight [1/m] of end effectors relative to joint angles.
ROUNDS, WEIGHT = 60, 1e3
CLOSE = 1e-6  # [rad] the steps end when no angle changes by more
JERKY = 2.0
NEGLIGIBLE = 0.01  # [m]
FIDELITY, MUCH = 0.9, 5.0
REPEATS = 5
FLOOR = 1e-9  # smaller values are drawn as this


def arm(limbs: float) -> Robot:
    """Return the right arm from the shoulder on, with its parts scaled."""
    joints = arm_joints(limbs)
    return Robot.from_joints('arm', [joints[0].parent, *(j.child for j in joints)], joints)


def arm_joints(limbs: float) -> list[Joint]:
    names = {f'right_{part}' for part in (*ARM[1:], 'fingertips')}
    return [joint for joint in proportioned_joints(limbs, 1.0) if joint.child in names]


def reach(stretch: float, frames: int) -> Array:
    """Return the path (frames, 1, 3) [m] out to a fraction of the other arm's length and back."""
    joints = arm_joints(LIMBS)
    length = sum(float(np.linalg.norm(joint.origin[:3, 3])) for joint in joints[1:])
    share = BENT + (stretch - BENT) * np.sin(np.linspace(0.0, np.pi, frames)) ** 2
    line = np.array(DIRECTION) / np.linalg.norm(DIRECTION)
    return (joints[0].origin[:3, 3] + length * share[:, None] * line)[:, None]


def by_frames(other: Robot, motion: Motion, paths: Array) -> Array:
    """Return the motion (frames, n) of the source's method, with a small beta."""
    links = {TIP: TIP}
    made = retarget(motion, other, links, source=arm(1.0), beta=SMALL, keep_limits=False)
    return made.motion.positions


def by_projection(other: Robot, motion: Motion, paths: Array) -> Array:
    """Return the closest angles (frames, n) on the path, frame by frame."""
    found = motion.positions.copy()
    for q, source, point in zip(found, motion.positions, paths[:, 0], strict=True):
        for _ in range(ROUNDS):
            jacobian = other.jacobian(q, TIP)[:3]
            inverse = np.linalg.pinv(jacobian, rcond=1e-12)
            off, away = point - other.forward_kinematics(q, TIP)[:3, 3], source - q
            step = inverse @ off + away - inverse @ (jacobian @ away)
            q += step
            if np.abs(step).max() < CLOSE:
                break
    return found


def by_spacetime(other: Robot, motion: Motion, paths: Array) -> Array:
    """Return the motion (frames, n) of Eq. 6 with splines, by banded Gauss-Newton steps."""
    basis, n = splines(len(motion)), other.n
    system = BandedSystem(basis, n)
    weights, found = np.zeros((basis.shape[1], n)), motion.positions
    for _ in range(ROUNDS):
        slopes = WEIGHT * other.jacobian(found, TIP)[:, :3]
        off = WEIGHT * (paths - link_paths(other, found, [TIP]))[:, 0]
        pull = (slopes.swapaxes(1, 2) @ off[:, :, None])[:, :, 0] + motion.positions - found
        step = system.solve(slopes.swapaxes(1, 2) @ slopes + np.eye(n), pull)
        weights += step
        found = motion.positions + basis @ weights
        if np.abs(step).max() < CLOSE:
            break
    return found


class BandedSystem:
    """The normal equations of n splines, from blocks (n, n) of single frames.

    Each frame has a part in four consecutive knots, so they are a band of four blocks.
    """

    def __init__(self, basis: Any, n: int) -> None:
        frames, self._knots = basis.shape
        self._parts = basis.data.reshape(frames, 4, 1, 1)
        first = basis.indices.reshape(frames, 4)[:, 0]
        self._first, self._starts = np.unique(first, return_index=True)
        d, k, a, b = np.indices((4, self._knots, n, n))
        self._in_band = (d * n + a >= b) & (k + d < self._knots)
        places = (d * n + a - b, k * n + b)
        self._rows, self._columns = (place[self._in_band] for place in places)

    def solve(self, blocks: Array, pull: Array) -> Array:
        """Return x (knots, n) of B'GB x = B'p: blocks G (frames, n, n), pull p (frames, n)."""
        n = pull.shape[1]
        sums, right = np.zeros((4, self._knots, n, n)), np.zeros((self._knots, n))
        for i in range(4):
            right[self._first + i] += self._summed(self._parts[:, i, 0] * pull)
            for j in range(i, 4):
                product = self._parts[:, i] * self._parts[:, j] * blocks
                sums[j - i, self._first + i] += self._summed(product)
        band = np.zeros((4 * n, self._knots * n))
        band[self._rows, self._columns] = sums[self._in_band]
        return np.asarray(solveh_banded(band, right.ravel(), lower=True)).reshape(right.shape)

    def _summed(self, values: Array) -> Array:
        """Return the sums of values (frames, ...) over frames with the same knots."""
        return np.asarray(np.add.reduceat(values, self._starts))


def splines(frames: int) -> Any:
    """Return the values (frames, knots) of cubic B-splines, sparse."""
    inner = np.arange(0.0, frames - 1 + KNOTS, KNOTS)
    more = KNOTS * np.arange(1, 4)
    knots = np.concatenate([inner[0] - more[::-1], inner, inner[-1] + more])
    return BSpline.design_matrix(np.arange(frames, dtype=float), knots, 3)


Method = Callable[[Robot, Motion, Array], Array]
METHODS: dict[str, Method] = {
    'frames': by_frames,
    'hard': by_projection,
    'spacetime': by_spacetime,
}


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each stretch, number of frames and method."""
    other = arm(LIMBS)
    cases = [(stretch, FRAMES) for stretch in STRETCHES] + [(STRETCHES[0], MORE_FRAMES)]
    for stretch, frames in bar(cases, 'spacetime'):
        paths = reach(stretch, frames)
        motion = performed(arm(1.0), [TIP], paths)
        for name, method in METHODS.items():
            seconds = math.inf
            for _ in range(REPEATS):
                start = time.process_time()
                found = method(other, motion, paths)
                seconds = min(seconds, time.process_time() - start)
            yield {
                'method': name,
                'stretch': stretch,
                'frames': frames,
                'error_m': float(
                    np.linalg.norm(link_paths(other, found, [TIP]) - paths, axis=2).max()
                ),
                'angle_rad': float(np.sqrt(np.mean((found - motion.positions) ** 2))),
                'jerk': jerk(found) / jerk(motion.positions),
                'time_ms': 1e3 * seconds / frames,
            }


def jerk(positions: Array) -> float:
    """Return the mean absolute third difference of joint angles (frames, n)."""
    return float(np.abs(np.diff(positions, n=3, axis=0)).mean())


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims on the three advantages that section 4.4 names."""
    short = [row for row in rows if row['frames'] == FRAMES]
    of = {(row['method'], float(row['stretch'])): row for row in short}
    far = STRETCHES[2:]

    def over(method: str, key: str, stretches: Sequence[float] = STRETCHES) -> list[float]:
        return [float(of[method, stretch][key]) for stretch in stretches]

    jerks, soft = over('hard', 'jerk', far), over('frames', 'jerk', far)
    errors = over('frames', 'error_m', far)
    held = {
        stretch: a <= JERKY and b <= NEGLIGIBLE
        for stretch, a, b in zip(far, soft, errors, strict=True)
    }
    cases = [*((stretch, FRAMES) for stretch in STRETCHES), (STRETCHES[0], MORE_FRAMES)]
    times: dict[str, dict[tuple[float, int], float]] = {name: {} for name in METHODS}
    for row in rows:
        times[row['method']][row['stretch'], row['frames']] = row['time_ms']
    longer = [times['spacetime'][case] / times['frames'][case] for case in cases]
    angles, others = over('frames', 'angle_rad'), over('spacetime', 'angle_rad')
    nearer = {
        stretch: a < FIDELITY * b for stretch, a, b in zip(STRETCHES, angles, others, strict=True)
    }
    span = f'stretch {far[0]:g} to {far[-1]:g}'
    return [
        swept(
            'hard constraints on end effectors are jerky near singular configurations (4.4)',
            'can be',
            f"times the performer's jerk: {_listed(jerks)}; bent, at {STRETCHES[0]:g}, "
            f'{of["hard", STRETCHES[0]]["jerk"]:.2g}',
            span,
            f"{JERKY:g} times the performer's jerk",
            {stretch: jerk > JERKY for stretch, jerk in zip(far, jerks, strict=True)},
        ),
        swept(
            'with beta = 1e-5 it is not, at a negligible error (4.4)',
            'prevented',
            f"times the performer's jerk: {_listed(soft)}; off the path by at most "
            f'{1e3 * max(errors):.2g} mm',
            span,
            f"at most {JERKY:g} times the performer's jerk, and {100 * NEGLIGIBLE:g} cm off",
            held,
        ),
        Claim(
            'frame by frame takes much less computation than spacetime constraints (4.4)',
            'much less',
            f'spacetime takes {_listed(longer[:-1])} times as long, with {MORE_FRAMES} frames '
            f'{longer[-1]:.2g} times',
            f'stretch {STRETCHES[0]:g} to {STRETCHES[-1]:g}, {FRAMES} frames; '
            f'{MORE_FRAMES} frames at {STRETCHES[0]:g}',
            f'spacetime takes {MUCH:g} times as long',
            [ratio > MUCH for ratio in longer],
            timed=True,
        ),
        swept(
            'frame by frame is nearer to the joint angles than spacetime constraints (4.4)',
            'can be',
            'over the difference of spacetime: '
            + _listed([a / b for a, b in zip(angles, others, strict=True)]),
            f'stretch {STRETCHES[0]:g} to {STRETCHES[-1]:g}',
            'at least 10 % nearer',
            nearer,
        ),
    ]


def _listed(values: Sequence[float]) -> str:
    return ', '.join(f'{value:.2g}' for value in values)


COLOURS = {'frames': BLUE, 'hard': ORANGE, 'spacetime': GREEN}
LABELS = {'frames': 'frames, beta = 1e-5', 'hard': 'hard constraints', 'spacetime': 'spacetime'}


def draw(rows: Sequence[Row]) -> Any:
    """Draw jerk, error, difference of angles and time against the stretch."""
    figure = new_figure(11.0, 3.6)
    panels = {
        'jerk': ("jerk over the performer's", 'Near the stretched arm'),
        'error_m': ('largest distance from the path [m]', 'Error'),
        'angle_rad': ('rms difference of angles [rad]', 'Joint angles'),
        'time_ms': ('time a frame [ms]', 'Time'),
    }
    for axes, (key, (label, title)) in zip(figure.subplots(1, 4), panels.items(), strict=True):
        for method, colour in COLOURS.items():
            mine = [r for r in rows if r['method'] == method and r['frames'] == FRAMES]
            places = [1.0 - float(row['stretch']) for row in mine]
            values = [max(float(row[key]), FLOOR) for row in mine]
            axes.plot(places, values, '.-', color=colour, label=LABELS[method])
        axes.set(xlabel='1 - stretch', ylabel=label, title=title, xscale='log')
        axes.invert_xaxis()
        if key != 'angle_rad':
            axes.set(yscale='log')
    figure.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=3)
    return figure
