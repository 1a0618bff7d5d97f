# SPDX-License-Identifier: Apache-2.0
"""Reachability maps: against closed forms; independent of chunks, kills, resumes and workers."""

import itertools
import math
import os
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.places import ROOT
from support.reach_robots import NEAR, SMALL, X, Y, Z, chain, gantry, shoulder_and_elbow
from support.robots import SHIPPED, python_path, random_q, shipped, transform

import ik_core as ik
from ik_core.exceptions import InvalidOption, UnsupportedProblem
from ik_core.reachability import ReachabilityMap, bounds, cells, maps, reachability_map
from ik_core.reachability.bounds import reach_bounds
from ik_core.reachability.grid import Grid, orientations


def same(a, b):
    """Return whether two maps say the same."""
    arrays = ('reached', 'tried', 'manipulability')
    return a.grid == b.grid and all(
        np.array_equal(getattr(a, name), getattr(b, name)) for name in arrays
    )


# --- the cells ---------------------------------------------------------------------------------


def test_voxel_centres_are_multiples_of_the_step_and_the_box_is_covered():
    grid = Grid.over([-0.1, 0.02, 0.0], [0.31, 0.4, 0.0], 0.1)
    assert grid.shape == (5, 4, 1)
    centres = grid.centres(np.arange(grid.voxels))
    np.testing.assert_allclose(centres / 0.1, np.round(centres / 0.1), atol=1e-9)
    np.testing.assert_allclose(centres.min(axis=0), [-0.1, 0.1, 0.0], atol=1e-12)
    np.testing.assert_allclose(centres.max(axis=0), [0.3, 0.4, 0.0], atol=1e-12)
    array = centres.reshape(*grid.shape, 3)
    for i in range(3):
        along = np.moveaxis(array[..., i], i, 0).reshape(grid.shape[i], -1)
        np.testing.assert_allclose(along, np.tile(grid.axis(i)[:, None], along.shape[1]))


def test_orientations_are_rotations_spread_evenly():
    few, many = orientations(5), orientations(2000)
    for matrices in (few, many):
        np.testing.assert_allclose(
            matrices @ matrices.transpose(0, 2, 1), np.tile(np.eye(3), (len(matrices), 1, 1)),
            atol=1e-12,
        )  # fmt: skip
        np.testing.assert_allclose(np.linalg.det(matrices), 1.0)
    # Of uniform rotations the mean is zero and trace^2 is 1 on the mean; this grid is far
    # evener than 2000 random rotations, which miss by 0.013 and 0.03 (standard deviations).
    assert np.abs(many.mean(axis=0)).max() < 2e-3
    assert np.mean(np.trace(many, axis1=1, axis2=2) ** 2) == pytest.approx(1.0, abs=5e-3)
    random = Rotation.random(500, random_state=1).as_matrix()
    cosines = 0.5 * (np.einsum('aij,bij->ab', random, many) - 1.0)
    nearest = np.degrees(np.arccos(np.clip(cosines.max(axis=1), -1.0, 1.0)))
    assert nearest.max() < 19.0  # balls of half that radius would fill half of SO(3)


# --- what is surely out of reach ---------------------------------------------------------------


def bounded_problems():
    for name in SHIPPED:
        robot = shipped(name)
        for tip in robot.tips():
            yield pytest.param(robot, tip, (), id=f'{name}-{tip}')
    panda, pr2 = shipped('panda'), shipped('pr2_like')
    yield pytest.param(panda, 'panda_hand_tcp', panda.joint_names[:2], id='frozen at the base')
    yield pytest.param(pr2, pr2.tips()[0], ('torso_lift_joint',), id='a frozen rail')
    yield pytest.param(panda, 'panda_leftfinger', (), id='a finger')
    yield pytest.param(panda, 'panda_rightfinger', (), id='a finger that mimics')


