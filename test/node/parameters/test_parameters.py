# SPDX-License-Identifier: Apache-2.0
"""Parameters: made from metadata, refused with a reason, checked as a whole set."""

import math
import re
from dataclasses import fields

import numpy as np
import pytest

rclpy = pytest.importorskip('rclpy')

from rclpy.lifecycle import LifecycleNode
from rclpy.parameter import Parameter
from support.node_harness import DOMAIN, URDF, load, overrides, unique_namespace

import ik_core as ik
from ik_core.exceptions import InvalidOption
from ik_core.tracking import TrackerOptions
from ik_node.joint_limits import motion_limits
from ik_node.parameters.node_options import NodeOptions
from ik_node.parameters.store import Parameters


@pytest.fixture
def context():
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    yield context
    context.try_shutdown()


@pytest.fixture
def make(context):
    """Makes the parameters of a node that is started with some."""
    nodes = []

    def make(**started_with):
        named = {name.replace('__', '.'): value for name, value in started_with.items()}
        nodes.append(
            LifecycleNode(
                'ik_node',
                namespace=unique_namespace(),
                context=context,
                parameter_overrides=overrides(named),
            )
        )
        return nodes[-1], Parameters(nodes[-1])

    yield make
    for node in nodes:
        node.destroy_node()


def change(node, **values):
    """Set parameters as one set; '__' stands for '.'."""
    named = {name.replace('__', '.'): value for name, value in values.items()}
    return node.set_parameters_atomically(overrides(named))


def test_every_option_of_every_solver_is_a_parameter_that_describes_itself(make):
    node, _ = make()
    for name, solver in ik.SOLVERS.items():
        for field in fields(solver.Options):
            descriptor = node.describe_parameter(f'{name}.{field.name}')
            assert descriptor.description.startswith(field.metadata['doc'])
            assert node.get_parameter(f'{name}.{field.name}').value == field.default


def test_every_option_of_the_node_and_the_tracker_is_a_parameter(make):
    node, parameters = make()
    for options in (NodeOptions, TrackerOptions):
        for field in fields(options):
            assert node.describe_parameter(field.name).description
    assert parameters.take().tracker == TrackerOptions()
    assert parameters.take().node == NodeOptions()


def test_ranges_and_units_are_described(make):
    node, _ = make()
    rate = node.describe_parameter('rate')
    assert '[Hz]' in rate.description
    assert 'only while unconfigured' in rate.additional_constraints
    assert rate.floating_point_range[0].from_value == 1.0
    restarts = node.describe_parameter('levenberg_marquardt.restarts')
    assert restarts.integer_range[0].from_value == 0
    assert 'damped_least_squares' in node.describe_parameter('solver').additional_constraints


def test_values_from_the_start_are_read(make):
    _, parameters = make(
        rate=500,
        tip_links=['a', 'b'],
        goal_timeout=2,
        solver='damped_least_squares',
        damped_least_squares__damping=0.3,
    )
    snapshot = parameters.take()
    assert snapshot.node.rate == 500.0
    assert isinstance(snapshot.node.rate, float)
    assert snapshot.node.tip_links == ('a', 'b')
    assert snapshot.tracker.goal_timeout == 2.0
    assert snapshot.solver_options == ik.SOLVERS['damped_least_squares'].Options(damping=0.3)


@pytest.mark.parametrize('value', ['a,b', ' a , b ,', ['a', 'b'], ['a', '', 'b']])
def test_tip_links_may_be_a_list_or_names_with_commas(make, value):
    assert make(tip_links=value)[1].take().node.tip_links == ('a', 'b')


@pytest.mark.parametrize(
    ('values', 'said'),
    [
        ({'rate': -5.0}, 'rate'),
        ({'rate': 'fast'}, 'rate'),
        ({'solver': 'magic'}, 'levenberg_marquardt'),
        ({'output': 'torque'}, 'joint_state'),
        ({'tip_links': [1, 2]}, 'tip_links'),
        ({'levenberg_marquardt__restarts': -1}, 'levenberg_marquardt.restarts'),
    ],
)
def test_a_node_does_not_start_with_wrong_values(make, values, said):
    with pytest.raises(InvalidOption, match=said):
        make(**values)


