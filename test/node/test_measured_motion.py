# SPDX-License-Identifier: Apache-2.0
"""Motion of a simulated robot, cycle by cycle, while states, controller or ticks of its node fail.

Judged by what reaches the hardware, by differences from cycle to cycle.
"""

import linecache
import math
import sys
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.jtc_simulation import Controller, State, Trajectory
from support.mimic_arm import arm, joint, mimics
from support.node_harness import load, reachable_goal
from support.simulated_world import ACCELERATION, PERIOD, World

import ik_core as ik

pytestmark = pytest.mark.long
TIP = 'panda_hand'
START = [0.1, -0.5, 0.2, -2.0, 0.1, 1.8, 0.6]
CYCLE = 1e-3 * PERIOD  # s
TURN = 2.0 * math.pi
LINKS = '<link name="base"/><link name="l1"/><link name="tip"/>'
TURNTABLE = f"""<robot name="turntable">{LINKS}
<joint name="turn" type="continuous"><parent link="base"/><child link="l1"/><axis xyz="0 0 1"/>
<limit velocity="1" effort="1"/></joint>
<joint name="slide" type="prismatic"><parent link="l1"/><child link="tip"/><axis xyz="1 0 0"/>
<origin xyz="0.3 0 0"/><limit lower="-0.1" upper="0.3" velocity="1" effort="1"/></joint></robot>"""


@pytest.fixture(scope='module')
def panda():
    return load('panda')


def whole(robot, arm=START):
    """Return all joints of the Panda, with its arm at `arm`."""
    q = robot.middle_configuration
    q[:7] = arm
    return q


def world(robot, **options):
    """A world in which the Panda moves, from the start."""
    it = World(robot, whole(robot), tip_links=(TIP,), **options)
    it.until(lambda: it._running)
    return it


def status(it):
    """The status of the last command."""
    return '' if it.health.command is None else it.health.command.status.name


def reached(it):
    """Return whether the command is at its goal, and nothing is wrong with the robot."""
    return status(it) == 'REACHED' and it.states.obstacle is None


def fast(it, speed=0.6):
    """Return whether some joint moves at a good speed [rad/s]."""
    return np.abs(it.tracker.dq).max() > speed


def assert_no_jump(robot, positions, name=''):
    """No joint moves faster than it may from cycle to cycle."""
    share = np.abs(np.diff(positions, axis=0)) / (robot.velocity * CYCLE)
    worst = np.unravel_index(share.argmax(), share.shape)
    assert share.max() <= 1.0 + 1e-6, f'{name}: joint {worst[1]} at {share.max():.2f} of its limit'


# --- speed scaling -------------------------------------------------------------------------------


def test_a_scaled_controller_begins_its_third_cycle_at_half_the_time():
    cycle, slow, full = 10_000_000, Controller(10_000_000, scaling=0.5), Controller(10_000_000)
    ramp = tuple((10**8 * k, State(np.array([float(k)]))) for k in range(3))
    at_rest = State(np.zeros(1))
    for controller in (slow, full):
        controller.take(Trajectory(0, ramp), 10**9)
        positions = [controller.update(10**9 + cycle * k, cycle, at_rest)[0] for k in range(4)]
        started = 3 if controller is full else 1.5  # cycles after the first, and one ahead
        assert positions[-1] == pytest.approx(0.1 * (started + 1.0))


def led_by(panda, *, slider, moves=0.1, reports=True):
    """A world that turns by 4.4 rad, with its slider moved after some seconds of motion."""
    it = World(panda, whole(panda, [-2.2, *START[1:]]), tip_links=(TIP,))
    it.until(lambda: it._running)
    it.reports_slider = reports
    it.tracker.move_to({'panda_joint1': 2.2})
    it.until(lambda: fast(it))
    it.run(round(1000 * moves))
    it.slider = slider
    return it


@pytest.mark.parametrize('slider', [0.75, 0.5, 0.25])
def test_a_motion_behind_a_slider_reaches_its_goal_slowly(panda, slider):
    it = led_by(panda, slider=slider)
    it.run(500)  # it brakes to the speed that is left
    positions = it.until(lambda: reached(it))
    assert it.health.not_following == 0, it.health.warnings
    assert_no_jump(panda, positions)
    speed = np.abs(np.diff(positions, axis=0)) / (panda.velocity * CYCLE)
    assert speed.max() <= slider + 1e-6
    it.run(1000)  # a goal counts as reached within the following error
    assert it.q[0] == pytest.approx(2.2, abs=1e-3)


@pytest.mark.parametrize('slider', [0.5, 0.25])
def test_a_slider_that_is_not_reported_ends_the_motion(panda, slider):
    it = led_by(panda, slider=slider, reports=False)
    it.until(lambda: it.health.not_following > 0)


