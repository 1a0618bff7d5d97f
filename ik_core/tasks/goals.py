# SPDX-License-Identifier: Apache-2.0
"""Goals: the desired position and orientation of a link, or the direction of one of its axes.

The link, the masks and the weights are fixed when a goal is made; `set_target` moves its target. A
goal's frame is the link's own, or one fixed to it (`tool`). Targets are in the root link's frame,
or in that of the link that a goal is `relative_to`, in metres; quaternions are (x, y, z, w), of
any length but zero. `maths.transforms` converts targets and tools from the types of scipy,
pinocchio, spatialmath and ROS.

A goal can be a region: a box about the target for the position or the rotation vector, given by
its half widths, or a cone about a direction. All poses in it are as good as the target itself:
residuals and errors count from its boundary.
"""

from __future__ import annotations

import copy
from typing import Any, Literal, NamedTuple, NoReturn

import numpy as np

from ..display import numbers
from ..exceptions import InvalidGoal, InvalidOption
from ..maths.argument_types import PointLike, RotationLike, TransformLike, VectorLike, WeightsLike
from ..maths.rotations import (
    Array,
    finite_vector,
    frame_of,
    matrix_onto_axis,
    quaternion_from_matrix,
    transform_of,
)
from ..maths.transforms import (
    check_frame,
    checked_transform,
    frame_id,
    plain_vector,
    point,
    rotation_matrix,
)
from ..options import exact_number
from ..robot.robot import Robot
from . import kernels
from .base import Task
from .packing import PackedGoals
from .weights import is_matrix, principal_axes

POSE_FREEDOMS, AXIS_FREEDOMS = 6, 5  # degrees of freedom fixed by a pose; by position and axis
# orientation weight, relative to position weights of 1, at which an arm of too few joints reaches
# a position within its tolerance, and then the nearest orientation
POSITION_FIRST = 1e-6

# quaternion of the axes of a position goal without an orientation
AS_THE_ROOT = (0.0, 0.0, 0.0, 1.0)


PositionAxes = Literal['root', 'goal']


class Words(NamedTuple):
    """Phrases of advice to constrain less than a whole pose; by default with names of Python."""

    axis: str = 'ask for position and axis (PositionAxisTask)'
    first: str = 'put the position first: PoseTask.for_joints({joints}, {link}, ...)'
    point: str = 'ask for the position alone (PositionTask)'
    free: str = 'leave components free by weights of 0'


IN_PYTHON = Words()


