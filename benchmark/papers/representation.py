# SPDX-License-Identifier: Apache-2.0
"""`ik bench representation`: quaternions and matrices, [EngellErleben2011] A, [Engell2007] 4.

Chains of revolute joints with random offsets, about their z axes or about any, are computed with
the rotation of each joint as a unit quaternion, as a (3, 3) matrix, or within a homogeneous (4, 4)
matrix with products of full matrices. All three are compiled alike, each with its own formulas: a
rotation by half-angles for quaternions, by Rodrigues's formula for matrices.

- transforms : the absolute transformations of all joints
- jacobian : these, the columns of the Jacobian, and J'e, a step of the Jacobian transpose
- sweep : these, and a sweep of cyclic coordinate descent, which turns the end effector about every
  joint; [Engell2007] computes it with quaternions

Rows: a task, the axes (`z` or `any`), the number of joints and a representation; `time_ns` per
joint, the least of REPEATS; `ratio`: the median over pairs in turns of this time over that of
(3, 3) matrices; `error`: the largest error of the result compared with long doubles, relative to
the length of the chain for transforms.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from ik_core.figures import BLUE, GREEN, ORANGE, new_figure
from ik_core.kernels.jit import kernel, with_kernels
from ik_core.maths.rotations import Array, quaternion_from_matrix
from ik_core.progress import bar

from ..results import Claim, Row

SIZES = (6, 20, 71, 100)  # numbers of joints; 71 as the skeleton of [EngellErleben2011]
AXES = ('z', 'any')
TASKS = ('transforms', 'jacobian', 'sweep')
QUATERNION, MATRIX, HOMOGENEOUS = 'quaternion', 'matrix (3, 3)', 'matrix (4, 4)'
REPEATS, JOINTS = 41, 30_000  # measurements of each kind, in turns; joints computed in each
LESS = 0.95  # 'less expensive' takes at most this fraction of the time
SAME = 1e-12  # Jacobians with smaller differences are equal


Call = Callable[[int], tuple[Array, Array]]


class Chain(NamedTuple):
    """A chain: offsets (n, 4, 4) and axes (n, 3) of joints, all angles (n,), a goal (3,)."""

    offsets: Array
    axes: Array
    q: Array
    goal: Array


class Representation(NamedTuple):
    """The packing of a transform (4, 4), and the formulas by their names in the kernels below.

    `turn_z` and `axis_z` are for joints about their z axes.
    """

    packed: Callable[[Array], Array]
    compose: Any
    place_of: Any
    turn: Any
    axis_of: Any
    turn_z: Any
    axis_z: Any
    spin: Any

    def kernel(self, task: str, axes: str) -> Callable[..., None]:
        """Return the kernel of a task."""
        formulas = {**self._asdict()}
        if axes == 'z':
            formulas.update(turn=self.turn_z, axis_of=self.axis_z)
        own = '_'.join((axes, self.packed.__name__))  # numba keeps kernels by their names
        first = with_kernels(transforms, f'transforms_{own}', **formulas)
        whole = first
        if task != 'transforms':
            whole = with_kernels(KERNELS[task], f'{task}_{own}', transforms=first, **formulas)
        return with_kernels(repeated, f'repeated_{task}_{own}', task_kernel=whole)


def chain(joints: int, axes: str) -> Chain:
    """Return a random chain of 1 m."""
    rng = np.random.default_rng(joints)
    offsets = np.tile(np.eye(4), (joints, 1, 1))
    for offset in offsets:
        offset[:3, :3] = np.linalg.qr(rng.normal(size=(3, 3)))[0]
        offset[:3, 0] *= np.linalg.det(offset[:3, :3])
        offset[:3, 3] = rng.normal(size=3)
        offset[:3, 3] /= joints * np.linalg.norm(offset[:3, 3])
    found = np.tile([0.0, 0.0, 1.0], (joints, 1))
    if axes == 'any':
        found = rng.normal(size=(joints, 3))
    found /= np.linalg.norm(found, axis=1)[:, np.newaxis]
    return Chain(offsets, found, rng.uniform(-3.0, 3.0, joints), rng.uniform(-0.5, 0.5, 3))


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each task, kind of axes, number of joints and representation."""
    cases = [(task, axes, joints) for task in TASKS for axes in AXES for joints in SIZES]
    for task, axes, joints in bar(cases, 'representation'):
        own = chain(joints, axes)
        exact = reference(task, own)
        calls = {name: call(one, task, axes, own) for name, one in REPRESENTATIONS.items()}
        errors = {name: error(task, run(2), exact) for name, run in calls.items()}
        times = in_turns(calls, joints)
        for name in REPRESENTATIONS:
            yield {
                'task': task,
                'axes': axes,
                'joints': joints,
                'representation': name,
                'time_ns': 1e9 * float(times[name].min()) / joints,
                'ratio': float(np.median(times[name] / times[MATRIX])),
                'error': errors[name],
            }