def test_a_slider_that_is_turned_up_again_gives_back_the_full_speed(panda):
    it = led_by(panda, slider=0.25)
    it.run(300)
    it.slider = 1.0
    positions = it.until(lambda: reached(it))
    speed = np.abs(np.diff(positions, axis=0)) / (panda.velocity * CYCLE)
    assert it.health.not_following == 0
    assert 0.5 < speed.max() <= 1.0 + 1e-6


# --- continuous joints, whose drivers report angles within a turn --------------------------------


def turned_to_four(output, wraps=True):
    """A turntable that was led to 4 rad."""
    robot = ik.load_robot(TURNTABLE)
    it = World(robot, np.zeros(2), output=output, tip_links=('tip',))
    it.wraps = wraps
    it.until(lambda: it._running)
    for angle in (1.5, 3.0, 4.0):
        goal = robot.forward_kinematics([angle, 0.05], 'tip')
        it.goal(goal)
        it.until(lambda: reached(it))
    np.testing.assert_allclose(it.tracker.q[0], 4.0, atol=1e-3)
    it.run(400)
    return robot, it


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('how', ['reset', 'stop', 'pause'])
def test_a_start_from_wrapped_angles_keeps_the_turns_of_the_command(output, how):
    robot, it = turned_to_four(output)
    if how == 'reset':
        it.motion.come_to_rest()
        it.states.reset()
    elif how == 'stop':  # as where goals time out
        it.tracker.stop()
    else:
        it.model.tracker.pause(True)
        it.run(1500)
        it.model.tracker.pause(False)
    positions = it.run(2000)
    assert it.states.obstacle is None
    np.testing.assert_allclose(it.tracker.q[0], 4.0, atol=1e-3)
    assert_no_jump(robot, positions)
    commands = [q[0] for q in it.commands] or [4.0]
    assert np.abs(np.diff(commands)).max(initial=0.0) <= CYCLE + 1e-9


@pytest.mark.parametrize('wraps', [True, False])
@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_a_joint_that_somebody_turned_on_is_taken_where_it_turned_to(output, wraps):
    _, it = turned_to_four(output, wraps)
    begin = it.milliseconds
    it.driven = lambda now: [4.0 + min(1e-3 * (now - begin), 4.0), 0.05]
    it.run(10_000)  # published commands go there within their limits
    np.testing.assert_allclose(it.tracker.q[0], 8.0, atol=1e-3)


def test_the_first_angle_of_a_driver_that_counts_turns_stays_as_it_is():
    robot = ik.load_robot(TURNTABLE)
    it = World(robot, [40.0, 0.0], tip_links=('tip',))
    it.until(lambda: it._running)
    assert it.tracker.q[0] == pytest.approx(40.0)


# --- starts --------------------------------------------------------------------------------------


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('speed', [0.02, 0.3, 2.0])
def test_it_starts_only_once_the_robot_rests(panda, output, speed):
    it = World(panda, whole(panda), output=output, tip_links=(TIP,))

    def swings(now):  # by somebody else, to and fro at this speed
        phase = (1e-3 * now * speed) % 2.0
        return whole(panda, [abs(phase - 1.0) - 0.5, *START[1:]])

    it.driven = swings
    it.run(4000)
    assert not it._running
    assert not it.sent_commands
    rest = it.q.copy()
    it.driven = lambda now: rest
    it.until(lambda: it._running, 1000)
    np.testing.assert_allclose(it.tracker.q, rest, atol=1e-9)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_a_robot_that_starts_to_move_before_the_first_command_is_started_from_again(panda, output):
    it = World(panda, whole(panda), output=output, tip_links=(TIP,))
    it.held = True
    it.until(lambda: it.states.begin(it.model)[0])
    it.model.apply(*it.states.begin(it.model)[1])
    it.driven = lambda now: whole(panda, [0.4, *START[1:]])
    it.run(100)  # believed after some samples
    it.start()
    it.run(100)
    assert not it.sent_commands, 'commands for where it was'
    it.until(lambda: it.states.obstacle is None)
    assert it.tracker.q[0] == pytest.approx(0.4)


# --- states that freeze --------------------------------------------------------------------------


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('when', [100, 250, 400])
def test_frozen_states_lead_a_robot_back_within_its_limits(panda, output, when):
    it = world(panda, output=output)
    it.goal(reachable_goal(panda, TIP, 1))
    it.run(when)
    it.frozen = it.q.copy()
    positions = it.run(6000)
    assert any(kind in ('not_following', 'standstill') for kind, _ in it.health.warnings)
    assert_no_jump(panda, positions)
    np.testing.assert_allclose(it.q[:7], it.frozen[:7], atol=2e-3)
    commands = np.array(it.commands)
    if output == 'position_command':
        speeds = np.abs(np.diff(commands[:, :7], axis=0)) / CYCLE
        assert (speeds <= panda.velocity[:7] * (1 + 1e-6)).all()
        assert it.states.obstacle is None
        assert status(it) == 'IDLE', 'the way back is no goal that was reached'


