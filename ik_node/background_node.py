# SPDX-License-Identifier: Apache-2.0
"""Helper nodes for background threads, so that their work delays no tick."""

from __future__ import annotations

from rclpy.node import Node
from rclpy.parameter import Parameter


def background_node(node: Node, suffix: str) -> Node:
    """Make a bare node named `<name>_<suffix>`, in the same namespace and context.

    It has no parameter services and no log topic, and uses the system's clock. Raises the errors
    of rclpy if the node can't be made.
    """
    name = f'{node.get_name()}_{suffix}'
    return Node(
        name,
        namespace=node.get_namespace(),
        context=node.context,
        cli_args=['--ros-args', '-r', f'__node:={name}'],  # not the main node's
        start_parameter_services=False,
        enable_rosout=False,
        parameter_overrides=[
            Parameter('use_sim_time', value=False),
            Parameter('start_type_description_service', value=False),
        ],
    )
