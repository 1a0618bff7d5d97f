# SPDX-License-Identifier: Apache-2.0
"""Motion capture files: figures and motions against the formats' definitions, and broken files."""

import re

import numpy as np
import pytest
from support import mocap_figures as figures

import ik_core as ik

# Places [m] by two other programs: clip, frame from 1, then link, x, y and z
CLIPS = """
backflip 1
    root 1.0668 0.9283 0.0143 head 1.0760 1.5205 -0.0020 lhand 1.1886 0.8041 -0.2679
    rhand 1.1348 0.8108 0.2672 lfoot 1.0000 0.0631 0.0047 rfoot 1.0338 0.1199 0.0002
backflip 247
    root -0.7761 0.9435 -0.6592 head -0.6095 1.5080 -0.6166 lhand -0.4769 0.7545 -0.7800
    rhand -0.9668 0.8531 -0.3802 lfoot -0.5061 0.1201 -0.6233 rfoot -1.0115 0.1628 -0.7480
124_01 1
    root 0.4949 0.9575 -0.2487 head 0.4791 1.6236 -0.2453 lhand 0.2950 1.0257 -0.1411
    rhand 0.2611 1.0237 -0.3153 lfoot 0.4371 0.0251 -0.1125 rfoot 0.3889 0.0147 -0.3248
124_01 643
    root 0.1203 0.9618 0.1714 head 0.1100 1.6224 0.2439 lhand 0.0323 1.0163 0.4205
    rhand -0.0698 1.0282 0.3031 lfoot 0.1566 0.0297 0.2097 rfoot -0.1546 0.0485 0.1355
"""


@pytest.fixture
def asf(tmp_path):
    path = tmp_path / 'figure.asf'
    path.write_text(figures.asf_text())
    return path


@pytest.fixture
def amc(asf):
    path = asf.with_name('figure_01.amc')
    path.write_text(figures.amc_text(figures.asf_values()))
    return path


@pytest.fixture
def bvh(tmp_path):
    path = tmp_path / 'figure.bvh'
    path.write_text(figures.bvh_text(figures.bvh_values()))
    return path


def assert_places(robot, motion, places_of, values):
    """The links of every frame are where the format's definition has them."""
    for q, frame in zip(motion.positions_of(robot), values, strict=True):
        for link, place in places_of(frame).items():
            here = robot.forward_kinematics(q, link)[:3, 3]
            np.testing.assert_allclose(here, place, atol=1e-9, err_msg=link)


def test_bones_of_asf_and_amc_are_where_the_format_says(amc):
    robot, motion = ik.motion.load_mocap(amc)
    assert (robot.n, len(motion), motion.rate) == (6 + 3 + 1 + 2 + 3, 4, pytest.approx(120.0))
    assert_places(robot, motion, figures.asf_places, figures.asf_values())


def test_joints_of_bvh_are_where_the_format_says(bvh):
    robot, motion = ik.motion.load_mocap(bvh)
    assert (robot.n, len(motion), motion.period) == (6 + 3 + 1 + 2 + 1, 4, 0.025)
    assert_places(robot, motion, figures.bvh_places, figures.bvh_values())
    assert ik.motion.load_mocap(bvh, rate=50)[1].period == 0.02


def test_radians_and_windows_line_ends_make_no_difference(amc):
    robot, motion = ik.motion.load_mocap(amc)
    amc.with_suffix('.asf').write_text(figures.asf_text('rad').replace('\n', '\r\n'))
    same, same_motion = ik.motion.load_mocap(amc)
    np.testing.assert_allclose(same.lower, robot.lower, atol=1e-12)
    np.testing.assert_allclose(same_motion.positions, motion.positions, atol=1e-12)
    values = [{bone: np.radians(row) for bone, row in f.items()} for f in figures.asf_values()]
    amc.write_text(figures.amc_text(values, header=':RADIANS\n').replace('\n', '\r\n'))
    turned = ik.motion.load_mocap(amc)[1]
    np.testing.assert_allclose(turned.positions[:, 3:], motion.positions[:, 3:], atol=1e-12)


