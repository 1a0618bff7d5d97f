# SPDX-License-Identifier: Apache-2.0
"""The records of a search, and the codes in their fields.

`PROBLEM`, of `optim.layouts`, is shared by all searches and threads. `SEARCHES` has the targets,
starts, state and best points of one search or many. `LANES` are attempts side by side. `POINT` is
one point of one lane, with the Hessian there.
"""

from __future__ import annotations

from ...closed_form import records as closed_form
from ...kernels.records import FLOAT, INT, LANE, RECORD, WIDTH, Layout
from ...optim.layouts import JACOBIAN, PROBLEM, RESIDUAL, Record
from ...rules import CLOSEST, COLLIDED, EXHAUSTED, FAILED, REACHED, RUNNING, STALLED
from ...tasks.kernels import COMPONENTS

__all__ = [
    'CLOSEST', 'COLLIDED', 'EXHAUSTED', 'FAILED', 'JACOBIAN', 'PROBLEM', 'REACHED', 'RESIDUAL',
    'RUNNING', 'STALLED', 'Record',
]  # fmt: skip

# Number of best attempts that are followed to their end if none reaches the goals. Far from a
# goal, the cost at which an attempt is abandoned hardly predicts its final cost.
POOL = 64
REPORTED_COLLISIONS = 8  # Maximum number of colliding solutions that a search keeps for its report
# Phases of a lane: idle; an attempt that is abandoned when it stagnates; an attempt that is
# followed to its end; the evaluation of an answer.
IDLE, DESCEND, FOLLOW, CHECK = range(4)
# Stages of a single search: not begun; attempt 0 in one lane; the other attempts in several lanes;
# the last attempt in one lane again.
NEW, FIRST, PARALLEL, FINISH = range(4)
FREE, COLLIDES = 1, 2
STATUS, ITERATIONS, EVALUATIONS, ATTEMPTS = range(4)  # Columns of `codes`

SEARCHES = Layout(
    'searches',
    ('count', 'joints', 'goals', 'frozen_count', 'pools', 'robot_joints'),
    problem=(INT,),  # the address of `PROBLEM`
    single=(INT,),  # and of `LANES` for a single search: of one lane
    four_lanes=(INT,),  # and of several lanes; 0: attempts run one after the other
    stage=(INT,),
    guesses_first=(INT,),  # 1: attempt 0 of a single search begins at the nearest solution
    guesses_restart=(INT,),  # 1: so may attempt 1, where attempt 0 began at the start
    targets=(FLOAT, 'count', 'goals', 12),
    angles=(FLOAT, 'count', 'frozen_count'),  # of the joints that are not variables [rad or m]
    starts=(FLOAT, 'count', 'joints'),
    rows=(FLOAT, 'count', 'robot_joints'),  # all joints at the start, to check for collisions
    guesses=(FLOAT, 'count', 'joints'),  # where attempt 0 begins
    verdicts=(INT, 'count'),  # FREE or COLLIDES, if the guess was checked; else 0
    references=(FLOAT, 'count', 'joints'),  # next to which full turns are chosen
    seeds=(INT, 'count'),
    status=(INT, 'count'),
    lanes=(INT, 'count'),  # that work for a search
    begun=(INT, 'count'),  # attempts
    needed=(INT, 'count'),  # attempts; less, once one reaches the goals
    best=(INT, 'count'),  # the attempt of the best point
    best_status=(INT, 'count'),  # how it ended
    best_cost=(FLOAT, 'count'),
    followed=(INT, 'count'),  # attempts that are, or were, followed
    pool_index=(INT, 'count'),  # of its pool; -1: none
    collided=(INT, 'count'),  # attempts that reached the goals where the robot collides
    first_collided=(INT, 'count', REPORTED_COLLISIONS),  # the first of them, in order
    colliding=(FLOAT, 'count', REPORTED_COLLISIONS, 'joints'),  # and where they ended
    blocked=(FLOAT, 'count', 'joints'),  # the last end that was best, had it been free
    iterations=(INT, 'count'),
    evaluations=(INT, 'count'),  # up to the attempt that answers
    abandoned=(INT, 'count'),  # evaluations of attempts after that
    points=(FLOAT, 'count', 'joints'),  # the best so far, in the end the answer
    costs=(FLOAT, 'count'),
    errors=(FLOAT, 'count', 'goals', 2),
    codes=(INT, 'count', 4),
    owners=(INT, 'pools'),  # the search that has a pool, plus one; 0: none
    pool_costs=(FLOAT, 'pools', POOL),
    pool_attempts=(INT, 'pools', POOL),
    pool=(FLOAT, 'pools', POOL, 'joints'),
)

