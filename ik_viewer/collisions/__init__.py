# SPDX-License-Identifier: Apache-2.0
"""Collisions on the page: obstacles to drag, closest pairs as lines, colliding links in red."""
