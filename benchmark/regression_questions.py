# SPDX-License-Identifier: Apache-2.0
"""The questions of `regression.py`, asked in a process that imports one checkout, older or newer.

    python benchmark/regression_questions.py answer CHECKOUT FOLDER SHARE PART...
    python benchmark/regression_questions.py time CHECKOUT    # answers lines of JSON with seconds

Only names that every user needs are taken from the top of ik_core; `look_up` finds all others in
whichever module a checkout has them. Robots come from `urdf/` beside this file and from the table
below, random numbers from the names of the questions: no question depends on the checkout.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import pkgutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
import zlib
from collections import defaultdict
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

if __name__ == '__main__' and sys.argv[1] == 'answer':
    # No time budget may end a solve. Set before anything else can import the clock.
    time.perf_counter = lambda: 0.0

import numpy as np

HERE = Path(__file__).resolve()
URDF = HERE.parents[1] / 'urdf'

# Chains: axis, place in the parent [m], and limits: one for both sides; none: continuous
ARMS = {
    'kr': 'z 0 0 0 2.9; y 0.025 0 0.4 -2.4 1.2; y 0 0 0.455 -2 2.7; x 0.42 0 0.035 3.2;'
    ' y 0 0 0 2.1; x 0 0 0 6.1; tip 0.08 0 0',
    'puma': 'z 0 0 0.67 2.79; y 0 0.15 0 3.14; y 0 0 0.43 2.6; z 0 0 0.43 3.1; y 0 0 0 1.75;'
    ' z 0 0 0 3.14; tip 0 0 0.1',
    'crx': 'z 0 0 0 3.14; y 0 0 0.245 3.14; y 0 0 0.71 3.14; x 0 0 0 3.3; y 0.54 0 0 3.14;'
    ' x 0 0.15 0 3.9; tip 0.16 0 0',
    'bent wrist': 'z 0 0 0.16; y 0 0 0.12 2.3; y 0 0 0.41 2.8; z 0 -0.01 0.21;'
    ' 0.8660254037844386,0,0.5 0 0 0.07; z 0.06 0 0.04; tip 0 0 0.16',
    'pairs': 'z 0 0 0.2 3.1; 0.6,0.8,0 0 0 0 3.1; y 0.1 0.05 0.4 3.1; y 0.35 0 0.1 3.1;'
    ' z 0.1 0.1 0.2 3.1; 0,0.6,0.8 0 0 0 3.1; tip 0.1 0 0.1',
    'gantry': 'slide 0 0 0 1; z 0 0 0.3 3.1; y 0.1 0 0.1 3.1; y 0.4 0.05 0 3.1; x 0.3 0 0.05 3.1;'
    ' y 0.1 0 0.1 3.1; tip 0.1 0 0.1',
    'three parallel': 'z 0 0 0.3 3.1; y 0.1 0.05 0.1 3.1; y 0 0 0.4 3.1; y 0 0.1 0.35 3.1;'
    ' 0.6,0.8,0 0.05 0.1 0.05 3.1; 0,0.6,0.8 0.1 0 0.05 3.1; tip 0.1 0 0.1',
}
AXES = {'x': '1 0 0', 'y': '0 1 0', 'z': '0 0 1', 'slide': '1 0 0', 'tip': '1 0 0'}


def urdf(name: str, chain: str) -> str:
    """The description of a chain, as in `ARMS`; its links are j0, j1... and tip."""
    parts, parent = ['<link name="j0"/>'], 'j0'
    for i, words in enumerate(joint.split() for joint in chain.split(';')):
        axis, place, limits = words[0], words[1:4], words[4:]
        kind = {'tip': 'fixed', 'slide': 'prismatic'}.get(
            axis, 'revolute' if limits else 'continuous'
        )
        child = 'tip' if axis == 'tip' else f'j{i + 1}'
        lower, upper = (
            limits if len(limits) == 2 else (f'-{limits[0]}', limits[0]) if limits else '00'
        )
        parts.append(
            f'<link name="{child}"/><joint name="{child}" type="{kind}"><parent link="{parent}"/>'
            f'<child link="{child}"/><origin xyz="{" ".join(place)}"/>'
            f'<axis xyz="{AXES.get(axis) or axis.replace(",", " ")}"/>'
            f'<limit lower="{lower}" upper="{upper}" velocity="2" effort="1"/></joint>'
        )
        parent = child
    return f'<robot name="{name}">{"".join(parts)}</robot>'


def random_chain(n: int) -> str:
    """n joints whose axes have nothing to do with each other; from the eighth on some slide."""
    rng, joints = rng_of(f'chain {n}'), []
    for i in range(n):
        place = ' '.join(map(str, rng.uniform(-0.4, 0.4, 3).round(3)))
        axis = ','.join(map(str, rng.normal(size=3).round(3)))
        joints.append(f'slide {place} 1.0' if i in (7, 10) else f'{axis} {place} 3.1')
    return '; '.join([*joints, 'tip 0.1 0 0.2'])


def shipped(name: str, error: float = 0.0) -> str:
    """A robot of `urdf/` with a mass in every link; its joints misplaced by `error` [m, rad]."""
    root, rng = ElementTree.parse(URDF / f'{name}.urdf').getroot(), rng_of(name)
    for link in root.iterfind('link'):
        inertial = ElementTree.SubElement(link, 'inertial')
        centre = ' '.join(map(str, rng.uniform(-0.2, 0.2, 3).round(3)))
        ElementTree.SubElement(inertial, 'origin', xyz=centre)
        ElementTree.SubElement(inertial, 'mass', value=f'{rng.uniform(0.1, 3.0):.3f}')
    for origin in root.iterfind('joint/origin') if error else ():
        for key in ('xyz', 'rpy'):
            ideal = np.array(origin.get(key, '0 0 0').split(), float)
            origin.set(key, ' '.join(map(str, ideal + rng.uniform(-error, error, 3).round(6))))
    return ElementTree.tostring(root, encoding='unicode')


@cache
def robots() -> dict[str, str]:
    """Descriptions of all robots, by name."""
    found = {path.stem: shipped(path.stem) for path in sorted(URDF.glob('*.urdf'))}
    found['ur5e as measured'] = shipped('ur5e', 1e-3)
    found |= {name: urdf(name, chain) for name, chain in ARMS.items()}
    return found | {f'random {n}': urdf(f'random {n}', random_chain(n)) for n in (5, 6, 7, 12)}


def rng_of(label: str) -> np.random.Generator:
    """Random numbers that depend on the name of a question only."""
    return np.random.default_rng(zlib.crc32(label.encode()))


def chosen(label: str, count: int, share: float) -> list[int]:
    """The cases of `count` that are asked: all for a share of 1, else the same ones each time."""
    return [i for i in range(count) if zlib.crc32(f'{label} {i}'.encode()) < share * 2**32]


@cache
def look_up(name: str) -> Any:
    """The class or function `name` of ik_core, in whichever module this checkout has it."""
    package = import_module('ik_core')
    modules = [module.name for module in pkgutil.walk_packages(package.__path__, 'ik_core.')]
    for module in ['ik_core', *sorted(modules, key=lambda path: path.count('.'))]:
        with suppress(ImportError):
            found = None if module.endswith('__main__') else vars(import_module(module)).get(name)
            if callable(found):
                return found
    raise LookupError(f'this checkout has no {name}')


def make(name: str, *args: Any, **options: Any) -> Any:
    """Call what `look_up` finds."""
    return look_up(name)(*args, **options)


def load_robot(source: str | Path) -> Any:
    """A robot of a URDF, as this checkout loads it: before December 2026 by `load_urdf`."""
    try:
        return make('load_urdf', source)
    except LookupError:
        return make('load_robot', source)


@cache
def robot_of(name: str) -> Any:
    """The robot of that name."""
    return load_robot(robots()[name])


def random_q(robot: Any, rng: np.random.Generator) -> np.ndarray:
    """A configuration (n,) inside the limits, and within a half turn of zero."""
    return np.asarray(rng.uniform(np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)))


def beside(robot: Any, q: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A configuration (n,) inside the limits, within 0.2 of q in each joint [rad or m]."""
    return np.asarray(np.clip(q + rng.uniform(-0.2, 0.2, robot.n), robot.lower, robot.upper))


