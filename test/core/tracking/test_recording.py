# SPDX-License-Identifier: Apache-2.0
"""Recordings: a run of the tracker, and of the node, is the same when it is run again."""

import errno
import json
import os
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import numpy as np
import pytest
from support.places import ROOT, URDF
from support.robots import python_path, weighed, weighed_text

import ik_core as ik
from ik_core import tasks
from ik_core.cli.main import main
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.recording import InvalidRecording, Recorder, read_recording, replay
from ik_core.tracking.recording.reading import RECORDING_FORMAT
from ik_core.tracking.recording.recorded_problems import describe_task, make_task
from ik_core.tracking.recording.recorder import SEGMENT
from ik_core.tracking.recording.values import Decoder, Encoder

RATE = 500.0
TIP = 'panda_hand_tcp'
NAMES = {  # of attributes in a file, by the parts of a tracker
    'tracker': 'auxiliary_goal brakes drive joint_goal now resting_status',
    'solver': '_latest _next_search _searched_for _sought _targets other phase progress solution',
    'motion': (
        '_acceleration _last_fractions _last_velocity _scales near slow_in_out synchronized'
    ),
    'posture': 'at_rest velocity',
    'step_following': '_fraction _growths _step _turning active',
    'tip 0': '_accepted _accepted_linear _before _hesitations _late frame given request state',
    'slow in, out': 'gone point velocity',
}


class JumpyClock:
    """Time that passes by random steps, so that budgets end solves at random."""

    def __init__(self, seed):
        self._rng = np.random.default_rng(seed)
        self._now = 0.0

    def __call__(self):
        self._now += self._rng.exponential(2e-4)
        return self._now


def record(ticks, act=lambda tracker, k, goal: None, minutes=10.0, seed=0):
    """A recorder after a run of the Panda with goals that jump, some of them out of reach."""
    robot = ik.load_robot(URDF / 'panda.urdf')
    q0 = np.array([0.0, -0.5, 0.0, -2.2, 0.0, 1.8, 0.8, 0.02])
    task = ik.PoseTask(TIP, transform=robot.forward_kinematics(q0, TIP))
    limits = MotionLimits.of(robot, acceleration=20.0)
    problem, clock = ik.IkProblem(robot, [task]), JumpyClock(seed)
    tracker = Tracker(problem, RATE, limits=limits, q0=q0, clock=clock)
    recorder = Recorder((URDF / 'panda.urdf').read_text(), minutes=minutes)
    tracker.observe(recorder)
    rng = np.random.default_rng(seed)
    for k in range(ticks):
        if k % 40 == 0:
            goal = robot.forward_kinematics(rng.uniform(robot.lower, robot.upper), TIP)
            goal[:3, 3] *= 1 + 2 * (k % 120 == 0)
            tracker.set_goal(0, goal, k / RATE)
        act(tracker, k, robot)
        tracker.tick(k / RATE)
    return recorder


def replayed(recorder, path):
    recorder.save(path)
    return replay(read_recording(path))


def meddle(tracker, k, robot):
    """Everything else that a tracker may be told, each at its tick."""
    if k % 50 == 30:
        with pytest.raises(ik.IkError):
            tracker.set_goal(0, np.full((4, 4), np.nan), k / RATE)
    acts = {
        100: lambda: tracker.set_solver('damped_least_squares', {'damping': 0.1}),
        200: lambda: tracker.set_solver('levenberg_marquardt'),
        220: lambda: tracker.pause(),
        260: lambda: tracker.pause(False),
        300: lambda: tracker.set_limits(MotionLimits.of(robot, velocity=0.5, acceleration=10.0)),
        330: lambda: tracker.set_options(TrackerOptions(updates_per_tick=1)),
        350: lambda: tracker.stop(),
        365: lambda: tracker.stop(),
        398: lambda: tracker.reset(tracker.q + 0.01),
        410: lambda: tracker.brake(),
        415: lambda: tracker.skip_tick(braking=True),
        420: lambda: tracker.skip_tick(braking=False),
        425: lambda: tracker.undo_tick(),
        450: lambda: tracker.set_twist(0, [0.1, 0.0, 0.0], [0.0, 0.0, 0.2], k / RATE),
    }
    acts.get(k, lambda: None)()


def test_a_run_is_the_same_when_run_again(tmp_path):
    (run,) = replayed(record(500, meddle), tmp_path / 'run.npz')
    assert run.is_same, run.failure
    assert len(run.replayed) == 500
    assert run.largest_difference == 0.0
    assert np.ptp(run.recorded, axis=0).max() > 0.1  # it moved
    assert len({recorded for recorded, _ in run.statuses}) >= 3


