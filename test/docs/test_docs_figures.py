# SPDX-License-Identifier: Apache-2.0
"""Figures in the prose are those that the benchmarks wrote: rounded, not remembered."""

import re

import pytest
from support.places import ROOT

BENCHMARK = ROOT / 'benchmark'
PERFORMANCE = (ROOT / 'docs' / 'performance.md').read_text('utf-8')
README = (ROOT / 'README.md').read_text('utf-8')
PEERS = {
    '`ik.make_solver': 'ours',
    'roboplan': 'roboplan',
    'OptIK': 'OptIK',
    'placo': 'placo',
    'Robotics Toolbox': 'rtb ik_LM',
    'TRAC-IK, 5 ms': 'TRAC-IK 5 ms',
    'KDL': 'KDL NR_JL',
}


def tables(path):
    """The cells of every row of a page's tables."""
    lines = path.read_text('utf-8').splitlines()
    return [[cell.strip() for cell in line.strip('|').split('|')] for line in lines if '|' in line]


def measured(peer):
    """Return the figures of a peer in benchmark/README.md: over all arms, from random and near
    starts."""
    return [row for row in tables(BENCHMARK / 'README.md') if row[0] == peer and len(row) == 11][
        :2
    ]


@pytest.mark.parametrize('name', PEERS)
def test_the_table_of_peers_is_that_of_the_benchmark(name):
    (stated,) = (
        row for row in tables(ROOT / 'docs' / 'performance.md') if row[0].startswith(name)
    )
    random, near = measured(PEERS[name])
    values = [random[6], random[8], random[3], near[6]]
    for said, value in zip(stated[1:], values, strict=True):
        assert f'{float(said):.2g}' == f'{float(value):.2g}' or said == value, (said, value)


def test_the_table_for_those_who_come_from_peers_is_that_of_the_benchmark():
    rows = [row for row in tables(ROOT / 'docs' / 'coming_from.md') if len(row) == 6]
    names = [row[0] for row in rows[2:]]
    assert {'ours', 'TRAC-IK 5 ms', 'KDL NR_JL', 'pink', 'mink', 'ikpy', 'ssik'} <= set(names)
    for name, *stated in rows[2:]:
        random, near = measured(name)
        assert stated == [random[1], random[3], random[6], random[9], near[6]], name


def test_the_readme_s_figure_is_that_of_the_benchmark():
    mean = float(measured('ours')[0][6])
    assert f'in {mean:.1g} ms on average' in README


def test_rates_of_batches_are_those_of_the_benchmark():
    panda = [row for row in tables(BENCHMARK / 'README.md') if row[0] == 'panda' and len(row) == 5]
    for start, words in (('random', 'from random starts'), ('near', 'from near ones')):
        (rate,) = (row[4].replace(',', '') for row in panda if row[1] == start)
        said = re.search(rf'([\d,]+)(?: poses a second)? {words}', PERFORMANCE)[1]
        assert abs(int(said.replace(',', '')) - int(rate)) < 1000
