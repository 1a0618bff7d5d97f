# SPDX-License-Identifier: Apache-2.0
"""A closed form as data: a list of subproblem records about a loop of motions, in two flat arrays.

In the product of exponentials a chain that reaches its target closes a loop, E0 E1 ... = 1. Its
*elements* are the target, whose motion E0 is known, and the joints. A record solves one to three
joints from the motions that are known by then (PK: [Paden1986], EW: [EliasWen2022]):

    TURN    E1 a = w                                         one angle       PK1, EW1
    PLANE   n . E2 a = n . w                                 two             EW4
    SPHERE  |E2 a - p1| = |w - p1|                           two             PK3, EW3
    CONE    E1 E2 a = w, axes that meet                      two pairs       PK2, EW2
    CIRCLE  E1 E2 a = w, motions within parallel planes      two pairs
    PLACE   E1 E2 E3 a = w, a point                          four triples    EW5
    LEVEL   E1 E2 E3 a = w, a plane through a point of E1    four triples    EW6

a: an object (a point, a direction, a plane) as seen from the last of these joints; w: the same as
seen from E1, the other way round the loop. h1, p1: axis and point of E1. n: h1, or for a prismatic
E1 a direction that it does not move along. A CIRCLE is a SPHERE, or for a prismatic E1 a PLANE,
and then E1 by a TURN, so the kernel has no kind for it; a prismatic joint is solved by its shift
in the place of an angle.

The whole numbers of a form are its *plan*: a header, the records, and the elements that paths lead
along, to which records refer by spans. Its other *numbers* have a row for each element and joint.
"""

from __future__ import annotations

from ..kernels.jit import kernel
from ..kernels.records import FLOAT, INT, Layout
from ..maths.lanes import HAS_LANES
from ..maths.rotations import Array, Frame
from ..maths.vectors import Vector

TURN, PLANE, SPHERE, CONE, PLACE, LEVEL = range(6)  # Kinds of records
TARGET = 0  # Index of the target's element
MOST_ELEMENTS, MOST_JOINTS, MOST_RECORDS, SIGNS = 8, 7, 4, 3
WIDTH = 8 if HAS_LANES else 1  # Number of lanes
SLOTS = 1 << SIGNS  # Number of branches of a pose, one for each choice of signs

# --- the plan: a header, ...
(
    RECORDS,  # number of records
    ELEMENTS,  # and of elements
    JOINTS,  # and of real joints, the redundant one included
    MIRRORED,  # 1 where the loop is read backwards
    POINT_ONLY,  # 1 where a position is asked for, without an orientation
    USED_SIGNS,  # number of signs that select solutions
    REDUNDANT,  # element of the redundant joint, or -1
    REDUNDANT_JOINT,  # its index among the joints, or -1
    BEFORE,  # joints before those that are solved for: see `nearest`
    BEHIND,  # and behind them
) = range(10)
BEGINS = 10  # First of the columns with the first record that depends on each sign
# First of the columns with the index of each joint in q. Joint i is element i + 1.
COLUMN = BEGINS + SIGNS
# First column of the joints before and behind those that are solved for.
OTHERS = COLUMN + MOST_JOINTS
MOST_OTHERS = 1
HEADER = OTHERS + MOST_OTHERS
# ... the records; spans are the first place of the plan and the one behind the last,
(
    KIND,
    FIRST,  # element E1 that is solved last, by a turn; -1: none
    JOINT,  # element E2; of TURN E1
    INNER,  # element E3
    SEEN,  # row of h1 or n, and of p1
    MOVED,  # row of the axis or point that is moved
    IS_POINT,  # 1 for a point, 0 for a direction
    SIGN,  # first sign that selects a solution
    KNOWN_SIGNS,  # number of signs that this record and those before it use
    SOLVED,  # span: indices of the joints that are solved from here on
) = range(10)
# Spans: from the last joint to the moved object, between E2 and E3, between E1 and E2, and from
# the moved object the other way round the loop to E1.
INSIDE, MIDDLE, BETWEEN, OUTSIDE = 11, 13, 15, 17
# End of the elements at the front of OUTSIDE that do not depend on the plan's last sign.
SHARED = 19
AROUND = 20  # First element of OUTSIDE that turns about the same direction as a TURN
RECORD = 21  # Length of a record. The paths follow the last record.

