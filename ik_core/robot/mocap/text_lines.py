# SPDX-License-Identifier: Apache-2.0
"""Lines of untrusted text files: every error names the file and the line."""

from __future__ import annotations

import math
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from ...exceptions import MocapError

MAX_BYTES = 200_000_000
MAX_COORDINATE = 1e6  # larger coordinates, lengths and angles are mistakes in any unit


class Lines:
    """The words of a file's lines, without empty lines and comments; an iterator to be used once.

    `number` is the number of the line read last, from 1 on.
    """

    def __init__(self, path: str | os.PathLike[str], comment: str = '\0') -> None:
        self.path = Path(path)
        self.comment = comment
        self.number = 0
        # Latin 1 decodes any bytes; comments may be in any encoding.
        self._lines = _read(self.path).decode('latin-1').replace('\r\n', '\n').split('\n')
        self._words: list[str] = []
        self._again = False

    def __iter__(self) -> Iterator[list[str]]:
        while (words := self.read()) is not None:
            yield words

    def read(self) -> list[str] | None:
        """The words of the next line; None at the end of the file."""
        if self._again:
            self._again = False
            return self._words
        while self.number < len(self._lines):
            words = self._lines[self.number].split()
            self.number += 1
            if words and not words[0].startswith(self.comment):
                self._words = words
                return words
        return None

    def unread(self) -> None:
        """Make `read` return the line read last again."""
        self._again = True

    def error(self, reason: str, line: int | None = None) -> MocapError:
        """An error that names the file and the line, by default the line read last."""
        return MocapError(f'{self.path.name}, line {line or self.number}: {reason}')

    def numbers(self, words: Sequence[str], what: str, count: int | None = None) -> list[float]:
        """The words as `count` finite numbers. Raises MocapError."""
        if count is not None and len(words) != count:
            raise self.error(f'{what}: {len(words)} numbers where {count} are needed')
        try:
            numbers = list(map(float, words))
        except ValueError:
            numbers = [math.nan]
        if sum(map(abs, numbers)) <= MAX_COORDINATE and '_' not in ''.join(words):
            return numbers  # nearly all lines; NaN fails the comparison
        for word in words:
            if not is_number(word):
                raise self.error(
                    f'{what}: {shown(word)} is not a number of at most {MAX_COORDINATE:g} in size'
                )
        return numbers

    def name(self, words: Sequence[str], what: str) -> str:
        """The words as the name of a joint. Raises MocapError if they can't be one."""
        name = ' '.join(words)
        if not name or len(name) > 100 or '/' in name or not name.isprintable():
            raise self.error(f'{what}: {shown(name)} is not a name: up to 100 letters, no /')
        return name


def is_number(word: str) -> bool:
    """Return whether a word is a finite number as motion files write them."""
    try:
        return '_' not in word and abs(float(word)) <= MAX_COORDINATE
    except ValueError:
        return False


def shown(text: str) -> str:
    """Text of a file for an error message: escaped, at most 40 characters."""
    return ascii(text if len(text) <= 40 else f'{text[:40]}...')


def _read(path: Path) -> bytes:
    try:
        with path.open('rb') as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise MocapError(f"can't read {shown(str(path))}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise MocapError(f'{path.name} is larger than {MAX_BYTES / 1e6:.0f} MB')
    return data