def test_a_robot_that_did_not_follow_may_wait_for_a_reset(panda):
    it = world(panda, output='position_command', after_not_following='wait')
    it.goal(reachable_goal(panda, TIP, 1))
    it.until(lambda: fast(it))
    it.frozen = it.q.copy()
    it.run(3000)
    stopped = it.tracker.q
    assert it.states.obstacle.key == 'not_following'
    it.run(3000)
    np.testing.assert_array_equal(it.tracker.q, stopped)
    it.motion.come_to_rest()
    it.states.reset()
    it.until(lambda: it.states.obstacle is None)
    np.testing.assert_allclose(it.tracker.q[:7], it.frozen[:7], atol=1e-6)
    assert_no_jump(panda, np.array(it.hardware))


def test_frozen_states_lead_no_robot_back_that_avoids_collisions(panda):
    it = world(panda, avoid='self')
    it.goal(reachable_goal(panda, TIP, 1))
    it.run(250)
    it.frozen = it.q.copy()
    it.until(lambda: any(kind == 'way_back' for kind, _ in it.health.warnings))
    sent, stopped = len(it.sent_commands), it.q
    it.run(3000)
    it.motion.come_to_rest()
    it.states.reset()
    it.run(1000)
    assert it.states.obstacle.key == 'not_following'
    assert 'not checked for collisions' in it.health.concerns[0]
    assert len(it.sent_commands) == sent, 'nothing leads it back'
    np.testing.assert_array_equal(it.q, stopped)
    it.frozen = None
    it.until(lambda: it.states.obstacle is None)
    it.goal(reachable_goal(panda, TIP, 2))
    it.until(lambda: reached(it))
    assert_no_jump(panda, np.array(it.hardware))


# --- ticks that do not come ----------------------------------------------------------------------


@pytest.mark.parametrize(('lag', 'stamped'), [(0, True), (5, True), (0, False)])
@pytest.mark.parametrize('stall', [30, 100, 220, 400])
def test_after_a_stall_the_goal_is_kept_and_reached(panda, stall, lag, stamped):
    it = world(panda, lag=lag)
    it.stamped = stamped
    for number in range(3):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: fast(it, 1.2))
        it.run(20 * number)
        it.stalled = True
        it.run(stall)
        it.stalled = False
        it.until(lambda: reached(it))
    assert not it.health.warnings
    assert_no_jump(panda, np.array(it.hardware))


@pytest.mark.parametrize('lag', [0, 5])
def test_after_a_stall_in_the_middle_of_a_tick_the_goal_is_kept(panda, lag):
    it = world(panda, lag=lag)
    for number in range(3):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: fast(it, 1.2))
        it.hang = 160
        it.until(lambda: reached(it))
    assert [kind for kind, _ in it.health.warnings] == ['held_up'] * 3
    assert it.health.held_up == 3


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('hang', [600, 1500])
def test_states_that_wait_while_the_node_hangs_are_not_lost(panda, output, hang):
    """They wait in the queue: the node hangs after it took those before."""
    it = world(panda, output=output)
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: fast(it, 1.2))
    it.hang = hang
    it.until(lambda: reached(it))
    assert 'state_lost' not in [kind for kind, _ in it.health.warnings]
    assert not it.health.refused


def test_a_stall_between_two_clocks_makes_no_state_implausible(panda):
    """The time of a state is that of its receipt less its lateness, by clocks read together."""
    it = world(panda)
    lateness, stalls = it.states._clock.lateness, [140, 0, 90]
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: fast(it, 1.2))

    def held_up(stamp):
        answer = lateness(stamp)
        it.milliseconds += stalls.pop() if stalls else 0
        return answer

    it.states._clock.lateness = held_up
    it.until(lambda: reached(it))
    assert not stalls
    assert 'implausible_state' not in it.health.refused


@pytest.mark.parametrize('lag', [0, 5])
@pytest.mark.parametrize('stall', [50, 170, 220, 400])
def test_after_a_stall_between_step_and_message_the_goal_is_kept(panda, stall, lag):
    it = world(panda, lag=lag)
    step, say, stalls = it.motion.step, it._say, []

    def held_up():
        step()
        if stalls and fast(it, 1.2):
            it.stalled = True
            it.run(stalls.pop())
            it.stalled = False

    def say_now_and_then():
        if len(it.hardware) % 4 == 0:
            say()

    it.motion.step, it._say = held_up, say_now_and_then
    for number in range(3):
        it.goal(reachable_goal(panda, TIP, number))
        stalls.append(stall)
        it.until(lambda: reached(it) and not stalls)
    assert not it.health.warnings
    assert_no_jump(panda, np.array(it.hardware))