@pytest.mark.parametrize(
    ('values', 'said'),
    [
        ({'solver': 'magic'}, 'must be one of: levenberg_marquardt, closed_form'),
        ({'rate': 0.0}, 'rate'),
        ({'rate': True}, 'rate must be a number'),
        ({'goal_timeout': 'soon'}, 'goal_timeout must be a number'),
        ({'goal_timeout': -1}, 'goal_timeout is -1'),
        ({'position_tolerance': math.nan}, 'position_tolerance'),
        ({'position_tolerance': 0}, 'position_tolerance is 0'),
        ({'levenberg_marquardt__restarts': 1.5}, 'Wrong parameter type'),  # rclpy's words
        ({'updates_per_tick': -1}, 'updates_per_tick'),
        ({'output': 'torque'}, 'must be one of: joint_state'),
    ],
)
def test_a_refusal_says_what_would_be_right_and_changes_nothing(make, values, said):
    node, parameters = make()
    before = parameters.take()
    result = change(node, **values)
    assert not result.successful
    assert said in result.reason
    assert not parameters.changed
    assert parameters.take() == before


def test_a_preset_sets_the_options_of_a_paper_and_others_override_it(make):
    node, parameters = make(
        solver='pseudoinverse', preset='coursework', **{'pseudoinverse.time_step': 0.25}
    )
    options = parameters.take().solver_options
    expected = ik.make_solver('pseudoinverse', preset='coursework', time_step=0.25).options
    assert options == expected
    assert options.halving_tolerance == 1e-3
    assert change(node, preset='').successful
    assert parameters.take().solver_options.halving_tolerance == np.inf


def test_a_preset_that_the_solver_does_not_have_is_refused(make):
    node, parameters = make(preset='coursework', solver='jacobian_transpose')
    result = change(node, solver='bfgs')
    assert not result.successful
    assert "unknown preset 'coursework' of bfgs; there are: state_of_the_art" in result.reason
    assert parameters.take().node.solver == 'jacobian_transpose'
    assert change(node, solver='bfgs', preset='state_of_the_art').successful
    with pytest.raises(InvalidOption, match='preset'):
        make(preset='coursework')


@pytest.mark.parametrize(
    ('text', 'number'), [('1e-5', 1e-5), ('inf', math.inf), ('-.5e-2', None), ('nan', None)]
)
def test_numbers_that_ros2_param_sends_as_text_are_numbers(make, text, number):
    """YAML takes 1e-5 for text; so does `ros2 param load` a .inf."""
    node, parameters = make()
    parameters.take()
    assert change(node, joint_limits__default__velocity=text).successful == (number is not None)
    assert parameters.take().default_limits.velocity == (number or math.inf)


def test_a_static_parameter_may_be_set_to_what_it_is(make):
    """As `ros2 param load` does with what `ros2 param dump` wrote."""
    node, parameters = make(rate=250.0, tip_links=['a', 'b'])
    parameters.locked = True
    for same in (250, 250.0, '2.5e2'):
        assert change(node, rate=same).successful
    assert change(node, tip_links='a,b').successful
    assert not change(node, rate='2.6e2').successful
    assert parameters.take().node.rate == 250.0


def test_a_parameter_can_not_be_deleted(make):
    node, parameters = make()
    result = node.set_parameters_atomically([Parameter('goal_timeout')])
    assert not result.successful
    assert parameters.take().tracker.goal_timeout == 0.0


def test_one_wrong_value_refuses_the_whole_set(make):
    node, parameters = make()
    assert not change(node, goal_timeout=1.0, replan_period=-2.0).successful
    assert parameters.take().tracker.goal_timeout == 0.0
    assert change(node, goal_timeout=1.0, replan_period=2.0).successful
    assert parameters.take().tracker.goal_timeout == 1.0
    assert parameters.take().tracker.replan_period == 2.0


def test_an_accepted_change_is_noticed_until_it_is_taken(make):
    node, parameters = make()
    assert not parameters.changed
    assert change(node, goal_timeout=1).successful
    assert parameters.changed
    assert parameters.take().tracker.goal_timeout == 1.0
    assert not parameters.changed


