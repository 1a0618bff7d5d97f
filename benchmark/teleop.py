# SPDX-License-Identifier: Apache-2.0
"""`ik bench teleop`: a hand moves a tip over a wire and over wifi, with glitches, and far too far.

The traces of `teleop_traces` move the tips of a UR5e and of an arm like the SO-101, which has five
joints, 120 times a second. A method gets the samples when they arrive, and the joints as they were
commanded. `--peers ssik,teleopro-core` also plays them to others, in environments of their own
(`teleop_worker`): those of the UR5e to ssik's Tracker with its Clutch, since no closed form of
ssik is for five joints; all to teleopro-core with lerobot's inverse kinematics. Columns:

- `engagements`, `step`: how often a hand at rest was engaged, and the largest step of a joint in
  the 0.3 s after that [mrad];
- `freezes`: how often the tip stood still for more than a period (moved less than a tenth as far
  as the hand) while the hand, as it was that much earlier, moved faster than 20 mm/s inside reach;
- `delay`, `varies`: by which the tip follows best, over all and between pieces of 2 s [ms];
- `rms`, `turn`: of the tip, from the hand with that delay [mm], [deg]. The angle is left out for
  five joints, which can't follow it;
- `jerk`: its rms over all joints, relative to that of the hand's true motion, with that delay,
  through exact inverse kinematics;
- `outliers`: largest distance between the tip and that of the same trace without glitches [mm];
- `turns`: how far a hand beyond the reach comes back before the tip follows [mm];
- `cpu`: processor time, as a percentage of one core.
"""

from __future__ import annotations

import argparse
import math
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple, Protocol
from xml.etree import ElementTree

import numpy as np

import ik_core as ik
from ik_core.display import listed
from ik_core.exceptions import InvalidOption
from ik_core.maths.rotations import Array, pose_error
from ik_core.progress import bar
from ik_core.robot.robot import Robot
from ik_core.robot.shipped import robot_path
from ik_core.teleop import HandOptions, Teleop

from .peers import catalog
from .peers.catalog import PEERS as SOLVERS
from .peers.environments import PeerAbsent, default_root, interpreter
from .results import Row
from .teleop_traces import (
    BEYOND,
    SWITCH,
    Trace,
    out_and_back,
    resting,
    switched,
    trace,
    wandering,
)

RATE = 120.0  # [Hz]
SECONDS = 20.0
PIECE = 2.0  # [s]
SETTLED = 0.5  # [s] after engaging, from which on following is judged
MOVES = 0.02  # [m/s]
TELEOPRO = ('teleopro-core', 'lerobot', 'placo')
PLAYED = {
    'ssik': SOLVERS['ssik'],
    'teleopro-core': catalog.Peer('teleopro-core', '', 'teleopro-core', TELEOPRO),
}
WORKER = Path(__file__).with_name('teleop_worker.py')
DELAYS = np.arange(0.0, 0.3, 0.001)  # [s] that are tried


class Arm(NamedTuple):
    """An arm: its tip, where it begins (n,), and the hand's size of motion [m] and speed [m/s]."""

    name: str
    tip: str
    q: tuple[float, ...]
    size: float
    speed: float


ARMS = (
    Arm('ur5e', 'tool0', (0.0, -1.2, 1.5, -1.9, -1.57, 0.0), 0.1, 0.5),
    Arm('so101_like', 'gripper_frame_link', (0.0, -0.3, 0.6, 0.5, 0.0, 0.3), 0.04, 0.2),
)
# 3 degrees below the lower limit of the joint, as a measured joint may be.
BEYOND_LIMIT = Arm(
    'so101_like', 'gripper_frame_link', (0.0, -1.7977, 1.3, 0.6, 0.0, 0.3), 0.0, 0.0
)


class Method(Protocol):
    """A way to teleoperate: `push` is given each sample as it arrives, `step` returns q (n,)."""

    def push(self, stamp: float, pose: Array, engaged: bool, now: float) -> None: ...
    def step(self, now: float, measured: Array) -> Array: ...


class Ours:
    """`ik_core.Teleop` with default options but the latency [s]."""

    def __init__(self, robot: Robot, tip: str, latency: float) -> None:
        limits = ik.MotionLimits.of(robot, velocity=3.0, acceleration=20.0)
        options = HandOptions(latency=latency)
        self.teleop = Teleop(robot, tip, RATE, limits, options=options, clock=lambda: 0.0)

    def push(self, stamp: float, pose: Array, engaged: bool, now: float) -> None:
        self.teleop.push(pose, stamp, engaged, received=now)

    def step(self, now: float, measured: Array) -> Array:
        return self.teleop.step(now, measured)