@pytest.mark.parametrize('stall', [20, 50, 150])
def test_a_message_that_is_held_up_while_it_is_written_makes_no_joint_jump(panda, stall):
    it = world(panda)
    write, due = it.motion._output.write, []

    def held_up(governor, moment):
        message = write(governor, moment)
        if due and it.milliseconds >= due[0]:
            due.clear()
            it.stalled = True
            it.run(stall)
            it.stalled = False
        return message

    it.motion._output.write = held_up
    for number in range(6):
        it.goal(reachable_goal(panda, TIP, number))
        due.append(it.milliseconds + 250 + 60 * number)
        it.until(lambda: reached(it) and not due)
    acceleration = np.diff(np.array(it.hardware), 2, axis=0) / CYCLE**2
    assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-6)
    assert not it.health.warnings


TRACED = ('control_loop.py', 'joint_trajectories.py', 'committed_steps.py')


class StallAtLine:
    """Stalls a world, when it moves fast, at a line of the code that makes a message.

    aim : file and number of the line; before : an ordinary stall [ms] before it, so that the
        message tells of other ticks, too; `lines`: those that were executed
    """

    def __init__(self, it, seconds):
        self.it, self.seconds, self.lines = it, seconds, set()
        self.aim = self.hit = None
        self.before = 0
        self._tick, it._tick = it._tick, self.tick

    def arm(self, aim, before=0):
        self.aim, self.hit, self.before = aim, None, before

    def tick(self):
        if self.before and fast(self.it, 1.0):
            milliseconds, self.before = self.before, 0
            self.stall(milliseconds)
        traces = not self.before and (self.aim is None or self.hit is None)
        sys.settrace(self.trace if traces else None)
        try:
            self._tick()
        finally:
            sys.settrace(None)

    def stall(self, milliseconds):
        self.it.stalled = True
        self.it.run(milliseconds)
        self.it.stalled = False

    def trace(self, frame, event, argument):
        name = frame.f_code.co_filename.rsplit('/', 1)[-1]
        if name not in TRACED:
            return None
        line = name, frame.f_lineno
        self.lines.add(line)
        if event == 'line' and line == self.aim and self.hit is None and fast(self.it, 1.0):
            self.hit = linecache.getline(frame.f_code.co_filename, frame.f_lineno).strip()
            sys.settrace(None)
            self.stall(self.seconds)
        return self.trace


@pytest.mark.parametrize(
    ('stall', 'before', 'every'),  # every third line, where it takes long
    [
        (100, 0, 1),
        *(pytest.param(*x, marks=pytest.mark.thorough) for x in ((28, 0, 3), (100, 48, 3))),
    ],
)
def test_a_stall_at_any_line_before_the_middleware_drops_the_message(panda, stall, before, every):
    it = world(panda)
    stalls = StallAtLine(it, stall)
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    held_up, hit = [], 0
    for number, line in enumerate(sorted(stalls.lines)[::every]):
        stalls.arm(line, before)
        begin = len(it.hardware)
        it.goal(reachable_goal(panda, TIP, number % 7 + 1))
        it.until(lambda: reached(it))
        if it.health.held_up:
            held_up.append(stalls.hit)
            it.health.held_up = 0
        else:
            acceleration = np.diff(np.array(it.hardware[begin:]), 2, axis=0) / CYCLE**2
            assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-6), stalls.hit
        hit += stalls.hit is not None
    assert hit > 80 / every
    assert {kind for kind, _ in it.health.warnings} <= {'held_up'}
    # In the call itself, and between its return and the clock.
    unavoidable = ['self._publisher.publish(message)', 'finished = self._now(due)']
    assert held_up == [line for line in unavoidable if line in held_up or every == 1]


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('lag', [0, 3])
def test_deactivated_in_motion_and_at_once_activated_joints_do_not_jolt(panda, output, lag):
    it = world(panda, output=output, lag=lag)
    for number in range(4):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: fast(it))
        it.motion.come_to_rest()  # as `deactivate` does
        it.until(lambda: it.motion.is_at_rest)
        last, begin = it.tracker.q, it.milliseconds
        it.show(panda)  # `activate`: while the controller still plays what it was sent
        it.until(lambda: it._running)
        assert it.milliseconds - begin >= 200, 'the samples of a joint at rest agree so long'
        np.testing.assert_allclose(it.tracker.q, last, atol=1e-6)
        it.goal(reachable_goal(panda, TIP, number + 10))
        it.until(lambda: reached(it))
    acceleration = np.diff(np.array(it.hardware), 2, axis=0) / CYCLE**2
    assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-6)
    assert not it.health.warnings


# --- a controller that is switched off -----------------------------------------------------------


