# SPDX-License-Identifier: Apache-2.0
"""An alignment without a node: random changes in the middle of it, joint by joint."""

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.mimic_arm import (
    ACCELERATION,
    JERK,
    RATE,
    VELOCITY,
    arm,
    assert_each_joint_keeps_limits,
    joint,
    mimics,
)
from support.node_harness import snapshot

import ik_core as ik
from ik_core.tracking.instructions import Brake, SetGoal
from ik_core.tracking.recording import Recorder, read_recording, replay
from ik_node.outputs.joint_rows import JointRows
from ik_node.parameters.node_options import Limits
from ik_node.robot_model import Model, Restart

NAMES = ('f1', 'f2', 'f3')
LONG = 4000  # ticks


def parameters_of(random=None, **node_options):
    """Return the parameters of a node, in which limits of some joints are equal or tighter at
    random."""
    own = {}
    if random is not None:
        for name in NAMES:
            velocity, acceleration, jerk = 10.0 ** random.uniform(-1.0, 1.0, 3)
            own[name] = Limits(
                velocity=velocity, acceleration=ACCELERATION * acceleration, jerk=JERK * jerk
            )
    given = snapshot(tip_links=('tip',), rate=RATE, **node_options)
    usual = Limits(acceleration=ACCELERATION, jerk=JERK)
    return replace(given, default_limits=usual, joint_limits=own)


def random_arm(random):
    """Three joints in chains of mimics, or none, as it comes; some have tight limits."""
    order = list(random.permutation(NAMES))
    joints = {}
    for i, name in enumerate(order):
        lower, upper = -random.uniform(0.3, 3.0), random.uniform(0.3, 3.0)
        kind = 'continuous' if random.random() < 0.2 else 'revolute'
        mimic = ''
        if i and random.random() < 0.7:
            multiplier = random.choice([0.0, 1.0, -1.0, 0.3, -2.0])
            mimic = mimics(order[random.integers(i)], multiplier, random.uniform(-0.5, 0.5))
        joints[str(name)] = joint(mimic, lower, upper, kind=kind)
    return arm('random', **{name: joints[name] for name in NAMES})


class Bench:
    """A model in ticks as `ControlLoop` calls them; `samples` are what it publishes."""

    def __init__(self, model):
        self.samples = []
        self.take(model)
        self.before_tick = len(self.samples)

    def take(self, model):
        """Move this model from now on."""
        self.model, self.rows = model, JointRows(model.robot, NAMES)
        model.was_started = True
        self.publish()

    def publish(self):
        """Publish what is commanded."""
        q = np.empty(3)
        self.rows.positions(self.model.governor.q, q)
        self.samples.append((NAMES, q))

    def tick(self):
        """One tick."""
        self.model.end_alignment()
        self.before_tick = len(self.samples)
        self.model.mover.tick(len(self.samples) / RATE)
        self.publish()

    def until_rest(self):
        """Ticks until nothing moves."""
        for _ in range(LONG):
            if self.model.at_rest:
                return
            self.tick()
        raise AssertionError('no rest')

    def until_in_line(self):
        """Ticks until the tracker moves the joints, and they rest inside the limits."""
        for _ in range(LONG):
            self.tick()
            q = self.model.q
            inside = (q >= self.model.limits.lower) & (q <= self.model.limits.upper)
            if self.model.mover is self.model.tracker and self.model.at_rest and inside.all():
                return
        raise AssertionError('not in line')


def act(bench, random, changes_limits):
    """Something that may happen between two ticks."""
    model = bench.model
    what = random.integers(8 if changes_limits else 7)
    if what == 0:
        model.mover.apply(Brake())
    elif what == 1:
        model.mover.skip_tick(braking=bool(random.integers(2)))
        bench.publish()
    elif what == 2:
        model.tracker.pause(not model.tracker.paused)
    elif what == 3:
        model.tracker.stop()
    elif what == 4:
        model.mover.undo_tick()  # and what was commanded since it began is not published
        del bench.samples[bench.before_tick :]
        bench.tick()
    elif what == 5:
        q = random.uniform(-1.5, 1.5, model.robot.n)
        goal = model.robot.forward_kinematics(q, 'tip')
        model.apply(SetGoal(0, goal, len(bench.samples) / RATE))
    elif what == 7:
        model.set_parameters(parameters_of(random))
    elif model.at_rest:
        model.apply(Restart(model.q, {}))


def test_a_tick_skipped_while_a_stop_is_asked_for_moves_no_joint():
    """As in a return: what moved there would not be published."""
    robot = ik.load_robot(arm('line', f1=joint(), f2=joint(mimics('f1')), f3=joint()))
    model = Model(robot, parameters_of(), {'f1': 0.0, 'f2': 1.0})
    for number in range(3):
        model.mover.tick(number / RATE, [Brake()])
        model.mover.skip_tick(braking=False)
        np.testing.assert_array_equal(model.governor.q, [0.0, 0.0, 1.0])
    bench = Bench(model)
    bench.until_in_line()


def test_a_recording_that_begins_on_the_way_plays_the_motion_after_it(tmp_path):
    independent = arm('independent', f1=joint(), f2=joint(), f3=joint())
    mimic = arm('mimic', f1=joint(upper=0.5), f2=joint(mimics('f1')), f3=joint())
    bench = Bench(Model(ik.load_robot(independent), parameters_of()))
    before = {'f1': 1.2, 'f2': -0.9, 'f3': 0.4}
    bench.take(Model(ik.load_robot(mimic), parameters_of(), before))
    recorder = Recorder(mimic)
    bench.model.record(recorder)
    robot = bench.model.robot
    goal = robot.forward_kinematics(robot.q({'f1': 0.1, 'f3': 0.2}), 'tip')
    bench.model.apply(SetGoal(0, goal, 0.0))
    bench.until_in_line()
    bench.until_rest()
    for _ in range(300):
        bench.tick()
    assert bench.model.robot.joint_values(bench.model.q)['f2'] == pytest.approx(0.1, abs=1e-3)
    recorder.save(tmp_path / 'run.npz')
    (run,) = replay(read_recording(tmp_path / 'run.npz'))
    assert run.is_same
    assert run.replayed[0, 0] == pytest.approx(0.5, abs=1e-3)
    np.testing.assert_array_equal(run.replayed[-1], bench.model.q)


@pytest.mark.parametrize('seed', range(40))
def test_no_joint_steps_whatever_happens_on_the_way(seed):
    random = np.random.default_rng(seed)
    changes_limits = seed % 2 == 1
    bench, swaps = Bench(Model(ik.load_robot(random_arm(random)), parameters_of())), 0
    for _ in range(8):
        for _ in range(random.integers(1, 60)):
            if random.random() < 0.15:
                act(bench, random, changes_limits)
            bench.tick()
        bench.model.tracker.stop()
        bench.until_rest()
        try:
            model = Model(
                ik.load_robot(random_arm(random)), parameters_of(), bench.model.positions
            )
        except ik.UrdfError as error:
            assert 'can not move to' in str(error)
            continue
        bench.take(model)
        swaps += 1
    bench.model.tracker.pause(False)
    bench.until_in_line()
    loosest = dict.fromkeys(NAMES, (VELOCITY, 10.0 * ACCELERATION, 10.0 * JERK))  # of all in force
    own = loosest if changes_limits else {}
    assert_each_joint_keeps_limits(bench.samples, **own)
    assert swaps >= 2
