# SPDX-License-Identifier: Apache-2.0
"""Unknown names of parameters: misspelt ones, and those of another robot.

A name that is close to a parameter of the node is misspelt: ignoring it would leave a rate or a
tolerance unset. But a file may have parameters of other robots, so joints and tips in
`joint_limits.<joint>.<limit>`, `home.<joint>`, `tools.<tip>.<part>`, `goal_kind.<tip>` and
`goal_frame.<tip>` are compared word by word: `panda_jiont1` has a misspelt word, but `left_elbow`
is another joint than `right_elbow`, and `joint_7` another than `joint_6`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable
from dataclasses import fields

from ik_core.display import listed

from .node_options import Limits, Tool

OF_JOINTS, OF_TIPS = ('joint_limits.', 'home.'), ('tools.', 'goal_kind.', 'goal_frame.')
OF_A_ROBOT = (*OF_JOINTS, *OF_TIPS)  # prefixes of parameters declared once the robot is known
# Last parts of the parameters of each joint or tip.
PARTS = {
    prefix: tuple(f.name for f in fields(owned))
    for prefix, owned in (('joint_limits.', Limits), ('tools.', Tool))
}
MISSPELT = 0.75  # least similarity (difflib) of a misspelt name, or word, to the right one


def misspelt(
    name: str, known: Collection[str], given: Collection[str] = (), links: Collection[str] = ()
) -> str:
    """Return an error text for a misspelt name; '' if it may belong to another node or robot.

    known : all parameters; `name` is none of them
    given : parameters that are set, too, so that none of them was meant
    links : all links of the robot: a name with a link that is no tip is not misspelt
    """
    prefix = _prefix(name)
    if not prefix:
        return _refused(name, difflib.get_close_matches(name, known, 1, MISSPELT))
    owners = _owners(prefix, known)
    owner, part = _split(prefix, name)
    if owner in owners:
        return _wrong_part(name, prefix, owner, part, owners[owner])
    if owner in links:
        return ''
    meant = (_joined(prefix, one, part) for one in owners if is_slip(owner, one))
    return _refused(name, [one for one in meant if one in known and one not in given][:1])


def unknown(name: str, known: Collection[str]) -> str:
    """Return an error text for an unknown parameter, with the closest name or all names."""
    text = misspelt(name, known)
    prefix = _prefix(name)
    if text or not prefix:
        return text or _refused(name, difflib.get_close_matches(name, known, 1)) or _none(name)
    owners = _owners(prefix, known)
    owner, _ = _split(prefix, name)
    if owner in owners:
        return f'{_none(name)}: {owner} has {", ".join(owners[owner])}'
    there = [one for one in owners if one != 'default']
    close = difflib.get_close_matches(owner, there, 3)
    what = 'joint' if prefix in OF_JOINTS else 'tip'
    hint = f'did you mean {", ".join(close)}?' if close else f'there are {listed(there)}'
    return f'{_none(name)}: no {what} {owner!r}; {hint if there else "there is no robot yet"}'


def is_slip(name: str, other: str) -> bool:
    """Return whether a name is another one with one misspelt word, or other separators."""
    if _bare(name) == _bare(other):
        return True
    words, others = (re.split(r'[\W_]+', one.lower()) for one in (name, other))
    pairs = [pair for pair in zip(words, others, strict=False) if pair[0] != pair[1]]
    if len(words) != len(others) or len(pairs) != 1:
        return False
    [(word, meant)] = pairs
    if re.sub(r'\d+', '', word) == re.sub(r'\d+', '', meant):
        return False
    return difflib.SequenceMatcher(None, word, meant).ratio() >= MISSPELT


def _prefix(name: str) -> str:
    """Return the prefix of a name that is a robot's parameter, else ''."""
    return next((prefix for prefix in OF_A_ROBOT if name.startswith(prefix)), '')


def _bare(name: str) -> str:
    return re.sub(r'[\W_]+', '', name.lower())


def _split(prefix: str, name: str) -> tuple[str, str]:
    """Return the joint or tip in a name, and the last part; '' if the prefix has no parts."""
    rest = name[len(prefix) :]
    owner, _, part = rest.rpartition('.') if prefix in PARTS else (rest, '', '')
    return owner, part


def _joined(prefix: str, owner: str, part: str) -> str:
    return f'{prefix}{owner}.{part}' if prefix in PARTS else f'{prefix}{owner}'


def _owners(prefix: str, known: Iterable[str]) -> dict[str, list[str]]:
    """Return the joints or tips of the known parameters, with their parts."""
    owners: dict[str, list[str]] = {}
    for name in known:
        if name.startswith(prefix):
            owner, part = _split(prefix, name)
            owners.setdefault(owner, []).append(part)
    return owners


def _wrong_part(name: str, prefix: str, owner: str, part: str, parts: list[str]) -> str:
    """Return an error text for a part that the joint or tip lacks; '' for an unrelated one."""
    close = difflib.get_close_matches(part, parts, 1, MISSPELT)
    if not close and part not in PARTS[prefix]:
        return ''
    hint = f' (did you mean {_joined(prefix, owner, close[0])!r}?)' if close else ''
    return f'{_none(name)}{hint}: {owner} has {", ".join(parts)}'


def _refused(name: str, close: list[str]) -> str:
    return f'{_none(name)} (did you mean {close[0]!r}?)' if close else ''


def _none(name: str) -> str:
    return f'there is no parameter {name!r}'
