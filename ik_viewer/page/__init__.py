# SPDX-License-Identifier: Apache-2.0
"""The page: a viser server that shows an arm and lets people move it, 60 times a second.

A `Page` (`page`) looks at the arm and has its parts show what it saw. Parts are made anew for
another robot, each from a `Stage` (`stage`): `scene`, `goal_panel`, `jog`, `solver`, `joint_panel`
and `settings_panel`. The `status_panel` stays.
"""
