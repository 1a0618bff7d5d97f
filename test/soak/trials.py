# SPDX-License-Identifier: Apache-2.0
"""Actions that are judged by more than limits: each begins with a node that nothing else disturbs.

In such a calm nothing raises in the node, its parameters have their defaults, it has no goal, and
its robot does what it is told. Then the robot is sent somewhere, and in motion it happens. What
never may happen is the listener's to judge; whether goals are kept, lines straight and answers in
time is judged here.
"""

from __future__ import annotations

import math
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np
import rclpy
from geometry_msgs.msg import PoseStamped, TwistStamped
from std_msgs.msg import Float64MultiArray
from std_srvs.srv import SetBool

from ik_node.conversions import transform_to_pose

from .actions import ACTIVATE, DEACTIVATE, Actions
from .expected_limits import Array
from .faulty import CALM, EXCITED, LATE, STALL
from .link_poses import pinocchio
from .robots import TURNS
from .simulated_robot import Driver
from .trajectories import Controller

FAST = 0.8  # [rad/s or m/s] The node is in motion when a joint is faster
SOON = 15.0  # [s] In which a goal is reached
ANSWER = 3.0  # [s] In which a slow way back is stopped: a second, and what a busy machine needs
LINE = 1e-3  # [m] So far the tip may be from the line of a jog,
# [m] and so far apart may be lines before and after a stop that a controller went into alone
APART = 0.01
# The part of its twists' way that a jog goes at least: twists starve, and solves are late
LEAST_WAY = 0.15
SLOW = 0.01  # [rad/s or m/s] Of a way back that takes longer than any answer
# [s] Where this process was by so much too late to move the robot, goals are not judged
BUSY = 0.12
# [s] Where this process was by so much too late, the robot stood, and the node stops for it
STOOD = 0.006
FOLLOWING_ERROR = 0.1  # [rad or m] How far from its robot a command may rest, by default
REPORTED = 0.2  # [s] In which the node reports that it resets, before it is idle again
SAGS = (0.005, 0.09)  # [rad] By so much a robot sags: below the following error
# [rad] So far no command may move a joint at once: 2 rad/s over some messages that came late
STEP = 0.05
STAYS = 0.02  # [rad] A robot that is not to be moved stays within this
QUIET = 0.5  # [s] A node that publishes nothing for so long does not lead its robot


