# SPDX-License-Identifier: Apache-2.0
"""The comparison with peers: its chains, problems, judge, processes and tables; no network."""

import argparse
import dataclasses
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

pin = pytest.importorskip('pinocchio')

from support.pinocchio_oracle import link_poses, load

from benchmark import peers
from benchmark.peers import chains, environments, processes, tables
from benchmark.peers.adapters.base import ClosedForm, Stepper
from benchmark.peers.adapters.exponentials import axes_and_offsets
from benchmark.peers.catalog import OURS, PEERS, Peer
from benchmark.peers.chains import ARMS, find_urdf, serial_chain, write_chain
from benchmark.peers.problems import NEAR, Judge, make_problems
from benchmark.peers.processes import PeerFailed, Process
from benchmark.peers.scores import ALL, Score, absent_row, score_rows
from ik_core.exceptions import FrameNotFound, InvalidOption
from ik_core.robot.installed_robots import example_robots

if not example_robots():
    pytest.skip('example-robot-data is not installed', allow_module_level=True)

JOINTS = {
    'panda': 7,
    'iiwa14': 7,
    'ur5': 6,
    'kinova_j2s6s200': 6,
    'pr2_arm': 7,
    'baxter_arm': 7,
    'talos_arm': 7,
    'talos_torso_arm': 9,
    'talos_foot_hand': 15,
}
each_arm = pytest.mark.parametrize('arm', ARMS)


@pytest.fixture
def ur5(tmp_path):
    return write_chain('ur5', tmp_path)


# Chains


@each_arm
def test_a_chain_moves_its_tip_as_the_whole_robot_does(arm, tmp_path):
    chain, robot = write_chain(arm, tmp_path), load(find_urdf(arm))
    judge, rng = Judge(chain), np.random.default_rng(3)
    assert len(chain.joints) == JOINTS[arm]
    for _ in range(5):
        values = {name: rng.uniform(-2.0, 2.0) for name in list(robot.names)[1:]}
        poses = link_poses(robot, values)
        expected = np.linalg.inv(poses[ARMS[arm].base]) @ poses[ARMS[arm].tip]
        pose = judge.pose(np.array([values[name] for name in chain.joints]))
        assert np.abs(pose - expected).max() < 1e-9


@each_arm
def test_a_chain_has_the_limits_of_the_robot_and_two_turns_for_none(arm, tmp_path):
    chain, robot = write_chain(arm, tmp_path), load(find_urdf(arm))
    for name, lower, upper in zip(chain.joints, chain.lower, chain.upper, strict=True):
        joint = robot.joints[robot.getJointId(name)]
        if joint.nq == 2:  # continuous
            assert (lower, upper) == (-chains.ENDLESS, chains.ENDLESS)
        else:
            assert lower == robot.lowerPositionLimit[joint.idx_q]
            assert upper == robot.upperPositionLimit[joint.idx_q]


def test_a_chain_may_end_on_the_way_up(tmp_path):
    """From the hand to the foot: the tip is a link whose frame was turned round."""
    source = find_urdf('talos_foot_hand')
    arm = ARMS['talos_foot_hand']
    down = Judge(serial_chain('down', source, arm.base, arm.tip, tmp_path))
    up = Judge(serial_chain('up', source, 'wrist_right_ft_tool_link', 'torso_2_link', tmp_path))
    short = Judge(serial_chain('arm', source, 'torso_2_link', arm.tip, tmp_path))
    q = np.random.default_rng(0).uniform(-1.0, 1.0, 7)
    assert np.abs(up.pose(q[::-1]) @ short.pose(q) - np.eye(4)).max() < 1e-9
    assert down.pose(np.zeros(15)).shape == (4, 4)


def test_a_link_that_is_not_there_is_named(tmp_path):
    with pytest.raises(FrameNotFound, match='no_such_link'):
        serial_chain('x', find_urdf('ur5'), 'base_link', 'no_such_link', tmp_path)


def test_axes_and_offsets_say_the_same_as_the_urdf(ur5):
    axes, offsets, rotation = axes_and_offsets(ur5)
    q = np.random.default_rng(1).uniform(-3.0, 3.0, 6)
    turn, place = np.eye(3), offsets[0]
    for axis, offset, angle in zip(axes, offsets[1:], q, strict=True):
        turn = turn @ pin.exp3(axis * angle)
        place = place + turn @ offset
    pose = Judge(ur5).pose(q)
    assert np.abs(turn @ rotation - pose[:3, :3]).max() < 1e-9
    assert np.abs(place - pose[:3, 3]).max() < 1e-9


