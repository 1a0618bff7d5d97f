# SPDX-License-Identifier: Apache-2.0
"""`python -m ik_node.tools.demo`: drive the shipped Panda with goals and print a table.

The demo starts `ik_node` as a process and then acts like a user's program: it publishes goals, the
last one at the first pose of the tip, and reads joint_states. It computes the errors of goals
itself, by forward kinematics of the received joint states; only the solve time is the one reported
by the node (~/status). The exit code is 0 if all reachable goals were reached.

It runs on a ROS domain of its own, and on this machine only, so it disturbs no robot. The viewer
serves its page on this machine (`--no-viewer`, or VIEWER=0: no page). The first goal waits for a
browser to open the page, up to BROWSER_PATIENCE, but not in continuous integration (variable CI).
On a terminal, and without a duration, you can then drag the arm until Ctrl-C; goals that no
browser showed are repeated once one opens the page.
"""

from __future__ import annotations

import argparse
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext, suppress
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticStatus
from geometry_msgs.msg import PoseStamped
from rclpy.executors import SingleThreadedExecutor
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState

from ik_core import Robot, load_urdf
from ik_core.kernels import library
from ik_core.maths.rotations import Array, matrix_from_rpy
from ik_core.shared_files import shared_file

from ..conversions import transform_to_pose
from .node_process import running
from .viewer import Viewer, viewing

RATE = 250.0
DURATION = 20.0
TIP = 'panda_hand_tcp'
ACCELERATION = 10.0
# [s] Longest wait for the node: if numba compiles the kernels, the first start takes minutes.
START_PATIENCE = 900.0
BROWSER_PATIENCE = 60.0  # [s] longest wait for a browser to open the page
POSITION_TOLERANCE = 1e-5
ORIENTATION_TOLERANCE = 1e-4  # [m, rad] tolerances of a reached goal: the node's defaults
SOLVE_TIME = 'solve_time_since_goal [us]'
STREAM_RATE = 50.0
STREAM_RADIUS = 0.1


@dataclass(frozen=True)
class Goal:
    """A goal of the tip, one line of the table.

    transform : the pose (4, 4) in the base frame
    stream : poses (4, 4) that are sent before, at STREAM_RATE
    """

    name: str
    transform: Array
    reachable: bool = True
    stream: tuple[Array, ...] = ()


@dataclass
class Outcome:
    """The outcome of a goal. Errors [m, rad], times [s], rate [Hz].

    `held`: whether the joints rest at the closest pose, as reported by the node.
    """

    reached: bool
    held: bool
    seconds: float
    position_error: float
    orientation_error: float
    solve_time: float
    rate: float


def pose(xyz: tuple[float, float, float], rpy: tuple[float, float, float]) -> Array:
    """Return the transform (4, 4) of a position [m] and fixed-axis roll, pitch, yaw [rad]."""
    transform = np.eye(4)
    transform[:3, :3] = matrix_from_rpy(rpy)
    transform[:3, 3] = xyz
    return transform


def circle(centre: Array, seconds: float) -> tuple[Array, ...]:
    """Return poses (4, 4) on a circle in the y-z plane of the root frame, through `centre`."""
    count = max(2, int(seconds * STREAM_RATE))
    poses = []
    for angle in np.linspace(0.0, 2.0 * np.pi, count):
        shifted = centre.copy()
        shifted[1:3, 3] += STREAM_RADIUS * np.array((np.sin(angle), 1.0 - np.cos(angle)))
        poses.append(shifted)
    return tuple(poses)


def goals(duration: float, home: Array) -> list[Goal]:
    """Return goals for `duration` [s]; the last one is `home` (4, 4)."""
    down, ahead = (np.pi, 0.0, 0.0), (np.pi, -np.pi / 2, 0.0)
    front = pose((0.45, 0.0, 0.45), down)
    every = [
        Goal('in front, tool down', front),
        Goal('out of reach (1.6 m away)', pose((1.5, 0.0, 0.6), ahead), reachable=False),
        Goal('to the left', pose((0.2, 0.45, 0.35), down)),
        Goal('far: to the right, tool ahead', pose((0.25, -0.45, 0.6), ahead)),
        Goal('low, tool turned', pose((0.5, 0.1, 0.2), (np.pi, 0.3, 1.2))),
        Goal('a circle, 50 goals a second', front, stream=circle(front, 2.0)),
    ]
    count = max(1, int(duration / 3.0))
    return [*(every[i % len(every)] for i in range(count)), Goal('home', home)]


