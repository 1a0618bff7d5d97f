# SPDX-License-Identifier: Apache-2.0
"""ROS in tests: what they say stays on this machine, and a killed process takes nobody along.

A process killed while it writes to shared memory makes others crash when they end (Fast DDS 2.14).
The discovery range LOCALHOST always adds shared memory; without a range of its own, rmw_fastrtps
leaves the transports to the file.
"""

import os
from pathlib import Path

PROFILES = Path(__file__).with_name('local_udp.xml')


def stay_on_this_machine():
    """Set the environment of contexts and processes that begin later."""
    os.environ.pop('ROS_LOCALHOST_ONLY', None)
    os.environ['ROS_AUTOMATIC_DISCOVERY_RANGE'] = 'SYSTEM_DEFAULT'
    for library in ('FASTRTPS', 'FASTDDS'):  # before and since Fast DDS 3
        os.environ[f'{library}_DEFAULT_PROFILES_FILE'] = str(PROFILES)
