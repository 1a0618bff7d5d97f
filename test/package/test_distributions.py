# SPDX-License-Identifier: Apache-2.0
"""Distributions have what package.xml asks for: a hand-written table, for Debian checked by apt.

rosdep can't be asked: it maps all of Ubuntu to python3-numba, which Ubuntu 24.04 does not have.
"""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

ROOT = Path(__file__).parents[2]
PACKAGE = ElementTree.parse(ROOT / 'package.xml').getroot()
OF_DISTRIBUTIONS = 'python3-'  # All other keys of package.xml are packages of ROS

MISSING = 'missing'
THERE = 'there'
UNKNOWN = 'not looked up'

# Ubuntu 22.04, 24.04 and 26.04; Debian 12 and 13; RHEL with EPEL, as ROS 2 needs it
DISTRIBUTIONS = ('jammy', 'noble', 'resolute', 'bookworm', 'trixie', 'rhel 9', 'rhel 10')

# The first numbers of a version. EPEL has hypothesis, but rosdep has no rule for it on RHEL.
TABLE = {
    'python3-numba': ('0.55', MISSING, UNKNOWN, '0.56', '0.61', MISSING, MISSING),
    'python3-hypothesis': (UNKNOWN, UNKNOWN, UNKNOWN, '6.67', '6.130', MISSING, MISSING),
    'python3-venv': (UNKNOWN, UNKNOWN, UNKNOWN, '3.11', UNKNOWN, THERE, THERE),
    'python3-numpy': (UNKNOWN, '1.26', '2.3', '1.24', '2.2', UNKNOWN, '1.26'),
    'python3-scipy': (UNKNOWN, UNKNOWN, UNKNOWN, '1.10', '1.15', UNKNOWN, UNKNOWN),
    'python3-yaml': (UNKNOWN, UNKNOWN, UNKNOWN, '6.0', UNKNOWN, UNKNOWN, UNKNOWN),
    'python3-pytest': (UNKNOWN, UNKNOWN, UNKNOWN, '7.2', '8.3', UNKNOWN, UNKNOWN),
    'python3-pytest-xdist': (UNKNOWN, UNKNOWN, UNKNOWN, '3.1', UNKNOWN, '2.5', '3.6'),
}


def asked_of_distributions() -> set[str]:
    """Keys of all kinds of dependencies: rosdep installs those of tests, too."""
    keys = {element.text or '' for element in PACKAGE if element.tag.endswith('depend')}
    return {key for key in keys if key.startswith(OF_DISTRIBUTIONS)}


def test_each_package_asked_for_is_in_the_table():
    assert asked_of_distributions() <= TABLE.keys()


@pytest.mark.parametrize('distribution', DISTRIBUTIONS)
def test_no_package_asked_for_is_missing(distribution):
    column = DISTRIBUTIONS.index(distribution)
    missing = {package for package, row in TABLE.items() if row[column] == MISSING}
    assert not asked_of_distributions() & missing


def test_the_build_makes_an_environment_where_numba_is_missing_or_old():
    assert 'python3-venv' in {element.text for element in PACKAGE.iterfind('build_depend')}


@pytest.mark.parametrize('package', TABLE)
def test_apt_cache_has_what_the_table_says(package):
    if not shutil.which('apt-cache') or not any(Path('/var/lib/apt/lists').glob('*_Packages*')):
        pytest.skip('no lists of packages: apt-get update')
    distribution = platform.freedesktop_os_release().get('VERSION_CODENAME')
    if distribution not in DISTRIBUTIONS:
        pytest.skip(f'{distribution} is not in the table')
    said = TABLE[package][DISTRIBUTIONS.index(distribution)]
    if said == UNKNOWN:
        pytest.skip(f'{distribution}: {package} is not looked up')
    policy = subprocess.run(
        ['apt-cache', 'policy', package],
        env={'LC_ALL': 'C', 'PATH': '/usr/bin:/bin'},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    candidate = re.search(r'Candidate: (?:\d+:)?(\S+)', policy)
    found = MISSING if candidate is None or candidate[1] == '(none)' else candidate[1]
    assert found == said if said == MISSING else re.match(re.escape(said) + r'\b', found)


def test_without_hypothesis_other_tests_run(tmp_path):
    (tmp_path / 'hypothesis.py').write_text('raise ImportError')
    done = subprocess.run(
        [
            sys.executable,
            '-m',
            'pytest',
            '-q',
            '-p',
            'no:cacheprovider',
            'test/core/test_chunks.py',
        ],
        # Else pytest would load the plugin of a hypothesis that is installed.
        env={
            **os.environ,
            'PYTHONPATH': f'{tmp_path}:{ROOT}',
            'PYTEST_DISABLE_PLUGIN_AUTOLOAD': '1',
        },
        cwd=ROOT,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    assert 'hypothesis is not installed' in done.stdout
    assert re.search(r'[1-9]\d* passed', done.stdout), done.stdout
