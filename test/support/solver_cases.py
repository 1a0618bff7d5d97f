# SPDX-License-Identifier: Apache-2.0
"""Problems of all kinds for checks of solvers, each with a start, reachable or not."""

import dataclasses
import functools

import numpy as np
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core import AxisTask, IkProblem, PoseTask, PositionTask, make_solver
from support import robots


@dataclasses.dataclass
class Case:
    """A problem, where to start, and whether all its goals can be reached."""

    problem: IkProblem
    q0: np.ndarray
    reachable: bool


def goal_at(robot, q, link=None, **more):
    link = link or robots.tip_of(robot)
    return PoseTask(link, transform=robot.forward_kinematics(q, link), **more)


def near(robot, q, rng, distance=0.3):
    """A start near q, in the limits."""
    away = q + rng.uniform(-distance, distance, robot.n)
    return np.minimum(np.maximum(away, robot.lower), robot.upper)


def reachable(name, seed=1, **more):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.15)
    return Case(IkProblem(robot, [goal_at(robot, q)], **more), near(robot, q, rng), True)


def unreachable(name, seed=2):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.15)
    goal = goal_at(robot, q)
    shift = np.array([0.9, 0.7, 0.8]) * (1.0 if name == 'scara' else 2.0)
    goal.set_target(position=goal.transform[:3, 3] + shift)
    return Case(IkProblem(robot, [goal]), near(robot, q, rng), False)


def on_a_limit():
    robot, rng = robots.shipped('panda'), np.random.default_rng(3)
    q = robots.random_q(robot, rng, margin=0.2)
    q[[1, 3]] = robot.upper[1], robot.lower[3]
    return Case(IkProblem(robot, [goal_at(robot, q)]), near(robot, q, rng, 0.1), True)


def behind_a_limit():
    """Reachable but for the limits."""
    robot, rng = robots.shipped('iiwa14'), np.random.default_rng(4)
    q = robots.random_q(robot, rng, margin=0.3)
    problem = IkProblem(robot, [goal_at(robot, q)], lower=np.full(7, -0.3), upper=np.full(7, 0.25))
    return Case(problem, np.zeros(7), False)


def at_a_singularity():
    robot = robots.shipped('ur5e')
    q = np.array([0.1, -1.2, 1.5, -0.5, 0.0, 0.3])  # the wrist's first and last axis are parallel
    start = np.array([0.2, -1.4, 1.3, -0.4, 0.0, 0.1])
    return Case(IkProblem(robot, [goal_at(robot, q)]), start, True)


def stretched_out():
    """The start is singular, and the goal straight behind: no column leans on the residual."""
    robot = robots.shipped('scara')
    q = np.array([0.0, 0.0, 0.05, 0.0])
    pose = robot.forward_kinematics(q, 'tool')
    pose[:3, 3] *= (0.7, 0.7, 1.0)
    goal = PositionTask('tool', pose[:3, 3])
    return Case(IkProblem(robot, [goal]), q, True)


def start_is_goal():
    case = reachable('panda', 5)
    robot, goal = case.problem.robot, case.problem.goals[0]
    q0 = robots.random_q(robot, np.random.default_rng(6), margin=0.1)
    goal.set_target(robot.forward_kinematics(q0, goal.link))
    return Case(case.problem, q0, True)


def start_outside_the_limits():
    case = reachable('panda', 7)
    case.q0 = np.where(np.arange(8) % 2, case.problem.robot.upper + 5.0, case.q0)
    return case


def two_arms(name, shift=None, seed=8):
    robot, rng = robots.shipped(name), np.random.default_rng(seed)
    q = robots.random_q(robot, rng, margin=0.25)
    goals = [goal_at(robot, q, link) for link in robot.tips()]
    if name.startswith('buss'):
        goals = [PositionTask(goal.link, goal.transform[:3, 3]) for goal in goals]
    if shift is not None:
        goals[-1].set_target(position=goals[-1].transform[:3, 3] + shift)
    return Case(IkProblem(robot, goals), near(robot, q, rng, 0.2), shift is None)


def masked():
    """The scara can't tilt: only the position and the turn about z are asked for."""
    robot, rng = robots.shipped('scara'), np.random.default_rng(9)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tool') @ robots.transform(
        Rotation.from_rotvec([0.0, 0.0, 0.0])
    )
    goal = PoseTask('tool', transform=pose, orientation_weights=(0, 0, 1))
    return Case(IkProblem(robot, [goal]), near(robot, q, rng, 0.2), True)


def masked_out_of_reach():
    """Tilted by far, judged by two unequal components of the rotation vector."""
    robot, rng = robots.shipped('scara'), np.random.default_rng(10)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tool')
    pose = pose @ robots.transform(Rotation.from_rotvec([1.2, 0.4, 0.3]), [0.1, 0.0, 0.0])
    goal = PoseTask('tool', transform=pose, orientation_weights=(0, 1, 3), position_axes='goal',
                    position_weights=(1, 0, 2))  # fmt: skip
    return Case(IkProblem(robot, [goal]), near(robot, q, rng, 0.2), False)


def tilted():
    """A turn that the scara can't make, with all components weighted alike."""
    robot, rng = robots.shipped('scara'), np.random.default_rng(11)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tool')
    pose = pose @ robots.transform(Rotation.from_rotvec([0.5, 0.4, 0.3]))
    goal = PoseTask('tool', transform=pose)
    return Case(IkProblem(robot, [goal]), near(robot, q, rng, 0.2), False)