@pytest.mark.parametrize(
    ('off', 'lag'),  # while the hardware lags, nothing tells that the controller is off
    [
        (20, 0),
        (800, 0),
        (200, 5),
        *(pytest.param(*it, marks=pytest.mark.thorough) for it in ((50, 0), (200, 0), (50, 5))),
    ],
)
def test_a_controller_that_was_off_in_motion_makes_no_joint_jump(panda, off, lag):
    it = world(panda, lag=lag)
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    for number in range(1, 7):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: fast(it))
        it.run(13 * number)
        it.on = False
        it.run(off)
        it.on = True
        it.run(2500)
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: reached(it))
    assert_no_jump(panda, np.array(it.hardware), f'off for {off} ms')


def activity(state):
    """Return a controller manager's report of the controller's state."""
    names = ('joint_state_broadcaster', 'active'), ('joint_trajectory_controller', state)
    controllers = [
        SimpleNamespace(name=name, state=SimpleNamespace(label=label)) for name, label in names
    ]
    return SimpleNamespace(controllers=controllers)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('off', [20, 50, 100, 200])
def test_what_the_controller_manager_reports_is_heeded_at_once(panda, output, off):
    it = world(panda, output=output, lag=5)  # so that states come too late to show it
    controller = it.states._controller
    controller._controller = 'joint_trajectory_controller'
    for number in range(3):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: fast(it))
        it.on = False
        it.run(5)
        controller._take(activity('inactive'))
        it.run(off - 5)
        it.on = True
        it.run(5)
        controller._take(activity('active'))
        it.until(lambda: reached(it))
    assert_no_jump(panda, np.array(it.hardware))
    controller._take(activity('inactive'))
    it.run(10)
    sent = len(it.sent)
    it.goal(reachable_goal(panda, TIP, 0))
    it.run(6000)
    assert len(it.sent) == sent, 'nothing is published for a controller that is not active'
    assert not it.tracker.has_goals, 'a goal is not kept for ever'


def given_away(panda, output, after):
    """A world whose controller is off, so long [ms] after a stop at a goal; the controller."""
    it = world(panda, output=output)
    controller = it.states._controller
    controller._controller = 'joint_trajectory_controller'
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    it.tracker.stop()
    it.run(after)
    controller._take(activity('inactive'))
    return it, controller


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_a_robot_that_sags_when_it_is_given_back_stays(panda, output):
    it, controller = given_away(panda, output, after=1000)
    it.run(500)
    old, begin = it.q.copy(), it.milliseconds
    it.driven = lambda now: old + min(1e-3 * (now - begin), 1.0) * np.r_[0.4, np.zeros(7)]
    it.run(2000)
    elsewhere, it.driven = it.q.copy(), None
    it._commands = type(it._commands)([it.q] * len(it._commands))
    sent = len(it.sent)
    it.run(500)
    assert len(it.sent) == sent
    controller._take(activity('active'))
    it.run(60)
    it.sag = np.r_[0.0, -0.05, np.zeros(6)]
    it.run(5000)
    np.testing.assert_allclose(it.tracker.q, elsewhere, atol=1e-9)
    assert not it.health.warnings


def test_after_a_short_time_off_the_goal_is_reached_without_another_word(panda):
    it = world(panda)
    it.goal(reachable_goal(panda, TIP, 1))
    it.until(lambda: fast(it))
    it.on = False
    it.run(100)
    it.on = True
    it.until(lambda: reached(it))
    it.run(100)
    tip = panda.forward_kinematics(it.q, TIP)
    np.testing.assert_allclose(tip, reachable_goal(panda, TIP, 1), atol=1e-4)


@pytest.mark.parametrize('lag', [20, 40])
def test_a_robot_that_lags_much_stops_once_at_most_until_that_is_known(panda, lag):
    it = world(panda, lag=lag)
    for number in range(4):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: reached(it))
        it.run(500)
    assert len(it.health.warnings) <= 1
    assert_no_jump(panda, np.array(it.hardware))


@pytest.mark.parametrize(('sag', 'lag'), [(0.005, 0), (0.005, 5), (0.015, 0), (0.015, 5)])
def test_a_robot_that_sags_follows_and_makes_no_jump_when_its_controller_was_off(panda, sag, lag):
    it = World(panda, whole(panda), tip_links=(TIP,), lag=lag)
    it.sag[:7] = -sag
    for number in range(3):
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: reached(it))
        it.run(500)
    assert not it.health.warnings
    begin = len(it.hardware)
    it.goal(reachable_goal(panda, TIP, 3))
    it.until(lambda: fast(it))
    it.on = False
    it.run(100)
    it.on = True
    it.until(lambda: reached(it))
    assert [kind for kind, _ in it.health.warnings] == ['standstill']
    assert_no_jump(panda, np.array(it.hardware[begin:]))