def call(of: Representation, task: str, axes: str, own: Chain) -> Call:
    """Return a function that runs the task `count` times: positions and results, (n, 3) each."""
    offsets = np.array([of.packed(offset) for offset in own.offsets])
    frames, task_run = np.empty_like(offsets), of.kernel(task, axes)
    places, result = np.zeros((2, len(own.q), 3))

    def run(count: int) -> tuple[Array, Array]:
        task_run(count, own.q, offsets, own.axes, own.goal, frames, places, result)
        return places, result

    return run


def in_turns(calls: dict[str, Callable[[int], Any]], joints: int) -> dict[str, Array]:
    """Return the times (REPEATS,) [s] of each call, measured in turns."""
    count = 2 * max(1, JOINTS // joints // 2)  # the first angle is as it was
    times = {name: np.empty(REPEATS) for name in calls}
    for k in range(REPEATS):
        for name, run in calls.items():
            start = time.perf_counter()
            run(count)
            times[name][k] = (time.perf_counter() - start) / count
    return times


def error(task: str, found: tuple[Array, Array], exact: tuple[Array, Array]) -> float:
    """Return the largest error: of the joints' positions, or of the result of the task."""
    which = 0 if task == 'transforms' else 1
    return float(np.abs(found[which] - exact[which]).max())


def reference(task: str, own: Chain) -> tuple[Array, Array]:
    """Return the positions (n, 3) of the joints and the task's result, in long doubles."""
    wide = np.longdouble
    pose, positions, axes = np.eye(4, dtype=wide), [], []
    for offset, axis, angle in zip(own.offsets, own.axes, own.q, strict=True):
        turn = np.eye(4, dtype=wide)
        turn[:3, :3] = rodrigues(axis.astype(wide), wide(angle))
        pose = pose @ offset.astype(wide) @ turn
        positions.append(pose[:3, 3])
        axes.append(pose[:3, :3] @ axis.astype(wide))
    at, tip = np.array(positions), positions[-1]
    if task == 'jacobian':
        return at, np.cross(np.array(axes), tip - at)
    tips = []
    for point, axis in zip(at[::-1], axes[::-1], strict=True):
        arm, aim = tip - point, own.goal - point
        across = np.cross(axis, arm)
        angle = np.arctan2(across @ aim, arm @ aim - (axis @ arm) * (axis @ aim))
        tip = point + rodrigues(axis, angle) @ arm
        tips.append(tip)
    return at, np.array(tips[::-1])


def rodrigues(axis: Array, angle: Any) -> Array:
    """Return the rotation matrix (3, 3) about a unit vector."""
    x, y, z = axis
    cross = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]])
    return np.eye(3) + np.sin(angle) * cross + (1 - np.cos(angle)) * (cross @ cross)


# --- kernels -------------------------------------------------------------------------------------


# Those of a representation, and of a task: see `Representation.kernel`.
compose: Any = None
place_of: Any = None
turn: Any = None
axis_of: Any = None
spin: Any = None
task_kernel: Any = None


@kernel
def repeated(count, q, offsets, axes, goal, frames, places, result):  # type: ignore[no-untyped-def]
    """Run the task `count` times; the first angle changes its sign each time."""
    for _ in range(count):
        q[0] = -q[0]
        task_kernel(q, offsets, axes, goal, frames, places, result)


@kernel
def transforms(q, offsets, axes, goal, frames, places, result):  # type: ignore[no-untyped-def]
    """Write the absolute transformations of all joints, and their positions."""
    for k in range(len(q)):
        if k == 0:
            for i in range(frames.shape[1]):
                frames[0, i] = offsets[0, i]
        else:
            compose(frames[k - 1], offsets[k], frames[k])
        turn(frames[k], axes[k], q[k])
        places[k, 0], places[k, 1], places[k, 2] = place_of(frames[k])


