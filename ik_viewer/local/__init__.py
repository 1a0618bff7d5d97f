"""An arm in this process: a tracker, ticked by a thread.

`settings` are its parameters, named as the node's; `model` is what they make of a robot, and
`arm` moves it.
"""
