# SPDX-License-Identifier: Apache-2.0
"""`ik bench line_search`: [EngellErleben2011] Figs. 7 and 9 to 12, on captured motions.

The goals are the positions of hands, feet, pelvis and head of a captured motion. Its own skeleton
follows them, with 62 dof and joint limits: it starts in the captured pose, clamped to its limits,
and each frame starts at the previous answer. Clips are AMC files of the CMU database, resampled to
60 frames a second; goals are 0.05, 0.7 and 1.0 s apart (section 6.2). The source's three methods
and ours end at 1 cm, or after the number of iterations that take 15 ms, which is measured before.
Errors are the sum of the squared errors of the goals, in units of 0.2 m. Other parts are: the same
with less time; the jitter of joints (Fig. 12); a sweep of the fixed step (Fig. 7); the line search
and the transpose with equal numbers of iterations. `postures` draws Figs. 4, 7 and 12.

Rows have a `part`, a `case` in it and a method; `median`, `q25`, `q75`, the whiskers `low` and
`high`, at most OUTLIERS of the values beyond, and the `count` of values. The parts of the fixed
step use these columns differently (`fixed_step_rows`).
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from ik_core.exceptions import InvalidOption
from ik_core.figures import BLACK, BLUE, GREEN, GREY, ORANGE, PINK, RED, SKY, new_figure
from ik_core.maths.rotations import Array
from ik_core.optim.search import CompiledSearch
from ik_core.optim.workspace import MethodWorkspace
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.retargeting.example import link_paths
from ik_core.robot.mocap.mocap_files import load_mocap
from ik_core.robot.robot import Robot
from ik_core.solvers import PresetName, Solver, SolverName, make_solver
from ik_core.tasks import PositionTask

from ..results import Claim, Row, swept


@dataclass(frozen=True)
class Method:
    """A solver with options.

    last : whether the answer is the last point, as of the source's methods, and not the best one
    """

    solver: SolverName
    preset: PresetName | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    last: bool = False

    def make(self, **options: Any) -> Solver:
        """Make the solver, with further options."""
        return make_solver(self.solver, preset=self.preset, **{**self.options, **options})


# First the source's: the SVD Jacobian inverse of Blender, the Jacobian transpose, and its own.
METHODS: Mapping[str, Method] = {
    'JI': Method('pseudoinverse', 'engell_erleben', last=True),
    'transpose': Method('jacobian_transpose', 'engell_erleben', last=True),
    'line search': Method('projected_gradient', 'tau_one'),
    'line search, BB': Method('projected_gradient'),
    'LM': Method('levenberg_marquardt', options={'restarts': 0}),
    'LM, restarts': Method('levenberg_marquardt', options={'closed_form': False}),
}

SLOT = 0.015  # time [s] for a frame (section 6.2)
SPACINGS = (0.05, 0.7, 1.0)  # [s] between frames: Figs. 9, 10 and 11.
GOALS, FEWER_GOALS = 1000, 150  # largest numbers of goals for each spacing
SLOTS = (0.00015, 0.0005, 0.0015, 0.005)  # [s] shorter slots stand for slower machines
SWEPT = 0.7  # [s] the spacing for these slots
# Methods compared at equal numbers of iterations, the numbers, and the spacings [s].
EQUAL, EQUAL_AT = (20, 50, 100, 200, 500, 1000), (0.7, 1.0)
BOTH = ('line search', 'transpose')

# Bones' far ends, none of which is a goal, and their names as joints.
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

OUTLIERS = 16
COLUMNS = ('part', 'case', 'method', 'count', 'median', 'q25', 'q75', 'low', 'high', 'values')
TEXT = ('case', 'values')  # columns that are text, though '0.05' looks like a number


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each method in each case."""
    clips = load_clips(arguments.mocap)
    most = min(arguments.count, GOALS)
    fewer = min(most, FEWER_GOALS)
    jobs = [(s, SLOT, most, n) for s in SPACINGS for n in METHODS]
    jobs += [(SWEPT, slot, fewer, n) for slot in SLOTS for n in METHODS]
    yield from error_rows(clips, jobs)
    yield from captured(clips, most)
    yield from fixed_step_rows(clips, fewer)
    yield from equal_rows(clips, fewer)


