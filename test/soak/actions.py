# SPDX-License-Identifier: Apache-2.0
"""Actions of a campaign on a node: everything a user can do, and what no user should do.

Each action is a method of `Actions`; `WEIGHTS` says how often each comes. Those of `trials` need
a node that nothing else disturbs.
"""

from __future__ import annotations

import copy
import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseArray, PoseStamped, TwistStamped
from rcl_interfaces.msg import ParameterDescriptor
from rclpy.duration import Duration
from rclpy.node import Node
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import Bool, String
from std_srvs.srv import SetBool, Trigger

from ik_core import SOLVERS
from ik_core import Robot as Kinematics
from ik_node.conversions import transform_to_pose
from ik_node.parameters.node_options import GOAL_KINDS
from ik_node.robot_model import twist_topic

from .client import PATIENCE, Client
from .draws import Draws, limit_of
from .expected_limits import ACCELERATION, JERK, LOWER, ROWS, UPPER, VELOCITY, Array
from .link_poses import apart, pinocchio
from .listener import Listener
from .robots import Variant
from .simulated_robot import Arm

LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# [m, rad] Reported errors are printed, and differ so much from those of what is published
SAME_ERROR = 1e-6
UP_TO_DATE = 0.1  # [s] Younger samples are of now
HAND_PERIOD = 1 / 72  # [s] Of the samples of a hand
DEACTIVATE, CLEANUP, CONFIGURE, ACTIVATE = 4, 2, 1, 3
# Parameters that change while the node runs, and values that they may take
CHOICES: dict[str, list[Any]] = {
    'solver': [*SOLVERS],
    'position_tolerance': [1e-6, 1e-5, 2e-5, 1e-3],
    'orientation_tolerance': [1e-4, 1e-3],
    'orientation_length': [0.1, 0.2, 1.0],
    'updates_per_tick': [0, 1, 5],
    'goal_timeout': [0.0, 0.5],
    'replan_period': [0.0, 0.5],
    'move': ['joint', 'linear'],
    'feed_forward': [False, True],
    'rest_rate': [0.0, 1.0],
    'linear_velocity': [0.1, 2.0],
    'goal_jump_position': [0.01, 0.1],
}
# Parameters that say what a tip's goals are for: poses are judged where they are not changed
OF_TIPS = ('tools.', 'goal_kind.', 'goal_frame.')
REFUSED: list[dict[str, Any]] = [
    {'position_tolerance': -1.0},
    {'position_tolerance': float('inf')},
    {'rate': 5.0},
    {'solver': 'none'},
    {'record_folder': '~nosuchuser/x'},
]


