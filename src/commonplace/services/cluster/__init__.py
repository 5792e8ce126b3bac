"""Services of several nodes that serve the same collections."""
