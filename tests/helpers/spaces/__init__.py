"""Synced spaces for tests: `spaces.tree` writes one, `spaces.server` runs the search server."""