def aim(problem: Any, q: np.ndarray, shift: float = 0.0) -> None:
    """Set the targets of all goals to where their links are at q, moved by `shift` [m]."""
    for goal in problem.goals:
        there = problem.robot.forward_kinematics(q, goal.link)
        if goal.relative_to is not None:
            base = problem.robot.forward_kinematics(q, goal.relative_to)
            there = np.linalg.inv(base) @ there
        there[:3, 3] += shift
        goal.set_target(there)


class Answers:
    """Rows of several fields, in groups; each row has a label, which names its question."""

    def __init__(self) -> None:
        self._groups: dict[str, dict[str, list[Any]]] = defaultdict(lambda: defaultdict(list))

    def add(self, group: str, label: str, **fields: Any) -> None:
        """Add a row; a field has the same shape in all rows of a group."""
        for name, value in {'label': label, **fields}.items():
            self._groups[group][name].append(value)

    def arrays(self) -> dict[str, np.ndarray]:
        """The columns, by 'group/field'."""
        return {
            f'{group}/{name}': np.array(column)
            for group, fields in self._groups.items()
            for name, column in fields.items()
        }


# --- solves --------------------------------------------------------------------------------------

SOLVES = 21  # Solves per robot, kind of task and solver
RESTARTS = {'levenberg_marquardt': 20, 'closed_form': 20}  # Restarts per solver; all others get 1
# Kinds without compiled derivatives, and the iterations that they get
SLOW = {'manipulability': 6, 'centre of mass': 30}


