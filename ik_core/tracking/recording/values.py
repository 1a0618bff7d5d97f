# SPDX-License-Identifier: Apache-2.0
"""Values of a recording as JSON, their arrays beside it."""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from typing import Any

import numpy as np

from ...exceptions import InvalidOption
from ...maths.rotations import Array
from ...problem import IkProblem
from ...result import IkResult, IkStatus
from ...robot.robot import Robot
from ..approach import Approach
from ..goal_solver import Phase, Progress
from ..governor import Governor
from ..instructions import INSTRUCTIONS, Instruction
from ..motion_limits import MotionLimits
from ..other_configuration import OtherConfiguration
from ..speed_scale import SpeedScale
from ..state import Drive, JointGoal
from ..status import TrackStatus
from ..tips import Drag, Hold, Jog, Line, Request, Stream
from ..tracker_options import TrackerOptions
from .recorded_problems import describe_problem, make_problem

RECORDS: dict[str, Any] = {
    kind.__name__: kind
    for kind in (
        *(Approach, Drag, Hold, IkResult, Jog, JointGoal, Line, OtherConfiguration, Progress),
        *(Request, SpeedScale, Stream, TrackerOptions),
    )
}
"""Records that are encoded by their fields, by name."""
ENUMS: dict[str, Any] = {kind.__name__: kind for kind in (Drive, IkStatus, Phase, TrackStatus)}


class Encoder:
    """Makes JSON of values; the arrays are kept in `numbers`."""

    def __init__(self) -> None:
        self.numbers = array('d')

    def encode(self, value: Any) -> Any:
        """The value as JSON. Raises InvalidOption where it can't be recorded."""
        if value is None or isinstance(value, (bool, int, float, str)):
            return value
        if isinstance(value, np.ndarray):
            return {'array': [self._store(value), *value.shape]}
        if isinstance(value, np.generic):
            return value.item()
        if isinstance(value, MotionLimits):
            return {'limits': self.encode(value.rows)}
        if isinstance(value, Governor):
            return {'governor': self.encode((value.limits, value.period, value.state))}
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
        """The name and the fields of an instruction."""
        fields = {name: self.encode(field) for name, field in vars(value).items()}
        return [type(value).__name__, fields]

    def _store(self, values: Array) -> int:
        offset = len(self.numbers)
        self.numbers.extend(np.asarray(values, float).ravel().tolist())
        return offset


class Decoder:
    """Makes values of what an Encoder made, for a robot and its `numbers`."""

    def __init__(self, robot: Robot, numbers: Array) -> None:
        self._robot, self._numbers = robot, numbers

    def decode(self, value: Any) -> Any:
        """The value. Raises what its constructor raises, KeyError, TypeError, ValueError."""
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
        if kind in ENUMS:
            return ENUMS[kind](content)
        if kind in RECORDS:
            return RECORDS[kind](**{key: self.decode(field) for key, field in content.items()})
        if kind == 'problem':
            return make_problem(self._robot, self.decode(content))
        return {key: self.decode(entry) for key, entry in content}

    def instruction(self, name: str, fields: Mapping[str, Any]) -> Instruction:
        """The instruction of this name."""
        if name not in INSTRUCTIONS:
            raise ValueError(f'a tracker of this version does not support {name}')
        return INSTRUCTIONS[name](**{key: self.decode(field) for key, field in fields.items()})
