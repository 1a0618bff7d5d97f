# SPDX-License-Identifier: Apache-2.0
"""config/sros2_policy.xml beside what running nodes use: nothing missing, nothing superfluous."""

import importlib.util
from fnmatch import fnmatch
from typing import NamedTuple
from xml.etree import ElementTree

import pytest

rclpy = pytest.importorskip('rclpy')

from support.node_harness import ROOT, URDF, world

POLICY = ROOT / 'config' / 'sros2_policy.xml'
TIP = 'panda_hand_tcp'
PANDA = URDF / 'panda.urdf'
BY_FILE = {'urdf_path': str(PANDA), 'tip_links': TIP, 'interactive_markers': False}
# Services that not every rclpy has
NOT_EVERYWHERE = {'get_type_description', 'get_transition_graph'}


class Right(NamedTuple):
    """A right that a node has, or uses: to 'publish', 'subscribe', 'reply' or 'request' a name."""

    node: str
    what: str
    name: str


def rights_of(profile, namespace):
    """The rights that a profile gives."""
    node = profile.get('node')
    for group in profile:
        if not isinstance(group.tag, str):
            continue  # a comment
        (what,) = group.attrib
        assert group.get(what) == 'ALLOW'
        for entry in group:
            name = entry.text.replace('~', f'{namespace}/{node}')
            yield Right(node, what, name if name.startswith('/') else f'{namespace}/{name}')


def read_policy(namespace):
    """The rights that the policy gives, and those in its comments by what they are for."""
    builder = ElementTree.TreeBuilder(insert_comments=True)
    policy = ElementTree.fromstring(POLICY.read_text(), ElementTree.XMLParser(target=builder))
    (profiles,) = policy.iter('profiles')
    (profile,) = profiles.iterfind('profile')
    given, options = set(rights_of(profile, namespace)), {}
    for parent in (profiles, profile):
        for child in parent:
            if not isinstance(child.tag, str):
                purpose, _, text = child.text.strip().partition('\n')
                part = ElementTree.fromstring(f'<profile node="ik_node">{text}</profile>')
                inner = part.find('profile')
                options[purpose] = set(rights_of(part if inner is None else inner, namespace))
    return given, options


def live(it):
    """Return what the nodes of a world publish, subscribe to and serve."""
    ask = it.node
    kinds = {
        'publish': ask.get_publisher_names_and_types_by_node,
        'subscribe': ask.get_subscriber_names_and_types_by_node,
        'reply': ask.get_service_names_and_types_by_node,
        'request': ask.get_client_names_and_types_by_node,
    }
    nodes = [
        node
        for node, namespace in ask.get_node_names_and_namespaces()
        if namespace == it.namespace and node != 'client'
    ]
    clock = f'{it.namespace}/clock'  # where the tests have their /clock
    return {
        Right(node, what, '/clock' if name == clock else name)
        for node in nodes
        for what, names in kinds.items()
        for name, _ in names(node, it.namespace)
    }


def differences(rights, uses):
    """Return the entities without a right, and the rights without an entity."""

    def fits(right, use):
        return right[:2] == use[:2] and fnmatch(use.name, right.name)

    missing = {use for use in uses if not any(fits(right, use) for right in rights)}
    unused = {right for right in rights if not any(fits(right, use) for use in uses)}
    return missing, {right for right in unused if right.name.split('/')[-1] not in NOT_EVERYWHERE}


def check(purpose, parameters, *, unused=(), also=''):
    """Hold a running node against the policy with the parts for these purposes taken in.

    So is the part for tf2, which a node listens to wherever that is installed.
    """
    with world(**parameters) as it:
        if 'urdf_path' not in parameters:
            it.send_description(PANDA.read_text())
        rights, options = read_policy(it.namespace)
        optional = ['tf2_ros']
        optional += ['controller_manager_msgs'] if purpose.startswith('output') else []
        optional += ['control_msgs'] if 'joint_trajectory' in purpose else []
        installed = [package for package in optional if importlib.util.find_spec(package)]
        for wanted in filter(None, [purpose, also, *installed]):
            rights |= next(part for key, part in options.items() if key.startswith(wanted))
        rights -= {Right('ik_node', what, f'{it.namespace}/{topic}') for what, topic in unused}
        try:
            it.until(lambda: differences(rights, live(it)) == (set(), set()), 'fit', seconds=300.0)
        except AssertionError:
            missing, unused = differences(rights, live(it))
            raise AssertionError(f'missing: {missing}; superfluous: {unused}') from None


