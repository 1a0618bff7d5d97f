# SPDX-License-Identifier: Apache-2.0
"""config/ik_node.yaml: current, complete, and read by ROS as it is meant."""

import re
from dataclasses import replace

import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.lifecycle import LifecycleNode
from support.node_harness import DOMAIN, ROOT, load, unique_namespace

from ik_node.parameters.describe import describe
from ik_node.parameters.node_options import NodeOptions
from ik_node.parameters.specs import fixed_specs
from ik_node.parameters.store import Parameters

FILE = ROOT / 'config' / 'ik_node.yaml'
TEXT = FILE.read_text(encoding='utf-8')


@pytest.fixture
def read(tmp_path):
    """Reads a text as a parameter file, the way a node does: (node, Parameters)."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    nodes = []

    def read(text):
        path = tmp_path / f'{len(nodes)}.yaml'
        path.write_text(text, encoding='utf-8')
        arguments = ['--ros-args', '--params-file', str(path)]
        namespace = unique_namespace()
        node = LifecycleNode('ik_node', namespace=namespace, context=context, cli_args=arguments)
        nodes.append(node)
        return node, Parameters(node)

    yield read
    for node in nodes:
        node.destroy_node()
    context.try_shutdown()


def test_the_file_is_current():
    command = 'python -m ik_node.parameters.describe > config/ik_node.yaml'
    assert describe(fixed_specs()) == TEXT, f'{command} is due'


def test_every_parameter_stands_there_once_with_its_meaning_and_unit():
    for spec in fixed_specs():
        (found,) = re.findall(
            rf'((?:^    # .*\n)+)    #?{re.escape(spec.name)}: ', TEXT, re.MULTILINE
        )
        words = ' '.join(line.strip(' #') for line in found.splitlines())
        assert words.startswith(spec.doc)
        assert f'[{spec.unit}]' in words or not spec.unit
        assert ('; static' in words) == spec.static
        assert all(choice in words for choice in spec.choices)


def test_what_is_commented_out_is_the_default_as_ros_reads_it(read):
    _, parameters = read(re.sub(r'^    #(?=\S)(?!#)', '    ', TEXT, flags=re.MULTILINE))
    _, defaults = read('{}')
    assert parameters.unread() == []
    given = parameters.take()
    shipped = replace(given, default_limits=defaults.take().default_limits)
    assert shipped == defaults.take()


def test_as_shipped_it_sets_the_default_limits_and_nothing_else(read):
    node, parameters = read(TEXT)
    assert set(node._parameter_overrides) == {
        'joint_limits.default.velocity',
        'joint_limits.default.acceleration',
    }
    assert parameters.take().node == NodeOptions()
    limits = parameters.take().default_limits
    assert (limits.velocity, limits.acceleration) == (1.0, 5.0)


def test_the_examples_can_be_taken_over(read):
    examples = re.findall(r'^    ##     (\S+: .*)$', TEXT, re.MULTILINE)
    assert len(examples) >= 4
    text = '/**:\n  ros__parameters:\n' + ''.join(f'    {line}\n' for line in examples)
    _, parameters = read(text)
    parameters.declare_robot(load('panda'), ['panda_hand'])
    assert parameters.unread() == []
    taken = parameters.take()
    assert taken.joint_limits['panda_joint1'].velocity == 0.5
    assert taken.tools['panda_hand'].xyz == (0.0, 0.0, 0.1034)


def test_the_rviz_view_sends_2d_goals_to_their_topic_and_shows_the_goal_that_is_followed():
    yaml = pytest.importorskip('yaml')
    view = yaml.safe_load((ROOT / 'config' / 'demo.rviz').read_text('utf-8'))
    manager = view['Visualization Manager']
    (tool,) = (t for t in manager['Tools'] if t['Class'].endswith('/SetGoal'))
    assert tool['Topic']['Value'] == 'goal_pose_2d'
    (goal,) = (d for d in manager['Displays'] if d['Name'] == 'Goal')
    assert goal['Class'].endswith('/MarkerArray')
    assert goal['Topic']['Value'] == 'ik_node/markers'
    (frames,) = (d for d in manager['Displays'] if d['Name'] == 'TF')
    assert frames['Marker Scale'] >= 1.0, 'axes of 0.2 m; shorter ones lie inside the links'
    docks = {'Hide Left Dock': False, 'Hide Right Dock': False}  # RViz reads noise without them
    assert docks.items() <= view['Window Geometry'].items()
