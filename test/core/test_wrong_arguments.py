# SPDX-License-Identifier: Apache-2.0
"""An argument of a wrong type or value raises an error that says what is wrong and what is
right."""

import numpy as np
import pytest
from support import robots

import ik_core as ik

TIP = 'panda_hand_tcp'
ROBOT = robots.shipped('panda')
LIMITS = ik.MotionLimits.of(ROBOT, acceleration=10.0)
Q0 = ROBOT.middle_configuration


def problem():
    return ik.IkProblem(ROBOT, [ik.PoseTask(TIP, [0.4, 0.2, 0.5], [1, 0, 0, 0])])


CALLS = {
    'solve_best': ik.batch.solve_best,
    'solve_all': ik.solve_all,
    'solve_batch': lambda wrong: ik.solve_batch(wrong, np.eye(4)[None]),
    'closed_form': ik.closed_form.form,
    'begin': lambda wrong: ik.make_solver('levenberg_marquardt').begin(wrong),
    'Tracker': lambda wrong: ik.Tracker(wrong, 100.0, limits=LIMITS),
    'set_problem': lambda wrong: ik.Tracker(problem(), 100.0, limits=LIMITS).set_problem(wrong),
}


@pytest.mark.parametrize('call', CALLS)
def test_a_robot_in_the_place_of_a_problem(call):
    with pytest.raises(ik.InvalidOption, match='problem is a Robot: an IkProblem is needed'):
        CALLS[call](ROBOT)


@pytest.mark.parametrize('wrong', [5, None, [], {}, 'lm'])
def test_a_name_of_a_solver_or_preset_that_is_none(wrong):
    for call in (
        lambda: ik.solver_name(wrong),
        lambda: ik.solve(problem(), solver=wrong),
        lambda: ik.solvers.preset_name('tau_one', wrong),
    ):
        with pytest.raises(ik.InvalidOption, match='unknown solver'):
            call()
    with pytest.raises(ik.InvalidOption, match=r'unknown preset .* of bfgs'):
        ik.solvers.preset_name(wrong, 'bfgs')


def test_a_start_by_names_is_told_how_it_becomes_numbers():
    values = ROBOT.joint_values(ROBOT.middle_configuration)
    with pytest.raises(ik.InvalidConfiguration, match=r'q0 has positions by name: robot\.q makes'):
        ik.solve(problem(), values)
    assert ik.solve(problem(), ROBOT.q(values)).success
    with pytest.raises(ik.InvalidConfiguration, match=r"q0 is not made of numbers: \{'a'\}"):
        ik.solve(problem(), {'a'})


@pytest.mark.parametrize('wrong', [None, 5, ik.PoseTask(TIP)])
def test_tasks_that_are_no_list(wrong):
    with pytest.raises(ik.InvalidOption, match=r'tasks is a \w+: a list of tasks is needed'):
        ik.IkProblem(ROBOT, wrong)


def test_a_joint_in_the_place_of_a_list_of_joints():
    goals = [ik.PoseTask(TIP)]
    with pytest.raises(ik.InvalidOption, match="frozen_joints = 'panda_joint1': a list of names"):
        ik.IkProblem(ROBOT, goals, frozen_joints='panda_joint1')


@pytest.mark.parametrize('wrong', [None, ROBOT.middle_configuration, problem()])
def test_what_is_no_closed_form(wrong):
    for call in (ik.closed_form.redundancy_intervals, ik.closed_form.best_solution):
        with pytest.raises(
            ik.InvalidOption, match=r'as ik_core\.closed_form\.form\(problem\) returns'
        ):
            call(wrong)


def test_the_cost_of_the_best_solution_and_its_samples_are_checked():
    form = ik.closed_form.form(problem())
    with pytest.raises(ik.InvalidOption, match="cost = 'nearest': a function of q"):
        ik.closed_form.best_solution(form, cost='nearest')
    with pytest.raises(ik.InvalidOption, match='samples = 0'):
        ik.closed_form.best_solution(form, samples=0)


# Targets, tolerances, postures


TARGETS = {
    'pose': ik.PoseTask,
    'position': ik.PositionTask,
    'orientation': ik.OrientationTask,
    'two axes': ik.TwoAxisTask,
    'axis': ik.AxisTask,
    'position and axis': ik.PositionAxisTask,
}


@pytest.mark.parametrize('kind', TARGETS)
@pytest.mark.parametrize('given', [{}, {'transform': None}, {'position': None, 'rpy': None}])
def test_a_target_of_none_is_refused_and_the_last_one_kept(kind, given):
    goal = TARGETS[kind](TIP)
    target = ROBOT.forward_kinematics(ROBOT.middle_configuration, TIP)
    for transform in (np.full((4, 4), np.nan), target):
        if transform is target:
            goal.set_target(target)
        before = goal.target.copy()
        with pytest.raises(ik.InvalidGoal, match=f'the target for {TIP!r} is None: give a trans'):
            goal.set_target(**given)
        np.testing.assert_array_equal(goal.target, before)
    np.testing.assert_array_equal(goal.transform[:3], target[:3])


