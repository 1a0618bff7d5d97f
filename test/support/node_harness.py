# SPDX-License-Identifier: Apache-2.0
"""A node under test and a client that talks to it over real DDS, each on a thread of its own.

Every world has a namespace that no other test uses, on a domain that few others use, and stays
on this machine. Nothing here sleeps: threads notify, tests wait for a condition with a deadline.
"""

import gc
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections import defaultdict
from contextlib import contextmanager, suppress

import numpy as np
import rclpy
from diagnostic_msgs.msg import DiagnosticArray, DiagnosticStatus
from geometry_msgs.msg import PointStamped, PoseArray, PoseStamped
from lifecycle_msgs.srv import ChangeState, GetState
from rcl_interfaces.srv import SetParametersAtomically
from rclpy.duration import Duration
from rclpy.exceptions import InvalidHandle, ParameterNotDeclaredException
from rclpy.executors import SingleThreadedExecutor
from rclpy.parameter import Parameter
from rclpy.qos import DurabilityPolicy, QoSProfile
from sensor_msgs.msg import JointState
from std_msgs.msg import String

import ik_core as ik
from ik_core.tracking import TrackerOptions
from ik_node import control_loop
from ik_node.conversions import transform_to_pose
from ik_node.node import IkNode
from ik_node.parameters.node_options import Limits, NodeOptions, NodeParameters, TwistScale
from ik_node.tools.node_process import end_with_starter
from support.motion_limits import assert_inside, assert_speeds, is_one_step, limits_of
from support.one_machine import stay_on_this_machine
from support.places import ROOT, URDF
from support.robots import python_path

stay_on_this_machine()
DOMAIN = 40 + os.getpid() % 40
NEAR = 0.3  # share of the joint ranges that goals are taken from: the way there takes time
PATIENCE = 300.0  # kernels may have to be compiled, on a busy machine
LATCHED = QoSProfile(depth=1, durability=DurabilityPolicy.TRANSIENT_LOCAL)
# Without a service that nobody calls here: once, destroying it ended the process. rclpy never
# finalizes it (its issue 1710).
UNDESCRIBED = {'start_type_description_service': False}
numbers = itertools.count()


def unique_namespace():
    """A namespace that no other test, and no other run of the tests, uses."""
    return f'/test_{os.getpid()}_{next(numbers)}'


def overrides(parameters):
    """Parameters as a node gets them from its command line."""
    return [Parameter(name, value=value) for name, value in parameters.items()]


