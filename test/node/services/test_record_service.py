# SPDX-License-Identifier: Apache-2.0
"""~/record: recordings that nothing loses, with names that no other file has."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

pytest.importorskip('rclpy')

from std_srvs.srv import SetBool
from support.node_harness import URDF, load, reachable_goal, world
from support.places import ROOT
from support.robots import python_path

from ik_core.tracking.recording import part_of, read_recording, replay
from ik_node.parameters.node_options import NodeOptions
from ik_node.services.recording import LEFT_BEHIND, RecordService, check_folder, new_file

TRACKING = ROOT / 'test' / 'core' / 'tracking'
TIP = 'tool'
SCARA = (URDF / 'scara.urdf').read_text(encoding='utf-8')


def recording_world(folder, **parameters):
    description = {} if 'urdf_path' in parameters else {'robot_description': SCARA}
    return world(**{**description, 'tip_links': [TIP], 'record_folder': str(folder), **parameters})


def record(node, on):
    return node.call(SetBool, 'ik_node/record', SetBool.Request(data=on))


def written(node, folder, count=1):
    """The recordings in a folder, as soon as there are so many."""
    node.until(lambda: len(list(folder.glob('*.npz'))) >= count, f'{count} recordings')
    return sorted(folder.glob('*.npz'))


def test_what_was_recorded_in_motion_is_run_again_the_same(tmp_path):
    with recording_world(tmp_path) as node:
        node.more_states(1)
        node.send_goal(reachable_goal(load('scara'), TIP, 0))
        node.more_states(20)
        assert record(node, True).success
        node.more_states(20)
        node.send_goal(reachable_goal(load('scara'), TIP, 1))
        node.until_code('reached')
        assert record(node, False).success
        (path,) = written(node, tmp_path)
    (run,) = replay(read_recording(path))
    assert run.is_same, run.failure
    assert run.largest_difference == 0.0


def test_several_recordings_within_a_second_are_several_files(tmp_path):
    with recording_world(tmp_path) as node:
        node.more_states(1)
        for _ in range(4):
            assert record(node, True).success
            node.more_states(2)
            assert record(node, False).success
        assert len(written(node, tmp_path, 4)) == 4


@pytest.mark.parametrize('name', ['a/b', '../../etc', 'x' * 300, 'r\u00f6bot 1'])
def test_any_robot_name_makes_a_file_name(tmp_path, name):
    path = new_file(tmp_path, 'ik_node', name)
    assert path.parent == tmp_path
    assert part_of(path).is_file()
    assert not path.exists()  # the name is for what is whole
    assert len({new_file(tmp_path, 'ik_node', name) for _ in range(3)} | {path}) == 4


def test_the_name_of_a_file_that_is_written_is_taken(tmp_path, monkeypatch):
    monkeypatch.setattr('time.strftime', lambda form: 'now')
    path = new_file(tmp_path, 'ik_node', 'arm')
    part_of(path).rename(path)
    other = new_file(tmp_path, 'ik_node', 'arm')
    assert path != other
    assert sorted(tmp_path.iterdir()) == [path, part_of(other)]


def test_what_a_killed_process_left_behind_goes_when_a_recording_begins(tmp_path):
    def parts_of_recordings(count):
        return [part_of(new_file(tmp_path, 'ik_node', 'r\u00f6bot 1')) for _ in range(count)]

    old = parts_of_recordings(3)
    others = [
        tmp_path / name
        for name in (
            'motion.npz.part',
            'ik_node_panda.npz.part',
            'ik_node_panda_20260101.npz.part',
            'ik_node_panda_20260101_1200.npz.part',
            'ik_node_panda_20260101_120000.npz',
            'ik_node_panda_20260101_120000_b.npz.part',
            'my ik_node_panda_20260101_120000.npz.part',
            '20260101_120000.npz.part',
            'ik_node_panda_20260101_120000.part',
            'other_node_panda_20260101_120000.npz.part',
        )
    ]
    for path in others:
        path.touch()
    folder = tmp_path / 'ik_node_panda_20260101_120000.npz.part'
    folder.mkdir()
    for path in (*old, *others, folder):
        os.utime(path, 2 * (time.time() - LEFT_BEHIND - 1.0,))
    new = parts_of_recordings(1)
    check_folder(tmp_path, 'ik_node')
    assert sorted(tmp_path.iterdir()) == sorted([*new, *others, folder])


def test_a_link_to_a_part_is_no_part_of_ours(tmp_path):
    """Only the link would go; what it names is another's."""
    folder = tmp_path / 'folder'
    folder.mkdir()
    target = tmp_path / 'target'
    target.touch()
    os.utime(target, 2 * (time.time() - LEFT_BEHIND - 1.0,))
    link = folder / 'ik_node_panda_20260101_120000.npz.part'
    link.symlink_to(target)
    check_folder(folder, 'ik_node')
    assert link.is_symlink()
    assert target.exists()