Maker = Callable[[Robot, str, float], Method]


class Peer(NamedTuple):
    """A method that runs in an environment of its own: its name, and its Python."""

    name: str
    python: str


class Run(NamedTuple):
    """A trace played to a method: commands (N, n), tips (N, 4, 4), and processor time [s]."""

    trace: Trace
    q: Array
    tips: Array
    seconds: float


def rows(arguments: argparse.Namespace) -> Iterator[Row]:
    """Yield a row for each experiment, arm and method."""
    seconds = min(SECONDS, max(6.0, float(arguments.count)))
    methods: dict[str, Maker | Peer] = {'ours': Ours}
    if arguments.peers:
        methods |= _peers(arguments.peers.split(','), arguments.peers_venv)
    experiments = [
        lambda name=name, make=make, arm=arm, experiment=experiment: {
            'experiment': experiment.__name__.replace('_', ' '),
            'robot': arm.name,
            'method': name,
            **dict.fromkeys(COLUMNS, ''),
            **experiment(arm, make, seconds),
        }
        for experiment, arms in EXPERIMENTS.items()
        for arm in arms
        for name, make in methods.items()
        if name != 'ssik' or len(arm.q) == len(ik.load_robot(arm.name).chain(arm.tip))
    ]
    for experiment in bar(experiments, 'teleop'):
        yield experiment()


def _peers(names: list[str], venv: Path | None) -> dict[str, Maker | Peer]:
    """Return the peers of these names, installed. Raises InvalidOption for others."""
    found: dict[str, Maker | Peer] = {}
    for name in names:
        if name not in PLAYED:
            raise InvalidOption(f'--peers {name}: teleop has {listed(PLAYED)}')
        try:
            found[name] = Peer(name, interpreter(PLAYED[name], venv or default_root()))
        except PeerAbsent as error:
            raise InvalidOption(f'--peers {name}: {error}') from error
    return found


# --- experiments -------------------------------------------------------------------------------


