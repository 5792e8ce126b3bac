"""Indexes that several servers share: an adapter for a search cluster, and an implementation on the embedded index."""
