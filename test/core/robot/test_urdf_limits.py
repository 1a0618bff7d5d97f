# SPDX-License-Identifier: Apache-2.0
"""Limits besides lower, upper and velocity: URDF 1.2, soft limits, joint_limits.yaml.

The expected numbers are written out by hand, next to the files that state them.
"""

import math

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import ik_core as ik
from ik_core.exceptions import UrdfError
from ik_core.robot.urdf_text import urdf_text
from ik_core.tracking import MotionLimits

SAFE = '<safety_controller soft_lower_limit="{}" soft_upper_limit="{}" k_velocity="10"/>'


def robot(*insides, version='1.0', kind='revolute', kinds=None):
    """A chain of joints j1, j2, ... with these children."""
    kinds = kinds or [kind] * len(insides)
    links = ''.join(f'<link name="k{i}"/>' for i in range(len(insides) + 1))
    joints = ''.join(
        f'<joint name="j{i + 1}" type="{kinds[i]}"><parent link="k{i}"/><child link="k{i + 1}"/>'
        f'<origin xyz="0.3 0 0.1"/><axis xyz="0 1 0"/>{inside}</joint>'
        for i, inside in enumerate(insides)
    )
    return f'<robot name="r" version="{version}">{links}{joints}</robot>'


def limit(more='', lower='-2', upper='3', velocity='2'):
    return f'<limit lower="{lower}" upper="{upper}" velocity="{velocity}" effort="9" {more}/>'


def values(loaded):
    """The limits of the first joint."""
    return [float(getattr(loaded, n)[0]) for n in ('lower', 'upper', 'velocity')]


def yaml_file(tmp_path, text):
    path = tmp_path / 'joint_limits.yaml'
    path.write_text(text)
    return path


# --- URDF 1.1 and 1.2 --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('more', 'acceleration', 'jerk'),
    [
        ('acceleration="4"', 4, math.inf),
        ('acceleration="4" deceleration="6"', 4, math.inf),
        ('acceleration="6" deceleration="4"', 4, math.inf),
        ('deceleration="5" jerk="40"', 5, 40),
        ('acceleration="inf" jerk="INF"', math.inf, math.inf),
        ('acceleration="2e9"', math.inf, math.inf),
    ],
)
@pytest.mark.parametrize('version', ['1.0', '1.2'])
def test_acceleration_and_jerk_are_read(more, acceleration, jerk, version):
    loaded = ik.load_robot(robot(limit(more), version=version))
    assert (loaded.acceleration, loaded.jerk) == (acceleration, jerk)
    assert loaded.warnings == ()
    of = MotionLimits.of(loaded)
    assert (of.acceleration, of.jerk, of.velocity) == (acceleration, jerk, 2)


def test_motion_limits_only_tighten_what_the_description_states():
    loaded = ik.load_robot(robot(limit('acceleration="4" jerk="40"'), limit()))
    wide = MotionLimits.of(loaded, acceleration=10.0, jerk=100.0)
    np.testing.assert_array_equal(wide.acceleration, [4, 10])
    np.testing.assert_array_equal(wide.jerk, [40, 100])
    narrow = MotionLimits.of(loaded, acceleration=[1.0, 2.0])
    np.testing.assert_array_equal(narrow.acceleration, [1, 2])


def test_tracker_warns_of_joints_without_acceleration_only(recwarn):
    half = ik.load_robot(robot(limit('acceleration="4"'), limit()))
    problem = ik.IkProblem(half, [ik.PositionTask('k2')])
    with pytest.warns(UserWarning, match='no acceleration limit: j2;'):
        ik.Tracker(problem, rate=100.0)
    whole = ik.load_robot(robot(limit('acceleration="4"'), limit('acceleration="3"')))
    recwarn.clear()
    ik.Tracker(ik.IkProblem(whole, [ik.PositionTask('k2')]), rate=100.0)
    assert not recwarn.list