def test_a_part_of_none_beside_another_stays_as_it_was():
    goal = ik.PoseTask(TIP, [0.4, 0.2, 0.5], [1, 0, 0, 0])
    before = goal.transform
    goal.set_target(position=[0.1, 0.2, 0.3], quaternion=None)
    np.testing.assert_array_equal(goal.transform[:3, :3], before[:3, :3])
    np.testing.assert_array_equal(goal.transform[:3, 3], [0.1, 0.2, 0.3])


@pytest.mark.parametrize('wrong', ['low', [[0.0], [0.0, 1.0]], np.eye(8), {'panda_joint1': 0.0}])
def test_postures_that_are_no_row_of_numbers(wrong):
    calls = {
        'rest': (lambda: ik.PostureTask(wrong), ik.PostureTask().set_rest),
        'previous': (
            lambda: ik.tasks.SmoothnessTask(wrong),
            ik.tasks.SmoothnessTask(Q0).set_previous,
        ),
    }
    for name, (make, change) in calls.items():
        said = f'(?s){name} = .*: one number for each joint is needed'
        with pytest.raises(ik.InvalidConfiguration, match=said):
            make()
        for given in (wrong, None):
            with pytest.raises(ik.InvalidConfiguration, match=said):
                change(given)


@pytest.mark.parametrize(
    ('name', 'of'),
    [
        ('secondary', 'tasks'),
        ('constraints', 'LinearConstraints and ReachCones'),
        ('frozen_joints', 'names'),
    ],
)
@pytest.mark.parametrize('wrong', [5, ik.PostureTask()])
def test_one_in_the_place_of_a_list(name, of, wrong):
    with pytest.raises(ik.InvalidOption, match=rf'{name} is a \w+: a list of {of} is needed'):
        ik.IkProblem(ROBOT, [ik.PoseTask(TIP)], **{name: wrong})


# Functions of the caller's


@pytest.mark.parametrize('wrong', [None, 'near', np.nan, 1j, [1.0, 2.0], True])
def test_a_cost_that_returns_no_number_is_told_what_it_returned(wrong):
    form = ik.closed_form.form(problem())
    with pytest.raises(ik.InvalidOption, match=r'cost\(q\) = .*: a number is needed, the least'):
        ik.closed_form.best_solution(form, cost=lambda q: wrong)
    with pytest.raises(ik.InvalidOption, match=r'choose\(q\) = .*: a number is needed, the least'):
        ik.batch.solve_best(problem(), choose=lambda q: wrong, attempts=2)


def test_an_infinite_cost_is_that_of_what_is_not_to_be_chosen():
    """The nearest of those that are left is that of all that are."""
    form = ik.closed_form.form(problem())

    def left(q):
        return float(np.linalg.norm(q - Q0)) if q[0] < -0.5 else np.inf

    chosen = ik.closed_form.best_solution(form, Q0, left)
    assert chosen[0] < -0.5
    assert ik.closed_form.best_solution(form, Q0)[0] > -0.5


@pytest.mark.parametrize('wrong', [3, 'yes', True, [print]])
@pytest.mark.parametrize('count', [0, 2])
def test_a_progress_that_can_not_be_called_is_refused_before_anything_is_solved(wrong, count):
    targets = np.tile(np.eye(4), (count, 1, 1))
    motion = ik.motion.Motion(ROBOT.joint_names, np.zeros((2, ROBOT.n)), 0.1)
    one = problem()
    calls = (
        lambda: ik.solve_batch(one, targets, progress=wrong),
        lambda: ik.solve_batch(one, targets, solver='closed_form', progress=wrong),
        lambda: ik.closed_form.form(one).solve_many(targets, progress=wrong),
        lambda: ik.retargeting.retarget(motion, ROBOT, {TIP: TIP}, progress=wrong),
        lambda: ik.reachability.reachability_map(ROBOT, TIP, step=0.5, progress=wrong),
    )
    for call in calls:
        with pytest.raises(ik.InvalidOption, match=r'progress = .*: a function of .*, or None'):
            call()


# Structure that searches keep


@pytest.mark.parametrize(
    'name', ['limits', 'robot', 'goals', 'other_tasks', 'frozen_joints', 'variables']
)
def test_what_is_fixed_in_a_problem_can_not_be_replaced(name):
    one, other = problem(), problem()
    before = getattr(one, name)
    with pytest.raises(ik.InvalidOption, match=f'{name} of a problem is fixed: make another'):
        setattr(one, name, getattr(other, name))
    assert getattr(one, name) is before


def test_a_clone_has_tasks_of_its_own_and_is_as_fixed():
    one = problem()
    clone = one.clone()
    assert clone.limits is one.limits
    assert clone.goals[0] is not one.goals[0]
    clone.goals[0].set_target(position=[0.3, 0.0, 0.5])
    assert one.goals[0].transform[0, 3] == 0.4
    with pytest.raises(ik.InvalidOption, match='lower= and upper='):
        clone.limits = one.limits


def test_tolerances_that_change_count_from_the_next_solve_on():
    one, solver = problem(), ik.make_solver('levenberg_marquardt')
    assert solver.solve(one).position_errors[0] < 1e-5
    one.position_tolerance, one.orientation_tolerance = 1e-2, 1e-1
    loose = solver.solve(one)
    one.position_tolerance = one.orientation_tolerance = 1e-9
    assert loose.iterations < solver.solve(one).iterations
    assert solver.solve(one).position_errors[0] <= 1e-9 < loose.position_errors[0]
