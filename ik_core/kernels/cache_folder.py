# SPDX-License-Identifier: Apache-2.0
"""Folders of the user's own, for results that take long to compute."""

from __future__ import annotations

import os
from pathlib import Path


def cache_folder(name: str) -> Path | None:
    """Return a folder below `~/.cache/ik_core` (or XDG_CACHE_HOME) that only its owner can use.

    It is made if it is missing. None if there can't be a safe one.
    """
    home = os.environ.get('XDG_CACHE_HOME')
    try:
        whole = (Path(home) if home else Path.home() / '.cache') / 'ik_core'
        own = whole / name
        own.mkdir(0o700, parents=True, exist_ok=True)
        for each in (whole, own):
            each.chmod(0o700)
            if each.stat().st_uid != os.getuid():
                return None
    except (OSError, RuntimeError):  # there is no home, or it is read-only
        return None
    return own
