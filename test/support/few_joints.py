# SPDX-License-Identifier: Apache-2.0
"""An arm of five joints, as hobby arms have them."""

import ik_core as ik

# Where each is on its parent [m], its axis, and its limit to both sides [rad]
JOINTS = {
    'pan': ('0 0 0.0624', '0 0 1', 1.92),
    'lift': ('0.03 0 0.0542', '0 1 0', 1.75),
    'elbow': ('0.028 0 0.1126', '0 1 0', 1.69),
    'flex': ('0.1349 0 0.0052', '0 1 0', 1.66),
    'roll': ('0.0611 0 0', '1 0 0', 2.74),
}


def hobby_urdf():
    """The URDF of an arm with the lengths of an SO-101, without its jaw; its tip is `tool`."""
    text, parent = '<robot name="hobby_arm"><link name="base"/>', 'base'
    for name, (place, axis, limit) in JOINTS.items():
        text += (
            f'<link name="{name}_link"/><joint name="{name}" type="revolute">'
            f'<parent link="{parent}"/><child link="{name}_link"/><origin xyz="{place}"/>'
            f'<axis xyz="{axis}"/><limit lower="-{limit}" upper="{limit}" velocity="3" '
            'effort="1"/></joint>'
        )
        parent = f'{name}_link'
    return (
        f'{text}<link name="tool"/><joint name="tool_joint" type="fixed"><parent link="{parent}"/>'
        '<child link="tool"/><origin xyz="0.0981 0 0"/></joint></robot>'
    )


def hobby_arm():
    return ik.load_urdf(hobby_urdf())