@pytest.mark.parametrize('rate', ['acceleration', 'deceleration', 'jerk'])
@pytest.mark.parametrize('text', ['0', '-3'])
def test_a_rate_that_is_not_positive_is_no_limit_and_named(rate, text):
    loaded = ik.load_robot(robot(limit(f'{rate}="{text}"')))
    assert np.isinf([loaded.acceleration, loaded.jerk]).all()
    assert loaded.warnings == (f"joint 'j1': {rate} {text} is no limit",)


@pytest.mark.parametrize('rate', ['acceleration', 'deceleration', 'jerk', 'velocity'])
@pytest.mark.parametrize('text', ['nan', 'fast', '1_0', ''])
def test_a_rate_that_is_no_number_is_an_error(rate, text):
    inside = limit(f'{rate}="{text}"') if rate != 'velocity' else limit(velocity=text)
    with pytest.raises(UrdfError, match=f"joint 'j1', <limit>: {rate}='{text}' should be one"):
        ik.load_robot(robot(inside))


def test_infinite_bounds_are_none():
    loaded = ik.load_robot(robot(limit(lower='-inf', upper='Infinity', velocity='inf')))
    assert values(loaded) == [-math.inf, math.inf, math.inf]
    with pytest.raises(UrdfError, match='lower limit inf is too large'):
        ik.load_robot(robot(limit(lower='inf', upper='inf')))


def test_missing_bounds_are_0_and_from_version_1_2_on_none():
    inside = '<limit upper="3" velocity="2" effort="1"/>'
    assert values(ik.load_robot(robot(inside))) == [0, 3, 2]
    later = ik.load_robot(robot(inside, version='1.2'))
    assert values(later) == [-math.inf, 3, 2]
    assert later.warnings == (
        "joint 'j1': lower is missing in <limit>, which is no limit in version 1.2",
    )
    endless = ik.load_robot(robot('<limit velocity="2"/>', version='1.2', kind='continuous'))
    assert endless.warnings == ()


@pytest.mark.parametrize('q', [(0.1, -0.2, 0.3, 0.9), (0, -3, 0, 3), (0.5, 0.5, -0.5, 0.5)])
def test_quat_xyzw_is_the_rotation_from_version_1_1_on(q):
    text = robot(f'{limit()}', version='1.1')
    text = text.replace('xyz="0.3 0 0.1"', f'xyz="0.3 0 0.1" quat_xyzw="{" ".join(map(str, q))}"')
    pose = ik.load_robot(text).forward_kinematics([0.0], 'k1')
    np.testing.assert_allclose(pose[:3, :3], Rotation.from_quat(q).as_matrix(), atol=1e-14)
    np.testing.assert_array_equal(pose[:3, 3], [0.3, 0, 0.1])
    with pytest.raises(UrdfError, match=r'counts from version 1\.1 on'):
        ik.load_robot(text.replace('version="1.1"', ''))
    with pytest.raises(UrdfError, match='it has rpy and quat_xyzw'):
        ik.load_robot(text.replace('quat_xyzw', 'rpy="0 0 0" quat_xyzw'))


@pytest.mark.parametrize('text', ['0 0 0 0', '0 0 1', '0 0 0 nan'])
def test_quat_xyzw_that_is_no_rotation_is_an_error(text):
    broken = robot(limit(), version='1.1').replace('0.3 0 0.1"', f'0 0 0" quat_xyzw="{text}"')
    with pytest.raises(UrdfError, match=f"joint 'j1', <origin>: quat_xyzw='{text}'"):
        ik.load_robot(broken)


def test_quat_xyzw_of_a_collision_shape():
    shape = (
        '<link name="k1"><collision><origin quat_xyzw="0 0 1 1"/><geometry><box size="2 1 1"/>'
        '</geometry></collision></link>'
    )
    loaded = ik.load_robot(robot(limit(), version='1.1').replace('<link name="k1"/>', shape))
    (piece,) = ik.collision.pieces_of(loaded)
    turned = np.ptp(piece.corners, axis=0)
    np.testing.assert_allclose(turned, [1, 2, 1], atol=1e-12)


