"""`ik bench line_search`: [EngellErleben2011] Figs. 4, 7, 9 to 12, on captured motions.

A figure of 62 dof with joint limits follows six goals (`captured_goals`) that are 0.05, 0.7 and
1.0 s apart, by the source's three methods and by ours. A method ends at 1 cm, or after as many
iterations as 15 ms have room for, which are measured before (section 6.2). Errors are the sum of
the squared errors of the goals, in units of 0.2 m. The other parts: the same with less time; the
fixed step swept (`fixed_step`, Fig. 7); how much joints jitter (Fig. 12); a goal that is dragged
along the limits (`dragged_goal`, Fig. 4).

Rows have a `part`, a `case` in it and a method; `median`, `q25`, `q75`, the whiskers `low` and
`high` and at most OUTLIERS of the values beyond; `count` values. Other parts say in their modules
what they put there.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np

from ...maths.rotations import Array
from ...progress import bar
from ...retargeting.example import link_paths
from ..rows import Row
from . import dragged_goal, fixed_step
from .captured_goals import (
    Clip,
    Method,
    Walk,
    follow,
    load_clips,
    new_problem,
    set_goals,
    solve,
    walks,
)
from .line_search_claims import claims
from .line_search_figure import draw

__all__ = ['claims', 'draw', 'run']

METHODS: Mapping[str, Method] = {
    'JI': Method('pseudoinverse', 'engell_erleben', last=True),
    'transpose': Method('jacobian_transpose', 'engell_erleben', last=True),
    'line search': Method('projected_gradient', 'tau_one'),
    'line search, BB': Method('projected_gradient'),
    'LM': Method('levenberg_marquardt', options={'restarts': 0}),
    'LM, restarts': Method('levenberg_marquardt', options={'closed_form': False}),
}
"""First the source's: the SVD Jacobian inverse of Blender, the Jacobian transpose, and its own."""

SLOT = 0.015
"""[s] For a frame (section 6.2)."""
SPACINGS = (0.05, 0.7, 1.0)
"""[s] Between frames: Figs. 9, 10 and 11."""
GOALS, FEWER_GOALS = 1000, 150
"""At most, for each spacing."""
SLOTS = (0.00015, 0.0005, 0.0015, 0.005)
"""[s] Shorter ones, for slower machines."""
SWEPT = 0.7
"""[s] The spacing that these have."""

DRAGGED = '124_01'
"""The clip whose figure has a goal dragged, where it is there."""

SMOOTH_LINKS = {
    'lhumerus': 'left elbow',
    'rhumerus': 'right elbow',
    'lradius': 'left wrist',
    'rradius': 'right wrist',
    'lclavicle': 'left shoulder',
    'rclavicle': 'right shoulder',
    'lfemur': 'left knee',
    'rfemur': 'right knee',
    'lhipjoint': 'left hip',
    'rhipjoint': 'right hip',
    'thorax': 'chest',
    'lowerneck': 'neck',
}
"""Bones' far ends, none of which is a goal, and their names as joints."""

OUTLIERS = 16
COLUMNS = ('part', 'case', 'method', 'count', 'median', 'q25', 'q75', 'low', 'high', 'values')


def run(arguments: argparse.Namespace) -> list[Row]:
    """A row for each method in each case."""
    clips = load_clips(arguments.mocap)
    most = min(arguments.count, GOALS)
    caps = {name: calibrated(METHODS[name], clips[0]) for name in METHODS}
    rows = [
        row('cap', '15 ms', name, count=iterations(SLOT, t), median=1e6 * t)
        for name, t in caps.items()
    ]
    jobs = [(s, SLOT, most, n) for s in SPACINGS for n in METHODS]
    jobs += [(SWEPT, slot, min(most, FEWER_GOALS), n) for slot in SLOTS for n in METHODS]
    for spacing, slot, count, name in bar(jobs, 'line_search'):
        rows += followed(clips, spacing, slot, count, name, iterations(slot, caps[name]))
    rows += captured(clips, most)
    return rows + parts(clips, caps, most)


def parts(clips: Sequence[Clip], caps: Mapping[str, float], most: int) -> list[Row]:
    """The rows of the other modules."""
    made = fixed_step.run(clips, min(most, FEWER_GOALS))
    figure = next((c.robot for c in clips if c.name == DRAGGED), clips[0].robot)
    for name in bar(list(METHODS), 'dragged goal'):
        solver = METHODS[name].make(max_iterations=iterations(SLOT, caps[name]))
        made += dragged_goal.run(figure, name, solver, METHODS[name].last)
    return [row(**part) for part in made]


def row(part: str, case: str, method: str, count: int = 0, **numbers: float | str) -> Row:
    """A row with all columns."""
    return {
        **dict.fromkeys(COLUMNS, ''),
        'part': part,
        'case': case,
        'method': method,
        'count': count,
        **numbers,
    }