def task_kinds(robot: Any, rng: np.random.Generator) -> dict[str, Callable[[], Any]]:
    """Problems by the kind of their tasks; each has at least one goal."""
    tip, q, joints = robot.tips()[0], random_q(robot, rng), list(robot.joint_names)
    frames, tool = [random_q(robot, rng) for _ in range(4)], np.eye(4)
    tool[:3, 3] = 0.05, 0.02, 0.1

    def goal(name: str, **options: Any) -> Callable[[], Any]:
        return lambda: make('IkProblem', robot, [make(name, tip, **options)])

    def point(task: Callable[[], Any], role: str = 'beside') -> Callable[[], Any]:
        """A point to reach, beside another task, or with it in another role."""
        at = [make('PositionTask', tip)]
        if role == 'beside':
            return lambda: make('IkProblem', robot, [*at, task()])
        return lambda: make('IkProblem', robot, at, **{role: [task()]})

    def pattern(name: str, value: Callable[[np.ndarray], np.ndarray], *args: str) -> Any:
        task = make(name, *args, velocity_weight=0.2, acceleration_weight=0.1)
        task.next_frame(value(frames[0]), robot)
        task.next_frame(value(frames[1]), robot, frames[2])
        task.next_frame(value(frames[2]), robot, frames[3])
        return task

    return {
        'pose': goal('PoseTask'),
        'position': goal('PositionTask', weights=(2.0, 1.0, 0.5)),
        'orientation': goal('OrientationTask'),
        'axis': goal('AxisTask', axis=(0.0, 0.6, 0.8)),
        'position and axis': goal('PositionAxisTask', axis_weight=0.7),
        'two axes': goal('TwoAxisTask', weight=0.6),
        'masked': goal(
            'PoseTask', orientation_weights=(0.0, 0.5, 1.0), position_axes='goal', tool=tool
        ),
        'boxes': goal('PoseTask', position_box=0.02, orientation_box=0.1),
        'relative': goal('PoseTask', relative_to=robot.link_names[1]),
        'all tips': lambda: make(
            'IkProblem', robot, [make('PositionTask', one) for one in robot.tips()]
        ),
        'frozen': lambda: make(
            'IkProblem', robot, [make('PoseTask', tip)], frozen_joints=joints[1:2]
        ),
        'posture': point(lambda: make('PostureTask', q, weights=0.01)),
        'smoothness': point(lambda: make('SmoothnessTask', q, stiffness=0.1, length=0.5)),
        'limit avoidance': point(lambda: make('LimitAvoidanceTask', weight=0.1)),
        'manipulability': point(
            lambda: make('ManipulabilityTask', tip, weight=0.1, rows='position')
        ),
        'centre of mass': point(
            lambda: make('CentreOfMassTask', robot.centre_of_mass(q), weights=0.5)
        ),
        'end effector pattern': point(
            lambda: pattern(
                'EndEffectorPatternTask', lambda q: robot.forward_kinematics(q, tip)[:3, 3], tip
            )
        ),
        'joint pattern': point(lambda: pattern('JointPatternTask', lambda q: q)),
        'secondary': point(lambda: make('PostureTask', q), 'secondary'),
        'constrained': point(
            lambda: make('LinearConstraint', {joints[0]: 1.0, joints[1]: -1.0}, upper=0.5),
            'constraints',
        ),
    }


def solves(answers: Answers, share: float) -> None:
    """Single solves of all robots, kinds of tasks and solvers.

    One goal in four is out of reach; one start in eight is near the goal, and one is the default.
    A refusal of a solver is an answer, too.
    """
    ik = import_module('ik_core')
    for name in robots():
        robot, nothing = robot_of(name), np.full(robot_of(name).n, np.nan)
        for kind in task_kinds(robot, rng_of(name)):
            budget = ik.Budget(iterations=SLOW.get(kind))
            for solver in ik.SOLVERS:
                problem: Any = None
                method: Any = None
                for i in chosen(f'{name} {kind} {solver}', SOLVES, share):
                    rng, label = rng_of(f'{name} {kind} {i}'), f'{solver}, {kind}, {i}'
                    goal, start = random_q(robot, rng), random_q(robot, rng)
                    start = beside(robot, goal, rng) if i % 8 == 1 else start
                    try:
                        if problem is None:
                            problem = task_kinds(robot, rng_of(f'{name} {kind}'))[kind]()
                            restarts = RESTARTS.get(solver, 1)
                            method = ik.make_solver(solver, restarts=restarts, random_seed=1)
                        aim(problem, goal, shift=1.0 if i % 4 == 3 else 0.0)
                        found = method.solve(problem, None if i % 8 == 2 else start, budget)
                        q, status, iterations = found.q, found.status.name, found.iterations
                    except look_up('IkError') as error:
                        q, status, iterations = nothing, type(error).__name__, 0
                    answers.add(name, label, q=q, status=status, iterations=iterations)


BATCH = 1000


