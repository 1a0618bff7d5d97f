# SPDX-License-Identifier: Apache-2.0
"""Shapes of the Panda and its hand, in the frames of its links [mm].

The distances between joints are those of its URDF; where one link ends and the next begins
follows from the ranges of the joints.
"""

from __future__ import annotations

from solids import GAP, Solid, elbow, lathe, placed, ring, shell

RADIUS = 55.0  # [mm] of the links up to the elbow, and of their joints


def links() -> dict[str, dict[str, list[Solid]]]:
    """Return the solids of each link by colour."""
    *half, disc = elbow(190.5, RADIUS, RADIUS, 126.0, 30.0)
    seams = [ring(RADIUS - 2.0, -196.0, -190.0), ring(RADIUS - 2.0, -3.0, GAP, 'y')]
    return {
        'link0': {'white': [_base()]},
        'shoulder': {'white': half, 'grey': [disc], 'dark': seams},
        'elbow': _elbow(),
        'link5': {'white': _forearm()},
        'link6': _wrist(),
        'link7': _flange(),
        'hand': _hand(),
        'finger': _finger(),
    }


def _base() -> Solid:
    """The foot, which reaches back to the connectors, and the column."""
    return shell(
        [
            (0.0, -148.0, 76.0, -92.0, 92.0, 2.7),
            (22.0, -149.0, 76.0, -92.0, 92.0, 2.7),
            (42.0, -140.0, 74.0, -86.0, 86.0, 2.5),
            (64.0, -100.0, 70.0, -75.0, 75.0, 2.3),
            (90.0, -70.0, 63.0, -63.0, 63.0, 2.1),
            (115.0, -58.0, 57.0, -57.0, 57.0, 2.0),
            (137.5, -RADIUS, RADIUS, -RADIUS, RADIUS, 2.0),
        ]
    )


def _elbow() -> dict[str, list[Solid]]:
    """One half of the elbow, whose axis is 82.5 before the column: link 3 and, turned, link 4."""
    column = shell(
        [
            (-120.5, -RADIUS, RADIUS, -RADIUS, RADIUS, 2.0),
            (-72.0, -RADIUS, RADIUS, -RADIUS, RADIUS, 2.0),
            (-46.0, -RADIUS, 54.0, -54.0, 58.0, 2.0),
            (-20.0, -52.0, 38.0, -49.0, 60.0, 2.0),
            (4.0, -42.0, 30.0, -36.0, 56.0, 2.0),
            (18.0, -24.0, 22.0, -16.0, 42.0, 2.0),
            (21.0, -2.0, 4.0, 8.0, 16.0, 2.0),
        ]
    )
    arm = shell(
        [
            (-14.0, GAP, 46.0, -72.0, -2.0, 2.4),
            (22.0, GAP, 70.0, -84.0, 14.0, 2.4),
            (52.0, GAP, 98.0, -68.0, 36.0, 2.6),
            (82.5, GAP, 106.0, -54.0, 54.0, 3.0),
        ],
        'x',
    )
    at = (82.5, 0.0, 0.0)
    drum = lathe([(RADIUS, GAP), (RADIUS, 111.0, 16.0), (0.0, 111.0)], 'y', at)
    return {
        'white': [column, arm, drum],
        'grey': [lathe([(30.0, 110.0), (30.0, 112.5), (0.0, 112.5)], 'y', at)],
        'dark': [
            ring(RADIUS - 2.0, -126.0, -120.0),
            ring(RADIUS - 2.0, -GAP, 3.0, 'y', at),
        ],
    }


def _forearm() -> list[Solid]:
    """A column that narrows to a blade beside the wrist, and the drum of joint 6."""
    body = shell(
        [
            (-258.5, -RADIUS, RADIUS, -RADIUS, RADIUS, 2.0),
            (-224.0, -RADIUS, RADIUS, -RADIUS, 57.0, 2.0),
            (-192.0, -53.0, 53.0, -44.0, 84.0, 2.1),
            (-160.0, -45.0, 45.0, -8.0, 104.0, 2.3),
            (-130.0, -38.0, 38.0, 36.0, 112.0, 2.6),
            (-88.0, -35.0, 35.0, 58.0, 116.0, 3.0),
            (-48.0, -38.0, 38.0, 62.0, 121.0, 3.0),
            (0.0, -46.0, 46.0, 60.0, 121.0, 3.0),
        ]
    )
    return [body, lathe([(50.0, 18.0), (50.0, 126.0, 14.0), (0.0, 126.0)], 'y')]


