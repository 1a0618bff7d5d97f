# SPDX-License-Identifier: Apache-2.0
"""Pairs that an SRDF disables are left out; where they collide all the same it is a warning."""

import re

import numpy as np
import pytest

import ik_core as ik
from ik_core.collision import Box
from ik_core.collision.piece import piece_of
from ik_core.robot.srdf import MAX_BYTES, read_srdf

JOINT = (
    '<joint name="{0}" type="revolute"><parent link="{1}"/><child link="{2}"/>'
    '<origin xyz="0 0 {3}"/><axis xyz="0 1 0"/>'
    '<limit lower="-2.6" upper="2.6" velocity="1" effort="1"/></joint>'
)


@pytest.fixture
def robot():
    """A base and an arm of three links that can fold on itself."""
    links = ''.join(f'<link name="{name}"/>' for name in ('base', 'a', 'b', 'c'))
    joints = [('j1', 'base', 'a', 0.1), ('j2', 'a', 'b', 0.5), ('j3', 'b', 'c', 0.5)]
    text = links + ''.join(JOINT.format(*joint) for joint in joints)
    return ik.load_robot(f'<robot name="arm">{text}</robot>')


@pytest.fixture
def pieces():
    at = ik.transform(position=(0.0, 0.0, 0.25))
    rods = [piece_of(Box((0.05, 0.05, 0.3)), name, at) for name in 'abc']
    return [piece_of(Box((0.3, 0.3, 0.05)), 'base', np.eye(4)), *rods]


def srdf(*entries):
    return f'<robot name="arm">{"".join(entries)}</robot>'


def disable(first, second, reason=''):
    return f'<disable_collisions link1="{first}" link2="{second}" reason="{reason}"/>'


def test_disabled_pairs_are_not_checked_in_either_order(robot, pieces, tmp_path):
    folded = [0.0, 2.6, 0.0]
    assert not ik.Collisions(robot, margin=0.0, pieces=pieces).free([0.0, 2.6, 2.6])
    text = srdf(*(disable(*names) for names in ('ba', 'ca', 'bc')))
    path = tmp_path / 'arm.srdf'
    path.write_text(text)
    for source in (text, path, str(path)):
        collisions = ik.Collisions(robot, margin=0.0, srdf=source, pieces=pieces)
        disabled = {(pair.first, pair.second) for pair in collisions.pairs if pair.reason == ''}
        verdicts = {(pair.first, pair.second): pair.verdict for pair in collisions.pairs}
        assert {verdicts[pair] for pair in (('a', 'b'), ('a', 'c'), ('b', 'c'))} == {'disabled'}
        assert ('a', 'c') in disabled
        assert verdicts['base', 'c'] == 'sometimes'
        names = {frozenset((p.first, p.second)) for p in collisions.distances(folded, np.inf)}
        assert names <= {frozenset(('base', x)) for x in 'abc'}


@pytest.mark.parametrize('margin', [0.0, 0.01, 0.2])
def test_each_contradicted_entry_is_one_warning_with_a_colliding_configuration(
    robot, pieces, margin
):
    text = srdf(disable('a', 'c', 'Never'), disable('base', 'a', 'Never'), disable('base', 'c'))
    collisions = ik.Collisions(robot, margin=margin, srdf=text, pieces=pieces)
    assert len(collisions.warnings) == 3, collisions.warnings
    everything = ik.Collisions(robot, margin=0.0, pieces=pieces)
    for warning, names, reason in zip(
        sorted(collisions.warnings),
        (('a', 'c'), ('base', 'a'), ('base', 'c')),
        ('Never', 'Never', 'no reason'),
        strict=True,
    ):
        assert repr(names[0]) in warning or repr(names[1]) in warning
        assert f'({reason})' in warning
        values = dict(re.findall(r'(j\d) = (-?[\d.e-]+)', warning))
        q = [float(values[name]) for name in robot.joint_names]
        found = {frozenset((p.first, p.second)): p for p in everything.distances(q, 1.0)}
        assert found[frozenset(names)].distance <= 1e-3  # of the digits that are shown


def test_the_share_in_a_warning_is_that_of_collisions_whatever_the_margin(robot, pieces):
    shares = set()
    for margin in (0.0, 0.1, 0.3):
        collisions = ik.Collisions(
            robot, margin=margin, srdf=srdf(disable('a', 'c')), pieces=pieces
        )
        (warning,) = collisions.warnings
        shares.add(re.search(r'collide in ([\d.]+) %', warning)[1])
    assert len(shares) == 1


def test_links_that_are_disabled_by_default_and_pairs_that_are_enabled_again(robot, pieces):
    text = srdf(
        '<disable_default_collisions link="c"/>', '<enable_collisions link1="c" link2="a"/>'
    )
    collisions = ik.Collisions(robot, margin=0.0, srdf=text, pieces=pieces)
    verdicts = {frozenset((pair.first, pair.second)): pair for pair in collisions.pairs}
    assert verdicts[frozenset(('base', 'c'))].verdict == 'disabled'
    assert verdicts[frozenset(('base', 'c'))].reason == 'disabled by default'
    assert verdicts[frozenset('bc')].verdict == 'disabled'
    assert verdicts[frozenset('ac')].verdict == 'sometimes'


def test_links_that_the_robot_lacks_are_one_warning(robot, pieces):
    text = srdf(*(disable('a', f'x{i}') for i in range(9)))
    collisions = ik.Collisions(robot, srdf=text, pieces=pieces)
    (warning,) = collisions.warnings
    assert warning == (
        "the SRDF names links that 'arm' does not have: 'x0', 'x1', 'x2', 'x3', 'x4', ..."
    )


def test_an_srdf_that_disables_nothing_changes_nothing(robot, pieces):
    plain = ik.Collisions(robot, pieces=pieces)
    same = ik.Collisions(robot, srdf=srdf('<group name="arm"/>'), pieces=pieces)
    assert plain.digest() == same.digest()
    assert same.warnings == plain.warnings


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('<robot', 'not well-formed XML, line 1'),
        ('<sdf/>', 'outermost element is <sdf>; an SRDF has <robot>'),
        ('<robot><disable_collisions link1="a"/></robot>', 'no attribute link2'),
        ('<!DOCTYPE x [<!ENTITY e "e">]><robot>&e;</robot>', 'DOCTYPE is not allowed'),
        ('no_such.srdf', "can't read the SRDF 'no_such.srdf': No such file"),
        ('a\0b', "can't read the SRDF"),
        (3, 'XML text or the path of a file, not 3'),
        ('<robot>' + ' ' * MAX_BYTES, 'larger than 10 MB'),
        ('<robot>\ud800</robot>', "can't be decoded"),
    ],
)
def test_an_srdf_that_can_not_be_read_is_refused(robot, text, said):
    with pytest.raises(ik.UrdfError, match=re.escape(said)):
        read_srdf(text, robot)


def test_an_error_names_the_file(robot, tmp_path):
    path = tmp_path / 'arm.srdf'
    path.write_bytes(b'<?xml version="1.0" encoding="utf-99"?><robot/>')
    with pytest.raises(ik.UrdfError, match=re.escape(str(path))):
        read_srdf(path, robot)
