# SPDX-License-Identifier: Apache-2.0
"""Six joints of any geometry, by eigenvalues: all solutions, whatever meets or is parallel."""

import numpy as np
import pytest
from support import closed_form_chains as chains

import ik_core as ik
from benchmark.robots import bent_wrist, calibrated, crx
from ik_core import IkProblem, PoseTask
from ik_core.closed_form.elimination import Six, joint_matrices, line_numbers, motion_matrix

AXIS, POINT = 1, 2


def structured(rng, *changes, count=6):
    """Joints of which (first, what) share their axis' direction or a point with the next one."""
    spec = chains.loose(rng, 'R' * count)
    for first, what in changes:
        kind, axis, point = spec[first]
        other = spec[first + 1]
        spec[first + 1] = (kind, axis, other[2]) if what == AXIS else (kind, other[1], point)
    return spec


PAIRS = {
    'nothing': (),
    **{f'parallel at {i}': ((i, AXIS),) for i in range(5)},
    **{f'meeting at {i}': ((i, POINT),) for i in range(5)},
    'two pairs meet': ((0, POINT), (4, POINT)),
    'three pairs meet': ((0, POINT), (2, POINT), (4, POINT)),
    'two pairs are parallel': ((1, AXIS), (4, AXIS)),
    'one pair meets, one is parallel': ((1, POINT), (3, AXIS)),
}


def form_of(spec, rng, **options):
    robot, goal = chains.chain(spec, rng, **options), PoseTask('tool')
    problem = IkProblem(robot, [goal])
    return robot, goal, problem, ik.closed_form.form(problem)


def gaps(ours, others):
    return np.abs(ours[:, None] - others[None]).max(axis=2)


@pytest.mark.parametrize('name', PAIRS)
def test_the_solutions_are_those_that_searches_find(name):
    rng = np.random.default_rng(40)
    robot, goal, problem, form = form_of(structured(rng, *PAIRS[name]), rng)
    assert 'eigenvalues' in form.family
    for i in range(8):
        q = rng.uniform(robot.lower, robot.upper)
        pose = robot.forward_kinematics(q, 'tool')
        goal.set_target(pose)
        found = form.solve()
        assert form.is_certain
        assert np.abs(found - q).max(axis=1).min() < 1e-8
        assert all(
            gap > 1e-4 for k in range(len(found)) for gap in gaps(found[k:][:1], found[:k])[0]
        )
        for one in found:
            np.testing.assert_allclose(robot.forward_kinematics(one, 'tool'), pose, atol=5e-9)
        if i < 2:
            searched = ik.solve_all(problem, closed_form=False)
            assert gaps(searched.q, found).min(axis=1).max() < 1e-6


def test_an_arm_that_is_known_to_have_sixteen_solutions_has_them():
    # Manseur and Doty, "A robot manipulator with 16 real inverse kinematic solution sets" (1989)
    lengths, shifts = (0.3, 1.0, 0.0, 1.5, 0.0, 0.0), (0.0, 0.0, 0.2, 0.0, 0.0, 0.0)
    twists = np.deg2rad([90.0, 1.0, 90.0, 1.0, 90.0, 0.0])
    links, joints, before = ['base'], [], np.eye(4)
    for i in range(6):
        joints.append(
            ik.robot.Joint(f'j{i}', 'revolute', links[-1], f'l{i}', before, lower=-np.pi,
                           upper=np.pi, axis=np.array([0.0, 0.0, 1.0]))
        )  # fmt: skip
        links.append(f'l{i}')
        c, s = np.cos(twists[i]), np.sin(twists[i])
        before = np.array(
            [[1.0, 0.0, 0.0, lengths[i]], [0.0, c, -s, 0.0], [0.0, s, c, shifts[i]], [0, 0, 0, 1]]
        )
    joints.append(ik.robot.Joint('end', 'fixed', links[-1], 'tool', before))
    robot = ik.Robot.from_joints('sixteen', [*links, 'tool'], joints)
    rotation = [
        [-0.760117, -0.641689, 0.102262],
        [0.133333, 0.0, 0.991071],
        [-0.635959, 0.766965, 0.085558],
    ]
    u, _, v = np.linalg.svd(rotation)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = u @ v, [-1.140175, 0.0, 0.0]
    goal = PoseTask('tool')
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    goal.set_target(pose)
    found = form.solve()
    assert len(found) == 16
    assert form.is_certain
    for q in found:
        np.testing.assert_allclose(robot.forward_kinematics(q, 'tool'), pose, atol=5e-9)


