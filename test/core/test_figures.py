# SPDX-License-Identifier: Apache-2.0
"""Every figure of the project, drawn and looked at: nothing overlaps, everything has its unit."""

from dataclasses import replace

import numpy as np
import pytest
from support.paper_results import RESULTS
from support.places import ROOT

pytest.importorskip('matplotlib')


import itertools
import re

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.colors import to_hex
from matplotlib.text import Text

import ik_core as ik
from benchmark import PAPERS, runner, solve
from benchmark.results import read_csv
from ik_core import figures
from ik_core.cli.main import main
from ik_core.exceptions import InvalidOption
from ik_core.figures import COLOURS, LOOKS, draw_file, line_style, new_figure, nth_style, styled
from ik_core.path.figure import path_figure
from ik_core.reachability import figure as slices
from ik_core.reachability.cloud import reach_cloud
from ik_core.reachability.figure3d import draw_workspace
from ik_core.reachability.maps import reachability_map
from ik_core.robot.robot_sources import load_robot
from ik_core.tracking import MotionLimits, Tracker
from ik_core.tracking.recording import Recorder, read_recording, replay
from ik_core.tracking.recording.figure import draw_errors
from ik_core.tracking.recording.history import histories
from ik_core.tracking.recording.replays import _joint_panels

TOUCH = 1.0  # [pixels] By which texts may overlap: their boxes have some air
PALETTE = {colour.lower() for colour in figures.COLOURS}
UNIT = re.compile(r'\[[^]]+\]')


def faults(figure):
    """All that is wrong with a figure, as sentences."""
    canvas = FigureCanvasAgg(figure)
    canvas.draw()
    renderer = canvas.get_renderer()
    return [
        *_overlaps(figure, renderer),
        *_cut_off(figure, renderer),
        *_hidden_lines(figure),
        *_odd_texts(figure),
    ]


def axis_labels(figure):
    """The labels of all axes."""
    return [
        label
        for axes in figure.axes
        for axis in (axes.xaxis, axes.yaxis, getattr(axes, 'zaxis', axes.xaxis))
        if (label := axis.get_label_text())
    ]


def odd_colours(figure):
    """The colours of lines that are not of the palette, nor grey."""
    lines = [line for axes in figure.axes for line in axes.get_lines() if len(line.get_xdata())]
    used = {to_hex(line.get_color()).lower() for line in lines}
    return {c for c in used - PALETTE if not c[1:3] == c[3:5] == c[5:7]}


def texts(figure, renderer):
    """The texts that are seen, with their boxes."""
    unseen = {id(label) for axes in figure.axes for label in _unseen_tick_labels(axes)}
    found = []
    for text in figure.findobj(Text):
        if text.get_visible() and text.get_text().strip() and id(text) not in unseen:
            box = Text.get_window_extent(text, renderer)  # without the arrow of an annotation
            if box.width > TOUCH and box.height > TOUCH:
                found.append((text, box))
    return found


def _unseen_tick_labels(axes):
    """Ticks exist beyond the ends of their axis too."""
    for axis in axes._axis_map.values():
        low, high = sorted(axis.get_view_interval())
        for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
            if not low <= tick.get_loc() <= high:
                yield from (tick.label1, tick.label2)


def _overlaps(figure, renderer):
    for (one, a), (other, b) in itertools.combinations(texts(figure, renderer), 2):
        wide = min(a.x1, b.x1) - max(a.x0, b.x0)
        high = min(a.y1, b.y1) - max(a.y0, b.y0)
        if wide > TOUCH and high > TOUCH:
            yield f'{one.get_text()!r} lies on {other.get_text()!r}'


def _cut_off(figure, renderer):
    width, height = figure.canvas.get_width_height()
    for text, box in texts(figure, renderer):
        if min(box.x0, box.y0) < -TOUCH or box.x1 > width + TOUCH or box.y1 > height + TOUCH:
            yield f'{text.get_text()!r} is cut off'


def _hidden_lines(figure):
    for axes in (axes for axes in figure.axes if axes.get_legend()):
        box = axes.get_legend().get_window_extent()
        for line in axes.get_lines():
            path = line.get_transform().transform_path(line.get_path())
            if path.intersects_bbox(box, filled=False):
                yield f'a legend lies over {line.get_label()!r} in {axes.get_title()!r}'


