# SPDX-License-Identifier: Apache-2.0
"""A folder of motions: what is nearest to a path, and what is said of a broken description."""

import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from support.mocap_figures import (
    BVH_JOINTS,
    amc_text,
    asf_places,
    asf_text,
    asf_values,
    bvh_text,
    bvh_values,
    clip,
    needs_clips,
)

import ik_core as ik
from ik_core.exceptions import InvalidMotion, InvalidOption
from ik_core.retargeting.path_distance import path_distance

JOINT = (
    '<joint name="{axis}" type="prismatic"><parent link="{parent}"/><child link="{child}"/>'
    '<axis xyz="{xyz}"/><limit lower="-9" upper="9" effort="1" velocity="1"/></joint>'
)
SLIDES = [('x', 'base', 'a', '1 0 0'), ('y', 'a', 'b', '0 1 0'), ('z', 'b', 'pen', '0 0 1')]
# Its pen is where its three joints say: a motion is a path
URDF = (
    '<robot name="plotter">'
    + ''.join(f'<link name="{name}"/>' for name in ('base', 'a', 'b', 'pen'))
    + ''.join(
        JOINT.format(axis=axis, parent=parent, child=child, xyz=xyz)
        for axis, parent, child, xyz in SLIDES
    )
    + '</robot>'
)

T = np.linspace(0.0, 1.0, 41)[:, np.newaxis]
LINE = T * [1.0, 0.0, 0.0]
ARC = np.hstack([1.0 - np.cos(np.pi * T), np.sin(np.pi * T), 0.0 * T])
ZIGZAG = np.hstack([T, 0.2 * np.abs((4.0 * T) % 2.0 - 1.0), 0.0 * T])
PATHS = {'line': LINE, 'arc': ARC, 'zigzag': ZIGZAG}


def described(folder, description):
    (folder / 'library.json').write_text(
        description if isinstance(description, str) else json.dumps(description)
    )


def plotted(folder, paths, **more):
    """A folder with a motion of the plotter for each path, as tool0 of a robot shall go."""
    (folder / 'plotter.urdf').write_text(URDF)
    for name, path in paths.items():
        ik.motion.save_motion(ik.motion.Motion(('x', 'y', 'z'), path, 0.1), folder / f'{name}.csv')
    own = {'robot': 'plotter.urdf', 'links': {'pen': 'tool0'}, **more}
    described(folder, {name: {'file': f'{name}.csv', **own} for name in paths})
    return ik.retargeting.MotionLibrary(folder)


@pytest.fixture
def library(tmp_path):
    return plotted(tmp_path, PATHS)


def test_each_path_is_nearest_to_itself_at_no_distance(library):
    assert library.names == tuple(PATHS)
    for name, path in PATHS.items():
        nearest = library.nearest(path, 'tool0')
        assert nearest.name == name
        assert nearest.distance == nearest.distances[name] < 1e-12
        assert list(nearest.distances.values()) == sorted(nearest.distances.values())
        assert set(nearest.distances) == set(PATHS)


def swing(frames=61):
    """Values for `bvh_text`: a figure that walks and swings all its joints, smoothly."""
    (values,) = bvh_values(1)
    return [
        {
            name: [
                (100.0 + 3.0 * t if channel.endswith('position') else 60.0 * np.sin(0.1 * t + k))
                for k, channel in enumerate(BVH_JOINTS[name][-1].split())
            ]
            for name in values
        }
        for t in range(frames)
    ]


def at_rest(frame):
    return {name: [0.5 * np.sign(v) for v in row] for name, row in frame.items()}


def clip_library(folder, frames):
    (folder / 'swing.bvh').write_text(bvh_text(frames))
    described(folder, {'swing': {'file': 'swing.bvh', 'links': {'wrist': 'tool0'}, 'joints': {}}})
    return ik.retargeting.MotionLibrary(folder)


def test_the_rest_pose_before_a_captured_motion_does_not_count(tmp_path):
    """As converters put it there, far away: a share of the path that nobody goes."""
    frames = swing()
    own = clip_library(tmp_path, frames).load('swing')
    with_rest = clip_library(tmp_path, [at_rest(frames[0]), *frames])
    path = own.path('tool0')
    assert len(with_rest.load('swing').motion) == len(path) == len(frames)
    assert with_rest.nearest(path, 'tool0').distance < 1e-12
    slow = with_rest.nearest(path[::6], 'tool0').distance
    assert slow < 0.02 * np.linalg.norm(np.diff(path, axis=0), axis=1).sum()


