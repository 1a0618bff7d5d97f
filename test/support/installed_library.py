# SPDX-License-Identifier: Apache-2.0
"""The compiled library that colcon installed, for tests, which run on the sources."""

import os
import runpy
import shutil
from contextlib import suppress
from pathlib import Path

from .places import ROOT

KERNELS = ROOT / 'ik_core' / 'kernels'


def take_installed_library(kernels, places):
    """Copy the compiled library beside the sources, if it is not there but installed somewhere.

    Tests run on the sources, and `colcon build` leaves the library in its install space only.
    """
    is_of_these = runpy.run_path(str(kernels / 'sources.py'))['is_of_these']
    if any(map(is_of_these, kernels.glob('ik-*.so'))):
        return
    for place in places:
        for library in filter(is_of_these, Path(place, 'ik_core', 'kernels').glob('ik-*.so')):
            own = kernels / f'{os.getpid()}-{library.name}'  # other workers do the same
            with suppress(OSError):  # sources that nobody may write to are tested without
                shutil.copy2(library, own)
                own.replace(kernels / library.name)