def test_solves_that_ran_out_of_time_do_so_again(tmp_path):
    """With a clock that stands still the run is another one: budgets did matter."""

    def choose(tracker, k, robot):
        if k == 0:
            tracker.set_solver('damped_least_squares')

    path = tmp_path / 'run.npz'
    record(500, choose).save(path)  # so many that budgets end some: most searches end soon
    recording = read_recording(path)
    _, columns = recording.segments[0]
    assert replay(recording)[0].is_same
    columns['clock'] = columns['clock'][:1]
    (run,) = replay(recording)
    assert not run.is_same


def test_an_instruction_counts_from_its_tick_on(tmp_path):
    path = tmp_path / 'run.npz'
    record(200).save(path)
    recording = read_recording(path)
    instructions = recording.segments[0][0]['instructions']
    goals = [entry for entry in instructions if entry[1] == 'SetGoal']
    assert [entry[0] for entry in goals] == [0, 40, 80, 120, 160]
    goals[2][0] += 5
    (run,) = replay(recording)
    assert 80 <= run.first_difference <= 85


def test_all_limits_are_written(tmp_path):
    robot = ik.load_robot(URDF / 'panda.urdf')
    rng = np.random.default_rng(0)
    limits = MotionLimits(*(rng.uniform(k, k + 1.0, robot.n) for k in (-2, 1, 3, 5, 7)))
    encoder = Encoder()
    encoded = json.loads(json.dumps(encoder.encode(limits)))
    decoded = Decoder(robot, np.array(encoder.numbers)).decode(encoded)
    for field in fields(MotionLimits):
        assert (getattr(decoded, field.name) == getattr(limits, field.name)).all()


def test_names_in_a_file_change_only_with_its_format(tmp_path):
    robot = ik.load_robot(URDF / 'panda.urdf')
    problem = ik.IkProblem(robot, [ik.PoseTask(TIP, transform=np.eye(4))])
    options = TrackerOptions(speed_profile='linear')
    tracker = Tracker(problem, RATE, limits=MotionLimits.of(robot), options=options)
    tracker.move_to(tracker.q + 0.1)
    tracker.tick(0.0)
    recorder = Recorder((URDF / 'panda.urdf').read_text())
    tracker.observe(recorder)
    for k in range(1, 20):
        tracker.tick(k / RATE)
    (run,) = replayed(recorder, tmp_path / 'run.npz')
    assert run.is_same
    segment, _ = read_recording(tmp_path / 'run.npz').segments[0]
    state = {part: dict(values['mapping']) for part, values in segment['state']['mapping']}
    names = {part: ' '.join(sorted(values)) for part, values in state.items()}
    names['slow in, out'] = ' '.join(sorted(state['motion']['slow_in_out']['SlowInOut']))
    assert (RECORDING_FORMAT, names) == (11, NAMES)


def test_only_the_last_minutes_are_kept(tmp_path):
    recorder = Recorder((URDF / 'panda.urdf').read_text(), minutes=1.5 * SEGMENT / 60.0)
    robot = ik.load_robot(URDF / 'panda.urdf')
    problem = ik.IkProblem(robot, [ik.PoseTask(TIP, transform=np.eye(4))])
    rate, limits = 5.0, MotionLimits.of(robot)
    tracker = Tracker(problem, rate, limits=limits)
    tracker.observe(recorder)
    for k in range(int(5 * SEGMENT * rate)):
        tracker.tick(k / rate)
    runs = replayed(recorder, tmp_path / 'run.npz')
    assert [run.now[0] for run in runs] == [2 * SEGMENT, 3 * SEGMENT, 4 * SEGMENT]
    assert all(run.is_same for run in runs)


def test_the_command_says_where_a_run_differs(tmp_path, capsys):
    path = tmp_path / 'run.npz'
    record(120).save(path)
    assert main(['replay', str(path)]) == 0
    assert 'the same' in capsys.readouterr().out
    with np.load(path) as file:
        columns = dict(file)
    columns['0.q'][70, 2] += 1e-8
    np.savez(path, **columns)
    assert main(['replay', str(path), '--json']) == 1
    (segment,) = json.loads(capsys.readouterr().out)['segments']
    assert segment['first_difference'] == 70
    assert segment['largest_difference'] == pytest.approx(1e-8, rel=1e-6)


