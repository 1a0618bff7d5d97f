# SPDX-License-Identifier: Apache-2.0
"""The results of the papers' experiments that are in the tree."""

import csv

from benchmark import runner
from benchmark.results import without_comments
from support.places import ROOT

RESULTS = ROOT / 'benchmark' / 'papers'


def rows_of(name):
    """The rows of an experiment, their numbers as numbers."""
    return runner.recorded(name, RESULTS)


def table_of(name):
    """The lines of a CSV file by their columns, all of it text."""
    with (RESULTS / f'{name}.csv').open(encoding='utf-8') as file:
        return list(csv.DictReader(without_comments(file)))
