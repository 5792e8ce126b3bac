"""Substring search in the documents of a project."""
