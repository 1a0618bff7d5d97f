"""A campaign: a node as a process, actions at random, a listener that judges, and the report.

With the same seed the same actions come in the same order; their moments are the machine's.
"""

from __future__ import annotations

import os
import subprocess
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray
from trajectory_msgs.msg import JointTrajectory

from ik_core import Robot as Kinematics
from ik_core import load_urdf

from ..process import running
from .actions import LATCHED, OF_ARM, WEIGHTS, Actions
from .arm import Arm
from .limits import read_description
from .listener import Listener, Robot, Sample
from .trajectories import Controller

VELOCITY, ACCELERATION = 2.0, 10.0
"""[rad/s, rad/s^2] Limits that the node is given where the URDF has none."""
START_PATIENCE = 300.0
WARM_UP = 0.5
"""The part of the run after which memory must not grow: solvers are loaded when they are first
chosen."""
PARTS = 16
"""Of a run; in each there is a moment without a recording."""
GROWTH = 2.0
"""[MiB] Over 600,000 ticks that still counts as none: what the allocator does by itself."""
GIVES_BACK = {'MALLOC_MMAP_THRESHOLD_': '65536', 'MALLOC_TRIM_THRESHOLD_': '65536'}
"""For the allocator of glibc: what is freed goes back, so that its memory is what is in use.
Else it rises with the largest that there was at once, as of a recording."""
SHORTEST_FIT = 200.0
"""[s] Memory of a shorter run is printed and not judged."""
SILENCE = 10.0
"""[s] Without joint states, of a node that is not stopped, that counts as a failure."""


@dataclass
class Memory:
    """The memory of a process over time: what is its own, wherever it is.

    Pages of files don't count: the system drops them and brings them back as it likes.
    """

    samples: list[tuple[float, float]] = field(default_factory=list)

    def sample(self, pid: int) -> None:
        """Take one [s, MiB]; where there is no /proc, none."""
        with suppress(OSError):
            lines = Path(f'/proc/{pid}/status').read_text(encoding='ascii').splitlines()
            own = [line.split()[1] for line in lines if line.startswith(('RssAnon', 'VmSwap'))]
            if own:  # a process that has ended has none
                self.samples.append((time.monotonic(), sum(map(int, own)) / 1024.0))

    def lowest(self, parts: int = PARTS) -> list[tuple[float, float]]:
        """The lowest sample [s, MiB] of each part of the time, in order."""
        steps = np.linspace(0, len(self.samples), parts + 1).round().astype(int)
        bounds = pairwise(steps)
        return [min(self.samples[i:k], key=lambda s: s[1]) for i, k in bounds if k > i]

    def growth(self, ticks_per_second: float) -> float | None:
        """MiB over 600,000 ticks, after the warm-up; None if too short to say.

        From a line through the lowest of each part: a recording under way takes memory, and gives
        it back.
        """
        table = np.array(self.lowest()).reshape(-1, 2)
        late = table[round(WARM_UP * len(table)) :]
        if len(late) < 3 or np.ptp(late[:, 0]) < SHORTEST_FIT:
            return None
        slope = float(np.polyfit(late[:, 0] - late[0, 0], late[:, 1], 1)[0])
        return slope * 600_000 / ticks_per_second


TRAJECTORY_DELAY = 0.014
"""[s] Parameter of the node."""