def test_the_robot_is_recorded_that_was_loaded_whatever_its_file_is_by_now(tmp_path):
    path = tmp_path / 'arm.urdf'
    path.write_text(SCARA, encoding='utf-8')
    with recording_world(tmp_path, urdf_path=str(path)) as node:
        node.more_states(1)
        path.write_text((URDF / 'panda.urdf').read_text(encoding='utf-8'), encoding='utf-8')
        assert record(node, True).success
        node.more_states(5)
        assert record(node, False).success
        path.unlink()
        node.more_states(1)
        assert record(node, True).success
        node.more_states(5)
        assert record(node, False).success
        recordings = [read_recording(each) for each in written(node, tmp_path, 2)]
    for recording in recordings:
        assert recording.robot.name == load('scara').name
        (run,) = replay(recording)
        assert run.is_same, run.failure


KILLED = """
import os, signal, sys
import numpy as np
import test_recording
recorder = test_recording.record(50)
np.savez_compressed = lambda file, **columns: (
    file.write(b'half'), file.flush(), os.kill(os.getpid(), signal.SIGKILL)
)
recorder.save(sys.argv[1])
"""


def test_a_kill_while_a_file_is_written_leaves_none_of_its_name(tmp_path):
    path = new_file(tmp_path, 'ik_node', 'panda')
    done = subprocess.run(
        [sys.executable, '-c', KILLED, str(path)],
        env={**os.environ, 'PYTHONPATH': python_path(ROOT, ROOT / 'test', TRACKING)},
    )
    assert done.returncode == -signal.SIGKILL
    assert [entry.name for entry in tmp_path.iterdir()] == [f'{path.name}.part']


def test_a_folder_that_is_not_there_is_said_at_the_start(tmp_path):
    with recording_world(tmp_path / 'nowhere') as node:
        node.more_states(1)
        answer = record(node, True)
        assert not answer.success
        folder = tmp_path / 'nowhere'
        told = f'record_folder: no file can be written in {folder}: No such file or directory'
        assert answer.message == told
        assert not record(node, False).success


def test_a_folder_that_is_not_there_is_one_line_where_recording_begins_by_itself(tmp_path):
    said = []
    logger = SimpleNamespace(error=said.append)
    node = SimpleNamespace(get_logger=lambda: logger, get_name=lambda: 'ik_node')
    folder = tmp_path / 'nowhere'
    options = NodeOptions(record=True, record_folder=str(folder))
    model = SimpleNamespace(parameters=SimpleNamespace(node=options), recorder=None)
    RecordService(node, lambda: model).begin(model)
    told = f'record_folder: no file can be written in {folder}: No such file or directory'
    assert said == [f'nothing is recorded: {told}']


def test_a_folder_that_goes_away_loses_no_recording(tmp_path, monkeypatch):
    spare, folder = tmp_path / 'spare', tmp_path / 'folder'
    spare.mkdir()
    folder.mkdir()
    monkeypatch.setattr('tempfile.tempdir', str(spare))
    with recording_world(folder) as node:
        node.more_states(1)
        assert record(node, True).success
        node.more_states(5)
        shutil.rmtree(folder)
        answer = record(node, False)
        assert answer.success
        assert str(spare) in answer.message
        assert read_recording(written(node, spare)[0]).robot.name == load('scara').name


def test_a_description_in_another_encoding_is_recorded(tmp_path):
    path = tmp_path / 'umlaut.urdf'
    text = SCARA.replace('<robot name="', '<!-- \u00fc --><robot name="\u00fc_', 1)
    text = '<?xml version="1.0" encoding="ISO-8859-1"?>' + text.partition('?>')[2]
    path.write_bytes(text.encode('iso-8859-1'))
    with recording_world(tmp_path, urdf_path=str(path)) as node:
        node.more_states(1)
        assert record(node, True).success
        node.more_states(5)
        assert record(node, False).success
        recording = read_recording(written(node, tmp_path)[0])
    assert recording.robot.name.startswith('\u00fc_')
    assert Path(path).is_file()
