# SPDX-License-Identifier: Apache-2.0
"""A small figure and a motion of our own, as ASF and AMC or BVH text, and where its parts are.

The places are computed from the formats' definitions with scipy, apart from the library. `damaged`
makes broken files of sound ones. Clips of the CMU database are where IK_MOCAP_DIR says.
"""

import os
from pathlib import Path

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

BONES = {
    # name: parent, direction, length, axis [deg], dof, limits [deg]
    'hip': ('root', (0.6, -0.8, 0.0), 2.0, (0, 0, 0), '', ()),
    'thigh': ('hip', (0.0, -1.0, 0.0), 7.0, (10, -20, 30), 'rx ry rz',
              ((-160, 20), (-70, 70), (-60, 70))),
    'shin': ('thigh', (0.0, -1.0, 0.0), 7.5, (0, 0, 20), 'rx', ((-10, 170),)),
    'foot': ('shin', (0.0, 0.0, 1.0), 2.0, (-90, 7.6e-16, 20), 'rx rz', ((-45, 90), (-70, 20))),
    'spine': ('root', (0.0, 1.0, 0.0), 4.0, (0, 0, 0), 'rz rx ry', ((-1, 2), (-3, 4), (-5, 6))),
}  # fmt: skip
METRES = 0.0254 / 0.45  # Per unit of the ASF file

BVH_JOINTS = {
    # name: parent, offset, channels
    'hips': (None, (3, 90, -4), 'Zposition Xposition Yposition Zrotation Yrotation Xrotation'),
    'chest': ('hips', (0, 20.5, -0.7), 'Zrotation Xrotation Yrotation'),
    'elbow': ('chest', (15, 0, 1), 'Yrotation'),
    'wrist': ('elbow', (0, -25, 0), 'Xrotation Yrotation'),
    'knee': ('hips', (8, -40, 0), 'Xrotation'),
}
BVH_ENDS = {'wrist': (0, -8, 0.5), 'knee': (0, -35, 5)}

needs_clips = pytest.mark.skipif(
    'IK_MOCAP_DIR' not in os.environ, reason='IK_MOCAP_DIR names no folder of CMU clips'
)


def clip(name):
    """The path of a clip of the CMU database."""
    return Path(os.environ['IK_MOCAP_DIR']) / name


def asf_text(units='deg'):
    """The skeleton of BONES."""
    turn = 1.0 if units == 'deg' else np.pi / 180.0
    lines = [
        '# a figure', ':version 1.10', ':name TEST', ':units', '  mass 1.0', '  length 0.45',
        f'  angle {units}', ':documentation', '   begin the end of the document', ':root',
        '   order TX TY TZ RX RY RZ', '   axis XYZ', '   position 0 0 0', '   orientation 0 0 0',
        ':bonedata',
    ]  # fmt: skip
    for i, (name, (_, direction, length, axis, dof, limits)) in enumerate(BONES.items()):
        angles = ' '.join(f'{turn * angle!r}' for angle in axis)
        lines += ['  begin', f'     id {i + 1}', f'     name {name}']
        lines += ['     direction {} {} {}'.format(*direction), f'     length {length}']
        lines += [f'     axis {angles}   XYZ'] + ([f'    dof {dof}'] if dof else [])
        pairs = [f'({turn * low!r} {turn * high!r})' for low, high in limits]
        lines += [f'    limits {pair}' if k == 0 else f'           {pair}'
                  for k, pair in enumerate(pairs)] + ['  end']  # fmt: skip
    children = {}
    for name, (parent, *_) in BONES.items():
        children.setdefault(parent, []).append(name)
    lines += [':hierarchy', '  begin']
    lines += [f'    {parent} {" ".join(names)}' for parent, names in children.items()]
    return '\n'.join([*lines, '  end', ''])


def asf_values(frames=4, seed=0):
    """Return the motion of the figure of BONES: for every frame the values of each bone, in
    degrees."""
    rng = np.random.default_rng(seed)
    dofs = {name: len(bone[4].split()) for name, bone in BONES.items() if bone[4]}
    return [
        {
            'root': rng.uniform(-20, 20, 6),
            **{n: rng.uniform(-200, 200, k) for n, k in dofs.items()},
        }
        for _ in range(frames)
    ]


def amc_text(values, first=1, header='#!OML:ASF figure\n:FULLY-SPECIFIED\n:DEGREES\n'):
    """The values as an AMC file."""
    lines = []
    for number, frame in enumerate(values, first):
        lines += [str(number)]
        lines += [f'{bone} {" ".join(map(repr, map(float, row)))}' for bone, row in frame.items()]
    return header + '\n'.join(lines) + '\n'


