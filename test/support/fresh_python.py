# SPDX-License-Identifier: Apache-2.0
"""Fresh interpreters, with and without numba."""

import os
import shutil
import subprocess
import sys

import pytest

from ik_core.kernels import jit
from support.places import ROOT
from support.robots import python_path

needs_numba = pytest.mark.skipif(not jit.COMPILED, reason='kernels are not compiled here')

PLACES = ('HOME', 'XDG_CACHE_HOME', 'NUMBA_CACHE_DIR', 'TMPDIR', 'TEMP', 'TMP',
          'NUMBA_DISABLE_JIT')  # fmt: skip


def run(code, root=ROOT, **environment):
    """Return a fresh interpreter's output, with these variables and none of the others in
    PLACES."""
    kept = {key: value for key, value in os.environ.items() if key not in PLACES}
    done = subprocess.run(
        [sys.executable, '-c', code],
        env={**kept, 'PYTHONPATH': python_path(root, ROOT / 'test'),
             'PYTHONDONTWRITEBYTECODE': '1', **environment},
        cwd=root,
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def copy_of_core(place):
    """The place, with a copy of the core below it, to be edited.

    Also of its compiled modules, which else every fresh interpreter would have to make: none is
    written below PYTHONDONTWRITEBYTECODE. One of a file that was edited is not used.
    """
    shutil.copytree(ROOT / 'ik_core', place / 'ik_core')
    return place
