# SPDX-License-Identifier: Apache-2.0
"""A virtual environment for each peer, made with venv and pip, and kept for the next time.

They are separate because requirements conflict: an old numpy here, an old pinocchio there.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

from .catalog import Peer

INSTALLED = 'installed.txt'  # Holds the requirements that an environment was completed with
PATIENCE = 1800.0  # Time limit of an installation [s]


class PeerAbsent(Exception):
    """A peer that can't be had here; says why."""


def default_root() -> Path:
    """Default folder of the environments: in the user's cache."""
    cache = os.environ.get('XDG_CACHE_HOME') or Path.home() / '.cache'
    return Path(cache) / 'ik_core' / 'peers'


def interpreter(peer: Peer, root: Path) -> str:
    """The Python that has the peer, installed now if need be. Raises PeerAbsent."""
    if not peer.requirements:
        return sys.executable
    folder = root / (peer.adapter or peer.name)
    python = folder / ('Scripts' if os.name == 'nt' else 'bin') / 'python'
    marker = folder / INSTALLED
    wanted = '\n'.join(peer.requirements)
    if not (python.exists() and marker.is_file() and marker.read_text() == wanted):
        print(f'peers: installing {" ".join(peer.requirements)} in {folder}', file=sys.stderr)
        shutil.rmtree(folder, ignore_errors=True)
        folder.parent.mkdir(parents=True, exist_ok=True)
        _run([sys.executable, '-m', 'venv', str(folder)])
        _run([str(python), '-m', 'pip', 'install', '--quiet', *peer.requirements])
        marker.write_text(wanted)
    return str(python)


def _run(command: list[str]) -> None:
    """Run a step of an installation. Raises PeerAbsent with its last complaint."""
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        raise PeerAbsent(f'not installable: {error}') from None
    if done.returncode:
        raise PeerAbsent(f'not installable: {complaint(done.stdout + done.stderr)}')


def complaint(output: str) -> str:
    """The line of pip's output that says most about a failure."""
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    errors = [line for line in lines if line.lower().startswith('error:')]
    telling = [line for line in errors if 'subprocess-exited' not in line]
    return (telling or errors or lines or ['no output'])[0 if telling else -1][:200]
