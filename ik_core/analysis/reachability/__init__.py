"""Reachability maps: made in chunks, with bounded memory, resumable, on one machine or many."""

from .cloud import ReachCloud, reach_cloud
from .maps import Progress, ReachabilityMap, reachability_map

__all__ = ['Progress', 'ReachCloud', 'ReachabilityMap', 'reach_cloud', 'reachability_map']
