# SPDX-License-Identifier: Apache-2.0
"""The swap of robots: all parts of the node change to another robot, or none of them does."""

from __future__ import annotations

from contextlib import ExitStack

from rclpy.node import Node
from rclpy.validate_full_topic_name import validate_full_topic_name

from ik_core import Robot
from ik_core.display import counted

from .control_loop import ControlLoop
from .inputs.goal_topics import Goals
from .inputs.interactive_goals import InteractiveGoals
from .inputs.joint_states import FeedbackMonitor
from .outputs.diagnostics import Diagnostics
from .parameters.store import Parameters
from .robot_model import LoadedRobot, Model, goal_topic, tip_links, twist_topic
from .texts import cut


class RobotSwap:
    """Gives another robot to all parts of the node. Nothing ticks meanwhile."""

    def __init__(
        self,
        node: Node,
        settings: Parameters,
        health: Diagnostics,
        motion: ControlLoop,
        goals: Goals,
        feedback: FeedbackMonitor,
        interactive: InteractiveGoals,
    ) -> None:
        self._node, self._settings, self._health = node, settings, health
        self._motion, self._goals = motion, goals
        self._feedback, self._interactive = feedback, interactive

    def check_topics(self, robot: Robot) -> None:
        """Raise InvalidTopicNameException if a tip's name is too long for its topics."""
        for tip in tip_links(robot, self._settings.take()):
            for topic in (goal_topic(tip), twist_topic(tip)):
                validate_full_topic_name(self._node.resolve_topic_name(topic))

    def install(self, loaded: LoadedRobot) -> None:
        """Change to the loaded robot. On any error, restore the previous robot and raise."""
        previous, robot = self._motion.model, loaded.robot
        try:
            self._settings.declare_robot(robot, tip_links(robot, self._settings.take()))
            parameters = self._settings.take()
            model = Model(robot, parameters, self._motion.positions, loaded.avoided)
            model.tracker.pause(previous is not None and previous.tracker.paused)
            self._set_model(model)
        except Exception:
            self.forget()
            if previous is not None:
                self._settings.declare_robot(previous.robot, previous.tip_links)
                self._set_model(previous)
            raise
        self._introduce(model)

    def forget(self) -> None:
        """Remove the robot from all parts; an error of one part is raised after all are closed."""
        with ExitStack() as last_to_first:
            last_to_first.callback(self._settings.undeclare_robot)
            last_to_first.callback(self._interactive.close)
            last_to_first.callback(self._feedback.close)
            last_to_first.callback(self._goals.unsubscribe_tips)
            last_to_first.callback(self._health.set_model, None)
            last_to_first.callback(self._motion.set_model, None)

    def _set_model(self, model: Model) -> None:
        self._motion.set_model(model)
        self._health.set_model(model)
        self._goals.subscribe_tips(model)
        self._feedback.open(model)
        self._interactive.open(model)

    def _introduce(self, model: Model) -> None:
        """Log the robot and its goal topics, missing limits, and parameters that do not fit it."""
        log = self._node.get_logger()
        of_pairs = () if model.avoided is None else model.avoided.warnings
        for text in (*model.robot.warnings, *model.missing_limits(), *of_pairs):
            log.warning(cut(text))
        lost, unread = self._settings.drop_lost(), self._settings.unread()
        if lost:
            log.warning(
                cut(f'set while running, but not possible for this robot: {", ".join(lost)}')
            )
        if unread:
            log.warning(cut(f'there are no such parameters: {", ".join(unread)}'))
        goals = ', '.join(self._node.resolve_topic_name(topic) for topic in model.goal_topics)
        log.info(cut(f'robot {model.robot.name}: {model.robot.n} joints; goals: {goals}'))
        options = model.parameters.node
        if model.avoided is not None:
            links = counted(sum(pair.is_checked for pair in model.avoided.pairs), 'pair')
            obstacles = counted(len(model.avoided.world), 'obstacle')
            log.info(
                f'avoid: {options.avoid}: the motion keeps {options.avoid_margin:g} m between '
                f'{links} of links, and from {obstacles}'
            )
        if options.world_file and options.avoid != 'world':
            log.warning(f'world_file is not read, since avoid is {options.avoid}')
