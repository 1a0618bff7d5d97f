# SPDX-License-Identifier: Apache-2.0
"""Catalog of peers: how each is installed, and on how many of the problems it runs."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

OURS = 'ours'


@dataclass(frozen=True)
class Peer:
    """One row of every table: an adapter with its options, in its own environment.

    `adapter`: empty for one that could never be installed, so that there is nothing to call.
    `every`: a slow peer gets one problem in this many. `distribution`: whose version is reported.
    `requirements`: for pip; empty for ours, which runs in the project's interpreter.
    """

    name: str
    adapter: str
    distribution: str
    requirements: tuple[str, ...]
    every: int = 1
    options: dict[str, Any] = field(default_factory=dict)
    arms: tuple[str, ...] = ()  # none: all


LOOP = {'restarts': 100}
ALL_ONLY, CHOSEN = {'choose': False}, {'choose': True}
# ssik's solvers of other arms take ten seconds for a goal, or as many minutes to derive
CLOSED = ('panda', 'iiwa14', 'ur5', 'kinova_j2s6s200')

PEERS = {
    peer.name: peer
    for peer in (
        Peer(OURS, 'ours', '', ()),
        Peer('rtb ik_LM', 'rtb', 'roboticstoolbox-python', ('roboticstoolbox-python',)),
        Peer('OptIK', 'optik', 'optik-py', ('optik-py', 'numpy'), 1, {'threads': 1}),
        Peer('OptIK 2 threads', 'optik', 'optik-py', ('optik-py', 'numpy'), 1, {'threads': 2}),
        Peer('placo', 'placo', 'placo', ('placo==0.10.2', 'pin==3.8.0'), 1, LOOP),
        Peer('TRAC-IK 5 ms', 'tracik', 'pytracik', ('pytracik',), 1, {'budget': 0.005}),
        Peer('TRAC-IK 50 ms', 'tracik', 'pytracik', ('pytracik',), 5, {'budget': 0.05}),
        Peer('KDL NR_JL', 'kdl', 'tesseract-robotics', ('tesseract-robotics',), 5),
        Peer('roboplan', 'roboplan', 'roboplan', ('roboplan',)),
        Peer('pink', 'pink', 'pin-pink', ('pin-pink', 'daqp', 'qpsolvers'), 10, LOOP),
        Peer('mink', 'mink', 'mink', ('mink', 'daqp', 'qpsolvers'), 10, LOOP),
        Peer('Drake', 'drake', 'drake', ('drake',), 20),
        Peer('PyBullet', 'bullet', 'pybullet', ('numpy', 'pybullet'), 10),
        Peer('scipy', 'scipy_ls', 'scipy', ('scipy', 'pin'), 50),
        Peer('ikpy', 'ikpy', 'ikpy', ('ikpy',), 100),
        Peer('EmbodiK', 'embodik', 'embodik', ('embodik',), 100),
        Peer('ik-geo', 'ik_geo', 'ik-geo', ('ik-geo', 'numpy'), 1, ALL_ONLY, ('ur5',)),
        Peer('ik-geo + choice', 'ik_geo', 'ik-geo', ('ik-geo', 'numpy'), 1, CHOSEN, ('ur5',)),
        Peer('EAIK', 'eaik', 'EAIK', ('EAIK',), 1, ALL_ONLY, ('ur5', 'kinova_j2s6s200')),
        Peer('EAIK + choice', 'eaik', 'EAIK', ('EAIK',), 1, CHOSEN, ('ur5', 'kinova_j2s6s200')),
        Peer('ssik', 'ssik', 'ssik', ('ssik[urdf]',), 1, {}, CLOSED),
        Peer('PyKDL', '', 'PyKDL', ('PyKDL',)),
    )
}
