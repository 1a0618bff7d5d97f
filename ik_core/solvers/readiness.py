"""Whether a solver's kernels are compiled, and how they come to be while others wait.

A method is compiled where it is first used, which takes seconds the first time ever and
milliseconds from the cache on disk. Who has a clock to keep compiles in another process, which
fills the cache, and only then loads.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from .._compiling import compiling
from .._jit import COMPILED
from ..optim.search import Budget
from ..problem import IkProblem
from ..robot.joints import Joint
from ..robot.linear_constraints import LinearConstraint
from ..robot.robot import Robot
from ..tasks import PositionTask
from . import SOLVERS, make_solver

PACKAGE = Path(__file__).parents[1]

COMPILER = """
import os, sys, threading

def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(1)

try:
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
except (AttributeError, OSError):  # not on this system, or not allowed
    pass
threading.Thread(target=end_with_parent, daemon=True).start()
sys.path.insert(0, sys.argv[1])
from ik_core._compiling import compiling
from ik_core.solvers.readiness import Kernels, make_ready

def tell():
    if hasattr(os, 'nice'):
        os.nice(10)
    print('compiling', flush=True)

compiling.at_first = tell
make_ready(Kernels(sys.argv[2], int(sys.argv[3])))
sys.stderr.flush()
os._exit(0)
"""
"""The program of the process that compiles; it ends where its parent does.

It leaves real-time priority to its parent, and gives way to all others once it really compiles:
where all is in the cache there is little to do, which on a busy machine should not take minutes.
"""


class Kernels(NamedTuple):
    """Those of a solver with options like the given one of its `kernel_sets`."""

    solver: str
    kernel_set: int = 0


_ready: set[Kernels] = set()


def kernels_of(solver: str, options: Mapping[str, Any]) -> Kernels:
    """What a solver needs with these options."""
    return Kernels(solver, make_solver(solver, **options).kernel_set)


def all_kernels(solver: str) -> list[Kernels]:
    """What a solver needs with any options."""
    return [Kernels(solver, kernel_set) for kernel_set in range(len(SOLVERS[solver].kernel_sets))]


def is_ready(kernels: Kernels) -> bool:
    """Whether a solve with these kernels, for goals, compiles and loads nothing."""
    return kernels in _ready


def make_ready(kernels: Kernels) -> None:
    """Compile these kernels, or load them: all robots and problems have the same ones.

    Not those of the null-space descent of secondary tasks, nor those for linear constraints.
    """
    robot = two_joints()
    problem = IkProblem(robot, [PositionTask('tip', [1.2, 0.8, 0.0])])
    problem_out_of_reach = IkProblem(robot, [PositionTask('tip', [3.0, 1.0, 0.0])])
    options = SOLVERS[kernels.solver].kernel_sets[kernels.kernel_set]
    for each in (problem, problem_out_of_reach):
        solver = make_solver(kernels.solver, **options)
        search = solver.begin(each, [0.4, 0.5])
        search.run(Budget(iterations=3))
        search.result()
        solver.solve(each, [0.4, 0.5])
    for each in SOLVERS[kernels.solver].warm_up_problems():
        make_solver(kernels.solver, **options).solve(each)
    _ready.add(kernels)


def when_it_compiles(tell: Callable[[], object] | None) -> None:
    """Have `tell` called before the next kernel that this process compiles, not loads; once."""
    compiling.at_first = tell


def make_ready_for_constraints(solver: str) -> None:
    """Compile the kernels for linear constraints, or load them, where the solver has such."""
    if getattr(SOLVERS[solver], 'constrained_step', None) is None:
        return
    robot = two_joints()
    constraints = [LinearConstraint({'a': 1.0, 'b': 1.0}, upper=1.0)]
    goal = PositionTask('tip', [1.2, 0.8, 0.0])
    make_solver(solver).solve(IkProblem(robot, [goal], constraints=constraints), [0.4, 0.5])


def two_joints() -> Robot:
    """A robot to try kernels with; its tip is the link `tip`."""
    axis, shift = np.array([0.0, 0.0, 1.0]), np.eye(4)
    shift[0, 3] = 1.0
    joints = [
        Joint('a', 'revolute', 'base', 'upper', axis=axis, lower=-2.0, upper=2.0),
        Joint('b', 'revolute', 'upper', 'lower', shift, axis, lower=-2.0, upper=2.0),
        Joint('end', 'fixed', 'lower', 'tip', shift),
    ]
    return Robot.from_joints('two_joints', ['base', 'upper', 'lower', 'tip'], joints)


class Preparation:
    """Kernels being made ready beside everything else; `done`, then `error` says if it failed.

    The compiler runs in a process of its own, at low priority as soon as it compiles, which ends
    with this one. It may find all that it needs in the cache: `compiles` says whether it does not.
    """

    def __init__(self, kernels: Kernels) -> None:
        self.kernels = kernels
        self.error: Exception | None = None
        self.compiles = False
        self._compiler: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self._thread = threading.Thread(
            target=self._run, name=f'prepare {kernels.solver}', daemon=True
        )
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End it: they are not wanted any more."""
        self._cancelled = True
        if self._compiler is not None:
            self._compiler.kill()

    def _run(self) -> None:
        try:
            if COMPILED and not self._compile_beside():
                return
            make_ready(self.kernels)
        except Exception as error:
            self.error = error

    def _compile_beside(self) -> bool:
        """Fill the cache on disk by another process; whether that is done, not cancelled."""
        solver, kernel_set = self.kernels
        command = [sys.executable, '-c', COMPILER, str(PACKAGE.parent), solver, str(kernel_set)]
        pipe = subprocess.PIPE
        with (
            tempfile.TemporaryFile() as complaints,
            subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=complaints) as compiler,
        ):
            self._compiler = compiler
            if self._cancelled:
                compiler.kill()
            assert compiler.stdout is not None
            self.compiles = bool(compiler.stdout.readline())
            compiler.wait()
            complaints.seek(0)
            said = complaints.read()
        if compiler.returncode != 0 and not self._cancelled:
            raise RuntimeError(f'compiling {solver} failed: {said.decode(errors="replace")}')
        return not self._cancelled
