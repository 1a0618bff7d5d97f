"""Inputs: goals, measured joint states, frames, markers that are dragged."""
