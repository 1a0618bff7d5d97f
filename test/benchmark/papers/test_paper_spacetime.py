# SPDX-License-Identifier: Apache-2.0
"""Imitation frame by frame, with hard constraints and by spacetime constraints."""

import numpy as np
import pytest
from scipy.linalg import block_diag
from scipy.optimize import minimize
from support.paper_results import rows_of

from benchmark.papers import spacetime
from benchmark.papers.imitation import performed
from benchmark.papers.spacetime import (
    LIMBS,
    TIP,
    BandedSystem,
    arm,
    by_projection,
    by_spacetime,
    jerk,
    reach,
    splines,
)
from ik_core.retargeting.example import link_paths


@pytest.fixture(scope='module')
def case():
    """The other arm, the performer's motion and the path, of a reach that stays bent."""
    paths = reach(0.8, 12)
    return arm(LIMBS), performed(arm(1.0), [TIP], paths), paths


def test_the_path_turns_at_a_share_of_the_whole_arm():
    paths, other = reach(0.9, 61), arm(LIMBS)
    shoulder = other.forward_kinematics(np.zeros(other.n), 'right_upper_arm')[:3, 3]
    whole = np.linalg.norm(other.forward_kinematics(np.zeros(other.n), TIP)[:3, 3] - shoulder)
    away = np.linalg.norm(paths[:, 0] - shoulder, axis=1)
    assert away.max() == pytest.approx(0.9 * whole)
    assert away.argmax() == 30


def test_hard_constraints_give_the_nearest_angles_on_the_path(case):
    other, motion, paths = case
    found = by_projection(other, motion, paths)
    np.testing.assert_allclose(link_paths(other, found, [TIP]), paths, atol=1e-9)
    frame = 6
    source, point = motion.positions[frame], paths[frame, 0]
    reference = minimize(
        lambda q: ((q - source) ** 2).sum(),
        source,
        jac=lambda q: 2.0 * (q - source),
        constraints={
            'type': 'eq',
            'fun': lambda q: other.forward_kinematics(q, TIP)[:3, 3] - point,
            'jac': lambda q: other.jacobian(q, TIP)[:3],
        },
        method='SLSQP',
        options={'ftol': 1e-14, 'maxiter': 200},
    )
    np.testing.assert_allclose(found[frame], reference.x, atol=1e-5)


def test_spacetime_is_on_the_path_and_in_the_splines(case):
    other, motion, paths = case
    found = by_spacetime(other, motion, paths)
    assert np.abs(link_paths(other, found, [TIP]) - paths).max() < 1e-3
    basis = splines(len(found)).toarray()
    np.testing.assert_allclose(basis.sum(axis=1), 1.0)
    change = found - motion.positions
    fitted = basis @ np.linalg.lstsq(basis, change, rcond=None)[0]
    np.testing.assert_allclose(change, fitted, atol=1e-9)


def test_jerk_is_the_third_difference():
    t = np.arange(9.0)[:, None]
    assert jerk(t**2) == pytest.approx(0.0, abs=1e-12)
    assert jerk(-(t**3)) == pytest.approx(6.0)


def test_claims_turn_with_their_rows():
    rows = rows_of('spacetime')
    verdicts = [claim.verdict for claim in spacetime.claims(rows)]
    names = {'frames': 'spacetime', 'spacetime': 'frames'}
    swapped = [row | {'method': names.get(row['method'], row['method'])} for row in rows]
    turned = [claim.verdict for claim in spacetime.claims(swapped)]
    assert verdicts[0] == turned[0]
    assert verdicts[3] == 'no'
    smooth = [row | {'jerk': 1.0} for row in rows]
    assert spacetime.claims(smooth)[0].verdict == 'no'


def test_spacetime_has_to_take_much_longer_in_all_cases():
    rows = [
        row | {'time_ms': 100.0 if row['method'] == 'spacetime' else 1.0}
        for row in rows_of('spacetime')
    ]
    assert spacetime.claims(rows)[2].verdict == 'yes'
    more = [row | ({'time_ms': 1.0} if row['frames'] == 240 else {}) for row in rows]
    assert spacetime.claims(more)[2].verdict == 'partly'
    assert spacetime.claims([row | {'time_ms': 1.0} for row in rows])[2].verdict == 'no'


def test_banded_system_is_that_of_whole_matrices():
    """The normal equations by Kronecker products, solved as a dense matrix."""
    rng = np.random.default_rng(0)
    basis, n = splines(11), 3
    roots = rng.normal(size=(11, n, n))
    blocks, pull = roots @ roots.swapaxes(1, 2), rng.normal(size=(11, n))
    whole = np.kron(basis.toarray(), np.eye(n))
    expected = np.linalg.solve(whole.T @ block_diag(*blocks) @ whole, whole.T @ pull.ravel())
    found = BandedSystem(basis, n).solve(blocks, pull)
    np.testing.assert_allclose(found.ravel(), expected, rtol=1e-8, atol=1e-10)
