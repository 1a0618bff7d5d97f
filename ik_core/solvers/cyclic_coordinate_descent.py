"""Cyclic coordinate descent: each joint in turn brings the goals as near as it alone can.

After Wang & Chen (1991) and Engell-Norregard, "Inverse Kinematics: the state of the art" (2007),
2.2. An iteration is one sweep over the joints, by default from the tips to the base.

What a sweep lowers is the problem's cost with each rotation vector r, of an angle t, shortened
to its chord: to the length 2 sin(t / 2). That is the sum of

    w |p - pt|^2                                   for a position p and its target pt,
    w l^2 |R - Rt|^2 / 2                           for a rotation matrix R (Frobenius norm),
    w l^2 |a - b|^2                                for an axis a that shall point along b,

with the problem's weights w and its orientation length l; unequal weights of a rotation's
components and masks act on the components of the shortened vector. No step of a joint raises
this cost, and for positions it is the problem's own. With orientations out of reach its least
point is another one than the problem's: the search then ends as STALLED.

All of it is a sum of squared distances |e - h|^2 between vectors e that the joint turns (tips
seen from the joint, columns of R) and vectors h that stand still, so for a turn by a about u

    cost = const - 2 (B cos a + C sin a),  B = sum (h.e - h.u e.u),  C = sum u.(e x h)

and the best turn is a = atan2(C, B): one closed form for positions and orientations of any
number of end effectors together. Inside limits it is the nearest such turn, else the better
limit. A slide's best shift is the weighted mean of what is missing along its axis. Where one
variable moves several bodies (mimic joints), or position weights differ (cos 2a comes in), the
same cost is minimised over the one variable by a scan and a golden section.

The source turns a joint about the axis that suits it best, u x v for the directions u and v to
the tip and to the goal (Eq. 2), by atan2(|u x v|, u.v): Eq. 3's arcsine is ambiguous, and the
fraction printed in Eq. 4 stands for the two arguments of arctan2. A ball joint, and a floating
one, does the same here as long as one position goal is all that hangs on it ('free_axis'). The
turn is converted to the three angles; where limits cut it off, the better of the two ways to
write it counts, if it lowers the cost. Then each of the axes takes its step as any joint.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from .._jit import njit
from ..driver import DriverOptions
from ..exceptions import UnsupportedProblem
from ..kinematics import PRISMATIC, body_frames, place_body
from ..limits import TURN
from ..options import option
from ..problem import Evaluation, IkProblem
from ..rotations import Array, IntArray
from ..tasks.kernels import AXIS, GOAL_AXES, NONE, TWO_AXES, VECTOR, goal_residuals
from .base import IterativeSolver, State

# How a body takes its step
SKIP, CLOSED_FORM, SEARCH = range(3)
# Columns of the plan of a sweep; from GOALS on, one for each goal: whether the body moves it
BODY, HOW, BALL, GOALS = 0, 1, 2, 5

FLAT = 1e-14
"""B and C below this share of what they are sums of are rounding: no turn is better."""

NOISE = 1e-14
"""A search that lowers the cost by a smaller share than this has found nothing."""

SCAN = 32
"""Steps per turn of the scan that comes before a golden section."""

RESOLUTION = 1e-11
"""Width [rad or m] at which a golden section ends."""

GOLDEN = 0.5 * (math.sqrt(5.0) - 1.0)

Vector = tuple[float, float, float]
Model = tuple[IntArray, Array, IntArray, Array, Array, Array, Array, Array, Array, Array]


@dataclass(frozen=True)
class CyclicCoordinateDescentOptions(DriverOptions):
    """Options of `cyclic_coordinate_descent`."""

    max_iterations: int = option(
        5000, 'iterations per attempt before it is given up', bounds=(1, 10**9)
    )
    order: str = option('tip_to_base', 'in which order a sweep goes over the joints',
                        choices=('tip_to_base', 'base_to_tip'))  # fmt: skip
    free_axis: bool = option(True, 'whether a ball joint first turns about the axis that suits it')


class CyclicCoordinateDescent(IterativeSolver):
    """See the module."""

    name: ClassVar[str] = 'cyclic_coordinate_descent'
    Options: ClassVar = CyclicCoordinateDescentOptions

    _problem: IkProblem | None = None

    def start(self, problem: IkProblem, at: Evaluation) -> State:
        """The state at the start; UnsupportedProblem for tasks that are no goals."""
        if problem.soft:
            names = ', '.join(type(task).__name__ for task in problem.soft)
            raise UnsupportedProblem(
                f'{self.name} has no closed form for {names}; as secondary tasks it takes them'
            )
        return super().start(problem, at)

    def step(self, problem: IkProblem, state: State) -> State:
        """One sweep."""
        if self._problem is not problem:
            self._problem, self._plan = problem, sweep_plan(problem, self.options)
        x, goals = state.at.x.copy(), problem.goals
        sweep(
            goals.tree, goals.geometry, goals.goals, goals.tools, goals.targets,
            problem.limits.packed, self._plan, goals.frames, goals.tips, goals.raw, goals.errors,
            goals.residual, x,
        )  # fmt: skip
        return State(problem.at(x), evaluations=2)


def own_cost(problem: IkProblem, x: Array) -> float:
    """The cost [m^2] that sweeps lower, at variables x; see the module."""
    goals = problem.goals
    goals.update(x)
    return float(chordal_cost(goals.goals, goals.tools, goals.raw))


def sweep_plan(problem: IkProblem, options: CyclicCoordinateDescentOptions) -> IntArray:
    """The bodies (K, GOALS + G) int in the order of a sweep, and how each takes its step.

    The columns from BALL on name the three bodies of the ball joint whose turn comes there.
    """
    goals = problem.goals
    below = _goals_below(goals.tree, goals.goals)
    moving = (goals.geometry[:, 12] != 0.0) & below.any(axis=1)
    plan = np.full((len(goals.tree), GOALS + len(goals.goals)), -1, np.int64)
    plan[:, BODY] = np.arange(len(plan))
    plan[:, HOW] = SKIP
    plan[:, GOALS:] = below
    if options.order == 'tip_to_base':
        plan = plan[::-1].copy()
    uneven = np.ptp(goals.tools[:, 12:15], axis=1) > 0.0
    for j in range(len(problem.variables)):
        bodies = np.flatnonzero(moving & (goals.tree[:, 2] == j))
        if not bodies.size:
            continue  # only secondary tasks see it
        row = np.flatnonzero(np.isin(plan[:, BODY], bodies))[0]
        turns = goals.tree[bodies[0], 1] != PRISMATIC
        simple = len(bodies) == 1 and not (turns and (uneven & below[bodies[0]]).any())
        plan[row, HOW] = CLOSED_FORM if simple else SEARCH
    if options.free_axis:
        _plan_balls(problem, plan)
    return plan


def _goals_below(tree: IntArray, goals: IntArray) -> np.ndarray:
    """(K, G) bool: which goals each body carries."""
    below = np.zeros((len(tree), len(goals)), bool)
    for i, k in enumerate(goals[:, 0]):
        while k >= 0:
            below[k, i] = True
            k = tree[k, 0]
    return below


def _plan_balls(problem: IkProblem, plan: IntArray) -> None:
    """Note the ball joints that may turn about a free axis: those with one position to bring."""
    goals = problem.goals
    for group in problem.robot.joint_groups:
        variables = np.searchsorted(problem.variables, group.ball)
        if not variables.size or not np.isin(group.ball, problem.variables).all():
            continue
        closed = plan[:, HOW] == CLOSED_FORM
        rows = np.flatnonzero(closed & np.isin(goals.tree[plan[:, BODY], 2], variables))
        if len(rows) < 3:
            continue
        carried = np.flatnonzero(plan[rows[0], GOALS:])
        if len(carried) == 1 and goals.goals[carried[0], 2] == NONE:
            plan[rows[0], BALL:GOALS] = np.sort(plan[rows, BODY])


@njit
def sweep(
    tree: IntArray,
    geometry: Array,
    goals: IntArray,
    tools: Array,
    targets: Array,
    bounds: Array,
    plan: IntArray,
    frames: Array,
    tips: Array,
    raw: Array,
    errors: Array,
    residual: Array,
    x: Array,
) -> None:
    """One iteration: x (variables,), inside its bounds, becomes better or stays.

    The goals' frames move along with each step; a body's own frame is brought up to date when
    its turn comes, so a sweep costs about as much as one evaluation.
    """
    model = (tree, geometry, goals, tools, targets, frames, tips, raw, errors, residual)
    _cost_at(model, x, 0, x[0])
    aims = np.zeros((goals.shape[0], 9))
    _aim(goals, tools, targets, aims)
    for step in range(plan.shape[0]):
        row, k = plan[step], plan[step, BODY]
        place_body(tree, geometry, x, k, frames)
        if row[BALL] >= 0:
            _turn_ball(tree, geometry, targets, bounds, row, frames, tips, x)
        j = tree[k, 2]
        if row[HOW] == SEARCH:
            _search(model, x, j, bounds[0, j], bounds[1, j])
        elif row[HOW] == CLOSED_FORM:
            before, ratio = x[j], geometry[k, 12]
            if tree[k, 1] == PRISMATIC:
                shift = _best_shift(goals, tools, targets, row, frames[k], tips)
                x[j] = min(max(before + shift / ratio, bounds[0, j]), bounds[1, j])
                _shift_tips(row, frames[k], ratio * (x[j] - before), tips)
            else:
                b, c = _turn_terms(goals, tools, targets, aims, row, frames[k], tips)
                x[j] = _turn_inside(before, ratio, b, c, bounds[0, j], bounds[1, j])
                _turn_tips(row, frames[k], ratio * (x[j] - before), tips)
            place_body(tree, geometry, x, k, frames)


@njit
def chordal_cost(goals: IntArray, tools: Array, raw: Array) -> float:
    """The cost that sweeps lower, from the goals' components, unscaled (`goal_residuals`)."""
    cost = 0.0
    for i in range(goals.shape[0]):
        r, chord = raw[i], 1.0
        if goals[i, 2] == VECTOR or goals[i, 2] == AXIS:
            angle = math.sqrt(r[3] * r[3] + r[4] * r[4] + r[5] * r[5])
            if angle > 1e-8:
                chord = 2.0 * math.sin(0.5 * angle) / angle
        for c in range(9):
            if goals[i, 3 + c] >= 0:
                component = tools[i, 12 + c] * r[c] * (chord if c >= 3 else 1.0)
                cost += component * component
    return cost