@pytest.mark.parametrize(
    ('milliseconds', 'step'), [(100, 0.03), (200, 0.03), (300, 0.0), (900, 0.0)]
)
def test_hardware_that_was_frozen_when_a_goal_came_does_not_jump_at_its_release(
    panda, milliseconds, step
):
    """Before its states have shown that it stands and rests, it steps by what was commanded until
    they showed that it stands.
    """
    it = world(panda)
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    it.run(500)
    it.stuck = True
    it.goal(reachable_goal(panda, TIP, 1))
    it.run(milliseconds)
    it.stuck = False
    it.run(3000)
    hardware = np.array(it.hardware)
    if step:
        assert np.abs(np.diff(hardware, axis=0)).max() <= step
    else:
        assert_no_jump(panda, hardware)


@pytest.mark.parametrize('off', [300, 1500])
def test_a_mimic_joint_whose_controller_is_off_at_the_start_makes_no_jump(off):
    """It has to get into line, alone."""
    robot = ik.load_robot(arm('mimic', f1=joint(), f2=joint(mimics('f1'))))
    it = World(robot, [0.6, -0.9], tip_links=('tip',), command_joints=('f1', 'f2'))
    it.until(lambda: it._running)
    it.on = False
    it.run(off)
    it.on = True
    it.until(lambda: not it.model.is_aligning and it.model.at_rest and it.states.obstacle is None)
    it.run(500)
    np.testing.assert_allclose(it.q, [0.6, 0.6], atol=1e-6)
    acceleration = np.diff(np.array(it.hardware), 2, axis=0) / CYCLE**2
    assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-6)


@pytest.mark.parametrize('off', [300, 700, 1500])
def test_a_robot_that_starts_outside_its_limits_with_its_controller_off_makes_no_jump(panda, off):
    q = whole(panda)
    q[0] = panda.upper[0] + 0.14
    it = World(panda, q, tip_links=(TIP,))
    it.on = False
    it.until(lambda: it._running)
    it.run(off)
    it.on = True
    it.run(6000)
    assert it.q[0] == pytest.approx(panda.upper[0], abs=1e-6)
    assert_no_jump(panda, np.array(it.hardware))


@pytest.mark.parametrize('failing', [1, 2, 10])
def test_errors_while_a_robot_is_led_back_make_no_jump(panda, failing):
    """They let the command move on, while the controller goes where the robot rested."""
    it, errors, returns = world(panda), [], []
    it.health.error = lambda kind, text: errors.append(text)
    compare, write_return = it.states.compare, it.motion._output.write_return

    def note_return(*arguments):
        returns.append(arguments)
        return write_return(*arguments)

    def raising(*arguments):
        due = compare(*arguments)
        if returns and len(errors) < failing:
            raise RuntimeError
        return due

    it.states.compare, it.motion._output.write_return = raising, note_return
    it.goal(reachable_goal(panda, TIP, 1))
    it.until(lambda: fast(it))
    it.on = False
    it.run(100)
    it.on = True
    on = len(it.hardware)
    it.until(lambda: reached(it))
    assert len(errors) == failing
    acceleration = np.diff(np.array(it.hardware[on:]), 2, axis=0) / CYCLE**2
    assert np.abs(acceleration).max() <= ACCELERATION * (1.0 + 1e-6)


# --- robots that hold imperfectly ----------------------------------------------------------------


