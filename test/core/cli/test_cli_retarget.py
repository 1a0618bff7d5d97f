# SPDX-License-Identifier: Apache-2.0
"""`ik retarget`: files in, a motion out, and one-line refusals."""

import json

import numpy as np
import pytest
from support.mocap_figures import clip, needs_clips
from support.places import URDF

import ik_core as ik
from ik_core.cli.main import main

JOINTS = [f'panda_joint{i}=iiwa_joint_{i}' for i in range(1, 8)]


@pytest.fixture
def wave(tmp_path):
    """The path of a CSV file in which a Panda moves."""
    panda = ik.load_robot(URDF / 'panda.urdf')
    phase = np.linspace(0, 2, 8)[:, np.newaxis] + np.arange(panda.n)
    q = panda.middle_configuration + 0.3 * np.sin(phase) * (np.arange(panda.n) < 7)
    ik.motion.save_motion(ik.motion.Motion(panda.joint_names, q, 1 / 30), tmp_path / 'wave.csv')
    return str(tmp_path / 'wave.csv')


def test_a_demonstration_goes_to_another_arm(wave, tmp_path, capsys):
    out = tmp_path / 'iiwa.npz'
    links = 'panda_hand_tcp=iiwa_link_ee'
    asked = ['iiwa14', '--source', 'panda', '--links', links, '--joints', *JOINTS]
    place = ['--scale', '0.9', '--xyz', '0', '0', '-0.05', '--out', str(out), '--json']
    assert main(['retarget', wave, *asked, *place]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['frames'] == 8
    assert data['joints'] == 7
    panda, iiwa = (ik.load_robot(URDF / f'{name}.urdf') for name in ('panda', 'iiwa14'))
    asked_for, made = ik.motion.load_motion(wave), ik.motion.load_motion(out)
    for q, p in zip(made.positions, asked_for.positions, strict=True):
        goal = 0.9 * panda.forward_kinematics(p, 'panda_hand_tcp')[:3, 3] - [0, 0, 0.05]
        hand = iiwa.forward_kinematics(q, 'iiwa_link_ee')[:3, 3]
        assert np.linalg.norm(hand - goal) <= data['links']['iiwa_link_ee']['max_error'] + 1e-9
    assert data['links']['iiwa_link_ee']['max_error'] < 1e-3


def test_the_text_says_what_came_out(wave, tmp_path, capsys):
    links = ['--links', 'panda_hand=panda_hand', '--out-rate', '15']
    assert main(['retarget', wave, 'panda', *links, '--out', str(tmp_path / 'a.csv')]) == 0
    text = capsys.readouterr().out
    assert 'panda_hand: ' in text
    assert '8 joints' in text
    assert '4 frames at 15 Hz' in text


@pytest.mark.parametrize(
    ('asked', 'said'),
    [
        (['--links', 'panda_hand'], 'SOURCE=ROBOT'),
        (['--links', 'panda_hand=panda_hand', 'panda_hand=panda_link4'], 'given twice'),
        (['--links', 'panda_head=panda_hand'], 'did you mean panda_hand'),
        (['--links', 'panda_hand=panda_hand', '--beta', '2'], 'both from 0 to 1'),
        (['--links', 'panda_hand=panda_hand', '--scale', 'big'], "a number or 'length'"),
        (['--links', 'panda_hand=panda_hand', '--solver', 'newton'], 'newton'),
        (['--links', 'panda_hand=panda_hand', '--source', 'iiwa14'], 'iiwa'),
        (['--links', 'panda_hand=panda_hand', '--out-rate', '0'], 'out-rate'),
        (['--links', 'panda_hand=panda_hand', '--fit', '--scale', '2'], '--fit chooses --scale'),
        ([], '--links'),
    ],
)
def test_wrong_arguments_are_refused_in_one_line(wave, tmp_path, capsys, asked, said):
    out = tmp_path / 'out.csv'
    assert main(['retarget', wave, 'panda', *asked, '--out', str(out)]) == 2
    captured = capsys.readouterr()
    assert said in captured.err
    assert captured.err.count('\n') == 1
    assert captured.out == ''
    assert not out.exists()


@pytest.fixture
def wide_swing(tmp_path):
    """The paths of a CSV file, in which a linkage swings its end by 2 m, and of its URDF."""
    urdf, clip = tmp_path / 'linkage.urdf', tmp_path / 'swing.csv'
    assert main(['linkage', '2', '--length', '1.0', '--out', str(urdf)]) == 0
    linkage = ik.load_robot(urdf)
    q = np.linspace(-0.8, 0.8, 9)[:, np.newaxis] * np.ones(linkage.n)
    ik.motion.save_motion(ik.motion.Motion(linkage.joint_names, q, 1 / 30), clip)
    return ['retarget', str(clip), 'panda', '--source', str(urdf)], linkage.default_tip()


def test_a_motion_out_of_reach_ends_with_1_and_says_what_to_try(wide_swing, tmp_path, capsys):
    asked, tip = wide_swing
    asked += ['--links', f'{tip}=panda_hand', '--out', str(tmp_path / 'a.csv')]
    assert main(asked) == 1
    captured = capsys.readouterr()
    assert '--fit' in captured.err
    assert 'written to' in captured.out


def test_fit_scales_and_places_a_motion_into_the_reach(wide_swing, tmp_path, capsys):
    asked, tip = wide_swing
    asked += ['--links', f'{tip}=panda_hand', '--out', str(tmp_path / 'a.csv'), '--json']
    capsys.readouterr()
    assert main([*asked, '--fit']) == 0
    fitted = json.loads(capsys.readouterr().out)
    assert fitted['links']['panda_hand']['max_error'] < 0.01
    assert 0.1 < fitted['scale'] < 1.0
    place = ['--scale', str(fitted['scale']), '--xyz', *map(str, fitted['xyz'])]
    assert main([*asked, *place]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again['links'] == fitted['links'], 'the options that it prints do the same'


@needs_clips
def test_fit_brings_a_captured_hand_into_the_reach_of_an_arm(tmp_path, capsys):
    asked = ['retarget', str(clip('141_01.bvh')), 'panda', '--links', 'rHand=panda_hand']
    asked += ['--rpy', '1.5708', '0', '0', '--out', str(tmp_path / 'a.csv'), '--json']
    assert main(asked) == 1
    assert json.loads(capsys.readouterr().out)['links']['panda_hand']['max_error'] > 0.1
    assert main([*asked, '--fit']) == 0
    assert json.loads(capsys.readouterr().out)['links']['panda_hand']['max_error'] < 0.01


def test_a_folder_that_is_not_there_is_told_before_the_motion_is_made(
    wave, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr('ik_core.cli.retarget.retarget', None)  # not called
    out = str(tmp_path / 'none' / 'out.csv')
    links = ['--links', 'panda_hand=panda_hand']
    assert main(['retarget', wave, 'panda', *links, '--out', out]) == 2
    assert f'{out}: there is no folder' in capsys.readouterr().err


def test_other_files_are_refused(wave, tmp_path, capsys):
    links = ['--links', 'panda_hand=panda_hand', '--out']
    assert main(['retarget', wave, 'panda', *links, str(tmp_path / 'out.yaml')]) == 2
    assert '.csv, .npz' in capsys.readouterr().err
    assert main(['retarget', 'wave.txt', 'panda', *links, str(tmp_path / 'out.csv')]) == 2
    assert '.amc, .bvh, .csv, .npz' in capsys.readouterr().err


@needs_clips
def test_the_throw_goes_to_another_person(tmp_path, capsys):
    ends = [f'{end}={end}' for end in ('lhand', 'rhand', 'lfoot', 'rfoot', 'head')]
    asked = [str(clip('124_01.amc')), str(clip('141.asf')), '--links', *ends, '--scale', 'length']
    out = ['--out-rate', '30', '--ignore-limits', '--out', str(tmp_path / 'throw.npz'), '--json']
    assert main(['retarget', *asked, *out]) == 0
    data = json.loads(capsys.readouterr().out)
    assert data['frames'] == 161
    for errors in data['links'].values():
        assert errors['max_error'] < 2e-3
