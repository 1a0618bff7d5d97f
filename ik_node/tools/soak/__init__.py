"""The node, and the governor alone, under all that can go wrong; judged from outside.

campaign      a node as a process, its users, and the report
actions       what users do to it; client: its services; draws: values for any of its parameters
faulty        the node, in which things raise at random
arm           robots behind a controller, that follow or do not, and say where they are
listener      hears what is commanded; trajectories: what a controller makes of trajectories
checker       what a motion may never do, from positions alone
limits        the limits that a description and the parameters give, read independently
poses         where links are, by pinocchio
offline       the governor and the tracker without ROS, as fast as they go
"""
