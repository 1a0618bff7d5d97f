# SPDX-License-Identifier: Apache-2.0
"""Random trees of joints of all kinds, for hypothesis to draw and shrink."""

import numpy as np
from hypothesis import strategies as st
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core.robot.joints import MOVABLE
from support import robots

KINDS = ('revolute', 'continuous', 'prismatic', 'fixed', 'floating', 'planar', 'mimic')
numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
vectors = st.tuples(numbers, numbers, numbers)
axes = st.one_of(
    st.sampled_from([(1, 0, 0), (0, 1, 0), (0, 0, 1), (0, 0, -1), (-1, 0, 0)]),
    vectors.filter(lambda v: np.linalg.norm(v) > 0.1),
)


@st.composite
def trees(draw):
    """(link names, joints in any order) of a random tree; L0 is its root."""
    links, joints = ['L0'], []
    for i in range(1, draw(st.integers(2, 9)) + 1):
        kind, mimic = draw(st.sampled_from(KINDS)), None
        drivers = [j.name for j in joints if j.mimic is None and j.kind in MOVABLE]
        if kind == 'mimic':
            kind = draw(st.sampled_from(('revolute', 'prismatic')))
            if drivers:
                mimic = ik.robot.Mimic(
                    draw(st.sampled_from(drivers)), draw(numbers), draw(numbers)
                )
        axis = np.array(draw(axes), float)
        origin = robots.transform(Rotation.from_euler('xyz', draw(vectors)), draw(vectors))
        parent = draw(st.sampled_from(links))
        links.append(f'L{i}')
        joints.append(
            ik.robot.Joint(f'J{i}', kind, parent, links[-1], origin, axis / np.linalg.norm(axis),
                     mimic=mimic)
        )  # fmt: skip
    return draw(st.permutations(links)), draw(st.permutations(joints))


def free_joints_of(joints):
    """Return the floating and planar joints, except those with an even number."""
    multi = [j.name for j in joints if j.kind in ('floating', 'planar')]
    return [name for name in multi if int(name[1:]) % 2]
