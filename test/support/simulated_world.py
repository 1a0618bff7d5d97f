# SPDX-License-Identifier: Apache-2.0
"""A node's motion between simulated states and a simulated controller: no ROS, no clock of ours.

The parts of the node are real: model, tracker, goals, measured states, outputs, `ControlLoop`.
Time goes in steps of a millisecond. The node ticks, its message comes a millisecond later; the
controller cycles in between, reads the hardware, which is where it was commanded to be one cycle
before, and its state comes a millisecond later, into a queue of five.
"""

from collections import deque
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
from builtin_interfaces.msg import Time
from sensor_msgs.msg import JointState
from std_msgs.msg import Float64MultiArray, Header

from ik_node.clocks import Moment
from ik_node.control_loop import ControlLoop
from ik_node.inputs.configuration_history import ConfigurationHistory
from ik_node.inputs.goal_topics import Goals
from ik_node.inputs.joint_states import FeedbackMonitor
from ik_node.known_collisions import KnownCollisions
from ik_node.outputs.commands import make_output
from ik_node.robot_model import Model
from support.jtc_simulation import SECOND, Controller, State, Trajectory
from support.node_harness import snapshot

MILLISECOND = SECOND // 1000
AHEAD = 1_000_000 * SECOND  # of the clock of messages
PERIOD = 4  # ms, of ticks and of cycles
CYCLE_PHASE = 2  # ms after a tick
QUEUE = 5
ACCELERATION = 5.0


class StubNode:
    """Stand-in for a node, with what its parts use."""

    def __init__(self, world):
        self.published, self.logged = [], []
        log = self.logged.append
        self._world, self._log = world, SimpleNamespace(info=log, warning=log, error=log)

    def create_subscription(self, *args, **kwargs):
        return SimpleNamespace(args=args)

    def destroy_subscription(self, subscription):
        pass

    def get_clock(self):
        return SimpleNamespace(now=lambda: SimpleNamespace(nanoseconds=self._world.now + AHEAD))

    def get_logger(self):
        return self._log

    def resolve_topic_name(self, name):
        return f'/{name}'


class Health:
    """Diagnostics that keep what they are given."""

    def __init__(self):
        self.warnings, self.refused, self.errors = [], [], []
        self.concerns, self.on_the_way, self.command = (), False, None
        self.moved_externally, self.not_following, self.held_up = False, 0, 0
        self.meter = SimpleNamespace(restart=lambda: None)

    def warn(self, kind, text):
        self.warnings.append((kind, text))

    def refuse(self, topic, refused):
        self.refused.append(refused.reason)

    def error(self, kind, text):
        self.errors.append(text)
        raise AssertionError(text)

    def note_goal(self):
        pass

    def record(self, command):
        self.command = command