def axis_and_position(out_of_reach=False):
    robot, rng = robots.shipped('arm5'), np.random.default_rng(12)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'tip')
    direction = Rotation.from_rotvec([1.1, 0.5, 0.0]).apply(pose[:3, 0]) * 3.0
    goals = [
        PositionTask('tip', pose[:3, 3] * (2.5 if out_of_reach else 1.0)),
        AxisTask('tip', (1, 0, 0), direction if out_of_reach else pose[:3, 0], weight=2.0),
    ]
    return Case(IkProblem(robot, goals), near(robot, q, rng, 0.2), not out_of_reach)


def mimic(out_of_reach=False):
    """A finger that a mimic joint moves."""
    robot, rng = robots.shipped('panda'), np.random.default_rng(13)
    q = robots.random_q(robot, rng, margin=0.2)
    pose = robot.forward_kinematics(q, 'panda_rightfinger')
    if out_of_reach:
        pose[:3, 3] += [1.0, 1.0, 0.5]
    goals = [PoseTask('panda_rightfinger', transform=pose)]
    if not out_of_reach:
        goals.append(goal_at(robot, q, 'panda_leftfinger'))
    return Case(IkProblem(robot, goals), near(robot, q, rng, 0.2), not out_of_reach)


def chained_mimics():
    """One joint drives three of the four."""
    z, shift = np.array([0.0, 0.0, 1.0]), robots.transform(translation=[0.5, 0.0, 0.0])
    joints = [
        ik.robot.Joint('j1', 'revolute', 'a', 'b', axis=z, lower=-2, upper=2),
        ik.robot.Joint('j2', 'revolute', 'b', 'c', shift, z, -2, 2,
                       mimic=ik.robot.Mimic('j1', -1.5, 0.3)),
        ik.robot.Joint('j3', 'revolute', 'c', 'd', shift, z, lower=-2, upper=2),
        ik.robot.Joint('j4', 'prismatic', 'd', 'e', shift, -z[[2, 0, 1]], -1, 1,
                 mimic=ik.robot.Mimic('j1', 0.2)),
    ]  # fmt: skip
    robot = ik.Robot.from_joints('mimics', list('abcde'), joints)
    goal = PositionTask('e', robot.forward_kinematics([0.7, -0.9], 'e')[:3, 3])
    return Case(IkProblem(robot, [goal]), np.array([0.4, -0.5]), True)


def frozen():
    case = reachable('panda', 14)
    robot, goal = case.problem.robot, case.problem.goals[0]
    q = robots.random_q(robot, np.random.default_rng(15), margin=0.2)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    problem = IkProblem(robot, [goal], frozen_joints=['panda_joint3'])
    start = q + np.array([0.1, -0.1, 0.0, 0.1, -0.1, 0.1, 0.1, 5.0])
    return Case(problem, start, True)


def pinned():
    """A joint whose lower limit is its upper one."""
    case = reachable('iiwa14', 16)
    robot, goal = case.problem.robot, case.problem.goals[0]
    q = robots.random_q(robot, np.random.default_rng(17), margin=0.2)
    goal.set_target(robot.forward_kinematics(q, goal.link))
    lower, upper = robot.lower.copy(), robot.upper.copy()
    lower[2] = upper[2] = q[2]
    return Case(IkProblem(robot, [goal], lower=lower, upper=upper), q + 0.1, True)


def all_pinned():
    case = unreachable('ur5e', 18)
    q = case.q0
    return Case(IkProblem(case.problem.robot, case.problem.goals, lower=q, upper=q), q + 1, False)


def floating():
    links, joints = robots.read_joints('arm5')
    base = ik.robot.Joint('base', 'floating', 'world', links[0])
    robot = ik.Robot.from_joints('free', ['world', *links], [base, *joints], free_joints=['base'])
    rng = np.random.default_rng(19)
    q = rng.uniform(-0.5, 0.5, robot.n)
    return Case(IkProblem(robot, [goal_at(robot, q)]), np.zeros(robot.n), True)


CASES = {
    'panda': lambda: reachable('panda'),
    'ur5e': lambda: reachable('ur5e'),
    'pr2': lambda: reachable('pr2_like'),
    'scara': lambda: reachable('scara'),
    'panda out of reach': lambda: unreachable('panda'),
    'ur5e out of reach': lambda: unreachable('ur5e'),
    'scara out of reach': lambda: unreachable('scara'),
    'pr2 out of reach': lambda: unreachable('pr2_like'),
    'on a limit': on_a_limit,
    'behind a limit': behind_a_limit,
    'at a singularity': at_a_singularity,
    'stretched out': stretched_out,
    'start is goal': start_is_goal,
    'start outside the limits': start_outside_the_limits,
    'two arms': lambda: two_arms('dual_arm'),
    'two arms, one out of reach': lambda: two_arms('dual_arm', [0.3, 1.5, 0.3]),
    'Y': lambda: two_arms('buss_y'),
    'Y, one out of reach': lambda: two_arms('buss_y', [3.0, 6.0, 1.0]),
    'double Y': lambda: two_arms('buss_double_y'),
    'masked': masked,
    'masked out of reach': masked_out_of_reach,
    'tilted': tilted,
    'axis and position': axis_and_position,
    'axis and position out of reach': lambda: axis_and_position(True),
    'mimic': mimic,
    'mimic out of reach': lambda: mimic(True),
    'chained mimics': chained_mimics,
    'frozen': frozen,
    'pinned': pinned,
    'all pinned': all_pinned,
    'floating': floating,
}

# Solvers that converge too slowly to be held to the usual tolerances, and what they are held to.
SLOW = {
    # steepest descent, over Jacobians whose singular values differ by a factor of 50
    'jacobian_transpose': {'position_tolerance': 1e-3, 'orientation_tolerance': 1e-2},
}


@functools.cache
def solved(solver, name):
    """(case, result) of a case and a solver with its defaults, made once."""
    case = CASES[name]()
    return case, make_solver(solver).solve(case.problem, case.q0)