def batches(answers: Answers, share: float) -> None:
    """`solve_batch` of a thousand goals at once, on one and on two threads."""
    for name in robots():
        for kind, solver, threads in (
            ('pose', 'levenberg_marquardt', 1),
            ('pose', 'levenberg_marquardt', 2),
            ('pose', 'closed_form', 1),
            ('position and axis', 'levenberg_marquardt', 1),
            ('all tips', 'levenberg_marquardt', 2),
        ):
            robot, rng = robot_of(name), rng_of(f'batch {name} {kind}')
            problem = task_kinds(robot, rng)[kind]()
            targets, starts = [], []
            for i in range(max(2, round(BATCH * share))):
                q = random_q(robot, rng)
                aim(problem, q, shift=1.0 if i % 16 == 3 else 0.0)
                targets.append([goal.transform for goal in problem.goals])
                starts.append(beside(robot, q, rng) if i % 4 == 1 else random_q(robot, rng))
            found = make(
                'solve_batch', problem, targets, starts, 1, solver=solver, threads=threads,
                restarts=20 if solver == 'levenberg_marquardt' else 1,
            )  # fmt: skip
            for i, one in enumerate(found[k] for k in range(len(found))):
                answers.add(
                    f'{name}, {kind}, {solver}, {threads} threads', str(i),
                    q=one.q, status=one.status.name, iterations=one.iterations,
                )  # fmt: skip


# --- closed forms and maps -----------------------------------------------------------------------

# Poses per arm, and solutions kept per pose: at most 16 exist except at singularities
POSES, SLOTS = 1000, 32
CLOSED = (
    'ur5e', 'ur5e as measured', 'kr', 'puma', 'crx', 'bent wrist', 'random 6', 'pairs', 'gantry',
    'random 5', 'scara', 'panda', 'iiwa14', 'pr2_like',
)  # fmt: skip


def closed_forms(answers: Answers, share: float) -> None:
    """All solutions of poses for arms of all families; every second pose is singular.

    One by one and many at once; for a fiftieth of them also `solve_all`, or, where a joint is
    redundant, the nearest solution over all of its values and the intervals of these.
    """
    for name in CLOSED:
        robot = robot_of(name)
        goal = make('PoseTask', robot.default_tip())
        problem = make('IkProblem', robot, [goal])
        if len(problem.variables) == 8:
            first = robot.joint_names[problem.variables[0]]
            problem = make('IkProblem', robot, [goal], frozen_joints=[first])
        form, cases = make('ClosedForm', problem), chosen(f'closed {name}', POSES, share)
        is_old = hasattr(form, 'held')
        redundant = form.held if is_old else form.redundant_joint
        others = np.setdiff1d(np.arange(robot.n), problem.variables)
        starts, poses = [], []
        for i in cases:
            rng = rng_of(f'closed {name} {i}')
            q, start = random_q(robot, rng), random_q(robot, rng)
            if i % 2:
                q = np.clip(np.round(2.0 * q / np.pi) * np.pi / 2.0, robot.lower, robot.upper)
            q[others] = start[others] = robot.middle_configuration[others]
            if redundant is not None:
                start[redundant] = q[redundant]
            starts.append(start)
            poses.append(robot.forward_kinematics(q, goal.link))
        for i, start, pose in zip(cases, starts, poses, strict=True):
            goal.set_target(pose)
            label, found = f'{i}, singular' if i % 2 else str(i), form.solve(start)
            certain = form.is_certain
            answers.add(f'{name}, one', label, q=_padded(found), count=len(found), certain=certain)
            if i % 100 >= 2:
                continue
            if redundant is None:
                found = make('solve_all', problem, start).q
                answers.add(f'{name}, solve_all', label, q=_padded(found), count=len(found))
            else:
                best = make('best_solution', form, start)
                q = np.full(robot.n, np.nan) if best is None else best
                intervals = 'held_intervals' if is_old else 'redundancy_intervals'
                ends = np.array(make(intervals, form, start)).reshape(-1, 2)
                answers.add(f'{name}, held', label, q=q, ends=_padded(ends), count=len(ends))
        for i, found in zip(cases, form.solve_many(poses, starts) if cases else (), strict=True):
            answers.add(f'{name}, many', str(i), q=_padded(found), count=len(found))


def _padded(rows: np.ndarray) -> np.ndarray:
    """Rows (k, n) as (SLOTS, n), NaN where there are no more."""
    padded = np.full((SLOTS, rows.shape[1]), np.nan)
    padded[: len(rows)] = rows[:SLOTS]
    return padded