@njit
def _aim(goals: IntArray, tools: Array, targets: Array, aims: Array) -> None:
    """aims (G, 9): matrices with columns h so that cost = const - 2 sum h.e over columns e of R.

    For the components v = sin(t / 2) n of the quaternion of Rt'R = M, 4 v_x^2 = 1 + M_xx - M_yy
    - M_zz and so on: the sum of 4 w v^2 is linear in the diagonal of M, which is Rt's columns
    times R's.
    """
    for i in range(goals.shape[0]):
        wx, wy, wz = tools[i, 15] ** 2, tools[i, 16] ** 2, tools[i, 17] ** 2
        if goals[i, 2] == VECTOR:
            pulls = (0.5 * (wy + wz - wx), 0.5 * (wz + wx - wy), 0.5 * (wx + wy - wz))
        elif goals[i, 2] == AXIS:
            pulls = (0.0, 0.0, wx)
        elif goals[i, 2] == TWO_AXES:
            pulls = (wx, wx, 0.0)
        else:
            continue
        for c in range(3):
            for d in range(0, 9, 3):
                aims[i, d + c] = pulls[c] * targets[i, d + c]


@njit
def _turn_terms(
    goals: IntArray,
    tools: Array,
    targets: Array,
    aims: Array,
    row: IntArray,
    frame: Array,
    tips: Array,
) -> tuple[float, float]:
    """B and C of cost = const - 2 (B cos a + C sin a), both 0 where the turn does not matter."""
    b = c = size = 0.0
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(goals.shape[0]):
        if row[GOALS + i] == 0:
            continue
        tip, target, aim = tips[i], targets[i], aims[i]
        if goals[i, 1] != NONE:
            weight = tools[i, 12] * tools[i, 12]
            e = _minus((tip[9], tip[10], tip[11]), centre)
            h = _minus((target[9], target[10], target[11]), centre)
            b += weight * (_dot(h, e) - _dot(h, axis) * _dot(e, axis))
            c += weight * _dot(axis, _cross(e, h))
            size += weight * (_dot(e, e) + _dot(h, h))
        if goals[i, 2] != NONE:
            for d in range(3):
                e = (tip[d], tip[3 + d], tip[6 + d])
                h = (aim[d], aim[3 + d], aim[6 + d])
                b += _dot(h, e) - _dot(h, axis) * _dot(e, axis)
                c += _dot(axis, _cross(e, h))
                size += math.sqrt(_dot(h, h))
    if math.hypot(b, c) <= FLAT * size:
        return 0.0, 0.0
    return b, c


