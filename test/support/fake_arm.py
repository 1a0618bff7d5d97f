# SPDX-License-Identifier: Apache-2.0
"""An arm that only remembers what it was asked for: the protocol of the viewer's page."""

import itertools

import numpy as np

from ik_viewer.arm import Description, GoalKind, Moment, Setting, TipState
from support import robots
from support.places import URDF

COUNTER = itertools.count()


def settings_of_a_solver():
    """Settings of all kinds."""
    rows = [
        Setting('solver', str, 'first', 'the method', choices=('first', 'second')),
        Setting('first.damping', float, 1e-5, 'how much [m]', (0.0, np.inf)),
        Setting('second.steps', int, 3, 'how many', (1, 10)),
        Setting('second.fast', bool, False, 'whether'),
        Setting('move', str, 'joint', 'the way', choices=('joint', 'linear')),
        Setting('rate', float, 100.0, 'ticks', static=True),
        Setting('tools.tip.xyz', list, (0.0, 0.0, 0.1), 'tool'),
        Setting('frozen_joints', tuple, ('a', 'b'), 'joints'),
        Setting('joint_limits.default.jerk', float, np.inf, 'jerk', (1e-6, np.inf)),
    ]
    return {setting.name: setting for setting in rows}


class FakeArm:
    """Stands at `q`; `calls` are the names and arguments of what was asked for."""

    def __init__(self, robot, links=None, settings=None, **description):
        self.description = Description(robot, **description)
        self.settings = settings_of_a_solver() if settings is None else settings
        self.q = robot.middle_configuration
        self.links = tuple(links or robot.tips())
        self.goals = [None] * len(self.links)
        self.kinds = [GoalKind.POSE] * len(self.links)
        self.code, self.solution, self.gone = 'idle', None, False
        self.notices, self.calls, self.error = [], [], 0.001

    def read(self):
        if self.gone:
            return None
        tips = tuple(
            TipState(link, np.eye(4), kind, goal, self.error, 0.002)
            for link, kind, goal in zip(self.links, self.kinds, self.goals, strict=True)
        )
        moment = Moment(float(next(COUNTER)), self.q.copy(), tips, self.code, f'is {self.code}')
        return moment._replace(solution=self.solution)

    def take_notices(self):
        taken, self.notices = self.notices, []
        return taken

    def set_goal(self, tip, transform, kind):
        self.calls.append(('set_goal', tip, transform, kind))

    def set_twist(self, tip, linear, angular):
        self.calls.append(('set_twist', tip, linear, angular))

    def set_joint_goal(self, positions):
        self.calls.append(('set_joint_goal', dict(positions)))

    def home(self):
        self.calls.append(('home',))

    def set_settings(self, values):
        self.calls.append(('set_settings', dict(values)))

    def pause(self, paused):
        self.calls.append(('pause', paused))

    def reset(self):
        self.calls.append(('reset',))

    def close(self):
        self.calls.append(('close',))

    def called(self, name):
        """The arguments of the calls of that name."""
        return [call[1:] for call in self.calls if call[0] == name]


def panda(**more):
    """One with a Panda, as its file draws it."""
    return FakeArm(robots.shipped('panda'), urdf=(URDF / 'panda.urdf').read_text(), **more)
