# SPDX-License-Identifier: Apache-2.0
"""Limits that change in motion: each published step keeps those of its time.

Judged as in `test_changes_in_motion`.
"""

import pytest

pytest.importorskip('rclpy')

from support.motion_changes import NONE, SPEEDS, assert_change_keeps_limits, change, record

pytestmark = pytest.mark.long
ACCELERATION, JERK = 'joint_limits.x.acceleration', 'joint_limits.x.jerk'
SOFT = {ACCELERATION: 0.5}
TOLERANCE = {'position_tolerance': 2e-5}


def while_recording_begins(node):
    """The limit is set, and a recording begins before it can be kept."""
    change(SOFT)(node)
    record(node, True)


CASES = {
    'a lower jerk': (10.0, 200.0, change({JERK: 5.0}), 10.0, 5.0),
    'a jerk limit': (10.0, NONE, change({JERK: 30.0}), 10.0, 30.0),
    'both lower': (10.0, 200.0, change({ACCELERATION: 1.0, JERK: 3.0}), 1.0, 3.0),
}


@pytest.mark.parametrize('speed', SPEEDS)
@pytest.mark.parametrize('case', CASES)
def test_limits_that_change_in_motion_are_kept(case, speed, tmp_path):
    assert_change_keeps_limits(CASES[case], speed, tmp_path)
