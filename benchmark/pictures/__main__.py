# SPDX-License-Identifier: Apache-2.0
"""The pictures of the page in the documentation: `make pictures`.

    python -m benchmark.pictures                 # all, into docs/pictures
    python -m benchmark.pictures drag            # some

They are what Chromium draws of the page, with nothing retouched. Without a GPU the film takes
minutes.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from ik_core.exceptions import IkError
from ik_viewer.drawing.description import describe

from .browser import browser
from .film import film
from .imitation import playing, throw
from .people import state_of_the_art
from .stills import (
    colliding,
    flexible,
    following,
    helix,
    jumping,
    limits,
    linkage,
    on_the_way,
    reach,
    stretched,
    two_tips,
)

FOLDER = Path('docs/pictures')
BAD_INPUT = 2


def take_drag(chromium: Any, path: Path) -> None:
    """A Panda that follows its gizmo."""
    film(chromium, describe('panda'), path)


PICTURES: Mapping[str, Callable[[Any, Path], None]] = {
    'page': lambda chromium, path: on_the_way(chromium, describe('panda'), path),
    'two_arms': lambda chromium, path: two_tips(chromium, describe('dual_arm'), path),
    'compare': lambda chromium, path: stretched(chromium, describe('panda'), path),
    'targets': lambda chromium, path: following(chromium, describe('buss_double_y'), path),
    'linkage': linkage,
    'flexible': flexible,
    'key_frames': jumping,
    'path': lambda chromium, path: helix(chromium, describe('ur5e'), path),
    'collisions': lambda chromium, path: colliding(chromium, describe('panda'), path),
    'reach': lambda chromium, path: reach(chromium, describe('panda'), path),
    'drag': take_drag,
    'limits': limits,
    'play': playing,
    'throw': throw,
    'state_of_the_art': state_of_the_art,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Take pictures; the exit code."""
    arguments = _parser().parse_args(argv)
    arguments.out.mkdir(parents=True, exist_ok=True)
    try:
        with browser() as chromium:
            for name in arguments.names or PICTURES:
                path = arguments.out / f'{name}.webp'
                PICTURES[name](chromium, path)
                print(f'{path}: {path.stat().st_size / 1e3:.0f} kB', flush=True)
    except (IkError, OSError) as error:
        print(f'error: {error}', file=sys.stderr)
        return BAD_INPUT
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='python -m benchmark.pictures', description='pictures of the documentation'
    )
    parser.add_argument('names', nargs='*', choices=[*PICTURES, []], help='all of them by default')
    parser.add_argument('--out', type=Path, default=FOLDER, metavar='DIR', help=str(FOLDER))
    return parser


if __name__ == '__main__':
    sys.exit(main())
