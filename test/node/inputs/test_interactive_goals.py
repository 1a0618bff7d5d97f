# SPDX-License-Identifier: Apache-2.0
"""Markers that are dragged: goals while they are held, at rest where they are let go.

The tests that drag run over the real package, as a client that publishes what RViz would.
"""

import importlib.util
import sys
from types import SimpleNamespace

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from lifecycle_msgs.msg import Transition
from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_srvs.srv import Trigger
from support.node_harness import URDF, is_still, load, reachable_goal, world
from visualization_msgs.msg import (
    InteractiveMarkerControl,
    InteractiveMarkerFeedback,
    InteractiveMarkerUpdate,
)
from visualization_msgs.srv import GetInteractiveMarkers

from ik_core.maths.rotations import matrix_from_quaternion
from ik_node.conversions import pose_to_transform, transform_to_pose
from ik_node.inputs.interactive_goals import InteractiveGoals, six_dof_marker

needs_package = pytest.mark.skipif(
    importlib.util.find_spec('interactive_markers') is None,
    reason='the package interactive_markers is not installed',
)
TOPIC = 'ik_node/interactive_goals'
TIP, ROOT = 'panda_hand_tcp', 'panda_link0'
DOWN, UP = InteractiveMarkerFeedback.MOUSE_DOWN, InteractiveMarkerFeedback.MOUSE_UP
DRAG = InteractiveMarkerFeedback.POSE_UPDATE
PANDA = load('panda')
PANDA_URDF = URDF / 'panda.urdf'
NEAR = PANDA.forward_kinematics(PANDA.middle_configuration + 0.1, TIP)


class Mouse:
    """A client that drags the markers of a world."""

    def __init__(self, world):
        self.world = world
        self.moves = []
        self.publisher = world.publisher(InteractiveMarkerFeedback, f'{TOPIC}/feedback', 10)
        world.node.create_subscription(InteractiveMarkerUpdate, f'{TOPIC}/update', self._note, 100)
        world.until(lambda: world.node.count_publishers(f'{TOPIC}/update'), 'no updates')

    def _note(self, update):
        for pose in update.poses:
            assert pose.header.frame_id == ROOT
            self.moves.append((pose.name, pose_to_transform(pose.pose)))
            self.world.inbox.put('moves', pose)

    def send(self, event, pose=None, frame=ROOT, tip=TIP, entry=0):
        """Publish an event; `pose` is (4, 4)."""
        message = InteractiveMarkerFeedback(event_type=event, marker_name=tip)
        message.header.frame_id = frame
        message.menu_entry_id = entry
        if pose is not None:
            message.pose = transform_to_pose(pose)
        self.publisher.publish(message)

    def markers(self):
        """Return all markers with their poses, by name."""
        service = f'{TOPIC}/get_interactive_markers'
        answer = self.world.call(GetInteractiveMarkers, service, GetInteractiveMarkers.Request())
        return {marker.name: marker for marker in answer.markers}

    def where(self, tip=TIP):
        """The pose (4, 4) of a marker."""
        return pose_to_transform(self.markers()[tip].pose)

    def until_at(self, goal, tip=TIP):
        """Wait until the marker is there."""
        self.world.until(lambda: np.allclose(self.where(tip), goal, atol=1e-5), 'marker')

    def until_at_rest(self):
        """Wait until the arm rests, with its marker at its tip."""
        self.world.until(
            lambda: (
                is_still(state := self.world.states[-1])
                and np.allclose(self.where(), tip_of(state), atol=1e-5)
            ),
            'rest',
        )


@pytest.fixture(scope='module')
def panda():
    """A running Panda."""
    with world(
        urdf_path=str(PANDA_URDF), tip_links=TIP, joint_limits__default__acceleration=10.0
    ) as it:
        it.more_states(1)
        yield it


@pytest.fixture
def mouse(panda):
    """A mouse on the Panda, which rests without a goal."""
    panda.call(Trigger, 'ik_node/reset', Trigger.Request())
    panda.until_code('idle')
    mouse = Mouse(panda)
    mouse.send(DOWN)  # ends a drag of the test before
    mouse.send(UP)
    mouse.until_at_rest()
    mouse.moves.clear()
    return mouse


