# SPDX-License-Identifier: Apache-2.0
"""The library that colcon installed is taken beside the sources, if it was made of them."""

import shutil

import pytest

from ik_core.kernels import library
from support.installed_library import KERNELS, take_installed_library
from support.places import ROOT

pytestmark = pytest.mark.skipif(library.BACKEND != 'library', reason='there is no library here')
NAME = library.BACKEND_REASON.partition(',')[0]


@pytest.fixture
def kernels(tmp_path):
    """The kernels of a copy of the core without a library, to be edited."""
    ignored = shutil.ignore_patterns('*.so', '__pycache__')
    shutil.copytree(ROOT / 'ik_core', tmp_path / 'source' / 'ik_core', ignore=ignored)
    return tmp_path / 'source' / 'ik_core' / 'kernels'


@pytest.fixture
def places(tmp_path):
    """A folder without a library, and one where it is installed."""
    folder = tmp_path / 'install' / 'ik_core' / 'kernels'
    folder.mkdir(parents=True)
    shutil.copy2(KERNELS / NAME, folder)
    return [str(tmp_path), str(tmp_path / 'install')]


def test_the_library_of_these_sources_is_taken(kernels, places):
    take_installed_library(kernels, places)
    assert [path.name for path in kernels.glob('ik-*')] == [NAME]
    assert (kernels / NAME).read_bytes() == (KERNELS / NAME).read_bytes()


def test_the_library_of_other_sources_is_not(kernels, places):
    with (kernels.parent / 'rules.py').open('a') as file:
        file.write('# edited\n')
    take_installed_library(kernels, places)
    assert not list(kernels.glob('ik-*'))
