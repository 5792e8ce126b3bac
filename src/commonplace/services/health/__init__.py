"""Checks of a base: outdated pages, repeated texts, broken links and anchors, and unwanted content."""
