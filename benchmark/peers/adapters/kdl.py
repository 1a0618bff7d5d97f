# SPDX-License-Identifier: Apache-2.0
"""KDL's Newton with joint limits (NR_JL), as tesseract has it: no wheel has KDL by itself."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from tesseract_robotics import tesseract_common, tesseract_environment, tesseract_kinematics

from .base import Adapter, Array, Chain

RESTARTS = 100
ITERATIONS = 30
TOLERANCE = 5e-7  # of each coordinate: of all three together, below 1e-6
PLUGINS = """kinematic_plugins:
  search_libraries: [tesseract_kinematics_kdl_factories]
  inv_kin_plugins:
    arm:
      default: NR_JL
      plugins:
        NR_JL:
          class: KDLInvKinChainNR_JLFactory
          config:
            base_link: {base}
            tip_link: {tip}
            position_eps: {eps}
            position_iterations: {iterations}
"""
GROUPS = """<robot name="{name}">
  <group name="arm"><chain base_link="{base}" tip_link="{tip}"/></group>
  <kinematics_plugin_config filename="{plugins}"/>
</robot>"""


class Peer(Adapter):
    """The call, repeated from random starts where it finds nothing."""

    settings = f'NR_JL, {ITERATIONS} iterations, eps {TOLERANCE:g}, {RESTARTS} restarts'

    def __init__(self, chain: Chain) -> None:
        super().__init__(chain)
        names = {'name': chain.name, 'base': chain.base, 'tip': chain.tip}
        with tempfile.TemporaryDirectory() as folder:
            plugins = Path(folder) / 'plugins.yaml'
            plugins.write_text(PLUGINS.format(**names, eps=TOLERANCE, iterations=ITERATIONS))
            groups = GROUPS.format(**names, plugins=plugins.as_uri())
            self._environment = tesseract_environment.Environment()
            self._locator = tesseract_common.GeneralResourceLocator()
            urdf = Path(chain.path).read_text(encoding='utf-8')
            if not self._environment.init(urdf, groups, self._locator):
                raise RuntimeError('tesseract does not take the chain')
        self._group = self._environment.getKinematicGroup('arm', 'NR_JL')

    def prepare(self, goal: Array, q0: Array) -> Any:
        wanted = tesseract_kinematics.KinGroupIKInput()
        wanted.pose = tesseract_common.Isometry3d(goal)
        wanted.tip_link_name, wanted.working_frame = self.chain.tip, self.chain.base
        inputs = tesseract_kinematics.KinGroupIKInputs()
        inputs.append(wanted)
        return inputs, q0

    def solve(self, prepared: Any) -> Any:
        inputs, q0 = prepared
        for start in self.starts(q0, RESTARTS):
            found = self._group.calcInvKin(inputs, start)
            if len(found):
                return np.asarray(found[0]).ravel()
        return None