def test_a_motion_that_begins_in_its_rest_pose_keeps_all_frames(tmp_path):
    """It leaves it no faster than a figure can."""
    frames = swing()
    slowly = [
        {name: [t / 29.0 * v for v in row] for name, row in frames[0].items()} for t in range(30)
    ]
    library = clip_library(tmp_path, slowly)
    assert len(library.load('swing').motion) == 30
    assert len(clip_library(tmp_path, [at_rest(frames[0])]).load('swing').motion) == 1


@needs_clips
def test_a_run_from_the_database_is_found_by_its_own_path(tmp_path):
    """The largest distance to itself at 10 Hz was 0.59 m with the rest pose of its file; seven
    points cut its corners."""
    links = ('rHand', 'lHand', 'head', 'rFoot', 'lFoot')
    for link in links:
        entry = {'file': str(clip('141_01.bvh')), 'links': {link: 'tool0'}, 'joints': {}}
        described(tmp_path, {'run': {**entry, 'rate': 60}})
        library = ik.retargeting.MotionLibrary(tmp_path)
        robot, motion = ik.motion.load_mocap(clip('141_01.bvh'), rate=60)
        q = motion[1:].positions_of(robot)
        path = np.array([robot.forward_kinematics(each, link)[:3, 3] for each in q])
        assert library.nearest(path, 'tool0').distance < 1e-9
        assert library.nearest(path[::6], 'tool0').distance < 0.15


def test_a_few_goals_near_a_path_find_it(library):
    assert library.nearest([[0.0, 0.1, 0.0], [1.0, 1.1, 0.0], [2.0, 0.1, 0.0]], 'tool0').name == (
        'arc'
    )
    assert library.nearest([[0.0, 0.01, 0.0], [1.0, 0.01, 0.0]], 'tool0').name == 'line'


def test_speed_along_a_path_does_not_count(library):
    slow_start = LINE**3
    assert library.nearest(slow_start, 'tool0').distances['line'] < 1e-12


def test_direction_along_a_path_counts(library):
    """A unit line backwards: sqrt(integral of (1 - 2 s)^2) = 1 / sqrt(3)."""
    distance = library.nearest(LINE[::-1], 'tool0').distances['line']
    assert distance == pytest.approx(np.sqrt(1 / 3), rel=0.02)


def test_the_distance_of_two_lines_is_its_integral():
    ends = np.array([[0.0, 0.0, 0.0], [1.0, 2.0, -1.0]])
    others = np.array([[0.3, -0.2, 0.5], [2.0, 0.1, 1.0]])
    between = others - ends
    exact = quad(lambda s: np.sum(((1 - s) * between[0] + s * between[1]) ** 2), 0, 1)[0]
    assert path_distance(ends, others) == pytest.approx(np.sqrt(exact), rel=1e-2)


def test_moved_by_a_way_a_path_is_that_far(library):
    moved = ARC + np.array([0.0, 0.3, 0.4])
    assert library.nearest(moved, 'tool0').distances['arc'] == pytest.approx(0.5, abs=1e-12)


@pytest.mark.parametrize('name', PATHS)
def test_by_shape_a_moved_and_scaled_copy_is_found(library, name):
    copy = 0.25 * PATHS[name] + [3.0, -2.0, 1.0]
    nearest = library.nearest(copy, 'tool0', by_shape=True)
    assert nearest.name == name
    assert nearest.distance < 1e-12
    assert library.nearest(copy, 'tool0').distance > 1.0


@given(
    points=st.lists(st.tuples(*[st.floats(-5, 5)] * 3), min_size=2, max_size=8),
    move=st.tuples(*[st.floats(-5, 5)] * 3),
    factor=st.floats(0.1, 10),
)
@settings(max_examples=50)
def test_place_and_size_do_not_count_by_shape(points, move, factor):
    path = np.array(points)
    if np.linalg.norm(np.diff(path, axis=0), axis=1).sum() < 1e-3:
        return
    assert path_distance(path, factor * path + move, by_shape=True) < 1e-8
    assert path_distance(path, path + move) == pytest.approx(np.linalg.norm(move), abs=1e-9)