def test_limits_stay_with_their_angles_and_a_motion_may_break_them(amc):
    robot, motion = ik.motion.load_mocap(amc)
    limits = dict(zip(robot.joint_names, np.degrees([robot.lower, robot.upper]).T, strict=True))
    expected = {
        'thigh/x': (-160, 20), 'thigh/y': (-70, 70), 'thigh/z': (-60, 70), 'shin': (-10, 170),
        'foot/x': (-45, 90), 'foot/z': (-70, 20),
        'spine/z': (-1, 2), 'spine/x': (-3, 4), 'spine/y': (-5, 6),
    }  # fmt: skip
    for name, pair in expected.items():
        np.testing.assert_allclose(limits[name], pair)
    assert np.isinf([limits[f'root/{part}'] for part in ('x', 'y', 'z', 'yaw')]).all()
    q = motion.positions_of(robot)
    assert ((q < robot.lower) | (q > robot.upper)).any()


def test_a_joint_of_several_angles_is_one_group(amc, bvh):
    groups = {
        group.name: group
        for group in ik.motion.load_skeleton(amc.with_name('figure.asf')).joint_groups
    }
    kinds = {'root': 'floating', 'thigh': 'ball', 'shin': 'revolute', 'foot': 'universal'}
    assert {name: groups[name].kind for name in kinds} == kinds
    assert groups['thigh'].rotation_order == 'ZYX'  # R = Rz Ry Rx
    robot = ik.motion.load_skeleton(bvh)
    orders = {group.name: group.rotation_order for group in robot.joint_groups}
    assert (orders['hips'], orders['chest'], orders['wrist']) == ('ZYX', 'ZXY', 'XY')
    assert robot.root_joints == tuple(range(6))


def test_the_skeleton_of_a_clip_is_found_by_name(amc, asf):
    by_subject = ik.motion.load_mocap(amc)[0]
    assert ik.motion.load_mocap(amc, asf)[0].joint_names == by_subject.joint_names
    own = amc.with_suffix('.asf')
    asf.rename(own)
    assert ik.motion.load_mocap(amc)[0].name == 'figure_01'
    own.unlink()
    with pytest.raises(
        ik.motion.MocapError, match=r'no figure_01.asf and no figure.asf is beside it'
    ):
        ik.motion.load_mocap(amc)


def test_a_rate_in_the_file_counts_but_not_against_that_of_the_caller(amc):
    text = amc.read_text()
    amc.write_text(text.replace(':DEGREES', ':DEGREES\n:SAMPLES-PER-SECOND 50'))
    assert ik.motion.load_mocap(amc)[1].rate == pytest.approx(50.0)
    assert ik.motion.load_mocap(amc, rate=30)[1].rate == pytest.approx(30.0)
    amc.write_text(text.replace(':DEGREES', ':DEGREES\n:SAMPLES-PER-SECOND 0'))
    with pytest.raises(ik.motion.MocapError, match='line 4: 0 samples per second'):
        ik.motion.load_mocap(amc)


def test_scale_is_metres_per_unit(amc, bvh):
    for path in (amc, bvh):
        robot, motion = ik.motion.load_mocap(path, scale=2.0)
        unit, shape = ik.motion.load_mocap(path, scale=1.0)
        ends = [r.forward_kinematics(m.positions_of(r)[1], r.link_names[-1])[:3, 3]
                for r, m in ((robot, motion), (unit, shape))]  # fmt: skip
        np.testing.assert_allclose(ends[0], 2.0 * ends[1])


