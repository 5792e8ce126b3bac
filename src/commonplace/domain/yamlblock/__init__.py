"""Frontmatter YAML: parsing into JSON values, and edits line by line."""
