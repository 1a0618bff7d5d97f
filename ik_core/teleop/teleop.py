# SPDX-License-Identifier: Apache-2.0
"""Teleoperation: hands move tips, without jumps and within the limits.

    teleop = ik.Teleop('so101.urdf', tip='gripper_frame_link', rate=100, limits=limits)
    teleop.push(hand, stamp=t, engaged=grip > 0.5)  # for each sample, as it comes
    q = teleop.step(now, measured=q)                # once per period

Each tip has a `Hand`, which makes the instructions for one `Tracker` of all joints.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from functools import partial

import numpy as np

from ..collision import Collisions
from ..display import listed
from ..exceptions import InvalidConfiguration, InvalidOption
from ..maths.argument_types import Names, TransformLike, VectorLike
from ..maths.rotations import Array, frame_of, transform_of
from ..maths.transforms import checked_transform
from ..optim.search import Clock
from ..options import exact_number
from ..problem import IkProblem
from ..robot.robot import Robot, check_robot
from ..robot.robot_sources import load_robot
from ..tasks import PoseTask
from ..tracking import Command, MotionLimits, Tracker, TrackerOptions
from ..tracking.governor.motion_limits import checked_limits
from ..tracking.instructions import Instruction, Reset, Stop, check_time
from .clutch import HandOptions
from .hand import Hand, HandState, Received

# [rad or m] Joints at rest that are measured farther from their command were moved by others.
# Those that are nearer sag: a command that followed them would let the arm sink.
MOVED = 0.1


class Teleop:
    """Move tips of a robot as hands move, one command per period, within the motion limits.

    robot : a Robot, or the path or name of one
    tip : the link that a hand moves, or several, each with a hand of its own
    rate [Hz] : of `step`
    limits : of every step; a limit of acceleration is needed for every joint that moves
    options : of the hands; a mapping by tip for different ones
    avoid : Collisions that all tips avoid together
    frozen_joints : names of joints that no hand moves
    tracking : options of the tracker
    clock : clock of the solver's time budget

    Tips that fewer than six joints move follow the position, and the orientation as far as they
    then can. `push` may be called from another thread than the rest. Raises InvalidOption,
    UnsupportedProblem, FrameNotFound, UrdfError.
    """

    def __init__(
        self,
        robot: Robot | str,
        tip: str | Sequence[str],
        rate: float,
        limits: MotionLimits | None = None,
        *,
        options: HandOptions | Mapping[str, HandOptions] | None = None,
        avoid: Collisions | None = None,
        frozen_joints: Names = (),
        tracking: TrackerOptions | None = None,
        clock: Clock = time.perf_counter,
    ) -> None:
        if isinstance(robot, str):
            robot = load_robot(robot)
        check_robot(robot)
        tips = [tip] if isinstance(tip, str) else list(tip)
        if not tips or len(set(tips)) < len(tips):
            raise InvalidOption(f'tip = {tip!r}: one link or several different ones are needed')
        chains = [[i for i in robot.chain(link) if robot.joint_names[i] not in frozen_joints]
                  for link in tips]  # fmt: skip
        limits = _limits_with_accelerations(robot, limits, sorted({i for c in chains for i in c}))
        goals = [
            PoseTask.for_joints(len(chain), link) for link, chain in zip(tips, chains, strict=True)
        ]
        problem = IkProblem(robot, goals, avoid=avoid, frozen_joints=frozen_joints)
        self.tracker = Tracker(
            problem, rate, limits=limits, options=tracking, clock=clock, background=None
        )
        """The tracker that moves the joints; only to be read."""
        self.command: Command | None = None
        """Command and report of the last step; None before the first one."""
        self._robot = robot
        self._hands = {
            link: Hand(
                self.tracker,
                index,
                chains[index],
                [i for i in chains[index] if sum(i in chain for chain in chains) > 1],
                partial(_frame_of_link, robot, link),
                _options_of(options, link, tips),
                position_first=goals[index].puts_position_first,
            )
            for index, link in enumerate(tips)
        }
        moved = self.tracker.auxiliary_joints
        for link, hand in self._hands.items():
            if hand.gripper is not None and hand.gripper not in moved:
                raise InvalidOption(
                    f'gripper = {hand.gripper!r} of {link!r}: must be a joint that moves no tip: '
                    f'{listed(sorted(moved)) or "there is none"}'
                )
        self._arms = np.array([name not in moved for name in robot.joint_names])

    def __repr__(self) -> str:
        hands = [f'{tip!r} {hand.state.value}' for tip, hand in self._hands.items()]
        return f'<Teleop of {self._robot.name!r} at {self.tracker.rate:g} Hz: {listed(hands)}>'

    @property
    def states(self) -> dict[str, HandState]:
        """The state of each tip."""
        return {tip: hand.state for tip, hand in self._hands.items()}

    @property
    def latencies(self) -> dict[str, float]:
        """The latency [s] of each tip, which changes only at engaging."""
        return {tip: hand.stream.latency for tip, hand in self._hands.items()}

    @property
    def goals(self) -> dict[str, Array | None]:
        """The goal (4, 4) of each tip in the root link's frame; None while no hand moves it."""
        return {
            tip: transform_of(hand.clutch.goal) if hand.is_followed else None
            for tip, hand in self._hands.items()
        }

    def push(
        self,
        hand: TransformLike,
        stamp: float | None,
        engaged: bool,
        *,
        gripper: float | None = None,
        tip: str | None = None,
        received: float | None = None,
    ) -> None:
        """Add a sample of a hand; the next `step` uses it.

        hand (4, 4) : pose of the hand in any fixed frame, or another type that
            `ik_core.transform` accepts
        stamp [s] : when that was measured, by any clock; None if that is not known: the time of
            the next step, so that bursts of samples are lost but for the last one
        engaged : whether the dead man's switch is closed. The tip follows from the moment that it
            is closed, and stops at once when it is opened
        gripper [rad or m] : position of the gripper's joint, which moves there within its limits,
            while the tip follows
        tip : the tip that this hand moves; needed if there are several
        received [s] : when the sample came, by the clock of `step`; by default in the next step

        Samples may be missing, late, in bursts or in the wrong order. Raises InvalidGoal if the
        pose is not finite or not rigid, InvalidOption for other arguments, and keeps nothing.
        """
        if tip is None and len(self._hands) > 1:
            raise InvalidOption(f'tip = None: name one of {listed(self._hands)}')
        link = next(iter(self._hands)) if tip is None else tip
        if link not in self._hands:
            raise InvalidOption(f'tip = {tip!r}: one of {listed(self._hands)}')
        if not isinstance(engaged, (bool, np.bool_)):
            raise InvalidOption(f'engaged = {engaged!r}: true or false, as grip > 0.5')
        frame = frame_of(checked_transform(hand))
        position = _finite(gripper, 'gripper', 'rad or m')
        if position is not None and self._hands[link].gripper is None:
            raise InvalidOption(
                f'gripper = {gripper!r}, but {link!r} has none: name its joint, as in '
                "options=HandOptions(gripper='gripper')"
            )
        times = _finite(stamp, 'stamp', 's'), _finite(received, 'received', 's')
        self._hands[link].push(Received(*times, frame, position, bool(engaged)))

    def step(self, now: float, measured: VectorLike | None = None) -> Array:
        """Advance by one period; return the commanded joints q (n,).

        now [s] : time of this step, by any clock that does not go back
        measured (n,) : where the joints are, also outside their limits. The first step needs it
            and returns it; later it shows that others moved the joints while no hand does

        Raises InvalidOption if `now` is not finite, InvalidConfiguration if `measured` is not.
        """
        check_time(now)
        self._find_joints(measured)
        instructions: list[Instruction] = []
        followed = any(hand.is_followed for hand in self._hands.values())
        for hand in self._hands.values():
            instructions += hand.move(now)
        if followed and not any(hand.is_followed for hand in self._hands.values()):
            instructions.append(Stop())
        self.command = command = self.tracker.tick(now, instructions)
        for _, error in command.refused:
            raise error
        for hand in self._hands.values():
            hand.see(command)
        return command.q

    def _find_joints(self, measured: VectorLike | None) -> None:
        """Begin where the joints are measured, if that is not where they were sent to."""
        tracker = self.tracker
        if measured is None:
            if self.command is None:
                raise InvalidConfiguration(
                    'measured = None: the first step needs the measured joints (n,), since the '
                    'motion begins there'
                )
            return
        q = self._robot.checked(measured, 'measured')
        if self.command is not None:
            if not tracker.at_rest or any(hand.is_followed for hand in self._hands.values()):
                return
            q = np.where(self._arms, q, tracker.q)  # a gripper that holds something is not moved
            if (np.abs(q - tracker.q) <= MOVED).all():
                return
        for instruction in (Reset(q), Stop()):  # joints outside their limits stay there
            tracker.apply(instruction)


