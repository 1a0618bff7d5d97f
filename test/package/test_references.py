# SPDX-License-Identifier: Apache-2.0
"""Docstrings cite sources by the keys of docs/references.md."""

import re

import pytest
from support.places import ROOT

PAGE = (ROOT / 'docs' / 'references.md').read_text(encoding='utf-8')
LISTED = re.findall(r'^\| \[(\w+)\] \|', PAGE, re.MULTILINE)
KEY = re.compile(r'\[([A-Z][A-Za-z]+\d{4}[a-z]?|TakKo|HanPowell)\]')
# An author with a year; months aside
UNKEYED = re.compile(r'\b[A-Z][a-z]{2,}(?: et al\.| \([A-Z]\w+\))?,? \(?(?:19|20)\d\d\b')
MONTHS = ('January', 'February', 'March', 'April', 'May', 'June', 'July', 'August', 'September',
          'October', 'November', 'December', 'Copyright')  # fmt: skip


def sources():
    folders = ('ik_core', 'ik_node', 'ik_viewer', 'benchmark')
    return sorted(path for folder in folders for path in (ROOT / folder).rglob('*.py'))


def cited():
    return {key for path in sources() for key in KEY.findall(path.read_text(encoding='utf-8'))}


def test_every_key_that_is_cited_stands_in_the_references_and_the_reverse():
    assert cited() == set(LISTED)


def test_the_references_are_in_the_order_of_their_keys():
    assert sorted(set(LISTED), key=str.lower) == LISTED


@pytest.mark.parametrize('path', sources(), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_source_is_cited_without_its_key(path):
    text = path.read_text(encoding='utf-8')
    found = [match.group() for match in UNKEYED.finditer(text)]
    assert not [name for name in found if not name.startswith(MONTHS)]