class Soft:
    """The offset of a robot that hangs below its command: `size` [rad] at most, by `kind`.

    constant: always; pose: growing with the second joint; motion: of a time constant of 0.1 s
    after each motion, with the brakes of the joints off
    """

    def __init__(self, it, size, kind):
        self.it, self.size, self.kind = it, size, kind
        self._last, self._sag = None, np.zeros(it.q.size)

    def __call__(self, q):
        goal = np.zeros(q.size)
        goal[[1, 3]] = -self.size, 0.5 * self.size
        if self.kind == 'constant':
            return goal
        if self.kind == 'pose':
            return goal * np.cos(q[1])
        moves = self._last is not None and np.abs(q - self._last).max() > 1e-6
        self._last = q.copy()
        self._sag = self._sag + ((0.0 if moves else 1.0) * goal - self._sag) * CYCLE / 0.1
        return self._sag


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('kind', ['constant', 'pose', 'motion'])
@pytest.mark.parametrize('size', [0.005, 0.025, 0.09])
def test_a_robot_that_sags_is_never_moved_without_a_goal(panda, output, kind, size):
    it = World(panda, whole(panda), output=output, tip_links=(TIP,))
    it.sag = Soft(it, size, kind)
    it.until(lambda: it._running)
    for number in range(3):
        it.run(1000)
        rest, before = it.tracker.q, it.q.copy()
        assert it.states.obstacle is None
        it.run(4000)
        if number == 1:  # a pause and its end, and states that stop coming for a while
            it.model.tracker.pause(True)
            it.run(1000)
            it.model.tracker.pause(False)
            it.run(1000)
            it.silent = True
            it.run(1500)
            assert it.states.obstacle.key == 'state_lost'
            it.silent = False
            it.run(2000)
        assert it.states.obstacle is None
        np.testing.assert_array_equal(it.tracker.q, rest, f'after goal {number}')
        np.testing.assert_array_equal(it.q, before)
        it.goal(reachable_goal(panda, TIP, number))
        it.until(lambda: reached(it))
    kinds = {kind for kind, _ in it.health.warnings}
    assert 'not_following' not in kinds
    told = [text for text in it.node.logged if 'rests beside its command' in text]
    assert len(told) == (size > 0.02) * (1 + any('joint2' not in text for text in told))
    assert all('state_tolerance.panda_joint' in text for text in told)


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
def test_a_robot_that_sags_too_much_is_returned_to_once_and_then_waits(panda, output):
    it = World(panda, whole(panda), output=output, tip_links=(TIP,))
    it.sag[1] = -0.15
    it.until(lambda: it._running)
    it.goal(reachable_goal(panda, TIP, 1))
    it.until(lambda: it.states.obstacle is not None)
    it.run(10_000)
    assert it.states.obstacle.key == 'not_following'
    assert it.health.concerns == ('waiting for ~/reset',)
    q = it.q.copy()
    it.run(5000)
    np.testing.assert_array_equal(it.q, q)
    it.sag[1] = 0.0  # mended
    it.motion.come_to_rest()
    it.states.reset()
    it.until(lambda: it.states.obstacle is None)
    it.goal(reachable_goal(panda, TIP, 2))
    it.until(lambda: reached(it))


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize('sag', [0.0, 0.05])
@pytest.mark.parametrize('speed', [0.05, 0.3, 2.0])
def test_a_hand_that_moves_a_robot_is_noticed_and_the_next_goal_begins_there(
    panda, output, sag, speed
):
    it = world(panda, output=output)
    it.sag[1] = -sag
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    it.tracker.stop()
    it.run(2000)
    begin, rest = it.milliseconds, it.q.copy()
    away = rest + np.r_[0.5, np.zeros(rest.size - 1)]
    way = lambda now: min(1e-3 * (now - begin) * speed / 0.5, 1.0)  # noqa: E731
    it.driven = lambda now: rest + way(now) * (away - rest)
    it.run(round(1e3 * 0.5 / speed) + 700)
    held = np.array(it.commands[-1]) if it.commands else None
    it.run(10)
    assert it.states.obstacle is None
    assert not it.health.warnings
    assert it.tracker.q[0] == pytest.approx(away[0], abs=1e-9)
    if held is not None:
        assert held[0] == pytest.approx(away[0], abs=1e-9)
    it.driven, it._at_command = None, None
    it.run(1000)
    goal = reachable_goal(panda, TIP, 2)
    it.goal(goal)
    begin = len(it.hardware)
    it.until(lambda: reached(it))
    hardware = np.array(it.hardware[begin:])
    assert np.abs(np.diff(hardware, axis=0)).max() <= sag + panda.velocity.max() * CYCLE


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize(
    ('how', 'sag'), [('driver', 0.0), ('driver', 0.05), ('pause', 0.0), ('reach', 0.0)]
)
def test_a_robot_that_stands_elsewhere_gets_no_command_of_its_old_place(panda, output, how, sag):
    it = world(panda, output=output)
    it.sag[1] = -sag
    it.goal(reachable_goal(panda, TIP, 0))
    it.until(lambda: reached(it))
    it.run(1000)
    if how == 'pause':
        it.model.tracker.pause(True)
        it.run(500)
    old = it.q.copy()
    elsewhere = old + np.r_[0.5, -0.3, 0.2, 0.0, 0.4, 0.0, 0.0, 0.0]
    it.on, it.silent = False, how == 'driver'
    begin, way = it.milliseconds, 1000 if how != 'reach' else 200
    it.driven = lambda now: old + min((now - begin) / way, 1.0) * (elsewhere - old)
    it.run(2000)  # the driver ends, or another controller moves the robot
    it._commands = type(it._commands)([it.q] * len(it._commands))
    count, it.silent, it.driven, it.on = len(it.commands), False, None, True
    hardware = it.run(3000)
    for q in it.commands[count:]:
        assert np.abs(q - (elsewhere + it.sag)[: q.size]).max() < 1e-6
    assert np.abs(hardware - elsewhere)[:, :7].max() <= sag + 1e-6
    assert it.states.obstacle is None
    if how == 'pause':
        it.model.tracker.pause(False)
        it.until(lambda: reached(it))
    it.goal(reachable_goal(panda, TIP, 2))
    it.until(lambda: reached(it))


# --- others who move the robot -------------------------------------------------------------------


