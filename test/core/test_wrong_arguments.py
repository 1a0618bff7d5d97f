"""What is none of what a call needs is an error that says so, and what would be right."""

import numpy as np
import pytest
from support import robots

import ik_core as ik

TIP = 'panda_hand_tcp'
ROBOT = robots.shipped('panda')
LIMITS = ik.MotionLimits.of(ROBOT, acceleration=10.0)


def problem():
    return ik.IkProblem(ROBOT, [ik.PoseTask(TIP, [0.4, 0.2, 0.5], [1, 0, 0, 0])])


CALLS = {
    'solve': ik.solve,
    'solve_best': ik.solve_best,
    'solve_all': ik.solve_all,
    'solve_batch': lambda wrong: ik.solve_batch(wrong, np.eye(4)[None]),
    'closed_form': ik.closed_form,
    'begin': lambda wrong: ik.make_solver('levenberg_marquardt').begin(wrong),
    'Tracker': lambda wrong: ik.Tracker(wrong, 100.0, limits=LIMITS),
    'set_problem': lambda wrong: ik.Tracker(problem(), 100.0, limits=LIMITS).set_problem(wrong),
}


@pytest.mark.parametrize('call', CALLS)
def test_a_robot_in_the_place_of_a_problem(call):
    with pytest.raises(ik.InvalidOption, match='problem is a Robot: an IkProblem is needed'):
        CALLS[call](ROBOT)


@pytest.mark.parametrize('wrong', [5, None, {'velocity': 1.0}])
def test_limits_of_a_tracker_that_are_none(wrong):
    with pytest.raises(ik.InvalidOption, match=r'MotionLimits are needed, as MotionLimits\.of'):
        ik.Tracker(problem(), 100.0, limits=wrong)
    with pytest.raises(ik.InvalidOption, match='MotionLimits are needed'):
        ik.Tracker(problem(), 100.0, limits=LIMITS).set_limits(wrong)


@pytest.mark.parametrize('wrong', ['fast', None, 0.0, -1.0, np.nan, np.inf])
def test_a_rate_that_is_no_positive_number(wrong):
    with pytest.raises(ik.InvalidOption, match=r'rate = .*must be a positive number'):
        ik.Tracker(problem(), wrong, limits=LIMITS)


def test_a_start_by_names_is_told_how_it_becomes_numbers():
    values = ROBOT.joint_values(ROBOT.middle_configuration)
    with pytest.raises(ik.InvalidConfiguration, match=r'q0 has positions by name: robot\.q makes'):
        ik.solve(problem(), values)
    assert ik.solve(problem(), ROBOT.q(values)).success
    with pytest.raises(ik.InvalidConfiguration, match=r"q0 is not made of numbers: \{'a'\}"):
        ik.solve(problem(), {'a'})


def test_options_of_a_tracker_that_are_none():
    tracker = ik.Tracker(problem(), 100.0, limits=LIMITS)
    with pytest.raises(ik.InvalidOption, match=r"options is \{'move'.*: TrackerOptions are"):
        tracker.set_options({'move': 'linear'})
    with pytest.raises(ik.InvalidOption, match='TrackerOptions are needed'):
        ik.Tracker(problem(), 100.0, limits=LIMITS, options='linear')
    assert tracker.tick(now=0.0).status is ik.TrackStatus.IDLE


@pytest.mark.parametrize('tip', [TIP, None, 1, -1])
def test_a_tip_that_is_not_its_number(tip):
    tracker = ik.Tracker(problem(), 100.0, limits=LIMITS)
    with pytest.raises(ik.InvalidGoal, match=f'there is no tip {tip!r}, only 0 to 0'):
        tracker.set_goal(tip, np.eye(4), now=0.0)
    with pytest.raises(ik.InvalidGoal, match='there is no tip'):
        tracker.set_twist(tip, np.zeros(3), np.zeros(3), now=0.0)


@pytest.mark.parametrize('wrong', ['fast', [None, 'x'], [[1.0], [1.0, 2.0]]])
def test_motion_limits_that_are_no_numbers(wrong):
    with pytest.raises(ik.InvalidOption, match='velocity limits are not made of numbers: '):
        ik.MotionLimits(ROBOT.lower, ROBOT.upper, wrong, np.ones(ROBOT.n), np.ones(ROBOT.n))


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
    for call in (ik.held_intervals, ik.best_solution):
        with pytest.raises(ik.InvalidOption, match=r'a ClosedForm is needed, as closed_form\('):
            call(wrong)


def test_the_cost_of_the_best_solution_and_its_samples_are_checked():
    form = ik.closed_form(problem())
    with pytest.raises(ik.InvalidOption, match="cost = 'nearest': a function of q"):
        ik.best_solution(form, cost='nearest')
    with pytest.raises(ik.InvalidOption, match='samples = 0'):
        ik.best_solution(form, samples=0)


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