def test_it_gives_what_the_node_uses_and_no_more():
    check('', BY_FILE)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_what_other_outputs_need_stands_in_comments(output):
    purpose = f'output: {output}'
    elsewhere = {
        'joint_trajectory': 'joint_trajectory_controller/joint_trajectory',
        'position_command': 'forward_position_controller/commands',
    }
    state = 'subscribe', 'joint_trajectory_controller/controller_state'
    unused = [('publish', 'joint_states'), ('publish', elsewhere[output]), state]
    check(purpose, {**BY_FILE, 'output': output}, unused=unused)


def test_the_topics_of_the_shipped_controllers_are_allowed():
    """The launch file remaps these topics; rights are for the names after remapping."""
    _, options = read_policy('')
    launch = (ROOT / 'launch' / 'ros2_control.launch.py').read_text('utf-8')
    assert "('controller', 'joint_trajectory_controller'" in launch
    rights = next(part for key, part in options.items() if 'joint_trajectory' in key)
    topic = '/joint_trajectory_controller/joint_trajectory'
    assert Right('ik_node', 'publish', topic) in rights


def test_without_a_right_configuring_fails_in_a_sentence(monkeypatch):
    """As rcl refuses a publisher that SROS 2 does not allow."""
    from lifecycle_msgs.msg import Transition
    from rclpy.impl.implementation_singleton import rclpy_implementation

    with world(**BY_FILE, autostart=False) as it:

        def refuse(*arguments, **options):
            raise rclpy_implementation.RCLError('not allowed, at /src/rcl/publisher.c:1')

        monkeypatch.setattr(it.ik_node, 'create_lifecycle_publisher', refuse)
        assert not it.transition(Transition.TRANSITION_CONFIGURE)
        assert it.state() == 'unconfigured'
        monkeypatch.undo()
        assert it.transition(Transition.TRANSITION_CONFIGURE)


def test_what_a_robot_by_topic_needs_stands_in_a_comment():
    without_file = {name: value for name, value in BY_FILE.items() if name != 'urdf_path'}
    check('without robot_description', without_file)


def test_what_simulated_time_needs_stands_in_a_comment():
    check('use_sim_time', {**BY_FILE, 'use_sim_time': True})


def test_what_obstacles_by_topics_need_stands_in_a_comment():
    check('avoid: world', {**BY_FILE, 'avoid': 'world'})


def test_what_hands_need_stands_in_comments():
    check('input: teleop', {**BY_FILE, 'input': 'teleop'})
    unused = [('subscribe', name) for name in ('hand_engaged', '*/hand_engaged')]
    pad = {**BY_FILE, 'input': 'teleop', 'teleop.button': 0}
    check('input: teleop', pad, unused=unused, also='teleop.button')


@pytest.mark.parametrize(
    ('purpose', 'package', 'parameters'),
    [
        ('interactive_markers', 'interactive_markers', {'interactive_markers': True}),
        ('compute_ik', 'moveit_msgs', {'compute_ik': True}),
    ],
)
def test_what_optional_packages_need_stands_in_comments(purpose, package, parameters):
    if importlib.util.find_spec(package) is None:
        pytest.skip(f'{package} is not installed')
    check(purpose, {**BY_FILE, **parameters})


def test_it_follows_the_schema_of_sros2():
    policy = pytest.importorskip('sros2.policy')
    assert policy.load_policy(POLICY).getroot().get('version') == '0.2.0'


def test_nothing_is_allowed_by_a_wildcard_but_the_goals_of_tips():
    given, options = read_policy('')
    rights = given.union(*options.values())
    wild = {right.name for right in rights if '*' in right.name}
    of_tips = 'goal_pose', 'delta_twist_cmds', 'hand_pose', 'hand_engaged'
    assert wild == {f'/*/{topic}' for topic in of_tips}
    assert {right.what for right in rights} == {'publish', 'subscribe', 'reply', 'request'}
