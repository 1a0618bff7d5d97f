"""The node, and the governor alone, under all that can go wrong; judged from outside.

checker     what a motion may never do, from positions alone
limits      the limits that a description and the parameters give, read independently
offline     the governor and the tracker without ROS, as fast as they go
"""
