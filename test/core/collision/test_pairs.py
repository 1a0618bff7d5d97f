# SPDX-License-Identifier: Apache-2.0
"""Verdicts of pairs of links: no configuration contradicts them."""

import numpy as np
import pytest
from support.convex_pieces import random_piece, random_pose
from support.robots import URDF

import ik_core as ik
from ik_core.collision import Box, Capsule, Cylinder, Sphere
from ik_core.collision.pairs import Margins, link_pairs
from ik_core.collision.piece import piece_of, pieces_of


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv('XDG_CACHE_HOME', str(tmp_path))


def two_links(kind='prismatic', axis='1 0 0', limits=(-1.0, 1.0), xyz='0 0 0'):
    """Two links and the joint between them."""
    return ik.load_robot(
        '<robot name="two"><link name="x"/><link name="y"/>'
        f'<joint name="j" type="{kind}"><parent link="x"/><child link="y"/>'
        f'<origin xyz="{xyz}"/><axis xyz="{axis}"/>'
        f'<limit lower="{limits[0]}" upper="{limits[1]}" velocity="1" effort="1"/></joint></robot>'
    )


def random_chain(seed):
    """A robot of three to five joints of all kinds, some of which follow the first one, and
    random pieces of its links."""
    rng = np.random.default_rng(seed)
    count = rng.integers(3, 6)
    links = [f'l{i}' for i in range(count + 1)]
    joints = []
    for i in range(count):
        kind = ('revolute', 'continuous', 'prismatic')[rng.integers(3)]
        most = 0.3 if kind == 'prismatic' else 3.0
        numbers = [' '.join(map(str, rng.normal(size=3) * scale)) for scale in (0.2, 1.0, 1.0)]
        mimic = ''
        if i > 1 and kind == 'revolute' and rng.random() < 0.4:
            mimic = f'<mimic joint="j0" multiplier="{rng.uniform(-2.0, 2.0)}" offset="0.1"/>'
        joints.append(
            f'<joint name="j{i}" type="{kind}"><parent link="{links[i]}"/>'
            f'<child link="{links[i + 1]}"/><origin xyz="{numbers[0]}" rpy="{numbers[1]}"/>'
            f'<axis xyz="{numbers[2]}"/><limit lower="{-rng.uniform(0.1, most)}" '
            f'upper="{rng.uniform(0.1, most)}" velocity="1" effort="1"/>{mimic}</joint>'
        )
    text = ''.join(f'<link name="{link}"/>' for link in links) + ''.join(joints)
    robot = ik.load_robot(f'<robot name="chain">{text}</robot>')
    pieces = [
        random_piece(rng, link, rng.uniform(0.05, 0.2))
        for link in links
        for _ in range(rng.integers(1, 3))
    ]
    return robot, pieces


def everything_checked(robot, pieces):
    """Collisions that compute the distances of all pairs, and what names them.

    Each piece is an obstacle that its link carries: their pairs have no verdicts.
    """
    world = ik.World()
    names = {}
    for i, piece in enumerate(pieces):
        name = f'{piece.link} {i}'
        names[name] = piece.link
        at = np.eye(4)
        if piece.kind in ('box', 'hull'):
            shape = ik.collision.Convex(piece.corners)
        else:
            at[:3, 3] = piece.corners.mean(axis=0)
            shape = Sphere(piece.radius)
        if piece.kind in ('capsule', 'cylinder'):
            z = piece.corners[1] - piece.corners[0]
            length = np.linalg.norm(z)
            kinds = {'capsule': Capsule, 'cylinder': Cylinder}
            shape = kinds[piece.kind](piece.radius, length)
            x = np.cross(z / length, np.eye(3)[abs(z).argmin()])
            x /= np.linalg.norm(x)
            at[:3, :3] = np.column_stack([x, np.cross(z / length, x), z / length])
        world.attach(name, shape, piece.link, at)
    far = random_pose(np.random.default_rng(0), 1.0)
    far[:3, 3] = 500.0
    only = [piece_of(Sphere(1e-3), robot.base_link, far)]
    return ik.Collisions(robot, world, 0.0, pieces=only), names


