# SPDX-License-Identifier: Apache-2.0
"""Both pages that name the solvers for `avoid=` name those that take it, and no others."""

import re

import pytest
from support.places import ROOT

import ik_core as ik

DOCS = ROOT / 'docs'


@pytest.fixture(scope='module')
def supporting():
    """The solvers that do not refuse a problem with `avoid=`."""
    robot = ik.load_robot('ur5e')
    goal = ik.PoseTask('tool0', [0.4, 0.2, 0.5], rpy=[3.14, 0, 0])
    problem = ik.IkProblem(robot, [goal], avoid=ik.Collisions(robot))
    names = set()
    for name in ik.SOLVERS:
        try:
            ik.solve(problem, solver=name)
        except ik.UnsupportedProblem:
            continue
        names.add(name)
    return names


def test_the_page_on_solvers_names_them(supporting):
    text = (DOCS / 'solvers.md').read_text('utf-8')
    (sentence,) = re.findall(r'^(`.*) support these, all others refuse them', text, re.M)
    assert set(re.findall(r'`(\w+)`', sentence)) == supporting


def test_the_page_on_collisions_names_them(supporting):
    text = (DOCS / 'collisions.md').read_text('utf-8')
    bullets = re.findall(r'^- \*\*(`.*?`)\*\*', text.partition('support `avoid`')[2], re.M)
    assert set(re.findall(r'`(\w+)`', ' '.join(bullets))) == supporting
