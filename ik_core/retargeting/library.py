"""A library of motions: examples in a folder, and the one that goes as some goals do."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import ArrayLike

from ..exceptions import IkError, InvalidMotion, InvalidOption
from ..maths.rotations import Array
from ..robot.motion import Motion
from ..robot.robot import Robot
from .example import link_paths
from .library_file import FILE, Entry, read_entries
from .paths import checked_path, has_shape, path_distance
from .retarget import Retargeted, retarget
from .sources import load_clip


@dataclass(frozen=True, eq=False)
class LibraryMotion:
    """A motion of a library, with what `retarget` takes: see there.

    `links` and `joints` name the source's (key) and the robot's (value); joints is None where
    those of the same name imitate each other. `scale`, then `transform` (4, 4), take the paths
    of the source's links into the robot's root link's frame.
    """

    name: str
    motion: Motion
    source: Robot
    links: dict[str, str]
    joints: dict[str, str] | None
    scale: float
    transform: Array

    def retarget(self, robot: Robot, **options: Any) -> Retargeted:
        """`retarget` with this example; options go before what the library says."""
        given: dict[str, Any] = {
            'links': self.links,
            'source': self.source,
            'joints': self.joints,
            'scale': self.scale,
            'transform': self.transform,
        }
        return retarget(self.motion, robot, **(given | options))

    def path(self, link: str) -> Array:
        """The path (frames, 3) [m] that a link of the robot shall follow, in the robot's root
        link's frame. Raises InvalidOption where no link of the source leads it."""
        leading = [source for source, own in self.links.items() if own == link]
        if not leading:
            known = ', '.join(self.links.values())
            raise InvalidOption(
                f'motion {self.name!r} has no path for link {link!r}; it has paths for {known}'
            )
        path = link_paths(self.source, self.motion.positions_of(self.source), leading)[:, 0]
        return self.scale * path @ self.transform[:3, :3].T + self.transform[:3, 3]


@dataclass(frozen=True)
class Nearest:
    """The motion of a library whose path is nearest to some goals.

    `distance` [m] to it. `distances` [m]: of every motion that leads the link, nearest first.
    """

    name: str
    distance: float
    distances: dict[str, float]


class MotionLibrary:
    """The motions of a folder, which its file `library.json` describes.

    See docs/example_guided.md for that file. `names`: of the motions, in its order. Motions are
    read when they are first needed, and kept.

    Raises InvalidMotion where the description is broken or names a file that is not there.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)
        self._entries = read_entries(self.folder)
        self._loaded: dict[str, LibraryMotion] = {}
        self._paths: dict[tuple[str, str], Array] = {}

    def __repr__(self) -> str:
        return f'<MotionLibrary {str(self.folder)!r}: {", ".join(self.names)}>'

    @property
    def names(self) -> tuple[str, ...]:
        """The motions' names."""
        return tuple(self._entries)

    def load(self, name: str) -> LibraryMotion:
        """A motion and its maps.

        Raises InvalidOption for a name that is not in the library; InvalidMotion where the file
        can't be read or its robot lacks a link or joint that the maps name.
        """
        if name not in self._entries:
            raise InvalidOption(f'no motion {name!r}; the library has {", ".join(self.names)}')
        if name not in self._loaded:
            try:
                self._loaded[name] = _load(name, self._entries[name])
            except (IkError, OSError) as error:
                where = f'{self.folder / FILE}, motion {name!r}'
                raise InvalidMotion(f'{where}: {error}') from None
        return self._loaded[name]

    def nearest(self, path: ArrayLike, link: str, *, by_shape: bool = False) -> Nearest:
        """The motion in which `link` goes most nearly where the goals are.

        path : (k, 3) [m] the goals' positions in their order, at least two, in the robot's root
            link's frame
        link : of the robot that is to imitate; motions that lead no such link are left out
        by_shape : compare each motion's path after it was scaled to the length of the goals'
            path and moved to its start, so that place and size don't count. Directions do

        The distance is the root mean square of those between 100 points of either path, evenly
        spaced by arc length, so speeds don't count. Of equal ones the first in the file is taken.

        Raises InvalidMotion for a path that is broken, or has no shape where that is asked for;
        InvalidOption for a link that no motion leads; what `load` raises.
        """
        points = checked_path(path)
        if by_shape and not has_shape(points):
            raise InvalidMotion('the path does not move: it has no shape to compare')
        found = {
            name: path_distance(points, self._path(name, link), by_shape=by_shape)
            for name in self._leading(link)
        }
        distances = dict(sorted(found.items(), key=lambda item: item[1]))
        name, distance = next(iter(distances.items()))
        return Nearest(name, distance, distances)

    def _leading(self, link: str) -> list[str]:
        """The names of the motions that lead a link of the robot."""
        names = [name for name, entry in self._entries.items() if link in entry.links.values()]
        if not names:
            links = {link for entry in self._entries.values() for link in entry.links.values()}
            known = ', '.join(sorted(links))
            raise InvalidOption(
                f'no motion has a path for link {link!r}; the library has paths for {known}'
            )
        return names

    def _path(self, name: str, link: str) -> Array:
        if (name, link) not in self._paths:
            path = self.load(name).path(link)
            try:
                self._paths[name, link] = checked_path(path, least=1)
            except InvalidMotion as error:
                raise InvalidMotion(f'motion {name!r}, link {link!r}: {error}') from None
        return self._paths[name, link]


def _load(name: str, entry: Entry) -> LibraryMotion:
    source, motion = load_clip(
        entry.file, skeleton=entry.skeleton, rate=entry.rate, robot=entry.robot
    )
    motion.positions_of(source)  # raises where the file lacks a joint
    for link in entry.links:
        source.place(link)
    for joint in entry.joints or ():
        source.joint_index(joint)
    return LibraryMotion(
        name, motion, source, entry.links, entry.joints, entry.scale, entry.transform
    )
