# SPDX-License-Identifier: Apache-2.0
"""`Collisions`: collision checks, distances and their gradients for links and obstacles."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any, Literal, NamedTuple, get_args, overload

import numpy as np
from numpy.typing import NDArray

from ..display import counted, length
from ..exceptions import FrameNotFound, InvalidOption, UnsupportedProblem
from ..locks import Lock
from ..maths.argument_types import MatrixLike, SupportsArray, VectorLike
from ..maths.rotations import Array, IntArray, transform_of
from ..maths.transforms import for_kernels
from ..options import exact_number
from ..robot.robot import Robot, check_robot
from ..robot.urdf_shapes import Geometry
from .bounds import FAR
from .packing import (
    BodyPiece,
    Record,
    moved,
    on_body,
    pack,
    place_fixed,
    put_piece,
    with_pairs,
    workspace,
)
from .pairs import LinkPair, Margins, limits_of_proofs, link_pairs
from .piece import Piece, all_pieces
from .reaches import Approach, Approaches, approaches_of
from .records import CAPSULES, CYLINDER
from .rows import distances_at, free_rows, gradients_of_rows, is_any_outside
from .shapes import bound_of, piece_of_shape
from .world import Obstacle, World

CHECKED_PER_CALL = 4096  # configurations per call of a kernel, which Ctrl-C can't interrupt
# pairs of bodies in different groups; in the same group; in different groups, on given bodies
PairKind = Literal['moved', 'unmoved', 'settled']


@dataclass(frozen=True, eq=False)
class PairDistance:
    """The distance between two links of a robot, or between a link and an obstacle.

    first, second : their names
    distance : [m] between their surfaces; minus the depth if they penetrate each other
    points (2, 3) : [m] the nearest, or the deepest, points of both
    normal (3,) : unit vector from the first to the second; moving the second one along it
        increases the distance
    margin : [m] the pair is free if the distance is larger than this

    Points and normal are in the root link's frame.
    """

    first: str
    second: str
    distance: float
    points: Array
    normal: Array
    margin: float = 0.0

    def __repr__(self) -> str:
        how = 'apart' if self.distance > 0.0 else 'deep'
        return f'<{self.first!r} and {self.second!r}: {length(abs(self.distance))} {how}>'


class _Part(NamedTuple):
    """A named piece of a link or of an obstacle, with the kind of its lower bound."""

    name: str
    piece: BodyPiece
    bound: int
    link: str | None


class Collisions:
    """The pairs of a robot's links, and of obstacles of a world, that may come near each other.

        collisions = ik.Collisions(robot, world, margin=0.01)
        collisions.free(q)                  # True if all pairs are farther apart than the margin
        collisions.free(Q)                  # (N,) for configurations (N, n)
        collisions.distance(q)              # of the nearest pair
        collisions.distances(q, within=0.1) # of all pairs up to 0.1 m, the nearest first
        collisions.gradient(q)              # (n,) derivative of the nearest distance

    robot : its description needs collision geometry, see `pieces_of`
    world : obstacles; changes count from the next call on
    margin : [m] distance at which a pair is no longer free; or {('link', 'link'): m} by pairs of
        names, with 0.01 m for all others
    srdf : an SRDF, as a path or as text; the pairs that it disables are left out
    geometry, folders : as in `pieces_of`
    pieces : the robot's pieces, instead of those of its description
    boxes : effort of the proofs that pairs never meet: the most boxes of joint positions per pair
    pairs : the verdicts on pairs of links, instead of finding them

    `pairs` has the verdict on each pair of links, see `LinkPair`. Pairs are left out if they
    provably never come nearer than the margin inside the robot's limits, if they always touch, or
    if they are fingers, which may touch. If a joint is outside its limits, pairs that never meet
    inside them are checked, too. Pairs with no joint between them, such as obstacles and links
    that never move, are not checked.

    Threads may share it; calls then run one after the other. Raises UnsupportedProblem for a robot
    without collision geometry, InvalidOption, FrameNotFound for unknown links.
    """

    def __init__(
        self,
        robot: Robot,
        world: World | None = None,
        margin: float | Mapping[tuple[str, str], float] | Margins = 0.01,
        srdf: str | PathLike[str] | None = None,
        *,
        geometry: Geometry = 'collision',
        folders: Sequence[str | PathLike[str]] = (),
        pieces: Sequence[Piece] | None = None,
        boxes: int | None = None,
        pairs: Sequence[LinkPair] | None = None,
    ) -> None:
        check_robot(robot)
        if geometry not in get_args(Geometry):
            raise InvalidOption(f"geometry = {geometry!r}: 'collision' or 'visual' is needed")
        if world is not None and not isinstance(world, World):
            raise InvalidOption(f'world = {world!r}: an ik.World is needed')
        self.robot = robot
        self.world = World() if world is None else world
        self.pieces = tuple(all_pieces(robot, geometry, folders) if pieces is None else pieces)
        if not self.pieces:
            raise UnsupportedProblem(
                f'robot {robot.name!r} has no collision geometry: its links need <collision> '
                "elements, or geometry='visual' takes what is drawn"
            )
        self.margins = margin if isinstance(margin, Margins) else Margins(margin)
        self.margins.check(robot.link_names)
        self.warnings: tuple[str, ...]
        if pairs is None:
            pairs, self.warnings = link_pairs(robot, self.pieces, self.margins, srdf, boxes)
        else:
            self.warnings = ()
        self.pairs = tuple(pairs)
        self._lock = Lock()
        self._parts: dict[tuple[str, bytes, bool], tuple[Record, Record, Record]] = {}
        self._known_approaches: dict[Any, Approach] = {}
        self._approaches: dict[bool, tuple[IntArray, list[str], Approaches]] = {}
        self._prepared: dict[str, Collisions] = {}  # shared with those of `with_world`
        self._lower, self._upper = limits_of_proofs(robot)
        self._version = -1
        self._obstacles: tuple[Obstacle, ...] = ()
        self._allowed: frozenset[frozenset[str]] = frozenset()
        self._model: Record
        self._state: Record
        self._update()

    def __repr__(self) -> str:
        checked = sum(pair.is_checked for pair in self.pairs)
        return (
            f'<Collisions of {self.robot.name!r}: {checked} of {counted(len(self.pairs), "pair")} '
            f'of links may meet, {counted(len(self.world), "obstacle")}, '
            f'{len(self._model["pairs"]):,} pairs of pieces>'
        )

    def with_world(self, world: World) -> Collisions:
        """Return collisions of the same pieces, pairs and margins with a copy of another world.

        Raises InvalidOption and FrameNotFound if the world has names that do not fit the robot.
        """
        ready = self._prepared.pop('next', None)  # atomic: two threads never take the same one
        if ready is not None and ready.world.is_same(world):
            return ready
        if ready is not None:
            self._prepared.setdefault('next', ready)
        return self._with_world(world)

    def prepare(self, world: World) -> Collisions:
        """Do the slow part of `with_world` in advance, as another thread can for a tracker.

        The next `with_world` of a copy of this world is quick, also that of collisions which came
        from this one's `with_world`. Returns the collisions in that world, which must not change.
        Raises the errors of `with_world`.
        """
        ready = self._with_world(world)
        ready.prepare_motion()
        self._prepared['next'] = ready
        return ready

    def _with_world(self, world: World) -> Collisions:
        other = Collisions.__new__(Collisions)
        with self._lock:
            vars(other).update(vars(self), _lock=Lock(), _parts={}, world=world.copy())
            other._known_approaches = dict(self._known_approaches)
            other._approaches = dict(self._approaches)
        other._state = workspace(self.robot, self._model)
        other._version = other.world.version + 1  # it compares the obstacles with those of before
        other._update()
        return other

    # --- checks and distances --------------------------------------------------------------------

    @overload
    def free(self, q: Sequence[float], groups: IntArray | None = None) -> bool: ...

    @overload
    def free(
        self,
        q: Sequence[Sequence[float]] | Sequence[SupportsArray],
        groups: IntArray | None = None,
    ) -> NDArray[np.bool_]: ...

    @overload
    def free(self, q: SupportsArray, groups: IntArray | None = None) -> Any: ...

    def free(self, q: VectorLike | MatrixLike, groups: IntArray | None = None) -> Any:
        """Return whether all pairs are farther apart than their margins.

        q : (n,) for a bool, or (N, n) for an array (N,) of bools
        groups (1 + bodies,) : ignore pairs of bodies of the same group, see `groups` of a problem

        Raises InvalidConfiguration.
        """
        single = np.ndim(q) != 2
        rows = for_kernels(self.robot.checked_rows(q, 1 if single else len(q)))  # type: ignore[arg-type]
        outside = self.are_outside(rows).any(axis=1)
        free = self._are_free(rows, groups, False)
        if outside.any():
            free[outside] = self._are_free(rows[outside], groups, True)
        return bool(free[0]) if single else free

    def _are_free(
        self, rows: Array, groups: IntArray | None, is_outside: bool, kind: PairKind = 'moved'
    ) -> NDArray[np.bool_]:
        free = np.empty(len(rows), bool)
        with self._lock:
            addresses = _addresses(self._records(kind, groups, is_outside))
            for first in range(0, len(rows), CHECKED_PER_CALL):
                last = first + CHECKED_PER_CALL
                free_rows(*addresses, rows[first:last], free[first:last])
        return free

    def are_outside(self, rows: Array) -> NDArray[np.bool_]:
        """Mask (N, n) of joints outside the limits within which the verdicts are proved."""
        outside: NDArray[np.bool_] = (rows < self._lower) | (rows > self._upper)
        return outside

    def is_outside(self, rows: Array) -> bool:
        """Return whether any joint is, in rows (N, n) in C order: the quick way for one tick."""
        return bool(is_any_outside(rows, self._lower, self._upper))

    def distance(self, q: VectorLike) -> PairDistance:
        """Return the distance of the nearest pair at q (n,).

        Raises InvalidConfiguration, UnsupportedProblem if no pair may meet.
        """
        with self._lock:
            found = self._distances(q, FAR, only_nearest=True)
        if not found:
            raise UnsupportedProblem(f'robot {self.robot.name!r} has no pair that may meet')
        return found[0]

    def distances(
        self, q: VectorLike, within: float = 0.1, groups: IntArray | None = None
    ) -> list[PairDistance]:
        """Return the distances up to `within` [m] of all pairs at q (n,), the nearest first.

        groups : as in `free`

        Raises InvalidConfiguration, InvalidOption.
        """
        limit = exact_number(within, float)
        if limit is None or not limit >= 0.0:
            raise InvalidOption(f'within = {within!r}: a length [m] of at least 0 is needed')
        with self._lock:
            found = self._distances(q, min(limit, FAR), 'moved', groups)
        return sorted(found, key=lambda pair: pair.distance)

    def gradient(self, q: VectorLike | MatrixLike) -> Array:
        """Return the derivative of `distance` with respect to q.

        q : (n,) for a gradient (n,), or (N, n) for (N, n) [m per rad or m]

        If two pairs are equally near, it is the gradient of one of them; if a face slides along
        another one, that of one pair of their points. Raises InvalidConfiguration.
        """
        single = np.ndim(q) != 2
        rows = for_kernels(self.robot.checked_rows(q, 1 if single else len(q)))  # type: ignore[arg-type]
        distances, gradients = np.empty(len(rows)), np.empty(rows.shape)
        outside = self.are_outside(rows).any(axis=1)
        with self._lock:
            addresses = _addresses(self._records('moved', None, bool(outside.any())))
            gradients_of_rows(*addresses, rows, distances, gradients)
        return gradients[0] if single else gradients

    def _distances(
        self,
        q: VectorLike,
        within: float,
        kind: PairKind = 'moved',
        groups: IntArray | None = None,
        *,
        only_nearest: bool = False,
    ) -> list[PairDistance]:
        row = self.robot.checked(q)
        is_outside = bool(self.are_outside(row).any())
        model, state = self._records(kind, groups, is_outside)
        names = self._names
        count = distances_at(*_addresses((model, state)), row, within, only_nearest)
        which = state['found'][:count]
        pairs, margins = model['pairs'][which, :2].tolist(), model['margin'][which].tolist()
        rows = state['distances'][:count].copy()
        points, normals = rows[:, 1:7].reshape(-1, 2, 3), rows[:, 7:]
        return [
            PairDistance(names[i], names[j], distance, both, normal, margin)
            for (i, j), distance, both, normal, margin in zip(
                pairs, rows[:, 0].tolist(), points, normals, margins, strict=True
            )
        ]

    def colliding(self, q: VectorLike, groups: IntArray | None = None) -> list[PairDistance]:
        """Return the pairs at q (n,) that are not farther apart than their margins, the deepest
        first; an empty list if q is free. Raises InvalidConfiguration.

        groups : as in `free`
        """
        pairs = self.distances(q, self.reach, groups)
        return [pair for pair in pairs if pair.distance <= pair.margin]

    def unmoved(self, rows: Array, groups: IntArray) -> tuple[list[PairDistance], int]:
        """Return the collisions within groups of bodies in the first of rows (N, n) that has any,
        and its index.

        These are the pairs of bodies of the same group that are not farther apart than their
        margins, the deepest first; ([], N) if there are none.
        """
        is_outside = bool(self.are_outside(rows).any())
        with self._lock:
            if not len(self._records('unmoved', groups, is_outside)[0]['pairs']):
                return [], len(rows)
            free = self._are_free(rows, groups, is_outside, 'unmoved')
            if free.all():
                return [], len(rows)
            k = int(np.argmin(free))
            pairs = self._distances(rows[k], self.reach, 'unmoved', groups)
        pairs = [pair for pair in pairs if pair.distance <= pair.margin]
        return sorted(pairs, key=lambda pair: pair.distance), k

    @property
    def reach(self) -> float:
        """The largest margin of a pair [m]."""
        with self._lock:
            self._update()
            margins = self._model['margin'], self._proved_margins
            return float(max(margin.max(initial=0.0) for margin in margins))

    # --- records ---------------------------------------------------------------------------------

    @property
    def model(self) -> Record:
        """The record for kernels; a new one after each change of the world."""
        with self._lock:
            self._update()
            return self._model

    @property
    def piece_names(self) -> list[str]:
        """The name of the link or the obstacle of each piece of `model`."""
        with self._lock:
            self._update()
            return list(self._names)

    def moved_model(self, groups: IntArray, is_outside: bool) -> Record:
        """Return the record for kernels that check only pairs of bodies in different groups.

        groups (1 + bodies,) : group of each body, the root link first
        is_outside : True if a joint is outside its limits: then pairs that provably never meet
            inside the limits are checked, too
        """
        with self._lock:
            return self._records('moved', groups, is_outside)[0]

    def settled_model(
        self, groups: IntArray, bodies: NDArray[np.bool_], is_outside: bool
    ) -> Record | None:
        """Return the record with the pairs of `moved_model` between two marked bodies.

        bodies (1 + bodies,) : marks bodies, the root link first

        Returns None if there are no such pairs.
        """
        with self._lock:
            model = self._records('settled', np.where(bodies, groups, -1), is_outside)[0]
            return model if len(model['pairs']) else None

    def _records(
        self, kind: PairKind, groups: IntArray | None, is_outside: bool
    ) -> tuple[Record, Record]:
        """Return the record with the pairs of a kind (`groups` None: all), and its workspace."""
        self._update()
        base = self._model
        if groups is None and not is_outside:
            return base, self._state
        key = kind, b'' if groups is None else groups.tobytes(), is_outside
        known = self._parts.get(key)
        if known is None or known[0] is not base:
            pairs, margins = base['pairs'], base['margin']
            if is_outside:
                pairs = np.concatenate([pairs, self._proved])
                margins = np.concatenate([margins, self._proved_margins])
            which = np.ones(len(pairs), bool)
            if groups is not None:
                first, second = groups[base['body'][pairs[:, :2]]].T
                which = first == second if kind == 'unmoved' else first != second
                if kind == 'settled':
                    which &= (first >= 0) & (second >= 0)
            is_base = not is_outside and which.all()
            model = base if is_base else with_pairs(base, pairs[which], margins[which])
            known = base, model, workspace(self.robot, model)
            self._parts[key] = known
        return known[1:]

    def approaches(self, is_outside: bool) -> tuple[Record, Approaches]:
        """The record with all pairs, and how fast the joints move the pieces of each pair.

        is_outside : as in `moved_model`
        """
        every = np.arange(1 + len(self.robot.tree))
        with self._lock:
            model = self._records('moved', every, is_outside)[0]
            known = self._approaches.get(is_outside)
            # An obstacle that only moved changes nothing: it has no joints.
            if known is None or not _has_pairs(known[0], known[1], model, self._names):
                found = approaches_of(self.robot, model, self._known_approaches)
                known = model['pairs'], self._names, found
                self._approaches[is_outside] = known
            return model, known[2]

    def prepare_motion(self) -> None:
        """Compute the approaches that a motion needs, which is slow, and kept for copies."""
        for is_outside in (False, True):
            self.approaches(is_outside)

    def reach_of(self, link: str, bodies: NDArray[np.bool_]) -> float:
        """The largest distance [m] of pieces on marked bodies from the origin of a link.

        It is computed in the middle of the robot's range. `bodies` (1 + bodies,) marks them;
        pieces that never move do not count.
        """
        model, frames = self.model, self.robot.frames(self.robot.middle_configuration)
        origin, farthest = self.robot.link_transform(frames, link)[:3, 3], 0.0
        for body, sphere in zip(model['body'].tolist(), model['sphere'], strict=True):
            if body > 0 and bodies[body]:
                frame = transform_of(frames[body - 1])
                away = float(np.linalg.norm(frame[:3, :3] @ sphere[:3] + frame[:3, 3] - origin))
                farthest = max(farthest, away + float(sphere[3]))
        return farthest

    @property
    def largest_radius(self) -> float:
        """The radius of the thickest cylinder [m]; 0 without cylinders."""
        model = self.model
        return float(model['radius'][model['kind'] == CYLINDER].max(initial=0.0))

    def body_of(self, name: str) -> int:
        """The body that carries a link or an obstacle; -1 for the root link and the world."""
        link = self.world[name].link if name in self.world else name
        return -1 if link is None else self.robot.placement(link).body

    def workspace_of(self, model: Record) -> Record:
        """Make a workspace for kernels that check with a `model`; each thread needs its own."""
        return workspace(self.robot, model)

    def __getstate__(self) -> dict[str, Any]:
        """The state without the lock and the records, which `__setstate__` makes again."""
        own = {**vars(self), '_version': -1, '_obstacles': (), '_parts': {}, '_prepared': {}}
        for name in ('_lock', '_model', '_state'):
            del own[name]
        return own

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state, _lock=Lock())
        self._update()

    def digest(self) -> str:
        """Return a hash of the robot, its pieces, the pairs, their margins and the obstacles."""
        model, digest = self.model, hashlib.blake2b(digest_size=16)
        for name in model.layout.fields:
            digest.update(model[name].tobytes() + b';')
        digest.update(self._proved.tobytes() + b';' + self._proved_margins.tobytes())
        return digest.hexdigest()

    def _update(self) -> None:
        """Apply the changes of the world since the last call."""
        if self._version == self.world.version:
            return
        version, obstacles = self.world.version, tuple(self.world)
        allowed = self.world.allowed
        is_made = self._version >= 0 and allowed == self._allowed
        if is_made and _only_moved(self._obstacles, obstacles):
            self._model = self._model.copy()  # running searches keep the old one
            for old, new in zip(self._obstacles, obstacles, strict=True):
                if new.pose is not old.pose:
                    put_piece(self._model, self._names.index(new.name), self._placed(new))
            place_fixed(self._model, self._state)
        else:
            self._build(obstacles, allowed)
        self._obstacles, self._allowed, self._version = obstacles, allowed, version

    def _build(self, obstacles: Sequence[Obstacle], allowed: frozenset[frozenset[str]]) -> None:
        """Make the records for the obstacles and the allowed pairs of names."""
        robot = self.robot
        parts = [
            _Part(piece.link, on_body(robot, piece), CAPSULES, piece.link) for piece in self.pieces
        ]
        for each in obstacles:
            if each.name in robot.link_names:
                raise InvalidOption(
                    f'obstacle {each.name!r} has the name of a link: give it another'
                )
            for link in each.touching:
                robot.placement(link)
            piece = self._placed(each)
            bound = bound_of(each.shape) if piece.body < 0 else CAPSULES  # carried: it moves
            parts.append(_Part(each.name, piece, bound, each.link))
        parts.sort(key=lambda part: part.piece.body < 0)  # moving pieces first
        touching = {each.name: {each.link, *each.touching} for each in obstacles}
        links = {(pair.first, pair.second): pair for pair in self.pairs}
        rows: list[tuple[int, int, int, int]] = []
        margins: list[float] = []
        order: list[float] = []
        proved: list[tuple[int, int, int, int]] = []
        proved_margins: list[float] = []
        groups: dict[tuple[str, str], int] = {}
        moving = sum(part.piece.body >= 0 for part in parts)
        for j, second in enumerate(parts):
            for i, first in enumerate(parts[: min(j, moving)]):  # two fixed pieces never meet
                names = first.name, second.name
                if first.piece.body == second.piece.body or frozenset(names) in allowed:
                    continue
                if first.name in touching or second.name in touching:
                    if _may_touch(first, second, touching):
                        continue
                    margin, fraction = self.margins.of(*names), 0.0
                else:
                    pair = links.get(names) or links[names[::-1]]
                    margin, fraction = pair.margin, pair.fraction
                    if pair.verdict == 'never':
                        group = groups.setdefault(min(names, names[::-1]), len(groups))
                        proved.append((i, j, second.bound, group))
                        proved_margins.append(margin)
                    if not pair.is_checked:
                        continue
                group = groups.setdefault(min(names, names[::-1]), len(groups))
                rows.append((i, j, second.bound, group))
                margins.append(margin)
                order.append(-fraction)
        by_fraction = np.argsort(order, kind='stable')  # pairs that are often near decide soonest
        pairs = np.array(rows, np.int64).reshape(-1, 4)[by_fraction]
        self._proved = np.array(proved, np.int64).reshape(-1, 4)
        self._proved_margins = np.array(proved_margins)
        self._names = [part.name for part in parts]
        self._model = pack(
            robot, [part.piece for part in parts], pairs, np.array(margins)[by_fraction]
        )
        self._state = workspace(robot, self._model)

    def _placed(self, obstacle: Obstacle) -> BodyPiece:
        """Convert an obstacle to a piece in the frame of its body. Raises FrameNotFound."""
        piece = moved(piece_of_shape(obstacle.shape), obstacle.pose)
        if obstacle.link is None:
            return piece
        try:
            place = self.robot.placement(obstacle.link)
        except FrameNotFound as error:
            raise FrameNotFound(f'obstacle {obstacle.name!r}: {error}') from None
        return moved(piece, place.transform)._replace(body=place.body)


def _addresses(records: tuple[Record, Record]) -> tuple[int, int]:
    return records[0].address, records[1].address


def _has_pairs(pairs: IntArray, names: list[str], model: Record, model_names: list[str]) -> bool:
    """Return whether a record has these pairs, of pieces with these names."""
    return names == model_names and np.array_equal(pairs, model['pairs'])


def _only_moved(before: Sequence[Obstacle], after: Sequence[Obstacle]) -> bool:
    """Return whether two lists have the same obstacles, apart from their poses."""
    return len(before) == len(after) and all(
        one.shape is other.shape and one._replace(pose=other.pose) == other
        for one, other in zip(before, after, strict=True)
    )


def _may_touch(first: _Part, second: _Part, touching: Mapping[str, set[str | None]]) -> bool:
    """Return whether one of two parts is a carried obstacle that may touch the other."""
    return any(
        one.link is not None and one.name in touching and other.name in touching[one.name]
        for one, other in ((first, second), (second, first))
    )


__all__ = ['Collisions', 'LinkPair', 'PairDistance']
