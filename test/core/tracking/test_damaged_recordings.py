# SPDX-License-Identifier: Apache-2.0
"""`ik replay` refuses damaged recordings with one line, or replays them with another result."""

import copy
import io
import json
import random
import re

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.cli.main import main
from ik_core.tracking import MotionLimits, Tracker, TrackerOptions
from ik_core.tracking.recording import Recorder

SHARES = 10
MUTATIONS = 1000
ODD = (None, True, -1, 0, 1, 3, 1e308, -1e308, 1e-308, float('nan'), float('inf'), 2**70, '', 'x',
       [], {}, [[]], [1], {'array': [0, 10**9]}, {'array': [-5, 2]}, {'array': [0, -1]},
       {'limits': None}, {'options': {'what': 1}}, 'Reset')  # fmt: skip


@pytest.fixture(scope='module')
def recording(tmp_path_factory):
    """The arrays of a short recording of a UR5e, with most kinds of instructions."""
    robot = ik.load_robot(URDF / 'ur5e.urdf')
    tip = robot.default_tip()
    problem = ik.IkProblem(robot, [ik.PoseTask(tip)], secondary=[ik.PostureTask(np.zeros(6))])
    tracker = Tracker(problem, 250.0, limits=MotionLimits.of(robot, acceleration=20.0, jerk=1e4))
    recorder = Recorder((URDF / 'ur5e.urdf').read_text())
    tracker.observe(recorder)
    for tick in range(24):
        if tick == 2:
            tracker.set_goal(
                0, robot.forward_kinematics([0.3, -0.4, 0.5, 0.3, 0.4, 0.5], tip), 0.0
            )
        if tick == 8:
            tracker.set_twist(0, [0.1, 0, 0], [0, 0, 0], tick / 250.0)
        if tick == 12:
            tracker.set_options(TrackerOptions(move='linear'))
            tracker.set_limits(MotionLimits.of(robot, velocity=1.0, acceleration=10.0))
        if tick == 16:
            tracker.move_to([0.1, -0.2, 0.3, 0.1, 0.2, 0.3])
        tracker.tick(tick / 250.0)
    path = tmp_path_factory.mktemp('recording') / 'whole.npz'
    recorder.save(path)
    with np.load(path) as file:
        return path.read_bytes(), {name: file[name] for name in file.files}


def mutated(draw, data, arrays):
    """The bytes of a damaged copy: of the file, of its header, or of one of its arrays."""
    kind = draw.random()
    if kind < 0.3:
        damaged = bytearray(data)
        for _ in range(draw.choice([1, 1, 3, 20])):
            damaged[draw.randrange(len(damaged))] = draw.randrange(256)
        return bytes(damaged[: draw.choice([len(damaged)] * 3 + [draw.randrange(len(damaged))])])
    arrays = dict(arrays)
    if kind < 0.75:
        header = json.loads(arrays['header'].tobytes().decode())
        _change_value(draw, header)
        arrays['header'] = np.frombuffer(json.dumps(header).encode(), np.uint8)
    else:
        name = draw.choice([name for name in arrays if name != 'header'])
        arrays[name] = _changed_array(draw, arrays[name])
        if arrays[name] is None:
            del arrays[name]
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def _change_value(draw, header):
    """Change, or delete, one value of nested dictionaries and lists."""
    places = []

    def look(value):
        if isinstance(value, (dict, list)):
            keys = value if isinstance(value, dict) else range(len(value))
            places.extend((value, key) for key in keys)
            for key in keys:
                look(value[key])

    look(header)
    value, key = draw.choice(places)
    if draw.random() < 0.2:
        del value[key]
    else:
        value[key] = copy.deepcopy(draw.choice(ODD))


def _changed_array(draw, array):
    kind = draw.randrange(7)
    if kind == 0:
        return None
    if kind == 1:
        return array[: draw.randrange(len(array) + 1)]
    if kind == 2:
        return array.reshape(-1, 1)
    if kind == 3:
        return array.astype(draw.choice(['f4', 'i8', 'c16', 'U8', 'S3', 'b']))
    if kind == 4:
        return np.array(draw.choice([0.0, np.nan, 7]))
    array = array.copy()
    if array.size:
        place = draw.randrange(array.size)
        odd = [np.nan, np.inf, -1e308, 1e308, -1.0, 1e9, 0.0]
        with np.errstate(invalid='ignore'):
            array.flat[place] = np.array(draw.choice(odd)).astype(array.dtype)
    return np.repeat(array, 2) if kind == 5 else array


@pytest.mark.filterwarnings('ignore')
@pytest.mark.parametrize('share', range(SHARES))
def test_damaged_recordings_are_refused_in_one_line(share, recording, tmp_path, capfd):
    draw, path = random.Random(share), tmp_path / 'damaged.npz'
    for number in range(MUTATIONS // SHARES):
        path.write_bytes(mutated(draw, *recording))
        code = main(['replay', str(path)])
        out, err = capfd.readouterr()
        assert code in (0, 1, 2), number
        assert 'Traceback' not in out + err
        if code == 2:
            assert re.fullmatch(r'ik: [^\n]+\n', err), (number, err)
        else:
            assert err == '', (number, err)
