# SPDX-License-Identifier: Apache-2.0
"""The page about a running node, in a real browser: what is done there arrives at the node."""

import signal
from contextlib import ExitStack

import numpy as np
import pytest

pytest.importorskip('rclpy')
pytest.importorskip('playwright')
pytest.importorskip('viser')

import rclpy
from geometry_msgs.msg import PoseStamped
from rcl_interfaces.srv import GetParameters
from support.node_harness import (
    DOMAIN,
    PATIENCE,
    Client,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
)
from support.panda_world import text_of
from support.shown_page import shown

from ik_viewer.page.page import PARTS
from ik_viewer.ros.ros_arm import RosArm

pytestmark = pytest.mark.long
ARRIVED = 1e-4  # [m]
GIZMO = 50  # [pixels] Links nearer to the tip may be hidden by its gizmo
UNDER_THE_MOUSE = 5e-3  # [m] A few pixels


@pytest.fixture(scope='module')
def client():
    """Publishes the Panda, and listens to the goals of its tip."""
    it = Client(unique_namespace())
    topic = f'{load("panda").default_tip()}/goal_pose'
    it.node.create_subscription(PoseStamped, topic, lambda m: it.inbox.put('goal', m), 10)
    yield it
    it.close()


@pytest.fixture(scope='module')
def page(client):
    """A page about the node of that namespace, which need not run."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    arm = RosArm(f'{client.namespace}/ik_node', context=context)
    try:
        with shown(arm) as it:
            yield it
    finally:
        arm.close()
        context.try_shutdown()


class Runs:
    """The node, in a process of its own that can be ended and begun again."""

    def __init__(self, namespace):
        self._namespace, self._stack = namespace, ExitStack()
        self.begin()

    def begin(self):
        """Start it."""
        self._process = self._stack.enter_context(node_process(self._namespace))

    def end(self):
        """Interrupt it, and wait for its end."""
        self._process.send_signal(signal.SIGINT)
        assert self._process.wait(PATIENCE) == 0
        self.close()

    def close(self):
        """Nothing runs any more."""
        self._stack.close()


@pytest.fixture(scope='module')
def node(client):
    it = Runs(client.namespace)
    yield it
    it.close()


def show(page, client, name):
    """Let the node move this robot, and wait until the page shows it."""
    client.send_description(text_of(name))
    until_shown(page, name)


def until_shown(page, name):
    """Wait until the page shows a robot that was given no goal."""
    page.until(lambda: page.moment and page.arm.description.robot.name == name, name)
    page.until_it_says('no goal')
    page.until_it_says(load(name).default_tip())


@pytest.fixture
def panda(page, client, node):
    """The page, with the Panda."""
    if page.moment is None or page.arm.description.robot.name != 'panda':
        show(page, client, 'panda')
    return page


def test_a_drag_is_a_goal_on_the_topic_and_the_tip_arrives(panda, client):
    wanted = panda.drag([0.0, 0.08, 0.05])
    client.until(lambda: is_near(client.inbox['goal'], wanted), 'the goal on the topic')
    panda.until(lambda: has_goal(panda, wanted), 'the goal on the page')
    goal = panda.moment.tips[0].goal
    panda.until(lambda: panda.error(goal) < ARRIVED, 'the tip to arrive')
    panda.until_it_says('reached')


def is_near(messages, pose):
    """Return whether the last of these goals is where the mouse let go."""
    if not messages:
        return False
    at = messages[-1].pose.position
    return np.abs([at.x, at.y, at.z] - pose[:3, 3]).max() < UNDER_THE_MOUSE


def has_goal(page, pose):
    """Return whether the page knows of a goal there."""
    goal = page.moment and page.moment.tips[0].goal
    return goal is not None and np.abs(goal - pose).max() < UNDER_THE_MOUSE


def test_another_solver_in_the_list_is_another_parameter_of_the_node(panda, client):
    def solver():
        request = GetParameters.Request(names=['solver'])
        answer = client.call(GetParameters, 'ik_node/get_parameters', request)
        return answer.values[0].string_value

    assert solver() == 'levenberg_marquardt'
    panda.tab.get_by_role('tab', name='Solver', exact=True).click()
    panda.tab.locator('input[value=levenberg_marquardt]').first.click()
    panda.tab.get_by_role('option', name='jacobian_transpose', exact=True).click()
    panda.until(lambda: solver() == 'jacobian_transpose', 'the parameter')
    panda.until_it_says('step length')  # an option of the new one


def test_a_node_that_ends_is_told_and_one_that_begins_is_shown_and_followed(panda, client, node):
    node.end()
    panda.until_it_says('does not answer')
    node.begin()
    until_shown(panda, 'panda')
    goal = reachable_goal(load('panda'), load('panda').default_tip(), 1)
    client.send_goal(goal)
    panda.until(lambda: has_goal(panda, goal), 'the goal on the page')
    panda.until(lambda: panda.error(goal) < ARRIVED, 'the tip to arrive')
    panda.until_it_says('reached')
    panda.until(lambda: np.abs(panda.gizmo.pose - goal).max() < ARRIVED, 'the gizmo at the goal')


def test_another_robot_takes_the_place_of_the_one_before(panda, client):
    show(panda, client, 'ur5e')
    panda.until(lambda: panda.tab.get_by_role('tab').count() == len(PARTS), 'one set of tabs')
    panda.tab.get_by_role('tab', name='Joints', exact=True).click()
    panda.until_it_says('wrist_3_joint')
    assert panda.tab.get_by_text('panda_joint1').count() == 0
    differs, _ = panda.robot_pixels()
    row, column = panda.places()
    is_clear = np.hypot(row - row[-1], column - column[-1]) > GIZMO
    assert is_clear.sum() > 5
    assert differs[row[is_clear], column[is_clear]].all()
    assert panda.errors == []
