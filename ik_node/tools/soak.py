"""`python -m ik_node.tools.soak --minutes N`: the node under all that can go wrong.

Runs `ik_node` as a process and, at random moments, floods it with goals, sends it garbage,
restarts publishers and subscribers, stops and continues the process (SIGSTOP, SIGCONT), swaps the
robot, changes solver and tolerances, and saturates the processor. Meanwhile a subscriber checks
every joint state against the URDF's limits and the acceleration limit the node was given, by
itself: what the node says of itself is only printed. The exit code is 0 where nothing was broken.
With the same seed the same faults come in the same order; their moments are the machine's.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from geometry_msgs.msg import Pose, PoseArray, PoseStamped
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState
from std_msgs.msg import String

from ik_core import SOLVERS, Robot, load_urdf
from ik_core.maths.rotations import Array
from ik_core.robot.shipped import shared_file

from ..conversions import transform_to_pose
from .process import running

VELOCITY, ACCELERATION = 2.0, 10.0
"""[rad/s, rad/s^2] Limits that the node is given where the URDF has none."""
START_PATIENCE = 300.0
WARM_UP = 0.25
"""The part of the run after which memory must not grow."""
GROWTH = 2.0
"""[MiB] Over 600,000 ticks that still counts as none: what the allocator does by itself."""
SHORTEST_FIT = 60.0
"""[s] Memory of a shorter run is printed and not judged."""
SILENCE = 5.0
"""[s] Without joint states, of a node that is not stopped, that counts as a failure."""
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)


# --- checking ----------------------------------------------------------------------------------


class Checker:
    """Checks joint states against limits that it reads from the URDFs."""

    def __init__(self, robots: list[Robot], rate: float) -> None:
        self._robots = {(*r.joint_names, *r.mimic_joints): r for r in robots}
        self._period = 1.0 / rate
        self._last: tuple[tuple[str, ...], Array, Array] | None = None
        self.states = self.gaps = 0
        self.violations: Counter[str] = Counter()
        self.last_arrival = time.monotonic()
        self.longest_silence = 0.0, ''
        self.fault = ''

    def receive(self, message: JointState) -> None:
        """Check one message, and its step from the one before."""
        now = time.monotonic()
        self.note_silence(now)
        self.last_arrival = now
        self.states += 1
        names = tuple(message.name)
        robot = self._robots.get(names)
        if robot is None:
            self.violations['unknown joints'] += 1
            return
        q, dq = (np.array(values[: robot.n]) for values in (message.position, message.velocity))
        self._check_state(robot, q, dq)
        if self._last is not None and self._last[0] == names:
            self._check_step(self._last[1], self._last[2], q, dq)
        self._last = names, q, dq

    def note_silence(self, now: float) -> None:
        """Take the time since the last message into account."""
        self.longest_silence = max(self.longest_silence, (now - self.last_arrival, self.fault))

    def _check_state(self, robot: Robot, q: Array, dq: Array) -> None:
        if not (np.isfinite(q).all() and np.isfinite(dq).all()):
            self.violations['not finite'] += 1
        if (q < robot.lower - 1e-9).any() or (q > robot.upper + 1e-9).any():
            self.violations['position'] += 1
        limit = np.where(np.isfinite(robot.velocity), robot.velocity, VELOCITY)
        if (np.abs(dq) > limit * (1.0 + 1e-9)).any():
            self.violations['velocity'] += 1

    def _check_step(self, q0: Array, dq0: Array, q: Array, dq: Array) -> None:
        """One tick between two messages, q = q0 + dq / rate; else messages are missing."""
        if (np.abs(q - q0 - dq * self._period) > 1e-9).any():
            self.gaps += 1
        elif (np.abs(dq - dq0) > ACCELERATION * self._period * (1.0 + 1e-6)).any():
            self.violations['acceleration'] += 1


@dataclass
class Memory:
    """The resident memory of a process over time."""

    samples: list[tuple[float, float]] = field(default_factory=list)

    def sample(self, pid: int) -> None:
        """Take one [s, MiB]; where there is no /proc, none."""
        with suppress(OSError, StopIteration, ProcessLookupError):
            lines = Path(f'/proc/{pid}/status').read_text(encoding='ascii').splitlines()
            line = next(line for line in lines if line.startswith('VmRSS'))
            self.samples.append((time.monotonic(), int(line.split()[1]) / 1024.0))

    def growth(self, ticks_per_second: float) -> float | None:
        """MiB over 600,000 ticks, from a line through all after the warm-up; None if too short."""
        table = np.array(self.samples).reshape(-1, 2)
        late = table[round(WARM_UP * len(table)) :]
        if len(late) < 3 or np.ptp(late[:, 0]) < SHORTEST_FIT:
            return None
        slope = float(np.polyfit(late[:, 0] - late[0, 0], late[:, 1], 1)[0])
        return slope * 600_000 / ticks_per_second


# --- faults ------------------------------------------------------------------------------------


class Client:
    """The node's user: publishes goals, listens, and does what no user should."""

    def __init__(self, robots: list[Robot], texts: list[str], rate: float, seed: int) -> None:
        rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node('soak', namespace='/soak')
        self.user = rclpy.create_node('user', namespace='/soak')  # only publishes: not spun
        self._executor = SingleThreadedExecutor()
        self._executor.add_node(self.node)
        self.checker = Checker(robots, rate)
        self.reported: dict[str, str] = {}
        self.random = random.Random(seed)
        self._numbers = np.random.default_rng(seed)
        self._robots, self._texts, self._robot = robots, texts, 0
        depth = QoSProfile(depth=int(10 * rate))
        self.node.create_subscription(JointState, 'joint_states', self.checker.receive, depth)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._note, 10)
        self._description = self.node.create_publisher(String, 'robot_description', LATCHED)
        self._parameters = self.node.create_client(
            SetParametersAtomically, 'ik_node/set_parameters_atomically'
        )
        self._open()
        self._listen()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._spin)
        self._thread.start()

    def _open(self) -> None:
        self._poses = self.user.create_publisher(PoseStamped, 'goal_pose', 1)
        self._arrays = self.user.create_publisher(PoseArray, 'goal_poses', 1)

    def _listen(self) -> None:
        self._listener = self.node.create_subscription(
            JointState, 'joint_states', lambda message: None, 10
        )

    def _listen_anew(self) -> None:
        self.node.destroy_subscription(self._listener)
        self._listen()

    def restart(self, node: subprocess.Popen[bytes]) -> None:
        """Close and open the publishers of goals, and a listener on the thread that spins."""
        for publisher in (self._poses, self._arrays):
            self.user.destroy_publisher(publisher)
        self._open()
        self._executor.create_task(self._listen_anew)

    def goal(self, node: subprocess.Popen[bytes]) -> None:
        """One goal somewhere, or beyond reach."""
        self._poses.publish(PoseStamped(pose=self._random_pose()))

    def flood(self, node: subprocess.Popen[bytes]) -> None:
        """Goals as fast as they can be published, for a second."""
        poses = [PoseStamped(pose=self._random_pose()) for _ in range(50)]
        end = time.monotonic() + 1.0
        while time.monotonic() < end:
            self._poses.publish(self.random.choice(poses))
            time.sleep(0.0002)

    def garbage(self, node: subprocess.Popen[bytes]) -> None:
        """Messages that can't be used."""
        for number in (float('nan'), float('inf'), -float('inf'), 1e300):
            pose = self._random_pose()
            part, axis = self.random.choice(
                [(pose.position, 'x'), (pose.position, 'z'), (pose.orientation, 'w')]
            )
            setattr(part, axis, number)
            self._poses.publish(PoseStamped(pose=pose))
            time.sleep(0.01)
        zero, lost = Pose(), PoseStamped(pose=self._random_pose())
        zero.orientation.w = 0.0
        lost.header.frame_id = 'nowhere'
        self._poses.publish(PoseStamped(pose=zero))
        self._poses.publish(lost)
        self._arrays.publish(PoseArray(poses=[self._random_pose()] * 5))

    def stop_and_continue(self, node: subprocess.Popen[bytes]) -> None:
        """Stop the process for a while."""
        node.send_signal(signal.SIGSTOP)
        time.sleep(self.random.uniform(0.05, 1.0))
        self.checker.last_arrival = time.monotonic()  # it was silent by right
        node.send_signal(signal.SIGCONT)

    def swap(self, node: subprocess.Popen[bytes]) -> None:
        """Publish another robot's description."""
        self._robot = (self._robot + 1) % len(self._robots)
        self._description.publish(String(data=self._texts[self._robot]))

    def set_parameters(self, node: subprocess.Popen[bytes]) -> None:
        """Another solver, other tolerances, another way to follow."""
        choices: dict[str, list[Any]] = {
            'solver': [*SOLVERS],
            'position_tolerance': [1e-6, 1e-5, 1e-3],
            'orientation_length': [0.1, 0.2, 1.0],
            'updates_per_tick': [0, 1, 5],
            'goal_timeout': [0.0, 0.5],
        }
        name = self.random.choice(list(choices))
        self._set(name, self.random.choice(choices[name]))

    def break_parameters(self, node: subprocess.Popen[bytes]) -> None:
        """Values that must be refused."""
        self._set('position_tolerance', -1.0)
        self._set('rate', 5.0)
        self._set('solver', 'none')

    def saturate(self, node: subprocess.Popen[bytes]) -> None:
        """A busy process for each core, for two seconds."""
        program = 'import time\nend = time.monotonic() + 2\nwhile time.monotonic() < end: pass'
        command = [sys.executable, '-S', '-c', program]
        busy = [subprocess.Popen(command) for _ in range(os.cpu_count() or 1)]
        for process in busy:
            process.wait()

    def begin(self) -> None:
        """Publish the first robot, and wait until it is moved."""
        self._description.publish(String(data=self._texts[0]))
        deadline = time.monotonic() + START_PATIENCE
        while not self.checker.states:
            if time.monotonic() > deadline:
                raise TimeoutError(f'no joint_states for {START_PATIENCE:g} s')
            time.sleep(0.05)
        self.checker.longest_silence = 0.0, ''

    def close(self) -> None:
        """Leave the graph."""
        self._stopping.set()
        self._thread.join()
        self.user.destroy_node()
        self.node.destroy_node()
        rclpy.try_shutdown()

    def _random_pose(self) -> Pose:
        robot = self._robots[self._robot]
        lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
        q = self._numbers.uniform(lower, upper)
        goal = robot.forward_kinematics(q, robot.default_tip())
        if self.random.random() < 0.2:
            goal[:3, 3] *= 10.0
        return transform_to_pose(goal)

    def _set(self, name: str, value: Any) -> None:
        if self._parameters.service_is_ready():
            parameter = Parameter(name, value=value).to_parameter_msg()
            request = SetParametersAtomically.Request(parameters=[parameter])
            self._parameters.call_async(request)

    def _note(self, message: DiagnosticArray) -> None:
        status = message.status[-1]  # the limits stand before it
        self.reported = {pair.key: pair.value for pair in status.values}

    def _spin(self) -> None:
        while not self._stopping.is_set():
            self._executor.spin_once(timeout_sec=0.1)
        self._executor.shutdown()


