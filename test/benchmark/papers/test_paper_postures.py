# SPDX-License-Identifier: Apache-2.0
"""Postures beside those of the paper's figures, and what is said of them."""

import numpy as np
import pytest
from support import mocap_figures as figures
from support.paper_results import rows_of

from benchmark.papers import postures
from benchmark.papers.line_search import Method, load_clips
from ik_core.robot.human_model import human


def test_pictures_are_seen_from_the_side_and_from_the_front():
    ahead, up, aside = np.eye(3)[[0, 2, 1]]
    side = postures.seen(ahead, up, 0.0)
    np.testing.assert_allclose(side @ np.array([ahead, up, aside]).T, [[1, 0, 0], [0, 1, 0]])
    front = postures.seen(ahead, up, 90.0)
    np.testing.assert_allclose(
        front @ np.array([ahead, up, -aside]).T, [[0, 0, 1], [0, 1, 0]], atol=1e-12
    )


def test_the_leg_reaches_its_third_goal_without_limits_only():
    found = [row for row in postures.leg_rows() if row['part'] == 'leg']
    third = list(postures.LEG)[postures.THIRD]
    errors = {row['method']: row['median'] for row in found if row['case'] == third}
    assert errors['none'] < 0.2 < 20.0 < errors['limits']
    assert {row['case'] for row in found} == set(postures.LEG)


def test_a_picture_has_all_bones_of_a_figure():
    robot = human()
    q = np.zeros(robot.n)
    values = postures.pose('5 0', 'limits', robot, q, postures.UPRIGHT)['values'].split()
    assert len(values) == 4 * len(postures.bones(robot, q))


def changed(rows, part, **numbers):
    """The rows with other numbers in those of a part."""
    return [{**r, **numbers} if r['part'] == part else r for r in rows]


def test_claims_fall_with_their_numbers():
    rows = rows_of('postures')
    assert postures.dragged(rows)[1].verdict == 'partly'
    assert postures.dragged(changed(rows, 'drag capped', count=0))[1].verdict == 'yes'
    assert postures.dragged(changed(rows, 'drag capped', count=3))[1].verdict == 'no'
    assert postures.dragged(changed(rows, 'drag', count=0))[0].verdict == 'no'
    assert [claim.verdict for claim in postures.at_limits(rows)] == ['yes', 'yes']
    reached = postures.at_limits(changed(rows, 'leg', median=0.1, high=1.0))
    assert [claim.verdict for claim in reached] == ['no', 'no']


def test_the_shoulder_is_to_move_less_than_wrist_and_elbow():
    rows = rows_of('postures')
    still = [
        {**r, 'median': 0.1} if (r['part'], r['case']) == ('away', 'shoulder') else r for r in rows
    ]
    assert postures.redundant(still).verdict == 'yes'
    one = [
        {**r, 'median': 9.0} if (r['case'], r['method']) == ('shoulder', 'the arms') else r
        for r in still
    ]
    assert postures.redundant(one).verdict == 'partly'


def test_the_figure_is_drawn_from_the_rows():
    pytest.importorskip('matplotlib')
    axes = postures.draw(rows_of('postures')).axes
    titles = [one.get_title(loc='left') or one.get_title() for one in axes]
    assert titles[:2] == ['Fig. 2', 'Fig. 7']
    assert [title for title in titles if title.startswith('Fig. 12')] == [
        f'Fig. 12, {name}' for name in (postures.SHOWN[0], 'captured', postures.SHOWN[1])
    ]
    assert titles[-9:] == ['Fig. 12, line search', *map(str, range(2, 10))]
    assert all(one.lines for one in axes)


@figures.needs_clips
def test_the_dragged_goal_has_sixteen_joints_and_the_line_search_does_not_flip():
    clips = {clip.name: clip for clip in load_clips(figures.clip('.'))}
    robot = clips['124_01'].robot
    assert len(postures.upper_body(robot).variables) == 16
    solver = Method('projected_gradient', 'tau_one').make(max_iterations=300)
    found, _ = postures.drag(robot, solver, False, *postures.LINES[0])
    assert postures.largest_moves(robot, found).max() < postures.FLIP
