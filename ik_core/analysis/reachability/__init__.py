"""Reachability maps: made in chunks, with bounded memory, resumable, on one machine or many."""

from .maps import Progress, ReachabilityMap, reachability_map

__all__ = ['Progress', 'ReachabilityMap', 'reachability_map']