def _odd_texts(figure):
    for text in figure.findobj(Text):
        if re.search(r'\bus\b|\[us', text.get_text()):
            yield f'{text.get_text()!r} says us for µs'


URDF = (ROOT / 'urdf' / 'dual_arm.urdf').read_text()
TIPS = ('left_palm', 'right_palm')
# How the labels of axes begin whose quantity has no unit
NUMBERS = {
    'iteration', 'iterations', 'joints', 'step', 'beta', 'share of the way',
    'position between the limits', 'velocity over its limit',
    'mean error over the largest', 'mean error over the length', "mean jerk over the example's",
    'reversals before 1 cm', 'ticks to 1 cm', "share of the joints' top speed",
    "step length in the source's units", 'threshold of the stop rule', 'reached',
    'fraction of orientations', 'acceleration, alternate over usual', 'difference over the length',
    '1 - stretch', "jerk over the performer's",
}  # fmt: skip


@pytest.fixture(scope='module')
def recorded(tmp_path_factory):
    """A run of two arms: idle, goals in reach and out of it, an end."""
    robot = load_robot('dual_arm')
    problem = ik.IkProblem(robot, [ik.PoseTask(tip) for tip in TIPS])
    q0, limits = robot.middle_configuration, MotionLimits.of(robot, acceleration=20.0)
    tracker = Tracker(problem, 100.0, limits=limits, q0=q0)
    recorder = Recorder(URDF)
    tracker.observe(recorder)
    for tick in range(60):
        if tick in (10, 40):
            for index, tip in enumerate(TIPS):
                goal = robot.forward_kinematics(q0 + 0.1, tip)
                goal[2, 3] += 5.0 * (tick == 40)
                tracker.set_goal(index, goal, 7.0 + tick / 100.0)
        tracker.tick(7.0 + tick / 100.0)
    path = tmp_path_factory.mktemp('recorded') / 'run.npz'
    recorder.save(path)
    return path


@pytest.fixture(scope='module')
def reach():
    robot = load_robot('scara')
    return robot, reachability_map(robot, step=0.15, restarts=2, manipulability=True)


def peers_figure():
    from benchmark.peers.figure import draw

    return draw(read_csv(ROOT / 'benchmark' / 'peers.csv'))


FIGURES = {
    **{
        name: lambda name=name: runner.experiment(name).draw(read_csv(RESULTS / f'{name}.csv'))
        for name in PAPERS
    },
    'solvers': lambda: solve.draw(read_csv(ROOT / 'benchmark' / 'solve.csv')),
    'peers': peers_figure,
}


def look_at(draw):
    with styled():
        figure = draw()
        assert faults(figure) == []
        assert odd_colours(figure) == set()
    assert axis_labels(figure)
    for label in axis_labels(figure):
        assert UNIT.search(label) or any(label.startswith(name) for name in NUMBERS), label
    return figure


@pytest.mark.parametrize('name', FIGURES)
def test_a_benchmark_figure_has_no_faults(name):
    look_at(FIGURES[name])


def test_the_figures_of_a_reach_map_have_no_faults(reach):
    robot, made = reach
    look_at(lambda: slices._slices(made))
    look_at(lambda: draw_workspace(robot, made))


def test_only_where_colours_differ_a_bar_says_what_they_mean(reach):
    robot, made = reach
    plain = replace(made, manipulability=None)
    turned = replace(plain, orientations=2)
    for each, slice_bars, space_bars in ((made, 1, 1), (plain, 0, 0), (turned, 1, 1)):
        sliced = look_at(lambda each=each: slices._slices(each))
        assert len(sliced.axes) == 3 * (1 if each.manipulability is None else 2) + slice_bars
        assert len(look_at(lambda each=each: draw_workspace(robot, each)).axes) == 1 + space_bars


def test_the_figures_of_a_recording_have_no_faults(recorded):
    recording = read_recording(recorded)
    figure = look_at(lambda: draw_errors(recording, histories(recording)))
    assert len(figure.axes[4].get_lines()) == recording.robot.n + 2
    figure = look_at(lambda: _joint_panels(recording.robot, replay(recording)))
    for line in figure.axes[0].get_lines()[:2]:
        assert line.get_xdata()[0] == 0.0, 'time since the first tick'


