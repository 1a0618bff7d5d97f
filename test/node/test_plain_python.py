# SPDX-License-Identifier: Apache-2.0
"""The node where nothing compiles kernels: it starts, follows goals, and says how slow it is."""

import contextlib
import json

import numpy as np
import pytest

pytest.importorskip('rclpy')

from support.fresh_python import run
from support.node_harness import (
    PATIENCE,
    URDF,
    Client,
    load,
    node_process,
    reachable_goal,
    unique_namespace,
)

from ik_node.counters import allowed_rate

pytestmark = pytest.mark.long
RATE = 1000
PANDA = ['-p', f'urdf_path:={URDF / "panda.urdf"}', '-p', f'rate:={RATE}']

SEARCH = """
import itertools, json
import ik_core as ik
robot = ik.load_robot('panda')
seconds = itertools.count()  # each look at the clock finds that the time is over
problem = ik.IkProblem(robot, [ik.PoseTask('panda_hand')])
tracker = ik.Tracker(problem, 100.0, clock=lambda: float(next(seconds)))
pose = robot.forward_kinematics(tracker.q, 'panda_hand').copy()
pose[0, 3] += 3.0
tracker.set_goal(0, pose, 0.0)
ticks = [tracker.tick(0.01 * tick) for tick in range(300)]
print(json.dumps([(tick.status.name, tick.iterations) for tick in ticks]))
"""


def test_in_plain_python_the_node_starts_at_its_rate_and_reports_a_possible_one_once(
    tmp_path, monkeypatch
):
    (tmp_path / 'sitecustomize.py').write_text('import sys\nsys.modules["numba"] = None\n')
    monkeypatch.setenv('PYTHONPATH', str(tmp_path))
    monkeypatch.setenv('IK_KERNELS', 'off')
    robot, space = load('panda'), unique_namespace()
    with contextlib.closing(Client(space)) as client, node_process(space, *PANDA) as process:
        client.more_states(1)
        late = 0
        for number in range(4):
            client.send_goal(reachable_goal(robot, 'panda_hand', number))
            client.until(
                lambda n=late: int(client.diagnostics.get('late_ticks', 0)) > n, 'late ticks'
            )
            late = int(client.diagnostics['late_ticks'])
        process.terminate()
        lines = process.stdout.read().splitlines()
        assert process.wait(PATIENCE) == 0
    assert '[WARN]' in lines[0]
    assert 'kernels run as plain Python' in lines[0]
    assert 'pip install numba' in lines[0]
    assert any(f'publishing {space}/joint_states at {RATE} Hz' in line for line in lines)
    (told,) = (line for line in lines if f'late at {RATE} Hz' in line)
    assert 0 < float(told.split()[-4]) < RATE


def test_in_plain_python_a_tick_of_a_search_is_one_iteration():
    ticks = json.loads(run(SEARCH, NUMBA_DISABLE_JIT='1'))
    searching = [iterations for status, iterations in ticks if status == 'SEARCHING']
    assert len(searching) > 10
    assert max(searching) <= 1


@pytest.mark.parametrize(
    ('duration', 'rate'), [(0.0005, np.inf), (0.001, 1000.0), (0.0025, 250.0)]
)
def test_ticks_that_take_long_beside_solving_allow_a_lower_rate(duration, rate):
    assert allowed_rate(1000.0, duration) == pytest.approx(rate)
