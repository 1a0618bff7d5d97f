# SPDX-License-Identifier: Apache-2.0
"""Robots for measurements: chains of any length, a human-like skeleton, and classic arms.

They are made as URDF text, so that they are loaded like users' robots.
"""

from __future__ import annotations

import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator

import numpy as np

from ik_core.robot.robot import Robot
from ik_core.robot.robot_sources import load_robot
from ik_core.robot.shipped import shipped_robots

Vector = tuple[float, float, float]

X, Y, Z = (1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0)


def joint(
    parent: str,
    child: str,
    at: Vector,
    axis: Vector,
    limits: tuple[float, float] | None = (-2.9, 2.9),
    kind: str = 'revolute',
    mimic: tuple[str, float] | None = None,
) -> str:
    """Return the URDF of a link and of its joint, which has the same name.

    limits : None for a continuous joint
    mimic : the driving joint, and the multiplier
    """
    follows = f'<mimic joint="{mimic[0]}" multiplier="{mimic[1]}"/>' if mimic else ''
    ranged = f'<limit lower="{limits[0]}" upper="{limits[1]}"/>' if limits else ''
    return (
        f'<link name="{child}"/>'
        f'<joint name="{child}" type="{kind if limits else "continuous"}">'
        f'<parent link="{parent}"/><child link="{child}"/>'
        f'<origin xyz="{at[0]} {at[1]} {at[2]}"/><axis xyz="{axis[0]} {axis[1]} {axis[2]}"/>'
        f'{ranged}{follows}</joint>'
    )


def fixed(parent: str, child: str, at: Vector) -> str:
    """Return the URDF of a link that is fixed to its parent."""
    return (
        f'<link name="{child}"/><joint name="{child}" type="fixed"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="{at[0]} {at[1]} {at[2]}"/></joint>'
    )


def robot(name: str, parts: Iterator[str] | list[str]) -> Robot:
    """Return the robot of these joints; its root link is `base`."""
    return load_robot(f'<robot name="{name}"><link name="base"/>{"".join(parts)}</robot>')


def chain(n: int) -> Robot:
    """Return n revolute joints about z, y, z, y... over a length of 1 m; the tip is `tip`."""
    length = 1.0 / n
    links = ['base', *(f'link{i}' for i in range(1, n + 1))]
    parts = [
        joint(links[i], links[i + 1], (0.0, 0.0, length if i else 0.0), Y if i % 2 else Z)
        for i in range(n)
    ]
    return robot(f'chain {n}', [*parts, fixed(links[-1], 'tip', (0.0, 0.0, length))])


# The links of `figure` that have a goal each.
FIGURE_GOALS = (
    'left_hand',
    'right_hand',
    'left_toe',
    'right_toe',
    'head',
    'left_elbow',
    'right_elbow',
    'pelvis',
)


def figure() -> Robot:
    """Return a human-like skeleton of 60 joints, 1.8 m tall: a free pelvis, all others revolute.

    Pelvis 6, spine 4 x 3, neck and head 3 each; either arm 10, either leg 8.
    """
    parts = [
        joint('base', 'root_x', (0.0, 0.0, 1.0), X, (-5.0, 5.0), 'prismatic'),
        joint('root_x', 'root_y', (0.0, 0.0, 0.0), Y, (-5.0, 5.0), 'prismatic'),
        joint('root_y', 'root_z', (0.0, 0.0, 0.0), Z, (-1.0, 1.0), 'prismatic'),
        *_ball('root_z', 'pelvis', (0.0, 0.0, 0.0), 3.1, (Z, Y, X)),
        *_ball('pelvis', 'lumbar', (0.0, 0.0, 0.08), 0.4),
        *_ball('lumbar', 'thoracic', (0.0, 0.0, 0.12), 0.3),
        *_ball('thoracic', 'chest', (0.0, 0.0, 0.12), 0.3),
        *_ball('chest', 'collar', (0.0, 0.0, 0.12), 0.2),
        *_ball('collar', 'neck', (0.0, 0.0, 0.08), 0.6),
        *_ball('neck', 'skull', (0.0, 0.0, 0.08), 0.6),
        fixed('skull', 'head', (0.0, 0.0, 0.15)),
    ]
    for side, sign in (('left', 1.0), ('right', -1.0)):
        parts += [*_arm(side, sign), *_leg(side, sign)]
    return robot('figure', parts)


