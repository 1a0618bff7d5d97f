# SPDX-License-Identifier: Apache-2.0
"""The Panda in a running node, and where its tip is."""

import math

import numpy as np

from support.node_harness import URDF, world

RATE = 200.0
ACCELERATION = 20.0
TIP = 'panda_hand'


def text_of(name):
    """The description of a shipped robot."""
    return (URDF / f'{name}.urdf').read_text(encoding='utf-8')


def panda_world(**parameters):
    """A node that moves the Panda, unless the parameters say otherwise; see `world`."""
    return world(
        **{
            'urdf_path': str(URDF / 'panda.urdf'),
            'tip_links': [TIP],
            'rate': RATE,
            'joint_limits__default__acceleration': ACCELERATION,
        }
        | parameters
    )


def topic_world(**parameters):
    """A node that waits for its robot on the topic."""
    return panda_world(urdf_path='', **parameters)


def tip_of(robot, message, tip=TIP):
    """The transform of a tip at a joint state."""
    return robot.forward_kinematics(np.array(message.position)[: robot.n], tip)


def is_at(robot, message, goal, tip=TIP, metres=2e-5, radians=2e-4):
    """Return whether a joint state of this robot has the tip at the goal (4, 4)."""
    if len(message.name) != robot.n + len(robot.mimic_joints):
        return False
    there = tip_of(robot, message, tip)
    turn = np.linalg.norm(there[:3, :3] - goal[:3, :3]) / math.sqrt(2.0)
    return np.linalg.norm(there[:3, 3] - goal[:3, 3]) < metres and turn < radians


def until_at(node, robot, goal, tip=TIP):
    """Wait until the tip is at the goal."""
    node.until(lambda: is_at(robot, node.states[-1], goal, tip), f'{tip} at\n{goal}')


def moved(robot, node, start):
    """Return the distance of the tip from `start` [m or rad]."""
    tip = tip_of(robot, node.states[-1])
    turn = np.linalg.norm(tip[:3, :3] - start[:3, :3]) / math.sqrt(2.0)
    return max(np.linalg.norm(tip[:3, 3] - start[:3, 3]), turn)


def call(node, kind, service, **request):
    """The answer of a service of the node."""
    return node.call(kind, f'ik_node/{service}', kind.Request(**request))
