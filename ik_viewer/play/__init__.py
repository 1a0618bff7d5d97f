# SPDX-License-Identifier: Apache-2.0
"""A captured clip and the robot that imitates it, side by side: `ik play`.

`clip` is what is shown, `playhead` says which frame, `live` retargets while one looks, and again
where a weight changes. `play_page` shows it, `command` is the command line.
"""