class World:
    """A simulated world, see above. `q`: the hardware's positions (n,), all joints of the robot,
    or (n + m,).

    With (n + m,) the m mimic joints are hardware of their own, which measures them.

    on : the controller is; frozen : states repeat these positions; driven : called with the time
    [ms], where somebody else has led the hardware, by the same controller; stuck : the hardware
    does not move; wraps : angles are reported within (-pi, pi]; stamped : states have stamps;
    stalled : the node; hang : for so long [ms] after its next message; held : it does not start;
    slider : of the teach pendant: in a cycle the hardware moves by this fraction of the way to its
    command, and at most by this fraction of its speed limit; the controller scales its time by it
    and reports it, where `reports_slider`
    lag : cycles from a command until the hardware is there; sag : states say that the joints are
    so far (n,) from there, or a function of q that returns it; silent : no states come
    """

    def __init__(self, robot, q, *, output='joint_trajectory', lag=0, **parameters):
        self.robot, self.milliseconds = robot, 0
        parameters = snapshot(output=output, rate=1000.0 / PERIOD, **parameters)
        limits = replace(parameters.default_limits, acceleration=ACCELERATION, following_error=0.1)
        self.parameters = replace(parameters, default_limits=limits)
        self.health, self.node = Health(), StubNode(self)
        clock = SimpleNamespace(
            now=lambda: self.now,
            seconds=self.seconds,
            moment=lambda due: Moment(due, due + AHEAD),
            simulated=False,
        )
        history = ConfigurationHistory(lambda: self.now + AHEAD)
        self.states = FeedbackMonitor(self.node, self.health, self.seconds, history)
        self.states.poll = self._poll
        self.goals = Goals(self.node, self.health, lambda: self.model, self.seconds, None, history)
        self.motion = ControlLoop(
            self.node,
            None,
            clock,
            SimpleNamespace(changed=False),
            self.health,
            None,
            self.goals,
            SimpleNamespace(pass_to=lambda model: None),
            self.states,
            SimpleNamespace(begin=lambda model: None),
            history,
        )
        self.motion._publisher = SimpleNamespace(publish=self._publish)
        self.q, self._commands = np.array(q, float), deque([np.array(q, float)] * (1 + lag))
        self.on, self.frozen, self.driven, self.wraps = True, None, None, False
        self.stamped, self.stalled, self.held, self.hang = True, False, False, 0
        self.stuck, self._at_command, self.sag = False, None, np.zeros(self.q.size)
        self.silent = False
        self.slider, self.reports_slider = 1.0, True
        self._was_on, self._queue, self._mail = True, deque(maxlen=QUEUE), []
        self.controller = Controller(PERIOD * MILLISECOND)
        self.sent, self.hardware, self.commands = [], [], []
        self.show(robot)

    @property
    def now(self):
        """Return the steady clock's time [ns]."""
        return SECOND + self.milliseconds * MILLISECOND

    def seconds(self):
        """The same [s]."""
        return 1e-9 * self.now

    @property
    def tracker(self):
        return self.model.tracker

    def show(self, robot):
        """Let the node move this robot."""
        avoided = KnownCollisions().to_avoid(robot, self.parameters.node)
        self.model = Model(robot, self.parameters, self.motion.positions, avoided)
        self.motion.set_model(self.model)
        self.states.open(self.model)
        self._running = False
        self._names = (*robot.joint_names, *robot.mimic_joints)[: self.q.size]
        self._joints = [self._names.index(name) for name in self.model.command_joints]

    def start(self):
        """Let it tick from now on."""
        self.motion._output, self._running = make_output(self.model), True
        self.model.was_started = True

    @property
    def sent_commands(self):
        """Return the published commands, (time [ms], message)."""
        return [entry for entry in self.sent if not isinstance(entry[1], JointState)]

    def goal(self, transform, tip=0):
        self.goals.put(tip, transform)

    def run(self, milliseconds):
        """Let time pass; of the hardware: (cycles, n) positions in it."""
        begin = len(self.hardware)
        for _ in range(milliseconds):
            self.milliseconds += 1
            self._deliver()
            phase = self.milliseconds % PERIOD
            if phase == 0 and not self.stalled:
                self._tick()
            if phase == CYCLE_PHASE:
                self._cycle()
        return np.array(self.hardware[begin:])

    def until(self, condition, milliseconds=20_000):
        """Let time pass until the condition holds; of the hardware as `run`."""
        begin = len(self.hardware)
        for _ in range(milliseconds // PERIOD):
            self.run(PERIOD)
            if condition():
                return np.array(self.hardware[begin:])
        raise AssertionError(f'not in {milliseconds} ms; the obstacle is {self.states.obstacle}')

    def _poll(self):
        """Hand over the states that wait."""
        while self._queue:
            try:
                self.states._take(self._queue.popleft())
            except ValueError as refused:
                self.health.refuse('joint_states', refused)

    def _tick(self):
        self.states.poll()
        if not self._running and not self.held:
            known, due = self.states.begin(self.model)
            if not known:
                return
            self.model.apply(*due)
            self.start()
        if not self._running:
            return
        self.motion.step()
        self.motion.publish(self.now)

    def _publish(self, message):
        self._mail.append((self.milliseconds + 1, message))
        self.sent.append((self.milliseconds, message))
        if self.hang:  # in the middle of the tick
            hang, self.hang, self.stalled = self.hang, 0, True
            self.run(hang)
            self.stalled = False

    def _deliver(self):
        while self._mail and self._mail[0][0] <= self.milliseconds:
            _, message = self._mail.pop(0)
            if isinstance(message, float):
                state = SimpleNamespace(speed_scaling_factor=message)
                self.states._speed_scaling._take(state)
            elif isinstance(message, JointState):
                self._queue.append(message)
            elif isinstance(message, Float64MultiArray):
                self._at_command = np.array(message.data)
                self.commands.append(self._at_command)
            elif self.on:
                self.controller.take(Trajectory.read(message), self.now + AHEAD)

    def _cycle(self):
        """Run a cycle of ros2_control's controller and its hardware, then publish the states."""
        command = self._commanded()
        if self.driven is not None:
            self.q = np.array(self.driven(self.milliseconds), float)
            self.controller._active = self._at_command = None
            self._commands = deque([self.q] * len(self._commands))
        else:
            self._commands.append(command)
            command = self._commands.popleft()
            if not self.stuck:
                farthest = 1e-3 * PERIOD * self.robot.velocity if self.slider < 1.0 else np.inf
                self.q = self.q + self.slider * np.clip(command - self.q, -farthest, farthest)
        self.hardware.append(self.q.copy())
        if self.reports_slider:
            self._mail.append((self.milliseconds + 1, self.slider))
        if not self.silent:
            self._say()

    def _commanded(self):
        if not self.on:
            self._was_on = False
            return self._commands[-1]
        if not self._was_on:  # activated: it forgets its trajectory, and holds
            self.controller = Controller(PERIOD * MILLISECOND)
            self._at_command, self._was_on = None, True
        command = self._commands[-1].copy()
        measured = State(self.q[self._joints], np.zeros(len(self._joints)))
        self.controller.scaling = self.slider
        if self.parameters.node.output == 'joint_trajectory':
            now = self.now + AHEAD
            asked = self.controller.update(now, PERIOD * MILLISECOND, measured)
        else:
            asked = self._at_command
        if asked is not None:
            command[self._joints] = asked
        return command

    def _say(self):
        q = self.q if self.frozen is None else self.frozen
        q = q + (self.sag(q) if callable(self.sag) else self.sag)
        if self.wraps:
            turn = 2.0 * np.pi
            wrapped = q - turn * np.ceil((q - np.pi) / turn)
            q = np.where(self.robot.continuous, wrapped, q)
        message = JointState(name=list(self._names), position=q.tolist())
        if self.stamped:
            sec, nanosec = divmod(self.now + AHEAD, SECOND)
            message.header = Header(stamp=Time(sec=int(sec), nanosec=int(nanosec)))
        self._mail.append((self.milliseconds + 1, message))