POINT = Layout(
    'point',
    ('joints', 'rows', 'bodies', 'goals', 'size'),
    evaluations=(INT,),
    cost=(FLOAT,),
    x=(FLOAT, 'joints'),
    target=(FLOAT, 'goals', 12),
    offset=(FLOAT, 'bodies'),
    angle=(LANE, 'bodies'),
    cosine=(LANE, 'bodies'),
    sine=(LANE, 'bodies'),
    frames=(FLOAT, 'bodies', 12),
    tips=(FLOAT, 'goals', 12),
    raw=(FLOAT, 'goals', COMPONENTS),
    scales=(FLOAT, 'goals', COMPONENTS),
    errors=(FLOAT, 'goals', 2),
    residual=(FLOAT, 'rows'),
    columns=(FLOAT, 'joints', 'rows'),
    gradient=(FLOAT, 'joints'),
    squares=(FLOAT, 'joints'),
    dx=(FLOAT, 'joints'),
    clamped=(FLOAT, 'joints'),
    descent=(FLOAT, 'joints'),
    hessian=(FLOAT, 'joints', 'joints'),
    normal=(FLOAT, 'size', 'size'),
    rhs=(FLOAT, 'size'),
    starts=(FLOAT, 1, 'joints'),  # of a closed form, and its answer
    answers=(FLOAT, 1, 'joints'),
)

LANES = Layout(
    'lanes',
    ('joints', 'rows', 'bodies', 'goals', 'size', 'scratch_rows', 'robot_joints'),
    collisions=(INT,),  # address of the workspace of collision checks
    settled=(INT,),  # and of that of the pairs that the goals alone decide
    row=(FLOAT, 'robot_joints'),  # the configuration that is checked
    here=(INT,),  # which of two points is the last one; the other is new
    next=(INT,),  # search that no lane has begun
    follows=(INT,),  # 0: attempts that are to be followed are left to other lanes
    nonstandard_steps=(INT,),  # lanes whose step is not the damped one
    phase=(INT, WIDTH),
    search=(INT, WIDTH),
    attempt=(INT, WIDTH),
    steps=(INT, WIDTH),
    later_steps=(INT, WIDTH),  # steps of ended attempts that come after the lane's own
    stagnant=(INT, WIDTH),
    exact=(INT, WIDTH),  # 1 where the step needs the Hessian, or leaves a saddle
    hessian_evaluations=(INT, WIDTH),  # for a Hessian, which `decide` has yet to count
    saddle_trials=(INT, WIDTH),  # steps tried off a saddle, from 1 on; 0 at none
    turned=(INT, WIDTH),  # 1 where the answer that is checked was turned round
    fresh=(LANE,),  # 1 where x is given, not a step from the last point
    nu=(LANE,),  # the damping relative to the cost
    factor=(LANE,),  # what nu is multiplied by, where a step is kept
    growth=(LANE,),  # what nu is multiplied by next, where a step is refused
    mark=(LANE,),  # the cost at the last clear drop
    decrease=(LANE,),  # of the cost, as predicted for the step
    largest=(LANE,),  # move of a joint
    cost=(LANE, 2),
    x=(LANE, 2, 'joints'),
    residual=(LANE, 2, 'rows'),
    columns=(LANE, 2, 'joints', 'rows'),  # of the Jacobian
    gradient=(LANE, 2, 'joints'),  # half the cost's
    squares=(LANE, 2, 'joints'),  # of the columns' lengths; of vanishing ones more
    dx=(LANE, 'joints'),
    clamped=(LANE, 'joints'),
    descent=(LANE, 'joints'),  # down from a saddle
    target=(LANE, 'goals', 12),
    offset=(LANE, 'bodies'),
    angle=(LANE, 'bodies'),
    cosine=(LANE, 'bodies'),
    sine=(LANE, 'bodies'),
    frames=(LANE, 'bodies', 12),
    tips=(LANE, 'goals', 12),
    raw=(LANE, 'goals', COMPONENTS),
    scales=(LANE, 'goals', COMPONENTS),
    errors=(LANE, 'goals', 2),
    free_columns=(LANE, 'joints', 'rows'),
    normal=(LANE, 'size', 'size'),
    rhs=(LANE, 'size'),
    scratch=(FLOAT, 'scratch_rows', closed_form.WIDTH),  # of closed forms
    point=(RECORD, POINT),
)
