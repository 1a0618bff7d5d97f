# SPDX-License-Identifier: Apache-2.0
"""CHANGELOG.rst is short, and in the form that ROS's tools for releases read."""

import re
from xml.etree import ElementTree

import pytest
from support.places import ROOT

TEXT = (ROOT / 'CHANGELOG.rst').read_text('utf-8')


def test_each_version_fits_on_a_screen():
    _, *sections = re.split(r'^.+\n-{3,}$', TEXT, flags=re.M)
    assert sections
    for section in sections:
        assert section.count('\n') <= 40
        assert all(len(line) <= 132 for line in section.splitlines())


def test_ros_s_tools_read_it():
    changelog = pytest.importorskip('catkin_pkg.changelog')
    from catkin_pkg.package_version import get_forthcoming_label

    read = changelog.get_changelog_from_path(str(ROOT), 'ik_node')
    version = ElementTree.parse(ROOT / 'package.xml').findtext('version')
    versions = [version for version, _, _ in read.foreach_version(reverse=True)]
    assert get_forthcoming_label(read.rst) == 'Forthcoming' or version in versions
