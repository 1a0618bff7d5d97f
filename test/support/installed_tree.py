# SPDX-License-Identifier: Apache-2.0
"""Installs a copy of the source tree the way colcon and pip do, for tests of what arrives."""

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from support.places import ROOT

NOT_SOURCE = ('.*', 'build', 'install', 'log', '__pycache__', '*.egg-info')


def copy_tree(target: Path) -> Path:
    """Copy the sources, so that building them leaves nothing in the tree."""
    shutil.copytree(ROOT, target, ignore=shutil.ignore_patterns(*NOT_SOURCE))
    return target


def run(*command: str | Path, cwd: Path, **env: str) -> subprocess.CompletedProcess[str]:
    """Run a command to its end with its output captured; the rclpy wheels' hook runs anew."""
    inherited = {k: v for k, v in os.environ.items() if k != '_ROS_WHEELS_BOOTSTRAP_COMPLETE'}
    return subprocess.run(
        list(map(str, command)),
        cwd=cwd,
        env=inherited | env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )


def install_like_colcon(folder: Path) -> Path:
    """Install into a prefix with the commands of colcon's build step for ament_python.

    No kernels are compiled, which would take minutes. Debian's Python would put all of it below
    <prefix>/local; no other knows that variable.
    """
    pytest.importorskip('setuptools')
    prefix = folder / 'prefix'
    done = run(
        sys.executable, 'setup.py', 'egg_info', 'install', '--prefix', prefix, '--record', 'files',
        '--single-version-externally-managed',
        cwd=copy_tree(folder / 'source'), DEB_PYTHON_INSTALL_LAYOUT='deb_system', IK_KERNELS='off',
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return prefix


def site_packages(prefix: Path) -> Path:
    """Return the folder of the modules of such a prefix."""
    names = {'base': str(prefix), 'platbase': str(prefix)}
    known = ('posix_prefix', 'deb_system', sysconfig.get_default_scheme())
    for scheme in (name for name in known if name in sysconfig.get_scheme_names()):
        path = Path(sysconfig.get_path('purelib', scheme, names))
        if path.is_dir():
            return path
    raise FileNotFoundError(f'no site-packages in {prefix}')