@pytest.mark.parametrize(
    'kinds',
    ['PRRRRR', 'RPRRRR', 'RRPRRR', 'RRRPRR', 'RRRRPR', 'RRRRRP', 'PRRRRP', 'RRRRR', 'RRPRR'],
)
def test_joints_may_be_prismatic_and_five_of_them_are_enough(kinds):
    rng = np.random.default_rng(41)
    robot, goal, _, form = form_of(chains.loose(rng, kinds), rng)
    for _ in range(12):
        q = rng.uniform(robot.lower, robot.upper)
        pose = robot.forward_kinematics(q, 'tool')
        goal.set_target(pose)
        found = form.solve()
        assert np.abs(found - q).max(axis=1).min() < 1e-6
        for one in found:
            np.testing.assert_allclose(robot.forward_kinematics(one, 'tool'), pose, atol=5e-9)


@pytest.mark.parametrize('kinds', ['RRRRRRR', 'RRPRRRR', 'PRRRRRR'])
def test_seven_joints_of_any_geometry_are_solved_at_a_redundancy_parameter(kinds):
    rng = np.random.default_rng(42)
    robot, goal, _, form = form_of(chains.loose(rng, kinds), rng)
    for _ in range(12):
        q = rng.uniform(robot.lower, robot.upper)
        goal.set_target(robot.forward_kinematics(q, 'tool'))
        found = form.solve(redundancy=q[form.redundant_joint])
        np.testing.assert_allclose(
            found[:, form.redundant_joint], q[form.redundant_joint], atol=1e-12
        )
        assert np.abs(found - q).max(axis=1).min() < 1e-6


def test_an_arm_that_misses_its_structure_by_millimetres_loses_no_solution():
    robot, rng = calibrated('ur5e', 43), np.random.default_rng(43)
    goal = PoseTask('tool0')
    problem = IkProblem(robot, [goal])
    form = ik.closed_form.form(problem)
    for i in range(60):
        q = rng.uniform(-np.pi, np.pi, 6)
        goal.set_target(robot.forward_kinematics(q, 'tool0'))
        found = form.solve(q)
        assert form.is_certain
        np.testing.assert_allclose(found[0], q, atol=1e-8)
        if i < 3:
            searched = ik.solve_all(problem, q, closed_form=False)
            assert gaps(searched.q, found).min(axis=1).max() < 1e-6


def test_two_axes_in_line_are_a_freedom():
    rng = np.random.default_rng(44)
    spec = chains.loose(rng, 'RRRRRR')
    spec[5] = ('R', spec[4][1], spec[4][2] + spec[4][1])  # the same line, twice
    robot = chains.chain(spec, rng)
    with pytest.raises(ik.UnsupportedProblem):
        ik.closed_form.form(IkProblem(robot, [PoseTask('tool')]))


