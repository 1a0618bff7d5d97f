# SPDX-License-Identifier: Apache-2.0
"""`python -m benchmark.rate`: the node beside a bare rclpy timer.

For each robot and rate four processes run: `ik_node`, `bare` (a rclpy timer that publishes the
same message and does nothing else), `echo` (which answers each goal at once with that message)
and `goals`, which publishes goals; a subscriber here watches. Node, bare timer and echo take turns
of a few seconds, the others stopped (SIGSTOP), so what else the machine does
affects all alike. The node's turns are of two kinds:

- it follows a goal that goes round all the time: jitter, processor time, time in a tick;
- it rests, and small steps of the goal come, at all phases of a period alike: latency, from just
  before the goal is published to the callback here of the first joint state that moves. Both ways
  through the middleware and rclpy are in it; the latency in the row of the bare timer is the
  echo's, which is what these ways alone take. Joint states come once a period, so a goal waits for
  the next one besides, half a period in the median, whatever the node does: the least latency is
  that of goals that come just in time, and what it has over the echo's is the node's own part.

With `--viewer` the node takes further turns while `ik_viewer` shows it to a client that reads as a
browser does (`page_client`); in all other turns there is none.

Jitter is how much the time between two messages differs from the period, by when the middleware of
the publisher was handed them (the source timestamp; stamps say when joints are to be where, which
is no measurement). At arrivals this process's own scheduling blurs it. With `--priority` all
processes are run as real-time ones (SCHED_FIFO; that takes the right to it), the node and what it
is compared with before the others, so that little of what else the machine does is measured.
Time in a tick and its share for solving are what the node reports
(/diagnostics).
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray
from rclpy.executors import SingleThreadedExecutor
from rclpy.signals import SignalHandlerOptions
from sensor_msgs.msg import JointState

from ik_core.maths.rotations import Array
from ik_node.tools.node_process import running
from ik_node.tools.viewer import viewing

from .partners import Arm, bare, echo, figure, panda, publish_goals

START_PATIENCE = 300.0
SETTLING = 0.5  # Time [s] at the start of each turn that does not count
ACCELERATION = 10.0
NAN = float('nan')
VIEWED = 'ik_node with viewer'


# --- watching ----------------------------------------------------------------------------------


class Watcher:
    """Receives joint states: when each was published, when it came [ns], whether it moves."""

    def __init__(self) -> None:
        self.context = rclpy.Context()
        rclpy.init(context=self.context, signal_handler_options=SignalHandlerOptions.NO)
        self.node = rclpy.create_node('watcher', context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        for source in ('node', 'bare', 'echo'):
            topic = f'/{source}/joint_states'
            self.node.create_subscription(JointState, topic, self._receiver(source), 1000)
        self.node.create_subscription(DiagnosticArray, '/diagnostics', self._read, 10)
        self.reported: list[dict[str, str]] = []
        self.states: dict[str, list[tuple[int, int, bool]]] = {}
        self.forget()

    def _receiver(self, source: str) -> Callable[[JointState, Any], None]:
        def receive(message: JointState, info: Any) -> None:
            published, now = info['source_timestamp'], time.time_ns()
            self.states[source].append((published, now, any(message.velocity)))

        return receive

    def _read(self, message: DiagnosticArray) -> None:
        status = message.status[-1]  # the limits stand before it
        self.reported.append({pair.key: pair.value for pair in status.values})

    def forget(self) -> None:
        """Start again."""
        self.states = {'node': [], 'bare': [], 'echo': []}
        self.reported.clear()

    def spin(self, seconds: float) -> None:
        """Handle messages for that long."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            self.executor.spin_once(timeout_sec=0.1)

    def wait(self, source: str) -> None:
        """Wait for the first message of a publisher."""
        deadline = time.monotonic() + START_PATIENCE
        while not self.states[source]:
            if time.monotonic() > deadline:
                raise TimeoutError(f'no joint_states of {source} for {START_PATIENCE:g} s')
            self.executor.spin_once(timeout_sec=0.1)

    def close(self) -> None:
        """Leave the graph."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()


def cpu_seconds(pid: int) -> float:
    """Processor time a process has used [s]; NaN where there is no /proc."""
    try:
        fields = Path(f'/proc/{pid}/stat').read_text(encoding='ascii').rpartition(')')[2].split()
    except OSError:
        return NAN
    return (int(fields[11]) + int(fields[12])) / os.sysconf('SC_CLK_TCK')


def prefer(priority: int, *processes: int) -> None:
    """Run all threads of processes at a real-time priority, before all that have none."""
    for process in processes:
        for thread in os.listdir(f'/proc/{process}/task'):
            os.sched_setscheduler(int(thread), os.SCHED_FIFO, os.sched_param(priority))


class Turns:
    """Measurements of one publisher in its turns."""

    def __init__(self, period: float) -> None:
        self.period = 1e3 * period
        self.intervals: dict[str, list[Array]] = {'published': [], 'arrivals': []}
        self.used = self.seconds = 0.0
        self.latencies: list[float] = []
        self.ticks: list[dict[str, str]] = []

    def add(self, states: list[tuple[int, int, bool]]) -> None:
        """Take the states of one turn."""
        table = np.array([state[:2] for state in states]).reshape(-1, 2)
        for column, name in enumerate(self.intervals):
            self.intervals[name].append(1e-6 * np.diff(table[:, column]))

    def jitter(self, name: str) -> Array:
        """Jitter of all intervals [ms]."""
        return np.abs(np.concatenate(self.intervals[name]) - self.period)

    def reported(self, key: str) -> float:
        """The median of a value of /diagnostics over all that came; NaN without."""
        values = [float(reported[key]) for reported in self.ticks if key in reported]
        return float(np.median(values)) if values else NAN

    def row(self) -> dict[str, float]:
        """The figures."""
        intervals = np.concatenate(self.intervals['published'])
        latency = 1e3 * np.array(self.latencies or [NAN])
        return {
            'rate_hz': 1e3 / float(intervals.mean()),
            **_percentiles('jitter', self.jitter('published')),
            'arrival_jitter_p99_ms': float(np.percentile(self.jitter('arrivals'), 99)),
            'cpu_percent': 100.0 * self.used / self.seconds,
            'tick_p50_us': self.reported('tick_time.p50 [us]'),
            'tick_p99_us': self.reported('tick_time.p99 [us]'),
            'solve_p50_us': self.reported('tick_solve_time.p50 [us]'),
            'solve_p99_us': self.reported('tick_solve_time.p99 [us]'),
            'goals': len(self.latencies),
            'latency_least_ms': float(latency.min()),
            **_percentiles('latency', latency),
        }


def _percentiles(name: str, values: Array) -> dict[str, float]:
    p50, p99 = np.percentile(values, (50, 99)).tolist()
    return {f'{name}_p50_ms': p50, f'{name}_p99_ms': p99, f'{name}_max_ms': float(values.max())}


def latencies(sent: list[float], states: list[tuple[int, int, bool]]) -> Iterator[float]:
    """Seconds from each goal sent to the arrival of the first joint state that moves.

    Goals that came while the arm still moved say nothing, and are left out; so is the last.
    """
    times = np.array([1e-9 * state[0] for state in states])
    for goal, following in itertools.pairwise(sent):
        begin, end = np.searchsorted(times, (goal, following))
        if begin == 0 or states[begin - 1][2]:
            continue
        answer = next((s for s in states[begin:end] if s[2]), None)
        if answer is not None:
            yield 1e-9 * answer[1] - goal


def echoes(sent: list[float], states: list[tuple[int, int, bool]]) -> Iterator[float]:
    """Seconds from each goal sent to the arrival of the next message."""
    times = [1e-9 * state[0] for state in states]
    for goal, index in zip(sent, np.searchsorted(times, sent).tolist(), strict=True):
        if index < len(states):
            yield 1e-9 * states[index][1] - goal


# --- the benchmark -----------------------------------------------------------------------------


@contextmanager
def stopped(*processes: subprocess.Popen[bytes]) -> Iterator[None]:
    """Stop processes meanwhile."""
    try:
        for process in processes:
            process.send_signal(signal.SIGSTOP)
        yield
    finally:
        for process in processes:
            process.send_signal(signal.SIGCONT)


@contextmanager
def shown(node: str) -> Iterator[None]:
    """The viewer of a node, and one who looks at it. Raises RuntimeError where there is none."""
    with viewing(node) as page:
        if not page.url:
            raise RuntimeError('there is no viewer')
        with running('benchmark.rate.page_client', page.url):
            yield


class Bench:
    """The processes for one robot at one rate, and the turns that they take."""

    def __init__(
        self, arm: Arm, rate: float, stack: ExitStack, *, viewer: bool, priority: int
    ) -> None:
        self.rate = rate
        self.watcher = Watcher()
        stack.callback(self.watcher.close)
        parameters = {
            'urdf_path': arm.urdf,
            'tip_links': '[' + ','.join(arm.tips) + ']',
            'rate': rate,
            'joint_limits.default.velocity': 2.0,
            'joint_limits.default.acceleration': ACCELERATION,
        }
        child = ['benchmark.rate', '--urdf', arm.urdf]
        self.node = stack.enter_context(
            running('ik_node', parameters=parameters, namespace='/node')
        )
        self.bare = stack.enter_context(
            running(*child, '--child', 'bare', '--rates', str(rate), namespace='/bare')
        )
        self.echo = stack.enter_context(running(*child, '--child', 'echo', namespace='/node'))
        goals = [*child, '--child', 'goals', '--arm', json.dumps(arm)]
        self.goals = stack.enter_context(running(*goals, namespace='/node', pipes=True))
        self.watcher.wait('node')
        self.watcher.wait('bare')
        if priority:
            prefer(priority, os.getpid(), self.goals.pid)
            prefer(priority + 1, self.node.pid, self.bare.pid, self.echo.pid)
        self.viewer = viewer
        names = ('bare timer', 'ik_node', *((VIEWED,) if viewer else ()))
        self.turns = {name: Turns(1.0 / rate) for name in names}

    def run(self, rounds: int, seconds: float) -> None:
        """Run this many rounds, with a turn of each kind."""
        with stopped(self.bare):
            self._publish('circle', 3.0)  # get there
        for _ in range(rounds):
            with stopped(self.node):
                self._turn('bare timer', 'bare', self.bare, lambda: self.watcher.spin(seconds))
            with stopped(self.bare, self.echo):
                self._node_turn('ik_node', seconds)
            if self.viewer:
                with shown('/node/ik_node'), stopped(self.bare, self.echo):
                    self._node_turn(VIEWED, seconds)
            with stopped(self.bare, self.node):
                self._publish('steps', SETTLING)
                self._measure_latency('bare timer', 'echo', seconds, echoes)

    def _node_turn(self, name: str, seconds: float) -> None:
        """Follow a goal that goes round, then steps."""
        self._publish('circle', SETTLING)
        self._turn(name, 'node', self.node, lambda: self._publish('circle', seconds))
        self._publish('steps', 2.0 * SETTLING)
        self._measure_latency(name, 'node', seconds, latencies)

    def _turn(
        self, name: str, source: str, process: subprocess.Popen[bytes], act: Callable[[], Any]
    ) -> None:
        self.watcher.spin(SETTLING)
        self.watcher.forget()
        turns, began, used = self.turns[name], time.monotonic(), cpu_seconds(process.pid)
        act()
        turns.used += cpu_seconds(process.pid) - used
        turns.seconds += time.monotonic() - began
        turns.add(self.watcher.states[source])
        if source == 'node':
            turns.ticks += self.watcher.reported

    def _measure_latency(
        self, name: str, source: str, seconds: float, find: Callable[..., Iterator[float]]
    ) -> None:
        self.watcher.forget()
        sent = self._publish('steps', seconds)
        self.turns[name].latencies += find(sent, self.watcher.states[source])

    def _publish(self, kind: str, seconds: float) -> list[float]:
        """Let goals be published for so long; when they were."""
        write, read = _pipes(self.goals)
        write.write(f'{kind} {seconds} {self.rate}\n'.encode())
        write.flush()
        self.watcher.spin(seconds + 0.1)
        sent: list[float] = json.loads(read.readline())
        return sent


def _pipes(process: subprocess.Popen[bytes]) -> tuple[IO[bytes], IO[bytes]]:
    if process.stdin is None or process.stdout is None:
        raise ValueError('the process has no pipes')
    return process.stdin, process.stdout


def measure(arm: Arm, rate: float, options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """A row for the bare timer, one for the node, and one for it beside a viewer."""
    with ExitStack() as stack:
        bench = Bench(arm, rate, stack, viewer=options.viewer, priority=options.priority)
        bench.run(options.rounds, options.seconds)
        for name, turns in bench.turns.items():
            yield {'robot': arm.name, 'asked_hz': rate, 'publisher': name, **turns.row()}


def main(arguments: list[str] | None = None) -> int:
    """Run the benchmark and print one JSON object per line."""
    parser = argparse.ArgumentParser(
        prog='python -m benchmark.rate', description=__doc__.split('\n')[0]
    )
    parser.add_argument('--rates', type=float, nargs='+', default=[100.0, 500.0, 1000.0])
    parser.add_argument('--rounds', type=int, default=6, help='turns of each kind')
    parser.add_argument('--seconds', type=float, default=5.0, help='of a turn')
    parser.add_argument('--robots', nargs='+', default=['panda', 'figure'])
    parser.add_argument('--viewer', action='store_true', help='beside ik_viewer, too')
    parser.add_argument(
        '--priority', type=int, default=0, help='real-time priority of all processes; 0: none'
    )
    for hidden in ('--child', '--urdf', '--arm'):
        parser.add_argument(hidden, help=argparse.SUPPRESS)
    options, ros = parser.parse_known_args(arguments)
    if options.child:
        rclpy.init(args=ros, signal_handler_options=SignalHandlerOptions.NO)
        if options.child == 'bare':
            bare(options.urdf, options.rates[0])
        elif options.child == 'echo':
            echo(options.urdf)
        else:
            publish_goals(Arm(*json.loads(options.arm)))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # which ends the others, too
    os.environ['ROS_DOMAIN_ID'] = str(60 + os.getpid() % 40)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
    with tempfile.TemporaryDirectory() as folder:
        arms = {'panda': panda(), 'figure': figure(Path(folder))}
        for robot in options.robots:
            for rate in options.rates:
                for row in measure(arms[robot], rate, options):
                    print(json.dumps(row), flush=True)
    return 0


if __name__ == '__main__':
    sys.exit(main())
