# SPDX-License-Identifier: Apache-2.0
"""Lines and jogs of arms with too few joints for whole poses, judged by what is commanded.

Condition numbers are those of numpy, of position rows by central differences.
"""

import itertools
import math
from typing import NamedTuple

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.few_joints import hobby_urdf
from support.robots import shipped, tip_of

import ik_core as ik
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions, TrackStatus
from ik_core.tracking.goals.monitor import GoalMonitor


class FewJoints(NamedTuple):
    """An arm, the link that is its tip, and a posture (n,)."""

    robot: ik.Robot
    tip: str
    q: np.ndarray


def chain_urdf(name, joints):
    """URDF text of a chain; joints: (name, type, offset, axis, lower, upper, extra)."""
    text, parent = f'<robot name="{name}"><link name="base"/>', 'base'
    for joint, kind, offset, axis, lower, upper, extra in joints:
        text += (
            f'<link name="{joint}_link"/><joint name="{joint}" type="{kind}">'
            f'<parent link="{parent}"/><child link="{joint}_link"/><origin xyz="{offset}"/>'
            f'<axis xyz="{axis}"/><limit lower="{lower}" upper="{upper}" velocity="2.5" '
            f'effort="1"/>{extra}</joint>'
        )
        parent = f'{joint}_link'
    return text + '</robot>'


def mimic(joint):
    """The element of a joint that keeps a link level behind another joint."""
    return f'<mimic joint="{joint}" multiplier="-1"/>'


TURN, LIFT = '0 0 1', '0 1 0'
SCARA = [
    ('shoulder', 'revolute', '0 0 0.3', TURN, -2.6, 2.6, ''),
    ('elbow', 'revolute', '0.25 0 0', TURN, -2.6, 2.6, ''),
    ('slide', 'prismatic', '0.2 0 0', '0 0 -1', 0.0, 0.3, ''),
    ('turn', 'revolute', '0 0 -0.05', TURN, -3.1, 3.1, ''),
]
FOUR = [
    ('pan', 'revolute', '0 0 0.08', TURN, -3.0, 3.0, ''),
    ('lift', 'revolute', '0 0 0.05', LIFT, -2.0, 2.0, ''),
    ('elbow', 'revolute', '0.03 0 0.14', LIFT, -2.4, 2.4, ''),
    ('wrist', 'revolute', '0.13 0 0', LIFT, -2.4, 2.4, ''),
    ('tool', 'fixed', '0.12 0 0', LIFT, 0, 0, ''),
]
PALLETISER = [
    ('pan', 'revolute', '0 0 0.4', TURN, -3.0, 3.0, ''),
    ('lift', 'revolute', '0.1 0 0', LIFT, -1.0, 1.4, ''),
    ('lift_level', 'revolute', '0 0 0.5', LIFT, -1.4, 1.0, mimic('lift')),
    ('arm', 'revolute', '0 0 0', LIFT, -0.8, 1.2, ''),
    ('arm_level', 'revolute', '0.5 0 0', LIFT, -1.2, 0.8, mimic('arm')),
    ('turn', 'revolute', '0.1 0 0', TURN, -3.1, 3.1, ''),
    ('tool', 'fixed', '0 0 -0.1', LIFT, 0, 0, ''),
]
PLANAR = [
    ('first', 'revolute', '0 0 0.1', TURN, -3.0, 3.0, ''),
    ('second', 'revolute', '0.3 0 0', TURN, -3.0, 3.0, ''),
    ('third', 'revolute', '0.25 0 0', TURN, -3.0, 3.0, ''),
    ('tool', 'fixed', '0.1 0 0', TURN, 0, 0, ''),
]
ARMS = {
    'scara': (lambda: chain_urdf('scara', SCARA), 'turn_link', (0.4, 1.4, 0.15, -0.3)),
    'four': (lambda: chain_urdf('four', FOUR), 'tool_link', (0.4, -0.5, 0.9, 0.6)),
    'palletiser': (
        lambda: chain_urdf('palletiser', PALLETISER),
        'tool_link',
        (0.3, 0.2, 0.4, 0.5),
    ),
    'hobby': (hobby_urdf, 'tool', (0.3, -0.5, 0.7, 0.6, 0.2)),
    'planar': (lambda: chain_urdf('planar', PLANAR), 'tool_link', (0.3, 0.9, 0.7)),
}


def few_joint_arm(name):
    """The arm of this name."""
    make, tip, q = ARMS[name]
    return FewJoints(ik.load_robot(make()), tip, np.array(q))


