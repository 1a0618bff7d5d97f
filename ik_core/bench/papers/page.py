"""Put the tables of claims that `ik bench papers --out DIR` wrote into a page of prose.

    python -m ik_core.bench.papers.page docs/papers.md benchmark/papers

In the page a table stands between `<!-- NAME: begin -->` and `<!-- NAME: end -->`; all else is
written by hand and stays.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Sequence
from pathlib import Path

BLOCK = re.compile(r'(<!-- (\w+): begin -->\n).*?(<!-- \2: end -->)', re.DOTALL)


def filled(page: str, folder: Path) -> str:
    """The page with the tables in the folder; one that is not there stays as it is."""

    def table(block: re.Match[str]) -> str:
        source = folder / f'{block[2]}_claims.md'
        if not source.is_file():
            return block[0]
        return f'{block[1]}{source.read_text(encoding="utf-8")}{block[3]}'

    return BLOCK.sub(table, page)


def main(arguments: Sequence[str]) -> int:
    """Fill the page; exit code 0, or 2 without a page and a folder."""
    if len(arguments) != 2 or not Path(arguments[0]).is_file() or not Path(arguments[1]).is_dir():
        print('usage: python -m ik_core.bench.papers.page PAGE FOLDER', file=sys.stderr)
        return 2
    page, folder = map(Path, arguments)
    page.write_text(filled(page.read_text(encoding='utf-8'), folder), encoding='utf-8')
    return 0


if __name__ == '__main__':
    sys.exit(main(sys.argv[1:]))