@pytest.mark.parametrize('option', [{'rate': 0}, {'rate': float('nan')}, {'scale': -1.0}])
def test_a_rate_or_scale_that_can_not_be_is_refused(amc, bvh, option):
    for path in (amc, bvh):
        with pytest.raises(ik.InvalidOption, match=next(iter(option))):
            ik.motion.load_mocap(path, **option)


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('length 7.5', 'length x', r"figure.asf, line 38: length: 'x' is not a number"),
        ('length 7.5', '', r"line 42: bone 'shin' has no length"),
        ('dof rx\n', 'dof rx ry\n', r"bone 'shin' has 1 limits for 2 dof"),
        ('dof rx\n', 'dof rx rx\n', r"dof 'rx rx': rx, ry and rz are known, each once"),
        ('(-10.0 170.0)', '(170 -10)', r'line 41: limits'),
        ('name shin', 'name thigh', r"a second bone is called 'thigh'"),
        ('    hip thigh', '    hip thigh\n    thigh hip', r"bone 'hip' has a second parent"),
        ('    hip thigh', '    thigh hip', r"'hip' has a second parent"),
        ('    root hip spine\n', '    root spine\n', r"bone 'hip' is not connected to the root"),
        ('  thigh shin', '  thigh fin', r"'fin' is not a bone of :bonedata"),
        ('order TX TY', 'order TX TX', r'line 11: order: TX TY TZ RX RY RZ are needed'),
        ('orientation 0 0 0', 'orientation 0 9 0', r'orientation: only 0 0 0'),
        ('angle deg', 'angle gon', r"angle 'gon': deg or rad"),
        ('length 0.45', 'length 0', r'line 6: length 0 must be positive'),
    ],
)  # fmt: skip
def test_a_broken_skeleton_is_refused_with_its_line(asf, old, new, says):
    text = figures.asf_text()
    assert old in text
    asf.write_text(text.replace(old, new, 1))
    with pytest.raises(ik.motion.MocapError, match=says):
        ik.motion.load_skeleton(asf)


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('\n2\n', '\n3\n', r'figure_01.amc, line 10: frame 3 where 2 should follow'),
        ('\nshin ', '\nfin ', r"'fin': no bone of the skeleton moves so"),
        ('\nshin ', '\nshin 1.0 ', r'shin: 2 numbers where 1 are needed'),
        ('\nshin ', '\nthigh ', r"'thigh': a second time in this frame"),
        ('\nshin ', '\nshin 1_', r'is not a number'),
        ('\nshin ', '\nshin nan\nfoot ', r"shin: 'nan' is not a number"),
        ('\nspine ', '\n#spine ', r'the frame lacks spine'),
    ],
)
def test_a_broken_motion_is_refused_with_its_line(amc, old, new, says):
    text = figures.amc_text(figures.asf_values())
    assert old in text
    amc.write_text(text.replace(old, new, 1))
    with pytest.raises(ik.motion.MocapError, match=says):
        ik.motion.load_mocap(amc)


@pytest.mark.parametrize(
    ('old', 'new', 'says'),
    [
        ('HIERARCHY', '', r'line 2: a BVH file begins with HIERARCHY'),
        ('ROOT hips', 'JOINT hips', r'line 2: one ROOT is needed'),
        ('JOINT chest', 'ROOT chest', r'line 6: one ROOT is needed'),
        ('JOINT elbow', 'JOINT chest', r"a second joint is called 'chest'"),
        ('CHANNELS 1', 'CHANNELS 2', r'CHANNELS .2 Yrotation.: the number of channels'),
        ('CHANNELS 1 Yrot', 'CHANNELS 1 Wrot', r'CHANNELS'),
        ('OFFSET 15 0 1', 'OFFSET 15 0', r'OFFSET: 2 numbers where 3 are needed'),
        ('End Site', 'Site', r"'Site': ROOT, JOINT, End Site"),
        ('}\nMOTION', 'MOTION', r"a '}' is missing before MOTION"),
        ('MOTION', '', r"'Frames:': ROOT, JOINT, End Site"),
        ('Frames:\t4', 'Frames:\t99999999999', r'not a number of at most'),
        ('Frames:\t4', 'Frames:\t999999', r'4 frames follow where Frames: says 999999'),
        ('Frame Time:\t0.025', 'Frame Time:\t0', r'Frame Time 0'),
    ],
)
def test_a_broken_bvh_is_refused_with_its_line(bvh, old, new, says):
    text = figures.bvh_text(figures.bvh_values())
    assert old in text
    bvh.write_text(text.replace(old, new, 1))
    with pytest.raises(ik.motion.MocapError, match=says):
        ik.motion.load_mocap(bvh)