def reachability(answers: Answers, share: float) -> None:
    """Maps of a few robots, for positions and for poses; a row is a layer of voxels."""
    for name, step, orientations in (
        ('panda', 0.08, 1),
        ('scara', 0.03, 1),
        ('bent wrist', 0.1, 1),
        ('ur5e', 0.25, 12),
        ('iiwa14', 0.25, 6),
    ):
        robot = robot_of(name)
        found = make(
            'reachability_map', robot, robot.default_tip(), step=min(0.5, step / share ** (1 / 3)),
            orientations=orientations, restarts=5, manipulability=True,
        )  # fmt: skip
        layers = zip(found.reached, found.tried, found.manipulability, strict=True)
        for i, (reached, tried, manipulability) in enumerate(layers):
            answers.add(
                f'{name}, {orientations} orientations', f'x {i}',
                reached=reached, tried=tried, manipulability=manipulability,
            )  # fmt: skip


# --- motion --------------------------------------------------------------------------------------

LIVES, TICKS, JOINTS = 500, 2000, 4


def governor(answers: Answers, share: float) -> None:
    """10^6 ticks of the governor, whose targets and limits change; a row is a life of 2000."""
    for life in chosen('governor', LIVES, share) or [0]:
        rng = rng_of(f'governor {life}')
        period, jerk = float(rng.choice([0.001, 0.002, 0.004, 0.01, 0.05])), rng.random() < 0.5
        limits = _random_limits(rng, period, jerk)
        motion = make('Governor', limits, period, rng.uniform(limits.lower, limits.upper))
        target, velocity, synchronized = motion.q.copy(), None, False
        braking, q = 0, np.empty((TICKS, JOINTS))
        for tick, event in enumerate(rng.random(TICKS).tolist()):
            if event < 0.02:
                target, velocity = rng.uniform(-2.5, 2.5, JOINTS), None
                synchronized = event < 0.008
            elif event < 0.025:
                velocity = rng.uniform(-1.0, 1.0, JOINTS) * np.minimum(limits.velocity, 3.0)
                synchronized = False
            elif event < 0.03:
                limits = _random_limits(rng, period, jerk)
                motion.set_limits(limits)
            elif event < 0.033:
                braking = int(rng.integers(1, 100))
            elif event < 0.04 and motion.at_rest:
                motion.restart(rng.uniform(-2.0, 2.0, JOINTS))
            if braking:
                motion.brake()
                braking -= 1
            else:
                target = target if velocity is None else target + period * velocity
                motion.follow(target, velocity, synchronized)
            q[tick] = motion.q
        answers.add('governor', f'life {life}', q=q)


def _random_limits(rng: np.random.Generator, period: float, jerk: bool) -> Any:
    """Limits with which moves take from a few ticks to thousands."""
    span = np.sort(rng.uniform(-2.0, 2.0, (2, JOINTS)), axis=0)
    velocity = 10.0 ** rng.uniform(-1.0, 0.5, JOINTS)
    acceleration = velocity / (period * 10.0 ** rng.uniform(0.0, 2.5, JOINTS))
    jerks = acceleration / (period * 10.0 ** rng.uniform(-0.5, 1.5, JOINTS))
    jerks[rng.random(JOINTS) < (0.2 if jerk else 1.0)] = np.inf
    return make('MotionLimits', *span, velocity, acceleration, jerks)


RECORDED, PERIOD = 1000, 0.005


def recordings(answers: Answers, share: float) -> None:
    """Trackers under random instructions, and what comes of their recordings; 1000 ticks a row."""
    for name in ('panda', 'ur5e', 'iiwa14', 'dual_arm', 'scara', 'pr2_like', 'random 7'):
        for life in chosen(f'recording {name}', 4, share) or [0]:
            robot, rng = robot_of(name), rng_of(f'recording {name} {life}')
            links = robot.tips()[:2]
            problem = make('IkProblem', robot, [make('PoseTask', link) for link in links])
            rates = {'velocity': 2.0, 'acceleration': 20.0, 'jerk': 500.0 if life % 2 else np.inf}
            limits = look_up('MotionLimits').of(robot, **rates)
            tracker = make('Tracker', problem, 1.0 / PERIOD, limits=limits)
            recorder = make('Recorder', robots()[name])
            tracker.observe(recorder)
            commands = []
            for tick in range(RECORDED):
                _instruct(tracker, robot, links, PERIOD * tick, rng)
                commands.append(tracker.tick(PERIOD * tick))
            with tempfile.TemporaryDirectory() as folder:
                recorder.save(Path(folder, 'life.npz'))
                runs = make('replay', make('read_recording', Path(folder, 'life.npz')))
            answers.add(
                name,
                f'life {life}',
                q=np.array([command.q for command in commands]),
                status=np.array([command.status.name for command in commands], 'U9'),
                iterations=np.array([command.iterations for command in commands]),
                replayed=np.concatenate([run.replayed for run in runs]),
                is_same=all(run.is_same for run in runs),
            )


