# SPDX-License-Identifier: Apache-2.0
"""The pages of the documentation: their code blocks, links and pictures."""

import re
from typing import NamedTuple

from support.places import ROOT

PAGES = sorted([ROOT / 'README.md', *(ROOT / 'docs').rglob('*.md')])
FENCE = re.compile(
    r'^(?P<indent> *)```(?P<kind>\w*)[^\n]*\n(?P<body>.*?)^(?P=indent)```$', re.M | re.S
)
LINK = re.compile(r'\[(?P<text>[^]\[]*)\]\((?P<target>[^)\s]+)\)')


class Block(NamedTuple):
    """A code block: its language, its text, and the line where it begins."""

    kind: str
    text: str
    line: int


def blocks(path):
    """The code blocks of a page, in their order."""
    text = path.read_text(encoding='utf-8')
    return [
        Block(found['kind'], found['body'], text[: found.start()].count('\n') + 1)
        for found in FENCE.finditer(text)
    ]


def prose(path):
    """A page without its code blocks."""
    return FENCE.sub('', path.read_text(encoding='utf-8'))


def links(path):
    """List the targets of the links and pictures of a page, as they stand there."""
    return [found['target'] for found in LINK.finditer(prose(path))]


def name(path):
    """A page as tests are called after it."""
    return str(path.relative_to(ROOT))