def test_a_bvh_without_a_motion_is_refused(bvh):
    text, _, _ = figures.bvh_text(figures.bvh_values()).partition('MOTION')
    bvh.write_text(text)
    with pytest.raises(ik.motion.MocapError, match='the file ends before MOTION'):
        ik.motion.load_mocap(bvh)


def test_lines_are_counted_alike_whatever_ends_them(amc):
    text = figures.amc_text(figures.asf_values()).replace('\nshin ', '\nshin x', 1)
    for end in ('\n', '\r\n'):
        amc.write_bytes(text.replace('\n', end).encode())
        with pytest.raises(ik.motion.MocapError, match='line 7: shin'):
            ik.motion.load_mocap(amc)


@pytest.mark.parametrize('name', ['none.amc', 'none.asf', 'none.bvh', 'figure.txt', 'figure'])
def test_a_file_that_is_not_there_or_of_another_kind_is_refused(asf, name):
    with pytest.raises(
        ik.motion.MocapError, match=r"can't read|are supported|no such file|without motion"
    ):
        ik.motion.load_mocap(asf.with_name(name))
    with pytest.raises(ik.motion.MocapError):
        ik.motion.load_skeleton(asf.with_name(name))


@pytest.mark.parametrize('kind', ['asf', 'amc', 'bvh'])
@pytest.mark.parametrize('data', [b'', b'\n\n', bytes(range(256))])
def test_a_file_of_something_else_is_refused(request, amc, kind, data):
    path = request.getfixturevalue(kind)
    path.write_bytes(data)
    with pytest.raises(ik.motion.MocapError):
        ik.motion.load_mocap(path if kind == 'bvh' else amc)


@pytest.mark.parametrize('kind', ['asf', 'amc', 'bvh'])
def test_damaged_files_are_read_or_refused_but_never_crash(request, asf, amc, kind):
    path = request.getfixturevalue(kind)
    sound = path.read_bytes()
    clip = path if kind == 'bvh' else amc
    refused = 0
    for seed in range(100):
        path.write_bytes(figures.damaged(sound, np.random.default_rng(seed)))
        try:
            robot, motion = ik.motion.load_mocap(clip)
        except ik.motion.MocapError as error:
            assert re.match(r'figure(_01)?\.(asf|amc|bvh), line \d+: |two ', str(error)), error
            refused += 1
            continue
        assert np.isfinite(robot.frames(motion.positions_of(robot)[-1])).all()
        assert (robot.lower <= robot.upper).all()
    assert 50 < refused < 100


@figures.needs_clips
def test_clips_agree_with_other_programs():
    clips = re.split(r'\n(?=\S)', CLIPS.strip())
    for words in map(str.split, clips):
        robot, motion = ik.motion.load_mocap(figures.clip(f'{words[0]}.amc'))
        assert robot.n == 62
        q = motion.positions_of(robot)[int(words[1]) - 1]
        for i in range(2, len(words), 4):
            here = robot.forward_kinematics(q, words[i])[:3, 3]
            np.testing.assert_allclose(here, [float(v) for v in words[i + 1 : i + 4]], atol=1e-4)


@figures.needs_clips
def test_the_clip_in_bvh_is_smooth_and_of_human_size():
    robot, motion = ik.motion.load_mocap(figures.clip('141_01.bvh'), rate=60)
    assert (robot.n, len(motion)) == (132, 75)
    places = np.array([robot.forward_kinematics(q, 'rHand')[:3, 3]
                       for q in motion[6:].positions_of(robot)])  # fmt: skip
    assert np.linalg.norm(np.diff(places, axis=0), axis=1).max() < 0.15
    assert 0.5 < places[:, 1].min() < places[:, 1].max() < 2.0
