# SPDX-License-Identifier: Apache-2.0
"""Write a skeleton as an ASF file, which `read_skeleton` reads back to equal joints and limits."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...maths.rotations import Array
from ..joints import Joint
from .acclaim import INCH, ROOT
from .captured_skeleton import AXES

HEAD = f"""\
:version 1.10
:name {{name}}
:units
  mass 1.0
  length {INCH}
  angle deg
:root
  order TX TY TZ RX RY RZ
  axis XYZ
  position 0 0 0
  orientation 0 0 0
:bonedata
"""


def asf_text(name: str, root: str, joints: Sequence[Joint]) -> str:
    """The ASF text, in metres and degrees, of joints below a root link, parents first.

    The joints turn about x, y and z of frames that are parallel at rest. A moving joint becomes a
    bone of its name; it ends at the next joint, fixed or not, if there is one only. Joints with
    siblings, and those of the root link, are preceded by a bone without angles.
    """
    bones: list[str] = []
    hierarchy: dict[str, list[str]] = {}
    ends = {root: ROOT}  # the bone at whose end each link is
    for joint in joints:
        offset, before = joint.origin[:3, 3], ends[joint.parent]
        siblings = [other for other in joints if other.parent == joint.parent]
        if len(siblings) > 1 or joint.parent == root:
            lead = f'{joint.name}_way' if joint.kind != 'fixed' else joint.name
            bones.append(_bone(lead, offset))
            hierarchy.setdefault(before, []).append(lead)
            before = lead
        ends[joint.child] = before
        if joint.kind == 'fixed':
            continue
        after = [other for other in joints if other.parent == joint.child]
        length = after[0].origin[:3, 3] if len(after) == 1 else np.zeros(3)
        bones.append(_bone(joint.name, length, joint))
        hierarchy.setdefault(before, []).append(joint.name)
        ends[joint.child] = joint.name
    rows = '\n'.join(f'    {" ".join([bone, *after])}' for bone, after in hierarchy.items())
    tree = f':hierarchy\n  begin\n{rows}\n  end\n'
    return HEAD.format(name=name) + ''.join(bones) + tree


def _bone(name: str, offset: Array, joint: Joint | None = None) -> str:
    """The lines of a bone along `offset` (3,) [m], with the angles of a joint."""
    length = float(np.linalg.norm(offset))
    direction = offset / length if length > 0.0 else np.array([0.0, 0.0, 1.0])
    order = '' if joint is None else joint.rotations or AXES[int(np.argmax(np.abs(joint.axis)))]
    axes = ''.join(axis for axis in AXES if axis not in order) + order
    lines = [
        'begin',
        f'  name {name}',
        f'  direction {_numbers(direction)}',
        f'  length {length!r}',
        f'  axis 0 0 0 {axes[::-1]}',
    ]
    if joint is not None:
        limits = np.degrees(np.column_stack([joint.lower, joint.upper]))
        lines.append(f'  dof {" ".join(f"r{axis.lower()}" for axis in order)}')
        lines.append('  limits ' + '\n         '.join(f'({_numbers(pair)})' for pair in limits))
    return ''.join(f'  {line}\n' for line in [*lines, 'end'])


def _numbers(values: Array | Sequence[float]) -> str:
    return ' '.join(repr(float(value) + 0.0) for value in values)
