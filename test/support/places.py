# SPDX-License-Identifier: Apache-2.0
"""Where the files of the project are."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
URDF = ROOT / 'urdf'
