# SPDX-License-Identifier: Apache-2.0
"""A `RosArm` beside a client of the tests, on their domain, and waiting for what it sees."""

from contextlib import contextmanager

import rclpy

from ik_viewer.ros.ros_arm import RosArm
from support.node_harness import DOMAIN


class Watched:
    """An arm of a node in the namespace of a client, and the notices that it gave so far."""

    def __init__(self, client, context):
        self._client, self.notices = client, []
        self.arm = RosArm(f'{client.namespace}/ik_node', context=context)

    @property
    def moment(self):
        """Return the arm's state."""
        return self.arm.read()

    @property
    def tips(self):
        """The tips now; () where nothing is known."""
        return self.moment.tips if self.moment else ()

    def until(self, condition, what):
        """Wait until the condition holds."""
        return self._client.until(condition, what)

    def until_there(self):
        """Wait until it is known how the arm is; that moment."""
        return self.until(lambda: self.moment, 'a moment')

    def until_value(self, name, value):
        """Wait until a setting has a value."""
        settings = lambda: self.arm.settings  # noqa: E731
        self.until(lambda: name in settings() and settings()[name].value == value, f'{name}')

    def until_notice(self, *words):
        """Wait for a notice with all these words; it is taken out."""

        def found():
            self.notices += self.arm.take_notices()
            return next((n for n in self.notices if all(word in n for word in words)), None)

        notice = self.until(found, f'a notice of {words}; there are {self.notices}')
        self.notices.remove(notice)
        return notice


@contextmanager
def watched(client):
    """A `Watched` of the node of a client."""
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    it = Watched(client, context)
    try:
        yield it
    finally:
        it.arm.close()
        context.try_shutdown()