@njit
def _turn_inside(x: float, ratio: float, b: float, c: float, lower: float, upper: float) -> float:
    """The variable that turns the joint best: the nearest such value inside the limits, or the
    better limit. `ratio` is the joint's angle per unit of the variable."""
    if b == 0.0 and c == 0.0:
        return x
    best, turn = x + math.atan2(c, b) / ratio, TURN / abs(ratio)
    if best < lower:
        best += turn
    elif best > upper:
        best -= turn
    if lower <= best <= upper:
        return best
    best, most = x, b
    for limit in (lower, upper):  # both finite, and less than a turn apart
        gain = b * math.cos(ratio * (limit - x)) + c * math.sin(ratio * (limit - x))
        if gain > most:
            best, most = limit, gain
    return best


@njit
def _best_shift(
    goals: IntArray, tools: Array, targets: Array, row: IntArray, frame: Array, tips: Array
) -> float:
    """By how much [m] to shift along the axis: sum w v d / sum w v^2 for the components v of the
    axis and d of what is missing, in the axes in which the weights act."""
    missing = size = 0.0
    axis = (frame[2], frame[5], frame[8])
    for i in range(goals.shape[0]):
        if row[GOALS + i] == 0 or goals[i, 1] == NONE:
            continue
        tip, t = tips[i], targets[i]
        v, d = axis, (t[9] - tip[9], t[10] - tip[10], t[11] - tip[11])
        if goals[i, 1] == GOAL_AXES:
            v, d = _in_axes(t, v), _in_axes(t, d)
        for component in range(3):
            weight = tools[i, 12 + component] ** 2
            missing += weight * v[component] * d[component]
            size += weight * v[component] * v[component]
    return missing / size if size > 0.0 else 0.0


