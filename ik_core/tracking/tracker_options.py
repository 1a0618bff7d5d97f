# SPDX-License-Identifier: Apache-2.0
"""Options of a tracker."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import OptionSet, option

Move = Literal['joint', 'linear']
SpeedProfile = Literal['square_root', 'linear']


@dataclass(frozen=True)
class TrackerOptions(OptionSet):
    """Options of a tracker: how it follows goals."""

    updates_per_tick: int = option(
        0, 'solver iterations per tick; 0 solves to convergence in every tick', bounds=(0, 10**6)
    )
    goal_jump_position: float = option(
        0.1,
        'a goal that moves farther than this in one tick has jumped, and may need a search',
        unit='m',
        bounds=(0.0, math.inf),
    )
    goal_jump_orientation: float = option(
        0.5,
        'a goal that rotates farther than this in one tick has jumped, and may need a search',
        unit='rad',
        bounds=(0.0, math.inf),
    )
    replan_period: float = option(
        0.5, 'minimum time between the starts of two searches', unit='s', bounds=(0.0, math.inf)
    )
    reconfigure: bool = option(
        False,
        'once the joints have rested for 1 s without reaching a goal, go to another configuration '
        'that reaches it or comes closer, if there is one; false: only report it',
    )
    goal_timeout: float = option(
        0.0,
        'a goal older than this is dropped and the arm stops; 0: no timeout',
        unit='s',
        bounds=(0.0, math.inf),
    )
    move: Move = option(
        'joint',
        'motion to a goal: of the joints, or of the tip in a straight line',
        choices=get_args(Move),
    )
    speed_profile: SpeedProfile = option(
        'square_root',
        'speed of the joints along their path to a goal that jumped: proportional to the square '
        'root of the path (constant acceleration, the fastest), or to the path',
        choices=get_args(SpeedProfile),
    )
    linear_velocity: float = option(
        0.25, 'maximum velocity of straight lines and twists', unit='m/s', bounds=(1e-6, 1e3)
    )
    angular_velocity: float = option(
        1.0, 'maximum velocity of straight lines and twists', unit='rad/s', bounds=(1e-6, 1e3)
    )
    linear_acceleration: float = option(
        1.0, 'maximum acceleration of straight lines and twists', unit='m/s^2', bounds=(1e-6, 1e6)
    )
    angular_acceleration: float = option(
        4.0,
        'maximum acceleration of straight lines and twists',
        unit='rad/s^2',
        bounds=(1e-6, 1e6),
    )
    feed_forward: bool = option(
        False, 'also follow the velocity of a stream of goals: no lag, but possible overshoot'
    )
    rest_rate: float = option(
        0.0,
        'rate at which free joints approach the rest posture, as exp(-rate t); 0: they do not',
        unit='1/s',
        bounds=(0.0, 100.0),
    )
    twist_timeout: float = option(
        0.1, 'the tip stops when its twist is older than this', unit='s', bounds=(0.0, 10.0)
    )
    lower_singularity_threshold: float = option(
        17.0,
        'condition number from which twists towards a singularity slow down',
        bounds=(1.0, math.inf),
    )
    hard_stop_singularity_threshold: float = option(
        30.0,
        'condition number at which twists towards a singularity stop',
        bounds=(1.0, math.inf),
    )

    @property
    def speeds(self) -> Array:
        """Linear and angular velocity, then accelerations, of straight lines and twists (4,)."""
        return np.array(
            [
                self.linear_velocity,
                self.angular_velocity,
                self.linear_acceleration,
                self.angular_acceleration,
            ]
        )


def checked_options(options: object) -> TrackerOptions:
    """Return the options. Raises InvalidOption for anything else."""
    if not isinstance(options, TrackerOptions):
        raise InvalidOption(
            f"options is {options!r}: TrackerOptions are needed, as TrackerOptions(move='linear')"
        )
    return options