def test_static_parameters_change_only_while_unconfigured(make):
    node, parameters = make()
    assert change(node, rate=100).successful
    parameters.locked = True
    for name, value in (('rate', 200), ('base_link', 'x'), ('urdf_path', 'y'), ('tip_links', 'z')):
        result = change(node, **{name: value})
        assert not result.successful
        assert f'{name} can change only while the node is unconfigured' in result.reason
    assert change(node, rate=100).successful, 'the value that it has is no change'
    parameters.locked = False
    assert change(node, rate=200).successful
    assert parameters.take().node.rate == 200.0


def test_parameters_of_others_are_none_of_our_business(make):
    node, parameters = make()
    node.declare_parameter('qos_depth', 5)
    assert change(node, qos_depth=7).successful
    assert not parameters.changed


def test_the_limits_of_the_joints_are_those_of_the_urdf_until_tightened(make):
    node, parameters = make()
    robot = load('panda')
    parameters.declare_robot(robot)
    for i, joint in enumerate(robot.joint_names):
        limits = parameters.take().joint_limits[joint]
        assert limits.lower == robot.lower[i]
        assert limits.upper == robot.upper[i]
        assert limits.velocity == robot.velocity[i]
        assert limits.acceleration == math.inf
    tightened = {
        'joint_limits.panda_joint2.lower': -1.0,
        'joint_limits.panda_joint2.velocity': 1,
        'joint_limits.panda_joint2.acceleration': 5.0,
    }
    assert change(node, **tightened).successful
    limits = parameters.take().joint_limits['panda_joint2']
    assert (limits.lower, limits.velocity, limits.acceleration) == (-1.0, 1.0, 5.0)
    assert limits.upper == robot.upper[1]


@pytest.mark.parametrize(
    ('limit', 'value'),
    [
        ('lower', -3.0),
        ('upper', 3.0),
        ('velocity', 10.0),
        ('velocity', 0.0),
        ('velocity', -1.0),
        ('acceleration', 0.0),
        ('lower', math.nan),
        ('velocity', math.inf),
    ],
)
def test_limits_can_only_be_tightened(make, limit, value):
    node, parameters = make()
    parameters.declare_robot(load('panda'))
    name = f'joint_limits.panda_joint1.{limit}'
    result = change(node, **{name: value})
    assert not result.successful
    assert name in result.reason


def test_jerk_limits_reach_the_motion(make):
    node, parameters = make(joint_limits__default__jerk=50.0)
    robot = load('panda')
    parameters.declare_robot(robot)
    assert change(node, joint_limits__panda_joint2__jerk=20.0).successful
    jerk = motion_limits(robot, parameters.take()).jerk
    assert jerk[1] == 20.0
    assert (np.delete(jerk, 1) == 50.0).all()


GEARED = """<robot name="geared"><link name="a"/><link name="b"/><link name="c"/>
<joint name="slow" type="revolute"><parent link="a"/><child link="b"/>
<limit lower="-1" upper="1" effort="1"/></joint>
<joint name="fast" type="revolute"><parent link="b"/><child link="c"/>
<limit lower="-30" upper="30" effort="1"/><mimic joint="slow" multiplier="-27"/></joint></robot>"""


def test_mimic_joints_have_limits_of_their_own(make):
    node, parameters = make(
        joint_limits__default__velocity=5.4, joint_limits__default__acceleration=5.0
    )
    robot = ik.load_robot(GEARED)
    parameters.declare_robot(robot)
    limits = motion_limits(robot, parameters.take())
    assert limits.velocity == pytest.approx(5.4 / 27.0)
    assert limits.acceleration == pytest.approx(5.0 / 27.0)
    assert np.isposinf(limits.jerk).all()
    assert change(node, joint_limits__fast__acceleration=2.7, joint_limits__fast__jerk=54.0)
    assert change(node, joint_limits__slow__velocity=0.1, joint_limits__slow__acceleration=9.0)
    limits = motion_limits(robot, parameters.take())
    assert limits.velocity == pytest.approx(0.1)
    assert limits.acceleration == pytest.approx(0.1)
    assert limits.jerk == pytest.approx(2.0)


