# SPDX-License-Identifier: Apache-2.0
"""A program's result in the browser: `ik.show`.

`result_arm` moves a robot along a path until it is dragged, `result_panel` has the controls and
draws ghosts and paths, `result_page` is the page that the program holds.
"""

from .result_page import ResultPage, show

__all__ = ['ResultPage', 'show']
