# SPDX-License-Identifier: Apache-2.0
"""The lifecycle: its transitions, and what can be done in which state."""

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from rclpy.lifecycle import TransitionCallbackReturn
from rclpy.utilities import get_rmw_implementation_identifier
from support.node_harness import URDF, check_states, is_still, load, reachable_goal
from support.panda_world import ACCELERATION, RATE, TIP, panda_world

from ik_node.control_loop import ControlLoop
from ik_node.inputs.goal_topics import Goals
from ik_node.inputs.robot_description import Description
from ik_node.inputs.tf_frames import TfFrames
from ik_node.node import IkNode
from ik_node.robot_swap import RobotSwap
from ik_node.services.compute_ik import ComputeIk
from ik_node.services.controls import Controls
from ik_node.services.recording import RecordService

CONFIGURE = Transition.TRANSITION_CONFIGURE
ACTIVATE = Transition.TRANSITION_ACTIVATE
DEACTIVATE = Transition.TRANSITION_DEACTIVATE
CLEANUP = Transition.TRANSITION_CLEANUP


def test_all_transitions_and_then_again():
    with panda_world(autostart=False) as node:
        for _ in range(2):
            assert node.state() == 'unconfigured'
            assert node.transition(CONFIGURE)
            assert node.state() == 'inactive'
            before = len(node.states)
            assert node.transition(ACTIVATE)
            assert node.state() == 'active'
            node.more_states()
            assert node.transition(DEACTIVATE)
            assert node.state() == 'inactive'
            count = len(node.states)
            assert count > before
            assert node.transition(ACTIVATE)
            node.more_states()
            assert node.transition(DEACTIVATE)
            assert node.transition(CLEANUP)


def test_goals_are_refused_while_inactive():
    with panda_world(autostart=False) as node:
        assert node.transition(CONFIGURE)
        node.send_goal(reachable_goal(load('panda'), TIP, 6))
        node.until_refused('inactive')
        node.until_code('inactive')


def test_deactivating_on_the_way_brings_the_joints_to_rest_first():
    robot = load('panda')
    with panda_world() as node:
        node.more_states(1)
        node.send_goal(reachable_goal(robot, TIP, 7))
        node.until_moving(0.5)
        assert node.transition(DEACTIVATE)
        node.until(lambda: is_still(node.states[-1]), 'rest')
        last = node.states[-1]
        assert node.transition(ACTIVATE)
        again = node.more_states(1)[-1]
        np.testing.assert_allclose(again.position, last.position, atol=1e-9)
        check_states(node.states, robot, RATE, acceleration=ACCELERATION)


@pytest.mark.parametrize(
    ('wrong', 'right'),
    [
        ({'urdf_path': '/no/such/file.urdf'}, {'urdf_path': str(URDF / 'panda.urdf')}),
        ({'tip_links': ['no_such_link']}, {'tip_links': [TIP]}),
        ({'base_link': 'no_such_link'}, {'base_link': ''}),
        ({'tip_links': [TIP, TIP]}, {'tip_links': [TIP]}),
    ],
)
def test_what_can_not_be_configured_can_be_corrected(wrong, right):
    with panda_world(autostart=False) as node:
        assert node.set_parameters(**wrong).successful
        assert not node.transition(CONFIGURE)
        assert node.state() == 'unconfigured'
        assert node.set_parameters(**right).successful
        assert node.transition(CONFIGURE)
        assert node.transition(ACTIVATE)
        node.more_states()


def test_static_parameters_are_fixed_until_cleanup():
    with panda_world() as node:
        node.more_states(1)
        result = node.set_parameters(rate=100.0)
        assert not result.successful
        assert 'only while the node is unconfigured' in result.reason
        assert node.transition(DEACTIVATE)
        assert not node.set_parameters(rate=100.0).successful
        assert node.transition(CLEANUP)
        assert node.set_parameters(rate=100.0).successful
        assert node.transition(CONFIGURE)
        assert node.transition(ACTIVATE)
        before = len(node.states)
        node.more_states()
        check_states(node.states[before:], load('panda'), 100.0, acceleration=ACCELERATION)


@pytest.mark.skipif(
    get_rmw_implementation_identifier() != 'rmw_fastrtps_cpp',
    reason='other middleware takes a topic with two types',
)
def test_a_failure_on_the_way_leads_back_to_unconfigured():
    """Fast DDS refuses a topic with two types: a failure that the node does not foresee."""
    remap = ('clicked_point', 'goal_pose')
    with panda_world(autostart=False, remap=remap) as node:
        assert not node.transition(CONFIGURE)
        assert node.state() == 'unconfigured'
        node.until_code('unconfigured')
        assert not node.transition(CONFIGURE), 'it can be tried again'
        assert node.set_parameters(rate=100.0).successful, 'static parameters can change'


def names_of(node):
    """Return the names of a node's subscriptions, publishers and services."""
    return {
        'subscriptions': sorted(s.topic_name for s in node.subscriptions),
        'publishers': sorted(p.topic_name for p in node.publishers),
        'services': sorted(s.srv_name for s in node.services),
    }


PARTS = [
    RecordService,
    ControlLoop,
    Description,
    Goals,
    Controls,
    ComputeIk,
    TfFrames,
    RobotSwap,
]


@pytest.mark.parametrize('part', PARTS, ids=lambda part: part.__name__)
def test_what_one_part_raises_at_its_end_leaves_no_other_open(part, monkeypatch):
    name = 'forget' if part is RobotSwap else 'close'
    close = getattr(part, name)
    # which would close what is left open
    monkeypatch.setattr(IkNode, 'on_error', lambda *_: TransitionCallbackReturn.SUCCESS)

    def close_and_fail(self):
        close(self)
        raise RuntimeError('planted')

    with panda_world(autostart=False) as it:
        before = names_of(it.ik_node)
        assert it.transition(CONFIGURE)
        assert it.transition(ACTIVATE)
        it.more_states(1)
        assert it.transition(DEACTIVATE)
        monkeypatch.setattr(part, name, close_and_fail)
        assert not it.transition(CLEANUP)
        monkeypatch.undo()
        assert names_of(it.ik_node) == before
        assert it.set_parameters(rate=100.0).successful, 'static parameters can change'
