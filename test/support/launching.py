# SPDX-License-Identifier: Apache-2.0
"""A running `ros2 launch ik_node ...`, and a node that hears what the launched one does.

Nothing waits for a fixed time: everything polls with a deadline, long enough for a first
compilation.
"""

import os
import signal
import subprocess
import sys
import threading
import time

import rclpy
from rcl_interfaces.srv import GetParameters
from rclpy.parameter import parameter_value_to_python
from sensor_msgs.msg import JointState

DEADLINE = 300.0  # kernels may have to be compiled, on a busy machine
ROS2 = [sys.executable, '-c', 'from ros2cli.cli import main; raise SystemExit(main())']


class Launch:
    """A running `ros2 launch ik_node ...` and what it printed so far."""

    def __init__(self, environment, *arguments):
        self.process = subprocess.Popen(
            [*ROS2, 'launch', 'ik_node', *arguments],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )
        self.lines = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        self.lines += self.process.stdout

    @property
    def output(self):
        return ''.join(self.lines)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        """Stop; without a terminal launch passes the signal on. Nothing may be left behind."""
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGINT)
        try:
            self.wait()
        finally:
            if self.process.poll() is None:
                os.killpg(self.process.pid, signal.SIGKILL)

    def wait(self):
        """Wait for the end; returns the exit code."""
        code = self.process.wait(DEADLINE)
        self._reader.join(DEADLINE)
        return code


class Listener:
    """A node that sees what the launched one does."""

    def __init__(self, domain):
        self.context = rclpy.Context()
        self.context.init(domain_id=domain)
        self.node = rclpy.create_node('listener', context=self.context)
        self.executor = rclpy.executors.SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        self.states = []

    def close(self):
        """Leave the graph."""
        self.executor.shutdown()
        self.node.destroy_node()
        self.context.try_shutdown()

    def until(self, condition, launch):
        """Spin until the condition holds."""
        deadline = time.monotonic() + DEADLINE
        while not condition():
            assert time.monotonic() < deadline, launch.output
            assert launch.process.poll() is None, launch.output
            self.executor.spin_once(0.05)

    def hear(self, topic, launch):
        """Listen to joint states until one comes."""
        self.node.create_subscription(JointState, topic, self.states.append, 10)
        self.until(lambda: self.states, launch)
        return self.states[-1]

    def parameters(self, node, *names, launch):
        """Values of parameters of a node."""
        client = self.node.create_client(GetParameters, f'{node}/get_parameters')
        self.until(client.service_is_ready, launch)
        future = client.call_async(GetParameters.Request(names=names))
        self.until(future.done, launch)
        return [parameter_value_to_python(value) for value in future.result().values]
