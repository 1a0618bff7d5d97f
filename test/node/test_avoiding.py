# SPDX-License-Identifier: Apache-2.0
"""A node that avoids collisions: its robot, its world, and that what it publishes stays clear."""

import time

import numpy as np
import pytest

pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from std_srvs.srv import SetBool, Trigger
from support.node_harness import is_still, load, snapshot
from support.panda_world import TIP, call, panda_world, text_of, topic_world, until_at
from support.twists import jog, twist

import ik_core as ik
from ik_core.collision import Collisions, load_world
from ik_core.exceptions import UnsupportedProblem
from ik_core.tracking.governor.clearance import Clearance
from ik_core.tracking.recording import read_recording, replay
from ik_node.robot_model import Model

CONFIGURE = Transition.TRANSITION_CONFIGURE
DEACTIVATE = Transition.TRANSITION_DEACTIVATE
SHUTDOWN = Transition.TRANSITION_ACTIVE_SHUTDOWN
MARGIN = 0.02
TABLE = 'table: {box: [1.0, 2.0, 0.1], xyz: [0.7, 0.0, 0.1]}\n'  # its top is at 0.15
DOWN = {'quaternion': (1.0, 0.0, 0.0, 0.0)}
IN_TABLE = ik.transform(position=(0.5, 0.0, 0.05), **DOWN)
ABOVE = ik.transform(position=(0.5, 0.1, 0.5), **DOWN)
FINGER = 'panda_finger_joint2'
MESH = """<robot name="meshes">
  <link name="base"><collision><geometry><box size="0.2 0.3 0.4"/></geometry></collision></link>
  <link name="arm"><collision><geometry><mesh filename="package://nowhere/arm.stl"/></geometry>
    </collision></link>
  <joint name="slide" type="prismatic"><parent link="base"/><child link="arm"/>
    <axis xyz="1 0 0"/><limit lower="-1" upper="1" velocity="1" effort="1"/></joint>
</robot>"""
BARE = MESH.replace('<mesh filename="package://nowhere/arm.stl"/>', '<box size="1 1 1"/>')
BARE = BARE.replace('collision>', 'visual>')


@pytest.fixture
def world_file(tmp_path):
    path = tmp_path / 'world.yaml'
    path.write_text(TABLE, encoding='utf-8')
    return path


@pytest.fixture
def node(world_file):
    with panda_world(**avoiding(world_file)) as it:
        it.more_states(1)
        yield it


def avoiding(world_file):
    return {'avoid': 'world', 'avoid_margin': MARGIN, 'world_file': str(world_file)}


def least(node, world_file):
    """The least distance [m] beyond the margin, at what was published and between."""
    robot = load('panda')
    collisions = Collisions(robot, load_world(world_file), margin=MARGIN)
    rows = np.array([list(state.position[: robot.n]) for state in node.states])
    rows = np.unique(np.concatenate([rows, 0.5 * (rows[1:] + rows[:-1])]), axis=0)
    near = (pair for q in rows for pair in collisions.distances(q, 0.1))
    return min((pair.distance - pair.margin for pair in near), default=np.inf)


def towards_the_table(node):
    """Send the goal in the table, and wait until the tip falls fast."""
    robot = load('panda')

    def height(state):
        return robot.forward_kinematics(np.array(state.position[: robot.n]), TIP)[2, 3]

    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    node.send_goal(IN_TABLE)
    node.until(lambda: height(node.states[-1]) < 0.4, 'motion towards the table')


def logged(node, text):
    return [message.msg for message in node.inbox['/rosout'] if text in message.msg]


def until_logged(node, text):
    node.until(lambda: logged(node, text), f'a log of {text!r}')


# --- what is asked for ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('wrong', 'reason'),
    [
        ({'avoid': 'world', 'world_file': '/no/such/world.yaml'}, '/no/such/world.yaml'),
        ({'avoid': 'world', 'world_file': 'BROKEN'}, "line 1: 'table': unknown 'bax'"),
        ({'avoid': 'world', 'world_file': 'CARRIED'}, 'no_such_link'),
        ({'avoid': 'self', 'robot_description': BARE}, 'has no collision geometry'),
        ({'avoid': 'self', 'robot_description': MESH}, 'package://nowhere/arm.stl'),
        (
            {'avoid': 'self', 'start_state_topic': 'measured'},
            f'list in command_joints what is published, without {FINGER}',
        ),
    ],
    ids=['missing', 'broken', 'link', 'no geometry', 'no mesh', 'mimic'],
)
def test_what_can_not_be_avoided_is_refused_with_its_reason(wrong, reason, tmp_path):
    texts = {
        'BROKEN': 'table: {bax: [1.0, 1.0, 1.0]}',
        'CARRIED': 'tool: {sphere: 0.1, link: no_such_link}',
    }
    if wrong.get('world_file') in texts:
        path = tmp_path / 'world.yaml'
        path.write_text(texts[wrong['world_file']], encoding='utf-8')
        wrong = wrong | {'world_file': str(path)}
    tips = {'tip_links': ['']} if 'robot_description' in wrong else {}
    with panda_world(autostart=False, **wrong, **tips) as node:
        node._listen(Log, '/rosout', 100)
        node.until(lambda: node.node.count_publishers('/rosout'), 'the log')
        assert not node.transition(CONFIGURE)
        until_logged(node, reason)
        assert node.set_parameters(avoid='none').successful
        assert node.transition(CONFIGURE)