class Users:
    """The nodes of the campaign: one that only sends, one that listens; on a thread.

    Where the node's `output` goes to a controller, there is one, with an arm behind it.
    """

    def __init__(self, texts: list[str], rate: float, seed: int, output: str) -> None:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('soak', namespace='/soak')
        self._sender = rclpy.create_node('user', namespace='/soak')
        kinematics = [load_urdf(text) for text in texts]
        robots = [
            Robot(read_description(text), VELOCITY, ACCELERATION, _commanded(robot, output))
            for text, robot in zip(texts, kinematics, strict=True)
        ]
        self.arm = None if output == 'joint_state' else Arm(self._node, _start(kinematics))
        self.listener = Listener(robots, rate, *([self.arm.was_at] if self.arm else []))
        self.controller = Controller(self.listener, rate, TRAJECTORY_DELAY)
        self._robot_of = {len(robot.commanded): robot for robot in robots}
        self._listen(output, QoSProfile(depth=int(20 * rate)))
        self.actions = Actions(self._sender, self.listener, kinematics, texts, seed, self.arm)
        self.reported: dict[str, str] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._executor.add_node(self._sender)
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _listen(self, output: str, depth: QoSProfile) -> None:
        subscribe = self._node.create_subscription
        subscribe(DiagnosticArray, '/diagnostics', self._note, 10)
        subscribe(DiagnosticStatus, 'ik_node/status', self._note_status, LATCHED)
        if output == 'joint_state':
            subscribe(JointState, 'joint_states', self._hear, depth)
        elif output == 'position_command':
            subscribe(Float64MultiArray, 'commands', self._hear_command, depth)
        elif self.arm is not None:
            subscribe(JointTrajectory, 'joint_trajectory', self._hear_trajectory, depth)
            self.controller.on_move = self.arm.command
            self._node.create_timer(0.02, self.controller.play)

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Publish the first robot, and wait until it is moved."""
        deadline = time.monotonic() + START_PATIENCE
        while not self.listener.states:
            self.actions.show_robot()
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f'no joint_states for {START_PATIENCE:g} s, or no node')
            time.sleep(1.0)
        self.listener.silent_by_right()
        self.listener.longest_silence = 0.0, ''

    def close(self) -> None:
        """Leave the graph."""
        self._stopping.set()
        self._thread.join()
        for node in (self._sender, self._node):
            node.destroy_node()
        rclpy.try_shutdown()

    def _hear(self, message: JointState, info: Any) -> None:
        self.listener.receive(message, info)

    def _hear_command(self, message: Float64MultiArray, info: Any) -> None:
        robot, q = self._robot_of.get(len(message.data)), np.array(message.data)
        if robot is None or self.arm is None:
            self.listener.object('commands for an unknown number of joints')
            return
        stamp, number = info['source_timestamp'], info['publication_sequence_number']
        self.listener.take(Sample(robot.commanded, q, None, stamp, number))
        self.arm.command(robot.commanded, q)

    def _hear_trajectory(self, message: JointTrajectory, info: Any) -> None:
        self.controller.hear(message, info)

    def _note_status(self, message: DiagnosticStatus) -> None:
        self.actions.status = {pair.key: pair.value for pair in message.values}

    def _note(self, message: DiagnosticArray) -> None:
        status = message.status[-1]  # the limits stand before it
        self.reported = {pair.key: pair.value for pair in status.values}

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
        self._executor.shutdown()


@dataclass
class Run:
    """What came of a campaign."""

    users: Users
    faults: bool
    rate: float
    memory: Memory = field(default_factory=Memory)
    did: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    crashed: bool = False
    clean: bool = False

    def endure(self, process: subprocess.Popen[bytes], seconds: float) -> None:
        """Act at random for so long."""
        actions, listener = self.users.actions, self.users.listener
        actions.process = process
        weights = WEIGHTS if self.users.arm is None else WEIGHTS | OF_ARM
        self.users.begin(process)
        began = next_sample = time.monotonic()
        while time.monotonic() < began + seconds and process.poll() is None:
            if time.monotonic() >= next_sample:
                self.memory.sample(process.pid)
                next_sample += 1.0
            name = actions.random.choices(list(weights), list(weights.values()))[0]
            self.did[name] += 1
            listener.action = name
            getattr(actions, name)()
            time.sleep(actions.random.uniform(0.05, 0.6))
        time.sleep(1.2)  # for the last /diagnostics
        self.seconds = time.monotonic() - began
        self.crashed = process.poll() is not None

    def end(self, process: subprocess.Popen[bytes]) -> None:
        """Ask the node to end, which takes as long as its limits say."""
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self.clean = process.wait(60.0) == 0
        self.users.listener.finish()

    def failures(self) -> list[str]:
        """What is wrong, in a few words each."""
        listener, actions = self.users.listener, self.users.actions
        found = [f'{robot}...: {v}' for robot, v in listener.verdicts if v.violations]
        found += [
            f'{count} x {kind} (first: {listener.first[kind]})'
            for kind, count in listener.others.items()
        ]
        found += [f'no answer: {name}' for name in actions.client.unanswered]
        found += ['the node crashed'] * self.crashed + ['it did not end cleanly'] * (
            not self.clean
        )
        errors = self.users.reported.get('errors', 'unknown')
        if errors != '0' and not self.faults:
            found.append(f'errors in the node: {errors}')
        silence, action = listener.longest_silence
        if silence > SILENCE:
            found.append(f'silent for {silence:.1f} s, after {action}')
        growth = self.growth()
        if growth is not None and growth > GROWTH:
            found.append(f'memory grows by {growth:.2f} MiB per 600,000 ticks')
        return found

    def growth(self) -> float | None:
        """[MiB] Over 600,000 ticks."""
        return self.memory.growth(max(self.users.listener.states, 1) / max(self.seconds, 1e-9))

    def table(self) -> list[tuple[str, str]]:
        """The lines of the report."""
        listener, reported, growth = self.users.listener, self.users.reported, self.growth()
        silence, action = listener.longest_silence
        return [
            ('time', f'{self.seconds:.0f} s, {self.rate * self.seconds:.0f} periods'),
            ('actions', ', '.join(f'{name} {n}' for name, n in sorted(self.did.items()))),
            ('states judged', f'{listener.states}, {listener.moved} of them in motion'),
            ('lost on the way here', str(listener.lost)),
            *self._of_the_arm(),
            ('poses by pinocchio', str(self.users.actions.poses_checked)),
            ('limit violations', str(listener.violations)),
            ('longest silence', f'{silence:.2f} s, after {action}'),
            ('refused messages', reported.get('refused', '?')),
            ('errors', reported.get('errors', '?') + (', injected' if self.faults else '')),
            ('memory', ' '.join(f'{mib:.1f}' for _, mib in self.memory.lowest()) + ' MiB'),
            (
                'growth',
                'too short to say' if growth is None else f'{growth:.2f} MiB/600,000 ticks',
            ),
            ('crashes', str(int(self.crashed))),
            ('ended cleanly', 'yes' if self.clean else 'no'),
        ]

    def _of_the_arm(self) -> list[tuple[str, str]]:
        """What only is where commands go to a controller."""
        if self.users.arm is None:
            return []
        controller, listener = self.users.controller, self.users.listener
        late = f', {controller.late} of them late' if controller.messages else ''
        return [
            ('trajectories', f'{controller.messages}{late}'),
            ('began from the state', str(listener.restarts)),
        ]


def _commanded(robot: Kinematics, output: str) -> tuple[str, ...]:
    """The joints that commands are for; () where there are all."""
    chain = robot.chain(robot.default_tip())
    return () if output == 'joint_state' else tuple(robot.joint_names[i] for i in sorted(chain))


def _start(robots: list[Kinematics]) -> dict[str, float]:
    """Where all joints of all robots are in the beginning."""
    return {
        name: q
        for robot in robots
        for name, q in zip(robot.joint_names, robot.middle_configuration.tolist(), strict=True)
    }


def campaign(
    texts: list[str], rate: float, seconds: float, seed: int, faults: bool, output: str
) -> Run:
    """Run the node, with faults inside or without, and all that can be done to it."""
    users = Users(texts, rate, seed, output)
    run = Run(users, faults, rate)
    module = 'ik_node.tools.soak.faulty' if faults else 'ik_node'
    with TemporaryDirectory() as folder:
        parameters = {
            'rate': rate,
            'output': output,
            'trajectory_delay': TRAJECTORY_DELAY,
            'joint_limits.default.velocity': VELOCITY,
            'joint_limits.default.acceleration': ACCELERATION,
            'record_folder': folder,
            'record_minutes': 1.0,
        }
        try:
            with running(
                module, parameters=parameters, namespace='/soak', environment=GIVES_BACK
            ) as process:
                run.endure(process, seconds)
                run.end(process)
        finally:
            users.close()
    return run


def isolate(domain: int) -> None:
    """Stay on this machine and in this domain."""
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