def _instruct(
    tracker: Any, robot: Any, links: list[str], now: float, rng: np.random.Generator
) -> None:
    """Give a tracker an instruction now and then; a goal that it has is dragged."""
    event, i = (0.0 if now == 0.0 else rng.random()), int(rng.integers(len(links)))
    if event < 0.012:
        q = beside(robot, tracker.q, rng) if rng.random() < 0.5 else random_q(robot, rng)
        goal = robot.forward_kinematics(q, links[i])
        goal[:3, 3] += 2.0 if rng.random() < 0.2 else 0.0
        tracker.set_goal(i, goal, now, move='joint' if rng.random() < 0.5 else 'linear')
    elif event < 0.02:
        tracker.set_twist(i, rng.uniform(-0.2, 0.2, 3), rng.uniform(-0.5, 0.5, 3), now)
    elif event < 0.023:
        tracker.pause(bool(rng.random() < 0.4))
    elif event < 0.024:
        tracker.stop()
    elif event < 0.026:
        rates = {'velocity': rng.uniform(0.5, 3.0), 'acceleration': rng.uniform(5.0, 30.0)}
        tracker.set_limits(look_up('MotionLimits').of(robot, **rates))
    elif event < 0.029:
        updates, forward = int(rng.choice([0, 0, 1, 3])), bool(rng.random() < 0.5)
        rest = float(rng.choice([0.0, 1.0]))
        tracker.set_options(
            make('TrackerOptions', updates_per_tick=updates, feed_forward=forward, rest_rate=rest)
        )
    elif event < 0.03:
        tracker.set_solver(str(rng.choice(['levenberg_marquardt', 'damped_least_squares'])))
    elif event < 0.3 and tracker.goals[i] is not None:
        dragged = tracker.goals[i]
        dragged[:3, 3] += 1e-3 * rng.normal(size=3)
        tracker.set_goal(i, dragged, now)


# --- the node ------------------------------------------------------------------------------------

CHECKOUT = Path(str(import_module('ik_core').__file__)).resolve().parents[1]
STREAM, WARM_UP, RATE, SECOND = 1200, 100, 100, 10**9
NODE = """
import sys, time
time.perf_counter = lambda: 0.0
from ik_node.main import main
sys.exit(main())
"""


def node(answers: Answers, share: float) -> None:
    """Commands of the node, whose /clock goes on by one tick at a time; a row is a command.

    Goals, and a robot that is where it was commanded to be, talk to it by topics.
    """
    try:
        import_module('rclpy')
    except ImportError:
        raise LookupError('rclpy is not installed') from None
    for name, output in (
        ('panda', 'joint_state'),
        ('panda', 'position_command'),
        ('panda', 'joint_trajectory'),
        ('dual_arm', 'joint_state'),
    ):
        commands = _Stream(name, output).run(max(60, round(STREAM * share)))
        for i, command in enumerate(commands):
            answers.add(f'{name}, {output}', str(i), command=command)


