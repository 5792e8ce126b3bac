"""Conversion of Markdown to sanitized HTML."""