def error_rows(
    clips: Sequence[Clip], jobs: Sequence[tuple[float, float, int, str]]
) -> Iterator[Row]:
    """Yield the errors for jobs of a spacing [s], slot [s], largest number of goals and method."""
    caps = {name: calibrated(METHODS[name], clips[0]) for name in METHODS}
    for name, t in caps.items():
        yield row('cap', '15 ms', name, count=iterations(SLOT, t), median=1e6 * t)
    for spacing, slot, count, name in bar(jobs, 'errors'):
        yield from followed(clips, spacing, slot, count, name, iterations(slot, caps[name]))


def row(part: str, case: str, method: str, count: int = 0, **numbers: float | str) -> Row:
    """Return a row with all columns."""
    return {
        **dict.fromkeys(COLUMNS, ''),
        'part': part,
        'case': case,
        'method': method,
        'count': count,
        **numbers,
    }


def iterations(slot: float, each: float) -> int:
    """Return the number of iterations in a slot [s], to two digits, as precise as the clock."""
    exact = max(1.0, slot / each)
    digits = 1 - int(np.floor(np.log10(exact)))
    return max(1, int(round(exact, digits)))


def calibrated(method: Method, clip: Clip, repeats: int = 5) -> float:
    """Return the least CPU time [s] of an iteration on the clip's skeleton."""
    problem = new_problem(clip.robot, clip.links, position_tolerance=1e-9)
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
    """Return the errors of a method over all walks; at the smallest spacing also its movement."""
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
    return made + (by_joint(name, clips[0].between, moves) if moves else [])


def equal_rows(clips: Sequence[Clip], most: int) -> Iterator[Row]:
    """Yield the line search and the transpose with equal numbers of iterations.

    In the part 'equal', `high` is the 95 % quantile.
    """
    jobs = [(s, cap, name) for s in EQUAL_AT for cap in EQUAL for name in BOTH]
    for spacing, cap, name in bar(jobs, 'as many iterations'):
        method = METHODS[name]
        solver = method.make(max_iterations=cap)
        errors = [
            error
            for walk in walks(clips, spacing, most)
            for _, error, _ in follow(walk, solver, method.last)
        ]
        median, high = np.percentile(errors, [50, 95]).tolist()
        yield row('equal', f'{spacing:g} s, {cap}', name, len(errors), median=median, high=high)


def captured(clips: Sequence[Clip], most: int) -> list[Row]:
    """Return the movement of the captured motions themselves, as the reference."""
    chosen = walks(clips, SPACINGS[0], most)
    poses = [[walk.clip.q[frame] for frame in walk.frames[1:]] for walk in chosen]
    moves = [movement(walk, own) for walk, own in zip(chosen, poses, strict=True)]
    return by_joint('captured', clips[0].between, moves)


def movement(walk: Walk, poses: Sequence[Array]) -> tuple[Array, Array]:
    """Return the movement of links without goals over poses (n,), and errors of their positions.

    The movement |x(k+1) - 2 x(k) + x(k-1)| and the distance from the captured positions are
    (frames, links) [cm].
    """
    robot, links = walk.clip.robot, list(walk.clip.between)
    here = link_paths(robot, poses, links)
    there = link_paths(robot, walk.clip.q[walk.frames[1:]], links)
    bends = np.diff(here, n=2, axis=0) if len(here) > 2 else np.empty((0, len(links), 3))
    return 100.0 * np.linalg.norm(bends, axis=2), 100.0 * np.linalg.norm(here - there, axis=2)


def by_joint(
    name: str, joints: Mapping[str, str], moves: Sequence[tuple[Array, Array]]
) -> list[Row]:
    """Return parts 'jitter', whose `median` is a root mean square, and 'pose', by joint."""
    bends, distances = (np.concatenate(tables) for tables in zip(*moves, strict=True))
    made = []
    for joint, bend, distance in zip(joints.values(), bends.T, distances.T, strict=True):
        rms = float(np.sqrt((bend**2).mean()))
        made.append(row('jitter', joint, name, **{**box(bend), 'median': rms, 'values': ''}))
        made.append(row('pose', joint, name, **{**box(distance), 'values': ''}))
    return made


def box(values: Sequence[float] | Array) -> Row:
    """Return the numbers of a box plot; whiskers end within 1.5 times the box."""
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


# --- captured goals ------------------------------------------------------------------------------


RATE = 60.0  # rate [Hz] of the frames used
# Rates [Hz] of clips other than CMU's usual 120; their files do not have it.
RATES = {'backflip': 60.0, '141_01': 60.0}

