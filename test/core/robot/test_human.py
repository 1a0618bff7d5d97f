# SPDX-License-Identifier: Apache-2.0
"""The human figure: lengths and ranges beside their sources, which way joints turn, its files."""

import numpy as np
import pytest
from support.places import URDF

import ik_core as ik
from ik_core.cli.main import main
from ik_core.robot.human_model import COMMENT, human, human_shapes
from ik_core.robot.mocap.acclaim import read_skeleton
from ik_core.robot.urdf_text import urdf_text

STATURE = 1.8
TIPS = 'left_fingertips', 'right_fingertips', 'left_toe_tips', 'right_toe_tips', 'head_top'

# [DrillisContini1966], of the stature: lengths between the joints, and heights of joints standing
LENGTHS = {
    ('left_upper_arm', 'left_forearm'): 0.186,
    ('left_forearm', 'left_hand'): 0.146,
    ('left_hand', 'left_fingertips'): 0.108,
    ('left_thigh', 'left_shank'): 0.245,
    ('left_shank', 'left_foot'): 0.246,
    ('left_thigh', 'right_thigh'): 0.191,
    ('left_upper_arm', 'right_upper_arm'): 0.259,
}
HEIGHTS = {'left_upper_arm': 0.818, 'left_thigh': 0.530, 'left_shank': 0.285, 'left_foot': 0.039}

# [AAOS1965]: the angle, the range [deg] in both directions, the link that is looked at, and where
# it goes in the first direction: x forward, y to the left, z up
RANGES = [
    ('left_shoulder/y', -180, 60, 'left_forearm', (1, 0, 0)),
    ('left_shoulder/x', 90, -75, 'left_forearm', (0, 1, 0)),
    ('left_collarbone/x', 45, -5, 'left_upper_arm', (0, 0, 1)),
    ('left_elbow', -150, 0, 'left_hand', (1, 0, 0)),
    ('left_wrist/x', -80, 70, 'left_fingers', (0, -1, 0)),
    ('left_wrist/y', -20, 30, 'left_fingers', (1, 0, 0)),
    ('left_knuckles/x', -90, 45, 'left_fingertips', (0, -1, 0)),
    ('left_hip/y', -120, 30, 'left_shank', (1, 0, 0)),
    ('left_hip/x', 45, -30, 'left_shank', (0, 1, 0)),
    ('left_knee', 135, 0, 'left_foot', (-1, 0, 0)),
    ('left_ankle/y', -20, 50, 'left_toes', (0, 0, 1)),
    ('left_ankle/z', -20, 10, 'left_toes', (0, -1, 0)),
    ('left_toe_joint', -70, 45, 'left_toe_tips', (0, 0, 1)),
]
# likewise, of what turns about its own length: a point of it, and where that goes
TWISTS = [
    ('left_shoulder/z', 90, -70, 'left_forearm', (1, 0, 0), (0, 1, 0)),
    ('left_wrist/z', 80, -80, 'left_fingers', (1, 0, 0), (0, 1, 0)),
    ('left_hip/z', 45, -45, 'left_shank', (1, 0, 0), (0, 1, 0)),
    ('left_ankle/x', -35, 15, 'left_toes', (0, -1, 0), (0, 0, 1)),
]
# and of the spine: the sums of its parts, and where the head goes
PARTS = [
    (('lumbar', 'thoracic'), 'y', 80, -30, (1, 0, 0)),
    (('lumbar', 'thoracic'), 'x', -35, 35, (0, 1, 0)),
    (('cervical',), 'y', 45, -45, (1, 0, 0)),
    (('cervical',), 'x', -45, 45, (0, 1, 0)),
]


@pytest.fixture(scope='module')
def figure():
    """A figure of 1.8 m."""
    return human(STATURE)


def at(figure, link, **degrees):
    """Return the position of a link, with some angles [deg] set."""
    q = figure.q({name: np.radians(value) for name, value in degrees.items()}, np.zeros(figure.n))
    return figure.forward_kinematics(q, link)[:3, 3]