def test_lower_and_upper_limits_must_not_cross(make):
    node, parameters = make()
    parameters.declare_robot(load('panda'))
    lower, upper = 'joint_limits.panda_joint1.lower', 'joint_limits.panda_joint1.upper'
    assert not change(node, **{lower: 1.0, upper: -1.0}).successful
    assert change(node, **{lower: -1.0, upper: 1.0}).successful
    result = change(node, **{lower: 1.5})
    assert not result.successful
    assert 'above upper' in result.reason


def test_joints_that_turn_for_ever_have_no_position_limits(make):
    node, parameters = make()
    robot = load('pr2_like')
    parameters.declare_robot(robot)
    for i, joint in enumerate(robot.joint_names):
        assert node.has_parameter(f'joint_limits.{joint}.velocity')
        assert node.has_parameter(f'joint_limits.{joint}.lower') != robot.continuous[i]


def test_limits_from_the_start_are_used_once_the_robot_is_known(make):
    node, parameters = make(joint_limits__panda_joint1__velocity=1)
    assert not node.has_parameter('joint_limits.panda_joint1.velocity')
    parameters.declare_robot(load('panda'))
    assert parameters.take().joint_limits['panda_joint1'].velocity == 1.0
    parameters.undeclare_robot()
    assert not node.has_parameter('joint_limits.panda_joint1.velocity')
    assert node.has_parameter('joint_limits.default.velocity')
    assert not parameters.take().joint_limits


def test_limits_from_the_start_that_loosen_are_refused_and_leave_nothing(make):
    node, parameters = make(joint_limits__panda_joint3__velocity=100.0)
    with pytest.raises(InvalidOption, match=r'joint_limits\.panda_joint3\.velocity'):
        parameters.declare_robot(load('panda'))
    assert not node.has_parameter('joint_limits.panda_joint1.lower')
    parameters.declare_robot(load('ur5e'))
    assert len(parameters.take().joint_limits) == 6


@pytest.mark.parametrize(
    ('name', 'meant'),
    [('rtae', 'rate'), ('solvr', 'solver'), ('levenberg_marquard.restarts', 'levenberg_')],
)
def test_a_misspelt_name_is_refused_with_the_one_that_was_meant(make, name, meant):
    with pytest.raises(InvalidOption, match=rf"no parameter '{name}' \(did you mean '{meant}"):
        make(**{name.replace('.', '__'): 1})


def test_names_that_nobody_declared_are_reported_with_suggestions(make):
    _, parameters = make(joint_limits__panda_joint9__velocity=1.0, elsewhere=1, update_rate=2.0)
    parameters.declare_robot(load('panda'))
    joint, *others = parameters.unread()[1:]
    assert parameters.unread()[0] == 'elsewhere'
    assert joint.startswith('joint_limits.panda_joint9.velocity (did you mean')
    assert others[0].startswith('update_rate')


@pytest.mark.parametrize(
    ('name', 'value', 'meant'),
    [
        ('joint_limits.panda_jiont1.velocity', 0.1, 'joint_limits.panda_joint1.velocity'),
        ('joint_limits.panda_joint1.veloctiy', 0.1, 'joint_limits.panda_joint1.velocity'),
        ('tools.panda_hnad_tcp.xyz', [0.0, 0.0, 0.1], 'tools.panda_hand_tcp.xyz'),
        ('goal_kind.panda_hand_tcpp', 'position', 'goal_kind.panda_hand_tcp'),
    ],
)
def test_a_misspelt_joint_or_tip_is_refused_once_the_robot_is_known(make, name, value, meant):
    """Without effect it would be a limit that the robot does not keep; nothing is left of it."""
    node, parameters = make(**{name.replace('.', '__'): value})
    known = set(node._parameters)
    with pytest.raises(InvalidOption, match=rf"no parameter '{name}' \(did you mean '{meant}'"):
        parameters.declare_robot(load('panda'), ['panda_hand_tcp'])
    assert set(node._parameters) == known
    parameters.declare_robot(load('ur5e'), ['tool0'])  # whose joints and tips it is not like
    assert [text.partition(' ')[0] for text in parameters.unread()] == [name]


