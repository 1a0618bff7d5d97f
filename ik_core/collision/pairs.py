# SPDX-License-Identifier: Apache-2.0
"""Verdicts on pairs of links: whether they can come near each other, each with its reason.

- never: the links provably never come nearer than the margin; or if they are always inside it,
  they provably never touch
- touching: they provably touch in every configuration
- inside: they are provably inside the margin in every configuration, so only contact counts
- sometimes: there is a configuration in which they are nearer than the margin
- open: no such configuration was found, and the proof used up its boxes; they are checked

A pair that an SRDF disables is `disabled` in any case, with a warning if it can collide. Fingers
of one gripper may touch: pairs that would be checked, but close against each other on one parent,
are `fingers`, unless they are named in `margin`.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from ..display import length, listed
from ..exceptions import InvalidOption
from ..maths.rotations import Array
from ..options import exact_number, whole_number
from ..progress import ProgressLine
from ..robot.kinematics import KIND, PARENT, PRISMATIC, VARIABLE
from ..robot.robot import Robot
from ..robot.srdf import Disabled, disabled_pairs
from . import array_files
from .packing import BodyPiece, Record, on_body, pack, workspace
from .piece import Piece
from .proof import NEAR, NEVER, PATH, link_distance, prove, prove_inside, prove_touching, search
from .records import CYLINDER, POINTS, WIDTH
from .shapes import hull_piece

Verdict = Literal['never', 'touching', 'inside', 'sometimes', 'open', 'disabled', 'fingers']
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
FOLDER = 'pairs'  # of cached verdicts, in the user's cache

DEFAULT_MARGIN = 0.01  # [m] of pairs that no mapping names
LARGEST_MARGIN = 10.0
# random configurations of the joints between two links, and descents from the nearest of them
SAMPLES, DESCENTS = 200, 12
# default number of boxes of a proof: with up to FEW_JOINTS joints between two links, with more,
# and with a single joint, where proofs end soon
FEW_JOINTS = 7
BOXES_OF_FEW, BOXES_OF_MANY = 1000, 300
BOXES_OF_ONE = 5000
STACK_ROWS = 500  # rows of a proof's stack: how often a box can be halved
SIDES = 24  # of the prism that replaces a cylinder in proofs: 0.9 % wider
SLIDE = 2.0  # [m] range of an unlimited sliding joint in a search; nothing can be proved for it


@dataclass(frozen=True, eq=False)
class LinkPair:
    """Two links with joints between them: whether they can meet, and how that is known.

    first, second : the links
    verdict : see `pairs`
    margin : [m] the pair is free if it is farther apart; smaller than the requested margin if the
        links are never much farther apart than that
    joints : number of joints between them
    nearest, farthest : [m] the least and the largest distance found
    fraction : fraction of random configurations in which they are nearer than the margin
    q : the configuration (n,) with the least distance found
    boxes : boxes of joint positions in the proof
    reason : the reason that an SRDF gives for disabling it
    contacts : fraction of random configurations in which they touch
    """

    first: str
    second: str
    verdict: Verdict
    margin: float
    joints: int
    nearest: float
    farthest: float
    fraction: float
    q: Array
    boxes: int = 0
    reason: str = ''
    contacts: float = 0.0

    @property
    def is_checked(self) -> bool:
        """True if configurations in which the pair is near are not free."""
        return self.verdict in ('inside', 'sometimes', 'open')

    def why(self) -> str:
        """Return the reason for the verdict as a phrase."""
        boxes = f'{self.boxes:,} boxes' if self.boxes != 1 else '1 box'
        never = f'never nearer than {length(self.margin)}' if self.margin > 0.0 else 'never touch'
        return {
            'never': f'{never}: proved with {boxes}',
            'touching': f'touch in every configuration: proved with {boxes}',
            'inside': f'always inside the margin: proved with {boxes}; contact counts',
            'sometimes': f'nearer than {length(self.margin)} in {100.0 * self.fraction:.3g} % of '
            f'random configurations, up to {length(self.farthest)} apart',
            'open': f'nearest found {length(self.nearest)}; not decided with {boxes}',
            'disabled': f'disabled by the SRDF: {self.reason or "no reason given"}',
            'fingers': 'fingers of one gripper may touch; named in `margin` they are checked',
        }[self.verdict]


class Margins:
    """The margin [m] of each pair: one number, or numbers by pairs of names."""

    def __init__(self, margin: float | Mapping[tuple[str, str], float]) -> None:
        self.named: dict[frozenset[str], float] = {}
        if not isinstance(margin, Mapping):
            self.default = _margin(margin, 'margin')
            return
        self.default = DEFAULT_MARGIN
        for names, value in margin.items():
            if (
                isinstance(names, str)
                or len(names) != 2
                or not all(isinstance(name, str) for name in names)
            ):
                raise InvalidOption(
                    f"margin: {names!r} is no pair of names; ('link', 'link') is needed"
                )
            self.named[frozenset(names)] = _margin(value, f'margin of {names!r}')

    def check(self, links: Collection[str]) -> None:
        """Raise InvalidOption for a pair without any of the links: obstacles may come later."""
        for names in self.named:
            if not names & set(links):
                shown = listed(map(repr, sorted(names)))
                raise InvalidOption(f'margin: none of {shown} is a link')

    def of(self, first: str, second: str) -> float:
        """Return the margin of a pair."""
        return self.named.get(frozenset((first, second)), self.default)

    def is_named(self, first: str, second: str) -> bool:
        """Return whether the pair has a margin of its own."""
        return frozenset((first, second)) in self.named


def _margin(value: Any, name: str) -> float:
    number = exact_number(value, float)
    if number is None or not 0.0 <= number <= LARGEST_MARGIN:
        raise InvalidOption(
            f'{name} = {value!r}: a length from 0 to {LARGEST_MARGIN:g} m is needed'
        )
    return float(number)


def link_pairs(
    robot: Robot,
    pieces: Sequence[Piece],
    margins: Margins,
    srdf: str | PathLike[str] | None = None,
    boxes: int | None = None,
) -> tuple[tuple[LinkPair, ...], tuple[str, ...]]:
    """Return the verdicts on all pairs of links with joints between them, and warnings.

    boxes : the most boxes of a proof; by default by the number of joints between the links

    Verdicts are cached on disk, by everything they depend on. Raises InvalidOption, UrdfError for
    an invalid SRDF.
    """
    if boxes is not None:
        whole_number(boxes, 'boxes')
    source = robot.srdf if srdf is None else srdf
    disabled, remarks = Disabled(), list[str]()
    if source:
        disabled, remarks = disabled_pairs(source, robot)
    links = list(dict.fromkeys(piece.link for piece in pieces))
    couples = [
        (a, b)
        for i, a in enumerate(links)
        for b in links[i + 1 :]
        if robot.placement(a).body != robot.placement(b).body
    ]
    key = _key_of(robot, pieces, margins, boxes)
    pairs = _unpacked(array_files.load(FOLDER, key), couples, robot.n)
    if pairs is None:
        pairs = _verdicts(robot, pieces, couples, margins, boxes)
        array_files.store(FOLDER, key, _packed(pairs, robot.n))
    found, warnings = [], [*remarks]
    for pair in pairs:
        if disabled.names(pair.first, pair.second):
            reason = disabled.reason(pair.first, pair.second)
            if pair.verdict != 'touching' and pair.nearest <= 0.0 and pair.contacts < 1.0:
                warnings.append(_contradiction(pair, reason, robot))
            pair = replace(pair, verdict='disabled', reason=reason)
        elif (
            pair.is_checked
            and _are_fingers(robot, pair)
            and not margins.is_named(pair.first, pair.second)
        ):
            pair = replace(pair, verdict='fingers')
        elif pair.verdict == 'sometimes' and pair.fraction == 1.0:
            warnings.append(
                f'{pair.first!r} and {pair.second!r} are nearer than {length(pair.margin)} in all '
                f'of {SAMPLES} random configurations, so none will be free: disable the pair in '
                'an SRDF, or give it a smaller margin'
            )
        found.append(pair)
    return tuple(found), tuple(warnings)


def _are_fingers(robot: Robot, pair: LinkPair) -> bool:
    """Return whether two links have the same parent and close like fingers: one joint mimics the
    other, or both slide and carry no further joint."""
    tree = robot.tree
    first, second = (robot.placement(link).body for link in (pair.first, pair.second))
    if first < 0 or second < 0 or tree[first, PARENT] != tree[second, PARENT]:
        return False
    if tree[first, VARIABLE] == tree[second, VARIABLE]:
        return True
    slide = tree[first, KIND] == tree[second, KIND] == PRISMATIC
    return bool(slide and not np.isin(tree[:, PARENT], (first, second)).any())


def _contradiction(pair: LinkPair, reason: str, robot: Robot) -> str:
    """The text of a warning about a disabled pair that collides."""
    values = ', '.join(
        f'{name} = {value:.4g}' for name, value in zip(robot.joint_names, pair.q, strict=True)
    )
    return (
        f'the SRDF disables {pair.first!r} and {pair.second!r} ({reason or "no reason"}), but '
        f'they collide in {100.0 * pair.contacts:.3g} % of random configurations, as at {values}'
    )


def _verdicts(
    robot: Robot,
    pieces: Sequence[Piece],
    couples: Sequence[tuple[str, str]],
    margins: Margins,
    boxes: int | None,
) -> list[LinkPair]:
    """Find the verdicts on pairs of links."""
    proofs, found = _Proofs(robot, pieces, boxes), []
    with ProgressLine('pairs of links') as line:
        for done, (first, second) in enumerate(couples):
            line.show(done, len(couples), f'{first}, {second}')
            margin, is_named = margins.of(first, second), margins.is_named(first, second)
            found.append(proofs.verdict(first, second, margin, is_named))
    return found


def _key_of(robot: Robot, pieces: Sequence[Piece], margins: Margins, boxes: int | None) -> str:
    """The key of cached verdicts: a hash of everything they depend on."""
    digest = hashlib.blake2b(f'{_sources()} {margins.default!r} {boxes}'.encode(), digest_size=16)
    for array in (robot.tree, robot.geometry, robot.lower, robot.upper, robot.full_turns):
        digest.update(array.tobytes() + b';')
    for names, margin in sorted((sorted(names), m) for names, m in margins.named.items()):
        digest.update(f'{names} {margin!r}'.encode())
    for piece in pieces:
        place = robot.placement(piece.link)
        digest.update(f'{piece.link!r} {piece.kind} {piece.radius!r} {place.body}'.encode())
        digest.update(piece.corners.tobytes() + place.transform.tobytes())
    return digest.hexdigest()


@cache
def _sources() -> str:
    """A hash of the sources that verdicts depend on."""
    digest = hashlib.blake2b(digest_size=16)
    for name in ('pairs', 'proof', 'gjk', 'epa', 'packing', 'records', 'shapes'):
        digest.update(Path(__file__).with_name(f'{name}.py').read_bytes())
    return digest.hexdigest()


NUMBERS = ('margin', 'joints', 'nearest', 'farthest', 'fraction', 'boxes', 'contacts')


def _packed(pairs: Sequence[LinkPair], n: int) -> Array:
    """Verdicts as an array, a row per pair: index of the verdict, `NUMBERS`, q (n,)."""
    rows = [
        [VERDICTS.index(pair.verdict), *(getattr(pair, name) for name in NUMBERS), *pair.q]
        for pair in pairs
    ]
    return np.array(rows, float).reshape(-1, 1 + len(NUMBERS) + n)


def _unpacked(
    numbers: Array | None, couples: Sequence[tuple[str, str]], n: int
) -> list[LinkPair] | None:
    """The verdicts of an array made by `_packed`; None for other arrays."""
    if numbers is None or numbers.shape != (len(couples), 1 + len(NUMBERS) + n):
        return None
    if not np.isfinite(numbers).all() or not np.isin(numbers[:, 0], range(len(VERDICTS))).all():
        return None
    found = []
    for (first, second), row in zip(couples, numbers, strict=True):
        margin, joints, nearest, farthest, fraction, boxes, contacts = map(
            float, row[1 : 1 + len(NUMBERS)]
        )
        found.append(
            LinkPair(
                first,
                second,
                VERDICTS[int(row[0])],
                margin,
                int(joints),
                nearest,
                farthest,
                fraction,
                row[1 + len(NUMBERS) :],
                int(boxes),
                contacts=contacts,
            )
        )
    return found


class _Proofs:
    """Searches and proofs for the pairs of a robot's links, with their records.

    The records have each link's pieces (`own`), these with prisms in place of cylinders (`solid`),
    a hull around the pieces of links with several, and a point.
    """

    def __init__(self, robot: Robot, pieces: Sequence[Piece], boxes: int | None) -> None:
        self.robot, self.boxes = robot, boxes
        self.own: dict[str, list[int]] = {}
        self.solid: dict[str, list[int]] = {}
        self.hull: dict[str, int] = {}
        parts = [on_body(robot, piece) for piece in pieces]
        for i, piece in enumerate(pieces):
            self.own.setdefault(piece.link, []).append(i)
        for link, own in self.own.items():
            solid = self.solid[link] = []
            for i in own:
                if parts[i].kind == CYLINDER:
                    parts.append(_prism(parts[i]))
                    i = len(parts) - 1
                solid.append(i)
            if len(solid) > 1:
                parts.append(_hull([parts[i] for i in solid]))
            self.hull[link] = len(parts) - 1 if len(solid) > 1 else solid[0]
        self.point = len(parts)
        parts.append(hull_piece(np.zeros((1, 3))))
        self.model = pack(robot, parts, np.empty((0, 4), np.int64), np.empty(0))
        self.state = workspace(robot, self.model)

    def verdict(self, first: str, second: str, margin: float, is_named: bool) -> LinkPair:
        """Find the verdict on a pair of links at a margin [m].

        A margin that is not named for the pair is reduced if the links are never much farther
        apart.
        """
        path = self._path(first, second)
        variables = path.variables
        rng = np.random.default_rng(0)
        lower, upper = path.record['lower'], path.record['upper']
        starts = lower + rng.random((SAMPLES, len(variables))) * (upper - lower)
        found = np.empty(SAMPLES)
        self._set_pieces(path.record, self.own, first, second)
        nearest = search(*self._addresses(path), starts, DESCENTS, 0.0, found)
        farthest, fraction = float(found.max()), float((found <= margin).mean())
        q = self.robot.middle_configuration
        q[variables] = path.record['x']
        known = LinkPair(
            first,
            second,
            'open',
            margin,
            len(path.bodies),
            nearest,
            farthest,
            fraction,
            q,
            contacts=float((found <= 0.0).mean()),
        )
        if nearest > margin:
            return self._never(path, known)
        if farthest <= 0.0 and path.is_bounded:
            addresses = *self._addresses(path), self.point
            touch, boxes = prove_touching(*addresses, self._most(path))
            if touch:
                return replace(known, verdict='touching', boxes=boxes)
        if fraction == 1.0 and margin > 0.0 and path.is_bounded:
            is_inside, boxes = prove_inside(*self._addresses(path), margin, self._most(path))
            if is_inside:
                known = replace(known, margin=0.0)
                if nearest > 0.0:
                    known = self._never(path, known)
                if known.verdict == 'never':
                    return known
                return replace(known, verdict='inside', boxes=boxes)
        if not is_named and farthest < 2.0 * margin:
            margin = 0.5 * farthest
            fraction = float((found <= margin).mean())
        return replace(known, verdict='sometimes', margin=margin, fraction=fraction)

    def _never(self, path: _Path, known: LinkPair) -> LinkPair:
        """Try to prove that a pair never comes nearer than its margin; return its verdict."""
        if not path.is_bounded:
            return known
        self._set_pieces(path.record, self.solid, known.first, known.second)
        verdict, boxes = prove(*self._addresses(path), known.margin, self._most(path))
        if verdict == NEVER:
            return replace(known, verdict='never', boxes=boxes)
        if verdict == NEAR:  # the prisms around cylinders are; the cylinders may not be
            x = path.record['x'].copy()
            self._set_pieces(path.record, self.own, known.first, known.second)
            distance = link_distance(*self._addresses(path), x, np.empty(len(x)))
            if distance <= known.margin:
                q = known.q.copy()
                q[path.variables] = x
                return replace(known, verdict='sometimes', nearest=distance, q=q, boxes=boxes)
        return replace(known, boxes=boxes)

    def _most(self, path: _Path) -> int:
        """The largest number of boxes of a proof."""
        if self.boxes is not None:
            return self.boxes
        if len(path.bodies) == 1:
            return BOXES_OF_ONE
        return BOXES_OF_FEW if len(path.bodies) <= FEW_JOINTS else BOXES_OF_MANY

    def _addresses(self, path: _Path) -> tuple[int, int, int]:
        return self.model.address, self.state.address, path.record.address

    def _set_pieces(
        self, record: Record, pieces: Mapping[str, Sequence[int]], first: str, second: str
    ) -> None:
        """Set the pieces of both links in a record PATH, and their hulls if there are several."""
        record['first'], record['second'] = pieces[first], pieces[second]
        is_one = len(pieces[first]) == len(pieces[second]) == 1
        record['hull'] = (-1, -1) if is_one else (self.hull[first], self.hull[second])

    def _path(self, first: str, second: str) -> _Path:
        """Make the record of the joints between two links."""
        robot = self.robot
        up, down = robot.paths_between(second, first)
        bodies = np.array([*up, *down])
        columns = robot.tree[bodies, 2]
        variables = np.unique(columns)
        lower, upper, is_bounded = _limits(robot, variables)
        record = PATH.make(
            {
                'joints': len(bodies),
                'variables': len(variables),
                'first_count': len(self.own[first]),
                'second_count': len(self.own[second]),
                'stack_rows': STACK_ROWS,
                'stack_columns': 2 * len(variables),
                'cuts': len(bodies) + 1,
            },
            WIDTH,
        )
        record['body'], record['up'] = bodies, [1] * len(up) + [0] * len(down)
        record['variable'] = np.searchsorted(variables, columns)
        record['lower'], record['upper'] = lower, upper
        return _Path(record, bodies, variables, is_bounded)


@dataclass(frozen=True, eq=False)
class _Path:
    """The joints between two links: record, bodies, indices into q; True if all have limits."""

    record: Record
    bodies: Array
    variables: Array
    is_bounded: bool


def limits_of_proofs(robot: Robot) -> tuple[Array, Array]:
    """Limits (n,) of all joints within which the verdicts hold.

    They are infinite for joints whose whole turn is covered, and for joints without limits, about
    which nothing is proved.
    """
    lower, upper, turns = robot.lower.copy(), robot.upper.copy(), robot.full_turns
    turns = turns & (upper - lower > 2.0 * math.pi)
    lower[turns], upper[turns] = -np.inf, np.inf
    return lower, upper


def _limits(robot: Robot, variables: Array) -> tuple[Array, Array, bool]:
    """Ranges of joints that cover all configurations of the links, and whether they do: joints
    without limits get a range for the search only."""
    lower, upper = robot.lower[variables].copy(), robot.upper[variables].copy()
    turns = robot.full_turns[variables] & (upper - lower > 2.0 * math.pi)
    start = np.where(np.isfinite(lower), lower, -math.pi)
    lower[turns], upper[turns] = start[turns], start[turns] + 2.0 * math.pi
    is_bounded = bool(np.isfinite(lower).all() and np.isfinite(upper).all())
    lower[np.isinf(lower)] = np.minimum(upper[np.isinf(lower)], SLIDE) - 2.0 * SLIDE
    upper[np.isinf(upper)] = lower[np.isinf(upper)] + 2.0 * SLIDE
    return lower, upper, is_bounded


def _prism(cylinder: BodyPiece) -> BodyPiece:
    """A prism of SIDES sides around a cylinder."""
    start, end = cylinder.corners
    axis = (end - start) / np.linalg.norm(end - start)
    across = np.linalg.svd(axis[np.newaxis])[2][1:]
    angles = 2.0 * math.pi * np.arange(SIDES) / SIDES
    radius = cylinder.radius / math.cos(math.pi / SIDES)
    ring = radius * np.column_stack([np.cos(angles), np.sin(angles)]) @ across
    made = hull_piece(np.vstack([start + ring, end + ring]))
    return made._replace(body=cylinder.body)


def _hull(pieces: Sequence[BodyPiece]) -> BodyPiece:
    """The hull of pieces of one body."""
    radius = max(piece.radius if piece.kind == POINTS else 0.0 for piece in pieces)
    made = hull_piece(np.vstack([piece.corners for piece in pieces]), radius)
    return made._replace(body=pieces[0].body)


def counts(pairs: Sequence[LinkPair]) -> Iterator[tuple[str, int]]:
    """Yield each verdict that occurs, and its number of pairs."""
    for verdict in VERDICTS:
        count = sum(pair.verdict == verdict for pair in pairs)
        if count:
            yield verdict, count