class GoalTask(Task):
    """Base of all goals. `position_weights`, `rotation_weights`: a weight of 0 masks a component.

    `relative_to` names a link whose frame replaces the root link's: the target moves with it, and
    the joints between both links reach the goal.

    Weights given as matrices ([EngellErleben2011] Eq. 17) are stored as the weights along their
    principal axes, the columns of `position_turn` and `rotation_turn`; the rows of the residual
    are along these axes.
    """

    rotation = kernels.VECTOR

    def __init__(
        self,
        link: str,
        position_weights: WeightsLike,
        rotation_weights: WeightsLike,
        tool: TransformLike | None = None,
        position_axes: PositionAxes = 'root',
        position_box: WeightsLike = 0.0,
        orientation_box: WeightsLike = 0.0,
        cone: float = 0.0,
        relative_to: str | None = None,
    ) -> None:
        self.link, self.relative_to = _name(link, 'link'), relative_to
        if relative_to is not None:
            _name(relative_to, 'relative_to')
        if relative_to == link:
            raise InvalidOption(f'the goal for {link!r} is relative to the link itself')
        self.position_axes = _axes(position_axes)
        self.position_weights, self.position_turn = _weights(position_weights, 'position weights')
        self.rotation_weights, self.rotation_turn = _weights(
            rotation_weights, 'orientation weights'
        )
        self.given_weights = np.array(position_weights), np.array(rotation_weights)
        self.position_box = _not_negative(position_box, 'position_box')
        self.orientation_box = _not_negative(orientation_box, 'orientation_box')
        self.cone = float(_not_negative(cone, 'cone')[0])
        check_frame(frame_id(tool), link)
        self.tool = np.eye(4) if tool is None else checked_transform(tool, 'tool')
        self.frame_id = ''
        self.target = np.full(12, np.nan)
        if not (self.position_weights.any() or self.rotation_weights.any()):
            raise InvalidOption(f'the goal for {link!r} asks for nothing: all weights are 0')
        for turn, box in (
            (self.position_turn, self.position_box),
            (self.rotation_turn, self.orientation_box),
        ):
            if turn is not None and box.any():
                raise InvalidOption('a box needs weights of its components, not a matrix')
        self._missing = {'position'} if self.position_weights.any() else set()
        if self.rotation_weights.any() or self.position_axes == kernels.GOAL_AXES:
            self._missing.add('orientation')

    def set_target(
        self,
        transform: TransformLike | None = None,
        *,
        position: PointLike | None = None,
        quaternion: VectorLike | None = None,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        normalise: bool = False,
    ) -> None:
        """Move the goal: to `transform` (4, 4), or by `position` (3,) and one orientation.

        The orientation is `quaternion` (4,), `rpy` (3,) [rad] or `rotation`. `ik_core.transform`
        lists the types of scipy, pinocchio, spatialmath and ROS that are accepted, and describes
        `normalise`. Parts that are not given stay. Raises InvalidGoal, and changes nothing, for
        numbers that are not finite, a zero quaternion, a matrix that is not rigid, a part together
        with a whole transform, or no argument at all.
        """
        if transform is None:
            turn = rotation_matrix(quaternion, rpy, rotation, normalise=normalise)
            if turn is None and position is None:
                raise InvalidGoal(
                    f'the target for {self.link!r} is None: give a transform, a position, or one '
                    'of quaternion, rpy and rotation'
                )
            if position is not None:
                self.target[9:] = point(position)
                self.frame_id = frame_id(position)
            if turn is not None:
                self.target[:9] = turn.ravel()
        elif position is None and quaternion is None and rpy is None and rotation is None:
            self.target[:] = frame_of(checked_transform(transform, normalise=normalise))
            self.frame_id = frame_id(transform)
        else:
            _refuse_twice(position=position, quaternion=quaternion, rpy=rpy, rotation=rotation)
        self._note_what_is_set()

    def _set_given(self, normalise: bool = False, **given: Any) -> None:
        """Set the target if the constructor is given one."""
        if any(part is not None for part in given.values()):
            self.set_target(normalise=normalise, **given)

    def _shown(self) -> list[str]:
        """The link, the constrained components, and arguments that differ from their defaults."""
        parts = [repr(self.link)]
        if self.relative_to is not None:
            parts.append(f'relative_to={self.relative_to!r}')
        is_axis = self.rotation == kernels.AXIS
        if self.position_weights.any():
            parts.append(_shown('position', self.target[9:]))
        if self.rotation_weights.any() and is_axis:
            parts.append(f'axis={numbers(self.tool[:3, 2])}')
            parts.append(_shown('direction', self.target[[2, 5, 8]]))
        elif self.rotation_weights.any():
            turn = self.target[:9].reshape(3, 3)
            is_set = not np.isnan(turn).any()
            parts.append(_shown('quaternion', quaternion_from_matrix(turn) if is_set else turn))
        for name, weights in zip(('position', 'orientation'), self.given_weights, strict=True):
            if (weights != 1.0).any() and weights.any():
                parts.append(f'{name}_weights={numbers(weights)}')
        for name in ('position_box', 'orientation_box', 'cone'):
            if np.any(getattr(self, name)):
                parts.append(f'{name}={numbers(getattr(self, name))}')
        if not is_axis and (self.tool != np.eye(4)).any():
            parts.append(f'tool at {numbers(self.tool[:3, 3])}')
        return parts

    def _note_what_is_set(self) -> None:
        """Remove the parts of the target that are set from `_missing`."""
        if self._missing:
            parts = {'orientation': self.target[:9], 'position': self.target[9:]}
            self._missing = {name for name in self._missing if np.isnan(parts[name]).any()}

    @property
    def links(self) -> tuple[str, ...]:
        """The link of the goal, and the link that it is relative to."""
        return (self.link,) if self.relative_to is None else (self.link, self.relative_to)

    @property
    def chains(self) -> tuple[tuple[str, str | None], ...]:
        """The link with the link that it is relative to (None: the root)."""
        return ((self.link, self.relative_to),)

    def frame_at(self, robot: Robot, frames: Array) -> Array:
        """Frame (12,) of the tool, which the target is for, from `robot.frames(q)`."""
        pose = robot.link_transform(frames, self.link) @ self.tool
        if self.relative_to is not None:
            base = robot.link_transform(frames, self.relative_to)
            return frame_of(np.linalg.inv(base) @ pose)
        return frame_of(pose)

    @property
    def has_geometric_columns(self) -> bool:
        """True if the rotation rows have one weight and no box.

        Angular velocities in the target's axes then give the exact gradient of the squared
        rotation error.
        """
        weights = self.rotation_weights
        return bool((weights == weights[0]).all()) and not self.orientation_box.any()

    @property
    def fixed_freedoms(self) -> int:
        """The number of degrees of freedom that the goal fixes to a value: 6 for a whole pose."""
        position = (self.position_weights > 0.0) & (self.position_box == 0.0)
        rotation = (self.rotation_weights[:3] > 0.0) & (self.orientation_box == 0.0)
        turns = int(rotation.sum())
        if self.rotation == kernels.AXIS:
            turns = min(turns, 2) if self.cone == 0.0 else 0
        return int(position.sum()) + turns

    @property
    def puts_position_first(self) -> bool:
        """True if the orientation has a negligible weight, at most POSITION_FIRST."""
        rotation = self.rotation_weights.max()
        return bool(0.0 < rotation <= 1.001 * POSITION_FIRST * self.position_weights.min())

    def equally_weighted(self) -> GoalTask:
        """A copy, with the same target array, whose orientation is weighted like the position.

        It is the goal itself if the position does not come first.
        """
        if not self.puts_position_first:
            return self
        other = copy.copy(self)
        other._missing = set()  # this goal checks the target
        other.rotation_weights = self.rotation_weights / POSITION_FIRST
        return other

    @property
    def is_region(self) -> bool:
        """True if more than one pose fulfils the constrained components exactly."""
        return bool(self.position_box.any() or self.orientation_box.any() or self.cone > 0.0)

    @property
    def transform(self) -> Array:
        """The target (4, 4); NaN for parts that are not set."""
        return transform_of(self.target)

    def turned(self, targets: Array) -> Array:
        """Rotate targets (..., 12) into the principal axes of the weights."""
        return targets

    def _less(self) -> str:
        """Return advice for an error: a goal that does not need the missing part."""
        return ''

    def asking_less(self, joints: int, words: Words) -> str:
        """Advice on goals that constrain less, if `joints` joints are too few for this one."""
        return words.free

    def check_target(self, root: str = '') -> None:
        """Raise InvalidGoal if a part of the target with a weight is not set.

        Also if the target was a message in another frame than `relative_to`'s, by default `root`.
        """
        if self._missing:
            raise InvalidGoal(
                f'the goal for {self.link!r} has no {" and no ".join(sorted(self._missing))}; '
                f'give it one with set_target{self._less()}'
            )
        needed = self.relative_to or root
        if self.frame_id and needed and self.frame_id != needed:
            what = 'it is relative to' if self.relative_to else 'the root of this robot is'
            raise InvalidGoal(
                f'the goal for {self.link!r} is in the frame {self.frame_id!r}; {what} '
                f'{needed!r}: transform the goal there first, as tf2 does, or give relative_to'
            )

    def residual(self, robot: Robot, q: VectorLike) -> Array:
        """The weighted residual (rows,) [m, rad] at q (n,), as defined in `tasks.kernels`."""
        return self._evaluated(robot, q).residual

    def jacobian(self, robot: Robot, q: VectorLike) -> Array:
        """The exact derivative (rows, n) of `residual` with respect to q."""
        return self._evaluated(robot, q).jacobian()

    def _evaluated(self, robot: Robot, q: VectorLike) -> PackedGoals:
        """The goal, packed alone, evaluated at q (n,)."""
        vector = robot.checked(q)
        goals = PackedGoals(robot, [self])
        goals.load(vector)
        goals.update(vector)
        return goals


