# SPDX-License-Identifier: Apache-2.0
"""Every page reads whole on a code hoster: rendered as CommonMark with tables, without Sphinx."""

import re
from collections import Counter
from itertools import pairwise

import pytest
from support.pages import PAGES, name
from support.places import ROOT

markdown_it = pytest.importorskip('markdown_it')

RENDERER = markdown_it.MarkdownIt('commonmark').enable('table')
OUTSIDE = ('CONTRIBUTING.md', 'QUALITY_DECLARATION.md', 'SECURITY.md', 'benchmark/README.md')
EVERY_PAGE = [*PAGES, *(ROOT / path for path in OUTSIDE)]
HTML = re.compile(r'<!--.*-->|</?(?:br|sub|sup|kbd|details|summary)\b[^>]*>', re.S)
# Syntax of MyST and reStructuredText that shows in plain paragraphs
RAW = {
    'a directive': re.compile(r'^:{3,}|^\.\. \w+::', re.M),
    'an option of a directive': re.compile(r'^:[\w-]+:', re.M),
    'a definition': re.compile(r'^: ', re.M),
    'a target': re.compile(r'^\([\w-]+\)=$', re.M),
    'an attribute': re.compile(r'\{[#.][\w-]+\}'),
    'a role': re.compile(r'\{[\w:-]+\}`'),
}
# Signs for what has no content that this syntax could be in
SHOWN = {'softbreak': '\n', 'hardbreak': '\n', 'code_inline': '`'}


def tokens(text):
    """The blocks of a page, each followed by what is in it."""
    for block in RENDERER.parse(text):
        yield block, block.children or []


def words(inline):
    """The text that a reader sees."""
    return ''.join(token.content for token in inline if token.type in ('text', 'code_inline'))


def anchors(text):
    """The anchors that hosters and MyST make of headings."""
    seen = Counter()
    for (opening, _), (_, inline) in pairwise(tokens(text)):
        if opening.type == 'heading_open':
            anchor = re.sub(r'[^\w\- ]', '', words(inline).lower()).replace(' ', '-')
            yield anchor + (f'-{seen[anchor]}' if seen[anchor] else '')
            seen[anchor] += 1


def faults(text, page):
    """List the parts that a reader of the rendered text would miss or not understand."""
    for block, inline in tokens(text):
        if block.type == 'fence' and '{' in block.info:
            yield f'a directive: {block.info}'
        elif block.type == 'html_block' and not HTML.fullmatch(block.content.strip()):
            yield f'an unknown element: {block.content}'
        elif block.type == 'table_open':
            yield from faults_of_rows(text.splitlines()[slice(*block.map)])
        yield from faults_of_line(inline, text, page)


def faults_of_rows(rows):
    """Cells beyond those of the head are not shown."""
    cells = [len(re.findall(r'(?<!\\)\|', row.strip().strip('|'))) for row in rows]
    yield from (f'a lost cell: {row}' for row, n in zip(rows, cells, strict=True) if n > cells[0])


def faults_of_line(inline, text, page):
    """Faults of what is in a paragraph, a heading or a cell."""
    seen = ''.join(SHOWN.get(token.type, token.content) for token in inline)
    yield from (f'{kind}: {seen}' for kind, raw in RAW.items() if raw.search(seen))
    for i, token in enumerate(inline):
        if token.type == 'html_inline' and not HTML.fullmatch(token.content):
            yield f'an unknown element: {token.content}'
        elif token.type == 'image':
            if not token.content:
                yield f'a picture without words: {token.attrs["src"]}'
            yield from faults_of_target(token.attrs['src'], text, page)
        elif token.type == 'link_open':
            end = next(j for j in range(i, len(inline)) if inline[j].type == 'link_close')
            if not any(part.content.strip() for part in inline[i:end]):
                yield f'an empty link: {token.attrs["href"]}'
            yield from faults_of_target(token.attrs['href'], text, page)


def faults_of_target(target, text, page):
    """A file or an anchor that is not there, or a page that only Sphinx can draw."""
    if re.match(r'\w+:', target):
        return
    file, _, anchor = target.partition('#')
    path = (page.parent / file).resolve() if file else page
    if file and not (path.exists() and path.is_relative_to(ROOT)):
        yield f'a dead link: {target}'
    elif file.endswith('.rst') and '.. auto' in path.read_text('utf-8'):
        yield f'a page without text: {target}'
    elif anchor and anchor not in anchors(path.read_text('utf-8') if file else text):
        yield f'a dead anchor: {target}'


@pytest.mark.parametrize('page', EVERY_PAGE, ids=name)
def test_a_page_reads_whole(page):
    assert list(faults(page.read_text('utf-8'), page)) == []


def test_no_page_is_left_out():
    found = set(ROOT.glob('*.md')) | set((ROOT / 'docs').rglob('*.md'))
    assert found <= set(EVERY_PAGE)


@pytest.mark.parametrize(
    ('kind', 'text'),
    [
        ('an empty link', '[](viewer.md)'),
        ('an empty link', 'See [ ](viewer.md#starting).'),
        ('a picture without words', '![](pictures/drag.webp)'),
        ('a directive', '```{image} pictures/drag.webp\n:alt: a robot\n```'),
        ('a directive', '```{toctree}\nviewer\n```'),
        ('a directive', ':::{warning}\nCareful.\n:::'),
        ('a directive', '.. image:: x.png'),
        ('an option of a directive', 'Text\n:class: chart'),
        ('a definition', '`message`\n: its meaning'),
        ('a target', '(limits)=\n### Limits'),
        ('an attribute', '![a robot](pictures/drag.webp){.chart}'),
        ('a role', 'See {doc}`viewer`.'),
        ('an unknown element', 'needs <limit lower="0"/> here'),
        ('an unknown element', '<joint>\n\nText'),
        ('a lost cell', '| a | b |\n|---|---|\n| `x|y` | z |'),
        ('a dead link', '[a page](absent.md)'),
        ('a dead link', '![a picture](pictures/absent.svg)'),
        ('a dead link', '[a file of the machine](../../../README.md)'),
        ('a dead anchor', '# Top\n\n[a section](#bottom)'),
        ('a dead anchor', '[a section](viewer.md#absent)'),
        ('a page without text', '[the API](api/robots.rst)'),
    ],
)
def test_a_fault_is_found(kind, text):
    found = list(faults(text, ROOT / 'docs' / 'page.md'))
    assert [fault.partition(':')[0] for fault in found if fault.startswith(kind)] == [kind]


@pytest.mark.parametrize(
    'text',
    [
        'Text: `{name: value}`, `~/status` and {braces}.',
        '```yaml\n:not: a directive\n```',
        '[![a robot](pictures/drag.webp)](viewer.md)',
        '# Of `code`, twice\n\n# Of `code`, twice\n\n[the second](#of-code-twice-1)',
        '<!-- a comment -->\n\n| a | b |\n|---|---|\n| `x\\|y` | z |',
        '[outside](https://example.org/#anchor) and <https://example.org>',
    ],
)
def test_plain_markdown_has_no_fault(text):
    assert list(faults(text, ROOT / 'docs' / 'page.md')) == []