def tip_of(state):
    """Return the tip's pose in a joint state of the Panda."""
    return PANDA.forward_kinematics(np.array(state.position[: PANDA.n]), TIP)


def test_a_marker_moves_along_and_turns_about_each_axis():
    marker = six_dof_marker('tip', 'root', NEAR, ['Reset'])
    modes = {
        InteractiveMarkerControl.MOVE_AXIS: [],
        InteractiveMarkerControl.ROTATE_AXIS: [],
    }
    for control in marker.controls:
        if control.interaction_mode in modes:
            o = control.orientation
            turn = matrix_from_quaternion(np.array((o.x, o.y, o.z, o.w)))
            modes[control.interaction_mode].append(turn[:, 0])
            axis = 'xyz'[int(np.argmax(turn[:, 0]))]
            assert control.name.endswith(axis)
    for axes in modes.values():
        assert np.allclose(axes, np.eye(3), atol=1e-12)
    assert (marker.header.frame_id, marker.name) == ('root', 'tip')
    assert marker.header.stamp.sec == marker.header.stamp.nanosec == 0
    assert np.allclose(pose_to_transform(marker.pose), NEAR)
    assert [(entry.id, entry.title) for entry in marker.menu_entries] == [(1, 'Reset')]


@needs_package
def test_there_is_a_marker_at_every_tip():
    robot = load('dual_arm')
    tips = robot.tips()[:2]
    with world(urdf_path=str(PANDA_URDF.with_name('dual_arm.urdf')), tip_links=tips) as it:
        q = np.array(it.more_states(1)[-1].position[: robot.n])
        markers = Mouse(it).markers()
    assert set(markers) == set(tips)
    for tip, marker in markers.items():
        assert marker.header.frame_id == robot.base_link
        assert np.allclose(pose_to_transform(marker.pose), robot.forward_kinematics(q, tip))


@needs_package
def test_a_dragged_marker_is_a_goal_and_stays_where_it_is_let_go(panda, mouse):
    goal = reachable_goal(PANDA, TIP, 3)
    mouse.send(DOWN, NEAR)
    mouse.send(DRAG, goal)
    panda.until(lambda: mouse.moves, 'the marker did not move')
    mouse.send(UP, goal)
    panda.until_code('reached')
    assert np.allclose(tip_of(panda.more_states(5)[-1]), goal, atol=2e-4)
    assert np.allclose(mouse.where(), goal)
    for name, pose in mouse.moves:  # never back to the arm, which was still on its way
        assert name == TIP
        assert np.allclose(pose, goal)


@needs_package
def test_the_pose_of_the_release_is_the_goal(panda, mouse):
    before, goal = reachable_goal(PANDA, TIP, 3), reachable_goal(PANDA, TIP, 4)
    for event, pose in ((DOWN, NEAR), (DRAG, before), (UP, goal)):
        mouse.send(event, pose)
    mouse.until_at(goal)
    panda.until_code('reached')
    assert np.allclose(tip_of(panda.more_states(5)[-1]), goal, atol=2e-4)


class Server:
    """Stands in for interactive_markers.InteractiveMarkerServer: keeps the callback and poses."""

    def __init__(self, *arguments, **options):
        self.poses, self.send = [], None

    def insert(self, marker, feedback_callback):
        self.send = feedback_callback

    def setPose(self, name, pose):  # noqa: N802 (the name in interactive_markers)
        self.poses.append((name, pose_to_transform(pose)))

    def applyChanges(self):  # noqa: N802
        pass

    def shutdown(self):
        pass