WEIGHTS: dict[str, int] = {
    'goal': 8,
    'flood': 2,
    'garbage': 2,
    'restart': 1,
    'stop_and_continue': 1,
    'swap': 1,
    'set_parameters': 3,
    'break_parameters': 1,
    'saturate': 1,
}
"""How often each fault comes, by the name of the method of Client."""


# --- the run -----------------------------------------------------------------------------------


def endure(client: Client, node: subprocess.Popen[bytes], seconds: float) -> dict[str, Any]:
    """Do the worst for so long; what came of it."""
    client.begin()
    memory, faults = Memory(), Counter[str]()
    began = time.monotonic()
    next_sample = began
    while time.monotonic() < began + seconds and node.poll() is None:
        if time.monotonic() >= next_sample:
            memory.sample(node.pid)
            next_sample += 1.0
        fault = client.random.choices(list(WEIGHTS), list(WEIGHTS.values()))[0]
        faults[fault] += 1
        client.checker.fault = fault
        act: Callable[[subprocess.Popen[bytes]], None] = getattr(client, fault)
        act(node)
        time.sleep(client.random.uniform(0.05, 0.4))
    time.sleep(1.2)  # for the last /diagnostics
    client.checker.note_silence(time.monotonic())
    return {
        'seconds': time.monotonic() - began,
        'crashed': node.poll() is not None,
        'memory': memory,
        'faults': faults,
    }


