# SPDX-License-Identifier: Apache-2.0
"""Chains with the structure of every family of closed forms, and special to nothing else."""

import numpy as np

import ik_core as ik

# Kinds of the three joints that place a wrist
SHIFTS = ('RRR', 'RRP', 'PRR', 'RPR', 'RPP', 'PPR', 'PRP', 'PPP')


def chain(spec, rng, reach=3.1):
    """The robot of (kind, axis, point) in the root's frame, all joints at 0; its tool is `tool`.

    Angles are limited to `reach` to both sides [rad], shifts to a metre.
    """
    links, joints, before = ['base'], [], np.zeros(3)
    for i, (kind, axis, point) in enumerate(spec):
        name, limit = ('revolute', reach) if kind == 'R' else ('prismatic', 1.0)
        origin = np.eye(4)
        origin[:3, 3] = point - before
        before = point
        axis = np.array(axis, float) / np.linalg.norm(axis)
        joints.append(
            ik.robot.Joint(
                f'j{i}', name, links[-1], f'l{i}', origin, axis, lower=-limit, upper=limit
            )
        )
        links.append(f'l{i}')
    tool = np.eye(4)
    tool[:3, 3] = rng.normal(size=3) * 0.3
    joints.append(ik.robot.Joint('end', 'fixed', links[-1], 'tool', tool))
    return ik.Robot.from_joints('chain', [*links, 'tool'], joints)


def joint(rng, kind='R', point=None):
    return kind, rng.normal(size=3), rng.uniform(-0.6, 0.6, 3) if point is None else point


def wrist(rng, place, others='RRR'):
    """Three axes that meet, behind so many of the others."""
    meeting = rng.uniform(-0.6, 0.6, 3)
    rest = [joint(rng, kind) for kind in others]
    return rest[:place] + [joint(rng, point=meeting) for _ in range(3)] + rest[place:]


def parallel(rng, place, meeting):
    """Six joints: three parallel axes from `place` on, and two that meet from `meeting` on."""
    axis, point = rng.normal(size=3), rng.uniform(-0.6, 0.6, 3)
    spec = [joint(rng) for _ in range(6)]
    for i in range(place, place + 3):
        spec[i] = ('R', axis * rng.choice([-1.0, 1.0]), spec[i][2])
    for i in (meeting, meeting + 1):
        spec[i] = ('R', spec[i][1], point)
    return spec


def five(rng, *, meet=None, parallel_from=None):
    """Five joints, two neighbours of which meet, or three of which are parallel."""
    spec = [joint(rng) for _ in range(5)]
    if meet is not None:
        spec[meet + 1] = ('R', spec[meet + 1][1], spec[meet][2])
    if parallel_from is not None:
        for i in range(parallel_from, parallel_from + 3):
            spec[i] = ('R', spec[parallel_from][1], spec[i][2])
    return spec


def planar(rng, count):
    """Parallel axes alone."""
    axis = rng.normal(size=3)
    return [('R', axis, rng.uniform(-0.6, 0.6, 3)) for _ in range(count)]


def loose(rng, kinds):
    """Joints that have nothing to do with each other."""
    return [joint(rng, kind) for kind in kinds]


# Chains for which there is a closed form: functions of a random generator
FAMILIES = {
    **{
        f'wrist behind {place} of {kinds}': lambda rng, p=place, k=kinds: wrist(rng, p, k)
        for kinds in SHIFTS
        for place in range(4)
    },
    **{
        f'parallel from {place}, meeting at {meeting}': lambda rng, p=place, m=meeting: parallel(
            rng, p, m
        )
        for place, meeting in ((0, 3), (0, 4), (1, 4), (2, 0), (3, 0), (3, 1))
    },
    **{f'five, two meet at {i}': lambda rng, i=i: five(rng, meet=i) for i in range(4)},
    **{f'five, parallel from {i}': lambda rng, i=i: five(rng, parallel_from=i) for i in range(3)},
    **{
        f'{kinds} alone': lambda rng, k=kinds: loose(rng, k)
        for kinds in ('R', 'P', 'RR', 'PR', 'RRR', 'PRP', 'PPP', 'RRRR', 'RPRP', 'PPRP')
    },
    'two parallel': lambda rng: planar(rng, 2),
    'three parallel': lambda rng: planar(rng, 3),
    'spherical': lambda rng: wrist(rng, 0, ''),
}


def opw(a1, a2, b, c1, c2, c3):
    """An arm with an ortho-parallel base and a spherical wrist, as KUKA's KR and ABB's IRB."""
    x, y, z = np.eye(3)
    elbow = np.array([a1, b, c1 + c2])
    centre = elbow + np.array([c3, 0.0, a2])
    spec = [
        ('R', z, np.zeros(3)),
        ('R', y, np.array([a1, 0.0, c1])),
        ('R', y, elbow),
        *(('R', axis, centre) for axis in (x, y, x)),
    ]
    return chain(spec, np.random.default_rng(0), reach=3.3)
