"""What a robot can do: the self-test of a description, maps of what is in reach.

They may import all that solves and tracks.
"""