# Problems and their judge


def test_problems_are_reachable_and_the_same_every_time(ur5):
    judge = Judge(ur5)
    sets, again = make_problems(ur5, judge, 20), make_problems(ur5, judge, 20)
    assert np.array_equal(sets['random'].starts, again['random'].starts)
    assert np.array_equal(sets['random'].goals, sets['near'].goals)
    starts, first = sets['near'].starts, make_problems(ur5, judge, 5)['random'].goals
    assert first.shape == (5, 4, 4)
    for goal, near, random in zip(
        sets['near'].goals, starts, sets['random'].starts, strict=True
    ):  # a joint by NEAR moves the tip of this arm, shorter than 1.2 m, by at most that
        assert np.linalg.norm(judge.pose(near)[:3, 3] - goal[:3, 3]) < 6 * NEAR * 1.2
        for q in (near, random):
            assert (q >= ur5.lower).all()
            assert (q <= ur5.upper).all()


def test_the_judge_measures_metres_and_radians(ur5):
    judge, q = Judge(ur5), np.full(6, 0.3)
    goal = judge.pose(q)
    assert max(judge.errors(q, goal)) < 1e-12
    moved = goal.copy()
    moved[:3, 3] += [0.0, 3e-6, 4e-6]
    assert judge.errors(q, moved) == pytest.approx((5e-6, 0.0), abs=1e-12)
    for angle in (2e-6, 0.5, 3.1):
        turned = goal.copy()
        turned[:3, :3] = goal[:3, :3] @ pin.exp3(np.array([0.0, angle, 0.0]))
        assert judge.errors(q, turned) == pytest.approx((0.0, angle), rel=1e-6, abs=1e-12)


def test_the_judge_takes_a_small_overstep_back_and_refuses_a_large_one(ur5):
    judge, q, third = Judge(ur5), np.full(6, 0.3), np.eye(6)[2]
    q[2] = ur5.upper[2]
    goal = judge.pose(q)
    assert max(judge.errors(q + 2e-6 * third, goal)) < 1e-12
    assert judge.errors(q + 2e-5 * third, goal) == (np.inf, np.inf)
    turned = q + 6.0 * np.pi * np.eye(6)[5]  # the same pose, outside
    assert judge.errors(turned, goal) == (np.inf, np.inf)


@pytest.mark.parametrize('answer', [None, [], [0.1] * 5, [0.1] * 5 + [np.nan]])
def test_what_is_no_answer_counts_as_not_reached(ur5, answer):
    judge = Judge(ur5)
    assert judge.errors(answer, judge.pose(np.full(6, 0.1))) == (np.inf, np.inf)


def test_rows_count_what_was_reached_and_compare_times_on_the_same_arms():
    scores = [
        Score('ur5', 'near', OURS, errors=[1e-7, 1e-7], seconds=[1e-3, 1e-3]),
        Score('panda', 'near', OURS, errors=[1e-7, 5e-5], seconds=[8e-3, 8e-3]),
        Score('ur5', 'near', 'other', errors=[9e-7, 2e-6, 2e-4, np.inf], seconds=[3e-3] * 4),
        Score('panda', 'near', 'other', note='crashed'),
    ]
    rows = {(row['peer'], row['arm']): row for row in score_rows(scores)}
    other = rows['other', ALL]
    reached = [other[f'reached_at_1e-{digits}_percent'] for digits in (6, 4, 3)]
    assert reached == [25.0, 50.0, 75.0]
    assert (other['goals'], other['note'], other['mean_to_ours']) == (4, 'ur5', pytest.approx(3))
    assert rows[OURS, ALL]['mean_ms'] == pytest.approx(4.5)
    assert rows[OURS, ALL]['reached_at_1e-6_percent'] == 75.0
    assert rows['other', 'panda']['note'] == 'crashed'
    assert rows['other', 'panda']['goals'] == 0
    assert ('panda', ALL) not in rows


# Adapters


class Newton(Stepper):
    """Steps that halve the error from one start, and do nothing from all others."""

    def __init__(self, chain, restarts, good):
        super().__init__(chain, restarts)
        self.good, self.resets = good, []

    def reset(self, q):
        self.resets.append(q)
        self.error = 1.0

    def step(self):
        before = self.error
        if len(self.resets) == self.good:
            self.error *= 0.5
        return before, self.resets[-1]


