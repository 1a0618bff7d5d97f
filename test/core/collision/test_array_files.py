# SPDX-License-Identifier: Apache-2.0
"""Arrays in the user's cache: what is damaged is made again, whatever its header promises."""

import struct

import numpy as np
import pytest

from ik_core.collision import array_files


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The file of an array that was kept."""
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))
    array_files.store('some', 'key', np.arange(12.0).reshape(3, 4))
    np.testing.assert_array_equal(array_files.load('some', 'key'), np.arange(12.0).reshape(3, 4))
    return tmp_path / 'ik_core' / 'some' / 'key.npy'


def with_header(text):
    head = text.encode().ljust(118) + b'\n'
    return b'\x93NUMPY\x01\x00' + struct.pack('<H', len(head)) + head + bytes(96)


@pytest.mark.parametrize(
    'data',
    [
        with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 9), }"),
        with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (-3, -4), }"),
        with_header("{'descr': '|O', 'fortran_order': False, 'shape': (3, 4), }"),
        with_header("{'descr': '<f8', 'fortran_order': True, 'shape': (3, 4), }"),
        with_header("{'descr': '<f8', 'fortran_order': False, 'shape': (3, 4, }"),
        with_header('(' * 100),
        with_header('\x00\xff'),
        b'',
        b'\x93NUMPY\x09\x09',
        b'PK\x03\x04' + bytes(100),
    ],
)
def test_a_damaged_file_is_none(kept, data):
    kept.write_bytes(data)
    assert array_files.load('some', 'key') is None


def test_a_file_with_a_flipped_bit_in_its_header_is_the_same_or_none(kept):
    whole = kept.read_bytes()
    for place in range(128):
        for bit in range(8):
            other = bytearray(whole)
            other[place] ^= 1 << bit
            kept.write_bytes(other)
            found = array_files.load('some', 'key')
            assert found is None or found.size == 12
