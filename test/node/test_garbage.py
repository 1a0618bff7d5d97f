# SPDX-License-Identifier: Apache-2.0
"""While it ticks, the node collects garbage when there is time for it; then Python does again."""

import gc
import weakref

import pytest

pytest.importorskip('rclpy')

from support.panda_world import panda_world


class Knot:
    """Refers to itself, so that only the collector frees it."""

    def __init__(self):
        self.itself = self


def test_garbage_is_collected_by_chores_while_it_ticks_and_by_itself_after():
    assert gc.isenabled()
    with panda_world() as node:
        node.more_states(1)
        assert not gc.isenabled(), 'it would come in a tick'
        knot = weakref.ref(Knot())
        node.until(lambda: knot() is None, 'a collection')
    assert gc.isenabled()