def _frame_of_link(robot: Robot, link: str, q: Array) -> Array:
    return frame_of(robot.forward_kinematics(q, link))


def _options_of(
    options: HandOptions | Mapping[str, HandOptions] | None, tip: str, tips: Sequence[str]
) -> HandOptions:
    """Return the options of a tip. Raises InvalidOption for others, and for unknown tips."""
    own: object = options
    if isinstance(options, Mapping):
        unknown = [name for name in options if name not in tips]
        if unknown:
            raise InvalidOption(f'options of {unknown[0]!r}, which is no tip: {listed(tips)}')
        own = options.get(tip)
    if own is None:
        return HandOptions()
    if not isinstance(own, HandOptions):
        raise InvalidOption(
            f'options of {tip!r} are {own!r}: HandOptions are needed, as HandOptions(scale=0.5)'
        )
    return own


def _limits_with_accelerations(
    robot: Robot, limits: MotionLimits | None, joints: Sequence[int]
) -> MotionLimits:
    """Return the limits; raise InvalidOption if a joint of these has no limit of acceleration."""
    of = 'limits=ik.MotionLimits.of(robot, velocity=1.0, acceleration=5.0)'
    made = f'{of} [rad/s, rad/s^2; m for prismatic joints] is slow enough for first tries'
    if limits is None:
        raise InvalidOption(f'limits = None: hands need limits of acceleration: {made}')
    checked_limits(limits).check_size(robot.n)
    names = [robot.joint_names[i] for i in joints if limits.acceleration[i] == math.inf]
    if names:
        raise InvalidOption(f'no limit of acceleration of {listed(names)}: {made}')
    return limits


def _finite(value: float | None, name: str, unit: str) -> float | None:
    """Return a finite number, or None if there is none. Raises InvalidOption."""
    if value is None:
        return None
    number = exact_number(value, float)
    if number is None or not math.isfinite(number):
        raise InvalidOption(f'{name} = {value!r} [{unit}]: a finite number is needed, or None')
    return float(number)
