"""What a robot can do: the self-test of a description, maps of what is in reach.

May import everything that solves and tracks.
"""
