# SPDX-License-Identifier: Apache-2.0
"""A clip on its page without a browser: what the command shows, and what its controls do."""

import time

import numpy as np
import pytest
from support.mocap_figures import amc_text, asf_text, asf_values
from support.places import URDF

import ik_core as ik
from ik_viewer.play import live as live_module
from ik_viewer.play.numbers import (
    SMALLEST,
    beta_of,
    error_curves,
    error_table,
    position_of,
    weights_text,
)
from ik_viewer.play.paths import paler, segments

pytest.importorskip('viser')

from ik_viewer.play import command
from ik_viewer.play.command import main, page_of


@pytest.fixture(scope='module')
def clip(tmp_path_factory):
    """A clip of six frames with its skeleton beside it."""
    folder = tmp_path_factory.mktemp('clips')
    (folder / 'figure.asf').write_text(asf_text())
    (folder / 'figure_01.amc').write_text(amc_text(asf_values(frames=6)))
    return folder / 'figure_01.amc'


@pytest.fixture
def page():
    """Makes the page of a command line; what was opened is closed."""
    pages = []

    def make(*words):
        pages.append(page_of(command._parser().parse_args([*map(str, words), '--port', '0'])))
        return pages[-1]

    yield make
    for each in pages:
        each.close()
        each.server.stop()


def finished(page):
    deadline = time.monotonic() + 300.0
    while not page.live.final:
        assert time.monotonic() < deadline, page.live.text
        time.sleep(0.001)


FIGURE = ('--ignore-limits', '--links', 'foot=foot', 'spine=spine')


def test_a_clip_and_its_imitator_are_played_frame_by_frame(page, clip):
    shown = page(clip, clip.with_name('figure.asf'), *FIGURE)
    finished(shown)
    source, motion = ik.motion.load_mocap(clip)
    made = ik.retargeting.retarget(
        motion, source, {'foot': 'foot', 'spine': 'spine'}, keep_limits=False
    )
    np.testing.assert_allclose(shown.live.positions, made.motion.positions, atol=1e-9)
    for frame in range(6):
        assert shown.playhead.frame == frame
        shown.frame()
        drawn = shown.scene._robot._drawn
        np.testing.assert_allclose(drawn, shown.live.positions[frame], atol=2e-6)
        balls = [ball.position for ball in shown.scene.paths._balls]
        np.testing.assert_allclose(balls, shown.live.imitator.example.paths[frame])
        shown.playhead.advance(motion.period)
    assert not shown.notices.last


def test_the_slider_of_beta_solves_anew_from_the_frame_that_is_shown(page, clip):
    shown = page(clip, clip.with_name('figure.asf'), *FIGURE)
    finished(shown)
    shown.playhead.go_to(3)
    shown._beta.value = 1.0
    shown._limits.value = True
    shown._wish()
    assert shown.live.wish == live_module.Wish(1.0, True, 3)
    finished(shown)
    robot = shown.live.imitator.robot
    assert (shown.live.positions >= robot.lower - 1e-9).all()
    assert 'copy the joints' in shown._weights.content


def test_alpha_of_the_command_stays_when_beta_is_changed(page, clip):
    shown = page(clip, clip.with_name('figure.asf'), *FIGURE, '--alpha', '0.25')
    finished(shown)
    assert 'alpha = 0.25' in shown._weights.content
    shown._beta.value = 1.0
    shown._wish()
    assert shown.live.wish == live_module.Wish(1.0, False, 0, 0.25)
    finished(shown)


def test_it_is_stopped_scrubbed_and_slowed(page, clip):
    shown = page(clip)
    assert shown.live is None
    shown._toggle()
    assert (shown.playhead.playing, shown._button.label) == (False, 'Play')
    shown._slider.value = 4
    shown._scrub()
    shown.frame()
    assert shown.playhead.frame == 4
    drawn = shown.scene._figure._drawn
    np.testing.assert_allclose(drawn, shown.clip.q[4], atol=2e-6)
    shown._speed.value = '1/4'
    shown._set_speed()
    assert shown.playhead.speed == 0.25


