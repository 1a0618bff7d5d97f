# SPDX-License-Identifier: Apache-2.0
"""A scene that only remembers: where nodes stand, as a browser would multiply it out."""

from types import SimpleNamespace

import numpy as np
from scipy.spatial.transform import Rotation


class FakeScene:
    """Takes the calls of viser's scene; `nodes` by name, each with what it was made with."""

    def __init__(self):
        self.nodes = {}

    def __getattr__(self, name):
        if not name.startswith('add_'):
            raise AttributeError(name)
        return lambda path, *args, **options: self._add(name[4:], path, args, options)

    def world(self, name):
        """The pose (4, 4) of a node in the world."""
        parts = name.strip('/').split('/')
        pose = np.eye(4)
        for i in range(len(parts)):
            node = self.nodes.get('/' + '/'.join(parts[: i + 1]))
            if node is not None:
                own = np.eye(4)
                own[:3, :3] = Rotation.from_quat(np.roll(node.wxyz, -1)).as_matrix()
                own[:3, 3] = node.position
                pose = pose @ own
        return pose

    def of_kind(self, kind):
        """The nodes of a kind ('box', 'mesh_simple', ...), with their names."""
        return {name: node for name, node in self.nodes.items() if node.kind == kind}

    def _add(self, kind, path, args, options):
        defaults = {'wxyz': np.array([1.0, 0.0, 0.0, 0.0]), 'position': np.zeros(3)}
        node = Node(name=path, kind=kind, args=args, visible=True, moves=0)
        for name, value in {**defaults, **options}.items():
            setattr(node, name, value)
        if kind == 'batched_meshes_simple':
            _, _, node.batched_wxyzs, node.batched_positions = args
        self.nodes[path] = node
        node.remove = lambda: self._remove(path)
        return node

    def _remove(self, path):
        for name in [n for n in self.nodes if n == path or n.startswith(path + '/')]:
            del self.nodes[name]


class Node(SimpleNamespace):
    """A node; `moves` counts how often its orientation was set."""

    def __setattr__(self, name, value):
        if name == 'wxyz':
            self.moves += 1
        super().__setattr__(name, value)
