# SPDX-License-Identifier: Apache-2.0
"""`ik view`: what it draws, where it listens, and how it ends."""

import signal
import subprocess
import sys
import urllib.request

import numpy as np
import pytest
from support.children import PATIENCE, supervised
from support.mocap_figures import asf_text
from support.places import ROOT, URDF
from support.robots import python_path

from ik_core.exceptions import IkError
from ik_viewer import view


def test_a_shipped_robot_is_described_with_its_shapes():
    description = view.describe('panda')
    assert description.robot.name == 'panda'
    assert '<visual>' in description.urdf
    assert description.folder == URDF.resolve()
    assert description.up == '+z'


def test_meshes_are_looked_for_in_the_package_of_the_file(tmp_path):
    package = tmp_path / 'my_description'
    (package / 'urdf').mkdir(parents=True)
    (package / 'package.xml').write_text('<package/>')
    path = package / 'urdf' / 'my.urdf'
    path.write_text((URDF / 'scara.urdf').read_text())
    other = tmp_path / 'meshes'
    other.mkdir()
    assert view.describe(str(path)).mesh_folders == (package,)
    assert view.describe(str(path), [other]).mesh_folders == (other, package)
    (package / 'package.xml').unlink()
    assert view.describe(str(path)).mesh_folders == ()


def test_a_figure_stands_upright_as_its_file_draws_it(tmp_path):
    path = tmp_path / 'figure.asf'
    path.write_text(asf_text())
    description = view.describe(str(path))
    assert description.up == '+y'
    robot, q = description.robot, view.start_of(description)
    assert not np.any(q[(robot.lower <= 0.0) & (robot.upper >= 0.0)])
    assert view.start_of(view.describe('panda')) is None


@pytest.mark.parametrize(
    ('arguments', 'complaint'),
    [
        (['no_such_robot'], 'no_such_robot'),
        (['panda', '--tip', 'no_such_link'], 'no_such_link'),
        (['panda', '--mesh-folder', 'no_such_folder'], 'no_such_folder'),
        (['panda', '--rate', '0'], 'rate'),
        (['panda', '--solver', 'sqp', '--preset', 'coursework'], 'of sqp; there are: none'),
    ],
)
def test_what_makes_no_sense_is_one_line_and_exit_code_2(arguments, complaint, capsys):
    assert view.main(arguments) == 2
    said = capsys.readouterr().err
    assert complaint in said
    assert said.startswith('ik: ')
    assert said.count('\n') == 1


def test_without_viser_it_is_one_line_too(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, 'viser', None)
    assert view.main(['panda']) == 2
    assert "pip install 'viser~=1.1' pycollada" in capsys.readouterr().err


def test_it_refuses_folders_and_solvers_that_are_not_there():
    with pytest.raises(IkError):
        view.describe('panda', [ROOT / 'no_such_folder'])
    with pytest.raises(SystemExit):
        view.main(['panda', '--solver', 'magic'])


@pytest.mark.parametrize('end', [signal.SIGINT, signal.SIGTERM])
def test_it_serves_a_page_until_it_is_interrupted(end, tmp_path):
    pytest.importorskip('viser')
    command = [sys.executable, '-m', 'ik_viewer.view', 'arm5', '--port', '0']
    environment = {'PYTHONPATH': python_path(ROOT), 'PATH': '', 'HOME': str(tmp_path)}
    environment |= {'NUMBA_DISABLE_JIT': '1'}
    with supervised(
        subprocess.Popen(
            command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
    ) as process:
        line = process.stdout.readline()
        assert 'arm5 is on http://localhost:' in line
        url = line.split()[3]
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            assert b'<html' in answer.read().lower()
        process.send_signal(end)
        _, said = process.communicate()
    assert process.returncode == 0, said
    assert 'Traceback' not in said, 'viser and its packages may warn'