@pytest.mark.parametrize(('robot', 'tip', 'frozen'), list(bounded_problems()))
def test_what_is_reached_is_never_out_of_bounds(robot, tip, frozen):
    rng = np.random.default_rng(4)
    tool = transform(Rotation.random(random_state=rng), rng.uniform(-0.3, 0.3, 3))
    problem = ik.IkProblem(robot, [ik.PoseTask(tip, tool=tool)], frozen_joints=frozen)
    q0 = random_q(robot, rng)
    found = reach_bounds(problem, q0)
    poses = []
    for _ in range(300):
        q = q0.copy()
        q[problem.variables] = random_q(robot, rng)[problem.variables]
        poses.append(robot.forward_kinematics(q, tip) @ tool)
    poses = np.array(poses)
    assert math.isfinite(found.radius)
    assert found.may_hold(poses[:, :3, 3]).all()
    assert found.may_place(poses).all()
    away = poses.copy()
    away[:, :3, 3] += 3.0 * found.workspace
    assert not found.may_hold(away[:, :3, 3]).any()
    assert not found.may_place(away).any()


def test_the_bounds_of_a_straight_arm_are_tight():
    robot = shoulder_and_elbow(0.5, 0.3, height=0.4)
    found = reach_bounds(ik.IkProblem(robot, [ik.PoseTask('tool')]), np.zeros(3))
    np.testing.assert_allclose(found.centre, [0.0, 0.0, 0.4])  # slid along the first axis
    assert found.radius == pytest.approx(0.8, abs=1e-4)
    assert found.joint_radius == pytest.approx(0.5, abs=1e-4)
    np.testing.assert_allclose(found.last_joint, [-0.3, 0.0, 0.0])


def test_a_goal_that_leaves_a_direction_free_bounds_nothing():
    robot = shoulder_and_elbow()
    problem = ik.IkProblem(robot, [ik.PositionTask('tool', weights=[1, 1, 0])])
    found = reach_bounds(problem, np.zeros(3))
    assert found.radius == found.joint_radius == math.inf
    assert found.workspace == pytest.approx(0.8)


def test_a_map_does_not_miss_what_the_bounds_skip(monkeypatch):
    arguments = {'step': 0.2, 'orientations': 6, 'restarts': 2}
    skipping = reachability_map(gantry(), **arguments)
    everything = bounds.ReachBounds.may_hold
    monkeypatch.setattr(bounds.ReachBounds, 'may_hold', lambda _, points: points[:, 0] < math.inf)
    monkeypatch.setattr(bounds.ReachBounds, 'may_place', lambda _, poses: poses[:, 0, 0] < 2.0)
    assert everything is not bounds.ReachBounds.may_hold
    whole = reachability_map(gantry(), **arguments)
    np.testing.assert_array_equal(whole.reached, skipping.reached)


# --- against closed forms ----------------------------------------------------------------------


def test_points_get_all_restarts_only_where_a_few_nearly_reach_them(monkeypatch):
    """The second look is for what is just out of reach; what all restarts reach is in the map."""
    robot, step, asked = shipped('panda'), 0.15, []

    def batch(problem, targets, q0, **options):
        asked.append((len(targets), options['restarts']))
        return ik.solve_batch(problem, targets, q0, **options)

    monkeypatch.setattr(cells, 'solve_batch', batch)
    made = reachability_map(robot, step=step, restarts=12)
    centres = made.grid.centres(np.arange(made.grid.voxels))
    tried = made.tried.ravel() > 0
    targets = np.tile(np.eye(4), (int(tried.sum()), 1, 1))
    targets[:, :3, 3] = centres[tried]
    problem = ik.IkProblem(robot, [ik.PositionTask(robot.tips()[0])])
    all_at_once = ik.solve_batch(problem, targets, restarts=12)
    np.testing.assert_array_equal(made.reached.ravel()[tried] > 0, all_at_once.success)
    (first, few), (second, many) = asked
    assert (first, few, many) == (tried.sum(), cells.FEW_RESTARTS, 12)
    assert 0 < second < 0.3 * (~all_at_once.success).sum()


def test_how_nearly_points_are_reached_is_a_distance_whatever_the_weights(monkeypatch):
    robot, asked = shipped('panda'), []

    def batch(problem, targets, q0, **options):
        asked.append((len(targets), options['restarts']))
        return ik.solve_batch(problem, targets, q0, **options)

    monkeypatch.setattr(cells, 'solve_batch', batch)
    for weight in (1.0, 1e4):
        goal = ik.PositionTask(robot.default_tip(), weights=weight)
        reachability_map(ik.IkProblem(robot, [goal]), step=0.2, restarts=12)
    assert asked[:2] == asked[2:]
    assert asked[1][0] > 0


