# SPDX-License-Identifier: Apache-2.0
"""Quaternions and matrices: the same results, and what is said of their times."""

import numpy as np
import pytest
from scipy.spatial.transform import Rotation
from support.paper_results import rows_of

from benchmark.papers import representation
from benchmark.papers.representation import (
    AXES,
    HOMOGENEOUS,
    MATRIX,
    QUATERNION,
    REPRESENTATIONS,
    TASKS,
    call,
    chain,
    error,
    reference,
)


@pytest.mark.parametrize('axes', AXES)
def test_the_reference_is_that_of_scipy(axes):
    own = chain(7, axes)
    places, columns = reference('jacobian', own)
    turn, place, found = Rotation.identity(), np.zeros(3), []
    for offset, axis, angle in zip(own.offsets, own.axes, own.q, strict=True):
        place = place + turn.apply(offset[:3, 3])
        turn = turn * Rotation.from_matrix(offset[:3, :3]) * Rotation.from_rotvec(angle * axis)
        found.append((place, turn.apply(axis)))
    np.testing.assert_allclose(places.astype(float), [at for at, _ in found], atol=1e-14)
    expected = [np.cross(axis, place - at) for at, axis in found]
    np.testing.assert_allclose(columns.astype(float), expected, atol=1e-14)


def test_no_turn_of_a_sweep_leads_away_from_the_goal():
    own = chain(20, 'any')
    places, tips = reference('sweep', own)
    away = np.linalg.norm([*tips.astype(float), places[-1].astype(float)] - own.goal, axis=1)
    assert (np.diff(away) >= -1e-12).all()
    assert away[0] < 0.7 * away[-1]


@pytest.mark.parametrize('name', REPRESENTATIONS)
@pytest.mark.parametrize('task', TASKS)
@pytest.mark.parametrize('axes', AXES)
def test_all_representations_compute_the_same(name, task, axes):
    own = chain(9, axes)
    found = call(REPRESENTATIONS[name], task, axes, own)(2)
    assert error(task, found, reference(task, own)) < 1e-14


def changed(rows, name, ratio):
    return [{**r, 'ratio': ratio} if r['representation'] == name else r for r in rows]


def test_claims_fall_with_their_numbers():
    rows = rows_of('representation')
    assert representation.independent(rows).verdict == 'yes'
    worse = [{**r, 'error': 1e-9} for r in rows]
    assert representation.independent(worse).verdict == 'no'
    for other in (MATRIX, HOMOGENEOUS):
        equal = changed(changed(rows, other, 1.0), QUATERNION, 1.0)
        assert representation.cheaper(equal, 'transforms', other).verdict == 'no'
        half = changed(equal, QUATERNION, 0.5)
        assert representation.cheaper(half, 'transforms', other).verdict == 'yes'


def test_the_figure_is_drawn_from_the_rows():
    pytest.importorskip('matplotlib')
    axes = representation.draw(rows_of('representation')).axes
    assert [len(one.lines) for one in axes] == [6, 6, 6]
