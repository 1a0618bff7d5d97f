# SPDX-License-Identifier: Apache-2.0
"""`ik bench postures`: [EngellErleben2011] Figs. 2, 4, 5, 7, 8 and 12, drawn as skeletons.

A goal is dragged along the limits (Fig. 4): the upper body of a captured skeleton, with 16 dof as
there: two in the lower back, and in each arm those of clavicle, shoulder, elbow and wrist. One
hand has a fixed goal; that of the other hand rises by 1 cm at a time, from below the reach of the
arm to above it, along each of LINES. While the posture follows, no link moves much farther than
the goal; a flip is a move of at least FLIP. A method has as many iterations as in `line_search`;
the line search also has each of CAPS.

The leg of `human` moves to five extreme positions (Fig. 5), with its limits and without. The other
figures have goals of captured motions, as in `line_search`: a posture other than the captured one
that reaches the same goals (Fig. 2), two postures between which a fixed step of 0.05 flips (Fig.
7), three captured frames at each spacing of the goals (Fig. 8), and nine frames, 0.05 s apart,
around the largest jitter of the Jacobian inverse (Fig. 12).

Rows have a `part`, a `case` in it and a method:
- drag : a line; `count` the flips, `median` the largest move of a link in one step [cm], `high`
  the error at the end [cm], `values` the largest moves of all steps [cm]
- drag capped : a cap; `count` the flips on all lines
- away : a joint, and the free joints; `median` its distance from the captured one [cm], over
  `count` frames
- leg : a goal of the leg; `median` the error [cm], `high` the change of the joints without limits
  [deg]
- pose : a picture of a skeleton; `values` its bones, x1 y1 x2 y2 [m]
- goal : likewise its goals, x y
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from ik_core.figures import BLACK, GREY, SKY, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.retargeting.example import link_paths
from ik_core.robot.human_model import human
from ik_core.robot.robot import Robot
from ik_core.solvers import Solver, make_solver
from ik_core.tasks import PositionTask

from ..results import Claim, Row, swept
from . import line_search
from .example_guided import bones
from .line_search import COLOURS, DESCENT, METHODS, SLOT, TAU, TOO_LONG, Clip, Walk, solve

COLUMNS = ('part', 'case', 'method', 'count', 'median', 'high', 'values')
TEXT = ('case', 'values')  # columns that are text, though '10' looks like a number
CLIP = '124_01'  # the clip whose skeleton has a goal dragged, if the folder has it
GYMNASTICS = 'backflip'  # the clip of Figs. 2, 7 and 12, if the folder has it


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each part, case and method."""
    clips = {clip.name: clip for clip in line_search.load_clips(arguments.mocap)}
    first = next(iter(clips.values()))
    yield from leg_rows()
    captured = clips.get(GYMNASTICS, first)
    yield from redundant_rows(captured)
    yield from flipping_rows(captured)
    yield from spaced_rows(captured)
    yield from animated_rows(captured)
    yield from dragged_rows(clips.get(CLIP, first).robot, first)


def row(part: str, case: str, method: str = '', **numbers: float | str) -> Row:
    """Return a row with all columns."""
    return {**dict.fromkeys(COLUMNS, ''), 'part': part, 'case': case, 'method': method, **numbers}


def pose(
    case: str,
    method: str,
    robot: Robot,
    q: Array,
    side: Array,
    more: Sequence[tuple[str, str]] = (),
) -> Row:
    """Return the row of a robot's bones at q (n,), projected on `side` (2, 3).

    more : pairs of links to which no bone leads
    """
    at = {link: robot.forward_kinematics(q, link)[:3, 3] for pair in more for link in pair}
    ends = [*bones(robot, q), *((at[a], at[b]) for a, b in more)]
    return row('pose', case, method, values=flat(np.array(ends) @ side.T))


def goals(case: str, points: Array, side: Array) -> Row:
    """Return the row of goals (goals, 3) [m], projected on `side` (2, 3)."""
    return row('goal', case, values=flat(points @ side.T))


def flat(points: Array) -> str:
    return ' '.join(f'{value:.3f}' for value in points.ravel())


def seen(ahead: Sequence[float], up: Sequence[float], turned: float) -> Array:
    """Return the directions (2, 3) to the right and up of a picture, turned [deg] from aside."""
    aside, angle = np.cross(up, ahead), np.radians(turned)
    return np.stack([np.cos(angle) * np.array(ahead) - np.sin(angle) * aside, up])


