# SPDX-License-Identifier: Apache-2.0
"""The parts of the soak test: values for any parameter, robots that follow, poses."""

import math
import random

import numpy as np
import pytest

pytest.importorskip('rclpy')

from builtin_interfaces.msg import Time
from rcl_interfaces.msg import FloatingPointRange, IntegerRange, ParameterDescriptor
from support.node_harness import URDF, load
from support.robots import SHIPPED

from ik_node.conversions import Refused, read_joint_state
from ik_node.inputs.measured_state import MeasuredState
from ik_node.parameters.specs import fixed_specs, limit_specs
from soak import simulated_robot as arm_module
from soak.draws import Draws, limit_of
from soak.expected_limits import LOWER, ROWS, UPPER, read_description
from soak.robots import variants
from soak.simulated_robot import LAG, PERIOD, SWAY, Arm, Driver

MANY = 300


def descriptor(name, **constraints):
    return ParameterDescriptor(name=name, **constraints)


def values(described, default):
    draws = Draws(random.Random(1))
    return [draws.value(described, default) for _ in range(MANY)]


@pytest.mark.parametrize('spec', fixed_specs(), ids=lambda spec: spec.name)
def test_every_parameter_is_drawn_with_values_that_it_takes(spec):
    default = list(spec.default) if isinstance(spec.default, tuple) else spec.default
    drawn = values(spec.descriptor(), default)
    accepted = [value for value in drawn if spec.accepts(value)]
    assert len(accepted) > 0.3 * MANY
    free_text = spec.kind in (str, tuple) and not spec.choices
    assert free_text or len({str(value) for value in accepted}) > 1


def test_ranges_are_filled_and_sometimes_left():
    of_floats = descriptor(
        'a', floating_point_range=[FloatingPointRange(from_value=1.0, to_value=4.0)]
    )
    of_integers = descriptor('b', integer_range=[IntegerRange(from_value=1, to_value=4)])
    for drawn in (values(of_floats, 2.0), values(of_integers, 2)):
        inside = [x for x in drawn if 1 <= x <= 4]
        assert {1, 4} <= set(inside)
        assert 0 < MANY - len(inside) < 0.3 * MANY
        assert len({round(x) for x in inside}) == 4


def test_choices_are_read_from_the_description():
    described = descriptor(
        'a', additional_constraints='one of red, green; only while unconfigured'
    )
    assert {'red', 'green'} == set(values(described, 'red'))
    drawn = [Draws(random.Random(seed)).is_drawn(described) for seed in range(MANY)]
    assert 0 < sum(drawn) < 0.1 * MANY  # it would only be refused


@pytest.mark.parametrize('jerk', [False, True])
def test_limits_are_drawn_such_that_joints_move_and_stop(jerk):
    draws, spec_of = Draws(random.Random(2)), {s.name: s for s in limit_specs(load('panda'))}
    widest = read_description((URDF / 'panda.urdf').read_text('utf-8')).rows['panda_joint2']
    for row, limit in enumerate(ROWS):
        drawn = [draws.limit(row, widest, jerk) for _ in range(MANY)]
        name = f'joint_limits.panda_joint2.{limit}'
        assert limit_of(name) == ('panda_joint2', row)
        assert all(map(spec_of[name].accepts, drawn))
        assert limit == 'jerk' or min(np.abs(drawn)) > 0.05
        if row in (LOWER, UPPER):
            assert widest[row] in drawn
    assert any(map(math.isfinite, drawn)) == jerk


def test_other_parameters_are_no_limits():
    for name in ('rate', 'joint_limits.a.following_error', 'tools.a.xyz', 'joint_limit_margin'):
        assert limit_of(name) is None


class FakeNode:
    """Keeps what is published."""

    def __init__(self):
        self.published = []

    def create_publisher(self, *_):
        return self

    def publish(self, message):
        self.published.append(message)

    def get_clock(self):
        return self

    now = get_clock

    def to_msg(self):
        return Time()


class Rig:
    """An arm with joints a and b, its time, and what it says."""

    def __init__(self, monkeypatch):
        self.now, self.aim, self.node = 100.0, {}, FakeNode()
        monkeypatch.setattr(arm_module.time, 'monotonic', lambda: self.now)
        monkeypatch.setattr(arm_module.time, 'time_ns', lambda: round(1e9 * self.now))
        self.arm = Arm(self.node, {'a': 0.0, 'b': 1.0}, lambda: self.aim)

    def run(self, seconds):
        """Let time pass."""
        for _ in range(round(seconds / PERIOD)):
            self.now += 1.01 * PERIOD
            self.arm.follow()

    @property
    def said(self):
        return list(self.node.published[-1].position)

    def rests_at(self, *q):
        return self.arm.rests_at(('a', 'b'), np.array(q), round(1e9 * self.now)) is not None


@pytest.fixture
def rig(monkeypatch):
    return Rig(monkeypatch)


def test_an_arm_follows_a_little_late_and_not_while_it_is_off(rig):
    rig.aim = {'a': 0.5}
    rig.run(0.5 * LAG)
    assert rig.said == [0.0, 1.0]
    rig.run(LAG)
    assert rig.said == [0.5, 1.0]
    rig.arm.switch(on=False)
    rig.aim = {'a': 0.7}
    rig.run(1.0)
    assert rig.said == [0.5, 1.0]
    assert rig.arm.distance({'a': 0.7}) == pytest.approx(0.2)
    rig.arm.switch(on=True)
    rig.run(2 * LAG)
    assert rig.said == [0.5, 1.0], 'commands of before are forgotten'
    rig.aim = {'a': 0.7}
    rig.run(2 * LAG)
    assert rig.said == [0.7, 1.0]


