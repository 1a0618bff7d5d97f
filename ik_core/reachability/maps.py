# SPDX-License-Identifier: Apache-2.0
"""Reachability maps: the space that a robot's link reaches, and how freely it moves there."""

from __future__ import annotations

import math
import os
import tempfile
import time
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..display import counted
from ..exceptions import InvalidOption
from ..maths.argument_types import MatrixLike, VectorLike
from ..maths.rotations import Array
from ..options import check_function, whole_number
from ..problem import IkProblem
from ..robot.robot import Robot
from ..tasks import PoseTask, PositionTask
from .bounds import reach_bounds
from .cells import Cells
from .chunk_files import Parts, Settings, stored_settings
from .engines import solve_here, solve_on_cluster
from .grid import Grid

CHUNK_CELLS = 8192  # cells in a chunk: as many are in memory, and as many are lost if it is killed


@dataclass(frozen=True)
class Progress:
    """Progress of a map: voxels, those done and those resumed; cells solved and seconds so far."""

    voxels: int
    done: int
    resumed: int
    solved: int
    seconds: float

    @property
    def remaining(self) -> float:
        """Estimated seconds left, at the speed of this run; infinite before the first chunk."""
        own = self.done - self.resumed
        return self.seconds * (self.voxels - self.done) / own if own else float('inf')


@dataclass(frozen=True, eq=False)
class ReachabilityMap:
    """Reachability of a link on a grid of voxels. Arrays have the shape of the grid, x first.

    `reached`: number of the `orientations` in which each voxel's centre is reached. `tried`:
    number of orientations that needed a solve; the others are certainly out of reach.
    `manipulability`: mean of sqrt(det(J J')) over the solutions in a voxel, 0 if there are none;
    None if not requested. `settings`: the settings of the map.
    """

    grid: Grid
    orientations: int
    reached: np.ndarray
    tried: np.ndarray
    manipulability: np.ndarray | None
    settings: Settings

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> ReachabilityMap:
        """Load a map from its file; raises InvalidOption for other files."""
        settings = stored_settings(Path(path))
        x, y, z = settings['first_voxel']
        nx, ny, nz = settings['shape']
        with np.load(path, allow_pickle=False) as arrays:
            return cls(
                grid=Grid(settings['step'], (x, y, z), (nx, ny, nz)),
                orientations=settings['orientations'],
                reached=arrays['reached'],
                tried=arrays['tried'],
                manipulability=arrays.get('manipulability'),
                settings=settings,
            )

    def __repr__(self) -> str:
        whose = f'{self.settings["link"]!r} of {self.settings["robot"]!r}'
        size = ' x '.join(map(str, self.grid.shape))
        reached = int(np.count_nonzero(self.reached))
        return (
            f'<ReachabilityMap of {whose}: {size} voxels of {self.grid.step:g} m, '
            f'{counted(self.orientations, "orientation")}; {reached:,} are reached, '
            f'{self.volume:.3g} m^3>'
        )

    @property
    def fraction(self) -> Array:
        """Fraction of the orientations that is reached, in each voxel."""
        fraction: Array = self.reached / self.orientations
        return fraction

    @property
    def volume(self) -> float:
        """Volume [m^3] of the voxels that are reached in any orientation."""
        return int(np.count_nonzero(self.reached)) * self.grid.step**3

    def fraction_at(self, points: MatrixLike) -> Array:
        """`fraction` in the voxels around points (..., 3) [m]; 0 outside the grid."""
        where = np.asarray(points, float) / self.grid.step - self.grid.first
        index = np.rint(where).astype(int)
        inside = np.all((index >= 0) & (index < self.grid.shape), axis=-1)
        x, y, z = np.moveaxis(np.where(inside[..., np.newaxis], index, 0), -1, 0)
        return np.where(inside, self.reached[x, y, z] / self.orientations, 0.0)