@pytest.mark.parametrize(
    ('name', 'value', 'said'),
    [
        ('position_tolerance', math.nan, r'position_tolerance must be a number$'),
        ('position_tolerance', -1.0, r'position_tolerance is -1; it must be in \[1e-12, 1\]$'),
        ('updates_per_tick', -1, r'updates_per_tick is -1; it must be in \[0, 1e\+06\]$'),
        ('autostart', 'maybe', r'autostart must be true or false$'),
        ('levenberg_marquardt.restarts', 2.5, r'levenberg_marquardt\.restarts must be an integer'),
    ],
)
def test_values_from_the_start_are_refused_in_the_words_of_later_ones(make, name, value, said):
    with pytest.raises(InvalidOption, match=f'^{said}'):
        make(**{name.replace('.', '__'): value})


def test_a_limit_from_the_start_is_refused_in_these_words_too(make):
    _, parameters = make(joint_limits__panda_joint1__velocity=-1.0)
    said = r'^joint_limits\.panda_joint1\.velocity is -1; it must be in \[1e-06, 2\.175\]$'
    with pytest.raises(InvalidOption, match=said):
        parameters.declare_robot(load('panda'))


@pytest.mark.parametrize('number', [1e7, -100.5, 1e308])
def test_a_tool_far_from_its_tip_is_refused(make, number):
    _, parameters = make(tools__panda_hand_tcp__xyz=[0.0, number, 0.0])
    with pytest.raises(InvalidOption, match=r'xyz has .*; its numbers must be in \[-100, 100\]$'):
        parameters.declare_robot(load('panda'), ['panda_hand_tcp'])


def test_a_velocity_limit_below_all_parameters_is_its_own_range(make):
    text = (URDF / 'ur5e.urdf').read_text()
    slow = ik.load_robot(re.sub('velocity="[^"]*"', 'velocity="1e-9"', text))
    _, parameters = make()
    parameters.declare_robot(slow, ['tool0'])


def test_a_limit_that_a_joint_does_not_have_is_refused(make):
    _, parameters = make(joint_limits__panda_finger_joint2__upper=0.01)
    with pytest.raises(InvalidOption, match='panda_finger_joint2 has velocity, acceleration'):
        parameters.declare_robot(load('panda'))
    with pytest.raises(InvalidOption, match='default has velocity'):
        make(joint_limits__default__lower=0.0)


def renamed(joint, other):
    """The UR5e with names of joints replaced."""
    text = (URDF / 'ur5e.urdf').read_text(encoding='utf-8')
    return ik.load_robot(text.replace(f'"{joint}', f'"{other}'))


@pytest.mark.parametrize('sides', [('left', 'right'), ('right',)])
def test_a_file_may_be_for_several_robots(make, sides):
    """Two nodes of one file, one for each arm: both are given, or just the other one."""
    left = renamed('elbow_joint', 'left_elbow_joint')
    given = {f'joint_limits__{side}_elbow_joint__velocity': 0.5 for side in sides}
    given |= {'tools__right_hand__xyz': [0.0, 0.0, 0.1], 'joint_limits__wrist_9_joint__jerk': 1.0}
    _, parameters = make(**given)
    parameters.declare_robot(left, ['left_hand'])
    assert len(parameters.unread()) == 3
    limit = parameters.take().joint_limits['left_elbow_joint'].velocity
    assert limit == (
        0.5 if 'left' in sides else left.velocity[left.joint_index('left_elbow_joint')]
    )


def test_a_robot_that_takes_the_place_of_one_with_nearly_its_names(make):
    """Limits of the robot before are not misspelt names, whatever the joints of the next one."""
    ur5e, other = load('ur5e'), renamed('elbow_joint', 'ellbow_joint')
    name = 'joint_limits.elbow_joint.velocity'
    _, parameters = make(**{name.replace('.', '__'): 1.0})
    with pytest.raises(InvalidOption, match='elbow_joint'):
        parameters.declare_robot(other)
    parameters.declare_robot(ur5e)
    parameters.declare_robot(other)
    assert [text.partition(' ')[0] for text in parameters.unread()] == [name]


def test_another_robot_brings_its_own_limits(make):
    node, parameters = make()
    parameters.declare_robot(load('panda'))
    parameters.declare_robot(load('ur5e'))
    assert not node.has_parameter('joint_limits.panda_joint1.lower')
    assert set(parameters.take().joint_limits) == set(load('ur5e').joint_names)
