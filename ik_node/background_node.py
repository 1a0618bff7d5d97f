# SPDX-License-Identifier: Apache-2.0
"""Nodes beside the node: for work that has a thread of its own and must cost no tick."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter


def background_node(node: Node, suffix: str) -> Node:
    """A bare node named `<name>_<suffix>`, in the same namespace and context.

    It has no parameter services, no log topic and no clock but the system's. Raises what rclpy
    raises where it can't be made.
    """
    name = f'{node.get_name()}_{suffix}'
    return Node(
        name,
        namespace=node.get_namespace(),
        context=node.context,
        cli_args=['--ros-args', '-r', f'__node:={name}'],  # __node of the process is another's
        start_parameter_services=False,
        enable_rosout=False,
        parameter_overrides=[
            Parameter('use_sim_time', value=False),
            Parameter('start_type_description_service', value=False),
        ],
    )