def test_unknown_attributes_of_a_limit_are_named():
    loaded = ik.load_robot(robot(limit('drake:acceleration="3"')))
    assert loaded.warnings == (
        'attributes of <limit> that are not known: drake:acceleration (j1)',
    )
    swapped = ik.load_robot(robot('<limit min="-3" max="3" velocity="2"/>'))
    assert swapped.warnings[0] == (
        "joint 'j1': lower and upper are missing in <limit> (found: max, min): 0 counts"
    )


def test_limits_of_ros2_control_are_named():
    text = robot(limit()).replace(
        '</robot>',
        '<ros2_control name="x" type="system"><joint name="j1"><command_interface name="position">'
        '<param name="min">-1</param><param name="max">1</param></command_interface></joint>'
        '</ros2_control></robot>',
    )
    (warning,) = ik.load_robot(text).warnings
    assert warning == (
        'min and max of <ros2_control> are not read (joint_limits gives limits): j1'
    )


def test_a_fixed_joint_may_have_a_broken_axis_and_broken_limits():
    broken = '<axis xzy="0 0 1"/><limit lower="x"/><safety_controller/>'
    text = robot(limit(), broken, kinds=['revolute', 'fixed'])
    loaded = ik.load_robot(text.replace('<axis xyz="0 1 0"/><axis', '<axis'))
    assert loaded.n == 1
    assert loaded.warnings == ()


def test_all_joints_without_a_limit_are_named_at_once():
    with pytest.raises(UrdfError, match=r"3 joints have no limit \('j1', 'j2', 'j3'\)"):
        ik.load_robot(robot('', '', '', kinds=['revolute', 'prismatic', 'revolute']))
    with pytest.raises(UrdfError, match="'j29', 'j30'"):
        ik.load_robot(robot(*[''] * 30))
    with pytest.raises(UrdfError, match="'j40' and 960 more"):
        ik.load_robot(robot(*[''] * 1000))


# --- mimic joints ------------------------------------------------------------------------------


def test_limits_of_a_mimic_joint_limit_its_driver():
    follows = '<mimic joint="j1" multiplier="-2"/>'
    text = robot(
        limit('acceleration="8" jerk="70"'), limit('acceleration="10" jerk="160"') + follows
    )
    loaded = ik.load_robot(text)
    assert (loaded.acceleration, loaded.jerk, loaded.velocity) == (5, 70, 1)
    assert loaded.mimic_limits['j2'].acceleration == 10


# --- soft limits -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ('soft', 'expected', 'said'),
    [
        (('-1.45', '1.45'), (-1.45, 1.45), 'soft limits count'),
        (('-5', '1'), (-2, 1), 'soft limits count'),
        (('-2', '3'), (-2, 3), ''),
        (('-5', '5'), (-2, 3), 'soft limits are outside lower and upper, which count'),
        (('0', '0'), (-2, 3), 'soft limits are ignored, of which one is missing or both are 0'),
        (('1', '1'), (-2, 3), 'leave no range'),
        (('2', '-1'), (-2, 3), 'leave no range'),
        (('4', '5'), (-2, 3), 'outside lower -2 and upper 3'),
        (('x', '1'), (-2, 3), 'are no numbers'),
        (('nan', '1'), (-2, 3), 'are no numbers'),
    ],
)
def test_soft_limits_narrow_the_position_limits(soft, expected, said):
    loaded = ik.load_robot(robot(limit() + SAFE.format(*soft)))
    assert (loaded.lower, loaded.upper) == expected
    assert len(loaded.warnings) == bool(said)
    assert said in ''.join(loaded.warnings)
    hard = ik.load_robot(robot(limit() + SAFE.format(*soft)), soft_limits=False)
    assert (hard.lower, hard.upper, hard.warnings) == (-2, 3, ())


@pytest.mark.parametrize('given', ['', 'soft_lower_limit="-1"', 'soft_upper_limit="1"'])
def test_a_missing_soft_limit_is_ignored_and_named(given):
    loaded = ik.load_robot(robot(limit() + f'<safety_controller {given} k_velocity="3"/>'))
    assert (loaded.lower, loaded.upper) == (-2, 3)
    assert loaded.warnings == (
        'soft limits are ignored, of which one is missing or both are 0: j1',
    )


