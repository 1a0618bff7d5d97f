# SPDX-License-Identifier: Apache-2.0
"""Frames in motion: carried by a twist, or along a straight line with limited acceleration.

On a straight line a frame moves to its goal with limited speed and acceleration, its position on
a line and its orientation about one axis (slerp), both for the same time. With

    T = max(distance / linear_velocity, angle / angular_velocity)

seconds left at full speed, and s the fraction of that speed, T falls by s in a second, and s is
what `approach_speed` of T allows: it rises and falls with the acceleration that neither part
exceeds.

A frame (12,) is a rotation matrix row by row and a position [m], in the root link's frame; a
twist (6,) a velocity [m/s] of its origin and an angular velocity [rad/s] in the root's axes.
"""

from __future__ import annotations

import math

import numpy as np

from ...kernels.jit import kernel
from ...kernels.signatures import Array1
from ...maths.rotations import Array, from_axes, relative_log
from ...maths.vectors import copy_to
from ..governor.second_order import approach_speed


@kernel
def turn_frame(frame: Array, x: float, y: float, z: float) -> None:
    """Turn a frame (12,) in place by a rotation vector [rad] in the root's axes."""
    angle = math.sqrt(x * x + y * y + z * z)
    if angle == 0.0:
        return
    x, y, z = x / angle, y / angle, z / angle
    c, s = math.cos(angle), math.sin(angle)
    for i in range(3):
        a, b, d = frame[i], frame[3 + i], frame[6 + i]
        along = (1.0 - c) * (x * a + y * b + z * d)
        frame[i] = c * a + s * (y * d - z * b) + along * x
        frame[3 + i] = c * b + s * (z * a - x * d) + along * y
        frame[6 + i] = c * d + s * (x * b - y * a) + along * z


@kernel
def straighten(frame: Array) -> None:
    """Make the rotation of a frame (12,) orthonormal again, in place (one Newton step)."""
    for i in range(3):
        square = 0.0
        for c in range(3):
            square += frame[3 * i + c] * frame[3 * i + c]
        for c in range(3):
            frame[3 * i + c] *= 1.5 - 0.5 * square
    for i in range(2):
        for k in range(i + 1, 3):
            dot = 0.0
            for c in range(3):
                dot += frame[3 * i + c] * frame[3 * k + c]
            for c in range(3):
                a, b = frame[3 * i + c], frame[3 * k + c]
                frame[3 * i + c], frame[3 * k + c] = a - 0.5 * dot * b, b - 0.5 * dot * a


@kernel(entry='ik_tip_carry')
def carry(frame: Array1, twist: Array1, seconds: float) -> None:
    """Move a frame (12,) in place for some seconds with the twist (6,)."""
    for c in range(3):
        frame[9 + c] += seconds * twist[c]
    turn_frame(frame, seconds * twist[3], seconds * twist[4], seconds * twist[5])
    straighten(frame)


@kernel(entry='ik_tip_way_between')
def way_between(start: Array1, end: Array1, way: Array1) -> None:
    """Write to `way` the twist (6,) of 1 s from `start` (12,) to `end`, in the root's axes."""
    for c in range(3):
        way[c] = end[9 + c] - start[9 + c]
    way[3], way[4], way[5] = from_axes(start, relative_log(start, end))


@kernel
def norm3(v: Array, first: int) -> float:
    """Return the length of three components from `first` on."""
    return math.sqrt(v[first] ** 2 + v[first + 1] ** 2 + v[first + 2] ** 2)


@kernel(entry='ik_tip_approach')
def approach(
    frame: Array1, goal: Array1, twist: Array1, limits: Array1, fraction: float, least: float,
    most: float, period: float,
) -> float:  # fmt: skip
    """Move and turn a frame (12,) one period along the line to the goal; return the new fraction.

    twist (6,) : is filled with the velocity
    limits (4,) : linear and angular velocity, then accelerations
    fraction : of full speed, that the frame had; the joints allow at most `most` from now on, and
        may brake it down to `least`
    """
    way_between(frame, goal, twist)
    length, angle = norm3(twist, 0), norm3(twist, 3)
    left = max(length / limits[0], angle / limits[1])
    if left <= 1e-12:  # [s]: rounding
        copy_to(goal, frame)
        for c in range(6):
            twist[c] = 0.0
        return 0.0
    growth = math.inf  # [1/s] of the fraction
    if length > 0.0:
        growth = limits[2] * left / length
    if angle > 0.0:
        growth = min(growth, limits[3] * left / angle)
    step = growth * period
    wanted = min(1.0, approach_speed(left, step, period))
    fraction = min(max(min(wanted, most), min(fraction - step, least)), fraction + step)
    if fraction * period >= left:
        fraction = left / period
        copy_to(goal, frame)
    for c in range(6):
        twist[c] *= fraction / left
    if fraction * period < left:
        carry(frame, twist, period)
    return fraction


@kernel(entry='ik_tip_fraction_of')
def fraction_of(twist: Array1, limits: Array1) -> float:
    """Return the fraction of full speed that a twist (6,) has; limits (4,) as in `approach`."""
    return max(norm3(twist, 0) / limits[0], norm3(twist, 3) / limits[1])


@kernel(entry='ik_tip_change_twist')
def change_twist(
    twist: Array1, wanted: Array1, limits: Array1, scale: float, period: float
) -> None:
    """Change a twist (6,) in place towards `scale` times the wanted one, within the limits.

    limits (4,) : as in `approach`; a wanted twist beyond the velocities keeps its direction
    """
    scale = min(scale, 1.0 / max(1.0, fraction_of(wanted, limits)))
    for first, acceleration in ((0, limits[2]), (3, limits[3])):
        square = 0.0
        for c in range(first, first + 3):
            square += (scale * wanted[c] - twist[c]) ** 2
        step = acceleration * period
        part = min(1.0, step / math.sqrt(square)) if square > 0.0 else 1.0
        for c in range(first, first + 3):
            change = scale * wanted[c] - twist[c]
            twist[c] += change if part == 1.0 else part * change


@kernel(entry='ik_tip_change_between')
def change_between(old: Array1, new: Array1) -> tuple[float, float]:
    """Return the distance [m] and the angle [rad] between two frames (12,)."""
    trace, square, same = 0.0, 0.0, True  # of old' new
    for c in range(12):
        same = same and old[c] == new[c]
        if c < 9:
            trace += old[c] * new[c]
        else:
            square += (new[c] - old[c]) ** 2
    if same:
        return 0.0, 0.0
    return math.sqrt(square), math.acos(min(max(0.5 * (trace - 1.0), -1.0), 1.0))


def carried(frame: Array, twist: Array, seconds: float) -> Array:
    """Return the frame (12,) after some seconds with the twist (6,)."""
    frame = frame.copy()
    carry(frame, twist, seconds)
    return frame


def twist_between(start: Array, end: Array) -> Array:
    """Return the twist (6,) that carries one frame (12,) to another one in a second."""
    twist = np.zeros(6)
    way_between(start, end, twist)
    return twist


def turned_near(frame: Array, other: Array, leash: float) -> Array:
    """Return the frame (12,) turned to within `leash` [rad] of another one."""
    way = twist_between(other, frame)
    angle = float(np.linalg.norm(way[3:]))
    if angle <= leash:
        return frame
    way[:3] = 0.0
    turned = carried(other, way, leash / angle)
    turned[9:] = frame[9:]
    return turned