@pytest.mark.parametrize('paused', [False, True])
@pytest.mark.parametrize('held', [False, True])
def test_at_rest_others_may_move_the_robot(panda, paused, held):
    it = world(panda)
    if held:
        it.goal(reachable_goal(panda, TIP, 0))
        it.until(lambda: reached(it))
    if paused:
        it.model.tracker.pause(True)
    it.run(600)
    before, begin, rest = len(it.sent), it.milliseconds, it.q.copy()
    away = rest.copy()
    away[0] += 1.0
    it.driven = lambda now: rest + np.clip(1e-3 * (now - begin), 0.0, 1.0) * (away - rest)
    it.run(3000)
    assert len(it.sent) == before
    assert not it.health.warnings
    assert it.states.obstacle is None
    np.testing.assert_allclose(it.tracker.q, away, atol=1e-9)
    it.driven = None
    goal = reachable_goal(panda, TIP, 2)
    it.goal(goal)
    if paused:
        it.model.tracker.pause(False)
    it.until(lambda: reached(it))
    it.run(100)
    assert_no_jump(panda, np.array(it.hardware))
    np.testing.assert_allclose(panda.forward_kinematics(it.q, TIP), goal, atol=1e-4)


def test_a_goal_waits_while_others_move_the_robot_and_is_refused_in_the_end(panda):
    it = world(panda)
    it.run(600)
    begin, rest = it.milliseconds, it.q.copy()

    def led(seconds):
        def drive(now):
            q = rest.copy()
            phase = 0.6 * min(1e-3 * (now - begin), seconds) % 2.0
            q[0] += abs(phase - 1.0) - 1.0
            return q

        return drive

    it.driven = led(100.0)
    it.run(800)
    assert it.states.moved_externally
    it.goal(reachable_goal(panda, TIP, 2))
    it.run(1900)
    assert not it.health.refused
    it.run(200)
    assert it.health.refused == ['moved_externally']
    assert status(it) == 'IDLE'
    it.goal(reachable_goal(panda, TIP, 2))
    it.run(300)
    it.driven = led(1e-3 * (it.milliseconds - begin))
    sent = len(it.sent)
    it.run(100)
    assert len(it.sent) == sent
    it.driven = None
    it.until(lambda: reached(it))
    assert it.health.refused == ['moved_externally']


def test_nothing_is_published_once_the_last_trajectory_has_ended(panda):
    it = world(panda)
    it.run(200)
    for held in range(2):
        it.goal(reachable_goal(panda, TIP, held))
        it.until(lambda: reached(it))
        it.run(100)
        sent = len(it.sent)
        it.run(2000)
        assert len(it.sent) == sent
        assert reached(it), 'the goal is held'


def test_a_robot_that_sags_out_of_its_limits_is_not_led_back_for_ever(panda):
    q = whole(panda)
    q[3] = panda.lower[3] + 0.02
    it = World(panda, q, output='position_command', tip_links=(TIP,))
    it.sag[3] = -0.15
    it.until(lambda: it._running)
    it.run(5000)
    assert it.health.concerns == ('waiting for ~/reset',)
    sent = len(it.commands)
    it.run(5000)
    assert len(it.commands) == sent


@pytest.mark.parametrize('output', ['joint_trajectory', 'position_command'])
@pytest.mark.parametrize(('way', 'milliseconds'), [(0.3, 150), (0.09, 80)])
def test_a_robot_that_is_moved_as_soon_as_its_controller_is_off_does_not_sag(
    panda, output, way, milliseconds
):
    """The command just came to rest, but it is not the command that holds the robot."""
    it, controller = given_away(panda, output, after=50)
    old, begin = it.q.copy(), it.milliseconds
    share = lambda now: min((now - begin) / milliseconds, 1.0)  # noqa: E731
    it.driven = lambda now: old + share(now) * np.r_[way, np.zeros(7)]
    it.run(400)
    elsewhere, it.driven, begin = it.q.copy(), None, len(it.hardware)
    controller._take(activity('active'))
    it.run(3000)
    np.testing.assert_allclose(it.q, elsewhere, atol=1e-9)
    assert not it.health.warnings
    it.goal(reachable_goal(panda, TIP, 2))
    it.until(lambda: reached(it))
    assert_no_jump(panda, np.array(it.hardware[begin:]))


@pytest.mark.parametrize('milliseconds', [4, 60, 150])
def test_a_pause_on_the_way_back_only_holds_it_up(panda, milliseconds):
    it = world(panda, output='position_command')
    it.goal(reachable_goal(panda, TIP, 1))
    it.until(lambda: fast(it))
    it.stuck = True
    it.until(lambda: type(it.states._state).__name__ == 'Returning')
    it.run(milliseconds)
    it.model.tracker.pause(True)
    it.run(1000)
    rest = it.tracker.q
    it.run(2000)
    np.testing.assert_array_equal(it.tracker.q, rest)
    assert it.states.obstacle.key == 'not_following'
    it.model.tracker.pause(False)
    it.until(lambda: it.states.obstacle is None)
    np.testing.assert_allclose(it.tracker.q[:7], it.q[:7], atol=1e-6)
