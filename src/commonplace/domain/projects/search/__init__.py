"""Searching the documents of a project by the strings that occur in them."""
