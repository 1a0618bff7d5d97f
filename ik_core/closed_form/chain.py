# SPDX-License-Identifier: Apache-2.0
"""The chain of a problem's only goal: axes in the root's frame, with all joints at zero."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from ..exceptions import UnsupportedProblem
from ..maths.rotations import Array, IntArray, transform_of
from ..problem import IkProblem
from ..robot.kinematics import KIND, MULTIPLIER, OFFSET, PARENT, PRISMATIC, VARIABLE
from ..tasks import PoseTask, PositionTask
from ..tasks.goals import GoalTask
from ..tasks.packing import PackedGoals
from .families import Strategy, strategies

FULL_RANK = 1e-6  # Least singular value, relative to the largest, of a Jacobian with full rank


@dataclass(frozen=True, eq=False)
class Chain:
    """The axes of a chain, with all joints at zero.

    `rows` (n, 6): axis and point [m] of each joint, from the root on; `slides` (n,): True for
    prismatic joints; a joint's value is `signs` x[`variables`] + `offsets`, each (n,). `last` (4,
    4): the last body's frame. `tool` (4, 4): the goal's frame in the last body's.
    """

    rows: Array
    slides: NDArray[np.bool_]
    variables: IntArray
    signs: Array
    offsets: Array
    tool: Array
    last: Array
    point_only: bool

    def strategies(self) -> list[Strategy]:
        """Return the strategies that may solve the chain, best first."""
        tip = (self.last @ self.tool)[:3, 3]
        return _strategies(
            self.rows.tobytes(), self.slides.tobytes(), tip.tobytes() if self.point_only else b''
        )

    def part(self, first: int, last: int) -> Chain:
        """Return the chain of joints first..last-1, with all other joints at 0."""
        some = slice(first, last)
        return replace(
            self,
            rows=self.rows[some],
            slides=self.slides[some],
            variables=self.variables[some],
            signs=self.signs[some],
            offsets=self.offsets[some],
        )


@lru_cache(maxsize=32)
def _strategies(rows: bytes, slides: bytes, tip: bytes) -> list[Strategy]:
    """Return `families.strategies`, cached, since it takes milliseconds."""
    axes, sliding = np.frombuffer(rows).reshape(-1, 6).copy(), np.frombuffer(slides, bool).copy()
    return strategies(axes, sliding, np.frombuffer(tip).copy() if tip else None)


def chain_of(packed: PackedGoals, point_only: bool) -> Chain:
    """Return the chain with the present values of frozen joints. Raises UnsupportedProblem for
    coupled joints."""
    frames: list[Array] = []
    for row, geometry in zip(packed.tree, packed.geometry, strict=True):
        parent = frames[row[PARENT]] if row[PARENT] >= 0 else np.eye(4)
        frames.append(parent @ transform_of(geometry[:12]) @ _frozen_motion(row, geometry))
    moving = np.flatnonzero(packed.geometry[:, MULTIPLIER] != 0.0)
    variables, signs = packed.tree[moving, VARIABLE], packed.geometry[moving, MULTIPLIER]
    if len(set(variables.tolist())) < len(variables) or (np.abs(signs) != 1.0).any():
        raise UnsupportedProblem('no closed form: a mimic joint moves the link, too')
    rows = np.array([[*frames[k][:3, 2], *frames[k][:3, 3]] for k in moving])
    return Chain(
        rows,
        packed.tree[moving, KIND] == PRISMATIC,
        variables,
        signs,
        packed.geometry[moving, OFFSET],
        transform_of(packed.tools[0, :12]),
        frames[-1],
        point_only,
    )


def seen_from(frame: Array, row: Array) -> Array:
    """Convert an axis and its point (6,) to a frame (4, 4)."""
    turn = frame[:3, :3].T
    return np.concatenate([turn @ row[:3], turn @ (row[3:] - frame[:3, 3])])


def _frozen_motion(row: IntArray, geometry: Array) -> Array:
    """The motion (4, 4) of a frozen joint; the identity for variables."""
    motion, value = np.eye(4), geometry[OFFSET]
    if geometry[MULTIPLIER] != 0.0:
        return motion
    if row[KIND] == PRISMATIC:
        motion[2, 3] = value
    else:
        c, s = np.cos(value), np.sin(value)
        motion[:2, :2] = [[c, -s], [s, c]]
    return motion


def asks_for_a_point(problem: IkProblem) -> bool:
    """Return whether the goal is a position without an orientation. Raises UnsupportedProblem if
    it is neither that nor a pose."""
    problem.check_without_constraints()
    if len(problem.goals) != 1 or problem.other_tasks:
        raise UnsupportedProblem('no closed form: it needs one goal, and no other tasks')
    goal: GoalTask = problem.goals[0]
    plain = goal.position_turn is None and goal.rotation_turn is None and not goal.is_region
    if plain and goal.position_weights.all():
        if type(goal) is PositionTask:
            return True
        if type(goal) is PoseTask and goal.rotation_weights.all():
            return False
    raise UnsupportedProblem(
        f'no closed form for this {type(goal).__name__}: it needs a whole pose, or a position'
    )


def expected_family(problem: IkProblem) -> str:
    """Return the most likely `ClosedForm.family`: the title of the best strategy, which is not
    tried.

    Compiles nothing. Raises UnsupportedProblem where there is none.
    """
    point_only, robot = asks_for_a_point(problem), problem.robot
    problem.packed.load_frozen(problem.default_configuration)
    chain = chain_of(problem.packed, point_only)
    found = chain.strategies()
    if not found or _has_freedom(chain):
        raise UnsupportedProblem(why_not(chain))
    return found[0].title([robot.joint_names[i] for i in problem.variables[chain.variables]])


def _has_freedom(chain: Chain) -> bool:
    """Return whether fewer than six joints leave freedom, as four parallel axes do."""
    columns, motion = [], np.eye(4)
    for i, (row, slides) in enumerate(zip(chain.rows, chain.slides, strict=True)):
        axis, point = motion[:3, :3] @ row[:3], motion[:3, :3] @ row[3:] + motion[:3, 3]
        columns.append([*axis, 0, 0, 0] if slides else [*np.cross(point, axis), *axis])
        motion = motion @ motion_of(row, 0.7 + 0.3 * i, bool(slides))
    if len(columns) > 6 or chain.point_only:
        return False
    values = np.linalg.svd(np.array(columns), compute_uv=False)
    return bool(values[-1] <= FULL_RANK * values[0])


def motion_of(row: Array, value: float, slides: bool) -> Array:
    """Return the motion (4, 4) of a joint with axis and point (6,) for its value [rad, m]."""
    motion, axis = np.eye(4), row[:3]
    if slides:
        motion[:3, 3] = value * axis
        return motion
    k = np.cross(axis, np.eye(3)).T
    motion[:3, :3] += np.sin(value) * k + (1.0 - np.cos(value)) * k @ k
    motion[:3, 3] = row[3:] - motion[:3, :3] @ row[3:]
    return motion


def why_not(chain: Chain) -> str:
    """Return text: the reason why there is no closed form, and what would help."""
    n = len(chain.rows)
    if chain.point_only and n > 3:
        return f'no closed form: {n} joints place a point in infinitely many ways'
    if n > 7:
        return f'no closed form for {n} joints: freeze all but seven'
    if _has_freedom(chain):
        return f'no closed form: these {n} joints have freedom left, with any pose'
    return (
        f'no closed form for these {n} joints: it needs three neighbouring axes that meet in a '
        'point, or three that are parallel next to two that meet'
    )
