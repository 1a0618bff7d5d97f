# SPDX-License-Identifier: Apache-2.0
"""Reachability maps: made in chunks, with bounded memory, resumable, on one machine or many."""

from .maps import ReachabilityMap, reachability_map

__all__ = ['ReachabilityMap', 'reachability_map']