def _ball(
    parent: str, child: str, at: Vector, reach: float, axes: tuple[Vector, ...] = (X, Y, Z)
) -> Iterator[str]:
    """Yield three revolute joints at one position, -reach to reach [rad] each."""
    for i, axis in enumerate(axes):
        link = child if i == 2 else f'{child}_{i}'
        yield joint(parent, link, (0.0, 0.0, 0.0) if i else at, axis, (-reach, reach))
        parent = link


def _arm(side: str, sign: float) -> Iterator[str]:
    yield joint('collar', f'{side}_clavicle_0', (0.0, 0.03 * sign, 0.0), X, (-0.4, 0.4))
    yield joint(f'{side}_clavicle_0', f'{side}_clavicle', (0.0, 0.0, 0.0), Z, (-0.4, 0.4))
    yield from _ball(f'{side}_clavicle', f'{side}_shoulder', (0.0, 0.16 * sign, 0.0), 1.6)
    yield joint(f'{side}_shoulder', f'{side}_elbow', (0.0, 0.28 * sign, 0.0), Z, (-2.4, 2.4))
    yield joint(f'{side}_elbow', f'{side}_forearm', (0.0, 0.05 * sign, 0.0), Y, (-1.5, 1.5))
    yield from _ball(f'{side}_forearm', f'{side}_wrist', (0.0, 0.2 * sign, 0.0), 0.9)
    yield fixed(f'{side}_wrist', f'{side}_hand', (0.0, 0.12 * sign, 0.0))


def _leg(side: str, sign: float) -> Iterator[str]:
    yield from _ball('pelvis', f'{side}_hip', (0.0, 0.1 * sign, -0.05), 1.2)
    yield joint(f'{side}_hip', f'{side}_knee', (0.0, 0.0, -0.43), Y, (0.0, 2.4))
    yield from _ball(f'{side}_knee', f'{side}_ankle', (0.0, 0.0, -0.42), 0.7)
    yield joint(f'{side}_ankle', f'{side}_ball', (0.14, 0.0, -0.06), Y, (-0.5, 0.7))
    yield fixed(f'{side}_ball', f'{side}_toe', (0.07, 0.0, -0.01))


def planar_arm() -> Robot:
    """Return three links of 1 m in the x-y plane without limits: its workspace is a disc."""
    parts = [
        joint('base', 'a', (0.0, 0.0, 0.0), Z, None),
        joint('a', 'b', (1.0, 0.0, 0.0), Z, None),
        joint('b', 'c', (1.0, 0.0, 0.0), Z, None),
        fixed('c', 'tip', (1.0, 0.0, 0.0)),
    ]
    return robot('planar', parts)


def puma(scale: float = 1.0) -> Robot:
    """Return a PUMA-like arm, 1.8 m tall at zeros: shoulder offset, spherical wrist."""
    s = scale
    parts = [
        joint('base', 'waist', (0.0, 0.0, 0.67 * s), Z, (-2.79, 2.79)),
        joint('waist', 'shoulder', (0.0, 0.15 * s, 0.0), Y, (-3.14, 3.14)),
        joint('shoulder', 'elbow', (0.0, 0.0, 0.43 * s), Y, (-2.6, 2.6)),
        joint('elbow', 'wrist_roll', (0.0, 0.0, 0.43 * s), Z, (-3.1, 3.1)),
        joint('wrist_roll', 'wrist_bend', (0.0, 0.0, 0.0), Y, (-1.75, 1.75)),
        joint('wrist_bend', 'flange', (0.0, 0.0, 0.0), Z, (-3.14, 3.14)),
        fixed('flange', 'tip', (0.0, 0.0, 0.1 * s)),
    ]
    return robot(f'puma x {scale:g}' if scale != 1.0 else 'puma', parts)


