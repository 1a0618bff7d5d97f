"""The fixed step of the Jacobian transpose, swept: [EngellErleben2011] section 6.1 and Fig. 7.

Steps are in the source's units: its 0.005 is tau = 0.25 per m^2 (see `jacobian_transpose`). With
six goals and a root that is free, and as in Fig. 7 with five goals and the pelvis held, each
frame starts in the captured pose 0.05 s before. A method converges only below 2 / s^2, s the
largest singular value of the Jacobian.

Rows: part 'step free' or 'step held', a step as the case: `median`, `q25`, `q75` of the last
errors; `low` the share of the frames that end farther away than they began, `high` the share that
flips between two poses. Part 'bound': 2 / s^2. Part 'trace': the errors of one frame.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ...maths.rotations import Array
from ...problem import IkProblem
from ...progress import bar
from ...solvers import make_solver
from .captured_goals import GOAL_LINKS, PELVIS, UNIT, Clip, new_problem, set_goals

STEPS = (0.001, 0.0025, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1)
THEIRS, TOO_LONG = 0.005, 0.05
TAU = 2.0 / UNIT**2
"""Of one unit of the source's step: its gradient has a factor of 2."""
FRAMES = 3
"""At RATE: 0.05 s."""
ITERATIONS = 300
TRACED = 40
LARGEST = 1e6
"""[units^2] Errors are cut off here: what diverges with a free root knows no end."""
SAME = 0.01
"""Two costs whose difference is this share of another one are as good as the same."""


def run(clips: Sequence[Clip], most: int) -> list[dict[str, Any]]:
    """A row for each step, and what else the module says."""
    rows = [bound(clips, most)]
    for held in (False, True):
        for step in bar(STEPS, 'fixed step, pelvis held' if held else 'fixed step'):
            traces = [descent(*case, step) for case in cases(clips, held, most)]
            rows.append(row_of('step held' if held else 'step free', step, traces))
            if held and step in (THEIRS, TOO_LONG):
                rows.append(trace(step, traces))
    return rows


def cases(clips: Sequence[Clip], held: bool, most: int) -> list[tuple[IkProblem, Array, Array]]:
    """(problem, start (n,), goals) for frames all over the clips."""
    links = [link for link in GOAL_LINKS if link != PELVIS or not held]
    every = [(clip, frame) for clip in clips for frame in range(FRAMES, len(clip.q))]
    made = []
    for clip in clips:
        frozen = [clip.robot.joint_names[i] for i in clip.robot.root_joints] if held else []
        problem = new_problem(clip.robot, links, frozen_joints=frozen)
        for own, frame in every[:: -(-len(every) // most)]:
            if own is clip:
                start = clip.start(frame - FRAMES)
                if held:
                    root = list(clip.robot.root_joints)
                    start[root] = clip.q[frame, root]
                made.append((problem, start, clip.goals[frame, : len(links)]))
    return made


def descent(problem: IkProblem, start: Array, goals: Array, step: float) -> Array:
    """The squared error [units^2] at the start and after every iteration."""
    options: dict[str, Any] = {
        'step_length': TAU * step,
        'max_iterations': ITERATIONS,
        'record_history': True,
    }
    solver = make_solver('jacobian_transpose', preset='engell_erleben', **options)
    set_goals(problem, goals)
    first = problem.cost_at(problem.start(start)[1])
    with np.errstate(over='ignore', invalid='ignore'):
        history = solver.solve(problem, start).history
        return np.nan_to_num(np.array([first, *history]) / UNIT**2, nan=np.inf)


def flips(errors: Array) -> bool:
    """Whether the last errors are of two poses in turn."""
    if len(errors) < ITERATIONS:
        return False
    a, b, c = errors[-3:].tolist()
    return bool(abs(c - a) < SAME * abs(c - b)) and abs(c - b) > SAME * c


def row_of(part: str, step: float, traces: Sequence[Array]) -> dict[str, Any]:
    """The row of a step."""
    last = np.minimum([errors[-1] for errors in traces], LARGEST)
    q25, median, q75 = np.percentile(last, [25, 50, 75]).tolist()
    away = np.mean([errors[-1] > errors[0] for errors in traces])
    return {
        'part': part,
        'case': f'{step:g}',
        'method': 'transpose',
        'count': len(traces),
        'median': median,
        'q25': q25,
        'q75': q75,
        'low': float(away),
        'high': float(np.mean([flips(errors) for errors in traces])),
    }


def trace(step: float, traces: Sequence[Array]) -> dict[str, Any]:
    """The first errors of the frame in the middle."""
    values = ' '.join(f'{error:.4g}' for error in traces[len(traces) // 2][:TRACED])
    return {
        'part': 'trace',
        'case': f'{step:g}',
        'method': 'transpose',
        'count': 1,
        'values': values,
    }


def bound(clips: Sequence[Clip], most: int) -> dict[str, Any]:
    """2 / s^2 at the starts, with a free root, in the source's units."""
    bounds = []
    for problem, start, goals in cases(clips, False, most):
        set_goals(problem, goals)
        s = np.linalg.norm(problem.evaluate(start).jacobian, 2)
        bounds.append(2.0 / s**2 / TAU)
    low, q25, median, q75, high = np.percentile(bounds, [0, 25, 50, 75, 100]).tolist()
    return {
        'part': 'bound',
        'case': '2 / s^2',
        'method': 'transpose',
        'count': len(bounds),
        'median': median,
        'q25': q25,
        'q75': q75,
        'low': low,
        'high': high,
    }