@njit
def _turn_tips(row: IntArray, frame: Array, angle: float, tips: Array) -> None:
    """Turn the goals' frames that the body moves about the z axis of its frame."""
    if angle == 0.0:
        return
    c, s = math.cos(angle), math.sin(angle)
    axis, centre = (frame[2], frame[5], frame[8]), (frame[9], frame[10], frame[11])
    for i in range(tips.shape[0]):
        if row[GOALS + i] == 0:
            continue
        tip = tips[i]
        for d in range(3):
            column = (tip[d], tip[3 + d], tip[6 + d])
            tip[d], tip[3 + d], tip[6 + d] = _turned(column, axis, c, s)
        e = _turned(_minus((tip[9], tip[10], tip[11]), centre), axis, c, s)
        tip[9], tip[10], tip[11] = centre[0] + e[0], centre[1] + e[1], centre[2] + e[2]


@njit
def _shift_tips(row: IntArray, frame: Array, shift: float, tips: Array) -> None:
    """Shift the goals' frames that the body moves along the z axis of its frame."""
    for i in range(tips.shape[0]):
        if row[GOALS + i] != 0:
            for d in range(3):
                tips[i, 9 + d] += shift * frame[3 * d + 2]


@njit
def _search(model: Model, x: Array, j: int, lower: float, upper: float) -> None:
    """Minimise the cost over x[j], inside its limits and a turn or 2 pi metres to each side: a
    scan outwards, then a golden section about the best. All frames are up to date afterwards."""
    before, step = x[j], TURN / SCAN
    best, least = before, _cost_at(model, x, j, before)
    for i in range(1, SCAN + 1):
        for side in (-step, step):
            value = min(max(before + i * side, lower), upper)
            if abs(value - before) > (i - 1) * step:  # else the scan is past the limit
                cost = _cost_at(model, x, j, value)
                if cost < least * (1.0 - NOISE):
                    best, least = value, cost
    found = _golden_section(model, x, j, max(lower, best - step), min(upper, best + step))
    cost = _cost_at(model, x, j, found)
    _cost_at(model, x, j, found if cost < least * (1.0 - NOISE) else best)


