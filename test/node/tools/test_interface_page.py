# SPDX-License-Identifier: Apache-2.0
"""docs/interface.md: made from the code, and what running nodes say of themselves."""

import importlib

import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.msg import Log
from rclpy.qos import DurabilityPolicy, QoSProfile, ReliabilityPolicy
from support.controlled_arm import ARM, START, Arm, controlled
from support.node_harness import ROOT, URDF, world

from ik_core import SOLVERS
from ik_node.parameters.specs import fixed_specs
from ik_node.texts import EVERY_MESSAGE
from ik_node.tools.interface_page import (
    ALWAYS,
    BEHIND,
    POSITION,
    PUBLISHERS,
    SERVICES,
    SUBSCRIPTIONS,
    TELEOP,
    TRAJECTORY,
    page,
)

TIP = 'panda_hand_tcp'
BY_FILE = {'urdf_path': str(URDF / 'panda.urdf'), 'tip_links': TIP, 'interactive_markers': False}
OF_EVERY_NODE = {'rosout', 'parameter_events', '~/transition_event', '/tf', '/tf_static', '/clock'}
STATE = '`output: joint_state`'


def test_the_page_is_current():
    command = 'python -m ik_node.tools.interface_page > docs/interface.md'
    assert (ROOT / 'docs' / 'interface.md').read_text('utf-8') == page(), f'{command} is due'


def test_the_page_has_every_parameter_and_solver():
    text = page()
    assert all(f'| `{spec.name}` |' in text for spec in fixed_specs())
    assert all(f'### `{solver}`' in text for solver in SOLVERS)


def names(it, found):
    """The names that a node uses, as the page has them, with their types."""
    own, root = f'{it.namespace}/ik_node', f'{it.namespace}/'
    short = {}
    for full, kinds in found:
        name = f'~{full.removeprefix(own)}' if full.startswith(own + '/') else full
        name = name.removeprefix(root).replace(f'{TIP}/', '<tip>/')
        if name.lstrip('/') not in OF_EVERY_NODE and name not in OF_EVERY_NODE:
            short[name] = kinds[0]
    return short


def of(endpoints, *when):
    return {e.name: kind_here(e.kind) for e in endpoints if e.when in (ALWAYS, *when)}


def class_of(kind):
    """The class of a type of messages or services; None where it is not installed."""
    package, where, name = kind.split('/')
    try:
        return getattr(importlib.import_module(f'{package}.{where}'), name, None)
    except ImportError:
        return None


def kind_here(kind):
    """The type by its class, which a stand-in of its package has from another package."""
    found = class_of(kind)
    if found is None:
        return kind
    return f'{found.__module__.partition(".")[0]}/{kind.split("/")[1]}/{found.__name__}'


def with_installed(when):
    """`when`, and what else applies here: that, and an optional package."""
    optional = [each for each in SUBSCRIPTIONS if each.when.startswith(f'{when}, ')]
    return when, *(each.when for each in optional if class_of(each.kind))


def ask(it, what):
    """Return the node's entities of kind 'publisher', 'subscriber' or 'service'; {} before it is
    found."""
    if ('ik_node', it.namespace) not in it.node.get_node_names_and_namespaces():
        return {}
    question = getattr(it.node, f'get_{what}_names_and_types_by_node')
    return names(it, question('ik_node', it.namespace))


def until_it_has(it, what, wanted):
    """Wait until the node has these names and types, and no others."""
    try:
        it.until(lambda: ask(it, what) == wanted, f'{what}s')
    except AssertionError:
        assert ask(it, what) == wanted


@pytest.mark.parametrize(
    ('output', 'when'),
    [('joint_state', STATE), ('joint_trajectory', TRAJECTORY), ('position_command', POSITION)],
)
def test_topics_and_types_are_those_of_a_running_node(output, when):
    measured = () if output == 'joint_state' else with_installed(BEHIND)
    with world(**BY_FILE, output=output) as it:
        until_it_has(it, 'subscriber', of(SUBSCRIPTIONS, *measured, *with_installed(when)))
        until_it_has(it, 'publisher', of(PUBLISHERS, when))


@pytest.mark.parametrize('button', [-1, 2])
def test_topics_of_hands_are_those_of_a_running_node(button):
    switch = 'no `teleop.button`' if button < 0 else '`teleop.button`'
    teleop = {'input': 'teleop', 'teleop.button': button}
    with world(**BY_FILE, **teleop) as it:
        until_it_has(it, 'subscriber', of(SUBSCRIPTIONS, TELEOP, f'{TELEOP}, {switch}'))
        found = qos_of(it, it.ik_node.subscriptions)
        assert {found['hand_pose'], found['<tip>/hand_pose']} == {'best effort, 50'}


def qos_of(it, entities):
    """The QoS of a node's publishers or subscriptions by name, as the page has it."""

    def text(profile):
        yield 'reliable' if profile.reliability == ReliabilityPolicy.RELIABLE else 'best effort'
        if profile.durability == DurabilityPolicy.TRANSIENT_LOCAL:
            yield 'latched'
        yield str(profile.depth)

    return names(it, [(e.topic_name, [', '.join(text(e.qos_profile))]) for e in entities])


@pytest.mark.parametrize('output', ['joint_state', 'joint_trajectory', 'position_command'])
def test_the_qos_of_every_topic_is_that_of_a_running_node(output):
    with world(**BY_FILE, output=output) as it:
        it.until(lambda: '<tip>/goal_pose' in qos_of(it, it.ik_node.subscriptions), 'a robot')
        for endpoints, entities in (
            (SUBSCRIPTIONS, it.ik_node.subscriptions),
            (PUBLISHERS, it.ik_node.publishers),
        ):
            found, stated = qos_of(it, entities), {each.name: each.qos for each in endpoints}
            assert found == {name: stated[name] for name in found}


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command', 'joint_state'])
def test_the_log_says_what_an_output_promises_where_that_is_not_every_update(output):
    latched = QoSProfile(depth=1000, durability=DurabilityPolicy.TRANSIENT_LOCAL)
    with controlled(output) as it:
        it.node.create_subscription(Log, '/rosout', lambda m: it.inbox.put('log', m), latched)
        name = f'{it.namespace.strip("/")}.ik_node'
        arm = None if output == 'joint_state' else Arm(it, ARM, START)

        def said():
            if arm is not None:
                arm.say()
            return [m.msg for m in it.inbox['log'] if m.name == name]

        it.until(lambda: 'ready: publishing' in ''.join(said()), 'the start')
        promises = [text for text in said() if EVERY_MESSAGE in text]
    exact = output == 'joint_trajectory'
    assert promises == ([] if exact else [f'output: {output}: {EVERY_MESSAGE}'])


def test_the_page_says_what_the_outputs_promise():
    assert EVERY_MESSAGE in page()


def test_services_are_those_of_a_running_node():
    with world(**BY_FILE) as it:
        own = of(SERVICES)

        def offered():
            found = ask(it, 'service').items()
            return {n: k for n, k in found if k.startswith(('std_srvs', 'moveit_msgs'))}

        it.until(lambda: offered() == own, f'the services {own}')


def test_a_robot_may_come_by_topic():
    given = {name: value for name, value in BY_FILE.items() if name != 'urdf_path'}
    with world(**given) as it:
        it.send_description((URDF / 'panda.urdf').read_text())
        until_it_has(it, 'subscriber', of(SUBSCRIPTIONS, 'no robot by parameter'))