PELVIS = 'root'
GOAL_LINKS = ('lhand', 'rhand', 'lfoot', 'rfoot', 'head', PELVIS)
UNIT = 0.2  # [m] one unit of the source: its 0.05 are 1 cm (section 6.2)
TOLERANCE = 0.05 * UNIT


@dataclass(frozen=True, eq=False)
class Clip:
    """A skeleton, its captured motion, and its goals.

    q : (frames, n) at RATE
    goals : (frames, goals, 3) [m]
    links : the links with goals
    between : links without goals, with the names of their joints
    """

    name: str
    robot: Robot
    q: Array
    goals: Array
    links: tuple[str, ...] = GOAL_LINKS
    between: Mapping[str, str] = field(default_factory=lambda: SMOOTH_LINKS)

    def start(self, frame: int) -> Array:
        """Return the captured pose (n,), shifted by whole turns and clamped to the limits."""
        lower, upper, q = self.robot.lower, self.robot.upper, self.q[frame]
        limited = np.isfinite(lower) & np.isfinite(upper)
        low, high = np.where(limited, [lower, upper], q)
        turned = q - 2.0 * np.pi * np.round((q - 0.5 * (low + high)) / (2.0 * np.pi))
        return np.clip(turned, low, high)


@dataclass(frozen=True, eq=False)
class Walk:
    """Frames of a clip that a skeleton follows in order; it starts in the first one."""

    clip: Clip
    frames: range


def load_clips(folder: Path) -> list[Clip]:
    """Return all AMC clips in a folder. Raises InvalidOption if there is none, MocapError."""
    paths = sorted(folder.glob('*.amc'))
    if not paths:
        raise InvalidOption(f'motion capture: there is no AMC file in {folder.name!r}')
    return [load_clip(path) for path in paths]


def load_clip(path: Path) -> Clip:
    """Return a clip at RATE. Raises MocapError."""
    robot, motion = load_mocap(path, rate=RATES.get(path.stem))
    q = motion.resampled(1.0 / RATE).positions_of(robot)
    return Clip(path.stem, robot, q, link_paths(robot, q, GOAL_LINKS))