def test_the_loop_around_steps_starts_anew_until_it_is_there(ur5):
    peer, q0 = Newton(ur5, restarts=5, good=3), np.zeros(6)
    found = peer.solve(q0)
    assert peer.resets[0] is q0
    assert len(peer.resets) == 3
    assert found is peer.resets[2]
    assert peer.error <= peer.tolerance
    hopeless = Newton(ur5, restarts=5, good=0)
    hopeless.solve(q0)
    assert len(hopeless.resets) == 6


class Listing(ClosedForm):
    def solutions(self, prepared):
        return prepared[0]

    def as_array(self, found):
        return np.array(found)


@pytest.mark.parametrize('choose', [False, True])
def test_the_solution_inside_the_limits_nearest_to_the_start_counts(tmp_path, choose):
    arm = Listing(write_chain('kinova_j2s6s200', tmp_path), choose)
    outside = np.full(6, 3.0)
    outside[1] = arm.lower[1] - 0.1
    inside = 0.5 * (arm.lower + arm.upper)
    turned = inside.copy()
    turned[1] -= 2.0 * np.pi  # below the limit by a turn
    answer = arm.answer(arm.solve(([outside, inside + 0.1, turned], inside)))
    assert np.abs(np.sin(0.5 * (answer - inside))).max() < 1e-12
    assert (answer >= arm.lower).all()
    assert (answer <= arm.upper).all()
    assert arm.answer(arm.solve(([outside], inside))) is None


def test_every_peer_has_an_adapter_and_one_environment_for_it():
    folder = Path(peers.__file__).parent / 'adapters'
    requirements = {}
    for peer in PEERS.values():
        assert not peer.adapter or (folder / f'{peer.adapter}.py').is_file()
        assert requirements.setdefault(peer.adapter, peer.requirements) == peer.requirements
        assert set(peer.arms) <= set(ARMS)


# Environments and processes


def fake_python(folder, body):
    path = folder / 'fake_python'
    path.write_text(f'#!/bin/sh\n{body}\n')
    path.chmod(0o755)
    return str(path)


def test_a_peer_that_cannot_be_installed_is_absent_with_the_reason(tmp_path, monkeypatch):
    said = 'echo "Collecting x"; echo "ERROR: No matching distribution for x" >&2; exit 1'
    monkeypatch.setattr(environments.sys, 'executable', fake_python(tmp_path, said))
    with pytest.raises(environments.PeerAbsent, match='No matching distribution for x'):
        environments.interpreter(Peer('x', 'x', 'x', ('x',)), tmp_path / 'venvs')


def test_an_environment_is_made_once_and_anew_when_its_requirements_change(tmp_path, monkeypatch):
    made = 'for last; do :; done; mkdir -p "$last/bin"; cp "$0" "$last/bin/python"; echo >> "$LOG"'
    log = tmp_path / 'log'
    monkeypatch.setenv('LOG', str(log))
    body = f'case "$*" in *venv*) {made};; *) [ "$*" != "${{*#*pip install}}" ];; esac'
    monkeypatch.setattr(environments.sys, 'executable', fake_python(tmp_path, body))
    root = tmp_path / 'venvs'
    for requirements, times in ((('x',), 1), (('x',), 1), (('x', 'y'), 2)):
        python = environments.interpreter(Peer('x', 'x', 'x', requirements), root)
        assert python == str(root / 'x' / 'bin' / 'python')
        assert len(log.read_text().splitlines()) == times