class Actions:
    """The users of a node: `sender` publishes and asks, `listener` judges what comes of it.

    `variants`: the descriptions that the node may get; `arm`: the robot behind a controller, where
    the state is measured; `process`: the node's. `status` has the values of the node's last
    ~/status. `was_moving`: whether a joint moved when the last action happened.
    """

    def __init__(
        self,
        sender: Node,
        listener: Listener,
        variants: list[Variant],
        seed: int,
        arm: Arm | None = None,
    ) -> None:
        self._node, self._listener, self._arm = sender, listener, arm
        self._variants, self._variant = variants, variants[0]
        self.random, self._numbers = random.Random(seed), np.random.default_rng(seed)
        self.process: subprocess.Popen[bytes] | None = None
        self._draws = Draws(self.random)
        self.status: dict[str, str] = {}
        self.poses_checked = 0
        self.was_moving = False
        self._poses = sender.create_publisher(PoseStamped, 'goal_pose', 1)
        self._arrays = sender.create_publisher(PoseArray, 'goal_poses', 1)
        self._hands = sender.create_publisher(PoseStamped, 'hand_pose', 50)
        self._engaged = sender.create_publisher(Bool, 'hand_engaged', 5)
        self._joint_goals = sender.create_publisher(JointState, 'joint_goal', 10)
        self._twists = sender.create_publisher(TwistStamped, 'ik_node/delta_twist_cmds', 1)
        topics = {twist_topic(v.kinematics.default_tip()) for v in variants}
        self._tip_twists = {
            topic: sender.create_publisher(TwistStamped, topic, 1) for topic in topics
        }
        self._description = sender.create_publisher(String, 'robot_description', LATCHED)
        self.client = Client(sender, listener)

    def do(self, name: str) -> None:
        """An action, by its name."""
        self._listener.action = name
        self.was_moving = self._listener.moves
        getattr(self, name)()

    def forget(self) -> None:
        """The node is another process, and has its defaults."""
        self.client.values.clear()
        self.status = {}

    def show_robot(self) -> None:
        """Publish the description."""
        self._listener.expect_robot(self._variant.judged)
        self._description.publish(String(data=self._variant.text))

    def note_robot(self, text: str, stamp: int) -> None:
        """The node says which description is in force, since a time [ns]."""
        for variant in self._variants:
            if text.startswith(variant.text):
                self._listener.adopt_robot(variant.judged, stamp)

    # Goals

    def goal(self) -> None:
        """One goal somewhere, or beyond reach."""
        self._poses.publish(PoseStamped(pose=self._random_pose()))

    def joint_goal(self) -> None:
        """Some joints somewhere, most of them within their limits; or home."""
        for _ in range(self.random.randint(1, 3)):
            if self.random.random() < 0.2:
                self.client.call('home', Trigger.Request())
            else:
                self._send_joints(self._random_positions())
            time.sleep(self.random.choice([0.0, self.random.uniform(0.0, 0.5)]))

    def flood(self) -> None:
        """Goals as fast as they can be published, for a second."""
        poses = [PoseStamped(pose=self._random_pose()) for _ in range(50)]
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            self._poses.publish(self.random.choice(poses))
            time.sleep(0.0005)

    def twist(self) -> None:
        """A jog for half a second, by the node's topic or by the tip's."""
        of_tip = self._tip_twists[twist_topic(self._kinematics.default_tip())]
        publisher = self.random.choice([self._twists, of_tip])
        message = TwistStamped()
        message.header.frame_id = self.random.choice(['', self._kinematics.default_tip()])
        size = 10.0 ** self.random.uniform(-2.0, 0.5)
        for part in (message.twist.linear, message.twist.angular):
            part.x, part.y, part.z = (size * self._numbers.normal(size=3)).tolist()
        for _ in range(15):
            publisher.publish(message)
            time.sleep(0.03)

    def hand(self) -> None:
        """A hand moves the tip, over a bad connection, and may just vanish."""
        message, stamp = PoseStamped(pose=self._random_pose()), self._node.get_clock().now()
        velocity = self._numbers.normal(scale=10.0 ** self.random.uniform(-2.0, 0.3), size=3)
        held_up: list[PoseStamped] = []
        for _ in range(self.random.randint(10, 140)):
            stamp += Duration(seconds=HAND_PERIOD)
            message.header.stamp = stamp.to_msg()
            place = message.pose.position
            place.x, place.y, place.z = (
                np.array([place.x, place.y, place.z]) + HAND_PERIOD * velocity
            ).tolist()
            sample = copy.deepcopy(message)
            if self.random.random() < 0.05:
                sample.pose.position.x += self.random.choice([0.015, 0.5, -3.0])
            if self.random.random() > 0.3:  # others are lost
                held_up.append(sample)
            if self.random.random() < 0.3:
                self._engaged.publish(Bool(data=True))
                for each in self.random.sample(held_up, len(held_up)):
                    self._hands.publish(each)
                held_up.clear()
            time.sleep(HAND_PERIOD)
        if self.random.random() < 0.5:
            self._engaged.publish(Bool(data=False))

    def garbage(self) -> None:
        """Messages that can't be used, and huge numbers."""
        for number in (float('nan'), float('inf'), -float('inf'), 1e300):
            pose = self._random_pose()
            part, axis = self.random.choice(
                [(pose.position, 'x'), (pose.position, 'z'), (pose.orientation, 'w')]
            )
            setattr(part, axis, number)
            self._poses.publish(PoseStamped(pose=pose))
            twist = TwistStamped()
            twist.header.frame_id = self._kinematics.default_tip()
            twist.twist.linear.x = twist.twist.linear.y = self.random.choice([number, 1.7e308])
            self._twists.publish(twist)
            self._send_joints(
                {**self._random_positions(), self._kinematics.joint_names[0]: number}
            )
            time.sleep(0.01)
        zero, lost = Pose(), PoseStamped(pose=self._random_pose())
        zero.orientation.w = 0.0
        lost.header.frame_id = 'nowhere' * self.random.choice([1, 10_000])
        self._poses.publish(PoseStamped(pose=zero))
        self._poses.publish(lost)
        self._arrays.publish(PoseArray(poses=[self._random_pose()] * 5))

    def reach(self) -> None:
        """A goal within reach, without another one: `reached` is true where the tip is there."""
        other = [name for name in self.client.changed() if name.startswith(OF_TIPS)]
        if pinocchio is None or other:
            return
        self.reset()
        time.sleep(0.3)  # for a status, and for goals that were on their way
        if not self._wait_for(lambda: self._is('idle'), 5.0):
            return
        goal = self._random_transform()
        self._poses.publish(PoseStamped(pose=transform_to_pose(goal)))
        if self._wait_for(self._has_reached, 6.0):
            self._judge_pose(goal)

    def _has_reached(self) -> bool:
        return self._is('reached') and time.monotonic() - self._listener.rests_since > 0.5

    def _is(self, code: str) -> bool:
        """Return whether the status says so now: what comes late here is of another goal."""
        return self.status.get('code') == code and self._listener.delay < UP_TO_DATE

    def _judge_pose(self, goal: Array) -> None:
        """Compare the errors that are reported with those of the commanded joints."""
        tip = self._kinematics.default_tip()
        if self.status.get(f'{tip}.goal_kind') != 'pose':
            return  # a change that was answered too late for `changed`
        pose = self._variant.poses.pose(self._listener.latest, tip)
        reported = [
            float(self.status.get(f'{tip}.{error}', 'nan'))
            for error in ('position_error [m]', 'orientation_error [rad]')
        ]
        self.poses_checked += 1
        if not np.allclose(reported, apart(pose, goal), rtol=0.0, atol=SAME_ERROR):
            detail = f'{reported}, by pinocchio {apart(pose, goal)}'
            self._listener.object('reported errors that are not those of the joints', detail)

    # Parameters

    def options(self) -> None:
        """Some parameters at once, none of which is a limit."""
        self.client.set(self._some_options())

    def goal_kind(self) -> None:
        """On the way to a goal another part of its pose counts, and maybe yet another."""
        name = f'goal_kind.{self._kinematics.default_tip()}'
        for _ in range(self.random.randint(1, 3)):
            self.goal()
            time.sleep(self.random.uniform(0.0, 0.2))
            self.client.set({name: self.random.choice(GOAL_KINDS)})

    def limits(self) -> None:
        """Some limits at once, and now and then an option with them."""
        more = self._some_options() if self.random.random() < 0.4 else {}
        self.client.set(more | self._some_limits())

    def limits_in_two_calls(self) -> None:
        """A limit, and while it may still be pending something else."""
        self.client.set(self._some_limits())
        self.client.set(self._some_options())

    def limits_and_a_recording(self) -> None:
        """A limit, and while it may still be pending a recording begins or ends."""
        self.client.set(self._some_limits())
        self.record()

    def any_parameters(self) -> None:
        """Any parameters at once, of all that the node has, limits too."""
        every = [d for d in self.client.parameters() if self._draws.is_drawn(d)]
        some = self.random.sample(every, min(self.random.randint(1, 4), len(every)))
        self.client.set({d.name: self._drawn(d) for d in some})

    def defaults(self) -> None:
        """Set all parameters back to their first values."""
        self.client.parameters()
        changed = self.client.changed()
        if changed and not self.client.set(changed):
            self._listener.object('defaults that are refused', str(changed))

    def refused_parameters(self) -> None:
        """Values that must be refused."""
        values = self.random.choice(REFUSED)
        if self.client.set(values):
            self._listener.object('parameters accepted that are wrong', str(values))

    # Services

    def record(self) -> None:
        """Begin or end a recording."""
        self.client.call('record', SetBool.Request(data=self.random.random() < 0.5))

    def pause(self) -> None:
        """Pause, and mostly go on."""
        self.client.call('pause', SetBool.Request(data=True))
        time.sleep(self.random.uniform(0.0, 0.5))
        if self.random.random() < 0.9:
            self.client.call('pause', SetBool.Request(data=False))

    def go_on(self) -> None:
        """End a pause."""
        self.client.call('pause', SetBool.Request(data=False))

    def reset(self) -> None:
        """Drop the goals."""
        self.client.call('reset', Trigger.Request())

    def deactivate(self) -> None:
        """And activate again."""
        self.client.transitions(DEACTIVATE, ACTIVATE)

    def configure_again(self) -> None:
        """Down to unconfigured, and up again."""
        self.client.transitions(DEACTIVATE, CLEANUP, CONFIGURE)
        self.show_robot()
        self.client.transitions(ACTIVATE)

    def impossible_transitions(self) -> None:
        """Transitions that an active node does not have."""
        self.client.transitions(*self.random.sample([1, 2, 3, 5, 6, 8, 50, 99], 3))

    def swap(self) -> None:
        """Publish the description of another robot."""
        others = [v for v in self._variants if v.base != self._variant.base]
        self._become(self.random.choice(others))

    def same_description(self) -> None:
        """The description again, with a comment more."""
        text = self._variant.text + f'<!-- {self.random.random()} -->'
        self._description.publish(String(data=text))

    # The machine

    def saturate(self) -> None:
        """A busy process for each core, for two seconds."""
        for process in self._load_machine(2.0):
            process.wait()

    # The robot, where its state is measured

    def false_states(self) -> None:
        """Joint states among the true ones that can't be right."""
        assert self._arm is not None
        for _ in range(self.random.randint(1, 4)):
            self._arm.say_falsely(self.random)
            time.sleep(self.random.uniform(0.02, 0.1))

    # What they share

    def _load_machine(self, seconds: float) -> list[subprocess.Popen[bytes]]:
        """A busy process for each core, each of which ends by itself."""
        program = 'import time\nend = time.monotonic() + %s\nwhile time.monotonic() < end: pass'
        command = [sys.executable, '-S', '-c', program % seconds]
        return [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]

    @property
    def _kinematics(self) -> Kinematics:
        return self._variant.kinematics

    def _become(self, variant: Variant) -> bool:
        """Publish a description, and wait until it is in force; whether it is.

        Twice where it must be: an error that is injected while the robot is loaded keeps the old.
        """
        self._variant = variant
        for _ in range(2):
            self.show_robot()
            if self._wait_for(lambda: self._listener.robot is variant.judged, PATIENCE):
                return True
        self.client.unanswered.append('another robot')
        return False

    def _wait_for(self, condition: Callable[[], bool], seconds: float) -> bool:
        end = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > end:
                return False
            time.sleep(0.02)
        return True

    def _some_options(self) -> dict[str, Any]:
        names = self.random.sample(list(CHOICES), self.random.randint(1, 3))
        return {name: self.random.choice(CHOICES[name]) for name in names}

    def _some_limits(self) -> dict[str, float]:
        """Up or down; the limits of jerk are off for half of the time."""
        joints = self._kinematics.joint_names
        given: dict[str, float] = {}
        with_jerk = self.random.random() < 0.5
        rows = [VELOCITY, ACCELERATION, ACCELERATION, JERK, JERK if with_jerk else LOWER, UPPER]
        for joint in self.random.sample(list(joints), self.random.randint(1, len(joints))):
            row = self.random.choice(rows)
            name = f'joint_limits.{joint}.{ROWS[row]}'
            span = self._listener.description_limits(joint)
            if row > UPPER or np.isfinite(span[:2]).all():
                given[name] = self._draws.limit(row, span, with_jerk)
        return given

    def _drawn(self, descriptor: ParameterDescriptor) -> Any:
        """A value for a parameter; limits such that joints still move, and stop."""
        limit, default = limit_of(descriptor.name), self.client.defaults[descriptor.name]
        if limit is None:
            return self._draws.value(descriptor, default)
        span = self._listener.description_limits(limit[0])
        return self._draws.limit(limit[1], span, self.random.random() < 0.5)

    def _random_positions(self) -> dict[str, float]:
        """Positions of some joints by name, in any order."""
        robot = self._kinematics
        lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
        q = dict(zip(robot.joint_names, self._numbers.uniform(lower, upper).tolist(), strict=True))
        names = self.random.sample(list(q), self.random.randint(1, robot.n))
        return {name: q[name] for name in names}

    def _send_joints(self, positions: dict[str, float]) -> None:
        names, values = list(positions), list(positions.values())
        self._joint_goals.publish(JointState(name=names, position=values))

    def _random_transform(self) -> Array:
        """A pose (4, 4) that the tip can take."""
        robot = self._kinematics
        lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
        q = self._numbers.uniform(lower, upper)
        return robot.forward_kinematics(q, robot.default_tip())

    def _random_pose(self) -> Pose:
        goal = self._random_transform()
        if self.random.random() < 0.15:
            goal[:3, 3] *= 10.0
        return transform_to_pose(goal)


# How often each action comes, by the name of the method
WEIGHTS: dict[str, int] = {
    'goal': 4,
    'joint_goal': 2,
    'flood': 1,
    'twist': 2,
    'hand': 2,
    'garbage': 1,
    'reach': 1,
    'options': 2,
    'any_parameters': 2,
    'goal_kind': 1,
    'limits': 3,
    'limits_in_two_calls': 1,
    'limits_and_a_recording': 1,
    'refused_parameters': 1,
    'record': 1,
    'pause': 1,
    'reset': 1,
    'deactivate': 1,
    'configure_again': 1,
    'impossible_transitions': 1,
    'swap': 1,
    'same_description': 1,
    'saturate': 1,
}
OF_ARM: dict[str, int] = {'false_states': 2}  # And these, where the state is measured
