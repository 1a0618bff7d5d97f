"""What a campaign does to a node: all that a user can do, and what no user should.

Each action is a method of `Actions`; `WEIGHTS` says how often each comes.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from typing import Any

import numpy as np
from geometry_msgs.msg import Pose, PoseArray, PoseStamped, TwistStamped
from lifecycle_msgs.srv import ChangeState
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.node import Node
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from std_msgs.msg import String
from std_srvs.srv import SetBool, Trigger

from ik_core import SOLVERS
from ik_core import Robot as Kinematics

from ...conversions import transform_to_pose
from .limits import ROWS, VELOCITY
from .listener import Listener

PATIENCE = 30.0
"""[s] For an answer of the node; none is a failure."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
DEACTIVATE, CLEANUP, CONFIGURE, ACTIVATE = 4, 2, 1, 3
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
"""Parameters that change while the node runs, and values that they may take."""
REFUSED: list[dict[str, Any]] = [
    {'position_tolerance': -1.0},
    {'position_tolerance': float('inf')},
    {'rate': 5.0},
    {'solver': 'none'},
    {'record_folder': '~nosuchuser/x'},
]


class Actions:
    """The users of a node: `sender` publishes and asks, `listener` judges what comes of it."""

    def __init__(
        self,
        sender: Node,
        listener: Listener,
        robots: list[Kinematics],
        texts: list[str],
        seed: int,
    ) -> None:
        self._node, self._listener = sender, listener
        self._robots, self._texts, self._robot = robots, texts, 0
        self.random, self._numbers = random.Random(seed), np.random.default_rng(seed)
        self.process: subprocess.Popen[bytes] | None = None
        self.unanswered: list[str] = []
        self._poses = sender.create_publisher(PoseStamped, 'goal_pose', 1)
        self._arrays = sender.create_publisher(PoseArray, 'goal_poses', 1)
        self._twists = sender.create_publisher(TwistStamped, 'ik_node/delta_twist_cmds', 1)
        self._description = sender.create_publisher(String, 'robot_description', LATCHED)
        kinds = {
            'set_parameters_atomically': SetParametersAtomically,
            'change_state': ChangeState,
            'record': SetBool,
            'pause': SetBool,
            'reset': Trigger,
        }
        self._clients = {
            name: sender.create_client(kind, f'ik_node/{name}') for name, kind in kinds.items()
        }

    def show_robot(self) -> None:
        """Publish the description."""
        self._description.publish(String(data=self._texts[self._robot]))

    # Goals

    def goal(self) -> None:
        """One goal somewhere, or beyond reach."""
        self._poses.publish(PoseStamped(pose=self._random_pose()))

    def flood(self) -> None:
        """Goals as fast as they can be published, for a second."""
        poses = [PoseStamped(pose=self._random_pose()) for _ in range(50)]
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            self._poses.publish(self.random.choice(poses))
            time.sleep(0.0005)

    def twist(self) -> None:
        """A jog for half a second."""
        message = TwistStamped()
        message.header.frame_id = self.random.choice(['', self._kinematics.default_tip()])
        size = 10.0 ** self.random.uniform(-2.0, 0.5)
        for part in (message.twist.linear, message.twist.angular):
            part.x, part.y, part.z = (size * self._numbers.normal(size=3)).tolist()
        for _ in range(15):
            self._twists.publish(message)
            time.sleep(0.03)

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
            time.sleep(0.01)
        zero, lost = Pose(), PoseStamped(pose=self._random_pose())
        zero.orientation.w = 0.0
        lost.header.frame_id = 'nowhere' * self.random.choice([1, 10_000])
        self._poses.publish(PoseStamped(pose=zero))
        self._poses.publish(lost)
        self._arrays.publish(PoseArray(poses=[self._random_pose()] * 5))

    # Parameters

    def options(self) -> None:
        """Some parameters at once, none of which is a limit."""
        self._set(self._some_options(), {})

    def limits(self) -> None:
        """Some limits at once, and now and then an option with them."""
        more = self._some_options() if self.random.random() < 0.4 else {}
        self._set(more, self._some_limits())

    def limits_in_two_calls(self) -> None:
        """A limit, and while it may still be pending something else."""
        self._set({}, self._some_limits())
        self._set(self._some_options(), {})

    def limits_and_a_recording(self) -> None:
        """A limit, and while it may still be pending a recording begins or ends."""
        self._set({}, self._some_limits())
        self.record()

    def refused_parameters(self) -> None:
        """Values that must be refused."""
        self._set(self.random.choice(REFUSED), {})

    # Services

    def record(self) -> None:
        """Begin or end a recording."""
        self._call('record', SetBool.Request(data=self.random.random() < 0.5))

    def pause(self) -> None:
        """Pause, and mostly go on."""
        self._call('pause', SetBool.Request(data=True))
        time.sleep(self.random.uniform(0.0, 0.5))
        if self.random.random() < 0.9:
            self._call('pause', SetBool.Request(data=False))

    def go_on(self) -> None:
        """End a pause."""
        self._call('pause', SetBool.Request(data=False))

    def reset(self) -> None:
        """Drop the goals."""
        self._call('reset', Trigger.Request())

    def deactivate(self) -> None:
        """And activate again."""
        self._transitions(DEACTIVATE, ACTIVATE)

    def configure_again(self) -> None:
        """Down to unconfigured, and up again."""
        self._transitions(DEACTIVATE, CLEANUP, CONFIGURE)
        self.show_robot()
        self._transitions(ACTIVATE)

    def impossible_transitions(self) -> None:
        """Transitions that an active node does not have."""
        self._transitions(*self.random.sample([1, 2, 3, 5, 6, 8, 50, 99], 3))

    def swap(self) -> None:
        """Publish another robot's description, and wait for it."""
        self._robot = (self._robot + 1) % len(self._robots)
        wanted = {*self._kinematics.joint_names, *self._kinematics.mimic_joints}
        self.show_robot()
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            robot = self._listener.robot
            if robot is not None and set(robot.names) == wanted:
                return
            time.sleep(0.02)
        self.unanswered.append('another robot')

    def same_description(self) -> None:
        """The description again, with a comment more."""
        text = self._texts[self._robot] + f'<!-- {self.random.random()} -->'
        self._description.publish(String(data=text))

    # The machine

    def stop_and_continue(self) -> None:
        """Stop the process for a while."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.05, 1.0))
        self._listener.silent_by_right()
        self.process.send_signal(signal.SIGCONT)

    def saturate(self) -> None:
        """A busy process for each core, for two seconds."""
        program = 'import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass'
        command = [sys.executable, '-S', '-c', program]
        busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
        for process in busy:
            process.wait()

    # What they share

    @property
    def _kinematics(self) -> Kinematics:
        return self._robots[self._robot]

    def _some_options(self) -> dict[str, Any]:
        names = self.random.sample(list(CHOICES), self.random.randint(1, 3))
        return {name: self.random.choice(CHOICES[name]) for name in names}

    def _some_limits(self) -> dict[tuple[str, int], float]:
        """Up or down; the limits of jerk are off for half of the time."""
        joints = self._kinematics.joint_names
        own = dict(zip(joints, self._kinematics.velocity.tolist(), strict=True))
        given: dict[tuple[str, int], float] = {}
        with_jerk = self.random.random() < 0.5
        for joint in self.random.sample(list(joints), self.random.randint(1, len(joints))):
            row = self.random.choice([VELOCITY, 3, 4, 4] if with_jerk else [VELOCITY, 3, 3, 4])
            value = {
                VELOCITY: min(own[joint], 2.0) * self.random.uniform(0.1, 1.0),
                3: 10.0 ** self.random.uniform(-0.3, 1.3),
                4: 10.0 ** self.random.uniform(1.0, 3.0) if with_jerk else float('inf'),
            }[row]
            given[joint, row] = value
        return given

    def _set(self, options: dict[str, Any], limits: dict[tuple[str, int], float]) -> None:
        values = dict(options)
        for (joint, row), value in limits.items():
            values[f'joint_limits.{joint}.{ROWS[row]}'] = value
        messages = [
            Parameter(name, value=value).to_parameter_msg() for name, value in values.items()
        ]
        self._listener.expect(limits)
        request = SetParametersAtomically.Request(parameters=messages)
        answer = self._call('set_parameters_atomically', request)
        self._listener.answered(limits, answer is not None and answer.result.successful)

    def _transitions(self, *numbers: int) -> None:
        for number in numbers:
            request = ChangeState.Request()
            request.transition.id = number
            self._call('change_state', request)
        self._listener.silent_by_right()

    def _call(self, name: str, request: Any) -> Any:
        """The answer of a service; None, and a note, where there is none."""
        future = self._clients[name].call_async(request)
        end = time.monotonic() + PATIENCE
        while not future.done() and time.monotonic() < end:
            time.sleep(0.002)
        if not future.done():
            self.unanswered.append(name)
            return None
        return future.result()

    def _random_pose(self) -> Pose:
        robot = self._kinematics
        lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
        q = self._numbers.uniform(lower, upper)
        goal = robot.forward_kinematics(q, robot.default_tip())
        if self.random.random() < 0.15:
            goal[:3, 3] *= 10.0
        return transform_to_pose(goal)


WEIGHTS: dict[str, int] = {
    'goal': 14,
    'flood': 1,
    'twist': 3,
    'garbage': 2,
    'options': 4,
    'limits': 6,
    'limits_in_two_calls': 3,
    'limits_and_a_recording': 2,
    'refused_parameters': 1,
    'record': 2,
    'pause': 2,
    'go_on': 1,
    'reset': 1,
    'deactivate': 1,
    'configure_again': 1,
    'impossible_transitions': 1,
    'swap': 1,
    'same_description': 1,
    'stop_and_continue': 1,
    'saturate': 1,
}
"""How often each action comes, by the name of the method."""
