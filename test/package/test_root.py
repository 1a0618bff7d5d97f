"""The root of the project has these files and folders, and no others."""

import shutil
import subprocess

import pytest
from support.places import ROOT

FILES = {
    '.gitignore',
    'CHANGELOG.rst',
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


def test_the_root_has_the_files_that_are_listed_here():
    if not shutil.which('git') or not (ROOT / '.git').exists():
        pytest.skip('this is no checkout of git, or git is not installed')
    command = 'git', 'ls-files', '-z'
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f'git can not read this checkout: {done.stderr}')
    names = [name.partition('/') for name in filter(None, done.stdout.split('\0'))]
    assert {first for first, slash, _ in names if not slash} == FILES
    assert {first for first, slash, _ in names if slash} == FOLDERS
