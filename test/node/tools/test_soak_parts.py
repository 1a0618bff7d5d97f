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
from ik_node.tools.soak import arm as arm_module
from ik_node.tools.soak.arm import Arm
from ik_node.tools.soak.draws import Draws, limit_of
from ik_node.tools.soak.limits import LOWER, ROWS, UPPER, read_description

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
    """Keeps what is published, and the timer."""

    def __init__(self):
        self.published = []

    def create_publisher(self, *_):
        return self

    def create_timer(self, period, callback):
        self.tick = callback

    def publish(self, message):
        self.published.append(message)

    def get_clock(self):
        return self

    now = get_clock

    def to_msg(self):
        return Time()


@pytest.fixture
def clock(monkeypatch):
    now = [100.0]
    monkeypatch.setattr(arm_module.time, 'monotonic', lambda: now[0])
    return now


def test_an_arm_follows_a_little_late_and_not_while_it_is_off(clock):
    node = FakeNode()
    arm = Arm(node, {'a': 0.0, 'b': 1.0})
    arm.command(['a'], np.array([0.5]))
    node.tick()
    clock[0] += 1.1 * arm_module.LAG
    node.tick()
    assert [list(message.position) for message in node.published] == [[0.0, 1.0], [0.5, 1.0]]
    arm.switch(on=False)
    arm.command(['a'], np.array([0.7]))
    clock[0] += 1.0
    node.tick()
    assert list(node.published[-1].position) == [0.5, 1.0]
    assert arm.distance({'a': 0.7}) == pytest.approx(0.2)
    assert arm.was_at('a', 0.5)
    assert not arm.was_at('a', 0.7)


def test_what_an_arm_says_falsely_is_never_believed(clock):
    node, robot = FakeNode(), load('panda')
    names = robot.joint_names
    start = dict(zip(names, robot.middle_configuration.tolist(), strict=True))
    arm, measured = Arm(node, start), MeasuredState(robot, names)
    numbers = random.Random(4)
    refused = 0
    for k in range(MANY):
        arm.say_falsely(numbers) if k % 10 == 9 else node.tick()
        try:
            positions = read_joint_state(node.published[-1], measured.joints)
            refused += bool(measured.take(positions, 0.008 * k, 0.02)[1])
        except Refused:
            refused += 1
        assert measured.q.tolist() == robot.middle_configuration.tolist()
    assert refused >= 0.09 * MANY


@pytest.mark.parametrize('name', SHIPPED)
def test_pinocchio_reads_the_same_limits_and_poses(name):
    pin = pytest.importorskip('pinocchio')
    from ik_node.tools.soak.poses import Poses, apart

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