class Inbox:
    """Messages by topic, and waiting for them."""

    def __init__(self):
        self._news = threading.Condition()
        self._messages = defaultdict(list)

    def put(self, topic, message):
        """Store a message and wake who waits."""
        with self._news:
            self._messages[topic].append(message)
            self._news.notify_all()

    def __getitem__(self, topic):
        with self._news:
            return list(self._messages[topic])

    def until_taken_out(self, topic, wrong, count):
        """Wait for that many messages that are `wrong`, and take them out of the others."""
        taken = []

        def take_out():
            with self._news:
                taken.extend(filter(wrong, self._messages[topic]))
                self._messages[topic] = [m for m in self._messages[topic] if not wrong(m)]
            return len(taken) >= count

        self.until(take_out, f'{count} messages on {topic} to take out')
        return taken

    def until(self, condition, what, seconds=PATIENCE):
        """Wait until the condition holds; it is asked at every message, and now and then."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            value = condition()
            if value:
                return value
            with self._news:
                self._news.wait(0.05)
        raise AssertionError(f'waited {seconds} s in vain: {what}')


class Spinner:
    """Spins a node on its own thread."""

    def __init__(self, node, context, first=lambda: True):
        self._executor = SingleThreadedExecutor(context=context)
        self._executor.add_node(node)
        self._stop = threading.Event()
        self._first = first
        self.started = None
        self._thread = threading.Thread(target=self._spin, daemon=True)
        self._thread.start()

    def _spin(self):
        self.started = self._first()
        while not self._stop.is_set():
            with suppress(InvalidHandle):  # the test destroyed what the executor waits for
                self._executor.spin_once(timeout_sec=0.1)

    def stop(self):
        """Stop spinning; the thread has ended when this returns."""
        self._stop.set()
        self._executor.create_task(lambda: None)  # wakes it
        self._thread.join()
        self._executor.shutdown()


class _Collector:
    """Replacement for `gc` of a node in this process, which freezes and thaws nothing.

    Clients freeze what was there before them: else each node and client would search all that
    the tests have imported and collected, which takes longer than all else that most of them do.
    """

    collect, enable, disable = gc.collect, gc.enable, gc.disable

    @staticmethod
    def freeze():
        pass

    unfreeze = freeze


control_loop.gc = _Collector


class Client:
    """A user's node: sends goals, reads joint states and status, calls services."""

    open = 0

    def __init__(self, namespace):
        if not Client.open:  # what is frozen is never collected: no other node may be among it
            gc.collect()
            gc.freeze()
        Client.open += 1
        self.namespace = namespace
        self.context = rclpy.Context()
        rclpy.init(context=self.context, domain_id=DOMAIN)
        self.node = rclpy.create_node(
            'client',
            namespace=namespace,
            context=self.context,
            parameter_overrides=overrides(UNDESCRIBED),
        )
        self.inbox = Inbox()
        self._publishers = {}
        self._clients = {}
        self._published = 0  # the last of `states`, by the clock of the machine [ns]
        self._before_sending = 0  # states before a goal, a description or the like was sent last
        self.node.create_subscription(
            JointState, 'joint_states', self._take_state, QoSProfile(depth=100_000)
        )
        self._listen(DiagnosticStatus, 'ik_node/status', LATCHED)
        self._listen(DiagnosticArray, '/diagnostics', 10)
        self._spinner = Spinner(self.node, self.context)

    def _listen(self, kind, topic, qos):
        self.node.create_subscription(kind, topic, lambda m: self.inbox.put(topic, m), qos)

    def _take_state(self, message, info):
        self.inbox.put('joint_states', message)
        self._published = info['source_timestamp']

    def close(self):
        """Stop, and leave the graph."""
        self._spinner.stop()
        self.node.destroy_node()
        self.context.try_shutdown()
        del self.node, self._publishers, self._clients, self._spinner
        gc.collect()  # what is left of a node keeps its place in the graph
        Client.open -= 1

    def until(self, condition, what, seconds=PATIENCE):
        """Wait until a condition is met, as `Inbox.until` does."""
        return self.inbox.until(condition, what, seconds)

    def publisher(self, kind, topic, qos=1):
        """A publisher that the node listens to."""
        if topic not in self._publishers:
            publisher = self.node.create_publisher(kind, topic, qos)
            self.until(publisher.get_subscription_count, f'no subscriber of {topic}')
            self._publishers[topic] = publisher
        self._before_sending = len(self.states)
        return self._publishers[topic]

    def send_goal(self, pose, frame='', topic='goal_pose', seconds=None):
        """Publish a pose goal; `pose` is a Pose or a (4, 4) transform.

        seconds : from now until the stamp; None: it is zero
        """
        message = PoseStamped()
        if seconds is not None:
            stamp = self.node.get_clock().now() + Duration(seconds=seconds)
            message.header.stamp = stamp.to_msg()
        message.header.frame_id = frame
        message.pose = transform_to_pose(pose) if isinstance(pose, np.ndarray) else pose
        self.publisher(PoseStamped, topic).publish(message)

    def send_poses(self, transforms, frame=''):
        """Publish goals for all tips at once."""
        message = PoseArray(poses=[transform_to_pose(transform) for transform in transforms])
        message.header.frame_id = frame
        self.publisher(PoseArray, 'goal_poses').publish(message)

    def send_point(self, position, frame=''):
        """Publish a point to go to."""
        message = PointStamped()
        message.header.frame_id = frame
        message.point.x, message.point.y, message.point.z = map(float, position)
        self.publisher(PointStamped, 'clicked_point').publish(message)

    def send_description(self, text):
        """Publish a robot description, latched."""
        self.publisher(String, 'robot_description', LATCHED).publish(String(data=text))

    def ask(self, kind, service, request):
        """Call a service; the future of its answer."""
        if service not in self._clients:
            self._clients[service] = self.node.create_client(kind, service)
        client = self._clients[service]
        self.until(client.service_is_ready, f'no service {service}')
        return client.call_async(request)

    def call(self, kind, service, request):
        """Call a service and wait for its answer."""
        future = self.ask(kind, service, request)
        self.until(future.done, f'no answer from {service}')
        return future.result()

    def transition(self, transition):
        """Ask for a lifecycle transition; whether it succeeded."""
        request = ChangeState.Request()
        request.transition.id = transition
        return self.call(ChangeState, 'ik_node/change_state', request).success

    def state(self):
        """The label of the lifecycle state."""
        answer = self.call(GetState, 'ik_node/get_state', GetState.Request())
        return answer.current_state.label

    def set_parameters(self, **values):
        """Set parameters as one set; '__' stands for '.'. The result has successful and reason."""
        named = {name.replace('__', '.'): value for name, value in values.items()}
        parameters = [parameter.to_parameter_msg() for parameter in overrides(named)]
        request = SetParametersAtomically.Request(parameters=parameters)
        service = 'ik_node/set_parameters_atomically'
        return self.call(SetParametersAtomically, service, request).result

    @property
    def states(self):
        """Return all joint states so far."""
        return self.inbox['joint_states']

    @property
    def status(self):
        """The values of the last status by key, with its message as 'text'; {} before any."""
        messages = self.inbox['ik_node/status']
        return values_of(messages[-1]) if messages else {}

    @property
    def diagnostics(self):
        """The values that the node last published in /diagnostics, by key; {} before any."""
        name = f'{self.namespace.lstrip("/")}/ik_node: inverse kinematics'
        mine = [s for m in self.inbox['/diagnostics'] for s in m.status if s.name == name]
        return values_of(mine[-1]) if mine else {}

    def more_states(self, count=50):
        """Wait for that many joint states that are published from now on, and return them.

        Where the processor is busy, older ones than what another topic said can be on their way.
        """
        now = time.time_ns()
        self.until(lambda: self._published > now, 'joint states stopped')
        before = len(self.states) - 1
        self.until(lambda: len(self.states) >= before + count, 'joint states stopped')
        return self.states[before:]

    def until_moving(self, speed=0.0, joint=slice(None), since=None):
        """Wait until a joint has been faster than that since something was sent last.

        All states since then are looked at: a busy machine may show this thread only the last of
        them, in which the joints rest again. `since`: how many states were before.
        """
        before = self._before_sending if since is None else since

        def has_moved():
            states = self.states[before:]
            return any(np.abs(state.velocity[joint]).max() > speed for state in states)

        self.until(has_moved, f'a speed of more than {speed}')

    def until_code(self, code, seconds=PATIENCE):
        """Wait until the status has that code."""
        self.until(lambda: self.status.get('code') == code, f'status {code}', seconds)

    def until_refused(self, reason, count=1):
        """Wait until so many messages were refused for that reason."""
        key = f'refused.{reason}'
        self.until(lambda: int(self.status.get(key, 0)) >= count, f'{key} >= {count}')


