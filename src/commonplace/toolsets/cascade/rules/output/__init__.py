"""Concepts as JSON and as Markdown."""
