# SPDX-License-Identifier: Apache-2.0
"""`ik linkage --live`: show a linkage in the browser, where it can be changed."""

from __future__ import annotations

import argparse
from functools import partial

from ..page.page import MakePart, open_page
from ..page.program import ended_by_signals, show_until
from ..parts import ALL_PARTS
from .linkage_arm import Design, LinkageArm
from .panel import LinkagePanel


def main(arguments: argparse.Namespace) -> int:
    """Show a linkage until Ctrl-C; return the exit code. Raises IkError, OSError.

    arguments : the checked arguments of `ik linkage`
    """
    lengths = arguments.length * (arguments.rods if len(arguments.length) == 1 else 1)
    design = Design(
        arguments.joint,
        tuple(lengths),
        arguments.limits and tuple(arguments.limits),
        arguments.velocity,
        arguments.pitch,
        arguments.branches,
        pieces=arguments.flexible,
        rod_stiffness=arguments.stiffness,
    )
    arm = LinkageArm(design)
    try:
        parts: tuple[MakePart, ...] = (partial(LinkagePanel, arm=arm), *ALL_PARTS)
        page = open_page(arm, arguments.host, arguments.port, parts)
        show_until(ended_by_signals(), page, 'The linkage')
    finally:
        arm.close()
    return 0