def ended_cleanly(node: subprocess.Popen[bytes]) -> bool:
    """Ask the node to end; whether it did, with 0."""
    node.terminate()
    try:
        return node.wait(10.0) == 0
    except subprocess.TimeoutExpired:
        return False


def report(
    run: dict[str, Any], client: Client, clean: bool, rate: float
) -> tuple[list[tuple[str, str]], list[str]]:
    """The lines of the table, and what is wrong."""
    checker, reported, memory = client.checker, client.reported, run['memory']
    growth = memory.growth(max(int(reported.get('ticks', 0)), 1) / run['seconds'])
    failures = [f'{count} x {kind}' for kind, count in checker.violations.items()]
    failures += ['the node crashed'] * run['crashed'] + ['it did not end cleanly'] * (not clean)
    if int(reported.get('errors', 1)):
        failures.append(f'errors in the node: {reported.get("errors", "unknown")}')
    silence, fault = checker.longest_silence
    if silence > SILENCE:
        failures.append(f'silent for {silence:.1f} s, after {fault}')
    if growth is not None and growth > GROWTH:
        failures.append(f'memory grows by {growth:.2f} MiB per 600,000 ticks')
    resident = [mib for _, mib in memory.samples] or [float('nan')]
    lines = [
        ('time', f'{run["seconds"]:.0f} s'),
        ('faults', ', '.join(f'{name} {n}' for name, n in sorted(run['faults'].items()))),
        ('ticks', reported.get('ticks', '?')),
        ('late ticks, skipped', reported.get('late_ticks', '?')),
        ('periods in all', f'{rate * run["seconds"]:.0f}'),
        ('joint states checked', str(checker.states)),
        ('pairs not one step apart', f'{checker.gaps} (lost on the way here)'),
        ('longest silence', f'{silence:.2f} s, after {fault}'),
        ('limit violations', str(sum(checker.violations.values()))),
        ('refused messages', reported.get('refused', '?')),
        ('errors', reported.get('errors', '?')),
        ('memory', f'{resident[0]:.1f} MiB at first, {resident[-1]:.1f} MiB at the end'),
        ('growth', 'too short to say' if growth is None else f'{growth:.2f} MiB/600,000 ticks'),
        ('crashes', str(int(run['crashed']))),
        ('ended cleanly', 'yes' if clean else 'no'),
    ]
    return lines, failures


