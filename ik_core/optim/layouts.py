# SPDX-License-Identifier: Apache-2.0
"""The records of a problem, a search in the shared loop, and its method; codes in their fields.

`PROBLEM` is shared by all searches for a problem, those of the default solver too. `SEARCH` is one
search of the shared loop. `METHOD` is the method's own: its options and its state.

A method declares a layout beside its kernels, which extends that of the kernels it uses:

    GAUSS_NEWTON = LINE_SEARCH.extended('gauss_newton', max_step=(FLOAT,))
    own_at = GAUSS_NEWTON.vector_view()

Its kernels find the record by `own = own_at(search.own)`, and its fields by names: `own.max_step`.
Fields with names of options have their values, or the index of a choice.

The residual r (m,) has the goals' rows first. If a problem has tasks about joints, one row for
each variable follows, which combines these tasks. The rows of all other tasks are last.
"""

from __future__ import annotations

from typing import Any

from ..kernels.jit import inline_kernel
from ..kernels.records import FLOAT, INT, RECORD, Layout
from ..tasks.kernels import CHAIN, COMPONENTS, CONE, Packed, packed_of

Record = Any  # A record, as kernels use it
FOREVER = 2**62  # Larger than any number of iterations; stands for "no limit"
# Values of `wanted`: what a callback evaluates for tasks that have no kernel.
RESIDUAL, JACOBIAN = range(2)
# Phases: before the solve; an attempt begins at x; an attempt is running; x was moved and the
# method starts again from there; the attempt has ended.
NEW, BEGIN, STEP, MOVED, ENDED = range(5)

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
    attempts_while_colliding=(INT,),  # restarts with weighed tasks, until one ends free
    max_iterations=(INT,),
    patience=(INT,),
    tasks=(INT,),  # address of the `Callback` for tasks that no kernel knows; 0: there are none
    failed=(INT,),  # 1 where it raised
    wanted=(INT,),  # of it: RESIDUAL or JACOBIAN
    asked=(FLOAT, 'joints'),  # at these variables
    found=(FLOAT, 'other_rows', 'joints'),  # its answer; a residual in the first column
    collisions=(INT,),  # address of the collision model; 0: there is nothing to avoid
    settled=(INT,),  # and of that with the pairs that the goals alone decide; 0: there are none
    reach=(FLOAT,),  # [m] their largest margin
    slack=(FLOAT,),  # [m] what tolerances may change about them
    valid=(INT,),  # address of the `Callback` for the user's own check; 0: there is none
    is_valid=(INT,),  # its answer
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
    ),
    problem=(RECORD, PROBLEM),
    own=(INT,),  # address of the method's record
    seed=(INT,),
    phase=(INT,),  # NEW, BEGIN, STEP, MOVED or ENDED; from here to `method_wanted` all begins at 0
    status=(INT,),
    ended_by=(INT,),  # how the attempt ended, for `settle`
    answer_status=(INT,),
    attempt=(INT,),  # restarts so far
    iterations=(INT,),
    evaluations=(INT,),
    attempt_iterations=(INT,),
    resumed=(INT,),  # 1 if the method's record has the state of a search for nearly the same goals
    disturbed=(INT,),  # 1 where frames and errors are not those at x, since an answer was made
    avoidance=(INT,),  # address of the record `avoiding.AVOIDED`; 0: there is nothing to avoid
    method=(INT,),  # of the method's own `Callback`: of its part in Python; 0: there is none
    method_wanted=(INT,),  # STARTING or STEPPING: what a method written in Python has to do
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
    clamped=(FLOAT, 'joints'),
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
    trial_columns=(FLOAT, 'joints', 'rows'),  # of the Jacobian at a trial point; scratch
    basis=(FLOAT, 'rows', 'rows'),  # singular vectors: rows u_i here, s_i v_i in `work`
    work=(FLOAT, 'rows', 'joints'),
    normal=(FLOAT, 'size', 'size'),  # with `rhs`: scratch of solves
    rhs=(FLOAT, 'size'),
    program=(FLOAT, 'program_size'),  # for `dual_active_set.program_views`
)
search_at = SEARCH.vector_view()

# The record of a method without options and state; those of other methods extend it.
METHOD = Layout('method', ('joints', 'rows', 'bodies', 'goals'))


@inline_kernel
def goals_of(search: Record) -> Packed:
    """Return a search's goals, as `tasks.kernels` has them."""
    return packed_of(search.problem, search)