def test_the_positions_of_an_arm_are_a_shell():
    made = reachability_map(shoulder_and_elbow(0.5, 0.3, 0.41), step=0.15, manipulability=True)
    x, y, z = np.meshgrid(*(made.grid.axis(i) for i in range(3)), indexing='ij')
    square = x**2 + y**2 + (z - 0.41) ** 2
    shell = (np.sqrt(square) > 0.2) & (np.sqrt(square) < 0.8)
    assert made.reached.max() == 1
    np.testing.assert_array_equal(made.reached > 0, shell)
    np.testing.assert_array_equal(made.fraction, shell.astype(float))
    assert made.volume == pytest.approx(np.count_nonzero(shell) * 0.15**3)
    # w = l2 l3 |sin q3| |l2 cos q2 + l3 cos(q2 + q3)|: the last is the distance from the axis.
    cosine = (square - 0.5**2 - 0.3**2) / (2 * 0.5 * 0.3)
    sine = np.sqrt(np.maximum(1.0 - cosine**2, 0.0))
    expected = np.where(shell, 0.5 * 0.3 * sine * np.hypot(x, y), 0.0)
    np.testing.assert_allclose(made.manipulability, expected, atol=2e-4)


def test_the_orientations_of_a_wrist_are_counted():
    made = reachability_map(gantry(), step=0.1, orientations=40)
    turned = orientations(40)
    pointing = (turned[:, 0, 2] >= 0.0) & (turned[:, 1, 2] >= 0.0)
    assert 5 < pointing.sum() < 15
    inside = [np.abs(made.grid.axis(i)) <= 0.15 for i in range(3)]
    expected = pointing.sum() * np.einsum('i,j,k->ijk', *inside)
    np.testing.assert_array_equal(made.reached, expected)
    assert made.fraction_at([0.04, -0.06, 0.1]) == pytest.approx(pointing.mean())
    np.testing.assert_array_equal(made.fraction_at([[0.2, 0, 0], [9, 0, 0]]), [0.0, 0.0])


def test_a_problem_brings_its_tool_its_frozen_joints_and_its_goals():
    robot = gantry()
    tool = transform(None, (0.0, 0.0, 0.2))
    goals = [ik.PositionTask('tool', tool=tool), ik.AxisTask('tool')]
    problem = ik.IkProblem(robot, goals, frozen_joints=['j2'])
    q0 = np.array([0.0, 0.0, 0.1, 0.3, 0.5, 0.0])
    box = ([0, 0, 0], [0, 0, 0.4])
    made = reachability_map(problem, q0=q0, step=0.1, orientations=12, box=box)
    # The tip is 0.2 m above the wrist along its axis, and the wrist is 0.1 m high.
    for z, reached in zip(made.grid.axis(2), made.reached[0, 0], strict=True):
        axes = orientations(12)[:, :, 2]
        wrist = np.array([0.0, 0.0, z]) - 0.2 * axes
        fits = (np.abs(wrist[:, :2]) <= 0.15).all(axis=1) & (np.abs(wrist[:, 2] - 0.1) < 1e-5)
        pointing = (axes[:, 0] >= 0.0) & (axes[:, 1] >= 0.0)
        assert reached == np.count_nonzero(fits & pointing)


# --- the same, however it is made --------------------------------------------------------------


@pytest.fixture(scope='module')
def small():
    return reachability_map(gantry(), **SMALL)


@pytest.mark.parametrize('chunk_cells', [9, 100, 10**6])
def test_chunks_change_nothing(chunk_cells, small):
    assert same(reachability_map(gantry(), chunk_cells=chunk_cells, **SMALL), small)


def test_the_same_map_is_the_same_file_and_no_chunks_stay(tmp_path, small):
    files = [tmp_path / 'a.npz', tmp_path / 'deep' / 'b.npz']
    for file, chunk_cells in zip(files, (60, 400), strict=True):
        assert same(reachability_map(gantry(), out=file, chunk_cells=chunk_cells, **SMALL), small)
        assert [path.name for path in file.parent.iterdir() if 'parts' in path.name] == []
    assert files[0].read_bytes() == files[1].read_bytes()
    assert same(ReachabilityMap.load(files[0]), small)