def test_what_is_no_recording_is_refused(tmp_path, capsys):
    other, empty = tmp_path / 'other.npz', tmp_path / 'empty.npz'
    np.savez(other, q=np.zeros(3))
    empty.write_bytes(b'')
    for path in (other, empty):
        with pytest.raises(InvalidRecording, match='not a recording'):
            read_recording(path)
        assert main(['replay', str(path)]) == 2
    assert main(['replay', str(tmp_path / 'none.npz')]) == 2


def test_the_node_records_on_request(tmp_path):
    """Goals to reach, out of reach and NaN; the file replays to the positions published."""
    pytest.importorskip('rclpy')
    from std_srvs.srv import SetBool
    from support.node_harness import load, reachable_goal, world

    parameters = {
        'urdf_path': str(URDF / 'panda.urdf'),
        'record_folder': str(tmp_path),
        'joint_limits__default__acceleration': 20.0,
    }
    robot = load('panda')
    with world(**parameters) as node:
        node.until_code('idle')
        answer = node.call(SetBool, 'ik_node/record', SetBool.Request(data=True))
        assert answer.success, answer.message
        for number in range(3):
            goal = reachable_goal(robot, TIP, number)
            if number == 1:
                goal[:3, 3] *= 5.0
            node.send_goal(goal)
            node.more_states(100)
        node.send_goal(np.where(np.eye(4), np.nan, 0.0))
        node.until_refused('not_finite')
        node.set_parameters(solver='damped_least_squares', position_tolerance=1e-4)
        node.more_states(50)
        answer = node.call(SetBool, 'ik_node/record', SetBool.Request(data=False))
        assert answer.success, answer.message
        path = Path(answer.message.removeprefix('writing '))
        node.until(path.is_file, 'no file')
        states = np.array([message.position[: robot.n] for message in node.states])
    runs = replay(read_recording(path))
    assert len(runs) == 1  # new tolerances need no new tracker
    assert all(run.is_same for run in runs), [run.failure for run in runs]
    recorded = np.vstack([run.recorded for run in runs])
    assert np.ptp(recorded, axis=0).max() > 0.1
    published = {row.tobytes() for row in states}
    assert sum(row.tobytes() in published for row in recorded) > 0.9 * len(recorded)


# Every kind of task


def tasks_of(robot):
    """One of each kind, with all that they can be given, at random."""
    rng = np.random.default_rng(5)
    tool = robot.forward_kinematics(rng.uniform(robot.lower, robot.upper), TIP)
    quaternion, weights, box = rng.normal(size=4), rng.uniform(size=3), rng.uniform(size=3)
    matrix = np.cov(rng.normal(size=(robot.n, 20)))
    cost = {'weights': 0.3, 'velocity_weight': 0.2, 'acceleration_weight': 0.1, 'period': 0.02}
    each = {**cost, 'weights': rng.uniform(size=robot.n)}
    patterns = [
        ik.tasks.EndEffectorPatternTask(TIP, **cost),
        ik.tasks.OrientationPatternTask(TIP, **cost),
        ik.tasks.JointPatternTask(length=2.0, **each),
        ik.tasks.JointPatternTask(**cost),
    ]
    for pattern, size in zip(patterns, (3, 4, robot.n, robot.n), strict=True):
        pattern.next_frame(rng.normal(size=size), robot)
        for _ in range(3):
            pattern.next_frame(rng.normal(size=size), robot, rng.uniform(robot.lower, robot.upper))
    coupled = rng.normal(size=(3 + robot.n, 3))
    directions = rng.normal(size=(3, 3))
    cone = ik.robot.ReachCone.sinus(TIP, robot.base_link, *directions, elevations=(0.3, 0.5))
    return [
        ik.PoseTask(
            TIP,
            transform=tool,
            position_weights=weights,
            orientation_weights=weights[::-1],
            position_axes='goal',
            tool=tool,
            position_box=box,
            orientation_box=box[::-1],
        ),
        ik.PositionTask(TIP, box, quaternion, weights=weights, position_axes='goal', box=box),
        ik.OrientationTask(TIP, quaternion, weights=weights, tool=tool, box=box),
        ik.PoseTask(TIP, transform=tool, position_weights=matrix[:3, :3], orientation_weights=2.0),
        ik.PositionTask(TIP, box, quaternion, weights=matrix[:3, :3]),
        ik.OrientationTask(TIP, quaternion, weights=matrix[:3, :3], tool=tool),
        ik.tasks.SmoothnessTask(rng.uniform(robot.lower, robot.upper), stiffness=matrix),
        ik.TwoAxisTask(TIP, quaternion, weight=0.4, tool=tool),
        ik.PositionAxisTask(
            TIP, transform=tool @ tool, position_weight=1.3, axis_weight=0.2, cone=0.1, tool=tool
        ),
        ik.AxisTask(TIP, rng.normal(size=3), rng.normal(size=3), weight=0.7, cone=0.2),
        ik.PostureTask(rng.uniform(robot.lower, robot.upper), weights=rng.uniform(size=robot.n)),
        ik.tasks.CentreOfMassTask([0.1, 0.2, 0.3], weights=(1.0, 0.4, 0.0)),
        ik.PostureTask(weights=0.2),
        ik.tasks.CoupledTask([ik.PositionTask(TIP, box), ik.PostureTask()], coupled @ coupled.T),
        ik.tasks.SmoothnessTask(rng.uniform(robot.lower, robot.upper), stiffness=0.3, length=1.7),
        ik.tasks.LimitAvoidanceTask(weight=0.6),
        ik.tasks.ManipulabilityTask(TIP, weight=0.1, rows='position', reference=0.3, length=0.4),
        ik.tasks.ReachConeTask(cone, weight=0.3),
        *patterns,
    ]


