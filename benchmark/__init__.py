# SPDX-License-Identifier: Apache-2.0
"""The experiments of `ik bench NAME`, which run in a clone of the project, and their results.

An experiment is a module of this folder, or of `papers` for those of the papers:

    rows(arguments) -> rows      the measurements, flat dictionaries with the same keys
    claims(rows) -> claims       the claims of a paper, and whether they hold in these rows
    draw(rows) -> figure         in the style of the reproduced figure
    report(rows, folder)         writes further files into the folder of results

Only `rows` is required; the experiments of papers have the first three. Claims and figures depend
on rows alone, so they can be made again from a CSV file. `arguments` has `count` (random goals per
robot), `mocap` (a folder, or None), `peers` and `peers_venv` for the peers, and `beside` for
`warm_solve`. Times of solvers compared are taken in turns in one run: compare ratios, not times of
different days or machines.

`runner` is the command, `results` prints and writes rows, `robots` and `problems` make the robots
and problems that are measured.
"""

# The benchmarks by name; each is a module of this folder.
BENCHMARKS = {
    'solve': 'success and time of every solver over random reachable goals',
    'closest': 'goals out of reach: which closest points are none, by perturbation and scipy',
    'warm_solve': 'a single solve with warm caches and with cold ones, beside another checkout',
    'batch': 'rates of many goals at once, one thread and all; all solutions of a UR5e',
    'closed_form': 'all solutions in closed form beside searches; the sweep of a seventh joint',
    'closed_form_proof': 'solutions in closed form that others find not, and the other way',
    'few_joints': 'poses of four and five joints, position first and weighed alike, in turns',
    'path': 'paths of 200 poses that can be done: how many are, how well, how fast',
    'collisions': 'judging configurations, and solving goals free of collisions, in four scenes',
    'avoiding': 'motion that keeps clear of the robot and of obstacles, and what that costs',
    'never_hits': 'arms sent into each other and into a table, beside other solvers',
    'startup': 'time from the start of a process to its first answer of each kind',
    'hard': 'singularities, limits, boundaries, goals out of reach: the default solver',
    'secondary': 'secondary tasks: their extra time, and how low they end beside SLSQP',
    'scaling': 'time an iteration as joints and goals grow; a 60-dof figure in motion',
    'teleop': 'a hand that moves a tip: jumps, freezes, delay, error, jerk; bad networks',
    'tracking': 'joint drift over closed loops, goals out of reach, lag, time a tick',
    'load': 'time to load every URDF that is at hand',
    'rate': 'rate and jitter of the joint states of the node, beside a bare rclpy timer',
    'frames': 'frames a second that a page of the viewer sends, and what that costs',
    'peers': 'success and time beside every other solver that PyPI has, on nine arms',
}

INSTALLING = ('peers', 'never_hits')  # run only by name: they install what they compare with

# The figures and tables of papers that are reproduced; each name is a module of `papers`.
PAPERS = {
    'convergence': '[Engell2007] Fig. 6: the objective after every iteration',
    'precision': '[Engell2007] 3.3.3: how near to a goal out of reach methods end',
    'scaling_papers': '[Engell2007] Figs. 8 to 10: time and iterations as chains grow',
    'buss': '[Buss2009] section 8: the Y and the double Y that track moving targets',
    'buss_advice': '[Buss2009] sections 2, 8: Dmax, close targets, one end effector, clamps',
    'linkage': '[Dorta2014]: a linkage of rods that goes to goals, and its two weaknesses',
    'coursework': '[Dorta2014] 3, 3.1: interpolation, derivatives, methods of integration',
    'line_search': '[EngellErleben2011] Figs. 7, 9 to 12: goals from motion capture, limits',
    'person': '[EngellErleben2011] Figs. 3, 6, 9 to 12: a figure of 71 angles, all limited',
    'postures': '[EngellErleben2011] Figs. 2, 4, 5, 7, 8, 12: the figures of people',
    'optimality': '[EngellErleben2011] sections 3, 4, 7: other directions, equations, sweeps',
    'representation': '[EngellErleben2011] A, [Engell2007] 4: quaternions beside matrices',
    'imitation': '[TakKo] Fig. 1, section 3: joined hands and a written A, other proportions',
    'spacetime': '[TakKo] 4.4: imitation by frames, by hard constraints, by Eq. 6 as a whole',
    'example_guided': '[TakKo] Figs. 4 to 6, Table 1: a throw by figures of other proportions',
}

# Arguments of `ik bench papers --check`: a tenth of the goals. The other experiments follow a few
# motions, which take seconds as a whole; a part of one is another motion.
CHECK_COUNTS = {
    'convergence': {'count': 5},
    'precision': {'count': 6},
    'scaling_papers': {'count': 100},  # half: means of iterations have long tails
    'line_search': {'count': 100},
    'person': {'count': 100},
    'optimality': {'count': 10},
}

GROUP = 'papers'  # stands for all of PAPERS where a name is asked for

# All names that `ik bench` takes, each with a description.
NAMES = {**BENCHMARKS, GROUP: 'all that follow', **PAPERS}

# Experiments that need motion capture data from outside the project.
NEED_MOCAP: frozenset[str] = frozenset({'example_guided', 'line_search', 'postures'})