@kernel
def jacobian(q, offsets, axes, goal, frames, places, result):  # type: ignore[no-untyped-def]
    """Write the columns of the Jacobian of the last joint's position."""
    transforms(q, offsets, axes, goal, frames, places, result)
    tip = places[-1]
    for k in range(len(q)):
        x, y, z = axis_of(frames[k], axes[k])
        a, b, c = tip[0] - places[k, 0], tip[1] - places[k, 1], tip[2] - places[k, 2]
        result[k, 0], result[k, 1], result[k, 2] = y * c - z * b, z * a - x * c, x * b - y * a


@kernel
def sweep(q, offsets, axes, goal, frames, places, result):  # type: ignore[no-untyped-def]
    """Write the end effector after each turn of a sweep, from the last joint to the first."""
    transforms(q, offsets, axes, goal, frames, places, result)
    tip = places[-1]
    u, v, w = tip[0], tip[1], tip[2]
    for k in range(len(q) - 1, -1, -1):
        x, y, z = axis_of(frames[k], axes[k])
        at = places[k]
        a, b, c = u - at[0], v - at[1], w - at[2]
        f, g, h = goal[0] - at[0], goal[1] - at[1], goal[2] - at[2]
        sine = (y * c - z * b) * f + (z * a - x * c) * g + (x * b - y * a) * h
        cosine = a * f + b * g + c * h - (x * a + y * b + z * c) * (x * f + y * g + z * h)
        a, b, c = spin(x, y, z, np.arctan2(sine, cosine), a, b, c)
        u, v, w = at[0] + a, at[1] + b, at[2] + c
        result[k, 0], result[k, 1], result[k, 2] = u, v, w


KERNELS = {'transforms': transforms, 'jacobian': jacobian, 'sweep': sweep}


# --- matrices: the first three rows, or all four, of (4, 4) --------------------------------------


@kernel
def turn_matrix(x, y, z, angle):  # type: ignore[no-untyped-def]
    """Return the rows of Rodrigues's matrix."""
    s, c = np.sin(angle), np.cos(angle)
    t = 1.0 - c
    return (
        (t * x * x + c, t * x * y - s * z, t * x * z + s * y),
        (t * x * y + s * z, t * y * y + c, t * y * z - s * x),
        (t * x * z - s * y, t * y * z + s * x, t * z * z + c),
    )


@kernel
def spin_by_matrix(x, y, z, angle, a, b, c):  # type: ignore[no-untyped-def]
    """Return a vector turned about an axis."""
    (m00, m01, m02), (m10, m11, m12), (m20, m21, m22) = turn_matrix(x, y, z, angle)
    return (
        m00 * a + m01 * b + m02 * c,
        m10 * a + m11 * b + m12 * c,
        m20 * a + m21 * b + m22 * c,
    )


@kernel
def matrix_place(a):  # type: ignore[no-untyped-def]
    """Return the position."""
    return a[3], a[7], a[11]


@kernel
def matrix_axis_z(a, axis):  # type: ignore[no-untyped-def]
    """Return the z axis."""
    return a[2], a[6], a[10]


@kernel
def matrix_axis(a, axis):  # type: ignore[no-untyped-def]
    """Return an axis in the root's frame."""
    x, y, z = axis[0], axis[1], axis[2]
    return (
        a[0] * x + a[1] * y + a[2] * z,
        a[4] * x + a[5] * y + a[6] * z,
        a[8] * x + a[9] * y + a[10] * z,
    )


@kernel
def compose_rows(a, b, out):  # type: ignore[no-untyped-def]
    """Write the product, without the fourth row."""
    for i in range(0, 12, 4):
        x, y, z = a[i], a[i + 1], a[i + 2]
        for j in range(4):
            out[i + j] = x * b[j] + y * b[4 + j] + z * b[8 + j]
        out[i + 3] += a[i + 3]


@kernel
def turn_rows(a, axis, angle):  # type: ignore[no-untyped-def]
    """Turn a frame about its axis."""
    m, n, o = turn_matrix(axis[0], axis[1], axis[2], angle)
    for i in range(0, 12, 4):
        x, y, z = a[i], a[i + 1], a[i + 2]
        a[i] = x * m[0] + y * n[0] + z * o[0]
        a[i + 1] = x * m[1] + y * n[1] + z * o[1]
        a[i + 2] = x * m[2] + y * n[2] + z * o[2]


@kernel
def turn_rows_z(a, axis, angle):  # type: ignore[no-untyped-def]
    """Turn a frame about its z axis."""
    s, c = np.sin(angle), np.cos(angle)
    for i in range(0, 12, 4):
        x, y = a[i], a[i + 1]
        a[i], a[i + 1] = c * x + s * y, c * y - s * x


