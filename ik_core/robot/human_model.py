# SPDX-License-Identifier: Apache-2.0
"""A human skeleton: 71 angles with limits, as many as that of [EngellErleben2011] section 6.

Lengths are fractions of the stature [DrillisContini1966]; limits are mean ranges of motion of
adults [AAOS1965]; masses are fractions of the whole [Winter2009]. At q = 0 the person stands
upright, x forward, y to the left and z up, its arms at its sides, palms towards the thighs: the
pose from which ranges of motion are measured.

Numbers without a source are our own: the heights of the joints of the spine, each of which has an
equal part of the range of its region; the collarbones; where hands and feet bend; lengths of the
thumbs and the jaw.

Thumbs and a jaw are left out unless asked for. With them it has 32 joints and 78 angles, its
floating base left out, as many as that of [Engell2007] section 3.3.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import exact_number
from .joints import FLOATING_BASE, Joint, carried_by_floating_base
from .mass import Inertial
from .reach_cones import ReachCone
from .robot import Robot
from .urdf_text import Solid

NAME, ROOT = 'human', 'pelvis'
SPEED = 4.0 * math.pi  # [rad/s] the limit of every angle, a knee that runs; our own

# Heights and lengths as fractions of the stature [DrillisContini1966]
SHOULDER, HIP, ANKLE = 0.818, 0.530, 0.039
SHOULDER_ASIDE, HIP_ASIDE = 0.129, 0.0955  # distances from the middle to one side
UPPER_ARM, FOREARM, HAND = 0.186, 0.146, 0.108
THIGH, SHANK, FOOT = 0.245, 0.246, 0.152

# Heights of the joints of the spine: from the sacrum, under the ribs, and up to the skull; our own
LUMBAR, THORACIC, CERVICAL = (0.585, 0.606, 0.626, 0.647, 0.667), (0.688, 0.741, 0.795), (
    0.848, 0.883, 0.918,
)  # fmt: skip
COLLARBONE = (0.02, 0.015, 0.820)  # near end of the left collarbone, at the breastbone; our own
PALM = 0.5 * HAND  # our own
THUMB = (0.02, 0.0, -0.035)  # from its joint to its tip, the hand at rest; our own
THUMB_JOINT = (0.012, 0.0, -0.012)  # from the wrist; our own
CHIN = (0.05, 0.0, -0.045)  # from the joint of the jaw, which is at the ear; our own
HEEL, SOLE = 0.25 * FOOT, 0.45 * FOOT  # from the ankle back to the heel, and forward to the toes


# Masses as fractions of the whole, and their centres as fractions of the distance from the joint
# above to the one below [Winter2009] (Table 4.1, after Dempster). The trunk's mass is spread
# evenly over its height, from the hips to the shoulders.
HEAD_AND_NECK, TRUNK = 0.081, 0.497
LIMB_MASSES = {
    'upper_arm': (0.028, 0.436),
    'forearm': (0.016, 0.430),
    'hand': (0.006, 0.506),
    'thigh': (0.100, 0.433),
    'shank': (0.0465, 0.433),
    'foot': (0.0145, 0.5),
}
EAR = 0.936  # height of the ear canal, where the centre of head and neck is; our own
BODY_MASS_INDEX = 22.0  # [kg/m^2] gives the default mass; our own

COMMENT = """A person, written by `ik human`: lengths as fractions of the stature of Drillis and
       Contini, ranges of motion of the AAOS, masses of Winter (docs/references.md), moments of
       inertia of balls of water. Units: m, rad, s, kg.
       End effectors: head_top, left_fingertips, right_fingertips, left_toe_tips, right_toe_tips.
