"""A package of this name with the one message that the node subscribes to, of another type."""