def wire(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return how well a hand is followed over a wire."""
    return _followed(_played('wire', arm, make, 0.03, seconds), arm)


def wifi(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return the same over wifi."""
    return _followed(_played('wifi', arm, make, 0.18, seconds), arm)


def glitches(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return how far glitches move the tip."""
    with_them = _played('glitches', arm, make, 0.03, seconds)
    without = _played('wire', arm, make, 0.03, seconds)
    gaps = (with_them.tips - without.tips)[:, :3, 3]
    return {'outliers': 1e3 * float(np.linalg.norm(gaps, axis=1).max())}


def engagements(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return the largest step of joints at 20 engagements of a hand in motion."""
    hand = resting(wandering(arm.size, arm.speed, 1), 1.5, 0.5)
    return _steps(_played('wire', arm, make, 0.03, 20 * 1.5 + SWITCH, switched(1.5, 1.0), hand))


def beyond_limit(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return the same for a joint that is measured beyond its limit."""
    return _steps(_played('wire', arm, make, 0.03, 3.0, None, lambda time: np.eye(4)))


def beyond_reach(arm: Arm, make: Maker | Peer, seconds: float) -> Row:
    """Return how far a hand comes back from beyond the reach until the tip follows."""
    robot, turns = ik.load_robot(arm.name), SWITCH + 4.0
    tip = robot.forward_kinematics(arm.q, arm.tip)[:3, 3]
    way = tip * [1.0, 1.0, 0.0] / np.hypot(*tip[:2])
    left = _left(robot, arm, way)
    hand = out_and_back((left + BEYOND) * way, SWITCH + 0.5, turns)
    run = _played('wire', arm, make, 0.03, 2.0 * turns, None, hand)
    tick = int(turns * RATE)
    away = np.linalg.norm(run.tips[tick:, :3, 3] - run.tips[tick, :3, 3], axis=1)
    followed = tick + int(np.argmax(away > 0.001))
    if away.max() <= 0.001:
        followed = len(run.tips) - 1
    back = np.linalg.norm((hand(followed / RATE) - hand(turns))[:3, 3])
    return {'turns': 1e3 * float(back)}


COLUMNS = ('engagements', 'step', 'freezes', 'delay', 'varies', 'rms', 'turn', 'jerk', 'outliers',
           'turns', 'cpu')  # fmt: skip
EXPERIMENTS = {
    wire: ARMS,
    wifi: ARMS,
    glitches: ARMS,
    engagements: ARMS,
    beyond_limit: (BEYOND_LIMIT,),
    beyond_reach: ARMS,
}


def _left(robot: Robot, arm: Arm, way: Array) -> float:
    """Return how far [m] the tip can move along the unit vector `way` (3,)."""
    start = robot.forward_kinematics(arm.q, arm.tip)[:3, 3]
    goal = ik.PositionTask(arm.tip, start + 3.0 * way)
    reached = ik.solve(ik.IkProblem(robot, [goal]), arm.q).q
    return float((robot.forward_kinematics(reached, arm.tip)[:3, 3] - start) @ way)


# --- runs --------------------------------------------------------------------------------------


def _played(
    connection: str,
    arm: Arm,
    make: Maker | Peer,
    latency: float,
    seconds: float,
    switch: Callable[[float], bool] | None = None,
    hand: Callable[[float], Array] | None = None,
) -> Run:
    motion = hand or wandering(arm.size, arm.speed, 1)
    return played(trace(connection, motion, seconds, switch), arm, make, latency)


def played(given: Trace, arm: Arm, make: Maker | Peer, latency: float) -> Run:
    """Play a trace to a method, with the arm at its `q` at first."""
    robot = ik.load_robot(arm.name)
    if isinstance(make, Peer):
        return _played_elsewhere(given, arm, robot, make)
    method, q, taken, next_sample = make(robot, arm.tip, latency), np.array(arm.q), 0.0, 0
    commands = []
    for tick in range(int(given.seconds * RATE)):
        now = tick / RATE
        begun = time.process_time()
        while next_sample < len(given.samples) and given.samples[next_sample].arrival <= now:
            sample = given.samples[next_sample]
            method.push(sample.stamp, sample.pose, sample.engaged, sample.arrival)
            next_sample += 1
        q = method.step(now, q)
        taken += time.process_time() - begun
        commands.append(q)
    tips = np.array([robot.forward_kinematics(q, arm.tip) for q in commands])
    return Run(given, np.array(commands), tips, taken)


def _played_elsewhere(given: Trace, arm: Arm, robot: Robot, peer: Peer) -> Run:
    """Play a trace to a peer."""
    samples = given.samples
    with TemporaryDirectory() as folder:
        trace_file, commands = Path(folder) / 'trace.npz', Path(folder) / 'commands.npz'
        np.savez(
            trace_file,
            urdf=_without_meshes(robot_path(arm.name), Path(folder)),
            base=robot.base_link,
            joints=np.array(robot.joint_names),
            tip=arm.tip,
            q=np.array(arm.q),
            ticks=np.arange(int(given.seconds * RATE)) / RATE,
            arrivals=np.array([sample.arrival for sample in samples]),
            stamps=np.array([sample.stamp for sample in samples]),
            poses=np.array([sample.pose for sample in samples]),
            engaged=np.array([sample.engaged for sample in samples]),
        )
        command = [peer.python, str(WORKER), peer.name, str(trace_file), str(commands)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        done = np.load(commands)
        q, seconds = done['q'], float(done['seconds'])
    tips = np.array([robot.forward_kinematics(row, arm.tip) for row in q])
    return Run(given, q, tips, seconds)


def _without_meshes(urdf: Path, folder: Path) -> str:
    """Return the path of a copy of a URDF without shapes, whose packages no peer looks up."""
    tree = ElementTree.parse(urdf)
    for link in tree.iter('link'):
        for shape in [*link.findall('visual'), *link.findall('collision')]:
            link.remove(shape)
    tree.write(folder / urdf.name)
    return str(folder / urdf.name)


# --- figures -----------------------------------------------------------------------------------


def _steps(run: Run) -> Row:
    """Return the largest step of a joint after each engagement, while the hand rests."""
    closed = [run.trace.switch(tick / RATE) for tick in range(len(run.q))]
    edges = [k for k in range(1, len(closed)) if closed[k] and not closed[k - 1]]
    largest = 0.0
    for edge in edges:
        moved = np.abs(np.diff(run.q[edge - 1 : edge + int(0.3 * RATE)], axis=0))
        largest = max(largest, float(moved.max()))
    return {'engagements': len(edges), 'step': 1e3 * largest}


def _followed(run: Run, arm: Arm) -> Row:
    """Return how well the tip follows the hand."""
    first = int((SWITCH + SETTLED) * RATE)
    whole, piece = slice(first, len(run.tips)), int(PIECE * RATE)
    delay = best_delay(run, whole)
    pieces = [
        best_delay(run, slice(k, k + piece)) for k in range(first, len(run.tips) - piece, piece)
    ]
    gaps = followed_errors(run, whole, delay)
    whole_poses = len(ik.load_robot(arm.name).chain(arm.tip)) >= 6
    return {
        'freezes': freezes(run, whole, delay),
        'delay': 1e3 * delay,
        'varies': 1e3 * (max(pieces) - min(pieces)),
        'rms': 1e3 * _rms(gaps[:, 0]),
        'turn': float(np.degrees(_rms(gaps[:, 1]))) if whole_poses else '',
        'jerk': _jerk(run.q[whole]) / _jerk(exact(run, arm, whole, delay)),
        'cpu': 100.0 * run.seconds / run.trace.seconds,
    }


def _goals(run: Run, part: slice, delay: float) -> Array:
    """Return where the delayed hand asks the tip to be (K, 4, 4), up to a fixed displacement."""
    return np.array([
        run.trace.hand(max(k / RATE - delay, 0.0)) for k in range(*part.indices(len(run.tips)))
    ])  # fmt: skip


def followed_errors(run: Run, part: slice, delay: float) -> Array:
    """Return distances [m] and angles [rad] of the tip from the delayed hand (K, 2).

    Their means, which depend on where the hand was tied, are left out.
    """
    hands, tips = _goals(run, part, delay), run.tips[part]
    gaps = (tips - hands)[:, :3, 3]
    gaps -= gaps.mean(axis=0)
    ties = [tip[:3, :3].T @ hand[:3, :3] for tip, hand in zip(tips, hands, strict=True)]
    u, _, vt = np.linalg.svd(np.mean(ties, axis=0))
    tie = np.eye(4)
    tie[:3, :3] = (u @ vt).T
    angles = [
        pose_error(hand @ tie, tip)[1] for tip, hand in zip(tips, hands, strict=True)
    ]  # fmt: skip
    return np.column_stack([np.linalg.norm(gaps, axis=1), angles])


def best_delay(run: Run, part: slice) -> float:
    """Return the delay [s] with which the tip's path is nearest to the hand's."""
    times = np.arange(*part.indices(len(run.tips))) / RATE
    fine = np.arange(times[0] - DELAYS[-1], times[-1] + 1e-9, 0.001)
    path = np.array([run.trace.hand(max(t, 0.0))[:3, 3] for t in fine])
    tips, costs = run.tips[part][:, :3, 3], []
    for delay in DELAYS:
        hands = np.column_stack([np.interp(times - delay, fine, path[:, i]) for i in range(3)])
        costs.append(float((((tips - hands) - (tips - hands).mean(0)) ** 2).sum()))
    return float(DELAYS[int(np.argmin(costs))])


def freezes(run: Run, part: slice, delay: float) -> int:
    """Return how often the tip stands still, for more than a period, while the hand moves."""
    hands = _goals(run, part, delay)[:, :3, 3]
    asked = np.linalg.norm(np.diff(hands, axis=0), axis=1)
    moved = np.linalg.norm(np.diff(run.tips[part][:, :3, 3], axis=0), axis=1)
    still = (moved < 0.1 * asked) & (asked > MOVES / RATE)
    runs = np.diff(np.concatenate([[0], still.astype(int), [0]]))
    lengths = np.flatnonzero(runs < 0) - np.flatnonzero(runs > 0)
    return int((lengths > 1).sum())


def exact(run: Run, arm: Arm, part: slice, delay: float) -> Array:
    """Return the joints (K, n) of the hand's delayed motion by exact inverse kinematics."""
    robot = ik.load_robot(arm.name)
    count = len(robot.chain(arm.tip))
    task = ik.PoseTask.for_joints(count, arm.tip)
    problem = ik.IkProblem(robot, [task], position_tolerance=1e-9, orientation_tolerance=1e-8)
    hands, tips = _goals(run, part, delay), run.tips[part]
    place = (tips - hands)[:, :3, 3].mean(axis=0)
    q, found = run.q[part][0], []
    for hand in hands:
        goal = np.eye(4)
        goal[:3, :3] = hand[:3, :3] @ hands[0, :3, :3].T @ tips[0, :3, :3]
        goal[:3, 3] = hand[:3, 3] + place
        task.set_target(goal)
        q = ik.solve(problem, q, restarts=0).q
        found.append(q)
    return np.array(found)


def _jerk(q: Array) -> float:
    """Return the rms of third differences of joints (K, n) [rad/s^3]."""
    return _rms(np.diff(q, 3, axis=0) * RATE**3)


def _rms(values: Array) -> float:
    return math.sqrt(float(np.mean(np.square(values))))
