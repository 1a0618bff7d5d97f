"""`ik compile`: compile the solvers now, so that nobody waits for it later.

    ik compile                              # all solvers: a minute or two, once for each version
    ik compile damped_least_squares sqp

What is compiled stays in a cache on disk; `_jit` says where. Exit codes: 0 done, 2 bad input.
"""

from __future__ import annotations

import argparse
import time
from typing import Any

from .._jit import COMPILED
from ..exceptions import InvalidOption
from ..solvers import SOLVERS
from ..solvers.readiness import all_kernels, make_ready
from .command import REACHED, new_parser


def add_parser(commands: Any) -> None:
    """Add `compile` to the subcommands of `ik`."""
    parser = new_parser(commands, 'compile', 'compile the solvers, once for each version')
    parser.add_argument(
        'names', metavar='SOLVER', nargs='*', default=list(SOLVERS), help='by default all'
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    """Compile the named solvers; exit code 0. Raises InvalidOption for an unknown name."""
    for name in arguments.names:
        if name not in SOLVERS:
            raise InvalidOption(f'unknown solver {name!r}; there are: {", ".join(SOLVERS)}')
    if not COMPILED:
        print('numba is not installed, or switched off: there is nothing to compile')
        return REACHED
    for i, name in enumerate(arguments.names, 1):
        started = time.perf_counter()
        for kernels in all_kernels(name):
            make_ready(kernels)
        seconds = time.perf_counter() - started
        print(f'{i}/{len(arguments.names)} {name}: {seconds:.1f} s', flush=True)
    return REACHED
