# SPDX-License-Identifier: Apache-2.0
"""Records: numpy, the two views of kernels and plain Python see the same fields."""

from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
from support import fresh_python
from support.places import ROOT
from support.robots import python_path

from ik_core.kernels.jit import COMPILED, kernel
from ik_core.kernels.records import FLOAT, INT, LANE, LINE, RECORD, WIDTH, Layout
from ik_core.maths.lanes import HAS_LANES, select

INNER = Layout('inner', ('count',), total=(FLOAT,), numbers=(FLOAT, 'count'))
OUTER = Layout(
    'outer',
    ('joints',),
    steps=(INT,),
    phase=(INT, WIDTH),
    nu=(LANE,),
    cost=(LANE, 2),
    x=(LANE, 2, 'joints'),
    table=(INT, 'joints', 3),
    inner=(RECORD, INNER),
)
WIDE = 4 if HAS_LANES else 1
together, apart = OUTER.vector_view(WIDE), OUTER.scalar_view(WIDE)


@kernel
def step(address):
    """Change a bit of everything, in both views."""
    lanes, numbers = together(address), apart(address)
    lanes.steps = lanes.steps + 1
    lanes.nu = 2.0 * lanes.nu
    lanes.cost[1] = select(lanes.nu > 5.0, lanes.nu, 0.0)
    for j in range(lanes.x.shape[1]):
        lanes.x[1, j] = lanes.x[0, j] + lanes.nu
    for w in range(numbers.phase.shape[0]):
        numbers.phase[w] = w
        numbers.x[1, 0, w] += 100.0
    inner = numbers.inner
    for k in range(inner.numbers.shape[0]):
        inner.total += inner.numbers[k]
    return lanes.joints * 10 + numbers.x.shape[2]


def changed():
    """A record with a part, after `step`, and what that returned."""
    record = OUTER.make({'joints': 3}, WIDE)
    record['inner'] = INNER.make({'count': 2})
    record.part('inner')['numbers'] = 1.5, 2.5
    record['nu'] = np.arange(WIDE) + 1.0
    record['x'][0] = np.arange(3 * WIDE).reshape(3, WIDE)
    return record, step(record.address)


def test_kernels_and_numpy_see_the_same_fields():
    record, returned = changed()
    nu = 2.0 * (np.arange(WIDE) + 1.0)
    assert returned == 30 + WIDE
    assert record['steps'] == 1
    np.testing.assert_array_equal(record['nu'], nu)
    np.testing.assert_array_equal(record['cost'], [0.0 * nu, np.where(nu > 5.0, nu, 0.0)])
    expected = np.arange(3 * WIDE).reshape(3, WIDE) + nu
    expected[0] += 100.0
    np.testing.assert_array_equal(record['x'][1], expected)
    np.testing.assert_array_equal(record['phase'], np.arange(WIDE))
    assert record.part('inner')['total'] == 4.0


PLAIN = """
import numpy as np
import test_records
record, returned = test_records.changed()
names = 'steps', 'phase', 'nu', 'cost', 'x'
print(returned, [record[name].tolist() for name in names], record.part('inner')['total'])
"""


@pytest.mark.skipif(not (COMPILED and HAS_LANES), reason='there are no lanes')
def test_plain_python_sees_the_same_fields():
    path = python_path(ROOT, ROOT / 'test', ROOT / 'test' / 'core')
    plain = fresh_python.run(PLAIN, NUMBA_DISABLE_JIT='1', PYTHONPATH=path)
    record, returned = changed()
    names = 'steps', 'phase', 'nu', 'cost', 'x'
    own = returned, [record[name].tolist() for name in names], record.part('inner')['total']
    assert plain.split() == ' '.join(map(str, own)).split()


def test_arrays_of_lanes_are_aligned_and_none_overlap():
    record = OUTER.make({'joints': 3}, WIDE)
    assert record.address % LINE == 0
    assert record['x'].ctypes.data % LINE == 0
    assert record['x'].shape == (2, 3, WIDE)
    record['x'], record['table'] = 1.0, 2
    assert (record['x'] == 1.0).all()
    assert (record['table'] == 2).all()
    assert record['joints'] == 3


def test_arrays_that_are_given_are_used_where_they_are():
    table = np.arange(9).reshape(3, 3)
    record = OUTER.make({'joints': 3}, arrays={'table': table})
    table[0, 0] = 7
    assert record['table'][0, 0] == 7
    assert np.shares_memory(record['table'], table)


@pytest.mark.parametrize('table', [np.zeros((3, 3)), np.zeros((3, 3), np.int64).T[::-1].T])
def test_arrays_of_other_numbers_or_orders_are_refused(table):
    with pytest.raises(TypeError, match='table'):
        OUTER.make({'joints': 3}, arrays={'table': table})


def test_a_record_is_neither_copied_nor_pickled():
    record = INNER.make({'count': 2})
    for attempt in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match='addresses'):
            attempt(record)