# --- the other numbers: rows of elements, as the formulas take them: axis, point, ...
MULTIPLIER, OFFSET, LOWER, UPPER, SLIDES = 6, 7, 8, 9, 10
# First row of the frames in which solutions are checked: each joint's frame in that of the one
# before.
JUDGED = MOST_ELEMENTS
NORMALS = JUDGED + MOST_JOINTS  # First of two more axes that records may use
# Rows of the inverse of the goal's frame with all joints at 0, and of the goal's frame in the last
# joint's.
HOME, TIP = NORMALS + 2, NORMALS + 3
SETTINGS = NORMALS + 4
# Columns of the settings [m, rad]: largest error from which a solution nearby is looked for;
# largest error of starts that are kept; largest distance of goals [m]; largest error of candidates
# that are kept beside solutions. `nearest` uses the second and third.
MARGIN, STAYS, REACH, MISSES = 0, 1, 2, 3
# Row of the first joint that is not solved for. Its column SLIDES marks prismatic joints.
OTHER = SETTINGS + 1
NUMBERS, COLUMNS = OTHER + MOST_OTHERS, 12

# --- rows of the memory, in lanes
# Rows of the goal's frame, of the motion E0, and of the cosine and sine, or shift, of each
# element.
GOAL, POSE, COS, SIN = 0, 12, 24, 24 + MOST_ELEMENTS
FREE = SIN + MOST_ELEMENTS  # First row of the flags of undetermined elements
START = FREE + 2 * MOST_ELEMENTS
VALUE = START + MOST_JOINTS  # Row of the redundancy parameter, a joint value
SIGN_OF, GAP = VALUE + 1, VALUE + 1 + SIGNS
LIMIT_VIOLATION = GAP + SIGNS  # First row of the limit violations of the joints before each record
# First row of the squared distances of these joints to the start.
SQUARED_DISTANCE = LIMIT_VIOLATION + MOST_RECORDS + 1
POINT = SQUARED_DISTANCE + MOST_RECORDS + 1  # First row of the joint values
# Row of the squared distance to the start beyond which solutions are of no use.
BOUND = POINT + MOST_JOINTS
# Row of flags: 1 if a joint was undetermined while FREE was NaN.
UNDETERMINED, SPARE = BOUND + 1, BOUND + 2
# Row of flags: 1 if a candidate is only near a solution, or two solutions may be the same.
CAREFUL = BOUND + 3
SHORT = BOUND + 4  # Row of the squared length below which vectors have no direction
# Rows that a record keeps for its second sign: mean and half difference of two angles, a, w; for a
# TURN its angle up to AROUND; and for the plan's last sign the object as seen from behind SHARED.
KEPT, KEEPS = BOUND + 5, 13
RESULTS = KEPT + MOST_RECORDS * KEEPS
# Rows of a branch behind its joints: error of the loop, squared distance to the start, margin to
# its end, and margins of its subproblems.
ERROR, DISTANCE, LIMIT_MARGIN, GAPS = (
    MOST_JOINTS,
    MOST_JOINTS + 1,
    MOST_JOINTS + 2,
    MOST_JOINTS + 3,
)
RESULT = GAPS + SIGNS
RANKED = RESULTS + SLOTS * RESULT
MOST_FOUND = 32
ROWS = RANKED + MOST_FOUND
NONE = 1e300  # Squared distance of a branch without a solution

# Arguments and results of `kernel.solve_poses`.
ARRAYS = Layout(
    'poses of a closed form',
    (
        'plan_size',
        'number_rows',
        'memory_rows',
        'target_rows',
        'start_rows',
        'value_count',
        'q_rows',
        'variables',
        'slots',
        'count',
    ),
    plan=(INT, 'plan_size'),
    numbers=(FLOAT, 'number_rows', COLUMNS),
    memory=(FLOAT, 'memory_rows', WIDTH),
    targets=(FLOAT, 'target_rows', 12),  # of this, starts and values one row may serve all poses
    starts=(FLOAT, 'start_rows', 'variables'),
    values=(FLOAT, 'value_count'),  # of the redundant joint
    q=(FLOAT, 'q_rows', 'variables'),
    errors=(FLOAT, 'slots'),  # [m, rad] of the rows of one pose
    counts=(INT, 'count'),
)


@kernel
def axis_at(numbers: Array, row: int) -> Vector:
    """Return the axis of a row."""
    return numbers[row, 0], numbers[row, 1], numbers[row, 2]


@kernel
def point_at(numbers: Array, row: int) -> Vector:
    """Return the point of a row."""
    return numbers[row, 3], numbers[row, 4], numbers[row, 5]


@kernel
def frame_in(lanes: Array, row: int) -> Frame:
    """Return the frame in twelve rows of the memory."""
    return (
        lanes[row], lanes[row + 1], lanes[row + 2], lanes[row + 3], lanes[row + 4], lanes[row + 5],
        lanes[row + 6], lanes[row + 7], lanes[row + 8], lanes[row + 9], lanes[row + 10],
        lanes[row + 11],
    )  # fmt: skip


@kernel
def put_frame_in(lanes: Array, row: int, frame: Frame) -> None:
    """Write a frame to twelve rows of the memory."""
    for i in range(12):
        lanes[row + i] = frame[i]


@kernel
def result_at(slot: int) -> int:
    """Return the first row of a result."""
    return RESULTS + RESULT * slot
