# SPDX-License-Identifier: Apache-2.0
"""The records of a problem and of a search in the shared loop, and the numbers that stand in them.

`PROBLEM` is shared by all searches for a problem, those of the default solver too. `SEARCH` is one
search of the shared loop.

The residual r (m,) has the goals' rows first; then, where a problem has tasks about joints, one
row for each variable, which stands for all of them; then those of all other tasks.
"""

from __future__ import annotations

from typing import Any

from ..kernels.jit import inline_kernel
from ..kernels.records import FLOAT, INT, RECORD, Layout
from ..tasks.kernels import CHAIN, COMPONENTS, CONE, Packed, packed_of

Record = Any
"""A record as kernels see it."""
FOREVER = 2**62
"""Iterations that no search does."""
RESIDUAL, JACOBIAN = range(2)
"""Values of `wanted`: what a callback of tasks without a kernel evaluates."""
NEW, BEGIN, STEP, MOVED, ENDED = range(5)
"""Phases: the solve is to begin, an attempt is to begin at x, an attempt is under way, x was moved
and the method is to begin there, the attempt is over."""

PROBLEM = Layout(
    'problem',
    (
        'joints',
        'goal_rows',
        'other_rows',
        'bodies',
        'goals',
        'frozen_count',
        'plan_size',
        'plan_rows',
        'robot_joints',
    ),
    pose=(INT,),  # 1: one goal for the whole pose at the end of a chain, by `evaluate_pose`
    weighed=(INT,),  # 1: tasks are weighed against the goals, so reaching these is not the end
    restarts=(INT,),
    further=(INT,),  # attempts where tasks are weighed, while none ends free of collisions
    max_iterations=(INT,),
    patience=(INT,),
    tasks=(INT,),  # address of the `Callback` for tasks that no kernel knows; 0: there are none
    failed=(INT,),  # 1 where it raised
    wanted=(INT,),  # of it: RESIDUAL or JACOBIAN
    asked=(FLOAT, 'joints'),  # at these variables
    found=(FLOAT, 'other_rows', 'joints'),  # what it answers; a residual in the first column
    collisions=(INT,),  # address of the collision model; 0: there is nothing to avoid
    settled=(INT,),  # and of that with the pairs that the goals alone decide; 0: there are none
    reach=(FLOAT,),  # [m] their largest margin
    slack=(FLOAT,),  # [m] what tolerances may change about them
    valid=(INT,),  # address of the `Callback` for the user's own check; 0: there is none
    is_valid=(INT,),  # what it answers
    row=(FLOAT, 'robot_joints'),  # for this configuration
    max_step=(FLOAT,),
    damping=(FLOAT,),
    relative_change=(FLOAT,),
    joint_cost=(FLOAT,),  # the constant part of the joint tasks' cost
    tolerance=(FLOAT, 2),  # [m, rad]
    tree=(INT, 'bodies', 3),
    geometry=(FLOAT, 'bodies', 14),
    table=(INT, 'goals', CHAIN + 1),
    tools=(FLOAT, 'goals', CONE + 1),
    columns=(INT, 'joints'),  # which joints of the robot the variables are
    bounds=(FLOAT, 5, 'joints'),  # as `JointLimits.packed`
    weights=(FLOAT, 'joints'),  # of the joint tasks
    rests=(FLOAT, 'joints'),
    frozen=(INT, 'frozen_count'),  # bodies whose joints are no variables
    plan=(INT, 'plan_size'),  # of the closed form that attempts may begin at; of length 0: of none
    guess_numbers=(FLOAT, 'plan_rows', 12),  # its numbers, for attempt 0
    restart_numbers=(FLOAT, 'plan_rows', 12),  # and for attempt 1
)

SEARCH = Layout(
    'search',
    (
        'joints',
        'rows',
        'joint_rows',  # as many as variables where there are tasks about joints, else 0
        'bodies',
        'goals',
        'size',
        'constraints',
        'program_size',
        'integers',
    ),
    problem=(RECORD, PROBLEM),
    seed=(INT,),
    phase=(INT,),  # NEW, BEGIN, STEP, MOVED or ENDED; from here to `method_wanted` all begins at 0
    status=(INT,),
    ended_by=(INT,),  # how the attempt ended, which `settle` has to see to
    answer_status=(INT,),
    attempt=(INT,),  # restarts so far
    iterations=(INT,),
    evaluations=(INT,),
    attempt_iterations=(INT,),
    resumed=(INT,),  # 1 where `of_goals` is what the last search for nearly the same left there
    disturbed=(INT,),  # 1 where frames and errors are not those at x, since an answer was made
    avoidance=(INT,),  # address of the record `avoiding.AVOIDED`; 0: there is nothing to avoid
    method=(INT,),  # of the method's own `Callback`: of its part in Python; 0: there is none
    method_wanted=(INT,),  # what a method written in Python is to do
    cost=(FLOAT,),  # at x
    best_cost=(FLOAT,),
    best_status=(INT,),  # how an attempt ended at the best point; RUNNING: it was only passed
    answer_cost=(FLOAT,),
    start=(FLOAT, 'joints'),
    x=(FLOAT, 'joints'),
    before=(FLOAT, 'joints'),  # x where the iteration began
    trial=(FLOAT, 'joints'),
    best=(FLOAT, 'joints'),
    answer=(FLOAT, 'joints'),
    gradient=(FLOAT, 'joints'),  # J'r, half the cost's, at x
    squares=(FLOAT, 'joints'),  # of the lengths of the Jacobian's columns there
    dx=(FLOAT, 'joints'),
    held=(FLOAT, 'joints'),
    descent=(FLOAT, 'joints'),
    residual=(FLOAT, 'rows'),  # at x
    trial_residual=(FLOAT, 'rows'),
    columns=(FLOAT, 'joints', 'rows'),  # of the Jacobian at x
    joint_scales=(FLOAT, 'joint_rows'),  # the roots of the joint tasks' weights
    hessian=(FLOAT, 'joints', 'joints'),  # half the cost's, at a stationary point
    target=(FLOAT, 'goals', 12),
    frames=(FLOAT, 'bodies', 12),  # here and below: where the goals were evaluated last
    tips=(FLOAT, 'goals', 12),
    raw=(FLOAT, 'goals', COMPONENTS),
    scales=(FLOAT, 'goals', COMPONENTS),
    errors=(FLOAT, 'goals', 2),
    own_options=(FLOAT, 16),  # here and below: the method's own
    own_values=(FLOAT, 8),
    own_vectors=(FLOAT, 10, 'joints'),
    own_rows=(FLOAT, 3, 'rows'),
    own_columns=(FLOAT, 'joints', 'rows'),
    own_integers=(INT, 'integers'),
    of_goals=(FLOAT, 'goals', COMPONENTS),
    model=(FLOAT, 'joints', 'joints'),
    basis=(FLOAT, 'rows', 'rows'),  # with `work`: singular values
    work=(FLOAT, 'rows', 'joints'),
    normal=(FLOAT, 'size', 'size'),  # with `rhs`: scratch of solves
    rhs=(FLOAT, 'size'),
    program=(FLOAT, 'program_size'),  # for `dual_active_set.program_views`
)
search_at = SEARCH.vector_view()


@inline_kernel
def goals_of(search: Record) -> Packed:
    """A search's goals, as `tasks.kernels` has them."""
    return packed_of(search.problem, search)
