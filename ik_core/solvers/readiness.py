"""Whether a solver's kernels are compiled, and how they come to be while others wait.

A method is compiled where it is first used, which takes seconds the first time ever and
milliseconds from the cache on disk. Who has a clock to keep compiles in another process, which
fills the cache, and only then loads.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from pathlib import Path

import numpy as np

from .._jit import COMPILED
from ..optim.search import Budget
from ..problem import IkProblem
from ..robot.joints import Joint
from ..robot.robot import Robot
from ..tasks import PositionTask
from . import make_solver

PACKAGE = Path(__file__).parents[1]

COMPILER = """
import os, sys, threading

def end_with_parent():
    sys.stdin.buffer.read()
    os._exit(1)

if hasattr(os, 'nice'):
    os.nice(10)
threading.Thread(target=end_with_parent, daemon=True).start()
sys.path.insert(0, sys.argv[1])
from ik_core.solvers.readiness import make_ready
make_ready(sys.argv[2])
sys.stderr.flush()
os._exit(0)
"""
"""The program of the process that compiles; it ends where its parent does."""

_ready: set[str] = set()


def is_ready(name: str) -> bool:
    """Whether a solve by the solver of this name, for goals, compiles and loads nothing."""
    return name in _ready


def make_ready(name: str) -> None:
    """Compile a solver's kernels, or load them: all robots and problems have the same ones.

    Those of all its options, but not of the null-space descent of secondary tasks.
    """
    robot = _two_joints()
    problem = IkProblem(robot, [PositionTask('tip', [1.2, 0.8, 0.0])])
    problem_out_of_reach = IkProblem(robot, [PositionTask('tip', [3.0, 1.0, 0.0])])
    for options in type(make_solver(name)).variants:
        for each in (problem, problem_out_of_reach):
            solver = make_solver(name, **options)
            search = solver.begin(each, [0.4, 0.5])
            search.run(Budget(iterations=3))
            search.result()
            solver.solve(each, [0.4, 0.5])
    _ready.add(name)


def _two_joints() -> Robot:
    axis, shift = np.array([0.0, 0.0, 1.0]), np.eye(4)
    shift[0, 3] = 1.0
    joints = [
        Joint('a', 'revolute', 'base', 'upper', axis=axis, lower=-2.0, upper=2.0),
        Joint('b', 'revolute', 'upper', 'lower', shift, axis, lower=-2.0, upper=2.0),
        Joint('end', 'fixed', 'lower', 'tip', shift),
    ]
    return Robot.from_joints('two_joints', ['base', 'upper', 'lower', 'tip'], joints)


class Preparation:
    """A solver being made ready beside everything else; `done`, then `error` says if it failed.

    The compiler runs in a process of its own at low priority, which ends with this one.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self.error: Exception | None = None
        self._compiler: subprocess.Popen[bytes] | None = None
        self._cancelled = False
        self._thread = threading.Thread(target=self._run, name=f'prepare {name}', daemon=True)
        self._thread.start()

    @property
    def done(self) -> bool:
        """Whether it is over."""
        return not self._thread.is_alive()

    def cancel(self) -> None:
        """End it: the solver is not wanted any more."""
        self._cancelled = True
        if self._compiler is not None:
            self._compiler.kill()

    def _run(self) -> None:
        try:
            if COMPILED and not self._compile_beside():
                return
            make_ready(self.name)
        except Exception as error:
            self.error = error

    def _compile_beside(self) -> bool:
        """Fill the cache on disk by another process; whether that is done, not cancelled."""
        command = [sys.executable, '-c', COMPILER, str(PACKAGE.parent), self.name]
        pipe = subprocess.PIPE
        with subprocess.Popen(
            command, stdin=pipe, stdout=subprocess.DEVNULL, stderr=pipe
        ) as compiler:
            self._compiler = compiler
            if self._cancelled:
                compiler.kill()
            assert compiler.stderr is not None
            said = compiler.stderr.read()
        if compiler.returncode != 0 and not self._cancelled:
            raise RuntimeError(f'compiling {self.name} failed: {said.decode(errors="replace")}')
        return not self._cancelled
