"""Confluence itself: bodies in storage format as Markdown and back, the REST API, and the sync of a space."""
