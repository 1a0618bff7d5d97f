# SPDX-License-Identifier: Apache-2.0
"""Robots for the tests of the core, and slow, separate ways to compute what the core computes.

Nothing here calls the kernels: `read_joints` reads a shipped URDF with the standard library,
`slow_poses` multiplies (4, 4) matrices joint by joint, `central_differences` differentiates.
"""

import functools
import os
import xml.etree.ElementTree as ElementTree

import numpy as np
from scipy.spatial.transform import Rotation

import ik_core as ik
from support.places import URDF

SHIPPED = sorted(path.stem for path in URDF.glob('*.urdf'))
ARMS = ('panda', 'ur5e', 'iiwa14', 'pr2_like')  # arms of 6 dof and more


def python_path(*folders):
    """PYTHONPATH for a child: these folders first, then what a sourced ROS has put there."""
    return os.pathsep.join(filter(None, [*map(str, folders), os.environ.get('PYTHONPATH')]))


@functools.cache
def shipped(name):
    """The shipped robot of that name."""
    return ik.load_robot(URDF / f'{name}.urdf')


@functools.cache
def weighed(name):
    """The shipped robot with a mass in every link, whose centre is not at the link's origin."""
    return ik.load_robot(weighed_text(name))


def weighed_text(name):
    """The description of `weighed`."""
    root, rng = ElementTree.parse(URDF / f'{name}.urdf').getroot(), np.random.default_rng(1)
    for link in root.iterfind('link'):
        inertial = ElementTree.SubElement(link, 'inertial')
        xyz = ' '.join(map(str, rng.uniform(-0.2, 0.2, 3)))
        ElementTree.SubElement(inertial, 'origin', xyz=xyz)
        ElementTree.SubElement(inertial, 'mass', value=str(rng.uniform(0.1, 3.0)))
    return ElementTree.tostring(root, encoding='unicode')


def tip_of(robot):
    """One tip: that of the longest chain."""
    return robot.tips()[0]


def transform(rotation=None, translation=(0.0, 0.0, 0.0)):
    """A (4, 4) transform of a scipy Rotation and a translation."""
    result = np.eye(4)
    if rotation is not None:
        result[:3, :3] = rotation.as_matrix()
    result[:3, 3] = translation
    return result


def random_transform(rng, size=1.0):
    return transform(Rotation.random(random_state=rng), rng.uniform(-size, size, 3))


def random_q(robot, rng, margin=0.0):
    """A random configuration inside the limits, at least `margin` of the range away from them."""
    low = np.where(np.isfinite(robot.lower), robot.lower, -np.pi)
    high = np.where(np.isfinite(robot.upper), robot.upper, np.pi)
    return low + (high - low) * rng.uniform(margin, 1.0 - margin, robot.n)


def read_joints(name, scale=1.0):
    """(link names, joints) of a shipped URDF, all lengths times `scale`."""
    root = ElementTree.parse(URDF / f'{name}.urdf').getroot()
    links = [link.get('name') for link in root.iter('link')]
    return links, [_read_joint(element, scale) for element in root.findall('joint')]


def scaled_robot(name, scale):
    links, joints = read_joints(name, scale)
    return ik.Robot.from_joints(f'{name} x {scale}', links, joints)


def _numbers(element, path, attribute, default):
    found = element.find(path)
    text = None if found is None else found.get(attribute)
    return np.array([float(word) for word in (text or default).split()])


def _read_joint(element, scale):
    kind = element.get('type')
    rotation = Rotation.from_euler('xyz', _numbers(element, 'origin', 'rpy', '0 0 0'))
    axis = _numbers(element, 'axis', 'xyz', '1 0 0')
    unit = scale if kind == 'prismatic' else 1.0
    limits = {'revolute': ('lower', 'upper'), 'prismatic': ('lower', 'upper')}.get(kind, ())
    bounds = {key: float(element.find('limit').get(key, 0.0)) * unit for key in limits}
    follows = element.find('mimic')
    mimic = follows is not None and ik.robot.Mimic(
        follows.get('joint'),
        float(follows.get('multiplier', 1.0)),
        float(follows.get('offset', 0.0)) * unit,
    )
    return ik.robot.Joint(
        element.get('name'),
        kind,
        element.find('parent').get('link'),
        element.find('child').get('link'),
        transform(rotation, scale * _numbers(element, 'origin', 'xyz', '0 0 0')),
        axis / np.linalg.norm(axis),
        mimic=mimic or None,
        **bounds,
    )


def slow_poses(joints, values, root):
    """Poses (4, 4) of all links by name, from joints and their positions by name.

    A floating joint's values are x, y, z, yaw, pitch, roll, a planar one's x, y, yaw, under
    '<joint>/x' and so on; without them these joints stand still.
    """
    poses = {root: np.eye(4)}
    waiting = list(joints)
    while waiting:
        joint = next(j for j in waiting if j.parent in poses)
        waiting = [j for j in waiting if j is not joint]
        poses[joint.child] = poses[joint.parent] @ joint.origin @ _motion(joint, values)
    return poses


def _motion(joint, values):
    if joint.kind == 'fixed':
        return np.eye(4)
    if joint.kind == 'floating':
        part = [values.get(f'{joint.name}/{p}', 0.0) for p in ('yaw', 'pitch', 'roll')]
        shift = [values.get(f'{joint.name}/{p}', 0.0) for p in 'xyz']
        return transform(Rotation.from_euler('ZYX', part), shift)
    if joint.mimic is not None:
        value = joint.mimic.multiplier * values[joint.mimic.joint] + joint.mimic.offset
    else:
        value = values[joint.name]
    if joint.kind == 'prismatic':
        return transform(translation=value * joint.axis)
    return transform(Rotation.from_rotvec(value * joint.axis))


def central_differences(function, q, step=1e-5):
    """The derivative (rows, n) of a function of q (n,), by central differences."""
    columns = []
    for i in range(len(q)):
        above, below = q.copy(), q.copy()
        above[i] += step
        below[i] -= step
        columns.append((function(above) - function(below)) / (above[i] - below[i]))
    return np.array(columns).T


def assert_same_jacobian(jacobian, numeric, relative=1e-6):
    """Equal to `relative`, measured by the largest entry."""
    scale = max(1.0, np.max(np.abs(numeric)))
    np.testing.assert_allclose(jacobian, numeric, rtol=0.0, atol=relative * scale)


def pose_errors(robot, q, link, target):
    """Position [m] and orientation [rad] error of a link, by the pose and scipy's rotations."""
    pose = robot.forward_kinematics(q, link)
    turn = Rotation.from_matrix(target[:3, :3].T @ pose[:3, :3]).magnitude()
    return np.linalg.norm(pose[:3, 3] - target[:3, 3]), turn


def inside(robot, q, joints=slice(None)):
    """Return whether the joints are inside the limits, exactly."""
    return bool(
        (q[joints] >= robot.lower[joints]).all() and (q[joints] <= robot.upper[joints]).all()
    )
