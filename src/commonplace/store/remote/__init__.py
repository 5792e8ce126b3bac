"""A store of its own with a remote: prepared at the first start, kept in step with `origin`."""
