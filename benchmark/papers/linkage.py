# SPDX-License-Identifier: Apache-2.0
"""`ik bench linkage`: a linkage of rods moves to goals, as in the coursework [Dorta2014].

Three rods of 0.4 m are joined by two angles each (R_z R_y, `ik linkage 3 --joint two_angle`). The
method of the source is the transpose with differences, normalised columns, and one step per tick,
whose length grows and shrinks in proportion to the distance (Fig. 3.4): the preset `coursework` of
`jacobian_transpose`. Ours is the tracker: the default solver finds the joint positions, and the
joints move there within limits of velocity and acceleration.

- `motion`: a goal that changes during the motion, with the trace of the end effector;
- `weights`: the fraction of the motion of all angles made by the first joint, as its alpha grows
  (section 3.1.1);
- `boundary`: goals at a fraction of the length; the number of reversals before the end effector is
  within 1 cm, as a median over random starts and directions;
- `stretched`: goals on the stretched chain, which is slightly bent in every angle; ticks until the
  end effector is within 1 cm.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from ik_core.figures import BLACK, BLUE, GREEN, ORANGE, new_figure
from ik_core.maths.rotations import Array
from ik_core.problem import IkProblem
from ik_core.progress import bar
from ik_core.robot.linkages import linkage
from ik_core.solvers import make_solver
from ik_core.solvers.base import KernelSolver
from ik_core.tasks import PositionTask
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.tracker_options import SpeedProfile

from ..problems import unit_vector
from ..results import Claim, Row, exponent

RODS, LENGTH = 3, 0.4
REACH = RODS * LENGTH
RATE = 60.0  # [Hz] of ticks
VELOCITY, ACCELERATION = 1.5, 4.0  # [rad/s], [rad/s^2] limits of the tracker
CLOSE = 0.01  # [m] tolerance of reached goals
STARTS = 20
TICKS, PATIENCE = 240, 1000
FRACTIONS = (0.5, 0.8, 0.9, 0.95, 0.98, 0.99, 0.999)
# Angles [rad] of all joints of the nearly stretched chain.
BENDS = (0.0, 1e-6, 1e-4, 1e-3, 1e-2, 1e-1)
BENT = 1e-3
OSCILLATES, SLOWER = 10, 1.5  # reversals, and a factor, from which on a difference counts
ON_CHAIN = (0.4, 0.6, 0.8, 1.0)  # distances [m] of goals from the root
STIFFNESS = (1.0, 3.0, 10.0)
GOALS = ((0.3, 0.7, 0.4), (-0.6, 0.4, -0.2))
CHANGE = 30  # the tick in which the goal changes
START = (0.6, -0.5, 0.5, 0.6, -0.4, 0.3)

LINEAR = 'ours, linear'
# The latter with its own speed profile, and LINEAR as the former's.
METHODS = ('coursework', 'ours')


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield the rows of all parts."""
    starts = min(arguments.count, STARTS)
    for method in (*METHODS, LINEAR):
        yield from (*way_rows(method, 1), *way_rows(method, len(GOALS)))
    yield from map(weight_row, STIFFNESS)
    for fraction in bar(FRACTIONS, 'linkage, boundary'):
        yield from (boundary_row(method, fraction, starts) for method in METHODS)
    for bend in bar(BENDS, 'linkage, stretched'):
        yield from (stretched_row(method, bend) for method in METHODS)


class Coursework:
    """The source's steps, one per tick; they restart when the goal changes."""

    def __init__(self, problem: IkProblem, q: Array, **options: Any) -> None:
        solver = make_solver(
            'jacobian_transpose', preset='coursework', max_iterations=10**9, **options
        )
        assert isinstance(solver, KernelSolver)
        self._problem, self._workspace, self.q = problem, solver.workspace(problem), q.copy()
        self.aim()

    def aim(self) -> None:
        """Restart towards the changed goal."""
        self._workspace.load(self.q)
        self._workspace.run(0)

    def tick(self) -> Array:
        """Return the joints (n,) after another tick."""
        self._workspace.loop(self._workspace.search.address, 1)  # no search, which leaves saddles
        self.q = self.q.copy()
        self.q[self._problem.variables] = self._workspace.search['x']
        return self.q