@kernel
def compose_all(a, b, out):  # type: ignore[no-untyped-def]
    """Write the whole product."""
    for i in range(0, 16, 4):
        w, x, y, z = a[i], a[i + 1], a[i + 2], a[i + 3]
        for j in range(4):
            out[i + j] = w * b[j] + x * b[4 + j] + y * b[8 + j] + z * b[12 + j]


@kernel
def turn_all(a, axis, angle):  # type: ignore[no-untyped-def]
    """Turn a frame about its axis by a whole product."""
    m, n, o = turn_matrix(axis[0], axis[1], axis[2], angle)
    for i in range(0, 16, 4):
        w, x, y, z = a[i], a[i + 1], a[i + 2], a[i + 3]
        for j in range(3):
            a[i + j] = w * m[j] + x * n[j] + y * o[j] + z * 0.0
        a[i + 3] = w * 0.0 + x * 0.0 + y * 0.0 + z


# --- quaternions (x, y, z, w) and positions ------------------------------------------------------


@kernel
def turned(x, y, z, w, a, b, c):  # type: ignore[no-untyped-def]
    """Return (a, b, c) turned by a unit quaternion: v + w t + u x t, t = 2 u x v."""
    f, g, h = 2.0 * (y * c - z * b), 2.0 * (z * a - x * c), 2.0 * (x * b - y * a)
    return (
        a + w * f + y * h - z * g,
        b + w * g + z * f - x * h,
        c + w * h + x * g - y * f,
    )


@kernel
def spin_by_quaternion(x, y, z, angle, a, b, c):  # type: ignore[no-untyped-def]
    """Return a vector turned about an axis."""
    s = np.sin(0.5 * angle)
    return turned(s * x, s * y, s * z, np.cos(0.5 * angle), a, b, c)


@kernel
def quaternion_place(a):  # type: ignore[no-untyped-def]
    """Return the position."""
    return a[4], a[5], a[6]


@kernel
def quaternion_axis_z(a, axis):  # type: ignore[no-untyped-def]
    """Return the z axis in the root's frame."""
    x, y, z, w = a[0], a[1], a[2], a[3]
    return 2.0 * (x * z + w * y), 2.0 * (y * z - w * x), 1.0 - 2.0 * (x * x + y * y)


@kernel
def quaternion_axis(a, axis):  # type: ignore[no-untyped-def]
    """Return an axis in the root's frame."""
    return turned(a[0], a[1], a[2], a[3], axis[0], axis[1], axis[2])


@kernel
def product(a, x, y, z, w, out):  # type: ignore[no-untyped-def]
    """Write the product of a's quaternion and another one."""
    e, f, g, h = a[0], a[1], a[2], a[3]
    out[0] = h * x + e * w + f * z - g * y
    out[1] = h * y - e * z + f * w + g * x
    out[2] = h * z + e * y - f * x + g * w
    out[3] = h * w - e * x - f * y - g * z


@kernel
def compose_quaternions(a, b, out):  # type: ignore[no-untyped-def]
    """Write the product of two frames."""
    product(a, b[0], b[1], b[2], b[3], out)
    x, y, z = turned(a[0], a[1], a[2], a[3], b[4], b[5], b[6])
    out[4], out[5], out[6] = a[4] + x, a[5] + y, a[6] + z


@kernel
def turn_quaternion(a, axis, angle):  # type: ignore[no-untyped-def]
    """Turn a frame about its axis."""
    s = np.sin(0.5 * angle)
    product(a, s * axis[0], s * axis[1], s * axis[2], np.cos(0.5 * angle), a)


@kernel
def turn_quaternion_z(a, axis, angle):  # type: ignore[no-untyped-def]
    """Turn a frame about its z axis."""
    s, c = np.sin(0.5 * angle), np.cos(0.5 * angle)
    e, f, g, h = a[0], a[1], a[2], a[3]
    a[0], a[1], a[2], a[3] = c * e + s * f, c * f - s * e, c * g + s * h, c * h - s * g


def rows_of(transform: Array) -> Array:
    """Return a transform (4, 4) as its first three rows (12,)."""
    return transform[:3].ravel()


def all_rows(transform: Array) -> Array:
    """Return a transform (4, 4) as (16,)."""
    return transform.ravel()