@njit
def _golden_section(model: Model, x: Array, j: int, low: float, high: float) -> float:
    """Where between `low` and `high` the cost is least over x[j], if it has one minimum there."""
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    left_cost, right_cost = _cost_at(model, x, j, left), _cost_at(model, x, j, right)
    while high - low > RESOLUTION:
        if left_cost < right_cost:
            high, right, right_cost = right, left, left_cost
            left = high - GOLDEN * (high - low)
            left_cost = _cost_at(model, x, j, left)
        else:
            low, left, left_cost = left, right, right_cost
            right = low + GOLDEN * (high - low)
            right_cost = _cost_at(model, x, j, right)
    return left if left_cost < right_cost else right


@njit
def _cost_at(model: Model, x: Array, j: int, value: float) -> float:
    """The cost that sweeps lower with x[j] = value; brings all frames up to date."""
    tree, geometry, goals, tools, targets, frames, tips, raw, errors, residual = model
    x[j] = value
    body_frames(tree, geometry, x, frames)
    goal_residuals(frames, goals, tools, targets, tips, raw, errors, residual)
    return chordal_cost(goals, tools, raw)


@njit
def _turn_ball(
    tree: IntArray,
    geometry: Array,
    targets: Array,
    bounds: Array,
    row: IntArray,
    frames: Array,
    tips: Array,
    x: Array,
) -> None:
    """Turn a ball joint about the axis across the directions to its one tip and to its goal."""
    k1, k2, k3 = row[BALL], row[BALL + 1], row[BALL + 2]
    for k in (k1, k2, k3):
        place_body(tree, geometry, x, k, frames)
    i = 0
    while row[GOALS + i] == 0:
        i += 1
    f1, f2, f3, tip, target = frames[k1], frames[k2], frames[k3], tips[i], targets[i]
    u1, u2, u3 = (f1[2], f1[5], f1[8]), (f2[2], f2[5], f2[8]), (f3[2], f3[5], f3[8])
    centre = (f3[9], f3[10], f3[11])
    e = _minus((tip[9], tip[10], tip[11]), centre)
    h = _minus((target[9], target[10], target[11]), centre)
    across, size = _cross(e, h), _dot(e, e) + _dot(h, h)
    sine = _length(across)
    if sine <= FLAT * size:  # no axis is better than others
        return
    axis, angle = (
        (across[0] / sine, across[1] / sine, across[2] / sine),
        math.atan2(sine, _dot(e, h)),
    )
    j1, j2, j3 = tree[k1, 2], tree[k2, 2], tree[k3, 2]
    x1, x2, x3 = x[j1], x[j2], x[j3]
    missing = _minus(e, h)
    least, shortest = _dot(missing, missing), 0.0
    for sign in (1.0, -1.0):
        da, db, dc = _split_turn(u1, u2, u3, axis, angle, sign)
        y1 = _step_inside(x1, da, bounds[0, j1], bounds[1, j1])
        y2 = _step_inside(x2, db, bounds[0, j2], bounds[1, j2])
        y3 = _step_inside(x3, dc, bounds[0, j3], bounds[1, j3])
        reached = _turned_by(_turned_by(_turned_by(e, u3, y3 - x3), u2, y2 - x2), u1, y1 - x1)
        missing = _minus(reached, h)
        cost, way = _dot(missing, missing), abs(y1 - x1) + abs(y2 - x2) + abs(y3 - x3)
        alike = abs(cost - least) <= FLAT * size
        if (alike and way < shortest) or (cost < least and not alike):
            least, shortest = cost, way
            x[j1], x[j2], x[j3] = y1, y2, y3
            for d in range(3):
                tip[9 + d] = centre[d] + reached[d]
    for k in (k1, k2, k3):
        place_body(tree, geometry, x, k, frames)