def rows_of(robot, rng, count):
    """Random configurations (N, n), in half of which some joints are at their limits."""
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    rows = lower + rng.random((count, robot.n)) * (upper - lower)
    at_limit = rng.random(rows.shape) < 0.3
    at_limit[: count // 2] = False
    return np.where(at_limit, np.where(rng.random(rows.shape) < 0.5, lower, upper), rows)


def least_distances(checked, names, q):
    """The distance of each pair of links at q, computed without verdicts."""
    found = {}
    for pair in checked.distances(q, np.inf):
        if {pair.first, pair.second} <= set(names):
            key = frozenset((names[pair.first], names[pair.second]))
            found[key] = min(found.get(key, np.inf), pair.distance)
    return found


def assert_is_not_contradicted(pair, distance, margin):
    if pair.verdict == 'never':
        assert distance > pair.margin
        assert pair.margin == margin or distance <= margin + 1e-9
    elif pair.verdict == 'touching':
        assert distance <= 1e-9
    elif pair.verdict == 'inside':
        assert distance <= margin + 1e-9


@pytest.mark.parametrize('margin', [0.0, 0.02])
@pytest.mark.parametrize('seed', range(8))
def test_no_random_configuration_contradicts_a_verdict(seed, margin):
    robot, pieces = random_chain(seed)
    pairs, _ = link_pairs(robot, pieces, Margins(margin))
    checked, names = everything_checked(robot, pieces)
    for q in rows_of(robot, np.random.default_rng(seed), 60):
        distances = least_distances(checked, names, q)
        for pair in pairs:
            distance = distances[frozenset((pair.first, pair.second))]
            assert_is_not_contradicted(pair, distance, margin)


@pytest.mark.parametrize('seed', range(4))
def test_no_descent_contradicts_that_links_never_meet(seed):
    """Steps against the gradient from the nearest of random configurations."""
    robot, pieces = random_chain(seed)
    pairs, _ = link_pairs(robot, pieces, Margins(0.0))
    checked, names = everything_checked(robot, pieces)
    lower, upper = np.maximum(robot.lower, -np.pi), np.minimum(robot.upper, np.pi)
    rng = np.random.default_rng(seed)
    for pair in pairs:
        if pair.verdict != 'never':
            continue
        key = frozenset((pair.first, pair.second))
        rows = rows_of(robot, rng, 15)
        best = min(rows, key=lambda q: least_distances(checked, names, q)[key])
        least, step = least_distances(checked, names, best)[key], 0.2
        for _ in range(40):
            trial = np.clip(best + step * rng.normal(size=robot.n), lower, upper)
            distance = least_distances(checked, names, trial)[key]
            if distance < least:
                best, least = trial, distance
            else:
                step *= 0.85
        assert least > 0.0


@pytest.mark.parametrize('seed', range(8))
def test_a_pair_that_meets_sometimes_has_a_configuration_in_which_it_does(seed):
    robot, pieces = random_chain(seed)
    margin = 0.01
    pairs, _ = link_pairs(robot, pieces, Margins(margin))
    checked, names = everything_checked(robot, pieces)
    seen = 0
    for pair in pairs:
        if pair.verdict == 'sometimes':
            q = pair.q
            assert (robot.lower <= q).all()
            assert (q <= robot.upper).all()
            distance = least_distances(checked, names, q)[frozenset((pair.first, pair.second))]
            assert max(distance, 0.0) == pytest.approx(pair.nearest, abs=1e-6)
            assert pair.nearest <= max(pair.margin, margin)
            assert 0.0 <= pair.contacts <= pair.fraction <= 1.0
            seen += 1
    assert seen > 0


@pytest.mark.parametrize('seed', range(12))
def test_a_rod_that_slides_out_of_a_cylinder_does_not_touch_it_always(seed):
    """At its far ends a ball on the axis just leaves the cylinder across: a depth that is a little
    too large, as found by directions, would prove that they always touch."""
    rng = np.random.default_rng(seed)
    pose = random_pose(rng, 0.0)
    radius, ball = rng.uniform(0.03, 0.3), 1e-5
    most = (radius + ball) * (1.0 + 10.0 ** rng.uniform(-5.0, -3.5))
    robot = two_links(axis=' '.join(map(str, pose[:3, 0])), limits=(-most, most))
    cylinder = piece_of(Cylinder(radius, rng.uniform(0.1, 2.0)), 'y', pose)
    pieces = [piece_of(Sphere(ball), 'x', np.eye(4)), cylinder]
    (pair,), _ = link_pairs(robot, pieces, Margins(0.0))
    assert pair.verdict != 'touching'


def test_links_that_overlap_on_their_axis_touch_in_every_configuration():
    robot = two_links('revolute', '0 0 1', (-3.0, 3.0), '0 0 0.4')
    pieces = [
        piece_of(Cylinder(0.05, 0.9), 'x', np.eye(4)),
        piece_of(Box((0.3, 0.1, 0.1)), 'y', np.eye(4)),
    ]
    (pair,), _ = link_pairs(robot, pieces, Margins(0.0))
    assert pair.verdict == 'touching'
    assert not pair.is_checked
    assert 'touch in every configuration' in pair.why()


def test_links_at_a_constant_gap_never_touch_at_a_larger_margin():
    robot = two_links('continuous', '0 0 1', xyz='0 0 0.101')
    pieces = [
        piece_of(Cylinder(0.05, 0.1), 'x', np.eye(4)),
        piece_of(Cylinder(0.04, 0.1), 'y', np.eye(4)),
    ]
    (pair,), _ = link_pairs(robot, pieces, Margins(0.01))
    assert (pair.verdict, pair.margin, pair.is_checked) == ('never', 0.0, False)
    assert pair.why().startswith('never touch: ')
    assert pair.nearest == pytest.approx(0.001, abs=1e-6)
    (pair,), _ = link_pairs(robot, pieces, Margins(0.0005))
    assert (pair.verdict, pair.margin, pair.is_checked) == ('never', 0.0005, False)


def test_links_always_inside_the_margin_that_may_touch_are_checked_for_contact():
    robot = two_links(limits=(-0.001, 0.005))
    pieces = [
        piece_of(Box((0.1, 0.1, 0.1)), 'x', np.eye(4)),
        piece_of(Box((0.1, 0.1, 0.1)), 'y', ik.transform(position=(0.1, 0.0, 0.0))),
    ]
    (pair,), _ = link_pairs(robot, pieces, Margins(0.02))
    assert (pair.verdict, pair.margin, pair.is_checked) == ('inside', 0.0, True)


def test_the_bound_of_a_proof_is_sharp():
    """A ball on an arm passes another one at a distance that is known."""
    robot = two_links('continuous', '0 0 1')
    arm = ik.transform(position=(0.5, 0.0, 0.0))
    post = ik.transform(position=(0.0, 0.9, 0.0))
    pieces = [piece_of(Sphere(0.1), 'x', post), piece_of(Sphere(0.1), 'y', arm)]
    for margin, verdict in ((0.199, 'never'), (0.201, 'sometimes')):
        (pair,), _ = link_pairs(robot, pieces, Margins(margin))
        assert pair.verdict == verdict
        assert pair.nearest == pytest.approx(0.2, abs=2e-3)


def test_the_margin_of_links_that_are_never_far_apart_is_half_of_that():
    robot = two_links(limits=(0.0, 0.015))
    pieces = [
        piece_of(Box((0.1, 0.1, 0.1)), 'x', np.eye(4)),
        piece_of(Box((0.1, 0.1, 0.1)), 'y', ik.transform(position=(0.1, 0.0, 0.0))),
    ]
    (pair,), _ = link_pairs(robot, pieces, Margins(0.01))
    assert pair.margin == pytest.approx(0.5 * pair.farthest)
    assert 0.014 < pair.farthest <= 0.015
    (pair,), _ = link_pairs(robot, pieces, Margins({('y', 'x'): 0.012}))  # as it is asked for
    assert (pair.verdict, pair.margin) == ('sometimes', 0.012)


def test_one_box_leaves_pairs_open_and_open_pairs_are_checked():
    robot, pieces = random_chain(0)
    few, _ = link_pairs(robot, pieces, Margins(0.0), boxes=1)
    many, _ = link_pairs(robot, pieces, Margins(0.0))
    assert sum(pair.verdict == 'open' for pair in few) > 0
    assert all(pair.is_checked for pair in few if pair.verdict == 'open')
    for one, other in zip(few, many, strict=True):
        if one.verdict in ('never', 'touching'):
            assert other.verdict == one.verdict


@pytest.mark.parametrize(
    ('name', 'margin', 'open_pairs'),
    [
        ('panda', 0.0, 0),
        ('panda', 0.01, 0),
        ('ur5e', 0.0, 0),
        ('ur5e', 0.01, 1),
        ('iiwa14', 0.01, 3),
    ],
)
def test_pairs_of_shipped_arms_are_decided_but_for_a_few(name, margin, open_pairs):
    robot = ik.load_robot(URDF / f'{name}.urdf')
    pairs, warnings = link_pairs(robot, pieces_of(robot), Margins(margin))
    assert warnings == ()
    assert {pair.verdict for pair in pairs} >= {'never', 'touching', 'sometimes'}
    assert sum(pair.verdict == 'open' for pair in pairs) <= open_pairs


def test_verdicts_are_kept_on_disk_and_damaged_files_are_made_again(tmp_path, monkeypatch):
    robot, pieces = random_chain(1)
    first, _ = link_pairs(robot, pieces, Margins(0.0))
    (path,) = (tmp_path / 'ik_core' / 'pairs').glob('*.npy')
    judged = []
    monkeypatch.setattr(
        'ik_core.collision.pairs._Proofs.verdict', lambda *names: judged.append(names) or first[0]
    )
    again, _ = link_pairs(robot, pieces, Margins(0.0))
    assert not judged
    for one, other in zip(first, again, strict=True):
        assert one.q.tolist() == other.q.tolist()
        assert {**vars(one), 'q': 0} == {**vars(other), 'q': 0}
    path.write_bytes(path.read_bytes()[:-8])
    link_pairs(robot, pieces, Margins(0.0))
    assert judged
    judged.clear()
    link_pairs(robot, pieces, Margins(0.001))
    assert judged


@pytest.mark.parametrize(
    ('margin', 'said'),
    [
        (-1.0, 'margin = -1.0'),
        (float('nan'), 'margin = nan'),
        ('wide', "margin = 'wide'"),
        ({'panda_link1': 0.1}, 'no pair of names'),
        ({('a', 'b'): 11.0}, 'margin of'),
    ],
)
def test_margins_that_can_not_be_are_refused(margin, said):
    with pytest.raises(ik.InvalidOption, match=said):
        Margins(margin)