class Tracked:
    """The ticks of a tracker."""

    def __init__(self, problem: IkProblem, q: Array, speed_profile: SpeedProfile) -> None:
        limits = MotionLimits.of(problem.robot, velocity=VELOCITY, acceleration=ACCELERATION)
        options = TrackerOptions(speed_profile=speed_profile)
        self._tracker = Tracker(problem, RATE, limits=limits, options=options, q0=q)
        self._problem, self.q = problem, q.copy()
        self.aim()

    def aim(self) -> None:
        """Set the changed goal."""
        self._tracker.set_goal(0, self._problem.goals[0].transform, 0.0)

    def tick(self) -> Array:
        """Return the joints (n,) after another tick."""
        self.q = self._tracker.tick(0.0).q.copy()
        return self.q


def mover(method: str, problem: IkProblem, q: Array) -> Coursework | Tracked:
    """Return the mover of the joints from q (n,) to the problem's goal."""
    if method == 'coursework':
        return Coursework(problem, q)
    return Tracked(problem, q, 'linear' if method == LINEAR else 'square_root')


def problem_at(goal: Sequence[float] | Array) -> IkProblem:
    """Return a position goal [m] for the tip of the linkage."""
    robot = linkage(RODS, 'two_angle', lengths=LENGTH)
    return IkProblem(robot, [PositionTask('tip', goal)], position_tolerance=1e-6)


def distance(problem: IkProblem, q: Array) -> float:
    """Return the distance [m] from the goal at q (n,)."""
    return float(problem.evaluate(q).position_errors[0])


def row_of(part: str, method: str, **values: Any) -> Row:
    """Return a row with the columns of all parts."""
    columns = ('case', 'tick', 'x', 'y', 'z', 'way', 'speed', 'distance', 'reversals', 'ticks')
    return {'part': part, 'method': method, **dict.fromkeys(columns, ''), **values}


def way_rows(method: str, goals: int) -> list[Row]:
    """Return a row for each tick of the motion to `goals` goals, one after another."""
    problem, q = problem_at(GOALS[0]), np.array(START)
    move, way, rows = mover(method, problem, q), 0.0, []
    for tick in range(TICKS):
        if goals > 1 and tick == CHANGE:
            problem.goals[0].set_target(position=GOALS[1])
            move.aim()
        before, q = q, move.tick()
        step = float(np.linalg.norm(q - before))
        way += step
        x, y, z = map(float, problem.robot.forward_kinematics(q, 'tip')[:3, 3])
        place = {'x': x, 'y': y, 'z': z, 'distance': distance(problem, q)}
        speed = {'tick': tick, 'way': way, 'speed': RATE * step}
        rows.append(row_of('motion', method, case=f'{goals} goals', **speed, **place))
    return rows


def weight_row(alpha: float) -> Row:
    """Return the row of the first joint's fraction of all motion, with this alpha."""
    problem, q = problem_at(GOALS[0]), np.array(START)
    stiffness = dict.fromkeys(problem.robot.joint_names[:2], alpha)
    move, gone = Coursework(problem, q, joint_stiffness=stiffness), np.zeros(problem.robot.n)
    for _ in range(PATIENCE):
        before, q = q, move.tick()
        gone += np.abs(q - before)
        if distance(problem, q) < CLOSE:
            break
    return row_of('weights', 'coursework', case=alpha, way=float(gone[:2].sum() / gone.sum()))


def boundary_row(method: str, fraction: float, starts: int) -> Row:
    """Return the row of goals at a fraction of the length: ticks and reversals until close."""
    rng, found = np.random.default_rng(0), []
    for _ in range(starts):
        q = rng.uniform(-0.8, 0.8, 2 * RODS)
        found.append(ticks_until_close(method, problem_at(fraction * REACH * unit_vector(rng)), q))
    ticks, reversals = np.median(found, axis=0)
    return row_of(
        'boundary', method, case=fraction, ticks=float(ticks), reversals=float(reversals)
    )


def stretched_row(method: str, bend: float) -> Row:
    """Return the row of goals on the nearly stretched chain: ticks until close."""
    q = np.full(2 * RODS, bend)
    found = [ticks_until_close(method, problem_at((x, 0.0, 0.0)), q) for x in ON_CHAIN]
    return row_of('stretched', method, case=bend, ticks=float(np.median(found, axis=0)[0]))


