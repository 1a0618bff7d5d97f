# SPDX-License-Identifier: Apache-2.0
"""Reachability maps: computed in chunks, resumable, with bounded memory, on many machines."""

from .maps import ReachabilityMap, reachability_map

__all__ = ['ReachabilityMap', 'reachability_map']
