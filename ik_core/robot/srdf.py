# SPDX-License-Identifier: Apache-2.0
"""Read the pairs of links that an SRDF disables, safely for untrusted text.

Format: http://wiki.ros.org/srdf and MoveIt's `disable_default_collisions`, `enable_collisions`.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from xml.parsers import expat

from ..exceptions import UrdfError
from ..robot.robot import Robot

MAX_BYTES = 10_000_000  # SRDFs of humanoids have 100 kB


@dataclass(eq=False)
class Disabled:
    """The pairs that an SRDF disables.

    pairs : disabled pairs, with their reasons
    links : links whose pairs are all disabled, except those that are `enabled`
    enabled : pairs of these links that are enabled again
    warnings : links that the robot lacks
    """

    pairs: dict[frozenset[str], str] = field(default_factory=dict)
    links: set[str] = field(default_factory=set)
    enabled: set[frozenset[str]] = field(default_factory=set)
    warnings: list[str] = field(default_factory=list)

    def names(self, first: str, second: str) -> bool:
        """Return whether a pair is disabled."""
        pair = frozenset((first, second))
        if pair in self.pairs:
            return True
        return bool(pair & self.links) and pair not in self.enabled

    def reason(self, first: str, second: str) -> str:
        """Return the reason that the SRDF gives for a disabled pair."""
        return self.pairs.get(frozenset((first, second)), 'disabled by default')


def disabled_pairs(source: str | PathLike[str], robot: Robot) -> Disabled:
    """Read the pairs that an SRDF disables.

    source : the path of a file, or text that begins with '<'

    Links that the robot does not have are warned of. Raises UrdfError.
    """
    text, name = _read(source)
    found = Disabled()
    outermost: list[str] = []
    unknown: dict[str, None] = {}

    def start(tag: str, attributes: dict[str, str]) -> None:
        if not outermost:
            outermost.append(tag)
            if tag != 'robot':
                raise UrdfError(f'the outermost element is <{tag[:40]}>; an SRDF has <robot>')
        if tag in ('disable_collisions', 'enable_collisions'):
            pair = _links(tag, attributes, 'link1', 'link2')
            if tag == 'disable_collisions':
                found.pairs[frozenset(pair)] = attributes.get('reason', '')
            else:
                found.enabled.add(frozenset(pair))
        elif tag == 'disable_default_collisions':
            pair = _links(tag, attributes, 'link')
            found.links.update(pair)
        else:
            return
        unknown.update(dict.fromkeys(link for link in pair if link not in robot.places))

    def doctype(*_: object) -> None:
        raise UrdfError('a DOCTYPE is not allowed in an SRDF: remove it')

    xml = expat.ParserCreate()
    xml.StartElementHandler, xml.StartDoctypeDeclHandler = start, doctype
    try:
        xml.Parse(text, True)
    except UrdfError as error:
        raise UrdfError(f'{name}{error}') from None
    except expat.ExpatError as error:
        reason = expat.ErrorString(error.code)
        raise UrdfError(f'{name}not well-formed XML, line {error.lineno}: {reason}') from None
    except (LookupError, ValueError) as error:
        raise UrdfError(f"{name}the SRDF can't be decoded: {error}") from None
    if unknown:
        links = ', '.join(map(repr, list(unknown)[:5])) + (', ...' if len(unknown) > 5 else '')
        found.warnings.append(f'the SRDF names links that {robot.name!r} does not have: {links}')
    return found


def _links(tag: str, attributes: dict[str, str], *names: str) -> list[str]:
    for name in names:
        if not attributes.get(name):
            raise UrdfError(f'<{tag}> has no attribute {name}: it names a link')
    return [attributes[name] for name in names]


def _read(source: str | PathLike[str]) -> tuple[str | bytes, str]:
    """The text or bytes of an SRDF, and the prefix of errors. Raises UrdfError."""
    if isinstance(source, str) and source.lstrip()[:1] == '<':
        text: str | bytes = source.lstrip()
        name = ''
    elif isinstance(source, (str, PathLike)):
        name = f'{source}: '
        try:
            with Path(source).open('rb') as file:
                text = file.read(MAX_BYTES + 1)
        except (OSError, ValueError) as error:
            reason = getattr(error, 'strerror', None) or error
            raise UrdfError(
                f"can't read the SRDF {str(source)!r}: {reason}; give the path of a file, or XML "
                "that begins with '<'"
            ) from None
    else:
        raise UrdfError(f'an SRDF is XML text or the path of a file, not {source!r}')
    if len(text) > MAX_BYTES:
        raise UrdfError(f'{name}the SRDF is larger than {MAX_BYTES / 1e6:.0f} MB')
    return text, name