def ticks_until_close(method: str, problem: IkProblem, q: Array) -> tuple[int, int]:
    """Return the ticks, at most PATIENCE, and the number of them in which the joints went back."""
    move, reversals, before = mover(method, problem, q), 0, np.zeros(len(q))
    for tick in range(1, PATIENCE + 1):
        step = move.tick() - q
        q = q + step
        if distance(problem, q) < CLOSE:
            return tick, reversals
        reversals += bool(step @ before < 0.0)
        before = step
    return PATIENCE, reversals


def claims(rows: Sequence[Row]) -> list[Claim]:
    """Return the claims of the source about its linkage and its two weaknesses (section 4)."""
    edge = {(r['method'], r['case']): r for r in rows if r['part'] == 'boundary'}
    still = {(r['method'], r['case']): r for r in rows if r['part'] == 'stretched'}
    shares = [row['way'] for row in rows if row['part'] == 'weights']
    last = {m: way_of(rows, m, '2 goals')[-1]['distance'] for m in (*METHODS, LINEAR)}
    near, far = FRACTIONS[-1], FRACTIONS[0]
    theirs, ours, linear = (growth(way_of(rows, m, '1 goals')) for m in (*METHODS, LINEAR))
    return [
        Claim(
            'slow-in: the speed rises linearly in the way gone (Fig. 3.4)',
            'exponent 1',
            f"{theirs:.2f} in the error mended; the tracker's {linear:.2f} in the joints' way, "
            f'{ours:.2f} by default',
            'a goal; 10 to 90 % of the top speed',
            'none: both have an option that makes it so',
            [],
        ),
        Claim(
            'the goal can be moved on the way (section 4)',
            'the linkage reacts',
            f'{1e3 * last["coursework"]:.2g} mm from the second goal after {TICKS} ticks; '
            f'the tracker {1e3 * last["ours"]:.2g} mm',
            f'one pair of goals, moved in tick {CHANGE}',
            f'the second goal is reached to {100 * CLOSE:g} cm',
            [last['coursework'] < CLOSE],
        ),
        Claim(
            'weights make some joints more flexible than others (3.1.1)',
            'they do',
            'the first joint does '
            + ', '.join(f'{100 * fraction:.0f} %' for fraction in shares)
            + f' of the turning for alpha {", ".join(f"{alpha:g}" for alpha in STIFFNESS)}',
            f'alpha {", ".join(f"{alpha:g}" for alpha in STIFFNESS)} of the first joint',
            'less turning by the first joint with each larger alpha',
            [b < a for a, b in pairwise(shares)],
        ),
        Claim(
            'it can oscillate when the goal is just inside the boundary (section 4)',
            'oscillates',
            f'{edge["coursework", near]["reversals"]:g} reversals at {near:g} of the length, '
            f'{edge["coursework", far]["reversals"]:g} at {far:g}; the tracker '
            f'{edge["ours", near]["reversals"]:g}',
            f'goals at {far:g} and {near:g} of the length, {STARTS} starts',
            f'{OSCILLATES} reversals more at {near:g}',
            [
                edge['coursework', near]['reversals'] - edge['coursework', far]['reversals']
                > OSCILLATES
            ],
        ),
        Claim(
            'it is slower where the goal is on the stretched chain (section 4)',
            'slower',
            f'bent by {BENT:g} rad {_ticks(still["coursework", BENT])}, by {BENDS[-1]:g} '
            f'{_ticks(still["coursework", BENDS[-1]])}, straight '
            f'{_ticks(still["coursework", 0.0])}; the tracker, straight, '
            f'{_ticks(still["ours", 0.0])}',
            f'{len(ON_CHAIN)} goals on the chain; bent by {BENT:g} and {BENDS[-1]:g} rad',
            f'{SLOWER:g} times the ticks if bent by {BENT:g} rad',
            [
                still['coursework', BENT]['ticks']
                > SLOWER * still['coursework', BENDS[-1]]['ticks']
            ],
        ),
    ]


def way_of(rows: Sequence[Row], method: str, case: str) -> list[Row]:
    """Return the ticks of a method on the way to its goals."""
    return [r for r in rows if (r['part'], r['method'], r['case']) == ('motion', method, case)]