def test_the_figure_of_a_motion_along_a_path_has_no_faults():
    robot = ik.load_robot('ur5e')
    start = robot.forward_kinematics([0.3, -1.2, 1.4, -1.8, -1.5, 0.2], 'tool0')
    poses = [start + np.outer([0.0, 0.05 * k, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0]) for k in range(3)]
    limits = ik.MotionLimits.of(robot, acceleration=5.0, jerk=100.0)
    result = ik.solve_path(ik.IkProblem(robot, [ik.PoseTask('tool0')]), poses, limits=limits)
    figure = look_at(lambda: path_figure(result, robot, 'tool0', limits))
    joints, speeds, tips = figure.axes
    assert len(joints.get_lines()) == robot.n
    assert 0.1 < max(np.abs(line.get_ydata()).max() for line in speeds.get_lines()) <= 1.0
    np.testing.assert_allclose(tips.get_lines()[0].get_ydata()[[0, -1]], 0.0, atol=1e-2)


def test_the_checks_see_what_they_look_for():
    def bad():
        figure = new_figure(3.0, 2.0)
        axes = figure.subplots()
        axes.plot([0, 1], [0, 1], color='red', label='x')
        axes.legend(loc='upper right')
        axes.set(xlabel='time [us]', title='a title ' * 20)
        axes.text(0.5, 0.5, 'on each')
        axes.text(0.52, 0.5, 'other')
        return figure

    with styled():
        figure = bad()
        found = ' '.join(faults(figure))
    for said in ('lies on', 'cut off', 'a legend lies over', 'us for µs'):
        assert said in found
    assert odd_colours(figure) == {'#ff0000'}


# --- histories ---------------------------------------------------------------------------------


def test_a_history_has_the_errors_of_the_recorded_joints(recorded):
    recording = read_recording(recorded)
    (run,) = histories(recording)
    columns = recording.segments[0][1]
    assert run.tips == TIPS
    np.testing.assert_allclose(run.seconds, np.arange(60) / 100.0, atol=1e-12)
    np.testing.assert_array_equal(run.q, columns['q'].reshape(-1, recording.robot.n))
    assert np.isnan(run.position_errors[:10]).all()
    assert np.isfinite(run.position_errors[10:]).all()
    goal = recording.robot.forward_kinematics(recording.robot.middle_configuration + 0.1, TIPS[0])
    for tick in (10, 25, 39):
        here = recording.robot.forward_kinematics(run.q[tick], TIPS[0])
        away = np.linalg.norm(here[:3, 3] - goal[:3, 3])
        assert run.position_errors[tick, 0] == pytest.approx(away, rel=1e-6, abs=1e-9)
    steps = np.diff(run.q, axis=0) * 100.0
    np.testing.assert_allclose(run.dq[1:], steps, atol=1e-9)


def test_places_and_speeds_are_shares_of_the_limits(recorded):
    (run,) = histories(read_recording(recorded))
    robot = load_robot('dual_arm')
    lower, upper = (-1.0, 1.0)
    share = (run.q - robot.lower) / (robot.upper - robot.lower)
    limited = np.isfinite(robot.upper - robot.lower)
    expected = lower + share[:, limited] * (upper - lower)
    np.testing.assert_allclose(run.place_in_range[:, limited], expected, atol=1e-12)
    assert np.nanmax(np.abs(run.fraction_of_speed)) <= 1.0 + 1e-9


# --- reach clouds ------------------------------------------------------------------------------


def test_a_cloud_has_the_reached_voxels_and_what_the_map_says_of_them(reach):
    _, made = reach
    cloud = reach_cloud(made)
    assert len(cloud.points) == len(cloud.values) == np.count_nonzero(made.reached) > 10
    assert (made.fraction_at(cloud.points) > 0.0).all()
    for point, value in zip(cloud.points, cloud.values, strict=True):
        x, y, z = np.rint(point / made.grid.step - made.grid.first).astype(int)
        assert value == made.manipulability[x, y, z] > 0.0
    assert cloud.shades.max() == 1.0
    half = cloud.half()
    assert (half.points[:, 1] > -1e-9).all()
    assert len(half.points) == np.count_nonzero(cloud.points[:, 1] > -1e-9)


