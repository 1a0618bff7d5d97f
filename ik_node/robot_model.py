# SPDX-License-Identifier: Apache-2.0
"""The robot model of a node: a robot description together with the parameters.

`Model` holds the robot, the problem (one goal per tip) and the tracker that follows its goals. It
uses no node and no topics; it only makes the names of topics from links.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ik_core import (
    Collisions,
    IkProblem,
    PoseTask,
    PositionAxisTask,
    PositionTask,
    Robot,
    load_robot,
)
from ik_core.collision import PairDistance
from ik_core.display import listed
from ik_core.exceptions import InvalidGoal, InvalidOption, UnsupportedProblem, UrdfError
from ik_core.jobs import Job
from ik_core.maths.rotations import Array, matrix_from_rpy
from ik_core.motion import load_motion
from ik_core.retargeting import Demonstration
from ik_core.solvers import Solver, SolverName, make_solver
from ik_core.tasks.goals import GoalTask
from ik_core.tracking import Command, MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.governor import Governor
from ik_core.tracking.instructions import Instruction, SetGoal
from ik_core.tracking.recording import Recorder

from .alignment import Alignment, align
from .committed_steps import Mover
from .example_following import ExampleFollowing, with_rest_rate
from .joint_limits import following_errors, missing_limits, motion_limits, state_tolerances
from .known_collisions import KnownCollisions
from .parameters.node_options import GOAL_KINDS, NodeParameters, Tool
from .texts import cut

# The task of each kind of goal; for `auto` it depends on the number of joints.
GOALS: dict[str, type[PoseTask] | type[PositionTask] | type[PositionAxisTask]] = dict(
    zip(GOAL_KINDS[1:], (PoseTask, PositionTask, PositionAxisTask), strict=True)
)
STOP_MARGIN = 0.9  # [s] allowance for the delay of a stop and of the response to its service
BLANK = '\ufeff \t\r\n'  # characters that may come before XML


def read_description(parameters: NodeParameters) -> str | Path | None:
    """Return the source of the robot: URDF text, a file, or None for the topic."""
    node = parameters.node
    if node.robot_description.strip():
        return node.robot_description
    return Path(node.urdf_path).expanduser() if node.urdf_path else None


class LoadedRobot(NamedTuple):
    """A robot of a description, and the collisions that its motion avoids; None for none."""

    robot: Robot
    avoided: Collisions | None


def prepare_robot(
    source: str | Path, parameters: NodeParameters, known: KnownCollisions
) -> LoadedRobot:
    """Load the robot of a description with the collisions to avoid, and run one tick with it.

    The tick checks the tips, and loads the kernels from the disk so that no later tick does.
    Raises IkError if the description is invalid, or a parameter does not fit the robot.
    """
    if isinstance(source, str) and not source.lstrip(BLANK).startswith('<'):
        text = f"robot_description is {cut(source, 40)!r}, not URDF text, which starts with '<'"
        raise UrdfError(f'{text}; urdf_path names a file')  # messages must not open files
    if isinstance(source, Path) and source.is_dir():
        raise UrdfError(f'urdf_path: {source} is a directory: give the URDF file in it')
    if isinstance(source, Path) and not source.is_file():
        raise UrdfError(f'urdf_path: there is no file {source}')
    node = parameters.node
    limits = Path(node.joint_limits_path).expanduser() if node.joint_limits_path else None
    robot = load_robot(source, soft_limits=node.soft_limits, joint_limits=limits)
    avoided = known.to_avoid(robot, node)
    bare = replace(parameters, joint_limits={}, tools={}, goal_kinds={})
    model = Model(robot, bare, avoided=avoided)
    model.tracker.set_goal(0, model.tip_pose(0), 0.0)
    model.tracker.tick(0.0)
    clearance, q = model.governor.clearance, model.q
    if clearance is not None:  # the tick bent no step along an obstacle
        clearance.bend(q, q, np.ones(robot.n), np.eye(robot.n))
    return LoadedRobot(robot, avoided)


def tip_links(robot: Robot, parameters: NodeParameters) -> tuple[str, ...]:
    """Return the links that follow goals; the default is the end of the longest chain.

    Raises UnsupportedProblem if several chains are the longest.
    """
    tips = parameters.node.tip_links
    _check_once('tip_links', tips)
    return tips or (robot.default_tip(),)


def goal_topic(tip_link: str) -> str:
    """Return the topic of a tip's goals."""
    return f'{token(tip_link)}/goal_pose'


