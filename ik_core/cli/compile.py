"""`ik compile`: compile the solvers ahead of their first use.

    ik compile                              # all solvers, batches and the tracker: a minute or two
    ik compile damped_least_squares sqp
    ik compile --constraints                # also for linear constraints: half a minute more

It runs one process for each core and stores the compiled kernels in ~/.cache/ik_core.
Exit codes: 0 done, 2 bad input.
"""

from __future__ import annotations

import argparse
import os
import time
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Any

from .._jit import COMPILED
from ..batch import solve_batch
from ..exceptions import InvalidOption
from ..problem import IkProblem
from ..solvers import SOLVERS
from ..solvers.readiness import (
    all_kernels,
    make_ready,
    make_ready_for_constraints,
    two_joints,
)
from ..tasks import PoseTask
from ..tracking import MotionLimits, Tracker
from .completion import solvers
from .parser import REACHED, new_parser

BATCHES, TRACKER = 'batches', 'tracker'
FIRST, LAST = ('levenberg_marquardt', 'bfgs', BATCHES, 'sqp'), ('closed_form', TRACKER)
"""What takes longest, and what is compiled soon when the kernels of those are there."""


def add_parser(commands: Any) -> None:
    """Add `compile` to the subcommands of `ik`."""
    parser = new_parser(commands, 'compile', 'compile the solvers, once for each version', __doc__)
    names = parser.add_argument('names', metavar='SOLVER', nargs='*', help='default: all')
    names.completer = solvers  # type: ignore[attr-defined]
    parser.add_argument(
        '--constraints', action='store_true', help='also the kernels for linear constraints'
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
    names = sorted(arguments.names or [*SOLVERS, BATCHES, TRACKER], key=_turn)
    processes = min(len(names), os.cpu_count() or 1)
    with ProcessPoolExecutor(processes, mp_context=get_context('spawn')) as pool:
        done = as_completed([pool.submit(_compile, name, arguments.constraints) for name in names])
        for i, (name, seconds) in enumerate((each.result() for each in done), 1):
            print(f'{i}/{len(names)} {name}: {seconds:.1f} s', flush=True)
    return REACHED


def _turn(name: str) -> int:
    """When a name is compiled."""
    return FIRST.index(name) if name in FIRST else len(FIRST) + LAST.count(name)


def _compile(name: str, constraints: bool) -> tuple[str, float]:
    """The name, and how long its kernels took [s]."""
    started = time.perf_counter()
    robot = two_joints()
    problem = IkProblem(robot, [PoseTask('tip')])
    if name == TRACKER:
        Tracker(problem, 100.0, limits=MotionLimits.of(robot, acceleration=10.0)).warm_up()
    elif name == BATCHES:
        target = robot.forward_kinematics(robot.middle_configuration)
        for restarts in (0, 1):
            solve_batch(problem, [target], restarts=restarts)
    else:
        for kernels in all_kernels(name):
            make_ready(kernels)
        if constraints:
            make_ready_for_constraints(name)
    return name, time.perf_counter() - started
