"""Values and ports of several nodes that serve the same collections."""
