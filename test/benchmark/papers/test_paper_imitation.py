# SPDX-License-Identifier: Apache-2.0
"""Joined hands and a written letter: figures, paths and the measure of a shape."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.paper_results import rows_of

from benchmark.papers import imitation
from benchmark.papers.imitation import HANDS, joined_hands, letter, proportioned, shape_error
from ik_core.retargeting.example import link_paths
from ik_core.robot.human_model import human


def test_shape_error_ignores_place_turn_and_size_but_not_mirroring_or_bends():
    path = letter()[:, 0] + np.linspace(0.0, 0.1, 60)[:, None] ** 2 * [1.0, 0.0, 0.0]
    turn = Rotation.from_rotvec([0.4, -1.0, 2.0]).as_matrix()
    other = 0.3 * path @ turn.T + [1.0, 2.0, 3.0]
    assert shape_error(other, path) == pytest.approx(0.0, abs=1e-12)
    bent = path.copy()
    bent[20] += [0.06, 0.0, 0.0]
    assert 0.06 / 60 < shape_error(bent, path) < 0.06 / 60 * 4
    corkscrew = np.random.default_rng(0).normal(size=(9, 3))
    corkscrew -= corkscrew.mean(axis=0)
    turned = Rotation.align_vectors(corkscrew, corkscrew * [1, 1, -1])[0].apply(
        corkscrew * [1, 1, -1]
    )
    left = corkscrew - (corkscrew * turned).sum() / (turned**2).sum() * turned
    expected = np.linalg.norm(left, axis=1).mean()
    assert shape_error(corkscrew * [1, 1, -1], corkscrew) == pytest.approx(expected)
    assert expected > 0.1


def test_figure_has_longer_arms_and_legs_and_a_shorter_trunk():
    person, other = human(imitation.STATURE), proportioned(1.2, 0.8)
    same = proportioned(1.0, 1.0)
    q = np.random.default_rng(0).uniform(person.lower, person.upper)
    for first, last, times in (
        ('left_upper_arm', 'left_forearm', 1.2),
        ('right_shank', 'right_foot', 1.2),
        ('right_fingers', 'right_fingertips', 1.2),
        ('pelvis', 'lumbar_3_link', 0.8),
        ('left_upper_arm', 'right_upper_arm', 0.8),
        ('left_thigh', 'right_thigh', 0.8),
    ):
        lengths = [
            np.linalg.norm(
                np.subtract(*(r.forward_kinematics(q, k)[:3, 3] for k in (first, last)))
            )
            for r in (person, same, other)
        ]
        assert lengths[1] == pytest.approx(lengths[0])
        assert lengths[2] == pytest.approx(times * lengths[0])


def test_performer_has_its_hands_joined_and_writes_the_letter():
    person = human(imitation.STATURE)
    for links, paths in ((HANDS, joined_hands()), (HANDS[1:], letter())):
        motion = imitation.performed(person, links, paths)
        assert np.abs(link_paths(person, motion.positions, links) - paths).max() < 1e-4
        assert np.abs(np.diff(motion.positions, axis=0)).max() < 0.2
    assert np.ptp(letter()[:, 0, 2]) == pytest.approx(imitation.A_HEIGHT, rel=0.05)


def test_claims_turn_when_copied_angles_do_no_harm_and_the_imitation_does():
    rows = rows_of('imitation')
    verdicts = [claim.verdict for claim in imitation.claims(rows)]
    assert verdicts == ['yes', 'yes', 'partly', 'yes', 'yes']
    other = {1.0: 1e-5, 1e-5: 1.0}
    swapped = [
        row if row['weight'] else {**row, 'beta': other.get(row['beta'], row['beta'])}
        for row in rows
    ]
    verdicts = [claim.verdict for claim in imitation.claims(swapped)]
    assert verdicts == ['no', 'no', 'no', 'no', 'yes']


@pytest.mark.parametrize(
    ('weights', 'verdict'), [((0.001, 0.01, 0.1), 'no'), ((0.001,), 'partly'), ((), 'yes')]
)
def test_orientations_are_to_follow_within_a_degree(weights, verdict):
    rows = rows_of('imitation')
    turned = [{**row, 'turn_deg': 5.0} if row['weight'] in weights else row for row in rows]
    assert imitation.oriented(turned).verdict == verdict