class _Stream:
    """A node in a process of its own, and what talks to it.

    Whatever is sent is followed by calls of a service. The node takes the message before it
    answers the first one, ticks before it answers the second one, and its command is here before
    the third answer, so that everything has the same order each time.
    """

    def __init__(self, name: str, output: str) -> None:
        import rclpy
        from geometry_msgs.msg import PoseStamped
        from lifecycle_msgs.srv import GetState
        from rclpy.executors import SingleThreadedExecutor
        from rclpy.qos import qos_profile_sensor_data
        from rosgraph_msgs.msg import Clock
        from sensor_msgs.msg import JointState
        from std_msgs.msg import Float64MultiArray
        from trajectory_msgs.msg import JointTrajectory

        self.name, self.output, self.robot = name, output, robot_of(name)
        self.tips = self.robot.tips()[: 2 if name == 'dual_arm' else 1]
        self.q = self.robot.middle_configuration
        self.now, self.commands = 10 * SECOND, list[np.ndarray]()
        self.space = f'/regression_{os.getpid()}_{name}_{output}'
        os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'LOCALHOST'
        self.context = rclpy.Context()
        rclpy.init(context=self.context)
        self.node = rclpy.create_node('regression', namespace=self.space, context=self.context)
        self.executor = SingleThreadedExecutor(context=self.context)
        self.executor.add_node(self.node)
        kind, topic = {
            'joint_state': (JointState, 'joint_states'),
            'position_command': (Float64MultiArray, 'commands'),
            'joint_trajectory': (JointTrajectory, 'joint_trajectory'),
        }[output]
        self.node.create_subscription(kind, topic, self._take, 100)
        self.client = self.node.create_client(GetState, 'ik_node/get_state')
        self.request = GetState.Request()
        self.senders = {'clock': (self.node.create_publisher(Clock, 'clock', 10), Clock)}
        if output != 'joint_state':
            states = self.node.create_publisher(
                JointState, 'joint_states', qos_profile_sensor_data
            )
            self.senders['state'] = states, JointState
        for tip in self.tips:
            topic = f'{tip}/goal_pose' if self.tips[1:] else 'goal_pose'
            self.senders[tip] = self.node.create_publisher(PoseStamped, topic, 1), PoseStamped

    def run(self, ticks: int) -> list[np.ndarray]:
        """The commands of so many ticks, in which goals come."""
        options = {
            'urdf_path': str(URDF / f'{self.name}.urdf'),
            'tip_links': json.dumps(self.tips),
            'rate': f'{RATE}.0',
            'output': self.output,
            'use_sim_time': 'true',
            'state_timeout': '30.0',
            'joint_limits.default.velocity': '2.0',
            'joint_limits.default.acceleration': '10.0',
        }
        pairs = [word for key, value in options.items() for word in ('-p', f'{key}:={value}')]
        names = ['-r', f'__ns:={self.space}', '-r', f'/clock:={self.space}/clock']
        self.process = subprocess.Popen(
            [sys.executable, '-c', NODE, '--ros-args', '--log-level', 'error', *names, *pairs],
            cwd=CHECKOUT,  # python -c imports from the working directory first
            env={k: v for k, v in os.environ.items() if '_BOOTSTRAP_COMPLETE' not in k},
        )
        try:
            return self._run(ticks)
        finally:
            self.process.send_signal(signal.SIGINT)
            with suppress(subprocess.TimeoutExpired):
                self.process.wait(30.0)
            self.process.kill()
            self.executor.shutdown()
            self.node.destroy_node()
            self.context.try_shutdown()

    def _run(self, ticks: int) -> list[np.ndarray]:
        self._until(self.client.service_is_ready)
        for publisher, _ in self.senders.values():
            self._until(publisher.get_subscription_count)
        self._until(lambda: self._call().current_state.label == 'active')
        for _ in range(WARM_UP):
            self._tick()
        if not self.commands:
            raise TimeoutError(f'no commands of {self.output}')
        self.commands.clear()
        rng, middle = rng_of(f'node {self.name}'), self.robot.middle_configuration
        for tick in range(ticks):
            for tip in self.tips if tick % 60 == 5 else ():
                spread = 0.3 if tick % 180 != 5 else 1.0
                q = middle + spread * (random_q(self.robot, rng) - middle)
                self._send_goal(tip, self.robot.forward_kinematics(q, tip))
            self._tick()
        return self.commands

    def _tick(self) -> None:
        self.now += SECOND // RATE
        publisher, kind = self.senders['clock']
        message = kind()
        message.clock.sec, message.clock.nanosec = divmod(self.now, SECOND)
        self._send(publisher, message)
        if 'state' in self.senders:
            publisher, kind = self.senders['state']
            message = kind(name=list(self.robot.joint_names), position=self.q.tolist())
            message.header.stamp.sec, message.header.stamp.nanosec = divmod(self.now, SECOND)
            self._send(publisher, message)

    def _send_goal(self, tip: str, transform: np.ndarray) -> None:
        publisher, kind = self.senders[tip]
        message, m = kind(), transform[:3, :3]
        place, turn = message.pose.position, message.pose.orientation
        place.x, place.y, place.z = transform[:3, 3].tolist()
        turn.w = 0.5 * math.sqrt(max(1.0 + np.trace(m), 0.0))
        signs = m[2, 1] - m[1, 2], m[0, 2] - m[2, 0], m[1, 0] - m[0, 1]
        sizes = np.sqrt(np.maximum(1.0 - np.trace(m) + 2.0 * np.diag(m), 0.0)) / 2.0
        turn.x, turn.y, turn.z = map(math.copysign, sizes.tolist(), signs)
        self._send(publisher, message)

    def _send(self, publisher: Any, message: Any) -> None:
        publisher.publish(message)
        for _ in range(3):
            self._call()

    def _call(self) -> Any:
        future = self.client.call_async(self.request)
        self._until(future.done)
        return future.result()

    def _take(self, message: Any) -> None:
        """Keep a command as a row of numbers, and be there."""
        if self.output == 'joint_state':
            row = [*message.position, *message.velocity]
        elif self.output == 'position_command':
            row = [*message.data]
            self.q[: len(row)] = row
        else:
            stamp = message.header.stamp.sec * SECOND + message.header.stamp.nanosec
            times = [p.time_from_start.sec * SECOND + p.time_from_start.nanosec
                     for p in message.points]  # fmt: skip
            points = np.array([list(p.positions) for p in message.points])
            for name, column in zip(message.joint_names, points.T, strict=True):
                k = list(self.robot.joint_names).index(name)
                self.q[k] = np.interp(self.now - stamp, times, column)
            row = [len(times), *points[0], *points[-1], *self.q]
        self.commands.append(np.array(row, float))

    def _until(self, condition: Callable[[], Any], seconds: float = 120.0) -> None:
        end = time.monotonic() + seconds
        while not condition():
            self.executor.spin_once(timeout_sec=0.05)
            if self.process.poll() is not None:
                raise RuntimeError('the node ended')
            if time.monotonic() > end:
                raise TimeoutError(f'no answer of the node in {seconds} s: {self.output}')


# --- answers and times ---------------------------------------------------------------------------

