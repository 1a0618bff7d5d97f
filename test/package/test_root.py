# SPDX-License-Identifier: Apache-2.0
"""The root of the project has these files and folders, and no others."""

import shutil
import subprocess

import pytest
from support.places import ROOT

FILES = {
    '.gitignore',
    'CHANGELOG.rst',
    'CITATION.cff',
    'CONTRIBUTING.md',
    'LICENSE',
    'Makefile',
    'QUALITY_DECLARATION.md',
    'README.md',
    'SECURITY.md',
    'package.xml',
    'pyproject.toml',
    'pytest.ini',
    'rosdoc2.yaml',
    'setup.cfg',
    'setup.py',
}
FOLDERS = {
    '.ci',
    '.github',
    'benchmark',
    'config',
    'docs',
    'examples',
    'ik_core',
    'ik_node',
    'ik_viewer',
    'launch',
    'motions',
    'resource',
    'scripts',
    'test',
    'urdf',
}


def tracked_files():
    """Names of the files that git keeps."""
    if not shutil.which('git') or not (ROOT / '.git').exists():
        pytest.skip('this is no checkout of git, or git is not installed')
    command = 'git', 'ls-files', '-z'
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f'git can not read this checkout: {done.stderr}')
    return list(filter(None, done.stdout.split('\0')))


def test_the_root_has_the_files_that_are_listed_here():
    names = [name.partition('/') for name in tracked_files()]
    assert {first for first, slash, _ in names if not slash} == FILES
    assert {first for first, slash, _ in names if slash} == FOLDERS


def test_source_files_state_their_license_at_the_top():
    sources = [ROOT / name for name in tracked_files() if name.endswith(('.py', '.c', '.ll'))]
    sources += [path for folder in ('.ci', 'scripts') for path in (ROOT / folder).iterdir()]
    texts = {path: path.read_text('utf-8') for path in sources if path.is_file()}
    assert len(texts) > 900
    unlicensed = [
        str(path)
        for path, text in texts.items()
        if text.strip() and 'SPDX-License-Identifier: Apache-2.0' not in text[:120]
    ]
    assert not unlicensed
