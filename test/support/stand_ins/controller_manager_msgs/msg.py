# SPDX-License-Identifier: Apache-2.0
"""Messages of the package. Nobody publishes them where this stands in for it."""

from std_msgs.msg import String as ControllerManagerActivity

__all__ = ['ControllerManagerActivity']