def twist_topic(tip_link: str) -> str:
    """Return the topic of a tip's twists."""
    return f'{token(tip_link)}/delta_twist_cmds'


def token(link: str) -> str:
    """Return the part of a topic's name for a link; characters it can't have become '_'."""
    name = re.sub(r'[^A-Za-z0-9_]', '_', link)
    return f'_{name}' if name[:1].isdigit() else name


class Restart(NamedTuple):
    """An instruction to restart at rest, at the measured positions.

    q : positions (n,) [rad or m]
    mimics : measured positions of mimic joints, by name
    keep_goals : follow the goals afterwards; else they are dropped
    """

    q: Array
    mimics: Mapping[str, float]
    keep_goals: bool = False


class Model:
    """A robot that is moved: its tips, their goals and the tracker.

    `last_positions` : the last commands of joints, by name, of previous robots; these joints
    begin there. An `Alignment` moves mimic joints into line before the tracker follows goals
    `avoided` : the motion keeps clear of these collisions; None: of none
    `was_started` : whether commands of this model have been published

    Poses are (4, 4) in the root link's frame. Raises IkError if the parameters do not fit the
    robot, if a mimic joint can't be brought into line within its limits, or if it would have to
    move there although collisions are avoided.
    """

    def __init__(
        self,
        robot: Robot,
        parameters: NodeParameters,
        positions: Mapping[str, float] | None = None,
        avoided: Collisions | None = None,
    ) -> None:
        self.robot = robot
        self.avoided = avoided
        self.parameters = parameters
        self.base_link = parameters.node.base_link or robot.base_link
        self.root_frame = parameters.node.frame_prefix + robot.base_link  # in messages
        self.tip_links = tip_links(robot, parameters)
        self.goal_topics = _distinct_topics(self.tip_links)
        self.frozen_joints = self._frozen_joints()
        self.recorder: Recorder | None = None
        self._next_solver: Job[Solver] | None = None
        self.limits, self._speed_factor = motion_limits(robot, parameters), 1.0
        self.following_errors = following_errors(robot, parameters)
        self.state_tolerances = state_tolerances(robot, parameters)
        self.moved_joints = self._moved_joints()
        self.command_joints = self._command_joints()
        self._demonstration = self._demonstration_in_file()
        self._example_following = self._new_example_following()
        self.was_started, self.last_positions = False, dict(positions or {})
        self.activated_at = robot.middle_configuration  # q (n,) when the ticks last began
        start = self._start(self.last_positions)
        self.tracker = self._new_tracker(Governor(self.limits, 1.0 / parameters.node.rate, start))
        self._check_mimics()
        self._alignment = self._new_alignment(self.last_positions)
        if self._alignment is not None:
            self._alignment.check(self.command_joints)

    def tick(self, now: float, instructions: Iterable[Instruction] = ()) -> Command:
        """Apply instructions and take one step at the time `now` [s]; return its command."""
        if self._example_following is not None:
            instructions = self._in_style(self._example_following, instructions)
        return self.mover.tick(now, instructions)

    def apply(self, *instructions: Instruction | Restart) -> None:
        """Apply instructions between two ticks. Raises IkError."""
        for instruction in instructions:
            if isinstance(instruction, Restart):
                self.tracker.reset(instruction.q, keep_goals=instruction.keep_goals)
                self._restart_alignment(instruction.mimics)
            elif self._example_following is not None:
                for each in self._in_style(self._example_following, (instruction,)):
                    self.mover.apply(each)
            else:
                self.mover.apply(instruction)

    def _in_style(
        self, following: ExampleFollowing, instructions: Iterable[Instruction]
    ) -> Iterable[Instruction]:
        """Yield the instructions, with goals changed to the style of the example."""
        for instruction in instructions:
            if isinstance(instruction, SetGoal):
                poses = [self.tip_pose(i) for i in range(len(self.tip_links))]
                yield from following.instructions(self.tracker, instruction, poses)
            else:
                yield instruction

    def set_example(self, demonstration: Demonstration) -> None:
        """Follow goals in the style of this example. Raises InvalidGoal for another robot's."""
        if demonstration.robot is not self.robot or demonstration.links != self.tip_links:
            raise InvalidGoal(f'the example is for another robot than {self.robot.name}')
        self._demonstration = demonstration
        self._restyle_goals()

    @property
    def home(self) -> dict[str, float]:
        """Home positions [rad or m], by name: those of parameters, else those at activation."""
        home = np.clip(self.activated_at, self.limits.lower, self.limits.upper).tolist()
        names, given = self.robot.joint_names, self.parameters.home
        return {names[i]: given.get(names[i], home[i]) for i in self.steerable_joints()}

    def steerable_joints(self) -> list[int]:
        """Return the indices of the joints that joint goals may move: published and not frozen."""
        names = self.robot.joint_names
        return [i for i in self.commanded_joints() if names[i] not in self.frozen_joints]

    @property
    def mover(self) -> Mover:
        """The present mover of the joints: the alignment, or the tracker."""
        return self._alignment or self.tracker

    @property
    def governor(self) -> Governor:
        """The owner of the last command: n joints, or n + m joints during an alignment."""
        return self.mover.governor

    @property
    def q(self) -> Array:
        """Commanded positions (n,), a copy."""
        return self.governor.q[: self.robot.n].copy()

    @property
    def all_positions(self) -> Array:
        """Commanded positions (n + m,) of the joints of q and of the m mimic joints, a copy."""
        return self.with_mimics(self.governor.q)

    def with_mimics(self, q: Array) -> Array:
        """Return q (n,) with the m mimic joints appended; a q (n + m,) is only copied."""
        if q.size > self.robot.n or not self.robot.mimic_joints:
            return q.copy()
        return np.array(list(self.robot.joint_values(q).values()))

    @property
    def at_rest(self) -> bool:
        """True if no joint is commanded to move."""
        return self.mover.at_rest

    @property
    def is_aligning(self) -> bool:
        """True while mimic joints move to the positions of their drivers; goals wait for that."""
        return self._alignment is not None and self._alignment.is_on

    def end_alignment(self) -> None:
        """Give the joints to the tracker, once the mimic joints are in line."""
        alignment = self._alignment
        if alignment is None or not alignment.is_done:
            return
        if (self.tracker.q != alignment.goal_q).any():
            self.tracker.reset(alignment.goal_q, keep_goals=True)
        self._alignment = None

    def _restart_alignment(self, mimics: Mapping[str, float]) -> None:
        """Restart the alignment after a reset of the tracker.

        mimics : measured positions of mimic joints, by name; others begin at their last command
        """
        last = self.positions if self._alignment is not None else {}
        self._alignment = self._new_alignment(
            {**(last if self.was_started else self.last_positions), **mimics}
        )

    def _new_alignment(self, positions: Mapping[str, float]) -> Alignment | None:
        """Return the alignment of published mimic joints at `positions`; None if not needed."""
        joints = positions.keys() & set(self.command_joints)
        known = {joint: positions[joint] for joint in joints}
        alignment = align(self.tracker, self.robot, self.parameters, self.limits, known)
        if alignment is not None and self.avoided is not None:
            raise self._unchecked_alignment()
        return alignment

    def _check_mimics(self) -> None:
        """Raise UnsupportedProblem if mimic joints would be aligned at each start, and `avoid`."""
        node, mimics = self.parameters.node, self.robot.mimic_joints
        is_measured = node.output != 'joint_state' or node.start_state_topic
        if (
            self.avoided is not None
            and is_measured
            and not mimics.keys().isdisjoint(self.command_joints)
        ):
            raise self._unchecked_alignment()

    def _unchecked_alignment(self) -> UnsupportedProblem:
        mimics = [joint for joint in self.command_joints if joint in self.robot.mimic_joints]
        return UnsupportedProblem(
            f'avoid: {self.parameters.node.avoid} is not possible: mimic joints that are not '
            'where their drivers prescribe at the start move there, and that motion is not '
            f'checked for collisions; list in command_joints what is published, without '
            f'{listed(mimics)}'
        )

    def nearest_pair(self) -> PairDistance | None:
        """Return the pair that is nearest to its margin, as commanded; None without `avoid`.

        Links that are never far apart have smaller margins, so they seldom count as nearest.
        """
        clearance = self.governor.clearance
        if clearance is None:
            return None
        collisions, q = clearance.collisions, self.q
        try:
            first = collisions.distance(q)
        except UnsupportedProblem:  # no pair may meet
            return None
        within = max(first.distance - first.margin + collisions.reach, 0.0)
        pairs = [first, *collisions.distances(q, within)]
        return min(pairs, key=lambda pair: pair.distance - pair.margin)

    @property
    def longest_stop(self) -> float:
        """Longest time [s] until the joints rest, if they brake from now on, with a margin."""
        return self.mover.stopping_time + STOP_MARGIN

    def tip_pose(self, tip: int) -> Array:
        """Return the commanded pose (4, 4) of a tip's tool centre point."""
        link = self.tip_links[tip]
        return self.robot.forward_kinematics(self.tracker.q, link) @ self.tool(link)

    def tool(self, tip_link: str) -> Array:
        """Return the pose (4, 4) of the tool centre point in the frame of a tip's link."""
        tool = self.parameters.tools.get(tip_link, Tool())
        transform = np.eye(4)
        transform[:3, :3] = matrix_from_rpy(tool.rpy)
        transform[:3, 3] = tool.xyz
        return transform

    def goal_kind(self, tip_link: str) -> str:
        """Return the kind of a tip's goals: one of GOAL_KINDS."""
        return self.parameters.goal_kinds.get(tip_link, GOAL_KINDS[0])

    def why_unmoved(self, tip: int, point: Array) -> str:
        """Return why no joint can move a tip towards a point (3,) [m]; '' if a joint can."""
        problem = self.problem(self._goals())
        tolerance = problem.position_tolerance
        return problem.missed.why_unmoved(tip, self.tracker.q, point, tolerance)

    def joints_of(self, tip_link: str) -> int:
        """Return the number of joints that move a tip."""
        return len(set(self.robot.chain(tip_link)) & set(self.moved_joints))

    def needed_joints(self) -> tuple[str, ...]:
        """Return the joints whose positions must be known to start from a measured state."""
        joints = {*self._chain_joints(), *self.commanded_joints()}
        return tuple(self.robot.joint_names[i] for i in sorted(joints))

    def commanded_joints(self) -> list[int]:
        """Return the indices of the joints that commands are published for, ascending."""
        mimics = self.robot.mimic_joints
        drivers = [mimics[j].joint if j in mimics else j for j in self.command_joints]
        return sorted({self.robot.joint_index(driver) for driver in drivers})

    def set_parameters(self, parameters: NodeParameters) -> None:
        """Apply changed parameters from the next tick on; the motion continues.

        Limits are applied first: they hold even if another parameter raises an error.
        """
        limits = motion_limits(self.robot, parameters)
        if self._alignment is not None:
            self._alignment.set_limits(parameters, limits)
        self.tracker.set_limits(self._slowed(limits))
        before, self.parameters, self.limits = self.parameters, parameters, limits
        self.following_errors = following_errors(self.robot, parameters)
        self.state_tolerances = state_tolerances(self.robot, parameters)
        if _problem_options(parameters) != _problem_options(before):
            self.tracker.set_problem(self.problem(self._goals()))
        if parameters.tracker != before.tracker:
            self.tracker.set_options(self._tracker_options())
        if _example_options(parameters) != _example_options(before):
            self._restyle_goals()
        if _solver(parameters) != _solver(before):
            name, options = _solver(parameters)
            self._next_solver = Job(lambda: make_solver(name, **options))

    def set_speed_factor(self, factor: float) -> None:
        """Scale all velocity limits by this fraction, from the next tick on."""
        if factor != self._speed_factor:
            self._speed_factor = factor
            self.tracker.set_limits(self._slowed(self.limits))

    def _slowed(self, limits: MotionLimits) -> MotionLimits:
        return replace(limits, velocity=self._speed_factor * limits.velocity)

    def _restyle_goals(self) -> None:
        """Set the requested goals again, after a change of the example or of its options."""
        before, self._example_following = self._example_following, self._new_example_following()
        self.tracker.set_options(self._tracker_options())
        if self._example_following is None:
            self.tracker.set_rest(self.robot.middle_configuration)
        goals = {tip: goal for tip, goal in enumerate(self.tracker.goals) if goal is not None}
        if before is not None:
            goals |= before.requested(self.tracker)
        received = self.tracker.received
        for tip, goal in goals.items():
            self.apply(SetGoal(tip, goal, received[tip]))

    def _new_example_following(self) -> ExampleFollowing | None:
        options = self.parameters.example
        if self._demonstration is None or options.beta == 0.0:
            return None
        return ExampleFollowing(self.problem(self._goals()), self._demonstration, options)

    def _demonstration_in_file(self) -> Demonstration | None:
        path = self.parameters.example.file
        if not path:
            return None
        motion = load_motion(Path(path).expanduser())
        return Demonstration(self.robot, self.tip_links, motion)

    def _tracker_options(self) -> TrackerOptions:
        options = self.parameters.tracker
        return options if self._example_following is None else with_rest_rate(options)

    def record(self, recorder: Recorder | None) -> None:
        """Attach a recorder, or None to detach it; the motion continues."""
        self.tracker.observe(recorder)
        self.recorder = recorder

    def change_solver(self) -> bool:
        """Switch to the requested solver if it is ready; return whether it was.

        A thread makes the solver, since importing its libraries may take longer than a tick.
        """
        made = self._next_solver
        if made is None or not made.done:
            return False
        self._next_solver = None
        made.result()
        self.tracker.set_solver(*_solver(self.parameters))
        return True

    def missing_limits(self) -> list[str]:
        """Return a sentence for each kind of limit that is missing."""
        return missing_limits(self.robot, self.parameters)

    @property
    def positions(self) -> dict[str, float]:
        """Commanded positions of all joints of q and all published joints, by name."""
        alignment, in_line = self._alignment, self.robot.joint_values(self.tracker.q)
        values = in_line if alignment is None else alignment.positions
        names = {*self.robot.joint_names, *self.command_joints}
        return {name: values[name] for name in names}

    def _start(self, positions: Mapping[str, float]) -> Array:
        """Return the first q (n,): the given positions, and the middle of the limits elsewhere."""
        middle = zip(self.robot.joint_names, self.robot.middle_configuration.tolist(), strict=True)
        return np.array([positions.get(joint, value) for joint, value in middle])

    def _new_tracker(self, governor: Governor) -> Tracker:
        solver, options = _solver(self.parameters)
        return Tracker(
            self.problem(self._goals()),
            self.parameters.node.rate,
            limits=self.limits,
            solver=solver,
            solver_options=options,
            options=self._tracker_options(),
            governor=governor,
            rest=self.robot.middle_configuration,
            avoid=self.avoided,
        )

    def problem(self, goals: Sequence[GoalTask], avoid: Collisions | None = None) -> IkProblem:
        """Return the problem of these goals, with the node's joints, limits and tolerances."""
        node = self.parameters.node
        return IkProblem(
            self.robot,
            goals,
            frozen_joints=self.frozen_joints,
            lower=self.limits.lower,
            upper=self.limits.upper,
            avoid=avoid,
            position_tolerance=node.position_tolerance,
            orientation_tolerance=node.orientation_tolerance,
            orientation_length=node.orientation_length,
        )

    def _goals(self) -> list[GoalTask]:
        """Return a goal for each tip, at its pose in the middle configuration until one comes."""
        goals: list[GoalTask] = []
        q = self.robot.middle_configuration
        for tip in self.tip_links:
            goal = self._goal(tip)
            goal.set_target(self.robot.forward_kinematics(q, tip) @ self.tool(tip))
            goals.append(goal)
        return goals

    def _goal(self, tip: str) -> GoalTask:
        kind, tool = self.goal_kind(tip), self.tool(tip)
        if kind == 'auto':
            return PoseTask.for_joints(self.joints_of(tip), tip, tool)
        return GOALS[kind](tip, tool=tool)

    def _frozen_joints(self) -> tuple[str, ...]:
        """Return the joints that do not move: `frozen_joints`, and those that move base_link."""
        robot, frozen = self.robot, self.parameters.node.frozen_joints
        for joint in frozen:
            robot.joint_index(joint)  # FrameNotFound, with the closest names
        base = [robot.joint_names[i] for i in robot.chain(self.base_link)]
        return tuple(dict.fromkeys([*frozen, *base]))

    def _command_joints(self) -> tuple[str, ...]:
        """Return the joints to publish, in order."""
        robot, node = self.robot, self.parameters.node
        every = (*robot.joint_names, *robot.mimic_joints)
        _check_once('command_joints', node.command_joints)
        for joint in node.command_joints:
            if joint not in every:
                robot.joint_index(joint)  # FrameNotFound, with the closest names
        if node.command_joints or node.output == 'joint_state':
            return node.command_joints or every
        return tuple(robot.joint_names[i] for i in self.moved_joints)

    def _moved_joints(self) -> list[int]:
        """Return the indices of the joints that goals of tips move, ascending."""
        names = self.robot.joint_names
        return [i for i in self._chain_joints() if names[i] not in self.frozen_joints]

    def _chain_joints(self) -> list[int]:
        """Return the indices of the joints between the root and the tips, ascending."""
        return sorted({i for tip in self.tip_links for i in self.robot.chain(tip)})