""".strip()

Numbers = tuple[float, ...]


class Movement(NamedTuple):
    """An angle of a joint: its axis, and its range [deg] on the left side.

    On the right side x and z are mirrored. Positive angles: about -y a limb swings forward, about
    x it swings to the left, about z it turns to the left.
    """

    axis: str
    lower: float
    upper: float


# [AAOS1965], except for the collarbones. Spine: extension and flexion, bending to the sides,
# rotation
SPINE = Movement('Y', -30.0, 80.0), Movement('X', -35.0, 35.0), Movement('Z', -45.0, 45.0)
NECK = Movement('Y', -45.0, 45.0), Movement('X', -45.0, 45.0), Movement('Z', -60.0, 60.0)
JAW = (Movement('Y', 0.0, 25.0),)  # opening; our own
LIMBS = {
    # depression, elevation; retraction and protraction
    'collarbone': (Movement('X', -5.0, 45.0), Movement('Z', -15.0, 15.0)),
    # flexion, extension; adduction, abduction; internal, external rotation. The source's abduction
    # beyond a right angle is flexion beyond a right angle here.
    'shoulder': (
        Movement('Y', -180.0, 60.0), Movement('X', -75.0, 90.0), Movement('Z', -70.0, 90.0),
    ),
    'elbow': (Movement('Y', -150.0, 0.0),),
    # pronation, supination of the forearm; flexion, extension; radial, ulnar deviation
    'wrist': (
        Movement('Z', -80.0, 80.0), Movement('X', -80.0, 70.0), Movement('Y', -20.0, 30.0),
    ),
    # flexion, extension; to the thumb's side and away
    'knuckles': (Movement('X', -90.0, 45.0), Movement('Y', -20.0, 20.0)),
    # flexion, extension; adduction, abduction; internal, external rotation
    'hip': (
        Movement('Y', -120.0, 30.0), Movement('X', -30.0, 45.0), Movement('Z', -45.0, 45.0),
    ),
    'knee': (Movement('Y', 0.0, 135.0),),
    # dorsiflexion, plantar flexion; inversion, eversion; adduction, abduction
    'ankle': (
        Movement('Y', -20.0, 50.0), Movement('X', -35.0, 15.0), Movement('Z', -20.0, 10.0),
    ),
    'toe_joint': (Movement('Y', -70.0, 45.0),),
    # extension, flexion; abduction; opposition, our own
    'thumb_joint': (
        Movement('Y', -20.0, 15.0), Movement('X', -70.0, 0.0), Movement('Z', -40.0, 20.0),
    ),
}  # fmt: skip


def human(
    stature: float = 1.75,
    mass: float | None = None,
    *,
    floating_base: bool = False,
    thumbs_and_jaw: bool = False,
) -> Robot:
    """The skeleton of a person of a stature [m].

    mass [kg] : by default 22 kg/m^2 times the square of the stature
    floating_base : add six joints, between the root link `world` and the pelvis
    thumbs_and_jaw : add three joints of seven angles, with the tips `left_` and `right_thumb_tip`
        and `chin`: 78 angles

    The pelvis, its root link, is midway between the hips. Tips: `head_top`, and `left_` and
    `right_` `fingertips`, `toe_tips` and `heel`. Raises InvalidOption.
    """
    joints = human_joints(stature, thumbs_and_jaw=thumbs_and_jaw)
    links, free = [ROOT, *(joint.child for joint in joints)], []
    inertials = _inertials(stature, BODY_MASS_INDEX * stature**2 if mass is None else mass)
    if floating_base:
        links, joints = carried_by_floating_base(links, joints)
        free = [FLOATING_BASE]
    return Robot.from_joints(NAME, links, joints, free_joints=free, inertials=inertials)


def human_joints(stature: float, *, thumbs_and_jaw: bool = False) -> list[Joint]:
    """The joints of `human`, parents first. Raises InvalidOption."""
    size = exact_number(stature, float)
    if size is None or not 0.1 <= size <= 10.0:
        raise InvalidOption(f'stature = {stature!r} [m]: a number from 0.1 to 10 is needed')
    joints = [*_trunk(size), *_limbs('left', 1.0, size), *_limbs('right', -1.0, size)]
    return [*joints, *_thumbs_and_jaw(size)] if thumbs_and_jaw else joints


def human_cones() -> tuple[ReachCone, ...]:
    """Reach cones of the upper arms and the thighs of `human`, each left before right.

    Each is a sinus cone inside the box of the joint's first two angles: its centre is the middle
    of flexion and extension, and the ranges of the two angles are the axes of its ellipses. It
    cuts off the corners of the box, where both angles are at their limits; that shape is our own.
    """
    cones = []
    for joint, parent, child in (('shoulder', 'collarbone', 'upper_arm'), ('hip', ROOT, 'thigh')):
        swing, aside, _ = LIMBS[joint]
        middle, half = np.radians([swing.lower + swing.upper, swing.upper - swing.lower]) / 2.0
        s, c = np.sin(middle), np.cos(middle)
        inwards, outwards = np.radians([-aside.lower, aside.upper])
        for side, right, left in (('left', inwards, outwards), ('right', outwards, inwards)):
            cones.append(
                ReachCone.sinus(
                    f'{side}_{child}',
                    parent if parent == ROOT else f'{side}_{parent}',
                    axis=(0.0, 0.0, -1.0),
                    centre=(-s, 0.0, -c),
                    toward=(c, 0.0, -s),
                    elevations=(half, right, half, left),
                )
            )
    return tuple(cones)


def _trunk(size: float) -> Iterator[Joint]:
    """Joints of the spine from the pelvis to the skull, and the top of the head."""
    ribs = len(LUMBAR) + len(THORACIC)
    heights = [HIP, *LUMBAR, *THORACIC, *CERVICAL]
    names = [f'lumbar_{k + 1}' for k in range(len(LUMBAR))]
    names += [f'thoracic_{k + 1}' for k in range(len(THORACIC))]
    names += [f'cervical_{k + 1}' for k in range(len(CERVICAL))]
    links = [ROOT, *(f'{name}_link' for name in names[:-1]), 'head']
    for k, (parent, child) in enumerate(pairwise(links)):
        part, count = (SPINE, ribs) if k < ribs else (NECK, len(CERVICAL))
        movements = [Movement(m.axis, m.lower / count, m.upper / count) for m in part]
        up = size * (heights[k + 1] - heights[k])
        yield _joint(names[k], parent, child, (0.0, 0.0, up), movements)
    yield _fixed('head', 'head_top', (0.0, 0.0, size * (1.0 - heights[-1])))


def _trunk_links() -> list[str]:
    """Names of the links of the trunk, upwards."""
    lumbar = [f'lumbar_{k + 1}_link' for k in range(len(LUMBAR))]
    return [ROOT, *lumbar, *(f'thoracic_{k + 1}_link' for k in range(len(THORACIC)))]


def _limbs(side: str, sign: float, size: float) -> Iterator[Joint]:
    """Joints of the arm and the leg of one side; `sign` is 1 for 'left', -1 for 'right'."""
    x, y, z = COLLARBONE
    chest = f'thoracic_{len(THORACIC)}_link'
    rows = [
        ('collarbone', chest, 'collarbone', (x, y, z - THORACIC[-1])),
        ('shoulder', 'collarbone', 'upper_arm', (-x, SHOULDER_ASIDE - y, SHOULDER - z)),
        ('elbow', 'upper_arm', 'forearm', (0.0, 0.0, -UPPER_ARM)),
        ('wrist', 'forearm', 'hand', (0.0, 0.0, -FOREARM)),
        ('knuckles', 'hand', 'fingers', (0.0, 0.0, -PALM)),
        ('', 'fingers', 'fingertips', (0.0, 0.0, PALM - HAND)),
        ('hip', ROOT, 'thigh', (0.0, HIP_ASIDE, 0.0)),
        ('knee', 'thigh', 'shank', (0.0, 0.0, -THIGH)),
        ('ankle', 'shank', 'foot', (0.0, 0.0, -SHANK)),
        ('', 'foot', 'heel', (-HEEL, 0.0, -ANKLE)),
        ('toe_joint', 'foot', 'toes', (SOLE, 0.0, -ANKLE)),
        ('', 'toes', 'toe_tips', (FOOT - HEEL - SOLE, 0.0, 0.0)),
    ]
    for name, parent, child, (x, y, z) in rows:
        above = parent if parent in (ROOT, chest) else f'{side}_{parent}'
        offset = size * x, sign * size * y, size * z
        if not name:
            yield _fixed(above, f'{side}_{child}', offset)
            continue
        movements = [_mirrored(m) if sign < 0.0 else m for m in LIMBS[name]]
        yield _joint(f'{side}_{name}', above, f'{side}_{child}', offset, movements)


def _thumbs_and_jaw(size: float) -> Iterator[Joint]:
    for side, sign in (('left', 1.0), ('right', -1.0)):
        movements = LIMBS['thumb_joint']
        if sign < 0.0:
            movements = tuple(_mirrored(movement) for movement in movements)
        thumb, origin = f'{side}_thumb', [size * value for value in THUMB_JOINT]
        yield _joint(f'{thumb}_joint', f'{side}_hand', thumb, origin, movements)
        yield _fixed(thumb, f'{thumb}_tip', [size * value for value in THUMB])
    yield _joint('jaw_joint', 'head', 'jaw', (0.0, 0.0, size * (EAR - CERVICAL[-1])), JAW)
    yield _fixed('jaw', 'chin', [size * value for value in CHIN])


def _mirrored(movement: Movement) -> Movement:
    """The movement of the right side for one of the left."""
    axis, lower, upper = movement
    return movement if axis == 'Y' else Movement(axis, -upper, -lower)


def _joint(
    name: str, parent: str, child: str, offset: Sequence[float], movements: Sequence[Movement]
) -> Joint:
    order = ''.join(movement.axis for movement in movements)
    lower = np.radians([movement.lower for movement in movements])
    upper = np.radians([movement.upper for movement in movements])
    origin = _shift(offset)
    if len(order) > 1:
        kind = 'ball' if len(order) == 3 else 'universal'
        return Joint(
            name, kind, parent, child, origin, lower=lower, upper=upper, velocity=SPEED,
            rotation_order=order,
        )  # fmt: skip
    axis = np.eye(3)['XYZ'.index(order)]
    return Joint(
        name, 'revolute', parent, child, origin, axis, float(lower[0]), float(upper[0]), SPEED
    )


def _fixed(parent: str, child: str, offset: Sequence[float]) -> Joint:
    return Joint(f'{child}_end', 'fixed', parent, child, _shift(offset))


def _shift(offset: Sequence[float]) -> Array:
    transform = np.eye(4)
    transform[:3, 3] = offset
    return transform


# --- masses --------------------------------------------------------------------------------------


def _inertials(size: float, whole: float) -> dict[str, Inertial]:
    """Inertials by link, for a stature [m] and a mass [kg]. Raises InvalidOption."""
    mass = exact_number(whole, float)
    if mass is None or not 0.0 < mass < math.inf:
        raise InvalidOption(f'mass = {whole!r} [kg]: a positive number is needed')
    found = {'head': (HEAD_AND_NECK, (0.0, 0.0, EAR - CERVICAL[-1]))}
    heights = [HIP, *LUMBAR, *THORACIC, SHOULDER]
    for link, (low, high) in zip(_trunk_links(), pairwise(heights), strict=True):
        fraction = (high - low) / (SHOULDER - HIP)
        found[link] = TRUNK * fraction, (0.0, 0.0, 0.5 * (high - low))
    below = {
        'upper_arm': (0.0, 0.0, -UPPER_ARM),
        'forearm': (0.0, 0.0, -FOREARM),
        'hand': (0.0, 0.0, -PALM),
        'thigh': (0.0, 0.0, -THIGH),
        'shank': (0.0, 0.0, -SHANK),
        'foot': (SOLE, 0.0, -ANKLE),
    }
    for link, (fraction, along) in LIMB_MASSES.items():
        x, y, z = (along * value for value in below[link])
        found[f'left_{link}'] = found[f'right_{link}'] = fraction, (x, y, z)
    return {
        link: Inertial(mass * fraction, size * np.array(centre))
        for link, (fraction, centre) in found.items()
    }


# --- drawn shapes: our own -----------------------------------------------------------------------

SKIN, SHIRT, TROUSERS, SHOE = (
    (0.87, 0.73, 0.63, 1.0), (0.36, 0.49, 0.62, 1.0), (0.27, 0.30, 0.36, 1.0),
    (0.16, 0.16, 0.18, 1.0),
)  # fmt: skip


def human_shapes(stature: float, *, thumbs_and_jaw: bool = False) -> dict[str, list[Solid]]:
    """Shapes to draw a person of a stature [m], by link, for `urdf_text`."""
    shapes: dict[str, list[Solid]] = {}
    drawn = [*_drawn_trunk(), *_drawn_limbs(), *(_drawn_details() if thumbs_and_jaw else ())]
    for link, kind, size, centre, colour in drawn:
        sizes, at = (tuple(stature * value for value in values) for values in (size, centre))
        shapes.setdefault(link, []).append(Solid(kind, sizes, at, colour))
    return shapes


def _drawn_trunk() -> Iterator[tuple[str, str, Numbers, Numbers, Numbers]]:
    heights = [HIP, *LUMBAR, *THORACIC, *CERVICAL]
    spans = [high - low for low, high in pairwise(heights)]
    links = _trunk_links()
    for link, span in zip(links, spans, strict=False):
        width, colour = (0.19, TROUSERS) if link == ROOT else (0.17, SHIRT)
        yield link, 'box', (0.115, width, span), (0.0, 0.0, 0.5 * span), colour
    for k, span in enumerate(spans[len(links) :]):
        yield f'cervical_{k + 1}_link', 'cylinder', (0.032, span), (0.0, 0.0, 0.5 * span), SKIN
    skull = 0.062
    yield 'head', 'sphere', (skull,), (0.01, 0.0, 1.0 - heights[-1] - skull), SKIN


def _drawn_limbs() -> Iterator[tuple[str, str, Numbers, Numbers, Numbers]]:
    x, y, z = COLLARBONE
    shoulder = -x, SHOULDER_ASIDE - y, SHOULDER - z
    below, tips = -ANKLE + 0.015, FOOT - HEEL - SOLE
    rows = [
        ('collarbone', 'sphere', (0.033,), shoulder, SHIRT),
        ('upper_arm', 'cylinder', (0.027, UPPER_ARM), (0.0, 0.0, -0.5 * UPPER_ARM), SHIRT),
        ('forearm', 'sphere', (0.024,), (0.0, 0.0, 0.0), SKIN),
        ('forearm', 'cylinder', (0.021, FOREARM), (0.0, 0.0, -0.5 * FOREARM), SKIN),
        ('hand', 'box', (0.05, 0.018, PALM), (0.0, 0.0, -0.5 * PALM), SKIN),
        ('fingers', 'box', (0.045, 0.014, HAND - PALM), (0.0, 0.0, 0.5 * (PALM - HAND)), SKIN),
        ('thigh', 'cylinder', (0.046, THIGH), (0.0, 0.0, -0.5 * THIGH), TROUSERS),
        ('shank', 'sphere', (0.036,), (0.0, 0.0, 0.0), TROUSERS),
        ('shank', 'cylinder', (0.03, SHANK), (0.0, 0.0, -0.5 * SHANK), TROUSERS),
        ('foot', 'box', (HEEL + SOLE, 0.055, 0.03), (0.5 * (SOLE - HEEL), 0.0, below), SHOE),
        ('toes', 'box', (tips, 0.05, 0.02), (0.5 * tips, 0.0, 0.01), SHOE),
    ]
    for link, kind, size, (x, y, z), colour in rows:
        yield f'left_{link}', kind, size, (x, y, z), colour
        yield f'right_{link}', kind, size, (x, -y, z), colour


def _drawn_details() -> Iterator[tuple[str, str, Numbers, Numbers, Numbers]]:
    x, y, z = THUMB
    for side in ('left', 'right'):
        for fraction in (0.35, 0.65, 0.95):
            yield (
                f'{side}_thumb',
                'sphere',
                (0.009,),
                (fraction * x, fraction * y, fraction * z),
                SKIN,
            )
    yield 'jaw', 'box', (0.03, 0.05, 0.02), (CHIN[0] - 0.015, 0.0, CHIN[2] + 0.01), SKIN
