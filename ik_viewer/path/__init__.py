# SPDX-License-Identifier: Apache-2.0
"""Paths on the page: poses that a tip shall pass, the motion along them, its branches."""
