"""The experiments that `ik bench NAME` runs; their results live in benchmark/.

A benchmark is a module with `run(arguments)`, which returns its rows, a list of flat dicts, so
that every one of them can be printed as a table, as JSON and as CSV; with `draw(rows)` it also
makes a figure. `arguments` has `count` (random goals per robot), `out` (a folder, or None),
and for the peers `peers` and `peers_venv`. Times are taken side by side in one run: compare
ratios, not times of different days or machines.

The experiments of the papers are in `papers`, and work a little differently.

`rows` prints and writes rows, `generated` and `problems` make robots and problems to measure.
"""

BENCHMARKS = {
    'solve': 'success and time of every solver over random reachable goals',
    'closest': 'goals out of reach: which closest points are none, by perturbation and scipy',
    'batch': 'rates of many goals at once, one thread and all; all solutions of a UR5e',
    'closed_form': 'all solutions in closed form beside searches; the sweep of a seventh joint',
    'closed_form_proof': 'solutions in closed form that others find not, and the other way',
    'startup': 'time from starting Python to the first solution, first ever and cached',
    'hard': 'singularities, limits, boundaries, goals out of reach: the default solver',
    'secondary': 'secondary tasks: their extra time, and how low they end beside SLSQP',
    'scaling': 'time an iteration as joints and goals grow; a 60-dof figure in motion',
    'tracking': 'joint drift over closed loops, goals out of reach, lag, time a tick',
    'load': 'time to load every URDF that is at hand',
    'rate': 'rate and jitter of the joint states of the node, beside a bare rclpy timer',
    'peers': 'success and time beside every other solver that PyPI has, on nine arms',
}
"""What can be measured; each name is a module of this folder, but for PEERS."""

PEERS = 'peers'
"""Lives in benchmark/, outside the installed package, and installs what it compares with."""