def packed_quaternion(transform: Array) -> Array:
    """Return a transform (4, 4) as (7,): quaternion xyzw, position."""
    return np.concatenate([quaternion_from_matrix(transform[:3, :3]), transform[:3, 3]])


REPRESENTATIONS = {
    QUATERNION: Representation(
        packed_quaternion,
        compose=compose_quaternions,
        place_of=quaternion_place,
        turn=turn_quaternion,
        axis_of=quaternion_axis,
        turn_z=turn_quaternion_z,
        axis_z=quaternion_axis_z,
        spin=spin_by_quaternion,
    ),
    MATRIX: Representation(
        rows_of,
        compose=compose_rows,
        place_of=matrix_place,
        turn=turn_rows,
        axis_of=matrix_axis,
        turn_z=turn_rows_z,
        axis_z=matrix_axis_z,
        spin=spin_by_matrix,
    ),
    HOMOGENEOUS: Representation(
        all_rows,
        compose=compose_all,
        place_of=matrix_place,
        turn=turn_all,
        axis_of=matrix_axis,
        turn_z=turn_all,
        axis_z=matrix_axis,
        spin=spin_by_matrix,
    ),
}


# --- claims and figure ---------------------------------------------------------------------------


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the appendix's claims, and those of the comparison in [Engell2007]."""
    return [
        independent(rows),
        *(cheaper(rows, 'transforms', other) for other in (HOMOGENEOUS, MATRIX)),
        *(cheaper(rows, 'sweep', other) for other in (HOMOGENEOUS, MATRIX)),
    ]


def independent(rows: Sequence[Row]) -> Claim:
    """Return the claim that the Jacobian does not depend on the representation."""
    own = [float(r['error']) for r in rows if r['task'] == 'jacobian']
    return Claim(
        'the Jacobian does not depend on how coordinates are represented (appendix)',
        'totally independent',
        f'columns are within {max(own):.1g} m/rad of the exact ones, by each of the three',
        f'{SIZES[0]} to {SIZES[-1]} joints, axes z and any',
        f'within {SAME:g} m/rad',
        [value < SAME for value in own],
    )


def cheaper(rows: Sequence[Row], task: str, other: str) -> Claim:
    """Return the claim on the time of quaternions, compared with matrices."""
    told, held = [], []
    for axes in AXES:
        found = {
            (r['joints'], r['representation']): float(r['ratio'])
            for r in rows
            if (r['task'], r['axes']) == (task, axes)
        }
        ratios = [found[n, QUATERNION] / found[n, other] for n in SIZES]
        told.append(f'{min(ratios):.2g} to {max(ratios):.2g} times the time for axes {axes}')
        held += [ratio < LESS for ratio in ratios]
    what = {
        'transforms': 'absolute transformations take less by quaternions than by matrices: {} '
        '(appendix)',
        'sweep': '[Engell2007] 4: performance of cyclic coordinate descent by quaternions is '
        'above that by matrices: {}',
    }[task].format(other.removeprefix('matrix '))
    return Claim(
        what,
        'less expensive' if task == 'transforms' else 'to be compared',
        '; '.join(told),
        f'{SIZES[0]} to {SIZES[-1]} joints, axes z and any',
        f'less than {LESS:g} times the time',
        held,
        timed=True,
    )


COLOURS = {QUATERNION: BLUE, MATRIX: GREEN, HOMOGENEOUS: ORANGE}
TITLES = {
    'transforms': 'Absolute transformations',
    'jacobian': 'and the Jacobian',
    'sweep': 'and a sweep of CCD',
}


def draw(rows: Sequence[Row]) -> Any:
    """Draw the times per joint against the number of joints."""
    figure = new_figure(10.0, 3.4)
    for axes, task in zip(figure.subplots(1, 3), TASKS, strict=True):
        for name, colour in COLOURS.items():
            for kind, line in zip(AXES, ('-', '--'), strict=True):
                own = [
                    r
                    for r in rows
                    if (r['task'], r['axes'], r['representation']) == (task, kind, name)
                ]
                sizes, times = ([float(r[key]) for r in own] for key in ('joints', 'time_ns'))
                axes.plot(sizes, times, line, marker='.', color=colour, label=f'{name}, {kind}')
        axes.set(xlabel='joints', title=TITLES[task], ylim=(0, None))
    figure.axes[0].set_ylabel('time a joint [ns]')
    figure.legend(*axes.get_legend_handles_labels(), loc='outside lower center', ncols=3)
    return figure