def test_a_motion_may_begin_where_an_arm_rests_and_says_so(rig):
    rig.run(0.5)
    assert rig.rests_at(0.0, 1.0)
    assert not rig.rests_at(0.0, 1.001), 'it did not say so'
    rig.arm.lead(1.0)
    rig.run(0.3)
    q = rig.said
    assert not rig.rests_at(*q), 'it moves'
    assert not rig.rests_at(0.0, 1.0), 'it has gone'
    rig.arm.lead(0.0)
    rig.run(0.3)
    assert rig.rests_at(*rig.said)


def test_a_motion_may_not_begin_where_frozen_states_say_that_an_arm_is(rig):
    rig.run(0.5)
    rig.arm.driver = Driver(frozen=True)
    rig.aim = {'a': 0.3}
    rig.run(3.0)
    assert rig.said == [0.0, 1.0]
    assert not rig.rests_at(0.0, 1.0)
    assert not rig.rests_at(0.3, 1.0), 'nobody knows'
    rig.arm.driver = Driver()
    rig.run(0.3)
    assert rig.rests_at(0.3, 1.0)


def test_a_wrapped_angle_does_not_let_a_motion_begin_a_turn_away(rig):
    rig.arm.driver, rig.aim = Driver(wraps='a'), {'a': 4.0}
    rig.run(0.5)
    assert rig.said == pytest.approx([4.0 - 2 * math.pi, 1.0])
    assert rig.rests_at(4.0, 1.0)
    assert not rig.rests_at(4.0 - 2 * math.pi, 1.0)


def test_states_are_late_bunched_and_inexact(rig):
    rig.arm.driver = Driver(late=0.05)
    rig.run(0.04)
    assert not rig.node.published
    rig.run(0.04)
    assert 0 < len(rig.node.published) < 10
    rig.arm.driver, counts = Driver(noise=0.003, bunch=0.05), []
    for _ in range(40):
        before = len(rig.node.published)
        rig.run(PERIOD)
        counts.append(len(rig.node.published) - before)
    assert counts.count(0) > 25
    assert 0.0 < abs(rig.said[0]) <= 0.003
    assert rig.rests_at(*rig.said)


def test_somebody_leads_an_arm_to_and_fro_and_back(rig):
    places = []
    rig.arm.lead(2.0)
    for _ in range(600):
        rig.run(PERIOD)
        places.append(rig.said[0])
    assert max(places) == pytest.approx(SWAY, abs=0.02)
    assert min(places) == pytest.approx(-SWAY, abs=0.02)
    assert np.abs(np.diff(places)).max() <= 2.0 * 1.02 * PERIOD


def test_what_an_arm_says_falsely_is_never_believed(rig):
    robot = load('panda')
    names = robot.joint_names
    start = dict(zip(names, robot.middle_configuration.tolist(), strict=True))
    arm, measured = Arm(rig.node, start, dict), MeasuredState(robot, names, {})
    numbers = random.Random(4)
    refused = 0
    for k in range(MANY):
        rig.now += 1.01 * PERIOD
        arm.say_falsely(numbers) if k % 10 == 9 else arm.follow()
        try:
            positions = read_joint_state(rig.node.published[-1], measured.joints)
            refused += bool(measured.take(positions, 0.008 * k, 0.02)[1])
        except Refused:
            refused += 1
        assert measured.q.tolist() == robot.middle_configuration.tolist()
    assert refused >= 0.09 * MANY


@pytest.mark.parametrize('output', ['joint_state', 'joint_trajectory'])
def test_all_descriptions_of_a_campaign_are_robots_whose_mimic_joints_keep_their_limits(output):
    every = variants(output)
    assert {v.base for v in every if not v.mimics} == {0, 1}
    assert len({v.text for v in every}) == len(every)
    for v in every:
        rows, robot = v.judged.description.rows, v.kinematics
        assert set(v.ready) == {j for j in rows if 'finger' not in j}
        assert set(v.commanded) <= set(rows)
        assert v.mimics == bool({*robot.mimic_joints} - {'panda_finger_joint2'})
        for name, mimic in v.judged.description.mimics.items():
            ends = [mimic.multiplier * x + mimic.offset for x in rows[mimic.joint][:2]]
            assert rows[name][0] <= min(ends)
            assert max(ends) <= rows[name][1]
    assert len({frozenset(v.judged.commanded) for v in every}) == (
        2 if output == 'joint_state' else 1
    )


@pytest.mark.parametrize('name', SHIPPED)
def test_pinocchio_reads_the_same_limits_and_poses(name):
    pin = pytest.importorskip('pinocchio')
    from soak.link_poses import Poses, apart

    text, robot = (URDF / f'{name}.urdf').read_text('utf-8'), load(name)
    model, description = pin.buildModelFromXML(text), read_description(text)
    for joint, row in description.rows.items():
        at = model.joints[model.getJointId(joint)]
        if at.nq == 1:
            assert row[:2] == (
                model.lowerPositionLimit[at.idx_q],
                model.upperPositionLimit[at.idx_q],
            )
        limit = model.velocityLimit[at.idx_v]
        assert row[2] == (limit if limit > 0.0 else math.inf)
    rng = np.random.default_rng(0)
    q = robot.middle_configuration + 0.1 * rng.standard_normal(robot.n)
    positions = dict(zip(robot.joint_names, q.tolist(), strict=True))
    positions |= {
        mimic: row.multiplier * positions[row.joint] + row.offset
        for mimic, row in description.mimics.items()
    }
    for tip in robot.tips():
        pose = Poses(text).pose(positions, tip)
        assert apart(pose, robot.forward_kinematics(q, tip)) == pytest.approx((0, 0), abs=1e-7)