def test_published_mimic_joints_are_refused_where_they_would_have_to_move_into_line():
    robot = load('panda')
    collisions = Collisions(robot)
    apart = {'panda_finger_joint1': 0.03, FINGER: 0.01}
    options = {'tip_links': (TIP,), 'avoid': 'self'}
    Model(robot, snapshot(**options), avoided=collisions)
    with pytest.raises(UnsupportedProblem, match=FINGER):
        Model(robot, snapshot(**options), apart, collisions)
    arm = tuple(f'panda_joint{i}' for i in range(1, 8))
    for output in ('joint_trajectory', 'position_command'):
        with_finger = snapshot(output=output, command_joints=(*arm, FINGER), **options)
        with pytest.raises(UnsupportedProblem, match=FINGER):
            Model(robot, with_finger, avoided=collisions)
        Model(robot, snapshot(output=output, **options), avoided=collisions)


# --- motion --------------------------------------------------------------------------------------


def test_a_goal_in_a_table_ends_above_it_and_the_status_names_both(node, world_file):
    robot = load('panda')
    node._listen(Log, '/rosout', 100)
    towards_the_table(node)
    node.until_code('obstacle')
    node.until(lambda: is_still(node.states[-1]), 'rest')
    status = node.status
    assert 'table' in status['obstacle'].split(', ')
    assert ' and '.join(status['obstacle'].split(', ')) in status['text']
    assert MARGIN <= float(status['obstacle_distance [m]']) < MARGIN + 0.003
    assert status['text'].endswith(' mm apart')
    assert status['goal_has_ended'] == 'true'
    until_logged(node, 'an obstacle is in the way of the goal')
    assert 'table' in logged(node, 'an obstacle is in the way of the goal')[-1]
    assert -1e-9 <= least(node, world_file) < 0.003
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    node.until_code('reached')
    assert 'obstacle' not in node.status


def test_a_jog_stops_above_the_table_and_the_log_names_both(node, world_file):
    robot = load('panda')
    node._listen(Log, '/rosout', 100)
    node.send_goal(ABOVE)
    until_at(node, robot, ABOVE)
    text = 'the jog is blocked'
    jog(node, twist((0.0, 0.0, -0.2)), lambda: logged(node, text), 'a jog into the table')
    assert 'table' in logged(node, text)[-1]
    assert node.status['code'] == 'obstacle'
    assert -1e-9 <= least(node, world_file) < 0.003


def test_a_recording_repeats_the_motion_beside_an_obstacle(world_file, tmp_path):
    with panda_world(record_folder=str(tmp_path), **avoiding(world_file)) as node:
        node.more_states(1)
        answer = call(node, SetBool, 'record', data=True)
        assert answer.success, answer.message
        towards_the_table(node)
        node.until_code('obstacle')
        answer = call(node, SetBool, 'record', data=False)
        assert answer.success, answer.message
        node.until(lambda: list(tmp_path.glob('*.npz')), 'a file')
        (path,) = tmp_path.glob('*.npz')
        (segment,) = replay(read_recording(path))
        assert segment.is_same


@pytest.mark.parametrize('stop', ['pause', 'reset', 'deactivate', 'shutdown'])
def test_a_stop_on_the_way_to_an_obstacle_keeps_the_margin(node, world_file, stop):
    towards_the_table(node)
    if stop == 'pause':
        assert call(node, SetBool, 'pause', data=True)
    elif stop == 'reset':
        assert call(node, Trigger, 'reset')
    else:
        assert node.transition(DEACTIVATE if stop == 'deactivate' else SHUTDOWN)
    node.until(lambda: is_still(node.states[-1]), 'rest')
    assert least(node, world_file) >= -1e-9


def test_lowered_limits_on_the_way_to_an_obstacle_keep_the_margin(node, world_file):
    towards_the_table(node)
    assert node.set_parameters(joint_limits__default__acceleration=0.5).successful
    node.until_code('obstacle')
    assert least(node, world_file) >= -1e-9


def test_after_errors_in_checks_the_kept_stop_is_published(node, world_file, monkeypatch):
    def fail(*_):
        raise ArithmeticError('a check that fails')

    towards_the_table(node)
    with monkeypatch.context() as patch:
        patch.setattr(Clearance, 'shows', fail)
        node.until(lambda: is_still(node.states[-1]), 'rest')
        assert node.ik_node._health.errors > 0
    assert least(node, world_file) >= -1e-9
    node.until_code('obstacle')  # it goes on to the table
    assert least(node, world_file) >= -1e-9


# --- swaps ---------------------------------------------------------------------------------------


def test_another_robot_avoids_too_and_one_that_can_not_is_refused(world_file):
    with topic_world(**avoiding(world_file)) as node:
        node.send_description(text_of('panda'))
        node.more_states(1)
        node.send_description(MESH)
        node.until(lambda: int(node.diagnostics.get('errors', 0)) > 0, 'a refusal')
        node.send_description(text_of('panda').replace('name="panda"', 'name="another"', 1))
        node.until(lambda: node.ik_node._motion.model.robot.name == 'another', 'the other robot')
        before = time.time_ns()
        node.until(lambda: node._published > before, 'its states')
        towards_the_table(node)
        node.until_code('obstacle')
        assert least(node, world_file) >= -1e-9
