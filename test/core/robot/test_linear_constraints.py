# SPDX-License-Identifier: Apache-2.0
"""Linear constraints between joints: what is taken, what is refused, the rows that solvers see."""

import copy
import math
import pickle

import numpy as np
import pytest
from support import robots

import ik_core as ik
from ik_core import IkProblem, InvalidConfiguration, InvalidOption, PositionTask
from ik_core.robot import LinearConstraint

INF = math.inf


@pytest.mark.parametrize(
    ('arguments', 'said'),
    [
        (({}, 0.0, 1.0), 'other than 0'),
        (({'a': 0.0}, 0.0, 1.0), 'other than 0'),
        ((['a', 'b'], 0.0, 1.0), 'by the names of joints'),
        (({'a': math.nan}, 0.0, 1.0), "joint 'a'.*nan"),
        (({'a': INF}, 0.0, 1.0), "joint 'a'.*inf"),
        (({'a': '1'}, 0.0, 1.0), "joint 'a'.*'1'"),
        (({'a': 1e-300}, 0.0, 1.0), "joint 'a'.*1e-300"),
        (({'a': True}, 0.0, 1.0), "joint 'a'.*True"),
        (({'a': 1.0}, math.nan, 1.0), 'lower = nan'),
        (({'a': 1.0}, 0.0, 1e300), r'upper = 1e\+300'),
        (({'a': 1.0}, 0.0, None), 'upper = None'),
        (({'a': 1.0}, 1.0, 0.5), r'1.0 <= \+1 a <= 0.5: lower > upper'),
        (({'a': 1.0}, INF, INF), 'no finite number'),
        (({'a': 1.0}, -INF, -INF), 'no finite number'),
        (({'a': 1.0},), 'lower, upper or both'),
    ],
)
def test_what_is_no_constraint_is_refused(arguments, said):
    with pytest.raises(InvalidOption, match=said):
        LinearConstraint(*arguments)


def test_a_constraint_is_written_as_one_would():
    both = {'elbow': 1.0, 'wrist': -0.5}
    assert str(LinearConstraint(both, upper=0.5)) == '+1 elbow -0.5 wrist <= 0.5'
    assert str(LinearConstraint(both, lower=-1.0)) == '-1.0 <= +1 elbow -0.5 wrist'
    assert str(LinearConstraint(both, -1.0, 2.0)) == '-1.0 <= +1 elbow -0.5 wrist <= 2.0'
    assert str(LinearConstraint(both, 0.25, 0.25)) == '+1 elbow -0.5 wrist = 0.25'


def test_a_constraint_is_a_value():
    given = {'elbow': 1, 'wrist': 0}
    one = LinearConstraint(given, upper=1)
    given['elbow'] = 2
    assert dict(one.coefficients) == {'elbow': 1.0}
    with pytest.raises(TypeError):
        one.coefficients['elbow'] = 2.0
    for copied in (copy.deepcopy(one), pickle.loads(pickle.dumps(one))):
        assert copied == one == LinearConstraint({'elbow': 1.0}, upper=1.0)


def panda_problem(*constraints, **more):
    robot = robots.shipped('panda')
    return IkProblem(robot, [PositionTask('panda_hand')], constraints=constraints, **more)


def test_rows_are_over_the_variables_with_normals_of_length_1():
    problem = panda_problem(
        LinearConstraint({'panda_joint1': 3.0, 'panda_joint4': -4.0}, -10.0, 5.0),
        LinearConstraint({'panda_joint2': -2.0}, upper=1.0),
    )
    rows = problem.constraints.at(np.zeros(problem.robot.n))
    assert rows.shape == (2, len(problem.variables) + 2)
    np.testing.assert_allclose(rows[0, [0, 3, 7, 8]], [0.6, -0.8, -2.0, 1.0], rtol=1e-15)
    np.testing.assert_allclose(rows[1, [1, 8]], [-1.0, 0.5])
    assert rows[1, 7] == -INF
    assert problem.constraints.coupled.tolist() == [True, True, False, True, False, False, False]