@pytest.mark.parametrize(('links', 'share'), LENGTHS.items())
def test_lengths_are_those_of_the_source(figure, links, share):
    first, second = (at(figure, link) for link in links)
    assert np.linalg.norm(second - first) == pytest.approx(share * STATURE, rel=0.03)


@pytest.mark.parametrize(('link', 'share'), HEIGHTS.items())
def test_heights_are_those_of_the_source(figure, link, share):
    floor = at(figure, 'left_heel')[2]
    assert at(figure, link)[2] - floor == pytest.approx(share * STATURE, rel=0.03)


def test_masses_are_those_of_the_source():
    """[Winter2009], Table 4.1: masses of segments, and the centre of the whole when standing."""
    figure = human(STATURE, mass=80.0)
    masses = {link: inertial.mass / 80.0 for link, inertial in figure.inertials.items()}
    assert sum(masses.values()) == pytest.approx(1.0, abs=1e-9)
    arm = sum(masses[f'left_{part}'] for part in ('upper_arm', 'forearm', 'hand'))
    leg = sum(masses[f'right_{part}'] for part in ('thigh', 'shank', 'foot'))
    assert (arm, leg, masses['head']) == pytest.approx((0.050, 0.161, 0.081), abs=1e-9)
    floor = at(figure, 'left_heel')[2]
    x, y, z = figure.centre_of_mass(np.zeros(figure.n))
    assert z - floor == pytest.approx(0.56 * STATURE, rel=0.04)  # 55 to 57 % in adults
    assert y == pytest.approx(0.0, abs=1e-12)
    assert at(figure, 'left_heel')[0] < x < at(figure, 'left_toes')[0]  # it does not fall
    lifted = figure.q({'left_shoulder/y': -np.pi / 2}, np.zeros(figure.n))
    rise = figure.centre_of_mass(lifted)[2] - z
    to_centre = 0.436 * 0.186, 0.186 + 0.43 * 0.146, 0.332 + 0.506 * 0.054
    expected = np.dot([0.028, 0.016, 0.006], to_centre) * STATURE
    assert rise == pytest.approx(expected, rel=0.01)


def test_the_default_mass_is_22_kg_per_square_metre():
    whole = sum(inertial.mass for inertial in human(2.0).inertials.values())
    assert whole == pytest.approx(88.0)


@pytest.mark.parametrize('mass', [0.0, -1.0, np.nan, np.inf, 'heavy'])
def test_impossible_masses_are_refused(mass):
    with pytest.raises(ik.InvalidOption, match='mass'):
        human(STATURE, mass)


def test_stature_arm_span_and_standing_reach_are_those_of_the_source(figure):
    floor = at(figure, 'right_heel')[2]
    assert at(figure, 'right_toe_tips')[2] == pytest.approx(floor)
    assert at(figure, 'head_top')[2] - floor == pytest.approx(STATURE)
    aside = {'left_shoulder/x': 90.0, 'right_shoulder/x': -90.0}
    left, right = (at(figure, f'{side}_fingertips', **aside) for side in ('left', 'right'))
    assert left[2] == pytest.approx(right[2])
    assert (left - right)[1] == pytest.approx((0.259 + 2 * 0.44) * STATURE, rel=0.03)
    up = at(figure, 'left_fingertips', **{'left_shoulder/y': -180.0})
    assert up[2] - floor == pytest.approx((0.818 + 0.44) * STATURE, rel=0.03)


def test_it_has_71_angles_with_limits_of_joints_of_all_kinds(figure):
    assert figure.n == 71
    assert np.isfinite([figure.lower, figure.upper, figure.velocity]).all()
    assert (figure.lower <= 0.0).all()
    assert (figure.upper >= 0.0).all()
    groups = {group.name: group for group in figure.joint_groups}
    balls = {name for name, group in groups.items() if group.kind == 'ball'}
    assert balls >= {'left_shoulder', 'right_hip', 'left_wrist', 'cervical_1', 'lumbar_5'}


