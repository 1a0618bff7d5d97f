"""What an experiment leaves in a folder, all called after it:

NAME.csv            the rows
NAME.svg, NAME.png  the figure
NAME_claims.csv     the claims, and as Markdown
NAME_claims.md
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from ...figures import save, styled
from ..rows import Row, write_csv
from .claims import Claim, claim_rows, markdown


def write(
    experiment: ModuleType, name: str, rows: list[Row], claims: Sequence[Claim], folder: Path
) -> None:
    """Write all of it; without matplotlib no figure, which stderr is told."""
    folder.mkdir(parents=True, exist_ok=True)
    write_csv(rows, folder / f'{name}.csv')
    write_csv(claim_rows(claims), folder / f'{name}_claims.csv')
    (folder / f'{name}_claims.md').write_text(markdown(claims), encoding='utf-8')
    try:
        with styled():
            figure = experiment.draw(rows)
            for suffix in ('.svg', '.png'):
                save(figure, folder / f'{name}{suffix}')
    except ImportError as error:
        print(f'{name} is not drawn: {error}; pip install matplotlib', file=sys.stderr)