def test_the_cloud_of_a_map_without_manipulability_has_the_share_of_orientations(reach):
    cloud = reach_cloud(replace(reach[1], manipulability=None))
    assert cloud.what == 'fraction of orientations'
    assert set(cloud.values) == {1.0}


# --- the style ---------------------------------------------------------------------------------


def test_methods_differ_and_so_do_the_things_without_a_look():
    assert len(set(LOOKS.values())) == len(LOOKS)
    looks = [tuple(nth_style(i).values()) for i in range(4 * len(COLOURS))]
    assert len(set(looks)) == len(looks)


def test_a_solver_of_another_package_has_a_look_of_its_own():
    look = tuple(line_style('gauss_newton').values())
    assert look not in LOOKS.values()
    assert look == tuple(line_style('gauss_newton').values())
    assert tuple(line_style('sqp').values()) == LOOKS['sqp']


def test_the_same_figure_is_the_same_file(tmp_path):
    files = [tmp_path / name for name in ('a.svg', 'b.svg')]
    for file in files:
        draw_file(file, FIGURES['solvers'])
    assert files[0].read_bytes() == files[1].read_bytes()


def test_an_unknown_suffix_is_refused(tmp_path):
    with pytest.raises(InvalidOption, match='xyz'):
        draw_file(tmp_path / 'a.xyz', FIGURES['solvers'])


# --- ik plot, ik bench --redraw ----------------------------------------------------------------


def test_plot_draws_what_it_is_asked_for(tmp_path, recorded, capsys):
    rows = str(ROOT / 'benchmark' / 'solve.csv')
    for argv in (
        ['workspace', 'scara', '--step', '0.15'],
        ['errors', str(recorded)],
        ['solvers', rows],
    ):
        out = tmp_path / f'{argv[0]}.png'
        assert main(['plot', *argv, '--out', str(out)]) == 0
        assert capsys.readouterr().out == f'written to {out}\n'
        assert out.read_bytes().startswith(b'\x89PNG')


def test_a_map_of_reach_is_drawn_and_that_of_another_robot_refused(tmp_path, capsys):
    saved, out = str(tmp_path / 'map.npz'), str(tmp_path / 'w.svg')
    robot = load_robot('scara')
    reachability_map(robot, step=0.15, restarts=1, manipulability=True, out=saved)
    assert main(['plot', 'workspace', 'scara', '--map', saved, '--out', out]) == 0
    assert main(['plot', 'workspace', 'panda', '--map', saved, '--out', out]) == 2
    assert "is a map of 'scara', not of 'panda'" in capsys.readouterr().err


@pytest.mark.parametrize(
    ('argv', 'said'),
    [
        (['solvers', 'none.csv'], 'none.csv'),
        (['solvers', str(RESULTS / 'buss.csv')], 'has no rows of `ik bench solve`'),
        (['solvers', '--count', '1'], '--count 1'),
        (['errors', 'none.npz'], 'none.npz'),
        (['workspace', 'scara', '--step', '5'], 'take a smaller --step'),
        (['workspace', 'scara', '--out', 'a.xyz'], 'the suffix should be one of'),
    ],
)
def test_what_can_not_be_drawn_is_refused_in_a_line(argv, said, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert main(['plot', *argv]) == 2
    error = capsys.readouterr().err
    assert said in error
    assert error.count('\n') == 1


def test_redraw_draws_from_the_rows_without_measuring(tmp_path, monkeypatch, capsys):
    for folder, name in ((ROOT / 'benchmark', 'solve'), (RESULTS, 'precision')):
        (tmp_path / f'{name}.csv').write_bytes((folder / f'{name}.csv').read_bytes())
    monkeypatch.setattr(solve, 'rows', None)  # not called
    assert main(['bench', 'solve', 'precision', 'load', '--redraw', '--out', str(tmp_path)]) == 0
    for suffix in ('svg', 'png'):
        drawn = {path.name for path in tmp_path.glob(f'*.{suffix}')}
        assert drawn == {f'solve.{suffix}', f'precision.{suffix}'}
    assert (tmp_path / 'solve.png').read_bytes().startswith(b'\x89PNG')
    assert main(['bench', 'solve', '--redraw']) == 2
    assert '--redraw needs --out' in capsys.readouterr().err