def _check_once(parameter: str, names: Sequence[str]) -> None:
    for name in names:
        if names.count(name) > 1:
            raise InvalidOption(f'{parameter} names {name} more than once')


def _distinct_topics(tip_links: tuple[str, ...]) -> tuple[str, ...]:
    topics = tuple(goal_topic(tip) for tip in tip_links)
    for topic in topics:
        tips = [tip for tip in tip_links if goal_topic(tip) == topic]
        if len(tips) > 1:
            raise InvalidOption(f'tip_links {", ".join(tips)} would share the topic {topic}')
    return topics


def _solver(parameters: NodeParameters) -> tuple[SolverName, dict[str, Any]]:
    return parameters.node.solver, dict(vars(parameters.solver_options))


def _problem_options(parameters: NodeParameters) -> tuple[object, ...]:
    """Return the options of the problem: tolerances, tools, and kinds of goals."""
    node, of_tips = parameters.node, (dict(parameters.tools), dict(parameters.goal_kinds))
    return node.position_tolerance, node.orientation_tolerance, node.orientation_length, of_tips


def _example_options(parameters: NodeParameters) -> tuple[object, ...]:
    """Return the options whose change requires another `ExampleFollowing`."""
    limits = parameters.default_limits, dict(parameters.joint_limits)
    return parameters.example, limits, _problem_options(parameters)
