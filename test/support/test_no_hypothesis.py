# SPDX-License-Identifier: Apache-2.0
"""Without hypothesis every file of tests that imports it is collected; what draws is skipped."""

import os
import re
import subprocess
import sys

from support.places import ROOT
from support.robots import python_path

USES = re.compile(r'^(?:from|import) hypothesis', re.M)
FILES = sorted(
    path for path in (ROOT / 'test').rglob('test_*.py') if USES.search(path.read_text('utf-8'))
)


def test_files_that_draw_examples_are_collected_without_hypothesis(tmp_path):
    assert FILES
    (tmp_path / 'hypothesis.py').write_text('raise ImportError("it is not installed")')
    path = os.pathsep.join([str(tmp_path), python_path(ROOT)])
    options = '-q', '--collect-only', '-p', 'no:cacheprovider', '-p', 'no:hypothesispytest'
    done = subprocess.run(
        [sys.executable, '-m', 'pytest', *options, *FILES],
        env=os.environ | {'PYTHONPATH': path},
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
