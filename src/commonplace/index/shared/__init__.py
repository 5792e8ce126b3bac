"""Indexes that several servers share: the adapter of a search cluster, and the same port on the embedded index."""
