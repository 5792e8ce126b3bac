"""A long life of the product: what is done to it, and what is measured meanwhile."""
