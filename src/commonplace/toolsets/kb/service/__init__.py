"""What the tools of `kb` ask of a collection, beyond the core services."""
