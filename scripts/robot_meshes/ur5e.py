# SPDX-License-Identifier: Apache-2.0
"""Shapes of the UR5e, in the frames of its links [mm]: tubes, and joints with blue lids.

The joints of shoulder and elbow have a radius of 60, those of the wrist one of 39; the distances
between them are those of the Denavit-Hartenberg parameters.
"""

from __future__ import annotations

from collections.abc import Sequence

from solids import Solid, lathe, ring, shell

BIG, SMALL = 60.0, 39.0


def links() -> dict[str, dict[str, list[Solid]]]:
    """Return the solids of each link by colour."""
    elbow, wrist = (-425.0, 0.0, 0.0), (-392.2, 0.0, 0.0)
    return {
        'base': {
            'grey': [
                lathe(
                    [
                        (74.5, 0.0),
                        (74.5, 16.0, 3.0),
                        (66.0, 22.0, 4.0),
                        (66.0, 48.0, 4.0),
                        (BIG, 56.0, 4.0),
                        (BIG, 96.0),
                    ]
                )
            ],
            'dark': [ring(BIG - 1.5, 94.0, 99.0)],
        },
        'shoulder': {
            'grey': [ring(BIG, -63.0, 52.0), ring(BIG, -72.0, 0.0, 'y')],
            'blue': [_lid(BIG, 52.0, 73.0)],
            'dark': [
                ring(BIG - 1.5, -66.0, -62.0),
                ring(BIG - 1.5, -76.0, -71.0, 'y'),
                ring(BIG + 0.4, 50.5, 53.0),
            ],
        },
        'upper_arm': {
            'grey': [
                ring(BIG, 76.0, 188.0),
                ring(BIG, 66.0, 188.0, at=elbow),
                _tube(57.0, 43.0, 137.0, 0.0, 425.0),
            ],
            'blue': [_lid(BIG, 188.0, 210.0), _lid(BIG, 188.0, 210.0, at=elbow)],
            'dark': [
                ring(BIG + 0.4, 186.5, 189.0),
                ring(BIG + 0.4, 186.5, 189.0, at=elbow),
                ring(BIG - 1.5, 61.0, 67.0, at=elbow),
                ring(44.0, -122.0, -118.0, 'x', (0.0, 0.0, 137.0)),
                ring(44.0, -307.0, -303.0, 'x', (0.0, 0.0, 137.0)),
            ],
        },
        'forearm': {
            'grey': [
                lathe([(57.0, 6.0), (57.0, 60.0)]),
                shell(
                    [
                        (54.0, -14.0, 14.0, 4.0, 40.0, 2.0),
                        (48.0, -34.0, 34.0, -8.0, 50.0, 2.0),
                        (34.0, -46.0, 46.0, -16.0, 56.0, 2.2),
                        (8.0, -55.0, 55.0, -29.0, 59.0, 2.2),
                        (-30.0, -57.0, 57.0, -44.0, 62.0, 2.1),
                        (-88.0, -56.0, 56.0, -47.0, 62.0, 2.0),
                        (-112.0, -41.0, 41.0, -34.0, 48.0, 2.0),
                        (-124.0, -37.5, 37.5, -30.5, 44.5, 2.0),
                    ],
                    'x',
                ),
                ring(37.5, -392.2, -120.0, 'x', (0.0, 0.0, 7.0)),
                ring(SMALL, -38.0, 58.0, at=wrist),
            ],
            'blue': [_lid(SMALL, -38.0, -50.0, at=wrist)],
            'dark': [
                ring(SMALL + 0.4, -39.0, -37.0, at=wrist),
                ring(SMALL - 1.5, 57.0, 61.0, at=wrist),
                ring(38.5, -126.0, -122.0, 'x', (0.0, 0.0, 7.0)),
            ],
        },
        'wrist_1': {
            'grey': [
                lathe([(SMALL, -72.0), (SMALL, 38.5, 12.0), (0.0, 38.5)]),
                ring(SMALL, -50.0, 45.0, 'y'),
            ],
            'blue': [_lid(SMALL, 45.0, 57.0, 'y')],
            'dark': [ring(SMALL - 1.5, -53.5, -49.0, 'y'), ring(SMALL + 0.4, 44.0, 46.0, 'y')],
        },
        'wrist_2': {
            'grey': [
                lathe([(SMALL, -46.0), (SMALL, 38.5, 12.0), (0.0, 38.5)]),
                ring(SMALL, -44.0, 50.0, 'y'),
            ],
            'blue': [_lid(SMALL, -44.0, -56.0, 'y')],
            'dark': [ring(SMALL - 1.5, 49.0, 54.0, 'y'), ring(SMALL + 0.4, -45.0, -43.0, 'y')],
        },
        'wrist_3': {
            'grey': [lathe([(38.0, -45.5), (38.0, -6.0, 2.0), (31.5, -5.0), (31.5, 0.0)])],
            'dark': [
                shell(
                    [(-44.5, -37.0, -14.0, -8.0, 8.0, 5.0), (-30.0, -38.0, -13.0, -9.0, 9.0, 5.0)],
                    'y',
                    steps=1,
                )
            ],
        },
    }


def _lid(
    radius: float, edge: float, top: float, axis: str = 'z', at: Sequence[float] = (0.0, 0.0, 0.0)
) -> Solid:
    """Return the lid of a joint, from its edge to its top along an axis."""
    return lathe([(radius, edge), (radius, top, abs(top - edge) - 4.0), (0.0, top)], axis, at)


def _tube(wide: float, narrow: float, height: float, start: float, length: float) -> Solid:
    """Return a tube along -x with wide sockets at both ends."""
    profile = [(wide, -start), (wide, -100.0, 12.0), (narrow, -118.0, 8.0)]
    profile += [
        (radius, -length - h, rounding)
        for radius, h, rounding in ((narrow, -118.0, 8.0), (wide, -100.0, 12.0), (wide, 0.0, 0.0))
    ]
    return lathe(profile, 'x', (0.0, 0.0, height))