def test_a_captured_clip_is_stood_up_for_a_robot_whose_z_is_up(page, clip):
    shown = page(clip, URDF / 'panda.urdf', '--links', 'foot=panda_hand', '--no-joints')
    up = shown.clip.placed[:3, :3] @ [0.0, 1.0, 0.0]
    np.testing.assert_allclose(up, [0.0, 0.0, 1.0], atol=1e-12)
    assert np.allclose(page(clip).clip.placed, np.eye(4))


def test_a_demonstration_on_one_robot_is_played_on_another(page, tmp_path):
    panda = ik.load_robot(URDF / 'panda.urdf')
    wave = panda.middle_configuration + 0.1 * np.sin(np.arange(5))[:, None] * (np.arange(8) < 7)
    ik.motion.save_motion(ik.motion.Motion(panda.joint_names, wave, 0.1), tmp_path / 'wave.csv')
    links = 'panda_hand=iiwa_link_ee'
    shown = page(tmp_path / 'wave.csv', 'iiwa14', '--source', 'panda', '--links', links)
    finished(shown)
    assert shown.live.imitator.robot.name == 'iiwa14'
    assert np.allclose(shown.clip.placed, np.eye(4))
    aside = shown.scene._stand.position / shown.scene.apart
    np.testing.assert_allclose(aside, [0.0, 1.0, 0.0], atol=1e-12)  # robots look along x


def test_what_is_not_there_is_an_error_with_a_sentence(clip, tmp_path, capsys):
    assert main([str(tmp_path / 'none.amc')]) == 2
    assert 'none' in capsys.readouterr().err
    assert main([str(clip), str(URDF / 'panda.urdf'), '--no-joints']) == 2
    assert '--links' in capsys.readouterr().err
    assert main([str(clip), str(clip.with_name('figure.asf')), '--beta', '2']) == 2
    assert 'from 0 to 1' in capsys.readouterr().err


@pytest.mark.parametrize('beta', [0.0, 1e-8, 1e-5, 0.3, 1.0])
def test_the_slider_of_beta_is_logarithmic_and_has_a_zero(beta):
    assert beta_of(position_of(beta)) == pytest.approx(beta, rel=1e-9) or beta == 1e-8
    assert position_of(0.0) < position_of(1e-5) < position_of(0.3) < position_of(1.0) == 1.0
    assert '0' in weights_text(beta)


def test_the_table_has_now_mean_and_most_of_what_is_known():
    errors = np.array([[1e-3, np.nan], [3e-3, np.nan], [np.nan, np.nan]])
    content = error_table(('hand', '<b>'), errors, 1)
    assert '3.000</td><td style="text-align:right">2.000</td>' in content
    assert '123.5</td>' in error_table(('hand',), np.array([[0.12345]]), 0)
    assert '&lt;b&gt;' in content
    assert content.count('&ndash;') == 3


def test_curves_are_in_millimetres_with_a_mark_at_the_frame_that_is_shown():
    errors = np.linspace(0.0, 0.1, 1000)[:, None] * [1.0, 2.0]
    times, first, second, now = error_curves(errors, 0.01, 500)
    assert len(times) <= 400
    assert (times[0], times[-1]) == (0.0, pytest.approx(9.99))
    assert second[-1] == pytest.approx(200.0)
    assert first[0] == SMALLEST
    assert times[np.argmax(now)] == pytest.approx(5.0, abs=0.05)
    assert error_curves(errors[:1], 0.01, 0)[0].shape == (2,)


def test_lines_go_from_point_to_point():
    path = np.arange(12.0).reshape(4, 3)
    lines = segments(path)
    assert lines.shape == (3, 2, 3)
    np.testing.assert_array_equal(lines[:, 0], path[:-1])
    np.testing.assert_array_equal(lines[:, 1], path[1:])
    assert segments(path[:1]).shape == (1, 2, 3)
    assert paler((0, 100, 255)) == (153, 193, 255)
