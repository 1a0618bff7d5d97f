# SPDX-License-Identifier: Apache-2.0
"""Settings are what the node's descriptors say, for every parameter that it has."""

from collections import deque
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from rcl_interfaces.msg import ListParametersResult, ParameterEvent
from rcl_interfaces.srv import DescribeParameters, GetParameters, ListParameters
from rclpy.parameter import Parameter

from ik_core import load_robot
from ik_node.parameters.specs import (
    fixed_specs,
    following_error_specs,
    goal_kind_specs,
    limit_specs,
    tool_specs,
)
from ik_viewer.ros.parameters import Parameters
from ik_viewer.ros.settings import converted, parameters_of, setting_of

PANDA = load_robot('panda')
SPECS = [
    *fixed_specs(),
    *limit_specs(PANDA),
    *following_error_specs(PANDA),
    *tool_specs(['panda_hand']),
    *goal_kind_specs(['panda_hand']),
]


def as_told(spec):
    """The setting of a parameter, as a node tells of it."""
    descriptor = spec.descriptor()
    descriptor.name = spec.name
    value = list(spec.default) or [''] if spec.kind in (tuple, list) else spec.default
    parameter = Parameter(spec.name, value=value)
    descriptor.type = parameter.type_.value
    return setting_of(descriptor, parameter.get_parameter_value())


@pytest.mark.parametrize('spec', SPECS, ids=lambda spec: spec.name)
def test_a_setting_is_what_the_node_means(spec):
    setting = as_told(spec)
    assert setting.kind is spec.kind
    assert setting.choices == spec.choices
    assert setting.static == spec.static
    assert spec.doc in setting.doc
    if spec.bounded:
        assert setting.bounds == pytest.approx(spec.bounds)
    default = list(spec.default) if spec.kind is list else spec.default
    assert setting.value == default
    assert type(setting.value) is spec.kind


@pytest.mark.parametrize('spec', SPECS, ids=lambda spec: spec.name)
def test_what_is_set_is_accepted_as_what_it_was(spec):
    setting = as_told(spec)
    (message,) = parameters_of({spec.name: setting.value}, {spec.name: setting})
    assert spec.accepts(Parameter.from_parameter_msg(message).value)


@pytest.mark.parametrize(
    ('kind', 'told', 'value'),
    [
        (float, 500, 500.0),
        (float, '1e-5', 1e-5),
        (str, True, 'true'),
        (tuple, 'left, right', ('left', 'right')),
        (tuple, [''], ()),
        (list, [1, 2, 3], [1.0, 2.0, 3.0]),
    ],
)
def test_values_are_of_the_kind_of_their_setting(kind, told, value):
    assert converted(kind, told) == value


def test_a_change_counts_that_is_told_before_an_older_answer():
    calls = deque()
    node = SimpleNamespace(create_subscription=lambda *arguments: None)
    make = lambda kind, name, request, answered, failed: calls.append(answered)  # noqa: E731
    parameters = Parameters(node, '/arm', SimpleNamespace(make=make), report=pytest.fail)
    spec = next(spec for spec in SPECS if spec.name == 'goal_kind.panda_hand')
    descriptor = spec.descriptor()
    descriptor.name = spec.name
    old, new = (Parameter(spec.name, value=value) for value in ('pose', 'axis'))
    parameters._begin_to_read()
    calls.popleft()(ListParameters.Response(result=ListParametersResult(names=[spec.name])))
    calls.popleft()(DescribeParameters.Response(descriptors=[descriptor]))
    event = ParameterEvent(node='/arm', changed_parameters=[new.to_parameter_msg()])
    parameters._on_event(event)
    calls.popleft()(GetParameters.Response(values=[old.get_parameter_value()]))
    assert parameters.settings[spec.name].value == 'axis'
