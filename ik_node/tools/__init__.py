"""Programs around the node: the demo."""
