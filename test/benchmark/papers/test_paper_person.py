# SPDX-License-Identifier: Apache-2.0
"""The experiment on the shipped figure: its clips, and pictures of all key frames."""

import numpy as np

from benchmark.papers import person
from ik_core.retargeting.human_motions import MOTIONS, human_motion


def test_clips_are_of_71_limited_angles_and_six_goals_inside_the_limits():
    for name, is_cycle in MOTIONS.items():
        clip = person.clip_of(name)
        angles = np.delete(np.arange(clip.robot.n), clip.robot.root_joints)
        assert len(angles) == 71
        assert np.isfinite([clip.robot.lower[angles], clip.robot.upper[angles]]).all()
        assert (clip.q >= clip.robot.lower).all()
        assert (clip.q <= clip.robot.upper).all()
        assert clip.goals.shape == (len(clip.q), 6, 3)
        assert not is_cycle or len(clip.q) > 0.9 * person.LONG * person.RATE


def test_goals_are_where_the_figure_is():
    clip = person.clip_of('wave')
    for frame in (0, 100):
        for link, goal in zip(clip.links, clip.goals[frame], strict=True):
            here = clip.robot.forward_kinematics(clip.q[frame], link)[:3, 3]
            np.testing.assert_allclose(goal, here, atol=1e-12)


def test_each_key_frame_of_the_jump_has_a_picture_with_its_goals():
    made = list(person.pictures('6', 'jump'))
    poses, goals = ([r for r in made if r['part'] == part] for part in ('pose', 'goal'))
    assert len(poses) == len(goals) == person.PHASES == 11
    ends = np.array(str(poses[5]['values']).split(), float).reshape(-1, 2)
    points = np.array(str(goals[5]['values']).split(), float).reshape(-1, 2)
    links = human_motion('jump').tips
    for link, point in zip(links, points, strict=True):
        if not link.endswith('heel'):  # no bone leads there
            assert np.linalg.norm(ends - point, axis=1).min() < 0.012
