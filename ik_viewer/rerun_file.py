# SPDX-License-Identifier: Apache-2.0
"""Motions as recordings of Rerun, for `Motion.to_rerun`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ik_core import Robot
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array
from ik_core.motion import Motion
from ik_core.retargeting.example import link_paths
from ik_core.robot.outline import body_poses

from .drawing.appearance import shapes_of
from .drawing.colours import BLUE
from .drawing.description import description_of
from .drawing.drawn_robot import size_of, unit_solid, wxyz_of
from .drawing.shapes import Mesh, Shape

TIMELINE, SUFFIX = 'time', '.rrd'
MISSING = "a recording of Rerun needs {package}: pip install 'rerun-sdk>=0.23' trimesh"
WIDTH = 0.004  # Radius of the tips' paths, as a fraction of the robot's size


def write(motion: Motion, path: str | Path, robot: Robot | None) -> None:
    """Write a motion, and the robot that moves by it; see `Motion.to_rerun`."""
    try:
        import rerun
        import trimesh  # noqa: F401  for solids and meshes
    except ImportError as error:
        raise InvalidOption(MISSING.format(package=error.name)) from None
    if Path(path).suffix != SUFFIX:
        raise InvalidOption(f'{path}: the suffix of a recording of Rerun is {SUFFIX}')
    q = None if robot is None else motion.positions_of(robot)
    recording = rerun.RecordingStream('ik_node')
    recording.save(path)
    times = motion.period * np.arange(motion.n_frames)
    index = [rerun.TimeColumn(TIMELINE, duration=times)]
    for name, positions in zip(motion.joint_names, motion.positions.T, strict=True):
        columns = rerun.Scalars.columns(scalars=np.ascontiguousarray(positions))
        recording.send_columns(f'joints/{name}', indexes=index, columns=columns)
    if robot is not None and q is not None:
        _write_robot(rerun, recording, index, robot, q)
    recording.flush()
    recording.disconnect()


def _write_robot(rerun: Any, recording: Any, index: list[Any], robot: Robot, q: Array) -> None:
    """Write the shapes of the bodies once, the poses of the bodies in every frame, and paths."""
    recording.log('robot', rerun.ViewCoordinates.RIGHT_HAND_Z_UP, static=True)
    poses = [body_poses(robot, row) for row in q]
    shapes, _ = shapes_of(description_of(robot))
    names = ('root', *robot.body_names)
    for i, shape in enumerate(shapes):
        recording.log(f'robot/{names[shape.body + 1]}/{i}', _mesh(rerun, shape), static=True)
    for body, name in enumerate(names):
        wxyz = wxyz_of(np.array([rotations[body] for rotations, _ in poses]))
        columns = rerun.Transform3D.columns(
            translation=np.array([origins[body] for _, origins in poses]),
            quaternion=np.roll(wxyz, -1, axis=1),
        )
        recording.send_columns(f'robot/{name}', indexes=index, columns=columns)
    size = float(np.ptp(poses[0][1], axis=0).max(initial=0.0))
    lines = link_paths(robot, q, robot.tips()).swapaxes(0, 1)
    for link, line in zip(robot.tips(), lines, strict=True):
        strip = rerun.LineStrips3D([line], radii=max(WIDTH * size, 1e-4), colors=BLUE)
        recording.log(f'robot/paths/{link}', strip, static=True)


def _mesh(rerun: Any, shape: Shape) -> Any:
    """Return a shape as triangles in the frame of its body."""
    import trimesh

    solid = shape.solid
    vertices, faces = solid if isinstance(solid, Mesh) else unit_solid(type(solid))
    scaled = np.asarray(vertices, float) * size_of(solid)
    placed = scaled @ shape.transform[:3, :3].T + shape.transform[:3, 3]
    normals = trimesh.Trimesh(placed, faces, process=False).vertex_normals
    return rerun.Mesh3D(
        vertex_positions=placed,
        triangle_indices=faces,
        vertex_normals=normals,
        albedo_factor=shape.colour,
    )