def _wrist() -> dict[str, list[Solid]]:
    bridge = shell(
        [
            (-24.0, -36.0, 36.0, -12.0, 52.0, 2.6),
            (14.0, -49.0, 54.0, -20.0, 54.0, 2.6),
            (52.0, -49.0, 70.0, -36.0, 49.0, 2.6),
            (88.0, -48.0, 76.0, -43.0, 43.0, 3.0),
        ],
        'x',
    )
    across = lathe([(49.0, -14.0), (49.0, 57.0, 14.0), (0.0, 57.0)])
    at = (88.0, 0.0, 0.0)
    down = lathe([(44.0, -49.5), (44.0, 82.0, 14.0), (0.0, 82.0)], 'y', at)
    return {
        'white': [bridge, across, down],
        'grey': [lathe([(24.0, 81.0), (24.0, 83.5), (0.0, 83.5)], 'y', at)],
        'dark': [ring(47.0, -19.0, -13.0), ring(42.0, -54.5, -49.0, 'y', at)],
    }


def _flange() -> dict[str, list[Solid]]:
    body = lathe([(44.0, 53.5), (44.0, 60.0), (57.0, 66.0, 5.0), (57.0, 92.0, 6.0), (42.0, 98.0)])
    knob = shell(
        [
            (20.0, -34.0, 34.0, 65.0, 96.0, 4.0),
            (76.0, -31.0, 31.0, 66.0, 95.0, 4.0),
            (85.0, -26.0, 26.0, 69.0, 92.0, 3.0),
        ],
        'x',
    )
    return {
        'white': [body, *placed([knob], yaw=45.0)],
        'grey': [lathe([(41.0, 96.0), (41.0, 101.0, 1.5), (31.5, 102.0), (31.5, 107.0)])],
    }


def _hand() -> dict[str, list[Solid]]:
    body = shell(
        [
            (2.0, -20.0, 20.0, -62.0, 62.0, 4.0),
            (8.0, -24.0, 24.0, -86.0, 86.0, 4.5),
            (26.0, -25.0, 25.0, -101.0, 101.0, 6.0),
            (58.0, -25.0, 25.0, -102.0, 102.0, 6.0),
            (65.0, -22.0, 22.0, -99.0, 99.0, 6.0),
        ]
    )
    slot = shell(
        [(63.0, -9.0, 9.0, -86.0, 86.0, 8.0), (66.0, -9.0, 9.0, -86.0, 86.0, 8.0)], steps=1
    )
    return {
        'white': [body],
        'grey': [lathe([(31.5, 0.5), (31.5, 14.0, 3.0), (0.0, 14.0)])],
        'dark': [slot],
    }


def _finger() -> dict[str, list[Solid]]:
    """The left finger, which closes towards -y; the right one is the same, turned."""
    block = shell(
        [
            (0.0, -8.5, 8.5, 4.0, 22.0, 7.0),
            (9.0, -8.5, 8.5, 4.0, 22.0, 7.0),
            (12.0, -10.5, 10.5, 1.5, 25.5, 7.0),
            (26.0, -10.5, 10.5, 1.5, 25.5, 7.0),
            (36.0, -10.0, 10.0, 1.0, 16.0, 7.0),
        ],
        steps=1,
    )
    tip = shell(
        [
            (34.0, -9.0, 9.0, 0.0, 14.5, 7.0),
            (50.0, -9.0, 9.0, 0.0, 13.0, 7.0),
            (54.0, -8.0, 8.0, 0.0, 9.0, 6.0),
        ],
        steps=1,
    )
    return {'grey': [block], 'dark': [tip]}
