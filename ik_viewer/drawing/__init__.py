# SPDX-License-Identifier: Apache-2.0
"""Drawing of robots: shapes of links, and the nodes of a viser scene that show them.

`shapes` are values without a scene; they come from the visuals of a URDF (`appearance`) or from
the positions of joints (`skeleton`). `drawn_robot` and `marks` draw them in a scene.
"""
