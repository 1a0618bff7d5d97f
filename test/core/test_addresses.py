"""Arrays by their addresses."""

import ctypes
import pickle

import numpy as np
import pytest

from ik_core import _addresses
from ik_core._addresses import Addresses, integers_at, numbers_at
from ik_core._jit import njit


@njit
def doubled(arrays, numbers, integers):
    """Double the arrays at these places; the sum of what stood there."""
    floats, whole = numbers_at(arrays, numbers), integers_at(arrays, integers)
    total = 0.0
    for i in range(floats.shape[0]):
        for j in range(floats.shape[1]):
            total += floats[i, j]
            floats[i, j] *= 2.0
    for i in range(whole.shape[0]):
        for j in range(whole.shape[1]):
            total += whole[i, j]
            whole[i, j] *= 2
    return total


def test_a_kernel_reads_and_writes_what_is_there():
    rows, row = np.arange(6.0).reshape(2, 3), np.array([10, 20])
    arrays = Addresses([np.full(4, np.nan), row, rows])
    assert doubled(arrays.table, 2, 1) == 45.0
    np.testing.assert_array_equal(rows, 2.0 * np.arange(6.0).reshape(2, 3))
    np.testing.assert_array_equal(row, [20, 40])


def test_what_is_of_one_dimension_is_a_row_and_what_is_empty_has_its_shape():
    arrays = Addresses([np.arange(5), np.empty((0, 12)), np.empty(0), np.empty((3, 0), np.int64)])
    assert arrays.table[:, 1:].tolist() == [[1, 5], [0, 12], [1, 0], [3, 0]]
    assert doubled(arrays.table, 1, 0) == 10.0
    assert doubled(arrays.table, 2, 3) == 0.0


@pytest.mark.parametrize(
    'array', [np.zeros(3, np.float32), np.zeros(3, bool), np.zeros((3, 4)).T, np.zeros(8)[::2]]
)
def test_what_kernels_would_read_wrongly_is_refused(array):
    with pytest.raises(TypeError, match='not what kernels read'):
        Addresses([array])


def test_a_copy_is_of_copies():
    array = np.ones(3)
    copy = pickle.loads(pickle.dumps(Addresses([array, np.array([1])])))
    assert doubled(copy.table, 0, 1) == 4.0
    np.testing.assert_array_equal(array, 1.0)


def test_plain_python_sees_the_same():
    rows, row = np.arange(6.0).reshape(2, 3), np.array([10, 20])
    table = Addresses([rows, row, np.empty((0, 12))]).table
    floats, integers = (_addresses._in_python(k) for k in (ctypes.c_double, ctypes.c_int64))
    floats(table, 0)[1, 2] = 7.0
    assert rows[1, 2] == 7.0
    np.testing.assert_array_equal(integers(table, 1), [row])
    assert floats(table, 2).shape == (0, 12)
