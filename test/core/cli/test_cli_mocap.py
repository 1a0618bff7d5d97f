# SPDX-License-Identifier: Apache-2.0
"""`ik mocap`: what it tells of a file, the URDF it writes, and how it refuses."""

import json

import numpy as np
import pytest
from support import mocap_figures as figures

import ik_core as ik
from ik_core.cli.main import main


@pytest.fixture
def amc(tmp_path):
    (tmp_path / 'figure.asf').write_text(figures.asf_text())
    path = tmp_path / 'figure_01.amc'
    path.write_text(figures.amc_text(figures.asf_values(frames=3)))
    return path


def test_it_tells_joints_frames_rate_links_and_size(amc, capsys):
    assert main(['mocap', str(amc), '--rate', '50']) == 0
    text = capsys.readouterr().out
    assert 'figure: 15 joints (1 floating, 2 ball, 1 revolute, 1 universal), 7 links' in text
    assert '3 frames at 50 Hz, 0.04 s' in text
    assert main(['mocap', str(amc), '--json', '--skeleton', str(amc.with_name('figure.asf'))]) == 0
    data = json.loads(capsys.readouterr().out)
    places = [figures.asf_places(frame) for frame in figures.asf_values(frames=3)]
    tops = np.max([place for frame in places for place in frame.values()], axis=0)
    np.testing.assert_allclose(data['to'], tops, atol=1e-9)
    assert data['links'] == ['world', 'root', *figures.BONES]
    rest = figures.asf_places({'root': np.zeros(6)} | {b: np.zeros(n) for b, n in DOFS.items()})
    np.testing.assert_allclose(data['size'], np.ptp(list(rest.values()), axis=0), atol=1e-9)


DOFS = {'thigh': 3, 'shin': 1, 'foot': 2, 'spine': 3}


def test_it_writes_the_figure_as_a_urdf(amc, tmp_path):
    out = tmp_path / 'figure.urdf'
    assert main(['mocap', str(amc.with_name('figure.asf')), '--urdf', str(out)]) == 0
    robot, motion = ik.motion.load_mocap(amc)
    again = ik.load_robot(out)
    for q in motion.positions_of(again):
        for link in robot.link_names:
            here, there = (r.forward_kinematics(q, link) for r in (robot, again))
            np.testing.assert_allclose(there, here, atol=1e-12)


def test_a_skeleton_is_a_robot_for_the_other_commands(amc, capsys):
    assert main(['info', str(amc.with_name('figure.asf'))]) == 0
    assert 'thigh/z' in capsys.readouterr().out


def test_what_can_not_be_read_is_one_line(amc, capsys):
    amc.write_text('1\nroot 0 0 0\n')
    assert main(['mocap', str(amc)]) == 2
    assert capsys.readouterr().err == (
        'ik: figure_01.amc, line 2: root: 3 numbers where 6 are needed\n'
    )