def main(arguments: list[str] | None = None) -> int:
    """Run the soak test; 0 where nothing was broken."""
    parser = argparse.ArgumentParser(prog='ik_node.tools.soak', description=__doc__.split('\n')[0])
    parser.add_argument('--minutes', type=float, default=10.0)
    parser.add_argument('--rate', type=float, default=1000.0, help='of the node [Hz]')
    parser.add_argument('--urdf', default=str(shared_file('urdf/panda.urdf')))
    parser.add_argument('--seed', type=int, default=int(time.time()) % 10**6)
    parser.add_argument('--domain', type=int, default=60 + os.getpid() % 40, help='ROS_DOMAIN_ID')
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the node, too
    os.environ['ROS_DOMAIN_ID'] = str(options.domain)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    print(f'seed {options.seed}, {options.minutes:g} minutes at {options.rate:g} Hz', flush=True)
    texts = [Path(p).read_text('utf-8') for p in (options.urdf, shared_file('urdf/iiwa14.urdf'))]
    client = Client([load_urdf(text) for text in texts], texts, options.rate, options.seed)
    parameters = {
        'rate': options.rate,
        'joint_limits.default.velocity': VELOCITY,
        'joint_limits.default.acceleration': ACCELERATION,
    }
    try:
        with running('ik_node', parameters=parameters, namespace='/soak') as node:
            run = endure(client, node, 60.0 * options.minutes)
            clean = ended_cleanly(node)
    finally:
        client.close()
    lines, failures = report(run, client, clean, options.rate)
    for name, value in lines:
        print(f'{name:<26}{value}')
    print('FAILED: ' + '; '.join(failures) if failures else 'nothing was broken')
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
