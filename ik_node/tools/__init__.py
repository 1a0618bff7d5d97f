"""Programs around the node: the demo, the soak test, the benchmark of its rate."""
