# SPDX-License-Identifier: Apache-2.0
"""Captured goals, the methods that follow them, and what is said of both."""

from dataclasses import replace

import numpy as np
import pytest
from support import robots
from support.paper_results import rows_of

import ik_core as ik
from benchmark.papers import line_search
from benchmark.papers.line_search import (
    GOAL_LINKS,
    Clip,
    Method,
    Walk,
    follow,
    new_problem,
    set_goals,
    solve,
    squared_error,
    walks,
)
from ik_core.cli.main import main
from ik_core.retargeting.example import link_paths

CHAINS = ('lhand', 'rhand', 'lfoot', 'rfoot', 'head')


def small_figure():
    """A floating pelvis with five limbs of two hinges, which end in the links of the goals."""
    joints = [ik.robot.Joint('root', 'floating', 'world', 'root')]
    for i, link in enumerate(CHAINS):
        away = robots.transform(translation=[0.0, 0.1 * i, 0.3])
        limits = {'lower': -1.5, 'upper': 1.5}
        joints += [
            ik.robot.Joint(f'{link}/a', 'revolute', 'root', f'{link}_a', away, **limits),
            ik.robot.Joint(f'{link}/b', 'revolute', f'{link}_a', f'{link}_b', away,
                     np.array([0.0, 1.0, 0.0]), **limits),
            ik.robot.Joint(f'{link}/c', 'fixed', f'{link}_b', link, away),
        ]  # fmt: skip
    links = ['world', *(joint.child for joint in joints)]
    return ik.Robot.from_joints('small', links, joints, free_joints=['root'])


def small_clip(frames=9):
    """The small figure in slow motion, some of it beyond its limits and turns away."""
    robot = small_figure()
    q = np.linspace(np.full(robot.n, -0.2), np.full(robot.n, 0.4), frames)
    q[:, 7] += 2.0 * np.pi
    q[:, 8] += 1.3
    return Clip('small', robot, q, link_paths(robot, q, GOAL_LINKS))


@pytest.fixture
def clip():
    return small_clip()


def test_a_walk_starts_in_the_captured_pose_inside_the_limits(clip):
    start = clip.start(8)
    robot = clip.robot
    assert ((robot.lower <= start) & (start <= robot.upper)).all()
    assert start[7] == pytest.approx(0.4)
    assert start[8] == 1.5
    np.testing.assert_allclose(np.delete(start, [7, 8]), 0.4)


def test_walks_take_every_frame_but_the_first_ones_once(clip):
    made = walks([clip], 2 / 60, 1000)
    goals = sorted(frame for walk in made for frame in walk.frames[1:])
    assert goals == list(range(2, 9))
    assert all(set(np.diff(walk.frames)) == {2} for walk in made)
    assert [walk.frames[0] for walk in walks([clip], 4 / 60, 3)] == [0, 2]


def test_a_method_follows_the_goals_of_a_walk(clip):
    solver = Method('levenberg_marquardt').make(max_iterations=100)
    ends = list(follow(Walk(clip, range(0, 9, 2)), solver, last=False))
    assert len(ends) == 4
    for (q, error, _), frame in zip(ends, (2, 4, 6, 8), strict=True):
        gaps = link_paths(clip.robot, [q], GOAL_LINKS)[0] - clip.goals[frame]
        assert error == pytest.approx((gaps**2).sum() / 0.2**2)
        assert np.linalg.norm(gaps, axis=1).max() <= 0.0101 or frame == 8


def test_the_last_point_is_that_of_the_last_iteration(clip):
    problem = new_problem(clip.robot)
    set_goals(problem, clip.goals[8])
    diverging = Method('jacobian_transpose', 'engell_erleben', {'step_length': 1.0})
    solver = diverging.make(max_iterations=7, record_history=True)
    history = solver.solve(problem, clip.start(0)).history
    last, iterations = solve(solver, problem, clip.start(0), last=True)
    assert iterations == len(history) == 7
    assert squared_error(problem, last) == pytest.approx(history[-1] / 0.2**2)
    best, _ = solve(solver, problem, clip.start(0), last=False)
    assert squared_error(problem, best) < squared_error(problem, last)


def test_a_box_is_that_of_matplotlib():
    cbook = pytest.importorskip('matplotlib.cbook')
    values = np.random.default_rng(0).lognormal(sigma=1.5, size=60)
    ours, (theirs,) = line_search.box(values), cbook.boxplot_stats(values)
    for key, name in [('median', 'med'), ('q25', 'q1'), ('q75', 'q3'), ('low', 'whislo'),
                      ('high', 'whishi')]:  # fmt: skip
        assert ours[key] == pytest.approx(theirs[name])
    fliers = [float(word) for word in ours['values'].split()]
    np.testing.assert_allclose(fliers, sorted(theirs['fliers']), rtol=1e-3)
    assert line_search.box([1.0, 2.0])['values'] == ''


@pytest.mark.parametrize(
    ('slot', 'each', 'count'), [(0.015, 7.6e-6, 2000), (0.015, 1.1e-4, 140), (1e-6, 1e-3, 1)]
)
def test_caps_have_two_digits(slot, each, count):
    assert line_search.iterations(slot, each) == count