@pytest.fixture
def stub(monkeypatch):
    """Interactive goals without a node or the package: `events` sends them, `goals` were taken."""
    server, goals, refused = Server(), [], []

    def take(tip, message):
        goal = pose_to_transform(message.pose)
        goals.append(goal)
        return goal

    monkeypatch.setitem(
        sys.modules,
        'interactive_markers',
        SimpleNamespace(InteractiveMarkerServer=lambda *_, **__: server),
    )
    model = SimpleNamespace(
        parameters=SimpleNamespace(node=SimpleNamespace(interactive_markers='true')),
        tip_links=(TIP,),
        root_frame=PANDA.base_link,
    )
    health = SimpleNamespace(refuse=lambda topic, why: refused.append(why.reason))
    it = InteractiveGoals(
        None,
        health,
        SimpleNamespace(
            on_pose=take,
            receive=lambda topic, handler, tip, message: handler(message) is not None,
            last=lambda model, tip: goals[-1] if goals else np.eye(4),
        ),
        {},
    )
    it.open(model)

    def events(*pairs):
        for event, pose in pairs:
            message = InteractiveMarkerFeedback(event_type=event, marker_name=TIP)
            message.pose = transform_to_pose(pose)
            server.send(message)

    return SimpleNamespace(events=events, goals=goals, refused=refused, server=server)


ALIVE = InteractiveMarkerFeedback.KEEP_ALIVE
FIRST, LAST = reachable_goal(PANDA, TIP, 3), reachable_goal(PANDA, TIP, 4)


def test_a_release_takes_its_pose_and_ends_the_drag(stub):
    stub.events((DOWN, NEAR), (DRAG, FIRST), (UP, LAST), (ALIVE, FIRST), (UP, FIRST))
    assert np.allclose(stub.goals, [FIRST, LAST])
    assert np.allclose(stub.server.poses[-1][1], LAST)


def test_a_click_without_a_drag_is_no_goal(stub):
    stub.events((DOWN, NEAR), (UP, NEAR))
    assert stub.goals == []


def test_a_release_at_a_refused_pose_ends_the_drag(stub):
    bad = LAST.copy()
    bad[0, 3] = np.nan
    stub.events((DOWN, NEAR), (DRAG, FIRST), (UP, bad), (ALIVE, LAST))
    assert stub.refused == ['not_finite']
    assert np.allclose(stub.goals, [FIRST])
    assert np.allclose(stub.server.poses[-1][1], FIRST), 'the marker is put back'


@needs_package
def test_goals_are_given_while_dragging(panda, mouse):
    mouse.send(DOWN, NEAR)
    for goal in (reachable_goal(PANDA, TIP, 4), reachable_goal(PANDA, TIP, 5)):
        mouse.send(DRAG, goal)
        panda.until(
            lambda goal=goal: np.allclose(tip_of(panda.states[-1]), goal, atol=2e-4),
            'the arm did not follow the mouse',
        )


@needs_package
def test_a_marker_follows_goals_from_elsewhere_but_not_while_it_is_held(panda, mouse):
    first, second = reachable_goal(PANDA, TIP, 6), reachable_goal(PANDA, TIP, 7)
    panda.send_goal(transform_to_pose(first), ROOT)
    mouse.until_at(first)
    mouse.send(DOWN, first)
    panda.send_goal(transform_to_pose(second), ROOT)

    def there():
        mouse.send(InteractiveMarkerFeedback.KEEP_ALIVE, first)
        return np.allclose(tip_of(panda.states[-1]), second, atol=2e-4)

    panda.until(there, 'the arm did not move')
    assert not any(np.allclose(pose, second) for _, pose in mouse.moves)
    mouse.send(UP, first)
    mouse.until_at(second)


@needs_package
def test_without_a_goal_it_follows_the_tip(panda, mouse):
    for event in (DRAG, UP):
        mouse.send(event, reachable_goal(PANDA, TIP, 8))
    panda.until(lambda: not is_still(panda.states[-1]), 'the arm did not move')
    panda.call(Trigger, 'ik_node/reset', Trigger.Request())
    panda.until_code('idle')
    mouse.until_at_rest()