def test_thumbs_and_a_jaw_make_78_angles_of_32_joints_and_leave_the_others(figure):
    whole = human(STATURE, thumbs_and_jaw=True)
    assert (whole.n, len(whole.joint_groups)) == (78, 32)
    assert whole.mass == pytest.approx(figure.mass)
    names = list(whole.joint_names)
    assert [name for name in names if 'thumb' not in name and 'jaw' not in name] == list(
        figure.joint_names
    )
    limits = np.degrees([whole.lower, whole.upper])
    for joint, range_ in (('left_thumb_joint/x', (-70, 0)), ('right_thumb_joint/x', (0, 70))):
        np.testing.assert_allclose(limits[:, whole.joint_index(joint)], range_, atol=1e-9)
    # the palm of the left hand faces the thigh, -y, and the thumb points ahead of the hand
    rest = at(whole, 'left_thumb_tip')
    assert rest[0] > at(whole, 'left_hand')[0]
    assert (at(whole, 'left_thumb_tip', **{'left_thumb_joint/x': -40.0}) - rest)[1] < -0.02
    assert (at(whole, 'left_thumb_tip', **{'left_thumb_joint/y': -15.0}) - rest)[0] > 0.005
    assert (at(whole, 'chin', jaw_joint=20.0) - at(whole, 'chin'))[2] < -0.01
    mirrored = {'right_thumb_joint/x': 40.0, 'right_thumb_joint/z': 20.0}
    left = at(whole, 'left_thumb_tip', **{name.replace('right', 'left'): -value
                                          for name, value in mirrored.items()})  # fmt: skip
    np.testing.assert_allclose(
        at(whole, 'right_thumb_tip', **mirrored), left * [1, -1, 1], atol=1e-12
    )


@pytest.mark.parametrize(('joint', 'there', 'back', 'link', 'way'), RANGES)
def test_limbs_swing_as_far_as_the_source_says_and_that_way(figure, joint, there, back, link, way):
    _check_range(figure, joint, there, back)
    step = np.copysign(5.0, there)
    moved = at(figure, link, **{joint: step}) - at(figure, link)
    assert moved @ way > 0.8 * np.linalg.norm(moved) > 0.0


@pytest.mark.parametrize(('joint', 'there', 'back', 'link', 'point', 'way'), TWISTS)
def test_limbs_twist_as_far_as_the_source_says_and_that_way(
    figure, joint, there, back, link, point, way
):
    _check_range(figure, joint, there, back)
    q = figure.q({joint: np.radians(np.copysign(5.0, there))}, np.zeros(figure.n))
    moved = figure.forward_kinematics(q, link)[:3, :3] @ point - point
    assert moved @ way > 0.9 * np.linalg.norm(moved) > 0.0


def _check_range(figure, joint, there, back):
    i = figure.joint_index(joint)
    limits = np.degrees([figure.lower[i], figure.upper[i]])
    np.testing.assert_allclose(limits, sorted((there, back)))


@pytest.mark.parametrize(('parts', 'axis', 'there', 'back', 'way'), PARTS)
def test_the_spine_bends_as_far_as_the_source_says_and_that_way(
    figure, parts, axis, there, back, way
):
    names = [n for n in figure.joint_names if n.startswith(parts) and n.endswith(f'/{axis}')]
    index = [figure.joint_index(name) for name in names]
    sums = np.degrees([figure.lower[index].sum(), figure.upper[index].sum()])
    np.testing.assert_allclose(sums, sorted((there, back)))
    moved = at(figure, 'head_top', **dict.fromkeys(names, np.copysign(1.0, there)))
    assert (moved - at(figure, 'head_top')) @ way > 0.01


def test_right_limbs_are_left_ones_in_a_mirror(figure):
    rng = np.random.default_rng(0)
    q = rng.uniform(figure.lower, figure.upper)
    names = list(figure.joint_names)
    for name in names:
        if not name.startswith(('left', 'right')):
            q[names.index(name)] = 0.0
        if name.startswith('left'):
            sign = 1.0 if name.endswith('/y') or '/' not in name else -1.0
            q[names.index(name.replace('left', 'right'))] = sign * q[names.index(name)]
    assert (figure.lower <= q).all()
    assert (q <= figure.upper).all()
    for tip in ('fingertips', 'toe_tips', 'heel'):
        left, right = (
            figure.forward_kinematics(q, f'{side}_{tip}')[:3, 3] for side in ('left', 'right')
        )
        np.testing.assert_allclose(left * [1, -1, 1], right, atol=1e-12)


