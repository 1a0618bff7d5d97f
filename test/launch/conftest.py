# SPDX-License-Identifier: Apache-2.0
"""Fixtures of the tests of launch files: where they start, and what listens.

Each test starts a launch in a namespace of its own; each file of tests says on which domain.
"""

import os
import sys

import pytest
from support.installed_tree import ROOT, install_like_colcon, site_packages
from support.one_machine import stay_on_this_machine

stay_on_this_machine()


@pytest.fixture(scope='session')
def workspace(tmp_path_factory):
    """The environment of a shell that has sourced a workspace with this package in it.

    But for the modules, which are those of the tree: their kernels are compiled already.
    """
    prefix = install_like_colcon(tmp_path_factory.mktemp('launch'))
    paths = {
        'AMENT_PREFIX_PATH': [prefix, os.environ.get('AMENT_PREFIX_PATH') or sys.prefix],
        'PYTHONPATH': [ROOT, site_packages(prefix), os.environ.get('PYTHONPATH', '')],
    }
    joined = {name: os.pathsep.join(filter(None, map(str, p))) for name, p in paths.items()}
    return {**os.environ, **joined}


@pytest.fixture(scope='module')
def environment(workspace, request):
    """The same on the domain of these tests."""
    return {**workspace, 'ROS_DOMAIN_ID': str(request.module.DOMAIN)}


@pytest.fixture
def namespace(request):
    """A namespace that no other test, and no other run of the tests, uses."""
    return f'{request.node.name}_{os.getpid()}'


@pytest.fixture
def listener(request):
    """A node that hears what the launched one publishes."""
    from support.launching import Listener

    listener = Listener(request.module.DOMAIN)
    yield listener
    listener.close()