def test_soft_limits_of_a_continuous_joint_are_ignored_and_named():
    text = robot(limit(lower='0', upper='0') + SAFE.format(-1, 1), kind='continuous')
    loaded = ik.load_robot(text)
    assert np.isinf([loaded.lower, loaded.upper]).all()
    assert loaded.warnings == ("joint 'j1' is continuous: its soft limits are ignored",)
    silent = text.replace('soft_lower_limit="-1" soft_upper_limit="1" ', '')
    assert ik.load_robot(silent).warnings == ()


def test_answers_are_inside_the_soft_limits():
    hard = ik.load_robot(robot(*[limit(lower='-3', upper='3')] * 3))
    soft = ik.load_robot(robot(*[limit(lower='-3', upper='3') + SAFE.format(-1, 1)] * 3))
    rng = np.random.default_rng(0)
    beyond = 0
    for q in rng.uniform(-3, 3, (50, 3)):
        point = hard.forward_kinematics(q, 'k3')[:3, 3]
        for arm, most in ((hard, 3.0), (soft, 1.0)):
            problem = ik.IkProblem(arm, [ik.PositionTask('k3', position=point)])
            found = ik.solve(problem)
            assert np.abs(found.q).max() <= most
        beyond += not found.success
    assert beyond


# --- joint_limits.yaml -------------------------------------------------------------------------

MOVEIT = """
default_velocity_scaling_factor: 0.1
joint_limits:
  j1:
    has_velocity_limits: true
    max_velocity: 1.5
    has_acceleration_limits: true
    max_acceleration: 3.75
    has_jerk_limits: true
    max_jerk: 1e2
  j2:
    has_velocity_limits: false
    max_velocity: 0.1
    has_acceleration_limits: false
    max_acceleration: 0
"""
CONTROL = """
/**:
  ros__parameters:
    joint_limits:
      j1:
        has_position_limits: true
        min_position: !degrees -90
        max_position: 5.0
        has_acceleration_limits: true
        max_acceleration: 5.0
        has_deceleration_limits: true
        max_deceleration: 2.0
        has_soft_limits: true
        k_position: 10.0
        k_velocity: 10.0
        soft_lower_limit: -1.0
        soft_upper_limit: 2.5
        angle_wraparound: false
"""


def test_joint_limits_of_moveit(tmp_path):
    path = yaml_file(tmp_path, MOVEIT)
    loaded = ik.load_robot(robot(limit(), limit()), joint_limits=path)
    np.testing.assert_array_equal(loaded.velocity, [1.5, 2])
    np.testing.assert_array_equal(loaded.acceleration, [3.75, math.inf])
    np.testing.assert_array_equal(loaded.jerk, [100, math.inf])
    assert loaded.warnings == ()


def test_joint_limits_of_ros2_control(tmp_path):
    path = yaml_file(tmp_path, CONTROL)
    loaded = ik.load_robot(robot(limit()), joint_limits=path)
    assert values(loaded) == [-1.0, 2.5, 2]
    assert loaded.acceleration == 2
    hard = ik.load_robot(robot(limit()), joint_limits=path, soft_limits=False)
    assert values(hard) == [-math.pi / 2, 3, 2]


def test_joint_limits_as_a_mapping():
    loaded = ik.load_robot(robot(limit()), joint_limits={'j1': {'max_acceleration': 3}})
    assert loaded.acceleration == 3


def test_joint_limits_of_a_continuous_and_of_a_mimic_joint():
    text = robot('', limit() + '<mimic joint="j1" multiplier="2"/>', kinds=['continuous'] * 2)
    given = {'j1': {'max_velocity': 4}, 'j2': {'max_acceleration': 3}}
    loaded = ik.load_robot(text, joint_limits=given)
    assert (loaded.velocity, loaded.acceleration) == (1, 1.5)


@pytest.mark.parametrize(
    ('given', 'said'),
    [
        ({'max_velocity': 3}, 'max_velocity 3 is above 2, which counts'),
        ({'max_acceleratoin': 3}, r'max_acceleratoin is unknown (did you mean max_acceleration?)'),
    ],
)
def test_joint_limits_that_change_nothing_are_named(given, said):
    loaded = ik.load_robot(robot(limit()), joint_limits={'j1': given})
    assert loaded.warnings == (f"joint_limits: joint 'j1': {said}",)
    assert values(loaded) == [-2, 3, 2]