def test_the_shipped_one_is_this_figure():
    shipped, figure = ik.load_robot('human'), human()
    assert (URDF / 'human.urdf').read_text() == urdf_text(figure, human_shapes(1.75), COMMENT)
    q = np.random.default_rng(1).uniform(figure.lower, figure.upper)
    assert shipped.joint_names == figure.joint_names
    for tip in TIPS:
        np.testing.assert_allclose(
            shipped.forward_kinematics(q, tip), figure.forward_kinematics(q, tip), atol=1e-12
        )


def test_an_asf_has_the_same_angles_limits_and_ends(tmp_path, capsys):
    path = tmp_path / 'figure.asf'
    assert main(['human', '--stature', str(STATURE), '--out', str(path)]) == 0
    assert '71 angles' in capsys.readouterr().out
    figure, read = human(STATURE), read_skeleton(path).robot
    assert read.n == 6 + figure.n
    q = np.random.default_rng(2).uniform(figure.lower, figure.upper)
    angles = dict(zip(figure.joint_names, q, strict=True))
    whole = read.q({name: angles.get(name, 0.0) for name in read.joint_names}, np.zeros(read.n))
    for i, name in enumerate(figure.joint_names):
        k = read.joint_index(name)
        np.testing.assert_allclose(
            [read.lower[k], read.upper[k]], [figure.lower[i], figure.upper[i]]
        )
    ends = {'left_knuckles': 'left_fingertips', 'right_heel_end': 'right_heel'}
    ends |= {'cervical_3': 'head_top', 'right_toe_joint': 'right_toe_tips'}
    for bone, tip in ends.items():
        np.testing.assert_allclose(
            read.forward_kinematics(whole, bone), figure.forward_kinematics(q, tip), atol=1e-9
        )


def test_hands_feet_and_head_reach_what_a_posture_has(figure):
    rng = np.random.default_rng(3)
    problem = ik.IkProblem(figure, [ik.PositionTask(tip) for tip in TIPS])
    solver = ik.make_solver('levenberg_marquardt')
    for _ in range(20):
        q = rng.uniform(figure.lower, figure.upper)
        for goal, tip in zip(problem.goals, TIPS, strict=True):
            goal.set_target(figure.forward_kinematics(q, tip))
        result = solver.solve(problem, np.zeros(figure.n))
        assert result.success
        assert (figure.lower <= result.q).all()
        assert (result.q <= figure.upper).all()
        for tip in TIPS:
            reached, asked = (figure.forward_kinematics(p, tip)[:3, 3] for p in (result.q, q))
            assert np.linalg.norm(reached - asked) < 1e-3


@pytest.mark.parametrize('stature', [0.0, -1.75, np.nan, np.inf, 'tall', None, 175])
def test_what_is_no_stature_is_refused(stature):
    with pytest.raises(ik.InvalidOption, match=r'stature = .* a number from 0\.1 to 10 is needed'):
        human(stature)


def test_the_command_prints_a_urdf_and_refuses_a_giant(capsys):
    assert main(['human', '--stature', '1.6']) == 0
    printed = ik.load_robot(capsys.readouterr().out)
    height = printed.forward_kinematics(np.zeros(71), 'head_top')[2, 3]
    assert height == pytest.approx(0.47 * 1.6)
    assert main(['human', '--stature', '180']) == 2
    assert 'stature = 180.0 [m]' in capsys.readouterr().err


@pytest.mark.parametrize('name', ['figure.bvh', 'figure', 'figure.csv'])
def test_a_figure_is_written_as_urdf_or_asf_only(tmp_path, capsys, name):
    assert main(['human', '--out', str(tmp_path / name)]) == 2
    assert 'the suffix of a figure is one of .urdf, .asf' in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
