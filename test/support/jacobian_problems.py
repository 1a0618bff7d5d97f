"""Problems for the tests of the Jacobian methods, and their first step."""

import numpy as np

import ik_core as ik
from ik_core import IkProblem, PositionTask, make_solver
from support import robots

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
            ik.Joint(f'j{i}', parent=parent, child=f'l{i}', origin=origin, axis=z, **kind)
        )
        parent, origin = f'l{i}', robots.transform(translation=[length, 0.0, 0.0])
    joints.append(ik.Joint('end', 'fixed', parent, 'tip', origin))
    return ik.Robot.from_joints('planar', ['base', *(j.child for j in joints)], joints)


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
    """(solver, state) at q."""
    solver = make_solver(name, **options)
    _, x = problem.start(q)
    return solver, solver.start(problem, problem.at(x))


def step_from(name, problem, q, **options):
    """The first step (variables,) from q, whether it makes things better or not."""
    solver, state = started(name, problem, q, **options)
    return solver.step(problem, state).at.x - state.at.x


def states(name, problem, q, steps, **options):
    """The states of a solve that nothing stops."""
    solver, state = started(name, problem, q, **options)
    yield state
    for _ in range(steps):
        state = solver.step(problem, state)
        yield state


def model(problem, q):
    """(J, e) at q: the Jacobian, and the error, target minus current."""
    at = problem.evaluate(q)
    return at.jacobian, -at.residual
