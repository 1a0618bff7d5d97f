# SPDX-License-Identifier: Apache-2.0
"""`ik solve ROBOT --poses FILE`: convert a file of poses to a file of joint values."""

from __future__ import annotations

import argparse
import contextlib
import csv
import sys
import time
from collections.abc import Iterator
from typing import Any, TextIO

import numpy as np

from ..batch.many_targets import NOTED, BatchResult, ManySolves
from ..maths.rotations import Array
from ..problem import IkProblem
from ..progress import ProgressLine
from ..result import IkStatus
from ..robot.robot import Robot
from ..solvers.base import Solver
from ..tasks import PositionTask
from .angles import Angles
from .collision_arguments import collisions_of
from .goal_arguments import IN_SHELL, MOST_METRES, Goal, maker_of, tolerances_of
from .parser import NOT_REACHED, REACHED, UsageError, check_writable
from .pose_files import Poses, read_poses
from .solved import position_first, robot_hints
from .text import as_json

BLOCK = 512  # poses solved per write: what Ctrl-C may lose
ERRORS = ('position_error_m', 'orientation_error_rad')


def solve_poses(
    arguments: argparse.Namespace, robot: Robot, start: Array | None, solver: Solver
) -> int:
    """Solve for all poses of the file; exit code 0 if all are reached."""
    tip = _only_tip(arguments, robot)
    if arguments.out:
        _check_out(arguments)
    poses = read_poses(arguments.poses, arguments.angles)
    farthest = float(np.abs(poses.transforms[:, :3, 3]).max(initial=0.0))
    if farthest > MOST_METRES:
        text = f'{arguments.poses}: positions are in metres, not in millimetres'
        print(f'ik: {text} (one is {farthest:.4g})', file=sys.stderr)
    make, own = maker_of(arguments, robot), (arguments.goals or [Goal()])[0]
    tool = make.tool(own)
    goal = make.pose(tip, tool) if poses.turned else PositionTask(tip, tool=tool)
    problem = IkProblem(
        robot,
        [goal],
        frozen_joints=arguments.frozen,
        avoid=collisions_of(arguments, robot),
        **tolerances_of(arguments, arguments.angles),
    )
    q0 = problem.default_configuration if start is None else start
    run = _Run(problem, solver, poses, arguments.angles)
    started = time.perf_counter()
    with _output(arguments) as file, ProgressLine('solve') as line:
        try:
            run.write(csv.writer(file, lineterminator='\n'), q0, arguments.warm_start, line)
        except KeyboardInterrupt:
            line.end()
            print(
                f'ik: interrupted after {run.done:,} of {len(poses.lines):,} poses',
                file=sys.stderr,
            )
            raise
    _print_summary(arguments, run, time.perf_counter() - started)
    for text in run.remarks():
        print(f'ik: {text}', file=sys.stderr)
    return REACHED if run.reached == run.done else NOT_REACHED


def _only_tip(arguments: argparse.Namespace, robot: Robot) -> str:
    """The link of the poses. Raises UsageError for options that exclude a file."""
    goals = arguments.goals or []
    given = (goal.xyz or goal.rpy or goal.quat or goal.axis for goal in goals)
    if len(goals) > 1 or any(given):
        raise UsageError(
            '--poses has the goals of one link: leave out --xyz, --rpy, --quat and --axis'
        )
    if arguments.all or arguments.choose not in ('first', 'nearest'):
        raise UsageError('--poses takes the first solution of each: leave out --all and --choose')
    if arguments.json and not arguments.out:
        raise UsageError('--poses prints CSV: with --json name a file by --out')
    return (goals[0].link if goals else None) or robot.default_tip()


def _check_out(arguments: argparse.Namespace) -> None:
    """Raise UsageError if --out can't be written, or is the file of the poses."""
    check_writable(arguments.out)
    both = (arguments.out, arguments.poses)
    if all(path.exists() for path in both) and arguments.out.samefile(arguments.poses):
        raise UsageError(f'--out {arguments.out} is the file of the poses: name another one')


@contextlib.contextmanager
def _output(arguments: argparse.Namespace) -> Iterator[TextIO]:
    """The output file, or stdout."""
    if arguments.out is None:
        yield sys.stdout
        return
    with arguments.out.open('w', newline='', encoding='utf-8') as file:
        yield file


class _Run:
    """A solver of poses, block by block; `done` and `reached` count those written."""

    def __init__(self, problem: IkProblem, solver: Solver, poses: Poses, angles: Angles) -> None:
        self.problem, self.poses, self.angles = problem, poses, angles
        self.many = ManySolves(problem, solver)
        self.done = self.reached = self._missed = 0
        self.advice = ''

    def write(self, writer: Any, q0: Array, is_path: bool, line: ProgressLine) -> None:
        """Write a line for every pose, solved from q0 (n,), or if `is_path` from the last q."""
        count = len(self.poses.lines)
        block = BLOCK if self.many.takes_blocks and not is_path else 1
        names = self.angles.headings(self.problem.robot)
        writer.writerow(['line', *names, 'status', *ERRORS[: 2 if self.poses.turned else 1]])
        line.show(0, count)
        for first in range(0, count, block):
            targets = self.poses.transforms[first : first + block, np.newaxis]
            batch = self.many.run(targets, np.tile(q0, (len(targets), 1)))
            writer.writerows(self._rows(first, batch))
            self.done += len(batch)
            self.reached += int(batch.success.sum())
            self._note(batch, targets)
            q0 = batch.q[-1] if is_path else q0
            line.show(self.done, count)

    def _note(self, batch: BatchResult, targets: Array) -> None:
        """Keep the first advice, on one of the first NOTED missed poses."""
        for i in np.flatnonzero(~batch.success).tolist():
            self._missed += 1
            if self.advice or self._missed > NOTED:
                break
            errors = batch.position_errors[i], batch.orientation_errors[i]
            points = targets[i, :, :3, 3]
            self.advice = self.problem.missed.advice(
                batch.q[i], *errors, self.problem.tolerances, points, IN_SHELL
            )

    def remarks(self) -> Iterator[str]:
        """Notes on the weights of goals, and on why poses are missed."""
        notes = [position_first(self.problem)]
        if self.reached < self.done:
            notes += [self.advice, *robot_hints(self.problem)]
        return filter(None, notes)

    def _rows(self, first: int, batch: BatchResult) -> Iterator[list[Any]]:
        """Yield the cells of each pose of a batch, of which `first` is the first."""
        shown = self.angles.of_joints(self.problem.robot, batch.q)
        for i, q in enumerate(shown.tolist()):
            status: IkStatus = batch.status[i]
            errors = [batch.position_errors[i, 0]]
            if self.poses.turned:
                errors.append(batch.orientation_errors[i, 0])
            numbers = [f'{value:.9g}' for value in q]
            yield [
                self.poses.lines[first + i],
                *numbers,
                status.name.lower(),
                *(f'{error:.3g}' for error in errors),
            ]


def _print_summary(arguments: argparse.Namespace, run: _Run, seconds: float) -> None:
    if arguments.out is None:
        return
    if arguments.json:
        data = {'poses': run.done, 'reached': run.reached, 'seconds': seconds}
        print(as_json({**data, 'joints': str(arguments.out)}))
        return
    print(f'{run.reached:,} of {run.done:,} poses reached in {seconds:.3g} s')
    print(f'written to {arguments.out}')