def values_of(status):
    """A DiagnosticStatus as a dict."""
    return {pair.key: pair.value for pair in status.values} | {'text': status.message}


class World(Client):
    """A client and an `ik_node` in this process, on threads and contexts of their own."""

    def __init__(self, parameters, remap=()):
        super().__init__(unique_namespace())
        remaps = [f'/clock:={self.namespace}/clock']  # the one topic that all namespaces share
        remaps += [':='.join(remap)] if remap else []
        self._ik_context = rclpy.Context()
        rclpy.init(context=self._ik_context, domain_id=DOMAIN)
        self.ik_node = IkNode(
            context=self._ik_context,
            namespace=self.namespace,
            parameter_overrides=overrides(UNDESCRIBED | parameters),
            cli_args=['--ros-args', *(part for text in remaps for part in ('-r', text))],
        )
        self._ik_spinner = Spinner(self.ik_node, self._ik_context, self.ik_node.autostart)

    def until(self, condition, what, seconds=PATIENCE):
        """Wait as `Inbox.until` does, but fail at once if the node could not start."""

        def started_and_so():
            assert self._ik_spinner.started is not False, 'the node did not start'
            return condition()

        return super().until(started_and_so, what, seconds)

    def until_parameter(self, name, value, what):
        """Wait until a parameter has that value; between two robots there is none of a joint."""

        def has_value():
            try:
                return self.ik_node.get_parameter(name).value == value
            except ParameterNotDeclaredException:
                return False

        self.until(has_value, what)

    def close(self):
        """Stop both."""
        self._ik_spinner.stop()
        self.ik_node.finish()
        self.ik_node.destroy_node()
        del self.ik_node
        self._ik_context.try_shutdown()
        del self._ik_spinner
        super().close()


