"""The experiments that the papers' figures and tables come from, with our solvers beside theirs.

`ik bench NAME` runs one, `ik bench papers` all. An experiment is a module of this folder with

    run(arguments) -> rows        what was measured, small enough to be kept as CSV
    claims(rows) -> claims        what the source says, what these rows say, and whether it holds
    draw(rows) -> figure          in the style of the figure that it reproduces

so that table and figure can be made again from rows alone. `claims` and `style` are what they
share, `results` writes all of it into a folder, `page` puts the tables into docs/papers.md.
"""

GROUP = 'papers'
"""Stands for all of them where the name of a benchmark is asked for."""

EXPERIMENTS = {
    'convergence': '[Engell2007] Fig. 6: the objective after every iteration',
    'precision': '[Engell2007] 3.3.3: how near to a goal out of reach methods end',
    'scaling_papers': '[Engell2007] Figs. 8 to 10: time and iterations as chains grow',
    'buss': '[Buss2009] section 8: the Y and the double Y that track moving targets',
    'linkage': '[Dorta2014]: a linkage of rods that goes to goals, and its two weaknesses',
    'line_search': '[EngellErleben2011] Figs. 4, 7, 9 to 12: goals from motion capture, limits',
    'example_guided': '[TakKo] Figs. 4 to 6, Table 1: a throw by figures of other proportions',
}
"""What each reproduces; its name is a module of this folder."""

NEED_MOCAP: frozenset[str] = frozenset({'example_guided', 'line_search'})
"""Those that need motion capture, from outside the project: the folder `arguments.mocap`."""
