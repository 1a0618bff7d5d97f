# SPDX-License-Identifier: Apache-2.0
"""Example-guided inverse kinematics over a whole motion [TakKo]: one problem, frame by frame.

In each frame n the joints minimise Eq. 4,

    G = alpha G_E + beta G_A + L^2 |q_n - q_(n-1)|_M^2

for all links together. G_E sums the E-errors of all links, G_A is the A-error times L^2, where L
is the longest chain to one of these links (section 4.3). A sliding joint counts in metres, without
L^2. Each frame starts at the result of the one before, which selects among the minima.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..display import counted, length, listed, time
from ..exceptions import InvalidOption
from ..maths.argument_types import Names, TransformLike, VectorLike, WeightsLike
from ..maths.rotations import Array, matrix_from_quaternion, relative_logs
from ..options import check_function
from ..robot.motion import Motion
from ..robot.robot import Robot
from ..solvers import DEFAULT_SOLVER, SolverName
from ..tasks.reference_motion import total_link_length
from .example import Scale, example_of, link_poses
from .frame_solver import FrameSolver, Progress, Weights


@dataclass(frozen=True, eq=False)
class RetargetResult:
    """A motion for another robot, with its errors from the example in every frame.

    `link_errors` (frames, links) [m]: |e - E|; `orientation_errors` [rad] likewise.
    `joint_errors` (frames, joints) [rad or m]: theta - Theta, for the `joints` that have a
    counterpart. `converged` (frames,): true if the cost is minimal. `length` [m]: L. `seconds`:
    time for solving all frames.
    """

    motion: Motion
    links: tuple[str, ...]
    joints: tuple[str, ...]
    link_errors: Array
    orientation_errors: Array
    joint_errors: Array
    converged: NDArray[np.bool_]
    length: float
    seconds: float

    def __repr__(self) -> str:
        errors = self.link_errors
        worst = f', links off by {length(errors.max())} at most' if errors.size else ''
        return (
            f'<RetargetResult: {counted(len(self.motion), "frame")} in {time(self.seconds)}, '
            f'{int(self.converged.sum()):,} converged; by {listed(self.links)}{worst}>'
        )

    @property
    def frames_per_second(self) -> float:
        """Frames solved per second."""
        return len(self.motion) / max(self.seconds, 1e-9)


def retarget(
    motion: Motion,
    robot: Robot,
    links: Mapping[str, str],
    *,
    source: Robot | None = None,
    joints: Mapping[str, str] | None = None,
    beta: float = 1e-5,
    alpha: float | None = None,
    link_weights: float | VectorLike = 1.0,
    orientation_weights: float | VectorLike = 0.0,
    joint_weights: float | VectorLike = 1.0,
    velocity_weights: float | VectorLike = 0.0,
    acceleration_weights: float | VectorLike = 0.0,
    stiffness: WeightsLike = 0.0,
    balance: float = 0.0,
    feet: Names = (),
    length: float | None = None,
    scale: Scale = 1.0,
    transform: TransformLike | None = None,
    base_link: str | None = None,
    keep_limits: bool = True,
    q0: VectorLike | None = None,
    solver: SolverName = DEFAULT_SOLVER,
    solver_options: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> RetargetResult:
    """Imitate a motion with a robot of other proportions, see the module.

    motion, source : the motion, and the robot that it was made with, as `load_mocap` returns them;
        without a source the robot itself, to scale, move or smooth a motion of its own
    links : map of links: the robot's (value) follows the path of the source's (key)
    joints : likewise for joints; by default those of the same name. Joints without a counterpart
        have A-weight 0: only the links determine them
    beta : from 0, where only the links count, to 1, where joints are copied
    alpha : from 0, where only joints count, to 1; by default 1 - beta
    link_weights, joint_weights : factors of alpha and beta; one number, or one for each of
        `links`, in their order, and for each of the robot's joints (n,)
    orientation_weights [m^2/rad^2] : likewise for the orientations of the links, whose axes must
        agree with those of their counterparts; by default only positions count
    velocity_weights [s^2], acceleration_weights [s^4] : kv and ka of both errors, or (2,) for the
        E-error and the A-error
    stiffness : the diagonal of M in Eq. 5, one number or (n,), or the whole matrix (n, n)
    balance, feet : weight of the horizontal distance of the centre of mass from the middle of the
        `feet`, links of the robot among the values of `links` (z is up in the root link's frame).
        Needs a robot with masses
    length : L [m]
    scale : scale of the paths about the origin; 'length': the ratio of the lengths of the chains
        to the links. A floating root is scaled and moved with them
    transform : (4, 4) converts the scaled paths to the frame of the robot's root link
    base_link : a link of the source in whose frame the paths are computed, for a robot with a
        fixed base
    keep_limits : False ignores the robot's limits, which captured motions often exceed
    q0 : (n,) start of the first frame
    progress : called with (frames done, frames)

    Raises InvalidOption, InvalidMotion, FrameNotFound, UnsupportedProblem.
    """
    check_function(progress, 'progress', '(frames done, frames)')
    if not isinstance(links, Mapping):
        raise InvalidOption(f"links = {links!r}: {{'of the source': 'its counterpart'}} is needed")
    if not links:
        raise InvalidOption('links: at least one link of the source and its counterpart is needed')
    if len(set(links.values())) < len(links):
        raise InvalidOption('links: two links of the source are given the same counterpart')
    example = example_of(
        motion,
        source or robot,
        robot,
        links,
        joints=joints,
        scale=scale,
        transform=transform,
        base_link=base_link,
    )
    if length is None:
        length = max(total_link_length(robot, link) for link in example.links)
    weights = Weights(
        beta=beta,
        alpha=alpha,
        links=link_weights,
        orientations=orientation_weights,
        joints=joint_weights,
        velocity=velocity_weights,
        acceleration=acceleration_weights,
        stiffness=stiffness,
        balance=balance,
    )
    standing = [_index_of(foot, example.links) for foot in feet]
    imitation = FrameSolver(
        robot, example, weights, length, keep_limits=keep_limits, feet=standing
    )
    started = perf_counter()
    positions, converged = imitation.run(solver, solver_options or {}, q0, progress)
    seconds = perf_counter() - started
    paths, axes = link_poses(robot, positions, example.links)
    mapped = np.flatnonzero(example.mapped)
    return RetargetResult(
        motion=Motion(robot.joint_names, positions, example.period),
        links=example.links,
        joints=tuple(robot.joint_names[i] for i in mapped),
        link_errors=np.linalg.norm(paths - example.paths, axis=2),
        orientation_errors=_angles(example.orientations, axes),
        joint_errors=(positions - example.postures)[:, mapped],
        converged=converged,
        length=length,
        seconds=seconds,
    )


def _index_of(foot: str, links: Sequence[str]) -> int:
    if foot not in links:
        raise InvalidOption(f'feet: {foot!r} is none of the followed links {", ".join(links)}')
    return list(links).index(foot)


def _angles(orientations: Array, rotations: Array) -> Array:
    """The angles (...) [rad] between quaternions (..., 4) and rotation matrices (..., 3, 3)."""
    flat = [matrix_from_quaternion(q).ravel() for q in orientations.reshape(-1, 4)]
    vectors = np.empty((len(flat), 3))
    relative_logs(np.reshape(flat, (-1, 9)), rotations.reshape(-1, 9), vectors)
    return np.linalg.norm(vectors, axis=-1).reshape(rotations.shape[:-2])
