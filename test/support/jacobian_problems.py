# SPDX-License-Identifier: Apache-2.0
"""Problems for the tests of the Jacobian methods; their steps, and the same by numpy."""

import math

import numpy as np

import ik_core as ik
from ik_core import IkProblem, PositionTask, make_solver
from support import robots
from support.stepping import Unstopped

METHODS = (
    'jacobian_transpose',
    'pseudoinverse',
    'damped_least_squares',
    'selectively_damped_least_squares',
)
WIDE = {'max_error': np.inf, 'max_step': np.inf}


def planar(*lengths, **joint):
    """Hinges about z, with links of these lengths; stretched along x at q = 0."""
    z, joints, parent, origin = np.array([0.0, 0.0, 1.0]), [], 'base', np.eye(4)
    kind = {'kind': 'revolute' if joint else 'continuous', **joint}
    for i, length in enumerate(lengths):
        joints.append(
            ik.robot.Joint(f'j{i}', parent=parent, child=f'l{i}', origin=origin, axis=z, **kind)
        )
        parent, origin = f'l{i}', robots.transform(translation=[length, 0.0, 0.0])
    joints.append(ik.robot.Joint('end', 'fixed', parent, 'tip', origin))
    return ik.Robot.from_joints('planar', ['base', *(j.child for j in joints)], joints)


def slides(*axes):
    """Prismatic joints along these axes, one on the other: the tip's Jacobian has the axes as
    its columns, wherever it is."""
    names = ['base', *(f'l{i}' for i in range(len(axes) - 1)), 'tip']
    joints = [
        ik.robot.Joint(f'j{i}', 'prismatic', names[i], names[i + 1], axis=np.array(axis, float))
        for i, axis in enumerate(axes)
    ]
    return ik.Robot.from_joints('slides', names, joints)


def flat(*target, **more):
    """A goal in the plane for the tip."""
    return PositionTask('tip', [*target, 0.0], weights=(1, 1, 0), **more)


def figure(name='buss_y', seed=0, stretch=1.0, spread=0.4, scale=1.0):
    """(problem, q): a goal for each tip of a figure, where it is at q, or that times `stretch`."""
    robot = robots.shipped(name) if scale == 1.0 else robots.scaled_robot(name, scale)
    q = np.random.default_rng(seed).uniform(-spread, spread, robot.n)
    places = [(link, robot.forward_kinematics(q, link)[:3, 3]) for link in robot.tips()]
    return IkProblem(robot, [PositionTask(link, stretch * p) for link, p in places]), q


def started(name, problem, q, **options):
    """A method about to take its first step from q."""
    return Unstopped(make_solver(name, **options), problem, q)


def step_from(name, problem, q, **options):
    """The first step (variables,) from q, whether it makes things better or not."""
    search = started(name, problem, q, **options)
    before = search.x
    search.step()
    return search.x - before


def each_step(name, problem, q, steps, **options):
    """The search at its start, and after each step; nothing stops it."""
    search = started(name, problem, q, **options)
    yield search
    for _ in range(steps):
        search.step()
        yield search


def model(problem, q):
    """(J, e) at q: the Jacobian, and the error, target minus current."""
    at = problem.evaluate(q)
    return at.jacobian, -at.residual


def differences(problem, q, h):
    """The Jacobian by (f(q + h) - f(q - h)) / 2h, a column at a time."""
    columns = []
    for j in problem.variables:
        step = np.zeros(problem.robot.n)
        step[j] = h
        above, below = problem.evaluate(q + step), problem.evaluate(q - step)
        columns.append((above.residual - below.residual) / (2.0 * h))
    return np.array(columns).T


# The methods by numpy, with the options' defaults --------------------------------------------


def transpose_step(jacobian, e, rows):
    """Buss's alpha."""
    direction = jacobian.T @ e
    mended = jacobian @ direction
    return (e @ mended) / (mended @ mended) * direction


def pseudoinverse_step(jacobian, e, rows):
    """The Moore-Penrose inverse."""
    return np.linalg.pinv(jacobian, rcond=1e-3) @ e


def damped_step(jacobian, e, rows):
    """Buss Eq. 11, with Chiaverini's damping."""
    smallest = np.linalg.svd(jacobian, compute_uv=False)[-1]
    square = max(0.0, 1.0 - (smallest / 0.05) ** 2) * 0.05**2
    dual = jacobian @ jacobian.T + square * np.eye(len(e))
    return jacobian.T @ np.linalg.solve(dual, e)


def clamped(vector, largest):
    """ClampMaxAbs."""
    size = max(abs(v) for v in vector)
    return vector if size <= largest else vector * largest / size


def buss_and_kim(jacobian, e, rows, gamma_max):
    """(dq, [(dq_i, gamma_i)]) as in the paper, for the rows of each end effector."""
    u, s, vt = np.linalg.svd(jacobian)
    terms = []
    for i in range(np.count_nonzero(s > 1e-9 * s[0])):
        n = sum(math.dist(u[part, i], np.zeros(len(part))) for part in rows)
        m = 0.0
        for part in rows:
            for j in range(jacobian.shape[1]):
                rho = math.sqrt(sum(jacobian[r, j] ** 2 for r in part))
                m += abs(vt[i, j]) * rho / s[i]
        gamma = min(1.0, n / m) * gamma_max
        terms.append((clamped((u[:, i] @ e) / s[i] * vt[i], gamma), gamma))
    return clamped(sum(term for term, _ in terms), gamma_max), terms


def step_by_numpy(name, jacobian, e, rows, max_step=np.inf):
    """The step (variables,) of a method for any J and e; `rows` of each goal."""
    if name == 'selectively_damped_least_squares':
        return buss_and_kim(jacobian, e, rows, max_step)[0]
    step = {
        'jacobian_transpose': transpose_step,
        'pseudoinverse': pseudoinverse_step,
        'damped_least_squares': damped_step,
    }[name](jacobian, e, rows)
    return clamped(step, max_step)


def goal_rows(problem):
    """The rows of the residual that belong to each goal."""
    return [list(range(*part.indices(10**6))) for part in problem.packed.goal_rows]