RATE = 100.0
ACCELERATION = 10.0
ON_LINE = 1e-3
AXES = [sign * np.eye(3)[axis] for axis in range(3) for sign in (1.0, -1.0)]
SPATIAL = [name for name in ARMS if name != 'planar']


class Run:
    """A tracker of such an arm, and the frames (N, 4, 4) and statuses that came of it."""

    def __init__(self, name, q=None, **options):
        self.robot, self.tip, posture = few_joint_arm(name)
        q = posture if q is None else np.array(q)
        goal = ik.PoseTask.for_joints(len(self.robot.chain(self.tip)), self.tip)
        goal.set_target(self.robot.forward_kinematics(q, self.tip))
        self.limits = MotionLimits.of(self.robot, acceleration=ACCELERATION)
        self.tracker = Tracker(
            ik.IkProblem(self.robot, [goal]), RATE, limits=self.limits, q0=q,
            options=TrackerOptions(**options), clock=lambda: 0.0,
        )  # fmt: skip
        self.q, self.statuses = [self.tracker.q], []

    def tick(self):
        command = self.tracker.tick(len(self.statuses) / RATE)
        self.q.append(command.q)
        self.statuses.append(command.status)

    def jog(self, seconds, linear=(0.0, 0.0, 0.0), angular=(0.0, 0.0, 0.0)):
        """Jog for some seconds, then come to rest."""
        for _ in range(int(seconds * RATE)):
            self.tracker.set_twist(0, linear, angular, len(self.statuses) / RATE)
            self.tick()
        for _ in range(100):
            self.tick()
        return self

    def go(self, pose):
        """Go to a pose (4, 4) until the arm holds it or what came nearest."""
        self.tracker.set_goal(0, pose, len(self.statuses) / RATE)
        for _ in range(3000):
            self.tick()
            if self.statuses[-1] is not TrackStatus.TRACKING and self.tracker.at_rest:
                return self
        raise AssertionError(f'still {self.statuses[-1]}')

    @property
    def frames(self):
        return np.array([self.robot.forward_kinematics(q, self.tip) for q in self.q])

    def off_line(self):
        """The largest distance [m] from the line between the first and the last position."""
        way = self.frames[:, :3, 3] - self.frames[0, :3, 3]
        along = way[-1] / np.linalg.norm(way[-1])
        return float(np.linalg.norm(way - np.outer(way @ along, along), axis=1).max())

    def fastest_turn(self):
        """[rad/s] of the tip."""
        turns = self.frames[:, :3, :3]
        steps = turns[:-1].transpose(0, 2, 1) @ turns[1:]
        return float(Rotation.from_matrix(steps).magnitude().max()) * RATE

    def check_limits(self):
        q = np.array(self.q)
        velocity = np.diff(q, axis=0) * RATE
        assert (q >= self.limits.lower).all()
        assert (q <= self.limits.upper).all()
        assert (np.abs(velocity) <= self.limits.velocity * (1.0 + 1e-6)).all()
        acceleration = np.diff(velocity, axis=0) * RATE
        assert (np.abs(acceleration) <= ACCELERATION * (1.0 + 1e-6)).all()


def position_rows(robot, tip, q, step=1e-6):
    """The position rows (3, joints) of the Jacobian by central differences."""
    columns = []
    for joint in robot.chain(tip):
        ahead, behind = q.copy(), q.copy()
        ahead[joint] += step
        behind[joint] -= step
        frames = [robot.forward_kinematics(at, tip)[:3, 3] for at in (ahead, behind)]
        columns.append((frames[0] - frames[1]) / (2.0 * step))
    return np.array(columns).T


@pytest.mark.parametrize('name', ARMS)
def test_condition_number_is_that_of_the_position_rows(name):
    run, rng = Run(name), np.random.default_rng(1)
    rank = 2 if name == 'planar' else 3
    monitor = GoalMonitor(run.tracker._state.solver.problem)
    for _ in range(10):
        q = run.robot.lower + rng.uniform(0.2, 0.8, run.robot.n) * (
            run.robot.upper - run.robot.lower
        )
        values = np.linalg.svd(position_rows(run.robot, run.tip, q), compute_uv=False)
        target = run.tracker._state.solver.frames_at(q)
        found = monitor.condition_number(q, target)
        assert found == pytest.approx(values[0] / values[rank - 1], rel=1e-4)


