# SPDX-License-Identifier: Apache-2.0
"""Masses of links, and the robot's centre of mass.

    c(q) = sum m_k c_k(q) / M

A joint moves all bodies above it, whose total mass is m' and whose centre is c'. If it turns about
the axis a through p, its column of the Jacobian is a x (c' - p) m' / M; if it slides, a m' / M.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..maths.rotations import Array
from .joints import LinkPlacement
from .kinematics import KIND, MULTIPLIER, PARENT, PRISMATIC, VARIABLE


@dataclass(frozen=True, eq=False)
class Inertial:
    """A link's mass [kg] and its centre (3,) [m] in the link's frame."""

    mass: float
    centre: Array


class Masses(NamedTuple):
    """Masses of a robot by body; links fixed to each other count as one.

    `mass` (K + 1,) [kg]: the last is the root's. `moment` (K + 1, 3) [kg m]: mass times centre, in
    the body's frame. `carried` (K, K): 1 if the joint of the first body moves the second.
    """

    mass: Array
    moment: Array
    carried: Array

    @property
    def total(self) -> float:
        """The mass [kg] of all bodies."""
        return float(self.mass.sum())


def masses_of(
    inertials: Mapping[str, Inertial],
    places: Mapping[str, LinkPlacement],
    tree: NDArray[np.int64],
) -> Masses:
    """Sum the masses of links by body."""
    mass, moment = np.zeros(len(tree) + 1), np.zeros((len(tree) + 1, 3))
    for link, inertial in inertials.items():
        place = places[link]  # body -1, the root's, is the last row
        centre = place.transform[:3, :3] @ inertial.centre + place.transform[:3, 3]
        mass[place.body] += inertial.mass
        moment[place.body] += inertial.mass * centre
    carried = np.eye(len(tree))
    for k in reversed(range(len(tree))):
        if tree[k, PARENT] >= 0:
            carried[tree[k, PARENT]] += carried[k]
    return Masses(mass, moment, carried)


def centre_of_mass(masses: Masses, frames: Array) -> Array:
    """The centre of mass (3,) [m] in the root link's frame, for the bodies' frames (K, 12)."""
    moments = _moments(masses, frames)
    centre: Array = (moments.sum(0) + masses.moment[-1]) / masses.total
    return centre


def centre_of_mass_jacobian(
    masses: Masses, frames: Array, tree: NDArray[np.int64], geometry: Array, n: int
) -> Array:
    """The derivative (3, n) [m per rad or m] of the centre of mass with respect to q."""
    mass = masses.carried @ masses.mass[:-1]
    moment = masses.carried @ _moments(masses, frames)
    axes = geometry[:, MULTIPLIER, np.newaxis] * frames[:, [2, 5, 8]]
    slides = mass[:, np.newaxis] * axes
    turns = np.cross(axes, moment - mass[:, np.newaxis] * frames[:, 9:])
    rates = np.where(tree[:, KIND, np.newaxis] == PRISMATIC, slides, turns) / masses.total
    columns = np.zeros((n, 3))
    np.add.at(columns, tree[:, VARIABLE], rates)  # mimic joints add to the column of their driver
    return columns.T.copy()


def _moments(masses: Masses, frames: Array) -> Array:
    """Mass times centre (K, 3) [kg m] of the moving bodies, in the root link's frame."""
    turned = np.einsum('kij,kj->ki', frames[:, :9].reshape(-1, 3, 3), masses.moment[:-1])
    return turned + masses.mass[:-1, np.newaxis] * frames[:, 9:]
