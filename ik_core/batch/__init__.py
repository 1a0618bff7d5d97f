"""Many solves for one answer: many targets, the best of several solutions, all solutions.

They may import solvers, never `tracking`.
"""