def test_progress_grows_to_all(tmp_path):
    seen = []
    made = reachability_map(gantry(), chunk_cells=200, progress=seen.append, **SMALL)
    assert seen[0].done == 0
    assert all(a.done < b.done for a, b in itertools.pairwise(seen))
    assert seen[-1].done == seen[-1].voxels == made.grid.voxels
    assert seen[-1].solved == made.tried.sum()
    assert seen[0].remaining == math.inf
    assert seen[-1].remaining == 0.0


class Interrupted(Exception):
    pass


def interrupted(out, after, **changes):
    """Begin the small map in chunks and stop it after some of them."""

    def stop(progress):
        if progress.done >= after:
            raise Interrupted

    with pytest.raises(Interrupted):
        reachability_map(gantry(), out=out, chunk_cells=90, progress=stop, **{**SMALL, **changes})


def test_an_interrupted_map_goes_on_where_it_was(tmp_path, small, monkeypatch):
    out = tmp_path / 'map.npz'
    interrupted(out, after=100)
    solved = []
    solve = maps.Cells.solve
    monkeypatch.setattr(
        maps.Cells, 'solve', lambda self, chunk: solved.append(chunk) or solve(self, chunk)
    )
    seen = []
    # Another chunk size is asked for: that of the earlier run holds.
    made = reachability_map(
        gantry(), out=out, resume=True, chunk_cells=7, progress=seen.append, **SMALL
    )
    assert same(made, small)
    assert seen[0].resumed >= 100
    assert min(solved) == seen[0].resumed // 30
    assert sorted(set(solved)) == solved


def test_a_damaged_chunk_is_made_again(tmp_path, small):
    out = tmp_path / 'map.npz'
    interrupted(out, after=200)
    chunk = sorted((tmp_path / 'map.npz.parts').glob('chunk-*.npz'))[2]
    chunk.write_bytes(chunk.read_bytes()[:-40])
    assert same(reachability_map(gantry(), out=out, resume=True, **SMALL), small)


KILLED = """
    import os, signal, sys
    from ik_core.reachability import reachability_map
    from support.reach_robots import SMALL, gantry

    replace, written = os.replace, []

    def replace_or_hang(source, target):
        if 'map.npz' in str(target):  # numba's cache replaces files, too
            written.append(target)
        if len(written) == 5:  # the manifest and three chunks are there, the fourth almost
            print('now', flush=True)
            signal.pause()
        replace(source, target)

    os.replace = replace_or_hang
    reachability_map(gantry(), out={out!r}, chunk_cells=90, **SMALL)
"""


def child(code, **more):
    return subprocess.Popen(
        [sys.executable, '-c', textwrap.dedent(code)],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test')},
        stdout=subprocess.PIPE,
        text=True,
        **more,
    )


def test_sigkill_loses_the_chunk_under_way_and_nothing_else(tmp_path, small):
    out = tmp_path / 'map.npz'
    with child(KILLED.format(out=str(out))) as process:
        assert process.stdout.readline() == 'now\n'
        with pytest.raises(InvalidOption, match='another process is making'):
            reachability_map(gantry(), out=out, resume=True, **SMALL)
        process.send_signal(signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    assert not out.exists()
    names = sorted(path.name for path in (tmp_path / 'map.npz.parts').glob('chunk-*'))
    assert names == [f'chunk-{i:09d}.npz' for i in range(3)] + ['chunk-000000003.npz.tmp']
    seen = []
    made = reachability_map(gantry(), out=out, resume=True, progress=seen.append, **SMALL)
    assert seen[0].resumed == 90
    assert same(made, small)
    assert sorted(path.name for path in tmp_path.iterdir()) == ['map.npz']


# --- over a cluster ----------------------------------------------------------------------------


def test_a_lost_worker_changes_nothing(tmp_path, small):
    distributed = pytest.importorskip('distributed')
    cluster = distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    )
    killed = []

    def kill_one(progress):
        if progress.done and not killed:
            killed.append(cluster.workers[0].pid)
            os.kill(killed[0], signal.SIGKILL)

    with cluster:
        made = reachability_map(
            gantry(), scheduler=cluster.scheduler_address, chunk_cells=30, progress=kill_one,
            out=tmp_path / 'map.npz', **SMALL,
        )  # fmt: skip
        with distributed.Client(cluster) as client:
            events = [event['action'] for _, event in client.get_events('all')]
    assert killed
    assert 'remove-worker' in events
    assert same(made, small)


