# SPDX-License-Identifier: Apache-2.0
"""Retargeting while one watches: it ends at the answer of `retarget`, and follows changes of
beta."""

import time

import numpy as np
import pytest
from support import robots
from support.mocap_figures import asf_text, bvh_text, bvh_values

import ik_core as ik
from ik_viewer.play.clip import Clip, imitator_of, usual_links
from ik_viewer.play.live import LiveRetargeting, Wish
from ik_viewer.play.playhead import Playhead

LINKS = {'foot': 'foot', 'spine': 'spine'}
FRAMES = 12


@pytest.fixture(scope='module')
def figures(tmp_path_factory):
    """A figure, what it does, and another one whose legs are a quarter longer."""
    folder = tmp_path_factory.mktemp('figures')
    text = asf_text()
    (folder / 'one.asf').write_text(text)
    longer = text.replace('length 7.0', 'length 8.75').replace('length 7.5', 'length 9.375')
    (folder / 'other.asf').write_text(longer)
    source = ik.motion.load_skeleton(folder / 'one.asf')
    phase = np.linspace(0.0, 3.0, FRAMES)[:, np.newaxis] + np.arange(source.n)
    q = source.middle_configuration + 0.15 * np.sin(phase)
    motion = ik.motion.Motion(source.joint_names, np.clip(q, source.lower, source.upper), 1 / 30)
    return source, motion, ik.motion.load_skeleton(folder / 'other.asf')


def live_of(figures, wish=None):
    source, motion, robot = figures
    return LiveRetargeting(imitator_of(Clip.of(source, motion), motion, robot, LINKS), wish)


def finished(live):
    deadline = time.monotonic() + 300.0
    while not live.final:
        assert time.monotonic() < deadline, live.text
        time.sleep(0.001)
    return live


@pytest.mark.parametrize(('beta', 'keep'), [(0.0, True), (1e-5, True), (1.0, True), (1.0, False)])
def test_in_the_end_it_is_what_retarget_answers(figures, beta, keep):
    source, motion, robot = figures
    made = ik.retargeting.retarget(
        motion, robot, LINKS, source=source, beta=beta, keep_limits=keep
    )
    live = finished(live_of(figures, Wish(beta, keep)))
    np.testing.assert_allclose(live.positions, made.motion.positions, atol=1e-9)
    np.testing.assert_allclose(live.link_errors, made.link_errors, atol=1e-9)
    assert live.fresh.all()
    live.close()


def test_alpha_is_what_was_asked_for(figures):
    source, motion, robot = figures
    made = ik.retargeting.retarget(motion, robot, LINKS, source=source, beta=0.5, alpha=0.01)
    live = finished(live_of(figures, Wish(0.5, alpha=0.01)))
    np.testing.assert_allclose(live.positions, made.motion.positions, atol=1e-9)
    live.close()


def test_with_beta_0_links_are_where_the_example_has_them_and_with_1_joints_are(figures):
    source, motion, _ = figures
    live = finished(live_of(figures, Wish(0.0, False)))
    links_only = live.link_errors.copy()
    live.ask(Wish(1.0, False, frame=5))
    finished(live)
    np.testing.assert_allclose(live.positions, motion.positions_of(source), atol=1e-6)
    assert links_only.max() < 1e-4
    assert live.link_errors.max() > 0.05  # its legs are longer
    live.close()


def test_a_change_begins_at_the_frame_that_is_shown_and_ends_the_same(figures, monkeypatch):
    live = finished(live_of(figures, Wish(1e-5, False)))
    noted, note = [], live._note_frame
    monkeypatch.setattr(live, '_note_frame', lambda k, q: noted.append(k) or note(k, q))
    live.ask(Wish(0.5, False, frame=7))
    finished(live)
    assert noted == [*range(7, FRAMES), *range(FRAMES)]
    source, motion, robot = figures
    made = ik.retargeting.retarget(
        motion, robot, LINKS, source=source, beta=0.5, keep_limits=False
    )
    np.testing.assert_allclose(live.positions, made.motion.positions, atol=1e-9)
    live.close()


def test_what_goes_wrong_is_said_and_the_next_wish_is_heard(figures):
    live = live_of(figures, Wish(2.0))
    deadline = time.monotonic() + 300.0
    while 'beta' not in live.text and time.monotonic() < deadline:
        time.sleep(0.001)
    assert 'from 0 to 1' in live.text
    live.ask(Wish(0.1))
    assert finished(live).text == ''
    live.close()


def test_the_place_of_the_clip_is_that_of_its_paths(figures):
    source, motion, robot = figures
    turn = robots.transform(robots.Rotation.from_euler('x', 90, degrees=True), (0.1, 0.2, 0.3))
    clip = Clip.of(source, motion, turn)
    imitator = imitator_of(clip, motion, robot, LINKS, joints={}, scale=1.0)
    np.testing.assert_allclose(clip.paths(('foot', 'spine')), imitator.example.paths, atol=1e-12)
    q = motion.positions_of(source)[3]
    foot = turn @ source.forward_kinematics(q, 'foot')
    np.testing.assert_allclose(clip.paths(('foot',))[3, 0], foot[:3, 3], atol=1e-12)


def test_links_that_nobody_names_are_ends_of_the_same_name(figures, tmp_path):
    source, _, robot = figures
    assert usual_links(source, robot) == {name: name for name in sorted(source.tips())}
    (tmp_path / 'other.bvh').write_text(bvh_text(bvh_values()))
    other = ik.motion.load_skeleton(tmp_path / 'other.bvh')
    with pytest.raises(ik.InvalidOption, match='--links'):
        usual_links(source, other)


def test_hands_feet_and_head_are_followed_where_a_figure_has_them(figures):
    joints = [
        ik.robot.Joint(name, 'revolute', 'base', name, axis=np.eye(3)[2], lower=-1.0, upper=1.0)
        for name in ('rhand', 'tail', 'head')
    ]
    figure = ik.Robot.from_joints('it', ['base', 'rhand', 'tail', 'head'], joints)
    assert usual_links(figure, figure) == {'rhand': 'rhand', 'head': 'head'}


def test_the_playhead_shows_every_frame_for_a_period_and_begins_again():
    playhead = Playhead(4, 0.1)
    shown = []
    for _ in range(10):
        shown.append(playhead.frame)
        playhead.advance(0.1)
    assert shown == [0, 1, 2, 3, 0, 1, 2, 3, 0, 1]
    playhead.go_to(2)
    playhead.speed = 0.5
    playhead.advance(0.1)
    assert playhead.frame == 2
    playhead.advance(0.1)
    assert playhead.frame == 3
    playhead.playing = False
    playhead.advance(5.0)
    assert playhead.frame == 3
    for far, frame in ((99, 3), (-5, 0)):
        playhead.go_to(far)
        assert playhead.frame == frame


@pytest.mark.parametrize(('frames', 'period'), [(0, 0.1), (3, 0.0), (3, float('nan'))])
def test_a_clip_of_nothing_is_refused(frames, period):
    with pytest.raises(ik.InvalidOption, match='not a clip'):
        Playhead(frames, period)
