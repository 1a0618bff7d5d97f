# SPDX-License-Identifier: Apache-2.0
"""Linear constraints between joints: a'q = b and a'q <= b ([Engell2007] Eq. 11-12)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from ..exceptions import InvalidConfiguration, InvalidOption, UnsupportedProblem
from ..maths.rotations import Array, IntArray
from ..options import exact_number
from .robot import Robot

LEAST, LARGEST = 1e-9, 1e9  # magnitudes of coefficients: beyond, sums lose the smaller ones
LARGEST_BOUND = 1e12  # largest magnitude of a finite bound


@dataclass(frozen=True)
class LinearConstraint:
    """lower <= sum of coefficient * joint <= upper; an equality if both bounds are the same.

    coefficients : numbers by joint name [per rad or m, so that the sum has the unit of the bounds]
    lower, upper : inf for no bound

        LinearConstraint({'elbow': 1.0, 'shoulder': -1.0}, upper=0.5)     # elbow - shoulder <= 0.5

    Raises InvalidOption.
    """

    coefficients: Mapping[str, float]
    lower: float = -np.inf
    upper: float = np.inf

    def __post_init__(self) -> None:
        object.__setattr__(self, 'coefficients', _checked(self.coefficients))
        for side in ('lower', 'upper'):
            number = exact_number(getattr(self, side), float)
            if number is None or not (abs(number) <= LARGEST_BOUND or abs(number) == np.inf):
                raise InvalidOption(
                    f'{side} = {getattr(self, side)!r} of a linear constraint: a number of at '
                    f'most {LARGEST_BOUND:g}, or infinite, is needed'
                )
            object.__setattr__(self, side, number)
        if not self.lower <= self.upper:
            raise InvalidOption(f'{self}: lower > upper')
        if not (self.lower < np.inf and self.upper > -np.inf):
            raise InvalidOption(f'{self}: fulfilled by no finite number')
        if self.lower == -np.inf and self.upper == np.inf:
            raise InvalidOption(f'{self}: lower, upper or both have to be finite')

    def __str__(self) -> str:
        terms = [f'{number:+g} {joint}' for joint, number in self.coefficients.items()]
        total = ' '.join(terms)
        if self.lower == self.upper:
            return f'{total} = {self.lower}'
        lower = '' if self.lower == -np.inf else f'{self.lower} <= '
        upper = '' if self.upper == np.inf else f' <= {self.upper}'
        return f'{lower}{total}{upper}'

    def __reduce__(self) -> tuple[type, tuple[dict[str, float], float, float]]:
        return LinearConstraint, (dict(self.coefficients), self.lower, self.upper)


def _checked(coefficients: Mapping[str, float]) -> Mapping[str, float]:
    """The coefficients as finite numbers, without those that are 0."""
    if not isinstance(coefficients, Mapping):
        raise InvalidOption(
            f'coefficients {coefficients!r}: numbers by the names of joints are needed, '
            "such as {'elbow': 1.0}"
        )
    found = {}
    for joint, given in coefficients.items():
        number = exact_number(given, float)
        if number is None or not (number == 0.0 or LEAST <= abs(number) <= LARGEST):
            raise InvalidOption(
                f'joint {joint!r} of a linear constraint: coefficient {given!r}; 0 or a number '
                f'of magnitude {LEAST:g} to {LARGEST:g} is needed'
            )
        if number != 0.0:
            found[joint] = number
    if not found:
        raise InvalidOption(f'coefficients {dict(coefficients)!r}: one has to be other than 0')
    return MappingProxyType(found)


class ConstraintRows:
    """Linear constraints of a robot, as rows over the variables of a problem.

    Joints that are not variables keep their value of the start, so they add a constant. Raises
    FrameNotFound, UnsupportedProblem.
    """

    def __init__(
        self, constraints: tuple[LinearConstraint, ...], robot: Robot, variables: IntArray
    ) -> None:
        self.constraints = constraints
        self.matrix = np.zeros((len(constraints), robot.n))
        for row, constraint in zip(self.matrix, constraints, strict=True):
            for joint, number in constraint.coefficients.items():
                row[robot.joint_index(joint)] = number
        self._variables = variables
        self._moving = self.matrix[:, variables]
        self._fixed = self.matrix.copy()
        self._fixed[:, variables] = 0.0
        for constraint, row in zip(constraints, self._moving, strict=True):
            if not row.any():
                raise UnsupportedProblem(
                    f'{constraint}: the problem moves none of these joints; its variables are '
                    f'{", ".join(robot.joint_names[i] for i in variables)}'
                )

    def __len__(self) -> int:
        return len(self.constraints)

    @property
    def coupled(self) -> NDArray[np.bool_]:
        """Mask (variables,) of variables that occur in a constraint."""
        return np.asarray(self._moving.any(axis=0), bool)

    def at(self, q: Array) -> Array:
        """Rows (k, variables + 2): a unit normal, the lower and the upper bound, for other joints
        at their values in q (n,)."""
        bounds = np.array([[one.lower, one.upper] for one in self.constraints])
        rows = np.column_stack([self._moving, bounds - (self._fixed @ q)[:, np.newaxis]])
        return rows / np.linalg.norm(self._moving, axis=1, keepdims=True)

    def contradiction(self, sides: Array, robot: Robot) -> InvalidConfiguration:
        """The error for constraints that contradict each other.

        sides : (variables + k,), first the variables' limits, then the constraints; not 0 for
            those that take part
        """
        n = len(self._variables)
        joints = [robot.joint_names[self._variables[j]] for j in np.flatnonzero(sides[:n])]
        rows = [str(self.constraints[i]) for i in np.flatnonzero(sides[n:])]
        limits = f' inside the limits of {", ".join(joints)}' if joints else ''
        return InvalidConfiguration(
            f'linear constraints that contradict each other{limits}: {"; ".join(rows)}'
        )
