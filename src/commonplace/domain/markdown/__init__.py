"""Markdown syntax with exact byte offsets."""
