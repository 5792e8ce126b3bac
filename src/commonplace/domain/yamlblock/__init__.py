"""YAML as front matter uses it: read without surprises, and written back line by line."""
