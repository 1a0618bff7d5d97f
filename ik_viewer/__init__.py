# SPDX-License-Identifier: Apache-2.0
"""A page in the browser that shows a robot and moves it.

`ik.show` and `ik view` open the page. These names open it for an arm of your own: the page shows
and steers an `Arm`, wherever that is: a node behind topics, services and parameters (`ros`), a
tracker in this process (`local`), or whatever else fulfils the protocol.
"""

from .arm import Arm, Description, GoalKind, Moment, Setting, TipState
from .drawing.description import describe
from .local.local_arm import LocalArm
from .page.page import Page, open_page
from .parts import ALL_PARTS

__all__ = [
    'ALL_PARTS',
    'Arm',
    'Description',
    'GoalKind',
    'LocalArm',
    'Moment',
    'Page',
    'Setting',
    'TipState',
    'describe',
    'open_page',
]
