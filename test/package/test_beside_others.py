# SPDX-License-Identifier: Apache-2.0
"""The wheel works beside the packages that people use it with, each in its own environment."""

import sys

import pytest
from support.installed_tree import copy_tree, run

pytestmark = [pytest.mark.thorough, pytest.mark.long]
SOLVES = """
import numpy as np
import {first}
import {second}
import ik_core as ik

robot = ik.load_robot('panda')
goal = ik.PoseTask('panda_hand_tcp', position=[0.4, 0.2, 0.5], quaternion=[1, 0, 0, 0])
result = ik.solve(ik.IkProblem(robot, [goal]))
pose = robot.forward_kinematics(result.q, 'panda_hand_tcp')
assert result.status.name == 'REACHED', result
assert np.abs(pose[:3, 3] - [0.4, 0.2, 0.5]).max() < 1e-5, pose
assert np.abs(pose[:3, :3] - np.diag([1, -1, -1])).max() < 1e-5, pose
"""


@pytest.fixture(scope='module')
def wheel(tmp_path_factory):
    """A wheel with the library of this checkout."""
    folder = tmp_path_factory.mktemp('wheel')
    tree = copy_tree(folder / 'source')
    if not list(tree.rglob('ik-*.so')):
        pytest.skip('there is no library here')
    built = run(
        sys.executable, '-m', 'pip', 'wheel', '--no-deps', '--no-build-isolation', '--wheel-dir',
        folder, tree, cwd=tree,
    )  # fmt: skip
    assert built.returncode == 0, built.stderr
    return next(folder.glob('*.whl'))


@pytest.mark.parametrize(
    ('requirements', 'module'),
    [
        (['numpy==1.26.*'], 'numpy'),
        (['placo', 'pin'], 'placo'),  # lerobot's kinematics
        (['roboplan'], 'roboplan'),
        (['mink'], 'mink'),  # with the newest numpy, as roboplan
        (['jax', 'jaxlie', 'yourdfpy'], 'jaxlie'),  # pyroki's; it is on no package index itself
    ],
    ids=lambda value: value if isinstance(value, str) else '+'.join(value),
)
def test_the_wheel_solves_beside(requirements, module, wheel, tmp_path):
    python = tmp_path / 'bin' / 'python'
    assert run(sys.executable, '-m', 'venv', tmp_path, cwd=tmp_path).returncode == 0
    # colcon's PYTHONPATH has the package, so pip would think that it is there
    pip = python, '-m', 'pip', '--quiet', 'install', '--no-compile'
    alone = {'PYTHONPATH': '', 'IK_KERNELS': ''}
    if run(*pip, *requirements, cwd=tmp_path, **alone).returncode:
        pytest.skip(f'pip can not install {" ".join(requirements)}')
    before = run(python, '-m', 'pip', 'freeze', cwd=tmp_path, **alone).stdout.splitlines()
    installed = run(*pip, wheel, cwd=tmp_path, **alone)
    assert installed.returncode == 0, installed.stderr
    after = run(python, '-m', 'pip', 'freeze', cwd=tmp_path, **alone).stdout.splitlines()
    assert set(before) <= set(after)  # installing it exchanges no version
    checked = run(python, '-m', 'pip', 'check', cwd=tmp_path, **alone)
    assert checked.returncode == 0, checked.stdout
    for first, second in ((module, 'ik_core'), ('ik_core', module)):
        script = SOLVES.format(first=first, second=second)
        solved = run(python, '-c', script, cwd=tmp_path, **alone)
        assert solved.returncode == 0, solved.stderr