def scaled(name: str, scale: float) -> Robot:
    """Return a shipped robot of revolute joints with all lengths times `scale`."""
    root = ElementTree.parse(shipped_robots()[name]).getroot()
    root.set('name', f'{name} x {scale:g}')
    for origin in root.iterfind('joint/origin'):
        numbers = [scale * float(number) for number in origin.get('xyz', '0 0 0').split()]
        origin.set('xyz', ' '.join(map(repr, numbers)))
    return load_robot(ElementTree.tostring(root, encoding='unicode'))


def calibrated(name: str, seed: int, size: float = 1e-3) -> Robot:
    """Return a shipped robot whose joints deviate by up to `size` [m] and [rad], as if calibrated.

    The deviations depend on the `seed`.
    """
    rng, root = np.random.default_rng(seed), ElementTree.parse(shipped_robots()[name]).getroot()
    root.set('name', f'{name} as measured')
    for origin in root.iterfind('joint/origin'):
        for key in ('xyz', 'rpy'):
            ideal = [float(number) for number in origin.get(key, '0 0 0').split()]
            real = np.array(ideal) + rng.uniform(-size, size, 3)
            origin.set(key, ' '.join(repr(float(number)) for number in real))
    return load_robot(ElementTree.tostring(root, encoding='unicode'))


def kr() -> Robot:
    """Return an arm as KUKA's KR: an ortho-parallel base with offsets, a spherical wrist."""
    parts = [
        joint('base', 'a1', (0.0, 0.0, 0.0), Z),
        joint('a1', 'a2', (0.025, 0.0, 0.4), Y, (-2.4, 1.2)),
        joint('a2', 'a3', (0.0, 0.0, 0.455), Y, (-2.0, 2.7)),
        joint('a3', 'a4', (0.42, 0.0, 0.035), X, (-3.2, 3.2)),
        joint('a4', 'a5', (0.0, 0.0, 0.0), Y, (-2.1, 2.1)),
        joint('a5', 'a6', (0.0, 0.0, 0.0), X, (-6.1, 6.1)),
        fixed('a6', 'flange', (0.08, 0.0, 0.0)),
    ]
    return robot('kr', parts)