def test_joint_limits_of_other_joints_are_named():
    loaded = ik.load_robot(robot(limit()), joint_limits={'j_1': {}, 'elbow': {'max_velocity': 1}})
    assert loaded.warnings == (
        "joint_limits: the robot has no joint 'j_1', 'elbow' (did you mean 'j1'?)",
    )


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', 'no joint_limits by name'),
        ('joints: {j1: {}}', 'no joint_limits by name'),
        ('joint_limits: [1]', 'no joint_limits by name'),
        ('joint_limits: {j1: 3}', "joint 'j1' is 3: limits are needed"),
        ('joint_limits: {j1: {max_velocity: fast}}', "max_velocity is 'fast': a number is needed"),
        ('joint_limits: {j1: {max_velocity: .nan}}', 'max_velocity is nan: a number is needed'),
        ('joint_limits: {j1: {max_velocity: -1}}', 'max_velocity is -1: it must be positive'),
        ('joint_limits: {j1: {has_jerk_limits: true}}', 'is true, but max_jerk is missing'),
        ('joint_limits: {j1: {has_jerk_limits: 1}}', 'is 1: true or false is needed'),
        ('joint_limits: {j1: {min_position: 2, max_position: 1}}', '2 is above max_position 1'),
        ('joint_limits: {j1: {min_position: 4}}', 'are outside lower -2 and upper 3'),
        ('joint_limits: {j1: {max_jerk: 1, max_jerk: 2}}', "line 1: 'max_jerk' is there twice"),
        ('joint_limits: {j1: {}}\njoint_limits: {}', "line 2: 'joint_limits' is there twice"),
        ('a: &x {}\njoint_limits: *x', 'aliases'),
        ('joint_limits: {j1: !!python/object:os.system {}}', 'not YAML'),
        ('joint_limits: {j1: {max_jerk: !degrees x}}', 'not YAML'),
        ('joint_limits: {', 'not YAML'),
        ('[' * 5000, 'not YAML'),
    ],
)
def test_a_joint_limits_file_that_is_none_is_an_error(tmp_path, text, said):
    path = yaml_file(tmp_path, text)
    with pytest.raises(UrdfError, match=r'joint_limits\.yaml') as caught:
        ik.load_robot(robot(limit()), joint_limits=path)
    assert said in str(caught.value)


def test_a_missing_joint_limits_file_is_an_error(tmp_path):
    with pytest.raises(UrdfError, match="can't read the joint limits"):
        ik.load_robot(robot(limit()), joint_limits=tmp_path / 'none.yaml')


# --- written URDFs -----------------------------------------------------------------------------


def test_written_urdfs_keep_all_limits(tmp_path):
    soft = limit('acceleration="4" deceleration="3" jerk="40"') + SAFE.format(-1, 1)
    loaded = ik.load_robot(
        robot(soft, limit()), joint_limits={'j2': {'max_jerk': 7, 'max_position': 0.1}}
    )
    for text in (urdf_text(loaded), loaded.counted_urdf):
        again = ik.load_robot(text)
        for name in ('lower', 'upper', 'velocity', 'acceleration', 'jerk'):
            np.testing.assert_array_equal(getattr(again, name), getattr(loaded, name), name)
    assert 'version="1.2"' in urdf_text(loaded)
    assert 'version' not in urdf_text(ik.load_robot(robot(limit())))


def test_pinocchio_has_the_same_position_and_velocity_limits():
    pin = pytest.importorskip('pinocchio')
    text = robot(limit(), limit(lower='-1', upper='0.5', velocity='7'))
    model, loaded = pin.buildModelFromXML(text), ik.load_robot(text)
    np.testing.assert_array_equal(model.lowerPositionLimit, loaded.lower)
    np.testing.assert_array_equal(model.upperPositionLimit, loaded.upper)
    np.testing.assert_array_equal(model.velocityLimit, loaded.velocity)
