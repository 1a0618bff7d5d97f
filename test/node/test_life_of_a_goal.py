# SPDX-License-Identifier: Apache-2.0
"""The way of a goal from message to joint state is the one that docs/inside.md draws."""

import re
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip('rclpy')

import rclpy
from geometry_msgs.msg import PoseStamped
from support.node_harness import DOMAIN, UNDESCRIBED, overrides, unique_namespace
from support.places import ROOT, URDF

import ik_core
import ik_node
from ik_node import control_loop
from ik_node.conversions import transform_to_pose
from ik_node.node import IkNode

PACKAGES = tuple(str(Path(package.__file__).parent) for package in (ik_core, ik_node))


class NoTicker:
    """Leaves the ticks to the test."""

    def __init__(self, *_):
        pass

    def stop(self):
        pass


def drawn():
    """The functions of the drawing as paths: each after those that it is called by."""
    text = (ROOT / 'docs' / 'inside.md').read_text()
    block = re.search(r'## The life of a goal.*?```\n(.*?)```', text, re.DOTALL)[1]
    paths, above = [], []
    for line in block.splitlines():
        spaces, name = re.match(r'( *)(\S+)', line).groups()
        above[len(spaces) // 4 :] = [name]
        paths.append(tuple(above))
    return paths


class Calls:
    """The calls of our functions while it is the profiler, each with those that called it."""

    def __init__(self):
        self.paths = []

    def __call__(self, frame, event, _):
        if event != 'call' or not is_ours(frame):
            return
        path = []
        while frame is not None:
            if is_ours(frame):
                path.append(frame.f_code.co_qualname.replace('.<locals>', ''))
            frame = frame.f_back
        self.paths.append(tuple(reversed(path)))


def is_ours(frame):
    return frame.f_code.co_filename.startswith(PACKAGES)


@pytest.fixture
def node(monkeypatch):
    monkeypatch.setattr(control_loop, 'Ticker', NoTicker)
    context = rclpy.Context()
    rclpy.init(context=context, domain_id=DOMAIN)
    parameters = {'urdf_path': str(URDF / 'panda.urdf'), **UNDESCRIBED}
    node = IkNode(
        namespace=unique_namespace(), context=context, parameter_overrides=overrides(parameters)
    )
    assert node.autostart()
    yield node
    node.finish()
    node.destroy_node()
    context.try_shutdown()


def tick(node):
    node.prepare()
    node.step()
    node.publish(time.monotonic_ns())


def test_a_goal_passes_the_functions_that_are_drawn(node):
    model, publisher = node._motion.model, node.create_publisher(PoseStamped, 'goal_pose', 1)
    calls = Calls()
    for change in (0.001, 0.002, 0.003):
        goal = model.tip_pose(0)
        goal[0, 3] -= change
        message = PoseStamped(pose=transform_to_pose(goal))
        message.header.frame_id = model.robot.base_link
        deadline = time.monotonic() + 300.0
        while not any(path[-1] == 'SetGoal.apply' for path in calls.paths):
            publisher.publish(message)  # until it is discovered, messages are lost
            time.sleep(0.01)
            calls.paths.clear()
            sys.setprofile(calls)
            tick(node)
            sys.setprofile(None)
            assert time.monotonic() < deadline
        passed, calls.paths = calls.paths, []
        for _ in range(20):
            tick(node)
    paths = drawn()
    first = [passed.index(path) for path in paths]  # ValueError: another way
    assert first == sorted(first)