def test_condition_number_of_six_joints_counts_the_orientation():
    robot = shipped('ur5e')
    tip = tip_of(robot)
    problem = ik.IkProblem(robot, [ik.PoseTask.for_joints(6, tip)], orientation_length=0.2)
    q = robot.middle_configuration + 0.3
    frame = robot.forward_kinematics(q, tip)
    target = np.r_[frame[:3, :3].ravel(), frame[:3, 3]]
    rows = robot.jacobian(q, tip) * np.r_[1.0, 1.0, 1.0, 0.2, 0.2, 0.2][:, None]
    found = GoalMonitor(problem).condition_number(q, [target])
    assert found == pytest.approx(np.linalg.cond(rows), rel=1e-6)


@pytest.mark.parametrize(
    ('name', 'way'), [*itertools.product(SPATIAL, range(6)), *(('planar', i) for i in range(4))]
)
def test_jog_goes_along_every_direction_that_the_position_rows_allow(name, way):
    """0.05 m/s for 1 s, up and down in 0.05 s each: 47 mm and more."""
    run = Run(name).jog(1.0, 0.05 * AXES[way])
    gone = (run.frames[-1] - run.frames[0])[:3, 3] @ AXES[way]
    assert gone > 0.047
    assert run.off_line() < ON_LINE
    assert run.fastest_turn() < 1.0
    assert run.statuses[-1] is TrackStatus.IDLE
    run.check_limits()


@pytest.mark.parametrize(('name', 'way'), [('hobby', 4), ('hobby', 5), ('four', 0), ('scara', 2)])
def test_jog_keeps_an_orientation_that_it_can_keep(name, way):
    run = Run(name, q=(0.0, *ARMS[name][2][1:])).jog(1.0, 0.05 * AXES[way])
    turn = run.frames[0][:3, :3].T @ run.frames[-1][:3, :3]
    assert Rotation.from_matrix(turn).magnitude() < 2e-3


@pytest.mark.parametrize('way', [(0.0, 0.0, 1.0), (0.0, 0.0, -1.0)])
def test_planar_arm_has_too_few_joints_to_leave_its_plane(way):
    run = Run('planar').jog(1.0, 0.05 * np.array(way))
    assert TrackStatus.TOO_FEW_JOINTS in run.statuses
    assert TrackStatus.BLOCKED not in run.statuses
    assert np.abs(run.frames[-1] - run.frames[0]).max() < 1e-6


def test_jog_that_no_joint_can_turn_has_too_few_joints():
    run = Run('scara').jog(1.5, angular=(0.3, 0.0, 0.0))
    assert TrackStatus.TOO_FEW_JOINTS in run.statuses
    assert np.abs(run.frames[-1] - run.frames[0]).max() < 1e-6


def test_jog_turns_about_the_axis_that_the_joints_have():
    run = Run('scara').jog(1.0, angular=(0.0, 0.0, 0.3))
    turn = Rotation.from_matrix(run.frames[0][:3, :3].T @ run.frames[-1][:3, :3])
    assert turn.as_rotvec() == pytest.approx([0.0, 0.0, 0.31], abs=0.02)
    assert np.abs((run.frames[-1] - run.frames[0])[:3, 3]).max() < 1e-5


def test_jog_of_a_scara_stops_before_it_is_straight():
    robot, tip, q = few_joint_arm('scara')
    out = robot.forward_kinematics(q, tip)[:3, 3] * (1.0, 1.0, 0.0)
    run = Run('scara').jog(6.0, 0.1 * out / np.linalg.norm(out))
    assert np.linalg.norm(run.frames[-1][:2, 3]) < 0.45
    values = np.linalg.svd(position_rows(robot, tip, run.q[-1]), compute_uv=False)
    assert values[0] / values[-1] < 30.0 * 1.01
    back = len(run.q)
    run.jog(1.0, -0.05 * out / np.linalg.norm(out))
    assert (
        np.linalg.norm(run.frames[-1][:2, 3]) < np.linalg.norm(run.frames[back - 1][:2, 3]) - 0.04
    )
    assert run.fastest_turn() < 1.0
    run.check_limits()


def test_jog_from_a_straight_scara_stays():
    run = Run('scara', q=(0.0, 0.0, 0.15, 0.0)).jog(1.0, (0.05, 0.0, 0.0))
    assert np.abs(run.frames[-1] - run.frames[0]).max() < 1e-4
    assert TrackStatus.TOO_FEW_JOINTS not in run.statuses


