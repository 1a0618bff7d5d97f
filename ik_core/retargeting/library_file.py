# SPDX-License-Identifier: Apache-2.0
"""Read `library.json`, which describes a folder of motions (docs/example_guided.md)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..exceptions import InvalidMotion
from ..maths.rotations import Array, matrix_from_rpy
from ..options import exact_number
from ..robot.motion_files import SUFFIXES
from .sources import CAPTURED

FILE = 'library.json'
MAX_BYTES = 10_000_000  # larger files are not written by a person


@dataclass(frozen=True, eq=False)
class Entry:
    """One motion as the file describes it, with complete paths.

    `transform` (4, 4) is made of `xyz` [m] and `rpy` [rad]. `rate` [Hz]. If `joints` is None,
    joints of the same name correspond.
    """

    file: Path
    links: dict[str, str]
    joints: dict[str, str] | None
    robot: str | None
    skeleton: Path | None
    rate: float | None
    scale: float
    transform: Array


def read_entries(folder: Path) -> dict[str, Entry]:
    """Read the motions of a folder, by name. Raises InvalidMotion with file, motion and reason."""
    path = folder / FILE
    described = _read(path)
    if not isinstance(described, dict) or not described:
        raise InvalidMotion(f'{path}: an object is needed with at least one motion by its name')
    entries = {}
    for name, description in described.items():
        try:
            entries[name] = _entry(folder, description)
        except _EntryError as error:
            raise InvalidMotion(f'{path}, motion {name!r}: {error}') from None
    return entries


class _EntryError(Exception):
    """An error in the description of one motion."""


def _read(path: Path) -> Any:
    try:
        if path.stat().st_size > MAX_BYTES:
            raise InvalidMotion(f'{path} is larger than {MAX_BYTES / 1e6:.0f} MB')
        return json.loads(
            path.read_text(encoding='utf-8-sig'), object_pairs_hook=_without_duplicates
        )
    except OSError as error:
        raise InvalidMotion(f"can't read {str(path)!r}: {error.strerror or error}") from None
    except (ValueError, RecursionError, _EntryError) as error:
        if isinstance(error, InvalidMotion):
            raise
        raise InvalidMotion(f'{path} is not a description of motions: {error}') from None


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make a dict of an object; raises for equal names, of which JSON would keep the last."""
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise _EntryError(f'{twice[0]!r} is given twice in one object')
    return dict(pairs)


def _entry(folder: Path, description: Any) -> Entry:
    if not isinstance(description, dict):
        raise _EntryError('an object with its file and links is needed')
    file = _file(folder, description.get('file'), 'file')
    _check_keys(description, file)
    given: Mapping[str, Any] = {key: value for key, value in description.items() if key != 'file'}

    def read(key: str, reader: Callable[[Any, str], Any], default: Any = None) -> Any:
        return reader(given[key], key) if key in given else default

    transform = np.eye(4)
    transform[:3, :3] = matrix_from_rpy(read('rpy', _three, (0.0, 0.0, 0.0)))
    transform[:3, 3] = read('xyz', _three, 0.0)
    return Entry(
        file=file,
        links=read('links', _links),
        joints=read('joints', _names),
        robot=read('robot', lambda value, key: _robot(folder, value, key)),
        skeleton=read('skeleton', lambda value, key: _file(folder, value, key)),
        rate=read('rate', _positive),
        scale=read('scale', _positive, 1.0),
        transform=transform,
    )


def _check_keys(description: Mapping[str, Any], file: Path) -> None:
    """Raise an error for missing or unknown keys; which those are depends on the suffix."""
    suffix = file.suffix.lower()
    if suffix not in (*CAPTURED, *SUFFIXES):
        raise _EntryError(f"'file': the suffix is one of {', '.join((*CAPTURED, *SUFFIXES))}")
    needed = {'file', 'links'} | (set() if suffix in CAPTURED else {'robot'})
    of_kind = (
        {'rate', *({'skeleton'} if suffix == '.amc' else ())} if suffix in CAPTURED else set()
    )
    known = needed | of_kind | {'joints', 'scale', 'xyz', 'rpy'}
    missing, unknown = sorted(needed - set(description)), sorted(set(description) - known)
    if missing:
        raise _EntryError(f'{missing[0]!r} is missing')
    if unknown:
        raise _EntryError(
            f'{unknown[0]!r} is not a key of a {suffix} file; the keys are '
            f'{", ".join(sorted(known))}'
        )


def _file(folder: Path, value: Any, key: str) -> Path:
    path = folder / _text(value, key)
    if not path.is_file():
        raise _EntryError(f'{key!r}: there is no file {str(path)!r}')
    return path


def _robot(folder: Path, value: Any, key: str) -> str:
    """The path of a file in the folder, or the name of a robot, which has no suffix."""
    name = _text(value, key)
    return str(_file(folder, name, key)) if Path(name).suffix else name


def _text(value: Any, key: str) -> str:
    if not isinstance(value, str) or not value or '\0' in value:
        raise _EntryError(f'{key!r}: a name is needed, not {value!r}')
    return value


def _names(value: Any, key: str) -> dict[str, str]:
    """Names of the source (keys) and of the robot (values), each once."""
    if not isinstance(value, dict) or not all(isinstance(own, str) for own in value.values()):
        raise _EntryError(f"{key!r}: names of the source's and the robot's {key} are needed")
    if len(set(value.values())) < len(value):
        raise _EntryError(f'{key!r}: two of the source have the same counterpart')
    return value


def _links(value: Any, key: str) -> dict[str, str]:
    if not _names(value, key):
        raise _EntryError(f'{key!r}: at least one link and its counterpart are needed')
    return _names(value, key)


def _number(value: Any, key: str) -> float:
    number = exact_number(value, float)
    if number is None or not abs(number) <= 1e9:
        raise _EntryError(f'{key!r}: {value!r} is not a number within 1e9')
    return float(number)


def _positive(value: Any, key: str) -> float:
    number = _number(value, key)
    if not number >= 1e-9:
        raise _EntryError(f'{key!r}: {value!r} is not a number from 1e-9 to 1e9')
    return number


def _three(value: Any, key: str) -> list[float]:
    if not isinstance(value, list) or len(value) != 3:
        raise _EntryError(f'{key!r}: three numbers are needed, not {value!r}')
    return [_number(number, key) for number in value]
