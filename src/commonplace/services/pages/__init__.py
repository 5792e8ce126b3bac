"""Searching and reading the pages of a synced space."""
