# SPDX-License-Identifier: Apache-2.0
"""Masses of links and their centres, from the tree of elements that `urdf_filter` makes."""

from __future__ import annotations

from xml.etree import ElementTree

import numpy as np

from .mass import Inertial


def pop_inertials(tree: ElementTree.Element) -> dict[str, Inertial]:
    """Remove the inertials from the tree; return those with a mass, by link."""
    inertials = {}
    for link in tree.iterfind('link'):
        element = link.find('inertial')
        if element is None:
            continue
        link.remove(element)
        mass = float(element.find('mass').get('value', '0'))  # type: ignore[union-attr]
        origin = element.find('origin')
        centre = [0.0] * 3 if origin is None else [float(x) for x in origin.get('xyz', '').split()]
        if mass > 0.0:
            inertials[link.get('name', '')] = Inertial(mass, np.array(centre))
    return inertials
