"""Goals from motion capture, as in [EngellErleben2011] section 6.2, and methods that follow them.

The hands, feet, pelvis and head of a captured motion are the goals of its own figure, which
starts in the captured pose, put inside its limits, and goes on from the answer before. Clips
are AMC files of the CMU database, resampled to 60 frames a second.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from ...exceptions import InvalidOption
from ...maths.rotations import Array
from ...optim.memory import X
from ...optim.search import CompiledSearch
from ...optim.workspace import MethodWorkspace
from ...problem import IkProblem
from ...retargeting.example import link_paths
from ...robot.mocap.load import load_mocap
from ...robot.robot import Robot
from ...solvers import Solver, make_solver
from ...tasks import PositionTask

RATE = 60.0
"""[Hz] Of the frames that are taken."""
RATES = {'backflip': 60.0, '141_01': 60.0}
"""[Hz] Of clips that are not at CMU's usual 120, which their files do not say."""

PELVIS = 'root'
GOAL_LINKS = ('lhand', 'rhand', 'lfoot', 'rfoot', 'head', PELVIS)
UNIT = 0.2
"""[m] One unit of the source: its 0.05 are 1 cm (section 6.2)."""
TOLERANCE = 0.05 * UNIT


@dataclass(frozen=True, eq=False)
class Clip:
    """A figure, what it did, q (frames, n) at RATE, and its goals (frames, goals, 3) [m]."""

    name: str
    robot: Robot
    q: Array
    goals: Array

    def start(self, frame: int) -> Array:
        """The captured pose (n,) inside the limits, its angles taken to the nearest turn."""
        lower, upper, q = self.robot.lower, self.robot.upper, self.q[frame]
        limited = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(limited, [lower, upper], q)
        turned = q - 2.0 * np.pi * np.round((q - 0.5 * (low + high)) / (2.0 * np.pi))
        return np.clip(turned, low, high)


@dataclass(frozen=True, eq=False)
class Walk:
    """Frames of a clip that a figure goes through one after the other; in the first it starts."""

    clip: Clip
    frames: range


@dataclass(frozen=True)
class Method:
    """A solver with options. `last`: its last point is the answer, as of the source's methods,
    and not the best one that it found."""

    solver: str
    preset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False

    def make(self, **options: Any) -> Solver:
        """The solver, with further options."""
        return make_solver(self.solver, preset=self.preset, **{**self.options, **options})


def load_clips(folder: Path) -> list[Clip]:
    """All AMC clips in a folder. Raises InvalidOption where there is none, MocapError."""
    paths = sorted(folder.glob('*.amc'))
    if not paths:
        raise InvalidOption(f'motion capture: there is no AMC file in {folder.name!r}')
    return [load_clip(path) for path in paths]


def load_clip(path: Path) -> Clip:
    """A clip at RATE. Raises MocapError."""
    robot, motion = load_mocap(path, rate=RATES.get(path.stem))
    q = motion.resampled(1.0 / RATE).positions_of(robot)
    return Clip(path.stem, robot, q, link_paths(robot, q, GOAL_LINKS))


def walks(clips: Sequence[Clip], spacing: float, most: int) -> list[Walk]:
    """Walks whose frames are `spacing` [s] apart, from all phase offsets of all clips.

    Where that is more than so many goals, every second offset, or every third, ...
    """
    step = round(spacing * RATE)
    every = [Walk(c, range(o, len(c.q), step)) for c in clips for o in range(step)]
    every = [walk for walk in every if len(walk.frames) > 1]
    goals = sum(len(walk.frames) - 1 for walk in every)
    return every[:: max(1, -(-goals // most))]


def new_problem(robot: Robot, links: Sequence[str] = GOAL_LINKS, **options: Any) -> IkProblem:
    """The problem of the links' positions, reached within 1 cm each."""
    options = {'position_tolerance': TOLERANCE, **options}
    return IkProblem(robot, [PositionTask(link) for link in links], **options)


def set_goals(problem: IkProblem, goals: Array) -> None:
    """Set the goals (goals, 3) [m] of `new_problem`."""
    for task, goal in zip(problem.goals, goals, strict=True):
        task.set_target(position=goal)


def follow(walk: Walk, solver: Solver, last: bool) -> Iterator[tuple[Array, float, int]]:
    """After each goal of a walk: q (n,), the sum of squared errors [units^2], the iterations."""
    problem, q = new_problem(walk.clip.robot), walk.clip.start(walk.frames[0])
    for frame in walk.frames[1:]:
        set_goals(problem, walk.clip.goals[frame])
        q, iterations = solve(solver, problem, q, last)
        yield q, squared_error(problem, q), iterations


def solve(solver: Solver, problem: IkProblem, q0: Array, last: bool) -> tuple[Array, int]:
    """The answer (n,) from q0, or the last point, and the iterations."""
    search = solver.begin(problem, q0)
    search.run()
    result = search.result()
    if not last:
        return result.q, result.iterations
    assert isinstance(search, CompiledSearch)
    assert isinstance(search.workspace, MethodWorkspace)
    q = result.q.copy()
    q[problem.variables] = search.workspace.vectors[X]
    return q, result.iterations


def squared_error(problem: IkProblem, q: Array) -> float:
    """The sum of the goals' squared errors [units^2] at q (n,)."""
    return float((problem.errors(q)[0] ** 2).sum()) / UNIT**2
