# SPDX-License-Identifier: Apache-2.0
"""An arm behind ROS: a running `ik_node`, reached by topics, services and parameters only.

`RosArm` (`ros_arm`) is what the page sees. It has a node on a thread of its own (`connection`), on
which services are called without waiting (`calls`): for the parameters (`parameters`, `settings`),
to pause and to reset. `presence` says whether the node is there, `watch` what it tells, `sending`
what it is told, `robot_loader` which robot it moves, `messages` what all this is as messages.
`main` is the program `ik_viewer`.
"""
