# SPDX-License-Identifier: Apache-2.0
"""YAML files given by users: read with limits, and with errors for silent surprises of YAML.

A file has at most `MAX_BYTES`. Aliases are refused, since a few lines of them can expand to more
than fits into memory. Keys that occur twice are refused, since YAML would keep the last.
"""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from .exceptions import InvalidOption

MAX_BYTES = 10_000_000
MOST_EVENTS = 500_000  # nodes of a file: 10 MB of them could take 3 GB of memory
TAGS = {'!degrees': math.pi / 180.0, '!radians': 1.0}  # of angles in joint_limits.yaml, in radians


def read_yaml(path: Path, what: str) -> tuple[Any, Any]:
    """Read a file: the loader, and the root node, None for an empty file. Raises InvalidOption.

    what : name of the content for errors, such as 'the world'

    `construct` converts nodes to values.
    """
    import yaml  # type: ignore[import-untyped]  # late: for files only

    try:
        with path.open('rb') as file:
            data = file.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, 'strerror', None) or error
        raise InvalidOption(f"can't read {what} {str(path)!r}: {reason}") from None
    if len(data) > MAX_BYTES:
        raise InvalidOption(f'{path}: {what} is larger than {MAX_BYTES / 1e6:.0f} MB')
    kind = getattr(yaml, 'CSafeLoader', yaml.SafeLoader)
    try:
        for count, _ in enumerate(yaml.parse(data, kind)):
            if count > MOST_EVENTS:
                raise InvalidOption(f'{path}: {what} has more than {MOST_EVENTS:,} entries')
        loader = kind(data)
        root = loader.get_single_node()
    except InvalidOption:
        raise
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InvalidOption(f'{path}: not YAML: {error}') from None
    if root is not None:
        _check(path, root)
    return loader, root


def construct(path: Path, loader: Any, node: Any) -> Any:
    """Convert a node to dicts, lists, text and numbers. Raises InvalidOption."""
    import yaml

    try:
        _untag(node)
        return loader.construct_document(node)
    except (yaml.YAMLError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise InvalidOption(f'{path}: not YAML: {error}') from None


def _check(path: Path, root: Any) -> None:
    """Raise InvalidOption for a node or a key that occurs twice."""
    import yaml

    seen, left = set(), [root]
    while left:
        node = left.pop()
        if id(node) in seen:
            line = node.start_mark.line + 1
            raise InvalidOption(f'{path}, line {line}: aliases (*name) are not allowed')
        seen.add(id(node))
        if isinstance(node, yaml.MappingNode):
            names = set()
            for key, _ in node.value:
                name = str(key.value)
                if name in names:
                    line = key.start_mark.line + 1
                    raise InvalidOption(f'{path}, line {line}: {name!r} is there twice')
                names.add(name)
        if isinstance(node.value, list):
            for each in node.value:
                left += each if isinstance(each, tuple) else (each,)


def _untag(root: Any) -> None:
    """Convert angles with a tag of `TAGS` to numbers [rad]."""
    left = [root]
    while left:
        node = left.pop()
        if node.tag in TAGS and isinstance(node.value, str):
            node.value = repr(float(node.value) * TAGS[node.tag])
            node.tag = 'tag:yaml.org,2002:float'
        if isinstance(node.value, list):
            for each in node.value:
                left += each if isinstance(each, tuple) else (each,)
