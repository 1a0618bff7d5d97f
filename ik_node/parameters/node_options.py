# SPDX-License-Identifier: Apache-2.0
"""The node's own options, and a snapshot of all parameters.

An option is a field of a frozen dataclass with a default, a type and metadata; solvers and the
tracker have option classes of their own. `specs` makes ROS parameters of all of them.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from ik_core import SOLVERS
from ik_core.exceptions import InvalidOption
from ik_core.options import option
from ik_core.solvers import PresetName, SolverName
from ik_core.tracking import TrackerOptions

TIGHTEST = 1e-12  # [m, rad] smallest tolerance: rounding prevents smaller errors
# Parts of the tip's height and tilt that a planar goal keeps.
PLANAR_GOALS = ('keep_z_roll_pitch', 'keep_z', 'keep_roll_pitch', 'as_sent')
# Parts of a goal's pose that count; auto: the pose, or with fewer than six joints the position
# first; axis: the position and the direction of the z axis.
GOAL_KINDS = ('auto', 'pose', 'position', 'axis')
AVOIDED = ('none', 'self', 'world')


@dataclass(frozen=True)
class NodeOptions:
    """Options of the node itself, without those of the solvers and the tracker."""

    robot_description: str = option(
        '',
        'URDF text of the robot; empty: urdf_path, or else the topic robot_description',
        static=True,
    )
    urdf_path: str = option(
        '', 'URDF, .xacro or MJCF file, read when robot_description is empty', static=True
    )
    joint_limits_path: str = option(
        '',
        'joint_limits.yaml of MoveIt or ros2_control, which can tighten the limits of the URDF; '
        'empty: none',
        static=True,
    )
    soft_limits: bool = option(
        True, 'soft limits of <safety_controller> in the URDF count', static=True
    )
    base_link: str = option(
        '',
        'fixed link in whose frame goals without a frame are given; empty: the root',
        static=True,
    )
    frame_prefix: str = option(
        '',
        'put before the names of links in the headers of messages and in tf, as '
        'robot_state_publisher does: left/ and right/ for two robots of one description',
        static=True,
    )
    tip_links: tuple[str, ...] = option(
        (), 'links that follow goals; empty: the end of the longest chain', static=True
    )
    rate: float = option(
        250.0, 'joint states per second', unit='Hz', bounds=(1.0, 10000.0), static=True
    )
    output: str = option(
        'joint_state',
        'type of the published command; with all but joint_state the robot starts at the '
        'measured joint_states',
        choices=('joint_state', 'joint_trajectory', 'position_command'),
        static=True,
    )
    start_state_topic: str = option(
        '',
        'with output joint_state: topic with the measured sensor_msgs/JointState of a robot, at '
        'which the command begins; empty: it begins in the middle of the limits',
        static=True,
    )
    command_joints: tuple[str, ...] = option(
        (),
        'joints to publish, in this order; empty: all joints in a joint_state, otherwise those '
        'that the goals move, in the order of the URDF',
        static=True,
    )
    frozen_joints: tuple[str, ...] = option((), 'joints that goals do not move', static=True)
    avoid: Literal['none', 'self', 'world'] = option(
        'none',
        'what the motion keeps clear of: self: the links of the robot, of one another; world: and '
        'of the obstacles in world_file and on the topics of obstacles',
        choices=AVOIDED,
        static=True,
    )
    avoid_margin: float = option(
        0.01,
        'distance that links keep from one another and from obstacles in motion, with avoid',
        unit='m',
        bounds=(0.0, 1.0),
        static=True,
    )
    world_file: str = option(
        '',
        'YAML file with obstacles by name, for avoid: world; empty: only those of topics',
        static=True,
    )
    trajectory_delay: float = option(
        0.014,
        'largest transport time of a joint_trajectory, including a period of the controller; the '
        'joints lag behind the commands by this and 1.5 periods',
        unit='s',
        bounds=(0.0, 0.1),
        static=True,
    )
    frame_patience: float = option(
        0.5,
        'how long a goal waits for its frame to be known at its stamp: for a newer transform of '
        'tf2, or a newer state of the joints',
        unit='s',
        bounds=(0.0, 60.0),
        static=True,
    )
    input: str = option(
        'goals',
        'source of motion; teleop: also the poses of hands on hand_pose, while their switch is '
        'closed',
        choices=('goals', 'teleop'),
        static=True,
    )
    planar_goals: str = option(
        'keep_z_roll_pitch',
        'parts of the height and tilt (roll, pitch) of the tip, in the frame of the goal, that a '
        'goal on goal_pose_2d (x, y and yaw only, as 2D Goal Pose of RViz) keeps',
        choices=PLANAR_GOALS,
    )
    command_in_type: str = option(
        'speed_units',
        'unit of twists: m/s and rad/s, or from -1 to 1 (see scale)',
        choices=('speed_units', 'unitless'),
    )
    joint_limit_margin: float = option(
        0.01,
        'a joint nearer than this to its limit is reported as at its limit',
        unit='rad or m',
        bounds=(0.0, math.inf),
    )
    state_timeout: float = option(
        0.5,
        'with measured states: the robot stops after this time without joint_states',
        unit='s',
        bounds=(0.01, math.inf),
    )
    state_tolerance: float = option(
        0.02,
        'with measured states: largest difference between states of a robot at rest, and between '
        'a robot at rest and its command; state_tolerance.<joint> is that of one joint',
        unit='rad or m',
        bounds=(0.0, math.inf),
    )
    after_not_following: str = option(
        'return',
        'reaction of the command to a robot that did not follow, once it rests; return: move to '
        'the position of the robot, within all limits, once for the same difference; wait: stay '
        'until ~/reset is called',
        choices=('return', 'wait'),
    )
    interactive_markers: str = option(
        'auto',
        'markers to drag in RViz; auto: if the package interactive_markers is installed',
        choices=('auto', 'true', 'false'),
        static=True,
    )
    compute_ik: bool = option(
        False, 'offer the service compute_ik, if moveit_msgs is installed', static=True
    )
    compute_ik_group: str = option(
        '',
        'name of the planning group for compute_ik; empty: the name of the robot',
        static=True,
    )
    collision_margin: float = option(
        0.01,
        'distance at which links count as colliding in ~/collision_markers',
        unit='m',
        bounds=(0.0, 1.0),
    )
    compute_ik_margin: float = option(
        0.0,
        'distance that links keep from one another and from objects in answers of compute_ik '
        'with avoid_collisions; 0: they do not touch',
        unit='m',
        bounds=(0.0, 1.0),
    )
    compute_ik_ignore: tuple[str, ...] = option(
        (),
        'parts of a planning scene that may be left out where they can not be read, instead of '
        'declining avoid_collisions of compute_ik, and new goals with avoid: world: octomap, '
        'cone, plane, mesh, marker, frame, link_padding, or ids of objects',
    )
    autostart: bool = option(
        True, 'configure and activate at start, without a lifecycle manager', static=True
    )
    record: bool = option(False, 'record from the start, without a call of ~/record', static=True)
    record_folder: str = option('', 'folder for recordings; empty: the working directory')
    record_minutes: float = option(
        10.0, 'time span that a recording keeps', unit='min', bounds=(0.1, 1440.0)
    )
    solver: SolverName = option(
        'levenberg_marquardt', 'name of the solver', choices=tuple(SOLVERS)
    )
    preset: PresetName | Literal[''] = option(
        '',
        'options of the solver as in a paper; options that are not at their defaults override it',
        choices=('', *sorted({name for kind in SOLVERS.values() for name in kind.presets})),
    )
    position_tolerance: float = option(
        1e-5, 'error below which a goal counts as reached', unit='m', bounds=(TIGHTEST, 1.0)
    )
    orientation_tolerance: float = option(
        1e-4, 'error below which a goal counts as reached', unit='rad', bounds=(TIGHTEST, math.pi)
    )
    orientation_length: float = option(
        0.2,
        'distance that weighs as much as 1 rad, for goals that are not reached',
        unit='m',
        bounds=(TIGHTEST, 1000.0),
    )

    def __post_init__(self) -> None:
        for name in ('urdf_path', 'joint_limits_path', 'world_file', 'record_folder'):
            _check_home(name, getattr(self, name))


def _check_home(name: str, path: str) -> None:
    """Raise InvalidOption if a path begins with the ~user of an unknown user."""
    try:
        Path(path).expanduser()
    except RuntimeError as error:
        raise InvalidOption(f'{name} is {path!r}: no home of {Path(path).parts[0]}') from error


@dataclass(frozen=True)
class TwistScale:
    """The full speed of unitless twist commands."""

    linear: float = option(
        0.25, 'speed of a unitless twist command of 1', unit='m/s', bounds=(0.0, 1e3)
    )
    rotational: float = option(
        1.0, 'speed of a unitless twist command of 1', unit='rad/s', bounds=(0.0, 1e3)
    )


WIDE = 1e3  # [m] of a box that keeps no arm from anything


@dataclass(frozen=True)
class TeleopOptions:
    """How hands move the tips, with `input: teleop`."""

    scale: float = option(1.0, 'scale of displacements of a hand', bounds=(1e-3, 1e3), static=True)
    rotation_scale: float = option(
        1.0, 'scale of turns of a hand', bounds=(1e-3, 1e3), static=True
    )
    mirror: str = option(
        'none',
        'axis of the root link whose direction is mirrored: y for a user who faces the robot',
        choices=('none', 'x', 'y', 'z'),
        static=True,
    )
    linear_velocity: float = option(
        1.0, 'maximum velocity of a tip', unit='m/s', bounds=(1e-3, 1e3), static=True
    )
    angular_velocity: float = option(
        4.0, 'maximum velocity of a tip', unit='rad/s', bounds=(1e-3, 1e3), static=True
    )
    box_lower: tuple[float, ...] = option(
        (-WIDE, -WIDE, -WIDE),
        'lower corner of the box that tips stay in, in the frame of the root link',
        unit='m',
        bounds=(-WIDE, WIDE),
        static=True,
    )
    box_upper: tuple[float, ...] = option(
        (WIDE, WIDE, WIDE), 'upper corner of this box', unit='m', bounds=(-WIDE, WIDE), static=True
    )
    latency: float = option(
        0.0,
        'gaps between poses up to this one cost nothing, but the tip is late by it: 0.03 for a '
        'wire, 0.15 for wifi; 0: that of 95 % of the gaps of the last 10 s, chosen at engaging',
        unit='s',
        bounds=(0.0, 1.0),
        static=True,
    )
    button: int = option(
        -1,
        "index of the button on joy that is the dead man's switch of all hands; -1: the topics "
        'hand_engaged are',
        bounds=(-1, 1000),
        static=True,
    )
    switch_timeout: float = option(
        0.5,
        'a switch without a message for this time is open',
        unit='s',
        bounds=(0.01, 10.0),
        static=True,
    )

    def __post_init__(self) -> None:
        corners = zip('xyz', self.box_lower, self.box_upper, strict=True)
        for axis, lower, upper in corners:
            if lower > upper:
                raise InvalidOption(
                    f'teleop.box_lower is {lower:g} along {axis}, above the {upper:g} of '
                    'teleop.box_upper'
                )


@dataclass(frozen=True)
class ExampleOptions:
    """Options of following goals in the style of an example: [TakKo] Eq. 1."""

    file: str = option(
        '',
        'motion of this robot (.csv or .npz) whose postures the free joints follow; empty: none, '
        'until one arrives on example_trajectory',
        static=True,
    )
    alpha: float = option(
        1.0, 'weight of the goals; 0: copy the postures of the example', bounds=(0.0, 1.0)
    )
    beta: float = option(1e-5, 'weight of the example; 0: no example', bounds=(0.0, 1.0))
    exact: bool = option(
        True,
        'goals are reached for all alpha and beta, which only choose among the postures; false: '
        'alpha and beta weigh the goals against the example',
    )

    def __post_init__(self) -> None:
        _check_home('example.file', self.file)
        if self.alpha == self.beta == 0.0:
            raise InvalidOption('example.alpha and example.beta are both 0: nothing would count')


@dataclass(frozen=True)
class Tool:
    """The pose of a tip's tool centre point in the frame of the tip's link: xyz [m], rpy [rad]."""

    xyz: tuple[float, ...] = (0.0, 0.0, 0.0)
    rpy: tuple[float, ...] = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Limits:
    """Limits of one joint as parameters [rad or m, s]; inf for no limit.

    `following_error` [rad or m] is the largest deviation of the measured joint from its commands.
    """

    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    acceleration: float = math.inf
    jerk: float = math.inf
    following_error: float = math.inf


@dataclass(frozen=True)
class NodeParameters:
    """A checked snapshot of all parameters.

    `joint_limits`, `home` and `state_tolerances` are by joint, `tools`, `goal_kinds` and
    `goal_frames` by tip.
    """

    node: NodeOptions
    tracker: TrackerOptions
    solver_options: Any
    scale: TwistScale
    default_limits: Limits
    joint_limits: Mapping[str, Limits]
    tools: Mapping[str, Tool]
    example: ExampleOptions = ExampleOptions()
    teleop: TeleopOptions = TeleopOptions()
    goal_kinds: Mapping[str, str] = field(default_factory=dict)
    goal_frames: Mapping[str, str] = field(default_factory=dict)
    home: Mapping[str, float] = field(default_factory=dict)
    state_tolerances: Mapping[str, float] = field(default_factory=dict)
