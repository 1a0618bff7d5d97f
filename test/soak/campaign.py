# SPDX-License-Identifier: Apache-2.0
"""A campaign: a node as a process, actions at random, a listener that judges, and the report.

With the same seed the same actions come in the same order; their moments are the machine's. Where
something is broken, the time and the action are printed at once.
"""

from __future__ import annotations

import os
import random
import subprocess
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from functools import partial
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
from std_msgs.msg import Float64MultiArray, String
from trajectory_msgs.msg import JointTrajectory

from ik_node.tools.node_process import running

from . import actions, trials
from .actions import LATCHED
from .client import PATIENCE
from .listener import Listener
from .robots import ACCELERATION, VELOCITY, variants
from .simulated_robot import Arm
from .trajectories import Controller
from .trials import Trials

# [rad] Where the robot behind a controller is in the beginning
START = (0.5, -1.5, 1.6, -1.7, -1.4, 0.3)
STARTED = ('idle', 'tracking', 'reached')  # Codes of a node that moves a robot, or may
START_PATIENCE = 900.0
# The part of the run after which memory must not grow: solvers are loaded when they are first
# chosen
WARM_UP = 0.5
PARTS = 16  # Of a run; in each there is a moment without a recording
# [MiB] Over 600,000 ticks that still counts as none: what the allocator does by itself
GROWTH = 2.0
# [MiB] What memory may seem to grow by in the time that is judged, however few its ticks are
NOISE = 0.5
# For the allocator of glibc: what is freed goes back, so that its memory is what is in use. Else
# it rises with the largest that there was at once, as of a recording.
GIVES_BACK = {'MALLOC_MMAP_THRESHOLD_': '65536', 'MALLOC_TRIM_THRESHOLD_': '65536'}
SHORTEST_FIT = 200.0  # [s] Memory of a shorter run is printed and not judged
QUIET = 0.5  # [s] After which nothing comes any more from a process that has ended
SILENCE = 10.0  # [s] Without joint states, of a node that is not stopped, that counts as a failure


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

        From the lowest of each part, as a recording under way takes memory and gives it back; and
        the median from part to part, as a solver that is used late for the first time is loaded
        once. By their mean time: two lowest samples may be a second apart.
        """
        table = np.array(self.lowest()).reshape(-1, 2)
        late = table[round(WARM_UP * len(table)) :]
        if len(late) < 3 or np.ptp(late[:, 0]) < SHORTEST_FIT:
            return None
        seconds, taken = np.diff(late, axis=0).T
        return float(np.median(taken) / np.mean(seconds)) * 600_000 / ticks_per_second


TRAJECTORY_DELAY = 0.014  # [s] Parameter of the node
# The part of a run in which the node may be ended and started again: memory is judged later
RENEWED = 0.25


class Users:
    """The nodes of the campaign: one that only sends, one that listens, on a thread, and the robot
    on another one, which takes the commands without an executor: they are many.

    Where the node's `output` goes to a controller, there is one, with an arm behind it.
    """

    def __init__(self, rate: float, seed: int, output: str) -> None:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self._node = rclpy.create_node('soak', namespace='/soak')
        self._sender = rclpy.create_node('user', namespace='/soak')
        self._robot = rclpy.create_node('robot', namespace='/soak')
        robots = variants(output)
        self.commanded = robots[0].commanded
        self._command: dict[str, float] = {}
        self.arm, self.listener = None, Listener(rate)
        self.controller = Controller(self.listener, rate, TRAJECTORY_DELAY, self._positions)
        if output != 'joint_state':
            start = dict(zip(self.commanded, START, strict=True))
            to_controller = output == 'joint_trajectory'
            aim = self.controller.aim if to_controller else lambda: self._command
            self.arm = Arm(self._robot, start, aim)
            self.listener.rests_at = self.arm.rests_at
        self.actions = Trials(self._sender, self.listener, robots, seed, self.arm)
        self._listen(output, QoSProfile(depth=int(20 * rate)))
        self.reported: dict[str, str] = {}
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self._node)
        self._executor.add_node(self._sender)
        self._stopping = threading.Event()
        self._threads = [threading.Thread(target=run) for run in (self._spin, self._move)]
        for thread in self._threads:
            thread.start()

    def _listen(self, output: str, depth: QoSProfile) -> None:
        subscribe = self._node.create_subscription
        subscribe(DiagnosticArray, '/diagnostics', self._note, 10)
        subscribe(DiagnosticStatus, 'ik_node/status', self._note_status, LATCHED)
        subscribe(String, 'ik_node/robot_description', self._note_robot, LATCHED)
        kind, topic, self._hear = {
            'joint_state': (JointState, 'joint_states', self._hear_state),
            'position_command': (Float64MultiArray, 'commands', self._hear_command),
            'joint_trajectory': (JointTrajectory, 'joint_trajectory', self._hear_trajectory),
        }[output]
        self._commands = self._robot.create_subscription(kind, topic, lambda m: None, depth)
        if output == 'joint_trajectory':
            self.actions.controller = self.controller

    def begin(self, process: subprocess.Popen[bytes]) -> None:
        """Publish the robot, and wait until it is moved."""
        deadline = time.monotonic() + START_PATIENCE
        self.actions.process = process
        while self.listener.robot is None or self.actions.status.get('code') not in STARTED:
            self.actions.show_robot()
            if process.poll() is not None or time.monotonic() > deadline:
                raise TimeoutError(f'no command for {START_PATIENCE:g} s, or no node')
            time.sleep(1.0)
        self.listener.silent_by_right()
        self.listener.longest_silence = 0.0, ''

    def check(self) -> None:
        """Raise RuntimeError where a thread has ended, with which nothing would be judged."""
        if not all(thread.is_alive() for thread in self._threads):
            raise RuntimeError('a thread of the soak has ended')

    def _positions(self) -> dict[str, float]:
        return {} if self.arm is None else dict(self.arm.positions)

    def close(self) -> None:
        """Leave the graph."""
        self._stopping.set()
        for thread in self._threads:
            thread.join()
        for node in (self._sender, self._node, self._robot):
            node.destroy_node()
        rclpy.try_shutdown()

    def _hear_state(self, message: JointState, info: Any) -> None:
        self.listener.receive(message, info)

    def _hear_command(self, message: Float64MultiArray, info: Any) -> None:
        if len(message.data) != len(self.commanded):
            self.listener.object('commands for an unknown number of joints')
            return
        self.listener.receive_commands(self.commanded, np.array(message.data), info)
        self._command = dict(zip(self.commanded, message.data, strict=True))

    def _hear_trajectory(self, message: JointTrajectory, info: Any) -> None:
        self.controller.hear(message, info)

    def _note_delay(self, info: Any) -> None:
        self.listener.delay = 1e-9 * (time.time_ns() - info['source_timestamp'])
        if self.arm is not None:
            self.arm.delay = max(self.arm.delay, self.listener.delay)

    def _note_status(self, message: DiagnosticStatus) -> None:
        self.actions.status = {pair.key: pair.value for pair in message.values}

    def _note_robot(self, message: String, info: Any) -> None:
        self.actions.note_robot(message.data, info['source_timestamp'])

    def _note(self, message: DiagnosticArray) -> None:
        status = message.status[-1]  # the limits stand before it
        self.reported = {pair.key: pair.value for pair in status.values}
        if self.actions.controller is not None and not self.listener.moves:
            self.listener.silent_by_right()  # holding a position is the controller's job

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
        self._executor.shutdown()

    def _move(self) -> None:
        handle = self._commands.handle
        while not self._stopping.is_set():
            with handle:
                while taken := handle.take_message(self._commands.msg_type, False):
                    self._note_delay(taken[1])
                    self._hear(*taken)
                    if self.arm is not None:
                        self.arm.follow()
            if self.arm is not None:
                self.arm.follow()
            self.controller.play()
            time.sleep(0.002)


class Deck:
    """Deals actions by name, each as often as its weight says before any comes again."""

    def __init__(self, weights: Mapping[str, int], numbers: random.Random) -> None:
        self._all = [name for name, weight in weights.items() for _ in range(weight)]
        self._numbers, self._left = numbers, list[str]()

    def deal(self) -> str:
        """The next one."""
        if not self._left:
            self._left = self._numbers.sample(self._all, len(self._all))
        return self._left.pop()


def weights(output: str, chosen: Sequence[str] = ()) -> dict[str, int]:
    """Return the weights of the actions that this output has: of all of them, or of the chosen
    ones."""
    every = actions.WEIGHTS | trials.OF_ALL
    if output != 'joint_state':
        every |= actions.OF_ARM | trials.OF_ARM
    if output == 'joint_trajectory':
        every |= trials.OF_TRAJECTORIES
    return {name: n for name, n in every.items() if not chosen or name in chosen}


@dataclass
class Run:
    """Result of a campaign; `start` starts the node's process."""

    users: Users
    faults: bool
    rate: float
    start: Callable[[], subprocess.Popen[bytes]]
    memory: Memory = field(default_factory=Memory)
    did: Counter[str] = field(default_factory=Counter)
    in_motion: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    crashed: bool = False
    clean: bool = True

    def endure(self, seconds: float, deck: Deck) -> None:
        """Act at random for so long."""
        users, listener = self.users.actions, self.users.listener
        process = users.process = self.start()
        users.with_faults = self.faults
        self.users.begin(process)
        began = next_sample = time.monotonic()
        while time.monotonic() < began + seconds and process.poll() is None:
            if time.monotonic() >= next_sample:
                self.memory.sample(process.pid)
                next_sample += 1.0
            users.renew = self.renew if time.monotonic() < began + RENEWED * seconds else None
            name, before = deck.deal(), listener.violations
            users.do(name)
            self.users.check()
            process = users.process
            self.did[name] += 1
            self.in_motion[name] += users.was_moving
            if listener.violations > before:
                found = '; '.join(listener.findings)
                print(f'{time.monotonic() - began:.0f} s: {name} broke: {found}', flush=True)
            time.sleep(users.random.uniform(0.05, 0.4))
        time.sleep(1.2)  # for the last /diagnostics
        self.seconds = time.monotonic() - began
        self.crashed = process.poll() is not None

    def renew(self) -> float:
        """End the node, and start it again; how long the end took [s]."""
        seconds, listener = self.end(), self.users.listener
        while time.monotonic() - listener.last_arrival < QUIET:
            time.sleep(0.05)  # what was published before is judged yet
        listener.renew()
        self.users.controller.switch(True, {})
        self.memory.samples.clear()
        self.users.actions.forget()
        self.users.begin(self.start())
        return seconds

    def end(self) -> float:
        """Ask the node to end, which takes as long as its limits say [s]."""
        process, began = self.users.actions.process, time.monotonic()
        assert process is not None
        process.terminate()
        with suppress(subprocess.TimeoutExpired):
            process.wait(PATIENCE)
        self.clean = self.clean and process.poll() == 0
        process.kill()  # where it has not ended
        self.users.listener.finish()
        return time.monotonic() - began

    def failures(self) -> list[str]:
        """Return the faults, in a few words each."""
        listener, actions = self.users.listener, self.users.actions
        found = [*listener.findings]
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
        judged = (1.0 - WARM_UP) * self.rate * self.seconds
        if growth is not None and growth > max(GROWTH, NOISE * 600_000 / judged):
            found.append(f'memory grows by {growth:.2f} MiB per 600,000 ticks')
        return found

    def growth(self) -> float | None:
        """[MiB] Over 600,000 ticks; they go on where nothing is published."""
        return self.memory.growth(self.rate)

    def table(self) -> list[tuple[str, str]]:
        """The lines of the report."""
        listener, reported, growth = self.users.listener, self.users.reported, self.growth()
        silence, action = listener.longest_silence
        return [
            ('time', f'{self.seconds:.0f} s, {self.rate * self.seconds:.0f} periods'),
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
        """Return the lines of the report that only exist if commands go to a controller."""
        if self.users.arm is None:
            return []
        controller, listener = self.users.controller, self.users.listener
        late = f', {controller.late} of them late' if controller.messages else ''
        return [
            ('trajectories', f'{controller.messages}{late}'),
            ('began from the state', str(listener.restarts)),
            ('controller switched on', str(controller.switched_on)),
            ('too busy to be judged', str(self.users.actions.too_busy)),
        ]


def campaign(
    output: str, rate: float, seconds: float, seed: int, faults: bool, chosen: Sequence[str] = ()
) -> Run:
    """Run the node, with faults inside or without, and all that can be done to it."""
    users = Users(rate, seed, output)
    module = 'soak.faulty' if faults else 'ik_node'
    with TemporaryDirectory() as folder, ExitStack() as processes:
        parameters = {
            'rate': rate,
            'output': output,
            'input': 'teleop',
            'trajectory_delay': TRAJECTORY_DELAY,
            'joint_limits.default.velocity': VELOCITY,
            'joint_limits.default.acceleration': ACCELERATION,
            'record_folder': folder,
            'record_minutes': 1.0,
        }
        if users.commanded:
            parameters['command_joints'] = list(users.commanded)
        node = partial(
            running,
            module,
            parameters=parameters,
            namespace='/soak',
            environment={**GIVES_BACK, 'PYTHONPATH': str(Path(__file__).parents[1])},
        )
        run = Run(users, faults, rate, lambda: processes.enter_context(node()))
        try:
            run.endure(seconds, Deck(weights(output, chosen), users.actions.random))
            run.end()
        finally:
            users.close()
    return run


def isolate(domain: int) -> None:
    """Stay on this machine and in this domain."""
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
