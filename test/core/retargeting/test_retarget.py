# SPDX-License-Identifier: Apache-2.0
"""A motion of one robot for another: Eq. 1 to 4 of [TakKo] over all frames."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.spatial.transform import Rotation
from support.places import URDF
from support.robots import weighed

import ik_core as ik
from ik_core.exceptions import FrameNotFound, InvalidOption

PERIOD = 1 / 30
JOINTS = {f'panda_joint{i}': f'iiwa_joint_{i}' for i in range(1, 8)}
LINKS = {'panda_hand_tcp': 'iiwa_link_ee'}


@pytest.fixture(scope='module')
def panda():
    return ik.load_robot(URDF / 'panda.urdf')


@pytest.fixture(scope='module')
def iiwa():
    return ik.load_robot(URDF / 'iiwa14.urdf')


def swaying(robot, frames=12, amplitude=0.3):
    """A smooth motion inside the limits."""
    phase = np.linspace(0.0, 2.0, frames)[:, np.newaxis] + np.arange(robot.n)
    middle = robot.middle_configuration
    room = np.minimum(amplitude, 0.9 * (robot.upper - middle))
    return ik.motion.Motion(robot.joint_names, middle + room * np.sin(phase), PERIOD)


def path_of(robot, motion, link):
    return np.array([robot.forward_kinematics(q, link)[:3, 3] for q in motion.positions])


def test_a_robot_that_imitates_itself_does_the_same(panda):
    motion = swaying(panda)
    for beta in (1e-5, 0.5, 1.0):
        made = ik.retargeting.retarget(motion, panda, {'panda_hand': 'panda_hand'}, beta=beta)
        assert made.motion.joint_names == motion.joint_names
        assert made.motion.period == motion.period
        np.testing.assert_allclose(made.motion.positions, motion.positions, atol=1e-6)
        assert made.link_errors.max() < 1e-6
        assert made.converged.all()


@pytest.mark.parametrize('base_link', [None, 'panda_link1'])
def test_orientations_are_followed_if_they_have_a_weight(panda, base_link):
    motion, shoulder = swaying(panda), ik.transform(position=(0.0, 0.0, 0.333))
    links = {'panda_hand': 'panda_hand'}
    asked = {'joints': {}, 'base_link': base_link, 'beta': 0.0}
    asked['transform'] = shoulder if base_link else None
    free = ik.retargeting.retarget(motion, panda, links, **asked)
    made = ik.retargeting.retarget(motion, panda, links, orientation_weights=1.0, **asked)
    assert free.link_errors.max() < 1e-6
    assert free.orientation_errors.max() > 0.1
    assert made.link_errors.max() < 1e-6
    assert made.orientation_errors.max() < 1e-6
    for q, own in zip(motion.positions, made.motion.positions, strict=True):
        given = panda.forward_kinematics(q, 'panda_hand')
        if base_link:
            given = shoulder @ np.linalg.inv(panda.forward_kinematics(q, base_link)) @ given
        np.testing.assert_allclose(panda.forward_kinematics(own, 'panda_hand'), given, atol=1e-6)


@pytest.mark.parametrize('velocity', [0.0, 1e-4])
def test_a_frame_is_the_minimum_of_positions_orientations_and_joints(panda, iiwa, velocity):
    beta, weight, turn = 0.02, 0.05, ik.transform(position=(0.0, 0.0, 0.0), rpy=(0.3, -0.2, 0.5))
    motion = swaying(panda, frames=3)
    made = ik.retargeting.retarget(
        motion, iiwa, LINKS, source=panda, joints=JOINTS, beta=beta, transform=turn,
        orientation_weights=[weight], velocity_weights=(velocity, 0.0),
    )  # fmt: skip
    goals = [turn @ panda.forward_kinematics(q, 'panda_hand_tcp') for q in motion.positions]

    def errors(q, goal):
        hand = iiwa.forward_kinematics(q, 'iiwa_link_ee')
        turned = Rotation.from_matrix(goal[:3, :3].T @ hand[:3, :3]).as_rotvec()
        return np.concatenate([hand[:3, 3] - goal[:3, 3], np.sqrt(weight) * turned])

    before, q = made.motion.positions[1:]

    def cost(q):
        now, rates = errors(q, goals[2]), (errors(q, goals[2]) - errors(before, goals[1])) / PERIOD
        posture = q - motion.positions[2, :7]
        return (1 - beta) * (
            now @ now + velocity * rates @ rates
        ) + made.length**2 * beta * posture @ posture

    box = list(zip(iiwa.lower, iiwa.upper, strict=True))
    assert cost(q) <= minimize(cost, q, bounds=box, method='L-BFGS-B').fun * (1 + 1e-6)
    turned = np.linalg.norm(errors(q, goals[2])[3:]) / np.sqrt(weight)
    assert made.orientation_errors[2, 0] == pytest.approx(turned)


@pytest.mark.parametrize('alpha', [None, 0.3])
def test_every_frame_is_the_minimum_of_equation_4(panda, iiwa, alpha):
    beta, kv, ka, m = 0.02, 1e-4, 1e-7, 1e-3
    motion = swaying(panda, frames=6)
    made = ik.retargeting.retarget(
        motion,
        iiwa,
        LINKS,
        source=panda,
        joints=JOINTS,
        beta=beta,
        alpha=alpha,
        velocity_weights=kv,
        acceleration_weights=ka,
        stiffness=m,
    )
    goal = path_of(panda, motion, 'panda_hand_tcp')
    pattern = motion.positions[:, :7]
    achieved = made.motion.positions
    hands = path_of(iiwa, made.motion, 'iiwa_link_ee')

    def error(y, example, before, frame):
        """|y - Y|^2 and the differences of Eq. 2 and 3, as they stand there."""
        now = y - example[frame]
        old = [before[frame - i] - example[frame - i] for i in (1, 2) if frame >= i]
        total = now @ now
        if old:
            total += kv * np.sum(((now - old[0]) / PERIOD) ** 2)
        if len(old) == 2:
            total += ka * np.sum(((now - 2 * old[0] + old[1]) / PERIOD**2) ** 2)
        return total

    for frame in range(1, len(motion)):

        def cost(q, frame=frame):
            hand = iiwa.forward_kinematics(q, 'iiwa_link_ee')[:3, 3]
            e, a = error(hand, goal, hands, frame), error(q, pattern, achieved, frame)
            step = q - achieved[frame - 1]
            share = 1 - beta if alpha is None else alpha
            return share * e + made.length**2 * (beta * a + m * step @ step)

        box = list(zip(iiwa.lower, iiwa.upper, strict=True))
        found = minimize(cost, achieved[frame], bounds=box, method='L-BFGS-B')
        assert cost(achieved[frame]) <= found.fun * (1 + 1e-6)
        nearby = minimize(cost, achieved[frame] + 0.05, bounds=box, method='L-BFGS-B')
        np.testing.assert_allclose(nearby.x, achieved[frame], atol=2e-3)


def test_a_frame_in_balance_is_the_minimum_with_the_distance_of_the_centre_of_mass():
    robot, beta, weight = weighed('dual_arm'), 0.02, 0.5
    hands = {tip: tip for tip in robot.tips()[:2]}
    motion = swaying(robot, frames=3)
    made = ik.retargeting.retarget(
        motion, robot, hands, beta=beta, balance=weight, feet=list(hands)[1:]
    )
    goals = [path_of(robot, motion, tip)[2] for tip in hands]
    middle = goals[1][:2]

    def cost(q):
        off = [robot.forward_kinematics(q, tip)[:3, 3] for tip in hands]
        links = sum(np.sum((a - b) ** 2) for a, b in zip(off, goals, strict=True))
        posture, away = q - motion.positions[2], robot.centre_of_mass(q)[:2] - middle
        joints = made.length**2 * beta * posture @ posture
        return (1 - beta) * links + joints + weight * away @ away

    q, box = made.motion.positions[2], list(zip(robot.lower, robot.upper, strict=True))
    assert cost(q) <= minimize(cost, q, bounds=box, method='L-BFGS-B').fun * (1 + 1e-6)
    assert cost(q) < cost(motion.positions[2])


def test_more_weight_brings_the_centre_of_mass_nearer_to_the_feet():
    robot = weighed('dual_arm')
    hands = {tip: tip for tip in robot.tips()[:2]}
    motion, off = swaying(robot, frames=4), []
    for weight in (0.0, 0.1, 10.0):
        made = ik.retargeting.retarget(
            motion, robot, hands, joints={}, balance=weight, feet=list(hands)
        )
        middle = np.mean([path_of(robot, motion, tip) for tip in hands], axis=0)
        centres = np.array([robot.centre_of_mass(q) for q in made.motion.positions])
        off.append(np.linalg.norm((centres - middle)[:, :2], axis=1).mean())
    assert off[0] > off[1] > off[2]


@pytest.mark.parametrize(
    ('asked', 'why'),
    [
        ({'balance': 0.1}, 'balance needs feet'),
        ({'balance': -1.0, 'feet': ['panda_hand']}, 'from 0 on'),
        ({'balance': np.nan, 'feet': ['panda_hand']}, 'from 0 on'),
        ({'balance': 0.1, 'feet': ['panda_link0']}, 'none of the followed links'),
        ({'balance': 0.1, 'feet': ['panda_hand']}, 'no masses'),
    ],
)
def test_balance_without_feet_or_masses_is_refused(panda, asked, why):
    with pytest.raises((InvalidOption, ik.UnsupportedProblem), match=why):
        ik.retargeting.retarget(swaying(panda), panda, {'panda_hand': 'panda_hand'}, **asked)


def test_a_smaller_beta_leads_the_links_better_and_the_joints_worse(panda, iiwa):
    motion = swaying(panda)
    ends = [
        ik.retargeting.retarget(motion, iiwa, LINKS, source=panda, joints=JOINTS, beta=beta)
        for beta in (1e-5, 1e-3, 0.5, 1.0)
    ]
    links = [made.link_errors.mean() for made in ends]
    joints = [np.abs(made.joint_errors).mean() for made in ends]
    assert links == sorted(links)
    assert joints == sorted(joints, reverse=True)
    assert links[0] < 1e-3 * ends[0].length
    assert joints[-1] < 0.01  # but for the limits


def test_errors_are_those_of_the_motion_that_is_returned(panda, iiwa):
    motion = swaying(panda)
    made = ik.retargeting.retarget(motion, iiwa, LINKS, source=panda, joints=JOINTS, beta=0.1)
    way = path_of(iiwa, made.motion, 'iiwa_link_ee') - path_of(panda, motion, 'panda_hand_tcp')
    np.testing.assert_allclose(made.link_errors[:, 0], np.linalg.norm(way, axis=1), atol=1e-12)
    names = [JOINTS[f'panda_joint{i}'] for i in range(1, 8)]
    assert list(made.joints) == names
    np.testing.assert_allclose(
        made.joint_errors, made.motion.positions - motion.positions[:, :7], atol=1e-12
    )


def test_paths_are_scaled_turned_and_moved(panda):
    motion = swaying(panda)
    transform = np.eye(4)
    transform[:2, :2] = [[0.0, -1.0], [1.0, 0.0]]
    transform[:3, 3] = [0.02, -0.03, 0.04]
    made = ik.retargeting.retarget(
        motion,
        panda,
        {'panda_hand': 'panda_hand'},
        joints={},
        beta=0.0,
        scale=0.9,
        transform=transform,
    )
    asked = 0.9 * path_of(panda, motion, 'panda_hand') @ transform[:3, :3].T + transform[:3, 3]
    np.testing.assert_allclose(path_of(panda, made.motion, 'panda_hand'), asked, atol=1e-6)
    assert made.joints == ()


def test_the_scale_length_is_the_ratio_of_the_chains(panda, iiwa):
    motion = swaying(panda, frames=3)
    ratio = ik.tasks.total_link_length(iiwa, 'iiwa_link_ee') / ik.tasks.total_link_length(
        panda, 'panda_hand'
    )
    made = [
        ik.retargeting.retarget(
            motion, iiwa, {'panda_hand': 'iiwa_link_ee'}, source=panda, scale=scale
        )
        for scale in ('length', ratio)
    ]
    np.testing.assert_array_equal(made[0].motion.positions, made[1].motion.positions)


def test_paths_in_the_frame_of_a_link_do_not_see_what_carries_it(panda):
    carried = ik.load_robot(URDF / 'panda.urdf', floating_base=True)
    frames = 6
    still = swaying(panda, frames)
    rng = np.random.default_rng(0)
    motion = ik.motion.Motion(
        carried.joint_names,
        np.hstack([rng.uniform(-1.0, 1.0, (frames, 6)), still.positions]),
        PERIOD,
    )
    made = ik.retargeting.retarget(
        motion,
        panda,
        {'panda_hand': 'panda_hand'},
        source=carried,
        base_link=panda.base_link,
    )
    np.testing.assert_allclose(made.motion.positions, still.positions, atol=1e-6)


def test_a_floating_root_is_scaled_and_moved_as_the_paths_are():
    robot = ik.load_robot(URDF / 'panda.urdf', floating_base=True)
    positions = np.zeros((4, robot.n)) + robot.middle_configuration
    positions[:, :3] = [[0.1 * i, 0.5, 1.0] for i in range(4)]
    transform = np.eye(4)
    transform[:3, 3] = [1.0, 2.0, 3.0]
    motion = ik.motion.Motion(robot.joint_names, positions, PERIOD)
    copied = ik.retargeting.retarget(
        motion, robot, {'panda_hand': 'panda_hand'}, beta=1.0, scale=2.0, transform=transform
    )
    root = copied.motion.positions[:, :3]
    np.testing.assert_allclose(root, 2 * positions[:, :3] + [1, 2, 3], atol=1e-9)
    transform[:3, :3] = np.diag([-1.0, -1.0, 1.0])
    with pytest.raises(InvalidOption, match='floating root'):
        ik.retargeting.retarget(motion, robot, {'panda_hand': 'panda_hand'}, transform=transform)


def test_limits_are_kept_unless_they_are_opened(panda):
    motion = swaying(panda)
    beyond = motion.positions.copy()
    beyond[:, 3] = 0.3  # the elbow's upper limit is below 0
    motion = ik.motion.Motion(motion.joint_names, beyond, PERIOD)
    links = {'panda_hand': 'panda_hand'}
    kept = ik.retargeting.retarget(motion, panda, links, beta=1.0).motion.positions
    assert (kept <= panda.upper).all()
    opened = ik.retargeting.retarget(
        motion, panda, links, beta=1.0, keep_limits=False
    ).motion.positions
    np.testing.assert_allclose(opened, beyond, atol=1e-9)


def test_weights_choose_which_link_and_which_joint_gives_way():
    robot = ik.load_robot(URDF / 'panda.urdf')
    motion = swaying(robot)
    links = {'panda_link4': 'panda_link4', 'panda_hand': 'panda_hand'}
    first, last = (
        ik.retargeting.retarget(
            motion, robot, links, beta=0.0, scale=1.2, link_weights=weights
        ).link_errors
        for weights in ([1.0, 1e-6], [1e-6, 1.0])
    )
    assert first[:, 0].max() < 0.99 * last[:, 0].min()
    assert last[:, 1].max() < 0.1 * first[:, 1].min()
    errors = [
        ik.retargeting.retarget(
            motion,
            robot,
            {'panda_hand': 'panda_hand'},
            beta=1e-2,
            scale=1.2,
            joint_weights=weights,
        ).joint_errors
        for weights in (1.0, np.where(np.arange(robot.n) == 1, 100.0, 1.0))
    ]
    even, heavy = (np.abs(error).mean(axis=0) for error in errors)
    assert heavy[1] < 0.2 * even[1]


def test_progress_hears_of_every_frame(panda):
    heard = []
    ik.retargeting.retarget(
        swaying(panda, frames=3),
        panda,
        {'panda_hand': 'panda_hand'},
        progress=lambda done, frames: heard.append((done, frames)),
    )
    assert heard == [(1, 3), (2, 3), (3, 3)]


@pytest.mark.parametrize('solver', ['sqp', 'augmented_lagrangian', 'bfgs'])
def test_optimisers_agree(panda, iiwa, solver):
    motion = swaying(panda, frames=4)
    asked = {'source': panda, 'joints': JOINTS, 'beta': 1e-3}
    first = ik.retargeting.retarget(motion, iiwa, LINKS, **asked).motion.positions
    other = ik.retargeting.retarget(motion, iiwa, LINKS, solver=solver, **asked).motion.positions
    np.testing.assert_allclose(other, first, atol=1e-4)


@pytest.mark.parametrize(
    ('asked', 'text'),
    [
        ({'beta': 1.5}, 'both from 0 to 1'),
        ({'beta': float('nan')}, 'both from 0 to 1'),
        ({'alpha': -0.1}, 'both from 0 to 1'),
        ({'alpha': 0.0, 'beta': 0.0}, 'one of them not 0'),
        ({'links': {}}, 'at least one link'),
        ({'links': {'panda_hand': 'panda_hand', 'panda_link4': 'panda_hand'}}, 'same counterpart'),
        ({'scale': 0.0}, 'scale'),
        ({'scale': 'height'}, "'length'"),
        ({'length': -1.0}, 'length'),
        ({'link_weights': [1.0, 2.0]}, 'link_weights'),
        ({'orientation_weights': [1.0, 2.0]}, 'orientation_weights'),
        ({'orientation_weights': -1.0}, 'weights'),
        ({'joint_weights': [1.0, 2.0]}, 'joint_weights'),
        ({'velocity_weights': -1.0}, 'weights'),
        ({'joints': {'panda_finger_joint1': 'panda_joint1'}}, 'of different kinds'),
        (
            {'joints': {'panda_joint1': 'panda_joint2', 'panda_joint2': 'panda_joint2'}},
            'counterpart',
        ),
    ],
)
def test_what_makes_no_sense_is_refused(panda, asked, text):
    asked = {'links': {'panda_hand': 'panda_hand'}, **asked}
    with pytest.raises(InvalidOption, match=text):
        ik.retargeting.retarget(swaying(panda, frames=2), panda, **asked)


def test_unknown_names_are_refused_with_the_closest(panda):
    with pytest.raises(FrameNotFound, match='panda_hand'):
        ik.retargeting.retarget(swaying(panda, frames=2), panda, {'panda_hands': 'panda_hand'})
    with pytest.raises(FrameNotFound, match='did you mean panda_joint'):
        ik.retargeting.retarget(
            swaying(panda, frames=2),
            panda,
            {'panda_hand': 'panda_hand'},
            joints={'panda_joint1': 'panda_joint'},
        )
