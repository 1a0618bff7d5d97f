"""`python -m ik_node.bench_rate`: how evenly joint_states come, beside a bare rclpy timer.

For each rate, `ik_node` follows a goal that moves all the time, and a process with nothing but a
timer publishes the same message; a subscriber in this process watches each of them in turn.
Jitter is how much the time between two messages differs from the period: by the stamps that the
publisher writes, and by the arrivals here, which this process's own scheduling blurs.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped
from rclpy.clock import Clock, ClockType
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ik_core import load_urdf
from ik_core.rotations import Array

from .conversions import transform_to_pose
from .outputs import JointStateWriter
from .process import running
from .resources import shared_file

TIP = 'panda_hand_tcp'
START_PATIENCE = 300.0
SETTLING = 1.0
GOAL_RATE = 50.0
Sender = Callable[[float], None]


def bare(rate: float) -> None:
    """Publish the Panda's joint states from a timer that does nothing else."""
    robot = load_urdf(shared_file('urdf/panda.urdf'))
    writer, q = JointStateWriter(robot), robot.middle_configuration
    rclpy.init(signal_handler_options=SignalHandlerOptions.NO)
    node = rclpy.create_node('bare_timer')
    publisher, clock = node.create_publisher(JointState, 'joint_states', 10), node.get_clock()

    def tick() -> None:
        publisher.publish(writer.write(q, q, clock.now().to_msg()))

    node.create_timer(1.0 / rate, tick, clock=Clock(clock_type=ClockType.STEADY_TIME))
    rclpy.spin(node)


class Watcher:
    """Receives joint states and notes when each was stamped and when it came [ns]."""

    def __init__(self, context: rclpy.Context) -> None:
        self.node = rclpy.create_node('watcher', context=context)
        self.executor = SingleThreadedExecutor(context=context)
        self.executor.add_node(self.node)
        self.goals = self.node.create_publisher(PoseStamped, 'goal_pose', 1)
        self.node.create_subscription(JointState, 'joint_states', self._receive, 1000)
        self.stamped: list[int] = []
        self.arrived: list[int] = []

    def _receive(self, message: JointState) -> None:
        self.arrived.append(time.monotonic_ns())
        stamp = message.header.stamp
        self.stamped.append(1_000_000_000 * stamp.sec + stamp.nanosec)

    def forget(self) -> None:
        """Start counting anew."""
        self.stamped, self.arrived = [], []

    def spin(self, seconds: float) -> None:
        """Handle messages for that long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.1)

    def wait(self) -> None:
        """Wait for the first message."""
        deadline = time.monotonic() + START_PATIENCE
        while not self.arrived:
            if time.monotonic() > deadline:
                raise TimeoutError(f'no joint_states for {START_PATIENCE:g} s')
            self.executor.spin_once(timeout_sec=0.1)

    def follow_circle(self) -> None:
        """From now on publish a goal that goes round in front of the Panda."""
        robot = load_urdf(shared_file('urdf/panda.urdf'))
        q = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8, 0.02])
        centre = robot.forward_kinematics(q, TIP)

        def send() -> None:
            angle = 2.0 * np.pi * 0.25 * time.monotonic()
            goal = centre.copy()
            goal[1:3, 3] += 0.1 * np.array((np.cos(angle), np.sin(angle)))
            self.goals.publish(PoseStamped(pose=transform_to_pose(goal)))

        self.node.create_timer(1.0 / GOAL_RATE, send)


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used [s]; NaN where there is no /proc."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    except OSError:
        return float('nan')
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def figures(times: list[int], rate: float) -> dict[str, float]:
    """Achieved rate [Hz] and jitter [ms] of times [ns]."""
    intervals: Array = np.diff(np.array(times)) * 1e-6
    jitter = np.abs(intervals - 1e3 / rate)
    p50, p99 = np.percentile(jitter, (50, 99))
    achieved = 1e3 / float(np.mean(intervals))
    return {'rate': achieved, 'p50': float(p50), 'p99': float(p99), 'max': float(jitter.max())}


def measure(name: str, rate: float, seconds: float) -> dict[str, Any]:
    """Watch one publisher ('ik_node' or 'bare timer') at one rate."""
    context = rclpy.Context()
    rclpy.init(context=context, signal_handler_options=SignalHandlerOptions.NO)
    watcher = Watcher(context)
    parameters = {
        'urdf_path': shared_file('urdf/panda.urdf'),
        'tip_links': TIP,
        'rate': rate,
        'joint_limits.default.acceleration': 10.0,
    }
    process = (
        running('ik_node', parameters=parameters)
        if name == 'ik_node'
        else running('ik_node.bench_rate', '--bare', str(rate))
    )
    try:
        with process as child:
            watcher.wait()
            if name == 'ik_node':
                watcher.follow_circle()
            watcher.spin(SETTLING)
            watcher.forget()
            began, used = time.monotonic(), cpu_seconds(child.pid)
            watcher.spin(seconds)
            share = (cpu_seconds(child.pid) - used) / (time.monotonic() - began)
    finally:
        watcher.executor.shutdown()
        watcher.node.destroy_node()
        context.try_shutdown()
    return {
        'publisher': name,
        'asked': rate,
        'cpu': share,
        'published': figures(watcher.stamped, rate),
        'received': figures(watcher.arrived, rate),
    }


def show(result: dict[str, Any]) -> str:
    """A line of the table."""
    cells = [f'{result["asked"]:6g} {result["publisher"]:<11} {100 * result["cpu"]:5.0f}']
    for side in ('published', 'received'):
        f = result[side]
        cells.append(f'{f["rate"]:9.2f} {f["p50"]:7.3f} {f["p99"]:7.3f} {f["max"]:7.3f}')
    return ' | '.join(cells)


HEADER = f"""{'':24} | {'published (stamps)':^33} | {'received':^33}
{'[Hz]':>6} {'publisher':<11} {'CPU %':>5} | {'rate [Hz]':>9} {'p50':>7} {'p99':>7} {'max':>7} | \
{'rate [Hz]':>9} {'p50':>7} {'p99':>7} {'max':>7}   jitter in ms"""


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print a table, or JSON."""
    parser = argparse.ArgumentParser(prog='ik_node.bench_rate', description=__doc__.split('\n')[0])
    parser.add_argument('--rates', type=float, nargs='+', default=[100.0, 500.0, 1000.0])
    parser.add_argument('--seconds', type=float, default=10.0, help='per rate and publisher')
    parser.add_argument('--json', action='store_true', help='one JSON object per line')
    parser.add_argument('--bare', type=float, help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.bare:
        bare(options.bare)
        return 0
    os.environ['ROS_DOMAIN_ID'] = str(60 + os.getpid() % 40)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    if not options.json:
        print(HEADER)
    for rate in options.rates:
        for name in ('bare timer', 'ik_node'):
            result = measure(name, rate, options.seconds)
            print(json.dumps(result) if options.json else show(result), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
