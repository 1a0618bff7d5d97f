# SPDX-License-Identifier: Apache-2.0
"""Motions in files: what is written is read again, and what is none is refused with its line."""

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ik_core as ik
from ik_core.exceptions import InvalidMotion


def a_motion(frames=4):
    rng = np.random.default_rng(0)
    return ik.motion.Motion(('a', 'b/x', 'c, d'), rng.normal(size=(frames, 3)), 1 / 120)


@pytest.mark.parametrize('suffix', ['csv', 'npz'])
def test_what_is_written_is_read_again(tmp_path, suffix):
    motion = a_motion(frames=1000)
    path = tmp_path / f'motion.{suffix}'
    ik.motion.save_motion(motion, path)
    read = ik.motion.load_motion(str(path))
    assert read.joint_names == motion.joint_names
    np.testing.assert_array_equal(read.positions, motion.positions)
    assert read.period == pytest.approx(motion.period, rel=1e-6)


def test_a_csv_file_of_others_is_read(tmp_path):
    path = tmp_path / 'recorded.csv'
    path.write_bytes(b'\xef\xbb\xbftime, a, b\r\n10.0,1,2\r\n\r\n10.5,3,4\r\n11.0,5,6e0\r\n')
    motion = ik.motion.load_motion(path)
    assert motion.joint_names == ('a', 'b')
    assert motion.period == 0.5
    assert motion.positions.tolist() == [[1, 2], [3, 4], [5, 6]]


@pytest.mark.parametrize(
    ('text', 'said'),
    [
        ('', "line 1: 'time'"),
        ('a,b\n0,1\n1,1\n', "line 1: 'time'"),
        ('time\n0\n1\n', 'line 1'),
        ('time,a\n', '0 frames'),
        ('time,a\n0,1\n', '1 frames'),
        ('time,a\n0,1\n1,x\n', "line 3: could not convert string to float: 'x'"),
        ('time,a\n0,1\n1,1,1\n', 'line 3: 3 numbers; 2 are needed'),
        ('time,a\n0,1\n1,nan\n', "'a' at frame 1 is not finite"),
        ('time,a\n0,1\n1,1\n3,1\n', 'line 3: the times are not evenly spaced'),
        ('time,a\n1,1\n0,1\n', 'rising'),
        ('time,a\n0,1\nnan,1\n', 'not evenly spaced'),
        ('time,a,a\n0,1,2\n1,1,2\n', 'named twice'),
    ],
)
def test_a_broken_csv_file_is_refused_with_its_line(tmp_path, text, said):
    path = tmp_path / 'broken.csv'
    path.write_text(text)
    with pytest.raises(InvalidMotion, match=f'broken.csv.*{said}'):
        ik.motion.load_motion(path)


def test_an_archive_that_is_none_is_refused(tmp_path):
    path = tmp_path / 'broken.npz'
    for content in (b'', b'no archive', b'PK\x03\x04' + bytes(100)):
        path.write_bytes(content)
        with pytest.raises(InvalidMotion, match=r'broken\.npz'):
            ik.motion.load_motion(path)
    np.savez(path, joint_names=['a'], positions=[[1.0]])
    with pytest.raises(InvalidMotion, match='period'):
        ik.motion.load_motion(path)
    np.savez(path, joint_names=np.array([{}], object), positions=[[1.0]], period=1.0)
    with pytest.raises(InvalidMotion, match=r'broken\.npz'):
        ik.motion.load_motion(path)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    cut=st.integers(0, 10_000), noise=st.binary(max_size=8), suffix=st.sampled_from(['csv', 'npz'])
)
def test_a_damaged_file_is_read_or_refused(tmp_path, cut, noise, suffix):
    path = tmp_path / f'damaged.{suffix}'
    ik.motion.save_motion(a_motion(), path)
    content = path.read_bytes()
    cut %= len(content)
    path.write_bytes(content[:cut] + noise + content[cut + len(noise) :])
    try:
        assert np.isfinite(ik.motion.load_motion(path).positions).all()
    except InvalidMotion as error:
        assert f'damaged.{suffix}' in str(error)


def test_other_suffixes_and_missing_files_are_refused(tmp_path):
    with pytest.raises(InvalidMotion, match=r'\.csv, \.npz'):
        ik.motion.save_motion(a_motion(), tmp_path / 'motion.yaml')
    with pytest.raises(InvalidMotion, match='No such file'):
        ik.motion.load_motion(tmp_path / 'missing.csv')
