# SPDX-License-Identifier: Apache-2.0
"""A page in the browser that shows a robot and moves it.

The page (`page`) shows and moves an `Arm` (`arm`): a node, used through its topics, services and
parameters (`ros`), or a tracker in this process (`local`).
"""
