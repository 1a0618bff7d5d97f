# SPDX-License-Identifier: Apache-2.0
"""Tasks of one's own that raise, or change their number of rows, in the middle of a search."""

import numpy as np
import pytest

import ik_core as ik
from ik_core.robot.robot_sources import load_robot
from ik_core.tasks import Task

ROBOT = load_robot('arm5')
START = np.full(ROBOT.n, 0.1)


class Awkward(Task):
    """Two rows that pull on two joints; `then` is called from the third evaluation on."""

    def __init__(self, then):
        self.rows, self.evaluations, self.then = 2, 0, then

    def residual(self, robot, q):
        self.evaluations += 1
        if self.evaluations > 2 and self.then is not None:
            self.then(self)
        return 0.1 * (np.asarray(q)[: self.rows] - 1.0)

    def jacobian(self, robot, q):
        return 0.1 * np.eye(robot.n)[: self.rows]


def problem_with(task, where):
    tip = ROBOT.default_tip()
    goal = ik.PositionTask(tip, ROBOT.forward_kinematics(START + 0.4, tip)[:3, 3])
    tasks = {'weighed': [goal, task], 'secondary': [goal]}[where]
    secondary = [task] if where == 'secondary' else []
    return ik.IkProblem(ROBOT, tasks, secondary=secondary)


@pytest.mark.parametrize('where', ['weighed', 'secondary'])
@pytest.mark.parametrize('rows', [0, 1, 3])
def test_a_task_may_not_change_its_number_of_rows(rows, where):
    def change(task):
        task.rows = rows

    solver, task = ik.make_solver('bfgs'), Awkward(change)
    problem = problem_with(task, where)
    with pytest.raises(ik.UnsupportedProblem, match=f'Awkward: {rows} .* began with 2'):
        solver.solve(problem, START)
    task.then = None
    again = solver.solve(problem, START)  # from one search to the next it may
    assert again.q == pytest.approx(ik.solve(problem, START, solver='bfgs').q, abs=1e-9)


def test_a_search_whose_task_raised_is_over_and_keeps_its_best():
    def fail(task):
        raise ArithmeticError('not here')

    task = Awkward(fail)
    problem = problem_with(task, 'weighed')
    search = ik.make_solver('bfgs').begin(problem, START)
    with pytest.raises(ArithmeticError):
        search.run()
    task.then = None
    assert np.isfinite(search.result().q).all()
    with pytest.raises(RuntimeError, match='begin another'):
        search.run()