def test_an_example_that_stands_still_is_compared_by_shape_too(tmp_path):
    library = plotted(tmp_path, {'still': 0.0 * LINE + 2.0, 'arc': ARC})
    nearest = library.nearest(LINE, 'tool0', by_shape=True)
    assert nearest.distances['still'] == pytest.approx(np.sqrt(1 / 3), rel=0.02)


def test_the_description_places_the_paths(tmp_path):
    turned = {'scale': 2.0, 'rpy': [0.0, 0.0, np.pi / 2], 'xyz': [0.1, 0.2, 0.3]}
    library = plotted(tmp_path, {'line': LINE}, **turned)
    path = library.load('line').path('tool0')
    np.testing.assert_allclose(path, [0.1, 0.2, 0.3] + 2.0 * T * [0.0, 1.0, 0.0], atol=1e-12)


def test_a_motion_is_retargeted_along_the_path_that_was_compared(tmp_path):
    library = plotted(tmp_path, {'arc': ARC[::8]}, links={'pen': 'pen'}, scale=0.5, xyz=[1, 2, 3])
    example = library.load('arc')
    made = example.retarget(example.source, joints={}, beta=0.0, length=1.0)
    np.testing.assert_allclose(made.motion.positions, 0.5 * ARC[::8] + [1, 2, 3], atol=1e-4)
    np.testing.assert_allclose(example.path('pen'), made.motion.positions, atol=1e-4)


def test_captured_motions_are_examples_by_their_links(tmp_path):
    values = asf_values()
    (tmp_path / 'figure.asf').write_text(asf_text())
    (tmp_path / 'walk.amc').write_text(amc_text(values))
    (tmp_path / 'run.bvh').write_text(bvh_text(bvh_values()))
    walk = {'file': 'walk.amc', 'skeleton': 'figure.asf', 'rate': 60, 'links': {'foot': 'tool0'}}
    run = {'file': 'run.bvh', 'links': {'wrist': 'elbow', 'knee': 'tool0'}, 'joints': {}}
    described(tmp_path, {'walk': walk, 'run': run})
    library = ik.retargeting.MotionLibrary(tmp_path)
    foot = [asf_places(frame)['foot'] for frame in values]
    nearest = library.nearest(foot, 'tool0')
    assert (nearest.name, len(nearest.distances)) == ('walk', 2)
    assert nearest.distance < 1e-9
    assert library.load('walk').motion.rate == pytest.approx(60)
    assert list(library.nearest(foot, 'elbow').distances) == ['run']


@pytest.mark.parametrize(
    ('path', 'reason'),
    [
        ([[0, 0, 0]], 'at least 2'),
        ([], 'shape'),
        ([[0, 0], [1, 1]], 'shape'),
        ([[0, 0, 0], [np.nan, 0, 0]], 'point 1'),
        ([[np.inf, 0, 0], [0, 0, 0]], 'point 0'),
        ([[0, 0, 0], [1e200, 0, 0]], 'point 1'),
        ('path', 'numbers'),
        ([[0, 0, 0], [1, 1]], 'numbers'),
    ],
)
def test_a_broken_path_is_refused(library, path, reason):
    with pytest.raises(InvalidMotion, match=reason):
        library.nearest(path, 'tool0')


def test_a_path_that_stands_still_has_no_shape(library):
    assert library.nearest([[0, 0, 0], [0, 0, 0]], 'tool0').name == 'line'
    with pytest.raises(InvalidMotion, match='does not move'):
        library.nearest([[0, 0, 0], [0, 0, 0]], 'tool0', by_shape=True)


def test_what_the_library_has_not_is_named(library):
    with pytest.raises(InvalidOption, match=r"'hand'.*tool0"):
        library.nearest(LINE, 'hand')
    with pytest.raises(InvalidOption, match=r"'wave'.*line, arc, zigzag"):
        library.load('wave')
    with pytest.raises(InvalidOption, match=r"'hand'.*tool0"):
        library.load('line').path('hand')


