"""Options of a tracker."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import OptionSet, option


@dataclass(frozen=True)
class TrackerOptions(OptionSet):
    """Options of a tracker: how it follows goals."""

    updates_per_tick: int = option(
        0, 'solver iterations per tick; 0 solves to convergence in every tick', bounds=(0, 10**6)
    )
    goal_jump_position: float = option(
        0.1,
        'a goal that moves farther than this in one tick is new: it may be searched for',
        unit='m',
        bounds=(0.0, math.inf),
    )
    goal_jump_orientation: float = option(
        0.5,
        'a goal that turns farther than this in one tick is new: it may be searched for',
        unit='rad',
        bounds=(0.0, math.inf),
    )
    replan_period: float = option(
        0.5, 'least time between the starts of two searches', unit='s', bounds=(0.0, math.inf)
    )
    goal_timeout: float = option(
        0.0,
        'a goal older than this is dropped and the arm stops; 0 keeps goals for ever',
        unit='s',
        bounds=(0.0, math.inf),
    )
    move: str = option(
        'joint',
        'how goals are gone to: by the joints, or by the tip in a straight line',
        choices=('joint', 'linear'),
    )
    speed_profile: str = option(
        'square_root',
        'how the speed of joints on the way to a goal that jumped rises and falls with the way: '
        'as its square root, which is evenly in time and the fastest, or linearly',
        choices=('square_root', 'linear'),
    )
    linear_velocity: float = option(
        0.25, 'of straight lines and twists, at most', unit='m/s', bounds=(1e-6, 1e3)
    )
    angular_velocity: float = option(
        1.0, 'of straight lines and twists, at most', unit='rad/s', bounds=(1e-6, 1e3)
    )
    linear_acceleration: float = option(
        1.0, 'of straight lines and twists, at most', unit='m/s^2', bounds=(1e-6, 1e6)
    )
    angular_acceleration: float = option(
        4.0, 'of straight lines and twists, at most', unit='rad/s^2', bounds=(1e-6, 1e6)
    )
    feed_forward: bool = option(
        False, 'follow the velocity of a stream of goals too: no lag, but it may overshoot'
    )
    rest_rate: float = option(
        0.0,
        'how fast joints are drawn to the rest posture where the goals leave them free: what '
        'is left falls by this share in a second; 0: not at all',
        unit='1/s',
        bounds=(0.0, 100.0),
    )
    twist_timeout: float = option(
        0.1, 'a twist older than this ends: the tip stops', unit='s', bounds=(0.0, math.inf)
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
    """The options; InvalidOption where they are none."""
    if not isinstance(options, TrackerOptions):
        raise InvalidOption(
            f"options is {options!r}: TrackerOptions are needed, as TrackerOptions(move='linear')"
        )
    return options
