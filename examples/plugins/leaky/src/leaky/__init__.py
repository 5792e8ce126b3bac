"""A plugin that fails when it is imported."""

raise RuntimeError("the boat has a hole")
