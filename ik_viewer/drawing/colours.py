# SPDX-License-Identifier: Apache-2.0
"""The colours of states, from the palette of Okabe and Ito for the colour-blind."""

from __future__ import annotations

from .shapes import Colour

GREEN: Colour = (0, 158, 115)
BLUE: Colour = (0, 114, 178)
ORANGE: Colour = (230, 159, 0)
RED: Colour = (213, 94, 0)
PURPLE: Colour = (204, 121, 167)
SKY: Colour = (86, 180, 233)
GREY: Colour = (140, 146, 156)
DARK: Colour = (40, 44, 52)

LOST = 'no arm'  # shown in place of a code while there is no arm
# Colours of the codes of ~/status.
OF_CODES: dict[str, Colour] = {
    'reached': GREEN,
    'tracking': BLUE,
    'playing': BLUE,
    'closest': ORANGE,
    'too_few_joints': ORANGE,
    'stopped_short': ORANGE,
    'other_configuration': ORANGE,
    'blocked': RED,
    'obstacle': RED,
    'searching': PURPLE,
    'stale': GREY,
    'paused': GREY,
    'idle': GREY,
    LOST: GREY,
}


def colour_of(code: str) -> Colour:
    """Return the colour of a code; unknown ones count as trouble."""
    return OF_CODES.get(code, RED)


def hex_of(colour: Colour) -> str:
    """Return a colour as #rrggbb for HTML."""
    return '#{:02x}{:02x}{:02x}'.format(*colour)
