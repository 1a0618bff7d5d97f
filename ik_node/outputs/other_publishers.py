"""Other publishers of the topic that commands go to: a robot that listens to both would jump."""

from __future__ import annotations

from rclpy.node import Node


def other_publishers(node: Node, topic: str) -> list[str]:
    """Names of the nodes that publish `topic` besides this one, which publishes it too."""
    if node.count_publishers(topic) < 2:
        return []
    publishers = [
        f'{info.node_namespace.rstrip("/")}/{info.node_name}'
        for info in node.get_publishers_info_by_topic(node.resolve_topic_name(topic))
    ]
    if node.get_fully_qualified_name() in publishers:
        publishers.remove(node.get_fully_qualified_name())  # once: another may have the name
    return sorted(publishers)
