# SPDX-License-Identifier: Apache-2.0
"""The results of the papers' experiments that are in the tree."""

import csv

from benchmark.results import without_comments
from support.places import ROOT

RESULTS = ROOT / 'benchmark' / 'papers'
TEXT = {'part', 'figure', 'method', 'values'}
"""Columns whose values stay text though they may look like numbers."""
ALSO_TEXT = {'line_search': {'case'}, 'postures': {'case'}}
"""More of them, by experiment."""


def rows_of(name):
    """The rows of an experiment, their numbers as numbers."""
    text = TEXT | ALSO_TEXT.get(name, set())
    return [
        {key: value if key in text else _number(value) for key, value in row.items()}
        for row in table_of(name)
    ]


def table_of(name):
    """The lines of a CSV file by their columns, all of it text."""
    with (RESULTS / f'{name}.csv').open(encoding='utf-8') as file:
        return list(csv.DictReader(without_comments(file)))


def _number(text):
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
