# SPDX-License-Identifier: Apache-2.0
"""An arm that is a running `ik_node`, used only through its topics, services and parameters.

`RosArm` (`ros_arm`) is the arm of the page. It has a node with a thread of its own (`connection`),
which calls services without waiting (`calls`): for parameters (`parameters`, `settings`), pause
and reset. `presence` watches whether the node exists, `watch` reads its topics, `sending` sends
goals, `robot_loader` loads its robot, `messages` converts messages.
"""