@needs_package
def test_the_frame_of_the_feedback_is_honoured(panda, mouse):
    frame = 'panda_link1'
    q = np.array(panda.states[-1].position[: PANDA.n])
    offset = np.eye(4)
    offset[:3, 3] = 0.3, 0.1, 0.2
    expected = PANDA.forward_kinematics(q, frame) @ offset
    assert not np.allclose(expected, offset, atol=0.1)
    mouse.send(DRAG, offset, frame)
    panda.until(lambda: mouse.moves, 'the marker did not move')
    assert np.allclose(mouse.moves[0][1], expected)
    panda.until(
        lambda: (
            np.allclose(tip_of(panda.states[-1]), expected, atol=2e-4)
            or panda.status.get('code') == 'closest'
        ),
        'the arm did not move',
    )


@needs_package
def test_what_is_refused_puts_the_marker_back(panda, mouse):
    before = mouse.where()
    bad = reachable_goal(PANDA, TIP, 9)
    bad[0, 3] = np.nan
    mouse.send(DRAG, bad)
    panda.until_refused('not_finite')
    mouse.send(DRAG, NEAR, 'nowhere')
    panda.until_refused('unknown_frame')
    assert np.allclose(mouse.where(), before)
    assert panda.status['code'] == 'idle'
    mouse.send(DRAG, NEAR, tip='nobody')
    mouse.send(250, NEAR)
    mouse.send(DRAG, NEAR)
    mouse.until_at(NEAR)


@needs_package
def test_the_menu_resets(panda, mouse):
    mouse.send(DRAG, reachable_goal(PANDA, TIP, 10))
    panda.until(lambda: panda.status.get('code') != 'idle', 'no goal')
    titles = [entry.title for entry in mouse.markers()[TIP].menu_entries]
    assert titles[0].startswith('Reset')
    mouse.send(InteractiveMarkerFeedback.MENU_SELECT, entry=1)
    panda.until_code('idle')
    mouse.send(InteractiveMarkerFeedback.MENU_SELECT, entry=77)
    for event in (DOWN, UP):
        mouse.send(event)
    mouse.until_at_rest()


@needs_package
def test_the_menu_goes_home(panda, mouse):
    home, goal = panda.states[0].position, reachable_goal(PANDA, TIP, 10)
    mouse.send(DRAG, goal)
    mouse.send(UP, goal)
    panda.until_code('reached')
    titles = [entry.title for entry in mouse.markers()[TIP].menu_entries]
    mouse.send(InteractiveMarkerFeedback.MENU_SELECT, entry=1 + titles.index('Home'))
    panda.until(lambda: panda.states[-1].position == home, 'home')


@needs_package
def test_markers_go_when_the_node_is_cleaned_up():
    with world(urdf_path=str(PANDA_URDF), tip_links=TIP) as it:
        mouse = Mouse(it)
        assert it.transition(Transition.TRANSITION_DEACTIVATE)
        mouse.send(DRAG, NEAR)
        it.until_refused('inactive')
        assert it.transition(Transition.TRANSITION_CLEANUP)
        it.until(
            lambda: not it.node.count_publishers(f'{TOPIC}/update'), 'the markers are still there'
        )


@needs_package
def test_markers_are_only_there_where_wanted():
    with world(urdf_path=str(PANDA_URDF), tip_links=TIP, interactive_markers=False) as it:
        it.more_states(1)
        assert not it.node.count_publishers(f'{TOPIC}/update')


@pytest.mark.parametrize(('wanted', 'level'), [('auto', 20), ('true', 30)])
def test_without_the_package_the_log_says_so_once(monkeypatch, wanted, level):
    monkeypatch.setitem(sys.modules, 'interactive_markers', None)
    every = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with world(autostart=False, urdf_path=str(PANDA_URDF), interactive_markers=wanted) as it:
        name = f'{it.namespace.strip("/")}.ik_node'

        def note(log):
            if log.name == name:  # the topic is everybody's
                it.inbox.put('log', log)

        it.node.create_subscription(Log, '/rosout', note, every)
        for transition in (Transition.TRANSITION_CONFIGURE, Transition.TRANSITION_CLEANUP):
            assert it.transition(transition)
        assert it.transition(Transition.TRANSITION_CONFIGURE)
        it.until(lambda: sum('robot panda:' in log.msg for log in it.inbox['log']) == 2, 'no log')
        said = [log.level for log in it.inbox['log'] if 'interactive_markers' in log.msg]
    assert said == [level]