def test_ours_needs_no_environment(tmp_path):
    assert environments.interpreter(PEERS[OURS], tmp_path / 'none') == sys.executable
    assert not (tmp_path / 'none').exists()


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Put a program in the place of the worker; closes what it was run for."""
    running = []

    def run(body, **options):
        path = tmp_path / 'program.py'
        path.write_text(body)
        monkeypatch.setattr(processes, 'PROGRAM', path)
        running.append(Process(Peer('x', 'x', '', ()), sys.executable, **options))
        return running[-1]

    yield run
    for process in running:
        process.close()


def test_a_crash_is_reported_with_the_last_words(program):
    body = 'import os, sys\nsys.stdin.readline()\nsys.stderr.write("bad pointer")\n'
    process = program(body + 'sys.stderr.flush()\nos.abort()\n')
    with pytest.raises(PeerFailed, match=rf'{signal.SIGABRT.name}.*bad pointer'):
        process.solve('random', [0])
    with pytest.raises(PeerFailed, match='crashed'):  # and again, without a broken pipe
        process.solve('random', [0])


def test_a_peer_that_hangs_is_ended(program):
    with pytest.raises(PeerFailed, match='no answer in time'):
        program('import sys\nfor _ in sys.stdin: pass\n', patience=0.2).solve('random', [0])


def test_an_import_that_fails_is_reported(ur5, tmp_path):
    process = Process(Peer('x', 'no_such_adapter', '', ()), sys.executable)
    try:
        with pytest.raises(PeerFailed, match='no_such_adapter'):
            process.load(ur5, tmp_path / 'none.npz')
    finally:
        process.close()


# The whole command


def arguments(**changes):
    return argparse.Namespace(**{'count': 3, 'peers': OURS, 'peers_venv': None, **changes})


def test_an_unknown_peer_is_refused_with_the_names():
    with pytest.raises(InvalidOption, match=r"unknown peer 'nope'.*ours"):
        peers.rows(arguments(peers='nope'))


def test_ours_the_broken_and_the_absent_all_have_rows(tmp_path, monkeypatch):
    """The broken one is installed, but its adapter is not there; the slow one is ours again."""
    slow = dataclasses.replace(PEERS[OURS], name='slow', every=2)
    broken = Peer('broken', 'no_such_adapter', '', ())
    absent = Peer('absent', 'absent', 'absent', ('absent',))
    known = (PEERS[OURS], slow, broken, absent)
    monkeypatch.setattr(peers, 'PEERS', {peer.name: peer for peer in known})
    monkeypatch.setattr(peers, 'ARMS', {'ur5': ARMS['ur5']})
    monkeypatch.setattr(environments, '_run', fail)
    rows = peers.rows(arguments(peers=None, peers_venv=tmp_path))
    found = {(row['peer'], row['arm'], row['set']): row for row in rows}
    for kind in ('random', 'near'):
        ours = found[OURS, 'ur5', kind]
        assert (ours['goals'], ours['reached_at_1e-6_percent']) == (3, 100.0)
        assert ours['mean_to_ours'] == 1.0
        assert found['slow', 'ur5', kind]['goals'] == 2
        assert 'no_such_adapter' in found['broken', 'ur5', kind]['note']
        assert found['broken', 'ur5', kind]['goals'] == 0
    assert found['absent', ALL, '']['note'] == 'not installable: no network'


def fail(command):
    raise environments.PeerAbsent('not installable: no network')


def rows_of_two():
    scores = [
        Score(arm, kind, peer, errors=[1e-7] * 4, seconds=[time] * 4)
        for arm in ('ur5', 'panda')
        for kind in ('random', 'near')
        for peer, time in ((OURS, 2e-5), ('slow', 5e-3))
    ]
    return [*score_rows(scores), absent_row('gone', 'not installable: no wheel')]


def test_the_block_of_the_readme_is_rewritten_and_nothing_else(tmp_path):
    readme = tmp_path / 'README.md'
    readme.write_text(f'before\n{tables.BEGIN}\nold\n{tables.END}\nafter\n')
    tables.report(rows_of_two(), tmp_path)
    text = readme.read_text()
    assert text.startswith(f'before\n{tables.BEGIN}\n')
    assert text.endswith(f'\n{tables.END}\nafter\n')
    assert 'old' not in text
    assert '| slow | 2 | 8 | 100 | 100 | 100 | 5 | 5 | 5 | 250 | 250 |' in text
    assert '- gone: not installable: no wheel' in text
    tables.report(rows_of_two(), tmp_path)
    assert readme.read_text() == text
    assert not (tmp_path / 'peers.md').exists()


def test_without_marks_the_block_is_a_file_of_its_own(tmp_path):
    (tmp_path / 'README.md').write_text('mine')
    tables.report(rows_of_two(), tmp_path)
    assert (tmp_path / 'README.md').read_text() == 'mine'
    assert '| slow |' in (tmp_path / 'peers.md').read_text()


def test_the_figure_names_every_peer(tmp_path):
    pytest.importorskip('matplotlib')
    from matplotlib import rc_context

    with rc_context({'svg.fonttype': 'none'}):
        peers.draw(rows_of_two()).savefig(tmp_path / 'peers.svg')
    text = (tmp_path / 'peers.svg').read_text()
    assert text.count('>slow<') == 2
    assert text.count('>ik_core<') == 2
