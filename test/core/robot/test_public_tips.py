# SPDX-License-Identifier: Apache-2.0
"""Default tips of public robots: `support/public_tips.txt`, by names and structure."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from support.places import ROOT

import ik_core as ik

TABLE = ROOT / 'test' / 'support' / 'public_tips.txt'
KINDS = {'r': 'revolute', 'c': 'continuous', 'p': 'prismatic'}
LIMIT = '<limit lower="-1" upper="1" velocity="1" effort="1"/>'


class Row(NamedTuple):
    """A line of the table."""

    tip: str
    files: int
    source: str
    end: str


def rows() -> list[Row]:
    found = []
    for line in TABLE.read_text(encoding='utf-8').splitlines():
        if not line.startswith('#'):
            tip, files, source, why, end = line.split(' | ')
            assert why
            found.append(Row(tip, int(files), source, end))
    return found


def joint(name: str, kind: str, parent: str, child: str, mimic: str = '') -> str:
    more = LIMIT + (f'<mimic joint="{mimic}" multiplier="-1"/>' if mimic else '')
    return (
        f'<link name="{child}"/><joint name="{name}" type="{kind}"><parent link="{parent}"/>'
        f'<child link="{child}"/><origin xyz="0 0 0.1"/>'
        + ('' if kind == 'fixed' else f'<axis xyz="0 1 0"/>{more}')
        + '</joint>'
    )


def urdf_of(end: str, arm: int = 4) -> str:
    """A small arm of so many joints before the end of a row."""
    text = '<robot name="arm"><link name="base 0"/>'
    for k in range(arm):
        text += joint(f'arm {k + 1}', 'revolute', f'base {k}', f'base {k + 1}')
    for part in end.split('; '):
        words = part.split()
        if words[1] == '>':
            text += joint(f'to {words[2]}', 'fixed', words[0], words[2])
        else:
            parent = f'base {arm}' if words[2] == '-' else words[2]
            mimic = words[4][1:] if len(words) > 4 else ''
            text += joint(words[0], KINDS[words[1]], parent, words[3], mimic)
    return text + '</robot>'


def test_the_table_has_a_hundred_robots() -> None:
    assert sum(row.files for row in rows()) >= 200
    assert len(rows()) >= 70


@pytest.mark.parametrize('row', rows(), ids=lambda row: row.source.rpartition('/')[2])
def test_the_default_tip_of_a_public_robot_is_that_of_the_table(row: Row) -> None:
    robot = ik.load_robot(urdf_of(row.end))
    assert robot.default_tip() == row.tip
    assert robot.gripper_joints(row.tip) == []
    assert len(robot.chain(row.tip)) == 5
