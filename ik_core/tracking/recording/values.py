# SPDX-License-Identifier: Apache-2.0
"""Values of a recording as JSON, with their numbers in an array."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...collision.collisions import Collisions
from ...collision.world import World
from ...exceptions import InvalidOption
from ...maths.rotations import Array
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from ...robot.robot import Robot
from ..goals.joint_goals import JointGoal
from ..goals.tips import Drag, Hold, Jog, Line, Request, Stream
from ..governor.clearance import Clearance
from ..governor.governor import Governor
from ..governor.motion_limits import MotionLimits
from ..governor.slow_in_out import SlowInOut
from ..governor.speed_scale import SpeedScale
from ..instructions import INSTRUCTIONS, Instruction
from ..solution.goal_solver import Phase, Progress
from ..solution.other_configuration import OtherConfiguration
from ..state import Drive
from ..status import TrackStatus
from ..tracker_options import TrackerOptions
from .recorded_collisions import (
    describe_collisions,
    describe_world,
    make_collisions,
    make_world,
)
from .recorded_problems import describe_problem, make_problem

# Records that are encoded by their fields, by their names in a file.
RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        Drag, Hold, IkResult, Jog, JointGoal, Line, OtherConfiguration, Progress, Request,
        SlowInOut, SpeedScale, Stream, TrackerOptions,
    )
}  # fmt: skip
ENUMS: dict[str, Any] = {kind.__name__: kind for kind in (Drive, IkStatus, Phase, TrackStatus)}


class Encoder:
    """Conversion of values to JSON; their arrays are appended to `numbers`."""

    def __init__(self) -> None:
        self.numbers = array('d')

    def encode(self, value: Any) -> Any:
        """Return the value as JSON. Raises InvalidOption if it can't be recorded."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.ndarray):
            return {'array': [self._store(value), *value.shape]}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, MotionLimits):
            return {'limits': self.encode(value.rows)}
        if isinstance(value, Governor):
            state = value.limits, value.period, value.state, value.announced, value.clearance
            return {'governor': self.encode(state)}
        if isinstance(value, Clearance):
            return {'clearance': self.encode((value.collisions, value.floors))}
        if isinstance(value, Collisions):
            return {'collisions': self.encode(describe_collisions(value))}
        if isinstance(value, World):
            return {'world': self.encode(describe_world(value))}
        name = type(value).__name__
        if name in ENUMS:
            return {name: value.value}
        if name in RECORDS:
            fields = value._asdict() if hasattr(value, '_asdict') else vars(value)
            return {name: {key: self.encode(field) for key, field in fields.items()}}
        if isinstance(value, IkProblem):
            return {'problem': self.encode(describe_problem(value))}
        if isinstance(value, Mapping):
            return {'mapping': [[key, self.encode(entry)] for key, entry in value.items()]}
        if isinstance(value, (list, tuple)):
            return [self.encode(entry) for entry in value]
        raise InvalidOption(f"a {type(value).__name__} can't be recorded")

    def instruction(self, value: Instruction) -> list[Any]:
        """Return the name and the fields of an instruction."""
        fields = {name: self.encode(field) for name, field in vars(value).items()}
        return [type(value).__name__, fields]

    def _store(self, values: Array) -> int:
        """Append an array to `numbers`; return its offset."""
        offset = len(self.numbers)
        self.numbers.extend(np.asarray(values, float).ravel().tolist())
        return offset


class Decoder:
    """Conversion of the JSON of an Encoder to values, for a robot and its `numbers`."""

    def __init__(self, robot: Robot, numbers: Array) -> None:
        self._robot, self._numbers = robot, numbers

    def decode(self, value: Any) -> Any:
        """Return the value. Raises KeyError, TypeError, ValueError, errors of its constructor."""
        if isinstance(value, list):
            return [self.decode(entry) for entry in value]
        if not isinstance(value, dict):
            return value
        ((kind, content),) = value.items()
        if kind == 'array':
            offset, *shape = content
            return self._numbers[offset : offset + int(np.prod(shape))].reshape(shape).copy()
        if kind == 'limits':
            return MotionLimits(*self.decode(content))
        if kind == 'governor':
            return Governor.resume(*self.decode(content))
        if kind == 'clearance':
            return Clearance.resume(*self.decode(content))
        if kind == 'collisions':
            return make_collisions(self._robot, *self.decode(content))
        if kind == 'world':
            return make_world(*self.decode(content))
        if kind in ENUMS:
            return ENUMS[kind](content)
        if kind in RECORDS:
            return RECORDS[kind](**{key: self.decode(field) for key, field in content.items()})
        if kind == 'problem':
            return make_problem(self._robot, self.decode(content))
        return {key: self.decode(entry) for key, entry in content}

    def instruction(self, name: str, fields: Mapping[str, Any]) -> Instruction:
        """Return the instruction of this name. Raises ValueError for an unknown name."""
        if name not in INSTRUCTIONS:
            raise ValueError(f'a tracker of this version does not support {name}')
        return INSTRUCTIONS[name](**{key: self.decode(field) for key, field in fields.items()})
