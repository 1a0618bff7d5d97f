# SPDX-License-Identifier: Apache-2.0
"""The goals: where each tip should be in this tick, and how far it is from there.

`tips` has a target per tip: a goal, a stream, a line or a jog; `cartesian` moves their frames.
`joint_goals` has configurations as goals. `monitor` measures errors and singularities.
"""
