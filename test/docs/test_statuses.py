# SPDX-License-Identifier: Apache-2.0
"""The table of statuses has each status of every part, with its number and colour."""

import re

import pytest
from support.places import ROOT

from ik_core import IkStatus
from ik_core.for_c.header import STATUSES
from ik_core.optim import search
from ik_core.rules import CLOSEST
from ik_core.solvers.damped_search.run import NOT_FINITE
from ik_core.tracking import TrackStatus
from ik_viewer.drawing import colours

NONE = '-'


def rows():
    """The cells of each row of the page's only table, without backticks."""
    text = (ROOT / 'docs/statuses.md').read_text('utf-8')
    lines = [line for line in text.splitlines() if line.startswith('|')][2:]
    return [
        [cell.strip().replace('`', '') for cell in line.strip('|').split('|')] for line in lines
    ]


def column(number):
    return [row[number] for row in rows() if row[number] != NONE]


def test_every_status_of_a_result_has_one_row():
    assert sorted(column(1)) == sorted(status.name for status in IkStatus)


def test_every_status_of_a_tracker_is_there():
    assert set(column(2)) == {status.name for status in TrackStatus}


def test_every_code_of_the_node_is_there_with_its_number():
    pytest.importorskip('rclpy')
    from ik_node.outputs.codes import StatusCode

    assert set(column(3)) == {f'{code.key} {code.number}' for code in StatusCode}
    numbers = [code.number for code in StatusCode]
    assert len(set(numbers)) == len(numbers)


def test_the_node_s_code_of_a_tracker_s_status_has_its_name():
    for _, _, tracker, node, *_ in rows():
        assert tracker == NONE or node.split()[0] == tracker.lower()


def test_the_page_shows_each_code_in_the_colour_of_the_table():
    names = {colours.GREEN: 'green', colours.BLUE: 'blue', colours.ORANGE: 'orange'}
    names |= {colours.RED: 'red', colours.PURPLE: 'purple', colours.GREY: 'grey'}
    for _, _, _, node, colour, _ in rows():
        shown = NONE if node == NONE else names[colours.colour_of(node.split()[0])]
        assert colour == shown


def test_the_constants_of_c_are_those_of_the_header():
    header = (ROOT / 'ik_core/kernels/ik_core.h').read_text('utf-8')
    known = re.findall(r'(IK_\w+) = (-?\d+)', re.search(r'enum \{ IK_RUNNING.*?\}', header)[0])
    assert set(column(5)) == {f'{name} {number}' for name, number in known}
    assert len(known) == len(STATUSES) + 1
    assert ('IK_NOT_FINITE', str(NOT_FINITE)) in known


def test_a_result_s_status_is_that_of_its_code_in_c():
    codes = {status.name: code for status, code in search.CODES.items()} | {'LEAST': CLOSEST}
    for _, library, _, _, _, c in rows():
        if library in codes:
            assert int(c.split()[1]) == codes[library]
        else:
            assert library == NONE or c == NONE
