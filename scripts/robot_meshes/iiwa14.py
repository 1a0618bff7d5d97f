# SPDX-License-Identifier: Apache-2.0
"""Shapes of the LBR iiwa 14, in the frames of its links [mm].

Its joints follow each other at 360, 420, 400 and 126, as its data sheet says.
"""

from __future__ import annotations

from typing import Any

from solids import GAP, Solid, elbow, lathe, placed, ring, shell


def links() -> dict[str, dict[str, list[Solid]]]:
    """Return the solids of each link by colour."""
    return {
        'link0': {'grey': [_base()]},
        'link1': _half(211.0, 86.0, 82.0, 108.0, at=(0.0, 0.0, 202.5)),
        'link2': _half(191.0, 66.0, 82.0, 108.0, roll=180.0),
        'link3': _half(224.0, 67.0, 74.0, 107.0, yaw=180.0, at=(0.0, 0.0, 215.5)),
        'link4': _half(171.0, 66.0, 74.0, 107.0, roll=180.0, yaw=180.0),
        'link5': _forearm(),
        'link6': _wrist(),
        'link7': {
            'grey': [lathe([(50.0, -9.0), (50.0, 24.0, 6.0), (43.0, 32.0)])],
            'dark': [lathe([(42.0, 31.0), (42.0, 45.0, 2.0), (20.0, 45.0)])],
        },
    }


def _base() -> Solid:
    return shell(
        [
            (0.0, -158.0, 118.0, -112.0, 112.0, 2.6),
            (24.0, -158.0, 118.0, -112.0, 112.0, 2.6),
            (52.0, -154.0, 110.0, -106.0, 106.0, 2.5),
            (100.0, -149.0, 98.0, -96.0, 96.0, 2.4),
            (132.0, -146.0, 91.0, -91.0, 91.0, 2.3),
            (144.0, -130.0, 87.0, -87.0, 87.0, 2.2),
        ]
    )


def _half(
    start: float, neck: float, drum: float, depth: float, **place: Any
) -> dict[str, list[Solid]]:
    """Return one half of an elbow: orange on its cap, dark where it meets its neighbours."""
    *body, disc = elbow(start, neck, drum, depth, 0.56 * drum)
    seams = [ring(neck - 2.0, -start - 5.0, 1.0 - start), ring(drum - 2.0, -3.0, GAP, 'y')]
    return {
        'grey': placed(body, **place),
        'orange': placed([disc], **place),
        'dark': placed(seams, **place),
    }


def _forearm() -> dict[str, list[Solid]]:
    """A column that narrows to an ear beside joint 6."""
    at = (0.0, 0.0, 215.5)
    body = shell(
        [
            (-8.5, -66.0, 66.0, -66.0, 66.0, 2.0),
            (38.0, -66.0, 66.0, -67.0, 66.0, 2.0),
            (76.0, -63.0, 63.0, -80.0, 56.0, 2.1),
            (104.0, -57.0, 57.0, -92.0, 26.0, 2.3),
            (126.0, -50.0, 50.0, -97.0, -22.0, 2.6),
            (146.0, -46.0, 46.0, -99.0, -50.0, 3.0),
            (180.0, -46.0, 46.0, -100.0, -58.0, 3.0),
            (215.5, -48.0, 48.0, -100.0, -59.0, 3.0),
        ]
    )
    ear = lathe([(50.0, -59.0), (50.0, -102.0, 12.0), (0.0, -102.0)], 'y', at)
    disc = lathe([(28.0, -101.0), (28.0, -104.0), (0.0, -104.0)], 'y', at)
    seams = [ring(64.0, -14.0, -8.0), ring(48.0, -60.0, -54.0, 'y', at)]
    return {'grey': [body, ear], 'orange': [disc], 'dark': seams}


def _wrist() -> dict[str, list[Solid]]:
    ball = shell(
        [
            (-55.0, -50.0, 50.0, -50.0, 50.0, 2.0),
            (-44.0, -62.0, 62.0, -62.0, 62.0, 2.0),
            (-12.0, -72.0, 72.0, -72.0, 72.0, 2.0),
            (24.0, -70.0, 70.0, -70.0, 70.0, 2.0),
            (54.0, -56.0, 56.0, -56.0, 56.0, 2.0),
            (70.0, -36.0, 36.0, -36.0, 36.0, 2.0),
            (73.0, -28.0, 28.0, -28.0, 28.0, 2.0),
        ],
        'y',
        steps=2,
    )
    return {
        'grey': [ball, lathe([(57.0, 0.0), (57.0, 54.0, 8.0), (52.0, 68.0)])],
        'orange': [lathe([(28.0, 72.0), (28.0, 75.0), (0.0, 75.0)], 'y')],
        'dark': [ring(49.0, 67.0, 73.0)],
    }
