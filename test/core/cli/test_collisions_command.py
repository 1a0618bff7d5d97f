# SPDX-License-Identifier: Apache-2.0
"""`ik collisions`, and `ik solve` with --avoid and --world."""

import json

import numpy as np
import pytest

import ik_core as ik
from ik_core.cli.main import main
from ik_core.collision import load_world

WORLD = 'floor: {plane: true, xyz: [0, 0, -0.05]}\nball: {sphere: 0.1, xyz: [0.3, 0.3, 0.6]}\n'


@pytest.fixture
def world(tmp_path):
    path = tmp_path / 'world.yaml'
    path.write_text(WORLD)
    return str(path)


def test_the_table_has_every_pair_with_its_verdict_and_reason(capsys):
    assert main(['collisions', 'panda']) == 0
    out = capsys.readouterr().out
    robot = ik.load_robot('panda')
    pairs = ik.Collisions(robot).pairs
    lines = out.splitlines()
    assert '22 of 54 pairs of links are checked' in lines[0]
    for pair in pairs:
        (line,) = [line for line in lines if {pair.first, pair.second} <= set(line.split())]
        assert pair.verdict in line.split()
        assert pair.why() in line


def test_json_has_the_same_pairs(capsys):
    assert main(['collisions', 'ur5e', '--json', '--margin', '0']) == 0
    data = json.loads(capsys.readouterr().out)
    pairs = ik.Collisions(ik.load_robot('ur5e'), margin=0.0).pairs
    assert len(data['pairs']) == len(pairs)
    assert {pair['verdict'] for pair in data['pairs']} == {pair.verdict for pair in pairs}


def test_a_configuration_is_judged_by_the_exit_code(capsys, world):
    robot = ik.load_robot('panda')
    collisions = ik.Collisions(robot, load_world(world))
    rows = np.tile(robot.middle_configuration, (60, 1))
    rows[:, 0] = np.linspace(-2.0, 2.0, len(rows))
    judged = collisions.free(rows)
    for q, code in ((rows[judged][0], 0), (rows[~judged][0], 1)):
        words = ['collisions', 'panda', '--q', f'panda_joint1={q[0]}', '--world', world]
        assert main(words) == code
        out = capsys.readouterr().out
        nearest = collisions.distance(q)
        assert nearest.first in out
        assert nearest.second in out


@pytest.mark.parametrize(
    ('words', 'said'),
    [
        (['--q', 'nothing=3'], 'nothing'),
        (['--q', '1', '2'], '8 joints'),
        (['--margin', '-1'], 'margin = -1'),
        (['--world', 'no_such.yaml'], "can't read the world"),
        (['--srdf', 'no_such.srdf'], "can't read the SRDF"),
        (['--mesh-folder', 'no_such'], 'there is no folder'),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(words, said, capsys):
    assert main(['collisions', 'panda', *words]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert len(error.splitlines()) == 1


def test_solve_avoids_what_a_world_has(capsys, world):
    goal = ['solve', 'panda', '--xyz', '0.5', '0', '0.4', '--rpy', '3.14', '0', '0', '--json']
    collisions = ik.Collisions(ik.load_robot('panda'), load_world(world))
    assert main([*goal, '--world', world]) == 0
    answer = json.loads(capsys.readouterr().out)
    assert collisions.free(np.array(answer['q']))


def test_solve_says_what_every_solution_collides_with(capsys, tmp_path):
    path = tmp_path / 'wall.yaml'
    path.write_text('wall: {box: [0.2, 0.4, 0.4], xyz: [0.5, 0, 0.4]}\n')
    goal = ['solve', 'panda', '--xyz', '0.5', '0', '0.4', '--rpy', '3.14', '0', '0']
    assert main([*goal, '--world', str(path)]) == 1
    out = capsys.readouterr().out
    assert 'every solution found collides' in out
    assert 'wall' in out
    assert main([*goal, '--all', '--world', str(path), '--frozen', 'panda_joint3']) == 1
    assert main([*goal, '--avoid']) == 0  # of itself only


def test_a_file_of_poses_is_solved_without_collisions(capsys, tmp_path, world):
    poses = tmp_path / 'poses.csv'
    poses.write_text('0.5,0,0.4,3.14,0,0\n0.4,-0.2,0.5,3.14,0,0\n')
    assert main(['solve', 'panda', '--poses', str(poses), '--world', world]) == 0
    lines = capsys.readouterr().out.splitlines()
    collisions = ik.Collisions(ik.load_robot('panda'), load_world(world))
    rows = [line.split(',') for line in lines if not line.startswith('#')]
    for row in rows[1:3]:
        assert collisions.free(np.array(row[1:9], float))
