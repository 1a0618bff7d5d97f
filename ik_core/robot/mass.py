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

from ..kernels.jit import kernel
from ..kernels.signatures import Array1, Array2, IntArray2
from ..maths.rotations import Array, frame_at, from_axes
from .joints import LinkPlacement
from .kinematics import PARENT, VARIABLE, joint_twist


@dataclass(frozen=True, eq=False)
class Inertial:
    """A link's mass [kg] and its centre (3,) [m] in the link's frame."""

    mass: float
    centre: Array


class Masses(NamedTuple):
    """Masses of a robot by body; links fixed to each other count as one.

    `mass` (K + 1,) [kg]: the last is the root's. `moment` (K + 1, 3) [kg m]: mass times centre, in
    the body's frame.
    """

    mass: Array
    moment: Array

    @property
    def total(self) -> float:
        """The mass [kg] of all bodies."""
        return float(self.mass.sum())


def masses_of(
    inertials: Mapping[str, Inertial], places: Mapping[str, LinkPlacement], bodies: int
) -> Masses:
    """Sum the masses of links by body."""
    mass, moment = np.zeros(bodies + 1), np.zeros((bodies + 1, 3))
    for link, inertial in inertials.items():
        place = places[link]  # body -1, the root's, is the last row
        centre = place.transform[:3, :3] @ inertial.centre + place.transform[:3, 3]
        mass[place.body] += inertial.mass
        moment[place.body] += inertial.mass * centre
    return Masses(mass, moment)


@kernel(entry='ik_centre_of_mass')
def centre_of_mass(
    tree: IntArray2, mass: Array1, moment: Array2, frames: Array2, carried: Array2, centre: Array1
) -> None:
    """Write the centre of mass [m] in the root link's frame into centre (3,).

    mass, moment : of Masses
    frames (K, 12) : of the bodies
    carried (K + 1, 4) : result: mass [kg] and moment [kg m] of all bodies that each joint moves,
        in the root link's frame; the last row is the whole robot
    """
    bodies = frames.shape[0]
    for k in range(bodies):
        _set_moment(carried, k, mass[k], moment, frames)
    carried[bodies, 0] = mass[bodies]
    for c in range(3):
        carried[bodies, 1 + c] = moment[bodies, c]
    for k in range(bodies - 1, -1, -1):
        parent = tree[k, PARENT] if tree[k, PARENT] >= 0 else bodies
        for c in range(4):
            carried[parent, c] += carried[k, c]
    for c in range(3):
        centre[c] = carried[bodies, 1 + c] / carried[bodies, 0]


@kernel(entry='ik_centre_of_mass_jacobian')
def centre_of_mass_jacobian(
    tree: IntArray2, geometry: Array2, frames: Array2, carried: Array2, columns: Array2
) -> None:
    """Write the derivative of the centre of mass [m per rad or m] into columns (n, 3).

    carried (K + 1, 4) : of `centre_of_mass` at the same frames
    """
    columns[:] = 0.0
    bodies = frames.shape[0]
    for k in range(bodies):
        mass = carried[k, 0]
        if mass > 0.0:
            centre = carried[k, 1] / mass, carried[k, 2] / mass, carried[k, 3] / mass
            velocity, _ = joint_twist(tree, geometry, frames, k, centre)
            for c in range(3):  # mimic joints add to the column of their driver
                columns[tree[k, VARIABLE], c] += velocity[c] * mass / carried[bodies, 0]


@kernel
def _set_moment(carried: Array, k: int, mass: float, moment: Array, frames: Array) -> None:
    """Set row k of `carried` to the mass and moment of body k alone."""
    frame = frame_at(frames, k)
    turned = from_axes(frame, (moment[k, 0], moment[k, 1], moment[k, 2]))
    carried[k, 0] = mass
    for c in range(3):
        carried[k, 1 + c] = turned[c] + mass * frames[k, 9 + c]