@contextmanager
def world(remap=(), **parameters):
    """A running node with these parameters ('__' stands for '.') and a client for it.

    remap: a name and what to call it instead.
    """
    it = World({name.replace('__', '.'): value for name, value in parameters.items()}, remap)
    try:
        yield it
    finally:
        it.close()


@contextmanager
def node_process(namespace, *arguments, program=('ik_node',)):
    """`ik_node`, or another program (a module, its arguments), as a process of its own.

    Killed at the end if it has not ended by itself.
    """
    environment = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    environment['ROS_DOMAIN_ID'] = str(DOMAIN)
    environment['PYTHONPATH'] = python_path(ROOT)
    command = [sys.executable, '-m', *program, '--ros-args', '-r', f'__ns:={namespace}']
    process = subprocess.Popen(
        [*command, *arguments],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        preexec_fn=end_with_starter,
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
        process.wait()
        process.stdout.close()


@contextmanager
def printed(process):
    """The lines that a process prints, as they come."""
    said = []
    thread = threading.Thread(target=lambda: said.extend(process.stdout), daemon=True)
    thread.start()
    yield said


def snapshot(tools=None, **node_options):
    """Parameters as a model gets them, with these options of the node; the rest is default."""
    node = NodeOptions(**node_options)
    return NodeParameters(
        node=node,
        tracker=TrackerOptions(),
        solver_options=ik.SOLVERS[node.solver].Options(),
        scale=TwistScale(),
        default_limits=Limits(),
        joint_limits={},
        tools=tools or {},
    )


def load(name):
    """One of the robots in urdf/."""
    return ik.load_robot(URDF / f'{name}.urdf')


def reachable_goal(robot, tip, number):
    """The transform of a tip at the numbered random configuration around the middle one."""
    rng = np.random.default_rng(number)
    lower, upper = np.maximum(robot.lower, -3.0), np.minimum(robot.upper, 3.0)
    middle = robot.middle_configuration
    q = middle + NEAR * (rng.uniform(lower, upper) - middle)
    return robot.forward_kinematics(q, tip)


def is_still(message):
    """Return whether a joint state is at rest, but for rounding."""
    return max(map(abs, message.velocity)) < 1e-9


def check_states(messages, robot, rate, velocity=np.inf, acceleration=np.inf):
    """Every state finite, inside the limits, and a step the limits allow from the one before.

    velocity, acceleration: what the node uses where the URDF has none.
    """
    assert messages, 'no joint states'
    names = [*robot.joint_names, *robot.mimic_joints]
    assert all(list(message.name) == names for message in messages)
    q, dq = (
        np.array([list(getattr(message, field)) for message in messages])[:, : robot.n]
        for field in ('position', 'velocity')
    )
    limits = limits_of(robot, velocity, acceleration)
    assert_inside(q, dq, limits, margin=1e-9)
    for message in messages:
        values = robot.joint_values(np.array(message.position[: robot.n]))
        assert dict(zip(message.name, message.position, strict=True)) == values
    _check_steps(q, dq, limits, 1.0 / rate)
    stamps = np.array([m.header.stamp.sec + 1e-9 * m.header.stamp.nanosec for m in messages])
    assert (np.diff(stamps) >= 0.0).all()


def _check_steps(q, dq, limits, period):
    """One tick between two messages: exactly one step; more only where a message is missing."""
    single = is_one_step((q[:-1], dq[:-1]), (q[1:], dq[1:]), period)
    lost = np.count_nonzero(~single)
    assert lost <= 0.02 * len(single) + 1, f'{lost} of {len(single)} are no single steps'
    assert_speeds(dq[:-1][single], dq[1:][single], limits, period, relative=1e-6)
