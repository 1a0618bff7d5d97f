# SPDX-License-Identifier: Apache-2.0
"""Tests of Buss' advice: the measures, the motions, and the claims that follow from them."""

import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest
from support.paper_results import rows_of
from support.places import URDF

from benchmark.papers import buss_advice
from benchmark.papers.buss import FIGURES
from benchmark.papers.buss_advice import NEAR_METHODS, chain_tracked, measures, on_the_way


def test_measures_of_a_motion_with_one_jump():
    joints = np.zeros((11, 2))
    joints[5:, 0] = 0.3
    found = measures(joints, np.full(11, 0.5))
    assert found['largest'] == pytest.approx(0.3)
    assert found['shaking_percent'] == pytest.approx(100 * 2 / 9)
    assert found['acceleration'] == pytest.approx(2 * 0.3**2 / 18)
    assert found['error'] == 0.5


@pytest.mark.parametrize('figure', ['Y', 'double Y'])
def test_typical_link_is_the_median_of_those_in_the_file(figure):
    joints = ElementTree.parse(URDF / f'{FIGURES[figure]}.urdf').getroot().iterfind('joint')
    origins = [joint.find('origin').get('xyz').split() for joint in joints]
    lengths = np.linalg.norm(np.array(origins, float), axis=1)
    expected = np.median(lengths[lengths > 0.0])
    assert buss_advice.typical_link(figure) == pytest.approx(expected)


@pytest.mark.parametrize('name', NEAR_METHODS)
def test_chain_comes_near_a_target_in_reach_with_either_jacobian(name):
    solver, options = NEAR_METHODS[name]
    for more in buss_advice.JACOBIANS.values():
        rng = np.random.default_rng(0)
        found = on_the_way(0.5, rng, solver, {**options, **more})
        assert found['error'] < 0.5
        assert found['acceleration'] > 0.0


def test_clamp_limits_the_largest_change_of_an_angle():
    free = chain_tracked(3, 1.0, 'jacobian_transpose', preset='buss_pure')
    held = chain_tracked(3, 1.0, 'jacobian_transpose', preset='buss_pure', max_step=0.05)
    assert free['largest'] > 0.1
    assert held['largest'] == pytest.approx(0.05)


@pytest.mark.parametrize(
    ('part', 'index', 'change', 'verdict'),
    [
        ('near', 3, {'acceleration': 1.0}, 'no'),
        ('dmax', 4, {'error': 10.0}, 'no'),
        ('single', 6, {'error': 10.0, 'shaking_percent': 5.0}, 'no'),
        ('clamp', 7, {'acceleration': 1e9}, 'no'),
    ],
)
def test_claims_turn_with_their_measures(part, index, change, verdict):
    """The alternate Jacobian, half a link, the transpose or the clamps get other numbers."""
    rows = rows_of('buss_advice')
    assert buss_advice.claims(rows)[index].verdict != verdict
    for row in rows:
        is_meant = {
            'near': True,
            'dmax': row['value'] == buss_advice.HALF,
            'single': row['method'] == 'transpose',
            'clamp': row['value'] != np.inf,
        }[part]
        if row['part'] == part and is_meant:
            row.update(change)
    assert buss_advice.claims(rows)[index].verdict == verdict