def crx() -> Robot:
    """Return an arm as FANUC's CRX: its wrist is spherical except for its last axis."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.0), Z, (-3.14, 3.14)),
        joint('j1', 'j2', (0.0, 0.0, 0.245), Y, (-3.14, 3.14)),
        joint('j2', 'j3', (0.0, 0.0, 0.71), Y, (-3.14, 3.14)),
        joint('j3', 'j4', (0.0, 0.0, 0.0), X, (-3.3, 3.3)),
        joint('j4', 'j5', (0.54, 0.0, 0.0), Y, (-3.14, 3.14)),
        joint('j5', 'j6', (0.0, 0.15, 0.0), X, (-3.9, 3.9)),
        fixed('j6', 'flange', (0.16, 0.0, 0.0)),
    ]
    return robot('crx', parts)


def bent_wrist() -> Robot:
    """Return an arm as Kinova's Jaco: a wrist bent twice by 60 degrees, whose axes don't meet."""
    s, c = float(np.sin(np.pi / 3.0)), 0.5
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.16), Z, None),
        joint('j1', 'j2', (0.0, 0.0, 0.12), Y, (-2.3, 2.3)),
        joint('j2', 'j3', (0.0, 0.0, 0.41), Y, (-2.8, 2.8)),
        joint('j3', 'j4', (0.0, -0.01, 0.21), Z, None),
        joint('j4', 'j5', (0.0, 0.0, 0.07), (s, 0.0, c), None),
        joint('j5', 'j6', (0.06, 0.0, 0.04), Z, None),
        fixed('j6', 'hand', (0.0, 0.0, 0.16)),
    ]
    return robot('bent wrist', parts)


def six(count: int = 6) -> Robot:
    """Return an arm of `count` joints at random positions, about random axes."""
    rng, links = np.random.default_rng(12), ['base', *(f'j{i}' for i in range(1, count + 1))]
    parts = []
    for i in range(count):
        at, axis = rng.uniform(-0.4, 0.4, 3), rng.normal(size=3)
        x, y, z = axis / np.linalg.norm(axis)
        parts.append(joint(links[i], links[i + 1], tuple(at), (x, y, z), (-3.1, 3.1)))
    return robot(f'any {count}', [*parts, fixed(links[-1], 'tip', (0.1, 0.0, 0.2))])


def random_arm(seed: int) -> Robot:
    """Return an arm of six joints, random except for the structure that allows a closed form.

    In turns: a wrist, alone, with two more axes that are parallel, or that meet; three parallel
    axes, with two that meet, or alone; each at every position of the chain.
    """
    rng, kind, first = np.random.default_rng(seed), seed % 5, seed // 5 % 4
    axes, points = rng.normal(size=(6, 3)), rng.uniform(-0.6, 0.6, (6, 3))
    three = slice(first, first + 3)
    one = int(rng.choice([i for i in range(5) if not {i, i + 1} & {first, first + 1, first + 2}]))
    if kind < 3:
        points[three] = points[first]
    else:
        axes[three] = axes[first] * rng.choice([-1.0, 1.0], (3, 1))
    if kind in (2, 3):
        points[one + 1] = points[one]
    elif kind == 1:
        axes[one + 1] = axes[one]
    axes /= np.linalg.norm(axes, axis=1)[:, None]
    links, parts, before = ['base', *(f'j{i}' for i in range(1, 7))], [], np.zeros(3)
    for i in range(6):
        at, axis = tuple(points[i] - before), tuple(axes[i])
        parts.append(joint(links[i], links[i + 1], at, axis, (-3.1, 3.1)))
        before = points[i]
    return robot(f'random {seed}', [*parts, fixed('j6', 'tip', (0.1, 0.0, 0.2))])


def pairs() -> Robot:
    """Return an arm of two axes that meet, two that are parallel, and two that meet."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.2), Z, (-3.1, 3.1)),
        joint('j1', 'j2', (0.0, 0.0, 0.0), (0.6, 0.8, 0.0), (-3.1, 3.1)),
        joint('j2', 'j3', (0.1, 0.05, 0.4), Y, (-3.1, 3.1)),
        joint('j3', 'j4', (0.35, 0.0, 0.1), Y, (-3.1, 3.1)),
        joint('j4', 'j5', (0.1, 0.1, 0.2), Z, (-3.1, 3.1)),
        joint('j5', 'j6', (0.0, 0.0, 0.0), (0.0, 0.6, 0.8), (-3.1, 3.1)),
        fixed('j6', 'tip', (0.1, 0.0, 0.1)),
    ]
    return robot('pairs', parts)


def gantry() -> Robot:
    """Return an arm of a prismatic joint, and five revolute ones whose axes don't meet."""
    parts = [
        joint('base', 'j1', (0.0, 0.0, 0.0), X, (-1.0, 1.0), 'prismatic'),
        joint('j1', 'j2', (0.0, 0.0, 0.3), Z, (-3.1, 3.1)),
        joint('j2', 'j3', (0.1, 0.0, 0.1), Y, (-3.1, 3.1)),
        joint('j3', 'j4', (0.4, 0.05, 0.0), Y, (-3.1, 3.1)),
        joint('j4', 'j5', (0.3, 0.0, 0.05), X, (-3.1, 3.1)),
        joint('j5', 'j6', (0.1, 0.0, 0.1), Z, (-3.1, 3.1)),
        fixed('j6', 'tip', (0.1, 0.0, 0.1)),
    ]
    return robot('gantry', parts)


def arm(name: str) -> Robot:
    """Return one of these robots by name, or a shipped one."""
    made = {'planar': planar_arm, 'puma': puma}
    return made[name]() if name in made else load_robot(name)
