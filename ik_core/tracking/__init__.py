"""From a stream of goals to a stream of commands within the limits of the motion.

The tracker decides, its parts each do one thing; they may import solvers, never `batch`.
"""