def test_jog_close_to_the_base_axis_turns_no_faster_than_the_angular_velocity():
    """At 0.07 m from it the position alone would turn the tip at 2.1 rad/s."""
    run = Run('four', q=(-0.6, -0.9, 1.9, 1.0), angular_velocity=0.5)
    run.jog(1.0, 0.15 * np.array([-math.sin(-0.6), math.cos(-0.6), 0.0]))
    assert 0.45 < run.fastest_turn() < 0.51
    assert run.off_line() < ON_LINE


@pytest.mark.parametrize('seed', range(4))
@pytest.mark.parametrize('name', SPATIAL)
def test_jog_goes_on_where_an_orientation_can_not_be_kept(name, seed):
    """It ends at a limit, or near a singularity of the position, or where twists end it."""
    robot, tip, _q = few_joint_arm(name)
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=3)
    direction /= np.linalg.norm(direction)
    run = Run(name).jog(3.0, 0.1 * direction)
    values = np.linalg.svd(position_rows(robot, tip, run.q[-1]), compute_uv=False)
    chain = list(robot.chain(tip))
    room = np.minimum(run.q[-1] - robot.lower, robot.upper - run.q[-1])[chain].min()
    gone = (run.frames[-1] - run.frames[0])[:3, 3] @ direction
    assert gone > 0.28 or room < 0.02 or values[0] / values[-1] > 17.0
    assert run.off_line() < ON_LINE
    assert run.fastest_turn() < 1.02
    run.check_limits()


GOALS = [(0.04, 0, 0), (0, 0.04, 0), (0, 0, 0.04), (0, 0, -0.04), (-0.03, 0.03, 0.02)]


@pytest.mark.parametrize('turn', [0.0, 0.5, 2.0])
@pytest.mark.parametrize('by', GOALS)
@pytest.mark.parametrize('name', SPATIAL)
def test_line_ends_at_the_position(name, by, turn):
    run = Run(name, move='linear', linear_acceleration=0.5)  # which all joints can follow
    pose = run.frames[0].copy()
    pose[:3, 3] += by
    axis = np.array([0.4, 0.5, 0.77])
    pose[:3, :3] = (
        Rotation.from_rotvec(turn * axis / np.linalg.norm(axis)).as_matrix() @ (pose[:3, :3])
    )
    run.go(pose)
    assert run.statuses[-1] in (TrackStatus.REACHED, TrackStatus.TOO_FEW_JOINTS)
    assert np.linalg.norm(run.frames[-1][:3, 3] - pose[:3, 3]) < 1e-5
    assert run.off_line() < ON_LINE
    assert run.fastest_turn() < 1.02
    run.check_limits()


@pytest.mark.parametrize('name', ['four', 'hobby'])
def test_line_ends_with_an_orientation_that_no_small_motion_brings_nearer(name):
    run = Run(name, move='linear')
    pose = run.frames[0].copy()
    pose[:3, 3] += (0.0, 0.04, 0.0)
    run.go(pose)
    robot, tip, q = run.robot, run.tip, run.q[-1]
    rows = position_rows(robot, tip, q)
    chain = list(robot.chain(tip))
    free = np.linalg.svd(rows)[2][3:]

    def error(at):
        turn = pose[:3, :3].T @ robot.forward_kinematics(at, tip)[:3, :3]
        return Rotation.from_matrix(turn).magnitude()

    for way in free:
        ahead, behind = q.copy(), q.copy()
        ahead[chain] += 1e-4 * way
        behind[chain] -= 1e-4 * way
        assert abs(error(ahead) - error(behind)) / 2e-4 < 0.02


def test_line_out_of_the_plane_has_too_few_joints():
    run = Run('planar', move='linear')
    pose = run.frames[0].copy()
    pose[2, 3] += 0.05
    run.go(pose)
    assert run.statuses[-1] is TrackStatus.TOO_FEW_JOINTS


@pytest.mark.parametrize('name', ['hobby', 'scara'])
def test_snapshot_amid_a_line_goes_on_the_same(name):
    run = Run(name, move='linear')
    pose = run.frames[0].copy()
    pose[:3, 3] += (0.02, 0.03, 0.01)
    run.tracker.set_goal(0, pose, 0.0)
    for _ in range(20):
        run.tick()
    other = Tracker.from_snapshot(run.tracker.snapshot(), clock=lambda: 0.0)
    for i in range(20, 200):
        command = other.tick(i / RATE)
        run.tick()
        assert (command.q == run.q[-1]).all()