class PoseTask(GoalTask):
    """Bring the link to a position with an orientation.

    Parameters
    ----------
    link : str
        A link of the robot.
    position : (3,) floats, or a message of ROS, optional
        Position [m] in the root link's frame, or in that of `relative_to`.
    quaternion : (4,) floats, optional
        Orientation, x, y, z, w; alternatively `rpy` (3,) [rad] or `rotation`.
    transform : (4, 4) floats, or a type that `ik_core.transform` accepts, optional
        Position and orientation together.
    position_weights, orientation_weights : float, (3,) or (3, 3) floats
        Weights; 0 leaves a component free.
    position_box, orientation_box : float or (3,) floats
        Half widths [m], [rad] of a region about the target in which the error is zero.
    tool : (4, 4) floats, optional
        Frame, in the link's frame, that should reach the target, instead of the link's own.
    relative_to : str, optional
        Link in whose frame the target is given.

    Examples
    --------
    >>> goal = PoseTask('tool0', position=[0.4, 0.1, 0.5], rpy=[3.14, 0.0, 0.0])
    >>> goal.set_target(position=[0.4, 0.2, 0.5])  # the orientation stays

    Weights are one number, one for each of x, y and z, or a symmetric positive semidefinite matrix
    (3, 3). `position_axes`: the axes of the position weights and box, 'root' or 'goal';
    orientation weights act in the goal's axes. `position_box` [m] and `orientation_box` [rad]:
    half widths, one number or (3,), of a region about the target inside which the error is zero;
    the latter in rotation vectors. `transform`, `rpy`, `rotation` and `normalise` are as in
    `set_target`.
    """

    def __init__(
        self,
        link: str,
        position: PointLike | None = None,
        quaternion: VectorLike | None = None,
        transform: TransformLike | None = None,
        *,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        normalise: bool = False,
        position_weights: WeightsLike = 1.0,
        orientation_weights: WeightsLike = 1.0,
        position_axes: PositionAxes = 'root',
        tool: TransformLike | None = None,
        position_box: WeightsLike = 0.0,
        orientation_box: WeightsLike = 0.0,
        relative_to: str | None = None,
    ) -> None:
        super().__init__(
            link,
            position_weights,
            orientation_weights,
            tool,
            position_axes,
            position_box,
            orientation_box,
            relative_to=relative_to,
        )
        self._set_given(
            transform=transform,
            position=position,
            quaternion=quaternion,
            rpy=rpy,
            rotation=rotation,
            normalise=normalise,
        )

    @classmethod
    def for_joints(
        cls,
        joints: int,
        link: str,
        tool: TransformLike | None = None,
        *,
        position: PointLike | None = None,
        quaternion: VectorLike | None = None,
        transform: TransformLike | None = None,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        normalise: bool = False,
        relative_to: str | None = None,
    ) -> PoseTask:
        """Make a goal for a link that is moved by a number of joints.

        With fewer than six joints the position has priority, and the orientation comes as near as
        is then possible (weight `POSITION_FIRST`). The other arguments are those of `PoseTask`;
        a target can be given later, by `set_target`.
        """
        count = exact_number(joints, int)
        if count is None or count < 0:
            raise InvalidOption(
                f'joints is {joints!r}: the number of joints that move {link!r} is needed, as '
                f'len(robot.chain({link!r}))'
            )
        return cls(
            link,
            position,
            quaternion,
            transform,
            rpy=rpy,
            rotation=rotation,
            normalise=normalise,
            orientation_weights=POSITION_FIRST if count < POSE_FREEDOMS else 1.0,
            tool=tool,
            relative_to=relative_to,
        )

    def asking_less(self, joints: int, words: Words) -> str:
        """Advice on goals that constrain less than a whole pose, for too few joints."""
        if not (self.position_weights.all() and self.rotation_weights.all()):
            return words.free
        options = [words.axis] if joints >= AXIS_FREEDOMS else []
        first = words.first.format(joints=joints, link=repr(self.link))
        return ', or '.join([*options, words.point if self.puts_position_first else first])

    def _less(self) -> str:
        if self._missing == {'orientation'}:
            return ', or use PositionTask, which leaves the orientation free'
        return ', or use OrientationTask' if self._missing == {'position'} else ''