def reachability_map(
    robot: Robot | IkProblem,
    tip: str | None = None,
    *,
    step: float = 0.05,
    orientations: int = 1,
    box: tuple[VectorLike, VectorLike] | None = None,
    q0: VectorLike | None = None,
    restarts: int = 20,
    random_seed: int = 0,
    manipulability: bool = False,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    scheduler: str | None = None,
    chunk_cells: int = CHUNK_CELLS,
    progress: Callable[[Progress], object] | None = None,
) -> ReachabilityMap:
    """Map the voxels that a link reaches, and in how many orientations, see ReachabilityMap.

    robot, tip : a robot and one of its links (by default its default tip); or a problem with goals
        for one link, with its limits, frozen joints, tools, masks and tolerances: the pose of each
        cell is the target of every goal
    step : distance between the voxels' centres [m], which are at whole multiples of it
    orientations : number tried in each voxel, spread evenly over all rotations; for a robot, 1
        maps positions only, in any orientation
    box : two corners (3,) of the mapped space [m]; by default everything that may be in reach
    q0 : (n,) start of every solve, and values of frozen joints; by default the problem's
    restarts : random restarts before a cell counts as not reached; a position that four of them
        miss by more than 2 % of the arm's reach gets no more
    out : an .npz file. Chunks are kept in `<out>.parts` until all are done; an interrupted run is
        continued with `resume`. Without `out` nothing is kept
    scheduler : address of a dask.distributed scheduler whose workers solve; by default all local
        cores
    chunk_cells : number of cells in memory at a time
    progress : called after every chunk

    The map does not depend on the chunks, the workers, or interruptions. Raises IkError, and
    OSError if a file can't be written or the cluster is lost.
    """
    check_function(progress, 'progress', 'a Progress')
    orientations = whole_number(orientations, 'orientations')
    chunk_cells = whole_number(chunk_cells, 'chunk_cells')
    problem = _problem(robot, tip, orientations)
    start = problem.default_configuration if q0 is None else problem.robot.checked(q0, 'q0')
    cells = Cells(
        problem=problem,
        q0=start,
        grid=_grid(problem, start, box, step),
        orientations=orientations,
        restarts=restarts,
        random_seed=random_seed,
        manipulability=manipulability,
        chunk_voxels=max(1, chunk_cells // orientations),
    )
    with tempfile.TemporaryDirectory() as scratch:
        path = Path(scratch, 'map.npz') if out is None else Path(out)
        with closing(Parts(path, cells.settings(), cells.chunk_voxels, resume)) as parts:
            if not parts.finished:
                cells = replace(cells, chunk_voxels=parts.chunk_voxels)
                _fill(parts, cells, scheduler, progress or _ignore)
        return ReachabilityMap.load(path)


def _problem(robot: Robot | IkProblem, tip: str | None, orientations: int) -> IkProblem:
    if isinstance(robot, Robot):
        link = robot.default_tip() if tip is None else tip
        task = PositionTask if orientations == 1 else PoseTask
        return IkProblem(robot, [task(link)])
    if tip is not None:
        raise InvalidOption('a problem says itself which link it is for: leave out tip')
    return robot.clone()


def _grid(
    problem: IkProblem, q0: Array, box: tuple[VectorLike, VectorLike] | None, step: float
) -> Grid:
    """The voxels in a box, by default in the box of everything that may be in reach."""
    if box is not None:
        lower, upper = box
        return Grid.over(lower, upper, step)
    bounds = reach_bounds(problem, q0)
    if bounds.workspace == math.inf:
        raise InvalidOption('a prismatic joint has no limits, so the map needs a box')
    return Grid.over(bounds.centre - bounds.workspace, bounds.centre + bounds.workspace, step)


def _fill(
    parts: Parts, cells: Cells, scheduler: str | None, progress: Callable[[Progress], object]
) -> None:
    """Solve and store the missing chunks, and join all into the map."""
    there = parts.done()
    waiting = (chunk for chunk in range(cells.chunks) if chunk not in there)
    if scheduler is None:
        answers = solve_here(cells, waiting)
    else:
        answers = solve_on_cluster(cells, waiting, scheduler)
    started = time.perf_counter()
    resumed = done = sum(len(cells.voxels(chunk)) for chunk in there)
    solved = 0
    progress(Progress(cells.grid.voxels, done, resumed, solved, 0.0))
    for chunk, answer in answers:
        parts.write(chunk, answer)
        done += len(answer['tried'])
        solved += int(answer['tried'].sum())
        seconds = time.perf_counter() - started
        progress(Progress(cells.grid.voxels, done, resumed, solved, seconds))
    parts.join(cells.chunks, cells.grid.shape)


def _ignore(_: Progress) -> None:
    pass
