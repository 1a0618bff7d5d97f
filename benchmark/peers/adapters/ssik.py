# SPDX-License-Identifier: Apache-2.0
"""ssik: analytical solutions of 6R and 7R arms, in C++ where it has the arm's family there."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from .base import Adapter, Chain

PATIENCE = 60.0  # Time limit of the derivation for an arm [s]; some families take many minutes


class Peer(Adapter):
    """One solution within the limits, from the solver that `ssik build` derives for the arm."""

    settings = 'ssik build, max_solutions=1, within limits'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        if not 6 <= len(chain.joints) <= 7:
            raise NotImplementedError('for 6 or 7 joints only')
        self._solve = _build(chain).solve

    def prepare(self, goal: Any, q0: Any) -> Any:
        return goal

    def solve(self, prepared: Any) -> Any:
        found = self._solve(prepared, max_solutions=1)
        return found[0].q if found else None


def _build(chain: Chain) -> Any:
    """The module that `ssik build` writes for an arm."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / 'arm_ik.py'
        program = 'import sys, ssik.cli; sys.exit(ssik.cli.main())'
        subprocess.run(
            [
                sys.executable,
                '-c',
                program,
                'build',
                chain.path,
                '--base',
                chain.base,
                '--ee',
                chain.tip,
                '--out',
                str(file),
                '--no-validate',
            ],
            check=True,
            timeout=PATIENCE,
            capture_output=True,
        )
        spec = importlib.util.spec_from_file_location('arm_ik', file)
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return module
