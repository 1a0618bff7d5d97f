# SPDX-License-Identifier: Apache-2.0
"""The node, and the governor alone, under all that can go wrong; judged from outside.

campaign          a node as a process, its users, and the report
actions           what users do to it; client: its services; draws: values for its parameters
trials            what happens in motion to a node that nothing else disturbs, judged more closely
robots            the descriptions that it gets; in some of them joints mimic others
faulty            the node, in which things raise at random
simulated_robot   a robot behind a controller, and its driver, which may say wrongly where it is
listener          hears what is commanded; trajectories: what a controller makes of trajectories
checker           what a motion may never do, from positions alone
expected_limits   the limits that a description and the parameters give, read independently
link_poses        where links are, by pinocchio
obstacles         trackers that avoid collisions, while their worlds change
offline           the governor and the tracker without ROS, as fast as they go
"""