def iterations(slot: float, each: float) -> int:
    """As many as a slot [s] has room for, to two digits: the clock is no more precise."""
    exact = max(1.0, slot / each)
    digits = 1 - int(np.floor(np.log10(exact)))
    return max(1, int(round(exact, digits)))


def calibrated(method: Method, clip: Clip, repeats: int = 5) -> float:
    """The processor's time [s] for one iteration on the clip's figure, the least measured."""
    problem = new_problem(clip.robot, position_tolerance=1e-9)
    solver = method.make(max_iterations=100)
    frames = np.linspace(0, len(clip.q) - 1, 9).astype(int).tolist()
    ways = [(clip.start(start), clip.goals[goal]) for start, goal in pairwise(frames)]
    times = []
    for _ in range(repeats + 1):  # the first one may compile
        begun, done = time.process_time(), 0
        for start, goals in ways:
            set_goals(problem, goals)
            done += solve(solver, problem, start, method.last)[1]
        times.append((time.process_time() - begun) / max(done, 1))
    return min(times[1:])


def followed(
    clips: Sequence[Clip], spacing: float, slot: float, most: int, name: str, cap: int
) -> list[Row]:
    """The errors of a method over all walks; at the smallest spacing also how it moves."""
    solver = METHODS[name].make(max_iterations=cap)
    errors, used, moves = [], [], []
    for walk in walks(clips, spacing, most):
        ends = list(follow(walk, solver, METHODS[name].last))
        errors += [error for _, error, _ in ends]
        used += [count for *_, count in ends]
        if spacing == SPACINGS[0]:
            moves.append(movement(walk, [q for q, *_ in ends]))
    part = 'error' if slot == SLOT else 'slot'
    case = f'{spacing:g} s' if slot == SLOT else f'{1e3 * slot:g} ms'
    made = [row(part, case, name, **box(errors))]
    if slot == SLOT:
        made.append(row('iterations', case, name, **{**box(used), 'values': ''}))
    return made + (by_joint(name, moves) if moves else [])


def captured(clips: Sequence[Clip], most: int) -> list[Row]:
    """How the captured motions themselves move: the reference."""
    chosen = walks(clips, SPACINGS[0], most)
    poses = [[walk.clip.q[frame] for frame in walk.frames[1:]] for walk in chosen]
    return by_joint('captured', [movement(w, p) for w, p in zip(chosen, poses, strict=True)])


def movement(walk: Walk, poses: Sequence[Array]) -> tuple[Array, Array]:
    """Of SMOOTH_LINKS over the poses (n,) of a walk: |x(k+1) - 2 x(k) + x(k-1)| (frames, links)
    [cm], and how far they are from where the captured ones are [cm]."""
    robot, links = walk.clip.robot, list(SMOOTH_LINKS)
    here = link_paths(robot, poses, links)
    there = link_paths(robot, walk.clip.q[walk.frames[1:]], links)
    bends = np.diff(here, n=2, axis=0) if len(here) > 2 else np.empty((0, len(links), 3))
    return 100.0 * np.linalg.norm(bends, axis=2), 100.0 * np.linalg.norm(here - there, axis=2)


def by_joint(name: str, moves: Sequence[tuple[Array, Array]]) -> list[Row]:
    """Parts 'jitter', whose `median` is a root mean square, and 'pose': a joint as the case."""
    bends, distances = (np.concatenate(tables) for tables in zip(*moves, strict=True))
    made = []
    for joint, bend, distance in zip(SMOOTH_LINKS.values(), bends.T, distances.T, strict=True):
        rms = float(np.sqrt((bend**2).mean()))
        made.append(row('jitter', joint, name, **{**box(bend), 'median': rms, 'values': ''}))
        made.append(row('pose', joint, name, **{**box(distance), 'values': ''}))
    return made


def box(values: Sequence[float] | Array) -> Row:
    """What a box plot shows; whiskers end at the last value within 1.5 times the box."""
    ordered = np.sort(np.asarray(values, float))
    q25, median, q75 = np.percentile(ordered, [25, 50, 75]).tolist()
    reach = 1.5 * (q75 - q25)
    inside = ordered[(ordered >= q25 - reach) & (ordered <= q75 + reach)]
    beyond = ordered[(ordered < q25 - reach) | (ordered > q75 + reach)]
    kept = np.unique(np.linspace(0, len(beyond) - 1, OUTLIERS).astype(int))[: len(beyond)]
    return {
        'count': len(ordered),
        'median': median,
        'q25': q25,
        'q75': q75,
        'low': float(inside[0]),
        'high': float(inside[-1]),
        'values': ' '.join(f'{value:.4g}' for value in beyond[kept]),
    }