@njit
def _split_turn(
    u1: Vector, u2: Vector, u3: Vector, axis: Vector, angle: float, sign: float
) -> Vector:
    """The turns (da, db, dc) about a ball joint's axes that are a turn W: one of two ways.

    For the axes as they stand, u2 at right angles to both others, W = R(u1, da) R(u2, db)
    R(u3, dc). W u3 = R(u1, da) R(u2, db) u3 gives db, up to a sign, by its part along u1, which
    da does not change, and then da; W u2 gives dc.
    """
    goal3, goal2 = _turned_by(u3, axis, angle), _turned_by(u2, axis, angle)
    middle = math.atan2(_dot(u1, _cross(u2, u3)), _dot(u1, u3))
    spread = math.atan2(_length(_cross(u1, goal3)), _dot(u1, goal3))
    db = middle + sign * spread
    da = _angle_about(u1, _turned_by(u3, u2, db), goal3)
    dc = _angle_about(u3, u2, _turned_by(_turned_by(goal2, u1, -da), u2, -db))
    return da, db, dc


@njit
def _angle_about(axis: Vector, start: Vector, end: Vector) -> float:
    """The turn about `axis` from `start` to `end`; 0 where one is parallel to the axis."""
    sine = _dot(axis, _cross(start, end))
    cosine = _dot(start, end) - _dot(start, axis) * _dot(end, axis)
    return math.atan2(sine, cosine) if math.hypot(sine, cosine) > FLAT else 0.0


@njit
def _step_inside(x: float, step: float, lower: float, upper: float) -> float:
    """x + step or whole turns from there, inside the limits, else the limit next to it."""
    turn = TURN
    best = x + step - turn * round(step / turn)
    if best < lower and best + turn <= upper:
        best += turn
    elif best > upper and best - turn >= lower:
        best -= turn
    if best < lower:
        return upper if best + turn - upper < lower - best else lower
    if best > upper:
        return lower if lower - (best - turn) < best - upper else upper
    return best


@njit
def _in_axes(frame: Array, v: Vector) -> Vector:
    """The components of a vector in the axes of a frame."""
    return (
        frame[0] * v[0] + frame[3] * v[1] + frame[6] * v[2],
        frame[1] * v[0] + frame[4] * v[1] + frame[7] * v[2],
        frame[2] * v[0] + frame[5] * v[1] + frame[8] * v[2],
    )


@njit
def _turned_by(v: Vector, axis: Vector, angle: float) -> Vector:
    """A vector turned about a unit axis by an angle."""
    return _turned(v, axis, math.cos(angle), math.sin(angle))


@njit
def _turned(v: Vector, axis: Vector, c: float, s: float) -> Vector:
    """A vector turned about a unit axis (Rodrigues; Eq. 5 does it with quaternions), by an angle
    with the cosine c and the sine s."""
    along = (1.0 - c) * _dot(axis, v)
    w = _cross(axis, v)
    return (
        c * v[0] + s * w[0] + along * axis[0],
        c * v[1] + s * w[1] + along * axis[1],
        c * v[2] + s * w[2] + along * axis[2],
    )


@njit
def _minus(a: Vector, b: Vector) -> Vector:
    return a[0] - b[0], a[1] - b[1], a[2] - b[2]


@njit
def _dot(a: Vector, b: Vector) -> float:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


@njit
def _cross(a: Vector, b: Vector) -> Vector:
    return (
        a[1] * b[2] - a[2] * b[1],
        a[2] * b[0] - a[0] * b[2],
        a[0] * b[1] - a[1] * b[0],
    )


@njit
def _length(a: Vector) -> float:
    return math.sqrt(_dot(a, a))
