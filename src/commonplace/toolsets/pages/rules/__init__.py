"""Pages of a synced space: the space file, page values and queries."""