@dataclass
class Observer:
    """A client of the node: publishes goals and keeps the node's messages."""

    robot: Robot
    context: rclpy.Context
    states: int = 0
    solve_times: list[float] = field(default_factory=list)
    q: Array | None = None
    speed: float = np.inf
    code: str = ''

    def __post_init__(self) -> None:
        self.node = rclpy.create_node('demo', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.goals = self.node.create_publisher(PoseStamped, 'goal_pose', 1)
        latched = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
        self.node.create_subscription(JointState, 'joint_states', self._on_state, 10)
        self.node.create_subscription(DiagnosticStatus, 'ik_node/status', self._on_status, latched)

    def _on_state(self, message: JointState) -> None:
        values = dict(zip(message.name, message.position, strict=True))
        self.q = np.array([values[joint] for joint in self.robot.joint_names])
        self.speed = max(map(abs, message.velocity), default=0.0)
        self.states += 1

    def _on_status(self, message: DiagnosticStatus) -> None:
        values = {pair.key: pair.value for pair in message.values}
        self.code = values.get('code', '')
        if SOLVE_TIME in values:
            self.solve_times.append(1e-6 * float(values[SOLVE_TIME]))

    def spin_until(self, condition: Callable[[], bool], deadline: float) -> bool:
        """Handle messages until the condition holds; return False at the deadline [s]."""
        while not condition():
            left = deadline - time.monotonic()
            if left <= 0.0:
                return False
            self.executor.spin_once(timeout_sec=min(left, 0.05))
        return True

    def send(self, transform: Array) -> None:
        """Publish a goal in the base frame."""
        self.goals.publish(PoseStamped(pose=transform_to_pose(transform)))

    def errors(self, goal: Array) -> tuple[float, float]:
        """Return the errors [m, rad] of the tip from `goal` (4, 4), by the last states."""
        if self.q is None:
            return np.inf, np.inf
        tip = self.robot.forward_kinematics(self.q, TIP)
        turn = tip[:3, :3].T @ goal[:3, :3]
        sine = 0.5 * np.linalg.norm(turn - turn.T) / np.sqrt(2.0)
        angle = float(np.arctan2(sine, 0.5 * (np.trace(turn) - 1.0)))
        return float(np.linalg.norm(tip[:3, 3] - goal[:3, 3])), angle

    def reaches(self, goal: Array) -> bool:
        """Return whether the tip is at `goal` (4, 4) now."""
        position, orientation = self.errors(goal)
        return position < POSITION_TOLERANCE and orientation < ORIENTATION_TOLERANCE

    @property
    def is_held(self) -> bool:
        """True if the robot rests at the closest pose, as reported by the node."""
        return self.code == 'closest' and self.speed == 0.0

    def close(self) -> None:
        """Destroy the client's node."""
        self.executor.shutdown()
        self.node.destroy_node()


def attempt(observer: Observer, goal: Goal, seconds: float) -> Outcome:
    """Send a goal, and wait until it is reached or held, for at most `seconds`."""
    start = time.monotonic()
    before, observer.solve_times, observer.code = observer.states, [], ''
    for number, transform in enumerate(goal.stream):
        observer.send(transform)
        observer.spin_until(lambda: False, start + (number + 1) / STREAM_RATE)
    observer.send(goal.transform)
    observer.spin_until(
        lambda: observer.reaches(goal.transform) or observer.is_held, start + seconds
    )
    elapsed = time.monotonic() - start
    position, orientation = observer.errors(goal.transform)
    return Outcome(
        observer.reaches(goal.transform),
        observer.is_held,
        elapsed,
        position,
        orientation,
        float(np.median(observer.solve_times)) if observer.solve_times else np.nan,
        (observer.states - before) / elapsed,
    )


def verdict(goal: Goal, outcome: Outcome) -> str:
    """Return the result of a goal as text for the table."""
    if goal.reachable:
        return 'reached' if outcome.reached else 'NOT REACHED'
    if outcome.reached:
        return 'REACHED?'
    return 'held closest' if outcome.held else 'on the way'


def row(goal: Goal, outcome: Outcome) -> str:
    """Return a line of the table."""
    time_to_reach = f'{outcome.seconds:8.2f}' if outcome.reached else f'{"-":>8}'
    return (
        f'{goal.name:<30} {verdict(goal, outcome):<12} {time_to_reach} '
        f'{1e3 * outcome.position_error:13.4f} {np.rad2deg(outcome.orientation_error):16.4f} '
        f'{1e6 * outcome.solve_time:10.1f} {outcome.rate:11.1f}'
    )


HEADER = (
    f'{"goal":<30} {"result":<12} {"time [s]":>8} {"position [mm]":>13} '
    f'{"orientation [deg]":>16} {"solve [us]":>10} {"states [Hz]":>11}'
)


def wait_for_states(observer: Observer, process: subprocess.Popen[bytes]) -> bool:
    """Wait until the node publishes; return False if it ends, or takes too long."""
    deadline = time.monotonic() + START_PATIENCE

    def settled() -> bool:
        started = observer.q is not None and observer.goals.get_subscription_count() > 0
        return started or process.poll() is not None

    if observer.spin_until(settled, deadline) and process.poll() is None:
        return True
    if process.poll() is None:
        print(f'ik_node is not ready after {START_PATIENCE:g} s', file=sys.stderr)
    else:
        print('ik_node did not start: see its messages above', file=sys.stderr)
    return False


def parameters(urdf: Path) -> dict[str, object]:
    """Return the node's parameters; the Panda's URDF has no acceleration limits.

    The arm keeps clear of itself and of a table, but if kernels run as plain Python: then that is
    too slow at this rate.
    """
    is_fast = library.BACKEND != 'python'
    return {
        'urdf_path': urdf,
        'tip_links': TIP,
        'avoid': 'world' if is_fast else 'none',
        'world_file': shared_file('config/demo_world.yaml') if is_fast else '',
        'rate': RATE,
        'joint_limits.default.acceleration': ACCELERATION,
    }


def run(duration: float, context: rclpy.Context, *, viewer: bool, waits: bool, stays: bool) -> int:
    """Run the demo on a context; return its exit code.

    waits : whether the first goal waits for a browser
    stays : whether the arm can be dragged on the page afterwards
    """
    urdf = shared_file('urdf/panda.urdf')
    began = time.monotonic()
    observer = Observer(load_urdf(urdf), context)
    try:
        with running('ik_node', parameters=parameters(urdf)) as process:
            if not wait_for_states(observer, process):
                return 1
            print(f'\nik_node publishes after {time.monotonic() - began:.1f} s')
            assert observer.q is not None
            home = observer.robot.forward_kinematics(observer.q, TIP)
            with viewing() if viewer else nullcontext() as page:
                if page is None or not page.url:
                    return show(observer, duration, home)
                patience = BROWSER_PATIENCE if waits else 0.0
                until = f'; the arm waits for that, up to {patience:g} s' if waits else ''
                print(f'open {page.url} in a browser{until}', flush=True)
                is_watched = is_opened(page, observer, process, patience)
                code = show(observer, duration, home)
                if stays:
                    wait_for_drags(page, observer, process, home, is_watched=is_watched)
                return code
    finally:
        observer.close()


def is_opened(
    page: Viewer, observer: Observer, process: subprocess.Popen[bytes], patience: float
) -> bool:
    """Return whether a browser opens the page within `patience` [s], while both run."""

    def settled() -> bool:
        ended = process.poll() is not None or page.process.poll() is not None
        return ended or page.opened.is_set()

    observer.spin_until(settled, time.monotonic() + patience)
    return page.opened.is_set()


def show(observer: Observer, duration: float, home: Array) -> int:
    """Drive the arm through its goals, and print the table; return the exit code."""
    print(f'\n{HEADER}', flush=True)
    missed = drive(observer, goals(duration, home), duration)
    print(f'\n{"all reachable goals reached" if not missed else f"{missed} goals not reached"}')
    return 1 if missed else 0


def wait_for_drags(
    page: Viewer,
    observer: Observer,
    process: subprocess.Popen[bytes],
    home: Array,
    *,
    is_watched: bool,
) -> None:
    """Wait while the page drags the arm, until Ctrl-C or the end of the node.

    is_watched : whether a browser showed the goals; if not, they are repeated once one opens
    """
    invitation = f'now drag it yourself: {page.url} (Ctrl-C ends)'
    with suppress(KeyboardInterrupt):
        print(invitation, flush=True)
        if not is_watched and is_opened(page, observer, process, math.inf):
            show(observer, DURATION, home)
            print(invitation, flush=True)
        process.wait()


def drive(observer: Observer, goals: list[Goal], duration: float) -> int:
    """Send all goals within `duration` [s], print a line for each; return the number missed."""
    deadline, missed = time.monotonic() + duration, 0
    for number, goal in enumerate(goals):
        left = deadline - time.monotonic()
        seconds = 2.0 * left / (len(goals) - number)
        outcome = attempt(observer, goal, min(left, seconds))
        print(row(goal, outcome), flush=True)
        missed += goal.reachable and not outcome.reached
    return missed


def main(arguments: list[str] | None = None) -> int:
    """Run the demo; return 0 if all reachable goals were reached."""
    given = _parser().parse_args(arguments)
    is_endless = math.isnan(given.duration)
    duration, stays = (DURATION if is_endless else given.duration), is_endless and _is_terminal()
    waits = os.environ.get('CI', '').lower() in ('', '0', 'false')
    domain = 60 + os.getpid() % 40
    os.environ['ROS_DOMAIN_ID'] = str(domain)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    print(f'ik_node and this demo use ROS_DOMAIN_ID={domain}, on this machine only')
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=rclpy.signals.SignalHandlerOptions.NO)
    # Without handlers the node and the page would survive; a closing terminal sends SIGHUP.
    for ending in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(ending, signal.default_int_handler)
    try:
        return run(duration, context, viewer=given.viewer, waits=waits, stays=stays)
    except KeyboardInterrupt:
        print('\nstopped')
        return 130
    finally:
        context.try_shutdown()


def _is_terminal() -> bool:
    """Return whether a user is at a terminal, who can end the demo."""
    return sys.stdin.isatty() and sys.stdout.isatty()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog='ik_node.tools.demo', description='Drive a Panda with goals.'
    )
    parser.add_argument(
        '--duration',
        type=float,
        default=float(os.environ.get('DURATION') or 'nan'),
        help=f'seconds to drive once the node is ready, then end ({DURATION:g})',
    )
    parser.add_argument(
        '--no-viewer',
        dest='viewer',
        action='store_false',
        default=os.environ.get('VIEWER', '1') != '0',
        help='open no page in the browser',
    )
    return parser


if __name__ == '__main__':
    sys.exit(main())