class PositionTask(GoalTask):
    """Bring the origin of the link (or of its tool) to a position.

    `weights`: one number, (3,), or a symmetric positive semidefinite matrix (3, 3). With
    `position_axes='goal'` they act in the axes of the target's orientation, given by `quaternion`,
    `rpy` or `rotation`. `box` [m]: half widths, one number or (3,), of a region about the target
    inside which the error is zero.
    """

    def __init__(
        self,
        link: str,
        position: PointLike | None = None,
        quaternion: VectorLike | None = AS_THE_ROOT,
        *,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        weights: WeightsLike = 1.0,
        position_axes: PositionAxes = 'root',
        tool: TransformLike | None = None,
        box: WeightsLike = 0.0,
        relative_to: str | None = None,
    ) -> None:
        super().__init__(link, weights, 0.0, tool, position_axes, box, relative_to=relative_to)
        if quaternion is AS_THE_ROOT and not (rpy is None and rotation is None):
            quaternion = None
        self._set_given(position=position, quaternion=quaternion, rpy=rpy, rotation=rotation)


class OrientationTask(GoalTask):
    """Bring the link to an orientation; `weights`, one number, (3,) or (3, 3), act in its axes.

    The target is one of `quaternion`, `rpy` and `rotation`, as in `set_target`. `box` [rad]: half
    widths, one number or (3,), of a region about the target, in rotation vectors along its axes,
    inside which the error is zero.
    """

    def __init__(
        self,
        link: str,
        quaternion: VectorLike | None = None,
        *,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        weights: WeightsLike = 1.0,
        tool: TransformLike | None = None,
        box: WeightsLike = 0.0,
        relative_to: str | None = None,
    ) -> None:
        super().__init__(link, 0.0, weights, tool, orientation_box=box, relative_to=relative_to)
        self._set_given(quaternion=quaternion, rpy=rpy, rotation=rotation)