def walks(clips: Sequence[Clip], spacing: float, most: int) -> list[Walk]:
    """Return walks whose frames are `spacing` [s] apart, from all phase offsets of all clips.

    If they have more than `most` goals, only every second offset, or every third, ... is used.
    """
    step = round(spacing * RATE)
    every = [Walk(c, range(o, len(c.q), step)) for c in clips for o in range(step)]
    every = [walk for walk in every if len(walk.frames) > 1]
    goals = sum(len(walk.frames) - 1 for walk in every)
    return every[:: max(1, -(-goals // most))]


def new_problem(robot: Robot, links: Sequence[str] = GOAL_LINKS, **options: Any) -> IkProblem:
    """Return the problem of the links' positions, each to 1 cm."""
    options = {'position_tolerance': TOLERANCE, **options}
    return IkProblem(robot, [PositionTask(link) for link in links], **options)


def set_goals(problem: IkProblem, goals: Array) -> None:
    """Set the goals (goals, 3) [m] of `new_problem`."""
    for task, goal in zip(problem.goals, goals, strict=True):
        task.set_target(position=goal)


def follow(walk: Walk, solver: Solver, last: bool) -> Iterator[tuple[Array, float, int]]:
    """Yield for each goal of a walk: q (n,), sum of squared errors [units^2], iterations."""
    problem = new_problem(walk.clip.robot, walk.clip.links)
    q = walk.clip.start(walk.frames[0])
    for frame in walk.frames[1:]:
        set_goals(problem, walk.clip.goals[frame])
        q, iterations = solve(solver, problem, q, last)
        yield q, squared_error(problem, q), iterations


def solve(solver: Solver, problem: IkProblem, q0: Array, last: bool) -> tuple[Array, int]:
    """Return the answer (n,) from q0, or the last point, and the iterations."""
    search = solver.begin(problem, q0)
    search.run()
    result = search.result()
    if not last:
        return result.q, result.iterations
    assert isinstance(search, CompiledSearch)
    assert isinstance(search.workspace, MethodWorkspace)
    q = result.q.copy()
    q[problem.variables] = search.workspace.search['x']
    return q, result.iterations


def squared_error(problem: IkProblem, q: Array) -> float:
    """Return the sum of the goals' squared errors [units^2] at q (n,)."""
    return float((problem.errors(q)[0] ** 2).sum()) / UNIT**2


# --- the fixed step ------------------------------------------------------------------------------


FIXED_STEPS = (0.001, 0.0025, 0.005, 0.0075, 0.01, 0.02, 0.05, 0.1)
THEIRS, TOO_LONG = 0.005, 0.05
TAU = 2.0 / UNIT**2  # length of one unit of the source's step: its gradient has a factor of 2
FRAMES = 3  # number of frames at RATE: 0.05 s
DESCENT = 300  # iterations from each start
TRACED = 40
LARGEST = 1e6  # [units^2] larger errors count as this: with a free root, divergence has no bound
SAME = 0.01  # costs are equal if their difference is below this fraction of that to a third one


def fixed_step_rows(clips: Sequence[Clip], most: int) -> Iterator[Row]:
    """Yield a sweep of the fixed step of the Jacobian transpose: section 6.1 and Fig. 7.

    Steps are in the source's units: its 0.005 is tau = 0.25 per m^2 (`jacobian_transpose`). There
    are six goals and a free root, or, as in Fig. 7, five goals and a fixed pelvis. Each frame
    starts in the captured pose 0.05 s before. A method converges only below 2 / s^2, with the
    largest singular value s of the Jacobian.

    Parts 'step free' and 'step held' have a step as the case: `median`, `q25`, `q75` of the last
    errors, `low` the fraction of frames that end farther away than they began, `high` the fraction
    that flips between two poses. Part 'bound': 2 / s^2. Part 'trace': the errors of one frame.
    """
    yield bound(clips, most)
    for held in (False, True):
        for step in bar(FIXED_STEPS, 'fixed step, pelvis held' if held else 'fixed step'):
            traces = [descent(*case, step) for case in cases(clips, held, most)]
            yield step_row('step held' if held else 'step free', step, traces)
            if held and step in (THEIRS, TOO_LONG):
                yield trace(step, traces)


def cases(clips: Sequence[Clip], held: bool, most: int) -> list[tuple[IkProblem, Array, Array]]:
    """Return (problem, start (n,), goals) of frames distributed over the clips."""
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
    """Return the squared error [units^2] at the start and after every iteration."""
    options: dict[str, Any] = {
        'step_length': TAU * step,
        'max_iterations': DESCENT,
        'record_history': True,
    }
    solver = make_solver('jacobian_transpose', preset='engell_erleben', **options)
    set_goals(problem, goals)
    first = problem.evaluator.cost_at(problem.start(start)[1])
    with np.errstate(over='ignore', invalid='ignore'):
        history = solver.solve(problem, start).history
        return np.nan_to_num(np.array([first, *history]) / UNIT**2, nan=np.inf)


def flips(errors: Array) -> bool:
    """Return whether the last errors alternate between two poses."""
    if len(errors) < DESCENT:
        return False
    a, b, c = errors[-3:].tolist()
    return bool(abs(c - a) < SAME * abs(c - b)) and abs(c - b) > SAME * c


def step_row(part: str, step: float, traces: Sequence[Array]) -> Row:
    """Return the row of a step."""
    last = np.minimum([errors[-1] for errors in traces], LARGEST)
    q25, median, q75 = np.percentile(last, [25, 50, 75]).tolist()
    away = np.mean([errors[-1] > errors[0] for errors in traces])
    high = float(np.mean([flips(errors) for errors in traces]))
    spread = {'median': median, 'q25': q25, 'q75': q75, 'low': float(away), 'high': high}
    return row(part, f'{step:g}', 'transpose', len(traces), **spread)


def trace(step: float, traces: Sequence[Array]) -> Row:
    """Return the first errors of the frame in the middle."""
    values = ' '.join(f'{error:.4g}' for error in traces[len(traces) // 2][:TRACED])
    return row('trace', f'{step:g}', 'transpose', 1, values=values)


def bound(clips: Sequence[Clip], most: int) -> Row:
    """Return the row of 2 / s^2 at the starts, with a free root, in the source's units."""
    bounds = []
    for problem, start, goals in cases(clips, False, most):
        set_goals(problem, goals)
        s = np.linalg.norm(problem.evaluate(start).jacobian, 2)
        bounds.append(2.0 / s**2 / TAU)
    low, q25, median, q75, high = np.percentile(bounds, [0, 25, 50, 75, 100]).tolist()
    spread = {'median': median, 'q25': q25, 'q75': q75, 'low': low, 'high': high}
    return row('bound', '2 / s^2', 'transpose', len(bounds), **spread)


# --- claims --------------------------------------------------------------------------------------


FIGURES = {'0.05 s': 'Fig. 9', '0.7 s': 'Fig. 10', '1 s': 'Fig. 11'}
# At this spacing medians differ by about MUCH, so the verdict depends on the iterations in 15 ms.
CLOSE_CALL = '0.05 s'
MUCH = 2.0  # factor of 'much lower'
# Factors from which on problems begin weakly, and numbers are significantly larger.
WEAKLY, SIGNIFICANTLY = 1.2, 1.1
THEIR_OUTLIER = 80.0
SOME = 10.0  # [%] of the frames
CYCLE = (28, 7, 5)  # frames a cycle at SPACINGS, by the caption of Fig. 8
CLIPS = 'four captured clips'
TOLD = 200  # the text of a claim has the errors for this number of iterations


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the source's claims, figure by figure."""
    return [
        *(against_inverse(rows, case, CLIPS) for case in FIGURES),
        *improved(rows),
        *troubled(rows),
        interactive(rows, CLIPS),
        longest_step(rows),
        flipping_step(rows),
        smooth(rows, CLIPS),
        like_the_reference(rows, CLIPS),
        one_cycle(),
    ]


def one_cycle() -> Claim:
    """Return the claim that the three numbers of frames in Fig. 8 are of one cycle."""
    spans = [count * spacing for count, spacing in zip(CYCLE, SPACINGS, strict=True)]
    said = [f'{n} x {s:g} s = {t:g} s' for n, s, t in zip(CYCLE, SPACINGS, spans, strict=True)]
    return Claim(
        '28, 7 and 5 frames a cycle are 0.05, 0.7 and 1.0 s apart (Fig. 8, 6.2)',
        '28, 7, 5',
        f'{", ".join(said)}: two lengths of one cycle',
        "the source's three spacings",
        'durations of the cycle within 10 % of each other',
        [max(spans) < SIGNIFICANTLY * min(spans)],
    )


def value(rows: Sequence[Row], part: str, case: str, method: str, key: str = 'median') -> float:
    """Return a number of a row."""
    found = (r for r in rows if (r['part'], r['case'], r['method']) == (part, case, method))
    return float(next(found)[key])


def total(rows: Sequence[Row], part: str, method: str) -> list[float]:
    """Return the medians of a method in all cases of a part."""
    return [float(r['median']) for r in rows if (r['part'], r['method']) == (part, method)]


def medians(rows: Sequence[Row], method: str) -> list[float]:
    """Return the medians of the errors at the three spacings."""
    return [value(rows, 'error', case, method) for case in FIGURES]


def against_inverse(rows: Sequence[Row], case: str, motions: str) -> Claim:
    """Return the claim of one of the three box plots, of motions as named."""
    ours, inverse = (value(rows, 'error', case, m) for m in ('line search', 'JI'))
    box, wide = (
        value(rows, 'error', case, m, 'q75') - value(rows, 'error', case, m, 'q25')
        for m in ('line search', 'JI')
    )
    return Claim(
        f'{case} apart: the line search has a much lower median than the Jacobian inverse, and a '
        f'more compact distribution ({FIGURES[case]})',
        'lower, narrower',
        f'medians {ours:.2g} and {inverse:.2g}, boxes {box:.2g} and {wide:.2g} wide',
        f'{motions}, goals {case} apart, 15 ms a frame',
        f'median and box at most 1/{MUCH:g} of those of the Jacobian inverse',
        [MUCH * ours < inverse and MUCH * box < wide],
        timed=case == CLOSE_CALL,
    )


def improved(rows: Sequence[Row]) -> list[Claim]:
    """Return claims on the line search and the fixed step, at equal iterations and equal time."""
    equal = {cap: [_pair(rows, 'equal', f'{s:g} s, {cap}') for s in EQUAL_AT] for cap in EQUAL}
    tails = {
        cap: [_pair(rows, 'equal', f'{s:g} s, {cap}', 'high') for s in EQUAL_AT] for cap in EQUAL
    }
    timed = {1e3 * slot: [_pair(rows, 'slot', f'{1e3 * slot:g} ms')] for slot in SLOTS}
    timed[1e3 * SLOT] = [_pair(rows, 'error', case) for case in FIGURES]
    spectral, newton = medians(rows, 'line search, BB'), medians(rows, 'LM')
    at = ' and '.join(f'{s:g} s' for s in EQUAL_AT)
    return [
        swept(
            'the line search improves on the transpose (section 7): in as many iterations',
            'improved',
            f'{TOLD} iterations, {at} apart: medians {_against(equal[TOLD])}, 95 % quantiles '
            f'{_against(tails[TOLD])}',
            f'iterations {EQUAL[0]} to {EQUAL[-1]}, {at} apart',
            'the 95 % quantile is 10 % lower',
            {cap: all(SIGNIFICANTLY * a < b for a, b in tails[cap]) for cap in EQUAL},
        ),
        swept(
            'the line search improves on the transpose (section 7): in the same time',
            'improved',
            f'medians in 15 ms {_against(timed[1e3 * SLOT])}, in 0.5 ms {_against(timed[0.5])}; '
            f'in 15 ms with steps of Barzilai and Borwein {listed(spectral)}, '
            f'`levenberg_marquardt` {listed(newton)}',
            f'time {1e3 * SLOTS[0]:g} to {1e3 * SLOT:g} ms a frame',
            'the median is 10 % lower',
            {t: all(SIGNIFICANTLY * a < b for a, b in pairs) for t, pairs in timed.items()},
        )._replace(timed=True),
    ]


def _pair(rows: Sequence[Row], part: str, case: str, key: str = 'median') -> tuple[float, float]:
    """Return a number of the line search and of the transpose."""
    return value(rows, part, case, 'line search', key), value(rows, part, case, 'transpose', key)


def _against(pairs: Sequence[tuple[float, float]]) -> str:
    ours, fixed = zip(*pairs, strict=True)
    return f'{listed(ours)} against {listed(fixed)}'


def troubled(rows: Sequence[Row]) -> list[Claim]:
    """Return claims on the transpose for frames far apart: its whisker and outliers."""
    high = [value(rows, 'error', case, 'transpose', 'high') for case in FIGURES]
    found = [r for r in rows if (r['part'], r['method']) == ('error', 'transpose')]
    largest = [max([float(v) for v in str(r['values']).split()] or [0.0]) for r in found]
    times = high[2] / high[0]
    return [
        Claim(
            'the transpose begins to have problems at 1.0 s (Fig. 11)',
            'not at 0.05 and 0.7 s',
            f'upper whiskers {listed(high)}: the last is {times:.2g} times the first',
            f'{CLIPS}, 15 ms a frame',
            f'times {MUCH:g} is yes, times {WEAKLY:g} partly',
            [times > WEAKLY, times > MUCH],
            timed=True,
        ),
        Claim(
            'its outliers at 1.0 s are of around 80 (Fig. 11)',
            '80',
            f'largest {listed(largest)}',
            f'{CLIPS}, 15 ms a frame',
            f'within a factor of {MUCH:g}',
            [THEIR_OUTLIER / MUCH < largest[2] < MUCH * THEIR_OUTLIER],
            timed=True,
        ),
    ]


def interactive(rows: Sequence[Row], motions: str) -> Claim:
    """Return the claim that 15 ms are enough for interaction."""
    caps = {r['method']: r for r in rows if r['part'] == 'cap'}
    texts = []
    for name, cap in caps.items():
        used = value(rows, 'iterations', '1 s', name) * float(cap['median']) / 1e3
        texts.append(f'{name}: {cap["count"]} iterations, {used:.2g} ms')
    return Claim(
        'an answer in about 15 ms (6.2); here: the iterations in 15 ms, the median time at 1.0 s',
        '66 frames/s at 1.66 GHz',
        '; '.join(texts),
        f'{motions}, goals 1 s apart',
        'none: iterations end with 15 ms',
        [],
    )


def longest_step(rows: Sequence[Row]) -> Claim:
    """Return the claim on the transpose's step length."""
    low, median, high = (
        value(rows, 'bound', '2 / s^2', 'transpose', key) for key in ('low', 'median', 'high')
    )
    at, beyond = (share(rows, 'free', step) for step in (THEIRS, 1.5 * THEIRS))
    return Claim(
        'a fixed step of more than 0.005 makes the transpose diverge (6.1)',
        '0.005',
        f'2 / s^2 is {median:.4f}, from {low:.4f} to {high:.4f}; {at:.0f} % of the frames diverge '
        f'at 0.005, {beyond:.0f} % at 0.0075',
        f'{CLIPS}, steps {THEIRS:g} and {1.5 * THEIRS:g}, free root',
        'fewer than half of the frames diverge at the first, more at the second',
        [at < 50.0 < beyond],
    )


def flipping_step(rows: Sequence[Row]) -> Claim:
    """Return the claim on a step of 0.05."""
    flips, away = (share(rows, 'held', TOO_LONG, key) for key in ('high', 'low'))
    return Claim(
        'with a step of 0.05 the figure flips between two poses (Fig. 7)',
        'flips',
        f'with the pelvis held {flips:.0f} % of the frames flip, {away:.0f} % end farther away; '
        f'with a free root {share(rows, "free", TOO_LONG):.0f} % run away',
        f'{CLIPS}, step {TOO_LONG:g}, pelvis held',
        f'weak: {SOME:g} % of the frames flip',
        [flips > SOME],
    )


def share(rows: Sequence[Row], root: str, step: float, key: str = 'low') -> float:
    """Return the percentage of frames that a step leaves farther away, or flipping."""
    return 100.0 * value(rows, f'step {root}', f'{step:g}', 'transpose', key)


def smooth(rows: Sequence[Row], motions: str) -> Claim:
    """Return the claim on jitter, the root mean square over all joints."""
    names = ('JI', 'line search', 'LM', 'LM, restarts', 'captured')
    rms = {name: float(np.sqrt(np.mean(np.square(total(rows, 'jitter', name))))) for name in names}
    return Claim(
        'the Jacobian inverse jitters, the line search does not (Fig. 12, section 7)',
        'seen in frames 7 and 9',
        'second differences: ' + ', '.join(f'{name} {rms[name]:.1f} cm' for name in names),
        f'{motions}, goals {SPACINGS[0]:g} s apart, joints without goals',
        f'the former above {MUCH:g} times the captured motion, the latter below',
        [rms['JI'] > MUCH * rms['captured'] > rms['line search']],
    )


def like_the_reference(rows: Sequence[Row], motions: str) -> Claim:
    """Return the claim on the distance of joints without a goal from the captured ones."""
    names = ('JI', 'transpose', 'line search', 'LM', 'LM, restarts')
    away = {name: float(np.mean(total(rows, 'pose', name))) for name in names}
    times = away['JI'] / away['line search']
    return Claim(
        'the Jacobian inverse is farther from the captured motion than the line search (Fig. 12)',
        'significantly',
        'median distance of joints: '
        + ', '.join(f'{name} {away[name]:.1f} cm' for name in names)
        + f': {100.0 * (times - 1.0):+.0f} %',
        f'{motions}, goals {SPACINGS[0]:g} s apart, joints without goals',
        f'weak: {100.0 * (SIGNIFICANTLY - 1.0):.0f} % farther',
        [times > SIGNIFICANTLY],
    )


def listed(numbers: Sequence[float]) -> str:
    """Return numbers as text: '0.1, 0.2, 0.3'."""
    return ', '.join(f'{number:.2g}' for number in numbers)


# --- the figure ----------------------------------------------------------------------------------


COLOURS = {
    'JI': BLUE,
    'transpose': ORANGE,
    'line search': RED,
    'line search, BB': PINK,
    'LM': BLACK,
    'LM, restarts': GREEN,
    'captured': GREY,
}
FLOOR = 1e-5  # [units^2] smaller errors are drawn as this, far below the tolerance of 1 cm


def draw(rows: Sequence[Row]) -> Any:
    """Draw all parts, in the source's colours: blue boxes, red medians and crosses."""
    figure = new_figure(12.5, 7.6)
    above, below = figure.subfigures(2, 1, height_ratios=(1.0, 1.05))
    draw_errors(above.subplots(1, len(FIGURES), sharey=True), rows)
    panels = below.subplots(1, 3)
    for axes, panel in zip(panels, (budgets, steps, jitter), strict=True):
        panel(axes, rows)
    below.legend(*panels[2].get_legend_handles_labels(), loc='outside lower center', ncols=7)
    return figure


def draw_errors(panels: Sequence[Any], rows: Sequence[Row]) -> None:
    """Draw Figs. 9, 10 and 11."""
    for number, (axes, case) in enumerate(zip(panels, FIGURES, strict=True), 9):
        boxes(axes, [row for row in chosen(rows, 'error') if row['case'] == case])
        axes.set_title(f'As Fig. {number}: frames {case} apart')
    panels[0].set_ylabel('sum of squared errors [units of 0.2 m, squared]')


def chosen(rows: Sequence[Row], *parts: str) -> list[Row]:
    """Return the rows of some parts."""
    return [row for row in rows if row['part'] in parts]


def numbers(row: Row) -> list[float]:
    """Return the values in a row."""
    return [float(word) for word in str(row['values']).split()]


def boxes(axes: Any, rows: Sequence[Row]) -> None:
    """Draw box plots of the methods, in blue and red, as the source's."""
    stats = [
        {
            'label': row['method'].replace(', ', '\n'),
            'med': row['median'],
            'q1': row['q25'],
            'q3': row['q75'],
            'whislo': max(row['low'], FLOOR),
            'whishi': row['high'],
            'fliers': np.maximum(numbers(row), FLOOR),
        }
        for row in rows
    ]
    axes.bxp(
        stats,
        widths=0.6,
        boxprops={'color': BLUE},
        medianprops={'color': RED},
        whiskerprops={'linestyle': '--'},
        flierprops={'marker': '+', 'markeredgecolor': RED, 'markersize': 4},
    )
    axes.set(yscale='log', ylim=(FLOOR, None))
    axes.tick_params(axis='x', labelsize=7)
    axes.minorticks_off()


def log_axis(axis: Any, ticks: Sequence[float]) -> None:
    """Make an axis logarithmic, with these ticks only."""
    axis.axes.set(**{f'{axis.axis_name}scale': 'log'})
    axis.set_ticks(ticks, [f'{tick:g}' for tick in ticks])
    axis.set_ticks([], minor=True)


def budgets(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the median error against the time for a frame."""
    whole = [row for row in chosen(rows, 'error') if row['case'] == '0.7 s']
    own = [*chosen(rows, 'slot'), *({**row, 'case': '15 ms'} for row in whole)]
    for name, colour in COLOURS.items():
        mine = [row for row in own if row['method'] == name]
        slots = [float(str(row['case']).split()[0]) for row in mine]
        axes.plot(slots, [max(row['median'], FLOOR) for row in mine], '.-', color=colour)
    axes.set(yscale='log', xlabel='time for a frame [ms]', ylabel='median [squared units]')
    axes.minorticks_off()
    log_axis(axes.xaxis, (0.15, 0.5, 1.5, 5, 15))
    axes.set_title('Less time, frames 0.7 s apart')


def steps(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the fraction of frames that a fixed step leaves farther away, or flipping."""
    lines = [
        ('step free', 'low', RED, '-', 'ends farther away'),
        ('step held', 'low', ORANGE, '-', 'the same, pelvis held'),
        ('step held', 'high', BLUE, '--', 'flips, pelvis held'),
    ]
    for part, key, colour, style, label in lines:
        own = chosen(rows, part)
        share = [100.0 * row[key] for row in own]
        axes.plot(
            [float(row['case']) for row in own],
            share,
            style,
            marker='.',
            color=colour,
            label=label,
        )
    (bound,) = chosen(rows, 'bound')
    axes.axvspan(bound['low'], bound['high'], color=SKY, alpha=0.3, linewidth=0, label='2 / s²')
    for step in (THEIRS, TOO_LONG):
        axes.axvline(step, ymax=100 / 150, color='k', linewidth=0.8, linestyle=':')
    axes.set(xlabel="step length in the source's units", ylabel='frames [%]', ylim=(0, 150))
    log_axis(axes.xaxis, (0.001, 0.005, 0.02, 0.05))
    axes.set_yticks(range(0, 101, 20))
    axes.set_title('As Fig. 7: the fixed step')
    axes.legend(loc='upper left', fontsize=7)


def jitter(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the root mean square jump of the joints without a goal."""
    own = chosen(rows, 'jitter')
    joints = list(dict.fromkeys(row['case'] for row in own))
    for name, colour in COLOURS.items():
        values = [row['median'] for row in own if row['method'] == name]
        axes.plot(values, range(len(joints)), 'o', color=colour, markersize=4, label=name)
    axes.set_yticks(range(len(joints)), joints, fontsize=7)
    axes.set(xlabel='second difference, r.m.s. [cm]')
    shown = [row['median'] for row in own]
    ticks = [tick for tick in (1, 1.5, 2, 3, 5, 10, 20) if min(shown) < tick < max(shown)]
    log_axis(axes.xaxis, ticks)
    axes.set_title('As Fig. 12: jitter, frames 0.05 s apart')
