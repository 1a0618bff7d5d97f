# SPDX-License-Identifier: Apache-2.0
"""A captured clip and the robot that imitates it, side by side: `ik play`.

`clip` has the motion and the robot, `playhead` the displayed frame. `live` retargets in the
background, and again after a change of a weight. `play_page` shows them, `command` is the command
line.
"""