class TwoAxisTask(GoalTask):
    """Bring the link to an orientation, measured by two of its axes ([EngellErleben2011] A.1).

    The residual is the difference of the x axes and of the y axes, six rows: smooth everywhere,
    even at 180 degrees, where the residual of OrientationTask jumps. The reported error is the
    same angle as that of OrientationTask.
    """

    def __init__(
        self,
        link: str,
        quaternion: VectorLike | None = None,
        *,
        rpy: VectorLike | None = None,
        rotation: RotationLike | None = None,
        weight: float = 1.0,
        tool: TransformLike | None = None,
        relative_to: str | None = None,
    ) -> None:
        weights = _not_negative(weight, 'weight')
        super().__init__(link, 0.0, weights, tool, relative_to=relative_to)
        self.rotation = kernels.TWO_AXES
        self.rotation_weights = np.repeat(self.rotation_weights, 2)
        self._set_given(quaternion=quaternion, rpy=rpy, rotation=rotation)


class AxisGoal(GoalTask):
    """Base of goals for the direction of one axis, the z axis of `tool`."""

    def set_direction(self, direction: VectorLike) -> None:
        """Set the direction (3,) of the axis, in the frame of the target."""
        self.target[:9] = matrix_onto_axis(_unit(direction, 'direction')).ravel()
        self._note_what_is_set()


class AxisTask(AxisGoal):
    """Point an axis of the link in a direction; the roll about it is free.

    `axis` (3,) is in the link's frame, `direction` (3,) in the root link's frame, or in that of
    `relative_to`; both have any length but zero. Directions within `cone` [rad] count as reached.
    Together with a PositionTask for the same link this is a 5-dof goal.
    """

    def __init__(
        self,
        link: str,
        axis: VectorLike = (0.0, 0.0, 1.0),
        direction: VectorLike | None = None,
        *,
        weight: float = 1.0,
        cone: float = 0.0,
        relative_to: str | None = None,
    ) -> None:
        tool = np.eye(4)
        tool[:3, :3] = matrix_onto_axis(_unit(axis, 'axis'))
        weights = _not_negative(weight, 'weight')
        super().__init__(link, 0.0, weights, tool, cone=cone, relative_to=relative_to)
        self.rotation = kernels.AXIS
        if direction is not None:
            self.set_direction(direction)


