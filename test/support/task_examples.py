# SPDX-License-Identifier: Apache-2.0
"""One example of every kind of task, for the tests that run over all of them.

Each makes a task for a link of a robot, with numbers from a random generator; a goal's target is
set by who asks for it.
The robot has to have masses, as those of `robots.weighed`.
`test_task_contract.py` misses a task that has no example.
"""

import ik_core as ik
from ik_core.maths.rotations import quaternion_from_matrix
from support import robots

GOALS = {
    ik.PoseTask: lambda robot, link, rng: ik.PoseTask(
        link, position_weights=rng.uniform(0.5, 2.0, 3), tool=robots.random_transform(rng, 0.2)
    ),
    ik.PositionTask: lambda robot, link, rng: ik.PositionTask(link, weights=(2.0, 1.0, 0.5)),
    ik.OrientationTask: lambda robot, link, rng: ik.OrientationTask(link, weights=(0.5, 1.0, 2.0)),
    ik.AxisTask: lambda robot, link, rng: ik.AxisTask(link, rng.normal(size=3), weight=2.0),
    ik.PositionAxisTask: lambda robot, link, rng: ik.PositionAxisTask(
        link, axis_weight=0.7, tool=robots.random_transform(rng, 0.2)
    ),
    ik.TwoAxisTask: lambda robot, link, rng: ik.TwoAxisTask(link, weight=0.6),
}


def end_effector_pattern(robot, link, rng):
    """With all of its terms at work."""
    task = ik.tasks.EndEffectorPatternTask(
        link, weights=(0.7, 0.4, 1.1), velocity_weight=0.3, acceleration_weight=0.1, period=0.5
    )
    return _moved(task, lambda q: robot.forward_kinematics(q, link)[:3, 3], robot, rng)


def orientation_pattern(robot, link, rng):
    """With all of its terms at work."""
    task = ik.tasks.OrientationPatternTask(
        link, weights=0.7, velocity_weight=0.3, acceleration_weight=0.1, period=0.5
    )

    def value(q):
        return quaternion_from_matrix(robot.forward_kinematics(q, link)[:3, :3])

    return _moved(task, value, robot, rng)


def joint_pattern(robot, link, rng):
    """With all of its terms at work."""
    task = ik.tasks.JointPatternTask(velocity_weight=0.2, acceleration_weight=0.4, length=2.0)
    return _moved(task, lambda q: q, robot, rng)


def _moved(task, value, robot, rng):
    """A pattern task that has followed three frames."""
    q = rng.normal(size=(4, robot.n))
    task.next_frame(value(q[0]), robot)
    task.next_frame(value(q[1]), robot, q[2])
    task.next_frame(value(q[2]), robot, q[3])
    return task


def coupled(robot, link, rng):
    """Two tasks with weights of which none is 0."""
    factor = rng.normal(size=(3 + robot.n, 3 + robot.n))
    position = ik.PositionTask(link, rng.normal(size=3))
    return ik.tasks.CoupledTask(
        [position, ik.PostureTask(robots.random_q(robot, rng))], factor.T @ factor
    )


def reach_cone(robot, link, rng):
    """A narrow cone, which random configurations are outside of."""
    cone = ik.robot.ReachCone.sinus(
        link, robot.base_link, rng.normal(size=3), -rng.normal(size=3), (1, 2, 3), (0.2, 0.1, 0.3)
    )
    return ik.tasks.ReachConeTask(cone, weight=2.0)


OTHERS = {
    ik.tasks.CentreOfMassTask: lambda robot, link, rng: ik.tasks.CentreOfMassTask(
        robot.centre_of_mass(robots.random_q(robot, rng)), weights=(2.0, 1.0, 0.0)
    ),
    ik.PostureTask: lambda robot, link, rng: ik.PostureTask(
        robots.random_q(robot, rng), weights=rng.uniform(0.1, 2.0, robot.n)
    ),
    ik.tasks.SmoothnessTask: lambda robot, link, rng: ik.tasks.SmoothnessTask(
        robots.random_q(robot, rng), stiffness=rng.uniform(0.1, 2.0, robot.n), length=0.5
    ),
    ik.tasks.CoupledTask: coupled,
    ik.tasks.LimitAvoidanceTask: lambda robot, link, rng: ik.tasks.LimitAvoidanceTask(weight=3.0),
    ik.tasks.ManipulabilityTask: lambda robot, link, rng: ik.tasks.ManipulabilityTask(
        link, weight=2.0, rows='pose' if robot.n > 5 else 'position', length=0.3
    ),
    ik.tasks.ReachConeTask: reach_cone,
    ik.tasks.EndEffectorPatternTask: end_effector_pattern,
    ik.tasks.OrientationPatternTask: orientation_pattern,
    ik.tasks.JointPatternTask: joint_pattern,
}

EXAMPLES = GOALS | OTHERS
