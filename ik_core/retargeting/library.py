# SPDX-License-Identifier: Apache-2.0
"""A library of motions: a folder of examples, and the one whose path is most like given goals."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..exceptions import IkError, InvalidConfiguration, InvalidMotion, InvalidOption
from ..maths.argument_types import MatrixLike
from ..maths.rotations import Array
from ..robot.motion import Motion
from ..robot.robot import Robot
from .example import link_paths
from .library_file import FILE, Entry, read_entries
from .motion_transfer import RetargetResult, retarget
from .path_distance import checked_path, has_shape, path_distance
from .sources import load_clip


@dataclass(frozen=True, eq=False)
class LibraryMotion:
    """A motion of a library, with its arguments for `retarget`.

    `links` and `joints` map names of the source (key) to names of the robot (value); if joints is
    None, joints of the same name correspond. `scale`, then `transform` (4, 4), convert paths of
    the source's links to the frame of the robot's root link.
    """

    name: str
    motion: Motion
    source: Robot
    links: dict[str, str]
    joints: dict[str, str] | None
    scale: float
    transform: Array

    def retarget(self, robot: Robot, **options: Any) -> RetargetResult:
        """Call `retarget` with this example; `options` override those of the library."""
        given: dict[str, Any] = {
            'links': self.links,
            'source': self.source,
            'joints': self.joints,
            'scale': self.scale,
            'transform': self.transform,
        }
        return retarget(self.motion, robot, **(given | options))

    def path(self, link: str) -> Array:
        """The path (frames, 3) [m] for a link of the robot, in the robot's root link's frame.

        Raises InvalidOption if the motion has no path for the link.
        """
        leading = [source for source, own in self.links.items() if own == link]
        if not leading:
            known = ', '.join(self.links.values())
            raise InvalidOption(
                f'motion {self.name!r} has no path for link {link!r}; it has paths for {known}'
            )
        path = link_paths(self.source, self.motion.positions_of(self.source), leading)[:, 0]
        return self.scale * path @ self.transform[:3, :3].T + self.transform[:3, 3]


@dataclass(frozen=True)
class NearestMotion:
    """The motion of a library whose path is nearest to given goals.

    `distance` [m] of its path. `distances` [m]: those of all motions with a path for the link,
    nearest first.
    """

    name: str
    distance: float
    distances: dict[str, float]


class MotionLibrary:
    """The motions of a folder, described by its file `library.json`.

    docs/example_guided.md has the format of that file. `names`: the motions, in its order. A
    motion is read when it is first needed, and kept.

    Raises InvalidMotion if the file is invalid or names a missing file.
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
        """Names of the motions."""
        return tuple(self._entries)

    def load(self, name: str) -> LibraryMotion:
        """Load a motion with its maps of links and joints.

        Raises InvalidOption for an unknown name; InvalidMotion if the file can't be read or its
        robot lacks a link or joint of the maps.
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

    def nearest(self, path: MatrixLike, link: str, *, by_shape: bool = False) -> NearestMotion:
        """Find the motion in which the path of `link` is nearest to the goals.

        path : (k, 3) [m] positions of the goals, in order, at least two, in the robot's root
            link's frame
        link : a link of the imitating robot; motions without a path for it are left out
        by_shape : True first scales each motion's path to the length of the goals' path and moves
            it to its start, so that position and size do not count; directions do

        The distance is the root mean square of the distances between 100 points of either path,
        evenly spaced by arc length, so speeds do not count. Of equal distances the first motion in
        the file is returned.

        Raises InvalidMotion for an invalid path, or one without a shape if `by_shape`;
        InvalidOption for a link without any path; and the errors of `load`.
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
        return NearestMotion(name, distance, distances)

    def _leading(self, link: str) -> list[str]:
        """The names of the motions with a path for a link of the robot. Raises InvalidOption."""
        names = [name for name, entry in self._entries.items() if link in entry.links.values()]
        if not names:
            links = {link for entry in self._entries.values() for link in entry.links.values()}
            known = ', '.join(sorted(links))
            raise InvalidOption(
                f'no motion has a path for link {link!r}; the library has paths for {known}'
            )
        return names

    def _path(self, name: str, link: str) -> Array:
        """The path (frames, 3) [m] of a motion for a link. Raises InvalidMotion."""
        if (name, link) not in self._paths:
            motion = self.load(name)
            try:
                self._paths[name, link] = checked_path(motion.path(link), least=1)
            except (InvalidConfiguration, InvalidMotion) as error:
                raise InvalidMotion(f'motion {name!r}, link {link!r}: {error}') from None
        return self._paths[name, link]


def _load(name: str, entry: Entry) -> LibraryMotion:
    """Load a motion. Raises an error if its robot lacks a link or a joint of the maps."""
    source, motion = load_clip(
        entry.file, skeleton=entry.skeleton, rate=entry.rate, robot=entry.robot
    )
    motion.positions_of(source)  # raises if the file lacks a joint
    for link in entry.links:
        source.placement(link)
    for joint in entry.joints or ():
        source.joint_index(joint)
    return LibraryMotion(
        name, motion, source, entry.links, entry.joints, entry.scale, entry.transform
    )