PANDA = weighed('panda')
TASKS = tasks_of(PANDA)


def as_written(value):
    """The value after a file."""
    encoder = Encoder()
    text = json.dumps(encoder.encode(value))
    return Decoder(PANDA, np.array(encoder.numbers)).decode(json.loads(text))


@pytest.mark.parametrize('task', TASKS, ids=lambda task: type(task).__name__)
def test_a_task_is_the_same_after_it_was_written(task):
    again = make_task(as_written(describe_task(task)))
    rng = np.random.default_rng(1)
    for _ in range(5):
        q = rng.uniform(PANDA.lower, PANDA.upper)
        np.testing.assert_array_equal(again.residual(PANDA, q), task.residual(PANDA, q))
        np.testing.assert_array_equal(again.jacobian(PANDA, q), task.jacobian(PANDA, q))
    assert type(again) is type(task)


def test_every_kind_of_task_that_the_library_has_is_written():
    kinds = {kind for name in tasks.__all__ if isinstance(kind := getattr(tasks, name), type)}
    abstract = {kind for kind in kinds if kind.__abstractmethods__}
    assert {type(task) for task in TASKS} == kinds - abstract


def test_a_task_that_is_not_the_librarys_is_refused():
    class Own(ik.PostureTask):
        pass

    with pytest.raises(ik.InvalidOption, match="a Own can't be recorded"):
        describe_task(Own())


@pytest.mark.parametrize('index', range(len(TASKS)))
def test_a_run_with_any_task_below_the_goal_replays(index, tmp_path):
    task = TASKS[index]
    recorder = Recorder(weighed_text('panda'))
    goal = ik.PoseTask(TIP, orientation_weights=0.0)
    problem = ik.IkProblem(PANDA, [goal], secondary=[task])
    limits = MotionLimits.of(PANDA, acceleration=20.0)
    tracker = Tracker(problem, RATE, limits=limits, clock=JumpyClock(1))
    tracker.observe(recorder)
    pose = PANDA.forward_kinematics(tracker.q, TIP)
    pose[:3, 3] += 0.1, 0.05, -0.1
    tracker.set_goal(0, pose, 0.0)
    for k in range(15):
        tracker.tick(k / RATE)
    (run,) = replayed(recorder, tmp_path / 'run.npz')
    assert run.is_same, run.failure
    assert run.largest_difference == 0.0


FULL_DISK = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # then a write beyond the limit is an error
import test_recording
recorder = test_recording.record(50)
recorder.save(sys.argv[1])
before = open(sys.argv[1], 'rb').read()
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, resource.RLIM_INFINITY))
try:
    recorder.save(sys.argv[1])
except OSError as error:
    print(error.errno, open(sys.argv[1], 'rb').read() == before)
"""


def test_a_full_disk_leaves_the_file_before_and_no_half_one(tmp_path):
    path = tmp_path / 'run.npz'
    done = subprocess.run(
        [sys.executable, '-c', FULL_DISK, str(path)],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test', Path(__file__).parent)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == [str(errno.EFBIG), 'True']
    assert [entry.name for entry in tmp_path.iterdir()] == ['run.npz']