# The parts; each raises LookupError if this checkout can't be asked
PARTS = {
    part.__name__: part
    for part in (solves, batches, closed_forms, reachability, governor, recordings, node)
}


def answer(folder: Path, share: float, parts: list[str]) -> None:
    """Write a file of answers for every part."""
    folder.mkdir(parents=True, exist_ok=True)
    files = [HERE, *sorted(URDF.glob('*.urdf'))]
    questions = hashlib.sha256(b''.join(file.read_bytes() for file in files)).hexdigest()[:16]
    for name in parts:
        answers, began, file = Answers(), time.monotonic(), folder / f'{name}.npz'
        file.unlink(missing_ok=True)
        try:
            PARTS[name](answers, share)
        except LookupError as missing:
            print(f'{name:14} skipped: {missing}', flush=True)
            continue
        columns = answers.arrays()
        rows = sum(len(column) for key, column in columns.items() if key.endswith('/label'))
        np.savez_compressed(
            file, allow_pickle=False, **{'questions': np.array(questions), **columns}
        )
        print(f'{name:14} {rows:8} rows in {time.monotonic() - began:.0f} s', flush=True)


GOALS = 100  # Goals of a block
MANY = 1000  # Goals of a block of the kinds below that are for many at once
# Runs per block of each kind, each of which takes a few milliseconds
REPEATS = {
    'single': 10, 'near': 10, 'batch': 40, 'many': 5, 'many near': 8, 'tick': 5, 'form': 10,
    'forms': 20,
}  # fmt: skip


@cache
def timed_problem(name: str) -> tuple[Any, Any, Any]:
    """A problem, a solver that is warm, and limits for a tracker."""
    file = URDF / f'{name}.urdf'
    robot = load_robot(file) if file.exists() else robot_of(name)
    problem = make('IkProblem', robot, [make('PoseTask', robot.default_tip())])
    limits = look_up('MotionLimits').of(robot, velocity=2.0, acceleration=20.0)
    return problem, make('make_solver', 'levenberg_marquardt'), limits


@cache
def timed_form(name: str) -> Any:
    """The closed form of such a problem."""
    return make('ClosedForm', timed_problem(name)[0])


def seconds(what: str, name: str, block: int) -> float:
    """[s] The CPU time for a goal of a block: the fastest of a few runs of the same block.

    `single`, `near`: calls of `solve`, from random starts and from such beside a solution;
    `batch`, `many`, `many near`: one of `solve_batch` on one thread; `tick`: ticks of a tracker
    whose goal moves on in every tick; `form`: calls of `ClosedForm.solve`; `forms`: one of
    `solve_many` on one thread, both from the configurations that the poses come from.
    """
    (problem, solver, limits), rng = timed_problem(name), rng_of(f'{name} {block}')
    robot, goal, times = problem.robot, problem.goals[0], []
    count = MANY if what in ('many', 'many near', 'forms') else GOALS
    starts, ends = ([random_q(robot, rng) for _ in range(count)] for _ in range(2))
    if 'near' in what:
        starts = [beside(robot, q, rng) for q in ends]
    elif 'form' in what:
        starts = ends
    elif what == 'tick':
        ends = [starts[0] + 0.3 * k / GOALS * (ends[0] - starts[0]) for k in range(GOALS)]
    targets = [robot.forward_kinematics(q, goal.link) for q in ends]
    solve_batch = look_up('solve_batch')
    form: Any = timed_form(name) if 'form' in what else None
    for _ in range(REPEATS[what]):
        if what == 'tick':
            tracker = make('Tracker', problem, 200.0, limits=limits, q0=starts[0])
            for warm in ('warm_up', 'warm'):  # of older checkouts
                getattr(tracker, warm, int)()
        began = time.process_time()
        if what in ('single', 'near'):
            for target, start in zip(targets, starts, strict=True):
                goal.set_target(target)
                solver.solve(problem, start)
        elif what == 'form':
            for target, start in zip(targets, starts, strict=True):
                goal.set_target(target)
                form.solve(start)
        elif what == 'forms':
            form.solve_many(targets, starts, threads=1)
        elif what == 'tick':
            for k, target in enumerate(targets):
                tracker.set_goal(0, target, 0.005 * k)
                tracker.tick(0.005 * k)
        else:
            solve_batch(problem, targets, starts, threads=1)
        times.append(time.process_time() - began)
    return min(times) / count


def main(command: str, checkout: str, *arguments: str) -> None:
    """Run a command of the module's docstring."""
    package = Path(str(import_module('ik_core').__file__)).resolve()
    if Path(checkout).resolve() not in package.parents:
        raise SystemExit(f'ik_core was imported from {package.parent}, not from {checkout}')
    if command == 'answer':
        with np.errstate(all='ignore'):
            answer(Path(arguments[0]), float(arguments[1]), list(arguments[2:]))
    else:
        for line in sys.stdin:
            print(seconds(*json.loads(line)), flush=True)


if __name__ == '__main__':
    main(*sys.argv[1:])
