# SPDX-License-Identifier: Apache-2.0
"""The Panda, for tests that start a node to move it."""

import pytest


@pytest.fixture(scope='session')
def robot():
    """The robot that `panda` moves."""
    from support.node_harness import load

    return load('panda')


@pytest.fixture
def panda(robot):
    """A node that moves the Panda; afterwards all that it published is checked."""
    from support.node_harness import check_states
    from support.panda_world import ACCELERATION, RATE, panda_world

    with panda_world() as it:
        it.more_states(1)
        yield it
        it.more_states(5)
        check_states(it.states, robot, RATE, acceleration=ACCELERATION)
