# SPDX-License-Identifier: Apache-2.0
"""Tasks of one's own: Jacobians of the wrong shape, or that are no derivatives, are refused."""

import re

import numpy as np
import pytest
from support import robots
from support.task_examples import OTHERS

import ik_core as ik

ROBOT = robots.weighed('panda')
TIP = 'panda_hand'
START = ROBOT.middle_configuration
GOAL = ik.OrientationTask(TIP, [1.0, 0.0, 0.0, 0.0])


class Height(ik.tasks.Task):
    """The height of a link, and its Jacobian as `change` leaves it."""

    def __init__(self, change=lambda jacobian: jacobian, rows=lambda residual: residual):
        self.change, self.rows = change, rows

    @property
    def links(self):
        return (TIP,)

    def residual(self, robot, q):
        return self.rows(robot.forward_kinematics(q, TIP)[2:3, 3] - 0.5)

    def jacobian(self, robot, q):
        return self.change(robot.jacobian(q, TIP)[2:3])


def wrong_sign(jacobian):
    jacobian[0, 3] *= -1.0
    return jacobian


def problem_of(task, where='tasks', **options):
    if where == 'secondary':
        return ik.IkProblem(ROBOT, [GOAL], secondary=[task], **options)
    return ik.IkProblem(ROBOT, [GOAL, task], **options)


BAD_SHAPES = {
    'too few columns': (lambda j: j[:, :-1], r'should be \(1, 8\); it is \(1, 7\)'),
    'flat': (lambda j: j[0], r'it is \(8,\)'),
    'transposed': (lambda j: j.T, r'it is \(8, 1\)'),
    'too many rows': (lambda j: np.vstack([j, j]), r'residual has 1 rows .* it is \(2, 8\)'),
}


@pytest.mark.parametrize('where', ['tasks', 'secondary'])
@pytest.mark.parametrize('shape', BAD_SHAPES)
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'trust_region'])
def test_a_jacobian_of_the_wrong_shape_is_refused(shape, where, solver):
    change, match = BAD_SHAPES[shape]
    with pytest.raises(ik.UnsupportedProblem, match=rf"Height\('{TIP}'\): .*{match}"):
        ik.solve(problem_of(Height(change), where), START, solver=solver)


def test_a_residual_that_is_no_row_of_numbers_is_refused():
    with pytest.raises(ik.UnsupportedProblem, match=r'residual has shape \(\), where \(rows,\)'):
        ik.solve(problem_of(Height(rows=lambda r: r[0])), START)


@pytest.mark.parametrize('where', ['tasks', 'secondary'])
@pytest.mark.parametrize('wrong', [None, 'low', [[1.0], [1.0, 2.0]], [1j]])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'trust_region'])
def test_what_is_no_numbers_is_told_with_the_task_that_returned_it(wrong, where, solver):
    for what, made in (
        ('residual', Height(rows=lambda r: wrong)),
        ('Jacobian', Height(change=lambda j: wrong)),
    ):
        said = rf"Height\('{TIP}'\): its {what} is not made of numbers: {re.escape(repr(wrong))}"
        with pytest.raises(ik.UnsupportedProblem, match=said):
            ik.solve(problem_of(made, where), START, solver=solver)


def test_a_residual_that_stops_being_numbers_is_told_wherever_the_search_is():
    """After the first point, where costs alone are asked for."""
    for good in range(1, 6):
        answers = iter([True] * good)
        task = Height(rows=lambda r: r if next(answers, False) else None)  # noqa: B023
        with pytest.raises(ik.UnsupportedProblem, match='its residual is not made of numbers: No'):
            ik.solve(problem_of(task), START, solver='bfgs')


@pytest.mark.parametrize('where', ['tasks', 'secondary'])
@pytest.mark.parametrize('wrong', [np.nan, -np.inf])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'trust_region', 'sqp', 'pseudoinverse'])
def test_what_is_not_finite_where_a_search_begins_is_told_with_the_task(wrong, where, solver):
    def spoilt(jacobian):
        jacobian[0, 3] = wrong
        return jacobian

    for said, made in (
        ('residual is {} in row 0', Height(rows=lambda r: r + wrong)),
        (r'Jacobian is {} in row 0, column 3 \(panda_joint4\)', Height(change=spoilt)),
    ):
        match = rf"Height\('{TIP}'\): its {said.format(wrong)}, at q = \[.*, where the search b"
        with pytest.raises(ik.UnsupportedProblem, match=match):
            ik.solve(problem_of(made, where), START, solver=solver)


