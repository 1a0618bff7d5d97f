# SPDX-License-Identifier: Apache-2.0
"""Folders of the project."""

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
URDF = ROOT / 'urdf'
