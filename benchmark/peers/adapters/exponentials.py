# SPDX-License-Identifier: Apache-2.0
"""An arm at zero as axes and offsets (product of exponentials), which closed forms ask for."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from .base import Array, Chain


def axes_and_offsets(chain: Chain) -> tuple[Array, Array, Array]:
    """Axes (n, 3), offsets (n + 1, 3) from each to the next, and the tip's rotation at zero.

    All in the base's frame, with every joint at zero.
    """
    pose, last = np.eye(4), np.zeros(3)
    axes, offsets = [], []
    for joint in ElementTree.parse(chain.path).getroot().iterfind('joint'):  # in order
        pose = pose @ _origin(joint)
        if joint.get('type') != 'fixed':
            axis = np.array(_numbers(joint, 'axis', 'xyz', '1 0 0'))
            axes.append(pose[:3, :3] @ (axis / np.linalg.norm(axis)))
            offsets.append(pose[:3, 3] - last)
            last = pose[:3, 3]
    offsets.append(pose[:3, 3] - last)
    return np.array(axes), np.array(offsets), pose[:3, :3]


def _origin(joint: ElementTree.Element) -> Array:
    pose = np.eye(4)
    pose[:3, 3] = _numbers(joint, 'origin', 'xyz', '0 0 0')
    for angle, (i, j) in zip(
        _numbers(joint, 'origin', 'rpy', '0 0 0'), ((1, 2), (2, 0), (0, 1)), strict=True
    ):
        turn = np.eye(3)
        turn[i, i] = turn[j, j] = np.cos(angle)
        turn[j, i], turn[i, j] = np.sin(angle), -np.sin(angle)
        pose[:3, :3] = turn @ pose[:3, :3]  # roll, pitch, yaw about fixed axes
    return pose


def _numbers(joint: ElementTree.Element, tag: str, key: str, default: str) -> list[float]:
    element = joint.find(tag)
    text = default if element is None else element.get(key, default)
    return [float(number) for number in text.split()]