class Trials(Actions):
    """`controller` is what plays trajectories, if anything does; `renew` ends the node by SIGTERM
    and starts it again, and says how long the end took [s]; it is None where that may not be now.
    `too_busy` counts goals that are not judged because this machine was.
    """

    controller: Controller | None = None
    with_faults = True
    too_busy = 0
    renew: Callable[[], float] | None = None

    # The driver of the robot

    def angles_wrapped(self) -> None:
        """A driver says a continuous joint's angle within a turn, and the node starts from it."""
        with self._calm() as arm:
            arm.driver = Driver(wraps=TURNS)
            for _ in range(4):
                if abs(arm.positions[TURNS]) > math.pi + 0.3 or not self._turn_on():
                    break
            if not self._set_off():
                return
            how = self.random.randrange(3)
            if how == 0:
                self.reset()
            elif how == 1:
                self.client.call('pause', SetBool.Request(data=True))
                self._wait_for_rest()
                self.go_on()
            else:
                self.client.set({'goal_timeout': 0.3})
            time.sleep(1.5)
            if self._set_off():
                time.sleep(0.5)

    def states_frozen(self) -> None:
        """A driver repeats its last state while the robot moves on."""
        with self._calm() as arm:
            if self._set_off():
                arm.driver = Driver(frozen=True)
                time.sleep(self.random.uniform(0.3, 2.5))
                arm.driver = Driver()
                time.sleep(0.5)

    def states_inexact(self) -> None:
        """States with small errors, late or bunched: the goal is reached all the same."""
        with self._calm() as arm:
            uniform = self.random.uniform
            bunch = self.random.choice([0.0, uniform(0.01, 0.04)])
            arm.driver = Driver(noise=0.003, late=uniform(0.0, 0.04), bunch=bunch)
            if self._set_off():
                self._judge_arrival(f'with {arm.driver}')

    def sag(self) -> None:
        """The robot rests beside its command: that goes to its goals, and nowhere without one."""
        with self._calm() as arm:
            sag = self.random.uniform(*SAGS)
            if not self._set_off():
                return
            arm.driver = Driver(sag=sag)  # in motion, since at rest it would be a push
            self._judge_arrival(f'of a robot that sags by {sag:.3f} rad')
            self.reset()
            time.sleep(REPORTED)
            if not (self._wait_for(lambda: self._is('idle'), SOON) and self._wait_for_rest()):
                return
            rested = time.time_ns()
            if self.random.random() < 0.5:
                self.client.call('pause', SetBool.Request(data=True))
                time.sleep(0.5)
                self.go_on()
            time.sleep(self.random.uniform(1.0, 3.0))
            if self._listener.moved_until > rested:
                detail = f'by {sag:.3f} rad, status {self.status.get("code")}'
                self._listener.object('a command that moves since its robot sags', detail)

    def driver_restarted_elsewhere(self) -> None:
        """The driver ends, the robot is moved, and the driver starts again: the robot stays."""
        with self._calm() as arm:
            if self.random.random() < 0.5 and self._set_off():
                self._judge_arrival('before its driver ends')
            self._switch(on=False)
            arm.driver = Driver(silent=True)
            time.sleep(self.random.uniform(1.0, 2.0))
            place = arm.place(self._way_within_limits(0.3))
            arm.driver = Driver()
            self._switch(on=True)
            self._judge_that_it_stays(place, 'after its driver started again')

    def paused_and_given_back(self) -> None:
        """In a pause another controller moves the robot, which then gets no old command."""
        with self._calm() as arm:
            if not self._set_off():
                return
            self.client.call('pause', SetBool.Request(data=True))
            if not self._wait_for_rest():
                return
            time.sleep(self.random.uniform(0.6, 1.0))
            self._switch(on=False)
            arm.lead(self.random.uniform(0.2, 1.0))
            time.sleep(self.random.uniform(0.4, 1.0))
            arm.lead(0.0)
            time.sleep(0.5)
            place = dict(arm.positions)
            arm.driver = Driver()
            self._switch(on=True)
            self._judge_that_it_stays(place, 'in a pause')
            arm.largest_step, arm.delay = 0.0, 0.0
            self.go_on()
            self._judge_arrival('after a pause in which others moved the robot')
            self._judge_steps('after a pause')

    def held_up(self) -> None:
        """Messages are held up between their tick and the middleware, in motion."""
        with self._calm():
            if self._set_off() and self.process is not None:
                if self.with_faults:
                    self.process.send_signal(STALL)
                self._judge_arrival('after messages that were held up')

    def goals_with_stamps(self) -> None:
        """Goals in the tip's moving frame, of now, of a moment ago, or of the future."""
        with self._calm():
            if not self._set_off():
                return
            tip = self._kinematics.default_tip()
            for _ in range(self.random.randint(1, 20)):
                goal = PoseStamped()
                goal.header.frame_id = tip
                age = self.random.choice([0.0, 0.1, 0.3, 2.0, 20.0, -0.2, -5.0])
                stamp = time.time_ns() - round(1e9 * age)
                goal.header.stamp.sec, goal.header.stamp.nanosec = divmod(stamp, 10**9)
                goal.pose.position.x, goal.pose.orientation.w = (
                    self.random.uniform(-0.05, 0.05),
                    1.0,
                )
                self._poses.publish(goal)
                time.sleep(self.random.choice([0.0, 0.02, 0.2]))
            time.sleep(0.3)

    def two_publishers(self) -> None:
        """Somebody else sends goals, too, and advertises a topic of commands."""
        with self._calm():
            other = rclpy.create_node('ik_node', namespace='/soak/other')
            goals = other.create_publisher(PoseStamped, '/soak/goal_pose', 1)
            other.create_publisher(Float64MultiArray, '/soak/commands', 10)
            for _ in range(self.random.randint(20, 60)):
                self._poses.publish(PoseStamped(pose=self._random_pose()))
                goals.publish(PoseStamped(pose=self._random_pose()))
                time.sleep(0.03)
            other.destroy_node()

    def jog_of_five_joints(self) -> None:
        """Twists in one direction for an arm whose five joints can't turn its tip freely."""
        few = [v for v in self._variants if v.base == self._variant.base and v.mimics]
        with self._calm():
            variant = self.random.choice(few)
            if self._variant is not variant and not self._become(variant):
                return
            self.defaults()
            self._jog(starves=False)

    # Joint goals

    def joint_goal_reached(self) -> None:
        """A joint goal is reached from any motion, and joints without a name stay."""
        with self._calm():
            if not self._set_off():
                return
            rests = self.random.random() < 0.5
            if rests:
                self.reset()
                time.sleep(REPORTED)
                rests = self._wait_for(lambda: self._is('idle'), SOON) and self._wait_for_rest()
            joints = self._variant.commanded or self._kinematics.joint_names
            goal = {n: x for n, x in self._random_positions().items() if n in joints}
            if goal:
                latest, names = self._listener.latest, self._kinematics.joint_names
                stay = {n: latest[n] for n in joints if n in names and rests}
                self._judge_joint_goal(goal, {**stay, **goal})

    def _judge_joint_goal(self, goal: dict[str, float], due: dict[str, float]) -> None:
        """Send a joint goal, after which the joints are where they are due.

        It may be refused, or dropped, only where a robot stands, as on a busy machine.
        """
        refused, hindered = self.status.get('refused'), False

        def ends() -> bool:
            nonlocal hindered
            hindered |= self._is('not_following') or self.status.get('refused') != refused
            return hindered or self._has_reached()

        self._send_joints(goal)
        time.sleep(REPORTED)
        has_ended = self._wait_for(ends, SOON)
        if hindered and self._arm is not None:
            self.too_busy += 1
        elif hindered or not has_ended:
            detail = f'{goal}, status {self.status}, joints at {self._listener.latest}'
            self._listener.object('a joint goal that is not reached', detail)
        else:
            self._judge_joints(due)

    def _judge_joints(self, due: dict[str, float]) -> None:
        """Compare where the joints are with where they are due, but for whole turns."""
        robot, latest = self._kinematics, self._listener.latest
        endless = dict(zip(robot.joint_names, robot.continuous.tolist(), strict=True))
        apart = {n: latest[n] - x for n, x in due.items()}
        turned = {n: math.remainder(x, math.tau) if endless[n] else x for n, x in apart.items()}
        wrong = {n: (latest[n], due[n]) for n, x in turned.items() if abs(x) > 1e-9}
        if wrong:
            self._listener.object('joints that are not at their goal', str(wrong))

    # The robot and its controller

    def start_in_motion(self) -> None:
        """Somebody else moves the robot while the node starts from it."""
        with self._calm() as arm:
            activates = self.random.random() < 0.5
            if activates:
                self.client.transitions(DEACTIVATE)
            arm.lead(self.random.uniform(0.3, 2.0))
            self.was_moving = True
            time.sleep(0.1)
            if activates:
                self.client.transitions(ACTIVATE)
            else:
                self.reset()
            time.sleep(self.random.uniform(0.5, 2.0))
            self._switch(on=False)
            arm.lead(0.0)
            time.sleep(1.0)

    def switched_off(self) -> None:
        """The controller is off for a moment; what it does then, `Controller` judges."""
        with self._calm():
            if self._set_off():
                self._switch(on=False)
                time.sleep(self.random.uniform(0.02, 0.8))
                self._switch(on=True)
                time.sleep(0.7)

    def switched_off_for_long(self) -> None:
        """And the command then waits near the robot, so that it is safe to switch it on."""
        with self._calm() as arm:
            if not self._set_off():
                return
            self._switch(on=False)
            rest = 1.5  # after which the command began from the state
            if self._wait_for(lambda: time.monotonic() - self._listener.rests_since > rest, SOON):
                publishes = time.monotonic() - self._listener.last_arrival < QUIET
                distance = arm.distance(self._listener.latest)
                if publishes and distance > FOLLOWING_ERROR + 1e-6:
                    detail = f'{distance:.3g}, status {self.status.get("code")}'
                    self._listener.object('a command that rests far from its robot', detail)

    # The node

    def mimics(self) -> None:
        """Another joint mimics, or in another way, or none does; at times nobody leads the robot
        to where it does.
        """
        others = [
            v for v in self._variants if v.base == self._variant.base and v is not self._variant
        ]
        with self._calm() as arm:
            if not self._set_off():
                return
            is_off = arm is not None and self.random.random() < 0.5
            if is_off:
                self._switch(on=False)
            if self._become(self.random.choice(others)):
                if is_off:
                    time.sleep(self.random.uniform(0.5, 2.5))
                    self._switch(on=True)
                    time.sleep(0.7)
                self._set_off()
                time.sleep(0.5)

    def way_back(self) -> None:
        """Joints outside their limits return slowly, until something ends that."""
        with self._calm():
            if not self._set_off():
                return
            given: dict[str, float] = {}
            for joint, q in self._listener.latest.items():
                lower, upper = self._listener.description_limits(joint)[:2]
                if math.isfinite(lower) and joint in self._kinematics.joint_names:
                    inside = self.random.uniform(0.1, 0.3) * min(1.0, upper - lower)
                    side, limit = (
                        ('upper', q - inside) if q > lower + upper else ('lower', q + inside)
                    )
                    if lower < limit < upper:
                        given[f'joint_limits.{joint}.{side}'] = limit
                        given[f'joint_limits.{joint}.velocity'] = SLOW
            if self.client.set(given):
                time.sleep(self.random.uniform(0.5, 1.0))
                self._end_way_back()

    def _end_way_back(self) -> None:
        began, requests = time.monotonic(), ['pause', 'deactivate', 'reset', 'end']
        how = self.random.choice(requests if self.renew else requests[:3])
        if how == 'end' and self.renew:
            seconds = self.renew()
        else:
            if how == 'pause':
                self.client.call('pause', SetBool.Request(data=True))
            elif how == 'deactivate':
                self.client.transitions(DEACTIVATE)
            else:
                self.reset()
            seconds, answered = time.monotonic() - began, time.time_ns()
            time.sleep(0.5)
            late = 1e-9 * (self._listener.moved_until - answered)
            if how == 'pause' and late > 0.1:
                self._listener.object('a pause in which joints move', f'for {late:.2f} s')
            self.defaults()  # so that the rest of the way is quick
            if how == 'deactivate':
                self.client.transitions(ACTIVATE)
        if seconds > ANSWER:
            self._listener.object(f'a stop that takes too long: {how}', f'{seconds:.1f} s')

    def stalled(self) -> None:
        """The process is stopped for a moment: the goal is kept, and reached."""
        with self._calm():
            if self._set_off() and self.process is not None:
                time.sleep(self.random.uniform(0.0, 0.4))  # at any speed
                seconds = self.random.uniform(0.03, 0.4)
                self.process.send_signal(signal.SIGSTOP)
                time.sleep(seconds)
                self._listener.silent_by_right()
                self.process.send_signal(signal.SIGCONT)
                self._judge_arrival(f'after a stall of {seconds:.3f} s')

    def starved_jog(self) -> None:
        """Twists in one direction come in fits and starts, at times on a busy machine, and mostly
        with solves that come too late: the tip stays on its line.
        """
        plain = next(v for v in self._variants if v.base == self._variant.base and not v.mimics)
        with self._calm():
            if self._variant is not plain:
                if not self._become(plain):
                    return
                self.defaults()  # limits of a joint that mimicked another one are in force again
            self._jog(starves=True)

    def _jog(self, *, starves: bool) -> None:
        """Jog from near a pose to begin from, and judge the line of the tip."""
        self._wait_for(lambda: self._is('idle'), SOON)  # with a robot that is new
        ready = [self._variant.ready.get(name, 0.0) for name in self._kinematics.joint_names]
        goal = np.array(ready) + self._numbers.uniform(-0.5, 0.5, len(ready))
        self._go_to(goal)
        if not self._wait_for(self._has_reached, SOON):  # one that rests may not have set off
            return
        if starves and self.random.random() < 0.7:
            self._raise_faults(LATE)
        direction = self._numbers.normal(size=3)
        direction /= np.linalg.norm(direction)
        twist = TwistStamped()
        speed = self.random.uniform(0.1, 0.4)
        velocity = (speed * direction).tolist()
        twist.twist.linear.x, twist.twist.linear.y, twist.twist.linear.z = velocity
        trace: list[tuple[int, Array]] = []
        began = time.time_ns()
        self._listener.trace, stopped, hindered = trace, False, False
        late_before = self._late_ticks()
        if self._arm is not None:
            self._arm.delay = 0.0
        busy = self._load_machine(3.0) if starves and self.random.random() < 0.5 else []
        end = time.monotonic() + 3.0
        while time.monotonic() < end:
            self._twists.publish(twist)
            is_late = starves and self.random.random() < 0.1
            time.sleep(self.random.uniform(0.02, 0.3) if is_late else 0.02)
            self.was_moving |= self._listener.moves
            stopped |= self._is('not_following')
            hindered |= self.status.get('warning') != 'none' or self._is('blocked')
        ticks = sum(stamp >= began for stamp, _ in trace)  # skipped ones move nothing
        for process in busy:
            process.wait()
        self._wait_for_rest()
        self._listener.trace = None
        if stopped and self._arm is not None and self._arm.delay > STOOD:
            self.too_busy += 1  # each joint stops by itself
        else:
            whole = ticks * speed * self._listener.period
            starved = self._late_ticks() - late_before > ticks // 2  # of time, not of twists
            least = 0.0 if stopped or hindered or starved else LEAST_WAY * whole
            # On a busy machine samples of the way to the goal before come late.
            self._judge_line([sample for sample in trace if sample[0] >= began], direction, least)

    def _judge_line(self, trace: list[tuple[int, Array]], direction: Array, least: float) -> None:
        """Compare the tip's way with lines along a unit vector (3,), at least so long [m].

        Where ticks did not come, a controller went into its stop, in which joints slow down in
        proportion: another line begins there.
        """
        names, tip = self._listener.names, self._kinematics.default_tip()
        if pinocchio is None or not trace:
            return
        poses = self._variant.poses
        stamps, positions = zip(*trace, strict=True)
        way = np.array(
            [poses.pose(dict(zip(names, q.tolist(), strict=True)), tip)[:3, 3] for q in positions]
        )
        gaps = np.flatnonzero(1e-9 * np.diff(stamps) > 1.5 * self._listener.period) + 1
        off = max(distance_from_line(piece, direction) for piece in np.split(way, gaps))
        apart, length = distance_from_line(way, direction), float(np.ptp(way @ direction))
        if off > LINE or apart > APART:
            detail = f'{1e3 * off:.2f} mm in {1e3 * length:.0f} mm, from {way[0].round(3)}, '
            detail += f'{1e3 * apart:.2f} mm with {gaps.size} stops'
            self._listener.object('a jog that leaves its line', detail)
        if length < least:
            detail = f'{1e3 * length:.0f} mm, at least {1e3 * least:.0f} mm are due'
            detail += f' in {len(trace)} ticks to {way[-1].round(3)}, status {self.status}'
            self._listener.object('a jog that crawls', detail)

    # What they share

    @contextmanager
    def _calm(self) -> Iterator[Any]:
        """Nothing but what happens in this context disturbs the node."""
        self._raise_faults(CALM)
        self.go_on()
        self.defaults()
        self.reset()
        time.sleep(REPORTED)
        self._wait_for(lambda: self._is('idle'), SOON)
        self.was_moving = False
        try:
            yield self._arm
        finally:
            if self._arm is not None:
                self._arm.driver = Driver()
                self._arm.lead(0.0)
                self._switch(on=True)
            self._raise_faults(EXCITED)

    def _raise_faults(self, number: int) -> None:
        if self.with_faults and self.process is not None and self.process.poll() is None:
            self.process.send_signal(number)

    def _switch(self, on: bool) -> None:
        assert self._arm is not None
        positions = self._arm.switch(on)
        if self.controller is not None and self.controller.is_on != on:
            self.controller.switch(on, positions)

    def _late_ticks(self) -> int:
        """Return the number of the node's late ticks since it began."""
        return int(self.status.get('late_ticks', 0))

    def _here(self) -> Array:
        """Return the commanded positions (n,)."""
        kept: Mapping[str, float] = self._listener.latest
        robot = self._kinematics
        middle = zip(robot.joint_names, robot.middle_configuration.tolist(), strict=True)
        return np.array([kept.get(name, x) for name, x in middle])

    def _way_within_limits(self, way: float) -> float:
        """Return `way` or its negative [rad]: the first joint stays within its limits.

        The node leads a robot back that is outside them.
        """
        assert self._arm is not None
        name, here = next(iter(self._arm.positions.items()))
        robot = self._kinematics
        i = robot.joint_index(name)
        ways = [x for x in (-way, way) if robot.lower[i] < here + x < robot.upper[i]]
        return self.random.choice(ways)

    def _go_to(self, q: Array) -> None:
        """Send the tip to where it is at q (n,)."""
        robot = self._kinematics
        q = np.clip(q, np.maximum(robot.lower, -9.0) + 0.1, np.minimum(robot.upper, 9.0) - 0.1)
        goal = robot.forward_kinematics(q, robot.default_tip())
        self._poses.publish(PoseStamped(pose=transform_to_pose(goal)))

    def _set_off(self) -> bool:
        """Send the tip somewhere near, and wait until joints move; whether they do."""
        for _ in range(5):
            here = self._here()
            self._go_to(here + self._numbers.uniform(-1.5, 1.5, here.size))
            if self._wait_for(self._is_fast, 1.0):
                if self._arm is not None:
                    self._arm.delay = 0.0
                time.sleep(self.random.uniform(0.0, 0.1))
                self.was_moving = True
                return True
        return False

    def _is_fast(self) -> bool:
        """Return whether joints move to a goal that was taken."""
        return self._listener.speed > FAST and self._is('tracking')

    def _turn_on(self) -> bool:
        """Turn the continuous joint on, and wait until it has; whether it does."""
        here = self._here()
        here[self._kinematics.joint_index(TURNS)] += 1.5
        self._go_to(here)
        return self._wait_for(lambda: self._is('reached'), 3.0)

    def _judge_that_it_stays(self, place: Mapping[str, float], when: str) -> None:
        assert self._arm is not None
        end = time.monotonic() + 1.5
        while time.monotonic() < end:
            away = self._arm.distance(place)
            if away > STAYS:
                here = {name: (x, self._arm.positions[name]) for name, x in place.items()}
                detail = f'{when}, by {away:.3f} rad, status {self.status.get("code")}, '
                detail += ', '.join(f'{name}: {x:.3f} to {y:.3f}' for name, (x, y) in here.items())
                self._listener.object('a robot that is moved as nobody asked', detail)
                return
            time.sleep(0.02)

    def _judge_steps(self, when: str) -> None:
        assert self._arm is not None
        step, delay = self._arm.largest_step, self._arm.delay
        if delay > BUSY:
            self.too_busy += 1
        elif step > STEP + 2.0 * delay:
            self._listener.object('a command that jumps', f'{when}, by {step:.3f} rad')

    def _wait_for_rest(self) -> bool:
        return self._wait_for(lambda: time.monotonic() - self._listener.rests_since > 0.5, SOON)

    def _judge_arrival(self, when: str) -> None:
        arrives = self._wait_for(lambda: self.status.get('code') == 'reached', SOON)
        if not arrives and self._arm is not None and self._arm.delay > BUSY:
            self.too_busy += 1
        elif not arrives:
            late = self._arm.delay if self._arm is not None else 0.0
            detail = f'{when}, status {self.status.get("code")}, {late:.3f} s late itself, '
            detail += f'joints at {self._listener.latest}'
            self._listener.object('a goal that is not reached', detail)


def distance_from_line(way: Array, direction: Array) -> float:
    """The largest distance [m] of a way (m, 3) from the line along a unit vector (3,)."""
    along = (way - way[0]) @ direction
    return float(np.linalg.norm(way - way[0] - np.outer(along, direction), axis=1).max())


# How often each comes beside `actions.WEIGHTS`,
OF_ALL = {
    'joint_goal_reached': 2,
    'starved_jog': 2,
    'stalled': 2,
    'held_up': 2,
    'way_back': 2,
    'mimics': 2,
    'goals_with_stamps': 2,
    'two_publishers': 1,
    'jog_of_five_joints': 2,
}
# and these where the state is measured,
OF_ARM = {
    'angles_wrapped': 3,
    'states_frozen': 3,
    'states_inexact': 3,
    'start_in_motion': 3,
    'switched_off_for_long': 3,
    'sag': 3,
    'driver_restarted_elsewhere': 3,
    'paused_and_given_back': 3,
}
OF_TRAJECTORIES = {'switched_off': 6}  # and where commands are trajectories