def asf_places(frame):
    """The far end of every bone [m] for the values of one frame."""
    turns = {'root': Rotation.from_euler('xyz', frame['root'][3:], degrees=True)}
    places = {'root': np.array(frame['root'][:3])}
    for name, (parent, direction, length, axis, dof, _) in BONES.items():
        angles = dict(zip(dof.split(), frame.get(name, ()), strict=True))
        own = [angles.get(channel, 0.0) for channel in ('rx', 'ry', 'rz')]
        c = Rotation.from_euler('xyz', axis, degrees=True)
        turns[name] = turns[parent] * c * Rotation.from_euler('xyz', own, degrees=True) * c.inv()
        places[name] = places[parent] + turns[name].apply(direction) * length
    return {name: METRES * place for name, place in places.items()}


def bvh_text(values, frame_time=0.025):
    """The figure of BVH_JOINTS and its frames as a BVH file."""
    rows = [
        ' '.join(repr(float(v)) for name in BVH_JOINTS for v in frame[name]) for frame in values
    ]
    head = ['HIERARCHY', *_bvh_joint('hips', 'ROOT'), 'MOTION']
    return '\n'.join([*head, f'Frames:\t{len(rows)}', f'Frame Time:\t{frame_time}', *rows, ''])


def _bvh_joint(name, word):
    """The lines of a joint and of all below it."""
    _, offset, channels = BVH_JOINTS[name]
    count = len(channels.split())
    body = ['OFFSET {} {} {}'.format(*offset), f'CHANNELS {count} {channels}']
    for child, (parent, *_) in BVH_JOINTS.items():
        body += _bvh_joint(child, 'JOINT') if parent == name else []
    if name in BVH_ENDS:
        body += ['End Site', '{', '  OFFSET {} {} {}'.format(*BVH_ENDS[name]), '}']
    return [f'{word} {name}', '{', *(f'  {line}' for line in body), '}']


def bvh_values(frames=4, seed=1):
    """For every frame the values of each joint of BVH_JOINTS, in cm and degrees."""
    rng = np.random.default_rng(seed)
    counts = {name: len(channels.split()) for name, (*_, channels) in BVH_JOINTS.items()}
    return [{n: rng.uniform(-200, 200, k) for n, k in counts.items()} for _ in range(frames)]


def bvh_places(frame):
    """Every joint and end site [m] for the values of one frame."""
    turns, places = {}, {}
    for name, (parent, offset, channels) in BVH_JOINTS.items():
        named = dict(zip(channels.split(), frame[name], strict=True))
        axes = [word[0] for word in named if word.endswith('rotation')]
        angles = [named[f'{axis}rotation'] for axis in axes]
        own = Rotation.from_euler(''.join(axes), angles, degrees=True)
        if parent is None:  # its position channels take the place of the offset
            turns[name], places[name] = own, np.array([named[f'{axis}position'] for axis in 'XYZ'])
        else:
            turns[name] = turns[parent] * own
            places[name] = places[parent] + turns[parent].apply(offset)
    for name, offset in BVH_ENDS.items():
        places[f'{name}_end'] = places[name] + turns[name].apply(offset)
    return {name: 0.01 * place for name, place in places.items()}


def damaged(data, rng):
    """The bytes of a file with one or two things wrong: bytes, numbers, words or lines changed."""
    for _ in range(rng.integers(1, 3)):
        data = DAMAGES[rng.integers(len(DAMAGES))](data, rng)
    return data


def _changed_byte(data, rng):
    i = rng.integers(len(data) + 1)
    return data[:i] + bytes([rng.integers(256)]) + data[i + 1 :]


def _changed_digit(data, rng):
    digits = [i for i, byte in enumerate(data) if byte in b'0123456789']
    if not digits:
        return data
    i = digits[rng.integers(len(digits))]
    return data[:i] + rng.choice([b'0', b'9', b'-', b'e', b'.']) + data[i + 1 :]


def _cut(data, rng):
    return data[: rng.integers(len(data) + 1)]


def _without_line(data, rng):
    lines = data.split(b'\n')
    del lines[rng.integers(len(lines))]
    return b'\n'.join(lines)


def _repeated_lines(data, rng):
    lines = data.split(b'\n')
    i, j = sorted(rng.integers(len(lines) + 1, size=2))
    return b'\n'.join(lines[:j] + lines[i:])


def _changed_word(data, rng):
    words = data.split(b' ')
    words[rng.integers(len(words))] = NASTY[rng.integers(len(NASTY))]
    return b' '.join(words)


def _swapped_words(data, rng):
    words = data.split(b' ')
    i, j = rng.integers(len(words), size=2)
    words[i], words[j] = words[j], words[i]
    return b' '.join(words)


NASTY = [b'', b'nan', b'-inf', b'1e999', b'1_0', b'99999999999999999999', b'-1', b'0', b'{', b'}',
         b'begin', b'end', b'root', b'(', b'x' * 300, b'\x00', b'\xff\xfe', b'/', b'#', b':root',
         b'MOTION', b'JOINT', b'End Site', b'CHANNELS', b'1e5', b'TX', b'rx', b'XYX']  # fmt: skip
DAMAGES = [
    _changed_byte, _cut, _without_line, _repeated_lines, _changed_word, _changed_word,
    _swapped_words, _changed_digit, _changed_digit,
]  # fmt: skip