class PositionAxisTask(AxisGoal):
    """Bring the origin of the link (or of its tool) to a position, and an axis to a direction.

    A 5-dof goal, which leaves the roll about the axis free.

    Parameters
    ----------
    link : str
        A link of the robot.
    position : (3,) floats, or a message of ROS, optional
        Position [m] in the root link's frame, or in that of `relative_to`.
    axis : (3,) floats, optional
        Axis in the link's frame, or in that of `tool`; of any length but zero.
    direction : (3,) floats, optional
        Direction of the axis, in the frame of the position; of any length but zero.
    transform : (4, 4) floats, or a type that `ik_core.transform` accepts, optional
        Position and direction together: its origin and its z axis.
    position_weight, axis_weight : float
        Weights of the two parts.
    cone : float
        Angle [rad] from the direction within which the axis counts as reached.
    tool : (4, 4) floats, optional
        Frame, in the link's frame, whose origin and axes are used instead of the link's own.
    relative_to : str, optional
        Link in whose frame the target is given.

    Examples
    --------
    >>> goal = PositionAxisTask('tool0', [0.4, 0.1, 0.5], axis=[0, 0, 1], direction=[0, 0, -1])
    >>> goal.set_direction([0.0, 0.5, -1.0])  # the position stays
    """

    def __init__(
        self,
        link: str,
        position: PointLike | None = None,
        axis: VectorLike = (0.0, 0.0, 1.0),
        direction: VectorLike | None = None,
        *,
        transform: TransformLike | None = None,
        position_weight: float = 1.0,
        axis_weight: float = 1.0,
        cone: float = 0.0,
        tool: TransformLike | None = None,
        relative_to: str | None = None,
    ) -> None:
        super().__init__(
            link,
            _not_negative(position_weight, 'position_weight'),
            _not_negative(axis_weight, 'axis_weight'),
            tool,
            cone=cone,
            relative_to=relative_to,
        )
        self.rotation = kernels.AXIS
        along = _unit(axis, 'axis')
        if (along != (0.0, 0.0, 1.0)).any():
            self.tool[:3, :3] = self.tool[:3, :3] @ matrix_onto_axis(along)
        self._set_given(transform=transform, position=position)
        if direction is not None:
            if transform is not None:
                raise InvalidGoal(
                    'the direction is given twice, by transform and as direction: give transform '
                    'alone, or position and direction'
                )
            self.set_direction(direction)

    def asking_less(self, joints: int, words: Words) -> str:
        """Advice on a goal that constrains less than a position and an axis."""
        return words.point

    def _less(self) -> str:
        if self._missing == {'orientation'}:
            return ' or set_direction, or use PositionTask, which leaves the orientation free'
        return ', or use AxisTask' if self._missing == {'position'} else ' and set_direction'


def _name(link: Any, name: str) -> str:
    if not isinstance(link, str):
        raise InvalidOption(f'{name} is {link!r}: the name of a link is needed')
    return link


def _refuse_twice(**parts: Any) -> NoReturn:
    """Raise InvalidGoal for a part of a target that is given together with a transform."""
    name = next(name for name, part in parts.items() if part is not None)
    what = 'a position' if name == 'position' else 'an orientation'
    raise InvalidGoal(
        f'{what} is given twice, by transform and as {name}: give transform alone, or position '
        'and one of quaternion, rpy and rotation'
    )


def _shown(name: str, values: Array) -> str:
    return f'no {name} yet' if np.isnan(values).any() else f'{name}={numbers(values)}'


def _weights(values: WeightsLike, name: str) -> tuple[Array, Array | None]:
    """The weights (3,) and their principal axes (3, 3); None for the axes x, y and z."""
    if not is_matrix(values):
        return _not_negative(values, name), None
    if np.shape(values) != (3, 3):
        raise InvalidOption(f'{name} {values!r}: one number, three, or a (3, 3) matrix')
    return principal_axes(values, name)


def _not_negative(values: WeightsLike, name: str) -> Array:
    """Numbers (3,), finite and not negative, from one number or three. Raises InvalidOption."""
    try:
        vector = np.broadcast_to(np.asarray(values, float), (3,)).copy()
    except (TypeError, ValueError) as error:
        raise InvalidOption(f'{name} {values!r}: one number or three') from error
    if not np.isfinite(vector).all() or (vector < 0.0).any():
        raise InvalidOption(f'{name} {values!r} must be finite and not negative')
    return vector


def _axes(name: str) -> int:
    """The constant for the axes of a position's components. Raises InvalidOption."""
    known = {'root': kernels.ROOT_AXES, 'goal': kernels.GOAL_AXES}
    if name not in known:
        raise InvalidOption(f"position_axes {name!r}: 'root' or 'goal'")
    return known[name]


def _unit(vector: VectorLike, name: str) -> Array:
    """A vector (3,) scaled to length 1. Raises InvalidGoal."""
    v = finite_vector(plain_vector(vector, name), 3, name)
    largest = np.max(np.abs(v))
    if largest == 0.0:
        raise InvalidGoal(f'{name} is zero, which is no direction')
    v = v / largest
    return v / np.linalg.norm(v)