def test_a_steady_motion_does_not_jitter_and_a_shaken_one_does(clip):
    clip = replace(clip, between={'root': 'pelvis'})
    walk = Walk(clip, range(0, 9, 2))
    steady = [clip.q[frame] for frame in walk.frames[1:]]
    bends, distances = line_search.movement(walk, steady)
    np.testing.assert_allclose(bends, 0.0, atol=1e-9)
    np.testing.assert_allclose(distances, 0.0, atol=1e-9)
    shaken = [q + 0.01 * (-1) ** i * np.eye(len(q))[0] for i, q in enumerate(steady)]
    bends, distances = line_search.movement(walk, shaken)
    np.testing.assert_allclose(bends, 4.0)
    np.testing.assert_allclose(distances, 1.0)


def test_errors_that_swing_between_two_values_are_flips():
    count = line_search.DESCENT
    swinging = np.resize([5.0, 9.0], count + 1)
    assert line_search.flips(swinging)
    assert not line_search.flips(swinging[:100])
    assert not line_search.flips(np.resize([9.0, 6.0, 5.0], count + 1))
    assert not line_search.flips(np.geomspace(9.0, 1.0, count + 1))
    assert not line_search.flips(np.geomspace(1.0, 1e300, count + 1))
    assert not line_search.flips(np.full(count + 1, 3.0))


def test_a_fixed_step_diverges_beyond_the_bound_and_not_below(clip):
    low = line_search.bound([clip], 5)['low']
    high = line_search.bound([clip], 5)['high']
    for problem, start, goals in line_search.cases([clip], False, 5):
        short = line_search.descent(problem, start, goals, 0.7 * low)
        assert (np.diff(short) <= 1e-12).all()
        long = line_search.descent(problem, start, goals, 3.0 * high)
        assert long[-1] > 1e3 * long[0]


def test_the_unit_of_the_step_is_that_of_the_preset():
    preset = ik.make_solver('jacobian_transpose', preset='engell_erleben').options
    assert preset.step_length == pytest.approx(line_search.TAU * line_search.THEIRS) == 0.25


def test_a_held_pelvis_stays_where_the_capture_has_it(clip):
    problem, start, goals = line_search.cases([clip], True, 5)[0]
    assert len(goals) == len(problem.goals) == 5
    np.testing.assert_allclose(start[:6], clip.q[line_search.FRAMES, :6])
    assert set(clip.robot.joint_names[:6]) == set(problem.frozen_joints)


def test_without_clips_there_is_a_sentence(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv('IK_MOCAP_DIR', raising=False)
    assert main(['bench', 'line_search']) == 2
    assert 'needs motion capture' in capsys.readouterr().err
    assert main(['bench', 'line_search', '--mocap', str(tmp_path)]) == 2
    assert 'there is no AMC file' in capsys.readouterr().err


def changed(rows, part, case, method, **numbers):
    """The rows with other numbers in one of them."""
    key = (part, case, method)
    return [{**r, **numbers} if (r['part'], r['case'], r['method']) == key else r for r in rows]


def test_claims_fall_with_their_numbers():
    rows = rows_of('line_search')
    better = changed(rows, 'error', '0.7 s', 'JI', median=0.0, q25=0.0, q75=0.0)
    assert line_search.against_inverse(better, '0.7 s', 'clips').verdict == 'no'
    calm = changed(rows, 'step held', '0.05', 'transpose', high=0.0)
    assert line_search.flipping_step(calm).verdict == 'no'


def test_improvement_is_judged_in_as_many_iterations_and_in_the_same_time():
    rows = rows_of('line_search')
    better = [
        {**r, 'median': 0.001, 'high': 0.01} if r['method'] == 'line search' else r for r in rows
    ]
    assert [claim.verdict for claim in line_search.improved(better)] == ['yes', 'yes']
    one = changed(better, 'equal', '1 s, 50', 'line search', high=99.0)
    claim = line_search.improved(one)[0]
    assert claim.verdict == 'partly'
    assert claim.ours.endswith('holds at 20, 100 to 1000')
    slower = changed(better, 'slot', '0.5 ms', 'line search', median=9.0)
    assert line_search.improved(slower)[1].verdict == 'partly'


def test_problems_that_begin_weakly_are_partly():
    rows = rows_of('line_search')
    for high, verdict in ((0.011, 'no'), (0.015, 'partly'), (0.5, 'yes')):
        again = changed(rows, 'error', '0.05 s', 'transpose', high=0.01)
        again = changed(again, 'error', '1 s', 'transpose', high=high)
        assert line_search.troubled(again)[0].verdict == verdict


def test_the_figure_is_drawn_from_the_rows():
    pytest.importorskip('matplotlib')
    figure = line_search.draw(rows_of('line_search'))
    titles = [axes.get_title() for axes in figure.axes]
    assert titles[:3] == [f'As Fig. {n}: frames {s} s apart'
                          for n, s in ((9, '0.05'), (10, '0.7'), (11, '1'))]  # fmt: skip
    assert len(titles) == 6
