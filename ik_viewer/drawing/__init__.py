# SPDX-License-Identifier: Apache-2.0
"""Drawing of robots: shapes of links, and the nodes of a viser scene that show them.

`shapes` are values and know no scene; they come from the visuals of a URDF (`appearance`) or from
where the joints are (`skeleton`). `drawn_robot` and `marks` draw.
"""
