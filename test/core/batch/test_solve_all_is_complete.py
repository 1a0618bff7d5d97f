# SPDX-License-Identifier: Apache-2.0
"""`solve_all` of arms whose axes are only nearly what drawings say: all branches, or no claim.

Judged by searches of their own, each a start with the default solver and no closed form.
"""

import numpy as np
import pytest
from support import closed_form_chains as chains

import ik_core as ik
from ik_core.batch.all_solutions import BETWEEN

pytestmark = pytest.mark.long
NOISE = 1e-5
SEARCHES = 200
STRUCTURES = {
    'parallel': lambda rng: chains.five(rng, parallel_from=1),
    'meeting': lambda rng: chains.five(rng, meet=3),
    'loose five': lambda rng: chains.loose(rng, 'RRRRR'),
    'wrist': lambda rng: chains.wrist(rng, 3),
    'parallel six': lambda rng: chains.parallel(rng, 1, 4),
}


def with_noise(spec, rng):
    return [
        (
            kind,
            axis / np.linalg.norm(axis) + NOISE * rng.normal(size=3),
            point + NOISE * rng.normal(size=3),
        )
        for kind, axis, point in spec
    ]


def is_one(problem, known, q):
    """Return whether two solutions are close, or connected by solutions."""
    known = q + (known - q + np.pi) % (2 * np.pi) - np.pi
    if np.abs(known - q).max() < 0.01:
        return True
    return all(
        problem.is_solved(*problem.errors(q + share * (known - q)))
        for share in (0.0, *BETWEEN, 1.0)
    )


def judged(robot, q, tip='tool', **tolerances):
    """The answer of `solve_all` and the solutions that it misses, for the pose at q."""
    goal = ik.PoseTask(tip, transform=robot.forward_kinematics(q, tip))
    problem = ik.IkProblem(robot, [goal], **tolerances)
    found = ik.solve_all(problem, q)
    rng = np.random.default_rng(7)
    starts = rng.uniform(robot.lower, robot.upper, (SEARCHES, robot.n))
    batch = ik.solve_batch(
        problem, [goal.transform] * SEARCHES, starts, restarts=0, closed_form=False
    )
    # solutions near a singularity are within the tolerances of another one, on a curved path
    tight = ik.IkProblem(robot, [goal], position_tolerance=1e-11, orientation_tolerance=1e-11)
    others = []
    for one in batch.q[batch.success]:
        if any(is_one(problem, known, one) for known in found):
            continue
        end = ik.solve(tight, one, restarts=0, closed_form=False).q
        if not any(is_one(problem, known, end) for known in found):
            others.append(end)
    return problem, found, others


@pytest.mark.parametrize(
    ('seed', 'tolerances'),
    [*((seed, (1e-5, 1e-4)) for seed in range(8)), (1, (1e-3, 1e-2)), (4, (1e-3, 1e-3))],
)
@pytest.mark.parametrize('name', STRUCTURES)
def test_all_solutions_within_the_tolerances_are_found_or_it_is_not_complete(
    name, seed, tolerances
):
    rng = np.random.default_rng(100 + seed)
    ideal = STRUCTURES[name](rng)
    robot = chains.chain(with_noise(ideal, rng), np.random.default_rng(seed))
    straight = chains.chain(ideal, np.random.default_rng(seed))
    position, orientation = tolerances
    said = 0
    for i in range(2):
        q = rng.uniform(robot.lower, robot.upper)
        told = {'position_tolerance': position, 'orientation_tolerance': orientation}
        problem, found, others = judged(robot if i % 2 else straight, q, **told)
        said += found.complete
        assert not (found.complete and others), (found, others[:2])
        assert all(problem.is_solved(*problem.errors(one)) for one in found)
    assert said >= 1


FIVE = """
<robot name="five"><link name="base"/><link name="b1"/><link name="b2"/><link name="b3"/>
<link name="b4"/><link name="b5"/><link name="tip"/>
{joints}
<joint name="f" type="fixed"><parent link="b5"/><child link="tip"/><origin xyz="0 0 0.02"/></joint>
</robot>
"""
JOINTS = (
    ('base', '0 0 0.21', '0 0 0', 6.2, 6.2),
    ('b1', '0 0 0', '-{turn} 0 0', 2.0, 2.0),
    ('b2', '0.055 -0.29 0', '0 0 0', 3.9, 0.1),
    ('b3', '0.08 0.34 0', '0 0 0', 1.7, 3.1),
    ('b4', '0.076 0.097 0', '-{turn} 0 0', 6.2, 6.2),
)


def five(turn):
    """An arm of five joints whose frames are turned by so much, in the place of half pi."""
    joints = [
        f'<joint name="a{i}" type="revolute"><parent link="{parent}"/><child link="b{i}"/>'
        f'<origin xyz="{xyz}" rpy="{rpy.format(turn=turn)}"/><axis xyz="0 0 1"/>'
        f'<limit lower="-{lower}" upper="{upper}" velocity="2" effort="9"/></joint>'
        for i, (parent, xyz, rpy, lower, upper) in enumerate(JOINTS, 1)
    ]
    return ik.load_robot(FIVE.format(joints='\n'.join(joints)))


@pytest.mark.parametrize('tolerances', [(1e-5, 1e-4), (1e-3, 1e-3)])
def test_five_joints_with_rounded_frames_have_the_solutions_of_exact_ones(tolerances):
    exact, rounded = five('1.5707963267948966'), five('1.5708')
    rng = np.random.default_rng(3)
    told = dict(zip(('position_tolerance', 'orientation_tolerance'), tolerances, strict=True))
    for _ in range(10):
        q = rng.uniform(rounded.lower, rounded.upper)
        goals = [
            ik.PoseTask('tip', transform=r.forward_kinematics(q, 'tip')) for r in (exact, rounded)
        ]
        full = ik.solve_all(ik.IkProblem(exact, goals[:1]), q)
        problem = ik.IkProblem(rounded, goals[1:], **told)
        found = ik.solve_all(problem, q)
        for one in full:
            again = ik.solve(problem, one, restarts=0, closed_form=False)
            if again.success and np.abs(again.q - one).max() < 0.01:
                assert not found.complete or any(is_one(problem, k, again.q) for k in found)
