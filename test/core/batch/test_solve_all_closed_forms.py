# SPDX-License-Identifier: Apache-2.0
"""`solve_all` beside the closed forms that PyPI has, EAIK and ik-geo, on a thousand poses.

Its own closed form, and its searches on a fifth of them.
"""

import numpy as np
import pytest
from support import robots
from support import ur5e_closed_form as ur5e

import ik_core as ik

POSES = 1000
# Share of the poses for which both find the same; at singularities either may miss some
LEAST_SHARE = 0.999


def eaik_solver():
    """EAIK for the Denavit-Hartenberg parameters of the UR5e."""
    dh = [np.array(part) for part in (ur5e.ALPHA, ur5e.A, ur5e.D)]
    robot = pytest.importorskip('eaik.IK_DH').DhRobot(*dh)

    def solve(pose):
        found = robot.IK(ur5e.BASE @ pose)
        return np.reshape(found.Q, (-1, 6))[~np.array(found.is_LS, bool)]

    return solve


def ik_geo_solver():
    """ik-geo for the axes of the UR5e at zero and the offsets between them."""
    frames = [ur5e.BASE]
    for i in range(6):
        frames.append(frames[-1] @ ur5e.link(i, 0.0))
    axes = [frame[:3, 2] for frame in frames[:-1]]
    offsets = np.diff([np.zeros(3), *(frame[:3, 3] for frame in frames)], axis=0)
    robot = pytest.importorskip('ik_geo').Robot.three_parallel_two_intersecting(axes, offsets)

    def solve(pose):
        turned = pose[:3, :3] @ frames[-1][:3, :3].T
        found = robot.get_ik(turned.T.tolist(), pose[:3, 3].tolist())  # it takes the columns
        return np.reshape([q for q, inexact in found if not inexact], (-1, 6))

    return solve


def covered(some, others):
    """Return whether each of some (k, 6) is among the others, modulo whole turns."""
    gap = (some[:, None] - others[None] + np.pi) % (2.0 * np.pi) - np.pi
    return bool(np.abs(gap).max(axis=-1).min(axis=1, initial=np.inf).max(initial=0.0) < 1e-4)


@pytest.mark.parametrize('make_solver', [eaik_solver, ik_geo_solver])
@pytest.mark.parametrize(('closed_form', 'poses'), [(True, POSES), (False, POSES // 5)])
def test_all_solutions_of_a_ur5e_are_those_of_other_closed_forms(make_solver, closed_form, poses):
    theirs_of, rng = make_solver(), np.random.default_rng(90)
    robot = robots.shipped('ur5e')
    goal = ik.PoseTask('tool0')
    problem = ik.IkProblem(robot, [goal])
    missed = superfluous = 0
    for _ in range(poses):
        pose = robot.forward_kinematics(rng.uniform(-np.pi, np.pi, 6), 'tool0')
        goal.set_target(pose)
        found, theirs = ik.solve_all(problem, closed_form=closed_form), theirs_of(pose)
        missed += not covered(theirs, found.q)
        superfluous += not covered(found.q, theirs)
        assert bool(found.family) == closed_form
    assert missed <= (0.0 if closed_form else 1.0 - LEAST_SHARE) * poses
    assert superfluous <= (1.0 - LEAST_SHARE) * poses
