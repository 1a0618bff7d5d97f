# SPDX-License-Identifier: Apache-2.0
"""The clutch: while it is engaged, the goal of a tip moves as the hand moves.

Nothing but displacements of the hand passes: at engaging the goal is where the tip is. With d the
way of the hand since the last period, s and r the scales and A the axes of the hand in the root's,

    wanted <- wanted + s A d        rotations: by the rotation vector det(A) r A d
    goal   <- goal   + pace (s A d + (wanted - goal) period / RECOVERY)

The second line, with its speed limited, catches up what the goal did not follow, after a hand that
was too fast. `pace` is below 1 while the joints are behind: near the end of the reach they would
have to race, and a tip whose joints race for themselves leaves its path. What the arm can't reach
is dropped, but for a leash: a hand that comes back from beyond the reach, or a box, moves the tip
at once.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..exceptions import InvalidOption
from ..maths.argument_types import MatrixLike, VectorLike
from ..maths.rotations import ORTHOGONALITY_TOLERANCE, Array
from ..options import exact_number
from ..tracking.goals.cartesian import carried, change_between, turned_near, twist_between

RECOVERY = 0.1  # [s] in which the goal comes 1 / e nearer to what is wanted
# [m] The goal may be this far from what the arm reaches: without it, the tremor of a hand that
# pushes against the reach would pull the tip back.
LEASH = 0.005
# [rad] The same for rotations; of tips with too few joints for a pose most rotations are out of
# reach, and beyond a right angle the nearest one flips.
LEASH_TURN, LEASH_TURN_POSITION_FIRST = 0.3, 1.2
# Where the solution moves faster than this fraction of the joints' velocity limits, the goal slows
# down, at once; afterwards it gets faster by at most GROWTH in a period, from SLOWEST on.
FRACTION, GROWTH, SLOWEST = 0.9, 1.1, 0.02
STILL = np.zeros(6)

# `axes` of OpenXR and WebXR (x right, y up, z backwards) for a user who looks along the robot's x
# axis; its z axis points up
OPENXR = np.array([[0.0, 0.0, -1.0], [-1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])


@dataclass(frozen=True, eq=False)
class HandOptions:
    """How a hand moves a tip.

    scale : of the hand's displacements
    rotation_scale : of the hand's rotations
    axes (3, 3) : columns are the axes of the hand's frame in the root link's; by default they are
        the same. OPENXR is that of headsets and phones. A reflection mirrors: diag(1, -1, 1), for
        a user who looks at the robot from the front, say
    box : lower and upper corner (3,) [m] that the goal of the tip's origin stays in, in the root
        link's frame; None for no box
    sphere : its centre (3,) and its radius [m], likewise
    linear_velocity [m/s], angular_velocity [rad/s] : greatest speed of the goal
    latency [s] : gaps between samples up to this one cost nothing; 0.03 for a wire, 0.15 for wifi.
        By default the 95th percentile of the gaps of the last 10 s, 0.03 to 0.3 s, chosen at
        engaging; 0.15 s where fewer than 20 are known
    gripper : name of the joint that `Teleop.push` has positions for

    Raises InvalidOption.
    """

    scale: float = 1.0
    rotation_scale: float = 1.0
    axes: MatrixLike | None = None
    box: Sequence[VectorLike] | None = None
    sphere: tuple[VectorLike, float] | None = None
    linear_velocity: float = 1.0
    angular_velocity: float = 4.0
    latency: float | None = None
    gripper: str | None = None

    def __post_init__(self) -> None:
        for name in ('scale', 'rotation_scale', 'linear_velocity', 'angular_velocity'):
            _check_positive(getattr(self, name), name)
        if self.latency is not None:
            _check_positive(self.latency, 'latency')
        axes = np.eye(3) if self.axes is None else _numbers(self.axes, 'axes', (3, 3))
        off = float(np.abs(axes.T @ axes - np.eye(3)).max())
        if not off <= ORTHOGONALITY_TOLERANCE:
            raise InvalidOption(
                f"axes are not orthogonal: A'A is off the identity by {off:.2g}, where "
                f'{ORTHOGONALITY_TOLERANCE:g} is allowed; scale= changes lengths'
            )
        object.__setattr__(self, 'axes', axes)
        if self.box is not None and self.sphere is not None:
            raise InvalidOption('box and sphere are both given: give one of them')
        if self.box is not None:
            box = _numbers(self.box, 'box', (2, 3))
            if (box[0] > box[1]).any():
                raise InvalidOption(f'box: its lower corner {box[0]} is above the upper {box[1]}')
            object.__setattr__(self, 'box', box)
        if self.sphere is not None:
            if not isinstance(self.sphere, (tuple, list)) or len(self.sphere) != 2:
                raise InvalidOption(f'sphere = {self.sphere!r}: a centre and a radius are needed')
            centre, radius = self.sphere
            _check_positive(radius, 'radius of the sphere')
            centre = _numbers(centre, 'centre of the sphere', (3,))
            object.__setattr__(self, 'sphere', (centre, float(radius)))

    def inside(self, position: Array) -> Array:
        """Return the nearest position (3,) [m] in the box or the sphere."""
        if self.box is not None:
            return np.clip(position, *np.asarray(self.box))
        if self.sphere is not None:
            centre, radius = np.asarray(self.sphere[0]), self.sphere[1]
            return centre + _shortened(position - centre, radius)
        return position


def _check_positive(value: float, name: str) -> None:
    number = exact_number(value, float)
    if number is None or not 0.0 < number < math.inf:
        raise InvalidOption(f'{name} = {value!r}: a positive number is needed')


def _numbers(given: object, name: str, shape: tuple[int, ...]) -> Array:
    try:
        array = np.array(given, float)
    except (TypeError, ValueError):
        raise InvalidOption(f'{name} has no numbers: {given!r}') from None
    if array.shape != shape:
        raise InvalidOption(f'{name} has shape {array.shape}; {shape} is needed')
    if np.isnan(array).any():
        raise InvalidOption(f'{name} has a number that is NaN: {array.tolist()}')
    return array


def _shortened(vector: Array, length: float) -> Array:
    """Return a vector (3,) with at most this length."""
    own = math.sqrt(float(vector @ vector))
    return vector if own <= length else vector * (length / own)


class Clutch:
    """The goal of a tip while a hand moves it.

    goal (12,) : frame of the tip in the root link's
    twist (6,) : its velocity, in the last period
    """

    def __init__(self, options: HandOptions, period: float, *, position_first: bool) -> None:
        self._options, self._period = options, period
        axes = np.asarray(options.axes)
        self._linear = options.scale * axes
        self._angular = options.rotation_scale * float(np.linalg.det(axes)) * axes
        self._leash_turn = LEASH_TURN_POSITION_FIRST if position_first else LEASH_TURN
        self.engage(np.zeros(12), np.zeros(12))

    def engage(self, hand: Array, tip: Array) -> None:
        """Tie a hand (12,) to the tip (12,)."""
        self._hand = hand
        self.goal = self._wanted = tip
        self.twist = STILL
        self._pace = 1.0

    def move(self, hand: Array) -> None:
        """Move the goal by a period, to a new frame (12,) of the hand."""
        options, period = self._options, self._period
        way = twist_between(self._hand, hand)
        self._hand = hand
        way = np.concatenate([self._linear @ way[:3], self._angular @ way[3:]])
        wanted = carried(self._wanted, way, 1.0)
        inside = options.inside(wanted[9:])
        wanted[9:] = inside + _shortened(wanted[9:] - inside, LEASH)
        self._wanted = wanted
        step = way + (twist_between(self.goal, wanted) - way) * (period / (RECOVERY + period))
        step[:3] = _shortened(step[:3], options.linear_velocity * period)
        step[3:] = _shortened(step[3:], options.angular_velocity * period)
        before, goal = self.goal, carried(self.goal, self._pace * step, 1.0)
        inward = options.inside(goal[9:]) - before[9:]  # a tip may be engaged outside
        goal[9:] = before[9:] + _shortened(inward, options.linear_velocity * period)
        self.goal, self.twist = goal, twist_between(before, goal) / period

    def keep_pace(self, use: float, slack: float) -> None:
        """Choose the speed of the goal, as a fraction, for the joints to follow its path.

        use : how fast their solution moved in the last period, as a fraction of their limits
        slack : 1 for joints that are at their solution, 0 for those that have to brake by now
        """
        pace = min(self._pace * GROWTH, 1.0)
        if use > 0.0:
            pace = min(pace, self._pace * FRACTION * slack / use)
        self._pace = max(pace, SLOWEST)

    def keep_near(self, reached: Array) -> None:
        """Drop what is farther than a leash from the frame (12,) that the arm reaches."""
        distance, angle = change_between(reached, self.goal)
        if distance <= LEASH and angle <= self._leash_turn:
            return
        goal = turned_near(self.goal, reached, self._leash_turn).copy()
        goal[9:] = reached[9:] + _shortened(goal[9:] - reached[9:], LEASH)
        self._wanted = carried(self._wanted, twist_between(self.goal, goal), 1.0)
        self.goal = goal