class Walled(Height):
    """NaN where joint 4 is further than `room` [rad] from q[3], and where joint 2 is out of its
    limits; `hits` counts."""

    def __init__(self, q, room):
        super().__init__()
        self.centre, self.room, self.hits = q[3], room, 0

    def residual(self, robot, q):
        if abs(q[3] - self.centre) <= self.room and q[1] <= robot.upper[1]:
            return super().residual(robot, q)
        self.hits += 1
        return np.full(1, np.nan)


@pytest.mark.parametrize('where', ['tasks', 'secondary'])
@pytest.mark.parametrize('solver', ['levenberg_marquardt', 'bfgs', 'trust_region'])
def test_what_is_not_finite_further_on_only_counts_as_no_better(where, solver):
    q = START
    if where == 'secondary':  # whose search begins where that of the goal ended
        q = ik.solve(ik.IkProblem(ROBOT, [GOAL]), START).q
    task = Walled(q, 0.02)
    result = ik.solve(problem_of(task, where), q, solver=solver)
    assert task.hits
    assert np.isfinite([*result.q, result.cost]).all()


def test_a_start_beyond_the_limits_is_not_where_a_search_begins():
    beyond = START.copy()
    beyond[1] = ROBOT.upper[1] + 0.1
    result = ik.solve(problem_of(Walled(START, np.inf)), beyond)
    assert np.isfinite([*result.q, result.cost]).all()


def test_a_list_of_numbers_is_a_residual():
    lists = problem_of(Height(rows=lambda r: r.tolist(), change=lambda j: j.tolist()))
    for solver in ('levenberg_marquardt', 'bfgs', 'trust_region'):
        arrays = ik.solve(problem_of(Height()), START, solver=solver)
        np.testing.assert_array_equal(ik.solve(lists, START, solver=solver).q, arrays.q)


def test_a_right_jacobian_passes():
    ik.tasks.check_task(Height(), ROBOT)
    assert ik.solve(problem_of(Height(), check_jacobians=True), START).q is not None


@pytest.mark.parametrize('kind', OTHERS, ids=lambda kind: kind.__name__)
def test_the_jacobians_of_the_library_pass(kind):
    ik.tasks.check_task(OTHERS[kind](ROBOT, TIP, np.random.default_rng(1)), ROBOT)


@pytest.mark.parametrize('where', ['tasks', 'secondary'])
def test_a_jacobian_that_is_no_derivative_is_told_row_column_and_both_values(where):
    q = START + 0.1
    right = ROBOT.jacobian(q, TIP)[2, 3]
    said = rf'row 0, column 3 \(panda_joint4\) is {-right:.6g}, .* give {right:.6g}'
    with pytest.raises(ik.UnsupportedProblem, match=said):
        ik.tasks.check_task(Height(wrong_sign), ROBOT, q)
    with pytest.raises(ik.UnsupportedProblem, match=said):
        ik.solve(problem_of(Height(wrong_sign), where, check_jacobians=True), q)
    ik.solve(problem_of(Height(wrong_sign), where), q)  # nobody asked


@pytest.mark.parametrize('factor', [1.001, np.nan])
def test_small_faults_and_what_is_no_number_are_seen(factor):
    with pytest.raises(ik.UnsupportedProblem, match='not the derivative'):
        ik.tasks.check_task(Height(lambda jacobian: factor * jacobian), ROBOT)


def test_rows_that_come_and_go_are_seen():
    task = Height()
    task.residual = lambda robot, q: np.zeros(int((np.asarray(q) <= START).all()))
    with pytest.raises(ik.UnsupportedProblem, match='1 rows at one q'):
        ik.tasks.check_task(task, ROBOT, START)
