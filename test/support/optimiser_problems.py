# SPDX-License-Identifier: Apache-2.0
"""Problems for the optimisers: goals out of reach, behind limits, beside each other."""

import functools

import numpy as np
from scipy.optimize import least_squares
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core import IkProblem, PoseTask, PositionTask
from support import robots


def cross(limit=10.0):
    """Three prismatic joints along x, y, z: q is where the tip is."""
    joints = [
        ik.robot.Joint(axis, 'prismatic', f'l{i}', f'l{i + 1}', axis=np.eye(3)[i], lower=-limit,
                 upper=limit)
        for i, axis in enumerate('xyz')
    ]  # fmt: skip
    return ik.Robot.from_joints('cross', ['l0', 'l1', 'l2', 'l3'], joints)


def near(robot, q, rng, distance=0.3):
    away = q + rng.uniform(-distance, distance, robot.n)
    return np.clip(away, robot.lower, robot.upper)


def pose_of(robot, q, link, shift=(0, 0, 0), **more):
    pose = robot.forward_kinematics(q, link)
    pose[:3, 3] += shift
    return PoseTask(link, transform=pose, **more)


def out_of_reach(name, seed=1):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.2)
    goal = pose_of(robot, q, robots.tip_of(robot), [1.3, 0.9, 0.7])
    return IkProblem(robot, [goal]), near(robot, q, rng)


def behind_limits():
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(4)
    goal = pose_of(robot, robots.random_q(robot, rng, margin=0.3), robots.tip_of(robot))
    box = {'lower': np.full(7, -0.3), 'upper': np.full(7, 0.25)}
    return IkProblem(robot, [goal], **box), np.zeros(7)


def branches(name, seed=5):
    """Return a problem with all tips of a branching figure, the last one out of reach."""
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.25)
    goals = [pose_of(robot, q, link, orientation_weights=0.3) for link in robot.tips()]
    if name.startswith('buss'):
        goals = [PositionTask(goal.link, goal.transform[:3, 3]) for goal in goals]
    goals[-1].set_target(position=goals[-1].transform[:3, 3] + [3.0, 6.0, 1.0])
    return IkProblem(robot, goals), near(robot, q, rng, 0.2)


def prismatic():
    robot, rng = robots.shipped('scara'), np.random.default_rng(6)
    q = robots.random_q(robot, rng, margin=0.2)
    return IkProblem(robot, [pose_of(robot, q, 'tool', [0.1, 0.1, 0.5])]), near(robot, q, rng)


def masked():
    robot, rng = robots.shipped('scara'), np.random.default_rng(7)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tool')
    pose = pose @ robots.transform(Rotation.from_rotvec([1.0, 0.4, 0.3]), [0.1, 0.0, 0.2])
    goal = PoseTask('tool', transform=pose, orientation_weights=(0, 1, 3), position_axes='goal',
                    position_weights=(1, 0, 2))  # fmt: skip
    return IkProblem(robot, [goal]), near(robot, q, rng, 0.2)


def mimic():
    robot, rng = robots.shipped('panda'), np.random.default_rng(13)
    q = robots.random_q(robot, rng, margin=0.2)
    goal = pose_of(robot, q, 'panda_rightfinger', [0.6, 0.5, 0.3])
    return IkProblem(robot, [goal]), near(robot, q, rng, 0.2)


UNREACHABLE = {
    'ur5e': lambda: out_of_reach('ur5e'),
    'panda': lambda: out_of_reach('panda'),
    'behind limits': behind_limits,
    'Y': lambda: branches('buss_y'),
    'dual arm': lambda: branches('dual_arm'),
    'prismatic': prismatic,
    'masked': masked,
    'mimic': mimic,
}


@functools.cache
def best_known(name, starts=20):
    """The least cost that scipy finds inside the limits from the start and random ones."""
    problem, q0 = UNREACHABLE[name]()
    limits, (_, x0) = problem.limits, problem.start(q0)
    rng, best = np.random.default_rng(0), np.inf
    for start in range(starts):
        x = rng.uniform(limits.sample_lower, limits.sample_upper) if start else x0
        found = least_squares(
            lambda x: problem.at(x).residual,
            np.minimum(np.maximum(x, limits.lower + 1e-9), limits.upper - 1e-9),
            lambda x: problem.at(x).jacobian,
            bounds=(limits.lower, limits.upper), xtol=1e-13, ftol=1e-13, gtol=1e-13,
            max_nfev=300,
        )  # fmt: skip
        best = min(best, problem.at(limits.project(found.x)).cost)
    return best


def assert_no_descent_left(problem, at, tolerance=2e-6):
    """The conditions of Karush, Kuhn and Tucker, with the gradient by central differences."""
    x, limits = at.x, problem.limits
    gradient = robots.central_differences(lambda x: np.array([problem.at(x).cost]), x)[0]
    scale = np.linalg.norm(at.jacobian, axis=0) * np.sqrt(at.cost) * 2.0
    inward = np.where(x <= limits.lower, np.minimum(gradient, 0.0), gradient)
    inward = np.where(x >= limits.upper, np.maximum(inward, 0.0), inward)
    inward = np.where(limits.lower == limits.upper, 0.0, inward)
    assert (np.abs(inward) <= tolerance * scale + 1e-8).all(), inward / scale


# What a feasible line search promises


def paths(name):
    if name in UNREACHABLE:
        return UNREACHABLE[name]()
    robot, rng = robots.shipped(name), np.random.default_rng(21)
    q = robots.random_q(robot, rng, margin=0.1)
    return IkProblem(robot, [pose_of(robot, q, robots.tip_of(robot))]), near(robot, q, rng, 1.0)