@pytest.mark.parametrize('slides', [False, True])
def test_the_numbers_of_a_line_follow_its_motions(slides):
    rng = np.random.default_rng(45)
    row = np.concatenate([rng.normal(size=3), rng.uniform(-0.6, 0.6, 3)])
    row[:3] /= np.linalg.norm(row[:3])
    rows = np.tile(row, (6, 1))
    kinds = np.full(6, slides)
    point, direction, value = rng.normal(size=3), rng.normal(size=3), 0.7
    motion = Six(rows, kinds).motions(np.full((1, 6), value))[0, 0]
    moved = motion[:3, :3] @ point + motion[:3, 3], motion[:3, :3] @ direction
    numbers = line_numbers(point, direction)
    np.testing.assert_allclose(motion_matrix(motion) @ numbers, line_numbers(*moved), atol=1e-12)
    basis = [1.0, value, value**2] if slides else [1.0, np.cos(value), np.sin(value)]
    matrix = np.einsum('a,aij->ij', basis, joint_matrices(row, slides))
    np.testing.assert_allclose(matrix @ numbers, line_numbers(*moved), atol=1e-12)


def test_newton_leads_candidates_to_solutions_and_says_what_is_left():
    rng = np.random.default_rng(46)
    rows = rng.normal(size=(6, 6))
    rows[:, :3] /= np.linalg.norm(rows[:, :3], axis=1, keepdims=True)
    six = Six(rows, np.array([False, True, False, False, False, True]))
    truth = rng.uniform(-2.0, 2.0, (1, 6))
    target = np.linalg.multi_dot(six.motions(truth)[0])
    values = truth + rng.normal(size=(5, 6)) * 1e-2
    values[4] = truth[0] + 1.5
    errors = six.polish(values, target)
    assert errors[:4].max() < 1e-12
    np.testing.assert_allclose(values[:4], np.tile(truth, (4, 1)), atol=1e-10)
    assert errors[4] == pytest.approx(
        np.abs(six._linearised(values[4:], target)[1]).max(), rel=1e-6
    )
    open_one = truth.copy()
    open_one[0, 2] = 0.0
    six.complete(open_one, 2, target)
    assert open_one[0, 2] == pytest.approx(truth[0, 2], abs=1e-12)


@pytest.mark.parametrize(
    ('make', 'singular', 'regular'),
    [
        (
            crx,
            [-3.14, -3.14, np.pi / 2, np.pi / 2, 0.0, -3.141593],
            [1.477875, 3.122563, 1.611342, 3.068536, 0.021724, -2.974039],
        ),
        (
            bent_wrist,
            [-np.pi, -np.pi / 2, np.pi / 2, np.pi / 2, 0.0, -np.pi / 2],
            [-3.433067, -np.pi / 2, np.pi / 2, -1.522026, 0.0, -4.469685],
        ),
    ],
)
def test_regular_solutions_are_found_also_where_another_one_is_singular(make, singular, regular):
    robot = make()
    goal, tip = PoseTask(robot.default_tip()), robot.default_tip()
    goal.set_target(robot.forward_kinematics(singular, tip))
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    gap = form.solve(singular) - np.array(regular)  # that was found by ssik
    turns = np.round(gap / (2.0 * np.pi))
    assert np.abs(gap - 2.0 * np.pi * turns).max(axis=1).min() < 1e-5
    assert not form.is_certain


def test_solutions_beside_infinitely_many_are_found_and_not_said_to_be_all():
    """With the last joint of the wrist turned by pi and the elbow at right angles, joints 1 and 4
    of this arm turn against each other for ever; there was no room for what else solves it."""
    robot = crx()
    goal = PoseTask(robot.default_tip())
    form = ik.closed_form.form(IkProblem(robot, [goal]))
    q = np.array([2.685915296, 0.0, np.pi / 2, 1.559036695, -1.102172258, -np.pi])
    along = np.array([0.4, 0.0, 0.0, 0.4, 0.0, 0.0])
    pose = robot.forward_kinematics(q, goal.link)
    assert np.abs(robot.forward_kinematics(q + along, goal.link) - pose).max() < 1e-9
    goal.set_target(pose)
    other = [2.557969828, 0.0, 1.033931114, -1.431091227, 1.102172258, -0.603661905]
    assert np.abs(robot.forward_kinematics(other, goal.link) - pose).max() < 1e-8
    found = form.solve(q)
    assert np.abs(found - other).max(axis=1).min() < 1e-6
    assert not form.is_certain
