"""Checks of a base: outdated pages, repeated texts, broken links and anchors, and content that no page should have."""
