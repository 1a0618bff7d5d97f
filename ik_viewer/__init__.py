# SPDX-License-Identifier: Apache-2.0
"""A robot in the browser: dragged by its tips, watched, and told how to move.

The page (`page`) shows and steers an `Arm` (`arm`), wherever that is: a node that is reached by
topics, services and parameters (`ros`), or a tracker in this process (`local`).
"""