CAPTURED = seen((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 35.0)  # captured figures look along z, with y up
FRONT = seen((0.0, 0.0, 1.0), (0.0, 1.0, 0.0), 90.0)
UPRIGHT = seen((1.0, 0.0, 0.0), (0.0, 0.0, 1.0), 35.0)  # `human` looks along x, with z up


# --- Fig. 4 --------------------------------------------------------------------------------------


BACK = ('lowerback/z', 'lowerback/x')
ARM = ('clavicle', 'humerus', 'radius', 'wrist')
LINKS = ('lhumerus', 'rhumerus', 'lradius', 'rradius', 'lwrist', 'rwrist')

RISE = 0.01
HEIGHTS = np.arange(-0.75, 0.75 + 1e-9, RISE)  # [m] heights of the goal above the shoulder
# [m] Offsets of the lines: outside of the shoulder, and in front of it.
LINES = ((0.1, 0.25), (0.0, 0.4), (0.2, 0.3), (-0.1, 0.3), (0.3, 0.2), (-0.2, 0.1), (0.1, 0.0))
# [m] The other hand's goal: outside of its shoulder, above it, in front of it.
HELD = (0.1, -0.2, 0.3)
SETTLE = 5  # the first steps do not count: the arm comes from its rest posture
PRECISE = 0.001  # [m] a tenth of the goal's step, so that every step needs a solve
FLIP = 0.1  # [m] ten times the goal's step
# Iterations for each step of the goal; more than 1000 change nothing.
CAPS = (3, 10, 30, 100, 300, 1000, 3000)
DRAWN = ('JI', 'line search')  # methods whose postures on the first line are drawn
# Drawn steps, relative to the flip, which is between the third and the fourth picture.
PICTURES = (-12, -4, 0, 1, 9)


def dragged_rows(robot: Robot, calibrated: Clip) -> Iterator[Row]:
    """Yield the parts of Fig. 4; the caps of iterations are calibrated on a clip."""
    flipped = 0
    for name in bar(list(METHODS), 'dragged goal'):
        method = METHODS[name]
        each = line_search.calibrated(method, calibrated)
        solver = method.make(max_iterations=line_search.iterations(SLOT, each))
        for line in LINES:
            postures, error = drag(robot, solver, method.last, *line)
            moves = largest_moves(robot, postures)
            yield drag_row(line, name, moves, error)
            if line == LINES[0] and name in DRAWN:
                flipped = int(moves.argmax()) + SETTLE if name == DRAWN[0] else flipped
                yield from drag_pictures(robot, line, name, postures, flipped)
    for cap in bar(CAPS, 'dragged, capped'):
        solver, count = METHODS['line search'].make(max_iterations=cap), 0
        for line in LINES:
            moves = largest_moves(robot, drag(robot, solver, False, *line)[0])
            count += int((moves >= FLIP).sum())
        yield row('drag capped', str(cap), 'line search', count=count)


def drag(
    robot: Robot, solver: Solver, last: bool, outside: float, before: float
) -> tuple[list[Array], float]:
    """Return the posture (n,) for each of HEIGHTS, and the error [m] at the end."""
    problem, q = upper_body(robot), np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    left, right = dragged_to(robot, outside, before)
    problem.goals[0].set_target(position=left)
    postures = []
    for point in right:
        problem.goals[1].set_target(position=point)
        q, _ = solve(solver, problem, q, last)
        postures.append(q)
    return postures, float(problem.errors(q)[0].max())


def dragged_to(robot: Robot, outside: float, before: float) -> tuple[Array, Array]:
    """Return the fixed goal (3,) of one hand, and the goals (heights, 3) of the other one [m]."""
    rest = np.clip(np.zeros(robot.n), robot.lower, robot.upper)
    ((left, shoulder),) = link_paths(robot, [rest], ['lclavicle', 'rclavicle'])
    return left + HELD, shoulder + np.array([[-outside, height, before] for height in HEIGHTS])


def largest_moves(robot: Robot, postures: Sequence[Array]) -> Array:
    """Return the largest move of a link [m] in each step after SETTLE."""
    ways = np.diff(link_paths(robot, postures[SETTLE:], LINKS), axis=0)
    return np.linalg.norm(ways, axis=2).max(axis=1)


def drag_row(line: tuple[float, float], name: str, moves: Array, error: float) -> Row:
    """Return the row of a method on a line."""
    return row(
        'drag',
        f'{line[0]:g} {line[1]:g}',
        name,
        count=int((moves >= FLIP).sum()),
        median=100.0 * float(moves.max()),
        high=100.0 * error,
        values=' '.join(f'{100.0 * move:.3g}' for move in moves),
    )


def drag_pictures(
    robot: Robot, line: tuple[float, float], name: str, postures: Sequence[Array], at: int
) -> Iterator[Row]:
    """Yield postures around step `at`, with their goals."""
    held, points = dragged_to(robot, *line)
    for number, step in enumerate(PICTURES):
        k, case = min(max(at + step, 0), len(postures) - 1), f'4 {number}'
        yield pose(case, name, robot, postures[k], FRONT)
        yield goals(case, np.stack([held, points[k]]), FRONT)


def upper_body(
    robot: Robot, links: Sequence[str] = ('lwrist', 'rwrist'), back: Sequence[str] = BACK
) -> IkProblem:
    """Return the problem of both wrists, or these links, with the arms and the back free."""
    own = {side + bone for side in 'lr' for bone in ARM}
    free = [j for j in robot.joint_names if j in back or j.split('/')[0] in own]
    frozen = [j for j in robot.joint_names if j not in free]
    tasks = [PositionTask(link) for link in links]
    return IkProblem(robot, tasks, frozen_joints=frozen, position_tolerance=PRECISE)


# --- Fig. 5 --------------------------------------------------------------------------------------


HEEL = 'left_heel'
# Goals [m] of the heel from the hip: ahead, to the left and up.
LEG = {
    'forward and up': (0.75, 0.1, 0.35),
    'out to the side': (0.1, 0.85, 0.0),
    'behind, up': (-0.55, 0.05, 0.45),
    'across the other leg': (0.1, -0.55, -0.6),
    'heel to the back': (-0.25, 0.0, 0.05),
}
THIRD = 2  # the goal that is in reach without limits
REACHED = 0.01
OTHER = 5.0  # [deg] a posture with larger differences of joints is another one
ROUNDS = 5000


def leg_rows() -> Iterator[Row]:
    """Yield the leg at its goals, by the line search, with limits and without."""
    robot, rest = human(), np.zeros(human().n)
    frozen = [name for name in robot.joint_names if not name.startswith(LEG_JOINTS)]
    hip = robot.forward_kinematics(rest, 'left_hip/y_link')[:3, 3]
    solver = METHODS['line search'].make(max_iterations=ROUNDS)
    endless = np.full(robot.n, np.inf)
    for number, (name, offset) in enumerate(LEG.items()):
        found, errors = [], []
        for lower, upper in ((None, None), (-endless, endless)):
            problem = IkProblem(
                robot,
                [PositionTask(HEEL)],
                lower=lower,
                upper=upper,
                frozen_joints=frozen,
                position_tolerance=PRECISE,
            )
            problem.goals[0].set_target(position=hip + offset)
            found.append(solve(solver, problem, rest, False)[0])
            errors.append(float(problem.errors(found[-1])[0].max()))
        change = float(np.degrees(np.abs(found[1] - found[0]).max()))
        for method, q, error in zip(('limits', 'none'), found, errors, strict=True):
            yield row('leg', name, method, median=100.0 * error, high=change)
            yield pose(f'5 {number}', method, robot, q, UPRIGHT, [('left_foot', HEEL)])
        yield goals(f'5 {number}', hip + np.array([offset]), UPRIGHT)


LEG_JOINTS = ('left_hip', 'left_knee', 'left_ankle')


# --- captured motions ----------------------------------------------------------------------------


JUMP = 0.7  # [s] between the frames of Fig. 2, one of the source's spacings.
CLOSE = 0.05  # [s] between those of Fig. 12.
FRAMES = 9
IN_A_ROW = 3  # frames of Fig. 8 at each spacing
SHOWN = ('JI', 'line search')
HANDS = ('lhand', 'rhand')
# Bones whose ends are the joints named in the caption of Fig. 2.
REDUNDANT = {'lradius': 'wrist', 'lhumerus': 'elbow', 'lclavicle': 'shoulder'}
SPARSE = 3  # every third frame of the clip is a goal of Fig. 2
# Joints of the back that are free in Fig. 2; the picture has the arms alone.
FREE: Mapping[str, Sequence[str]] = {'the arms': (), 'the arms and the back': BACK}
LARGER = 1.5  # a large difference is at least this many times a small one


def redundant_rows(clip: Clip) -> Iterator[Row]:
    """Yield Fig. 2: arms, with and without the back, reach for the hands captured JUMP later."""
    for free, back in FREE.items():
        yield from reaching_rows(clip, free, back)


def reaching_rows(clip: Clip, free: str, back: Sequence[str]) -> Iterator[Row]:
    """Yield the rows of the arms and these joints of the back."""
    robot, solver = clip.robot, METHODS['line search'].make(max_iterations=ROUNDS)
    problem = upper_body(robot, HANDS, back)
    step, variables = round(JUMP * line_search.RATE), problem.variables
    found: list[tuple[Array, int]] = []
    for k in range(step, len(clip.q), SPARSE):
        start = clip.q[k].copy()
        start[variables] = clip.start(k - step)[variables]
        line_search.set_goals(problem, link_paths(robot, [clip.q[k]], HANDS)[0])
        q, _ = solve(solver, problem, start, False)
        if problem.errors(q)[0].max() < problem.position_tolerance:
            found.append((q, k))
    ours = link_paths(robot, [q for q, _ in found], list(REDUNDANT))
    theirs = link_paths(robot, [clip.q[k] for _, k in found], list(REDUNDANT))
    away = 100.0 * np.linalg.norm(ours - theirs, axis=2)
    for name, column in zip(REDUNDANT.values(), away.T, strict=True):
        yield row('away', name, free, count=len(found), median=float(np.median(column)))
    if back:
        return
    q, k = found[int(np.argsort(away.max(axis=1))[len(found) // 2])]
    yield pose('2 0', 'captured', clip.robot, clip.q[k], CAPTURED)
    yield pose('2 0', 'line search', clip.robot, q, CAPTURED)
    yield goals('2 0', link_paths(robot, [clip.q[k]], HANDS)[0], CAPTURED)


def flipping_rows(clip: Clip) -> Iterator[Row]:
    """Yield Fig. 7: the last two postures of a descent that flips, and the captured one."""
    links = [link for link in line_search.GOAL_LINKS if link != line_search.PELVIS]
    swings = []
    for problem, start, points in line_search.cases([clip], True, line_search.FEWER_GOALS):
        errors = line_search.descent(problem, start, points, TOO_LONG)
        if line_search.flips(errors):
            swings.append((abs(errors[-1] - errors[-2]), problem, start, points))
    _, problem, start, points = max(swings, key=lambda swing: swing[0])
    line_search.set_goals(problem, points)
    for number, count in enumerate((DESCENT - 1, DESCENT)):
        solver = make_solver(
            'jacobian_transpose',
            preset='engell_erleben',
            step_length=TAU * TOO_LONG,
            max_iterations=count,
        )
        q, _ = solve(solver, problem, start, True)
        yield pose('7 0', f'flip {number + 1}', clip.robot, q, CAPTURED)
    solver = METHODS['line search'].make(max_iterations=ROUNDS)
    q, _ = solve(solver, problem, start, False)
    yield pose('7 0', 'desired', clip.robot, q, CAPTURED)
    yield goals('7 0', points[: len(links)], CAPTURED)


def spaced_rows(clip: Clip) -> Iterator[Row]:
    """Yield Fig. 8: IN_A_ROW captured frames of each spacing, in the middle of the clip."""
    for number, spacing in enumerate(line_search.SPACINGS):
        step = round(spacing * line_search.RATE)
        first = max(0, (len(clip.q) - 1 - (IN_A_ROW - 1) * step) // 2)
        for k, frame in enumerate(range(first, len(clip.q), step)[:IN_A_ROW]):
            yield pose(f'8 {number} {k}', 'captured', clip.robot, clip.q[frame], CAPTURED)
            yield goals(f'8 {number} {k}', clip.goals[frame], CAPTURED)


def animated_rows(clip: Clip) -> Iterator[Row]:
    """Yield Fig. 12: FRAMES frames of both methods and of the captured motion."""
    walk = line_search.walks([clip], CLOSE, len(clip.q))[0]
    found = {}
    for name in SHOWN:
        method = METHODS[name]
        each = line_search.calibrated(method, clip)
        solver = method.make(max_iterations=line_search.iterations(SLOT, each))
        found[name] = [q for q, *_ in line_search.follow(walk, solver, method.last)]
    first = _most_jitter(walk, found[SHOWN[0]])
    for number, k in enumerate(range(first, min(first + FRAMES, len(walk.frames) - 1))):
        case, frame = f'12 {number}', walk.frames[k + 1]
        for name, q in (
            (SHOWN[0], found[SHOWN[0]][k]),
            ('captured', clip.q[frame]),
            (SHOWN[1], found[SHOWN[1]][k]),
        ):
            yield pose(case, name, clip.robot, q, CAPTURED)
        yield goals(case, clip.goals[frame], CAPTURED)


def _most_jitter(walk: Walk, postures: Sequence[Array]) -> int:
    """Return the first of the FRAMES frames with the largest second differences."""
    bends = line_search.movement(walk, postures)[0].max(axis=1)
    sums = np.convolve(bends, np.ones(FRAMES - 2), 'valid')
    return int(sums.argmax())


# --- claims --------------------------------------------------------------------------------------


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source's captions."""
    return [*dragged(rows), *at_limits(rows), redundant(rows)]


def dragged(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of Fig. 4, for the source's methods and ours."""
    drags = [r for r in rows if r['part'] == 'drag']
    lines = len({r['case'] for r in drags})
    flips = {r['method']: 0 for r in drags}
    for one in drags:
        flips[one['method']] += int(one['count'])
    told = ', '.join(f'{name} {count}' for name, count in flips.items())
    capped = {int(r['case']): int(r['count']) for r in rows if r['part'] == 'drag capped'}
    return [
        Claim(
            'methods that project afterwards flip where a goal is dragged along limits (Fig. 4)',
            'Maya flips',
            f'flips on {lines} lines: {told}',
            f'{lines} lines, 16 dof, the iterations of 15 ms',
            f'a link moves by {100 * FLIP:g} cm in a step of {100 * RISE:g} cm, by JI',
            [flips['JI'] > 0],
        ),
        swept(
            'the line search does not flip (section 2.2)',
            'none',
            f'{", ".join(f"{n} at {cap}" for cap, n in capped.items())}; in the iterations of '
            f'15 ms {flips["line search"]}, ours without restarts {flips["LM"]}',
            f'{lines} lines, cap {CAPS[0]} to {CAPS[-1]} iterations for every cm of the goal',
            f'no link moves by {100 * FLIP:g} cm in a step',
            {cap: n == 0 for cap, n in capped.items()},
        ),
    ]


def at_limits(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of Fig. 5: the third goal, and the last two postures."""
    legs = {(r['case'], r['method']): r for r in rows if r['part'] == 'leg'}
    names = list(LEG)
    errors = {m: float(legs[names[THIRD], m]['median']) for m in ('limits', 'none')}
    changes = [float(legs[name, 'limits']['high']) for name in names[THIRD + 1 :]]
    return [
        Claim(
            'a leg at its limits: the third goal would be reachable without limits (Fig. 5)',
            'reachable',
            f'missed by {errors["limits"]:.2g} cm, without limits by {errors["none"]:.2g} cm',
            'our third goal of five',
            f'missed by more than {100 * REACHED:g} cm, by less without limits',
            [errors['none'] < 100.0 * REACHED < errors['limits']],
        ),
        Claim(
            'the fourth and the fifth posture would be others without limits (Fig. 5)',
            'different',
            f'joints differ by up to {" and ".join(f"{c:.0f}" for c in changes)} deg',
            'our fourth and fifth goal',
            f'an angle differs by {OTHER:g} deg',
            [change > OTHER for change in changes],
        ),
    ]


def redundant(rows: Sequence[Row]) -> Claim:
    """Return the claim of Fig. 2: which joints differ."""
    away = {(r['method'], r['case']): float(r['median']) for r in rows if r['part'] == 'away'}
    told, held = [], []
    for free in FREE:
        wrist, elbow, shoulder = (away[free, name] for name in REDUNDANT.values())
        told.append(f'{wrist:.1f}, {elbow:.1f} and {shoulder:.1f} cm with {free} free')
        held.append(min(wrist, elbow) > LARGER * shoulder)
    return Claim(
        'a solution differs from the reference at wrist and elbow, less at the shoulder (Fig. 2)',
        'large, large, small',
        f'medians {"; ".join(told)}',
        'the arms free, with and without the back',
        f'wrist and elbow differ by {LARGER:g} times the shoulder',
        held,
    )


# --- the figure ----------------------------------------------------------------------------------


OWN = COLOURS['line search']
# Colour and width of a skeleton's bones: those of the methods, as in the curves.
LOOKS: Mapping[str, tuple[str, float]] = {
    'captured': (GREY, 2.5),
    'none': (GREY, 1.0),
    'limits': (OWN, 1.8),
    'JI': (COLOURS['JI'], 1.4),
    'line search': (OWN, 1.4),
    'flip 1': (SKY, 1.4),
    'flip 2': (COLOURS['transpose'], 1.4),
    'desired': (OWN, 2.0),
}
SCALE = 0.5  # [m] length of the bar below a picture


def draw(rows: Sequence[Row]) -> Any:
    """Draw the figures in the source's order, and below the lines of Fig. 4."""
    figure = new_figure(12.5, 15.6)
    heights = (1.1, 1.2, 0.9, 0.55, 1.5)
    top, fourth, lines, eighth, twelfth = figure.subfigures(5, 1, height_ratios=heights)
    panels = top.subplots(1, 2 + len(LEG))
    people(panels[0], rows, '2 0', 'Fig. 2')
    people(panels[1], rows, '7 0', 'Fig. 7')
    for number, axes in enumerate(panels[2:]):
        people(axes, rows, f'5 {number}', f'Fig. 5, {number + 1}')
    for axes, name in zip(fourth.subplots(2, len(PICTURES)), DRAWN, strict=True):
        for number, one in enumerate(axes):
            title = f'{number + 1}' if number else f'Fig. 4, {name}'
            people(one, rows, f'4 {number}', title, only=name)
    for axes, line in zip(lines.subplots(1, len(LINES), sharey=True), LINES, strict=True):
        moved(axes, rows, f'{line[0]:g} {line[1]:g}')
    lines.axes[0].set_ylabel('move of a link [cm]')
    lines.legend(*lines.axes[0].get_legend_handles_labels(), loc='outside lower center', ncols=7)
    spaced = [(s, k) for s in range(len(line_search.SPACINGS)) for k in range(IN_A_ROW)]
    for axes, (s, k) in zip(eighth.subplots(1, len(spaced), sharey=True), spaced, strict=True):
        title = '' if k else f'Fig. 8, {line_search.SPACINGS[s]:g} s apart'
        people(axes, rows, f'8 {s} {k}', title)
    for axes, name in zip(
        twelfth.subplots(3, FRAMES), (SHOWN[0], 'captured', SHOWN[1]), strict=True
    ):
        for number, one in enumerate(axes):
            title = f'{number + 1}' if number else f'Fig. 12, {name}'
            people(one, rows, f'12 {number}', title, only=name)
    return figure


def people(axes: Any, rows: Sequence[Row], case: str, title: str, only: str | None = None) -> None:
    """Draw the skeletons and goals of a picture, or those of one method."""
    for one in rows:
        if one['case'] != case or (only and one['method'] not in ('', only)):
            continue
        values = np.array(str(one['values']).split(), float)
        if one['part'] == 'pose':
            colour, width = LOOKS[one['method']]
            points: list[Array] = []
            for start, end in values.reshape(-1, 2, 2):
                if not points or not np.array_equal(points[-1], start):
                    points += [np.full(2, np.nan), start]
                points.append(end)
            axes.plot(*np.transpose(points), color=colour, linewidth=width)
        elif one['part'] == 'goal':
            axes.plot(*values.reshape(-1, 2).T, 'o', color=BLACK, markersize=3, zorder=3)
    (left, low), (width, height) = axes.dataLim.min, axes.dataLim.size
    below = low - 0.08 * max(width, height)
    axes.plot([left, left + SCALE], [below, below], color=BLACK, linewidth=2.0)
    axes.set(aspect='equal', adjustable='datalim', xticks=[], yticks=[])
    axes.set_title(title, fontsize=9, loc='left')
    axes.axis('off')


def moved(axes: Any, rows: Sequence[Row], line: str) -> None:
    """Draw the largest move of a link for each step of the goal on a line."""
    for one in rows:
        if one['part'] == 'drag' and one['case'] == line:
            moves = np.array(str(one['values']).split(), float)
            name = one['method']
            heights = 100.0 * HEIGHTS[SETTLE + 1 :]
            axes.plot(heights, moves, color=COLOURS[name], linewidth=0.9, label=name)
    axes.axhline(100.0 * FLIP, color=BLACK, linewidth=0.8, linestyle=':')
    outside, before = (100.0 * float(word) for word in line.split())
    axes.set(yscale='log', ylim=(0.1, None), xlabel='height of the goal [cm]')
    axes.set_title(f'{outside:g} cm out, {before:g} ahead', fontsize=8)
    axes.minorticks_off()