def growth(way: Sequence[Row]) -> float:
    """Return the exponent of speed over distance travelled, for 10 to 90 % of the top speed.

    The distance is the reduction of the error for the source's steps, which are in proportion to
    it, and else the motion of the joints.
    """
    speeds = np.array([row['speed'] for row in way])
    gone = mended(way) if way[0]['method'] == 'coursework' else [row['way'] for row in way]
    top = int(np.argmax(speeds))
    rising = [k for k in range(1, top) if 0.1 < speeds[k] / speeds[top] < 0.9]
    return exponent([gone[k - 1] for k in rising], [speeds[k] for k in rising])


def mended(way: Sequence[Row]) -> list[float]:
    """Return the reduction [m] of the end effector's distance from its goal after each tick."""
    first = distance(problem_at(GOALS[0]), np.array(START))
    return [first - row['distance'] for row in way]


def _ticks(row: Row) -> str:
    return 'never' if row['ticks'] >= PATIENCE else f'{row["ticks"]:.0f} ticks'


def draw(rows: Sequence[Row]) -> Any:
    """Draw the trace (Fig. 1.1), speeds over distance (Fig. 3.4), and the two weaknesses."""
    figure = new_figure(9.5, 7.2)
    [[trace, speed], [edge, still]] = figure.subplots(2, 2)
    _draw_trace(trace, rows)
    _draw_speeds(speed, rows)
    for method in METHODS:
        colour = COLOURS[method]
        own = [r for r in rows if (r['part'], r['method']) == ('boundary', method)]
        x = [1.0 - row['case'] for row in own]
        edge.plot(x, [r['reversals'] for r in own], 'o-', color=colour, label=method)
        own = [r for r in rows if (r['part'], r['method']) == ('stretched', method)]
        places = range(len(own))
        still.plot(places, [r['ticks'] for r in own], 'o-', color=colour, label=method)
    edge.set(xscale='log', xlabel='distance of the goal from the boundary [share of the length]')
    edge.set(ylabel='reversals before 1 cm', title='Goals just inside the boundary')
    edge.invert_xaxis()
    still.set_xticks(range(len(BENDS)), [f'{bend:g}' for bend in BENDS])
    still.set(xlabel='bend of every angle [rad]', ylabel=f'ticks to 1 cm (at most {PATIENCE})')
    still.set(title='A goal on the stretched chain', ylim=(0, None))
    for axes in (trace, speed, edge, still):
        axes.legend()
    return figure


COLOURS = {'coursework': ORANGE, 'ours': BLUE, LINEAR: GREEN}


def _draw_trace(axes: Any, rows: Sequence[Row]) -> None:
    """Draw the path of the end effector to a goal that changes, from above."""
    for method in METHODS:
        own = way_of(rows, method, '2 goals')
        axes.plot(
            [r['x'] for r in own], [r['y'] for r in own], color=COLOURS[method], label=method
        )
        axes.plot(own[CHANGE]['x'], own[CHANGE]['y'], 'x', color=COLOURS[method])
    for goal, name in zip(GOALS, ('first goal', 'second goal'), strict=True):
        axes.plot(goal[0], goal[1], '*', color=BLACK, markersize=9)
        axes.annotate(name, goal[:2], (0, -15), textcoords='offset points', ha='center')
    axes.set(xlabel='x [m]', ylabel='y [m]', aspect='equal')
    axes.margins(0.15, 0.3)
    axes.set_title('Trace; at the cross the goal is moved')


def _draw_speeds(axes: Any, rows: Sequence[Row]) -> None:
    """Draw speed over distance travelled, both relative to the largest."""
    for method in (*METHODS, LINEAR):
        own = way_of(rows, method, '1 goals')
        gone = mended(own) if method == 'coursework' else [row['way'] for row in own]
        speeds = np.array([row['speed'] for row in own])
        fraction = np.array([0.0, *gone[:-1]]) / max(gone)
        axes.plot(fraction, speeds / speeds.max(), color=COLOURS[method], label=method)
    axes.set(xlabel='share of the way', ylabel="share of the joints' top speed")
    axes.set_title('Slow-in and slow-out, as Fig. 3.4')
