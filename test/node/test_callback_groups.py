# SPDX-License-Identifier: Apache-2.0
"""Callback groups do not grow where entities come and go."""

import pytest

pytest.importorskip('rclpy')

from ik_node.callback_groups import Polled
from ik_node.ticker import Gate


class Entity:
    """Stands for a subscription."""


@pytest.mark.parametrize('kind', [Gate, Polled])
def test_what_is_destroyed_is_forgotten_and_what_is_there_is_not(kind):
    group, stays = kind(), Entity()
    group.add_entity(stays)
    for _ in range(100):
        group.add_entity(Entity())
    assert len(group.entities) == 1
    assert group.has_entity(stays)
    assert not group.has_entity(Entity())


def test_a_gate_knows_what_it_runs():
    gate, entity, other = Gate(), Entity(), Entity()
    gate.add_entity(entity)
    gate.add_entity(other)
    assert gate.beginning_execution(entity)
    assert not gate.can_execute(other)
    gate.ending_execution(entity)
    assert gate.can_execute(entity)
