# SPDX-License-Identifier: Apache-2.0
"""The page: a viser server that shows an arm and lets users move it, 60 times a second.

A `Page` (`page`) reads the arm's state and passes it to its parts. The parts are made again for
each new robot, from a `PageContext` (`page_context`): `scene`, `goal_panel`, `jog`,
`solver_panel`, `joint_panel` and `settings_panel`. The `status_panel` stays.
"""