def test_joints_that_do_not_move_are_a_constant():
    both = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': 2.0}, 0.0, 1.0)
    problem = panda_problem(both, frozen_joints=['panda_joint2'])
    q = np.full(problem.robot.n, 0.3)
    np.testing.assert_allclose(problem.constraints.at(q), [[1, 0, 0, 0, 0, 0, -0.6, 0.4]])
    q[1] = -0.1
    np.testing.assert_allclose(problem.constraints.at(q), [[1, 0, 0, 0, 0, 0, 0.2, 1.2]])


def test_joints_in_a_constraint_are_not_turned():
    robot = robots.shipped('pr2_like')
    [turning] = [joint for joint in robot.joint_names if 'forearm_roll' in joint]
    goal = PositionTask(robot.tips()[0])
    free = IkProblem(robot, [goal])
    bound = IkProblem(robot, [goal], constraints=[LinearConstraint({turning: 1.0}, upper=9.0)])
    variable = list(free.variables).index(robot.joint_index(turning))
    assert free.limits.turns[variable]
    assert not bound.limits.turns[variable]
    others = np.arange(len(free.variables)) != variable
    assert (free.limits.turns == bound.limits.turns)[others].all()


def test_what_fits_no_problem_is_refused():
    with pytest.raises(ik.FrameNotFound, match='panda_joint9'):
        panda_problem(LinearConstraint({'panda_joint9': 1.0}, upper=1.0))
    with pytest.raises(InvalidOption, match='is not a LinearConstraint'):
        panda_problem({'panda_joint1': 1.0})
    with pytest.raises(
        ik.UnsupportedProblem, match=r'panda_joint1 <= 1\.0: the problem moves none'
    ):
        panda_problem(
            LinearConstraint({'panda_joint1': 1.0}, upper=1.0), frozen_joints=['panda_joint1']
        )
    with pytest.raises(ik.UnsupportedProblem, match=r'finger.*moves none'):
        panda_problem(LinearConstraint({'panda_finger_joint1': 1.0}, upper=1.0))


@pytest.mark.parametrize('solver', ['bfgs', 'sqp'])
def test_contradictions_name_what_contradicts(solver):
    apart = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': -1.0}, upper=-1.0)
    together = LinearConstraint({'panda_joint2': 2.0, 'panda_joint1': -2.0}, upper=1.0)
    fine = LinearConstraint({'panda_joint1': 1.0, 'panda_joint3': 1.0}, upper=0.5)
    goal = {'position': [0.4, 0.1, 0.4]}
    problem = panda_problem(apart, fine, together)
    problem.goals[0].set_target(**goal)
    with pytest.raises(InvalidConfiguration, match='contradict') as raised:
        ik.solve(problem, solver=solver)
    said = str(raised.value)
    assert str(apart) in said
    assert str(together) in said
    assert str(fine) not in said
    assert 'limits' not in said

    far = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': 1.0}, lower=7.0)
    problem = panda_problem(far, fine)
    problem.goals[0].set_target(**goal)
    with pytest.raises(InvalidConfiguration, match='limits of panda_joint1, panda_joint2: '):
        ik.solve(problem, solver=solver)


def test_whether_constraints_contradict_may_depend_on_joints_that_do_not_move():
    both = LinearConstraint({'panda_joint1': 1.0, 'panda_joint2': 1.0}, lower=3.0)
    problem = panda_problem(both, frozen_joints=['panda_joint2'])
    problem.goals[0].set_target(position=[0.4, 0.1, 0.4])
    q = problem.default_configuration
    solver = ik.make_solver('bfgs')
    q[1] = 0.0
    with pytest.raises(InvalidConfiguration, match='panda_joint1'):
        solver.solve(problem, q)
    q[1] = 1.0
    result = solver.solve(problem, q)
    assert result.q[1] == 1.0
    assert result.q[0] >= 2.0 - 1e-12
