# SPDX-License-Identifier: Apache-2.0
"""An arm in this process: a tracker, ticked by a thread.

`settings` has its parameters, named as the node's; `tracker_setup` makes a tracker of them, and
`local_arm` runs it.
"""
