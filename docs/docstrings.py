# SPDX-License-Identifier: Apache-2.0
"""The docstrings' plain text as reStructuredText, for Sphinx's autodoc.

Docstrings are written to be read as they stand: parameters as `name : meaning`, formulas indented,
names in single backticks, and |x| or J* without escapes.
"""

import re
import textwrap
from collections.abc import Iterator

# Such as 'q0 (n,) : where to start', at the beginning of a line
PARAMETER = re.compile(r'(?P<names>[^\s:`|=(]+(?:, \w+)*(?: [\[(][^:]*[\])])?) +: (?P<meaning>.*)')
CODE = re.compile(r'(`[^`]+`)')
ALIAS = re.compile(r"TypeAliasForwardRef\('(\w+)'\)")
SPECIAL = re.compile(r'[*|\\]|_(?!\w)')


def as_rest(
    app: object, what: str, name: str, thing: object, options: object, lines: list[str]
) -> None:
    """Rewrite the lines of a docstring; called by autodoc."""
    lines[:] = rest(lines)


def with_short_types(
    app: object, what: str, name: str, thing: object, options: object, signature: str, answer: str
) -> tuple[str | None, str | None] | None:
    """A signature with the names of types as they stand in the source; called by autodoc."""
    return None if signature is None else (short_types(signature), short_types(answer))


def short_types(text: str | None) -> str | None:
    """The text of a signature with names of types in the place of what autodoc makes of them."""
    return text and ALIAS.sub(lambda found: found[1], text)


def rest(lines: list[str]) -> list[str]:
    """The lines in reStructuredText."""
    written: list[str] = []
    for paragraph in _paragraphs(lines):
        written += [*_paragraph(paragraph), '']
    return written


def _paragraphs(lines: list[str]) -> Iterator[list[str]]:
    """The paragraphs; a list in one is a paragraph of its own, as is each parameter."""
    part: list[str] = []
    for line in lines:
        begins = line.startswith('- ') or PARAMETER.match(line)
        if part and (begins or not line.strip()):
            yield part
            part = []
        if line.strip():
            part.append(line)
    if part:
        yield part


def _paragraph(lines: list[str]) -> list[str]:
    parameter = PARAMETER.match(lines[0])
    if parameter:
        meaning = [parameter['meaning'], *map(str.strip, lines[1:])]
        return [f'``{parameter["names"]}``', *('    ' + _escaped(line) for line in meaning)]
    if lines[0].startswith('- '):
        return [_escaped(lines[0]), *('  ' + _escaped(line.strip()) for line in lines[1:])]
    if lines[0].startswith('    '):  # a formula, code or a table
        return ['::', '', *textwrap.indent(textwrap.dedent('\n'.join(lines)), '    ').split('\n')]
    return [_escaped(line.strip()) for line in lines]


def _escaped(line: str) -> str:
    """The text with nothing in it that reStructuredText takes for its own, but code."""
    parts = CODE.split(line)
    parts[::2] = [SPECIAL.sub(lambda found: '\\' + found.group(), part) for part in parts[::2]]
    for i in range(1, len(parts), 2):  # code, before text that may go on as in `now`s
        parts[i] += '\\ ' if parts[i + 1][:1].isalnum() else ''
    return ''.join(parts)