@pytest.mark.parametrize(('address', 'error'), [('nowhere', InvalidOption)])
def test_a_scheduler_that_is_none_is_said(address, error):
    pytest.importorskip('distributed')
    with pytest.raises(error, match=address):
        reachability_map(gantry(), scheduler=address, **SMALL)


def test_without_dask_it_is_said_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, 'distributed', None)
    with pytest.raises(InvalidOption, match='pip install'):
        reachability_map(gantry(), scheduler='tcp://127.0.0.1:8786', **SMALL)


# --- refusals ----------------------------------------------------------------------------------


def test_a_map_of_other_settings_is_refused_and_named(tmp_path):
    out = tmp_path / 'map.npz'
    interrupted(out, after=50)
    with pytest.raises(InvalidOption, match='exists: continue it with `resume`'):
        reachability_map(gantry(), out=out, **SMALL)
    with pytest.raises(InvalidOption, match=r'other settings: restarts 3 \(now 4\)'):
        reachability_map(gantry(), out=out, resume=True, **{**SMALL, 'restarts': 4})
    other = chain(*[('prismatic', NEAR, axis, -0.15, 0.16) for axis in (X, Y, Z)])
    with pytest.raises(InvalidOption, match='kinematics'):
        reachability_map(ik.IkProblem(other, [ik.PoseTask('tool')]), out=out, resume=True, **SMALL)


def test_a_finished_map_is_kept_and_given_again(tmp_path, small):
    out = tmp_path / 'map.npz'
    reachability_map(gantry(), out=out, **SMALL)
    before = out.stat().st_mtime_ns
    assert same(reachability_map(gantry(), out=out, resume=True, **SMALL), small)
    with pytest.raises(InvalidOption, match='exists'):
        reachability_map(gantry(), out=out, **SMALL)
    with pytest.raises(InvalidOption, match='other settings'):
        reachability_map(gantry(), out=out, resume=True, **{**SMALL, 'step': 0.2})
    assert out.stat().st_mtime_ns == before


def two_links():
    return ik.IkProblem(gantry(), [ik.PositionTask('tool'), ik.PositionTask('l4')])


def weighed():
    posture = ik.PostureTask(np.zeros(6))
    return ik.IkProblem(gantry(), [ik.PositionTask('tool')], secondary=[posture])


ENDLESS = [('prismatic', NEAR, X, -math.inf, math.inf)]
REFUSED = {
    'step': (gantry, {'step': 0.0}, InvalidOption, 'step'),
    'too fine': (gantry, {'step': 1e-5}, InvalidOption, 'larger step'),
    'no orientation': (gantry, {'orientations': 0}, InvalidOption, 'orientations'),
    'an empty box': (gantry, {'box': ([0.01] * 3, [0.02] * 3)}, InvalidOption, 'no voxel centre'),
    'no box': (lambda: chain(*ENDLESS), {}, InvalidOption, 'needs a box'),
    'a bad box': (gantry, {'box': ([0, 0], [1, 1])}, InvalidOption, 'three finite numbers'),
    'two links': (two_links, {}, UnsupportedProblem, 'one link'),
    'other tasks': (weighed, {}, UnsupportedProblem, 'goals only'),
    'a tip twice': (two_links, {'tip': 'tool'}, InvalidOption, 'leave out tip'),
    'negative restarts': (gantry, {'restarts': -1}, InvalidOption, 'restarts'),
    'no cells': (gantry, {'chunk_cells': 0}, InvalidOption, 'chunk_cells'),
}


@pytest.mark.parametrize(('robot', 'more', 'error', 'message'), REFUSED.values(), ids=REFUSED)
def test_what_makes_no_sense_is_refused(robot, more, error, message):
    with pytest.raises(error, match=message):
        reachability_map(robot(), **{'step': 0.5, **more})


def test_a_file_that_is_no_map_is_refused(tmp_path):
    file = tmp_path / 'notes.npz'
    file.write_text('shopping')
    with pytest.raises(
        InvalidOption, match=r'notes\.npz is not a reachability map: not a numpy archive'
    ):
        ReachabilityMap.load(file)
    with pytest.raises(InvalidOption, match='is not a reachability map'):
        reachability_map(gantry(), out=file, resume=True, **SMALL)
    assert file.read_text() == 'shopping'
