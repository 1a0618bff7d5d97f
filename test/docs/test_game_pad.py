# SPDX-License-Identifier: Apache-2.0
"""docs/jogging.md: a full stick, scaled as by teleop_twist_joy, moves the tip as the page says."""

import re

import numpy as np
import pytest
import yaml
from support.pages import blocks
from support.places import ROOT

pytest.importorskip('rclpy')

from support.node_harness import is_still, load
from support.panda_world import TIP, panda_world
from support.twists import jog, twist

from ik_node.parameters.specs import fixed_specs

PAGE = ROOT / 'docs' / 'jogging.md'
(PAD,) = (yaml.safe_load(block.text) for block in blocks(PAGE) if block.kind == 'yaml')
TELEOP = PAD['teleop_twist_joy_node']['ros__parameters']
JOY = PAD['game_controller_node']['ros__parameters']
STICKS = re.findall(
    r'^\| (?:left|right), .* \| (\d) \| (along|turns about) ([xyz])', PAGE.read_text('utf-8'), re.M
)
DEFAULTS = {spec.name: spec.default for spec in fixed_specs()}


def twist_of(stick):
    """The twist of one axis pushed as far as it goes, all others in the middle."""
    axes = np.zeros(6)
    axes[stick] = 1.0

    def scaled(kind, name):
        axis = TELEOP[f'axis_{kind}'][name]
        return 0.0 if axis < 0 else axes[axis] * TELEOP[f'scale_{kind}'][name]

    return twist(
        [scaled('linear', name) for name in 'xyz'],
        [scaled('angular', name) for name in ('roll', 'pitch', 'yaw')],
        TELEOP['frame'],
    )


def velocity(robot, message):
    """The velocity (6,) of the tip at a joint state."""
    q, dq = (np.array(values)[: robot.n] for values in (message.position, message.velocity))
    return robot.jacobian(q, TIP) @ dq


def test_the_sticks_move_the_tip_as_the_table_says():
    robot = load('panda')
    assert len(STICKS) == 4
    with panda_world() as panda:
        for stick, kind, axis in STICKS:
            row = 'xyz'.index(axis) + (0 if kind == 'along' else 3)
            name = axis if kind == 'along' else 'yaw'
            speed = TELEOP['scale_linear' if kind == 'along' else 'scale_angular'][name]
            before = len(panda.states)

            def is_fast(before=before, row=row, speed=speed):
                return any(velocity(robot, m)[row] > 0.95 * speed for m in panda.states[before:])

            jog(panda, twist_of(int(stick)), is_fast, f'stick {stick}')
            fastest = velocity(robot, panda.states[-1])
            assert np.argmax(np.abs(fastest)) == row
            panda.until(lambda: is_still(panda.more_states(1)[-1]), 'rest, once no twist comes')


def test_the_pad_repeats_often_enough_and_no_slower_than_twists_time_out():
    assert JOY['autorepeat_rate'] > 2.0 / DEFAULTS['twist_timeout']


def test_the_scales_are_below_the_largest_velocities():
    assert max(TELEOP['scale_linear'].values()) < DEFAULTS['linear_velocity']
    assert max(TELEOP['scale_angular'].values()) < DEFAULTS['angular_velocity']


def test_the_table_of_parameters_has_their_defaults():
    rows = re.findall(r'^\| (`[^|]*) \| ([^|]*) \|', PAGE.read_text('utf-8'), re.M)
    assert len(rows) > 4
    for names, stated in rows:
        for name, text in zip(re.findall(r'`([\w.]+)`', names), stated.split(', '), strict=False):
            default, shown = DEFAULTS.get(name), text.split()[0].strip('`')
            if default is not None:
                assert default == (float(shown) if isinstance(default, float) else shown), name