SOUND = {'file': 'line.csv', 'robot': 'plotter.urdf', 'links': {'pen': 'tool0'}}


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'file': 'gone.csv'}, "'file'.*gone.csv"),
        ({'file': 'plotter.urdf'}, "'file'.*suffix"),
        ({'file': 7}, "'file'"),
        ({'file': None}, "'file'"),
        ({'robot': 'gone.urdf'}, "'robot'.*gone.urdf"),
        ({'robot': ''}, "'robot'"),
        ({'links': {}}, "'links'"),
        ({'links': ['pen']}, "'links'"),
        ({'links': {'pen': 1}}, "'links'"),
        ({'links': {'pen': 'tool0', 'a': 'tool0'}}, "'links'.*counterpart"),
        ({'joints': 'x'}, "'joints'"),
        ({'rate': 30}, "'rate'.*csv"),
        ({'skeleton': 'x.asf'}, "'skeleton'.*csv"),
        ({'speed': 1}, "'speed' is not a key"),
        ({'scale': 0}, "'scale'"),
        ({'scale': float('nan')}, "'scale'"),
        ({'scale': True}, "'scale'"),
        ({'rpy': [0, 0]}, "'rpy'"),
        ({'rpy': [0, 0, 'x']}, "'rpy'"),
        ({'xyz': [0, 0, float('inf')]}, "'xyz'"),
    ],
)
def test_a_broken_description_names_file_motion_and_reason(tmp_path, change, reason):
    plotted(tmp_path, {'line': LINE})
    described(tmp_path, {'line': SOUND | change})
    with pytest.raises(InvalidMotion, match=rf"library.json, motion 'line': .*{reason}"):
        ik.retargeting.MotionLibrary(tmp_path)


@pytest.mark.parametrize('key', ['file', 'robot', 'links'])
def test_what_is_needed_is_asked_for(tmp_path, key):
    plotted(tmp_path, {'line': LINE})
    described(tmp_path, {'line': {k: v for k, v in SOUND.items() if k != key}})
    with pytest.raises(InvalidMotion, match=f"motion 'line': .*{key}"):
        ik.retargeting.MotionLibrary(tmp_path)


@pytest.mark.parametrize(
    ('text', 'reason'),
    [
        ('{}', 'at least one'),
        ('[]', 'at least one'),
        ('{"a": 1}', "'a'.*object"),
        ('{"a": {},\n oops}', 'line 2'),
        ('{"a": {}, "a": {}}', "'a' is given twice"),
        ('[' * 100_000, 'recursion|overflow'),
        ('', 'line 1'),
    ],
)
def test_a_file_that_describes_nothing_is_refused(tmp_path, text, reason):
    described(tmp_path, text)
    with pytest.raises(InvalidMotion, match=rf'(?s)library\.json.*{reason}'):
        ik.retargeting.MotionLibrary(tmp_path)


def test_a_folder_without_a_description_is_refused(tmp_path):
    for folder in (tmp_path, tmp_path / 'gone'):
        with pytest.raises(InvalidMotion, match=r'library\.json'):
            ik.retargeting.MotionLibrary(folder)


@pytest.mark.parametrize(
    ('change', 'reason'),
    [
        ({'links': {'pencil': 'tool0'}}, 'pencil'),
        ({'joints': {'w': 'joint'}}, "'w'"),
        ({'robot': 'panda'}, 'panda'),
        ({'robot': 'nobody'}, 'nobody'),
    ],
)
def test_a_map_that_does_not_fit_its_robot_is_refused_when_it_is_loaded(tmp_path, change, reason):
    plotted(tmp_path, {'line': LINE})
    described(tmp_path, {'line': SOUND | change})
    library = ik.retargeting.MotionLibrary(tmp_path)
    for use in (lambda: library.load('line'), lambda: library.nearest(LINE, 'tool0')):
        with pytest.raises(InvalidMotion, match=rf"library.json, motion 'line': .*{reason}"):
            use()


def test_a_motion_out_of_this_world_is_refused(tmp_path):
    library = plotted(tmp_path, {'far': 1e12 * (1.0 + LINE)})
    with pytest.raises(InvalidMotion, match="motion 'far', link 'tool0'"):
        library.nearest(LINE, 'tool0')
